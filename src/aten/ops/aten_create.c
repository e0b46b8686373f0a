/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that make tensors from nothing: zeros, arange, full_like, tensor, ... */
#include "aten/packed/aten_create.h"
#include "aten/op_kit.h"

/* The tail (dtype, layout, device, pin_memory) of every factory. */
static void set_device(bsm_tensor *t, const bsm_ivalue *device) {
  if (device->tag == BSM_IVALUE_DEVICE) {
    t->device_type = device->u.device.type;
    t->device_index = device->u.device.index;
  }
}

static bsm_status fill(bsm_op_ctx *cx, const bsm_tensor *t,
                       const bsm_ivalue *value) {
  if (cx->meta || bsm_tensor_is_meta(t)) return BSM_OK;
  bsm_tensor *one;
  BSM_TRY(bsm_op_number(t));
  BSM_TRY(bsm_op_check_fill(value, t->dtype));
  BSM_TRY(bsm_op_wrap(cx, value, &one));
  return bsm_tensor_copy(t, one);
}

static bsm_status check_layout(const bsm_ivalue *layout) {
  if (!op_none(layout) && op_int(layout) != 0) {
    return BSM_FAIL(BSM_UNSUPPORTED, "only strided tensors are supported");
  }
  return BSM_OK;
}

static bsm_dtype dtype_of_number(const bsm_ivalue *v) {
  if (v->tag == BSM_IVALUE_BOOL) return BSM_DTYPE_BOOL;
  if (v->tag == BSM_IVALUE_COMPLEX) return BSM_DTYPE_COMPLEX_FLOAT;
  return v->tag == BSM_IVALUE_INT ? BSM_DTYPE_INT64 : BSM_DTYPE_FLOAT;
}

enum { MAKE_ZERO, MAKE_ONE, MAKE_VALUE, MAKE_SCALAR };

/* zeros(size, *, tail); full(size, value, *, tail); scalar_tensor(s, tail) */
static bsm_status op_make(OP_PARAMS) {
  bsm_tensor *out;
  bsm_dims dims = {0};
  const bsm_ivalue constant = bsm_iv_int(self->variant == MAKE_ONE);
  const bsm_ivalue *value = &constant, *tail = &args[1];
  bsm_dtype dtype = BSM_DTYPE_FLOAT;
  if (self->variant == MAKE_VALUE) {
    value = &args[1];
    tail = &args[2];
    dtype = dtype_of_number(value);
  }
  if (self->variant == MAKE_SCALAR) {
    value = &args[0];
  } else {
    BSM_TRY(bsm_op_dims(&args[0], &dims));
  }
  BSM_TRY(check_layout(&tail[1]));
  BSM_TRY(bsm_op_new(cx, op_dtype_or(&tail[0], dtype), dims, &out));
  set_device(out, &tail[2]);
  if (value != &constant || self->variant == MAKE_ONE) {
    BSM_TRY(fill(cx, out, value));
  }
  return op_return(outs, out);
}

/* empty.memory_format(size, *, tail, memory_format): zeros here. */
static bsm_status op_empty(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  bsm_dims dims;
  BSM_TRY(bsm_op_dims(&args[0], &dims));
  BSM_TRY(check_layout(&args[2]));
  BSM_TRY(bsm_op_new(cx, op_dtype_or(&args[1], BSM_DTYPE_FLOAT), dims, &out));
  set_device(out, &args[3]);
  return op_return(outs, out);
}

static bsm_status op_empty_strided(OP_PARAMS) {
  (void)self;
  bsm_tensor *out, *flat;
  bsm_dims dims, strides;
  BSM_TRY(bsm_op_dims(&args[0], &dims));
  BSM_TRY(bsm_op_dims(&args[1], &strides));
  if (dims.rank != strides.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "mismatch in length of strides and shape");
  }
  int64_t n = 1;
  for (int32_t i = 0; i < dims.rank; i++) {
    int64_t span;
    if (dims.d[i] == 0) n = 0;
    if (dims.d[i] < 0 || strides.d[i] < 0 ||
        !bsm_i64_mul(dims.d[i] > 0 ? dims.d[i] - 1 : 0, strides.d[i], &span) ||
        !bsm_i64_add(n, n ? span : 0, &n)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "empty_strided: bad sizes or strides");
    }
  }
  BSM_TRY(bsm_op_new(cx, op_dtype_or(&args[2], BSM_DTYPE_FLOAT), op_dims1(n),
                     &flat));
  BSM_TRY(bsm_tensor_view(cx->arena, flat, dims, strides.d, 0, &out));
  return op_return(outs, out);
}

