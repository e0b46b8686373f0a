/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of regions of interest: a region is cut into bins, and a bin becomes
 * the mean of bilinear samples, or the greatest or the mean of whole pixels.
 *
 * Where a region is cut the arithmetic is of one dtype, rounded after each
 * operation: an ulp decides which pixels a bin has. */
#ifndef BSM_ATEN_REGIONS_H_
#define BSM_ATEN_REGIONS_H_

#include "bessemer/network.h"

/* More samples along one axis of a bin are refused: where it is the region that
 * has so many, and where they are told. */
#define BSM_REGION_MAX_SAMPLES 65536
#define BSM_REGION_MAX_TOLD_SAMPLES 256

/* Bins along one axis, too. */
#define BSM_REGION_MAX_BINS ((int64_t)1 << 20)

/* What all regions have in common. */
typedef struct bsm_regions {
  bsm_region_pooling how;
  int64_t height, width; /* of the image */
} bsm_regions;

/* One region: where it starts, its bins, and the samples of each. */
typedef struct bsm_region {
  int64_t image; /* its number in the batch */
  double y0, x0, bin_h, bin_w;
  int64_t grid_h, grid_w;
} bsm_region;

/* `row`: the number of the image, and the two corners x0, y0, x1, y1. Fails for
 * an image that a batch of `images` does not have, and too many samples. */
BSM_NODISCARD bsm_status bsm_region_init(const bsm_regions *r,
                                         const double *row, int64_t images,
                                         bsm_region *out);
/* The samples, or pixels, that a bin is made of. */
int64_t bsm_region_work(const bsm_regions *r, const bsm_region *one);
/* A bin of the plane [height][width]; *where: the place of the greatest pixel,
 * -1: none. */
double bsm_region_bin(const bsm_regions *r, const bsm_region *one,
                      const double *plane, int64_t row, int64_t column,
                      int64_t *where);

#endif /* BSM_ATEN_REGIONS_H_ */
