/* SPDX-License-Identifier: Apache-2.0 */
/* Short hands for ops that are made of other ops. Private to aten.
 *
 *   OP_CALL1(cx, &sum, "aten::add.Tensor", T(a), T(b), I(1));  */
#ifndef BSM_ATEN_OP_COMPOSE_H_
#define BSM_ATEN_OP_COMPOSE_H_

#include "aten/op_kit.h"

static inline bsm_ivalue op_iv(bsm_tensor *t) {
  return t ? bsm_iv_tensor(t) : bsm_iv_none();
}
#define T(tensor) op_iv(tensor)
#define I(int) bsm_iv_int(int)
#define D(double) bsm_iv_double(double)
#define B(bool) bsm_iv_bool(bool)
#define NONE bsm_iv_none()

static inline bsm_status op_call1(bsm_op_ctx *cx, bsm_tensor **out,
                                  const char *name, const bsm_ivalue *args,
                                  size_t n) {
  bsm_ivalue result;
  *out = NULL;
  BSM_TRY(bsm_op_call(cx, name, args, n, &result, 1));
  *out = op_tensor(&result);
  return BSM_OK;
}
/* An op with one result, a tensor. Fails the calling function. */
#define OP_CALL1(cx, out, name, ...)                                \
  do {                                                              \
    const bsm_ivalue op_args_[] = {__VA_ARGS__};                    \
    BSM_TRY(op_call1(cx, out, name, op_args_, OP_COUNT(op_args_))); \
  } while (0)

/* A list of ints, in the arena. */
static inline bsm_status op_ints(bsm_op_ctx *cx, bsm_dims dims,
                                 bsm_ivalue *out) {
  return bsm_iv_int_list(cx->arena, dims.d, (size_t)dims.rank, out);
}

/* PyTorch's reduction of a loss: 0 none, 1 mean, 2 sum. */
static inline bsm_status op_reduce_loss(bsm_op_ctx *cx, bsm_tensor *t,
                                        int64_t reduction, bsm_tensor **out) {
  *out = t;
  if (reduction == 1) OP_CALL1(cx, out, "aten::mean", T(t), NONE);
  if (reduction == 2) OP_CALL1(cx, out, "aten::sum", T(t), NONE);
  return BSM_OK;
}

#endif /* BSM_ATEN_OP_COMPOSE_H_ */
