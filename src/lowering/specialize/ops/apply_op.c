/* SPDX-License-Identifier: Apache-2.0 */
/* Ops by schema on abstract values: computed when everything is known, run for
 * their shapes and written down when not. */
#include "lowering/specialize/ops/ops.h"

#include "aten/ivalue_parts.h"
#include "ir/draws.h"
#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/memory/container_writes.h"
#include "lowering/specialize/memory/dynamic_containers.h"
#include "lowering/specialize/memory/literal_ops.h"
#include "lowering/specialize/memory/mutate.h"
#include "lowering/specialize/ops/memory_order.h"
#include "lowering/specialize/ops/nested_tensors.h"
#include "lowering/specialize/ops/quantized_tensors.h"
#include "lowering/specialize/ops/shaped_results.h"
#include "lowering/specialize/ops/training_norms.h"
#include "lowering/specialize/ops/unknown_results.h"
#include "lowering/specialize/values/literal_policy.h"
#include "lowering/specialize/values/reference_op.h"
#include "lowering/specialize/values/schema_query.h"

/* ---- what the arguments are ---- */

static bool is_open(const bsm_type *type) {
  return type->kind == BSM_TYPE_VAR || type->kind == BSM_TYPE_ANY;
}

/* Ops that look inside values their schema leaves open. */
static bool looks_inside(const bsm_schema *schema) {
  static const char *const names[] = {
      "aten::str",           "aten::format",    "aten::hash",
      "aten::percentFormat", "aten::sorted",    "aten::sort",
      "aten::tensor",        "aten::as_tensor", NULL};
  return bsm_name_in(schema->name, names);
}

/* What depends on how the elements of a tensor lie in memory. */
static bool returns_strides(const bsm_schema *schema) {
  static const char *const names[] = {"aten::stride", "aten::is_contiguous",
                                      "aten::storage_offset", NULL};
  return bsm_name_in(schema->name, names);
}

/* x is None, x is not None. */
static bool tests_none(const bsm_schema *schema) {
  static const char *const names[] = {"aten::__is__", "aten::__isnot__", NULL};
  return bsm_name_in(schema->name, names);
}

static bool may_be_none(const bsm_spec_symbol *symbol) {
  switch (symbol->type ? symbol->type->kind : BSM_TYPE_ANY) {
    case BSM_TYPE_ANY:
    case BSM_TYPE_NONE:
    case BSM_TYPE_OPTIONAL:
    case BSM_TYPE_UNION:
    case BSM_TYPE_VAR:
      return true;
    default:
      return false;
  }
}

typedef struct arg_kinds {
  bool meta;   /* a tensor without data somewhere */
  bool symbol; /* a symbol that the op itself would have to look at */
} arg_kinds;

/* A list or dict of open element type may hold symbols: the op passes them
 * along without looking. */
static bsm_status scan_args(bsm_spec *s, const bsm_schema *schema,
                            const bsm_ivalue *args, size_t n, arg_kinds *out) {
  const bool inside = looks_inside(schema), test = tests_none(schema);
  for (size_t i = 0; i < n; i++) {
    const bsm_type *type = i < schema->arg_count ? schema->args[i].type : NULL;
    const bool symbol = bsm_spec_is_symbol(&args[i]);
    if (type && type->kind == BSM_TYPE_OPTIONAL) {
      type = type->args[0];
    }
    bool open = type && !inside && is_open(type);
    if (type && !inside && !symbol && type->arg_count &&
        is_open(type->args[type->arg_count - 1])) {
      open = true;
    }
    /* The items of a dynamic container are not here, so what reads them has to
     * wait. */
    open = open && (is_open(type) || !bsm_spec_dynamic_find(s, &args[i]));
    /* What is in an open list matters to no op that gets here, and appending
     * may not take longer the longer the list is. */
    bsm_spec_leaves leaves = {false, symbol};
    if (!open || !bsm_iv_is_container(&args[i])) {
      BSM_TRY(bsm_spec_scan(s, &args[i], &leaves));
    }
    out->meta = out->meta || leaves.meta;
    out->symbol = out->symbol || (leaves.symbol && !open) ||
                  (inside && leaves.meta) ||
                  (test && symbol && may_be_none(bsm_spec_symbol_of(&args[i])));
  }
  return BSM_OK;
}

