// SPDX-License-Identifier: Apache-2.0
// Non-maximum suppression of boxes that come in the order in which they are
// kept. Each operation rounds to the dtype of the boxes, as PyTorch's does.
// Options: K_T.
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "rounded.cuh"

typedef wide<K_T>::type value;
DEVICE value rounded(value x) { return wide<K_T>::round(x); }

struct box {
  value x0, y0, x1, y1, area;
};

DEVICE box load_box(u64 boxes, i64 i) {
  box b;
  b.x0 = (value)load<K_T>(boxes, 4 * i);
  b.y0 = (value)load<K_T>(boxes, 4 * i + 1);
  b.x1 = (value)load<K_T>(boxes, 4 * i + 2);
  b.y1 = (value)load<K_T>(boxes, 4 * i + 3);
  b.area = rounded(rounded(b.x1 - b.x0) * rounded(b.y1 - b.y0));
  return b;
}

DEVICE bool overlap(const box &a, const box &b, double threshold) {
  const value w = rounded(least(a.x1, b.x1) - greatest(a.x0, b.x0));
  const value h = rounded(least(a.y1, b.y1) - greatest(a.y0, b.y0));
  const value both = rounded((w > 0 ? w : 0) * (h > 0 ? h : 0));
  const value all = rounded(rounded(a.area + b.area) - both);
  return (double)rounded(both / all) > threshold;
}

// A block of 64 threads: as many boxes of the round, compared with 64 boxes.
DEVICE void compare(const bsm_cuda_nms &p) {
  __shared__ box columns[64];
  const i64 word = blockIdx.x, column = word * 64;
  const i64 row = (i64)blockIdx.y * 64 + threadIdx.x;
  const i64 i = p.round * p.rows + row;
  if (column + threadIdx.x < p.n) {
    columns[threadIdx.x] = load_box(p.x, column + threadIdx.x);
  }
  __syncthreads();
  if (row >= p.rows || i >= p.n) return;
  u64 over = 0;
  const bool gone =
      p.round > 0 && ((const u64 *)p.gone)[i / 64] >> (i % 64) & 1;
  if (!gone && column + 63 > i) {
    const box own = load_box(p.x, i);
    for (int k = 0; k < 64 && column + k < p.n; k++) {
      if (column + k > i && overlap(own, columns[k], p.threshold)) {
        over |= 1ull << k;
      }
    }
  }
  ((u64 *)p.over)[row * p.words + word] = over;
}

// One block: the boxes of the round, 64 at a time.
DEVICE void keep(const bsm_cuda_nms &p) {
  __shared__ u64 own[64], gone_now;
  u64 *const gone = (u64 *)p.gone;
  const u64 *const over = (const u64 *)p.over;
  const i64 first = p.round * p.rows;
  const i64 end = p.n - first < p.rows ? p.n : first + p.rows;
  for (i64 w = threadIdx.x; p.round == 0 && w < p.words; w += blockDim.x) {
    gone[w] = 0;
  }
  __syncthreads();
  for (i64 at = first; at < end; at += 64) {
    const i64 word = at / 64, row = at - first;
    const int count = end - at < 64 ? (int)(end - at) : 64;
    if (threadIdx.x < count) own[threadIdx.x] = over[(row + threadIdx.x) * p.words + word];
    __syncthreads();
    if (threadIdx.x == 0) {
      u64 bits = gone[word];
      for (int k = 0; k < count; k++) {
        if (!(bits >> k & 1)) bits |= own[k];
      }
      gone_now = bits;
    }
    __syncthreads();
    const u64 bits = gone_now;
    if (threadIdx.x < count) {
      ((u8 *)p.y)[at + threadIdx.x] = bits >> threadIdx.x & 1 ? 0 : 1;
    }
    for (i64 w = word + 1 + threadIdx.x; w < p.words; w += blockDim.x) {
      u64 all = gone[w];
      for (int k = 0; k < count; k++) {
        if (!(bits >> k & 1)) all |= over[(row + k) * p.words + w];
      }
      gone[w] = all;
    }
    __syncthreads();
  }
}

KERNEL_OF(256, nms, bsm_cuda_nms) {
  if (p.phase == BSM_CUDA_NMS_COMPARE) {
    compare(p);
  } else {
    keep(p);
  }
}
