// SPDX-License-Identifier: Apache-2.0
// Layer and RMS norm of rows that lie together and are short: each thread keeps
// its part of a row in registers, so that memory is read once. Operands:
// output, x, scale, bias, and the output on a grid of bytes (K_HAS_BYTES). Options: K_OUT, K_IN, K_SCALE, K_BIAS (types of what
// is computed in float), K_HAS_SCALE, K_HAS_BIAS, K_RMS, K_GROUP (threads
// of a row; several rows share a warp where they are fewer), K_HELD (elements of a thread), K_PIECE (elements that are loaded at
// once), K_WEIGHTS (1: scale and bias are the same for all rows, and there before
// the kernel begins); of sizes: K_OUTER (loops over rows).
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"
#include "pieces.cuh"
#include "grid.cuh"

#ifndef K_OUTER
#define K_OUTER p.outer_loops
#endif

enum { OUT, IN, SCALE, BIAS, BYTES, OPERANDS, PIECES = K_HELD / K_PIECE };

struct sum {
  DEVICE float operator()(float a, float b) const { return a + b; }
};

// The part of a row that a thread has.
template <class T>
struct part {
  piece<T, K_PIECE> at[PIECES];
  DEVICE void load(u64 address, i64 first, i64 stride, int rank, int count) {
#pragma unroll
    for (int j = 0; j < PIECES; j++) {
      const int i = (rank + j * K_GROUP) * K_PIECE;
      at[j].clear();
      if (i < count) at[j].load((const T *)address + first + i * stride);
    }
  }
};

struct factors {
  part<K_SCALE> scale;
  part<K_BIAS> bias;
  DEVICE void load(const bsm_cuda_nested &p, const i64 *at, int rank) {
    const int count = (int)p.inner_count;
    if (K_HAS_SCALE) {
      scale.load(p.address[SCALE], at[SCALE], p.inner_strides[SCALE][0], rank,
                 count);
    }
    if (K_HAS_BIAS) {
      bias.load(p.address[BIAS], at[BIAS], p.inner_strides[BIAS][0], rank,
                count);
    }
  }
};

EARLY_KERNEL_OF(256, row_normalization, bsm_cuda_nested) {
  const grouped<K_GROUP> g;
  const int count = (int)p.inner_count;
  factors f;
  if (K_WEIGHTS) {
    const i64 at[OPERANDS] = {};
    f.load(p, at, g.rank);
  }
  wait_for_previous();
  byte_grid grid;
  if (K_HAS_BYTES) grid.load(p.grid);
  // A warp goes on as long as its first row is there.
  const i64 ahead = K_GROUP < 32 ? threadIdx.x % 32 / K_GROUP : 0;
  for (i64 o = g.first; o - ahead < p.outer_count; o += g.step) {
    const bool is_there = o < p.outer_count;
    i64 at[OPERANDS] = {};
    seek<OPERANDS>(K_OUTER, is_there ? o : p.outer_count - 1, p.outer_sizes, p.outer_strides, at);
    part<K_IN> in;
    in.load(p.address[IN], at[IN], 1, g.rank, count);
    if (!K_WEIGHTS) f.load(p, at, g.rank);
    float total = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < K_HELD; i++) total += in.at[i / K_PIECE].get(i % K_PIECE);
    const float mean =
        K_RMS ? 0 : combine<K_GROUP>(total, sum()) / (float)count;
#pragma unroll
    for (int i = 0; i < K_HELD; i++) {
      const int first = (g.rank + i / K_PIECE * K_GROUP) * K_PIECE;
      const float d = in.at[i / K_PIECE].get(i % K_PIECE) - mean;
      if (first < count) squares += d * d;
    }
    squares = combine<K_GROUP>(squares, sum()) / (float)count;
    const float factor = 1.0f / sqrtf(squares + (float)p.number);
#pragma unroll
    for (int j = 0; j < PIECES; j++) {
      const int first = (g.rank + j * K_GROUP) * K_PIECE;
      if (first >= count || !is_there) continue;
      piece<K_OUT, K_PIECE> out;
#pragma unroll
      for (int e = 0; e < K_PIECE; e++) {
        float y = (in.at[j].get(e) - mean) * factor;
        if (K_HAS_SCALE) y *= f.scale.at[j].get(e);
        if (K_HAS_BIAS) y += f.bias.at[j].get(e);
        out.set(e, y);
      }
      out.store((K_OUT *)p.address[OUT] + at[OUT] + first);
      if (K_HAS_BYTES) {
        piece<u8, K_PIECE> bytes;
#pragma unroll
        for (int e = 0; e < K_PIECE; e++) bytes.set(e, grid.place(out.get(e)));
        bytes.store((u8 *)p.address[BYTES] + at[BYTES] + first);
      }
    }
  }
}
