/* SPDX-License-Identifier: Apache-2.0 */
/* Applying rewrite rules to a graph. */
#include "lowering/pass.h"

bool bsm_node_is_pure(const bsm_node *node, const bsm_aten_library *aten) {
  if (node->blocks.len) {
    return false;
  }
  if (!node->schema) {
    return strncmp(node->kind, "prim::", 6) == 0 &&
           !bsm_node_is(node, "prim::CopyContainer") &&
           !bsm_node_is(node, "prim::RaiseException");
  }
  const bsm_aten_op *op =
      bsm_aten_find(aten, bsm_str_of(node->schema->qualified));
  return op && !(op->flags & (BSM_ATEN_RANDOM | BSM_ATEN_MAY_DRAW |
                              BSM_ATEN_EFFECT | BSM_ATEN_INPLACE));
}

bsm_status bsm_rewrite_value(bsm_graph *graph, bsm_value *from, bsm_value *to) {
  const bsm_type *old = from->type, *new = to->type;
  const bool has_rank = new &&new->kind == BSM_TYPE_TENSOR &&new->has_dims;
  if (old && old->kind == BSM_TYPE_TENSOR && old->has_dims &&
      (!has_rank || (bsm_type_has_sizes(old) && !bsm_type_has_sizes(new)))) {
    to->type = old;
  }
  const bool named = to->debug_name ||
                     bsm_node_is(to->node, "prim::Constant") ||
                     !to->node->kind[0];
  if (from->debug_name && !named) {
    const char *name = from->debug_name;
    BSM_TRY(bsm_value_set_name(graph, from, NULL));
    BSM_TRY(bsm_value_set_name(graph, to, name));
  }
  return bsm_value_replace_all_uses(from, to);
}

static bsm_status rewrite_node(bsm_node *node, const bsm_aten_library *aten,
                               bsm_rewrite_fn rewrite) {
  bsm_value *outs[BSM_REWRITE_MAX_OUTPUTS] = {NULL, NULL, NULL, NULL};
  const bsm_node_emitter e = bsm_node_emitter_before(node, aten);
  BSM_TRY_NOTE(rewrite(&e, node, outs), "while rewriting %s",
               node->schema->qualified);
  if (!outs[0]) {
    return BSM_OK;
  }
  for (size_t i = 0; i < node->outputs.len && i < BSM_REWRITE_MAX_OUTPUTS;
       i++) {
    if (outs[i]) {
      BSM_TRY(bsm_rewrite_value(node->graph, bsm_node_out(node, i), outs[i]));
    } else if (bsm_node_out(node, i)->uses.len) {
      return BSM_FAIL(BSM_INTERNAL, "%s: output %zu is used but not replaced",
                      node->schema->qualified, i);
    }
  }
  bsm_node_destroy(node);
  return BSM_OK;
}

typedef struct rule_set {
  const bsm_rewrite *rules;
  size_t count;
} rule_set;

static bsm_status apply_rules(bsm_node *node, const bsm_aten_library *aten,
                              const void *user) {
  const rule_set *set = user;
  for (size_t i = 0; node->schema && i < set->count; i++) {
    if (strcmp(set->rules[i].schema, node->schema->qualified) == 0) {
      return rewrite_node(node, aten, set->rules[i].rewrite);
    }
  }
  return BSM_OK;
}

bsm_status bsm_rewrite_graph(bsm_graph *graph, const bsm_aten_library *aten,
                             const bsm_rewrite *rules, size_t count) {
  const rule_set set = {rules, count};
  return bsm_visit_nodes(graph, aten, apply_rules, &set);
}

static bsm_status visit_block(bsm_block *block, const bsm_aten_library *aten,
                              bsm_visit_fn visit, const void *user,
                              size_t depth) {
  if (depth > block->graph->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "blocks are nested too deep");
  }
  bsm_node *next = NULL;
  for (bsm_node *node = block->first; node; node = next) {
    next = node->next;
    for (size_t i = 0; i < node->blocks.len; i++) {
      BSM_TRY(visit_block(node->blocks.items[i], aten, visit, user, depth + 1));
    }
    BSM_TRY(visit(node, aten, user));
  }
  return BSM_OK;
}

bsm_status bsm_visit_nodes(bsm_graph *graph, const bsm_aten_library *aten,
                           bsm_visit_fn visit, const void *user) {
  return visit_block(graph->block, aten, visit, user, 0);
}
