/* SPDX-License-Identifier: Apache-2.0 */
/* Random values into tensors: what the ops of aten_random.c are made of.
 * Private to aten. All check bounds and dtype, on meta tensors too, and refuse
 * to draw without a generator in the context. */
#ifndef BSM_ATEN_OP_RANDOM_H_
#define BSM_ATEN_OP_RANDOM_H_

#include "aten/op_kit.h"

typedef enum bsm_random_kind {
  RANDOM_UNIFORM,
  RANDOM_NORMAL,
  RANDOM_BERNOULLI,
  RANDOM_EXPONENTIAL,
  RANDOM_CAUCHY,
  RANDOM_LOG_NORMAL,
  RANDOM_GEOMETRIC
} bsm_random_kind;

typedef struct bsm_draw {
  bsm_random_kind kind;
  double a, b;     /* from and to, mean and deviation, p, lambda, ... */
  bsm_dtype dtype; /* set by bsm_random_fill */
} bsm_draw;

/* *draw: there is a generator, and something to draw. */
BSM_NODISCARD bsm_status bsm_random_ready(const bsm_op_ctx *cx,
                                          const bsm_tensor *t, bool *draw);
/* Each of these fills `t` in place. */
BSM_NODISCARD bsm_status bsm_random_fill(bsm_op_ctx *cx, bsm_tensor *t,
                                         bsm_draw w);
/* Integers in [from, *to); to NULL: up to the dtype's largest. */
BSM_NODISCARD bsm_status bsm_random_integers(bsm_op_ctx *cx, bsm_tensor *t,
                                             int64_t from, const int64_t *to);
/* [0, largest] for integers, [0, 2^digits] for floating dtypes. */
BSM_NODISCARD bsm_status bsm_random_whole_range(bsm_op_ctx *cx, bsm_tensor *t);
/* 1 with the probability that `p` has at that place. */
BSM_NODISCARD bsm_status bsm_random_bernoulli(bsm_op_ctx *cx, bsm_tensor *t,
                                              bsm_tensor *p);
/* The smallest and the largest value; for floating dtypes, the ends of the
 * range in which every integer has a place. */
void bsm_random_bounds(bsm_dtype d, int64_t *low, int64_t *high);

#endif /* BSM_ATEN_OP_RANDOM_H_ */
