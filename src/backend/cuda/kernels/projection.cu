// SPDX-License-Identifier: Apache-2.0
// The projection of the states that a step of an LSTM leads to. Option: K_T.
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "recurrent.cuh"

template <int COUNT>
struct projection_step {
  static DEVICE void run(const bsm_cuda_recurrent &p, const place &at) {
    value state[1];
    multiply_rows<1, COUNT>(
        weights_of(p, at) + p.projection + at.unit * p.hidden, 0,
        (const value *)p.unprojected + at.direction * p.batch * p.hidden, at,
        p.batch, p.hidden, state);
    const i64 sample = at.first + threadIdx.x % 32;
    if (threadIdx.x % 32 >= COUNT || sample >= p.batch) return;
    finish(p, at, sample, state[0]);
  }
};

KERNEL_OF(STEP_THREADS, projection, bsm_cuda_recurrent) {
  run_step<projection_step>(p, p.state);
}
