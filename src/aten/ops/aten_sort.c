/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting, top-k, unique values, and searching in sorted ones. */
#include "aten/packed/aten_sort.h"
#include "aten/op_kit.h"
#include "base/ordering.h"

/* What sorting does for an element, and searching for a value. */
enum { SORT_WORK = 32 };

/* Elements as doubles, or, exactly, as integers: one of the two is NULL. */
typedef struct keys {
  const double *x;
  const int64_t *ints;
} keys;

static bsm_status load_keys(bsm_op_ctx *cx, const bsm_tensor *t, keys *out) {
  *out = (keys){NULL, NULL};
  if (bsm_dtype_is_integral(t->dtype, true)) {
    out->ints = bsm_op_load_ints(cx, t);
  } else {
    out->x = bsm_op_load_all(cx, t);
  }
  BSM_TRY_ALLOC(out->x || out->ints);
  return BSM_OK;
}

static keys keys_from(const keys *k, size_t first) {
  return (keys){k->x ? k->x + first : NULL, k->ints ? k->ints + first : NULL};
}

static void make_items(const keys *k, size_t n, bool descending,
                       bsm_ordered *items) {
  for (size_t i = 0; i < n; i++) {
    const uint64_t key = k->ints ? bsm_order_of_integer(k->ints[i])
                                 : bsm_order_of_double(k->x[i]);
    items[i] = (bsm_ordered){descending ? ~key : key, (int64_t)i};
  }
}

/* The first k positions in the order of the keys. */
static const bsm_ordered *first_positions(const keys *x, size_t n, size_t k,
                                          bool descending, bsm_ordered *items) {
  make_items(x, n, descending, items);
  return bsm_order_first(items, n, k);
}

/* The first k of each sorted row along `dim`; either result may be NULL. */
static bsm_status sort_rows(bsm_op_ctx *cx, bsm_tensor *t, int dim, int64_t k,
                            bool descending, bsm_tensor *values,
                            bsm_tensor *indices) {
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  const int last = t->sizes.rank > 0 ? t->sizes.rank - 1 : 0;
  bsm_tensor *from, *to = NULL, *at = NULL;
  BSM_TRY(bsm_op_transpose(cx, t, dim, last, &from));
  if (values) BSM_TRY(bsm_op_transpose(cx, values, dim, last, &to));
  if (indices) BSM_TRY(bsm_op_transpose(cx, indices, dim, last, &at));
  const size_t total = (size_t)bsm_tensor_numel(t);
  const size_t n = t->sizes.rank > 0 ? (size_t)from->sizes.d[last] : 1;
  keys x;
  BSM_TRY(bsm_op_charge(cx, (int64_t)total, SORT_WORK, 1));
  BSM_TRY(load_keys(cx, from, &x));
  bsm_ordered *items = BSM_NEW_ARRAY(cx->arena, bsm_ordered, 2 * n + 1);
  double *sorted = BSM_NEW_ARRAY(cx->arena, double, total + 1);
  int64_t *sorted_ints = BSM_NEW_ARRAY(cx->arena, int64_t, total + 1);
  int64_t *positions = BSM_NEW_ARRAY(cx->arena, int64_t, total + 1);
  BSM_TRY_ALLOC(sorted_ints);
  BSM_TRY_ALLOC(items);
  BSM_TRY_ALLOC(sorted);
  BSM_TRY_ALLOC(positions);
  size_t out = 0;
  for (size_t r = 0; n > 0 && r < total; r += n) {
    const keys row = keys_from(&x, r);
    const bsm_ordered *order =
        first_positions(&row, n, (size_t)k, descending, items);
    for (int64_t i = 0; i < k; i++, out++) {
      const int64_t position = order[i].position;
      if (row.ints) {
        sorted_ints[out] = row.ints[position];
      } else {
        sorted[out] = row.x[position];
      }
      positions[out] = position;
    }
  }
  if (to && x.ints) bsm_op_store_ints(to, sorted_ints);
  if (to && x.x) bsm_op_store_all(to, sorted);
  if (at) bsm_op_store_ints(at, positions);
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

static bsm_status sort(bsm_op_ctx *cx, bsm_tensor *t, const bsm_ivalue *dim_arg,
                       const bsm_ivalue *descending, bsm_ivalue *values_out,
                       bsm_ivalue *indices_out) {
  bsm_tensor *values = NULL, *indices;
  int dim;
  BSM_TRY(bsm_op_real(t));
  BSM_TRY(bsm_op_wrap_dim(op_int(dim_arg), t->sizes.rank, &dim));
  if (values_out) {
    BSM_TRY(bsm_op_new_like(cx, t->dtype, t, &values));
    *values_out = bsm_iv_tensor(values);
  }
  BSM_TRY(bsm_op_new_like(cx, BSM_DTYPE_INT64, t, &indices));
  *indices_out = bsm_iv_tensor(indices);
  if (cx->meta || bsm_tensor_numel(t) == 0) return BSM_OK;
  return sort_rows(cx, t, dim, t->sizes.rank ? t->sizes.d[dim] : 1,
                   op_bool(descending), values, indices);
}

/* sort(self, dim, descending); sort.stable(self, *, stable, dim, descending) */
static bsm_status op_sort(OP_PARAMS) {
  const int at = self->variant; /* 0, or 1 after `stable` */
  return sort(cx, op_tensor(&args[0]), &args[1 + at], &args[2 + at], &outs[0],
              &outs[1]);
}

static bsm_status op_argsort(OP_PARAMS) {
  const int at = self->variant;
  return sort(cx, op_tensor(&args[0]), &args[1 + at], &args[2 + at], NULL,
              &outs[0]);
}

static bsm_status op_msort(OP_PARAMS) {
  (void)self;
  const bsm_ivalue zero = bsm_iv_int(0), no = bsm_iv_bool(false);
  bsm_ivalue indices;
  return sort(cx, op_tensor(&args[0]), &zero, &no, &outs[0], &indices);
}

/* topk(self, k, dim, largest, sorted) */
static bsm_status op_topk(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *values, *indices;
  int64_t k = op_int(&args[1]);
  int dim;
  BSM_TRY(bsm_op_real(t));
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), t->sizes.rank, &dim));
  const int64_t n = t->sizes.rank ? t->sizes.d[dim] : 1;
  if (k < 0 || k > n) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "selected index k out of range");
  }
  if (t->sizes.rank == 0) k = 1; /* PyTorch gives a number whatever k is */
  bsm_dims shape = t->sizes;
  if (shape.rank > 0) shape.d[dim] = k;
  BSM_TRY(bsm_op_new(cx, t->dtype, shape, &values));
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, shape, &indices));
  outs[0] = bsm_iv_tensor(values);
  outs[1] = bsm_iv_tensor(indices);
  if (cx->meta || bsm_tensor_numel(values) == 0) return BSM_OK;
  return sort_rows(cx, t, dim, k, op_bool(&args[3]), values, indices);
}

