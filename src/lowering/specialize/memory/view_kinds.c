/* SPDX-License-Identifier: Apache-2.0 */
/* How a view's elements lie in its parent: what writing through it needs. */
#include "lowering/specialize/memory/view_kinds.h"

#include "lowering/specialize/values/schema_query.h"

static bool same_geometry(const bsm_tensor *a, const bsm_tensor *b) {
  if (!bsm_dims_equal(a->sizes, b->sizes) || a->offset != b->offset) {
    return false;
  }
  for (int32_t i = 0; i < a->sizes.rank; i++) {
    if (a->sizes.d[i] > 1 && a->strides[i] != b->strides[i]) {
      return false;
    }
  }
  return true;
}

static int64_t arg_int(const bsm_schema *schema, const bsm_ivalue *args,
                       size_t n, const char *name, int64_t fallback) {
  const int64_t i = bsm_schema_find_arg(schema, name);
  return i >= 0 && (size_t)i < n && args[i].tag == BSM_IVALUE_INT ? args[i].u.i
                                                                  : fallback;
}

static bool classify_permute(bsm_spec_tensor *v, const bsm_tensor *parent) {
  const bsm_tensor *t = v->tensor;
  uint32_t used = 0;
  if (t->sizes.rank != parent->sizes.rank) {
    return false;
  }
  for (int32_t i = 0; i < t->sizes.rank; i++) {
    int32_t k = 0;
    while (k < parent->sizes.rank &&
           ((used & 1u << k) || parent->sizes.d[k] != t->sizes.d[i] ||
            parent->strides[k] != t->strides[i])) {
      k++;
    }
    if (k == parent->sizes.rank) {
      return false;
    }
    used |= 1u << k;
    v->perm[i] = k;
  }
  return true;
}

static bool classify_select(bsm_spec_tensor *v, const bsm_tensor *parent,
                            int64_t dim) {
  if (parent->sizes.rank < 1 || !bsm_ir_wrap_dim(&dim, parent->sizes.rank)) {
    return false;
  }
  const int64_t stride = parent->strides[dim];
  v->dim = dim;
  v->start = stride ? (v->tensor->offset - parent->offset) / stride : 0;
  return true;
}

static bool classify_slice(bsm_spec_tensor *v, const bsm_tensor *parent,
                           int64_t dim, int64_t step) {
  if (v->tensor->sizes.rank != parent->sizes.rank || step < 1 ||
      !bsm_ir_wrap_dim(&dim, parent->sizes.rank)) {
    return false;
  }
  const int64_t stride = parent->strides[dim];
  const int64_t size = v->tensor->sizes.d[dim];
  v->dim = dim;
  v->step = step;
  v->start = stride ? (v->tensor->offset - parent->offset) / stride : 0;
  v->end = size > 0 ? v->start + (size - 1) * step + 1 : v->start;
  return true;
}

/* Same elements with more dims of stride 0: the other dims in order. */
static bool classify_expand(const bsm_tensor *t, const bsm_tensor *parent) {
  int32_t k = 0;
  if (t->offset != parent->offset) {
    return false;
  }
  for (int32_t i = 0; i < t->sizes.rank; i++) {
    if (t->sizes.d[i] == 1 || t->strides[i] == 0) {
      continue;
    }
    while (k < parent->sizes.rank && parent->sizes.d[k] == 1) {
      k++;
    }
    if (k == parent->sizes.rank || parent->sizes.d[k] != t->sizes.d[i] ||
        parent->strides[k] != t->strides[i]) {
      return false;
    }
    k++;
  }
  while (k < parent->sizes.rank && parent->sizes.d[k] == 1) {
    k++;
  }
  return k == parent->sizes.rank;
}

bsm_view_kind bsm_spec_view_kind(bsm_spec_tensor *v, const bsm_tensor *parent,
                                 const bsm_schema *schema,
                                 const bsm_ivalue *args, size_t n) {
  static const char *const reshapes[] = {
      "aten::view",         "aten::reshape",
      "aten::_unsafe_view", "aten::flatten",
      "aten::unflatten",    "aten::squeeze",
      "aten::unsqueeze",    "aten::view_as",
      "aten::reshape_as",   "aten::_reshape_alias",
      "aten::ravel",        "aten::atleast_1d",
      "aten::atleast_2d",   "aten::atleast_3d",
      "aten::contiguous",   NULL};
  static const char *const permutes[] = {
      "aten::transpose", "aten::permute",  "aten::t",        "aten::numpy_T",
      "aten::swapaxes",  "aten::swapdims", "aten::movedim",  "aten::moveaxis",
      "aten::mT",        "aten::adjoint",  "aten::matrix_H", NULL};
  static const char *const expands[] = {
      "aten::expand",       "aten::expand_as",
      "aten::broadcast_to", "aten::broadcast_tensors",
      "aten::meshgrid",     NULL};
  const bsm_tensor *t = v->tensor;
  const char *name = schema ? schema->name : "";
  if (t->dtype != parent->dtype) {
    return BSM_VIEW_OTHER;
  }
  if (same_geometry(t, parent)) {
    return BSM_VIEW_IDENTITY;
  }
  if (bsm_name_in(name, reshapes)) {
    return BSM_VIEW_RESHAPE;
  }
  if (bsm_name_in(name, permutes) && classify_permute(v, parent)) {
    return BSM_VIEW_PERMUTE;
  }
  if (bsm_name_in(name, expands) && classify_expand(t, parent)) {
    return BSM_VIEW_EXPAND;
  }
  const int64_t dim = schema ? arg_int(schema, args, n, "dim", 0) : 0;
  if ((strcmp(name, "aten::select") == 0 ||
       strcmp(name, "aten::unbind") == 0) &&
      classify_select(v, parent, dim)) {
    return BSM_VIEW_SELECT;
  }
  static const char *const slices[] = {
      "aten::slice",        "aten::narrow",           "aten::split",
      "aten::chunk",        "aten::split_with_sizes", "aten::tensor_split",
      "aten::unsafe_split", "aten::unsafe_chunk",     NULL};
  const int64_t step = schema ? arg_int(schema, args, n, "step", 1) : 1;
  if (bsm_name_in(name, slices) && classify_slice(v, parent, dim, step)) {
    return BSM_VIEW_SLICE;
  }
  return classify_expand(t, parent) ? BSM_VIEW_EXPAND : BSM_VIEW_GATHER;
}
