/* SPDX-License-Identifier: Apache-2.0 */
/* Advanced indexing: aten::index.Tensor, by one gather, and aten::index_put,
 * by a gather (constant indices), a select (a mask) or a scatter.
 *
 * Index tensors known now are turned, by the reference library, into positions
 * in the flattened data. Those known at run time become one linear index over
 * the indexed dimensions. */
#include <string.h>

#include "conversion/scatter.h"

/* The entries of the list of indices: nothing, a tensor of the network or a
 * host tensor. */
typedef struct index_list {
  bsm_var items[BSM_MAX_RANK];
  int32_t count;
  int32_t used;    /* entries that are not None */
  bool all_static; /* of the used ones */
  const bsm_ivalue *list;
} index_list;

static bsm_status read_list(const bsm_args *args, size_t i, index_list *out) {
  *out = (index_list){0};
  BSM_CHECK(bsm_arg_is_list(args, i), "the indices are not a list");
  const bsm_ivalue *list = args->items[i].ivalue;
  BSM_CHECK(list->u.list->len <= BSM_MAX_RANK, "%zu indices",
            list->u.list->len);
  out->list = list;
  out->count = (int32_t)list->u.list->len;
  out->all_static = true;
  for (int32_t k = 0; k < out->count; k++) {
    const bsm_ivalue *item = &list->u.list->items[k];
    out->items[k].itensor = bsm_container_tensor(item);
    if (item->tag == BSM_IVALUE_TENSOR) out->items[k].ivalue = item;
    bool used = out->items[k].itensor || out->items[k].ivalue;
    BSM_CHECK(used || item->tag == BSM_IVALUE_NONE, "index %d is a %s", (int)k,
              bsm_iv_tag_name(item->tag));
    out->used += used;
    if (out->items[k].itensor) out->all_static = false;
  }
  return BSM_OK;
}

/* The positions that indexing reads, as an int64 tensor of the result's shape:
 * the indexing itself, done on 0, 1, 2, ... in the shape of the data. */
static bsm_status positions(bsm_conversion_ctx *ctx, bsm_dims dims,
                            const bsm_ivalue *list, bsm_tensor **out) {
  bsm_tensor *counting;
  BSM_TRY(bsm_tensor_new(ctx->impl->arena, BSM_DTYPE_INT64, dims, false,
                         &counting));
  int64_t *values = bsm_tensor_data(counting);
  for (int64_t i = 0; i < bsm_tensor_numel(counting); i++) values[i] = i;
  bsm_ivalue args[2] = {bsm_iv_tensor(counting), *list}, result;
  BSM_TRY(bsm_host_call(ctx, "aten::index.Tensor", args, 2, &result, 1));
  BSM_CHECK(result.tag == BSM_IVALUE_TENSOR, "indexing gave no tensor");
  return bsm_tensor_contiguous(ctx->impl->arena, result.u.tensor, out);
}

/* The only used index is one integer tensor: a gather along its dimension. */
static bool single(const index_list *list, int32_t *axis) {
  if (list->used != 1) return false;
  for (int32_t k = 0; k < list->count; k++) {
    const bsm_var *item = &list->items[k];
    if (!item->itensor && !item->ivalue) continue;
    bsm_dtype dtype =
        item->itensor ? item->itensor->dtype : item->ivalue->u.tensor->dtype;
    *axis = k;
    return dtype != BSM_DTYPE_BOOL && dtype != BSM_DTYPE_UINT8;
  }
  return false;
}

static bsm_itensor *index_tensor(bsm_conversion_ctx *ctx, const bsm_var *item) {
  if (item->itensor) return bsm_emit_cast(ctx, item->itensor, BSM_DTYPE_INT64);
  return bsm_freeze_as(ctx, item->ivalue->u.tensor, BSM_DTYPE_INT64);
}

/* index < 0 ? index + size : index */
static bsm_itensor *wrapped(bsm_conversion_ctx *ctx, bsm_itensor *index,
                            int64_t size) {
  bsm_itensor *zero = bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, 0);
  bsm_itensor *n = bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, size);
  return bsm_emit_select(
      ctx, bsm_emit_binary(ctx, index, zero, BSM_ELEMENT_WISE_LESS),
      bsm_emit_binary(ctx, index, n, BSM_ELEMENT_WISE_SUM), index);
}

/* Several indices known at run time: the indexed dimensions are brought
 * together (to the front, unless they are neighbours already) and merged into
 * one, which the linear index counts. */
typedef struct linear_index {
  bsm_itensor *index;
  bsm_dims perm, merged;
  int32_t axis;
} linear_index;

