/* SPDX-License-Identifier: Apache-2.0 */
/* Advanced indexing with tensors and masks: index, index_put, where,
 * masked_fill, nonzero. gather and scatter are in aten_gather.c. */
#include "aten/packed/aten_index.h"
#include "aten/op_kit.h"

/* ---- nonzero ---- */

/* Bytes of a mask that are looked at together. */
#define WORD 8

/* Bit 8 k: byte k of the word at `p` is not 0. */
static uint64_t true_bytes(const uint8_t *p) {
  const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
  uint64_t w;
  memcpy(&w, p, sizeof(w));
  return (((w & low) + low) | w) >> 7 & UINT64_C(0x0101010101010101);
}

static int64_t count_true(const uint8_t *mask, int64_t n) {
  int64_t count = 0, i = 0;
  for (; i + WORD <= n; i += WORD) {
    count +=
        (int64_t)(true_bytes(mask + i) * UINT64_C(0x0101010101010101) >> 56);
  }
  for (; i < n; i++) count += mask[i] != 0;
  return count;
}

/* The next byte from `i` on that is not 0, or n. */
static int64_t next_true(const uint8_t *mask, int64_t i, int64_t n) {
  while (i + WORD <= n && !true_bytes(mask + i)) i += WORD;
  while (i < n && !mask[i]) i++;
  return i;
}

/* The bytes of a bool tensor in row-major order. */
static bsm_status mask_bytes(bsm_op_ctx *cx, bsm_tensor *mask,
                             const uint8_t **out) {
  BSM_TRY(bsm_tensor_contiguous(cx->arena, mask, &mask));
  *out = bsm_tensor_data(mask);
  return BSM_OK;
}

/* Positions of the elements that are not 0: [count, rank] in row-major order.
 */
static bsm_status nonzero(bsm_op_ctx *cx, const bsm_tensor *t,
                          bsm_tensor **out) {
  BSM_TRY(bsm_op_number(t));
  if (bsm_tensor_is_meta(t)) {
    return BSM_FAIL(BSM_DATA_DEPENDENT,
                    "the shape of nonzero depends on the values");
  }
  bsm_tensor *bools;
  const uint8_t *mask;
  BSM_TRY(bsm_op_cast(cx, (bsm_tensor *)t, BSM_DTYPE_BOOL, &bools));
  BSM_TRY(mask_bytes(cx, bools, &mask));
  const int64_t n = bsm_tensor_numel(t), rank = t->sizes.rank;
  BSM_TRY(bsm_tensor_new(cx->arena, BSM_DTYPE_INT64,
                         op_dims2(count_true(mask, n), rank), false, out));
  int64_t *row = bsm_tensor_data(*out);
  for (int64_t i = next_true(mask, 0, n); i < n;
       i = next_true(mask, i + 1, n), row += rank) {
    int64_t rest = i;
    for (int64_t d = rank - 1; d > 0; d--) {
      row[d] = rest % t->sizes.d[d];
      rest /= t->sizes.d[d];
    }
    if (rank > 0) row[0] = rest;
  }
  return BSM_OK;
}

static bsm_status op_nonzero(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  BSM_TRY(nonzero(cx, op_tensor(&args[0]), &out));
  return op_return(outs, out);
}

/* nonzero_numpy(self), where(condition): one tensor for each dim */
static bsm_status op_nonzero_columns(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *all, *columns[BSM_MAX_RANK];
  if (t->sizes.rank == 0) BSM_TRY(bsm_op_unsqueeze(cx, t, 0, &t));
  BSM_TRY(nonzero(cx, t, &all));
  const int32_t rank = t->sizes.rank;
  for (int32_t d = 0; d < rank; d++) {
    BSM_TRY(bsm_op_select(cx, all, 1, d, &columns[d]));
  }
  return bsm_iv_tensor_list(cx->arena, columns, (size_t)rank, &outs[0]);
}

/* ---- index ---- */

/* Element offsets: element (p, m, q) of the result lies at
 * pre[p] + mid[m] + post[q] of the tensor. */
typedef struct index_plan {
  int64_t *pre, *mid, *post;
  int64_t pre_count, mid_count, post_count;
  bsm_dims shape; /* of the result */
} index_plan;

