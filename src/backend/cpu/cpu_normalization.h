/* SPDX-License-Identifier: Apache-2.0 */
/* What the paths of normalisation share: cpu_normalization.c prepares, and
 * runs contiguous rows; the others have a file each. */
#ifndef BSM_BACKEND_CPU_NORMALIZATION_H_
#define BSM_BACKEND_CPU_NORMALIZATION_H_

#include <math.h>

#include "backend/cpu/cpu_block.h"

enum {
  BSM_CPU_NORM_OUT,
  BSM_CPU_NORM_IN,
  BSM_CPU_NORM_SCALE,
  BSM_CPU_NORM_BIAS,
  BSM_CPU_NORM_OPERANDS
};
typedef enum bsm_cpu_norm_mode {
  BSM_CPU_NORM_ROWS,
  BSM_CPU_NORM_CHANNELS,
  BSM_CPU_NORM_BLOCKS
} bsm_cpu_norm_mode;

typedef struct bsm_cpu_norm {
  bsm_cpu_impl base;
  bsm_cpu_norm_mode mode;
  bool rms, has_scale, has_bias;
  double epsilon;
  uint32_t inputs[BSM_CPU_NORM_OPERANDS];
  const bsm_k_rows *rows;
  bsm_cpu_space kept, reduced;
  int64_t unit_rows;
  /* channels */
  int64_t samples, pixels, channels, groups, fold, chunk, chunks;
  int64_t x_sample, y_sample, x_pixel, y_pixel;
  int64_t scale_stride, bias_stride;
  /* blocks */
  bsm_cpu_class piece;
  bsm_cpu_view views[BSM_CPU_NORM_OPERANDS];
  bool along_kept[BSM_CPU_NORM_OPERANDS], along_reduced[BSM_CPU_NORM_OPERANDS];
  int64_t width, row_blocks;
} bsm_cpu_norm;

/* One run. */
typedef struct bsm_cpu_norm_work {
  const bsm_cpu_norm *n;
  const bsm_run *run;
  const char *in[BSM_CPU_NORM_OPERANDS];
  char *y;
  uint8_t *scratch;
  size_t slot_size;
  float *partial, *mean, *factor, *shift; /* channels */
  int64_t sample;
} bsm_cpu_norm_work;

static inline double bsm_cpu_norm_factor(const bsm_cpu_norm *n,
                                         double variance) {
  return 1.0 / sqrt(variance + n->epsilon);
}

/* Whether it is channels-last images; `t`: the operands, NULL where absent.
 * Scratch memory for all slots together: *shared. */
bool bsm_cpu_norm_is_channels(bsm_cpu_norm *n, const bsm_plan_tensor *const *t,
                              const bsm_step_normalization *p,
                              uint64_t *shared);
void bsm_cpu_norm_run_channels(bsm_cpu_norm_work *w);

/* Any layout and dtypes. Scratch memory of a slot: *bytes. */
void bsm_cpu_norm_prepare_blocks(bsm_cpu_norm *n,
                                 const bsm_plan_tensor *const *t,
                                 uint64_t *bytes);
void bsm_cpu_norm_run_blocks(bsm_cpu_norm_work *w);

#endif /* BSM_BACKEND_CPU_NORMALIZATION_H_ */
