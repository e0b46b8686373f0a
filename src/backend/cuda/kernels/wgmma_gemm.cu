// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of half and bfloat16 on the tensor cores of sm_90:
//   y[m, n] = act(scale * sum_k A[m, k] B[k, n] + bias[n] + residual[m, n])
// with sums in float, as mma_gemm.cu has them. One warp, the producer, asks for
// tiles of A and B, which the GPU copies into a ring of stages in shared
// memory; warpgroups multiply them. The GPU finds the pixels of a convolution's
// windows, too. Blocks stay and take tile after tile, so that copies for the
// next one are on their way while one is stored. What is compiled:
//   K_T: f16 | bf16; K_ACTIVATION
//   K_BM, K_BN, K_BK: the tile; K_WM, K_WN: warpgroups in its rows and columns;
//     K_STAGES
//   K_TURNS: 1: two warpgroups multiply whole tiles in turns: one stores while
//     the other multiplies
//   K_IMAGE: 0: A is a matrix; 2, 3: A is the windows of images, of which that
//     many dimensions are of a size other than 1
//   K_RANK: dimensions of the matrices' tensors: 3, or 5
//   K_B: ALONG_K: B has a row for each column; ALONG_N: for each k
//   K_WEIGHTS: 1: B is weights, which are there before the kernel begins
//   K_SHARED: 1: the k of some tiles is shared by blocks. Their partial sums
//     are added in the order of k by the one that ends last, so bits never
//     change
//   K_VECTOR: 1: rows of y and of the residual are aligned to 8 elements, and
//     the columns of a row are a multiple of 8: y is stored in tiles, too
//   K_LINES: rows of y come in lines or loops (mma_store.cuh), of whole 16 where
//     it is stored in tiles; there are two loops of batches
//   K_RESIDUAL: 1: there is one; K_RESIDENT: blocks that an SM is to hold
//   K_Y: float, where y is that: without a residual, in rows that may begin
//     anywhere (wgmma_rows.cuh)
// grid: blocks
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "mma.cuh"
#include "mma_store.cuh"
#include "warpgroup.cuh"

typedef K_T T;
typedef float sum;

#define STORES_TILES K_VECTOR
#include "wgmma_loop.cuh"

enum {
  // Of y, a warp stores 16 rows of so many columns at a time.
  CHUNK = N < 64 ? 32 : 64,
  CHUNK_BYTES = 16 * CHUNK * 2,
  BUFFERS = K_RESIDUAL ? 3 : 2  // of a warp
};

static_assert(N % CHUNK == 0, "columns");

#include "wgmma_store.cuh"
#include "wgmma_pairs.cuh"

#ifdef K_Y
#include "wgmma_rows.cuh"

struct ending {
  const bsm_cuda_mma &p;
  float *room;  // of the warp

  DEVICE void prepare(const place_of_tile &, int, int, int) {}
  DEVICE void store(const accumulators &sums, const place_of_tile &t, int m,
                    int n, int lane) const {
    store_rows(p, sums, t, m, n, room, lane);
  }
  DEVICE void finish(int) const {}
};
#else
struct ending {
  const bsm_cuda_tiled &p;
  writer out;

  DEVICE void prepare(const place_of_tile &, int, int, int) {}
  DEVICE void store(const accumulators &sums, const place_of_tile &t, int m,
                    int n, int lane) {
    if constexpr (K_VECTOR) {
      store_tiles(p, sums, t, m, n, out, lane);
    } else {
      store_pairs(p.product, sums, t, m, n, lane);
    }
  }
  DEVICE void finish(int lane) {
    if (K_VECTOR && lane == 0) ptx_stores_wait();
  }
};
#endif

EARLY_RESIDENT_KERNEL_OF(THREADS, K_RESIDENT, wgmma_gemm, bsm_cuda_tiled) {
  BLOCK_MEMORY(memory);
  run_block(p, memory, [&](const stages &s, int warp) {
    const u32 room = s.a(K_STAGES);
#ifdef K_Y
    char *own = memory.tiles + (room - shared_address(memory.tiles));
    return ending{p.product, (float *)own + warp * ROWS_ROOM};
#else
    return ending{p, {room + (u32)(warp * BUFFERS * CHUNK_BYTES), 0}};
#endif
  });
}
