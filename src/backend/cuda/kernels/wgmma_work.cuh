// SPDX-License-Identifier: Apache-2.0
// Which tiles a block of wgmma_gemm.cu has, and where they are.
#pragma once

struct work {
  int tile, first, count;  // steps of k
};

struct schedule {
  i64 at, end;  // of the steps of all shared tiles
  int whole;    // the next tile that is not shared
};

DEVICE i64 share_of(const bsm_cuda_tiled &p, int block) {
  return (i64)p.shared_tiles * p.steps * block / (int)gridDim.x;
}

// The block that has a step of the shared tiles.
DEVICE int block_of(const bsm_cuda_tiled &p, i64 step) {
  const i64 total = (i64)p.shared_tiles * p.steps;
  return (int)(((step + 1) * (int)gridDim.x + total - 1) / total) - 1;
}

DEVICE schedule begin(const bsm_cuda_tiled &p) {
  schedule s = {0, 0, (int)blockIdx.x};
  if constexpr (K_SHARED) {
    s.at = share_of(p, (int)blockIdx.x);
    s.end = share_of(p, (int)blockIdx.x + 1);
    s.whole += p.shared_tiles;
  }
  return s;
}

DEVICE bool next(const bsm_cuda_tiled &p, schedule &s, work &w) {
  if constexpr (K_SHARED) {
    if (s.at < s.end) {
      w.tile = (int)((u32)s.at / (u32)p.steps);
      w.first = (int)(s.at - (i64)w.tile * p.steps);
      const i64 left = s.end - s.at;
      w.count = p.steps - w.first;
      if (left < w.count) w.count = (int)left;
      s.at += w.count;
      return true;
    }
  }
  if (s.whole >= p.tiles) return false;
  w = {s.whole, 0, p.steps};
  s.whole += (int)gridDim.x;
  return true;
}

// Of numbers that are not negative.
DEVICE int divide(int x, const bsm_cuda_divisor &by) {
  return by.magic ? (int)(__umulhi((u32)x, by.magic) >> by.shift) : x;
}

struct place_of_tile {
  int batch, m, n;
};

// Some rows of tiles are taken together, column by column, so that blocks that
// run at the same time read the same parts of A and B.
DEVICE place_of_tile find_tile(const bsm_cuda_tiled &p, int tile) {
  const int batch = divide(tile, p.of_batch);
  const int at = tile - batch * (p.tiles_m * p.product.tiles_n);
  const int band = divide(at, p.of_band), first = band * p.raster;
  const int in_band = at - first * p.product.tiles_n;
  const bool is_last = first + p.raster >= p.tiles_m;
  const int rows = is_last ? p.tiles_m - first : p.raster;
  const int column = divide(in_band, is_last ? p.of_last_rows : p.of_rows);
  return {batch, (first + in_band - column * rows) * K_BM, column * K_BN};
}

// Which one of each loop over batches.
struct batch_at {
  int at[BSM_CUDA_TILE_LOOPS];
};

DEVICE batch_at find_batch(const bsm_cuda_tiled &p, int batch) {
  batch_at b = {{batch, 0, 0}};
  if constexpr (K_RANK == 3) return b;
  int rest = batch;
#pragma unroll
  for (int loop = BSM_CUDA_TILE_LOOPS - 1; loop >= 0; loop--) {
    const int next = divide(rest, p.of_loop[loop]);
    b.at[loop] = rest - next * p.product.batch_sizes[loop];
    rest = next;
  }
  return b;
}
