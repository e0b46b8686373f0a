/* SPDX-License-Identifier: Apache-2.0 */
/* State of exported programs. A functional one gives the new values as results
 * behind those of the user; others write to their buffers in place. */
#include "exported/import_state.h"

typedef struct state_entry {
  const char *name;
  bsm_value *value; /* what it is in the end */
  bool is_input;
} state_entry;

typedef struct state {
  bsm_importer *im;
  BSM_VEC(state_entry) entries;
} state;

static bsm_status add(state *s, const char *name, bsm_value *value,
                      bool is_input) {
  const state_entry entry = {name, value, is_input};
  for (size_t i = 0; i < s->entries.len; i++) {
    if (strcmp(s->entries.items[i].name, name) == 0) return BSM_OK;
  }
  BSM_TRY_ALLOC(bsm_vec_push(s->im->arena, &s->entries, entry));
  return BSM_OK;
}

/* ---- functional programs ---- */

static bsm_status add_results(state *s, const bsm_import_scope *scope) {
  const bsm_exported_program *p = s->im->program;
  for (size_t i = 0; i < p->output_count; i++) {
    const bsm_exported_output_spec *spec = &p->outputs[i];
    const bool input = spec->kind == BSM_EXPORTED_USER_INPUT_MUTATION;
    bsm_value *value;
    if (!input && spec->kind != BSM_EXPORTED_BUFFER_MUTATION &&
        spec->kind != BSM_EXPORTED_PARAMETER_MUTATION) {
      continue;
    }
    BSM_TRY(bsm_xi_argument(s->im, scope, &spec->arg, NULL, &value));
    BSM_TRY(add(s, spec->target, value, input));
  }
  return BSM_OK;
}

/* ---- programs that write in place ---- */

/* Whether output `out` of a node may be its input `in`, or a view of it. */
static bool may_share(const bsm_node *node, size_t in) {
  return node->schema && in < node->schema->arg_count &&
         node->schema->args[in].has_alias;
}

static bool changes_data(const bsm_node *node) {
  return !bsm_node_is(node, "aten::detach_") &&
         !bsm_node_is(node, "aten::requires_grad_");
}

static bool is_written(const bsm_value *value, size_t depth);

static bool use_writes(const bsm_use *use, size_t depth) {
  const bsm_node *node = use->user;
  if (!may_share(node, use->index)) return false;
  if (node->schema->args[use->index].is_write && changes_data(node)) {
    return true;
  }
  for (size_t i = 0; i < node->outputs.len; i++) {
    const bsm_value *out = bsm_node_out(node, i);
    if (out->type->kind == BSM_TYPE_TENSOR && is_written(out, depth + 1)) {
      return true;
    }
  }
  return false;
}

/* Whether something writes to the value, or to a view of it. Each view has one
 * parent, so that the walk is a tree; chains of views are short. */
static bool is_written(const bsm_value *value, size_t depth) {
  for (size_t i = 0; i < value->uses.len && depth < 32; i++) {
    if (use_writes(&value->uses.items[i], depth)) return true;
  }
  return false;
}

static bsm_status add_written(state *s, const bsm_import_scope *scope) {
  const bsm_exported_program *p = s->im->program;
  for (size_t i = 0; i < p->input_count; i++) {
    const bsm_exported_input_spec *spec = &p->inputs[i];
    const bool input = spec->kind == BSM_EXPORTED_USER_INPUT;
    bsm_value *value = bsm_strmap_get(&scope->values, bsm_str_of(spec->name));
    if (!value || value->type->kind != BSM_TYPE_TENSOR) continue;
    if (is_written(value, 0)) {
      BSM_TRY(add(s, input ? spec->name : spec->target, value, input));
    }
  }
  return BSM_OK;
}

/* ---- reporting and returning ---- */

static bsm_status report(const state *s, bool as_output) {
  bsm_text text;
  bsm_text_init(&text, s->im->arena);
  for (size_t i = 0; i < s->entries.len; i++) {
    if (i == 20) {
      bsm_text_printf(&text, " and %zu more", s->entries.len - i);
      break;
    }
    bsm_text_printf(&text, "%s%s\"%s\"", i ? ", " : "",
                    s->entries.items[i].is_input ? "input " : "",
                    s->entries.items[i].name);
  }
  if (text.failed) return BSM_FAIL_OOM();
  if (as_output) {
    bsm_log(s->im->cx->logger, BSM_LOG_LEVEL_INFO,
            "new values of %s are outputs of the engine", text.data);
  } else {
    bsm_log(s->im->cx->logger, BSM_LOG_LEVEL_WARNING,
            "the program writes to %s: an engine has no state, each run begins "
            "with the stored values; the option state_as_output gives the new "
            "ones",
            text.data);
  }
  return BSM_OK;
}

static bsm_status give(state *s, bsm_value **result) {
  bsm_importer *im = s->im;
  const size_t n = s->entries.len;
  bsm_value **pairs = BSM_NEW_ARRAY(im->arena, bsm_value *, 2 * n + 1);
  const bsm_type *const type =
      bsm_type_dict(im->cx->types, bsm_xi_type(im, BSM_TYPE_STRING),
                    bsm_xi_type(im, BSM_TYPE_TENSOR));
  bsm_node *dict, *both;
  BSM_TRY_ALLOC(pairs && type);
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_xi_string(im, s->entries.items[i].name, &pairs[2 * i]));
    pairs[2 * i + 1] = s->entries.items[i].value;
  }
  BSM_TRY(bsm_xi_node(im, "prim::DictConstruct", pairs, 2 * n, type, &dict));
  bsm_value *const parts[2] = {*result, bsm_node_out(dict, 0)};
  const bsm_type *const types[2] = {parts[0]->type, type};
  static const char *const names[2] = {"result", "state"};
  const bsm_type *tuple =
      bsm_type_named_tuple(im->cx->types, "ResultAndState", names, types, 2);
  BSM_TRY_ALLOC(tuple);
  BSM_TRY(bsm_xi_node(im, "prim::TupleConstruct", parts, 2, tuple, &both));
  *result = bsm_node_out(both, 0);
  return BSM_OK;
}

bsm_status bsm_xi_state(bsm_importer *im, const bsm_import_scope *scope,
                        bool as_output, bsm_value **result) {
  state s = {.im = im};
  BSM_TRY(add_results(&s, scope));
  BSM_TRY(add_written(&s, scope));
  if (!s.entries.len) return BSM_OK;
  BSM_TRY(report(&s, as_output));
  return as_output ? give(&s, result) : BSM_OK;
}