/* zeros_like(self, *, tail, memory_format); full_like(self, value, ...). */
static bsm_status op_make_like(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const bsm_ivalue constant = bsm_iv_int(self->variant == MAKE_ONE);
  const bsm_ivalue *value = &constant, *tail = &args[1];
  if (self->variant == MAKE_VALUE) {
    value = &args[1];
    tail = &args[2];
  }
  BSM_TRY(check_layout(&tail[1]));
  const bsm_dtype dtype = op_dtype_or(&tail[0], t->dtype);
  const int64_t format = op_int_or(&tail[4], 1);
  if (format == 1) {
    BSM_TRY(bsm_op_new_like(cx, dtype, t, &out));
  } else {
    BSM_TRY(bsm_op_new(cx, dtype, t->sizes, &out));
  }
  set_device(out, &tail[2]);
  BSM_TRY(fill(cx, out, value));
  return op_return(outs, out);
}

/* new_zeros(self, size, *, tail); new_full(self, size, value, *, tail) */
static bsm_status op_make_new(OP_PARAMS) {
  const bsm_tensor *t = op_tensor(&args[0]);
  bsm_tensor *out;
  bsm_dims dims;
  const bsm_ivalue constant = bsm_iv_int(self->variant == MAKE_ONE);
  const bsm_ivalue *value = &constant, *tail = &args[2];
  if (self->variant == MAKE_VALUE) {
    value = &args[2];
    tail = &args[3];
  }
  BSM_TRY(bsm_op_dims(&args[1], &dims));
  BSM_TRY(bsm_op_new(cx, op_dtype_or(&tail[0], t->dtype), dims, &out));
  out->device_type = t->device_type;
  out->device_index = t->device_index;
  set_device(out, &tail[2]);
  BSM_TRY(fill(cx, out, value));
  return op_return(outs, out);
}

/* fill_(self, value), fill(self, value); value a number or a 0-dim tensor */
static bsm_status op_fill(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *value = op_tensor(&args[1]), *out = t;
  if (!value) BSM_TRY(bsm_op_wrap(cx, &args[1], &value));
  BSM_TRY(bsm_op_check_fill(&args[1], t->dtype));
  if (value->sizes.rank != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "fill_ only supports 0-dimension value tensor but got "
                    "tensor with %d dimensions.",
                    (int)value->sizes.rank);
  }
  if (self->flags & BSM_ATEN_INPLACE) {
    BSM_TRY(bsm_op_fillable(cx, t));
  } else {
    BSM_TRY(bsm_op_new_like(cx, t->dtype, t, &out));
  }
  if (!cx->meta) BSM_TRY(bsm_tensor_copy(out, value));
  return op_return(outs, out);
}

static bsm_status op_zero_(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]);
  const bsm_ivalue zero = bsm_iv_int(0);
  BSM_TRY(bsm_op_fillable(cx, t));
  BSM_TRY(fill(cx, t, &zero));
  return op_return(outs, t);
}

/* ---- sequences ---- */

static bsm_status arange_length(const bsm_ivalue *start, const bsm_ivalue *end,
                                const bsm_ivalue *step, int64_t *out) {
  const double a = op_double(start), b = op_double(end), s = op_double(step);
  if (s == 0.0) return BSM_FAIL(BSM_INVALID_ARGUMENT, "step must be nonzero");
  if (!isfinite(a) || !isfinite(b)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "unsupported range: %g -> %g", a, b);
  }
  if ((s > 0 && b < a) || (s < 0 && b > a)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "upper bound and lower bound inconsistent with step sign");
  }
  double n;
  if (op_is_integral(start) && op_is_integral(end) && op_is_integral(step)) {
    const int64_t low = op_int(start), high = op_int(end), by = op_int(step);
    const uint64_t span = by > 0 ? (uint64_t)high - (uint64_t)low
                                 : (uint64_t)low - (uint64_t)high;
    const uint64_t size = by > 0 ? (uint64_t)by : (uint64_t)0 - (uint64_t)by;
    n = (double)(span / size + (span % size != 0));
  } else {
    n = ceil((b - a) / s);
  }
  if (n > 1e15) return BSM_FAIL(BSM_LIMIT, "arange of %g elements", n);
  *out = (int64_t)n;
  return BSM_OK;
}

