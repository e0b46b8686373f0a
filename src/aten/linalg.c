/* SPDX-License-Identifier: Apache-2.0 */
/* Dense linear algebra: LU, Cholesky and QR as LAPACK's unblocked routines do
 * them, eigenvalues and singular values by Jacobi rotations, which are simple
 * and accurate. */
#include "aten/linalg.h"

static void swap_numbers(bsm_c128 *a, bsm_c128 *b) {
  const bsm_c128 t = *a;
  *a = *b;
  *b = t;
}

static double size1(bsm_c128 z) {
  return fabs(z.re) + fabs(z.im);
}

/* a -= s b */
static inline void subtract(bsm_c128 *a, bsm_c128 s, bsm_c128 b) {
  a->re -= s.re * b.re - s.im * b.im;
  a->im -= s.re * b.im + s.im * b.re;
}

int64_t bsm_la_lu(bsm_c128 *a, int64_t m, int64_t n, int64_t *pivots) {
  int64_t info = 0;
  for (int64_t j = 0; j < m && j < n; j++) {
    int64_t best = j;
    for (int64_t i = j + 1; i < m; i++) {
      if (size1(a[i * n + j]) > size1(a[best * n + j])) best = i;
    }
    pivots[j] = best;
    for (int64_t k = 0; k < n && best != j; k++) {
      swap_numbers(&a[j * n + k], &a[best * n + k]);
    }
    const bsm_c128 pivot = a[j * n + j];
    if (pivot.re == 0.0 && pivot.im == 0.0) {
      if (info == 0) info = j + 1;
      continue;
    }
    for (int64_t i = j + 1; i < m; i++) {
      const bsm_c128 f = bsm_c_div(a[i * n + j], pivot);
      a[i * n + j] = f;
      if (f.re == 0.0 && f.im == 0.0) continue;
      for (int64_t k = j + 1; k < n; k++) {
        subtract(&a[i * n + k], f, a[j * n + k]);
      }
    }
  }
  return info;
}

void bsm_la_exchange(bsm_c128 *b, int64_t k, const int64_t *pivots,
                     int64_t count, bool back) {
  for (int64_t step = 0; step < count; step++) {
    const int64_t i = back ? count - 1 - step : step;
    for (int64_t j = 0; j < k && pivots[i] != i; j++) {
      swap_numbers(&b[i * k + j], &b[pivots[i] * k + j]);
    }
  }
}

void bsm_la_triangular(const bsm_c128 *a, int64_t n, bsm_c128 *b, int64_t k,
                       bool upper, bool unit) {
  for (int64_t step = 0; step < n; step++) {
    const int64_t i = upper ? n - 1 - step : step;
    const int64_t from = upper ? i + 1 : 0, to = upper ? n : i;
    for (int64_t p = from; p < to; p++) {
      const bsm_c128 f = a[i * n + p];
      for (int64_t j = 0; j < k; j++) subtract(&b[i * k + j], f, b[p * k + j]);
    }
    for (int64_t j = 0; j < k && !unit; j++) {
      b[i * k + j] = bsm_c_div(b[i * k + j], a[i * n + i]);
    }
  }
}

void bsm_la_lu_solve(const bsm_c128 *lu, int64_t n, const int64_t *pivots,
                     bsm_c128 *b, int64_t k) {
  bsm_la_exchange(b, k, pivots, n, false);
  bsm_la_triangular(lu, n, b, k, false, true);
  bsm_la_triangular(lu, n, b, k, true, false);
}

