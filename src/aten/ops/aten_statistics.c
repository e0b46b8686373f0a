/* SPDX-License-Identifier: Apache-2.0 */
/* Order and counts of values: quantiles, medians, modes, unique rows, bins,
 * membership.
 *
 * Values are compared by keys: int64 that sort as the values do, with NaN as
 * the largest. They are exact for every dtype. */
#include <stdlib.h>

#include "aten/op_compose.h"
#include "aten/packed/aten_statistics.h"

#define KEY_NAN INT64_MAX

static int64_t key_of(double v) {
  int64_t bits;
  if (isnan(v)) return KEY_NAN;
  if (v == 0.0) v = 0.0; /* both zeros are equal */
  memcpy(&bits, &v, sizeof(bits));
  return bits < 0 ? bits ^ INT64_MAX : bits;
}

static double value_of(int64_t key) {
  double v;
  if (key == KEY_NAN) return NAN;
  const int64_t bits = key < 0 ? key ^ INT64_MAX : key;
  memcpy(&v, &bits, sizeof(v));
  return v;
}

/* The keys of all elements, in row-major order. */
static bsm_status load_keys(bsm_op_ctx *cx, const bsm_tensor *t,
                            int64_t **out) {
  const bool integral = bsm_dtype_is_integral(t->dtype, true);
  BSM_TRY(bsm_op_real(t));
  /* They are then sorted. */
  BSM_TRY(bsm_op_charge(cx, bsm_tensor_numel(t), 32, 1));
  *out = BSM_NEW_ARRAY(cx->arena, int64_t, (size_t)bsm_tensor_numel(t) + 1);
  BSM_TRY_ALLOC(*out);
  const bsm_tensor *one[] = {t};
  int64_t *p = *out;
  bsm_iter it;
  bsm_iter_init(&it, t->sizes, one, 1);
  while (bsm_iter_next(&it)) {
    for (int64_t i = 0; i < it.count; i++) {
      const char *at = it.ptr[0] + i * it.step[0];
      *p++ = integral ? bsm_load1_i64(t->dtype, at)
                      : key_of(bsm_load1_f64(t->dtype, at));
    }
  }
  return BSM_OK;
}

static bool same(const bsm_tensor *t, int64_t a, int64_t b) {
  return a == b && (a != KEY_NAN || bsm_dtype_is_integral(t->dtype, true));
}

/* Rows of `width` keys, compared lexicographically; `order` has room for 2 n.
 * Stable, bottom up. */
static bool row_before(const int64_t *a, const int64_t *b, int64_t width) {
  for (int64_t i = 0; i < width; i++) {
    if (a[i] != b[i]) return a[i] < b[i];
  }
  return false;
}

static void sort_rows(const int64_t *keys, int64_t n, int64_t width,
                      int64_t *order) {
  int64_t *from = order, *to = order + n;
  for (int64_t i = 0; i < n; i++) from[i] = i;
  for (int64_t step = 1; step < n; step *= 2) {
    for (int64_t low = 0; low < n; low += 2 * step) {
      const int64_t mid = low + step < n ? low + step : n;
      const int64_t high = low + 2 * step < n ? low + 2 * step : n;
      int64_t a = low, b = mid;
      for (int64_t k = low; k < high; k++) {
        const bool right =
            a == mid || (b < high && row_before(keys + from[b] * width,
                                                keys + from[a] * width, width));
        to[k] = right ? from[b++] : from[a++];
      }
    }
    int64_t *t = from;
    from = to;
    to = t;
  }
  if (from != order) memcpy(order, from, (size_t)n * sizeof(*order));
}

/* `t` with `dim` moved to the end (a 0-dim tensor has one of size 1). */
static bsm_status dim_last(bsm_op_ctx *cx, bsm_tensor *t, int dim,
                           bsm_tensor **out) {
  *out = t;
  if (t->sizes.rank == 0) return bsm_op_unsqueeze(cx, t, 0, out);
  for (int d = dim; d + 1 < t->sizes.rank; d++) {
    BSM_TRY(bsm_op_transpose(cx, *out, d, d + 1, out));
  }
  return BSM_OK;
}

static bsm_dims without(bsm_dims dims, int dim, bool keep) {
  if (dims.rank == 0) return dims;
  if (keep) {
    dims.d[dim] = 1;
    return dims;
  }
  for (int d = dim; d + 1 < dims.rank; d++) dims.d[d] = dims.d[d + 1];
  dims.rank--;
  return dims;
}

