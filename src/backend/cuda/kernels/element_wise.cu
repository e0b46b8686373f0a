// SPDX-License-Identifier: Apache-2.0
// Fused element-wise programs, copies and fills: for each element of the output
// one call of compute(), which is generated from the step. Options: K_INPUTS;
// of sizes: K_LOOPS (how many there are), K_INDEX (u32 or i64: the type of
// offsets), K_PIECE (elements that lie together and that a thread makes, loads
// and stores at once: those of the last loop, whose other ones are K_PIECE
// apart).
// generated.cuh has also: the type out_type, and the macros
// LOAD_OPERANDS(p, offset), which declares the operands of a piece, and
// OPERANDS(e), the arguments of compute() for its e-th element.
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"
#include "pieces.cuh"

#ifndef K_LOOPS
#define K_LOOPS (int)p.loops
#define K_INDEX i64
#endif
#ifndef K_PIECE
#define K_PIECE 1
#endif

// An operand of a piece: one element of it for each of the output's, or with
// STEP 0 the same one for all.
template <class T, int STEP>
struct operand {
  piece<T, STEP ? K_PIECE : 1> elements;
  DEVICE operand(u64 base, K_INDEX at) { elements.load((const T *)base + at); }
  DEVICE typename element<T>::value get(int e) const { return elements.get(e); }
};

#include "generated.cuh"

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
    LOAD_OPERANDS(p, offset)
    piece<out_type, K_PIECE> out;
#pragma unroll
    for (int e = 0; e < K_PIECE; e++) out.set(e, compute(OPERANDS(e)));
    out.store((out_type *)p.address[0] + offset[0]);
  }
}
