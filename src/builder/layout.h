/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts as strides: making them, and geometry of views. */
#ifndef BSM_BUILDER_LAYOUT_H_
#define BSM_BUILDER_LAYOUT_H_

#include <stdbool.h>

#include "engine/plan.h"

/* Row-major. */
bsm_layout bsm_layout_contiguous(bsm_dims dims);
/* [N, C, spatial...] with C innermost; rank >= 3. */
bsm_layout bsm_layout_channels_last(bsm_dims dims);
/* Strides such that dimension order[0] is outermost, order[rank-1] innermost,
 * without gaps. */
bsm_layout bsm_layout_ordered(bsm_dims dims, const int32_t *order);

/* Strides without gaps, with dimensions in the order of their strides in
 * `like`, which has the same rank: a slice of a channels-last image becomes
 * channels-last. */
bsm_layout bsm_layout_like(bsm_dims dims, const bsm_layout *like);

/* Strides of dimensions of size 1 do not matter, and none of an empty one. */
bool bsm_layout_is_contiguous(const bsm_layout *layout);
/* Whether the C stride is 1, as convolutions require. */
bool bsm_layout_has_channels_inner(const bsm_layout *layout);
/* Whether it is a permutation of a contiguous layout: no gaps, no broadcast. */
bool bsm_layout_is_dense(const bsm_layout *layout);
/* Whether elements of a dimension are one and the same. */
bool bsm_layout_is_broadcast(const bsm_layout *layout);
bool bsm_layout_equal(const bsm_layout *a, const bsm_layout *b);

/* Dimension i of the result is dimension perm.d[i]. */
bsm_layout bsm_layout_permute(const bsm_layout *layout, bsm_dims perm);
/* Makes a view with other dims of as many elements; false when that needs a
 * copy (PyTorch's rule of view). */
bool bsm_layout_reshape(const bsm_layout *layout, bsm_dims dims,
                        bsm_layout *out);
/* Broadcasts to `dims` with strides of 0; the ranks may differ. */
bsm_layout bsm_layout_broadcast(const bsm_layout *layout, bsm_dims dims);

#endif /* BSM_BUILDER_LAYOUT_H_ */
