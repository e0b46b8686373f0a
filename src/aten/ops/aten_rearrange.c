/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors built from other tensors' elements: diagonals, products of sets,
 * splits, padding of sequences; copies of views; other names of ops. */
#include <stdio.h>

#include "aten/op_compose.h"
#include "aten/packed/aten_rearrange.h"

/* ---- other names ---- */

/* The same arguments go to the op of that name. */
static const char *const targets[] = {"aten::vstack",
                                      "aten::stack",
                                      "aten::transpose_",
                                      "aten::numpy_T",
                                      "aten::mT",
                                      "aten::nonzero",
                                      "aten::acosh",
                                      "aten::acosh_",
                                      "aten::asinh",
                                      "aten::asinh_",
                                      "aten::atanh",
                                      "aten::atanh_",
                                      "aten::_unsafe_index.Tensor",
                                      "aten::_unsafe_index_put",
                                      "aten::bitwise_and.Tensor",
                                      "aten::bitwise_or.Tensor",
                                      "aten::bitwise_xor.Tensor",
                                      "aten::bitwise_left_shift.Tensor",
                                      "aten::bitwise_right_shift.Tensor"};
enum {
  NAME_VSTACK,
  NAME_STACK,
  NAME_TRANSPOSE_,
  NAME_NUMPY_T,
  NAME_MT,
  NAME_NONZERO,
  NAME_ACOSH,
  NAME_ACOSH_,
  NAME_ASINH,
  NAME_ASINH_,
  NAME_ATANH,
  NAME_ATANH_,
  NAME_INDEX,
  NAME_INDEX_PUT,
  NAME_AND,
  NAME_OR,
  NAME_XOR,
  NAME_LEFT_SHIFT,
  NAME_RIGHT_SHIFT
};

/* bitwise_and.Scalar_Tensor(self, other), ... */
static bsm_status op_number_first(OP_PARAMS) {
  bsm_tensor *number, *out;
  BSM_TRY(bsm_op_wrap(cx, &args[0], &number));
  OP_CALL1(cx, &out, targets[self->variant], T(number), args[1]);
  return op_return(outs, out);
}

/* _to_copy(self, *, dtype, layout, device, pin_memory, non_blocking,
 * memory_format) */
static bsm_status op_to_copy(OP_PARAMS) {
  (void)self;
  const bsm_ivalue to[] = {args[0], args[1], args[2], args[3],
                           args[4], args[5], B(true), args[6]};
  return bsm_op_call(cx, "aten::to.dtype_layout", to, OP_COUNT(to), outs, 1);
}

/* _prelu_kernel(self, weight): of the same rank */
static bsm_status op_prelu_kernel(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *mask, *out;
  if (t->dtype != op_tensor(&args[1])->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "prelu: Type promoting not supported. Got %s and %s",
                    bsm_op_type_name(t->dtype),
                    bsm_op_type_name(op_tensor(&args[1])->dtype));
  }
  OP_CALL1(cx, &mask, "aten::gt.Scalar", T(t), I(0));
  BSM_TRY(bsm_op_mul(cx, t, op_tensor(&args[1]), &out));
  OP_CALL1(cx, &out, "aten::where.self", T(mask), T(t), T(out));
  return op_return(outs, out);
}

/* zero(self): zeros of the same layout */
static bsm_status op_zero(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  BSM_TRY(bsm_op_new_like(cx, t->dtype, t, &out));
  return op_return(outs, out);
}

/* _pad_circular(self, pad) */
static bsm_status op_pad_circular(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  bsm_ivalue mode;
  BSM_TRY(bsm_iv_string(cx->arena, BSM_STR("circular"), &mode));
  OP_CALL1(cx, &out, "aten::pad", args[0], args[1], mode, NONE);
  return op_return(outs, out);
}

static bsm_status op_alias(OP_PARAMS) {
  return bsm_op_call(cx, targets[self->variant], args, cx->arg_count, outs, 1);
}

/* self itself */
static bsm_status op_itself(OP_PARAMS) {
  (void)cx;
  (void)self;
  outs[0] = args[0];
  return BSM_OK;
}

/* The op without "_copy" makes views; these are their copies. */
static bsm_status op_view_copy(OP_PARAMS) {
  char name[64];
  bsm_schema_text room;
  const bsm_str own = bsm_aten_name(self, &room);
  const char *cut = strstr(own.data, "_copy");
  const size_t head = (size_t)(cut - own.data);
  const int tail = (int)(own.len - head - 5);
  const int n = snprintf(name, sizeof(name), "%.*s%.*s", (int)head, own.data,
                         tail, cut + 5);
  if (n < 0 || (size_t)n >= sizeof(name)) {
    return BSM_FAIL(BSM_INTERNAL, "the name of %s", own.data);
  }
  /* view_copy copies what has no view. */
  const bool reshape = strcmp(name, "aten::view") == 0;
  BSM_TRY(bsm_op_call(cx, reshape ? "aten::reshape" : name, args, cx->arg_count,
                      outs, 1));
  if (outs[0].tag == BSM_IVALUE_TENSOR) {
    return bsm_tensor_clone(cx->arena, outs[0].u.tensor, &outs[0].u.tensor);
  }
  for (size_t i = 0; i < op_list_len(&outs[0]); i++) {
    bsm_ivalue *item = &outs[0].u.list->items[i];
    BSM_TRY(bsm_tensor_clone(cx->arena, item->u.tensor, &item->u.tensor));
  }
  return BSM_OK;
}

