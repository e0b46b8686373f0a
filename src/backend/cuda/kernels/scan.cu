// SPDX-License-Identifier: Apache-2.0
// Scans along an axis. A warp takes 32 elements of a row at a time, or a thread
// takes a row; a row that is long is cut into chunks, whose totals are scanned
// before the elements. The order in which elements are joined follows from the
// sizes alone. Options: K_T; of the step: K_OPERATION (bsm_scan_operation); of
// sizes: K_OUTER (loops), K_GROUP.
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"

#ifndef K_OPERATION
#define K_OPERATION ((int)p.rows.operation)
#endif
#ifndef K_OUTER
#define K_OUTER p.rows.outer_loops
#endif

enum { SUM, PROD, MAX, MIN, LOG_SUM_EXP };

// What elements are joined in. `index`: of the element for MAX and MIN, and
// some number not below 0 for others; -1: there are no elements.
typedef sum_of<element<K_T>::value>::type value;
struct total {
  value x;
  i64 index;
};

DEVICE double log_add_exp(double a, double b) {
  const double low = b < a || b != b ? b : a, high = b > a || b != b ? b : a;
  // Infinities that are equal have no difference.
  return low != high || high - high == 0 ? log1p(exp(low - high)) + high : a;
}
DEVICE i64 log_add_exp(i64 a, i64) { return a; }

// The elements of `a` are before those of `b`.
DEVICE total join(int operation, const total &a, const total &b) {
  if (a.index < 0) return b;
  if (b.index < 0) return a;
  total c = b;
  switch (operation) {
    case SUM: c.x = add(a.x, b.x); break;
    case PROD: c.x = multiply(a.x, b.x); break;
    case MAX:
      if (!(b.x != b.x || b.x >= a.x)) c = a;
      break;
    case MIN:
      if (!(b.x != b.x || b.x <= a.x)) c = a;
      break;
    default: c.x = log_add_exp(a.x, b.x);
  }
  return c;
}

DEVICE total from_lane(const total &a, int lane) {
  return {shuffle(a.x, lane), shuffle(a.index, lane)};
}

// All of a warp: each gets the total of its own and those of the lanes below.
DEVICE total scan_warp(int operation, total own, int lane) {
#pragma unroll
  for (int apart = 1; apart < 32; apart *= 2) {
    const total other = from_lane(own, (lane - apart) & 31);
    if (lane >= apart) own = join(operation, other, own);
  }
  return own;
}

// The totals of chunks of a row become those of all chunks before them.
DEVICE void scan_chunks(const bsm_cuda_scan &p) {
  const grouped<32> g;
  for (i64 o = g.first; o < p.rows.outer_count; o += g.step) {
    total *const totals = (total *)p.totals + o * p.chunks;
    total before = {value(0), -1};
    for (i64 i = 0; i < p.chunks; i += 32) {
      total own = {value(0), -1};
      if (i + g.rank < p.chunks) own = totals[i + g.rank];
      own = join(K_OPERATION, before, scan_warp(K_OPERATION, own, g.rank));
      const total left = from_lane(own, (g.rank - 1) & 31);
      if (i + g.rank < p.chunks) totals[i + g.rank] = g.rank ? left : before;
      before = from_lane(own, 31);
    }
  }
}

template <int GROUP>
DEVICE void run(const bsm_cuda_scan &p) {
  const grouped<GROUP> g;
  const i64 y_stride = p.rows.inner_strides[0][0];
  const i64 x_stride = p.rows.inner_strides[1][0];
  const i64 i_stride = p.rows.inner_strides[2][0];
  const bool has_indices = K_OPERATION == MAX || K_OPERATION == MIN;
  for (i64 c = g.first; c < p.rows.outer_count * p.chunks; c += g.step) {
    const i64 o = c / p.chunks, first = c % p.chunks * p.chunk;
    const i64 end =
        p.rows.inner_count - first < p.chunk ? p.rows.inner_count : first + p.chunk;
    i64 at[3] = {0, 0, 0};
    seek<3>(K_OUTER, o, p.rows.outer_sizes, p.rows.outer_strides, at);
    total before = {value(0), -1};
    if (p.phase == BSM_CUDA_SCAN_CHUNKS) before = ((const total *)p.totals)[c];
    for (i64 i = first; i < end; i += GROUP) {
      const i64 k = i + g.rank;
      total own = {value(0), -1};
      if (k < end) {
        own.x = convert<value>::from(load<K_T>(p.rows.address[1], at[1] + k * x_stride));
        own.index = k;
      }
      if constexpr (GROUP > 1) own = scan_warp(K_OPERATION, own, g.rank);
      own = join(K_OPERATION, before, own);
      if (k < end && p.phase != BSM_CUDA_SCAN_TOTALS) {
        store<K_T>(p.rows.address[0], at[0] + k * y_stride, own.x);
        if (has_indices) {
          store<i64>(p.rows.address[2], at[2] + k * i_stride, own.index);
        }
      }
      before = own;
      if constexpr (GROUP > 1) before = from_lane(own, 31);
    }
    if (p.phase == BSM_CUDA_SCAN_TOTALS && g.rank == 0) {
      ((total *)p.totals)[c] = before;
    }
  }
}

KERNEL_OF(256, scan, bsm_cuda_scan) {
  if (p.phase == BSM_CUDA_SCAN_PREFIX) {
    scan_chunks(p);
    return;
  }
#ifdef K_GROUP
  run<K_GROUP>(p);
#else
  if (p.rows.group == 1) {
    run<1>(p);
  } else {
    run<32>(p);
  }
#endif
}
