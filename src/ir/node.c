/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes: creation, inputs with their uses, links, attributes.
 *
 * A value's uses and a node's inputs point at each other: input i of node n is
 * use number n->use_slots[i] of its value. So a use is dropped in constant
 * time, by moving the value's last use into its place. */
#include <assert.h>

#include "ir/graph.h"

/* ---- creation ---- */

bsm_status bsm_node_create(bsm_graph *graph, const char *kind, bsm_node **out) {
  *out = NULL;
  bsm_ir_ctx *cx = graph->cx;
  if (graph->node_count >= cx->limits.max_nodes) {
    return BSM_FAIL(BSM_LIMIT,
                    "graph of more than %llu nodes, the limit max_nodes",
                    (unsigned long long)cx->limits.max_nodes);
  }
  bsm_node *node = BSM_NEW(cx->arena, bsm_node);
  BSM_TRY_ALLOC(node);
  node->kind = bsm_intern(&cx->names, bsm_str_of(kind));
  BSM_TRY_ALLOC(node->kind);
  node->graph = graph;
  graph->node_count++;
  *out = node;
  return BSM_OK;
}

bsm_status bsm_node_create_schema(bsm_graph *graph, const bsm_schema *schema,
                                  bsm_node **out) {
  BSM_TRY(bsm_node_create(graph, schema->name, out));
  (*out)->schema = schema;
  const bsm_type_env none = {.count = 0};
  for (size_t i = 0; i < schema->return_count; i++) {
    bsm_value *value;
    const bsm_type *type = bsm_type_eval_vars_or_tensor(
        graph->cx->types, schema->returns[i].type, &none);
    BSM_TRY_ALLOC(type);
    BSM_TRY(bsm_node_add_output(*out, type, &value));
  }
  return BSM_OK;
}

bsm_status bsm_node_create_constant(bsm_graph *graph, bsm_ivalue value,
                                    const bsm_type *type, bsm_node **out) {
  *out = NULL;
  if (!type) {
    type = bsm_type_of_value(graph->cx->types, &value);
    BSM_TRY_ALLOC(type);
  }
  BSM_TRY(bsm_node_create(graph, "prim::Constant", out));
  if (value.tag != BSM_IVALUE_NONE) {
    BSM_TRY(bsm_node_set_attr(*out, "value", value));
  }
  bsm_value *output;
  return bsm_node_add_output(*out, type, &output);
}

bsm_status bsm_node_add_output(bsm_node *node, const bsm_type *type,
                               bsm_value **out) {
  *out = NULL;
  bsm_graph *graph = node->graph;
  bsm_value *value = BSM_NEW(graph->cx->arena, bsm_value);
  BSM_TRY_ALLOC(value);
  value->type = type;
  value->node = node;
  value->index = node->outputs.len;
  value->id = graph->next_value_id++;
  if (!bsm_vec_push(graph->cx->arena, &node->outputs, value)) {
    return BSM_FAIL_OOM();
  }
  *out = value;
  return BSM_OK;
}

/* ---- inputs ---- */

/* Makes room for one more use; nothing has changed when it fails. */
static bsm_status add_use(bsm_node *node, size_t index, bsm_value *value) {
  bsm_use use = {node, index};
  if (!bsm_vec_push(node->graph->cx->arena, &value->uses, use)) {
    return BSM_FAIL_OOM();
  }
  node->use_slots.items[index] = value->uses.len - 1;
  return BSM_OK;
}

static void drop_use(bsm_node *node, size_t index) {
  bsm_value *value = node->inputs.items[index];
  size_t slot = node->use_slots.items[index];
  assert(slot < value->uses.len && value->uses.items[slot].user == node);
  bsm_use last = value->uses.items[--value->uses.len];
  value->uses.items[slot] = last;
  last.user->use_slots.items[last.index] = slot;
}

bsm_status bsm_node_add_input(bsm_node *node, bsm_value *value) {
  bsm_arena *arena = node->graph->cx->arena;
  if (!bsm_vec_push(arena, &node->use_slots, 0)) return BSM_FAIL_OOM();
  bsm_status status = add_use(node, node->inputs.len, value);
  if (!status && !bsm_vec_push(arena, &node->inputs, value)) {
    value->uses.len--;
    status = BSM_FAIL_OOM();
  }
  if (status) node->use_slots.len--;
  return status;
}

bsm_status bsm_node_set_input(bsm_node *node, size_t index, bsm_value *value) {
  if (node->inputs.items[index] == value) return BSM_OK;
  size_t old = node->use_slots.items[index];
  BSM_TRY(add_use(node, index, value));
  size_t slot = node->use_slots.items[index];
  node->use_slots.items[index] = old;
  drop_use(node, index);
  node->inputs.items[index] = value;
  node->use_slots.items[index] = slot;
  return BSM_OK;
}

