/* SPDX-License-Identifier: Apache-2.0 */
/* Advanced indexing: aten::index.Tensor by one gather, aten::index_put by one
 * scatter, or by a select when a mask is computed at run time.
 *
 * Masks known now become the index tensors of their true places. Several
 * indices become tuples: the indexed dimensions are brought together, and a
 * last dimension of the indices names a place in each of them. */
#include "conversion/scatter.h"

/* The entries of the list of indices: nothing, a tensor of the network or a
 * host tensor. */
typedef struct index_list {
  bsm_var items[BSM_MAX_RANK];
  int32_t count;
  int32_t used;    /* entries that are not None */
  bool all_static; /* of the used ones */
} index_list;

static bool is_used(const index_list *list, int32_t k) {
  return k < list->count && (list->items[k].itensor || list->items[k].ivalue);
}

static bsm_dtype dtype_of(const bsm_var *item) {
  return item->itensor ? item->itensor->dtype : item->ivalue->u.tensor->dtype;
}

static bool is_mask(const bsm_var *item) {
  if (!item->itensor && !item->ivalue) return false;
  const bsm_dtype dtype = dtype_of(item);
  return dtype == BSM_DTYPE_BOOL || dtype == BSM_DTYPE_UINT8;
}

static bsm_status push(index_list *list, bsm_var item) {
  BSM_CHECK(list->count < BSM_MAX_RANK, "more than %d indices", BSM_MAX_RANK);
  list->items[list->count++] = item;
  list->used += item.itensor || item.ivalue;
  if (item.itensor) list->all_static = false;
  return BSM_OK;
}

/* A mask known now as one index tensor for each of its dimensions; `x`: what
 * the mask lies on, from its first dimension. */
static bsm_status push_mask(bsm_conversion_ctx *ctx, index_list *list,
                            const bsm_tensor *mask, bsm_dims x) {
  const int32_t rank = mask->sizes.rank, first = list->count;
  bsm_ivalue args[3], found, column;
  for (int32_t i = 0; i < rank; i++) {
    BSM_CHECK(first + i < x.rank && mask->sizes.d[i] == x.d[first + i],
              "The shape of the mask %s at index %d does not match the shape "
              "of the indexed tensor %s",
              bsm_dims_str(mask->sizes), (int)first, bsm_dims_str(x));
  }
  BSM_CHECK(rank > 0, "a 0-dim mask as an index");
  args[0] = bsm_iv_tensor((bsm_tensor *)mask);
  BSM_TRY(bsm_host_call(ctx, "aten::nonzero", args, 1, &found, 1));
  for (int32_t i = 0; i < rank; i++) {
    args[0] = found;
    args[1] = bsm_iv_int(1);
    args[2] = bsm_iv_int(i);
    BSM_TRY(bsm_host_call(ctx, "aten::select.int", args, 3, &column, 1));
    bsm_ivalue *kept = BSM_NEW(ctx->impl->arena, bsm_ivalue);
    BSM_TRY_ALLOC(kept);
    *kept = column;
    BSM_TRY(push(list, (bsm_var){.ivalue = kept}));
  }
  return BSM_OK;
}

static bsm_status read_list(bsm_conversion_ctx *ctx, const bsm_args *args,
                            size_t i, bsm_dims x, index_list *out) {
  *out = (index_list){.all_static = true};
  BSM_CHECK(bsm_arg_is_list(args, i), "the indices are not a list");
  const bsm_list *list = args->items[i].ivalue->u.list;
  for (size_t k = 0; k < list->len; k++) {
    const bsm_ivalue *item = &list->items[k];
    bsm_var var = {.itensor = bsm_container_tensor(item)};
    if (item->tag == BSM_IVALUE_TENSOR) var.ivalue = item;
    BSM_CHECK(var.itensor || var.ivalue || item->tag == BSM_IVALUE_NONE,
              "index %zu is a %s", k, bsm_iv_tag_name(item->tag));
    if (var.ivalue && is_mask(&var)) {
      BSM_TRY(push_mask(ctx, out, item->u.tensor, x));
    } else {
      BSM_TRY(push(out, var));
    }
  }
  BSM_CHECK(out->count <= x.rank,
            "too many indices for tensor of dimension %d (got %d)", (int)x.rank,
            (int)out->count);
  return BSM_OK;
}

static bsm_itensor *index_tensor(bsm_conversion_ctx *ctx, const bsm_var *item) {
  if (item->itensor) return bsm_emit_cast(ctx, item->itensor, BSM_DTYPE_INT64);
  return bsm_freeze_as(ctx, item->ivalue->u.tensor, BSM_DTYPE_INT64);
}

/* The index tuples and where their dimensions are: those of the data, permuted
 * by `perm`, that start at `axis`. Indexed dimensions that are neighbours stay
 * where they are; else they come to the front, as in PyTorch. */
typedef struct index_tuples {
  bsm_itensor *indices; /* [.., used] */
  bsm_dims perm;
  int32_t axis, used;
} index_tuples;