/* kthvalue(self, k, dim, keepdim): by sorting */
static bsm_status op_kthvalue(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *values, *indices;
  const int64_t k = op_int(&args[1]);
  int dim;
  BSM_TRY(bsm_op_real(t));
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), t->sizes.rank, &dim));
  const int64_t n = t->sizes.rank ? t->sizes.d[dim] : 1;
  if (k < 1 || k > n) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "kthvalue(): selected number k out of range for dimension "
                    "%d",
                    dim);
  }
  bsm_dims shape = t->sizes;
  if (shape.rank > 0) shape.d[dim] = k;
  BSM_TRY(bsm_op_new(cx, t->dtype, shape, &values));
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, shape, &indices));
  if (!cx->meta && bsm_tensor_numel(values) > 0) {
    BSM_TRY(sort_rows(cx, t, dim, k, false, values, indices));
  }
  bsm_tensor *both[] = {values, indices};
  for (int i = 0; i < 2; i++) {
    if (t->sizes.rank > 0) {
      BSM_TRY(op_bool(&args[3])
                  ? bsm_op_narrow(cx, both[i], dim, k - 1, 1, &both[i])
                  : bsm_op_select(cx, both[i], dim, k - 1, &both[i]));
    }
    outs[i] = bsm_iv_tensor(both[i]);
  }
  return BSM_OK;
}

