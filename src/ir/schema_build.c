/* SPDX-License-Identifier: Apache-2.0 */
/* From the recipe of a match to nodes. */
#include "ir/schema_match.h"

typedef struct builder {
  bsm_graph *graph;
  const bsm_schema_match *match;
  bsm_value *const *actuals;
  bsm_block *block;
  bsm_node *position;
  const bsm_source *source;
} builder;

static void place(builder *b, bsm_node *node) {
  if (b->source) node->source = *b->source;
  if (b->position) {
    bsm_node_insert_before(node, b->position);
  } else {
    bsm_node_append(b->block, node);
  }
}

/* `elements`: the unpacked tuple that BSM_MATCH_ELEMENT refers to, or NULL. */
static bsm_status build_value(builder *b, const bsm_match_value *value,
                              const bsm_node *elements, bsm_value **out);

/* A node of `kind` over `inputs` with one output of `type`, placed. */
static bsm_status build_node(builder *b, const char *kind,
                             bsm_value *const *inputs, size_t count,
                             const bsm_type *type, bsm_value **out) {
  bsm_node *node;
  BSM_TRY(bsm_node_create(b->graph, kind, &node));
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(bsm_node_add_input(node, inputs[i]));
  }
  BSM_TRY(bsm_node_add_output(node, type, out));
  place(b, node);
  return BSM_OK;
}

/* prim::TupleUnpack of a tuple value. */
static bsm_status build_unpack(builder *b, bsm_value *tuple, bsm_node **out) {
  BSM_TRY(bsm_node_create(b->graph, "prim::TupleUnpack", out));
  BSM_TRY(bsm_node_add_input(*out, tuple));
  for (size_t i = 0; i < tuple->type->arg_count; i++) {
    bsm_value *element;
    BSM_TRY(bsm_node_add_output(*out, tuple->type->args[i], &element));
  }
  place(b, *out);
  return BSM_OK;
}

static bsm_status build_list(builder *b, const bsm_match_value *value,
                             const bsm_node *elements, bsm_value **out) {
  bsm_value **items =
      BSM_NEW_ARRAY(b->graph->cx->arena, bsm_value *, value->item_count + 1);
  BSM_TRY_ALLOC(items);
  for (size_t i = 0; i < value->item_count; i++) {
    BSM_TRY(build_value(b, &value->items[i], elements, &items[i]));
  }
  return build_node(b, "prim::ListConstruct", items, value->item_count,
                    value->type, out);
}

static bsm_status build_tuple(builder *b, const bsm_match_value *value,
                              const bsm_node *elements, bsm_value **out) {
  bsm_value *tuple;
  bsm_node *unpack;
  BSM_TRY(build_value(b, &value->items[0], elements, &tuple));
  BSM_TRY(build_unpack(b, tuple, &unpack));
  if (value->op == BSM_MATCH_TUPLE_TO_LIST) {
    return build_node(b, "prim::ListConstruct", unpack->outputs.items,
                      unpack->outputs.len, value->type, out);
  }
  size_t n = value->item_count - 1;
  bsm_value **items = BSM_NEW_ARRAY(b->graph->cx->arena, bsm_value *, n + 1);
  BSM_TRY_ALLOC(items);
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(build_value(b, &value->items[i + 1], unpack, &items[i]));
  }
  return build_node(b, "prim::TupleConstruct", items, n, value->type, out);
}

static bsm_status build_call(builder *b, const bsm_match_value *value,
                             const bsm_node *elements, bsm_value **out) {
  bsm_value *input;
  const bsm_schema *schema;
  BSM_TRY(build_value(b, &value->items[0], elements, &input));
  BSM_TRY(bsm_schema_table_find(b->graph->cx->schemas, bsm_str_of(value->call),
                                &schema));
  if (!schema) {
    return BSM_FAIL(BSM_INTERNAL, "no schema of the conversion %s",
                    value->call);
  }
  bsm_node *node;
  BSM_TRY(bsm_node_create_schema(b->graph, schema, &node));
  BSM_TRY(bsm_node_add_input(node, input));
  place(b, node);
  *out = node->outputs.items[0];
  return BSM_OK;
}

static bsm_status build_default(builder *b, const bsm_match_value *value,
                                bsm_value **out) {
  const bsm_schema_arg *arg = &b->match->schema->args[value->index];
  bsm_type_table *types = b->graph->cx->types;
  bsm_ivalue constant = arg->default_value;
  const bsm_type *type = bsm_type_of_value(types, &constant);
  BSM_TRY_ALLOC(type);
  bsm_node *node;
  BSM_TRY(bsm_node_create_constant(b->graph, constant, type, &node));
  place(b, node);
  *out = node->outputs.items[0];
  return BSM_OK;
}

static bsm_status build_value(builder *b, const bsm_match_value *value,
                              const bsm_node *elements, bsm_value **out) {
  *out = NULL;
  switch (value->op) {
    case BSM_MATCH_ACTUAL:
      *out = b->actuals[value->index];
      break;
    case BSM_MATCH_ELEMENT:
      *out = elements ? elements->outputs.items[value->index] : NULL;
      break;
    case BSM_MATCH_DEFAULT:
      return build_default(b, value, out);
    case BSM_MATCH_LIST:
      return build_list(b, value, elements, out);
    case BSM_MATCH_TUPLE_TO_LIST:
    case BSM_MATCH_TUPLE:
      return build_tuple(b, value, elements, out);
    case BSM_MATCH_CALL:
      return build_call(b, value, elements, out);
  }
  return *out ? BSM_OK : BSM_FAIL(BSM_INTERNAL, "match without its argument");
}

bsm_status bsm_schema_match_build(bsm_graph *graph,
                                  const bsm_schema_match *match,
                                  bsm_value *const *actuals, bsm_block *block,
                                  bsm_node *position, const bsm_source *source,
                                  bsm_node **out) {
  *out = NULL;
  builder b = {graph, match, actuals, block, position, source};
  bsm_node *node;
  BSM_TRY(bsm_node_create(graph, match->schema->name, &node));
  node->schema = match->schema;
  for (size_t i = 0; i < match->input_count; i++) {
    bsm_value *input;
    BSM_TRY(build_value(&b, &match->inputs[i], NULL, &input));
    BSM_TRY(bsm_node_add_input(node, input));
  }
  for (size_t i = 0; i < match->schema->return_count; i++) {
    bsm_value *output;
    BSM_TRY(bsm_node_add_output(node, match->return_types[i], &output));
  }
  place(&b, node);
  *out = node;
  return BSM_OK;
}
