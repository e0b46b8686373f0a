/* SPDX-License-Identifier: Apache-2.0 */
/* What multiplies tiles of products (kernels/gemm.cuh), and in which tiles. */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_TILES_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_TILES_H_

#include <stdbool.h>
#include <stddef.h>

#include "bessemer/types.h"

/* Whether a tile is one of those for ranges of sizes. */
typedef enum bsm_cuda_tile_ranges {
  BSM_CUDA_TILE_FOR_SIZES,
  BSM_CUDA_TILE_RANGES,
  BSM_CUDA_TILE_RANGES_IN_ELEMENTS /* also where operands come one by one */
} bsm_cuda_tile_ranges;

typedef struct bsm_cuda_tile {
  const char *tactic;
  int m, n, k, warps_m, warps_n, stages;
  int resident; /* blocks that an SM has room for */
  int lanes_m;  /* rows of lanes of a warp, without tensor cores */
  int products; /* thousands that an SM adds up in a microsecond */
  bsm_cuda_tile_ranges ranges;
} bsm_cuda_tile;

/* What the cost of a tile follows from (cuda_mma.c), in microseconds. */
typedef struct bsm_cuda_tile_costs {
  double launch;
  double round;      /* of as many blocks as an SM has room for: the first and
                        the last of their tiles */
  double bytes_read; /* of an SM, in a microsecond */
  /* A tile of k from request to use, when nothing else is in its way. */
  double latency, latency_of_byte;
  double lone; /* a block alone takes so many times its share of an SM */
} bsm_cuda_tile_costs;

typedef struct bsm_cuda_unit {
  const char *source; /* of kernels/, and its entry */
  const bsm_cuda_tile *tiles;
  size_t count; /* less than BSM_MAX_TACTICS */
  bool tensor_cores;
  bsm_cuda_tile_costs costs;
} bsm_cuda_unit;

#define BSM_CUDA_MAX_TILES 15

/* What multiplies elements of a dtype in a precision on a GPU of a compute
 * capability; NULL: there is only the plain kernel. */
const bsm_cuda_unit *bsm_cuda_unit_of(bsm_dtype dtype, bsm_precision precision,
                                      int sm);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_TILES_H_ */
