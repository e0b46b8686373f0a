/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of a graph between any two passes: links and uses agree,
 * values are defined before they are used and are visible there, nodes have the
 * inputs, outputs and blocks of their kind, types fit schemas. */
#include "ir/schema_match.h"

typedef struct verifier {
  const bsm_graph *graph;
  bsm_arena *arena; /* scratch */
  bool *visible;    /* by value id */
  uint64_t depth;
} verifier;

static bsm_status verify_block(verifier *v, const bsm_block *block);

/* ---- values ---- */

static bsm_status define(verifier *v, const bsm_node *node) {
  char label[128];
  for (size_t i = 0; i < node->outputs.len; i++) {
    const bsm_value *value = node->outputs.items[i];
    if (value->node != node || value->index != i) {
      return BSM_FAIL(BSM_INTERNAL, "%s does not know its node",
                      bsm_value_label(value, label));
    }
    if (value->id >= v->graph->next_value_id) {
      return BSM_FAIL(BSM_INTERNAL, "%s has an id out of range",
                      bsm_value_label(value, label));
    }
    if (v->visible[value->id]) {
      return BSM_FAIL(BSM_INTERNAL, "%s has the id of another value",
                      bsm_value_label(value, label));
    }
    if (!value->type) {
      return BSM_FAIL(BSM_INTERNAL, "%s has no type",
                      bsm_value_label(value, label));
    }
    for (size_t k = 0; k < value->uses.len; k++) {
      bsm_use use = value->uses.items[k];
      if (use.index >= use.user->inputs.len ||
          use.user->inputs.items[use.index] != value) {
        return BSM_FAIL(BSM_INTERNAL, "%s is not input %zu of its user %s",
                        bsm_value_label(value, label), use.index,
                        use.user->kind);
      }
    }
    v->visible[value->id] = true;
  }
  return BSM_OK;
}

static void undefine(verifier *v, const bsm_node *node) {
  for (size_t i = 0; i < node->outputs.len; i++) {
    v->visible[node->outputs.items[i]->id] = false;
  }
}

static bsm_status verify_inputs(verifier *v, const bsm_node *node) {
  char label[128];
  for (size_t i = 0; i < node->inputs.len; i++) {
    const bsm_value *value = node->inputs.items[i];
    size_t slot = node->use_slots.items[i];
    bsm_value_label(value, label);
    if (!value->node || value->node->graph != v->graph) {
      return BSM_FAIL(BSM_INTERNAL, "input %s belongs to another graph", label);
    }
    if (slot >= value->uses.len || value->uses.items[slot].user != node ||
        value->uses.items[slot].index != i) {
      return BSM_FAIL(BSM_INTERNAL, "input %s does not know this use", label);
    }
    if (value->id >= v->graph->next_value_id || !v->visible[value->id]) {
      return BSM_FAIL(BSM_CORRUPT, "%s is used before it is defined", label);
    }
  }
  return BSM_OK;
}

/* ---- kinds ---- */

static bsm_status expect_type(const bsm_type *type, const bsm_type *want,
                              verifier *v, const char *what) {
  if (bsm_type_is_subtype(type, want)) return BSM_OK;
  return BSM_FAIL(BSM_CORRUPT, "%s is %s, not %s", what,
                  bsm_type_str(v->arena, type), bsm_type_str(v->arena, want));
}

static bsm_status expect_kind(const bsm_type *type, bsm_type_kind kind,
                              verifier *v, const char *what) {
  return expect_type(type, bsm_type_simple(v->graph->cx->types, kind), v, what);
}

static bsm_status expect_count(size_t count, size_t want, const char *what) {
  if (count == want) return BSM_OK;
  return BSM_FAIL(BSM_CORRUPT, "%zu %s instead of %zu", count, what, want);
}

static bsm_status verify_if(verifier *v, const bsm_node *node) {
  BSM_TRY(expect_count(node->inputs.len, 1, "inputs"));
  BSM_TRY(expect_count(node->blocks.len, 2, "blocks"));
  BSM_TRY(expect_kind(node->inputs.items[0]->type, BSM_TYPE_BOOL, v,
                      "the condition"));
  for (size_t b = 0; b < 2; b++) {
    const bsm_block *block = node->blocks.items[b];
    BSM_TRY(expect_count(block->params->outputs.len, 0, "block inputs"));
    BSM_TRY(expect_count(block->returns->inputs.len, node->outputs.len,
                         "block outputs"));
    for (size_t i = 0; i < node->outputs.len; i++) {
      BSM_TRY(expect_type(block->returns->inputs.items[i]->type,
                          node->outputs.items[i]->type, v, "a block output"));
    }
  }
  return BSM_OK;
}

