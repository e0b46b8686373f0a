// SPDX-License-Identifier: Apache-2.0
// Group and instance norm of images whose maps lie together: a block has some
// pixels of a slab of maps, which is whole groups. Mean and variance are made of
// those of parts, so that nothing cancels. Options: K_IN, K_OUT, K_SCALE, K_BIAS
// (types of what is computed in float); K_PIECE (maps of a thread, loaded at
// once); K_SLAB (maps of a block); K_GROUP (maps of a group); K_LANES (threads
// that join what they know of a group, a power of two up to 32); K_PART (0: all;
// 1: what is known of each chunk of pixels; 2: the rest); K_HAS_SCALE,
// K_HAS_BIAS; K_ACTIVATION (bsm_activation_type), K_KEEPS (1: what it is taken
// of is stored, too).
// grid: (chunks of pixels, slabs, images)
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "pieces.cuh"
#include "narrow_activation.cuh"

enum {
  THREADS = 256,
  COLUMNS = K_SLAB / K_PIECE,   // threads of a pixel
  DEPTH = THREADS / COLUMNS,    // pixels that a block has at a time
  GROUPS = K_SLAB / K_GROUP,    // of a block
  SPAN = K_GROUP % K_PIECE == 0 ? K_PIECE
         : K_PIECE % K_GROUP == 0 ? K_GROUP : 1,  // maps that a thread joins
  PARTS = K_PIECE / SPAN,       // of a thread
  SETS = K_SLAB / SPAN,         // of a pixel's parts
  OF_GROUP = K_GROUP / SPAN,    // parts of a pixel in a group
  AT_ONCE = 8                   // pixels that a thread asks for
};

// What is known of some numbers: how many, and their mean and the sum of the
// squares of what they differ from it by.
struct moments {
  float count, mean, squares;
};

struct block_memory {
  float mean[DEPTH * SETS], squares[DEPTH * SETS];  // of threads' parts
  float group_mean[GROUPS], group_factor[GROUPS];
};

struct work {
  int column, row, first, last;  // pixels of the chunk
  DEVICE work(const bsm_cuda_group_norm &p) {
    column = (int)threadIdx.x % COLUMNS;
    row = (int)threadIdx.x / COLUMNS;
    first = (int)blockIdx.x * p.chunk;
    last = first + p.chunk < p.pixels ? first + p.chunk : p.pixels;
  }
  DEVICE bool is() const { return row < DEPTH; }
  DEVICE int map() const { return (int)blockIdx.y * K_SLAB + column * K_PIECE; }
};

// ---- joining ----

DEVICE float sum_of_lanes(float x) {
#pragma unroll
  for (int lane = K_LANES / 2; lane > 0; lane /= 2) x += shuffle_xor(x, lane);
  return x;
}

// Of `count` sets, of which each of K_LANES threads looks at some.
template <class SETS_OF>
DEVICE moments join(const SETS_OF &sets, int count) {
  const int lane = (int)threadIdx.x % K_LANES;
  moments all = {0, 0, 0};
  float sum = 0;
  for (int i = lane; i < count; i += K_LANES) {
    const moments m = sets.at(i);
    all.count += m.count;
    sum += m.count * m.mean;
  }
  all.count = sum_of_lanes(all.count);
  all.mean = sum_of_lanes(sum) / all.count;
  for (int i = lane; i < count; i += K_LANES) {
    const moments m = sets.at(i);
    const float d = m.mean - all.mean;
    all.squares += m.squares + m.count * d * d;
  }
  all.squares = sum_of_lanes(all.squares);
  return all;
}

// ---- a chunk ----

// The parts of a group that the threads of this block know.
struct threads_parts {
  const block_memory &shared;
  int group, pixels;
  DEVICE moments at(int i) const {
    const int row = i / OF_GROUP;
    const int set = row * SETS + group * OF_GROUP + i % OF_GROUP;
    const int own = row < pixels ? (pixels - row + DEPTH - 1) / DEPTH : 0;
    return {(float)(own * SPAN), shared.mean[set], shared.squares[set]};
  }
};

// Sums of what differs from the thread's first pixel, and its squares.
DEVICE void look_at_pixels(const bsm_cuda_group_norm &p, const work &w,
                           block_memory &shared) {
  typedef piece<K_IN, K_PIECE> vector;
  const K_IN *x = (const K_IN *)p.x + (i64)blockIdx.z * p.x_image + w.map();
  const int begin = w.first + w.row;
  float first[K_PIECE], sum[K_PIECE], squares[K_PIECE];
  vector in[AT_ONCE];
  const int count = begin < w.last ? (w.last - begin + DEPTH - 1) / DEPTH : 0;
  in[0].clear();
  if (count > 0) in[0].load(x + begin * p.x_pixel);
#pragma unroll
  for (int e = 0; e < K_PIECE; e++) {
    first[e] = in[0].get(e);
    sum[e] = squares[e] = 0;
  }
  for (int i = 0; i < count; i += AT_ONCE) {
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
      const int at = i + j < count ? i + j : i;
      in[j].load(x + (begin + (i64)at * DEPTH) * p.x_pixel);
    }
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
#pragma unroll
      for (int e = 0; e < K_PIECE; e++) {
        const float d = i + j < count ? in[j].get(e) - first[e] : 0.0f;
        sum[e] += d;
        squares[e] += d * d;
      }
    }
  }
  const float share = count > 0 ? 1.0f / (float)count : 0.0f;
