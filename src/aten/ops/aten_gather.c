/* SPDX-License-Identifier: Apache-2.0 */
/* gather, scatter, index_select and their relatives; embeddings. */
#include "aten/packed/aten_gather.h"
#include "aten/complex_math.h"

/* The offset of element `i` (row-major in `shape`) in a tensor, with dim `dim`
 * replaced by `at` when dim >= 0. */
static int64_t offset_of(const bsm_tensor *t, bsm_dims shape, int64_t i,
                         int dim, int64_t at) {
  int64_t offset = 0;
  for (int32_t d = shape.rank - 1; d >= 0; d--) {
    const int64_t x = i % shape.d[d];
    i /= shape.d[d];
    offset += (d == dim ? at : x) * t->strides[d];
  }
  return offset;
}

static char *element(const bsm_tensor *t, int64_t offset) {
  return (char *)bsm_tensor_data(t) +
         offset * (int64_t)bsm_dtype_size(t->dtype);
}

static bsm_status check_index(const bsm_tensor *index, const char *name) {
  if (index->dtype == BSM_DTYPE_INT64 || index->dtype == BSM_DTYPE_INT32) {
    return BSM_OK;
  }
  return BSM_FAIL(op_refusal_of(index),
                  "%s(): Expected dtype int64 for index, but got %s", name,
                  bsm_op_type_name(index->dtype));
}

static bsm_status in_bounds(int64_t v, int64_t size, int dim) {
  if (v >= 0 && v < size) return BSM_OK;
  return BSM_FAIL(BSM_OUT_OF_RANGE,
                  "index %lld is out of bounds for dimension %d with size %lld",
                  (long long)v, dim, (long long)size);
}

/* 0-dim tensors count as 1-dim ones of one element. */
static bsm_status at_least_1d(bsm_op_ctx *cx, bsm_tensor **t) {
  return (*t)->sizes.rank > 0 ? BSM_OK : bsm_op_unsqueeze(cx, *t, 0, t);
}

/* `modulo`: indices are taken modulo the size. */
static bsm_status gather(bsm_op_ctx *cx, bsm_tensor *t, int64_t wanted,
                         bsm_tensor *index, bool modulo, bsm_tensor **out) {
  int dim;
  const bsm_dims shape = index->sizes;
  BSM_TRY(bsm_op_wrap_dim(wanted, t->sizes.rank, &dim));
  BSM_TRY(check_index(index, "gather"));
  BSM_TRY(bsm_op_new(cx, t->dtype, shape, out));
  bsm_tensor *to = *out;
  if (bsm_tensor_numel(index) == 0) return BSM_OK;
  BSM_TRY(at_least_1d(cx, &t));
  BSM_TRY(at_least_1d(cx, &index));
  BSM_TRY(at_least_1d(cx, &to));
  if (t->sizes.rank != index->sizes.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Index tensor must have the same number of dimensions as "
                    "input tensor");
  }
  for (int32_t d = 0; d < t->sizes.rank; d++) {
    if (d != dim && index->sizes.d[d] > t->sizes.d[d]) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Size does not match at dimension %d expected index %s "
                      "to be no larger than self %s apart from dimension %d",
                      (int)d, bsm_dims_str(index->sizes),
                      bsm_dims_str(t->sizes), dim);
    }
  }
  if (cx->meta) return BSM_OK;
  const int64_t n = bsm_tensor_numel(index);
  for (int64_t i = 0; i < n; i++) {
    const int64_t size = t->sizes.d[dim];
    int64_t v = bsm_tensor_get_int(index, i);
    if (modulo && size > 0) v = (v % size + size) % size;
    BSM_TRY(in_bounds(v, size, dim));
    memcpy(element(to, i), element(t, offset_of(t, index->sizes, i, dim, v)),
           bsm_dtype_size(t->dtype));
  }
  return BSM_OK;
}

static bsm_status op_gather(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  BSM_TRY(gather(cx, op_tensor(&args[0]), op_int(&args[1]), op_tensor(&args[2]),
                 false, &out));
  return op_return(outs, out);
}

