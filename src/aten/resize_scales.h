/* SPDX-License-Identifier: Apache-2.0 */
/* Which scale factors of interpolation PyTorch's kernels use. */
#ifndef BSM_ATEN_RESIZE_SCALES_H_
#define BSM_ATEN_RESIZE_SCALES_H_

#include <stdbool.h>
#include <stdint.h>

/* Sets those of `dims` scale factors to 0 (from the sizes) that PyTorch takes
 * and does not use (UpSample.h, UpSampleKernel.cpp). Linear kernels, and those
 * of bytes, copy along a dim of as many outputs as inputs. The nearest one of
 * images up to 128 rows and columns together also repeats each element where
 * there are twice as many; that of larger images, of lines and of volumes uses
 * every factor. */
static inline void bsm_resize_drop_unused_scales(bool smooth, int dims,
                                                 const int64_t *in,
                                                 const int64_t *out,
                                                 double *scales) {
  enum { LARGEST_SMALL_IMAGE = 128 };
  if (!smooth && (dims != 2 || out[0] > LARGEST_SMALL_IMAGE ||
                  out[1] > LARGEST_SMALL_IMAGE - out[0])) {
    return;
  }
  for (int i = 0; i < dims; i++) {
    const bool twice = out[i] % 2 == 0 && out[i] / 2 == in[i];
    if (out[i] == in[i] || (!smooth && twice)) scales[i] = 0;
  }
}

#endif /* BSM_ATEN_RESIZE_SCALES_H_ */