/* ---- mode and nanmedian ---- */

/* The order that std::sort of GNU's C++ library leaves keys in: of equal ones
 * PyTorch's mode gives the place of the last. Its parts have its names. */
enum { INTROSORT_FEW = 16 };

static void swap_places(int64_t *order, int64_t i, int64_t k) {
  const int64_t kept = order[i];
  order[i] = order[k];
  order[k] = kept;
}

#define BEFORE(i, k) (key[order[i]] < key[order[k]])

static void insertion_sort(const int64_t *key, int64_t *order, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    const int64_t place = order[i];
    int64_t to = i;
    for (; to > 0 && key[place] < key[order[to - 1]]; to--) {
      order[to] = order[to - 1];
    }
    order[to] = place;
  }
}

/* Lets order[at] sink or rise to its place in a heap of n. */
static void adjust_heap(const int64_t *key, int64_t *order, int64_t at,
                        int64_t n, int64_t place) {
  const int64_t top = at;
  int64_t child = at;
  while (child < (n - 1) / 2) {
    child = 2 * (child + 1);
    if (BEFORE(child, child - 1)) child--;
    order[at] = order[child];
    at = child;
  }
  if (n % 2 == 0 && child == (n - 2) / 2) {
    child = 2 * (child + 1);
    order[at] = order[child - 1];
    at = child - 1;
  }
  for (; at > top && key[order[(at - 1) / 2]] < key[place]; at = (at - 1) / 2) {
    order[at] = order[(at - 1) / 2];
  }
  order[at] = place;
}

static void heap_sort(const int64_t *key, int64_t *order, int64_t n) {
  for (int64_t at = (n - 2) / 2; n > 1 && at >= 0; at--) {
    adjust_heap(key, order, at, n, order[at]);
  }
  while (n > 1) {
    const int64_t place = order[--n];
    order[n] = order[0];
    adjust_heap(key, order, 0, n, place);
  }
}

/* The median of three goes to the front. */
static void move_median_to_first(const int64_t *key, int64_t *order, int64_t a,
                                 int64_t b, int64_t c) {
  if (BEFORE(a, b)) {
    swap_places(order, 0, BEFORE(b, c) ? b : BEFORE(a, c) ? c : a);
  } else {
    swap_places(order, 0, BEFORE(a, c) ? a : BEFORE(b, c) ? c : b);
  }
}

static int64_t partition(const int64_t *key, int64_t *order, int64_t n) {
  int64_t first = 1, last = n;
  move_median_to_first(key, order, 1, n / 2, n - 1);
  for (;; first++) {
    while (BEFORE(first, 0)) first++;
    do last--;
    while (BEFORE(0, last));
    if (first >= last) return first;
    swap_places(order, first, last);
  }
}

static void introsort_loop(const int64_t *key, int64_t *order, int64_t n,
                           int depth) {
  for (; n > INTROSORT_FEW; depth--) {
    if (depth == 0) {
      heap_sort(key, order, n);
      return;
    }
    const int64_t cut = partition(key, order, n);
    introsort_loop(key, order + cut, n - cut, depth - 1);
    n = cut;
  }
}

static void introsort(const int64_t *key, int64_t *order, int64_t n) {
  int depth = 0;
  for (int64_t left = n; left > 1; left /= 2) depth += 2;
  for (int64_t i = 0; i < n; i++) order[i] = i;
  introsort_loop(key, order, n, depth);
  insertion_sort(key, order, n);
}

/* Where the most frequent key of the sorted row is last; the least of equally
 * frequent ones. */
static int64_t mode_place(const bsm_tensor *t, const int64_t *row,
                          const int64_t *order, int64_t n) {
  int64_t best = order[0], most = 0, count = 0;
  for (int64_t i = 0; i < n; i++) {
    count++;
    if (i + 1 < n && same(t, row[order[i]], row[order[i + 1]])) continue;
    if (count > most) {
      most = count;
      best = order[i];
    }
    count = 0;
  }
  return best;
}

/* The lower median of the numbers; of NaN alone, the first. */
static int64_t nanmedian_place(const bsm_tensor *t, const int64_t *row,
                               const int64_t *order, int64_t n) {
  int64_t numbers = 0;
  while (numbers < n && same(t, row[order[numbers]], row[order[numbers]])) {
    numbers++;
  }
  return order[numbers > 0 ? (numbers - 1) / 2 : 0];
}