/* _is_all_true(self), _is_any_true(self) */
static bsm_status op_is_true(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  if (t->dtype != BSM_DTYPE_BOOL) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "expected a bool tensor");
  }
  OP_CALL1(cx, &out, self->variant ? "aten::all" : "aten::any", args[0]);
  return op_return(outs, out);
}

/* ---- at least so many dims ---- */

static bsm_status at_least(bsm_op_ctx *cx, bsm_tensor *t, int rank,
                           bsm_tensor **out) {
  const int have = t->sizes.rank;
  *out = t;
  for (int i = have; i < rank; i++) {
    /* A vector becomes [1, n, 1], a matrix [m, n, 1]. */
    const int at = i == 2 ? 2 : 0;
    BSM_TRY(bsm_op_unsqueeze(cx, *out, at, out));
  }
  return BSM_OK;
}

/* atleast_1d(self) and of a list */
static bsm_status op_at_least(OP_PARAMS) {
  if (args[0].tag == BSM_IVALUE_TENSOR) {
    bsm_tensor *out;
    BSM_TRY(at_least(cx, op_tensor(&args[0]), self->variant, &out));
    return op_return(outs, out);
  }
  bsm_tensor **list;
  size_t n;
  BSM_TRY(bsm_op_tensors(cx, &args[0], &list, &n));
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(at_least(cx, list[i], self->variant, &list[i]));
  }
  return bsm_iv_tensor_list(cx->arena, list, n, &outs[0]);
}

/* ---- diagonals ---- */

/* diag_embed(self, offset, dim1, dim2) */
static bsm_status diag_embed(bsm_op_ctx *cx, bsm_tensor *t, int64_t offset,
                             int64_t dim1, int64_t dim2, bsm_tensor **out) {
  const int rank = t->sizes.rank + 1;
  int a, b;
  if (rank < 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "diag_embed of a 0-dim tensor");
  }
  if (rank > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "a tensor of more than %d dimensions",
                    BSM_MAX_RANK);
  }
  BSM_TRY(bsm_op_wrap_dim(dim1, rank, &a));
  BSM_TRY(bsm_op_wrap_dim(dim2, rank, &b));
  if (a == b) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "diagonal dimensions cannot be identical %lld, %lld",
                    (long long)dim1, (long long)dim2);
  }
  int64_t side = t->sizes.d[rank - 2];
  if (offset == INT64_MIN ||
      !bsm_i64_add(side, offset < 0 ? -offset : offset, &side)) {
    return BSM_FAIL(BSM_LIMIT, "diag_embed: offset %lld", (long long)offset);
  }
  bsm_dims dims = {rank, {0}};
  for (int i = 0, k = 0; i < rank; i++) {
    dims.d[i] = i == a || i == b ? side : t->sizes.d[k++];
  }
  bsm_tensor *diagonal;
  BSM_TRY(bsm_op_new(cx, t->dtype, dims, out));
  OP_CALL1(cx, &diagonal, "aten::diagonal", T(*out), I(offset), I(a), I(b));
  return cx->meta ? BSM_OK : bsm_tensor_copy(diagonal, t);
}

static bsm_status op_diag_embed(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  BSM_TRY(diag_embed(cx, op_tensor(&args[0]), op_int(&args[1]),
                     op_int(&args[2]), op_int(&args[3]), &out));
  return op_return(outs, out);
}

/* diag(self, diagonal), diagflat(self, offset) */
static bsm_status op_diag(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  if (self->variant) {
    BSM_TRY(bsm_op_reshape(cx, t, op_dims1(bsm_tensor_numel(t)), &t));
  }
  if (t->sizes.rank == 1) {
    BSM_TRY(diag_embed(cx, t, op_int(&args[1]), 0, 1, &out));
    return op_return(outs, out);
  }
  if (t->sizes.rank != 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "diag(): Supports 1D or 2D tensors. Got %dD",
                    (int)t->sizes.rank);
  }
  OP_CALL1(cx, &out, "aten::diagonal", T(t), args[1], I(0), I(1));
  BSM_TRY(bsm_tensor_clone(cx->arena, out, &out));
  return op_return(outs, out);
}

/* A copy of `t`, with `src` in a view of it that an op makes. */
static bsm_status scatter_into(bsm_op_ctx *cx, bsm_tensor *t, bsm_tensor *src,
                               const char *op, const bsm_ivalue *args, size_t n,
                               bsm_tensor **out) {
  bsm_ivalue view_args[5], view;
  BSM_TRY(bsm_op_new_like(cx, t->dtype, t, out));
  if (!cx->meta) BSM_TRY(bsm_tensor_copy(*out, t));
  view_args[0] = bsm_iv_tensor(*out);
  for (size_t i = 0; i < n; i++) view_args[1 + i] = args[i];
  BSM_TRY(bsm_op_call(cx, op, view_args, n + 1, &view, 1));
  if (!bsm_dims_equal(view.u.tensor->sizes, src->sizes)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "expected src to have a size equal to the slice of self. "
                    "src size = %s, slice size = %s",
                    bsm_dims_str(src->sizes),
                    bsm_dims_str(view.u.tensor->sizes));
  }
  return cx->meta ? BSM_OK : bsm_tensor_copy(view.u.tensor, src);
}