int64_t bsm_la_cholesky(bsm_c128 *a, int64_t n) {
  int64_t info = 0;
  for (int64_t j = 0; j < n && info == 0; j++) {
    double d = a[j * n + j].re;
    for (int64_t k = 0; k < j; k++) {
      const bsm_c128 v = a[j * n + k];
      d -= v.re * v.re + v.im * v.im;
    }
    if (!(d > 0.0)) {
      info = j + 1;
      break;
    }
    d = sqrt(d);
    a[j * n + j] = (bsm_c128){d, 0.0};
    for (int64_t i = j + 1; i < n; i++) {
      bsm_c128 v = a[i * n + j];
      for (int64_t k = 0; k < j; k++) {
        subtract(&v, a[i * n + k], bsm_c_conj(a[j * n + k]));
      }
      a[i * n + j] = (bsm_c128){v.re / d, v.im / d};
    }
  }
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = i + 1; j < n; j++) a[i * n + j] = (bsm_c128){0.0, 0.0};
  }
  return info;
}

/* ---- QR ---- */

/* a[i..m)[j] -= (v v^H a) tau for the column j; v is column c of r below row c,
 * with a one in that row. */
static void reflect(const bsm_c128 *r, int64_t n, int64_t c, int64_t m,
                    bsm_c128 tau, bsm_c128 *a, int64_t width, int64_t j) {
  bsm_c128 dot = a[c * width + j];
  for (int64_t i = c + 1; i < m; i++) {
    const bsm_c128 v = bsm_c_conj(r[i * n + c]);
    dot = bsm_c_add(dot, bsm_c_mul(v, a[i * width + j]));
  }
  dot = bsm_c_mul(dot, tau);
  a[c * width + j] = bsm_c_sub(a[c * width + j], dot);
  for (int64_t i = c + 1; i < m; i++) {
    subtract(&a[i * width + j], dot, r[i * n + c]);
  }
}

void bsm_la_qr(bsm_c128 *a, int64_t m, int64_t n, bsm_c128 *tau) {
  for (int64_t c = 0; c < m && c < n; c++) {
    double below = 0.0;
    const bsm_c128 alpha = a[c * n + c];
    for (int64_t i = c + 1; i < m; i++) {
      below = hypot(below, bsm_c_abs(a[i * n + c]));
    }
    tau[c] = (bsm_c128){0.0, 0.0};
    if (below == 0.0 && alpha.im == 0.0) continue;
    const double beta = -copysign(hypot(bsm_c_abs(alpha), below), alpha.re);
    tau[c] = (bsm_c128){(beta - alpha.re) / beta, -alpha.im / beta};
    const bsm_c128 by = {alpha.re - beta, alpha.im};
    for (int64_t i = c + 1; i < m; i++) {
      a[i * n + c] = bsm_c_div(a[i * n + c], by);
    }
    for (int64_t j = c + 1; j < n; j++) {
      reflect(a, n, c, m, bsm_c_conj(tau[c]), a, n, j);
    }
    a[c * n + c] = (bsm_c128){beta, 0.0};
  }
}

void bsm_la_form_q(const bsm_c128 *a, int64_t m, int64_t n, int64_t k,
                   const bsm_c128 *tau, bsm_c128 *q, int64_t columns) {
  for (int64_t i = 0; i < m * columns; i++) {
    q[i] = (bsm_c128){i / columns == i % columns ? 1.0 : 0.0, 0.0};
  }
  for (int64_t c = k - 1; c >= 0; c--) {
    for (int64_t j = 0; j < columns; j++) {
      reflect(a, n, c, m, tau[c], q, columns, j);
    }
  }
}

/* ---- Jacobi ---- */

/* Columns p and q of x[m][n] become c x_p - s conj(e) x_q and s e x_p + c x_q;
 * e is a unit number. */
static void rotate_columns(bsm_c128 *x, int64_t m, int64_t n, int64_t p,
                           int64_t q, double c, double s, bsm_c128 e) {
  for (int64_t i = 0; i < m; i++) {
    const bsm_c128 a = x[i * n + p], b = x[i * n + q];
    const bsm_c128 eb = bsm_c_mul(bsm_c_conj(e), b), ea = bsm_c_mul(e, a);
    x[i * n + p] = bsm_c_sub(bsm_c_scale(a, c), bsm_c_scale(eb, s));
    x[i * n + q] = bsm_c_add(bsm_c_scale(ea, s), bsm_c_scale(b, c));
  }
}

