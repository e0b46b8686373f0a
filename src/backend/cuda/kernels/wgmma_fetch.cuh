// SPDX-License-Identifier: Apache-2.0
// The producer of wgmma_gemm.cu: one thread that asks for tiles of A and B.
#pragma once

struct ring {
  int stage;
  u32 parity;
};

DEVICE void step(ring &r) {
  if (++r.stage == K_STAGES) {
    r.stage = 0;
    r.parity ^= 1;
  }
}

// Where the tiles of one place are in the tensors, and how far they have come.
struct source {
  int m, n, k;  // k: of matrices: the next one
  batch_at a, b;
  // Of images: the first pixel, the group, and the next tap and its maps.
  int pixel[3], image, group, tap, chunk, at[3];
};

DEVICE source find_source(const bsm_cuda_tiled &p, const place_of_tile &t,
                          int first) {
  const bsm_cuda_mma &q = p.product;
  source s = {};
  s.m = t.m;
  s.n = t.n;
  if constexpr (K_IMAGE) {
    int pixel = t.m;
#pragma unroll
    for (int d = 2; d >= (K_IMAGE == 3 ? 0 : 1); d--) {
      const int next = divide(pixel, p.of_out[d]);
      s.pixel[d] = (pixel - next * q.out[d]) * q.stride[d] - q.pre[d];
      pixel = next;
    }
    s.image = pixel;
    s.group = t.batch;
    if (K_SHARED && first) {
      s.tap = first / p.chunks;
      s.chunk = first - s.tap * p.chunks;
      const int row = s.tap / q.kernel[2], plane = row / q.kernel[1];
      s.at[2] = s.tap - row * q.kernel[2];
      s.at[1] = row - plane * q.kernel[1];
      s.at[0] = plane;
    }
  } else {
    const batch_at batch = find_batch(p, t.batch);
    s.k = first * K_BK;
#pragma unroll
    for (int i = 0; i < BSM_CUDA_TILE_LOOPS; i++) {
      s.a.at[i] = p.a_moves[i] ? batch.at[i] : 0;
      s.b.at[i] = p.b_moves[i] ? batch.at[i] : 0;
    }
  }
  return s;
}

// Goes on to the next tile of k.
DEVICE void advance(const bsm_cuda_tiled &p, source &s) {
  if constexpr (K_IMAGE) {
    const bsm_cuda_mma &q = p.product;
    if (++s.chunk < p.chunks) return;
    s.chunk = 0;
    s.tap++;
    if (++s.at[2] < q.kernel[2]) return;
    s.at[2] = 0;
    if (++s.at[1] < q.kernel[1] || K_IMAGE < 3) return;
    s.at[1] = 0;
    s.at[0]++;
  } else {
    s.k += K_BK;
  }
}

DEVICE void fetch_a(const bsm_cuda_tiled &p, const source &s, u32 to,
                    u32 full) {
  if constexpr (K_IMAGE) {
    const bsm_cuda_mma &q = p.product;
    const int c = s.group * q.maps + s.chunk * K_BK;
    const int dx = s.at[2] * q.dilation[2], dy = s.at[1] * q.dilation[1];
    if constexpr (K_IMAGE == 2) {
      ptx_copy_pixels_4d(to, &p.a, full, c, s.pixel[2], s.pixel[1], s.image, dx,
                         dy);
    } else {
      ptx_copy_pixels_5d(to, &p.a, full, c, s.pixel[2], s.pixel[1], s.pixel[0],
                         s.image, dx, dy, s.at[0] * q.dilation[0]);
    }
  } else if constexpr (K_RANK == 3) {
    ptx_copy_tile_3d(to, &p.a, full, s.k, s.m, s.a.at[0]);
  } else {
    ptx_copy_tile_5d(to, &p.a, full, s.k, s.m, s.a.at[0], s.a.at[1],
                     s.a.at[2]);
  }
}

DEVICE void fetch_b(const bsm_cuda_tiled &p, const source &s, u32 to,
                    u32 full) {
  if constexpr (K_IMAGE) {
    ptx_copy_tile_3d(to, &p.b, full, s.chunk * K_BK, s.tap,
                     s.group * p.product.n + s.n);
  } else if constexpr (K_B == ALONG_K) {
    if constexpr (K_RANK == 3) {
      ptx_copy_tile_3d(to, &p.b, full, s.k, s.n, s.b.at[0]);
    } else {
      ptx_copy_tile_5d(to, &p.b, full, s.k, s.n, s.b.at[0], s.b.at[1],
                       s.b.at[2]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < K_BN / 64; i++) {
      const u32 at = to + (u32)(i * BLOCK_OF_N);
      if constexpr (K_RANK == 3) {
        ptx_copy_tile_3d(at, &p.b, full, s.n + i * 64, s.k, s.b.at[0]);
      } else {
        ptx_copy_tile_5d(at, &p.b, full, s.n + i * 64, s.k, s.b.at[0],
                         s.b.at[1], s.b.at[2]);
      }
    }
  }
}

// Barriers of a stage: all of it has come; all of it was multiplied. Where
// warpgroups take turns, each has one that says that its tile was multiplied:
// nobody may wait for a stage before all earlier ones have come, as a barrier
// knows one phase from the next alone.
struct stages {
  u32 memory, barriers;
  DEVICE u32 a(int stage) const { return memory + (u32)(stage * STAGE_BYTES); }
  DEVICE u32 b(int stage) const { return a(stage) + A_BYTES; }
  DEVICE u32 full(int stage) const { return barriers + (u32)stage * 8; }
  DEVICE u32 empty(int stage) const {
    return barriers + (u32)(K_STAGES + stage) * 8;
  }
  DEVICE u32 multiplied(int group) const {
    return barriers + (u32)(2 * K_STAGES + group) * 8;
  }
};

// Asks for what the stages have room for of the first tile: for weights before
// the kernel ahead has ended.
DEVICE int fetch_first(const bsm_cuda_tiled &p, const stages &s, int steps,
                       source &from) {
  const int count = steps < K_STAGES ? steps : K_STAGES;
  if (!K_WEIGHTS) wait_for_previous();
  source of_b = from;
  for (int i = 0; i < count; i++) {
    ptx_mbarrier_expect(s.full(i), STAGE_BYTES);
    fetch_b(p, of_b, s.b(i), s.full(i));
    advance(p, of_b);
  }
  if (K_WEIGHTS) wait_for_previous();
  for (int i = 0; i < count; i++) {
    fetch_a(p, from, s.a(i), s.full(i));
    advance(p, from);
  }
  return count;
}

DEVICE void produce(const bsm_cuda_tiled &p, const stages &s) {
  schedule left = begin(p);
  work w;
  ring r = {0, 0};
  bool is_first = true;
  while (next(p, left, w)) {
    source from = find_source(p, find_tile(p, w.tile), w.first);
    int done = 0;
    if (is_first) {
      done = fetch_first(p, s, w.count, from);
      for (int i = 0; i < done; i++) step(r);
      is_first = false;
    }
    for (; done < w.count; done++, step(r)) {
      ptx_mbarrier_wait(s.empty(r.stage), r.parity ^ 1);
      ptx_mbarrier_expect(s.full(r.stage), STAGE_BYTES);
      fetch_b(p, from, s.b(r.stage), s.full(r.stage));
      fetch_a(p, from, s.a(r.stage), s.full(r.stage));
      advance(p, from);
    }
  }
}
