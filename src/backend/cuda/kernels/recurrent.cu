// SPDX-License-Identifier: Apache-2.0
// A step in time of a level of a recurrent network: the products of the states,
// and at once the gates. Options: K_T; of the step: K_CELL
// (bsm_recurrent_operation), K_PROJECTS (1: projection.cu follows).
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "recurrent.cuh"
#include "recurrent_cell.cuh"

#ifndef K_PROJECTS
#define K_PROJECTS (p.unprojected != 0)
#endif

// The products of the inputs of a chunk lie in the order of time.
template <int GATES>
DEVICE const value *products_of(const bsm_cuda_recurrent &p, const place &at,
                                i64 sample) {
  const i64 first = p.round / p.chunk * p.chunk, rest = p.length - first;
  const i64 count = rest < p.chunk ? rest : p.chunk;
  const i64 step = p.round - first;
  const i64 row = at.direction * p.chunk +
                  (at.direction ? count - 1 - step : step);
  return (const value *)p.products +
         (row * p.batch + sample) * GATES * p.hidden;
}

template <int CELL>
struct cell {
  enum { GATES = gates_of<CELL>::COUNT };
  template <int COUNT>
  struct step {
    static DEVICE void run(const bsm_cuda_recurrent &p, const place &at) {
      value x[GATES], h[GATES];
      multiply_rows<GATES, COUNT>(
          weights_of(p, at) + p.recurrent + at.unit * p.state,
          p.hidden * p.state, states_of(p, at, 0), at, p.batch, p.state, h);
      const i64 sample = at.first + threadIdx.x % 32;
      if (threadIdx.x % 32 >= COUNT || sample >= p.batch) return;
      const K_T *bias = weights_of(p, at) + p.bias + at.unit;
      const value *products = products_of<GATES>(p, at, sample) + at.unit;
#pragma unroll
      for (int g = 0; g < GATES; g++) {
        x[g] = products[g * p.hidden];
        h[g] += element<K_T>::load(bias[g * p.hidden]);
      }
      value none = 0, *cell = CELL == LSTM ? (value *)p.cells +
                                  (at.direction * p.batch + sample) * p.hidden +
                                  at.unit
                                           : &none;
      value memory = *cell;
      const value before =
          CELL == GRU ? states_of(p, at, 0)[sample * p.state + at.unit]
                      : (value)0;
      const value state = next_state<CELL, GATES>(x, h, before, memory);
      if (!is_over(p, at, sample)) *cell = memory;
      if (K_PROJECTS) {
        ((value *)p.unprojected)[(at.direction * p.batch + sample) * p.hidden +
                                 at.unit] = state;
      } else {
        finish(p, at, sample, state);
      }
    }
  };
};

KERNEL_OF(STEP_THREADS, recurrent, bsm_cuda_recurrent) {
#ifdef K_CELL
  run_step<cell<K_CELL>::step>(p, p.hidden);
#else
  switch (p.cell) {
    case LSTM: return run_step<cell<LSTM>::step>(p, p.hidden);
    case GRU: return run_step<cell<GRU>::step>(p, p.hidden);
    case TANH: return run_step<cell<TANH>::step>(p, p.hidden);
    default: return run_step<cell<RELU>::step>(p, p.hidden);
  }
#endif
}
