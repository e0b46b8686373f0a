/* SPDX-License-Identifier: Apache-2.0 */
/* Example inputs of a traced module (traced_inputs.pkl): dtypes and shapes,
 * never values, because the archive does not hold any. */
#ifndef BSM_TORCHSCRIPT_TRACED_INPUTS_H_
#define BSM_TORCHSCRIPT_TRACED_INPUTS_H_

#include "torchscript/module.h"

/* The inputs of `method` in the file's Dict[str, List[Any]], containers
 * flattened in order; *count 0 when it has none. */
BSM_NODISCARD bsm_status bsm_traced_inputs_flatten(bsm_arena *arena,
                                                   const bsm_ivalue *root,
                                                   bsm_str method,
                                                   bsm_example_input **out,
                                                   size_t *count);

/* The inputs themselves, as the file has them; *count 0: none, or no list. */
void bsm_traced_inputs_find(const bsm_ivalue *root, bsm_str method,
                            const bsm_ivalue **out, size_t *count);

#endif /* BSM_TORCHSCRIPT_TRACED_INPUTS_H_ */
