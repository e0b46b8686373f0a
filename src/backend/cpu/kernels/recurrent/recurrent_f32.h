/* SPDX-License-Identifier: Apache-2.0 */
/* The gates of recurrent cells: from the products with the input and with the
 * state to the next state, 16 hidden units at a time.
 *
 * Products come in panels of 16 units: for each panel the values of all gates,
 * 16 floats each, in PyTorch's order (LSTM: input, forget, cell, output; GRU:
 * reset, update, new). Every array holds whole panels, also the states: what
 * lies behind the last unit is computed and ignored. Nothing is aligned. */
#ifndef BSM_KERNELS_RECURRENT_F32_H_
#define BSM_KERNELS_RECURRENT_F32_H_

#include <stdint.h>

#include "backend/cpu/kernels/kernel_isa.h"

/* `x` and `p`: the products, with biases. `before`: the state before the step
 * (GRU). `cell`: LSTM's cell state, replaced. `after`: the new state. */
typedef void bsm_k_cell_fn(const float *x, const float *p, const float *before,
                           float *cell, float *after, int64_t panels);

#define BSM_K_RECURRENT_ROWS 4

/* One step of few samples, for adjacent panels of units: the products with the
 * state and at once the cell, panel by panel. The recurrent matrix is packed as
 * for gemm_f32.h, its columns in the order of the products: the columns of a
 * panel of units are so many panels of columns as there are gates. Each sum has
 * an order of its own, whatever panels it is computed with. */
typedef struct bsm_k_recurrent_step {
  int64_t state; /* values of a state: rows of the matrix */
  int64_t panels;
  int32_t backwards;       /* takes the panels from the last to the first */
  const float *matrix;     /* at the first panel, like all that follow */
  const float *bias;       /* of the products with the state; NULL: none */
  const float *const *all; /* [samples]: their whole states */
  const float *const *x, *const *before;
  float *const *cell, *const *after;
} bsm_k_recurrent_step;

typedef void bsm_k_recurrent_step_fn(const bsm_k_recurrent_step *step);

typedef struct bsm_k_recurrent_cell {
  bsm_k_cell_fn *cell;
  bsm_k_recurrent_step_fn *step[BSM_K_RECURRENT_ROWS]; /* [samples - 1] */
} bsm_k_recurrent_cell;

typedef struct bsm_k_recurrent {
  const char *name;
  bsm_k_recurrent_cell lstm, gru, tanh, relu;
} bsm_k_recurrent;

BSM_K_FAMILY(recurrent)

#endif /* BSM_KERNELS_RECURRENT_F32_H_ */
