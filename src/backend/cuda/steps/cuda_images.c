/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels may take for granted about images and windows. */
#include "backend/cuda/steps/cuda_images.h"

#include "base/checked.h"

bool bsm_cuda_image_is_small(const bsm_cuda_image *i) {
  const int64_t sizes[5] = {i->n, i->c, i->size[0], i->size[1], i->size[2]};
  const int64_t strides[5] = {i->n_stride, i->c_stride, i->stride[0],
                              i->stride[1], i->stride[2]};
  int64_t last = 0, part;
  for (int d = 0; d < 5; d++) {
    if (!bsm_i64_mul(sizes[d], strides[d], &part) ||
        !bsm_i64_add(last, part, &last)) {
      return false;
    }
  }
  return last < INT32_MAX;
}

bool bsm_cuda_window_is_small(const bsm_step_window *w) {
  for (int d = 0; d < 3; d++) {
    if (w->kernel[d] > 1 << 12 || w->stride[d] > 1 << 12 ||
        w->dilation[d] > 1 << 12 || w->pre_padding[d] > 1 << 24) {
      return false;
    }
  }
  return true;
}

int bsm_cuda_image_vector(const bsm_plan_tensor *t, int most) {
  const int64_t element = (int64_t)bsm_dtype_size(t->dtype);
  int vector = most;
  for (; vector > 1; vector /= 2) {
    bool fits = t->offset % (uint64_t)(vector * element) == 0;
    for (int i = 0; i < t->dims.rank; i++) {
      const int64_t part = i == 1 ? t->dims.d[i] : t->strides[i];
      fits = fits && ((i != 1 && t->dims.d[i] == 1) || part % vector == 0);
    }
    if (fits) break;
  }
  return vector;
}