static bool make_linear(bsm_conversion_ctx *ctx, bsm_dims x,
                        const index_list *list, linear_index *out) {
  int32_t first = -1, last = -1;
  int64_t size = 1;
  *out = (linear_index){0};
  for (int32_t k = 0; k < list->count; k++) {
    const bsm_var *item = &list->items[k];
    if (!item->itensor && !item->ivalue) continue;
    bsm_itensor *index = index_tensor(ctx, item);
    index = index ? wrapped(ctx, index, x.d[k]) : NULL;
    if (out->index) {
      out->index = bsm_emit_binary(
          ctx, out->index, bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, x.d[k]),
          BSM_ELEMENT_WISE_PROD);
      index = bsm_emit_binary(ctx, out->index, index, BSM_ELEMENT_WISE_SUM);
    } else {
      first = k;
    }
    if (!index) return false;
    out->index = index;
    last = k;
  }
  bool neighbours = last - first + 1 == list->used;
  out->axis = neighbours ? first : 0;
  for (int32_t pass = 0; pass < 3; pass++) {
    for (int32_t k = 0; k < x.rank; k++) {
      bool used =
          k < list->count && (list->items[k].itensor || list->items[k].ivalue);
      int32_t when = used ? 1 : neighbours && k < first ? 0 : 2;
      if (when == pass) out->perm.d[out->perm.rank++] = k;
      if (when == pass && used) size *= x.d[k];
    }
  }
  for (int32_t k = 0; k < x.rank; k++) {
    if (k == out->axis) out->merged.d[out->merged.rank++] = size;
    if (k < out->axis || k >= out->axis + list->used) {
      out->merged.d[out->merged.rank++] = x.d[out->perm.d[k]];
    }
  }
  return true;
}

static bsm_itensor *gather_linear(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                  const index_list *list) {
  linear_index at;
  if (!make_linear(ctx, x->dims, list, &at)) return NULL;
  x = bsm_emit_reshape(ctx, bsm_emit_permute(ctx, x, at.perm), at.merged);
  return bsm_emit_gather(ctx, x, at.index, BSM_GATHER_DEFAULT, at.axis);
}

static bool has_mask(const index_list *list) {
  for (int32_t k = 0; k < list->count; k++) {
    const bsm_var *item = &list->items[k];
    bsm_dtype dtype = item->itensor  ? item->itensor->dtype
                      : item->ivalue ? item->ivalue->u.tensor->dtype
                                     : BSM_DTYPE_INT64;
    if (dtype == BSM_DTYPE_BOOL || dtype == BSM_DTYPE_UINT8) return true;
  }
  return false;
}

static bsm_status convert_index(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { SELF, INDICES };
  index_list list;
  int32_t axis;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  BSM_TRY(read_list(args, INDICES, &list));
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_CHECK(list.count <= bsm_rank(x),
            "too many indices for tensor of dimension %d (got %d)",
            (int)bsm_rank(x), (int)list.count);
  if (list.used == 0) return bsm_emit_output(ctx, node, 0, x);
  if (single(&list, &axis)) {
    return bsm_emit_output(
        ctx, node, 0,
        bsm_emit_gather(ctx, x, index_tensor(ctx, &list.items[axis]),
                        BSM_GATHER_DEFAULT, axis));
  }
  if (list.all_static) {
    bsm_tensor *at;
    bsm_dims flat = {1, {bsm_itensor_numel(x)}};
    BSM_TRY(positions(ctx, x->dims, list.list, &at));
    return bsm_emit_output(
        ctx, node, 0,
        bsm_emit_gather(ctx, bsm_emit_reshape(ctx, x, flat),
                        bsm_freeze_tensor(ctx, at), BSM_GATHER_DEFAULT, 0));
  }
  BSM_CHECK(!has_mask(&list),
            "indexing by a mask computed at run time: the shape of the result "
            "would depend on the data");
  return bsm_emit_output(ctx, node, 0, gather_linear(ctx, x, &list));
}

/* x[mask] = value, for one mask over the first dims and a single value. */
static bsm_itensor *put_masked(bsm_conversion_ctx *ctx, bsm_itensor *x,
                               bsm_itensor *mask, bsm_itensor *value) {
  bsm_dims dims = mask->dims;
  for (int32_t i = 0; i < mask->dims.rank; i++) {
    if (mask->dims.d[i] != x->dims.d[i]) {
      return bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                           "The shape of the mask %s does not match the shape "
                           "of the indexed tensor %s",
                           bsm_dims_str(mask->dims), bsm_dims_str(x->dims));
    }
  }
  while (dims.rank < x->dims.rank) dims.d[dims.rank++] = 1;
  mask = bsm_emit_reshape(ctx, mask, dims);
  value = bsm_emit_reshape(ctx, value, (bsm_dims){0});
  return bsm_emit_select(ctx, mask, value, x);
}

/* The last write to a place wins: each element of the result comes from the
 * data or from the values, which are appended to it. */
