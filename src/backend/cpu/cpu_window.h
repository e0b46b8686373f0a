/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of convolution, deconvolution and pooling: tensors [N, C,
 * spatial...] seen with always three spatial dimensions, and the rows of input
 * that a window reads. */
#ifndef BSM_BACKEND_CPU_WINDOW_H_
#define BSM_BACKEND_CPU_WINDOW_H_

#include "backend/cpu/cpu_step.h"
#include "backend/image.h"

/* What a convolution and a deconvolution (`transposed`) ask alike: counts,
 * images of `dtype` with C innermost, maps, epilogue, the sizes of the weights,
 * and a residual like the output. The sizes of input and output are the
 * caller's.
 */
BSM_NODISCARD bsm_status bsm_cpu_check_convolution(const bsm_plan *plan,
                                                   const bsm_plan_step *step,
                                                   bsm_dtype dtype,
                                                   bool transposed);
/* The same, of an input whose channels may lie anywhere. */
BSM_NODISCARD bsm_status bsm_cpu_check_convolution_of(const bsm_plan *plan,
                                                      const bsm_plan_step *step,
                                                      bsm_dtype dtype,
                                                      bool transposed);
/* The same, of an output whose channels may lie anywhere, too. */
BSM_NODISCARD bsm_status
bsm_cpu_check_any_convolution(const bsm_plan *plan, const bsm_plan_step *step,
                              bsm_dtype dtype, bool transposed);
/* The same as the first, whose packed weights are the caller's. */
BSM_NODISCARD bsm_status bsm_cpu_check_images(const bsm_plan *plan,
                                              const bsm_plan_step *step,
                                              bsm_dtype dtype, bool transposed);
/* The taps of one dimension that lie inside: t in [first, first + count) for
 * start + t * dilation in [0, size). */
static inline void bsm_cpu_clip_taps(int64_t start, int64_t dilation,
                                     int64_t kernel, int64_t size,
                                     int64_t *first, int64_t *count) {
  const int64_t lo = start < 0 ? bsm_cpu_div_up(-start, dilation) : 0;
  int64_t hi = start < size ? (size - start - 1) / dilation + 1 : 0;
  if (hi > kernel) hi = kernel;
  *first = lo;
  *count = hi > lo ? hi - lo : 0;
}

/* The position of one output: sample and coordinates. */
typedef struct bsm_cpu_position {
  int64_t n, at[3];
} bsm_cpu_position;

/* The position of row-major index `row` over [n, size...], and its successor.
 */
static inline bsm_cpu_position bsm_cpu_position_of(int64_t row,
                                                   const int64_t *size) {
  bsm_cpu_position p;
  for (int d = 2; d >= 0; d--) {
    p.at[d] = row % size[d];
    row /= size[d];
  }
  p.n = row;
  return p;
}
static inline void bsm_cpu_position_next(bsm_cpu_position *p,
                                         const int64_t *size) {
  for (int d = 2; d >= 0; d--) {
    if (++p->at[d] < size[d]) return;
    p->at[d] = 0;
  }
  p->n++;
}

#endif /* BSM_BACKEND_CPU_WINDOW_H_ */
