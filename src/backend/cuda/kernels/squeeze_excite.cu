// SPDX-License-Identifier: Apache-2.0
// What squeezes and excites, in one kernel of clusters: the mean of each map of
// an image, a product with activation to a few units, another one back to gates
// of all maps, and the image times its gates. A block has an eighth of the maps,
// which stay in its shared memory with their weights; all blocks tell each other
// their parts of the units. What the steps in between would write is written,
// and rounded, too. Options: K_T; K_UNIT, K_GATE (activations); K_SCALES: 1: y is
// made.
// grid: (8, images)
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "pieces.cuh"

typedef K_T T;

enum { BLOCKS = 8, THREADS = 512, PIECE = 8, LANES = 8 };

struct shared_parts {
  T *x, *to_units, *to_gates;
  float *sums, *mean, *parts, *units, *gates;

  DEVICE shared_parts(const bsm_cuda_squeeze_excite &p, char *memory) {
    x = (T *)memory;
    to_units = x + p.pixels * p.slice;
    to_gates = to_units + p.units * p.slice;
    sums = (float *)(to_gates + p.units * p.slice);
    mean = sums + THREADS * PIECE;
    parts = mean + p.slice;
    units = parts + BLOCKS * p.units;
    gates = units + p.units;
  }
};

DEVICE float rounded(float x) { return to_float(from_float<T>(x)); }

// `rows` rows of `count` elements, multiples of 16 bytes.
DEVICE void copy_rows(T *to, const T *from, int rows, int count, i64 stride,
                      int to_stride) {
  const int pieces = count / PIECE;
  for (int i = (int)threadIdx.x; i < rows * pieces; i += THREADS) {
    const int row = i / pieces, at = i % pieces * PIECE;
    copy16_async(shared_address(to + row * to_stride + at),
                 from + row * stride + at, true);
  }
}

// The sums of each map, in two rounds of fixed order.
DEVICE void sum_maps(const bsm_cuda_squeeze_excite &p, const shared_parts &s,
                     int count) {
  const int thread = (int)threadIdx.x, pieces = count / PIECE;
  const int groups = THREADS / pieces, group = thread / pieces;
  float sum[PIECE];
#pragma unroll
  for (int e = 0; e < PIECE; e++) sum[e] = 0;
  if (group < groups) {
    const int at = thread % pieces * PIECE;
    for (int i = group; i < p.pixels; i += groups) {
      piece<T, PIECE> x;
      x.load(s.x + i * p.slice + at);
#pragma unroll
      for (int e = 0; e < PIECE; e++) sum[e] += x.get(e);
    }
#pragma unroll
    for (int e = 0; e < PIECE; e++) {
      s.sums[group * count + at + e] = sum[e];
    }
  }
  __syncthreads();
  const int rounds = THREADS / count, round = thread / count;
  float total = 0;
  if (round < rounds) {
    for (int i = round; i < groups; i += rounds) {
      total += s.sums[i * count + thread % count];
    }
  }
  __syncthreads();
  if (round < rounds) s.sums[thread] = total;
  __syncthreads();
  if (thread < count) {
    float all = 0;
    for (int i = 0; i < rounds; i++) all += s.sums[i * count + thread];
    s.mean[thread] = rounded(all / (float)p.pixels);
  }
  __syncthreads();
}

// This block's part of all units, to all blocks.
DEVICE void tell_units(const bsm_cuda_squeeze_excite &p, const shared_parts &s,
                       int block, int count) {
  const int lane = (int)threadIdx.x % 32;
  for (int unit = (int)threadIdx.x / 32; unit < p.units; unit += THREADS / 32) {
    const u32 *w = (const u32 *)(s.to_units + unit * p.slice);
    float sum = 0;
    for (int i = lane; i < count / 2; i += 32) {
      const u32 pair = w[i];
      sum = fmaf(s.mean[2 * i], to_float(unpack<T>(pair, 0)), sum);
      sum = fmaf(s.mean[2 * i + 1], to_float(unpack<T>(pair, 1)), sum);
    }
#pragma unroll
    for (int i = 16; i > 0; i /= 2) sum += shuffle_xor(sum, i);
    if (lane < BLOCKS) {
      ptx_cluster_store(shared_address(s.parts + block * p.units + unit),
                        (u32)lane, sum);
    }
  }
}