static bsm_status verify_loop(verifier *v, const bsm_node *node) {
  if (node->inputs.len < 2) {
    return BSM_FAIL(BSM_CORRUPT, "%zu inputs instead of at least 2",
                    node->inputs.len);
  }
  size_t carried = node->inputs.len - 2;
  BSM_TRY(expect_count(node->blocks.len, 1, "blocks"));
  BSM_TRY(expect_count(node->outputs.len, carried, "outputs"));
  const bsm_node *params = node->blocks.items[0]->params;
  const bsm_node *returns = node->blocks.items[0]->returns;
  BSM_TRY(expect_count(params->outputs.len, carried + 1, "block inputs"));
  BSM_TRY(expect_count(returns->inputs.len, carried + 1, "block outputs"));
  BSM_TRY(expect_kind(node->inputs.items[0]->type, BSM_TYPE_INT, v,
                      "the trip count"));
  BSM_TRY(expect_kind(node->inputs.items[1]->type, BSM_TYPE_BOOL, v,
                      "the condition"));
  BSM_TRY(expect_kind(params->outputs.items[0]->type, BSM_TYPE_INT, v,
                      "the iteration number"));
  BSM_TRY(expect_kind(returns->inputs.items[0]->type, BSM_TYPE_BOOL, v,
                      "the next condition"));
  for (size_t i = 0; i < carried; i++) {
    const bsm_type *inner = params->outputs.items[i + 1]->type;
    BSM_TRY(expect_type(node->inputs.items[i + 2]->type, inner, v,
                        "a carried value"));
    BSM_TRY(expect_type(returns->inputs.items[i + 1]->type, inner, v,
                        "a value carried on"));
  }
  return BSM_OK;
}

static bool fits(verifier *v, const bsm_ivalue *value, const bsm_type *type,
                 uint32_t *left);

static bool all_fit(verifier *v, const bsm_ivalue *items, size_t n,
                    const bsm_type *type, uint32_t *left) {
  for (size_t i = 0; i < n; i++) {
    if (!fits(v, &items[i], type, left)) return false;
  }
  return true;
}

/* Whether a value may stand where `type` is expected. Containers that carry no
 * types of their own are looked into; `left` bounds how much (values can be
 * shared), and the type's depth bounds how deep. */
static bool fits(verifier *v, const bsm_ivalue *value, const bsm_type *type,
                 uint32_t *left) {
  if (type->kind == BSM_TYPE_ANY || *left == 0) return true;
  --*left;
  if (type->kind == BSM_TYPE_OPTIONAL) {
    if (value->tag == BSM_IVALUE_NONE) return true;
    type = type->args[0];
  }
  const bsm_list *list = value->u.list;
  const bsm_dict *dict = value->u.dict;
  const bsm_tuple *tuple = value->u.tuple;
  if (value->tag == BSM_IVALUE_TENSOR) return type->kind == BSM_TYPE_TENSOR;
  if (value->tag == BSM_IVALUE_LIST && type->kind == BSM_TYPE_LIST &&
      !list->elem_type) {
    return all_fit(v, list->items, list->len, type->args[0], left);
  }
  if (value->tag == BSM_IVALUE_DICT && type->kind == BSM_TYPE_DICT &&
      !dict->key_type && !dict->value_type) {
    return all_fit(v, dict->keys, dict->len, type->args[0], left) &&
           all_fit(v, dict->values, dict->len, type->args[1], left);
  }
  if (value->tag == BSM_IVALUE_TUPLE && type->kind == BSM_TYPE_TUPLE &&
      !tuple->type) {
    if (tuple->len != type->arg_count) return false;
    for (size_t i = 0; i < tuple->len; i++) {
      if (!fits(v, &tuple->items[i], type->args[i], left)) return false;
    }
    return true;
  }
  const bsm_type *own = bsm_type_of_value(v->graph->cx->types, value);
  return own && bsm_type_is_subtype(own, type);
}