/* The rotation that makes the Hermitian [[a, z], [conj z, b]] diagonal. */
static void choose_rotation(double a, double b, bsm_c128 z, double *c,
                            double *s, bsm_c128 *e) {
  const double size = bsm_c_abs(z);
  *e = (bsm_c128){z.re / size, z.im / size};
  const double theta = (b - a) / (2.0 * size);
  const double t =
      (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + hypot(theta, 1.0));
  *c = 1.0 / hypot(t, 1.0);
  *s = t * *c;
}

enum { MAX_SWEEPS = 60 };

/* A <- J^H A J for the pair (p, q). */
static void rotate_both(bsm_c128 *a, int64_t n, int64_t p, int64_t q,
                        bsm_c128 *v) {
  double c, s;
  bsm_c128 e;
  choose_rotation(a[p * n + p].re, a[q * n + q].re, a[p * n + q], &c, &s, &e);
  rotate_columns(a, n, n, p, q, c, s, e);
  for (int64_t i = 0; i < n; i++) {
    const bsm_c128 x = a[p * n + i], y = a[q * n + i];
    const bsm_c128 ey = bsm_c_mul(e, y), ex = bsm_c_mul(bsm_c_conj(e), x);
    a[p * n + i] = bsm_c_sub(bsm_c_scale(x, c), bsm_c_scale(ey, s));
    a[q * n + i] = bsm_c_add(bsm_c_scale(ex, s), bsm_c_scale(y, c));
  }
  a[p * n + q] = a[q * n + p] = (bsm_c128){0.0, 0.0};
  if (v) rotate_columns(v, n, n, p, q, c, s, e);
}

static void swap_columns(bsm_c128 *x, int64_t m, int64_t n, int64_t p,
                         int64_t q) {
  for (int64_t i = 0; i < m; i++) swap_numbers(&x[i * n + p], &x[i * n + q]);
}

static void set_identity(bsm_c128 *v, int64_t n) {
  for (int64_t i = 0; i < n * n; i++) {
    v[i] = (bsm_c128){i / n == i % n ? 1.0 : 0.0, 0.0};
  }
}

void bsm_la_eigh(bsm_c128 *a, int64_t n, double *w, bsm_c128 *v) {
  double norm = 0.0;
  for (int64_t i = 0; i < n * n; i++) norm = hypot(norm, bsm_c_abs(a[i]));
  if (v) set_identity(v, n);
  for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
    bool changed = false;
    for (int64_t p = 0; p < n; p++) {
      for (int64_t q = p + 1; q < n; q++) {
        if (!(bsm_c_abs(a[p * n + q]) > 1e-17 * norm)) continue;
        rotate_both(a, n, p, q, v);
        changed = true;
      }
    }
    if (!changed) break;
  }
  for (int64_t i = 0; i < n; i++) w[i] = a[i * n + i].re;
  for (int64_t i = 0; i < n; i++) {
    int64_t least = i;
    for (int64_t k = i + 1; k < n; k++) {
      if (w[k] < w[least]) least = k;
    }
    const double t = w[i];
    w[i] = w[least];
    w[least] = t;
    if (v && least != i) swap_columns(v, n, n, i, least);
  }
}

/* One-sided: rotates columns until all are orthogonal. */
static bool orthogonalise(bsm_c128 *a, int64_t m, int64_t n, int64_t p,
                          int64_t q, bsm_c128 *v) {
  double pp = 0.0, qq = 0.0, c, s;
  bsm_c128 pq = {0.0, 0.0}, e;
  for (int64_t i = 0; i < m; i++) {
    const bsm_c128 x = a[i * n + p], y = a[i * n + q];
    pp += x.re * x.re + x.im * x.im;
    qq += y.re * y.re + y.im * y.im;
    pq = bsm_c_add(pq, bsm_c_mul(bsm_c_conj(x), y));
  }
  const double size = bsm_c_abs(pq);
  if (!(size > 1e-16 * sqrt(pp) * sqrt(qq)) || size < 1e-300) return false;
  choose_rotation(pp, qq, pq, &c, &s, &e);
  rotate_columns(a, m, n, p, q, c, s, e);
  rotate_columns(v, n, n, p, q, c, s, e);
  return true;
}

