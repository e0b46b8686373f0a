/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of Winograd's convolutions: which convolutions have them, and
 * how they are packed. The driver is cpu_convolution_winograd.c.
 *
 * U = G g G^T of each 3 x 3 kernel g, computed in double precision and rounded
 * once, lies as [n * n positions][panels][C][16]: a matrix C x K for each
 * position, packed as the right side of a product. */
#ifndef BSM_BACKEND_CPU_WINOGRAD_H_
#define BSM_BACKEND_CPU_WINOGRAD_H_

#include "engine/plan.h"

/* Outputs of a tile in a row and in a column: 2, 4 or 6; 0 when `form` is none
 * of Winograd's. */
int32_t bsm_cpu_winograd_outputs(int32_t form);

/* Whether a convolution can have weights of these forms: 3 x 3, stride 1, no
 * dilation, one group, two dimensions, and channels on both sides. */
bool bsm_cpu_winograd_fits(const bsm_step_convolution *params, int64_t in_maps);

/* Bytes of the packed weights; fails when they do not fit or are too large. */
BSM_NODISCARD bsm_status
bsm_cpu_winograd_size(const bsm_step_convolution *params, int64_t in_maps,
                      int32_t form, uint64_t *size);

/* `values`: [out][in][3][3]; `packed` holds what bsm_cpu_winograd_size says. */
void bsm_cpu_winograd_pack(const bsm_step_convolution *params, int64_t in_maps,
                           int32_t form, const float *values, float *packed);

#endif /* BSM_BACKEND_CPU_WINOGRAD_H_ */
