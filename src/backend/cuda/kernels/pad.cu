// SPDX-License-Identifier: Apache-2.0
// Padding and cropping: a thread for each output. Options: K_T; of the step:
// K_MODE (bsm_padding_mode); of sizes: K_RANK.
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"

#ifndef K_MODE
#define K_MODE (int)p.mode
#endif
#ifndef K_RANK
#define K_RANK (int)p.loops
#endif

enum { CONSTANT, REFLECT, REPLICATE, CIRCULAR };

// The source of a coordinate; -1: there is none.
DEVICE i64 source(int mode, i64 i, i64 n) {
  if (i >= 0 && i < n) return i;
  switch (mode) {
    case REFLECT: return i < 0 ? -i : 2 * (n - 1) - i;
    case REPLICATE: return i < 0 ? 0 : n - 1;
    case CIRCULAR: return i < 0 ? i + n : i - n;
    default: return -1;
  }
}

DEVICE float fill(float, const bsm_cuda_pad &p) { return (float)p.value; }
DEVICE double fill(double, const bsm_cuda_pad &p) { return p.value; }
DEVICE i64 fill(i64, const bsm_cuda_pad &p) { return p.integer; }
DEVICE bool fill(bool, const bsm_cuda_pad &p) { return p.value != 0; }

KERNEL(pad, bsm_cuda_pad) {
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.count;
       i += step) {
    i64 rest = i, to = 0, from = 0;
    bool inside = true;
    UNROLL_LOOPS
    for (int d = K_RANK - 1; d >= 0; d--) {
      const i64 at = rest % p.sizes[d];
      rest /= p.sizes[d];
      const i64 s = source(K_MODE, p.start[d] + at, p.x_sizes[d]);
      inside = inside && s >= 0;
      to += at * p.y_strides[d];
      from += s * p.x_strides[d];
    }
    typedef element<K_T>::value value;
    store<K_T>(p.y, to, inside ? load<K_T>(p.x, from) : fill(value(), p));
  }
}