#pragma unroll
  for (int part = 0; part < PARTS; part++) {
    float mean = 0, all = 0;
#pragma unroll
    for (int e = 0; e < SPAN; e++) {
      const int at = part * SPAN + e;
      mean += first[at] + sum[at] * share;
    }
    mean /= (float)SPAN;
#pragma unroll
    for (int e = 0; e < SPAN; e++) {
      const int at = part * SPAN + e;
      const float own = first[at] + sum[at] * share - mean;
      const float rest = squares[at] - sum[at] * sum[at] * share;
      all += (rest < 0 ? 0 : rest) + (float)count * own * own;
    }
    const int set = w.row * SETS + w.column * PARTS + part;
    shared.mean[set] = mean;
    shared.squares[set] = all;
  }
}

// ---- chunks ----

// Two numbers for each group.
DEVICE float *parts_of(const bsm_cuda_group_norm &p, int chunk, int chunks) {
  const i64 image = blockIdx.z;
  return (float *)p.parts +
         ((image * chunks + chunk) * gridDim.y + blockIdx.y) * 2 * GROUPS;
}

struct chunks_parts {
  const bsm_cuda_group_norm &p;
  int group, chunks;
  DEVICE moments at(int i) const {
    const float *m = parts_of(p, i, chunks) + 2 * group;
    const int left = p.pixels - i * p.chunk;
    return {(float)((left < p.chunk ? left : p.chunk) * K_GROUP), m[0], m[1]};
  }
};

DEVICE void know_group(block_memory &shared, int group, const moments &m,
                       float epsilon) {
  shared.group_mean[group] = m.mean;
  shared.group_factor[group] = 1.0f / sqrtf(m.squares / m.count + epsilon);
}

// ---- the result ----

DEVICE void put_pixels(const bsm_cuda_group_norm &p, const work &w,
                       const block_memory &shared) {
  const int map = w.map();
  const K_IN *x = (const K_IN *)p.x + (i64)blockIdx.z * p.x_image + map;
  K_OUT *y = (K_OUT *)p.y + (i64)blockIdx.z * p.y_image + map;
  float factor[K_PIECE], shift[K_PIECE];
  piece<K_SCALE, K_PIECE> scale;
  piece<K_BIAS, K_PIECE> bias;
  if (K_HAS_SCALE) scale.load((const K_SCALE *)p.scale + map);
  if (K_HAS_BIAS) bias.load((const K_BIAS *)p.bias + map);
#pragma unroll
  for (int e = 0; e < K_PIECE; e++) {
    const int group = (w.column * K_PIECE + e) / K_GROUP;
    factor[e] = shared.group_factor[group];
    if (K_HAS_SCALE) factor[e] *= scale.get(e);
    shift[e] = shared.group_mean[group];
  }
#pragma unroll 4
  for (int i = w.first + w.row; i < w.last; i += DEPTH) {
    piece<K_IN, K_PIECE> in;
    piece<K_OUT, K_PIECE> out, kept;
    in.load(x + i * p.x_pixel);
#pragma unroll
    for (int e = 0; e < K_PIECE; e++) {
      float value = (in.get(e) - shift[e]) * factor[e];
      if (K_HAS_BIAS) value += bias.get(e);
      if (K_ACTIVATION != 0) {
        kept.set(e, value);
        value = activate_sum<K_OUT>(K_ACTIVATION, kept.get(e), p.alpha, p.beta);
      }
      out.set(e, value);
    }
    if (K_KEEPS) {
      kept.store((K_OUT *)p.kept + (i64)blockIdx.z * p.kept_image + map +
                 i * p.kept_pixel);
    }
    out.store(y + i * p.y_pixel);
  }
}

KERNEL_OF(THREADS, group_normalization, bsm_cuda_group_norm) {
  __shared__ block_memory shared;
  const work w(p);
  if (K_PART != 2) {
    if (w.is()) look_at_pixels(p, w, shared);
    __syncthreads();
  }
  const int chunks = (p.pixels + p.chunk - 1) / p.chunk;
  // All lanes of a warp go on together.
  for (int first = 0; first < GROUPS; first += THREADS / K_LANES) {
    const int own = first + (int)threadIdx.x / K_LANES;
    const int group = own < GROUPS ? own : GROUPS - 1;
    moments m;
    if (K_PART == 2) {
      const chunks_parts parts = {p, group, chunks};
      m = join(parts, chunks);
    } else {
      const threads_parts parts = {shared, group, w.last - w.first};
      m = join(parts, DEPTH * OF_GROUP);
    }
    if (threadIdx.x % K_LANES != 0 || own >= GROUPS) continue;
    if (K_PART == 1) {
      float *to = parts_of(p, (int)blockIdx.x, chunks) + 2 * group;
      to[0] = m.mean;
      to[1] = m.squares;
    } else {
      know_group(shared, group, m, p.epsilon);
    }
  }
  if (K_PART == 1) return;
  __syncthreads();
  if (w.is()) put_pixels(p, w, shared);
}
