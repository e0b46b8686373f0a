// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of float on the tensor cores of sm_90, as
// wgmma_gemm.cu has those of 16 bits: half of a float is one of its elements
// along k, K_BK and all that copies of tiles are told counts these. Products are
// of tf32: weights are rounded to it where they are packed, A on its way through
// registers. Option besides: K_RESIDUAL.
// grid: blocks
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "mma.cuh"
#include "mma_store.cuh"
#include "warpgroup.cuh"

typedef float T;
typedef float sum;

#define STORES_TILES 0
#define ROUNDS_A 1
#include "wgmma_loop.cuh"
#include "wgmma_pairs.cuh"

struct ending {
  const bsm_cuda_mma &p;

  DEVICE void prepare(const place_of_tile &, int, int, int) {}
  DEVICE void store(const accumulators &sums, const place_of_tile &t, int m,
                    int n, int lane) const {
    store_pairs(p, sums, t, m, n, lane);
  }
  DEVICE void finish(int) const {}
};

EARLY_RESIDENT_KERNEL_OF(THREADS, K_RESIDENT, wgmma_tf32, bsm_cuda_tiled) {
  BLOCK_MEMORY(memory);
  run_block(p, memory, [&](const stages &, int) { return ending{p.product}; });
}
