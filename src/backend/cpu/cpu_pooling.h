/* SPDX-License-Identifier: Apache-2.0 */
/* What the paths of pooling share: the windows of its outputs. */
#ifndef BSM_BACKEND_CPU_POOLING_H_
#define BSM_BACKEND_CPU_POOLING_H_

#include "backend/cpu/cpu_window.h"
#include "backend/cpu/kernels/pooling/pooling_f32.h"

/* A pooling of images, and what it computes with. */
typedef struct bsm_cpu_windows {
  bsm_step_pooling p;
  bsm_image x, y;
  const bsm_k_pooling *kernels;
} bsm_cpu_windows;

/* The input positions of one output, in one dimension: first + i * step for i
 * < count, all inside; and the size that the average divides by. */
typedef struct bsm_cpu_extent {
  int64_t first, step, count, divisor;
} bsm_cpu_extent;

bsm_cpu_extent bsm_cpu_extent_of(const bsm_cpu_windows *k, int d, int64_t at);
/* What the sum of a window is multiplied by, from its extents. */
double bsm_cpu_pooling_factor(const bsm_cpu_windows *k,
                              const bsm_cpu_extent *e);

/* cpu_pooling_planes.c: windows over planes of floats whose lines are
 * contiguous. Blocks of lines of the output are made at once: the lines that
 * they need are copied, with padding around them, joined over the windows'
 * depth on the way, then over their height, and then over their width. */
typedef struct bsm_cpu_planes {
  int64_t width;         /* of a line with its padding */
  int64_t block, blocks; /* lines of the output of a unit; units of a plane */
  int64_t copied, narrowed; /* floats of the first and of the last step */
  /* Of averages, by the place in a line: for lines and depths whose windows lie
   * inside. */
  const float *factors;
} bsm_cpu_planes;

/* *fits false: they would take too much memory. */
BSM_NODISCARD bsm_status bsm_cpu_planes_init(bsm_arena *arena,
                                             const bsm_cpu_windows *k,
                                             bsm_cpu_planes *planes,
                                             bool *fits);
/* Bytes that a unit needs. */
uint64_t bsm_cpu_planes_scratch(const bsm_cpu_planes *planes,
                                const bsm_cpu_windows *k);
/* Block `index` of the plane at depth `depth` of the output. */
void bsm_cpu_planes_run(const bsm_cpu_planes *planes, const bsm_cpu_windows *k,
                        const float *x, float *y, int64_t depth, int64_t index,
                        float *scratch);

#endif /* BSM_BACKEND_CPU_POOLING_H_ */
