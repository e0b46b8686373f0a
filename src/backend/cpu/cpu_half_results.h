/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the sums of products of half and bfloat16: bias, residual and
 * activation in floats, and one rounding. */
#ifndef BSM_BACKEND_CPU_HALF_RESULTS_H_
#define BSM_BACKEND_CPU_HALF_RESULTS_H_

#include "backend/cpu/cpu_half.h"
#include "backend/cpu/kernels/half/half.h"

typedef struct bsm_cpu_half_results {
  bsm_cpu_halves halves;
  bsm_k_half_finish_fn *finish;
  bool has_residual;
  int64_t maps, width; /* of a group; in whole tiles */
  const float *bias;   /* [groups][width], or NULL */
  float scale;
  bsm_cpu_epilogue epilogue;
} bsm_cpu_half_results;

/* Of a product with `maps` columns in each of `groups`. */
bsm_status bsm_cpu_half_results_init(const bsm_cpu_prepare *prepare,
                                     const bsm_step_epilogue *epilogue,
                                     int64_t groups, int64_t maps,
                                     bsm_cpu_half_results *out);

/* Sums of a block: `column` of `group` is its first, of `columns`. `sums` is
 * overwritten; y and residual point to the first map of the group. */
typedef struct bsm_cpu_half_block {
  float *sums;
  int64_t sums_stride, rows, group, column, columns;
  uint16_t *const *y;
  const uint16_t *const *residual;
} bsm_cpu_half_block;

void bsm_cpu_half_results_store(const bsm_cpu_half_results *results,
                                const bsm_cpu_half_block *block);

#endif /* BSM_BACKEND_CPU_HALF_RESULTS_H_ */
