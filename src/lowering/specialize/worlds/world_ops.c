/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes that range, looked at in several worlds at once.
 *
 * Every op on a value that depends on the shapes of inputs alone is run in each
 * world. Its result is a symbol that knows what it is in each; what is the same
 * in all is a known value from then on: a rank, a dtype, the dims that do not
 * range, conditions on them. world_checks.c has it checked in the engine. A
 * world in which the model raises is not possible: it drops out, unless it is
 * the optimal shape's. */
#include "lowering/specialize/worlds/world_ops.h"

#include "aten/ivalue_parts.h"
#include "ir/draws.h"
#include "lowering/specialize/memory/emit_op.h"
#include "lowering/specialize/memory/symbol_views.h"
#include "lowering/specialize/values/literal_policy.h"
#include "lowering/specialize/values/reference_op.h"
#include "lowering/specialize/values/schema_query.h"
#include "lowering/specialize/worlds/world_data.h"
#include "lowering/specialize/worlds/world_results.h"
#include "lowering/specialize/worlds/world_shapes.h"

/* ---- inputs ---- */

bsm_status bsm_spec_range_input(bsm_spec *s, const bsm_lowering_range *range,
                                bsm_value *value, bsm_ivalue *out) {
  const bsm_type *type = bsm_type_tensor_dtype(s->cx->types, range->dtype);
  BSM_TRY_ALLOC(type);
  if (!s->worlds.count) {
    const size_t more = s->worlds.samples ? s->worlds.samples->count : 0;
    s->worlds.count = BSM_FIRST_WORLDS + more;
    s->worlds.possible = UINT64_MAX >> (BSM_MAX_WORLDS - s->worlds.count);
  }
  BSM_TRY(bsm_spec_new_symbol(s, value, type, out));
  bsm_spec_symbol *symbol = bsm_spec_symbol_of(out);
  symbol->range = range;
  symbol->worlds = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, s->worlds.count);
  BSM_TRY_ALLOC(symbol->worlds);
  for (size_t w = 0; w < s->worlds.count; w++) {
    const uint32_t shape =
        w < BSM_FIRST_WORLDS ? (uint32_t)w
                             : s->worlds.samples->shapes[w - BSM_FIRST_WORLDS];
    bsm_tensor *t = NULL;
    BSM_TRY(bsm_tensor_new(s->scratch, range->dtype,
                           bsm_world_dims(range, shape), true, &t));
    symbol->worlds[w] = bsm_iv_tensor(t);
  }
  return BSM_OK;
}

/* ---- arguments in one world ---- */

static bsm_status in_world(bsm_spec *s, const bsm_ivalue *v, size_t world,
                           size_t depth, bsm_ivalue *out, bool *known);

static bsm_status items_in_world(bsm_spec *s, const bsm_ivalue *items, size_t n,
                                 size_t world, size_t depth, bsm_ivalue *out,
                                 bool *known) {
  for (size_t i = 0; i < n && *known; i++) {
    BSM_TRY(in_world(s, &items[i], world, depth + 1, &out[i], known));
  }
  return BSM_OK;
}

static bsm_status in_world(bsm_spec *s, const bsm_ivalue *v, size_t world,
                           size_t depth, bsm_ivalue *out, bool *known) {
  *out = *v;
  if (depth > s->cx->limits.max_depth || bsm_spec_dynamic_find(s, v)) {
    *known = false;
    return BSM_OK;
  }
  if (bsm_spec_is_symbol(v)) {
    const bsm_spec_symbol *symbol = bsm_spec_symbol_of(v);
    if (!symbol->worlds) {
      *known = false;
    } else {
      BSM_TRY(bsm_spec_forget_data(s, v));
      *out = symbol->worlds[world];
    }
    return BSM_OK;
  }
  if (v->tag == BSM_IVALUE_LIST) {
    const bsm_list *from = v->u.list;
    bsm_list *list = NULL;
    BSM_TRY(bsm_list_new(s->scratch, from->elem_type, from->len, &list));
    *out = bsm_iv_list(list);
    return items_in_world(s, from->items, from->len, world, depth, list->items,
                          known);
  }
  if (v->tag == BSM_IVALUE_TUPLE) {
    bsm_tuple *tuple = NULL;
    BSM_TRY(bsm_tuple_new(s->scratch, v->u.tuple->len, &tuple));
    *out = bsm_iv_tuple(tuple);
    return items_in_world(s, v->u.tuple->items, v->u.tuple->len, world, depth,
                          tuple->items, known);
  }
  return BSM_OK;
}

/* ---- results of all worlds ---- */

static bsm_status run_worlds(bsm_spec *s, const bsm_aten_op *op, bool draws,
                             const bsm_ivalue *args, size_t n, size_t n_outs,
                             bsm_world_results *r, bool *known) {
  *known = true;
  for (size_t w = 0; w < s->worlds.count && *known; w++) {
    if (!bsm_world_is_possible(&s->worlds, w)) {
      continue;
    }
    bsm_ivalue *own = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, n + 1);
    r->rows[w] = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, n_outs + 1);
    BSM_TRY_ALLOC(own && r->rows[w]);
    BSM_TRY(items_in_world(s, args, n, w, 0, own, known));
    if (!*known) {
      return BSM_OK;
    }
    bsm_op_ctx cx = {.arena = s->cx->arena,
                     .no_data = draws,
                     .logger = s->logger,
                     .max_tensor_bytes = (size_t)s->cx->limits.max_tensor_bytes,
                     .work = &s->cx->work,
                     .may_leave = !s->policy.own_objects};
    s->cx->work.refused = false;
    bsm_status st = bsm_world_call(&cx, op, own, n, r->rows[w], n_outs);
    if (bsm_status_code(st) == BSM_DATA_DEPENDENT || bsm_spec_is_left(s, st)) {
      bsm_status_free(st);
      *known = false;
      return BSM_OK;
    }
    if (st && (s->worlds.possible & ~(UINT64_C(1) << w)) && w != 0) {
      bsm_log(s->logger, BSM_LOG_LEVEL_DEBUG,
              "some shapes in range are not possible at %s: %s",
              bsm_spec_where(s), bsm_status_message(st));
      bsm_status_free(st);
      s->worlds.possible &= ~(UINT64_C(1) << w);
      continue;
    }
    BSM_TRY(st);
  }
  r->first = 0;
  while (r->first + 1 < s->worlds.count &&
         !bsm_world_is_possible(&s->worlds, r->first)) {
    r->first++;
  }
  return BSM_OK;
}

