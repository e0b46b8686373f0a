// SPDX-License-Identifier: Apache-2.0
// Fused element-wise programs, copies and fills: for each element of the output
// one call of compute(), which is generated from the step. Options: K_INPUTS;
// of sizes: K_LOOPS (how many there are), K_INDEX (u32 or i64: the type of
// offsets).
// generated.cuh has also: types out_type and in_type<k>, and the macro
// LOAD_ALL(p, offset), which loads the arguments of compute().
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"
#include "generated.cuh"

#ifndef K_LOOPS
#define K_LOOPS (int)p.loops
#define K_INDEX i64
#endif

KERNEL(element_wise, bsm_cuda_elements) {
  const K_INDEX step = (K_INDEX)gridDim.x * blockDim.x;
  for (K_INDEX i = (K_INDEX)blockIdx.x * blockDim.x + threadIdx.x;
       i < (K_INDEX)p.count; i += step) {
    K_INDEX offset[K_INPUTS + 1];
    K_INDEX rest = i;
#pragma unroll
    for (int k = 0; k <= K_INPUTS; k++) offset[k] = 0;
    UNROLL_LOOPS
    for (int loop = K_LOOPS - 1; loop >= 0; loop--) {
      const K_INDEX at =
          loop ? divide_by(rest, (K_INDEX)p.sizes[loop]) : rest;
#pragma unroll
      for (int k = 0; k <= K_INPUTS; k++) {
        offset[k] += at * (K_INDEX)p.strides[k][loop];
      }
    }
    store<out_type>(p.address[0], offset[0], compute(LOAD_ALL(p, offset)));
  }
}