/* diagonal_scatter(self, src, offset, dim1, dim2), as_strided_scatter(self,
 * src, size, stride, storage_offset) */
static bsm_status op_view_scatter(OP_PARAMS) {
  bsm_tensor *out;
  BSM_TRY(scatter_into(cx, op_tensor(&args[0]), op_tensor(&args[1]),
                       self->variant ? "aten::as_strided" : "aten::diagonal",
                       args + 2, 3, &out));
  return op_return(outs, out);
}

/* fill_diagonal_(self, fill_value, wrap) */
static bsm_status op_fill_diagonal(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *value;
  const int rank = t->sizes.rank;
  int64_t n = INT64_MAX, step = 0;
  outs[0] = args[0];
  if (rank < 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "dimensions must larger than 1");
  }
  for (int i = 0; i < rank; i++) {
    if (rank > 2 && t->sizes.d[i] != t->sizes.d[0]) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "all dimensions of input must be of equal length");
    }
    if (t->sizes.d[i] < n) n = t->sizes.d[i];
    step += t->strides[i];
  }
  BSM_TRY(bsm_op_writable(cx, t));
  BSM_TRY(bsm_op_wrap(cx, &args[1], &value));
  if (cx->meta) return BSM_OK;
  bsm_tensor diagonal = *t;
  diagonal.sizes = op_dims1(n);
  diagonal.strides[0] = step;
  BSM_TRY(bsm_tensor_copy(&diagonal, value));
  const int64_t rows_ = t->sizes.d[0], columns = t->sizes.d[1];
  if (!op_bool(&args[2]) || rank != 2 || rows_ <= columns + 1) return BSM_OK;
  /* A tall matrix goes on with the next diagonals, one row of it left out. */
  for (int64_t row = columns + 1; row < rows_; row += columns + 1) {
    const int64_t left = rows_ - row;
    diagonal.offset = t->offset + row * t->strides[0];
    diagonal.sizes = op_dims1(left < columns ? left : columns);
    BSM_TRY(bsm_tensor_copy(&diagonal, value));
  }
  return BSM_OK;
}

/* block_diag(tensors) */
static bsm_status op_block_diag(OP_PARAMS) {
  (void)self;
  bsm_tensor **list, *out;
  size_t n;
  int64_t rows_ = 0, columns = 0;
  BSM_TRY(bsm_op_tensors(cx, &args[0], &list, &n));
  if (n > INT32_MAX) return BSM_FAIL(BSM_LIMIT, "%zu tensors", n);
  const bsm_dtype dtype =
      n > 0 ? bsm_op_result_type(list, (int)n) : BSM_DTYPE_FLOAT;
  for (size_t i = 0; i < n; i++) {
    if (list[i]->sizes.rank > 2) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "torch.block_diag: Input tensors must have 2 or fewer "
                      "dimensions. Input %zu has %d dimensions",
                      i, (int)list[i]->sizes.rank);
    }
    BSM_TRY(at_least(cx, list[i], 2, &list[i]));
    rows_ += list[i]->sizes.d[0];
    columns += list[i]->sizes.d[1];
  }
  if (n == 0) rows_ = 1; /* PyTorch's */
  BSM_TRY(bsm_op_new(cx, dtype, op_dims2(rows_, columns), &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  bsm_tensor block = *out;
  for (size_t i = 0; i < n; i++) {
    block.sizes = list[i]->sizes;
    BSM_TRY(bsm_tensor_copy(&block, list[i]));
    block.offset +=
        block.sizes.d[0] * out->strides[0] + block.sizes.d[1] * out->strides[1];
  }
  return BSM_OK;
}

/* ---- products of sets ---- */

/* cartesian_prod(tensors) */
static bsm_status op_cartesian_prod(OP_PARAMS) {
  (void)self;
  bsm_tensor **list, *out;
  bsm_ivalue grids;
  size_t n;
  BSM_TRY(bsm_op_tensors(cx, &args[0], &list, &n));
  for (size_t i = 0; i < n; i++) {
    if (list[i]->sizes.rank != 1) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Expect a 1D vector, but got shape %s",
                      bsm_dims_str(list[i]->sizes));
    }
  }
  if (n == 1) return op_return(outs, list[0]);
  BSM_TRY(bsm_op_call(cx, "aten::meshgrid", args, 1, &grids, 1));
  for (size_t i = 0; i < n; i++) {
    bsm_tensor *grid = op_list_tensor(&grids, i);
    BSM_TRY(
        bsm_op_reshape(cx, grid, op_dims1(bsm_tensor_numel(grid)), &list[i]));
  }
  BSM_TRY(bsm_iv_tensor_list(cx->arena, list, n, &grids));
  OP_CALL1(cx, &out, "aten::stack", grids, I(1));
  return op_return(outs, out);
}