/* Residual values have no strides that a view could ask for. */
static bsm_status plain_schema(bsm_spec *s, const bsm_schema **schema) {
  if (bsm_spec_strides_matter(s)) {
    return BSM_OK;
  }
  if (strcmp((*schema)->qualified, "aten::view") != 0 &&
      strcmp((*schema)->qualified, "aten::_unsafe_view") != 0) {
    return BSM_OK;
  }
  const bsm_schema *reshape = NULL;
  BSM_TRY(bsm_schema_table_find(s->cx->schemas, BSM_STR("aten::reshape"),
                                &reshape));
  if (reshape) {
    *schema = reshape;
  }
  return BSM_OK;
}

/* Whether the results may be lists or dicts that the op was given. */
static bool passes_containers(const bsm_schema *schema, const bsm_ivalue *args,
                              size_t n) {
  bool open = false;
  for (size_t i = 0; i < schema->return_count; i++) {
    open = open || schema->returns[i].type->kind == BSM_TYPE_VAR;
  }
  for (size_t i = 0; open && i < n; i++) {
    if (!bsm_spec_is_container(&args[i])) continue;
    const bsm_iv_parts parts = bsm_iv_parts_of(&args[i]);
    for (size_t k = 0; k < parts.len; k++) {
      if (parts.items[k].tag >= BSM_IVALUE_LIST &&
          parts.items[k].tag <= BSM_IVALUE_OBJECT) {
        return true;
      }
    }
  }
  return false;
}

bsm_status bsm_spec_worlds_op(bsm_spec *s, const bsm_schema *schema,
                              const bsm_aten_op *op, const bsm_ivalue *args,
                              size_t n, bsm_ivalue *outs, size_t n_outs,
                              bool *done) {
  bsm_world_results r = {.first = 0};
  size_t which = 0;
  bool known = false;
  *done = false;
  if (bsm_spec_containers_have_identity(s) &&
      passes_containers(schema, args, n)) {
    return BSM_OK; /* they have identity */
  }
  if (!s->worlds.possible || !op || bsm_spec_writes_container(schema, &which)) {
    return BSM_OK;
  }
  BSM_TRY(run_worlds(s, op, bsm_call_draws(op, schema, args, n), args, n,
                     n_outs, &r, &known));
  if (!known) {
    return BSM_OK;
  }
  const bsm_world_op_call call = {schema, args, n, &r};
  const bsm_schema *emitted = schema;
  bsm_ivalue *symbols = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n_outs + 1);
  BSM_TRY_ALLOC(symbols);
  BSM_TRY(plain_schema(s, &emitted));
  BSM_TRY(bsm_spec_emit(s, emitted, args, n, symbols, n_outs));
  for (size_t i = 0; i < n_outs; i++) {
    BSM_TRY(bsm_world_bind_result(s, &call, i, &symbols[i], &outs[i]));
  }
  *done = true;
  return BSM_OK;
}

/* ---- branches ---- */

uint64_t bsm_spec_worlds_where(const bsm_spec *s, const bsm_ivalue *condition,
                               bool value) {
  const bsm_spec_symbol *symbol = bsm_spec_symbol_of(condition);
  uint64_t worlds = 0;
  if (!symbol->worlds) {
    return s->worlds.possible;
  }
  for (size_t w = 0; w < s->worlds.count; w++) {
    if (bsm_world_is_possible(&s->worlds, w) &&
        symbol->worlds[w].tag == BSM_IVALUE_BOOL &&
        symbol->worlds[w].u.b == value) {
      worlds |= UINT64_C(1) << w;
    }
  }
  return worlds;
}

bsm_status bsm_spec_worlds_merge(bsm_spec *s, const bsm_ivalue *condition,
                                 const bsm_ivalue *x, const bsm_ivalue *y,
                                 bsm_ivalue *merged) {
  const bsm_spec_symbol *from = bsm_spec_symbol_of(condition);
  if (!bsm_spec_is_symbol(merged) || !from->worlds) {
    return BSM_OK;
  }
  bsm_ivalue *worlds = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, s->worlds.count);
  BSM_TRY_ALLOC(worlds);
  bool known = true;
  for (size_t w = 0; w < s->worlds.count; w++) {
    const bool side = from->worlds[w].u.b;
    BSM_TRY(in_world(s, side ? x : y, w, 0, &worlds[w], &known));
    /* A side may have written to it. */
    BSM_TRY(bsm_spec_drop_data(s, &worlds[w]));
  }
  if (known) {
    bsm_spec_symbol_of(merged)->worlds = worlds;
  }
  return BSM_OK;
}
