/* SPDX-License-Identifier: Apache-2.0 */
/* Non-maximum suppression of boxes in the order in which they are kept. */
#ifndef BSM_ATEN_NMS_H_
#define BSM_ATEN_NMS_H_

#include "aten/overlap.h"
#include "bessemer/types.h"

/* Blocks, and words of bits, for n boxes. */
static inline size_t bsm_nms_blocks(size_t n) {
  return n / BSM_OVERLAP_BLOCK + 1;
}
static inline bool bsm_nms_is_gone(const uint64_t *gone, size_t i) {
  return gone[i / BSM_OVERLAP_BLOCK] >> i % BSM_OVERLAP_BLOCK & 1u;
}

/* boxes [n][4]: values of `dtype`, to which each operation rounds. Sets the
 * bits of the boxes that one before them, which is kept, overlaps by more than
 * the threshold. `blocks` is room, of bsm_nms_blocks(n) as `gone` is. */
void bsm_nms(bsm_dtype dtype, const double *boxes, size_t n, double threshold,
             bsm_overlap_block *blocks, uint64_t *gone);

#endif /* BSM_ATEN_NMS_H_ */