/* The number of ways to choose r of n; false when too many. */
static bool choose(int64_t n, int64_t r, bool again, int64_t *out) {
  if (again) n += r - 1;
  *out = r == 0 ? 1 : 0;
  if (r > n || n <= 0) return true;
  int64_t c = 1;
  for (int64_t i = 1; i <= r; i++) {
    if (!bsm_i64_mul(c, n - r + i, &c)) return false;
    c /= i;
  }
  *out = c;
  return true;
}

/* combinations(self, r, with_replacement): in lexicographic order */
static bsm_status op_combinations(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *index, *out;
  const int64_t r = op_int(&args[1]);
  const bool again = op_bool(&args[2]);
  if (t->sizes.rank != 1 || r < 0 || r > 64) {
    const bool is_limit = t->sizes.rank == 1 && r > 64;
    return BSM_FAIL(is_limit ? BSM_LIMIT : BSM_INVALID_ARGUMENT,
                    "combinations of %lld of a tensor of shape %s",
                    (long long)r, bsm_dims_str(t->sizes));
  }
  if (r == 0) {
    BSM_TRY(bsm_op_new(cx, t->dtype, op_dims1(0), &out));
    return op_return(outs, out);
  }
  const int64_t n = t->sizes.d[0];
  int64_t count, at[64] = {0};
  if (!choose(n, r, again, &count)) {
    return BSM_FAIL(BSM_LIMIT, "combinations of %lld of %lld", (long long)r,
                    (long long)n);
  }
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, op_dims2(count, r), &index));
  int64_t *p = cx->meta ? NULL : bsm_tensor_data(index);
  for (int64_t k = 0; k < r && !again; k++) at[k] = k;
  for (int64_t c = 0; p && c < count; c++) {
    for (int64_t k = 0; k < r; k++) *p++ = at[k];
    int64_t k = r - 1;
    while (k > 0 && at[k] == (again ? n - 1 : n - r + k)) k--;
    at[k]++;
    for (int64_t j = k + 1; j < r; j++) at[j] = at[j - 1] + !again;
  }
  OP_CALL1(cx, &out, "aten::take", T(t), T(index));
  return op_return(outs, out);
}

/* kron(self, other) */
static bsm_status op_kron(OP_PARAMS) {
  (void)self;
  bsm_tensor *t[] = {op_tensor(&args[0]), op_tensor(&args[1])}, *out;
  const int rank =
      t[0]->sizes.rank > t[1]->sizes.rank ? t[0]->sizes.rank : t[1]->sizes.rank;
  if (2 * rank > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "kron of tensors of %d dimensions", rank);
  }
  bsm_dims result = {rank, {0}};
  for (int k = 0; k < 2; k++) {
    bsm_dims wide = {2 * rank, {0}};
    const int lead = rank - t[k]->sizes.rank;
    for (int i = 0; i < rank; i++) {
      const int64_t size = i < lead ? 1 : t[k]->sizes.d[i - lead];
      wide.d[2 * i + k] = size;
      wide.d[2 * i + 1 - k] = 1;
      if (!bsm_i64_mul(k ? result.d[i] : 1, size, &result.d[i])) {
        return BSM_FAIL(BSM_LIMIT, "kron: a result too large");
      }
    }
    BSM_TRY(bsm_op_reshape(cx, t[k], wide, &t[k]));
  }
  BSM_TRY(bsm_op_mul(cx, t[0], t[1], &out));
  BSM_TRY(bsm_op_reshape(cx, out, result, &out));
  return op_return(outs, out);
}

/* inner(self, other): over the last dims */
static bsm_status op_inner(OP_PARAMS) {
  (void)self;
  bsm_tensor *a = op_tensor(&args[0]), *b = op_tensor(&args[1]), *out;
  const int ra = a->sizes.rank, rb = b->sizes.rank;
  if (ra == 0 || rb == 0) {
    BSM_TRY(bsm_op_mul(cx, a, b, &out));
    return op_return(outs, out);
  }
  const int64_t n = a->sizes.d[ra - 1];
  if (ra + rb - 2 > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "a tensor of more than %d dimensions",
                    BSM_MAX_RANK);
  }
  if (n != b->sizes.d[rb - 1] || a->dtype != b->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "inner() the last dimension must match on both input "
                    "tensors but got shapes %s and %s",
                    bsm_dims_str(a->sizes), bsm_dims_str(b->sizes));
  }
  bsm_dims shape = {ra + rb - 2, {0}};
  int64_t m = 1, k = 1;
  for (int i = 0; i < ra - 1; i++) m *= shape.d[i] = a->sizes.d[i];
  for (int i = 0; i < rb - 1; i++) k *= shape.d[ra - 1 + i] = b->sizes.d[i];
  BSM_TRY(bsm_op_reshape(cx, a, op_dims2(m, n), &a));
  BSM_TRY(bsm_op_reshape(cx, b, op_dims2(k, n), &b));
  BSM_TRY(bsm_op_transpose(cx, b, 0, 1, &b));
  BSM_TRY(bsm_op_matmul(cx, a, b, &out));
  BSM_TRY(bsm_op_reshape(cx, out, shape, &out));
  return op_return(outs, out);
}