/* ---- all of it ---- */

/* In place on known data, with known data. */
static bsm_status write_known(bsm_spec *s, const bsm_schema *schema,
                              const bsm_aten_op *op, bsm_ivalue *args, size_t n,
                              size_t which, bsm_ivalue *outs, size_t n_outs) {
  bsm_tensor *self = args[which].u.tensor;
  BSM_TRY(bsm_spec_make_writable(s, self));
  bsm_status st = bsm_spec_call(s, op, args, n, outs, n_outs);
  if (bsm_spec_is_left(s, st)) {
    bsm_status_free(st);
    return bsm_spec_mutate(s, schema, args, n, outs, n_outs);
  }
  BSM_TRY(st);
  return bsm_spec_touch(s, self);
}

bsm_status bsm_spec_apply_op(bsm_spec *s, const bsm_schema *schema,
                             bsm_ivalue *args, size_t n, bsm_ivalue *outs,
                             size_t n_outs) {
  const bsm_aten_op *op = bsm_spec_find_op(s, schema);
  arg_kinds kinds = {false, false};
  size_t which = 0;
  bool special = false;
  BSM_TRY(bsm_spec_nested_op(s, schema, args, n, outs, &special));
  if (special) return BSM_OK;
  BSM_TRY(bsm_spec_quantized_op(s, schema, args, n, outs, n_outs, &special));
  if (special) return BSM_OK;
  BSM_TRY(bsm_spec_training_norm(s, schema, args, n, outs, n_outs, &special));
  if (special) return BSM_OK;
  BSM_TRY(scan_args(s, schema, args, n, &kinds));
  const bool draws = op && bsm_call_draws(op, schema, args, n);
  if (bsm_spec_writes_container(schema, &which) && which < n) {
    const bool symbol = bsm_spec_is_symbol(&args[which]);
    if (!symbol) {
      BSM_TRY(kinds.symbol ? bsm_spec_make_dynamic(s, &args[which])
                           : bsm_spec_check_write(s, &args[which]));
    }
    if (symbol || bsm_spec_dynamic_find(s, &args[which])) {
      return bsm_spec_dynamic_write(s, schema, args, n, which, outs, n_outs);
    }
  }
  if (bsm_spec_writes_tensor(schema, &which) && which < n &&
      args[which].tag != BSM_IVALUE_NONE) {
    bool done = false;
    if (bsm_spec_tensors_have_identity(s)) {
      return bsm_spec_literal_write(s, schema, args, n, which, outs, n_outs);
    }
    BSM_TRY(bsm_spec_reshape_in_place(s, schema, args, n, outs, &done));
    if (done) {
      return BSM_OK;
    }
    const bool known = op && !kinds.meta && !kinds.symbol && !draws &&
                       s->residual.block_depth == 0 &&
                       args[which].tag == BSM_IVALUE_TENSOR;
    return known ? write_known(s, schema, op, args, n, which, outs, n_outs)
                 : bsm_spec_mutate(s, schema, args, n, outs, n_outs);
  }
  if (bsm_spec_strides_matter(s) && kinds.meta && returns_strides(schema)) {
    return bsm_spec_apply_opaque(s, schema, args, n, outs, n_outs);
  }
  if (draws) {
    BSM_TRY(bsm_spec_draw_in_memory_order(s, schema, args, n, outs, n_outs,
                                          &special));
    if (special) return BSM_OK;
  }
  if (kinds.symbol || !op) {
    return bsm_spec_apply_unknown(s, schema, op, args, n, outs, n_outs);
  }
  bsm_status st = draws ? bsm_spec_call_for_shapes(s, op, args, n, outs, n_outs)
                        : bsm_spec_call(s, op, args, n, outs, n_outs);
  if (bsm_spec_is_left(s, st)) {
    bsm_status_free(st);
    st = bsm_spec_call_for_shapes(s, op, args, n, outs, n_outs);
  }
  if (bsm_status_code(st) == BSM_DATA_DEPENDENT) {
    bsm_status_free(st);
    return bsm_spec_apply_opaque(s, schema, args, n, outs, n_outs);
  }
  BSM_TRY(st);
  return bsm_spec_bind_shaped(s, schema, args, n, outs, n_outs);
}