static bsm_status check_index_type(const bsm_tensor *index) {
  const bsm_dtype d = index->dtype;
  if (d == BSM_DTYPE_INT64 || d == BSM_DTYPE_INT32 || d == BSM_DTYPE_BOOL ||
      d == BSM_DTYPE_UINT8) {
    return BSM_OK;
  }
  return BSM_FAIL(BSM_OUT_OF_RANGE,
                  "tensors used as indices must be long, int, byte or bool "
                  "tensors");
}

/* Replaces masks by their positions; one index (or NULL) for each dim. */
static bsm_status spread_masks(bsm_op_ctx *cx, const bsm_tensor *t,
                               const bsm_ivalue *list, bsm_tensor **index,
                               int *count) {
  int dim = 0;
  for (size_t i = 0; i < op_list_len(list); i++) {
    bsm_tensor *x = op_list_tensor(list, i);
    if (!x) {
      if (dim >= t->sizes.rank) break;
      index[dim++] = NULL;
      continue;
    }
    BSM_TRY(check_index_type(x));
    const bool mask = x->dtype == BSM_DTYPE_BOOL || x->dtype == BSM_DTYPE_UINT8;
    const int used = mask ? x->sizes.rank : 1;
    if (dim + used > t->sizes.rank) {
      return BSM_FAIL(BSM_OUT_OF_RANGE,
                      "too many indices for tensor of dimension %d",
                      (int)t->sizes.rank);
    }
    if (!mask) {
      index[dim++] = x;
      continue;
    }
    for (int d = 0; d < used; d++) {
      if (x->sizes.d[d] != t->sizes.d[dim + d]) {
        return BSM_FAIL(BSM_OUT_OF_RANGE,
                        "The shape of the mask %s at index %d does not match "
                        "the shape of the indexed tensor %s at index %d",
                        bsm_dims_str(x->sizes), d, bsm_dims_str(t->sizes),
                        dim + d);
      }
    }
    bsm_tensor *all;
    BSM_TRY(nonzero(cx, x, &all));
    if (used == 0) {
      return BSM_FAIL(BSM_UNSUPPORTED, "indexing with a 0-dim mask");
    }
    for (int d = 0; d < used; d++) {
      BSM_TRY(bsm_op_select(cx, all, 1, d, &index[dim++]));
    }
  }
  *count = dim;
  return BSM_OK;
}

/* Offsets of all positions of the dims [from, to) that have no index. */
static bsm_status free_offsets(bsm_op_ctx *cx, const bsm_tensor *t,
                               bsm_tensor *const *index, int from, int to,
                               int64_t **out, int64_t *count, bsm_dims *shape) {
  int64_t n = 1;
  for (int d = from; d < to; d++) {
    if (index[d]) continue;
    n *= t->sizes.d[d];
    shape->d[shape->rank++] = t->sizes.d[d];
  }
  *count = n;
  if (cx->meta) return BSM_OK;
  *out = BSM_NEW_ARRAY(cx->arena, int64_t, (size_t)n + 1);
  BSM_TRY_ALLOC(*out);
  if (n == 0) return BSM_OK;
  /* Dimension by dimension, each repeating what those inside of it give. */
  int64_t done = 1;
  (*out)[0] = 0;
  for (int d = to - 1; d >= from; d--) {
    if (index[d]) continue;
    for (int64_t i = done; i < done * t->sizes.d[d]; i++) {
      (*out)[i] = (*out)[i - done] + t->strides[d];
    }
    done *= t->sizes.d[d];
  }
  return BSM_OK;
}

static bsm_status add_index(const bsm_tensor *t, int dim, const bsm_tensor *x,
                            bsm_dims shape, int64_t *offsets) {
  const bsm_tensor *one[] = {x};
  const int64_t size = t->sizes.d[dim];
  bsm_iter it;
  bsm_iter_init(&it, shape, one, 1);
  while (bsm_iter_next(&it)) {
    for (int64_t i = 0; i < it.count; i++) {
      const char *at = it.ptr[0] + i * it.step[0];
      const int64_t v = x->dtype == BSM_DTYPE_INT64
                            ? *(const int64_t *)(const void *)at
                            : bsm_load1_i64(x->dtype, at);
      if (v < -size || v >= size) {
        return BSM_FAIL(BSM_OUT_OF_RANGE,
                        "index %lld is out of bounds for dimension %d with "
                        "size %lld",
                        (long long)v, dim, (long long)size);
      }
      *offsets++ += (v < 0 ? v + size : v) * t->strides[dim];
    }
  }
  return BSM_OK;
}