/* take_along_dim(self, indices, dim?). Indices along a dim are taken modulo its
 * size, those of a flat tensor have to be within it. */
static bsm_status op_take_along_dim(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *index = op_tensor(&args[1]), *out;
  int dim = 0;
  if (op_none(&args[2])) {
    BSM_TRY(bsm_op_reshape(cx, t, op_dims1(bsm_tensor_numel(t)), &t));
    BSM_TRY(
        bsm_op_reshape(cx, index, op_dims1(bsm_tensor_numel(index)), &index));
  } else {
    if (t->sizes.rank != index->sizes.rank) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "torch.take_along_dim(): input and indices should have "
                      "the same number of dimensions, but got %d dimensions "
                      "for input, and %d dimensions for indices",
                      (int)t->sizes.rank, (int)index->sizes.rank);
    }
    BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), t->sizes.rank, &dim));
    bsm_dims a = t->sizes, b = index->sizes, shape;
    a.d[dim] = b.d[dim] = 1;
    BSM_TRY(bsm_op_broadcast(a, b, &shape));
    a = b = shape;
    a.d[dim] = t->sizes.d[dim];
    b.d[dim] = index->sizes.d[dim];
    BSM_TRY(bsm_op_expand(cx, t, a, &t));
    BSM_TRY(bsm_op_expand(cx, index, b, &index));
  }
  BSM_TRY(gather(cx, t, dim, index, !op_none(&args[2]), &out));
  return op_return(outs, out);
}

/* ---- scatter ---- */

enum {
  REDUCE_NONE,
  REDUCE_SUM,
  REDUCE_PROD,
  REDUCE_MAX,
  REDUCE_MIN,
  REDUCE_MEAN
};

static double fold_f64(int how, double a, double b) {
  switch (how) {
    case REDUCE_NONE:
      return b;
    case REDUCE_PROD:
      return a * b;
    case REDUCE_MAX:
      return isnan(a) || a > b ? a : b;
    case REDUCE_MIN:
      return isnan(a) || a < b ? a : b;
    default:
      return a + b;
  }
}
static int64_t fold_i64(int how, int64_t a, int64_t b) {
  switch (how) {
    case REDUCE_NONE:
      return b;
    case REDUCE_PROD:
      return (int64_t)((uint64_t)a * (uint64_t)b);
    case REDUCE_MAX:
      return a > b ? a : b;
    case REDUCE_MIN:
      return a < b ? a : b;
    default:
      return (int64_t)((uint64_t)a + (uint64_t)b);
  }
}

static void fold_into(int how, bsm_dtype d, char *dst, const char *src) {
  if (bsm_dtype_is_complex(d)) {
    bsm_c128 a, b;
    bsm_load_c128(d, dst, 0, 1, &a);
    bsm_load_c128(d, src, 0, 1, &b);
    if (how == REDUCE_SUM) b = bsm_c_add(a, b);
    if (how == REDUCE_PROD) b = bsm_c_mul(a, b);
    bsm_store_c128(d, dst, 0, 1, &b);
  } else if (bsm_dtype_is_integral(d, true)) {
    bsm_store1_i64(d, dst,
                   fold_i64(how, bsm_load1_i64(d, dst), bsm_load1_i64(d, src)));
  } else {
    bsm_store1_f64(d, dst,
                   fold_f64(how, bsm_load1_f64(d, dst), bsm_load1_f64(d, src)));
  }
}

typedef struct scatter_args {
  bsm_tensor *index, *src; /* src of index's shape or larger */
  int dim, how;
  bool include_self;
} scatter_args;

static bsm_status check_scatter(const bsm_tensor *t, const scatter_args *s) {
  if (s->index->sizes.rank != t->sizes.rank ||
      s->src->sizes.rank != t->sizes.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Index tensor must have the same number of dimensions as "
                    "self tensor and src tensor");
  }
  for (int32_t d = 0; d < t->sizes.rank; d++) {
    const int64_t n = s->index->sizes.d[d];
    if ((d != s->dim && n > t->sizes.d[d]) || n > s->src->sizes.d[d]) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Expected index %s to be no larger than self %s apart "
                      "from dimension %d and to be no larger size than src %s",
                      bsm_dims_str(s->index->sizes), bsm_dims_str(t->sizes),
                      s->dim, bsm_dims_str(s->src->sizes));
    }
  }
  return BSM_OK;
}

