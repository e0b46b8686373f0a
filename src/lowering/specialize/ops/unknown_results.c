/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on symbols, and ops whose results only the run will tell: what follows
 * from types, dims and worlds is known all the same. */
#include "lowering/specialize/ops/unknown_results.h"

#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/memory/container_aliases.h"
#include "lowering/specialize/memory/dynamic_containers.h"
#include "lowering/specialize/memory/emit_op.h"
#include "lowering/specialize/memory/literal_ops.h"
#include "lowering/specialize/memory/memory.h"
#include "lowering/specialize/memory/symbol_views.h"
#include "lowering/specialize/memory/tensor_values.h"
#include "lowering/specialize/values/literal_policy.h"
#include "lowering/specialize/values/reference_op.h"
#include "lowering/specialize/values/schema_query.h"
#include "lowering/specialize/worlds/world_ops.h"
#include "lowering/specialize/worlds/world_strides.h"

/* A tensor that the run picks from a list or dict, literally: it is one of
 * them, so that none of these may get other dims from now on. */
static bsm_status note_picked(bsm_spec *s, const bsm_schema *schema,
                              const bsm_ivalue *args, size_t n,
                              const bsm_ivalue *outs, size_t n_outs) {
  bool shared = false, any = false;
  for (size_t i = 0; i < schema->return_count; i++) {
    shared = shared || schema->returns[i].has_alias;
  }
  for (size_t i = 0; shared && i < n; i++) {
    if (bsm_spec_is_container(&args[i])) {
      BSM_TRY(bsm_spec_note_items(s, &args[i]));
      any = true;
    }
  }
  for (size_t i = 0; any && i < n_outs; i++) {
    BSM_TRY(bsm_spec_note_shared(s, &outs[i]));
  }
  return BSM_OK;
}

/* Results that share the memory of the arguments. */
static bsm_status note_aliases(bsm_spec *s, const bsm_schema *schema,
                               const bsm_ivalue *args, size_t n,
                               const bsm_ivalue *outs, size_t n_outs) {
  bool any = false;
  if (!bsm_spec_tracks_sharing(s)) { /* they do, when it runs */
    return note_picked(s, schema, args, n, outs, n_outs);
  }
  for (size_t i = 0; i < n_outs && i < schema->return_count; i++) {
    any = any || schema->returns[i].has_alias;
  }
  if (any && n && n_outs == 1 && schema->arg_count &&
      schema->args[0].has_alias &&
      schema->returns[0].type->kind == BSM_TYPE_TENSOR &&
      bsm_spec_is_symbol(&outs[0])) {
    return bsm_spec_symbol_view(s, &outs[0], schema, args, n);
  }
  for (size_t i = 0; any && i < n && i < schema->arg_count; i++) {
    if (schema->args[i].has_alias && bsm_spec_is_symbol(&args[i])) {
      bsm_spec_alias_symbol(s, &args[i]);
    }
    BSM_TRY(bsm_spec_note_items(s, &args[i]));
  }
  for (size_t i = 0; any && i < n_outs; i++) {
    if (bsm_spec_is_symbol(&outs[i])) {
      bsm_spec_symbol_of(&outs[i])->aliased = true;
    }
  }
  return BSM_OK;
}

/* Ops that give as many tensors as an argument lists. The tensors may depend on
 * data, but their number does not. -1: another op, or a list whose length is
 * not known either. */
static int64_t result_length(const bsm_spec *s, const bsm_schema *schema,
                             const bsm_ivalue *args, size_t n) {
  static const struct {
    const char *op;
    size_t list; /* the argument */
    int64_t more;
  } rows[] = {
      {"aten::split.sizes", 1, 0},
      {"aten::split_with_sizes", 1, 0},
      {"aten::split_with_sizes_copy", 1, 0},
      {"aten::unsafe_split_with_sizes", 1, 0},
      {"aten::tensor_split.indices", 1, 1},
      {"aten::broadcast_tensors", 0, 0},
      {"aten::meshgrid", 0, 0},
      {"aten::meshgrid.indexing", 0, 0},
      {"aten::atleast_1d.Sequence", 0, 0},
      {"aten::atleast_2d.Sequence", 0, 0},
      {"aten::atleast_3d.Sequence", 0, 0},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (strcmp(schema->qualified, rows[i].op) == 0 && rows[i].list < n) {
      const bsm_ivalue *list = &args[rows[i].list];
      return list->tag == BSM_IVALUE_LIST && !bsm_spec_dynamic_find(s, list)
                 ? (int64_t)list->u.list->len + rows[i].more
                 : -1;
    }
  }
  return -1;
}

