/* SPDX-License-Identifier: Apache-2.0 */
/* Non-maximum suppression: pairs of boxes, 64 at a time where they are float.
 */
#include "aten/nms.h"

#include <math.h>
#include <string.h>

#include "aten/element.h"

/* Boxes are most often float, and nms rounds ten times for each pair. */
static double rnd(bsm_dtype d, double v) {
  if (d == BSM_DTYPE_FLOAT) return (double)(float)v;
  bsm_round_f64(d, 1, &v);
  return v;
}

static double area_of(bsm_dtype d, const double *b) {
  return rnd(d, rnd(d, b[2] - b[0]) * rnd(d, b[3] - b[1]));
}

static double overlap(bsm_dtype d, const double *a, const double *b) {
  const double w = rnd(d, fmin(a[2], b[2]) - fmax(a[0], b[0]));
  const double h = rnd(d, fmin(a[3], b[3]) - fmax(a[1], b[1]));
  const double inter = rnd(d, (w > 0 ? w : 0.0) * (h > 0 ? h : 0.0));
  const double both = rnd(d, area_of(d, a) + area_of(d, b));
  return rnd(d, inter / rnd(d, both - inter));
}

/* Marks the boxes behind `i`, in the order of their scores, that overlap it. */
static void suppress(bsm_dtype dtype, const double *boxes, size_t n, size_t i,
                     double threshold, uint64_t *gone) {
  for (size_t k = i + 1; k < n; k++) {
    if (bsm_nms_is_gone(gone, k)) continue;
    if (overlap(dtype, boxes + 4 * i, boxes + 4 * k) > threshold) {
      gone[k / BSM_OVERLAP_BLOCK] |= (uint64_t)1 << k % BSM_OVERLAP_BLOCK;
    }
  }
}

/* The same of float boxes, a block at a time. */
static void suppress_blocks(const bsm_overlap_block *blocks, size_t n, size_t i,
                            double threshold, uint64_t *gone) {
  const size_t first = i / BSM_OVERLAP_BLOCK, lane = i % BSM_OVERLAP_BLOCK;
  const bsm_overlap_block *own = &blocks[first];
  const float one[5] = {own->x0[lane], own->y0[lane], own->x1[lane],
                        own->y1[lane], own->area[lane]};
  for (size_t b = first; b * BSM_OVERLAP_BLOCK < n; b++) {
    const uint64_t before =
        b == first ? UINT64_MAX >> (BSM_OVERLAP_BLOCK - 1 - lane) : 0;
    if ((gone[b] | before) == UINT64_MAX) continue;
    gone[b] |= bsm_overlap_bits(&blocks[b], one, threshold) & ~before;
  }
}

static bool has_nan(const double *box) {
  return isnan(box[0]) || isnan(box[1]) || isnan(box[2]) || isnan(box[3]);
}

/* The boxes in blocks; nobody asks for the lanes behind the last box. */
static void make_blocks(const double *boxes, size_t n,
                        bsm_overlap_block *blocks) {
  for (size_t k = 0; k < n; k++) {
    bsm_overlap_block *b = &blocks[k / BSM_OVERLAP_BLOCK];
    const size_t j = k % BSM_OVERLAP_BLOCK;
    const double *box = boxes + 4 * k;
    b->x0[j] = (float)box[0];
    b->y0[j] = (float)box[1];
    b->x1[j] = (float)box[2];
    b->y1[j] = (float)box[3];
    b->area[j] = (float)area_of(BSM_DTYPE_FLOAT, box);
  }
}

void bsm_nms(bsm_dtype dtype, const double *boxes, size_t n, double threshold,
             bsm_overlap_block *blocks, uint64_t *gone) {
  const bool is_float = dtype == BSM_DTYPE_FLOAT;
  memset(gone, 0, bsm_nms_blocks(n) * sizeof(*gone));
  if (is_float) make_blocks(boxes, n, blocks);
  for (size_t i = 0; i < n; i++) {
    if (bsm_nms_is_gone(gone, i)) continue;
    if (is_float && !has_nan(boxes + 4 * i)) {
      suppress_blocks(blocks, n, i, threshold, gone);
    } else {
      suppress(dtype, boxes, n, i, threshold, gone);
    }
  }
}