enum { PLACE_MODE, PLACE_NANMEDIAN };

/* mode(self, dim, keepdim), nanmedian.dim(self, dim, keepdim) */
static bsm_status op_place(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *last, *values, *indices;
  int dim;
  BSM_TRY(bsm_op_real(t));
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), t->sizes.rank, &dim));
  const int64_t n = t->sizes.rank ? t->sizes.d[dim] : 1;
  const bsm_dims shape = without(t->sizes, dim, op_bool(&args[2]));
  if (n == 0) {
    return BSM_FAIL(BSM_OUT_OF_RANGE,
                    "Expected reduction dim %d to have non-zero size.", dim);
  }
  if (t->dtype == BSM_DTYPE_BOOL && self->variant == PLACE_NANMEDIAN) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "\"median_out\" not implemented for 'Bool'");
  }
  BSM_TRY(bsm_op_new(cx, t->dtype, shape, &values));
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, shape, &indices));
  outs[0] = bsm_iv_tensor(values);
  outs[1] = bsm_iv_tensor(indices);
  if (cx->meta || bsm_tensor_numel(t) == 0) return BSM_OK;
  int64_t *keys, *order = BSM_NEW_ARRAY(cx->arena, int64_t, 2 * (size_t)n);
  BSM_TRY_ALLOC(order);
  BSM_TRY(dim_last(cx, t, dim, &last));
  BSM_TRY(load_keys(cx, last, &keys));
  int64_t *at = bsm_tensor_data(indices);
  char *to = bsm_tensor_data(values);
  const int64_t total = bsm_tensor_numel(t);
  const bool integral = bsm_dtype_is_integral(t->dtype, true);
  for (int64_t r = 0; r < total; r += n, to += bsm_dtype_size(t->dtype)) {
    const bool mode = self->variant == PLACE_MODE;
    if (mode) {
      introsort(keys + r, order, n);
    } else {
      sort_rows(keys + r, n, 1, order);
    }
    const int64_t place = mode ? mode_place(t, keys + r, order, n)
                               : nanmedian_place(t, keys + r, order, n);
    *at++ = place;
    if (integral) {
      bsm_store1_i64(t->dtype, to, keys[r + place]);
    } else {
      bsm_store1_f64(t->dtype, to, value_of(keys[r + place]));
    }
  }
  return BSM_OK;
}

/* nanmedian(self): of all */
static bsm_status op_nanmedian_all(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]);
  bsm_ivalue result[2];
  const int64_t n = bsm_tensor_numel(t);
  if (n == 0) {
    bsm_tensor *out;
    BSM_TRY(bsm_op_new(cx, t->dtype, (bsm_dims){0}, &out));
    outs[0] = bsm_iv_tensor(out);
    if (cx->meta) return BSM_OK;
    if (bsm_dtype_is_floating(t->dtype)) {
      bsm_store1_f64(t->dtype, bsm_tensor_data(out), NAN);
    } else {
      /* As the CPU converts NaN. */
      bsm_store1_i64(t->dtype, bsm_tensor_data(out),
                     t->dtype == BSM_DTYPE_INT32 ? INT32_MIN : INT64_MIN);
    }
    return BSM_OK;
  }
  BSM_TRY(bsm_op_reshape(cx, t, op_dims1(n), &t));
  const bsm_ivalue one[] = {T(t), I(0), B(false)};
  BSM_TRY(bsm_op_call(cx, "aten::nanmedian.dim", one, 3, result, 2));
  outs[0] = result[0];
  return BSM_OK;
}

/* ---- quantiles ---- */

typedef enum interpolation {
  QUANTILE_LINEAR,
  QUANTILE_LOWER,
  QUANTILE_HIGHER,
  QUANTILE_MIDPOINT,
  QUANTILE_NEAREST
} interpolation;

static bsm_status parse_interpolation(bsm_str name, interpolation *out) {
  static const char *const names[] = {"linear", "lower", "higher", "midpoint",
                                      "nearest"};
  for (size_t i = 0; i < OP_COUNT(names); i++) {
    if (!bsm_str_eq(name, bsm_str_of(names[i]))) continue;
    *out = (interpolation)i;
    return BSM_OK;
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "quantile() interpolation must be one of linear, lower, "
                  "higher, midpoint or nearest, but got %.*s",
                  (int)name.len, name.data);
}

