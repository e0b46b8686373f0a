/* SPDX-License-Identifier: Apache-2.0 */
/* Results of an op that was run, on values of which all shapes are known: what
 * came out with data stands, what did not is written down. Copies and shapes
 * without data need no op. */
#include "lowering/specialize/ops/shaped_results.h"

#include "aten/ivalue_parts.h"
#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/memory/allocation.h"
#include "lowering/specialize/memory/emit_op.h"
#include "lowering/specialize/memory/literal_ops.h"
#include "lowering/specialize/memory/memory.h"
#include "lowering/specialize/memory/tensor_values.h"
#include "lowering/specialize/values/interpreter.h"
#include "lowering/specialize/values/literal_policy.h"
#include "lowering/specialize/values/reference_op.h"
#include "lowering/specialize/values/schema_query.h"

static bsm_tensor *find_storage(const bsm_ivalue *args, size_t n,
                                const bsm_tensor *t) {
  for (size_t i = 0; i < n; i++) {
    if (args[i].tag == BSM_IVALUE_TENSOR &&
        args[i].u.tensor->storage == t->storage) {
      return args[i].u.tensor;
    }
    if (args[i].tag == BSM_IVALUE_LIST) {
      bsm_tensor *found =
          find_storage(args[i].u.list->items, args[i].u.list->len, t);
      if (found) {
        return found;
      }
    }
  }
  return NULL;
}

/* append() and its like answer the list: what is in it has been noted. */
static bool is_argument(const bsm_ivalue *args, size_t n,
                        const bsm_ivalue *out) {
  for (size_t i = 0; i < n && bsm_iv_is_container(out); i++) {
    if (args[i].tag == out->tag && args[i].u.container == out->u.container) {
      return true;
    }
  }
  return false;
}

/* Notes views; *fresh when there is a new tensor without data. */
static bsm_status note_result(bsm_spec *s, const bsm_schema *schema,
                              const bsm_ivalue *args, size_t n,
                              const bsm_ivalue *out, bsm_visited *visited,
                              size_t depth, bool *fresh) {
  const bsm_iv_parts parts = bsm_iv_items_of(out);
  bool before;
  if (out->tag == BSM_IVALUE_TENSOR) {
    bsm_tensor *t = out->u.tensor;
    if (bsm_spec_tensor_find(s, t)) {
      return BSM_OK;
    }
    bsm_tensor *parent = find_storage(args, n, t);
    if (parent && parent != t) {
      return bsm_spec_note_view(s, t, parent, schema, args, n);
    }
    *fresh = *fresh || (!parent && bsm_tensor_is_meta(t));
    /* A tensor is as old as its record: a block that writes to it later must
     * know that it was there before. */
    bsm_spec_tensor *record = NULL;
    return bsm_spec_tensor_of(s, t, &record);
  }
  if (parts.len && depth > s->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "a result is nested too deep");
  }
  BSM_TRY(bsm_visit(visited, out, depth, &before));
  for (size_t i = 0; i < parts.len && !before; i++) {
    BSM_TRY(note_result(s, schema, args, n, &parts.items[i], visited, depth + 1,
                        fresh));
  }
  return BSM_OK;
}

static bsm_status note_results(bsm_spec *s, const bsm_schema *schema,
                               const bsm_ivalue *args, size_t n,
                               const bsm_ivalue *outs, size_t n_outs,
                               bool *fresh) {
  bsm_visited visited;
  bsm_status status = BSM_OK;
  bsm_visited_init(&visited, s->scratch);
  for (size_t i = 0; i < n_outs && !status; i++) {
    if (is_argument(args, n, &outs[i])) continue;
    status = note_result(s, schema, args, n, &outs[i], &visited, 0, fresh);
  }
  bsm_visited_destroy(&visited);
  return status;
}

/* Ops whose new tensor has the elements of the first argument: values of the
 * residual graph never change, so the copy is the value itself. */
static bsm_status bind_copy(bsm_spec *s, const bsm_schema *schema,
                            const bsm_ivalue *args, bsm_ivalue *outs,
                            bool *done) {
  static const char *const copies[] = {"aten::clone",
                                       "aten::contiguous",
                                       "aten::lift_fresh",
                                       "aten::lift_fresh_copy",
                                       "aten::alias_copy",
                                       "aten::detach_copy",
                                       "aten::_to_copy",
                                       "aten::to",
                                       "aten::type_as",
                                       "aten::positive",
                                       "aten::cpu",
                                       "aten::cuda",
                                       "aten::float",
                                       "aten::double",
                                       "aten::half",
                                       "aten::int",
                                       "aten::long",
                                       "aten::_autocast_to_reduced_precision",
                                       "aten::_autocast_to_full_precision",
                                       NULL};
  static const char *const reshapes[] = {
      "aten::reshape",      "aten::view",  "aten::reshape_as",
      "aten::_unsafe_view", "aten::ravel", NULL};
  *done = false;
  if (outs[0].tag != BSM_IVALUE_TENSOR || args[0].tag != BSM_IVALUE_TENSOR) {
    return BSM_OK;
  }
  const bsm_tensor *from = args[0].u.tensor;
  bsm_tensor *to = outs[0].u.tensor;
  const bool copy = bsm_name_in(schema->name, copies);
  const bool reshape = bsm_name_in(schema->name, reshapes);
  if (!(copy && bsm_dims_equal(from->sizes, to->sizes)) &&
      !(reshape && from->dtype == to->dtype)) {
    return BSM_OK;
  }
  const bsm_node_emitter e = bsm_spec_emitter(s);
  bsm_value *value = NULL;
  BSM_TRY(bsm_spec_tensor_value(s, args[0].u.tensor, &value));
  if (reshape && !bsm_dims_equal(from->sizes, to->sizes)) {
    BSM_TRY(bsm_ir_reshape(&e, value, to->sizes, &value));
  } else if (from->dtype != to->dtype) {
    BSM_TRY(bsm_ir_cast(&e, value, to->dtype, &value));
  }
  *done = true;
  return bsm_spec_bind_base(s, to, value);
}

