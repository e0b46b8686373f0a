/* SPDX-License-Identifier: Apache-2.0 */
/* Dense linear algebra on small matrices: row-major arrays of complex numbers,
 * which real ones are a case of. Conventions (signs, pivots, packed factors)
 * are LAPACK's. Private to the ops. */
#ifndef BSM_ATEN_LINALG_H_
#define BSM_ATEN_LINALG_H_

#include "aten/complex_math.h"

/* a[m][n] = P L U in place, L with ones on its diagonal; pivots[i] is the row
 * (from 0) that row i was exchanged with, min(m, n) of them. Returns the first
 * zero on the diagonal of U, from 1; 0 when there is none. */
int64_t bsm_la_lu(bsm_c128 *a, int64_t m, int64_t n, int64_t *pivots);
/* The row exchanges of `pivots` on b[.][k], or back. */
void bsm_la_exchange(bsm_c128 *b, int64_t k, const int64_t *pivots,
                     int64_t count, bool back);
/* b[n][k] = inverse(a) b with the triangle of a[n][n]. */
void bsm_la_triangular(const bsm_c128 *a, int64_t n, bsm_c128 *b, int64_t k,
                       bool upper, bool unit);
/* b = inverse(A) b by factors from bsm_la_lu. */
void bsm_la_lu_solve(const bsm_c128 *lu, int64_t n, const int64_t *pivots,
                     bsm_c128 *b, int64_t k);
/* a = L L^H in place, from and to the lower triangle; the rest is zeroed.
 * Returns the order of the first minor that is not positive, or 0. */
int64_t bsm_la_cholesky(bsm_c128 *a, int64_t n);
/* a[m][n] = Q R in place: R in the upper triangle, the reflectors below it with
 * tau[min(m, n)]. */
void bsm_la_qr(bsm_c128 *a, int64_t m, int64_t n, bsm_c128 *tau);
/* The first `columns` columns of Q = H_1 ... H_k from reflectors in a[m][n]. */
void bsm_la_form_q(const bsm_c128 *a, int64_t m, int64_t n, int64_t k,
                   const bsm_c128 *tau, bsm_c128 *q, int64_t columns);
/* Of a Hermitian a[n][n] (destroyed): eigenvalues in ascending order, and
 * eigenvectors as columns of v when it is not NULL. */
void bsm_la_eigh(bsm_c128 *a, int64_t n, double *w, bsm_c128 *v);
/* a[m][n] (m >= n, destroyed) = a' diag(s) v^H: a becomes a' with orthonormal
 * columns (zero ones for zero s), s descends. */
void bsm_la_svd(bsm_c128 *a, int64_t m, int64_t n, double *s, bsm_c128 *v);
/* c[m][n] = a[m][k] b[k][n] */
void bsm_la_multiply(const bsm_c128 *a, const bsm_c128 *b, bsm_c128 *c,
                     int64_t m, int64_t k, int64_t n);
/* b[n][m] = a[m][n]^H */
void bsm_la_adjoint(const bsm_c128 *a, bsm_c128 *b, int64_t m, int64_t n);
/* Makes the columns from `from` on of q[m][columns] orthonormal to the others;
 * those given count as filled. */
void bsm_la_complete(bsm_c128 *q, int64_t m, int64_t columns, int64_t from);

#endif /* BSM_ATEN_LINALG_H_ */