/* ---- splits ---- */

/* hsplit.int(self, sections), vsplit.array(self, indices), ...; the variant is
 * the rank that self must have */
static bsm_status op_nsplit(OP_PARAMS) {
  const bsm_tensor *t = op_tensor(&args[0]);
  const int need = self->variant;
  const int dim = need == 1 ? (t->sizes.rank > 1) : need == 2 ? 0 : 2;
  if (t->sizes.rank < need) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "a split that requires a tensor with at least %d "
                    "dimensions, but got one of %d",
                    need, (int)t->sizes.rank);
  }
  const bool sections = args[1].tag == BSM_IVALUE_INT;
  if (sections &&
      (op_int(&args[1]) <= 0 || t->sizes.d[dim] % op_int(&args[1]) != 0)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "attempted to split along dimension %d, but the size of "
                    "the dimension %lld is not divisible by the split_size "
                    "%lld!",
                    dim, (long long)t->sizes.d[dim],
                    (long long)op_int(&args[1]));
  }
  const bsm_ivalue split[] = {args[0], args[1], I(dim)};
  return bsm_op_call(
      cx,
      sections ? "aten::tensor_split.sections" : "aten::tensor_split.indices",
      split, 3, outs, 1);
}

/* tensor_split(self, tensor_indices_or_sections, dim) */
static bsm_status op_tensor_split(OP_PARAMS) {
  (void)self;
  const bsm_tensor *at = op_tensor(&args[1]);
  if (at->dtype != BSM_DTYPE_INT64 || at->sizes.rank > 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "tensor_split expected tensor_indices_or_sections to be a "
                    "zero-dimensional or one-dimensional tensor of dtype long");
  }
  if (cx->meta) {
    return BSM_FAIL(BSM_DATA_DEPENDENT, "where to split depends on values");
  }
  bsm_ivalue split[] = {args[0], I(0), args[2]};
  if (at->sizes.rank == 0) {
    split[1] = I(bsm_tensor_get_int(at, 0));
    return bsm_op_call(cx, "aten::tensor_split.sections", split, 3, outs, 1);
  }
  const size_t n = (size_t)at->sizes.d[0];
  int64_t *indices = BSM_NEW_ARRAY(cx->arena, int64_t, n + 1);
  BSM_TRY_ALLOC(indices);
  for (size_t i = 0; i < n; i++)
    indices[i] = bsm_tensor_get_int(at, (int64_t)i);
  BSM_TRY(bsm_iv_int_list(cx->arena, indices, n, &split[1]));
  return bsm_op_call(cx, "aten::tensor_split.indices", split, 3, outs, 1);
}

/* ---- others ---- */

/* pad_sequence(sequences, batch_first, padding_value, padding_side) */
static bsm_status op_pad_sequence(OP_PARAMS) {
  (void)self;
  bsm_tensor **list, *out, *padding;
  size_t n;
  const bool first = op_bool(&args[1]);
  const bool left = bsm_str_eq(op_str(&args[3]), BSM_STR("left"));
  BSM_TRY(bsm_op_tensors(cx, &args[0], &list, &n));
  bool ok = n > 0 && list[0]->sizes.rank > 0 &&
            list[0]->sizes.rank < BSM_MAX_RANK &&
            (left || bsm_str_eq(op_str(&args[3]), BSM_STR("right")));
  int64_t longest = 0;
  for (size_t i = 0; i < n && ok; i++) {
    bsm_dims a = list[0]->sizes, b = list[i]->sizes;
    a.d[0] = b.d[0] = 0;
    ok = bsm_dims_equal(a, b);
    if (ok && list[i]->sizes.d[0] > longest) longest = list[i]->sizes.d[0];
  }
  if (!ok) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "pad_sequence: %zu sequences whose dims but the first "
                    "differ, or padding_side neither left nor right",
                    n);
  }
  bsm_dims dims = {list[0]->sizes.rank + 1, {0}};
  dims.d[first ? 0 : 1] = (int64_t)n;
  dims.d[first ? 1 : 0] = longest;
  for (int i = 2; i < dims.rank; i++) dims.d[i] = list[0]->sizes.d[i - 1];
  BSM_TRY(bsm_op_new(cx, list[0]->dtype, dims, &out));
  BSM_TRY(bsm_op_wrap(cx, &args[2], &padding));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  BSM_TRY(bsm_tensor_copy(out, padding));
  for (size_t i = 0; i < n; i++) {
    bsm_tensor *to;
    const int64_t length = list[i]->sizes.d[0];
    BSM_TRY(bsm_op_select(cx, out, first ? 0 : 1, (int64_t)i, &to));
    BSM_TRY(bsm_op_narrow(cx, to, 0, left ? longest - length : 0, length, &to));
    BSM_TRY(bsm_tensor_copy(to, list[i]));
  }
  return BSM_OK;
}