/* Of a sorted row of keys. */
static double quantile(bsm_dtype d, const int64_t *row, const int64_t *order,
                       int64_t n, double q, interpolation how, bool ignore) {
  int64_t numbers = n;
  while (numbers > 0 && row[order[numbers - 1]] == KEY_NAN) numbers--;
  if (numbers == 0 || (numbers < n && !ignore)) return NAN;
  double rank = q * (double)(numbers - 1);
  bsm_round_f64(d, 1, &rank);
  if (how == QUANTILE_LOWER) rank = floor(rank);
  if (how == QUANTILE_HIGHER) rank = ceil(rank);
  if (how == QUANTILE_NEAREST) rank = nearbyint(rank);
  const int64_t below = (int64_t)floor(rank), above = (int64_t)ceil(rank);
  const double a = value_of(row[order[below]]), b = value_of(row[order[above]]);
  if (how != QUANTILE_LINEAR && how != QUANTILE_MIDPOINT) return a;
  const double w = how == QUANTILE_MIDPOINT ? 0.5 : rank - (double)below;
  return w < 0.5 ? a + w * (b - a) : b - (b - a) * (1.0 - w);
}

/* quantile(self, q, dim, keepdim, *, interpolation); the variant: NaN is left
 * out */
static bsm_status op_quantile(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *q = op_tensor(&args[1]), *out;
  interpolation how;
  const bool keep = op_bool(&args[3]), all = op_none(&args[2]);
  BSM_TRY(parse_interpolation(op_str(&args[4]), &how));
  if (!q) {
    BSM_TRY(
        bsm_tensor_from_double(cx->arena, t->dtype, op_double(&args[1]), &q));
  }
  if (t->sizes.rank >= BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "a tensor of more than %d dimensions",
                    BSM_MAX_RANK);
  }
  bool ok = (t->dtype == BSM_DTYPE_FLOAT || t->dtype == BSM_DTYPE_DOUBLE) &&
            q->dtype == t->dtype && q->sizes.rank < 2 &&
            bsm_tensor_numel(t) > 0;
  const int64_t nq = bsm_tensor_numel(q);
  for (int64_t i = 0; i < nq && ok && !bsm_tensor_is_meta(q); i++) {
    const double v = bsm_tensor_get_double(q, i);
    ok = v >= 0.0 && v <= 1.0;
  }
  if (!ok) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "quantile() input tensor %s must be non-empty and either "
                    "float or double dtype, and q %s of the same dtype with "
                    "values in the range [0, 1]",
                    bsm_dims_str(t->sizes), bsm_dims_str(q->sizes));
  }
  int dim = 0;
  bsm_dims reduced = {0};
  if (all) {
    reduced.rank = keep ? t->sizes.rank : 0;
    for (int i = 0; i < reduced.rank; i++) reduced.d[i] = 1;
    BSM_TRY(bsm_op_reshape(cx, t, op_dims1(bsm_tensor_numel(t)), &t));
  } else {
    BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), t->sizes.rank, &dim));
    reduced = without(t->sizes, dim, keep);
  }
  bsm_dims shape = reduced;
  if (q->sizes.rank == 1) {
    shape.rank++;
    shape.d[0] = nq;
    for (int i = 0; i < reduced.rank; i++) shape.d[i + 1] = reduced.d[i];
  }
  BSM_TRY(bsm_op_new(cx, t->dtype, shape, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta || bsm_tensor_numel(out) == 0) return BSM_OK;
  BSM_TRY(dim_last(cx, t, dim, &t));
  const int64_t n = t->sizes.d[t->sizes.rank - 1];
  const int64_t count = bsm_tensor_numel(t) / n;
  int64_t *keys, *order = BSM_NEW_ARRAY(cx->arena, int64_t, 2 * (size_t)n);
  double *y = bsm_op_load_all(cx, out);
  BSM_TRY_ALLOC(order);
  BSM_TRY_ALLOC(y);
  BSM_TRY(load_keys(cx, t, &keys));
  for (int64_t r = 0; r < count; r++) {
    sort_rows(keys + r * n, n, 1, order);
    for (int64_t i = 0; i < nq; i++) {
      y[i * count + r] =
          quantile(t->dtype, keys + r * n, order, n,
                   bsm_tensor_get_double(q, i), how, self->variant != 0);
    }
  }
  bsm_op_store_all(out, y);
  return BSM_OK;
}

/* ---- unique ---- */