/* The neutral start of each element that will be written to. */
static void clear_targets(const bsm_tensor *t, const scatter_args *s) {
  const int64_t n = bsm_tensor_numel(s->index);
  const double start = s->how == REDUCE_PROD  ? 1.0
                       : s->how == REDUCE_MAX ? -INFINITY
                       : s->how == REDUCE_MIN ? INFINITY
                                              : 0.0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t v = bsm_tensor_get_int(s->index, i);
    char *p = element(t, offset_of(t, s->index->sizes, i, s->dim, v));
    if (isinf(start) && bsm_dtype_is_integral(t->dtype, true)) {
      bsm_store1_i64(t->dtype, p, 0);
      bsm_store1_i64(
          t->dtype, p,
          bsm_load1_i64(
              s->src->dtype,
              element(s->src, offset_of(s->src, s->index->sizes, i, -1, 0))));
    } else {
      bsm_store1_f64(t->dtype, p, start);
    }
  }
}

static bsm_status divide_means(bsm_op_ctx *cx, const bsm_tensor *t,
                               const scatter_args *s) {
  bsm_tensor *counts;
  BSM_TRY(bsm_tensor_new(cx->arena, BSM_DTYPE_INT64, t->sizes, false, &counts));
  const int64_t n = bsm_tensor_numel(s->index), total = bsm_tensor_numel(t);
  int64_t *c = bsm_tensor_data(counts);
  for (int64_t i = 0; i < n; i++) {
    const int64_t v = bsm_tensor_get_int(s->index, i);
    c[offset_of(counts, s->index->sizes, i, s->dim, v)]++;
  }
  for (int64_t i = 0; i < total; i++) {
    if (c[i] == 0) continue;
    char *p = element(t, offset_of(t, t->sizes, i, -1, 0));
    const int64_t by = c[i] + s->include_self;
    if (bsm_dtype_is_integral(t->dtype, true)) {
      const int64_t v = bsm_load1_i64(t->dtype, p);
      bsm_store1_i64(t->dtype, p, v / by - (v % by != 0 && v < 0 ? 1 : 0));
    } else {
      bsm_store1_f64(t->dtype, p, bsm_load1_f64(t->dtype, p) / (double)by);
    }
  }
  return BSM_OK;
}

/* Scatters into `t`, which may be written. */
static bsm_status scatter(bsm_op_ctx *cx, bsm_tensor *t, scatter_args s) {
  if (bsm_tensor_numel(s.index) == 0) return BSM_OK;
  BSM_TRY(check_index(s.index, "scatter"));
  BSM_TRY(at_least_1d(cx, &t));
  BSM_TRY(at_least_1d(cx, &s.index));
  BSM_TRY(at_least_1d(cx, &s.src));
  if (s.src->dtype != t->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "scatter(): Expected self.dtype to be equal to src.dtype");
  }
  BSM_TRY(check_scatter(t, &s));
  BSM_TRY(s.how <= REDUCE_PROD && s.include_self ? bsm_op_number(t)
                                                 : bsm_op_real(t));
  if (cx->meta) return BSM_OK;
  const int64_t n = bsm_tensor_numel(s.index), size = t->sizes.d[s.dim];
  for (int64_t i = 0; i < n; i++) {
    BSM_TRY(in_bounds(bsm_tensor_get_int(s.index, i), size, s.dim));
  }
  if (!s.include_self) clear_targets(t, &s);
  for (int64_t i = 0; i < n; i++) {
    const int64_t v = bsm_tensor_get_int(s.index, i);
    fold_into(s.how, t->dtype,
              element(t, offset_of(t, s.index->sizes, i, s.dim, v)),
              element(s.src, offset_of(s.src, s.index->sizes, i, -1, 0)));
  }
  return s.how == REDUCE_MEAN ? divide_means(cx, t, &s) : BSM_OK;
}