/* Every result becomes a symbol; a list of known length one of symbols. */
bsm_status bsm_spec_apply_opaque(bsm_spec *s, const bsm_schema *schema,
                                 const bsm_ivalue *args, size_t n,
                                 bsm_ivalue *outs, size_t n_outs) {
  for (size_t i = 0; i < n_outs; i++) {
    outs[i] = bsm_iv_none();
  }
  BSM_TRY(bsm_spec_emit(s, schema, args, n, outs, n_outs));
  BSM_TRY(note_aliases(s, schema, args, n, outs, n_outs));
  const int64_t len = result_length(s, schema, args, n);
  if (len >= 0 && n_outs == 1) {
    bsm_value *list = bsm_spec_symbol_of(&outs[0])->value;
    return bsm_spec_unpack(s, list, schema->returns[0].type->args[0],
                           (size_t)len, true, &outs[0]);
  }
  for (size_t i = 0; i < n_outs; i++) {
    const bsm_spec_symbol *symbol = bsm_spec_symbol_of(&outs[i]);
    if (bsm_spec_is_symbol(&outs[i]) && !symbol->aliased && symbol->type &&
        (symbol->type->kind == BSM_TYPE_LIST ||
         symbol->type->kind == BSM_TYPE_DICT)) {
      BSM_TRY(bsm_spec_dynamic_new(s, symbol->type, symbol->value, &outs[i]));
    }
  }
  return BSM_OK;
}

/* A stand-in for a symbol where only its type matters for the result's shape
 * and dtype: a Scalar or float operand. */
static bool stand_in(const bsm_type *formal, const bsm_spec_symbol *symbol,
                     bsm_ivalue *out) {
  while (formal && formal->kind == BSM_TYPE_OPTIONAL) {
    formal = formal->args[0];
  }
  if (!formal ||
      (formal->kind != BSM_TYPE_NUMBER && formal->kind != BSM_TYPE_FLOAT)) {
    return false;
  }
  switch (symbol->type ? symbol->type->kind : BSM_TYPE_ANY) {
    case BSM_TYPE_INT:
      *out = bsm_iv_int(1);
      return true;
    case BSM_TYPE_FLOAT:
      *out = bsm_iv_double(1.0);
      return true;
    case BSM_TYPE_BOOL:
      *out = bsm_iv_bool(true);
      return true;
    default:
      return false;
  }
}

/* A list with stand-ins for the numbers in it that only the run will tell; its
 * length is that of the tensor made of it. */
static bsm_status stand_in_list(bsm_spec *s, bsm_ivalue *value, size_t depth,
                                bool *done) {
  const bsm_type *number = bsm_type_simple(s->cx->types, BSM_TYPE_NUMBER);
  bsm_list *list = NULL;
  if (bsm_spec_is_symbol(value)) {
    *done = stand_in(number, bsm_spec_symbol_of(value), value);
    return BSM_OK;
  }
  if (value->tag != BSM_IVALUE_LIST) {
    return BSM_OK;
  }
  if (bsm_spec_dynamic_find(s, value) || depth > BSM_MAX_RANK) {
    *done = false;
    return BSM_OK;
  }
  const bsm_list *from = value->u.list;
  BSM_TRY(bsm_list_new(s->scratch, from->elem_type, from->len, &list));
  for (size_t i = 0; *done && i < from->len; i++) {
    list->items[i] = from->items[i];
    BSM_TRY(stand_in_list(s, &list->items[i], depth + 1, done));
  }
  *value = bsm_iv_list(list);
  return BSM_OK;
}

/* The shapes of the results when they do not depend on the unknown scalars;
 * *known is false when they may. */
