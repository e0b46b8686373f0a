/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions to few maps, and transposed ones: the maps of all taps are
 * multiplied with single pixels, as rows of one product whose columns are the
 * pixels of a line. Outputs are sums of these rows, each shifted by its tap. So
 * no lane holds a map that is not there, no window is looked up, and lines of
 * planes are read and written as they are. Of very few input maps, their lines
 * stand for the products, which are made while adding.
 *
 * Outputs come in *phases*: output `at` of a phase is first + at * stride, and
 * its tap t reads the pixel at + deltas[t]. An ordinary convolution has one, a
 * transposed one has as many as its strides give.
 *
 * Sums are in the order of the taps, however the work is cut. */
#ifndef BSM_BACKEND_CPU_FEW_MAPS_H_
#define BSM_BACKEND_CPU_FEW_MAPS_H_

#include "backend/cpu/cpu_gemm.h"
#include "backend/cpu/cpu_window.h"
#include "backend/cpu/kernels/rows/rows.h"

/* The most maps. */
#define BSM_CPU_FEW_MAPS 8

typedef struct bsm_cpu_few_phase {
  int64_t first[3], size[3];
  const int64_t *taps; /* of the kernel */
  const int64_t (*deltas)[3];
  int64_t tap_count;
} bsm_cpu_few_phase;

typedef struct bsm_cpu_few_maps {
  /* Set before bsm_cpu_few_maps_prepare: */
  bsm_image x, y, residual;
  bool has_residual;
  int64_t stride[3]; /* between outputs of a phase */
  int64_t taps;      /* of the kernel */
  const bsm_cpu_few_phase *phases;
  int64_t phase_count;
  const float *kernel; /* [taps][C][16] */
  const float *bias;   /* or NULL */
  bsm_cpu_epilogue epilogue;
  /* Chosen there: */
  bsm_cpu_gemm gemm; /* of the pixels of a line of a block */
  bsm_cpu_rows products;
  const bsm_k_rows *rows;
  const float *weights;    /* [taps][maps][C] */
  bool direct;             /* no products: lines of the input */
  int64_t low[3], span[3]; /* the least delta; from it to the greatest */
  int64_t cells[3];        /* outputs of the largest phase */
  int64_t block[3], blocks[3];
  int roll;                /* the dimension along which a block goes */
  int64_t row, line, slab; /* floats of a row of products; of the rows of a
                              line; lines that are multiplied at a time */
  int64_t terms;           /* of a sum at most */
  uint64_t ring_bytes, panels_bytes, list_bytes, lines_bytes;
} bsm_cpu_few_maps;

/* Whether a convolution, or a `transposed` one, is one to few maps whose blocks
 * fit the caches. Of the images, sizes and maps matter. */
bool bsm_cpu_few_maps_fit(const bsm_step_convolution *p, bool transposed,
                          const bsm_image *x, const bsm_image *y);
/* An estimate of its time, as a share of that of a product over windows, which
 * fills half a panel. `planes`: of the input. */
double bsm_cpu_few_maps_share(const bsm_step_convolution *p, int64_t in_maps,
                              bool planes);
/* Up to this share it is worth trying. */
#define BSM_CPU_FEW_MAPS_WORTH 0.75
BSM_NODISCARD bsm_status bsm_cpu_few_maps_prepare(const bsm_cpu_prepare *p,
                                                  bsm_cpu_few_maps *f);
/* Bytes of scratch of one slot. */
uint64_t bsm_cpu_few_maps_scratch(const bsm_cpu_few_maps *f);
int64_t bsm_cpu_few_maps_units(const bsm_cpu_few_maps *f);
void bsm_cpu_few_maps_run(const bsm_cpu_few_maps *f, const float *x,
                          const float *residual, float *y, int64_t unit,
                          void *scratch);

#endif /* BSM_BACKEND_CPU_FEW_MAPS_H_ */