/* The tensor to write to: self in place, or a copy. */
static bsm_status target(bsm_op_ctx *cx, const bsm_aten_op *self, bsm_tensor *t,
                         bsm_tensor **out) {
  *out = t;
  if (self->flags & BSM_ATEN_INPLACE) return bsm_op_writable(cx, t);
  if (cx->meta) return bsm_op_new(cx, t->dtype, t->sizes, out);
  return bsm_tensor_clone(cx->arena, t, out);
}

static bsm_status parse_reduce(const bsm_ivalue *a, int *how) {
  static const struct {
    const char *name;
    int how;
  } names[] = {{"sum", REDUCE_SUM},   {"add", REDUCE_SUM},
               {"prod", REDUCE_PROD}, {"multiply", REDUCE_PROD},
               {"amax", REDUCE_MAX},  {"amin", REDUCE_MIN},
               {"mean", REDUCE_MEAN}};
  for (size_t i = 0; i < OP_COUNT(names); i++) {
    if (bsm_str_eq(op_str(a), bsm_str_of(names[i].name))) {
      *how = names[i].how;
      return BSM_OK;
    }
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "reduce argument must be either sum, prod, mean, amax or "
                  "amin, got %.*s",
                  (int)op_str(a).len, op_str(a).data);
}

enum { SCATTER_PLAIN, SCATTER_ADD, SCATTER_STRING, SCATTER_TWO };

/* scatter(self, dim, index, src|value[, reduce][, include_self]) */
static bsm_status op_scatter(OP_PARAMS) {
  bsm_tensor *t, *value = op_tensor(&args[3]);
  scatter_args s = {.index = op_tensor(&args[2]), .include_self = true};
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), op_tensor(&args[0])->sizes.rank,
                          &s.dim));
  if (self->variant == SCATTER_ADD) s.how = REDUCE_SUM;
  if (self->variant >= SCATTER_STRING) {
    BSM_TRY(parse_reduce(&args[4], &s.how));
  }
  if (self->variant == SCATTER_TWO) s.include_self = op_bool(&args[5]);
  BSM_TRY(target(cx, self, op_tensor(&args[0]), &t));
  if (!value) { /* a number: a constant src */
    BSM_TRY(bsm_op_wrap(cx, &args[3], &value));
    BSM_TRY(bsm_tensor_to_dtype(cx->arena, value, t->dtype, &value));
    BSM_TRY(bsm_op_expand(cx, value, s.index->sizes, &value));
  }
  s.src = value;
  outs[0] = bsm_iv_tensor(t);
  return scatter(cx, t, s);
}

/* ---- whole slices along one dim ---- */

static bsm_status check_slices(bsm_tensor *t, const bsm_tensor *index,
                               const char *name) {
  if (index->sizes.rank > 1) {
    return BSM_FAIL(BSM_OUT_OF_RANGE,
                    "%s(): Index is supposed to be a vector, but got dim: %d",
                    name, (int)index->sizes.rank);
  }
  (void)t;
  return check_index(index, name);
}

/* index_reduce(self, dim, index, source, reduce, *, include_self): a scatter
 * with the same index for every element of a slice. */