static bsm_status verify_constant(verifier *v, const bsm_node *node) {
  BSM_TRY(expect_count(node->inputs.len, 0, "inputs"));
  BSM_TRY(expect_count(node->outputs.len, 1, "outputs"));
  const bsm_type *type = node->outputs.items[0]->type;
  const bsm_ivalue *value = bsm_node_attr_get(node, "value");
  const bsm_ivalue none = bsm_iv_none();
  if (!value) {
    if (type->kind == BSM_TYPE_FUNCTION) return BSM_OK;
    value = &none;
  }
  uint32_t left = 100000;
  if (fits(v, value, type, &left)) return BSM_OK;
  const bsm_type *own = bsm_type_of_value(v->graph->cx->types, value);
  BSM_TRY_ALLOC(own);
  return BSM_FAIL(BSM_CORRUPT, "the value is %s, not %s",
                  bsm_type_str(v->arena, own), bsm_type_str(v->arena, type));
}

static bsm_status verify_list(verifier *v, const bsm_node *node) {
  BSM_TRY(expect_count(node->outputs.len, 1, "outputs"));
  const bsm_type *type = node->outputs.items[0]->type;
  if (type->kind == BSM_TYPE_OPTIONAL) type = type->args[0];
  if (type->kind != BSM_TYPE_LIST) {
    return BSM_FAIL(BSM_CORRUPT, "the output is %s, not a list",
                    bsm_type_str(v->arena, type));
  }
  for (size_t i = 0; i < node->inputs.len; i++) {
    BSM_TRY(expect_type(node->inputs.items[i]->type, type->args[0], v,
                        "an element"));
  }
  return BSM_OK;
}

static bsm_status verify_tuple(verifier *v, const bsm_node *node) {
  BSM_TRY(expect_count(node->outputs.len, 1, "outputs"));
  const bsm_type *type = node->outputs.items[0]->type;
  if (type->kind != BSM_TYPE_TUPLE) {
    return BSM_FAIL(BSM_CORRUPT, "the output is %s, not a tuple",
                    bsm_type_str(v->arena, type));
  }
  BSM_TRY(expect_count(node->inputs.len, type->arg_count, "inputs"));
  for (size_t i = 0; i < node->inputs.len; i++) {
    BSM_TRY(expect_type(node->inputs.items[i]->type, type->args[i], v,
                        "an element"));
  }
  return BSM_OK;
}

static bsm_status verify_tuple_unpack(verifier *v, const bsm_node *node) {
  BSM_TRY(expect_count(node->inputs.len, 1, "inputs"));
  const bsm_type *type = node->inputs.items[0]->type;
  if (type->kind != BSM_TYPE_TUPLE) {
    return BSM_FAIL(BSM_CORRUPT, "the input is %s, not a tuple",
                    bsm_type_str(v->arena, type));
  }
  return expect_count(node->outputs.len, type->arg_count, "outputs");
}

static bsm_status verify_list_unpack(verifier *v, const bsm_node *node) {
  BSM_TRY(expect_count(node->inputs.len, 1, "inputs"));
  if (node->inputs.items[0]->type->kind == BSM_TYPE_LIST) return BSM_OK;
  return BSM_FAIL(BSM_CORRUPT, "the input is %s, not a list",
                  bsm_type_str(v->arena, node->inputs.items[0]->type));
}

static bsm_status verify_dict(verifier *v, const bsm_node *node) {
  (void)v;
  BSM_TRY(expect_count(node->outputs.len, 1, "outputs"));
  if (node->inputs.len % 2 == 0) return BSM_OK;
  return BSM_FAIL(BSM_CORRUPT, "a key without its value");
}

static bsm_status verify_attr(verifier *v, const bsm_node *node) {
  (void)v;
  const bsm_ivalue *name = bsm_node_attr_get(node, "name");
  if (!name || name->tag != BSM_IVALUE_STRING) {
    return BSM_FAIL(BSM_CORRUPT, "no attribute's name");
  }
  if (bsm_node_is(node, "prim::GetAttr")) {
    BSM_TRY(expect_count(node->outputs.len, 1, "outputs"));
    return expect_count(node->inputs.len, 1, "inputs");
  }
  return expect_count(node->inputs.len, 2, "inputs");
}

static bsm_status verify_kind(verifier *v, const bsm_node *node) {
  static const struct {
    const char *kind;
    bsm_status (*verify)(verifier *v, const bsm_node *node);
  } kinds[] = {
      {"prim::Constant", verify_constant},
      {"prim::If", verify_if},
      {"prim::Loop", verify_loop},
      {"prim::ListConstruct", verify_list},
      {"prim::TupleConstruct", verify_tuple},
      {"prim::TupleUnpack", verify_tuple_unpack},
      {"prim::ListUnpack", verify_list_unpack},
      {"prim::DictConstruct", verify_dict},
      {"prim::GetAttr", verify_attr},
      {"prim::SetAttr", verify_attr},
  };
  if (node->schema || strncmp(node->kind, "prim::", 6) != 0) return BSM_OK;
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (bsm_node_is(node, kinds[i].kind)) return kinds[i].verify(v, node);
  }
  return BSM_OK;
}