/* _unique2(self, sorted, return_inverse, return_counts) */
static bsm_status op_unique(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *values, *inverse, *counts;
  BSM_TRY(bsm_op_real(t));
  if (cx->meta) {
    return BSM_FAIL(BSM_DATA_DEPENDENT,
                    "the shape of unique depends on the values");
  }
  const bool want_inverse = op_bool(&args[2]);
  const bool want_counts = self->variant != 0 && op_bool(&args[3]);
  const size_t n = (size_t)bsm_tensor_numel(t);
  keys x;
  BSM_TRY(bsm_op_charge(cx, (int64_t)n, SORT_WORK, 1));
  BSM_TRY(load_keys(cx, t, &x));
  bsm_ordered *items = BSM_NEW_ARRAY(cx->arena, bsm_ordered, 2 * n + 1);
  int64_t *group = BSM_NEW_ARRAY(cx->arena, int64_t, n + 1);
  BSM_TRY_ALLOC(items);
  BSM_TRY_ALLOC(group);
  const bsm_ordered *order = first_positions(&x, n, n, false, items);
  int64_t unique = 0;
  for (size_t i = 0; i < n; i++) {
    /* NaN is never equal to another. */
    const bool same =
        i > 0 &&
        (x.ints ? x.ints[order[i].position] == x.ints[order[i - 1].position]
                : x.x[order[i].position] == x.x[order[i - 1].position]);
    if (i > 0 && !same) unique++;
    group[i] = unique;
  }
  if (n > 0) unique++;
  BSM_TRY(bsm_op_new(cx, t->dtype, op_dims1(unique), &values));
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, want_inverse ? t->sizes : op_dims1(0),
                     &inverse));
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, op_dims1(want_counts ? unique : 0),
                     &counts));
  int64_t *inv = bsm_tensor_data(inverse), *count = bsm_tensor_data(counts);
  for (size_t i = 0; i < n; i++) {
    char *p = (char *)bsm_tensor_data(values) +
              (size_t)group[i] * bsm_dtype_size(t->dtype);
    if (bsm_dtype_is_integral(t->dtype, true)) {
      bsm_store1_i64(t->dtype, p, x.ints[order[i].position]);
    } else {
      bsm_store1_f64(t->dtype, p, x.x[order[i].position]);
    }
    if (want_inverse) inv[order[i].position] = group[i];
    if (want_counts) count[group[i]]++;
  }
  outs[0] = bsm_iv_tensor(values);
  outs[1] = bsm_iv_tensor(inverse);
  if (self->variant) outs[2] = bsm_iv_tensor(counts);
  return BSM_OK;
}

/* ---- searching ---- */

/* How many of n come before v, or before what comes behind v: PyTorch's steps,
 * on which the answer depends where NaN is among them. */
#define SEARCH(name, type)                                            \
  static int64_t name(const type *x, int64_t n, type v, bool right) { \
    int64_t low = 0, high = n;                                        \
    while (low < high) {                                              \
      const int64_t mid = low + (high - low) / 2;                     \
      const bool behind = right ? !(x[mid] > v) : !(x[mid] >= v);     \
      low = behind ? mid + 1 : low;                                   \
      high = behind ? high : mid;                                     \
    }                                                                 \
    return low;                                                       \
  }
SEARCH(search_doubles, double)
SEARCH(search_integers, int64_t)

static bsm_status searchsorted(bsm_op_ctx *cx, const bsm_tensor *sorted,
                               const bsm_tensor *v, bool out_int32, bool right,
                               bsm_ivalue *outs) {
  bsm_tensor *out;
  const bsm_dtype dtype = out_int32 ? BSM_DTYPE_INT32 : BSM_DTYPE_INT64;
  const int32_t rank = sorted->sizes.rank;
  const bool shared = rank == 1 || v->sizes.rank == 0;
  bool ok = rank > 0 && (shared ? rank == 1 : v->sizes.rank == rank);
  for (int32_t d = 0; d + 1 < rank && ok && !shared; d++) {
    ok = sorted->sizes.d[d] == v->sizes.d[d];
  }
  if (!ok) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "torch.searchsorted(): boundaries tensor should be 1 "
                    "dimension or the first N-1 dimensions of boundaries "
                    "tensor and input value tensor must match, but we got "
                    "boundaries tensor %s and input value tensor %s",
                    bsm_dims_str(sorted->sizes), bsm_dims_str(v->sizes));
  }
  BSM_TRY(bsm_op_new(cx, dtype, v->sizes, &out));
  outs[0] = bsm_iv_tensor(out);
  BSM_TRY(bsm_op_charge(cx, bsm_tensor_numel(v), SORT_WORK, 2));
  if (cx->meta) return BSM_OK;
  const int64_t n = bsm_tensor_numel(v), m = sorted->sizes.d[rank - 1];
  const int64_t row = v->sizes.rank ? v->sizes.d[v->sizes.rank - 1] : 1;
  const bool exact = bsm_dtype_is_integral(sorted->dtype, true) &&
                     bsm_dtype_is_integral(v->dtype, true);
  keys in = {NULL, NULL}, of = {NULL, NULL};
  if (exact) {
    BSM_TRY(load_keys(cx, sorted, &in));
    BSM_TRY(load_keys(cx, v, &of));
  } else {
    in.x = bsm_op_load_all(cx, sorted);
    of.x = bsm_op_load_all(cx, v);
    BSM_TRY_ALLOC(in.x);
    BSM_TRY_ALLOC(of.x);
  }
  int64_t *places = BSM_NEW_ARRAY(cx->arena, int64_t, (size_t)n + 1);
  BSM_TRY_ALLOC(places);
  for (int64_t i = 0; i < n; i++) {
    const int64_t first = shared ? 0 : i / row * m;
    places[i] = exact ? search_integers(in.ints + first, m, of.ints[i], right)
                      : search_doubles(in.x + first, m, of.x[i], right);
  }
  bsm_op_store_ints(out, places);
  return BSM_OK;
}

