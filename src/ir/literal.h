/* SPDX-License-Identifier: Apache-2.0 */
/* Constants as text, both ways. The type that the place gives (a constant's
 * output, an element of its tuple) tells what is meant:
 *
 *   None  True  1  1.5  inf  "text"  1.+2.j  [1, 2]  (1, 2.)  (1,)  {"a": 1}
 *   Float(2, 2){1., 2., 3., 4.}     a tensor, element by element
 *   <Tensor: Float(64, 3, 7, 7)>    a tensor too large to print
 *   __torch__.Color.RED             an item of an enum
 *   annotate(int[], [])             where the place does not tell the type
 *
 * Read besides: PyTorch's `{1}`, `<Tensor>` and ` 1  2 [ CPUFloatType{2} ]`. */
#ifndef BSM_IR_LITERAL_H_
#define BSM_IR_LITERAL_H_

#include "ir/cursor.h"
#include "ir/graph.h"

/* Tensors of more elements are printed as placeholders. */
#define BSM_LITERAL_MAX_ELEMENTS 64

void bsm_literal_print(bsm_text *text, bsm_type_table *types,
                       const bsm_ivalue *value, const bsm_type *type);

/* `type`: what the place gives, or NULL. A placeholder yields None and its type
 * in *placeholder, which is NULL otherwise. */
BSM_NODISCARD bsm_status bsm_literal_read(bsm_cursor *c, bsm_ir_ctx *cx,
                                          const bsm_type *type, bsm_ivalue *out,
                                          const bsm_type **placeholder);

/* The dtype that IR text calls `name` ("Float"); false when it is none. */
bool bsm_dtype_from_ir_name(bsm_str name, bsm_dtype *out);

#endif /* BSM_IR_LITERAL_H_ */
