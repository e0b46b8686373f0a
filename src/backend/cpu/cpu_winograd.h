/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of Winograd's convolutions: which convolutions have them, and
 * how they are packed. The driver is cpu_convolution_winograd.c.
 *
 * A form of weights stands for the size n of a tile of input, 4, 6 or 8; with
 * a kernel of r x r it gives m = n - r + 1 outputs in a row and column. (The
 * names of the forms are of m with r = 3.) U = G g G^T of each kernel g,
 * computed in double precision and rounded once, lies as
 * [n * n positions][panels][taps in depth][C][16]: a matrix of taps x C rows
 * and K columns for each position, packed as the right side of a product.
 *
 * With several groups, a panel has the input maps of those groups alone that
 * its 16 output maps are of, and zeros where a map is of another one: groups of
 * 24 maps have panels of 24, 48 and 24 rows, as many as if they were filled up
 * to two panels each, and outputs lie side by side. */
#ifndef BSM_BACKEND_CPU_WINOGRAD_H_
#define BSM_BACKEND_CPU_WINOGRAD_H_

#include "backend/cpu/cpu_forms.h"
#include "engine/plan.h"

/* The size n of a tile of input; 0 when `form` is none of Winograd's. */
int32_t bsm_cpu_winograd_tile(int32_t form);

/* Whether a convolution can have weights of this form: 3 x 3 or 5 x 5 in the
 * last two dimensions, with stride 1 there, any dilation, and channels on both
 * sides; one group, or without depth several. */
bool bsm_cpu_winograd_fits(const bsm_step_convolution *params, int64_t in_maps,
                           int32_t form);

/* The input maps of a panel of output maps. */
typedef struct bsm_cpu_winograd_maps {
  int64_t first, count;
} bsm_cpu_winograd_maps;
bsm_cpu_winograd_maps bsm_cpu_winograd_maps_of(const bsm_step_convolution *p,
                                               int64_t in_maps, int64_t panel);
/* Floats of a position of U. */
int64_t bsm_cpu_winograd_position(const bsm_step_convolution *params,
                                  int64_t in_maps);

/* Bytes of the packed weights; fails when they do not fit or are too large. */
BSM_NODISCARD bsm_status
bsm_cpu_winograd_size(const bsm_step_convolution *params, int64_t in_maps,
                      int32_t form, uint64_t *size);

/* `values`: [out][in][taps][r][r]; `packed` holds what bsm_cpu_winograd_size
 * says. */
void bsm_cpu_winograd_pack(const bsm_step_convolution *params, int64_t in_maps,
                           int32_t form, const float *values, float *packed);

#endif /* BSM_BACKEND_CPU_WINOGRAD_H_ */
