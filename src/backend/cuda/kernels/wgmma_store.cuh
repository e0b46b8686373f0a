// SPDX-License-Identifier: Apache-2.0
// The end of a tile of wgmma_gemm.cu: sums become rows of y.
#pragma once

// What a warp stores, on its way through shared memory.
struct writer {
  u32 room;  // BUFFERS of CHUNK_BYTES
  int next;  // buffer
};

// Where 16 bytes of a row lie: as tiles that are copied are swizzled.
DEVICE u32 cell(u32 buffer, int row, int column) {
  return buffer + swizzle<CHUNK / 8>(row, column);
}

DEVICE u32 buffer_of(const writer &w, int after) {
  int at = w.next + after;
  if (at >= BUFFERS) at -= BUFFERS;
  return w.room + (u32)(at * CHUNK_BYTES);
}

// Asks for 16 rows of the residual; the buffer may have been stored from.
DEVICE void fetch_residual(const bsm_cuda_mma &p, const T *residual, int m,
                           int n, u32 buffer, int lane) {
  if (lane == 0) ptx_stores_wait_read<BUFFERS - 2>();
  __syncwarp();
#pragma unroll
  for (int i = 0; i < CHUNK / 16; i++) {
    const int at = i * 32 + lane;
    const int row = at / (CHUNK / 8), column = at % (CHUNK / 8);
    const bool is_there = m + row < p.m && n + column * 8 < p.n;
    const T *from = residual + (i64)(m + row) * p.residual_row + n + column * 8;
    ptx_copy16_async(cell(buffer, row, column), is_there ? from : residual,
                     is_there ? 16 : 0);
  }
  copies_commit();
}

// The two sums of a lane beside each other, as elements.
DEVICE u32 finish(const bsm_cuda_mma &p, const float *sums, const float *bias,
                  u32 residual) {
  float x[2];
#pragma unroll
  for (int i = 0; i < 2; i++) {
    x[i] = sums[i] * p.scale + bias[i];
    if (K_RESIDUAL) x[i] += to_float(unpack<T>(residual, i));
    x[i] = activate_sum<T>(K_ACTIVATION, x[i], p.alpha, p.beta);
  }
  return pack2<T>(x[0], x[1]);
}

// 16 rows of CHUNK columns, from `n` on, into a buffer.
DEVICE void fill_buffer(const bsm_cuda_mma &p, const T *bias, int n,
                        const float *sums, u32 buffer, int lane) {
#pragma unroll
  for (int j = 0; j < CHUNK / 8; j += 2) {
    const u32 at = cell(buffer, lane % 16, j + lane / 16);
    u32 residual[4] = {0, 0, 0, 0}, v[4];
    if constexpr (K_RESIDUAL) ptx_ldmatrix_x4(at, residual);
#pragma unroll
    for (int t = 0; t < 2; t++) {
      const int column = n + (j + t) * 8 + lane % 4 * 2;
      float b[2] = {0, 0};
      if (bias && column < p.n) {
        const u32 pair = *(const u32 *)(bias + column);
        b[0] = to_float(unpack<T>(pair, 0));
        b[1] = to_float(unpack<T>(pair, 1));
      }
#pragma unroll
      for (int h = 0; h < 2; h++) {
        v[t * 2 + h] = finish(p, sums + (j + t) * 4 + h * 2, b,
                              residual[t * 2 + h]);
      }
    }
    ptx_stmatrix_x4(at, v);
  }
}

DEVICE void store_buffer(const bsm_cuda_tiled &p, const batch_at &batch, int m,
                         int n, u32 buffer, int lane) {
  ptx_fence_async();
  __syncwarp();
  if (lane == 0) {
    if constexpr (K_LINES == BSM_CUDA_LINES_OF_ROWS) {
      const int line = divide(m, p.of_out[2]);
      ptx_store_tile_5d(&p.y, buffer, n, m - line * p.product.out[2], line,
                        batch.at[1], batch.at[0]);
    } else if constexpr (K_RANK == 3) {
      ptx_store_tile_3d(&p.y, buffer, n, m, batch.at[0]);
    } else {
      ptx_store_tile_5d(&p.y, buffer, n, m, batch.at[0], batch.at[1],
                        batch.at[2]);
    }
    ptx_stores_commit();
  }
}

// The rows and columns of a warp in chunks; the residual of one is asked for
// while the one before is added.
DEVICE void store_tiles(const bsm_cuda_tiled &p, const accumulators &sums,
                        const place_of_tile &t, int m0, int n0, writer &out,
                        int lane) {
  const bsm_cuda_mma &q = p.product;
  constexpr int ACROSS = N / CHUNK, COUNT = TM * ACROSS;
  const T *bias = q.bias ? (const T *)q.bias + t.batch * q.bias_batch : 0;
  const batch_at batch = find_batch(p, t.batch);
  const T *residual = (const T *)q.residual;
  if constexpr (K_RESIDUAL) {
#pragma unroll
    for (int i = 0; i < BSM_CUDA_TILE_LOOPS; i++) {
      residual += batch.at[i] * q.residual_batch[i];
    }
    fetch_residual(q, residual, m0, n0, buffer_of(out, 0), lane);
  }
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    const int m = m0 + i / ACROSS * 64, n = n0 + i % ACROSS * CHUNK;
    const u32 buffer = buffer_of(out, 0);
    if constexpr (K_RESIDUAL) {
      if (i + 1 < COUNT) {
        fetch_residual(q, residual, m0 + (i + 1) / ACROSS * 64,
                       n0 + (i + 1) % ACROSS * CHUNK, buffer_of(out, 1), lane);
        copies_wait<1>();
      } else {
        copies_wait<0>();
      }
    } else {
      if (lane == 0) ptx_stores_wait_read<BUFFERS - 1>();
    }
    __syncwarp();
    fill_buffer(q, bias, n, &sums.at[i / ACROSS][i % ACROSS * (CHUNK / 2)],
                buffer, lane);
    store_buffer(p, batch, m, n, buffer, lane);
    if (++out.next == BUFFERS) out.next = 0;
  }
}