enum { RANGE_END, RANGE_START, RANGE_STEP };

static bsm_status op_arange(OP_PARAMS) {
  const bsm_ivalue zero = bsm_iv_int(0), one = bsm_iv_int(1);
  const bsm_ivalue *start = self->variant == RANGE_END ? &zero : &args[0];
  const bsm_ivalue *end = self->variant == RANGE_END ? &args[0] : &args[1];
  const bsm_ivalue *step = self->variant == RANGE_STEP ? &args[2] : &one;
  const bsm_ivalue *tail = &args[self->variant + 1];
  bsm_tensor *out;
  int64_t n;
  const bool integral =
      op_is_integral(start) && op_is_integral(end) && op_is_integral(step);
  const bsm_dtype dtype =
      op_dtype_or(&tail[0], integral ? BSM_DTYPE_INT64 : BSM_DTYPE_FLOAT);
  bsm_ivalue whole[3] = {*start, *end, *step};
  for (int i = 0; i < 3 && dtype == BSM_DTYPE_INT64; i++) {
    whole[i] = bsm_iv_int(op_int(&whole[i]));
  }
  start = &whole[0];
  end = &whole[1];
  step = &whole[2];
  BSM_TRY(arange_length(start, end, step, &n));
  BSM_TRY(check_layout(&tail[1]));
  BSM_TRY(bsm_op_new(cx, dtype, op_dims1(n), &out));
  BSM_TRY(bsm_op_real(out));
  set_device(out, &tail[2]);
  const size_t size = bsm_dtype_size(dtype);
  char *p = bsm_tensor_data(out);
  if (cx->meta) n = 0;
  for (int64_t i = 0; i < n; i++, p += size) {
    if (bsm_dtype_is_integral(dtype, true)) {
      bsm_store1_i64(dtype, p,
                     (int64_t)((uint64_t)op_int(start) +
                               (uint64_t)i * (uint64_t)op_int(step)));
    } else {
      bsm_store1_f64(dtype, p, op_double(start) + (double)i * op_double(step));
    }
  }
  return op_return(outs, out);
}

static bsm_status number_or_item(bsm_op_ctx *cx, const bsm_ivalue *a,
                                 double *out) {
  const bsm_tensor *t = op_tensor(a);
  *out = 0.0;
  if (!t) {
    *out = op_double(a);
    return BSM_OK;
  }
  if (t->sizes.rank != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "linspace only supports 0-dimensional start and end "
                    "tensors");
  }
  if (!cx->meta) *out = bsm_tensor_get_double(t, 0);
  return BSM_OK;
}

enum { SPACE_LINEAR, SPACE_LOG };

/* linspace(start, end, steps, tail); logspace(start, end, steps, base, tail) */
static bsm_status op_linspace(OP_PARAMS) {
  double start, end;
  bsm_tensor *out;
  const int64_t n = op_int(&args[2]);
  const bool logs = self->variant == SPACE_LOG;
  const double base = logs ? op_double(&args[3]) : 0.0;
  const bsm_ivalue *tail = &args[logs ? 4 : 3];
  BSM_TRY(number_or_item(cx, &args[0], &start));
  BSM_TRY(number_or_item(cx, &args[1], &end));
  if (n < 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "number of steps must be non-negative");
  }
  const bsm_dtype dtype = op_dtype_or(&tail[0], BSM_DTYPE_FLOAT);
  BSM_TRY(bsm_op_new(cx, dtype, op_dims1(n), &out));
  BSM_TRY(bsm_op_real(out));
  set_device(out, &tail[2]);
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  const bool integral = bsm_dtype_is_integral(dtype, true);
  if (integral) {
    start = trunc(start);
    end = trunc(end);
  }
  char *p = bsm_tensor_data(out);
  /* From both ends, so that the last element is exact. */
  double step = n > 1 ? (end - start) / (double)(n - 1) : 0.0;
  if (integral) step = (double)(float)step;
  for (int64_t i = 0; i < n; i++, p += bsm_dtype_size(dtype)) {
    double v = i < n / 2 || n == 1 ? start + step * (double)i
                                   : end - step * (double)(n - 1 - i);
    if (logs) v = pow(base, v);
    bsm_store1_f64(dtype, p, v);
  }
  return BSM_OK;
}