/* Groups of equal rows among order[0 .. n): in group[row] the number of each
 * row's group; returns how many. */
static int64_t group_rows(const bsm_tensor *t, const int64_t *keys, int64_t n,
                          int64_t width, const int64_t *order, int64_t *group) {
  int64_t groups = 0;
  for (int64_t i = 0; i < n; i++) {
    bool equal = i > 0;
    for (int64_t k = 0; k < width && equal; k++) {
      equal =
          same(t, keys[order[i] * width + k], keys[order[i - 1] * width + k]);
    }
    if (!equal) groups++;
    group[order[i]] = groups - 1;
  }
  return groups;
}

typedef struct unique_options {
  int dim; /* -1: all elements */
  bool sorted, inverse, counts;
} unique_options;

static bsm_status unique(bsm_op_ctx *cx, bsm_tensor *t, unique_options o,
                         bsm_ivalue *outs) {
  bsm_tensor *rows_, *index, *values, *inverse, *counts;
  const int64_t total = bsm_tensor_numel(t);
  int64_t n = total;
  if (o.dim < 0) {
    BSM_TRY(bsm_op_reshape(cx, t, op_dims1(total), &rows_));
  } else {
    n = t->sizes.rank > 0 ? t->sizes.d[o.dim] : 1;
    /* Rows are compared with the other dimensions in their order. */
    rows_ = t;
    for (int d = o.dim; d > 0; d--) {
      BSM_TRY(bsm_op_transpose(cx, rows_, d - 1, d, &rows_));
    }
  }
  const int64_t width = n > 0 ? total / n : 0;
  if (o.dim >= 0 && total == 0 && n > 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "There are 0 sized dimensions, and they aren't selected, "
                    "so unique cannot be applied");
  }
  int64_t *keys, *order = BSM_NEW_ARRAY(cx->arena, int64_t, 2 * (size_t)n + 1),
                 *group = BSM_NEW_ARRAY(cx->arena, int64_t, (size_t)n + 1);
  BSM_TRY_ALLOC(order);
  BSM_TRY_ALLOC(group);
  BSM_TRY(load_keys(cx, rows_, &keys));
  for (int64_t i = 0; i < n; i++) order[i] = i;
  if (o.sorted) sort_rows(keys, n, width, order);
  const int64_t groups = group_rows(t, keys, n, width, order, group);
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, op_dims1(groups), &index));
  bsm_dims shape = o.dim < 0 ? t->sizes : op_dims1(n);
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, o.inverse ? shape : op_dims1(0),
                     &inverse));
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, op_dims1(o.counts ? groups : 0),
                     &counts));
  int64_t *first = bsm_tensor_data(index), *inv = bsm_tensor_data(inverse),
          *count = bsm_tensor_data(counts);
  for (int64_t i = n - 1; i >= 0; i--) first[group[order[i]]] = order[i];
  for (int64_t i = 0; i < n; i++) {
    if (o.inverse) inv[i] = group[i];
    if (o.counts) count[group[i]]++;
  }
  OP_CALL1(cx, &values, "aten::index_select", T(o.dim < 0 ? rows_ : t),
           I(o.dim < 0 ? 0 : o.dim), T(index));
  outs[0] = bsm_iv_tensor(values);
  outs[1] = bsm_iv_tensor(inverse);
  outs[2] = bsm_iv_tensor(counts);
  return BSM_OK;
}

enum { UNIQUE_CONSECUTIVE, UNIQUE_DIM_CONSECUTIVE, UNIQUE_DIM };

/* unique_consecutive(self, return_inverse, return_counts, dim),
 * unique_dim_consecutive(self, dim, return_inverse, return_counts),
 * unique_dim(self, dim, sorted, return_inverse, return_counts) */
static bsm_status op_unique(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  const int kind = self->variant;
  const bsm_ivalue *dim = &args[kind == UNIQUE_CONSECUTIVE ? 3 : 1];
  const int at = kind == UNIQUE_DIM ? 3 : kind == UNIQUE_CONSECUTIVE ? 1 : 2;
  unique_options o = {-1, kind == UNIQUE_DIM, op_bool(&args[at]),
                      op_bool(&args[at + 1])};
  if (kind == UNIQUE_DIM) o.inverse = o.counts = true; /* whatever is asked */
  BSM_TRY(bsm_op_real(t));
  if (!op_none(dim)) {
    BSM_TRY(bsm_op_wrap_dim(op_int(dim), t->sizes.rank, &o.dim));
  }
  if (t->sizes.rank == 0 && o.dim >= 0) o.dim = -1;
  if (cx->meta) {
    return BSM_FAIL(BSM_DATA_DEPENDENT,
                    "the shape of unique depends on the values");
  }
  return unique(cx, t, o, outs);
}

