/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to elements that indices name, as scatter layers. */
#ifndef BSM_CONVERSION_SCATTER_H_
#define BSM_CONVERSION_SCATTER_H_

#include "conversion/emit.h"

/* How elements are updated. `fresh`: the old value of a written element does
 * not take part. `wrap`: negative indices count from the end; otherwise they
 * are out of range. */
typedef struct bsm_scatter_options {
  bsm_scatter_reduction reduction;
  bool fresh, wrap;
} bsm_scatter_options;

/* torch.scatter along `axis`: `index` and `source` have the rank of `x`; the
 * source is at least as large as the index. */
bsm_itensor *bsm_emit_scatter(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              int32_t axis, bsm_itensor *index,
                              bsm_itensor *source, bsm_scatter_options options);
/* Slice k of `source` along `axis` goes to slice index[k] of `x`; the index is
 * a vector and the source's other dims are those of `x`. */
bsm_itensor *bsm_emit_index_write(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                  int32_t axis, bsm_itensor *index,
                                  bsm_itensor *source,
                                  bsm_scatter_options options);
/* For "mean", which is the sum divided by the number of addends, rounded down
 * for integers. Returns the tensor into which ones are scattered with the same
 * indices to count, for each element of `x`, its updates (at least 1), and the
 * element itself unless `fresh`. */
bsm_itensor *bsm_emit_scatter_counts(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                     bool fresh);
bsm_itensor *bsm_emit_scatter_mean(bsm_conversion_ctx *ctx, bsm_itensor *sum,
                                   bsm_itensor *counts);

#endif /* BSM_CONVERSION_SCATTER_H_ */
