/* SPDX-License-Identifier: Apache-2.0 */
/* The residual values of tensors: constants of those with data, the value of
 * the storage for its base, and replayed view chains. */
#include "lowering/specialize/memory/tensor_values.h"

#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/memory/view_reads.h"
#include "lowering/specialize/values/literal_policy.h"

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
  bsm_node_emitter e = bsm_spec_emitter(s);
  e.block = s->residual.graph->block; /* in sight from everywhere */
  const bsm_type *type = bsm_spec_tensor_type(s, t);
  BSM_TRY_ALLOC(type);
  BSM_TRY(bsm_ir_constant(&e, bsm_iv_tensor(copy), type, out));
  return name ? bsm_value_set_name(s->residual.graph, *out, name) : BSM_OK;
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

static bsm_status fixed_value(bsm_spec *s, bsm_tensor *t, bsm_value **out) {
  bsm_spec_tensor *record = NULL;
  BSM_TRY(bsm_spec_tensor_of(s, t, &record));
  if (!record->value && !record->known) {
    return BSM_FAIL(BSM_INTERNAL, "a tensor without a value");
  }
  if (!record->value) {
    bsm_node_emitter e = bsm_spec_emitter(s);
    e.block = s->residual.graph->block; /* in sight from everywhere */
    const bsm_ivalue known =
        bsm_iv_tensor((bsm_tensor *)(uintptr_t)record->known);
    const bsm_type *type = bsm_spec_tensor_type(s, t);
    BSM_TRY_ALLOC(type);
    BSM_TRY(bsm_ir_constant(&e, known, type, &record->value));
    if (record->name) {
      BSM_TRY(
          bsm_value_set_name(s->residual.graph, record->value, record->name));
    }
  }
  *out = record->value;
  return BSM_OK;
}

bsm_status bsm_spec_refuse_quantized(void) {
  return BSM_FAIL(BSM_UNSUPPORTED,
                  "a quantized tensor would be needed when the engine runs: "
                  "dequantize it first");
}

bsm_status bsm_spec_tensor_value(bsm_spec *s, bsm_tensor *t, bsm_value **out) {
  bsm_spec_tensor *record = NULL;
  if (bsm_dtype_is_quantized(t->dtype)) return bsm_spec_refuse_quantized();
  if (bsm_spec_tensors_have_identity(s)) {
    return fixed_value(s, t, out);
  }
  BSM_TRY(bsm_spec_tensor_of(s, t, &record));
  return value_of(s, record, out);
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
  BSM_TRY(bsm_spec_tensor_new(s, flat, &record));
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