/* eye(n, tail); eye.m(n, m, tail) */
static bsm_status op_eye(OP_PARAMS) {
  const int64_t n = op_int(&args[0]);
  const int64_t m = self->variant ? op_int(&args[1]) : n;
  const bsm_ivalue *tail = &args[self->variant ? 2 : 1];
  bsm_tensor *out;
  const bsm_dtype dtype = op_dtype_or(&tail[0], BSM_DTYPE_FLOAT);
  BSM_TRY(bsm_op_new(cx, dtype, op_dims2(n, m), &out));
  BSM_TRY(bsm_op_number(out));
  set_device(out, &tail[2]);
  char *p = bsm_tensor_data(out);
  for (int64_t i = 0; i < n && i < m && !cx->meta; i++) {
    const bsm_c128 one = {1.0, 0.0};
    bsm_store_c128(dtype, p + (size_t)(i * m + i) * bsm_dtype_size(dtype), 0, 1,
                   &one);
  }
  return op_return(outs, out);
}

enum { TRI_LOWER, TRI_UPPER };

/* tril(self, diagonal) */
static bsm_status op_triangle(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const int64_t k = op_int(&args[1]);
  const int32_t rank = t->sizes.rank;
  if (rank < 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "tril: input tensor must have at least 2 dimensions");
  }
  if (self->flags & BSM_ATEN_INPLACE) {
    BSM_TRY(bsm_op_writable(cx, t));
    out = t;
  } else if (cx->meta) {
    BSM_TRY(bsm_op_new(cx, t->dtype, t->sizes, &out));
  } else {
    BSM_TRY(bsm_tensor_clone(cx->arena, t, &out));
  }
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  const int64_t n = bsm_tensor_numel(out), columns = t->sizes.d[rank - 1],
                lines = t->sizes.d[rank - 2];
  const size_t size = bsm_dtype_size(out->dtype);
  for (int64_t i = 0; i < n; i++) {
    const int64_t column = i % columns, line = i / columns % lines;
    const bool keep =
        self->variant == TRI_LOWER ? column - line <= k : column - line >= k;
    if (keep) continue;
    int64_t at = 0, rest = i;
    for (int32_t d = rank - 1; d >= 0; d--) {
      at += rest % out->sizes.d[d] * out->strides[d];
      rest /= out->sizes.d[d];
    }
    memset((char *)bsm_tensor_data(out) + (size_t)at * size, 0, size);
  }
  return BSM_OK;
}

/* The columns [*first, *end) of row r that are in the triangle. */
static void triangle_row(int32_t variant, int64_t r, int64_t columns, int64_t k,
                         int64_t *first, int64_t *end) {
  const int64_t edge = r + k + (variant == TRI_LOWER);
  const int64_t at = edge < 0 ? 0 : edge > columns ? columns : edge;
  *first = variant == TRI_LOWER ? 0 : at;
  *end = variant == TRI_LOWER ? at : columns;
}

/* tril_indices(row, col, offset, tail): a 2 x n tensor */
static bsm_status op_triangle_indices(OP_PARAMS) {
  enum { MOST = 1 << 20 };
  const int64_t lines = op_int(&args[0]), columns = op_int(&args[1]);
  int64_t k = op_int(&args[2]);
  if (lines < 0 || columns < 0 || lines > MOST || columns > MOST) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "row must be non-negative, got %lld",
                    (long long)lines);
  }
  k = k < -MOST ? -MOST : k > MOST ? MOST : k;
  const bsm_dtype dtype = op_dtype_or(&args[3], BSM_DTYPE_INT64);
  const size_t size = bsm_dtype_size(dtype);
  int64_t n = 0;
  bsm_tensor *out = NULL;
  for (int pass = 0; pass < 2; pass++) {
    int64_t at = 0, c, end;
    for (int64_t r = 0; r < lines; r++) {
      triangle_row(self->variant, r, columns, k, &c, &end);
      for (; c < end && pass == 1; c++, at++) {
        char *p = bsm_tensor_data(out);
        bsm_store1_i64(dtype, p + (size_t)at * size, r);
        bsm_store1_i64(dtype, p + (size_t)(n + at) * size, c);
      }
      at += end - c;
    }
    n = at;
    if (pass == 0) BSM_TRY(bsm_op_new(cx, dtype, op_dims2(2, n), &out));
  }
  return op_return(outs, out);
}

