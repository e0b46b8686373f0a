/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms as matrices of cosines and sines in float64: what the
 * rules of fourier_parts.c are made of. A transform that is too large for a
 * matrix is two smaller ones (fourier_steps.c). */
#ifndef BSM_LOWERING_PASSES_FOURIER_MATRIX_H_
#define BSM_LOWERING_PASSES_FOURIER_MATRIX_H_

#include "lowering/passes/complex_parts.h"

typedef enum bsm_transform_kind {
  BSM_REAL_TO_COMPLEX,
  BSM_COMPLEX,
  BSM_COMPLEX_TO_REAL
} bsm_transform_kind;

typedef struct bsm_transform {
  bsm_transform_kind kind;
  int64_t n, bins; /* points; complex numbers that are kept */
  bool inverse;    /* the sign of the angle */
  double scale;
  bool transposed; /* [out, in], as the weights of a convolution */
} bsm_transform;

/* How many numbers go in and come out; a pair counts as two. */
int64_t bsm_transform_numbers_in(const bsm_transform *t);
int64_t bsm_transform_numbers_out(const bsm_transform *t);

/* Notes that the matrix of `t` is wanted; once, unless it is `own`. */
BSM_NODISCARD bsm_status bsm_fourier_add(bsm_complex_parts *p,
                                         const bsm_transform *t, bool own);
/* The matrix of a transform that was added: [in, out], or as the weights of a
 * convolution. */
BSM_NODISCARD bsm_status bsm_fourier_make(bsm_complex_parts *p,
                                          const bsm_node_emitter *e,
                                          const bsm_transform *t,
                                          bsm_value **out);

/* Whether a transform is done in two steps, or not at all: !*fits. */
bool bsm_transform_is_large(const bsm_transform *t, bool *fits);
/* Adds the two transforms that a large one is made of. */
BSM_NODISCARD bsm_status bsm_fourier_add_steps(bsm_complex_parts *p,
                                               const bsm_transform *t);
/* A large transform along the last dim of float64, [.., n], or of pairs,
 * [.., bins, 2]. */
BSM_NODISCARD bsm_status bsm_fourier_steps(bsm_complex_parts *p,
                                           const bsm_node_emitter *e,
                                           const bsm_transform *t, bsm_value *x,
                                           bsm_value **out);

#endif /* BSM_LOWERING_PASSES_FOURIER_MATRIX_H_ */
