/* SPDX-License-Identifier: Apache-2.0 */
/* The packed weights of a recurrent step.
 *
 * Hidden units go in panels of 16, and the columns of the products are ordered
 * [panel][gate][16], so that the gates of a unit lie together: a block of
 * columns is a block of units. For each direction:
 *
 *   input:      matrix [I, columns], packed as in cpu_pack.h
 *   recurrent:  matrix [P, columns]
 *   projection: matrix [H, P], when there is one
 *   bias:       [columns]; of the sum of both products, where they are added
 *   state_bias: [columns], GRU only: its new gate multiplies the product with
 *               the state before adding
 *
 * What lies behind the last unit is zero. */
#ifndef BSM_BACKEND_CPU_RECURRENT_H_
#define BSM_BACKEND_CPU_RECURRENT_H_

#include "backend/cpu/cpu_forms.h"
#include "engine/plan.h"

typedef struct bsm_cpu_recurrent_shape {
  int64_t gates;   /* G: 4, 3, 1, 1 */
  int64_t panels;  /* of hidden units */
  int64_t columns; /* panels * gates * 16 */
  int64_t state;   /* P */
  /* Floats from the start of a direction, and of a whole direction. */
  int64_t recurrent, projection, bias, state_bias, size;
} bsm_cpu_recurrent_shape;

/* Fails when the parameters make no sense. */
bsm_status bsm_cpu_recurrent_shape_of(const bsm_step_recurrent *params,
                                      bsm_cpu_recurrent_shape *out);

/* `values`, for each direction: input weights [G H, I], recurrent weights
 * [G H, P], projection [P, H] if there is one, input bias [G H], recurrent bias
 * [G H]. With `packed` NULL only *size is set. */
bsm_status bsm_cpu_pack_recurrent(const bsm_step_recurrent *params,
                                  const float *values, void *packed,
                                  uint64_t *size);

#endif /* BSM_BACKEND_CPU_RECURRENT_H_ */