// The gates of this block's maps.
DEVICE void make_gates(const bsm_cuda_squeeze_excite &p, const shared_parts &s,
                       int count) {
  const int lane = (int)threadIdx.x % LANES;
  for (int first = 0; first < count; first += THREADS / LANES) {
    const int map = first + (int)threadIdx.x / LANES;
    float sum = 0;
    if (map < count) {
      const T *w = s.to_gates + map * p.units;
      for (int i = lane; i < p.units; i += LANES) {
        sum = fmaf(s.units[i], to_float(w[i]), sum);
      }
    }
#pragma unroll
    for (int i = LANES / 2; i > 0; i /= 2) sum += shuffle_xor(sum, i);
    if (map < count && lane == 0) s.gates[map] = sum;
  }
}

DEVICE void scale(const bsm_cuda_squeeze_excite &p, const shared_parts &s, T *y,
                  int count) {
  const int pieces = count / PIECE;
  for (int i = (int)threadIdx.x; i < p.pixels * pieces; i += THREADS) {
    const int pixel = i / pieces, at = i % pieces * PIECE;
    piece<T, PIECE> x, scaled;
    x.load(s.x + pixel * p.slice + at);
#pragma unroll
    for (int e = 0; e < PIECE; e++) scaled.set(e, x.get(e) * s.gates[at + e]);
    scaled.store(y + pixel * p.y_pixel + at);
  }
}

CLUSTER_KERNEL_OF(THREADS, BLOCKS, squeeze_excite, bsm_cuda_squeeze_excite) {
  DYNAMIC_SHARED(memory);
  const shared_parts s(p, memory);
  const int thread = (int)threadIdx.x, block = (int)blockIdx.x;
  const i64 image = (i64)blockIdx.y;
  const int map = block * p.slice;
  const int left = p.maps - map;
  const int count = left < 0 ? 0 : left < p.slice ? left : p.slice;
  float unit_bias = 0, gate_bias = 0;
  ptx_cluster_arrive();
  if (count) {
    copy_rows(s.to_units, (const T *)p.to_units + map, p.units, count, p.maps,
              p.slice);
    copy_rows(s.to_gates, (const T *)p.to_gates + (i64)map * p.units, 1,
              count * p.units, 0, 0);
  }
  if (p.unit_bias && thread < p.units) {
    unit_bias = to_float(((const T *)p.unit_bias)[thread]);
  }
  if (p.gate_bias && thread < count) {
    gate_bias = to_float(((const T *)p.gate_bias)[map + thread]);
  }
  wait_for_previous();
  if (count) {
    copy_rows(s.x, (const T *)p.x + image * p.x_image + map, p.pixels, count,
              p.x_pixel, p.slice);
  }
  copies_commit();
  copies_wait<0>();
  __syncthreads();
  if (count) {
    sum_maps(p, s, count);
    if (thread < count && p.mean) {
      ((T *)p.mean)[image * p.mean_image + map + thread] =
          from_float<T>(s.mean[thread]);
    }
  }
  ptx_cluster_wait();  // all blocks have begun
  tell_units(p, s, block, count);
  ptx_cluster_arrive();
  ptx_cluster_wait();
  if (thread < p.units) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < BLOCKS; i++) sum += s.parts[i * p.units + thread];
    const T unit = from_float<T>(
        activate(K_UNIT, sum + unit_bias, p.unit_alpha, p.unit_beta));
    s.units[thread] = to_float(unit);
    if (block == 0 && p.hidden) ((T *)p.hidden)[image * p.hidden_image + thread] = unit;
  }
  __syncthreads();
  make_gates(p, s, count);
  __syncthreads();
  if (thread < count) {
    const T gate = from_float<T>(activate(K_GATE, s.gates[thread] + gate_bias,
                                          p.gate_alpha, p.gate_beta));
    s.gates[thread] = to_float(gate);
    ((T *)p.gates)[image * p.gates_image + map + thread] = gate;
  }
  if (!K_SCALES || !count) return;
  __syncthreads();
  scale(p, s, (T *)p.y + image * p.y_image + map, count);
}
