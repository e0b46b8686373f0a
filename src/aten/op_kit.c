/* SPDX-License-Identifier: Apache-2.0 */
/* The toolkit of the ops: args, promotion, results. */
#include "aten/op_kit.h"

bsm_status bsm_op_dims(const bsm_ivalue *a, bsm_dims *out) {
  *out = (bsm_dims){0};
  if (a->tag == BSM_IVALUE_INT) {
    *out = op_dims1(a->u.i);
    return BSM_OK;
  }
  const size_t n = op_list_len(a);
  if (n > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "a list of %zu sizes; at most %d are supported",
                    n, BSM_MAX_RANK);
  }
  out->rank = (int32_t)n;
  for (size_t i = 0; i < n; i++) out->d[i] = op_list_int(a, i);
  return BSM_OK;
}

bsm_status bsm_op_ints(const bsm_ivalue *a, int n, const int64_t *fallback,
                       const char *what, int64_t *out) {
  const size_t len = a->tag == BSM_IVALUE_INT ? 1 : op_list_len(a);
  if (len == 0 && fallback) {
    for (int i = 0; i < n; i++) out[i] = fallback[i];
    return BSM_OK;
  }
  if (len != 1 && len != (size_t)n) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s must be a single int, or a tuple of %d ints; got %zu",
                    what, n, len);
  }
  for (int i = 0; i < n; i++) {
    out[i] = a->tag == BSM_IVALUE_INT
                 ? a->u.i
                 : op_list_int(a, len == 1 ? 0 : (size_t)i);
  }
  return BSM_OK;
}

bsm_status bsm_op_tensors(bsm_op_ctx *cx, const bsm_ivalue *a,
                          bsm_tensor ***out, size_t *n) {
  *n = op_list_len(a);
  *out = BSM_NEW_ARRAY(cx->arena, bsm_tensor *, *n + 1);
  BSM_TRY_ALLOC(*out);
  for (size_t i = 0; i < *n; i++) (*out)[i] = op_list_tensor(a, i);
  return BSM_OK;
}

bsm_status bsm_op_wrap(bsm_op_ctx *cx, const bsm_ivalue *a, bsm_tensor **out) {
  if (a->tag == BSM_IVALUE_COMPLEX) {
    BSM_TRY(bsm_tensor_from_complex(cx->arena, BSM_DTYPE_COMPLEX_DOUBLE,
                                    a->u.c.re, a->u.c.im, out));
  } else if (a->tag == BSM_IVALUE_DOUBLE) {
    BSM_TRY(bsm_tensor_from_double(cx->arena, BSM_DTYPE_DOUBLE, a->u.d, out));
  } else {
    BSM_TRY(bsm_tensor_from_int(
        cx->arena, a->tag == BSM_IVALUE_BOOL ? BSM_DTYPE_BOOL : BSM_DTYPE_INT64,
        op_int(a), out));
  }
  (*out)->wrapped_number = true;
  return BSM_OK;
}

const char *bsm_op_type_name(bsm_dtype d) {
  switch (d) {
    case BSM_DTYPE_UINT8:
      return "Byte";
    case BSM_DTYPE_INT8:
      return "Char";
    case BSM_DTYPE_INT16:
      return "Short";
    case BSM_DTYPE_INT32:
      return "Int";
    case BSM_DTYPE_INT64:
      return "Long";
    case BSM_DTYPE_HALF:
      return "Half";
    case BSM_DTYPE_FLOAT:
      return "Float";
    case BSM_DTYPE_DOUBLE:
      return "Double";
    case BSM_DTYPE_COMPLEX_HALF:
      return "ComplexHalf";
    case BSM_DTYPE_COMPLEX_FLOAT:
      return "ComplexFloat";
    case BSM_DTYPE_COMPLEX_DOUBLE:
      return "ComplexDouble";
    case BSM_DTYPE_BOOL:
      return "Bool";
    case BSM_DTYPE_QINT8:
      return "QInt8";
    case BSM_DTYPE_QUINT8:
      return "QUInt8";
    case BSM_DTYPE_QINT32:
      return "QInt32";
    case BSM_DTYPE_BFLOAT16:
      return "BFloat16";
    case BSM_DTYPE_FLOAT8_E5M2:
      return "Float8_e5m2";
    case BSM_DTYPE_FLOAT8_E4M3FN:
      return "Float8_e4m3fn";
    case BSM_DTYPE_UNDEFINED:
      break;
  }
  return "Undefined";
}

