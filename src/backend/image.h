/* SPDX-License-Identifier: Apache-2.0 */
/* Images: tensors [N, C, spatial...] seen with always three spatial dimensions.
 */
#ifndef BSM_BACKEND_IMAGE_H_
#define BSM_BACKEND_IMAGE_H_

#include "engine/plan.h"

typedef struct bsm_image {
  int64_t n, c, size[3];
  int64_t n_stride, c_stride, stride[3]; /* elements */
} bsm_image;

bsm_image bsm_image_of(const bsm_plan_tensor *t, int32_t spatial);
/* The output size of a convolution along dimension d of the window. */
int64_t bsm_window_output(const bsm_step_window *window, int d, int64_t input);

#endif /* BSM_BACKEND_IMAGE_H_ */
