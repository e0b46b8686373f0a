/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/pipeline/tell_nodes.h"

static bsm_status tell(const bsm_compilation *c, const bsm_node *node,
                       bsm_node_run how, const char *why) {
  if (!c->watch || (c->in_variant && !c->is_first_variant)) return BSM_OK;
  return c->watch->node(c->watch->user, node, how, c->in_variant, why);
}

bsm_status bsm_saw_node(void *user, const bsm_node *node,
                        bsm_node_handler handler, const char *why) {
  static const bsm_node_run runs[] = {
      [BSM_NODE_UNSUPPORTED] = BSM_RUN_UNSUPPORTED,
      [BSM_NODE_EVALUATED] = BSM_RUN_EVALUATED,
      [BSM_NODE_CONVERTED] = BSM_RUN_LAYERS,
      [BSM_NODE_REFERENCE] = BSM_RUN_REFERENCE};
  const bsm_compilation *c = user;
  if (handler == BSM_NODE_CONSTANT) return BSM_OK;
  /* The copies of lists in segments; the program has them once. */
  if (c->in_program && bsm_node_is_floating(node)) return BSM_OK;
  return tell(c, node, runs[handler], why);
}

/* Why a program calls a node that it has not in a segment. */
static const char *call_reason(const bsm_compilation *c, const bsm_node *node,
                               const bsm_partition_options *partition) {
  const char *rule = bsm_fallback_rule_of(c->rules, node);
  if (rule) return rule;
  if (partition->memory && bsm_memory_touches(partition->memory, node)) {
    return "it reads or writes what several values may share, and one of them "
           "changes";
  }
  return bsm_node_fits_segment(node, partition)
             ? "its segment has fewer nodes than the least block size"
             : "its shapes or arguments are known only when the engine runs";
}

/* Lists the program makes itself, where they are needed. */
static bsm_status tell_lists(const bsm_compilation *c, const bsm_block *block,
                             size_t depth) {
  for (const bsm_node *n = block->first; n && depth < 256; n = n->next) {
    if (bsm_node_is(n, "prim::ListConstruct")) {
      BSM_TRY(tell(c, n, BSM_RUN_CONTROL, NULL));
    }
    for (size_t i = 0; i < n->blocks.len; i++) {
      BSM_TRY(tell_lists(c, n->blocks.items[i], depth + 1));
    }
  }
  return BSM_OK;
}

/* By its first result; what has none changes a container, and is where that is
 * made. */
bool bsm_is_planned(const bsm_program_node_list *p, const bsm_node *node) {
  const bsm_value *value = node->outputs.len  ? bsm_node_out(node, 0)
                           : node->inputs.len ? bsm_node_in(node, 0)
                                              : NULL;
  if (!p->map || !value) return false;
  const uintptr_t reg = (uintptr_t)bsm_ptrmap_get(&p->map->registers, value);
  return reg && p->in_region[reg - 1];
}

/* Why control flow is left to the run; NULL for what is none. */
static const char *control_reason(const bsm_node *node) {
  if (bsm_node_is(node, "prim::If")) {
    return "its condition is known only when the engine runs";
  }
  if (!bsm_node_is(node, "prim::Loop")) return NULL;
  const bsm_ivalue *limit = bsm_node_attr_get(node, "limit");
  if (!limit) return "its length is known only when the engine runs";
  return bsm_str_eq(*limit->u.s, BSM_STR("max_loop_trips"))
             ? "unrolling it goes beyond the limit max_loop_trips"
             : "unrolling it goes beyond the limit max_unrolled_nodes";
}

/* Tells of the nodes of a program that are in no segment. */
bsm_status bsm_tell_program(bsm_compilation *c, const bsm_graph *graph,
                            const bsm_program_node_list *p,
                            const bsm_partition_options *partition) {
  for (size_t i = 0; i < p->count; i++) {
    const bsm_node *node = p->nodes[i];
    if (!bsm_program_calls_node(node)) {
      BSM_TRY(tell(c, node, BSM_RUN_CONTROL, control_reason(node)));
      continue;
    }
    const char *refusal = bsm_call_refusal(c->module->aten, node);
    const bool planned = !refusal && bsm_is_planned(p, node);
    BSM_TRY(tell(c, node,
                 refusal   ? BSM_RUN_UNSUPPORTED
                 : planned ? BSM_RUN_PLANNED
                           : BSM_RUN_CALL,
                 refusal   ? refusal
                 : planned ? NULL
                           : call_reason(c, node, partition)));
  }
  return tell_lists(c, graph->block, 0);
}

/* ---- what does not compile ---- */

static bsm_status tell_segment(void *user, const bsm_graph *graph,
                               bsm_arena *arena, bsm_plan **out) {
  const bsm_compilation *c = user;
  (void)arena;
  (void)out;
  return bsm_classify_nodes(graph, c->module->aten, c->registry, bsm_saw_node,
                            user);
}

static bsm_status tell_segments(bsm_compilation *c, const bsm_block *block,
                                const bsm_partition_options *partition,
                                size_t depth) {
  bsm_schedule schedule;
  if (depth > 256) return BSM_OK; /* the verifier allows no more */
  BSM_TRY(bsm_partition_block(block, partition, &c->arena, &schedule));
  for (size_t i = 0; i < schedule.count; i++) {
    const bsm_schedule_item *item = &schedule.items[i];
    if (item->segment) {
      BSM_TRY(tell_segment(c, item->segment->graph, NULL, NULL));
    }
    for (size_t k = 0; item->node && k < item->node->blocks.len; k++) {
      BSM_TRY(
          tell_segments(c, item->node->blocks.items[k], partition, depth + 1));
    }
  }
  return BSM_OK;
}

/* Without converting: who would take each node. */
bsm_status bsm_tell_again(bsm_compilation *c) {
  const bsm_graph *graph = c->lowered.graph;
  const bsm_partition_options partition = bsm_partition_options_of(c);
  bsm_program_node_list nodes = {0};
  c->in_variant = false;
  c->in_program = !bsm_is_plan(&c->lowered, &partition);
  c->watch->restart(c->watch->user);
  if (!c->in_program) return tell_segment(c, graph, NULL, NULL);
  BSM_TRY(bsm_program_nodes(graph, &partition, &c->arena, &nodes.nodes,
                            &nodes.count));
  BSM_TRY(bsm_tell_program(c, graph, &nodes, &partition));
  return tell_segments(c, graph->block, &partition, 0);
}
