/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of windows. */
#include "backend/cpu/cpu_window.h"

/* Sizes, kernels and paddings below this: sums and products of three fit. */
#define MAX_EXTENT ((int64_t)1 << 20)

bsm_status bsm_cpu_check_window(const bsm_step_window *w,
                                const bsm_plan_tensor *x,
                                const bsm_plan_tensor *y) {
  if (w->spatial < 1 || w->spatial > 3 || x->dims.rank != w->spatial + 2 ||
      y->dims.rank != w->spatial + 2) {
    return BSM_FAIL(BSM_CORRUPT, "%d spatial dimensions, but %s gives %s",
                    w->spatial, bsm_dims_str(x->dims), bsm_dims_str(y->dims));
  }
  for (int d = 0; d < 3; d++) {
    const bool missing = d < 3 - w->spatial;
    const int64_t most = missing ? 1 : MAX_EXTENT;
    if (w->kernel[d] < 1 || w->kernel[d] > most || w->stride[d] < 1 ||
        w->stride[d] > most || w->dilation[d] < 1 || w->dilation[d] > most ||
        w->pre_padding[d] < 0 || w->post_padding[d] < 0 ||
        w->pre_padding[d] > MAX_EXTENT || w->post_padding[d] > MAX_EXTENT ||
        (missing && (w->pre_padding[d] || w->post_padding[d]))) {
      return BSM_FAIL(BSM_CORRUPT,
                      "dimension %d of the window: kernel %lld, stride %lld, "
                      "dilation %lld, padding %lld and %lld",
                      d, (long long)w->kernel[d], (long long)w->stride[d],
                      (long long)w->dilation[d], (long long)w->pre_padding[d],
                      (long long)w->post_padding[d]);
    }
  }
  if (w->kernel[0] * w->kernel[1] > MAX_EXTENT ||
      w->kernel[0] * w->kernel[1] * w->kernel[2] > MAX_EXTENT) {
    return BSM_FAIL(BSM_CORRUPT, "the window is too large");
  }
  return BSM_OK;
}

bsm_cpu_image bsm_cpu_image_of(const bsm_plan_tensor *t, int32_t spatial) {
  bsm_cpu_image i = {.n = t->dims.d[0],
                     .c = t->dims.d[1],
                     .size = {1, 1, 1},
                     .n_stride = t->strides[0],
                     .c_stride = t->strides[1]};
  for (int32_t d = 0; d < spatial; d++) {
    i.size[3 - spatial + d] = t->dims.d[2 + d];
    i.stride[3 - spatial + d] = t->strides[2 + d];
  }
  return i;
}

int64_t bsm_cpu_window_output(const bsm_step_window *w, int d, int64_t input) {
  const int64_t span = w->dilation[d] * (w->kernel[d] - 1) + 1;
  const int64_t room = input + w->pre_padding[d] + w->post_padding[d] - span;
  return room < 0 ? 0 : room / w->stride[d] + 1;
}
