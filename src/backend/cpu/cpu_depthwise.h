/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a depthwise convolution, or of one of groups of few maps, computed
 * from pointers to input pixels: what the convolution and the chains of
 * convolutions have in common. */
#ifndef BSM_BACKEND_CPU_DEPTHWISE_H_
#define BSM_BACKEND_CPU_DEPTHWISE_H_

#include "backend/cpu/cpu_window.h"
#include "backend/cpu/kernels/depthwise/depthwise_f32.h"

typedef struct bsm_cpu_depthwise {
  const bsm_k_depthwise *kernels;
  bsm_k_depthwise_fn *const *square;   /* [rows - 1]; NULL: no square window */
  int64_t window, stride, pre_padding; /* square: of rows and columns */
  int64_t in_width, out_width, channels;
  int64_t maps, taps; /* of a group; of the window */
  int64_t line;       /* any window: bsm_k_depthwise_args */
  int64_t columns;    /* square: pointers of an input row */
  const float *zeros; /* [channels] */
  const float *kernel, *bias;
  int64_t w_tap; /* floats from tap to tap of the kernel */
  bsm_cpu_epilogue epilogue;
} bsm_cpu_depthwise;

/* Where results go, and the residual they are added to. */
typedef struct bsm_cpu_depthwise_target {
  float *y;
  int64_t y_row, y_pixel;
  const float *residual; /* or NULL */
  int64_t residual_row, residual_pixel;
} bsm_cpu_depthwise_target;

/* For a checked convolution of images x to y: depthwise, or with weights of
 * form GROUPED. zeros, kernel and bias
 * stay to be set. */
void bsm_cpu_depthwise_init(const bsm_step_convolution *params,
                            const bsm_image *x, const bsm_image *y,
                            uint32_t isa, bsm_cpu_depthwise *out);

/* Sets the kernel to packed weights, or to a copy of them in `arena`. */
BSM_NODISCARD bsm_status bsm_cpu_depthwise_set_kernel(const float *packed,
                                                      bsm_arena *arena,
                                                      bsm_cpu_depthwise *d);

/* The pointers of one input row of a square window, `columns` of them, from
 * the first one in the padding on; `row` NULL: a row of the padding. */
void bsm_cpu_depthwise_point(const bsm_cpu_depthwise *d, const float *row,
                             int64_t pixel_stride, const float **to);

/* The most output rows of one call. */
int bsm_cpu_depthwise_max_rows(const bsm_cpu_depthwise *d);

/* `rows` output rows of a square window: x[i], the pointers of input row i,
 * point to channel `channel`; so does the target. */
void bsm_cpu_depthwise_rows(const bsm_cpu_depthwise *d,
                            const float *const *const *x, int rows,
                            int64_t channel, int64_t channels,
                            const bsm_cpu_depthwise_target *target);

/* The kernel's arguments for these channels, but for x, taps and pixels. */
bsm_k_depthwise_args bsm_cpu_depthwise_args(
    const bsm_cpu_depthwise *d, int64_t channel, int64_t channels,
    const bsm_cpu_depthwise_target *target);

#endif /* BSM_BACKEND_CPU_DEPTHWISE_H_ */
