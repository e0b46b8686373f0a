/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the graphs of other shapes with that of the optimal one: finds sizes
 * that do not change with the shape, and elements that are not read. */
#include "compiler/pipeline/shape_findings.h"

#include <inttypes.h>
#include <stdio.h>

#include "compiler/pipeline/refused_shapes.h"
#include "compiler/pipeline/trace_warnings.h"

/* ---- reshapes to the optimal shape's sizes ---- */

/* The constant sizes of a reshape of a tensor of known dims; NULL: it is none.
 */
static const bsm_list *constant_sizes(const bsm_node *node) {
  if (!bsm_node_is(node, "aten::reshape") && !bsm_node_is(node, "aten::view")) {
    return NULL;
  }
  const bsm_type *type = bsm_node_in(node, 0)->type;
  const bsm_node *from = bsm_node_in(node, 1)->node;
  const bsm_ivalue *value = bsm_node_is(from, "prim::Constant")
                                ? bsm_node_attr_get(from, "value")
                                : NULL;
  return bsm_type_has_sizes(type) && value && value->tag == BSM_IVALUE_LIST
             ? value->u.list
             : NULL;
}

/* The dim whose size in a reshape is still that of the optimal shape, so that a
 * size of -1 takes the rest; -1: none. */
static int32_t absorbed_dim(const bsm_node *optimal, const bsm_node *node) {
  const bsm_list *a = constant_sizes(optimal), *b = constant_sizes(node);
  const bsm_dims x = bsm_node_in(optimal, 0)->type->dims;
  const bsm_dims y = bsm_node_in(node, 0)->type->dims;
  int32_t found = -1;
  bool rest = false;
  if (a->len != b->len || x.rank != y.rank) return -1;
  for (size_t i = 0; i < a->len; i++) {
    const bsm_ivalue *s = &a->items[i], *t = &b->items[i];
    if (s->tag != BSM_IVALUE_INT || t->tag != BSM_IVALUE_INT ||
        s->u.i != t->u.i) {
      return -1;
    }
    rest = rest || s->u.i == -1;
    const int32_t dim = (int32_t)i;
    if (found < 0 && dim < x.rank && s->u.i == x.d[dim] &&
        x.d[dim] != y.d[dim]) {
      found = dim;
    }
  }
  return rest ? found : -1;
}

/* ---- dimensions that are read as far as the example's ---- */

static bool constant_int(const bsm_node *node, size_t input, int64_t *out) {
  const bsm_node *from = bsm_node_in(node, input)->node;
  const bsm_ivalue *number = bsm_node_is(from, "prim::Constant")
                                 ? bsm_node_attr_get(from, "value")
                                 : NULL;
  if (!number || number->tag != BSM_IVALUE_INT) return false;
  *out = number->u.i;
  return true;
}

/* The dim that argument 1 names. */
static bool constant_dim(const bsm_value *value, const bsm_node *user,
                         int32_t *out) {
  const int32_t rank = value->type->dims.rank;
  int64_t dim;
  if (bsm_node_in(user, 0) != value || !constant_int(user, 1, &dim) ||
      dim < -rank || dim >= rank) {
    return false;
  }
  *out = (int32_t)(dim < 0 ? dim + rank : dim);
  return true;
}

enum { MAX_TURNS = 1024 };

/* Whether the elements 0, 1, ... of one dim are all that is read. */
static bool is_unrolled(const bsm_value *value, bsm_cut_dim *out) {
  bool seen[MAX_TURNS] = {false};
  *out = (bsm_cut_dim){.dim = -1};
  for (size_t i = 0; i < value->uses.len; i++) {
    const bsm_node *user = value->uses.items[i].user;
    int32_t dim;
    int64_t at;
    if (!bsm_node_is(user, "aten::select") ||
        !constant_dim(value, user, &dim) || !constant_int(user, 2, &at)) {
      return false;
    }
    if (at < 0) at += value->type->dims.d[dim];
    if (at < 0 || at >= MAX_TURNS || (out->dim >= 0 && dim != out->dim)) {
      return false;
    }
    out->dim = dim;
    out->reader = user;
    seen[at] = true;
    if (at >= out->count) out->count = at + 1;
  }
  for (int64_t i = 0; i < out->count; i++) {
    if (!seen[i]) return false;
  }
  return out->count > 1;
}

