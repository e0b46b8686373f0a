// SPDX-License-Identifier: Apache-2.0
// The first elements of sorted rows: a block for each row, which sorts all of
// it (bitonic: the same comparisons whatever the values). NaN is greater than
// everything; among equals the lower index comes first. Options: K_T; of the
// step: K_LARGEST; of sizes: K_OUTER (loops), K_SHARED (pairs are in shared
// memory).
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"

#ifndef K_LARGEST
#define K_LARGEST (p.largest != 0)
#endif
#ifndef K_OUTER
#define K_OUTER p.rows.outer_loops
#define K_SHARED (p.scratch == 0)
#endif

typedef element<K_T>::value value;
struct pair {
  value x;
  i64 index;  // -1: there is none, behind all others
};

DEVICE bool is_greater(value a, value b) { return a > b || (a != a && b == b); }

DEVICE bool before(bool largest, const pair &a, const pair &b) {
  if (a.index < 0 || b.index < 0) return a.index > b.index && b.index < 0;
  if (is_greater(a.x, b.x)) return largest;
  if (is_greater(b.x, a.x)) return !largest;
  return a.index < b.index;
}

KERNEL_OF(256, top_k, bsm_cuda_top_k) {
  DYNAMIC_SHARED(shared);
  pair *const row = K_SHARED ? (pair *)shared
                             : (pair *)p.scratch + blockIdx.x * p.room;
  for (i64 o = blockIdx.x; o < p.rows.outer_count; o += gridDim.x) {
    i64 at[3] = {0, 0, 0};
    seek<3>(K_OUTER, o, p.rows.outer_sizes, p.rows.outer_strides, at);
    for (i64 i = threadIdx.x; i < p.room; i += blockDim.x) {
      pair e;
      e.index = i < p.rows.inner_count ? i : -1;
      e.x = i < p.rows.inner_count
                ? load<K_T>(p.rows.address[1],
                            at[1] + i * p.rows.inner_strides[1][0])
                : value(0);
      row[i] = e;
    }
    __syncthreads();
    for (i64 size = 2; size <= p.room; size *= 2) {
      for (i64 apart = size / 2; apart > 0; apart /= 2) {
        for (i64 t = threadIdx.x; t < p.room / 2; t += blockDim.x) {
          const i64 low = t / apart * 2 * apart + t % apart;
          const bool up = (low & size) == 0;
          const pair a = row[low], b = row[low + apart];
          if (up ? before(K_LARGEST, b, a) : before(K_LARGEST, a, b)) {
            row[low] = b;
            row[low + apart] = a;
          }
        }
        __syncthreads();
      }
    }
    for (i64 i = threadIdx.x; i < p.k; i += blockDim.x) {
      store<K_T>(p.rows.address[0], at[0] + i * p.rows.inner_strides[0][0],
                 row[i].x);
      store<i64>(p.rows.address[2], at[2] + i * p.rows.inner_strides[2][0],
                 row[i].index);
    }
    __syncthreads();
  }
}
