// SPDX-License-Identifier: Apache-2.0
// Where a cluster of blocks is that does the steps in time of a recurrent
// network, and what it reads and writes there. Sources define T, GATES and
// UNITS, those of a block, before.
#pragma once

// Where a cluster is in its work.
struct place {
  int direction, first, samples;  // of the batch
  int block, steps, step;
};

DEVICE i64 time_of(const bsm_cuda_recurrent &p, const place &at) {
  const i64 round = p.round + at.step;
  return at.direction ? p.length - 1 - round : round;
}

DEVICE bool is_over(const bsm_cuda_recurrent &p, const place &at, int sample) {
  return p.lengths &&
         time_of(p, at) >= ((const i64 *)p.lengths)[at.first + sample];
}

DEVICE void load_bias(const bsm_cuda_recurrent &p, const place &at, int unit,
                      float (&b)[GATES]) {
  const T *bias = (const T *)p.weights + at.direction * p.direction + p.bias;
#pragma unroll
  for (int g = 0; g < GATES; g++) {
    b[g] = to_float(bias[g * K_HIDDEN + at.block * UNITS + unit]);
  }
}

// The products of a chunk's inputs lie in the order of time.
DEVICE void load_products(const bsm_cuda_recurrent &p, const place &at,
                          int sample, int unit, float (&x)[GATES]) {
  const i64 row = at.direction * p.chunk +
                  (at.direction ? at.steps - 1 - at.step : at.step);
  const float *from = (const float *)p.products +
                      (row * p.batch + at.first + sample) * GATES * K_HIDDEN +
                      at.block * UNITS + unit;
#pragma unroll
  for (int g = 0; g < GATES; g++) x[g] = from[g * K_HIDDEN];
}

DEVICE void put_output(const bsm_cuda_recurrent &p, const place &at, int sample,
                       int unit, float y) {
  store<T>(p.y,
           time_of(p, at) * p.y_step + (at.first + sample) * p.y_row +
               at.direction * (i64)K_HIDDEN + at.block * UNITS + unit,
           y);
}

// Where states are between kernels: before the round, or after it.
DEVICE float *states_between(const bsm_cuda_recurrent &p, const place &at,
                             i64 round) {
  const i64 which = round % 2 * (i64)gridDim.z + at.direction;
  return (float *)p.states + (which * p.batch + at.first) * K_HIDDEN;
}
