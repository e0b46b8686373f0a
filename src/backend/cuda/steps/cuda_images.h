/* SPDX-License-Identifier: Apache-2.0 */
/* Images and windows as kernels have them. */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_IMAGES_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_IMAGES_H_

#include "backend/cuda/kernels/params.h"
#include "backend/cuda/steps/cuda_steps.h"
#include "backend/image.h"

static inline bsm_cuda_image bsm_cuda_image_of(const bsm_plan_tensor *t,
                                               int spatial) {
  const bsm_image i = bsm_image_of(t, spatial);
  return (bsm_cuda_image){.n = i.n,
                          .c = i.c,
                          .size = {i.size[0], i.size[1], i.size[2]},
                          .n_stride = i.n_stride,
                          .c_stride = i.c_stride,
                          .stride = {i.stride[0], i.stride[1], i.stride[2]}};
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

/* Whether nothing depends on the first of three dimensions. */
static inline bool bsm_cuda_is_flat(const bsm_step_window *w,
                                    const bsm_cuda_image *x,
                                    const bsm_cuda_image *y) {
  return x->size[0] == 1 && y->size[0] == 1 && w->kernel[0] == 1 &&
         w->pre_padding[0] == 0;
}

/* Whether the offsets of all elements fit in 31 bits. */
bool bsm_cuda_image_is_small(const bsm_cuda_image *image);
/* Whether parameters of a window fit in 32 bits, and what is made of them. */
bool bsm_cuda_window_is_small(const bsm_step_window *window);
/* How many maps can be read at once, at most `most`: a power of two that
 * divides all strides but that of maps, which is 1, and their number. */
int bsm_cuda_image_vector(const bsm_plan_tensor *t, int most);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_IMAGES_H_ */