static bsm_status plan_index(bsm_op_ctx *cx, const bsm_tensor *t,
                             const bsm_ivalue *list, index_plan *plan) {
  bsm_tensor *index[BSM_MAX_RANK] = {NULL};
  int given = 0, first = -1, last = -1, indexed = 0;
  *plan = (index_plan){0};
  BSM_TRY(spread_masks(cx, t, list, index, &given));
  bsm_dims mid = {0};
  for (int d = 0; d < given; d++) {
    if (!index[d]) continue;
    BSM_TRY_NOTE(bsm_op_broadcast(mid, index[d]->sizes, &mid),
                 "shape mismatch: indexing tensors could not be broadcast "
                 "together");
    if (first < 0) first = d;
    last = d;
    indexed++;
  }
  if (indexed == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "at least one index must be provided");
  }
  if (mid.rank + t->sizes.rank - indexed > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "a result of more than %d dimensions",
                    BSM_MAX_RANK);
  }
  /* Indices of adjacent dims keep their place, others come first. */
  const bool adjacent = last - first + 1 == indexed;
  const int split = adjacent ? first : 0;
  BSM_TRY(free_offsets(cx, t, index, 0, split, &plan->pre, &plan->pre_count,
                       &plan->shape));
  for (int32_t i = 0; i < mid.rank; i++) {
    plan->shape.d[plan->shape.rank++] = mid.d[i];
  }
  BSM_TRY(free_offsets(cx, t, index, split, t->sizes.rank, &plan->post,
                       &plan->post_count, &plan->shape));
  if (!bsm_dims_numel(mid, &plan->mid_count)) {
    return BSM_FAIL(BSM_LIMIT, "too many indices");
  }
  if (cx->meta) return BSM_OK;
  plan->mid = BSM_NEW_ARRAY(cx->arena, int64_t, (size_t)plan->mid_count + 1);
  BSM_TRY_ALLOC(plan->mid);
  for (int d = first; d <= last; d++) {
    if (index[d]) BSM_TRY(add_index(t, d, index[d], mid, plan->mid));
  }
  return BSM_OK;
}

/* Whether offsets are those of elements beside each other. */
static bool is_run(const int64_t *offsets, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    if (offsets[i] != offsets[0] + i) return false;
  }
  return offsets[0] == 0;
}

/* One element is most often 4 or 8 bytes: no call. */
static void copy_elements(char *to, const char *from, int64_t bytes) {
  if (bytes == 4) {
    memcpy(to, from, 4);
  } else if (bytes == 8) {
    memcpy(to, from, 8);
  } else {
    memcpy(to, from, (size_t)bytes);
  }
}