static bsm_status op_index_reduce(OP_PARAMS) {
  bsm_tensor *t, *index = op_tensor(&args[2]);
  scatter_args s = {.src = op_tensor(&args[3]), .include_self = true};
  const int32_t rank = op_tensor(&args[0])->sizes.rank;
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), rank, &s.dim));
  BSM_TRY(check_slices(op_tensor(&args[0]), index, "index_reduce_"));
  BSM_TRY(parse_reduce(&args[4], &s.how));
  if (s.how == REDUCE_SUM) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "reduce argument must be either prod, mean, amax or amin");
  }
  s.include_self = op_bool(&args[5]);
  const int64_t n = bsm_tensor_numel(index);
  if (s.src->sizes.rank != rank || (rank > 0 && s.src->sizes.d[s.dim] != n)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "index_reduce_(): Number of indices (%lld) should be equal "
                    "to source.size(dim)",
                    (long long)n);
  }
  for (int32_t i = 0; i < rank; i++) {
    if (i == s.dim || s.src->sizes.d[i] == op_tensor(&args[0])->sizes.d[i]) {
      continue;
    }
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "source tensor shape must match self tensor shape, "
                    "excluding the specified dimension. Got self.shape = %s "
                    "source.shape = %s",
                    bsm_dims_str(op_tensor(&args[0])->sizes),
                    bsm_dims_str(s.src->sizes));
  }
  bsm_dims column = {.rank = rank};
  for (int32_t i = 0; i < rank; i++) column.d[i] = i == s.dim ? n : 1;
  BSM_TRY(bsm_op_reshape(cx, index, column, &index));
  BSM_TRY(bsm_op_expand(cx, index, s.src->sizes, &s.index));
  BSM_TRY(target(cx, self, op_tensor(&args[0]), &t));
  outs[0] = bsm_iv_tensor(t);
  return scatter(cx, t, s);
}

/* index_select(self, dim, index) */
static bsm_status op_index_select(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *index = op_tensor(&args[2]), *out;
  int dim;
  BSM_TRY(check_slices(t, index, "index_select"));
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), t->sizes.rank, &dim));
  bsm_dims shape = t->sizes;
  const int64_t n = bsm_tensor_numel(index);
  if (shape.rank == 0 && n != 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "index_select(): Index to scalar can have only 1 value, "
                    "got %lld value(s)",
                    (long long)n);
  }
  if (shape.rank > 0) shape.d[dim] = n;
  BSM_TRY(bsm_op_new(cx, t->dtype, shape, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  bsm_tensor *to = out;
  BSM_TRY(at_least_1d(cx, &t));
  BSM_TRY(at_least_1d(cx, &to));
  for (int64_t i = 0; i < n; i++) {
    bsm_tensor *a, *b;
    const int64_t v = bsm_tensor_get_int(index, i);
    if (v < 0 || v >= t->sizes.d[dim]) {
      return BSM_FAIL(BSM_OUT_OF_RANGE, "index out of range in self");
    }
    BSM_TRY(bsm_op_select(cx, t, dim, v, &a));
    BSM_TRY(bsm_op_select(cx, to, dim, i, &b));
    BSM_TRY(bsm_tensor_copy(b, a));
  }
  return BSM_OK;
}

enum { SLICES_ADD, SLICES_COPY, SLICES_FILL };

/* What a slice takes that has no elements, and each of its elements. */
enum { SLICE_WORK = 128, ELEMENT_WORK = 24 };

/* index_add(self, dim, index, source, *, alpha), index_copy(self, dim, index,
 * source), index_fill(self, dim, index, value) */
static bsm_status op_index_slices(OP_PARAMS) {
  bsm_tensor *t, *index = op_tensor(&args[2]), *src = op_tensor(&args[3]);
  int dim;
  BSM_TRY(check_slices(op_tensor(&args[0]), index, "index_add"));
  BSM_TRY(
      bsm_op_wrap_dim(op_int(&args[1]), op_tensor(&args[0])->sizes.rank, &dim));
  BSM_TRY(target(cx, self, op_tensor(&args[0]), &t));
  outs[0] = bsm_iv_tensor(t);
  if (!src) BSM_TRY(bsm_op_wrap(cx, &args[3], &src));
  const int64_t n = bsm_tensor_numel(index);
  BSM_TRY(at_least_1d(cx, &t));
  const bool fill = self->variant == SLICES_FILL;
  if (!fill) {
    BSM_TRY(at_least_1d(cx, &src));
    bool ok = src->sizes.rank == t->sizes.rank && src->dtype == t->dtype;
    for (int32_t d = 0; d < t->sizes.rank && ok; d++) {
      ok = src->sizes.d[d] == (d == dim ? n : t->sizes.d[d]);
    }
    if (!ok) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "index_add_(): source %s must match self %s and the %lld "
                      "indices, in dtype too",
                      bsm_dims_str(src->sizes), bsm_dims_str(t->sizes),
                      (long long)n);
    }
  }
  if (cx->meta) return BSM_OK;
  const int64_t length = t->sizes.d[dim] ? t->sizes.d[dim] : 1;
  BSM_TRY(bsm_op_charge(
      cx, n, SLICE_WORK + ELEMENT_WORK * (bsm_tensor_numel(t) / length), 1));
  bsm_op_ctx charged = *cx; /* all of it, as a part may not be written */
  charged.work = NULL;
  for (int64_t i = 0; i < n; i++) {
    bsm_tensor *to, *from = src, *sum;
    int64_t v = bsm_tensor_get_int(index, i);
    if (fill && v < 0) v += t->sizes.d[dim];
    BSM_TRY(in_bounds(v, t->sizes.d[dim], dim));
    BSM_TRY(bsm_op_select(cx, t, dim, v, &to));
    if (!fill) BSM_TRY(bsm_op_select(cx, src, dim, i, &from));
    if (self->variant == SLICES_ADD) {
      BSM_TRY(bsm_op_add(&charged, to, from, op_double(&args[4]), &sum));
      from = sum;
    }
    BSM_TRY(bsm_tensor_copy(to, from));
  }
  return BSM_OK;
}

