/* SPDX-License-Identifier: Apache-2.0 */
/* Storages, their base tensors, and the views made from them. */
#include "lowering/specialize/specialize.h"

/* Longer chains of views read their elements from the base at once. */
#define MAX_CHAIN 100u

bsm_spec_tensor *bsm_spec_tensor_find(const bsm_spec *s, const bsm_tensor *t) {
  return bsm_ptrmap_get(&s->tensors, t);
}

static bsm_status new_record(bsm_spec *s, bsm_tensor *t,
                             bsm_spec_tensor **out) {
  bsm_spec_tensor *record = BSM_NEW(s->scratch, bsm_spec_tensor);
  BSM_TRY_ALLOC(record);
  record->tensor = t;
  record->source = bsm_spec_source(s);
  BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &s->tensors, t, record));
  *out = record;
  return BSM_OK;
}

static bsm_status new_storage(bsm_spec *s, bsm_spec_tensor *base) {
  bsm_spec_storage *storage = BSM_NEW(s->scratch, bsm_spec_storage);
  BSM_TRY_ALLOC(storage);
  const uint64_t now = bsm_spec_tick(s);
  *storage = (bsm_spec_storage){.storage = base->tensor->storage,
                                .base = base,
                                .version = now,
                                .birth = now};
  base->storage = storage;
  BSM_TRY_ALLOC(
      bsm_ptrmap_set(s->scratch, &s->storages, base->tensor->storage, storage));
  return BSM_OK;
}

bsm_status bsm_spec_tensor_of(bsm_spec *s, bsm_tensor *t,
                              bsm_spec_tensor **out) {
  *out = bsm_spec_tensor_find(s, t);
  if (*out) {
    return BSM_OK;
  }
  bsm_spec_storage *storage = bsm_ptrmap_get(&s->storages, t->storage);
  BSM_TRY(new_record(s, t, out));
  if (!storage) {
    return new_storage(s, *out);
  }
  (*out)->storage = storage;
  (*out)->kind = BSM_VIEW_GATHER;
  (*out)->parent = storage->base;
  (*out)->depth = 1;
  return BSM_OK;
}

bsm_status bsm_spec_bind_base(bsm_spec *s, bsm_tensor *t, bsm_value *value) {
  bsm_spec_tensor *record = NULL;
  BSM_TRY(bsm_spec_tensor_of(s, t, &record));
  if (s->literal) {
    record->value = value;
    return BSM_OK;
  }
  if (record->storage->base != record) {
    return BSM_FAIL(BSM_INTERNAL, "a new result shares a known storage");
  }
  record->storage->value = value;
  record->value = value;
  record->version = record->storage->version;
  return BSM_OK;
}

bsm_status bsm_spec_bind_joined(bsm_spec *s, bsm_tensor *t, bsm_value *value) {
  BSM_TRY(bsm_spec_bind_base(s, t, value));
  bsm_spec_tensor *record = bsm_spec_tensor_find(s, t);
  record->storage->joined = true;
  record->loose = true;
  return BSM_OK;
}

/* ---- what kind of view ---- */

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

