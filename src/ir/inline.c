/* SPDX-License-Identifier: Apache-2.0 */
/* Copies the body of a block to another place, of the same graph or not. */
#include "ir/graph.h"

typedef struct copier {
  bsm_graph *graph;  /* where the copies go */
  bsm_ptrmap values; /* of the source -> of the copy */
  uint64_t depth;
} copier;

static bsm_status copy_nodes(copier *c, const bsm_block *src, bsm_block *block,
                             bsm_node *position);

static bsm_status map_value(copier *c, const bsm_value *from, bsm_value *to) {
  return bsm_ptrmap_set(c->graph->cx->arena, &c->values, from, to)
             ? BSM_OK
             : BSM_FAIL_OOM();
}

/* The copy of a value; what is defined around the source stands for itself. */
static bsm_status lookup(copier *c, bsm_value *from, bsm_value **out) {
  *out = bsm_ptrmap_get(&c->values, from);
  if (*out) return BSM_OK;
  if (from->node->graph != c->graph) {
    char label[128];
    return BSM_FAIL(BSM_INTERNAL, "inlined block uses %s of another graph",
                    bsm_value_label(from, label));
  }
  *out = from;
  return BSM_OK;
}

static bsm_status copy_value(copier *c, const bsm_value *from, bsm_value *to) {
  BSM_TRY(map_value(c, from, to));
  return from->debug_name ? bsm_value_set_name(c->graph, to, from->debug_name)
                          : BSM_OK;
}

static bsm_status copy_block(copier *c, const bsm_block *src,
                             bsm_block *block) {
  if (++c->depth > c->graph->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "blocks nested more than %llu deep",
                    (unsigned long long)c->graph->cx->limits.max_depth);
  }
  for (size_t i = 0; i < src->params->outputs.len; i++) {
    const bsm_value *from = src->params->outputs.items[i];
    bsm_value *to;
    BSM_TRY(bsm_block_add_input(block, from->type, &to));
    BSM_TRY(copy_value(c, from, to));
  }
  BSM_TRY(copy_nodes(c, src, block, NULL));
  for (size_t i = 0; i < src->returns->inputs.len; i++) {
    bsm_value *to;
    BSM_TRY(lookup(c, src->returns->inputs.items[i], &to));
    BSM_TRY(bsm_block_add_output(block, to));
  }
  c->depth--;
  return BSM_OK;
}

static bsm_status copy_node(copier *c, const bsm_node *src, bsm_node **out) {
  bsm_node *node;
  BSM_TRY(bsm_node_create(c->graph, src->kind, &node));
  node->schema = src->schema;
  node->source = src->source;
  for (size_t i = 0; i < src->inputs.len; i++) {
    bsm_value *input;
    BSM_TRY(lookup(c, src->inputs.items[i], &input));
    BSM_TRY(bsm_node_add_input(node, input));
  }
  for (size_t i = 0; i < src->attrs.len; i++) {
    BSM_TRY(bsm_node_set_attr(node, src->attrs.items[i].name,
                              src->attrs.items[i].value));
  }
  for (size_t i = 0; i < src->blocks.len; i++) {
    bsm_block *block;
    BSM_TRY(bsm_node_add_block(node, &block));
    BSM_TRY(copy_block(c, src->blocks.items[i], block));
  }
  for (size_t i = 0; i < src->outputs.len; i++) {
    bsm_value *output;
    BSM_TRY(bsm_node_add_output(node, src->outputs.items[i]->type, &output));
    BSM_TRY(copy_value(c, src->outputs.items[i], output));
  }
  *out = node;
  return BSM_OK;
}

static bsm_status copy_nodes(copier *c, const bsm_block *src, bsm_block *block,
                             bsm_node *position) {
  /* The end is fixed now: the copies may land in `src` itself. */
  const bsm_node *last = src->last;
  for (const bsm_node *n = src->first; n; n = n->next) {
    bsm_node *node;
    BSM_TRY(copy_node(c, n, &node));
    if (position) {
      bsm_node_insert_before(node, position);
    } else {
      bsm_node_append(block, node);
    }
    if (n == last) break;
  }
  return BSM_OK;
}

bsm_status bsm_block_inline(bsm_block *src, bsm_block *block,
                            bsm_node *position, bsm_value *const *args,
                            bsm_value **outs) {
  copier c = {.graph = block->graph};
  for (size_t i = 0; i < src->params->outputs.len; i++) {
    BSM_TRY(map_value(&c, src->params->outputs.items[i], args[i]));
  }
  BSM_TRY(copy_nodes(&c, src, block, position));
  for (size_t i = 0; i < src->returns->inputs.len; i++) {
    BSM_TRY(lookup(&c, src->returns->inputs.items[i], &outs[i]));
  }
  return BSM_OK;
}