bsm_status bsm_op_real(const bsm_tensor *t) {
  if (!bsm_dtype_has_rows(t->dtype)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "dtype %s is not supported by this op",
                    bsm_dtype_name(t->dtype));
  }
  return BSM_OK;
}

bsm_status bsm_op_number(const bsm_tensor *t) {
  return bsm_dtype_is_complex(t->dtype) ? BSM_OK : bsm_op_real(t);
}

bsm_status bsm_op_check_fill(const bsm_ivalue *value, bsm_dtype dtype) {
  if (value->tag != BSM_IVALUE_COMPLEX || value->u.c.im == 0.0 ||
      bsm_dtype_is_complex(dtype)) {
    return BSM_OK;
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "value cannot be converted to type %s without overflow",
                  bsm_op_type_name(dtype));
}

/* ---- promotion ---- */

static bsm_dtype promote_defined(bsm_dtype a, bsm_dtype b) {
  if (a == BSM_DTYPE_UNDEFINED) return b;
  if (b == BSM_DTYPE_UNDEFINED) return a;
  return bsm_promote_types(a, b);
}

static bsm_dtype to_complex(bsm_dtype d) {
  if (d == BSM_DTYPE_DOUBLE) return BSM_DTYPE_COMPLEX_DOUBLE;
  return d == BSM_DTYPE_HALF ? BSM_DTYPE_COMPLEX_HALF : BSM_DTYPE_COMPLEX_FLOAT;
}

/* The lower category counts only when it is of a higher kind. */
static bsm_dtype combine(bsm_dtype higher, bsm_dtype lower) {
  if (higher == BSM_DTYPE_UNDEFINED) return lower;
  if (bsm_dtype_is_complex(higher)) return higher;
  if (bsm_dtype_is_floating(higher)) {
    return bsm_dtype_is_complex(lower) ? to_complex(higher) : higher;
  }
  if (higher == BSM_DTYPE_BOOL || bsm_dtype_is_floating(lower) ||
      bsm_dtype_is_complex(lower)) {
    return promote_defined(higher, lower);
  }
  return higher;
}

bsm_dtype bsm_op_result_type(bsm_tensor *const *in, int n) {
  bsm_dtype dim = BSM_DTYPE_UNDEFINED, zero = BSM_DTYPE_UNDEFINED,
            wrapped = BSM_DTYPE_UNDEFINED;
  for (int i = 0; i < n; i++) {
    const bsm_tensor *t = in[i];
    if (!t) continue;
    if (t->sizes.rank > 0) {
      dim = promote_defined(dim, t->dtype);
    } else if (t->wrapped_number) {
      bsm_dtype d = t->dtype;
      if (bsm_dtype_is_floating(d)) d = BSM_DTYPE_FLOAT;
      if (bsm_dtype_is_complex(d)) d = BSM_DTYPE_COMPLEX_FLOAT;
      wrapped = promote_defined(wrapped, d);
    } else {
      zero = promote_defined(zero, t->dtype);
    }
  }
  return combine(dim, combine(zero, wrapped));
}

bool bsm_op_can_cast(bsm_dtype from, bsm_dtype to) {
  if (bsm_dtype_is_complex(from) && !bsm_dtype_is_complex(to)) return false;
  if (bsm_dtype_is_floating(from) && bsm_dtype_is_integral(to, true)) {
    return false;
  }
  return !(from != BSM_DTYPE_BOOL && to == BSM_DTYPE_BOOL);
}

bsm_status bsm_op_cast(bsm_op_ctx *cx, bsm_tensor *t, bsm_dtype dtype,
                       bsm_tensor **out) {
  if (t->dtype == dtype) {
    *out = t;
    return BSM_OK;
  }
  return bsm_tensor_to_dtype(cx->arena, t, dtype, out);
}

/* ---- results ---- */

/* Orders dims as TensorIterator: 1 when dim a must come outside of... returns
 * > 0 when the dims are to be swapped, < 0 when they are in order. */
