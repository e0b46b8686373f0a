// SPDX-License-Identifier: Apache-2.0
// A step in time of a level of a recurrent network: the products of the states,
// and at once the gates. Options: K_T; of the step: K_CELL
// (bsm_recurrent_operation), K_PROJECTS (1: projection.cu follows).
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "recurrent.cuh"

#ifndef K_PROJECTS
#define K_PROJECTS (p.unprojected != 0)
#endif

enum { LSTM, GRU, TANH, RELU };
enum { ACTIVATION_SIGMOID = 2, ACTIVATION_TANH = 3 };

DEVICE value sigmoid_of(value x) {
  return activate(ACTIVATION_SIGMOID, x, (value)0, (value)0);
}
DEVICE value tanh_of(value x) {
  return activate(ACTIVATION_TANH, x, (value)0, (value)0);
}

template <int CELL>
struct gates_of {
  enum { COUNT = CELL == LSTM ? 4 : CELL == GRU ? 3 : 1 };
};

// The state that the products with the input x and the state h lead to.
template <int CELL, int GATES>
DEVICE value next_state(const bsm_cuda_recurrent &p, const place &at,
                        i64 sample, const value (&x)[GATES],
                        const value (&h)[GATES]) {
  if constexpr (CELL == LSTM) {
    value *cell = (value *)p.cells +
                  (at.direction * p.batch + sample) * p.hidden + at.unit;
    const value c = sigmoid_of(x[1] + h[1]) * *cell +
                    sigmoid_of(x[0] + h[0]) * tanh_of(x[2] + h[2]);
    if (!is_over(p, at, sample)) *cell = c;
    return sigmoid_of(x[3] + h[3]) * tanh_of(c);
  } else if constexpr (CELL == GRU) {
    const value before = states_of(p, at, 0)[sample * p.state + at.unit];
    const value fresh = tanh_of(x[2] + sigmoid_of(x[0] + h[0]) * h[2]);
    return fresh + sigmoid_of(x[1] + h[1]) * (before - fresh);
  } else {
    const value y = x[0] + h[0];
    return CELL == TANH ? tanh_of(y) : y < 0 ? (value)0 : y;
  }
}

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
      const value state = next_state<CELL, GATES>(p, at, sample, x, h);
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
