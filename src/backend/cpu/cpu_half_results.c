/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the sums of products of half and bfloat16. */
#include "backend/cpu/cpu_half_results.h"

#include <math.h>

#include "backend/cpu/cpu_space.h"

/* Biases as floats, each group of maps in whole tiles. */
static bsm_status lay_out_bias(const bsm_cpu_prepare *p, int64_t groups,
                               bsm_cpu_half_results *r) {
  const uint16_t *bias = bsm_cpu_weights(p, 1);
  if (!bias) return BSM_OK;
  float *to = BSM_NEW_ARRAY(p->arena, float, (size_t)(groups * r->width));
  BSM_TRY_ALLOC(to);
  for (int64_t g = 0; g < groups; g++) {
    r->halves.widen(bias + g * r->maps, r->maps, to + g * r->width);
  }
  r->bias = to;
  return BSM_OK;
}

bsm_status bsm_cpu_half_results_init(const bsm_cpu_prepare *p,
                                     const bsm_step_epilogue *epilogue,
                                     int64_t groups, int64_t maps,
                                     bsm_cpu_half_results *out) {
  const bsm_dtype dtype = bsm_step_output(p->plan, p->step, 0)->dtype;
  const bsm_k_half *kernels = bsm_k_half_select(p->isa);
  const bool is_half = dtype == BSM_DTYPE_HALF;
  *out = (bsm_cpu_half_results){
      .halves = bsm_cpu_halves_of(dtype, p->isa),
      .finish = kernels->finish[is_half ? BSM_K_HALF_F16 : BSM_K_HALF_BF16],
      .has_residual = epilogue->has_residual != 0,
      .maps = maps,
      .width = bsm_cpu_round_up(maps, BSM_K_HALF_MAX_COLUMNS),
      .scale = 1.0f,
      .epilogue = bsm_cpu_make_epilogue(epilogue, bsm_k_math_select(p->isa))};
  if (!is_half && kernels->dot_finish && (p->isa & kernels->dot_isa)) {
    out->finish = *kernels->dot_finish;
  }
  return lay_out_bias(p, groups, out);
}

/* An activation that is no clamp is computed in place before the numbers are
 * rounded. */
void bsm_cpu_half_results_store(const bsm_cpu_half_results *r,
                                const bsm_cpu_half_block *b) {
  const bsm_cpu_epilogue *e = &r->epilogue;
  bsm_k_half_finish f = {
      .sums = b->sums,
      .sums_stride = b->sums_stride,
      .rows = b->rows,
      .n = b->columns,
      .scale = r->scale,
      .bias = r->bias ? r->bias + b->group * r->width + b->column : NULL,
      .column = b->column,
      .residual = r->has_residual ? b->residual : NULL,
      .lo = e->lo,
      .hi = e->hi,
      .y = e->activation ? NULL : b->y};
  r->finish(&f);
  if (!e->activation) return;
  for (int64_t i = 0; i < b->rows; i++) {
    float *v = b->sums + i * b->sums_stride;
    e->activation(v, v, b->columns, e->alpha, e->beta);
  }
  f.scale = 1.0f;
  f.bias = NULL;
  f.residual = NULL;
  f.lo = -INFINITY;
  f.hi = INFINITY;
  f.y = b->y;
  r->finish(&f);
}