static bool broadcast(bsm_conversion_ctx *ctx, bsm_dims *to, bsm_dims dims) {
  bsm_dims out = to->rank >= dims.rank ? *to : dims;
  for (int32_t i = 1; i <= out.rank; i++) {
    const int64_t a = i <= to->rank ? to->d[to->rank - i] : 1;
    const int64_t b = i <= dims.rank ? dims.d[dims.rank - i] : 1;
    if (a != b && a != 1 && b != 1) {
      bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                    "shape mismatch: indexing tensors could not be broadcast "
                    "together with shapes %s, %s",
                    bsm_dims_str(*to), bsm_dims_str(dims));
      return false;
    }
    out.d[out.rank - i] = a == 1 ? b : a;
  }
  *to = out;
  return true;
}

static void find_axis(const index_list *list, bsm_dims x, index_tuples *out) {
  int32_t first = -1, last = -1;
  for (int32_t k = 0; k < list->count; k++) {
    if (!is_used(list, k)) continue;
    if (first < 0) first = k;
    last = k;
  }
  const bool neighbours = last - first + 1 == list->used;
  out->axis = neighbours ? first : 0;
  out->used = list->used;
  for (int32_t pass = 0; pass < 3; pass++) {
    for (int32_t k = 0; k < x.rank; k++) {
      const int32_t when = is_used(list, k)          ? 1
                           : neighbours && k < first ? 0
                                                     : 2;
      if (when == pass) out->perm.d[out->perm.rank++] = k;
    }
  }
}

static bool make_tuples(bsm_conversion_ctx *ctx, bsm_dims x,
                        const index_list *list, index_tuples *out) {
  bsm_itensor *parts[BSM_MAX_RANK];
  size_t count = 0;
  bsm_dims dims = {0};
  *out = (index_tuples){0};
  find_axis(list, x, out);
  for (int32_t k = 0; k < list->count; k++) {
    if (!is_used(list, k)) continue;
    parts[count] = index_tensor(ctx, &list->items[k]);
    if (!parts[count] || !broadcast(ctx, &dims, parts[count]->dims)) {
      return false;
    }
    count++;
  }
  if (dims.rank >= BSM_MAX_RANK) {
    bsm_emit_fail(ctx, BSM_UNSUPPORTED, "indices of rank %d", (int)dims.rank);
    return false;
  }
  for (size_t k = 0; k < count; k++) {
    parts[k] = bsm_emit_unsqueeze(ctx, bsm_emit_expand(ctx, parts[k], dims),
                                  dims.rank);
  }
  out->indices = bsm_emit_concat(ctx, parts, count, dims.rank);
  return out->indices != NULL;
}

/* Data whose indexed dimensions are the first. */
static bsm_itensor *gather_tuples(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                  const index_list *list) {
  index_tuples at;
  if (!make_tuples(ctx, x->dims, list, &at)) return NULL;
  bsm_dims perm = {0}, back = {0};
  const int32_t index_rank = bsm_rank(at.indices) - 1;
  for (int32_t i = 0; i < at.used; i++) {
    perm.d[perm.rank++] = at.perm.d[at.axis + i];
  }
  for (int32_t i = 0; i < at.perm.rank; i++) {
    if (i < at.axis || i >= at.axis + at.used) {
      perm.d[perm.rank++] = at.perm.d[i];
    }
  }
  bsm_itensor *out = bsm_emit_gather(ctx, bsm_emit_permute(ctx, x, perm),
                                     at.indices, BSM_GATHER_ND, 0);
  if (!out) return NULL;
  /* [indices, before, after] -> [before, indices, after] */
  for (int32_t i = 0; i < bsm_rank(out); i++) {
    back.d[i] = i < at.axis                ? index_rank + i
                : i < at.axis + index_rank ? i - at.axis
                                           : i;
  }
  back.rank = bsm_rank(out);
  return bsm_emit_permute(ctx, out, back);
}

static bsm_status convert_index(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { SELF, INDICES };
  index_list list;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_TRY(read_list(ctx, args, INDICES, x->dims, &list));
  if (list.used == 0) return bsm_emit_output(ctx, node, 0, x);
  for (int32_t k = 0; k < list.count; k++) {
    if (!is_mask(&list.items[k])) continue;
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "indexing by a mask computed at run time: the shape of "
                    "the result would depend on the data");
  }
  if (list.used > 1) {
    return bsm_emit_output(ctx, node, 0, gather_tuples(ctx, x, &list));
  }
  int32_t axis = 0;
  while (!is_used(&list, axis)) axis++;
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_gather(ctx, x, index_tensor(ctx, &list.items[axis]),
                      BSM_GATHER_DEFAULT, axis));
}

/* x[.., mask] = value: one mask computed at run time over the dims from `first`
 * and a single value. */
