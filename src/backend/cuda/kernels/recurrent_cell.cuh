// SPDX-License-Identifier: Apache-2.0
// What cells of recurrent networks do with their gates. With FAST_GATES, which
// is for float, the sigmoid and the tanh are off by some 1e-7.
#pragma once

enum { LSTM, GRU, TANH, RELU };
enum { ACTIVATION_SIGMOID = 2, ACTIVATION_TANH = 3 };

#ifdef FAST_GATES
DEVICE float sigmoid_of(float x) {
  return __fdividef(1.0f, 1.0f + __expf(-x));
}
DEVICE float tanh_of(float x) { return 2.0f * sigmoid_of(2.0f * x) - 1.0f; }
#else
template <class V>
DEVICE V sigmoid_of(V x) {
  return activate(ACTIVATION_SIGMOID, x, (V)0, (V)0);
}
template <class V>
DEVICE V tanh_of(V x) {
  return activate(ACTIVATION_TANH, x, (V)0, (V)0);
}
#endif

template <int CELL>
struct gates_of {
  enum { COUNT = CELL == LSTM ? 4 : CELL == GRU ? 3 : 1 };
};

// The state that the products with the input x and with the state before, h,
// lead to; `memory` is that of an LSTM's cell, which changes.
template <int CELL, int GATES, class V>
DEVICE V next_state(const V (&x)[GATES], const V (&h)[GATES], V before,
                    V &memory) {
  if constexpr (CELL == LSTM) {
    memory = sigmoid_of(x[1] + h[1]) * memory +
             sigmoid_of(x[0] + h[0]) * tanh_of(x[2] + h[2]);
    return sigmoid_of(x[3] + h[3]) * tanh_of(memory);
  } else if constexpr (CELL == GRU) {
    const V fresh = tanh_of(x[2] + sigmoid_of(x[0] + h[0]) * h[2]);
    return fresh + sigmoid_of(x[1] + h[1]) * (before - fresh);
  } else {
    const V y = x[0] + h[0];
    return CELL == TANH ? tanh_of(y) : y < 0 ? (V)0 : y;
  }
}
