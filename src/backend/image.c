/* SPDX-License-Identifier: Apache-2.0 */
/* Images and windows. */
#include "backend/image.h"

bsm_image bsm_image_of(const bsm_plan_tensor *t, int32_t spatial) {
  bsm_image i = {.n = t->dims.d[0],
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

int64_t bsm_window_output(const bsm_step_window *w, int d, int64_t input) {
  const int64_t span = w->dilation[d] * (w->kernel[d] - 1) + 1;
  const int64_t room = input + w->pre_padding[d] + w->post_padding[d] - span;
  return room < 0 ? 0 : room / w->stride[d] + 1;
}
