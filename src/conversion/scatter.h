/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to places that are known at run time, made of comparisons: every
 * place of the result looks for the indices that name it. The work is the
 * number of places times the number of indices along the axis. */
#ifndef BSM_CONVERSION_SCATTER_H_
#define BSM_CONVERSION_SCATTER_H_

#include "conversion/emit.h"

typedef enum bsm_scatter_mode {
  BSM_SCATTER_ASSIGN, /* the last write wins */
  BSM_SCATTER_ADD,
  BSM_SCATTER_PROD,
  BSM_SCATTER_MAX,
  BSM_SCATTER_MIN
} bsm_scatter_mode;

/* torch.scatter along `axis`: `index` and `source` have the rank of `x`; the
 * source is at least as large as the index. `fresh`: a place that is written
 * forgets its old value. */
bsm_itensor *bsm_emit_scatter(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              int32_t axis, bsm_itensor *index,
                              bsm_itensor *source, bsm_scatter_mode mode,
                              bool fresh);
/* Slice k of `source` along `axis` goes to slice index[k] of `x`; the index is
 * a vector and the source's other dims are those of `x`. */
bsm_itensor *bsm_emit_index_write(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                  int32_t axis, bsm_itensor *index,
                                  bsm_itensor *source, bool add);
/* The converter of scatter, index_copy and index_fill when the index is
 * computed at run time. */
BSM_NODISCARD bsm_status bsm_convert_scatter(bsm_conversion_ctx *ctx,
                                             const bsm_node *node,
                                             const bsm_args *args);

#endif /* BSM_CONVERSION_SCATTER_H_ */