/* repeat_interleave.Tensor(repeats, *, output_size): each index so often */
static bsm_status op_repeat_interleave(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  int64_t total = 0;
  const bool empty = t->sizes.rank == 1 && t->sizes.d[0] == 0;
  if (t->sizes.rank != 1 ||
      (t->dtype != BSM_DTYPE_INT64 && t->dtype != BSM_DTYPE_INT32)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "repeat_interleave only accept 1D vector of int or long as "
                    "repeat");
  }
  if (cx->meta && op_none(&args[1]) && !empty) {
    return BSM_FAIL(BSM_DATA_DEPENDENT,
                    "repeat_interleave without an output size");
  }
  const int64_t n = t->sizes.d[0];
  for (int64_t i = 0; i < n && !cx->meta; i++) {
    const int64_t times = bsm_tensor_get_int(t, i);
    if (times < 0 || !bsm_i64_add(total, times, &total)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "repeats can not be negative");
    }
  }
  if (!op_none(&args[1]) && !empty) {
    if (!cx->meta && total != op_int(&args[1])) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "allocated size does not match required size");
    }
    total = op_int(&args[1]);
  }
  BSM_TRY(bsm_op_new(cx, t->dtype, op_dims1(total), &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  char *p = bsm_tensor_data(out);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = bsm_tensor_get_int(t, i); k > 0; k--) {
      bsm_store1_i64(t->dtype, p, i);
      p += bsm_dtype_size(t->dtype);
    }
  }
  return BSM_OK;
}

/* nonzero_static(self, *, size, fill_value) */
static bsm_status op_nonzero_static(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *all, *out, *fill;
  const int64_t size = op_int(&args[1]);
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, op_dims2(size, t->sizes.rank), &out));
  outs[0] = bsm_iv_tensor(out);
  BSM_TRY(bsm_op_wrap(cx, &args[2], &fill));
  if (cx->meta) return BSM_OK;
  BSM_TRY(bsm_tensor_copy(out, fill));
  OP_CALL1(cx, &all, "aten::nonzero", args[0]);
  const int64_t found = all->sizes.d[0] < size ? all->sizes.d[0] : size;
  BSM_TRY(bsm_op_narrow(cx, all, 0, 0, found, &all));
  BSM_TRY(bsm_op_narrow(cx, out, 0, 0, found, &out));
  return bsm_tensor_copy(out, all);
}

/* sum_to_size(self, size): over the dims that broadcasting had added */
static bsm_status op_sum_to_size(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out = t;
  bsm_dims to, sum = {0};
  BSM_TRY(bsm_op_dims(&args[1], &to));
  const int lead = t->sizes.rank - to.rank;
  bool ok = lead >= 0;
  for (int i = 0; i < t->sizes.rank && ok; i++) {
    const int64_t want = i < lead ? 1 : to.d[i - lead];
    ok = want == 1 || want == t->sizes.d[i];
    if (i < lead || (want == 1 && t->sizes.d[i] != 1)) sum.d[sum.rank++] = i;
  }
  if (!ok) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "size {%s} is not expandable to size {%s}.",
                    bsm_dims_str(to), bsm_dims_str(t->sizes));
  }
  if (to.rank == 0) OP_CALL1(cx, &out, "aten::sum", T(t), NONE);
  if (to.rank > 0 && sum.rank > 0) {
    bsm_ivalue dims;
    BSM_TRY(op_ints(cx, sum, &dims));
    OP_CALL1(cx, &out, "aten::sum.dim_IntList", T(t), dims, B(true), NONE);
  }
  if (lead > 0) BSM_TRY(bsm_op_reshape(cx, out, to, &out));
  return op_return(outs, out);
}

/* squeeze_(self, dims) */
static bsm_status op_squeeze_dims(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *view;
  OP_CALL1(cx, &view, "aten::squeeze.dims", args[0], args[1]);
  t->sizes = view->sizes;
  memcpy(t->strides, view->strides, sizeof(t->strides));
  outs[0] = args[0];
  return BSM_OK;
}

/* _dim_arange(like, dim) */
static bsm_status op_dim_arange(OP_PARAMS) {
  (void)self;
  const bsm_tensor *t = op_tensor(&args[0]);
  bsm_tensor *out;
  int dim;
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), t->sizes.rank, &dim));
  if (t->sizes.rank == 0) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "_dim_arange of a 0-dim tensor");
  }
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, op_dims1(t->sizes.d[dim]), &out));
  outs[0] = bsm_iv_tensor(out);
  int64_t *p = cx->meta ? NULL : bsm_tensor_data(out);
  for (int64_t i = 0; p && i < t->sizes.d[dim]; i++) p[i] = i;
  return BSM_OK;
}

/* _reshape_alias(self, size, stride) */
static bsm_status op_reshape_alias(OP_PARAMS) {
  (void)self;
  const bsm_ivalue strided[] = {args[0], args[1], args[2], NONE};
  return bsm_op_call(cx, "aten::as_strided", strided, 4, outs, 1);
}