void bsm_node_remove_input(bsm_node *node, size_t index) {
  drop_use(node, index);
  for (size_t i = index + 1; i < node->inputs.len; i++) {
    bsm_value *value = node->inputs.items[i];
    size_t slot = node->use_slots.items[i];
    value->uses.items[slot].index = i - 1;
    node->inputs.items[i - 1] = value;
    node->use_slots.items[i - 1] = slot;
  }
  node->inputs.len--;
  node->use_slots.len--;
}

void bsm_node_remove_output(bsm_node *node, size_t index) {
  bsm_value *value = node->outputs.items[index];
  assert(value->uses.len == 0);
  /* Clearing a name allocates nothing and cannot fail. */
  bsm_status_free(bsm_value_set_name(node->graph, value, NULL));
  for (size_t i = index + 1; i < node->outputs.len; i++) {
    node->outputs.items[i - 1] = node->outputs.items[i];
    node->outputs.items[i - 1]->index = i - 1;
  }
  node->outputs.len--;
  value->node = NULL;
}

/* ---- links ---- */

static void link_between(bsm_node *node, bsm_block *block, bsm_node *prev,
                         bsm_node *next) {
  assert(!node->block);
  node->block = block;
  node->prev = prev;
  node->next = next;
  *(prev ? &prev->next : &block->first) = node;
  *(next ? &next->prev : &block->last) = node;
}

static void unlink_node(bsm_node *node) {
  bsm_block *block = node->block;
  *(node->prev ? &node->prev->next : &block->first) = node->next;
  *(node->next ? &node->next->prev : &block->last) = node->prev;
  node->prev = node->next = NULL;
  node->block = NULL;
}

void bsm_node_append(bsm_block *block, bsm_node *node) {
  link_between(node, block, block->last, NULL);
}

void bsm_node_insert_before(bsm_node *node, bsm_node *position) {
  bsm_block *block = position->block;
  if (position == block->returns) {
    bsm_node_append(block, node);
  } else {
    link_between(node, block, position->prev, position);
  }
}

void bsm_node_insert_after(bsm_node *node, bsm_node *position) {
  bsm_block *block = position->block;
  if (position == block->params) {
    link_between(node, block, NULL, block->first);
  } else {
    link_between(node, block, position, position->next);
  }
}

void bsm_node_move_before(bsm_node *node, bsm_node *position) {
  if (node == position) return;
  unlink_node(node);
  bsm_node_insert_before(node, position);
}

static void drop_inputs(bsm_node *node) {
  for (size_t i = node->inputs.len; i > 0; i--) drop_use(node, i - 1);
  node->inputs.len = node->use_slots.len = 0;
}

/* Whether the graph has the node: it is linked, and so is all it is in. */
static bool is_in_graph(const bsm_node *node) {
  while (node->block && node->block->owner) node = node->block->owner;
  return node->block != NULL;
}

/* Nodes that were given up half made may still use a value. */
static void forget_outputs(bsm_node *node) {
  for (size_t i = 0; i < node->outputs.len; i++) {
    bsm_value *value = node->outputs.items[i];
    while (value->uses.len) {
      const bsm_use use = value->uses.items[value->uses.len - 1];
      const bool in_graph = is_in_graph(use.user);
      assert(!in_graph);
      if (in_graph) break;
      bsm_node_remove_input(use.user, use.index);
    }
    bsm_status_free(bsm_value_set_name(node->graph, value, NULL));
  }
}

/* From the end: what is used is destroyed after what uses it. Nesting is
 * bounded by whoever built the graph. */
static void destroy_block(bsm_block *block) {
  drop_inputs(block->returns);
  while (block->last) bsm_node_destroy(block->last);
  forget_outputs(block->params);
}

void bsm_node_destroy(bsm_node *node) {
  for (size_t i = 0; i < node->blocks.len; i++) {
    destroy_block(node->blocks.items[i]);
  }
  node->blocks.len = 0;
  drop_inputs(node);
  forget_outputs(node);
  if (node->block) unlink_node(node);
}

/* ---- attributes ---- */

bsm_status bsm_node_set_attr(bsm_node *node, const char *name,
                             bsm_ivalue value) {
  for (size_t i = 0; i < node->attrs.len; i++) {
    if (strcmp(node->attrs.items[i].name, name) == 0) {
      node->attrs.items[i].value = value;
      return BSM_OK;
    }
  }
  bsm_ir_ctx *cx = node->graph->cx;
  bsm_node_attr attr = {bsm_intern(&cx->names, bsm_str_of(name)), value};
  BSM_TRY_ALLOC(attr.name);
  return bsm_vec_push(cx->arena, &node->attrs, attr) ? BSM_OK : BSM_FAIL_OOM();
}

const bsm_ivalue *bsm_node_attr_get(const bsm_node *node, const char *name) {
  for (size_t i = 0; i < node->attrs.len; i++) {
    if (strcmp(node->attrs.items[i].name, name) == 0) {
      return &node->attrs.items[i].value;
    }
  }
  return NULL;
}

bool bsm_node_is(const bsm_node *node, const char *kind) {
  return node->kind == kind || strcmp(node->kind, kind) == 0;
}
