/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of matrices for the linear algebra ops. Private to them. */
#ifndef BSM_ATEN_LINALG_OPS_H_
#define BSM_ATEN_LINALG_OPS_H_

#include "aten/linalg.h"

/* The last two dims of a tensor of rank 2 or more. */
typedef struct bsm_matrices {
  int64_t batch, m, n;
  bsm_dims outer; /* the dims before */
} bsm_matrices;

/* Checks rank and dtype (float, double or complex); `name` for messages. */
BSM_NODISCARD bsm_status bsm_la_matrices(const bsm_tensor *t, const char *name,
                                         bsm_matrices *out);
BSM_NODISCARD bsm_status bsm_la_squares(const bsm_tensor *t, const char *name,
                                        bsm_matrices *out);
/* outer with up to two more dims; -1: not there. */
bsm_dims bsm_la_shape(bsm_dims outer, int64_t m, int64_t n);
/* Zeroed batch * m * n numbers in the arena; the limit of a tensor's bytes
 * holds for them as well. */
BSM_NODISCARD bsm_status bsm_la_new(bsm_op_ctx *cx, int64_t batch, int64_t m,
                                    int64_t n, bsm_c128 **out);
/* The numbers of a tensor, broadcast to `outer` before its last two dims. */
BSM_NODISCARD bsm_status bsm_la_load(bsm_op_ctx *cx, const bsm_tensor *t,
                                     bsm_dims outer, bsm_c128 **out);
/* A new tensor of `dtype` with these numbers (NULL: meta, or empty). */
BSM_NODISCARD bsm_status bsm_la_store(bsm_op_ctx *cx, bsm_dtype dtype,
                                      bsm_dims shape, const bsm_c128 *values,
                                      bsm_ivalue *out);
/* inverse(A) of batches of square matrices; raises on singular ones. */
BSM_NODISCARD bsm_status bsm_la_inverse(bsm_op_ctx *cx, const bsm_tensor *t,
                                        const char *name, bsm_tensor **out);
/* Infinity in all elements of a matrix that has no inverse. */
BSM_NODISCARD bsm_status bsm_la_inverse_or_infinity(bsm_op_ctx *cx,
                                                    const bsm_tensor *t,
                                                    const char *name,
                                                    bsm_tensor **out);

#endif /* BSM_ATEN_LINALG_OPS_H_ */