/* ---- schemas ---- */

static bsm_status verify_schema(verifier *v, const bsm_node *node) {
  const bsm_schema *schema = node->schema;
  if (!schema) return BSM_OK;
  if (strcmp(schema->name, node->kind) != 0) {
    return BSM_FAIL(BSM_INTERNAL, "has the schema of %s", schema->qualified);
  }
  size_t n = node->inputs.len;
  if (!schema->is_varret) {
    BSM_TRY(expect_count(node->outputs.len, schema->return_count, "outputs"));
  }
  if (n < schema->arg_count || (n > schema->arg_count && !schema->is_vararg)) {
    return BSM_FAIL(BSM_CORRUPT, "%zu inputs for %s", n, schema->text);
  }
  const bsm_type **types = BSM_NEW_ARRAY(v->arena, const bsm_type *, n + 1);
  BSM_TRY_ALLOC(types);
  for (size_t i = 0; i < n; i++) types[i] = node->inputs.items[i]->type;
  const bsm_schema *found;
  BSM_TRY(bsm_schema_match_node(v->graph->cx->types, v->arena, types, n,
                                &schema, 1, &found, NULL));
  if (found) return BSM_OK;
  bsm_text text;
  bsm_text_init(&text, v->arena);
  for (size_t i = 0; i < n; i++) {
    if (i) bsm_text_puts(&text, ", ");
    bsm_type_print(&text, types[i], BSM_TYPE_STYLE_IR);
  }
  return BSM_FAIL(BSM_CORRUPT, "inputs (%s) do not fit %s", text.data,
                  schema->text);
}

/* ---- structure ---- */

static bsm_status verify_node(verifier *v, const bsm_node *node) {
  if (node->graph != v->graph) {
    return BSM_FAIL(BSM_INTERNAL, "belongs to another graph");
  }
  BSM_TRY(verify_inputs(v, node));
  for (size_t i = 0; i < node->blocks.len; i++) {
    if (node->blocks.items[i]->owner != node) {
      return BSM_FAIL(BSM_INTERNAL, "block %zu has another owner", i);
    }
    BSM_TRY(verify_block(v, node->blocks.items[i]));
  }
  BSM_TRY(verify_kind(v, node));
  BSM_TRY(verify_schema(v, node));
  return define(v, node);
}

/* Says where: "in %3 = aten::add, m.py:12". */
static bsm_status note_node(verifier *v, const bsm_node *node,
                            bsm_status status) {
  char label[128] = "";
  if (!status) return status;
  if (node->outputs.len) bsm_value_label(node->outputs.items[0], label);
  bsm_text place;
  bsm_text_init(&place, v->arena);
  bsm_source_print(&place, &node->source);
  return bsm_status_note(status, "in %s = %s, %s", label, node->kind,
                         place.data);
}

static bsm_status verify_block(verifier *v, const bsm_block *block) {
  if (++v->depth > v->graph->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "blocks nested more than %llu deep",
                    (unsigned long long)v->graph->cx->limits.max_depth);
  }
  BSM_TRY(define(v, block->params));
  const bsm_node *prev = NULL;
  for (const bsm_node *n = block->first; n; prev = n, n = n->next) {
    if (n->block != block || n->prev != prev) {
      return BSM_FAIL(BSM_INTERNAL, "%s is linked wrongly", n->kind);
    }
    BSM_TRY(note_node(v, n, verify_node(v, n)));
  }
  if (block->last != prev) {
    return BSM_FAIL(BSM_INTERNAL, "a block's last node is another");
  }
  BSM_TRY_NOTE(verify_inputs(v, block->returns), "in the returns of a block");
  for (const bsm_node *n = block->first; n; n = n->next) undefine(v, n);
  undefine(v, block->params);
  v->depth--;
  return BSM_OK;
}

bsm_status bsm_graph_verify(const bsm_graph *graph) {
  /* Scratch of its own: the graph's arena keeps what types are made. */
  bsm_arena arena;
  bsm_arena_init(&arena, graph->cx->arena->allocator);
  verifier v = {.graph = graph, .arena = &arena};
  v.visible = BSM_NEW_ARRAY(&arena, bool, (size_t)graph->next_value_id + 1);
  bsm_status status =
      v.visible ? verify_block(&v, graph->block) : BSM_FAIL_OOM();
  bsm_arena_destroy(&arena);
  return status;
}
