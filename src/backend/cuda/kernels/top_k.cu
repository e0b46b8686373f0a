// SPDX-License-Identifier: Apache-2.0
// The first elements of sorted rows. A block sorts a row (bitonic: the same
// comparisons whatever the values), or, of one that is long, a tile at a time:
// tiles are merged in rounds by as many blocks as there are. NaN is greater than
// everything; among equals the lower index comes first. Options: K_T; of the
// step: K_LARGEST; of sizes: K_OUTER (loops), K_SHARED (rows are in shared
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

DEVICE void exchange(bool largest, bool up, pair *low, pair *high) {
  const pair a = *low, b = *high;
  if (up ? before(largest, b, a) : before(largest, a, b)) {
    *low = b;
    *high = a;
  }
}

DEVICE pair load_pair(const bsm_cuda_top_k &p, i64 base, i64 i) {
  pair e;
  e.index = i < p.rows.inner_count ? i : -1;
  e.x = i < p.rows.inner_count
            ? load<K_T>(p.rows.address[1], base + i * p.rows.inner_strides[1][0])
            : value(0);
  return e;
}

DEVICE void store_pair(const bsm_cuda_top_k &p, const i64 *at, i64 i,
                       const pair &e) {
  copy_of<K_T>::element(p.rows.address[0],
                        at[0] + i * p.rows.inner_strides[0][0],
                        p.rows.address[1],
                        at[1] + e.index * p.rows.inner_strides[1][0]);
  store<i64>(p.rows.address[2], at[2] + i * p.rows.inner_strides[2][0], e.index);
}

// Compares elements of a tile in shared memory, `apart` and less, as those of a
// row from number `first` on.
DEVICE void merge_tile(bool largest, pair *tile, i64 count, i64 first, i64 size,
                       i64 apart) {
  for (; apart > 0; apart /= 2) {
    for (i64 t = threadIdx.x; t < count / 2; t += blockDim.x) {
      const i64 low = t / apart * 2 * apart + t % apart;
      exchange(largest, ((first + low) & size) == 0, tile + low,
               tile + low + apart);
    }
    __syncthreads();
  }
}

DEVICE void sort_short_rows(const bsm_cuda_top_k &p, pair *row) {
  for (i64 o = blockIdx.x; o < p.rows.outer_count; o += gridDim.x) {
    i64 at[3] = {0, 0, 0};
    seek<3>(K_OUTER, o, p.rows.outer_sizes, p.rows.outer_strides, at);
    for (i64 i = threadIdx.x; i < p.room; i += blockDim.x) {
      row[i] = load_pair(p, at[1], i);
    }
    __syncthreads();
    for (i64 size = 2; size <= p.room; size *= 2) {
      merge_tile(K_LARGEST, row, p.room, 0, size, size / 2);
    }
    for (i64 i = threadIdx.x; i < p.k; i += blockDim.x) {
      store_pair(p, at, i, row[i]);
    }
    __syncthreads();
  }
}

// What a round does: sorts tiles (size 0), compares elements that are `apart`,
// or, with less than a tile, all of a tile.
struct round_work {
  i64 size, apart;
};

DEVICE round_work work_of(i64 stage) {
  const i64 tile = BSM_CUDA_TOP_K_TILE;
  if (stage == 0) return {0, 0};
  i64 step = stage - 1, size = 2 * tile, steps = 2;
  for (; step >= steps; steps++) {
    step -= steps;
    size *= 2;
  }
  return {size, step < steps - 1 ? size >> (step + 1) : tile / 2};
}

DEVICE void sort_long_rows(const bsm_cuda_top_k &p, pair *shared) {
  const i64 tile = BSM_CUDA_TOP_K_TILE, tiles = p.room / tile;
  const i64 first = p.round / p.stages * p.at_once;
  const i64 stage = p.round % p.stages;
  const i64 left = p.rows.outer_count - first;
  const i64 rows = left < p.at_once ? left : p.at_once;
  const round_work work = work_of(stage);
  for (i64 t = blockIdx.x; t < rows * tiles; t += gridDim.x) {
    const i64 begin = t % tiles * tile;
    pair *const row = (pair *)p.scratch + t / tiles * p.room;
    i64 at[3] = {0, 0, 0};
    if (stage == 0 || stage == p.stages - 1) {
      seek<3>(K_OUTER, first + t / tiles, p.rows.outer_sizes,
              p.rows.outer_strides, at);
    }
    if (stage == p.stages - 1) {
      for (i64 i = begin + threadIdx.x; i < p.k && i < begin + tile;
           i += blockDim.x) {
        store_pair(p, at, i, row[i]);
      }
      continue;
    }
    if (work.apart >= tile) {
      for (i64 i = begin / 2 + threadIdx.x; i < (begin + tile) / 2;
           i += blockDim.x) {
        const i64 low = i / work.apart * 2 * work.apart + i % work.apart;
        exchange(K_LARGEST, (low & work.size) == 0, row + low,
                 row + low + work.apart);
      }
      continue;
    }
    for (i64 i = threadIdx.x; i < tile; i += blockDim.x) {
      shared[i] = stage == 0 ? load_pair(p, at[1], begin + i) : row[begin + i];
    }
    __syncthreads();
    if (stage == 0) {
      for (i64 size = 2; size <= tile; size *= 2) {
        merge_tile(K_LARGEST, shared, tile, begin, size, size / 2);
      }
    } else {
      merge_tile(K_LARGEST, shared, tile, begin, work.size, work.apart);
    }
    for (i64 i = threadIdx.x; i < tile; i += blockDim.x) {
      row[begin + i] = shared[i];
    }
    __syncthreads();
  }
}

KERNEL_OF(256, top_k, bsm_cuda_top_k) {
  DYNAMIC_SHARED(shared);
  if (K_SHARED) {
    sort_short_rows(p, (pair *)shared);
  } else {
    sort_long_rows(p, (pair *)shared);
  }
}