/* The elements from the first to a constant one: slice, narrow. */
static bool is_sliced(const bsm_value *value, const bsm_node *user,
                      bsm_cut_dim *out) {
  int64_t start, step = 1;
  *out = (bsm_cut_dim){.reader = user, .is_slice = true};
  return (bsm_node_is(user, "aten::slice") ||
          bsm_node_is(user, "aten::narrow")) &&
         constant_dim(value, user, &out->dim) &&
         constant_int(user, 2, &start) && start == 0 &&
         constant_int(user, 3, &out->count) && out->count > 1 &&
         (user->inputs.len < 5 || constant_int(user, 4, &step)) && step == 1;
}

/* The key by which a value is found in the graph of another shape: its name, or
 * the place in the model. The place is not used when ops that take parts were
 * made there, because ops that take everything are not in the graph. Empty: the
 * value cannot be found. */
static bsm_str key_of(const bsm_value *value, char *buffer, size_t size) {
  static const char *const parts[] = {"aten::slice", "aten::narrow",
                                      "aten::select", "prim::ListUnpack"};
  if (value->debug_name) return bsm_str_of(value->debug_name);
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
    if (bsm_node_is(value->node, parts[i])) return BSM_STR("");
  }
  snprintf(buffer, size, "%s %u %u", value->node->kind,
           (unsigned)value->node->source.python_line,
           (unsigned)value->node->source.code_line);
  return bsm_str_of(buffer);
}

/* Whether that is all for the optimal shape, and not for this one. */
static bool is_cut(bsm_shape_findings *findings, const bsm_value *value,
                   const bsm_cut_dim *found) {
  char key[128];
  const bsm_value *like =
      bsm_strmap_get(&findings->values, key_of(value, key, sizeof(key)));
  if (!like || !like->node) return false; /* or several */
  const int64_t size = value->type->dims.d[found->dim];
  if (like->type->dims.rank != value->type->dims.rank ||
      like->type->dims.d[found->dim] != found->count || size <= found->count) {
    return false;
  }
  findings->cut = *found;
  findings->cut.value = like;
  findings->cut.size = size;
  return true;
}

/* Stands for values of one place that cannot be told apart. */
static const bsm_value several = {0};

static bsm_status inspect_value(bsm_module *module,
                                bsm_shape_findings *findings,
                                const bsm_value *value, bool optimal) {
  bsm_cut_dim found;
  char key[128];
  if (findings->cut.value || !bsm_type_has_sizes(value->type)) {
    return BSM_OK;
  }
  if (optimal) {
    const bsm_str name = key_of(value, key, sizeof(key));
    const bool known = bsm_strmap_get(&findings->values, name) != NULL;
    BSM_TRY_ALLOC(bsm_strmap_set(
        &module->arena, &findings->values, name,
        (void *)(uintptr_t)(known || !name.len ? &several : value)));
    return BSM_OK;
  }
  if (is_unrolled(value, &found) && is_cut(findings, value, &found)) {
    return BSM_OK;
  }
  for (size_t i = 0; i < value->uses.len; i++) {
    if (is_sliced(value, value->uses.items[i].user, &found) &&
        is_cut(findings, value, &found)) {
      return BSM_OK;
    }
  }
  return BSM_OK;
}

static bsm_status look_for_cuts(bsm_module *module,
                                bsm_shape_findings *findings,
                                const bsm_graph *graph, bool optimal) {
  const bsm_node *params = graph->block->params;
  for (size_t i = 0; i < params->outputs.len; i++) {
    BSM_TRY(inspect_value(module, findings, bsm_node_out(params, i), optimal));
  }
  for (const bsm_node *n = graph->block->first; n; n = n->next) {
    for (size_t i = 0; i < n->outputs.len; i++) {
      BSM_TRY(inspect_value(module, findings, bsm_node_out(n, i), optimal));
    }
  }
  return BSM_OK;
}