static bsm_status shapes_without_data(bsm_spec *s, const bsm_schema *schema,
                                      const bsm_aten_op *op,
                                      const bsm_ivalue *args, size_t n,
                                      bsm_ivalue *outs, size_t n_outs,
                                      bool *known) {
  static const char *const from_numbers[] = {
      "prim::NumToTensor", "aten::scalar_tensor", "aten::full", NULL};
  static const char *const from_lists[] = {"aten::tensor", "aten::as_tensor",
                                           NULL};
  const bool of_list = bsm_name_in(schema->name, from_lists) && n > 0 &&
                       args[0].tag == BSM_IVALUE_LIST;
  bool tensors = of_list || bsm_name_in(schema->name, from_numbers);
  bsm_ivalue *meta = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n + 1);
  BSM_TRY_ALLOC(meta);
  *known = false;
  for (size_t i = 0; i < n; i++) {
    bsm_spec_leaves leaves = {false, false};
    meta[i] = args[i];
    if (bsm_spec_is_symbol(&args[i])) {
      if (i >= schema->arg_count ||
          !stand_in(schema->args[i].type, bsm_spec_symbol_of(&args[i]),
                    &meta[i])) {
        return BSM_OK;
      }
      continue;
    }
    if (of_list && i == 0) {
      bool done = true;
      BSM_TRY(stand_in_list(s, &meta[i], 0, &done));
      if (!done) {
        return BSM_OK;
      }
      continue;
    }
    BSM_TRY(bsm_spec_scan(s, &args[i], &leaves));
    if (leaves.symbol) {
      return BSM_OK;
    }
    tensors = tensors || args[i].tag == BSM_IVALUE_TENSOR || leaves.meta;
    BSM_TRY(bsm_spec_without_data(s, &meta[i]));
  }
  if (!tensors) {
    return BSM_OK;
  }
  bsm_status st = bsm_spec_call(s, op, meta, n, outs, n_outs);
  if (bsm_status_code(st) == BSM_DATA_DEPENDENT) {
    bsm_status_free(st);
    return BSM_OK;
  }
  BSM_TRY(st);
  *known = true;
  for (size_t i = 0; i < n_outs; i++) {
    if (outs[i].tag != BSM_IVALUE_TENSOR) {
      *known = false;
      return BSM_OK;
    }
    BSM_TRY(bsm_spec_without_data(s, &outs[i])); /* a storage of its own */
  }
  return BSM_OK;
}

static bsm_status select_symbol(bsm_spec *s, const bsm_schema *schema,
                                const bsm_ivalue *args, size_t n,
                                bsm_ivalue *outs, bool *done) {
  *done = strcmp(schema->qualified, "aten::select.int") == 0 && n == 3 &&
          args[0].tag == BSM_IVALUE_TENSOR && args[1].tag == BSM_IVALUE_INT &&
          bsm_spec_is_symbol(&args[2]);
  int64_t dim = *done ? args[1].u.i : 0;
  if (!*done || !bsm_ir_wrap_dim(&dim, args[0].u.tensor->sizes.rank) ||
      args[0].u.tensor->sizes.d[dim] == 0) {
    *done = false;
    return BSM_OK;
  }
  bsm_ivalue first[3] = {args[0], args[1], bsm_iv_int(0)};
  if (bsm_spec_tensors_have_identity(s)) {
    BSM_TRY(bsm_spec_call(s, bsm_spec_find_op(s, schema), first, 3, outs, 1));
    return bsm_spec_literal_emit(s, schema, args, n, outs, 1);
  }
  BSM_TRY(bsm_spec_materialize(s, args[0].u.tensor));
  BSM_TRY(bsm_spec_call(s, bsm_spec_find_op(s, schema), first, 3, outs, 1));
  bsm_tensor *t = outs[0].u.tensor;
  BSM_TRY(bsm_spec_note_view(s, t, args[0].u.tensor, schema, args, n));
  bsm_spec_tensor *view = bsm_spec_tensor_find(s, t);
  view->kind = BSM_VIEW_SELECT;
  view->dim = dim;
  view->index = args[2];
  view->moving = true;
  return BSM_OK;
}

bsm_status bsm_spec_apply_unknown(bsm_spec *s, const bsm_schema *schema,
                                  const bsm_aten_op *op, const bsm_ivalue *args,
                                  size_t n, bsm_ivalue *outs, size_t n_outs) {
  bool known = false, done = false;
  BSM_TRY(bsm_spec_as_strided(s, schema, args, n, outs, &done));
  if (done) {
    return BSM_OK;
  }
  BSM_TRY(bsm_spec_worlds_op(s, schema, op, args, n, outs, n_outs, &done));
  if (done) {
    return note_aliases(s, schema, args, n, outs, n_outs);
  }
  if (op && n_outs == 1) {
    BSM_TRY(select_symbol(s, schema, args, n, outs, &done));
  }
  if (done) {
    return BSM_OK;
  }
  if (op) {
    BSM_TRY(shapes_without_data(s, schema, op, args, n, outs, n_outs, &known));
  }
  if (known && bsm_spec_tensors_have_identity(s)) {
    return bsm_spec_literal_emit(s, schema, args, n, outs, n_outs);
  }
  return known ? bsm_spec_emit(s, schema, args, n, outs, n_outs)
               : bsm_spec_apply_opaque(s, schema, args, n, outs, n_outs);
}