static bsm_itensor *put_static(bsm_conversion_ctx *ctx, bsm_itensor *x,
                               const index_list *list, bsm_itensor *values) {
  bsm_tensor *at;
  bsm_dims whole = x->dims, flat = {1, {bsm_itensor_numel(x)}};
  bsm_status status = positions(ctx, whole, list->list, &at);
  if (status) {
    bsm_ctx_fail(ctx, status);
    return NULL;
  }
  int64_t count = bsm_tensor_numel(at), size = flat.d[0];
  if (count == 0) return x;
  int64_t *from = bsm_conversion_alloc(ctx, (size_t)size * sizeof *from);
  if (!from) {
    bsm_ctx_fail(ctx, BSM_FAIL_OOM());
    return NULL;
  }
  const int64_t *to = bsm_tensor_data(at);
  for (int64_t i = 0; i < size; i++) from[i] = i;
  for (int64_t i = 0; i < count; i++) from[to[i]] = size + i;
  values = bsm_emit_expand(ctx, values, at->sizes);
  values = bsm_emit_reshape(ctx, values, (bsm_dims){1, {count}});
  bsm_itensor *both[2] = {bsm_emit_reshape(ctx, x, flat), values};
  bsm_itensor *out =
      bsm_emit_gather(ctx, bsm_emit_concat(ctx, both, 2, 0),
                      bsm_emit_int64s(ctx, from, flat), BSM_GATHER_DEFAULT, 0);
  return bsm_emit_reshape(ctx, out, whole);
}

/* Indices computed at run time: the values, in the shape of what the indices
 * read, become slices along the merged dimension. */
static bsm_itensor *put_linear(bsm_conversion_ctx *ctx, bsm_itensor *x,
                               const index_list *list, bsm_itensor *values,
                               bool accumulate) {
  linear_index at;
  bsm_dims back = {0}, read = {0}, flat;
  if (!make_linear(ctx, x->dims, list, &at)) return NULL;
  bsm_itensor *moved = bsm_emit_permute(ctx, x, at.perm);
  bsm_itensor *merged = bsm_emit_reshape(ctx, moved, at.merged);
  if (!merged) return NULL;
  int64_t count = bsm_itensor_numel(at.index);
  flat = at.merged;
  flat.d[at.axis] = count;
  for (int32_t k = 0; k < at.merged.rank; k++) {
    if (k != at.axis) {
      read.d[read.rank++] = at.merged.d[k];
      continue;
    }
    for (int32_t i = 0; i < bsm_rank(at.index); i++) {
      if (read.rank == BSM_MAX_RANK) break;
      read.d[read.rank++] = at.index->dims.d[i];
    }
  }
  values = bsm_emit_cast(ctx, values, x->dtype);
  values = bsm_emit_reshape(ctx, bsm_emit_expand(ctx, values, read), flat);
  bsm_itensor *index = bsm_emit_reshape(ctx, at.index, (bsm_dims){1, {count}});
  merged =
      bsm_emit_index_write(ctx, merged, at.axis, index, values, accumulate);
  if (!merged || !moved) return NULL;
  back.rank = at.perm.rank;
  for (int32_t k = 0; k < back.rank; k++) back.d[at.perm.d[k]] = k;
  return bsm_emit_permute(ctx, bsm_emit_reshape(ctx, merged, moved->dims),
                          back);
}

static bsm_status convert_index_put(bsm_conversion_ctx *ctx,
                                    const bsm_node *node,
                                    const bsm_args *args) {
  enum { SELF, INDICES, VALUES, ACCUMULATE };
  index_list list;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *values = bsm_arg_itensor_or_freeze(ctx, args, VALUES);
  BSM_TRY(read_list(args, INDICES, &list));
  if (!x || !values) return bsm_ctx_take_error(ctx);
  bool accumulate = bsm_arg_unwrap_to_bool(args, ACCUMULATE);
  BSM_CHECK(list.count <= bsm_rank(x),
            "too many indices for tensor of dimension %d (got %d)",
            (int)bsm_rank(x), (int)list.count);
  if (list.used > 0 && !has_mask(&list) && (accumulate || !list.all_static)) {
    return bsm_emit_output(ctx, node, 0,
                           put_linear(ctx, x, &list, values, accumulate));
  }
  BSM_CHECK(!accumulate, "index_put with a mask and accumulate=True");
  if (list.all_static && list.used > 0) {
    return bsm_emit_output(ctx, node, 0, put_static(ctx, x, &list, values));
  }
  bool one_mask = list.count == 1 && list.items[0].itensor &&
                  list.items[0].itensor->dtype == BSM_DTYPE_BOOL &&
                  bsm_rank(list.items[0].itensor) <= bsm_rank(x);
  BSM_CHECK(one_mask && bsm_itensor_numel(values) == 1,
            "index_put with indices computed at run time: only one mask and a "
            "single value are supported");
  return bsm_emit_output(ctx, node, 0,
                         put_masked(ctx, x, list.items[0].itensor, values));
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
     convert_index, 0},
    {"aten::index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor",
     convert_index, 0},
    {"aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
     convert_index, 0},
    {"aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool "
     "accumulate=False) -> Tensor",
     convert_index_put, 0},
    {"aten::index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor "
     "values, bool accumulate=False) -> Tensor",
     convert_index_put, 0},
    {"aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool "
     "accumulate=False) -> Tensor(a!)",
     convert_index_put, 0},
};
BSM_CONVERTER_TABLE(index, patterns);
