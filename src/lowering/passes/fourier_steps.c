/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms of more points than a matrix has, in two steps: of
 * n = a * b points, x[j b + i] and X[k + a l],
 *
 *   X[k + a l] = sum over i of w(b)^(i l) w(n)^(i k) sum over j of
 *                w(a)^(j k) x[j b + i]
 *
 * which are products by a matrix of a and by one of b points, with factors of
 * length 1 between them. All is float64. */
#include <math.h>

#include "lowering/passes/fourier_matrix.h"

/* Matrices of more points take more than 8.5 MB, so two steps are better where
 * there are factors; of twice as many 33 MB, which is too much. */
#define MAX_REAL_POINTS 1024
#define MAX_COMPLEX_POINTS 512
/* Of each of the two steps. */
#define MAX_FACTOR 512

/* n = a * b, as equal as can be. */
static bool find_factors(int64_t n, int64_t *a, int64_t *b) {
  *a = 0;
  for (int64_t f = 1; f <= MAX_FACTOR && f * f <= n; f++) {
    if (n % f == 0) *a = f;
  }
  *b = *a ? n / *a : 0;
  return *a > 1 && *b <= MAX_FACTOR;
}

bool bsm_transform_is_large(const bsm_transform *t, bool *fits) {
  int64_t a, b;
  const bool full = t->kind == BSM_COMPLEX ||
                    (t->kind == BSM_REAL_TO_COMPLEX && t->bins == t->n);
  const int64_t most = full ? MAX_COMPLEX_POINTS : MAX_REAL_POINTS;
  const bool in_steps = t->n > most && find_factors(t->n, &a, &b);
  *fits = in_steps || t->n <= 2 * most;
  return in_steps || !*fits;
}

/* The transform of the first or of the second step. */
static bsm_transform step_of(const bsm_transform *t, bool second) {
  int64_t a, b;
  find_factors(t->n, &a, &b);
  const bool real = t->kind == BSM_REAL_TO_COMPLEX && !second;
  return (bsm_transform){.kind = real ? BSM_REAL_TO_COMPLEX : BSM_COMPLEX,
                         .n = second ? b : a,
                         .bins = second ? b : a,
                         .inverse = t->inverse,
                         .scale = second ? 1 : t->scale};
}

bsm_status bsm_fourier_add_steps(bsm_complex_parts *p, const bsm_transform *t) {
  const bsm_transform first = step_of(t, false), second = step_of(t, true);
  BSM_TRY(bsm_fourier_add(p, &first, false));
  BSM_TRY(bsm_fourier_add(p, &second, false));
  p->matrix_bytes += 4 * t->n * (int64_t)sizeof(double); /* the factors */
  return BSM_OK;
}

/* ---- nodes ---- */

static bsm_status new_constant(const bsm_node_emitter *e, bsm_dtype dtype,
                               bsm_dims dims, bsm_tensor **out) {
  return bsm_tensor_new(e->graph->cx->arena, dtype, dims, false, out);
}

static bsm_status times(const bsm_node_emitter *e, bsm_value *x,
                        const bsm_tensor *by, bsm_value **out) {
  bsm_value *in[2] = {x, NULL};
  BSM_TRY(bsm_ir_tensor(e, by, &in[1]));
  return bsm_ir_op(e, "aten::mul.Tensor", in, 2, out);
}

/* Parts times exp(2 pi i k l / n) with the sign of the transform; k and l are
 * the places in the two dims ahead of the parts: x cos + (-y, x) sin. */
static bsm_status turn(const bsm_node_emitter *e, const bsm_transform *t,
                       bsm_value *x, int64_t rows, int64_t columns,
                       bsm_value **out) {
  const int64_t last = -1;
  bsm_tensor *cosine, *sine;
  bsm_value *in[3] = {x, NULL, NULL};
  BSM_TRY(new_constant(e, BSM_DTYPE_DOUBLE, (bsm_dims){3, {rows, columns, 1}},
                       &cosine));
  BSM_TRY(new_constant(e, BSM_DTYPE_DOUBLE, (bsm_dims){3, {rows, columns, 2}},
                       &sine));
  double *c = bsm_tensor_data(cosine), *s = bsm_tensor_data(sine);
  for (int64_t i = 0; i < rows * columns; i++) {
    const double angle = 2 * 3.14159265358979323846 *
                         (double)(i / columns * (i % columns)) / (double)t->n;
    c[i] = cos(angle);
    s[2 * i + 1] = t->inverse ? sin(angle) : -sin(angle);
    s[2 * i] = -s[2 * i + 1];
  }
  BSM_TRY(bsm_ir_ints(e, &last, 1, &in[1]));
  BSM_TRY(bsm_ir_op(e, "aten::flip", in, 2, &in[1]));
  BSM_TRY(times(e, in[1], sine, &in[1]));
  BSM_TRY(times(e, x, cosine, &in[0]));
  BSM_TRY(bsm_ir_int(e, 1, &in[2]));
  return bsm_ir_op(e, "aten::add.Tensor", in, 3, out);
}

/* [outer, n/2 + 1, 2] to [outer, n, 2]: what is missing is conjugate to what is
 * there. The numbers of a real transform that have to be real are taken so. */
