// SPDX-License-Identifier: Apache-2.0
// Blocks that share the k of the same numbers: each leaves its sums in global
// memory, and the one that ends last adds up those of all, in the order of k.
// Which one that is differs between runs, what it adds up does not.
#pragma once
#include "device.cuh"

// True in all threads of the last of `blocks` blocks that come here: what the
// others have left, it sees from now on, and `counter`, which was zero, is so
// again. `barrier` is one of the threads that share `arrived`.
template <class B>
DEVICE bool ends_last(u32 *counter, int blocks, u32 *arrived, int thread,
                      B barrier) {
  __threadfence();
  barrier();
  if (thread == 0) *arrived = atomicAdd(counter, 1);
  barrier();
  if (*arrived != (u32)blocks - 1) return false;
  __threadfence();
  if (thread == 0) *counter = 0;
  return true;
}

// The same of whole blocks, once in a kernel.
DEVICE bool block_ends_last(u32 *counter, int blocks) {
  __shared__ u32 arrived;
  return ends_last(counter, blocks, &arrived, (int)threadIdx.x,
                   [] { __syncthreads(); });
}
