/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts as strides: making them, and geometry of views. */
#ifndef BSM_BUILDER_LAYOUT_H_
#define BSM_BUILDER_LAYOUT_H_

#include <stdbool.h>

#include "bessemer/types.h"

/* Dims with strides, in elements. */
typedef struct bsm_layout {
  bsm_dims dims;
  int64_t strides[BSM_MAX_RANK];
} bsm_layout;

/* Row-major. */
bsm_layout bsm_layout_contiguous(bsm_dims dims);
/* [N, C, spatial...] with C innermost; rank >= 3. */
bsm_layout bsm_layout_channels_last(bsm_dims dims);
/* Strides such that dimension order[0] is outermost, order[rank-1] innermost,
 * without gaps. */
bsm_layout bsm_layout_ordered(bsm_dims dims, const int32_t *order);

/* Without gaps, dimensions in the order that their strides have in `like`, of
 * the same rank: a slice of a channels-last image gives a channels-last one. */
bsm_layout bsm_layout_like(bsm_dims dims, const bsm_layout *like);

/* Dimensions of size 1 never matter. */
bool bsm_layout_is_contiguous(const bsm_layout *layout);
/* The C stride is 1: what convolutions ask for. */
bool bsm_layout_has_channels_inner(const bsm_layout *layout);
/* A permutation of a contiguous layout: no gaps, no broadcast. */
bool bsm_layout_is_dense(const bsm_layout *layout);
bool bsm_layout_equal(const bsm_layout *a, const bsm_layout *b);

/* Dimension i of the result is dimension perm.d[i]. */
bsm_layout bsm_layout_permute(const bsm_layout *layout, bsm_dims perm);
/* A view with other dims of the same count of elements; false when it needs a
 * copy (PyTorch's view rule). */
bool bsm_layout_reshape(const bsm_layout *layout, bsm_dims dims,
                        bsm_layout *out);
/* Broadcast to `dims` with strides of 0; the ranks may differ. */
bsm_layout bsm_layout_broadcast(const bsm_layout *layout, bsm_dims dims);

#endif /* BSM_BUILDER_LAYOUT_H_ */