bsm_status bsm_shape_taken(bsm_module *module, bsm_shape_findings *findings,
                           const bsm_graph *graph, bool optimal) {
  size_t count = 0;
  BSM_TRY(look_for_cuts(module, findings, graph, optimal));
  for (const bsm_node *n = graph->block->first; n; n = n->next) {
    if (!constant_sizes(n)) continue;
    if (optimal) {
      BSM_TRY_ALLOC(bsm_vec_push(&module->arena, &findings->optimal, n));
      continue;
    }
    /* Compares node by node: graphs of different shapes differ in their
     * numbers. */
    if (count >= findings->optimal.len) return BSM_OK;
    const bsm_node *like = findings->optimal.items[count++];
    if (findings->absorbed || n->source.code_line != like->source.code_line ||
        n->source.python_line != like->source.python_line) {
      continue;
    }
    findings->absorbed_dim = absorbed_dim(like, n);
    if (findings->absorbed_dim >= 0) findings->absorbed = n;
  }
  return BSM_OK;
}

bsm_status bsm_shape_refused(bsm_module *module, bsm_shape_findings *findings,
                             bsm_status why) {
  if (findings->failure) return BSM_OK;
  findings->failure = bsm_arena_strdup(&module->arena, bsm_status_message(why));
  BSM_TRY_ALLOC(findings->failure);
  return BSM_OK;
}

/* ---- warnings ---- */

static bsm_status warn_of_cut(bsm_module *module,
                              const bsm_compile_options *options,
                              const bsm_cut_dim *cut,
                              bsm_compilation_record *record) {
  bsm_method method;
  bsm_text place;
  BSM_TRY(bsm_module_find_method(module, options->method, &method));
  if (!bsm_is_traced_method(module, &method)) return BSM_OK;
  bsm_text_init(&place, &module->arena);
  bsm_source_print(&place, &cut->reader->source);
  if (place.failed) return BSM_FAIL_OOM();
  BSM_TRY(bsm_record_warning(
      record,
      "the model reads %" PRId64 " elements of dimension %" PRId32
      " of a tensor%s, at %s, which is all for the optimal shape; of "
      "%" PRId64 " the others are ignored; %s",
      cut->count, cut->dim, cut->is_slice ? "" : " one by one",
      place.len ? place.data : "an unknown place", cut->size,
      cut->is_slice ? BSM_TRACE_ADVICE
                    : "a trace has the turns of a loop in it that its "
                      "example needed: script the loop"));
  return BSM_OK;
}

/* A reshape that names a size of the optimal shape. */
static bsm_status warn_of_absorbed(const bsm_shape_findings *findings,
                                   bsm_compilation_record *record) {
  const bsm_node *node = findings->absorbed;
  const int64_t size = constant_sizes(node)->items[findings->absorbed_dim].u.i;
  bsm_text place;
  bsm_text_init(&place, &record->arena);
  bsm_source_print(&place, &node->source);
  if (place.failed) return BSM_FAIL_OOM();
  BSM_TRY(bsm_record_warning(record,
                             "%s at %s makes dimension %" PRId32 " %" PRId64
                             ", which it is for the optimal shape, whatever "
                             "the shape is; " BSM_TRACE_ADVICE,
                             node->kind,
                             place.len ? place.data : "an unknown place",
                             findings->absorbed_dim, size));
  return BSM_OK;
}

bsm_status bsm_warn_of_shapes(bsm_module *module,
                              const bsm_compile_options *options,
                              const bsm_lowered *lowered,
                              const bsm_shape_findings *findings,
                              bsm_compilation_record *record) {
  if (findings->absorbed) BSM_TRY(warn_of_absorbed(findings, record));
  if (findings->cut.value) {
    BSM_TRY(warn_of_cut(module, options, &findings->cut, record));
  }
  if (findings->failure) {
    return bsm_warn_of_refused(module, options, lowered, findings, record);
  }
  if (lowered->refusal) {
    BSM_TRY(bsm_record_warning(
        record, "the model does not take all shapes in range, such as %s",
        lowered->refusal));
  }
  return BSM_OK;
}
