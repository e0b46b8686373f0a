// SPDX-License-Identifier: Apache-2.0
// The windows of images as the rows of a matrix, for products that read rows 16
// bytes at a time: for images whose maps are too few to be read so. A thread
// gathers 8 elements of a row; k is a multiple of 8. Options: K_T (f16, bf16),
// K_IMAGE (2, 3).
// grid: (chunks, which go on in a loop)
#include "device.cuh"
#include "params.h"
#include "chunks.cuh"

#define K_TRANSPOSED 0

typedef K_T T;

#include "windows.cuh"

enum { THREADS = 256 };

KERNEL_OF(THREADS, unfold, bsm_cuda_mma) {
  const int chunks = p.k / 8;
  const i64 count = (i64)p.batch_sizes[0] * p.m * chunks;
  const i64 step = (i64)gridDim.x * THREADS;
  for (i64 i = (i64)blockIdx.x * THREADS + threadIdx.x; i < count; i += step) {
    const i64 row = i / chunks;
    const int batch = (int)(row / p.m);
    const T *images = (const T *)p.a + batch * p.a_batch[0];
    const row_of_a window = make_row(p, images, (int)(row - (i64)batch * p.m));
    tap t = find_tap(p, (int)(i - row * chunks) * 8);
    u32 x[8];
#pragma unroll
    for (int e = 0; e < 8; e++) {
      const T *from = find(p, window, t);
      x[e] = from ? from->bits : 0;
      advance(p, t, 1);
    }
    ((uint4 *)p.y)[i] = chunk_of(x);
  }
}