void bsm_la_svd(bsm_c128 *a, int64_t m, int64_t n, double *s, bsm_c128 *v) {
  set_identity(v, n);
  for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
    bool changed = false;
    for (int64_t p = 0; p < n; p++) {
      for (int64_t q = p + 1; q < n; q++) {
        if (orthogonalise(a, m, n, p, q, v)) changed = true;
      }
    }
    if (!changed) break;
  }
  double most = 0.0;
  for (int64_t j = 0; j < n; j++) {
    s[j] = 0.0;
    for (int64_t i = 0; i < m; i++) s[j] = hypot(s[j], bsm_c_abs(a[i * n + j]));
    if (s[j] > most) most = s[j];
  }
  for (int64_t j = 0; j < n; j++) {
    int64_t best = j;
    for (int64_t k = j + 1; k < n; k++) {
      if (s[k] > s[best]) best = k;
    }
    const double t = s[j];
    s[j] = s[best];
    s[best] = t;
    if (best != j) {
      swap_columns(a, m, n, j, best);
      swap_columns(v, n, n, j, best);
    }
    /* What is left of a dependent column is noise. */
    const bool zero = !(s[j] > most * 1e-15);
    for (int64_t i = 0; i < m; i++) {
      a[i * n + j] =
          zero ? (bsm_c128){0.0, 0.0} : bsm_c_scale(a[i * n + j], 1.0 / s[j]);
    }
  }
}

void bsm_la_complete(bsm_c128 *q, int64_t m, int64_t columns, int64_t from) {
  int64_t next = 0; /* the unit vector to try */
  for (int64_t j = from; j < columns; j++) {
    double norm = 0.0;
    while (!(norm > 0.5 / (double)m) && next < 2 * m) {
      for (int64_t i = 0; i < m; i++) {
        q[i * columns + j] = (bsm_c128){i == next % m ? 1.0 : 0.0, 0.0};
      }
      next++;
      for (int64_t k = 0; k < 2 * j; k++) { /* twice, against rounding */
        bsm_c128 dot = {0.0, 0.0};
        const int64_t c = k % j;
        for (int64_t i = 0; i < m; i++) {
          const bsm_c128 x = bsm_c_conj(q[i * columns + c]);
          dot = bsm_c_add(dot, bsm_c_mul(x, q[i * columns + j]));
        }
        for (int64_t i = 0; i < m; i++) {
          subtract(&q[i * columns + j], dot, q[i * columns + c]);
        }
      }
      norm = 0.0;
      for (int64_t i = 0; i < m; i++) {
        norm = hypot(norm, bsm_c_abs(q[i * columns + j]));
      }
    }
    for (int64_t i = 0; i < m && norm > 0.0; i++) {
      q[i * columns + j] = bsm_c_scale(q[i * columns + j], 1.0 / norm);
    }
  }
}

void bsm_la_multiply(const bsm_c128 *a, const bsm_c128 *b, bsm_c128 *c,
                     int64_t m, int64_t k, int64_t n) {
  for (int64_t i = 0; i < m * n; i++) c[i] = (bsm_c128){0.0, 0.0};
  for (int64_t i = 0; i < m; i++) {
    for (int64_t p = 0; p < k; p++) {
      for (int64_t j = 0; j < n; j++) {
        c[i * n + j] =
            bsm_c_add(c[i * n + j], bsm_c_mul(a[i * k + p], b[p * n + j]));
      }
    }
  }
}

void bsm_la_adjoint(const bsm_c128 *a, bsm_c128 *b, int64_t m, int64_t n) {
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) b[j * m + i] = bsm_c_conj(a[i * n + j]);
  }
}
