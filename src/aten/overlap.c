/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of a fixed length over arrays, which compilers make vectors of. */
#include "aten/overlap.h"

#include <math.h>

/* The greatest float that is not above v: x > v for floats x is the same as
 * x > float_below(v). */
static float float_below(double v) {
  const float f = (float)v;
  return (double)f > v ? nextafterf(f, -INFINITY) : f;
}

uint64_t bsm_overlap_bits(const bsm_overlap_block *block, const float one[5],
                          double threshold) {
  const float x0 = one[0], y0 = one[1], x1 = one[2], y1 = one[3];
  const float area = one[4], limit = float_below(threshold);
  uint32_t over[BSM_OVERLAP_BLOCK];
  uint64_t bits = 0;
  for (int j = 0; j < BSM_OVERLAP_BLOCK; j++) {
    const float right = block->x1[j] < x1 ? block->x1[j] : x1;
    const float left = block->x0[j] > x0 ? block->x0[j] : x0;
    const float bottom = block->y1[j] < y1 ? block->y1[j] : y1;
    const float top = block->y0[j] > y0 ? block->y0[j] : y0;
    const float w = right - left, h = bottom - top;
    const float both = (w > 0 ? w : 0.0f) * (h > 0 ? h : 0.0f);
    over[j] = both / (area + block->area[j] - both) > limit;
  }
  for (int j = 0; j < BSM_OVERLAP_BLOCK; j++) bits |= (uint64_t)over[j] << j;
  return bits;
}