/* ---- from Python values ---- */

static bsm_status list_dims(const bsm_ivalue *v, bsm_dims *dims) {
  dims->rank = 0;
  while (v->tag == BSM_IVALUE_LIST) {
    if (dims->rank == BSM_MAX_RANK) {
      return BSM_FAIL(BSM_LIMIT, "a list nested deeper than %d levels",
                      BSM_MAX_RANK);
    }
    dims->d[dims->rank++] = (int64_t)v->u.list->len;
    if (v->u.list->len == 0) break;
    v = &v->u.list->items[0];
  }
  return BSM_OK;
}

typedef struct list_reader {
  bsm_dims dims;
  bsm_dtype dtype; /* promoted over the numbers */
  const bsm_ivalue **leaves;
  size_t count;
} list_reader;

static bsm_status read_list(list_reader *r, const bsm_ivalue *v,
                            int32_t depth) {
  if (depth < r->dims.rank) {
    if (v->tag != BSM_IVALUE_LIST ||
        (int64_t)v->u.list->len != r->dims.d[depth]) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Expected sequence of length %lld at dim %d (got %zu)",
                      (long long)r->dims.d[depth], (int)depth, op_list_len(v));
    }
    for (size_t i = 0; i < v->u.list->len; i++) {
      BSM_TRY(read_list(r, &v->u.list->items[i], depth + 1));
    }
    return BSM_OK;
  }
  bsm_dtype dtype;
  if (v->tag == BSM_IVALUE_TENSOR) {
    if (bsm_tensor_numel(v->u.tensor) != 1) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "only one element tensors can be converted to Python "
                      "scalars");
    }
    dtype = v->u.tensor->dtype;
  } else if (v->tag == BSM_IVALUE_INT || v->tag == BSM_IVALUE_DOUBLE ||
             v->tag == BSM_IVALUE_BOOL) {
    dtype = dtype_of_number(v);
  } else {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Input must be of ints, floats, or bools, got %s",
                    bsm_iv_tag_name(v->tag));
  }
  r->dtype = r->count == 0 ? dtype : bsm_promote_types(r->dtype, dtype);
  r->leaves[r->count++] = v;
  return BSM_OK;
}

/* tensor(data), as_tensor(list): numbers or nested lists of them. */
static bsm_status tensor_of(bsm_op_ctx *cx, const bsm_ivalue *v,
                            const bsm_ivalue *dtype, bsm_tensor **out) {
  list_reader r = {.dtype = BSM_DTYPE_FLOAT};
  int64_t n;
  BSM_TRY(list_dims(v, &r.dims));
  if (!bsm_dims_numel(r.dims, &n)) {
    return BSM_FAIL(BSM_LIMIT, "a list of shape %s", bsm_dims_str(r.dims));
  }
  r.leaves = BSM_NEW_ARRAY(cx->arena, const bsm_ivalue *, (size_t)n + 1);
  BSM_TRY_ALLOC(r.leaves);
  BSM_TRY(read_list(&r, v, 0));
  const bsm_dtype result = op_dtype_or(dtype, r.dtype);
  BSM_TRY(bsm_op_new(cx, result, r.dims, out));
  BSM_TRY(bsm_op_number(*out));
  if (cx->meta) return BSM_OK;
  char *p = bsm_tensor_data(*out);
  for (size_t i = 0; i < r.count; i++, p += bsm_dtype_size(result)) {
    const bsm_ivalue *leaf = r.leaves[i];
    const bsm_tensor *t = op_tensor(leaf);
    if (leaf->tag == BSM_IVALUE_COMPLEX || bsm_dtype_is_complex(result) ||
        (t && bsm_dtype_is_complex(t->dtype))) {
      bsm_c128 z = op_complex(leaf);
      if (t) bsm_load_c128(t->dtype, bsm_tensor_data(t), 0, 1, &z);
      bsm_store_c128(result, p, 0, 1, &z);
    } else if (t ? bsm_dtype_is_integral(t->dtype, true)
                 : op_is_integral(leaf)) {
      bsm_store1_i64(result, p, t ? bsm_tensor_get_int(t, 0) : op_int(leaf));
    } else {
      bsm_store1_f64(result, p,
                     t ? bsm_tensor_get_double(t, 0) : op_double(leaf));
    }
  }
  return BSM_OK;
}