static int compare_dims(bsm_tensor *const *in, int n, bsm_dims shape, int a,
                        int b) {
  for (int k = 0; k < n; k++) {
    const int lead = shape.rank - in[k]->sizes.rank;
    const int i = a - lead, j = b - lead;
    const int64_t sa = i >= 0 && in[k]->sizes.d[i] != 1 ? in[k]->strides[i] : 0;
    const int64_t sb = j >= 0 && in[k]->sizes.d[j] != 1 ? in[k]->strides[j] : 0;
    if (sa == 0 || sb == 0) continue;
    if (sa < sb) return -1;
    if (sa > sb) return 1;
    if (shape.d[a] > shape.d[b]) return 1;
  }
  return 0;
}

static void ordered_strides(bsm_tensor *const *in, int n, bsm_dims shape,
                            int64_t *strides) {
  int perm[BSM_MAX_RANK]; /* innermost first */
  for (int i = 0; i < shape.rank; i++) perm[i] = shape.rank - 1 - i;
  for (int i = 1; i < shape.rank; i++) {
    int at = i;
    for (int j = i - 1; j >= 0; j--) {
      const int c = compare_dims(in, n, shape, perm[j], perm[at]);
      if (c > 0) {
        const int t = perm[j];
        perm[j] = perm[at];
        perm[at] = t;
        at = j;
      } else if (c < 0) {
        break;
      }
    }
  }
  int64_t step = 1;
  for (int i = 0; i < shape.rank; i++) {
    strides[perm[i]] = step;
    const int64_t size = shape.d[perm[i]] > 1 ? shape.d[perm[i]] : 1;
    if (!bsm_i64_mul(step, size, &step)) step = 1;
  }
}

bsm_status bsm_op_new_elementwise(bsm_op_ctx *cx, bsm_dtype dtype,
                                  bsm_dims shape, bsm_tensor *const *in, int n,
                                  bsm_tensor **out) {
  BSM_TRY(bsm_op_new(cx, dtype, shape, out));
  bool same = true, contiguous = true;
  for (int k = 0; k < n; k++) {
    if (!bsm_dims_equal(in[k]->sizes, shape)) same = false;
    if (!bsm_tensor_is_contiguous(in[k])) contiguous = false;
  }
  if (contiguous && same) return BSM_OK;
  bsm_tensor *sized[BSM_ITER_MAX];
  int m = 0;
  for (int k = 0; k < n && m < BSM_ITER_MAX; k++) {
    if (in[k]->sizes.rank > 0) sized[m++] = in[k];
  }
  ordered_strides(sized, m, shape, (*out)->strides);
  return BSM_OK;
}

bool bsm_op_is_dense(const bsm_tensor *t) {
  bool used[BSM_MAX_RANK] = {false};
  int64_t step = 1;
  if (bsm_tensor_numel(t) == 0) return true;
  for (int32_t k = 0; k < t->sizes.rank; k++) {
    int32_t next = -1;
    for (int32_t i = 0; i < t->sizes.rank; i++) {
      if (!used[i] && t->sizes.d[i] != 1 && t->strides[i] == step) next = i;
    }
    if (next < 0) break;
    used[next] = true;
    step *= t->sizes.d[next];
  }
  return step == bsm_tensor_numel(t);
}

bsm_status bsm_op_new_like(bsm_op_ctx *cx, bsm_dtype dtype, const bsm_tensor *t,
                           bsm_tensor **out) {
  BSM_TRY(bsm_op_new(cx, dtype, t->sizes, out));
  (*out)->device_type = t->device_type;
  (*out)->device_index = t->device_index;
  if (bsm_tensor_is_contiguous(t)) return BSM_OK;
  if (bsm_op_is_dense(t)) {
    memcpy((*out)->strides, t->strides, sizeof(t->strides));
  } else {
    bsm_tensor *in[] = {(bsm_tensor *)t};
    ordered_strides(in, 1, t->sizes, (*out)->strides);
  }
  return BSM_OK;
}

/* Two indices reach one element: a dim of size > 1 has stride 0. (PyTorch looks
 * at the same.) */
static bool overlaps_itself(const bsm_tensor *t) {
  for (int32_t i = 0; i < t->sizes.rank; i++) {
    if (t->sizes.d[i] > 1 && t->strides[i] == 0) return true;
  }
  return false;
}

