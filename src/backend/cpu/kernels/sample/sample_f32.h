/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling of an image at places that a grid names: some of its places, all
 * channels of each, which lie beside each other.
 *
 * A place has a coordinate for each axis, -1 to 1 over the image, that of the
 * last axis first. Along each axis one, two or four pixels are read (taps), and
 * the result is the sum of the pixels of all combinations, each times the
 * product of its taps' weights. The last axis is summed first. Where padding is
 * zeros, pixels outside of the image are not read. A place of an image whose
 * coordinate is NaN or infinite is NaN, as PyTorch has it: but the nearest
 * pixel is one outside, and volumes have none there. */
#ifndef BSM_KERNELS_SAMPLE_F32_H_
#define BSM_KERNELS_SAMPLE_F32_H_

#include <stdint.h>

#include "backend/cpu/kernels/kernel_isa.h"

#define BSM_K_SAMPLE_AXES 3
#define BSM_K_SAMPLE_PLACES 64 /* of a call at most */
/* Sizes along an axis are below it: each pixel has a number in float. */
#define BSM_K_SAMPLE_MAX_SIZE INT64_C(8388608) /* 2^23 */

typedef enum bsm_k_sample_mode {
  BSM_K_SAMPLE_NEAREST,
  BSM_K_SAMPLE_LINEAR,
  BSM_K_SAMPLE_CUBIC /* of at most two axes */
} bsm_k_sample_mode;

typedef enum bsm_k_sample_padding {
  BSM_K_SAMPLE_ZEROS,
  BSM_K_SAMPLE_BORDER,
  BSM_K_SAMPLE_REFLECTION
} bsm_k_sample_padding;

typedef struct bsm_k_sample_args {
  const float *x;
  int32_t axes; /* 2 or 3 */
  /* From the first to the last axis: pixels, and elements between them. */
  int64_t size[BSM_K_SAMPLE_AXES], stride[BSM_K_SAMPLE_AXES];
  int64_t channels;
  bsm_k_sample_mode mode;
  bsm_k_sample_padding padding;
  int32_t align;     /* -1 and 1 are the centres of the outer pixels */
  const float *grid; /* [count][axes] */
  float *y;
  const int64_t *y_at; /* of each place, in elements */
  int64_t count;
} bsm_k_sample_args;

typedef struct bsm_k_sample {
  const char *name;
  void (*places)(const bsm_k_sample_args *args);
} bsm_k_sample;

BSM_K_FAMILY(sample)

#endif /* BSM_KERNELS_SAMPLE_F32_H_ */
