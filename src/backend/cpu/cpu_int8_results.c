/* SPDX-License-Identifier: Apache-2.0 */
/* What convolutions of bytes make of their sums. */
#include <math.h>

#include "backend/cpu/cpu_int8_convolution.h"

#define ROWS BSM_CPU_INT8_ROWS
#define COLUMNS BSM_K_INT8_MAX_COLUMNS

bool bsm_cpu_int8_is_tame(const bsm_cpu_int8_convolution *c) {
  const bsm_step_int8_convolution *q = c->params;
  if (!c->kernels->finish_bytes || c->y_is_float || c->epilogue.activation ||
      (c->has_residual && c->residual_is_float)) {
    return false;
  }
  const double limit = 2e9, inverse = q->y_inverse;
  const double lo = (double)c->epilogue.lo * inverse;
  const double hi = (double)c->epilogue.hi * inverse;
  if (!(lo <= hi && lo <= q->greatest - q->y_zero &&
        hi >= q->least - q->y_zero && inverse > 0)) {
    return false;
  }
  const double sum = 255.0 * 128 * (double)c->windows.depth;
  const double residual = 255 * fabs(q->residual_scale);
  for (int64_t i = 0; i < c->groups * c->width; i++) {
    const double most =
        (sum + fabs((double)c->offset[i])) * fabs((double)c->scale[i]) +
        fabs((double)c->bias[i]) + residual;
    if (!(most * inverse < limit)) return false;
  }
  return true;
}

void bsm_cpu_int8_point_to_results(const bsm_cpu_int8_work *w, int64_t row,
                                   int64_t rows, int64_t map,
                                   bsm_cpu_int8_results *out) {
  const bsm_cpu_int8_convolution *c = w->c;
  const int64_t at = out->count;
  int64_t offsets[ROWS];
  bsm_cpu_rows_offsets(&c->y_rows, row, (int)rows, offsets);
  for (int64_t i = 0; i < rows; i++) {
    out->y[at + i] = (float *)(void *)w->y + offsets[i] + map;
    out->y_bytes[at + i] = w->y + offsets[i] + map;
  }
  out->count += rows;
  if (!c->has_residual) return;
  bsm_cpu_rows_offsets(&c->residual_rows, row, (int)rows, offsets);
  for (int64_t i = 0; i < rows; i++) {
    out->residual[at + i] =
        (const float *)(const void *)w->residual + offsets[i] + map;
    out->residual_bytes[at + i] = w->residual + offsets[i] + map;
  }
}

static bsm_k_int8_finish make_finish(const bsm_cpu_int8_convolution *c,
                                     const bsm_cpu_int8_results *p, int64_t at,
                                     int64_t column) {
  const bsm_step_int8_convolution *q = c->params;
  return (bsm_k_int8_finish){
      .scale = c->scale + at,
      .bias = c->bias + at,
      .column = column,
      .y_column = column,
      .residual = c->has_residual && c->residual_is_float ? p->residual : NULL,
      .residual_bytes =
          c->has_residual && !c->residual_is_float ? p->residual_bytes : NULL,
      .residual_scale = (float)q->residual_scale,
      .residual_zero = q->residual_zero,
      .lo = c->epilogue.lo,
      .hi = c->epilogue.hi,
      .y = c->y_is_float ? p->y : NULL,
      .y_bytes = p->y_bytes,
      .grid = {(float)q->y_inverse, q->y_zero, q->least, q->greatest}};
}

void bsm_cpu_int8_finish(const bsm_cpu_int8_convolution *c,
                         const bsm_cpu_int8_results *p, int64_t group,
                         int64_t column, int64_t n, int64_t rows,
                         const int32_t *sums, float *block) {
  const int64_t at = group * c->width + column;
  float *blocks[ROWS];
  bsm_k_int8_finish f = make_finish(c, p, at, column);
  f.sums = sums;
  f.rows = rows;
  f.n = n;
  if (!c->epilogue.activation) {
    (c->is_tame ? c->kernels->finish_bytes : c->kernels->finish)(&f);
    return;
  }
  for (int64_t i = 0; i < rows; i++) blocks[i] = block + i * n;
  f.y = blocks;
  f.y_column = 0;
  c->kernels->finish(&f);
  if (c->y_is_float) {
    for (int64_t i = 0; i < rows; i++) {
      c->epilogue.activation(blocks[i], p->y[i] + column, n, c->epilogue.alpha,
                             c->epilogue.beta);
    }
    return;
  }
  c->epilogue.activation(block, block, rows * n, c->epilogue.alpha,
                         c->epilogue.beta);
  for (int64_t i = 0; i < rows; i++) {
    c->kernels->quantize(blocks[i], n, &f.grid, p->y_bytes[i] + column);
  }
}
