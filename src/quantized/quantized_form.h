/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on quantized tensors, each as a composition of others: `forms`.
 *
 * A quantized tensor is integers and a grid. quantized::conv2d_relu is
 *
 *   x = dequantize(integers of qx)     w = dequantize(integers of the weight)
 *   y = relu(conv2d(x, w, bias))       result: quantize(y, output grid)
 *
 * in floats, which agrees with PyTorch's engines up to where a sum lies between
 * two steps of the grid. What only moves elements moves the integers.
 *
 * One form serves two builders. The reference library computes each op at once
 * (quantized_library.h). Lowering writes down quantized_decomposed::quantize_
 * and dequantize_ around ops on floats, the form in which networks have
 * QUANTIZE and DEQUANTIZE layers, so no graph past lowering has a quantized
 * tensor. */
#ifndef BSM_QUANTIZED_QUANTIZED_FORM_H_
#define BSM_QUANTIZED_QUANTIZED_FORM_H_

#include "aten/ivalue.h"

/* What the integers of a quantized tensor mean. */
typedef struct bsm_q_grid {
  bsm_dtype dtype; /* of the tensor: qint8, quint8, qint32 */
  bsm_quantizer q;
} bsm_q_grid;

/* Who a form is run for. Values are ivalues, in lowering abstract ones. */
typedef struct bsm_q_builder bsm_q_builder;
struct bsm_q_builder {
  bsm_arena *arena;
  /* An op by its qualified name, with every argument given. */
  bsm_status (*call)(bsm_q_builder *b, const char *name, const bsm_ivalue *args,
                     size_t n, bsm_ivalue *outs, size_t n_outs);
  /* The integers of a quantized tensor and its grid; *is: whether it is one. */
  bsm_status (*split)(bsm_q_builder *b, const bsm_ivalue *value,
                      bsm_ivalue *integers, bsm_q_grid *grid, bool *is);
  /* The quantized tensor of those integers, which become its memory. */
  bsm_status (*join)(bsm_q_builder *b, const bsm_ivalue *integers,
                     const bsm_q_grid *grid, bsm_ivalue *out);
  /* Onto a grid; NULL: by quantized_decomposed and `join`. */
  bsm_status (*quantize)(bsm_q_builder *b, const bsm_ivalue *floats,
                         const bsm_q_grid *grid, bsm_ivalue *out);
  /* The dims of a tensor; -1 where only the run tells, rank -1 too. */
  bsm_dims (*dims)(bsm_q_builder *b, const bsm_ivalue *value);
  /* What a packed parameter holds, as a value of the builder's. */
  bsm_status (*slot)(bsm_q_builder *b, const bsm_ivalue *slot, bsm_ivalue *out);
};

typedef struct bsm_q_form bsm_q_form;

typedef struct bsm_q_call {
  bsm_q_builder *b;
  const bsm_q_form *form;
  const char *name; /* of the op, qualified */
  const bsm_ivalue *args;
  size_t n;
  bsm_ivalue *outs;
  size_t n_outs;
} bsm_q_call;

typedef enum bsm_q_kind {
  BSM_Q_OP,     /* an op of the namespace quantized: only here */
  BSM_Q_TENSOR, /* an op of others on quantized tensors: only then a form */
  BSM_Q_MAKES,  /* makes or reads quantized tensors: the library has it too */
} bsm_q_kind;

struct bsm_q_form {
  const char *schema; /* of BSM_Q_OP as PyTorch prints it; else the name */
  bsm_status (*run)(const bsm_q_call *c);
  int32_t variant;
  bsm_q_kind kind;
};

/* By qualified name; NULL when there is none. An op that writes to its first
 * argument, such as aten::relu_, has the form of the op that does not. */
const bsm_q_form *bsm_q_find(const char *name);
/* Whether `name` is an op in place that has its form from another, whose name
 * goes to `plain`. */
bool bsm_q_is_in_place(const char *name, char plain[64]);
size_t bsm_q_form_count(void);
const bsm_q_form *bsm_q_form_at(size_t index);

/* Runs the form of the op `name`, also of one in place. */
BSM_NODISCARD bsm_status bsm_q_run(bsm_q_builder *b, const char *name,
                                   const bsm_ivalue *args, size_t n,
                                   bsm_ivalue *outs, size_t n_outs);

#endif /* BSM_QUANTIZED_QUANTIZED_FORM_H_ */