static bsm_status op_index(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  index_plan plan;
  BSM_TRY(plan_index(cx, t, &args[1], &plan));
  BSM_TRY(bsm_op_new(cx, t->dtype, plan.shape, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta || bsm_tensor_numel(out) == 0) return BSM_OK;
  const int64_t size = (int64_t)bsm_dtype_size(t->dtype);
  const int64_t n = plan.post_count;
  const bool whole = is_run(plan.post, n);
  const char *src = bsm_tensor_data(t);
  char *dst = bsm_tensor_data(out);
  for (int64_t p = 0; p < plan.pre_count; p++) {
    for (int64_t m = 0; m < plan.mid_count; m++, dst += n * size) {
      const char *from = src + (plan.pre[p] + plan.mid[m]) * size;
      if (whole) {
        copy_elements(dst, from, n * size);
      } else {
        for (int64_t q = 0; q < n; q++) {
          copy_elements(dst + q * size, from + plan.post[q] * size, size);
        }
      }
    }
  }
  return BSM_OK;
}

static void put_one(bsm_dtype d, char *dst, const char *src, bool accumulate) {
  if (!accumulate) {
    memcpy(dst, src, bsm_dtype_size(d));
  } else if (bsm_dtype_is_complex(d)) {
    bsm_c128 a, b;
    bsm_load_c128(d, dst, 0, 1, &a);
    bsm_load_c128(d, src, 0, 1, &b);
    a = (bsm_c128){a.re + b.re, a.im + b.im};
    bsm_store_c128(d, dst, 0, 1, &a);
  } else if (bsm_dtype_is_integral(d, true)) {
    bsm_store1_i64(d, dst,
                   (int64_t)((uint64_t)bsm_load1_i64(d, dst) +
                             (uint64_t)bsm_load1_i64(d, src)));
  } else {
    bsm_store1_f64(d, dst, bsm_load1_f64(d, dst) + bsm_load1_f64(d, src));
  }
}

/* index_put_(self, indices, values, accumulate) */
static bsm_status op_index_put(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *values = op_tensor(&args[2]), *wide;
  const bool accumulate = op_bool(&args[3]);
  index_plan plan;
  if (values->dtype != t->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Index put requires the source and destination dtypes "
                    "match, got %s for the destination and %s for the source.",
                    bsm_op_type_name(t->dtype),
                    bsm_op_type_name(values->dtype));
  }
  BSM_TRY(bsm_op_number(t));
  if (self->flags & BSM_ATEN_INPLACE) {
    BSM_TRY(bsm_op_writable(cx, t));
  } else if (cx->meta) {
    BSM_TRY(bsm_op_new(cx, t->dtype, t->sizes, &t));
  } else {
    BSM_TRY(bsm_tensor_clone(cx->arena, t, &t));
  }
  outs[0] = bsm_iv_tensor(t);
  if (cx->meta) {
    /* The shape does not depend on the indices; only they can be wrong. */
    return BSM_OK;
  }
  BSM_TRY(plan_index(cx, t, &args[1], &plan));
  BSM_TRY_NOTE(bsm_op_expand(cx, values, plan.shape, &wide),
               "shape mismatch: value tensor of shape %s cannot be broadcast "
               "to indexing result of shape %s",
               bsm_dims_str(values->sizes), bsm_dims_str(plan.shape));
  BSM_TRY(bsm_tensor_clone(cx->arena, wide, &wide));
  const int64_t size = (int64_t)bsm_dtype_size(t->dtype);
  const char *src = bsm_tensor_data(wide);
  char *dst = bsm_tensor_data(t);
  for (int64_t p = 0; p < plan.pre_count; p++) {
    for (int64_t m = 0; m < plan.mid_count; m++) {
      for (int64_t q = 0; q < plan.post_count; q++, src += size) {
        const int64_t at = plan.pre[p] + plan.mid[m] + plan.post[q];
        put_one(t->dtype, dst + at * size, src, accumulate);
      }
    }
  }
  return BSM_OK;
}

/* ---- where and masks ---- */

static void f_where(double *out, const double *const *in, size_t n,
                    const void *params) {
  (void)params;
  for (size_t k = 0; k < n; k++) out[k] = in[0][k] != 0.0 ? in[1][k] : in[2][k];
}
static void i_where(int64_t *out, const int64_t *const *in, size_t n,
                    const void *params) {
  (void)params;
  for (size_t k = 0; k < n; k++) out[k] = in[0][k] ? in[1][k] : in[2][k];
}

static void c_where(bsm_c128 *out, const bsm_c128 *const *in, size_t n,
                    const void *params) {
  (void)params;
  for (size_t k = 0; k < n; k++) {
    out[k] = in[0][k].re != 0.0 ? in[1][k] : in[2][k];
  }
}

/* where(condition, self, other), each of the latter a tensor or a number */
static bsm_status op_where(OP_PARAMS) {
  (void)self;
  bsm_tensor *in[3], *out;
  for (int i = 0; i < 3; i++) {
    in[i] = op_tensor(&args[i]);
    if (!in[i]) BSM_TRY(bsm_op_wrap(cx, &args[i], &in[i]));
  }
  if (in[0]->dtype != BSM_DTYPE_BOOL && in[0]->dtype != BSM_DTYPE_UINT8) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "where expected condition to be a boolean tensor, but got "
                    "a tensor with dtype %s",
                    bsm_op_type_name(in[0]->dtype));
  }
  bsm_pointwise pw = {"where_cpu", f_where, i_where, BSM_PW_NO_CAST,
                      NULL,        0,       true,    c_where};
  pw.common = bsm_op_result_type(in + 1, 2);
  BSM_TRY(bsm_op_pointwise(cx, &pw, in, 3, NULL, &out));
  return op_return(outs, out);
}

