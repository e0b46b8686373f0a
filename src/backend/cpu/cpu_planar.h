/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a convolution of few input maps, computed from lines that have the
 * padding around them: what the convolution and the chains of convolutions have
 * in common. */
#ifndef BSM_BACKEND_CPU_PLANAR_H_
#define BSM_BACKEND_CPU_PLANAR_H_

#include "backend/cpu/cpu_window.h"
#include "backend/cpu/kernels/planar/planar_f32.h"
#include "backend/cpu/kernels/rows/rows.h"

typedef struct bsm_cpu_planar {
  const bsm_k_planar *kernels;
  const bsm_k_rows *rows;
  int stride; /* index of the kernel */
  bsm_step_window w;
  bsm_image x;
  int64_t width, maps;    /* of the output */
  int64_t columns, pitch; /* of a line: that are read; apart */
  bool fetches;           /* outputs are in no near cache */
  const float *kernel, *bias;
  bsm_cpu_epilogue epilogue;
} bsm_cpu_planar;

/* Whether a convolution is one for these kernels: of few maps, in planes or
 * channels last, with a stride and a window that they know, and no residual. */
bool bsm_cpu_planar_fits(const bsm_step_convolution *params, int64_t in_maps);

/* The same with three dimensions. */
bool bsm_cpu_planar_fits_deep(const bsm_step_convolution *params,
                              int64_t in_maps);

/* For a checked convolution of an image x that fits. kernel, bias and fetches
 * stay to be set. */
void bsm_cpu_planar_init(const bsm_step_convolution *params, const bsm_image *x,
                         int64_t out_width, uint32_t isa, bsm_cpu_planar *out);

/* Floats of the lines that so many output rows read. */
uint64_t bsm_cpu_planar_floats(const bsm_cpu_planar *p, int64_t rows);

/* The output rows first .. first + count - 1 of an image. */
void bsm_cpu_planar_rows(const bsm_cpu_planar *p, const float *image,
                         int64_t first, int64_t count, float *lines, float *y,
                         int64_t y_row, int64_t y_pixel);

/* Of three dimensions: floats of the lines of an output row, and that row. */
uint64_t bsm_cpu_planar_deep_floats(const bsm_cpu_planar *p);
void bsm_cpu_planar_deep_row(const bsm_cpu_planar *p, const float *image,
                             int64_t depth, int64_t row, float *lines, float *y,
                             int64_t y_pixel);

#endif /* BSM_BACKEND_CPU_PLANAR_H_ */
