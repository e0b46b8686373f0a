// SPDX-License-Identifier: Apache-2.0
// Gather: a thread for each output, which reads its index. Operands: output,
// data, indices. Options: K_T, K_I (the indices' type);
// of sizes: K_LOOPS.
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"
#include "fault.cuh"

#ifndef K_LOOPS
#define K_LOOPS p.e.loops
#endif

KERNEL(gather, bsm_cuda_gather) {
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.e.count;
       i += step) {
    i64 at[3] = {0, 0, 0};
    seek<3>(K_LOOPS, i, p.e.sizes, p.e.strides, at);
    bool good = true;
    for (i64 d = 0; d < p.tuple; d++) {
      const i64 given = load<K_I>(p.e.address[2], at[2] + d * p.tuple_stride);
      const i64 index = given < 0 && p.wraps ? given + p.sizes[d] : given;
      if (index < 0 || index >= p.sizes[d]) {
        fault_index(p.fault, given, p.sizes[d], -1);
        good = false;
        break;
      }
      at[1] += index * p.strides[d];
    }
    if (good) store<K_T>(p.e.address[0], at[0], load<K_T>(p.e.address[1], at[1]));
  }
}
