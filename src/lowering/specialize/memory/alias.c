/* SPDX-License-Identifier: Apache-2.0 */
/* Storages, their base tensors, and the views made from them. */
#include "lowering/specialize/memory/alias.h"

#include "lowering/specialize/memory/view_kinds.h"
#include "lowering/specialize/values/literal_policy.h"

/* Longer chains of views read their elements directly from the base. */
#define MAX_CHAIN 100u

bsm_spec_tensor *bsm_spec_tensor_find(const bsm_spec *s, const bsm_tensor *t) {
  return bsm_ptrmap_get(&s->memory->tensors, t);
}

bsm_status bsm_spec_tensor_new(bsm_spec *s, bsm_tensor *t,
                               bsm_spec_tensor **out) {
  bsm_spec_tensor *record = BSM_NEW(s->scratch, bsm_spec_tensor);
  BSM_TRY_ALLOC(record);
  record->tensor = t;
  record->source = bsm_spec_source(s);
  BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &s->memory->tensors, t, record));
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
                                .created = now};
  base->storage = storage;
  BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &s->memory->storages,
                               base->tensor->storage, storage));
  return BSM_OK;
}

bsm_status bsm_spec_tensor_of(bsm_spec *s, bsm_tensor *t,
                              bsm_spec_tensor **out) {
  *out = bsm_spec_tensor_find(s, t);
  if (*out) {
    return BSM_OK;
  }
  bsm_spec_storage *storage = bsm_ptrmap_get(&s->memory->storages, t->storage);
  BSM_TRY(bsm_spec_tensor_new(s, t, out));
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
  if (bsm_spec_tensors_have_identity(s)) {
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

bsm_status bsm_spec_bind_aliased(bsm_spec *s, bsm_tensor *t, bsm_value *value) {
  BSM_TRY(bsm_spec_bind_base(s, t, value));
  bsm_spec_tensor *record = bsm_spec_tensor_find(s, t);
  record->storage->may_alias = true;
  record->strides_unknown = true;
  return BSM_OK;
}

/* ---- views ---- */

bsm_status bsm_spec_note_view(bsm_spec *s, bsm_tensor *t, bsm_tensor *parent,
                              const bsm_schema *schema, const bsm_ivalue *args,
                              size_t n) {
  bsm_spec_tensor *view = NULL, *from = NULL;
  BSM_TRY(bsm_spec_tensor_of(s, parent, &from));
  BSM_TRY(bsm_spec_tensor_new(s, t, &view));
  view->storage = from->storage;
  view->parent = from;
  view->depth = from->depth + 1;
  view->kind = bsm_spec_view_kind(view, parent, schema, args, n);
  view->moving = from->moving;
  const bool single = schema && schema->return_count == 1 &&
                      schema->returns[0].type->kind == BSM_TYPE_TENSOR;
  if (s->at.node && s->at.node->outputs.len == 1 && single) {
    view->name = bsm_node_out(s->at.node, 0)->debug_name;
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

/* ---- writing with known data ---- */

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

bool bsm_spec_has_old_memory(const bsm_spec *s, const bsm_spec_tensor *record) {
  return s->residual.block_depth > 0 &&
         record->storage->created <= s->residual.block_created;
}

bool bsm_spec_overlaps_itself(const bsm_tensor *t) {
  for (int32_t i = 0; i < t->sizes.rank; i++) {
    if (t->strides[i] == 0 && t->sizes.d[i] > 1) {
      return true;
    }
  }
  return false;
}