static bsm_itensor *put_masked(bsm_conversion_ctx *ctx, bsm_itensor *x,
                               bsm_itensor *mask, int32_t first,
                               bsm_itensor *value, bool accumulate) {
  bsm_dims dims = {0};
  for (int32_t i = 0; i < mask->dims.rank; i++) {
    if (first + i >= x->dims.rank || mask->dims.d[i] != x->dims.d[first + i]) {
      return bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                           "The shape of the mask %s does not match the shape "
                           "of the indexed tensor %s",
                           bsm_dims_str(mask->dims), bsm_dims_str(x->dims));
    }
    dims.d[dims.rank++] = mask->dims.d[i];
  }
  while (first + dims.rank < x->dims.rank) dims.d[dims.rank++] = 1;
  mask = bsm_emit_reshape(ctx, bsm_emit_cast(ctx, mask, BSM_DTYPE_BOOL), dims);
  if (accumulate) value = bsm_emit_binary(ctx, x, value, BSM_ELEMENT_WISE_SUM);
  return bsm_emit_select(ctx, mask, value, x);
}

/* The values, broadcast to the shape of what the indices read, are the updates
 * of one scatter. */
static bsm_itensor *put_tuples(bsm_conversion_ctx *ctx, bsm_itensor *x,
                               const index_list *list, bsm_itensor *values,
                               bool accumulate) {
  index_tuples at;
  bsm_dims back = {0}, read = {0};
  if (!make_tuples(ctx, x->dims, list, &at)) return NULL;
  bsm_itensor *data = bsm_emit_permute(ctx, x, at.perm);
  if (!data) return NULL;
  const int32_t index_rank = bsm_rank(at.indices) - 1;
  if (data->dims.rank - at.used + index_rank > BSM_MAX_RANK) {
    return bsm_emit_fail(ctx, BSM_UNSUPPORTED, "values of more than %d dims",
                         BSM_MAX_RANK);
  }
  for (int32_t i = 0; i < at.axis; i++) read.d[read.rank++] = data->dims.d[i];
  for (int32_t i = 0; i < index_rank; i++) {
    read.d[read.rank++] = at.indices->dims.d[i];
  }
  for (int32_t i = at.axis + at.used; i < data->dims.rank; i++) {
    read.d[read.rank++] = data->dims.d[i];
  }
  while (bsm_rank(values) > read.rank && values->dims.d[0] == 1) {
    values = bsm_emit_squeeze(ctx, values, 1); /* leading ones are allowed */
  }
  values = bsm_emit_expand(ctx, values, read);
  if (!values || bsm_itensor_numel(values) == 0) return values ? x : NULL;
  bsm_layer *layer = bsm_network_add_scatter(ctx->net, data, at.indices, values,
                                             BSM_SCATTER_ND, at.axis);
  bsm_scatter_set_reduction(
      layer, accumulate ? BSM_SCATTER_ADD : BSM_SCATTER_ASSIGN, true);
  bsm_scatter_set_wrap(layer, true);
  back.rank = at.perm.rank;
  for (int32_t k = 0; k < back.rank; k++) back.d[at.perm.d[k]] = k;
  return bsm_emit_permute(ctx, bsm_emit(ctx, layer), back);
}

static bsm_status convert_index_put(bsm_conversion_ctx *ctx,
                                    const bsm_node *node,
                                    const bsm_args *args) {
  enum { SELF, INDICES, VALUES, ACCUMULATE };
  index_list list;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *values = bsm_arg_itensor_or_freeze(ctx, args, VALUES);
  if (!x || !values) return bsm_ctx_take_error(ctx);
  BSM_TRY(read_list(ctx, args, INDICES, x->dims, &list));
  const bool accumulate = bsm_arg_unwrap_to_bool(args, ACCUMULATE);
  values = bsm_emit_cast(ctx, values, x->dtype);
  for (int32_t k = 0; k < list.count; k++) {
    if (!is_mask(&list.items[k])) continue;
    if (list.used > 1 || bsm_itensor_numel(values) != 1) {
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "index_put by a mask computed at run time takes a single "
                      "value: how many are written depends on the data");
    }
    values = bsm_emit_reshape(ctx, values, (bsm_dims){0});
    return bsm_emit_output(
        ctx, node, 0,
        put_masked(ctx, x, list.items[k].itensor, k, values, accumulate));
  }
  if (list.used == 0) { /* x[:] = values */
    values = bsm_emit_expand(ctx, values, x->dims);
    if (accumulate) {
      values = bsm_emit_binary(ctx, x, values, BSM_ELEMENT_WISE_SUM);
    }
    return bsm_emit_output(ctx, node, 0, values);
  }
  return bsm_emit_output(ctx, node, 0,
                         put_tuples(ctx, x, &list, values, accumulate));
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
     convert_index, 0},
    {"aten::index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor",
     convert_index, 0},
    {"aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
     convert_index, 0},
    {"aten::_unsafe_index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> "
     "Tensor",
     convert_index, 0},
    {"aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, "
     "bool accumulate=False) -> Tensor",
     convert_index_put, 0},
    {"aten::_unsafe_index_put.hacked_twin(Tensor self, Tensor[] indices, "
     "Tensor values, bool accumulate=False) -> Tensor",
     convert_index_put, 0},
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
