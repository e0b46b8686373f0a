// SPDX-License-Identifier: Apache-2.0
// Loops over strided tensors, and what threads that share work do together.
#pragma once

// In front of a loop over loops, which is unrolled when their number is an
// option.
#if defined(K_LOOPS) || defined(K_OUTER) || defined(K_HEADS) || defined(K_RANK)
#define UNROLL_LOOPS _Pragma("unroll")
#else
#define UNROLL_LOOPS _Pragma("unroll 1")
#endif

// i % size, after which i is divided by size.
DEVICE u32 divide_by(u32 &i, u32 size) {
  const u32 rest = i % size;
  i /= size;
  return rest;
}
DEVICE i64 divide_by(i64 &i, i64 size) {
  // Most numbers are small, and short division is much faster.
  if ((u64)i >> 32 | (u64)size >> 32) {
    const i64 rest = i % size;
    i /= size;
    return rest;
  }
  const u32 rest = (u32)i % (u32)size;
  i = (u32)i / (u32)size;
  return rest;
}

// Adds to `offset` where each operand has the i-th element of some loops.
template <int OPERANDS>
DEVICE void seek(i64 loops, i64 i, const i64 *sizes,
                 const i64 (*strides)[BSM_CUDA_MAX_LOOPS], i64 *offset) {
  UNROLL_LOOPS
  for (int loop = (int)loops - 1; loop >= 0; loop--) {
    const i64 at = loop ? divide_by(i, sizes[loop]) : i;
#pragma unroll
    for (int k = 0; k < OPERANDS; k++) offset[k] += at * strides[k][loop];
  }
}

// A group of GROUP threads, a power of two up to 32 or a block of a multiple of
// 32, makes one value of theirs: the same order of additions every time. All of
// them get it. All threads of a warp have to come here.
template <int GROUP, class T, class F>
DEVICE T combine(T value, F join) {
  if constexpr (GROUP > 1) {
#pragma unroll
    for (int lane = (GROUP < 32 ? GROUP : 32) / 2; lane > 0; lane /= 2) {
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

// Calls run<GROUP>(p) of a kernel, of which each size of groups is an instance.
#ifdef K_GROUP
#define RUN_GROUPED(run, p) run<K_GROUP>(p)
#else
#define RUN_GROUPED(run, p)      \
  do {                           \
    if ((p).group == 1) {        \
      run<1>(p);                 \
    } else if ((p).group == 32) { \
      run<32>(p);                \
    } else {                     \
      run<256>(p);               \
    }                            \
  } while (0)
#endif

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
