/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of ops for the worlds, which know data where it is small - positions,
 * lengths, masks of short sequences - and only dims where it is not. */
#include "lowering/specialize/worlds/world_data.h"

static bool has_data(const bsm_ivalue *args, size_t n) {
  bool any = false;
  for (size_t i = 0; i < n; i++) {
    if (args[i].tag != BSM_IVALUE_TENSOR) {
      continue;
    }
    if (bsm_tensor_is_meta(args[i].u.tensor)) {
      return false;
    }
    any = true;
  }
  return any;
}

static bsm_status meta_like(bsm_arena *arena, const bsm_tensor *t,
                            bsm_dims dims, bsm_ivalue *out) {
  bsm_tensor *meta = NULL;
  BSM_TRY(bsm_tensor_new(arena, t->dtype, dims, true, &meta));
  meta->wrapped_number = t->wrapped_number;
  *out = bsm_iv_tensor(meta);
  return BSM_OK;
}

static bool is_large(const bsm_ivalue *outs, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (outs[i].tag != BSM_IVALUE_TENSOR) {
      return false;
    }
  }
  for (size_t i = 0; i < n; i++) {
    if (bsm_tensor_numel(outs[i].u.tensor) > BSM_WORLD_DATA) {
      return true;
    }
  }
  return false;
}

/* *done: the op makes large tensors of small ones. A failure is left to the
 * call that follows. */
static bsm_status without_data(bsm_op_ctx *cx, const bsm_aten_op *op,
                               const bsm_ivalue *args, size_t n,
                               bsm_ivalue *outs, size_t n_outs, bool *done) {
  bsm_ivalue *metas = BSM_NEW_ARRAY(cx->arena, bsm_ivalue, n + 1);
  BSM_TRY_ALLOC(metas);
  for (size_t i = 0; i < n; i++) {
    metas[i] = args[i];
    if (args[i].tag == BSM_IVALUE_TENSOR) {
      const bsm_tensor *t = args[i].u.tensor;
      BSM_TRY(meta_like(cx->arena, t, t->sizes, &metas[i]));
    }
  }
  bsm_op_ctx own = *cx;
  bsm_status st = bsm_aten_call(&own, op, metas, n, outs, n_outs);
  if (bsm_status_code(st) == BSM_OUT_OF_MEMORY) {
    return st;
  }
  *done = !st && n_outs && is_large(outs, n_outs);
  bsm_status_free(st);
  return BSM_OK;
}

/* The dims that full, ones and their like are given; false: another op. */
static bool given_dims(const bsm_aten_op *op, const bsm_ivalue *args, size_t n,
                       bsm_dims *out) {
  static const char *const names[] = {"aten::full(", "aten::ones(",
                                      "aten::zeros(", "aten::empty."};
  bsm_schema_text room;
  const char *schema = bsm_aten_schema(op, &room);
  bool found = false;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    found = found || strncmp(schema, names[i], strlen(names[i])) == 0;
  }
  if (!found || !n || args[0].tag != BSM_IVALUE_LIST ||
      args[0].u.list->len > BSM_MAX_RANK) {
    return false;
  }
  double elements = 1;
  *out = (bsm_dims){.rank = (int32_t)args[0].u.list->len};
  for (int32_t i = 0; i < out->rank; i++) {
    const bsm_ivalue *size = &args[0].u.list->items[i];
    if (size->tag != BSM_IVALUE_INT || size->u.i < 0) {
      return false;
    }
    out->d[i] = size->u.i;
    elements *= (double)size->u.i;
  }
  return elements > BSM_WORLD_DATA;
}

bsm_status bsm_world_drop_large_data(bsm_arena *arena, bsm_ivalue *v) {
  if (v->tag != BSM_IVALUE_TENSOR || bsm_tensor_is_meta(v->u.tensor) ||
      v->u.tensor->storage->size <= BSM_WORLD_DATA * sizeof(double)) {
    return BSM_OK; /* a view of few elements stays one */
  }
  return meta_like(arena, v->u.tensor, v->u.tensor->sizes, v);
}

bsm_status bsm_world_call(bsm_op_ctx *cx, const bsm_aten_op *op,
                          const bsm_ivalue *args, size_t n, bsm_ivalue *outs,
                          size_t n_outs) {
  bool done = false;
  bsm_dims dims;
  if (given_dims(op, args, n, &dims) && n_outs == 1) {
    /* The dtype is that of a small one. */
    const int64_t none = 0;
    bsm_ivalue *small = BSM_NEW_ARRAY(cx->arena, bsm_ivalue, n);
    BSM_TRY_ALLOC(small);
    memcpy(small, args, n * sizeof(*args));
    BSM_TRY(bsm_iv_int_list(cx->arena, &none, 1, &small[0]));
    BSM_TRY(bsm_aten_call(cx, op, small, n, outs, 1));
    return meta_like(cx->arena, outs[0].u.tensor, dims, &outs[0]);
  }
  if (has_data(args, n) && !(op->flags & BSM_ATEN_VIEW)) {
    BSM_TRY(without_data(cx, op, args, n, outs, n_outs, &done));
  }
  return done ? BSM_OK : bsm_aten_call(cx, op, args, n, outs, n_outs);
}