/* ---- membership and bins ---- */

static int compare_keys(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* isin(elements, test_elements, *, assume_unique, invert) */
static bsm_status op_isin(OP_PARAMS) {
  (void)self;
  bsm_tensor *t[2], *out;
  for (int i = 0; i < 2; i++) {
    t[i] = op_tensor(&args[i]);
    if (!t[i]) BSM_TRY(bsm_op_wrap(cx, &args[i], &t[i]));
    BSM_TRY(bsm_op_real(t[i]));
  }
  const bool invert = op_bool(&args[3]);
  const bsm_dtype common = bsm_op_result_type(t, 2);
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_BOOL, t[0]->sizes, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  int64_t *keys[2];
  for (int i = 0; i < 2; i++) {
    BSM_TRY(bsm_op_cast(cx, t[i], common, &t[i]));
    BSM_TRY(load_keys(cx, t[i], &keys[i]));
  }
  const size_t m = (size_t)bsm_tensor_numel(t[1]);
  if (m > 0) qsort(keys[1], m, sizeof(int64_t), compare_keys);
  uint8_t *to = bsm_tensor_data(out);
  for (int64_t i = 0; i < bsm_tensor_numel(out); i++) {
    const int64_t key = keys[0][i];
    const bool found =
        same(t[0], key, key) && m > 0 &&
        bsearch(&key, keys[1], m, sizeof(int64_t), compare_keys) != NULL;
    to[i] = found != invert;
  }
  return BSM_OK;
}

/* bincount(self, weights, minlength) */
static bsm_status op_bincount(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *weights = op_tensor(&args[1]), *out;
  int64_t length = op_int(&args[2]);
  const int64_t n = bsm_tensor_numel(t);
  const bool empty = t->sizes.rank == 1 && n == 0;
  if (t->sizes.rank != 1 || length < 0 ||
      !bsm_dtype_is_integral(t->dtype, false) ||
      (weights && !empty && !bsm_dims_equal(weights->sizes, t->sizes))) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "bincount only supports 1-d non-negative integral inputs, "
                    "weights of the same length and a minlength of 0 or more; "
                    "got %s and %lld",
                    bsm_dims_str(t->sizes), (long long)length);
  }
  if (cx->meta && n > 0) {
    return BSM_FAIL(BSM_DATA_DEPENDENT,
                    "the shape of bincount depends on the values");
  }
  for (int64_t i = 0; i < n; i++) {
    const int64_t v = bsm_tensor_get_int(t, i);
    if (v < 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "bincount only supports 1-d non-negative integral "
                      "inputs.");
    }
    if (v >= length) length = v == INT64_MAX ? v : v + 1;
  }
  const bsm_dtype dtype = !weights || empty ? BSM_DTYPE_INT64
                          : weights->dtype == BSM_DTYPE_FLOAT
                              ? BSM_DTYPE_FLOAT
                              : BSM_DTYPE_DOUBLE;
  BSM_TRY(bsm_op_new(cx, dtype, op_dims1(length), &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta || n == 0) return BSM_OK;
  double *bins = bsm_op_load_all(cx, out);
  BSM_TRY_ALLOC(bins);
  for (int64_t i = 0; i < n; i++) {
    bins[bsm_tensor_get_int(t, i)] +=
        weights ? bsm_tensor_get_double(weights, i) : 1.0;
  }
  bsm_op_store_all(out, bins);
  return BSM_OK;
}