/* masked_fill(self, mask, value) */
static bsm_status op_masked_fill(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *mask = op_tensor(&args[1]),
             *value = op_tensor(&args[2]), *out;
  if (!value) BSM_TRY(bsm_op_wrap(cx, &args[2], &value));
  if (mask->dtype != BSM_DTYPE_BOOL) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "masked_fill_ only supports boolean masks, but got mask "
                    "with dtype %s",
                    bsm_op_type_name(mask->dtype));
  }
  if (value->sizes.rank != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "masked_fill only supports a 0-dimensional value tensor, "
                    "but got tensor with %d dimension(s).",
                    (int)value->sizes.rank);
  }
  BSM_TRY(bsm_op_check_fill(&args[2], t->dtype));
  if (!cx->meta && value->dtype != t->dtype) {
    const bool whole = bsm_dtype_is_integral(t->dtype, true);
    if (whole && !isfinite(bsm_tensor_get_double(value, 0))) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "value cannot be converted to type %s without overflow",
                      bsm_op_type_name(t->dtype));
    }
    BSM_TRY(bsm_tensor_to_dtype(cx->arena, value, t->dtype, &value));
  }
  bsm_tensor *in[] = {mask, value, t};
  const bsm_pointwise pw = {"masked_fill", f_where,  i_where, BSM_PW_NO_CAST,
                            NULL,          t->dtype, true,    c_where};
  BSM_TRY(bsm_op_pointwise(cx, &pw, in, 3,
                           self->flags & BSM_ATEN_INPLACE ? t : NULL, &out));
  return op_return(outs, out);
}