enum { SEARCH_SORTED, SEARCH_BUCKETIZE };

/* searchsorted(sorted, self, *, out_int32, right, side, sorter);
 * bucketize(self, boundaries, *, out_int32, right) */
static bsm_status op_search(OP_PARAMS) {
  const bool bucketize = self->variant == SEARCH_BUCKETIZE;
  const bsm_tensor *sorted = op_tensor(&args[bucketize ? 1 : 0]);
  const bsm_ivalue *value = &args[bucketize ? 0 : 1];
  bsm_tensor *v = op_tensor(value);
  bool right = op_bool(&args[3]);
  if (!v) BSM_TRY(bsm_op_wrap(cx, value, &v));
  if (value->tag == BSM_IVALUE_INT &&
      bsm_dtype_is_integral(sorted->dtype, false)) {
    BSM_TRY(bsm_op_cast(cx, v, sorted->dtype, &v)); /* and wraps around */
  }
  if (!bucketize) {
    if (!op_none(&args[4])) {
      right = bsm_str_eq(op_str(&args[4]), BSM_STR("right"));
    }
    if (!op_none(&args[5])) {
      const bsm_tensor *sorter = op_tensor(&args[5]);
      if (sorter->dtype != BSM_DTYPE_INT64 ||
          !bsm_dims_equal(sorter->sizes, sorted->sizes)) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "torch.searchsorted(): boundary and sorter must have "
                        "the same size, but got boundary tensor %s and sorter "
                        "tensor %s of dtype %s",
                        bsm_dims_str(sorted->sizes),
                        bsm_dims_str(sorter->sizes),
                        bsm_op_type_name(sorter->dtype));
      }
      const bsm_ivalue gather[] = {args[0], bsm_iv_int(-1), args[5],
                                   bsm_iv_bool(false)};
      bsm_ivalue in_order;
      BSM_TRY(bsm_op_call(cx, "aten::gather", gather, 4, &in_order, 1));
      sorted = op_tensor(&in_order);
    }
  }
  BSM_TRY(bsm_op_real(sorted));
  return searchsorted(cx, sorted, v, op_bool(&args[2]), right, outs);
}

static const bsm_aten_op rows[] = {
    OP("aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor "
       "values, Tensor indices)",
       op_sort, 0, 0),
    OP("aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool "
       "descending=False) -> (Tensor values, Tensor indices)",
       op_sort, 1, 0),
    OP("aten::argsort(Tensor self, int dim=-1, bool descending=False) -> "
       "Tensor",
       op_argsort, 0, 0),
    OP("aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool "
       "descending=False) -> Tensor",
       op_argsort, 1, 0),
    OP("aten::msort(Tensor self) -> Tensor", op_msort, 0, 0),
    OP("aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool "
       "sorted=True) -> (Tensor values, Tensor indices)",
       op_topk, 0, 0),
    OP("aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) "
       "-> "
       "(Tensor values, Tensor indices)",
       op_kthvalue, 0, 0),
    OP("aten::_unique(Tensor self, bool sorted=True, bool "
       "return_inverse=False) "
       "-> (Tensor, Tensor)",
       op_unique, 0, 0),
    OP("aten::_unique2(Tensor self, bool sorted=True, bool "
       "return_inverse=False, "
       "bool return_counts=False) -> (Tensor, Tensor, Tensor)",
       op_unique, 1, 0),
    OP("aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool "
       "out_int32=False, bool right=False, str? side=None, Tensor? "
       "sorter=None) "
       "-> Tensor",
       op_search, SEARCH_SORTED, 0),
    OP("aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool "
       "out_int32=False, bool right=False, str? side=None, Tensor? "
       "sorter=None) "
       "-> Tensor",
       op_search, SEARCH_SORTED, 0),
    OP("aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool "
       "out_int32=False, bool right=False) -> Tensor",
       op_search, SEARCH_BUCKETIZE, 0),
    OP("aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool "
       "out_int32=False, bool right=False) -> Tensor",
       op_search, SEARCH_BUCKETIZE, 0),
};
BSM_ATEN_TABLE_CALLING(sort, rows, &bsm_aten_ops_gather);
