// SPDX-License-Identifier: Apache-2.0
// Scatter: a thread for each line of the output, which takes the updates of the
// line in their order, so that results never depend on the threads. Operands:
// output (a copy of the data), updates, indices. Options: K_T, K_I (the
// indices' type); of the step: K_REDUCTION (bsm_scatter_reduction), K_SELF (what
// is there counts), K_WRAP; of sizes: K_LOOPS, K_TUPLES (loops over updates).
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"
#include "fault.cuh"

#ifndef K_REDUCTION
#define K_REDUCTION p.reduction
#define K_SELF p.keeps
#define K_WRAP p.wraps
#endif
#ifndef K_LOOPS
#define K_LOOPS p.e.loops
#define K_TUPLES p.tuples
#endif

enum { ASSIGN, ADD, MUL, MIN, MAX };

typedef element<K_T>::value value;

template <class V>
DEVICE V merge(const bsm_cuda_scatter &p, V a, V b) {
  switch (K_REDUCTION) {
    case ADD: return a + b;
    case MUL: return a * b;
    case MIN: return b < a || b != b ? b : a;
    case MAX: return b > a || b != b ? b : a;
    default: return b;
  }
}
DEVICE bool merge(const bsm_cuda_scatter &p, bool a, bool b) {
  return K_REDUCTION == ASSIGN ? b
         : K_REDUCTION == ADD || K_REDUCTION == MAX ? a || b
                                                    : a && b;
}
DEVICE float fill(float, const bsm_cuda_scatter &p) { return (float)p.fill; }
DEVICE double fill(double, const bsm_cuda_scatter &p) { return p.fill; }
DEVICE i64 fill(i64, const bsm_cuda_scatter &p) { return p.integer_fill; }
DEVICE bool fill(bool, const bsm_cuda_scatter &p) { return p.integer_fill != 0; }

// Where an update goes; -1: nowhere, its index is bad.
DEVICE i64 find_place(const bsm_cuda_scatter &p, i64 index_at) {
  i64 place = 0;
  for (i64 d = 0; d < p.depth; d++) {
    const i64 given = load<K_I>(p.e.address[2], index_at + d * p.depth_stride);
    const i64 index = K_WRAP && given < 0 ? given + p.sizes[d] : given;
    if (index < 0 || index >= p.sizes[d]) {
      fault_index(p.fault, given, p.sizes[d], p.axis + d);
      return -1;
    }
    place += index * p.strides[d];
  }
  return place;
}

DEVICE void find_update(const bsm_cuda_scatter &p, i64 t, i64 &index,
                        i64 &update) {
  UNROLL_LOOPS
  for (int loop = (int)K_TUPLES - 1; loop >= 0; loop--) {
    const i64 at = t % p.tuple_sizes[loop];
    t /= p.tuple_sizes[loop];
    index += at * p.index_strides[loop];
    update += at * p.update_strides[loop];
  }
}

KERNEL(scatter, bsm_cuda_scatter) {
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.e.count;
       i += step) {
    i64 at[3] = {0, 0, 0};
    seek<3>(K_LOOPS, i, p.e.sizes, p.e.strides, at);
    for (i64 t = 0; t < p.tuple_count && !K_SELF && K_REDUCTION != ASSIGN; t++) {
      i64 index = at[2], update = at[1];
      find_update(p, t, index, update);
      const i64 place = find_place(p, index);
      if (place >= 0) store<K_T>(p.e.address[0], at[0] + place, fill(value(), p));
    }
    for (i64 t = 0; t < p.tuple_count; t++) {
      i64 index = at[2], update = at[1];
      find_update(p, t, index, update);
      const i64 place = find_place(p, index);
      if (place < 0) continue;
      const value new_value = load<K_T>(p.e.address[1], update);
      store<K_T>(p.e.address[0], at[0] + place,
                 K_REDUCTION == ASSIGN
                     ? new_value
                     : merge(p, load<K_T>(p.e.address[0], at[0] + place),
                             new_value));
    }
  }
}