/* histc(self, bins, min, max) */
static bsm_status op_histc(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const int64_t bins = op_int(&args[1]);
  double low = op_double(&args[2]), high = op_double(&args[3]);
  if (!bsm_dtype_is_floating(t->dtype) || bins <= 0 || !(low <= high) ||
      isinf(low) || isinf(high)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "histc of %s with %lld bins from %g to %g",
                    bsm_op_type_name(t->dtype), (long long)bins, low, high);
  }
  BSM_TRY(bsm_op_new(cx, t->dtype, op_dims1(bins), &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  const int64_t n = bsm_tensor_numel(t);
  const double *x = bsm_op_load_all(cx, t);
  double *y = bsm_op_load_all(cx, out);
  BSM_TRY_ALLOC(x);
  BSM_TRY_ALLOC(y);
  if (low == high && n > 0) {
    low = high = x[0];
    for (int64_t i = 0; i < n; i++) {
      if (!isfinite(x[i])) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "histc: range of [%g] is not finite", x[i]);
      }
      low = x[i] < low ? x[i] : low;
      high = x[i] > high ? x[i] : high;
    }
  }
  if (low == high) {
    low -= 1.0;
    high += 1.0;
  }
  double edge[3] = {low, high, high - low};
  bsm_round_f64(t->dtype, 3, edge);
  for (int64_t i = 0; i < n; i++) {
    if (!(x[i] >= edge[0] && x[i] <= edge[1])) continue;
    double at = x[i] - edge[0];
    bsm_round_f64(t->dtype, 1, &at);
    at *= (double)bins;
    bsm_round_f64(t->dtype, 1, &at);
    at /= edge[2];
    bsm_round_f64(t->dtype, 1, &at);
    const int64_t bin = bsm_double_to_i64(at);
    y[bin >= bins ? bins - 1 : bin] += 1.0;
  }
  bsm_op_store_all(out, y);
  return BSM_OK;
}

/* ---- closeness ---- */

typedef struct close_params {
  double rtol, atol;
  bool nan;
} close_params;

static bool is_close(const close_params *p, double a, double b) {
  if (a == b) return true;
  if (isnan(a) || isnan(b)) return p->nan && isnan(a) && isnan(b);
  const double apart = fabs(a - b);
  return isfinite(apart) && apart <= p->atol + fabs(p->rtol * b);
}

static void f_close(double *out, const double *const *in, size_t n,
                    const void *params) {
  for (size_t k = 0; k < n; k++) out[k] = is_close(params, in[0][k], in[1][k]);
}

static void i_close(int64_t *out, const int64_t *const *in, size_t n,
                    const void *params) {
  for (size_t k = 0; k < n; k++) {
    out[k] = is_close(params, (double)in[0][k], (double)in[1][k]);
  }
}

/* isclose(self, other, rtol, atol, equal_nan), allclose */
static bsm_status op_close(OP_PARAMS) {
  bsm_tensor *in[] = {op_tensor(&args[0]), op_tensor(&args[1])}, *out;
  const close_params p = {op_double(&args[2]), op_double(&args[3]),
                          op_bool(&args[4])};
  if (in[0]->dtype != in[1]->dtype || !(p.rtol >= 0.0) || !(p.atol >= 0.0)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "isclose of %s and %s with rtol %g and atol %g",
                    bsm_op_type_name(in[0]->dtype),
                    bsm_op_type_name(in[1]->dtype), p.rtol, p.atol);
  }
  const bsm_pointwise pw = {"isclose", f_close, i_close, BSM_PW_BOOL,
                            &p,        0,       false};
  BSM_TRY(bsm_op_pointwise(cx, &pw, in, 2, NULL, &out));
  if (!self->variant) return op_return(outs, out);
  if (cx->meta) {
    return BSM_FAIL(BSM_DATA_DEPENDENT, "allclose depends on values");
  }
  OP_CALL1(cx, &out, "aten::all", T(out));
  outs[0] = B(bsm_tensor_get_int(out, 0) != 0);
  return BSM_OK;
}