bsm_status bsm_op_fillable(bsm_op_ctx *cx, bsm_tensor *t) {
  bsm_storage *s = t->storage;
  if (s->meta || !s->read_only) return BSM_OK;
  void *copy = bsm_arena_alloc(cx->arena, s->size ? s->size : 1, 64);
  BSM_TRY_ALLOC(copy);
  if (s->size > 0) memcpy(copy, s->data, s->size);
  s->data = copy;
  s->read_only = false;
  return BSM_OK;
}

bsm_status bsm_op_writable(bsm_op_ctx *cx, bsm_tensor *t) {
  if (overlaps_itself(t) && bsm_tensor_numel(t) > 0) {
    return BSM_FAIL(
        BSM_INVALID_ARGUMENT,
        "unsupported operation: more than one element of the written-to tensor "
        "refers to a single memory location. Please clone() the tensor before "
        "performing the operation.");
  }
  return bsm_op_fillable(cx, t);
}

bsm_c128 *bsm_op_load_complex(bsm_op_ctx *cx, const bsm_tensor *t) {
  const size_t n = (size_t)bsm_tensor_numel(t);
  bsm_c128 *values = BSM_NEW_ARRAY(cx->arena, bsm_c128, n + 1);
  if (!values) return NULL;
  const bsm_tensor *one[] = {t};
  bsm_iter it;
  bsm_iter_init(&it, t->sizes, one, 1);
  bsm_c128 *p = values;
  while (bsm_iter_next(&it)) {
    bsm_load_c128(t->dtype, it.ptr[0], it.step[0], (size_t)it.count, p);
    p += it.count;
  }
  return values;
}

void bsm_op_store_complex(const bsm_tensor *t, const bsm_c128 *values) {
  const bsm_tensor *one[] = {t};
  bsm_iter it;
  bsm_iter_init(&it, t->sizes, one, 1);
  while (bsm_iter_next(&it)) {
    bsm_store_c128(t->dtype, it.ptr[0], it.step[0], (size_t)it.count, values);
    values += it.count;
  }
}

double *bsm_op_load_all(bsm_op_ctx *cx, const bsm_tensor *t) {
  const size_t n = (size_t)bsm_tensor_numel(t);
  double *values = BSM_NEW_ARRAY(cx->arena, double, n + 1);
  if (!values) return NULL;
  const bsm_tensor *one[] = {t};
  bsm_iter it;
  bsm_iter_init(&it, t->sizes, one, 1);
  double *p = values;
  while (bsm_iter_next(&it)) {
    bsm_load_f64(t->dtype, it.ptr[0], it.step[0], (size_t)it.count, p);
    p += it.count;
  }
  return values;
}

int64_t *bsm_op_load_ints(bsm_op_ctx *cx, const bsm_tensor *t) {
  const size_t n = (size_t)bsm_tensor_numel(t);
  int64_t *values = BSM_NEW_ARRAY(cx->arena, int64_t, n + 1);
  if (!values) return NULL;
  const bsm_tensor *one[] = {t};
  bsm_iter it;
  bsm_iter_init(&it, t->sizes, one, 1);
  int64_t *p = values;
  while (bsm_iter_next(&it)) {
    bsm_load_i64(t->dtype, it.ptr[0], it.step[0], (size_t)it.count, p);
    p += it.count;
  }
  return values;
}

void bsm_op_store_ints(const bsm_tensor *t, const int64_t *values) {
  const bsm_tensor *one[] = {t};
  bsm_iter it;
  bsm_iter_init(&it, t->sizes, one, 1);
  while (bsm_iter_next(&it)) {
    bsm_store_i64(t->dtype, it.ptr[0], it.step[0], (size_t)it.count, values);
    values += it.count;
  }
}

void bsm_op_store_all(const bsm_tensor *t, const double *values) {
  const bsm_tensor *one[] = {t};
  bsm_iter it;
  bsm_iter_init(&it, t->sizes, one, 1);
  while (bsm_iter_next(&it)) {
    bsm_store_f64(t->dtype, it.ptr[0], it.step[0], (size_t)it.count, values);
    values += it.count;
  }
}
