/* SPDX-License-Identifier: Apache-2.0 */
/* Images and windows as kernels have them. */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_IMAGES_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_IMAGES_H_

#include "backend/cuda/kernels/params.h"
#include "backend/cuda/steps/cuda_steps.h"

static inline bsm_cuda_image bsm_cuda_image_of(const bsm_plan_tensor *t,
                                               int spatial) {
  bsm_cuda_image i = {.n = t->dims.d[0],
                      .c = t->dims.d[1],
                      .size = {1, 1, 1},
                      .n_stride = t->strides[0],
                      .c_stride = t->strides[1]};
  for (int d = 0; d < spatial; d++) {
    i.size[3 - spatial + d] = t->dims.d[2 + d];
    i.stride[3 - spatial + d] = t->strides[2 + d];
  }
  return i;
}

static inline int64_t bsm_cuda_pixels(const bsm_cuda_image *i) {
  return i->n * i->size[0] * i->size[1] * i->size[2];
}

static inline bsm_cuda_window bsm_cuda_window_of(const bsm_step_window *w) {
  bsm_cuda_window out;
  for (int d = 0; d < 3; d++) {
    out.kernel[d] = w->kernel[d];
    out.stride[d] = w->stride[d];
    out.dilation[d] = w->dilation[d];
    out.pre[d] = w->pre_padding[d];
    out.post[d] = w->post_padding[d];
  }
  return out;
}

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_IMAGES_H_ */