static bool is_one_of(const char *name, const char *const *list) {
  for (; *list; list++) {
    if (strcmp(name, *list) == 0) {
      return true;
    }
  }
  return false;
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

static bsm_view_kind classify(bsm_spec_tensor *v, const bsm_tensor *parent,
                              const bsm_schema *schema, const bsm_ivalue *args,
                              size_t n) {
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
  if (is_one_of(name, reshapes)) {
    return BSM_VIEW_RESHAPE;
  }
  if (is_one_of(name, permutes) && classify_permute(v, parent)) {
    return BSM_VIEW_PERMUTE;
  }
  if (is_one_of(name, expands) && classify_expand(t, parent)) {
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
  if (is_one_of(name, slices) && classify_slice(v, parent, dim, step)) {
    return BSM_VIEW_SLICE;
  }
  return classify_expand(t, parent) ? BSM_VIEW_EXPAND : BSM_VIEW_GATHER;
}

bsm_status bsm_spec_note_view(bsm_spec *s, bsm_tensor *t, bsm_tensor *parent,
                              const bsm_schema *schema, const bsm_ivalue *args,
                              size_t n) {
  bsm_spec_tensor *view = NULL, *from = NULL;
  BSM_TRY(bsm_spec_tensor_of(s, parent, &from));
  BSM_TRY(new_record(s, t, &view));
  view->storage = from->storage;
  view->parent = from;
  view->depth = from->depth + 1;
  view->kind = classify(view, parent, schema, args, n);
  view->moving = from->moving;
  const bool single = schema && schema->return_count == 1 &&
                      schema->returns[0].type->kind == BSM_TYPE_TENSOR;
  if (s->node && s->node->outputs.len == 1 && single) {
    view->name = bsm_node_out(s->node, 0)->debug_name;
  }
  if (view->depth > MAX_CHAIN && view->kind != BSM_VIEW_OTHER &&
      !view->moving) {
    view->kind = BSM_VIEW_GATHER;
    view->parent = from->storage->base;
    view->depth = 1;
    return BSM_OK;
  }
  if (!single || strcmp(schema->name, "aten::as_strided") == 0) {
    return BSM_OK;
  }
  view->schema = schema;
  view->args = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, n + 1);
  BSM_TRY_ALLOC(view->args);
  memcpy(view->args, args, n * sizeof(*args));
  while (view->parent_arg < n &&
         !(args[view->parent_arg].tag == BSM_IVALUE_TENSOR &&
           args[view->parent_arg].u.tensor == parent)) {
    view->parent_arg++;
  }
  return BSM_OK;
}

/* ---- values ---- */

/* A constant node of a tensor with data. The memory is shared with the storage,
 * which is copied before the next write to it. */
static bsm_status snapshot(bsm_spec *s, bsm_tensor *t, const char *name,
                           bsm_value **out) {
  bsm_tensor *copy = BSM_NEW(s->cx->arena, bsm_tensor);
  bsm_storage *storage = BSM_NEW(s->cx->arena, bsm_storage);
  BSM_TRY_ALLOC(copy && storage);
  t->storage->read_only = true;
  *storage = *t->storage;
  *copy = *t;
  copy->storage = storage;
  bsm_emitter e = bsm_spec_emitter(s);
  e.block = s->graph->block; /* in sight from everywhere */
  const bsm_type *type = bsm_spec_tensor_type(s, t);
  BSM_TRY_ALLOC(type);
  BSM_TRY(bsm_ir_constant(&e, bsm_iv_tensor(copy), type, out));
  return name ? bsm_value_set_name(s->graph, *out, name) : BSM_OK;
}

static bsm_status value_of(bsm_spec *s, bsm_spec_tensor *r, bsm_value **out) {
  bsm_spec_storage *storage = r->storage;
  if (r->value && r->version == storage->version &&
      bsm_spec_visible(s, r->value)) {
    *out = r->value;
    return BSM_OK;
  }
  if (!r->tensor->storage->meta) {
    BSM_TRY(snapshot(s, r->tensor, r->name, out));
  } else if (storage->base == r) {
    *out = storage->value;
    if (!*out) {
      return BSM_FAIL(BSM_INTERNAL, "a tensor without a value");
    }
  } else {
    bsm_value *parent = NULL;
    BSM_TRY(value_of(
        s, r->kind == BSM_VIEW_GATHER && !r->schema ? storage->base : r->parent,
        &parent));
    BSM_TRY(bsm_spec_read_view(s, r, parent, out));
  }
  r->value = *out;
  r->version = storage->version;
  return BSM_OK;
}

bsm_status bsm_spec_tensor_value(bsm_spec *s, bsm_tensor *t, bsm_value **out) {
  bsm_spec_tensor *record = NULL;
  if (s->literal) {
    return bsm_spec_literal_value(s, t, out);
  }
  BSM_TRY(bsm_spec_tensor_of(s, t, &record));
  return value_of(s, record, out);
}

/* ---- writing with known data, and the way to unknown data ---- */

bsm_status bsm_spec_make_writable(bsm_spec *s, bsm_tensor *t) {
  bsm_storage *storage = t->storage;
  if (!storage->read_only) {
    return BSM_OK;
  }
  if (storage->size > s->cx->limits.max_tensor_bytes) {
    return BSM_FAIL(BSM_LIMIT, "a tensor of %zu bytes is too large to copy",
                    storage->size);
  }
  void *data = bsm_arena_alloc(s->cx->arena, storage->size + 1, 64);
  BSM_TRY_ALLOC(data);
  if (storage->size) {
    memcpy(data, storage->data, storage->size);
  }
  storage->data = data;
  storage->read_only = false;
  return BSM_OK;
}

bsm_status bsm_spec_touch(bsm_spec *s, bsm_tensor *t) {
  bsm_spec_tensor *record = NULL;
  BSM_TRY(bsm_spec_tensor_of(s, t, &record));
  record->storage->version = bsm_spec_tick(s);
  return BSM_OK;
}

/* A base that covers the whole storage in order: the present one, or a new one
 * of rank 1. Elements of other tensors of the storage are then in it. */
static bsm_status cover_storage(bsm_spec *s, bsm_spec_tensor *r) {
  bsm_spec_storage *storage = r->storage;
  bsm_tensor *base = storage->base->tensor;
  const size_t item = bsm_dtype_size(base->dtype);
  const size_t bytes = (size_t)bsm_tensor_numel(base) * item;
  if (base->offset == 0 && bsm_tensor_is_contiguous(base) &&
      bytes == storage->storage->size) {
    return BSM_OK;
  }
  if (item == 0) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a tensor of dtype %s is written to",
                    bsm_dtype_name(base->dtype));
  }
  bsm_tensor *flat = NULL;
  const bsm_dims dims = {1, {(int64_t)(storage->storage->size / item)}};
  const int64_t stride = 1;
  BSM_TRY(bsm_tensor_view(s->cx->arena, base, dims, &stride, 0, &flat));
  bsm_spec_tensor *old = storage->base, *record = NULL;
  BSM_TRY(new_record(s, flat, &record));
  record->storage = storage;
  record->name = old->name;
  storage->base = record;
  old->kind = BSM_VIEW_GATHER;
  old->parent = record;
  return BSM_OK;
}

bsm_status bsm_spec_materialize(bsm_spec *s, bsm_tensor *t) {
  bsm_spec_tensor *record = NULL;
  BSM_TRY(bsm_spec_tensor_of(s, t, &record));
  bsm_spec_storage *storage = record->storage;
  if (storage->storage->meta) {
    return BSM_OK;
  }
  BSM_TRY(cover_storage(s, record));
  BSM_TRY(value_of(s, storage->base, &storage->value));
  storage->storage->meta = true;
  storage->storage->data = NULL;
  return BSM_OK;
}
