/* SPDX-License-Identifier: Apache-2.0 */
/* The matrices of Fourier transforms of real numbers and of pairs; see
 * fourier_matrix.h. */
#include "lowering/passes/fourier_matrix.h"

#include <math.h>
#include <string.h>

/* cos and sin of 2 pi k / n for all k. */
typedef struct circle {
  int64_t n;
  double *cosine, *sine;
} circle;

static bsm_status make_circle(bsm_arena *arena, int64_t n, circle *c) {
  c->n = n;
  c->cosine = BSM_NEW_ARRAY(arena, double, (size_t)n);
  c->sine = BSM_NEW_ARRAY(arena, double, (size_t)n);
  BSM_TRY_ALLOC(c->cosine);
  BSM_TRY_ALLOC(c->sine);
  for (int64_t k = 0; k < n; k++) {
    /* Eighths are exact: no part of a real number is imaginary. */
    const double angle = 2 * 3.14159265358979323846 * (double)k / (double)n;
    c->cosine[k] = 4 * k == n || 4 * k == 3 * n ? 0 : cos(angle);
    c->sine[k] = 2 * k == n || k == 0 ? 0 : sin(angle);
  }
  return BSM_OK;
}

int64_t bsm_transform_numbers_in(const bsm_transform *t) {
  return t->kind == BSM_REAL_TO_COMPLEX ? t->n : 2 * t->bins;
}

int64_t bsm_transform_numbers_out(const bsm_transform *t) {
  return t->kind == BSM_COMPLEX_TO_REAL ? t->n : 2 * t->bins;
}

/* By what number `in` counts in number `out`. */
static double entry(const bsm_transform *t, const circle *c, int64_t in,
                    int64_t out) {
  const bool from_pair = t->kind != BSM_REAL_TO_COMPLEX;
  const bool to_pair = t->kind != BSM_COMPLEX_TO_REAL;
  const int64_t j = from_pair ? in / 2 : in, k = to_pair ? out / 2 : out;
  const int64_t at = j * k % t->n;
  const double sine = t->inverse ? c->sine[at] : -c->sine[at];
  double scale = t->scale;
  if (t->kind == BSM_COMPLEX_TO_REAL && j > 0 && 2 * j != t->n) scale *= 2;
  /* (x + y i) (cos + sin i): how a part comes of a part */
  const int part_in = from_pair ? (int)(in % 2) : 0;
  const int part_out = to_pair ? (int)(out % 2) : 0;
  if (part_in == part_out) return scale * c->cosine[at];
  return scale * (part_in ? -sine : sine);
}

/* Transforms that are the same have one matrix. */
typedef struct bsm_fourier_matrix {
  struct bsm_fourier_matrix *next;
  bsm_transform t;
  bsm_tensor *tensor; /* NULL: not made yet */
} matrix;

static matrix *find_matrix(const bsm_complex_parts *p, const bsm_transform *t) {
  matrix *m = p->matrices;
  while (m && (m->t.kind != t->kind || m->t.n != t->n || m->t.bins != t->bins ||
               m->t.inverse != t->inverse || m->t.transposed != t->transposed ||
               memcmp(&m->t.scale, &t->scale, sizeof(t->scale)) != 0)) {
    m = m->next;
  }
  return m;
}

static bsm_status fill_matrix(bsm_complex_parts *p, const bsm_transform *t,
                              bsm_tensor **out) {
  const int64_t in = bsm_transform_numbers_in(t),
                count = bsm_transform_numbers_out(t);
  bsm_dims dims = {2, {in, count}};
  circle c;
  if (t->transposed) {
    dims = t->kind == BSM_COMPLEX_TO_REAL ? (bsm_dims){3, {in, 1, count}}
                                          : (bsm_dims){3, {count, 1, in}};
  }
  BSM_TRY(make_circle(p->arena, t->n, &c));
  BSM_TRY(
      bsm_tensor_new(p->graph->cx->arena, BSM_DTYPE_DOUBLE, dims, false, out));
  double *to = bsm_tensor_data(*out);
  const bool by_out = t->transposed && t->kind != BSM_COMPLEX_TO_REAL;
  for (int64_t i = 0; i < in; i++) {
    for (int64_t k = 0; k < count; k++) {
      to[by_out ? k * in + i : i * count + k] = entry(t, &c, i, k);
    }
  }
  return BSM_OK;
}

bsm_status bsm_fourier_make(bsm_complex_parts *p, const bsm_node_emitter *e,
                            const bsm_transform *t, bsm_value **out) {
  matrix *m = find_matrix(p, t);
  if (!m) return BSM_FAIL(BSM_INTERNAL, "a transform that was not expected");
  if (!m->tensor) BSM_TRY(fill_matrix(p, t, &m->tensor));
  return bsm_ir_tensor(e, m->tensor, out);
}

bsm_status bsm_fourier_add(bsm_complex_parts *p, const bsm_transform *t,
                           bool own) {
  if (!own && find_matrix(p, t)) return BSM_OK;
  matrix *m = BSM_NEW(p->arena, matrix);
  BSM_TRY_ALLOC(m);
  *m = (matrix){.next = p->matrices, .t = *t};
  p->matrices = m;
  p->matrix_bytes += bsm_transform_numbers_in(t) *
                     bsm_transform_numbers_out(t) * (int64_t)sizeof(double);
  return BSM_OK;
}