/* put(self, index, source, accumulate): into the flattened tensor */
static bsm_status op_put(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *index = op_tensor(&args[1]),
             *src = op_tensor(&args[2]);
  const int64_t n = bsm_tensor_numel(index), size = bsm_tensor_numel(t);
  if (index->dtype != BSM_DTYPE_INT64 || src->dtype != t->dtype ||
      bsm_tensor_numel(src) != n || (size == 0 && n > 0)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "put_(): expected as many long indices as elements of "
                    "source, of the dtype of self, got %s, %s and %s",
                    bsm_dims_str(index->sizes), bsm_dims_str(src->sizes),
                    bsm_op_type_name(src->dtype));
  }
  if (!(self->flags & BSM_ATEN_INPLACE)) {
    bsm_tensor *copy;
    BSM_TRY(bsm_op_new_like(cx, t->dtype, t, &copy));
    if (!cx->meta) BSM_TRY(bsm_tensor_copy(copy, t));
    t = copy;
  }
  outs[0] = bsm_iv_tensor(t);
  BSM_TRY(bsm_op_writable(cx, t));
  const bool floating = bsm_dtype_is_floating(t->dtype);
  for (int64_t i = 0; i < n && !cx->meta; i++) {
    int64_t at = bsm_tensor_get_int(index, i), offset = 0;
    if (at < -size || at >= size) {
      return BSM_FAIL(BSM_OUT_OF_RANGE,
                      "out of range: tried to access index %lld on a tensor of "
                      "%lld elements.",
                      (long long)at, (long long)size);
    }
    if (at < 0) at += size;
    for (int d = t->sizes.rank - 1; d >= 0; d--) {
      offset += at % t->sizes.d[d] * t->strides[d];
      at /= t->sizes.d[d];
    }
    char *p =
        (char *)bsm_tensor_data(t) + offset * (int64_t)bsm_dtype_size(t->dtype);
    if (floating) {
      const double v = bsm_tensor_get_double(src, i);
      bsm_store1_f64(t->dtype, p,
                     op_bool(&args[3]) ? bsm_load1_f64(t->dtype, p) + v : v);
    } else {
      const int64_t v = bsm_tensor_get_int(src, i);
      const uint64_t old =
          op_bool(&args[3]) ? (uint64_t)bsm_load1_i64(t->dtype, p) : 0;
      bsm_store1_i64(t->dtype, p, (int64_t)(old + (uint64_t)v));
    }
  }
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor "
       "values, Tensor indices)",
       op_place, PLACE_MODE, 0),
    OP("aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> "
       "(Tensor values, Tensor indices)",
       op_place, PLACE_NANMEDIAN, 0),
    OP("aten::nanmedian(Tensor self) -> Tensor", op_nanmedian_all, 0, 0),
    OP("aten::quantile(Tensor self, Tensor q, int? dim=None, bool "
       "keepdim=False, *, str interpolation=\"linear\") -> Tensor",
       op_quantile, 0, 0),
    OP("aten::quantile.scalar(Tensor self, float q, int? dim=None, bool "
       "keepdim=False, *, str interpolation=\"linear\") -> Tensor",
       op_quantile, 0, 0),
    OP("aten::nanquantile(Tensor self, Tensor q, int? dim=None, bool "
       "keepdim=False, *, str interpolation=\"linear\") -> Tensor",
       op_quantile, 1, 0),
    OP("aten::nanquantile.scalar(Tensor self, float q, int? dim=None, bool "
       "keepdim=False, *, str interpolation=\"linear\") -> Tensor",
       op_quantile, 1, 0),
    OP("aten::unique_consecutive(Tensor self, bool return_inverse=False, bool "
       "return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)",
       op_unique, UNIQUE_CONSECUTIVE, 0),
    OP("aten::unique_dim_consecutive(Tensor self, int dim, bool "
       "return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, "
       "Tensor)",
       op_unique, UNIQUE_DIM_CONSECUTIVE, 0),
    OP("aten::unique_dim(Tensor self, int dim, bool sorted=True, bool "
       "return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, "
       "Tensor)",
       op_unique, UNIQUE_DIM, 0),
    OP("aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, "
       "bool assume_unique=False, bool invert=False) -> Tensor",
       op_isin, 0, 0),
    OP("aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, "
       "bool assume_unique=False, bool invert=False) -> Tensor",
       op_isin, 0, 0),
    OP("aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, "
       "bool assume_unique=False, bool invert=False) -> Tensor",
       op_isin, 0, 0),
    OP("aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) "
       "-> Tensor",
       op_bincount, 0, 0),
    OP("aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> "
       "Tensor",
       op_histc, 0, 0),
    OP("aten::isclose(Tensor self, Tensor other, float "
       "rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) "
       "-> Tensor",
       op_close, 0, 0),
    OP("aten::allclose(Tensor self, Tensor other, float "
       "rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) "
       "-> bool",
       op_close, 1, 0),
    OP("aten::put(Tensor self, Tensor index, Tensor source, bool "
       "accumulate=False) -> Tensor",
       op_put, 0, 0),
    OP("aten::put_(Tensor(a!) self, Tensor index, Tensor source, bool "
       "accumulate=False) -> Tensor(a!)",
       op_put, 0, BSM_ATEN_INPLACE),
};
BSM_ATEN_TABLE_CALLING(statistics, rows, &bsm_aten_ops_gather,
                       &bsm_aten_ops_reduce);
