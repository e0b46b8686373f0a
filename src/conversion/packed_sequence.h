/* SPDX-License-Identifier: Apache-2.0 */
/* Maps rows of a packed sequence to rows of a padded one, and back, for
 * sequences of static lengths. The indices are made by the reference library,
 * by packing and padding row numbers. */
#ifndef BSM_CONVERSION_PACKED_SEQUENCE_H_
#define BSM_CONVERSION_PACKED_SEQUENCE_H_

#include "conversion/emit.h"

typedef struct bsm_packed_rows {
  int64_t length, batch, rows; /* steps, samples, packed rows */
  bool uniform;          /* all samples have the same length: nothing moves */
  bsm_tensor *sizes;     /* [length]: samples in each step */
  bsm_tensor *lengths;   /* [batch] */
  bsm_tensor *to_padded; /* [length * batch]: packed rows, padding 0 */
  bsm_tensor *to_packed; /* [rows]: rows of [length * batch] */
} bsm_packed_rows;

/* From the sizes of the steps, of `rows` rows. */
BSM_NODISCARD bsm_status bsm_packed_from_sizes(bsm_conversion_ctx *ctx,
                                               const bsm_tensor *sizes,
                                               int64_t rows,
                                               bsm_packed_rows *out);
/* From the lengths of the samples, the longest first, of `steps` steps, which
 * may be more than the longest has. */
BSM_NODISCARD bsm_status bsm_packed_from_lengths(bsm_conversion_ctx *ctx,
                                                 const bsm_tensor *lengths,
                                                 int64_t steps, int64_t batch,
                                                 bsm_packed_rows *out);

/* x [T, B, ...] as packed rows, and packed rows as [T, B, ...] with anything
 * in the padding. */
bsm_itensor *bsm_emit_pack(bsm_conversion_ctx *ctx, bsm_itensor *x,
                           const bsm_packed_rows *rows);
bsm_itensor *bsm_emit_unpack(bsm_conversion_ctx *ctx, bsm_itensor *x,
                             const bsm_packed_rows *rows);

#endif /* BSM_CONVERSION_PACKED_SEQUENCE_H_ */