static bsm_status mirror(const bsm_node_emitter *e, const bsm_transform *t,
                         bsm_value *x, bsm_value **out) {
  const int64_t n = t->n;
  bsm_tensor *index, *sign, *real;
  bsm_value *in[3] = {x, NULL, NULL}, *one_of[3];
  BSM_TRY(new_constant(e, BSM_DTYPE_INT64, (bsm_dims){1, {n}}, &index));
  BSM_TRY(new_constant(e, BSM_DTYPE_DOUBLE, (bsm_dims){2, {n, 2}}, &sign));
  BSM_TRY(new_constant(e, BSM_DTYPE_BOOL, (bsm_dims){2, {n, 2}}, &real));
  for (int64_t i = 0; i < n; i++) {
    const bool there = i <= n / 2;
    ((int64_t *)bsm_tensor_data(index))[i] = there ? i : n - i;
    ((double *)bsm_tensor_data(sign))[2 * i] = 1;
    ((double *)bsm_tensor_data(sign))[2 * i + 1] = there ? 1 : -1;
    ((uint8_t *)bsm_tensor_data(real))[2 * i] = 0;
    ((uint8_t *)bsm_tensor_data(real))[2 * i + 1] = i == 0 || 2 * i == n;
  }
  BSM_TRY(bsm_ir_int(e, 1, &in[1]));
  BSM_TRY(bsm_ir_tensor(e, index, &in[2]));
  BSM_TRY(bsm_ir_op(e, "aten::index_select", in, 3, &x));
  BSM_TRY(times(e, x, sign, &one_of[2]));
  bsm_tensor *zero;
  BSM_TRY(new_constant(e, BSM_DTYPE_DOUBLE, (bsm_dims){0}, &zero));
  BSM_TRY(bsm_ir_tensor(e, real, &one_of[0]));
  BSM_TRY(bsm_ir_tensor(e, zero, &one_of[1]));
  return bsm_ir_op(e, "aten::where.self", one_of, 3, out);
}

/* [outer, n] or [outer, n, 2] by the matrix of `t`, whose points are the middle
 * one of three dims; they come out as the last ahead of the parts:
 * [outer, before, behind, points..] to [outer, behind, points, 2]. */
static bsm_status multiply(bsm_complex_parts *p, const bsm_node_emitter *e,
                           const bsm_transform *t, bsm_value *x,
                           bsm_value **out) {
  static const int64_t order[4] = {0, 2, 1, 3};
  const bool pairs = t->kind != BSM_REAL_TO_COMPLEX;
  bsm_value *in[2];
  BSM_TRY(bsm_ir_permute(e, x, order, pairs ? 4 : 3, &x));
  const bsm_dims dims = x->type->dims;
  BSM_TRY(bsm_ir_reshape(
      e, x, (bsm_dims){3, {dims.d[0], dims.d[1], bsm_transform_numbers_in(t)}},
      &in[0]));
  BSM_TRY(bsm_fourier_make(p, e, t, &in[1]));
  BSM_TRY(bsm_ir_op(e, "aten::matmul", in, 2, &x));
  return bsm_ir_reshape(e, x, (bsm_dims){4, {dims.d[0], dims.d[1], t->bins, 2}},
                        out);
}

bsm_status bsm_fourier_steps(bsm_complex_parts *p, const bsm_node_emitter *e,
                             const bsm_transform *t, bsm_value *x,
                             bsm_value **out) {
  static const int64_t order[4] = {0, 2, 1, 3};
  const bool pairs = t->kind != BSM_REAL_TO_COMPLEX;
  const bsm_transform first = step_of(t, false), second = step_of(t, true);
  bsm_dims dims = x->type->dims;
  const int32_t last = dims.rank - 1 - pairs;
  int64_t outer = 1; /* the tensor has more elements */
  for (int32_t i = 0; i < last; i++) outer *= dims.d[i];
  if (t->kind == BSM_COMPLEX_TO_REAL) {
    BSM_TRY(bsm_ir_reshape(e, x, (bsm_dims){3, {outer, t->bins, 2}}, &x));
    BSM_TRY(mirror(e, t, x, &x));
  }
  BSM_TRY(bsm_ir_reshape(
      e, x, (bsm_dims){3 + pairs, {outer, first.n, second.n, 2}}, &x));
  BSM_TRY(multiply(p, e, &first, x, &x)); /* [outer, i, k, 2] */
  BSM_TRY(turn(e, t, x, second.n, first.n, &x));
  BSM_TRY(multiply(p, e, &second, x, &x));     /* [outer, k, l, 2] */
  BSM_TRY(bsm_ir_permute(e, x, order, 4, &x)); /* [outer, l, k, 2] */
  BSM_TRY(bsm_ir_reshape(e, x, (bsm_dims){3, {outer, t->n, 2}}, &x));
  dims.rank = last + 1;
  dims.d[last] = t->n;
  if (t->kind == BSM_COMPLEX_TO_REAL) {
    BSM_TRY(bsm_part_of(e, x, 0, &x));
  } else {
    BSM_TRY(bsm_ir_slice(e, x, 1, 0, t->bins, 1, &x));
    dims.d[last] = t->bins;
    dims.d[dims.rank++] = 2;
  }
  return bsm_ir_reshape(e, x, dims, out);
}