/* masked_select(self, mask): a 1-D tensor of what the mask selects */
static bsm_status op_masked_select(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *mask = op_tensor(&args[1]), *out;
  bsm_dims shape;
  if (mask->dtype != BSM_DTYPE_BOOL) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "masked_select: expected BoolTensor for mask");
  }
  BSM_TRY(bsm_op_broadcast(t->sizes, mask->sizes, &shape));
  BSM_TRY(bsm_op_expand(cx, t, shape, &t));
  BSM_TRY(bsm_op_expand(cx, mask, shape, &mask));
  if (bsm_tensor_is_meta(mask)) {
    return BSM_FAIL(BSM_DATA_DEPENDENT,
                    "the shape of masked_select depends on the mask");
  }
  const int64_t n = bsm_tensor_numel(mask);
  const uint8_t *bytes;
  BSM_TRY(mask_bytes(cx, mask, &bytes));
  BSM_TRY(bsm_op_new(cx, t->dtype, op_dims1(count_true(bytes, n)), &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  BSM_TRY(bsm_tensor_contiguous(cx->arena, t, &t));
  const int64_t size = (int64_t)bsm_dtype_size(t->dtype);
  const char *src = bsm_tensor_data(t);
  char *dst = bsm_tensor_data(out);
  for (int64_t i = next_true(bytes, 0, n); i < n;
       i = next_true(bytes, i + 1, n), dst += size) {
    copy_elements(dst, src + i * size, size);
  }
  return BSM_OK;
}

/* masked_scatter(self, mask, source): source elements in order */
static bsm_status op_masked_scatter(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *mask = op_tensor(&args[1]),
             *source = op_tensor(&args[2]), *out;
  bsm_dims shape;
  if (mask->dtype != BSM_DTYPE_BOOL || t->dtype != source->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "masked_scatter: expected a bool mask, and self and source "
                    "to have same dtypes but got %s and %s",
                    bsm_op_type_name(t->dtype),
                    bsm_op_type_name(source->dtype));
  }
  BSM_TRY(bsm_op_broadcast(t->sizes, mask->sizes, &shape));
  if (self->flags & BSM_ATEN_INPLACE) {
    BSM_TRY(bsm_op_writable(cx, t));
    shape = t->sizes;
    out = t;
  } else {
    BSM_TRY(bsm_op_expand(cx, t, shape, &t));
    BSM_TRY(bsm_op_new(cx, t->dtype, shape, &out));
    if (!cx->meta) BSM_TRY(bsm_tensor_copy(out, t));
  }
  BSM_TRY(bsm_op_expand(cx, mask, shape, &mask));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  const int64_t n = bsm_tensor_numel(mask), have = bsm_tensor_numel(source);
  const size_t size = bsm_dtype_size(out->dtype);
  int64_t used = 0;
  BSM_TRY(bsm_tensor_clone(cx->arena, source, &source));
  for (int64_t i = 0; i < n; i++) {
    if (!bsm_tensor_get_int(mask, i)) continue;
    if (used == have) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "masked_scatter: expected the number of ones in mask to "
                      "be at most the number of elements in source");
    }
    int64_t at = 0, rest = i;
    for (int32_t d = shape.rank - 1; d >= 0; d--) {
      at += rest % shape.d[d] * out->strides[d];
      rest /= shape.d[d];
    }
    memcpy((char *)bsm_tensor_data(out) + (size_t)at * size,
           (const char *)bsm_tensor_data(source) + (size_t)used++ * size, size);
  }
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::nonzero(Tensor self) -> Tensor", op_nonzero, 0, 0),
    OP("aten::nonzero_numpy(Tensor self) -> Tensor[]", op_nonzero_columns, 0,
       0),
    OP("aten::where(Tensor condition) -> Tensor[]", op_nonzero_columns, 0, 0),
    OP("aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", op_index,
       0, 0),
    OP("aten::index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> "
       "Tensor",
       op_index, 0, 0),
    OP("aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
       op_index, 0, 0),
    OP("aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool "
       "accumulate=False) -> Tensor",
       op_index_put, 0, 0),
    OP("aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, "
       "bool "
       "accumulate=False) -> Tensor(a!)",
       op_index_put, 0, BSM_ATEN_INPLACE),
    OP("aten::index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor "
       "values, bool accumulate=False) -> Tensor",
       op_index_put, 0, 0),
    OP("aten::index_put_.hacked_twin(Tensor(a!) self, Tensor[] indices, Tensor "
       "values, bool accumulate=False) -> Tensor(a!)",
       op_index_put, 0, BSM_ATEN_INPLACE),
    OP("aten::_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor "
       "values, bool accumulate=False, bool unsafe=False) -> Tensor(a!)",
       op_index_put, 0, BSM_ATEN_INPLACE),
    OP("aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, "
       "bool accumulate=False) -> Tensor",
       op_index_put, 0, 0),
    OP("aten::where.self(Tensor condition, Tensor self, Tensor other) -> "
       "Tensor",
       op_where, 0, BSM_ATEN_COMPLEX),
    OP("aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) "
       "-> "
       "Tensor",
       op_where, 0, BSM_ATEN_COMPLEX),
    OP("aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> "
       "Tensor",
       op_where, 0, BSM_ATEN_COMPLEX),
    OP("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> "
       "Tensor",
       op_where, 0, BSM_ATEN_COMPLEX),
    OP("aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> "
       "Tensor",
       op_masked_fill, 0, BSM_ATEN_COMPLEX),
    OP("aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> "
       "Tensor",
       op_masked_fill, 0, BSM_ATEN_COMPLEX),
    OP("aten::masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) "
       "-> "
       "Tensor(a!)",
       op_masked_fill, 0, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::masked_fill_.Tensor(Tensor(a!) self, Tensor mask, Tensor value) "
       "-> "
       "Tensor(a!)",
       op_masked_fill, 0, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::masked_select(Tensor self, Tensor mask) -> Tensor",
       op_masked_select, 0, 0),
    OP("aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> "
       "Tensor",
       op_masked_scatter, 0, 0),
    OP("aten::masked_scatter_(Tensor(a!) self, Tensor mask, Tensor source) -> "
       "Tensor(a!)",
       op_masked_scatter, 0, BSM_ATEN_INPLACE),
};
BSM_ATEN_TABLE(index, rows);
