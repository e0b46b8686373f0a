// SPDX-License-Identifier: Apache-2.0
// The places of elements that are not zero, in order. A warp takes a chunk, 32
// elements at a time. Options: K_T.
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"

DEVICE u32 votes(const bsm_cuda_non_zero &p, i64 at, i64 end) {
  const bool found =
      at < end && convert<bool>::from(load<K_T>(p.x, at));
  return __ballot_sync(0xffffffffu, found);
}

// Counts become the sums of all before them; the last is that of all.
DEVICE void sum_counts(const bsm_cuda_non_zero &p) {
  const grouped<32> g;
  i64 *const counts = (i64 *)p.counts;
  if (g.first > 0) return;
  i64 before = 0;
  for (i64 i = 0; i < p.chunks; i += 32) {
    const i64 own = i + g.rank < p.chunks ? counts[i + g.rank] : 0;
    i64 sum = own;
#pragma unroll
    for (int apart = 1; apart < 32; apart *= 2) {
      const i64 other = shuffle(sum, (g.rank - apart) & 31);
      if (g.rank >= apart) sum += other;
    }
    if (i + g.rank < p.chunks) counts[i + g.rank] = before + sum - own;
    before += shuffle(sum, 31);
  }
  if (g.rank == 0) counts[p.chunks] = before;
}

KERNEL_OF(256, non_zero, bsm_cuda_non_zero) {
  if (p.phase == BSM_CUDA_NON_ZERO_SUM) {
    sum_counts(p);
    return;
  }
  const grouped<32> g;
  i64 *const counts = (i64 *)p.counts, *const y = (i64 *)p.y;
  for (i64 c = g.first; c < p.chunks; c += g.step) {
    const i64 first = c * p.chunk;
    const i64 end = p.n - first < p.chunk ? p.n : first + p.chunk;
    const bool writes = p.phase == BSM_CUDA_NON_ZERO_WRITE;
    i64 count = writes ? counts[c] : 0;
    for (i64 i = first; i < end; i += 32) {
      const i64 at = i + g.rank;
      const u32 found = votes(p, at, end);
      if (writes) {
        const u32 below = found & ((1u << g.rank) - 1);
        if (found >> g.rank & 1) y[count + __popc(below)] = at;
        if (at < end && at >= counts[p.chunks]) y[at] = -1;
      }
      count += __popc(found);
    }
    if (!writes && g.rank == 0) counts[c] = count;
  }
}
