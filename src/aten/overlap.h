/* SPDX-License-Identifier: Apache-2.0 */
/* Which boxes of a list overlap one of them by more than a threshold, as bits:
 * what non-maximum suppression does for each box that it keeps. */
#ifndef BSM_ATEN_OVERLAP_H_
#define BSM_ATEN_OVERLAP_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Boxes that are looked at together: the bits of a word. */
#define BSM_OVERLAP_BLOCK 64

/* 64 float boxes, coordinate by coordinate, and their areas. */
typedef struct bsm_overlap_block {
  float x0[BSM_OVERLAP_BLOCK], y0[BSM_OVERLAP_BLOCK];
  float x1[BSM_OVERLAP_BLOCK], y1[BSM_OVERLAP_BLOCK];
  float area[BSM_OVERLAP_BLOCK];
} bsm_overlap_block;

/* Bit j: the intersection of the boxes j and `one`, divided by their union, is
 * more than the threshold; each operation rounds to float. No coordinate of
 * `one`, which is x0, y0, x1, y1 and the area, may be NaN; in the block NaN is
 * left out of an intersection, as fmin and fmax do. */
uint64_t bsm_overlap_bits(const bsm_overlap_block *block, const float one[5],
                          double threshold);

#endif /* BSM_ATEN_OVERLAP_H_ */
