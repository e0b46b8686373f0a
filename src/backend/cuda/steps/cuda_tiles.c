/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles of products. */
#include "backend/cuda/steps/cuda_tiles.h"

#define SIZES BSM_CUDA_TILE_FOR_SIZES
#define RANGES BSM_CUDA_TILE_RANGES
#define ALL BSM_CUDA_TILE_RANGES_IN_ELEMENTS

#define COUNT(tiles) (sizeof(tiles) / sizeof((tiles)[0]))
#define FITS(tiles)                                  \
  _Static_assert(COUNT(tiles) <= BSM_CUDA_MAX_TILES, \
                 "all of them, and the plain one")

/* Of all sets of three tiles for ranges, the best of these takes least over the
 * best of all: 4 % longer in the mean. */
static const bsm_cuda_tile of_16_bits[] = {
    {"mma 128x256x32", 128, 256, 32, 2, 4, 4, 1, 0, 1220, SIZES},
    {"mma 128x64x64", 128, 64, 64, 4, 2, 3, 2, 0, 1220, SIZES},
    {"mma 128x64x32", 128, 64, 32, 2, 2, 4, 3, 0, 1220, RANGES},
    {"mma 64x128x64", 64, 128, 64, 2, 4, 3, 2, 0, 1220, SIZES},
    {"mma 64x128x32", 64, 128, 32, 2, 2, 4, 3, 0, 1220, SIZES},
    {"mma 64x64x64", 64, 64, 64, 2, 2, 4, 3, 0, 1220, ALL},
    {"mma 64x64x32", 64, 64, 32, 2, 2, 6, 4, 0, 1220, SIZES},
    {"mma 64x32x64", 64, 32, 64, 4, 1, 4, 4, 0, 1220, SIZES},
    {"mma 32x64x64", 32, 64, 64, 2, 2, 4, 4, 0, 1220, SIZES},
    {"mma 32x32x128", 32, 32, 128, 2, 2, 4, 3, 0, 1220, RANGES},
    {"mma 16x64x64", 16, 64, 64, 1, 4, 5, 4, 0, 1220, SIZES},
};
FITS(of_16_bits);

/* As many bytes of k as with 16 bits. */
static const bsm_cuda_tile of_tf32[] = {
    {"tf32 128x128x16", 128, 128, 16, 2, 4, 4, 2, 0, 354, SIZES},
    {"tf32 128x64x32", 128, 64, 32, 4, 2, 3, 2, 0, 304, SIZES},
    {"tf32 128x64x16", 128, 64, 16, 2, 2, 4, 3, 0, 354, RANGES},
    {"tf32 64x128x16", 64, 128, 16, 2, 2, 4, 3, 0, 354, SIZES},
    {"tf32 64x64x32", 64, 64, 32, 2, 2, 4, 3, 0, 304, ALL},
    {"tf32 64x64x16", 64, 64, 16, 2, 2, 6, 4, 0, 304, SIZES},
    {"tf32 64x32x32", 64, 32, 32, 4, 1, 4, 4, 0, 179, SIZES},
    {"tf32 32x64x32", 32, 64, 32, 2, 2, 4, 4, 0, 179, SIZES},
    {"tf32 32x32x64", 32, 32, 64, 2, 2, 4, 3, 0, 411, RANGES},
    {"tf32 16x64x32", 16, 64, 32, 1, 4, 5, 4, 0, 411, SIZES},
};
FITS(of_tf32);

static const bsm_cuda_tile of_float[] = {
    {"float 256x128x16", 256, 128, 16, 4, 2, 3, 1, 4, 170, SIZES},
    {"float 128x128x16", 128, 128, 16, 4, 2, 4, 2, 4, 143, SIZES},
    {"float 128x64x16", 128, 64, 16, 4, 1, 4, 3, 4, 143, RANGES},
    {"float 64x64x16", 64, 64, 16, 2, 2, 5, 4, 4, 104, ALL},
    {"float 64x32x32", 64, 32, 32, 4, 1, 4, 4, 4, 134, SIZES},
    {"float 32x64x32", 32, 64, 32, 2, 2, 4, 4, 4, 134, SIZES},
    {"float 32x32x32", 32, 32, 32, 2, 1, 4, 6, 4, 134, RANGES},
    {"float 16x64x32", 16, 64, 32, 1, 4, 4, 5, 8, 101, SIZES},
};
FITS(of_float);

static const bsm_cuda_tile of_double[] = {
    {"double 64x64x16", 64, 64, 16, 2, 2, 3, 3, 4, 70, ALL},
    {"double 32x32x16", 32, 32, 16, 2, 1, 3, 6, 4, 70, RANGES},
};
FITS(of_double);

/* The constants are those with which the choices were best, on Hopper GPUs: of
 * 83 problems of networks with 16 bits, each timed in all tiles and several
 * splits, they take 2.3 % longer in the mean than the fastest; of 25 with float
 * 4.7 %, with tf32 3.3 %. Those of double are guesses. */
#define TILES(tiles) tiles, COUNT(tiles)
static const bsm_cuda_unit tensor_cores = {
    "mma_gemm", TILES(of_16_bits), true, {1.45, 0.92, 56e3, 0.37, 0.0011, 1}};
static const bsm_cuda_unit tensor_cores_of_tf32 = {
    "mma_gemm", TILES(of_tf32), true, {1.6, 0.84, 56e3, 0.73, 0.0011, 3}};
/* Pairs of bytes are multiplied, and copied, as fast as elements of 16 bits. */
static const bsm_cuda_unit tensor_cores_of_bytes = {
    "int8_gemm", TILES(of_16_bits), true, {1.45, 0.92, 56e3, 0.37, 0.0011, 1}};
static const bsm_cuda_unit cores_of_float = {
    "simt_gemm", TILES(of_float), false, {11, 1.5, 29e3, 0.14, 0.00175, 1.33}};
static const bsm_cuda_unit cores_of_double = {
    "simt_gemm", TILES(of_double), false, {11, 1.5, 29e3, 0.14, 0.00175, 1.33}};

const bsm_cuda_unit *bsm_cuda_unit_of(bsm_dtype dtype, bsm_precision precision,
                                      int sm) {
  switch (dtype) {
    case BSM_DTYPE_HALF:
      return &tensor_cores;
    case BSM_DTYPE_BFLOAT16:
      return sm >= 80 ? &tensor_cores : NULL;
    case BSM_DTYPE_FLOAT:
      return precision == BSM_PRECISION_TF32 && sm >= 80 ? &tensor_cores_of_tf32
                                                         : &cores_of_float;
    case BSM_DTYPE_DOUBLE:
      return &cores_of_double;
    case BSM_DTYPE_UINT8:
      return &tensor_cores_of_bytes;
    case BSM_DTYPE_FLOAT8_E4M3FN:
      return sm >= 89 ? &tensor_cores_of_bytes : NULL;
    default:
      return NULL;
  }
}