/* range(start, end, [step,] *, dtype, ...): with the end; the variant: step */
static bsm_status op_range(OP_PARAMS) {
  const int at = self->variant;
  const double start = op_double(&args[0]), end = op_double(&args[1]);
  const double step = at ? op_double(&args[2]) : 1.0;
  bsm_tensor *out;
  const bsm_dtype dtype = op_dtype_or(&args[2 + at], BSM_DTYPE_FLOAT);
  if (!isfinite(start) || !isfinite(end) || step == 0.0 ||
      (step > 0.0 ? end < start : end > start)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "range from %g to %g in steps of %g",
                    start, end, step);
  }
  const double count = (end - start) / step + 1.0;
  if (!(count < 9e15)) return BSM_FAIL(BSM_LIMIT, "range of %g", count);
  const int64_t n = (int64_t)count;
  BSM_TRY(bsm_op_new(cx, dtype, op_dims1(n), &out));
  outs[0] = bsm_iv_tensor(out);
  const bool integral = bsm_dtype_is_integral(dtype, true);
  for (int64_t i = 0; i < n && !cx->meta; i++) {
    char *p = (char *)bsm_tensor_data(out) + (size_t)i * bsm_dtype_size(dtype);
    if (integral) {
      bsm_store1_i64(dtype, p,
                     bsm_double_to_i64(start) + i * bsm_double_to_i64(step));
    } else {
      bsm_store1_f64(dtype, p, start + (double)i * step);
    }
  }
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::row_stack(Tensor[] tensors) -> Tensor", op_alias, NAME_VSTACK, 0),
    OP("aten::_stack(Tensor[] tensors, int dim=0) -> Tensor", op_alias,
       NAME_STACK, 0),
    OP("aten::swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)",
       op_alias, NAME_TRANSPOSE_, BSM_ATEN_INPLACE),
    OP("aten::swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)",
       op_alias, NAME_TRANSPOSE_, BSM_ATEN_INPLACE),
    OP("aten::numpy_T.a(Tensor(a) self) -> Tensor(a)", op_alias, NAME_NUMPY_T,
       BSM_ATEN_VIEW),
    OP("aten::mT.a(Tensor(a) self) -> Tensor(a)", op_alias, NAME_MT,
       BSM_ATEN_VIEW),
    OP("aten::argwhere(Tensor self) -> Tensor", op_alias, NAME_NONZERO, 0),
    OP("aten::lift(Tensor self) -> Tensor", op_itself, 0, 0),
    OP("aten::lift_fresh(Tensor(a) self) -> Tensor(a)", op_itself, 0,
       BSM_ATEN_VIEW),
    OP("aten::_is_all_true(Tensor self) -> Tensor", op_is_true, 1, 0),
    OP("aten::_is_any_true(Tensor self) -> Tensor", op_is_true, 0, 0),
    OP("aten::atleast_1d(Tensor self) -> Tensor", op_at_least, 1, 0),
    OP("aten::atleast_2d(Tensor self) -> Tensor", op_at_least, 2, 0),
    OP("aten::atleast_3d(Tensor self) -> Tensor", op_at_least, 3, 0),
    OP("aten::atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", op_at_least,
       1, 0),
    OP("aten::atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", op_at_least,
       2, 0),
    OP("aten::atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", op_at_least,
       3, 0),
    OP("aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) "
       "-> Tensor",
       op_diag_embed, 0, 0),
    OP("aten::diag(Tensor self, int diagonal=0) -> Tensor", op_diag, 0, 0),
    OP("aten::diagflat(Tensor self, int offset=0) -> Tensor", op_diag, 1, 0),
    OP("aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int "
       "dim1=0, int dim2=1) -> Tensor",
       op_view_scatter, 0, 0),
    OP("aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, "
       "SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
       op_view_scatter, 1, 0),
    OP("aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool "
       "wrap=False) -> Tensor(a!)",
       op_fill_diagonal, 0, BSM_ATEN_INPLACE),
    OP("aten::block_diag(Tensor[] tensors) -> Tensor", op_block_diag, 0, 0),
    OP("aten::cartesian_prod(Tensor[] tensors) -> Tensor", op_cartesian_prod, 0,
       0),
    OP("aten::combinations(Tensor self, int r=2, bool with_replacement=False) "
       "-> Tensor",
       op_combinations, 0, 0),
    OP("aten::kron(Tensor self, Tensor other) -> Tensor", op_kron, 0, 0),
    OP("aten::inner(Tensor self, Tensor other) -> Tensor", op_inner, 0, 0),
    OP("aten::hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
       op_nsplit, 1, 0),
    OP("aten::hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
       op_nsplit, 1, 0),
    OP("aten::vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
       op_nsplit, 2, 0),
    OP("aten::vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
       op_nsplit, 2, 0),
    OP("aten::dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
       op_nsplit, 3, 0),
    OP("aten::dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
       op_nsplit, 3, 0),
    OP("aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, "
       "Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]",
       op_tensor_split, 0, 0),
    OP("aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float "
       "padding_value=0., str padding_side=\"right\") -> Tensor",
       op_pad_sequence, 0, 0),
    OP("aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? "
       "output_size=None) -> Tensor",
       op_repeat_interleave, 0, 0),
    OP("aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) "
       "-> Tensor",
       op_nonzero_static, 0, 0),
    OP("aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor",
       op_sum_to_size, 0, 0),
    OP("aten::squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)",
       op_squeeze_dims, 0, BSM_ATEN_INPLACE),
    OP("aten::_dim_arange(Tensor like, int dim) -> Tensor", op_dim_arange, 0,
       0),
    OP("aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) "
       "-> Tensor(a)",
       op_reshape_alias, 0, BSM_ATEN_VIEW),
    OP("aten::range(Scalar start, Scalar end, *, ScalarType? dtype=None, "
       "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
       "Tensor",
       op_range, 0, 0),
    OP("aten::range.step(Scalar start, Scalar end, Scalar step=1, *, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? pin_memory=None) -> Tensor",
       op_range, 1, 0),
    OP("aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, "
       "SymInt? storage_offset=None) -> Tensor",
       op_view_copy, 0, 0),
    OP("aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int "
       "dim2=1) -> Tensor",
       op_view_copy, 0, 0),
    OP("aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) "
       "-> Tensor",
       op_view_copy, 0, 0),
    OP("aten::permute_copy(Tensor self, int[] dims) -> Tensor", op_view_copy, 0,
       0),
    OP("aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor",
       op_view_copy, 0, 0),
    OP("aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, "
       "SymInt? end=None, SymInt step=1) -> Tensor",
       op_view_copy, 0, 0),
    OP("aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> "
       "Tensor[]",
       op_view_copy, 0, 0),
    OP("aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int "
       "dim=0) -> Tensor[]",
       op_view_copy, 0, 0),
    OP("aten::squeeze_copy(Tensor self) -> Tensor", op_view_copy, 0, 0),
    OP("aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor", op_view_copy,
       0, 0),
    OP("aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor",
       op_view_copy, 0, 0),
    OP("aten::t_copy(Tensor self) -> Tensor", op_view_copy, 0, 0),
    OP("aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor",
       op_view_copy, 0, 0),
    OP("aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]",
       op_view_copy, 0, 0),
    OP("aten::unfold_copy(Tensor self, int dimension, int size, int step) -> "
       "Tensor",
       op_view_copy, 0, 0),
    OP("aten::unsqueeze_copy(Tensor self, int dim) -> Tensor", op_view_copy, 0,
       0),
    OP("aten::view_copy(Tensor self, SymInt[] size) -> Tensor", op_view_copy, 0,
       0),
    OP("aten::view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor",
       op_view_copy, 0, 0),
    OP("aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) "
       "-> Tensor",
       op_view_copy, 0, 0),
    OP("aten::arccosh(Tensor self) -> Tensor", op_alias, NAME_ACOSH, 0),
    OP("aten::arccosh_(Tensor(a!) self) -> Tensor(a!)", op_alias, NAME_ACOSH_,
       BSM_ATEN_INPLACE),
    OP("aten::arcsinh(Tensor self) -> Tensor", op_alias, NAME_ASINH, 0),
    OP("aten::arcsinh_(Tensor(a!) self) -> Tensor(a!)", op_alias, NAME_ASINH_,
       BSM_ATEN_INPLACE),
    OP("aten::arctanh(Tensor self) -> Tensor", op_alias, NAME_ATANH, 0),
    OP("aten::arctanh_(Tensor(a!) self) -> Tensor(a!)", op_alias, NAME_ATANH_,
       BSM_ATEN_INPLACE),
    OP("aten::_unsafe_index.Tensor_hacked_twin(Tensor self, Tensor[] indices) "
       "-> Tensor",
       op_alias, NAME_INDEX, 0),
    OP("aten::_unsafe_index_put.hacked_twin(Tensor self, Tensor[] indices, "
       "Tensor values, bool accumulate=False) -> Tensor",
       op_alias, NAME_INDEX_PUT, 0),
    OP("aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
       op_number_first, NAME_AND, 0),
    OP("aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
       op_number_first, NAME_OR, 0),
    OP("aten::bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
       op_number_first, NAME_XOR, 0),
    OP("aten::bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> "
       "Tensor",
       op_number_first, NAME_LEFT_SHIFT, 0),
    OP("aten::bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> "
       "Tensor",
       op_number_first, NAME_RIGHT_SHIFT, 0),
    OP("aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None, bool "
       "non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
       op_to_copy, 0, 0),
    OP("aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
       op_prelu_kernel, 0, 0),
    OP("aten::zero(Tensor self) -> Tensor", op_zero, 0, 0),
    OP("aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor",
       op_pad_circular, 0, 0),
};
BSM_ATEN_TABLE_CALLING(rearrange, rows, &bsm_aten_ops_binary,
                       &bsm_aten_ops_convert, &bsm_aten_ops_gather,
                       &bsm_aten_ops_index, &bsm_aten_ops_reduce,
                       &bsm_aten_ops_shape, &bsm_aten_ops_unary,
                       &bsm_aten_ops_view);