/* new_zeros, ones_like ...: the data of the argument do not matter, only its
 * dims and dtype, so the result is known. `outs` tells the shape. */
static bsm_status fold_factory(bsm_spec *s, const bsm_schema *schema,
                               const bsm_ivalue *args, bsm_ivalue *outs,
                               bool *done) {
  static const char *const zeros[] = {"aten::zeros_like", "aten::new_zeros",
                                      "aten::empty_like", "aten::new_empty",
                                      NULL};
  static const char *const ones[] = {"aten::ones_like", "aten::new_ones", NULL};
  static const char *const fulls[] = {"aten::full_like", "aten::new_full",
                                      NULL};
  bsm_ivalue value = bsm_iv_int(0);
  *done = false;
  if (outs[0].tag != BSM_IVALUE_TENSOR) {
    return BSM_OK;
  }
  if (bsm_name_in(schema->name, ones)) {
    value = bsm_iv_int(1);
  } else if (bsm_name_in(schema->name, fulls)) {
    const int64_t i = bsm_schema_find_arg(schema, "fill_value");
    if (i < 0 || bsm_spec_is_symbol(&args[i])) {
      return BSM_OK;
    }
    value = args[i];
  } else if (!bsm_name_in(schema->name, zeros)) {
    return BSM_OK;
  }
  const bsm_tensor *like = outs[0].u.tensor;
  bsm_ivalue full[6] = {{0}};
  BSM_TRY(bsm_iv_int_list(s->cx->arena, like->sizes.d, (size_t)like->sizes.rank,
                          &full[0]));
  full[1] = value;
  full[2] = bsm_iv_int((int64_t)like->dtype);
  const bsm_schema *of_full = NULL;
  BSM_TRY(
      bsm_schema_table_find(s->cx->schemas, BSM_STR("aten::full"), &of_full));
  if (!of_full || !bsm_spec_find_op(s, of_full)) {
    return BSM_OK;
  }
  *done = true;
  return bsm_spec_op(s, of_full, full, 6, outs, 1);
}

/* Writes the call down. Tensors that came out with data, although others have
 * none (the sizes of a packed sequence), are known and stay as they are: the
 * call gives others in their place, which nothing reads. */
static bsm_status emit_unknown(bsm_spec *s, const bsm_schema *schema,
                               const bsm_ivalue *args, size_t n,
                               bsm_ivalue *outs, size_t n_outs) {
  bsm_ivalue *written = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n_outs + 1);
  bool *known = BSM_NEW_ARRAY(s->stack, bool, n_outs + 1);
  BSM_TRY_ALLOC(written && known);
  for (size_t i = 0; i < n_outs; i++) {
    bsm_tensor *t = outs[i].tag == BSM_IVALUE_TENSOR ? outs[i].u.tensor : NULL;
    known[i] = t && !bsm_tensor_is_meta(t) && !find_storage(args, n, t);
    written[i] = outs[i];
    if (known[i]) {
      bsm_tensor *unread = NULL;
      BSM_TRY(bsm_tensor_new(s->scratch, t->dtype, t->sizes, true, &unread));
      written[i] = bsm_iv_tensor(unread);
    }
  }
  BSM_TRY(bsm_spec_emit(s, schema, args, n, written, n_outs));
  for (size_t i = 0; i < n_outs; i++) {
    if (!known[i]) {
      outs[i] = written[i];
    }
  }
  return BSM_OK;
}

/* Results of a run for shapes: known ones stand, the rest is written down. */
bsm_status bsm_spec_bind_shaped(bsm_spec *s, const bsm_schema *schema,
                                const bsm_ivalue *args, size_t n,
                                bsm_ivalue *outs, size_t n_outs) {
  bool fresh = false, done = false;
  if (bsm_spec_tensors_have_identity(s)) {
    return bsm_spec_literal_emit(s, schema, args, n, outs, n_outs);
  }
  BSM_TRY(note_results(s, schema, args, n, outs, n_outs, &fresh));
  for (size_t i = 0; i < n_outs; i++) {
    if (bsm_spec_is_new_container(schema, i, args, n, &outs[i])) {
      BSM_TRY(bsm_spec_note_allocation(s, &outs[i]));
    }
  }
  if (!fresh) {
    return BSM_OK;
  }
  if (n_outs == 1 && n > 0) {
    BSM_TRY(bind_copy(s, schema, args, outs, &done));
    if (!done) {
      BSM_TRY(fold_factory(s, schema, args, outs, &done));
    }
    if (done) {
      return BSM_OK;
    }
  }
  return emit_unknown(s, schema, args, n, outs, n_outs);
}