/* take(self, index): over the flattened tensor */
static bsm_status op_take(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *index = op_tensor(&args[1]), *out;
  BSM_TRY(check_index(index, "take"));
  BSM_TRY(bsm_op_new(cx, t->dtype, index->sizes, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  const int64_t n = bsm_tensor_numel(index), size = bsm_tensor_numel(t);
  for (int64_t i = 0; i < n; i++) {
    int64_t v = bsm_tensor_get_int(index, i);
    if (v < -size || v >= size) {
      return BSM_FAIL(BSM_OUT_OF_RANGE,
                      "out of range: tried to access index %lld on a tensor of "
                      "%lld elements.",
                      (long long)v, (long long)size);
    }
    if (v < 0) v += size;
    memcpy(element(out, i), element(t, offset_of(t, t->sizes, v, -1, 0)),
           bsm_dtype_size(t->dtype));
  }
  return BSM_OK;
}

/* ---- views written into a copy ---- */

/* select_scatter(self, src, dim, index) */
static bsm_status op_select_scatter(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out, *to;
  int dim;
  if (t->sizes.rank == 0) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "select() of a 0-dim tensor");
  }
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), t->sizes.rank, &dim));
  int64_t index = op_int(&args[3]);
  const int64_t size = t->sizes.d[dim];
  if (index < -size || index >= size) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "select(): index %lld out of range",
                    (long long)index);
  }
  BSM_TRY(target(cx, self, t, &out));
  BSM_TRY(bsm_op_select(cx, out, dim, index < 0 ? index + size : index, &to));
  if (!bsm_dims_equal(to->sizes, op_tensor(&args[1])->sizes)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "expected src to have a size equal to the slice of self. "
                    "src size = %s, slice size = %s",
                    bsm_dims_str(op_tensor(&args[1])->sizes),
                    bsm_dims_str(to->sizes));
  }
  if (!cx->meta) BSM_TRY(bsm_tensor_copy(to, op_tensor(&args[1])));
  return op_return(outs, out);
}

/* slice_scatter(self, src, dim, start, end, step) */
static bsm_status op_slice_scatter(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  int dim;
  if (t->sizes.rank == 0) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "slice() of a 0-dim tensor");
  }
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), t->sizes.rank, &dim));
  bsm_op_slice slice;
  BSM_TRY(bsm_op_slice_dim(&args[3], t->sizes.d[dim], &slice));
  BSM_TRY(target(cx, self, t, &out));
  bsm_tensor to = *out;
  to.sizes.d[dim] = slice.count;
  to.offset += slice.start * out->strides[dim];
  if (!bsm_i64_mul(to.strides[dim], slice.step, &to.strides[dim])) {
    to.strides[dim] = 1;
  }
  if (!bsm_dims_equal(to.sizes, op_tensor(&args[1])->sizes)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "expected src to have a size equal to the slice of self. "
                    "src size = %s, slice size = %s",
                    bsm_dims_str(op_tensor(&args[1])->sizes),
                    bsm_dims_str(to.sizes));
  }
  if (!cx->meta) BSM_TRY(bsm_tensor_copy(&to, op_tensor(&args[1])));
  return op_return(outs, out);
}