/* tensor(data, *, dtype, device, requires_grad), as_tensor.list(data, ...) */
static bsm_status op_tensor_of(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  BSM_TRY(tensor_of(cx, &args[0], &args[1], &out));
  set_device(out, &args[2]);
  return op_return(outs, out);
}

/* as_tensor(data, *, dtype, device): data itself when nothing changes */
static bsm_status op_as_tensor(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const bsm_dtype dtype = op_dtype_or(&args[1], t->dtype);
  const bool moved = args[2].tag == BSM_IVALUE_DEVICE &&
                     args[2].u.device.type != t->device_type;
  if (dtype == t->dtype && !moved) return op_return(outs, t);
  BSM_TRY(bsm_op_new_like(cx, dtype, t, &out));
  if (!cx->meta) BSM_TRY(bsm_tensor_copy(out, t));
  set_device(out, &args[2]);
  return op_return(outs, out);
}

static const bsm_aten_op rows[] = {
    OP("aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       op_make, MAKE_ZERO, BSM_ATEN_COMPLEX),
    OP("aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       op_make, MAKE_ONE, BSM_ATEN_COMPLEX),
    OP("aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? "
       "dtype=None, "
       "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
       "Tensor",
       op_make, MAKE_VALUE, BSM_ATEN_COMPLEX),
    OP("aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       op_make, MAKE_SCALAR, BSM_ATEN_COMPLEX),
    OP("aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, "
       "Layout? layout=None, Device? device=None, bool? pin_memory=None, "
       "MemoryFormat? memory_format=None) -> Tensor",
       op_empty, 0, 0),
    OP("aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? "
       "dtype=None, Layout? layout=None, Device? device=None, bool? "
       "pin_memory=None) -> Tensor",
       op_empty_strided, 0, 0),
    OP("aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
       "memory_format=None) -> Tensor",
       op_make_like, MAKE_ZERO, BSM_ATEN_COMPLEX),
    OP("aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
       "memory_format=None) -> Tensor",
       op_make_like, MAKE_ONE, BSM_ATEN_COMPLEX),
    OP("aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? "
       "dtype=None, Layout? layout=None, Device? device=None, bool? "
       "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       op_make_like, MAKE_VALUE, BSM_ATEN_COMPLEX),
    OP("aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
       "memory_format=None) -> Tensor",
       op_make_like, MAKE_ZERO, BSM_ATEN_COMPLEX),
    OP("aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, "
       "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
       "Tensor",
       op_make_new, MAKE_ZERO, BSM_ATEN_COMPLEX),
    OP("aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, "
       "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
       "Tensor",
       op_make_new, MAKE_ZERO, BSM_ATEN_COMPLEX),
    OP("aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, "
       "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
       "Tensor",
       op_make_new, MAKE_ONE, BSM_ATEN_COMPLEX),
    OP("aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? "
       "pin_memory=None) -> Tensor",
       op_make_new, MAKE_VALUE, BSM_ATEN_COMPLEX),
    OP("aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
       op_fill, 0, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)",
       op_fill, 0, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", op_fill, 0,
       BSM_ATEN_COMPLEX),
    OP("aten::fill.Tensor(Tensor self, Tensor value) -> Tensor", op_fill, 0,
       BSM_ATEN_COMPLEX),
    OP("aten::_no_grad_fill_(Tensor(a!) tensor, float val) -> Tensor(a!)",
       op_fill, 0, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::zero_(Tensor(a!) self) -> Tensor(a!)", op_zero_, 0,
       BSM_ATEN_INPLACE),
    OP("aten::_no_grad_zero_(Tensor(a!) tensor) -> Tensor(a!)", op_zero_, 0,
       BSM_ATEN_INPLACE),
    OP("aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? "
       "layout=None, "
       "Device? device=None, bool? pin_memory=None) -> Tensor",
       op_arange, RANGE_END, 0),
    OP("aten::arange.start(Scalar start, Scalar end, *, ScalarType? "
       "dtype=None, "
       "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
       "Tensor",
       op_arange, RANGE_START, 0),
    OP("aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? "
       "pin_memory=None) -> Tensor",
       op_arange, RANGE_STEP, 0),
    OP("aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? "
       "dtype=None, Layout? layout=None, Device? device=None, bool? "
       "pin_memory=None) -> Tensor",
       op_linspace, SPACE_LINEAR, 0),
    OP("aten::linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? "
       "pin_memory=None) -> Tensor",
       op_linspace, SPACE_LINEAR, 0),
    OP("aten::linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? "
       "pin_memory=None) -> Tensor",
       op_linspace, SPACE_LINEAR, 0),
    OP("aten::linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? "
       "pin_memory=None) -> Tensor",
       op_linspace, SPACE_LINEAR, 0),
    OP("aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? "
       "pin_memory=None) -> Tensor",
       op_linspace, SPACE_LOG, 0),
    OP("aten::eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None) -> Tensor",
       op_eye, 0, 0),
    OP("aten::eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       op_eye, 1, 0),
    OP("aten::tril(Tensor self, SymInt diagonal=0) -> Tensor", op_triangle,
       TRI_LOWER, 0),
    OP("aten::tril_(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)",
       op_triangle, TRI_LOWER, BSM_ATEN_INPLACE),
    OP("aten::triu(Tensor self, SymInt diagonal=0) -> Tensor", op_triangle,
       TRI_UPPER, 0),
    OP("aten::triu_(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)",
       op_triangle, TRI_UPPER, BSM_ATEN_INPLACE),
    OP("aten::tril_indices(int row, int col, int offset=0, *, ScalarType? "
       "dtype=4, Layout? layout=None, Device? device=None, bool? "
       "pin_memory=None) -> Tensor",
       op_triangle_indices, TRI_LOWER, 0),
    OP("aten::triu_indices(int row, int col, int offset=0, *, ScalarType? "
       "dtype=4, Layout? layout=None, Device? device=None, bool? "
       "pin_memory=None) -> Tensor",
       op_triangle_indices, TRI_UPPER, 0),
    OP("aten::tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, "
       "bool requires_grad=False) -> Tensor",
       op_tensor_of, 0, 0),
    OP("aten::tensor.float(float t, *, ScalarType? dtype=None, Device? "
       "device=None, bool requires_grad=False) -> Tensor",
       op_tensor_of, 0, 0),
    OP("aten::tensor.int(int t, *, ScalarType? dtype=None, Device? "
       "device=None, "
       "bool requires_grad=False) -> Tensor",
       op_tensor_of, 0, 0),
    OP("aten::tensor.bool(bool t, *, ScalarType? dtype=None, Device? "
       "device=None, bool requires_grad=False) -> Tensor",
       op_tensor_of, 0, 0),
    OP("aten::as_tensor.list(t[] data, *, ScalarType? dtype=None, Device? "
       "device=None) -> Tensor",
       op_tensor_of, 0, 0),
    OP("aten::as_tensor.float(float t, *, ScalarType? dtype=None, Device? "
       "device=None) -> Tensor",
       op_tensor_of, 0, 0),
    OP("aten::as_tensor.int(int t, *, ScalarType? dtype=None, Device? "
       "device=None) -> Tensor",
       op_tensor_of, 0, 0),
    OP("aten::as_tensor.bool(bool t, *, ScalarType? dtype=None, Device? "
       "device=None) -> Tensor",
       op_tensor_of, 0, 0),
    OP("aten::as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? "
       "device=None) -> Tensor(b|a)",
       op_as_tensor, 0, 0),
    OP("aten::logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, "
       "float "
       "base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None) -> Tensor",
       op_linspace, SPACE_LOG, 0),
    OP("aten::logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, "
       "float "
       "base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None) -> Tensor",
       op_linspace, SPACE_LOG, 0),
    OP("aten::logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, "
       "float "
       "base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None) -> Tensor",
       op_linspace, SPACE_LOG, 0),
};
BSM_ATEN_TABLE(create, rows);
