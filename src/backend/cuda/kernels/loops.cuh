// SPDX-License-Identifier: Apache-2.0
// Loops over strided tensors, and what threads that share work do together.
#pragma once

// Adds to `offset` where each operand has the i-th element of some loops.
template <int LOOPS, int OPERANDS>
DEVICE void seek(i64 i, const i64 *sizes,
                 const i64 (*strides)[BSM_CUDA_MAX_LOOPS], i64 *offset) {
#pragma unroll
  for (int loop = LOOPS - 1; loop >= 0; loop--) {
    i64 at = i;
    if (loop) {
      // Most numbers are small, and short division is much faster.
      if ((u64)i >> 32 | (u64)sizes[loop] >> 32) {
        at = i % sizes[loop];
        i /= sizes[loop];
      } else {
        at = (u32)i % (u32)sizes[loop];
        i = (u32)i / (u32)sizes[loop];
      }
    }
#pragma unroll
    for (int k = 0; k < OPERANDS; k++) offset[k] += at * strides[k][loop];
  }
}

// A group of GROUP threads, 1, 32 or a block of a multiple of 32, makes one
// value of theirs: the same order of additions every time. All of them get it.
template <int GROUP, class T, class F>
DEVICE T combine(T value, F join) {
  if constexpr (GROUP > 1) {
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2) {
      value = join(value, shuffle_xor(value, lane));
    }
  }
  if constexpr (GROUP > 32) {
    __shared__ T partial[GROUP / 32];
    __syncthreads();
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = partial[0];
    for (int i = 1; i < GROUP / 32; i++) value = join(value, partial[i]);
  }
  return value;
}

// Which of the outer elements a group of threads works on first, how many
// groups there are, and which thread of its group this one is.
template <int GROUP>
struct grouped {
  i64 first, step;
  int rank;
  DEVICE grouped() {
    const i64 thread = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    const i64 threads = (i64)gridDim.x * blockDim.x;
    first = thread / GROUP;
    step = threads / GROUP;
    rank = (int)(threadIdx.x % GROUP);
  }
};