/* ---- embeddings and one-hot ---- */

/* embedding(weight, indices, padding_idx, ...) */
static bsm_status op_embedding(OP_PARAMS) {
  (void)self;
  bsm_tensor *w = op_tensor(&args[0]), *index = op_tensor(&args[1]), *out;
  if (w->sizes.rank != 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "'weight' must be 2-D");
  }
  if (index->dtype != BSM_DTYPE_INT64 && index->dtype != BSM_DTYPE_INT32) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected tensor for argument #1 'indices' to have one of "
                    "the following scalar types: Long, Int; but got %s instead "
                    "(while checking arguments for embedding)",
                    bsm_op_type_name(index->dtype));
  }
  if (index->sizes.rank == BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "a tensor of more than %d dimensions",
                    BSM_MAX_RANK);
  }
  bsm_dims shape = index->sizes;
  shape.d[shape.rank++] = w->sizes.d[1];
  BSM_TRY(bsm_op_new(cx, w->dtype, shape, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  const int64_t n = bsm_tensor_numel(index), width = w->sizes.d[1];
  bsm_tensor row = *out, from = *w;
  row.sizes = from.sizes = op_dims1(width);
  row.strides[0] = 1;
  from.strides[0] = w->strides[1];
  for (int64_t i = 0; i < n; i++) {
    const int64_t v = bsm_tensor_get_int(index, i);
    if (v < 0 || v >= w->sizes.d[0]) {
      return BSM_FAIL(BSM_OUT_OF_RANGE, "index out of range in self");
    }
    row.offset = i * width;
    from.offset = w->offset + v * w->strides[0];
    BSM_TRY(bsm_tensor_copy(&row, &from));
  }
  return BSM_OK;
}

/* one_hot(self, num_classes) */
static bsm_status op_one_hot(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  int64_t classes = op_int(&args[1]), max = -1;
  const int64_t n = bsm_tensor_numel(t);
  if (t->dtype != BSM_DTYPE_INT64) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "one_hot is only applicable to index tensor of type "
                    "LongTensor.");
  }
  if (cx->meta && classes <= 0) {
    return BSM_FAIL(BSM_DATA_DEPENDENT, "one_hot without num_classes");
  }
  for (int64_t i = 0; i < n && !cx->meta; i++) {
    const int64_t v = bsm_tensor_get_int(t, i);
    if (v < 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Class values must be non-negative.");
    }
    if (v > max) max = v;
  }
  if (classes <= 0 && n == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Can not infer total number of classes from empty tensor.");
  }
  if (classes == -1) classes = max + 1;
  if (max >= classes || t->sizes.rank == BSM_MAX_RANK) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Class values must be smaller than num_classes.");
  }
  bsm_dims shape = t->sizes;
  shape.d[shape.rank++] = classes;
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, shape, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  int64_t *p = bsm_tensor_data(out);
  for (int64_t i = 0; i < n; i++) {
    p[i * classes + bsm_tensor_get_int(t, i)] = 1;
  }
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::gather(Tensor self, int dim, Tensor index, *, bool "
       "sparse_grad=False) -> Tensor",
       op_gather, 0, 0),
    OP("aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> "
       "Tensor",
       op_take_along_dim, 0, 0),
    OP("aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> "
       "Tensor",
       op_scatter, SCATTER_PLAIN, 0),
    OP("aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) "
       "-> "
       "Tensor",
       op_scatter, SCATTER_PLAIN, 0),
    OP("aten::scatter_.src(Tensor(a!) self, int dim, Tensor index, Tensor src) "
       "-> Tensor(a!)",
       op_scatter, SCATTER_PLAIN, BSM_ATEN_INPLACE),
    OP("aten::scatter_.value(Tensor(a!) self, int dim, Tensor index, Scalar "
       "value) -> Tensor(a!)",
       op_scatter, SCATTER_PLAIN, BSM_ATEN_INPLACE),
    OP("aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, "
       "*, "
       "str reduce) -> Tensor",
       op_scatter, SCATTER_STRING, 0),
    OP("aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar "
       "value, *, str reduce) -> Tensor",
       op_scatter, SCATTER_STRING, 0),
    OP("aten::scatter_.reduce(Tensor(a!) self, int dim, Tensor index, Tensor "
       "src, *, str reduce) -> Tensor(a!)",
       op_scatter, SCATTER_STRING, BSM_ATEN_INPLACE),
    OP("aten::scatter_.value_reduce(Tensor(a!) self, int dim, Tensor index, "
       "Scalar value, *, str reduce) -> Tensor(a!)",
       op_scatter, SCATTER_STRING, BSM_ATEN_INPLACE),
    OP("aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> "
       "Tensor",
       op_scatter, SCATTER_ADD, 0),
    OP("aten::scatter_add_(Tensor(a!) self, int dim, Tensor index, Tensor src) "
       "-> Tensor(a!)",
       op_scatter, SCATTER_ADD, BSM_ATEN_INPLACE),
    OP("aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor "
       "src, "
       "str reduce, *, bool include_self=True) -> Tensor",
       op_scatter, SCATTER_TWO, 0),
    OP("aten::scatter_reduce_.two(Tensor(a!) self, int dim, Tensor index, "
       "Tensor "
       "src, str reduce, *, bool include_self=True) -> Tensor(a!)",
       op_scatter, SCATTER_TWO, BSM_ATEN_INPLACE),
    OP("aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, "
       "str reduce, *, bool include_self=True) -> Tensor",
       op_index_reduce, 0, 0),
    OP("aten::index_reduce_(Tensor(a!) self, int dim, Tensor index, Tensor "
       "source, str reduce, *, bool include_self=True) -> Tensor(a!)",
       op_index_reduce, 0, BSM_ATEN_INPLACE),
    OP("aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
       op_index_select, 0, 0),
    OP("aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, "
       "Scalar alpha=1) -> Tensor",
       op_index_slices, SLICES_ADD, 0),
    OP("aten::index_add_(Tensor(a!) self, int dim, Tensor index, Tensor "
       "source, "
       "*, Scalar alpha=1) -> Tensor(a!)",
       op_index_slices, SLICES_ADD, BSM_ATEN_INPLACE),
    OP("aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> "
       "Tensor",
       op_index_slices, SLICES_COPY, 0),
    OP("aten::index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor "
       "source) "
       "-> Tensor(a!)",
       op_index_slices, SLICES_COPY, BSM_ATEN_INPLACE),
    OP("aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar "
       "value) -> Tensor",
       op_index_slices, SLICES_FILL, 0),
    OP("aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor "
       "value) -> Tensor",
       op_index_slices, SLICES_FILL, 0),
    OP("aten::index_fill_.int_Scalar(Tensor(a!) self, int dim, Tensor index, "
       "Scalar value) -> Tensor(a!)",
       op_index_slices, SLICES_FILL, BSM_ATEN_INPLACE),
    OP("aten::index_fill_.int_Tensor(Tensor(a!) self, int dim, Tensor index, "
       "Tensor value) -> Tensor(a!)",
       op_index_slices, SLICES_FILL, BSM_ATEN_INPLACE),
    OP("aten::take(Tensor self, Tensor index) -> Tensor", op_take, 0, 0),
    OP("aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) "
       "-> "
       "Tensor",
       op_select_scatter, 0, 0),
    OP("aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? "
       "start=None, SymInt? end=None, SymInt step=1) -> Tensor",
       op_slice_scatter, 0, 0),
    OP("aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, "
       "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
       op_embedding, 0, 0),
    OP("aten::one_hot(Tensor self, int num_classes=-1) -> Tensor", op_one_hot,
       0, 0),
};
BSM_ATEN_TABLE(gather, rows);
