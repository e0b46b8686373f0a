/* SPDX-License-Identifier: Apache-2.0 */
/* Where nodes run is known from three sources: the registries before
 * conversion, then conversion itself, then the regions that were formed. */
#include "compiler/pipeline/place_nodes.h"

#include "compiler/pipeline/build_program.h"
#include "ir/draws.h"

/* ---- plans ---- */

bsm_status bsm_place_converted(void *user, const bsm_node *node,
                               bsm_node_handler handler, const char *why) {
  static const bsm_node_run runs[] = {
      [BSM_NODE_UNSUPPORTED] = BSM_RUN_UNSUPPORTED,
      [BSM_NODE_EVALUATED] = BSM_RUN_EVALUATED,
      [BSM_NODE_CONVERTED] = BSM_RUN_LAYERS,
      [BSM_NODE_REFERENCE] = BSM_RUN_REFERENCE};
  const bsm_conversion_record *record = user;
  if (handler == BSM_NODE_CONSTANT) return BSM_OK;
  /* Copies of lists in segments are left out: the program has each list once.
   */
  if (record->of_segment && bsm_node_is_floating(node)) return BSM_OK;
  return bsm_place_node(record->nodes, node, runs[handler], why);
}

typedef struct expectation {
  const bsm_compilation *c;
  bsm_conversion_record record;
} expectation;

static bsm_status place_classified(void *user, const bsm_node *node,
                                   bsm_node_handler handler, const char *why) {
  expectation *e = user;
  const char *rule = handler == BSM_NODE_CONVERTED
                         ? bsm_fallback_rule_of(e->c->rules, node)
                         : NULL;
  return rule ? bsm_place_converted(&e->record, node, BSM_NODE_REFERENCE, rule)
              : bsm_place_converted(&e->record, node, handler, why);
}

static bsm_status expect_plan(const bsm_compilation *c, const bsm_graph *graph,
                              bool of_segment, bsm_placement_list *out) {
  expectation e = {c, {out, of_segment}};
  return bsm_classify_nodes(graph, c->module->aten, c->registry,
                            place_classified, &e);
}

static bsm_status expect_segments(const bsm_compilation *c,
                                  const bsm_divided_graph *divided,
                                  const bsm_block *block,
                                  bsm_placement_list *out) {
  const bsm_schedule *schedule =
      bsm_partition_schedule(&divided->partition, block);
  for (size_t i = 0; schedule && i < schedule->count; i++) {
    const bsm_schedule_item *item = &schedule->items[i];
    if (item->segment) {
      BSM_TRY(expect_plan(c, item->segment->graph, true, out));
    }
    for (size_t k = 0; item->node && k < item->node->blocks.len; k++) {
      BSM_TRY(expect_segments(c, divided, item->node->blocks.items[k], out));
    }
  }
  return BSM_OK;
}

/* ---- programs ---- */

/* Why a program calls a node that is not in a segment. */
static const char *call_reason(const bsm_compilation *c,
                               const bsm_divided_graph *divided,
                               const bsm_node *node) {
  const char *rule = bsm_fallback_rule_of(c->rules, node);
  if (rule) return rule;
  if (bsm_node_draws(node, c->module->aten)) {
    return "it draws random numbers, in the order of the model";
  }
  if (divided->memory && bsm_memory_touches(divided->memory, node)) {
    return "it reads or writes what several values may share, and one of them "
           "changes";
  }
  return bsm_could_be_in_segment(c, divided, node)
             ? "its segment has fewer nodes than the least block size"
             : "its shapes or arguments are known only when the engine runs";
}

/* Why control flow is left to the run; NULL for other nodes. */
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

/* Looks at the first result. A node without results changes a container, and is
 * where that is made. */
bool bsm_is_in_region(const bsm_region_nodes *regions, const bsm_node *node) {
  const bsm_value *value = node->outputs.len  ? bsm_node_out(node, 0)
                           : node->inputs.len ? bsm_node_in(node, 0)
                                              : NULL;
  if (!regions->registers || !value) return false;
  const uintptr_t reg = (uintptr_t)bsm_ptrmap_get(regions->registers, value);
  return reg && regions->in_region[reg - 1];
}

static bsm_status place_call(const bsm_compilation *c,
                             const bsm_divided_graph *divided,
                             const bsm_node *node, bool in_region,
                             bsm_placement_list *out) {
  const char *refusal = bsm_call_refusal(c->module->aten, node);
  if (refusal) return bsm_place_node(out, node, BSM_RUN_UNSUPPORTED, refusal);
  return in_region ? bsm_place_node(out, node, BSM_RUN_PLANNED, NULL)
                   : bsm_place_node(out, node, BSM_RUN_CALL,
                                    call_reason(c, divided, node));
}

bsm_status bsm_place_calls(const bsm_compilation *c,
                           const bsm_divided_graph *divided,
                           const bsm_region_nodes *regions,
                           bsm_placement_list *out) {
  for (size_t i = 0; i < divided->nodes.len; i++) {
    const bsm_node *node = divided->nodes.items[i];
    if (!bsm_program_calls_node(node)) continue;
    BSM_TRY(place_call(c, divided, node, bsm_is_in_region(regions, node), out));
  }
  return BSM_OK;
}

/* Records the lists, which the program makes itself where they are needed. */
static bsm_status place_lists(const bsm_block *block, size_t depth,
                              bsm_placement_list *out) {
  for (const bsm_node *n = block->first; n && depth < 256; n = n->next) {
    if (bsm_node_is(n, "prim::ListConstruct")) {
      BSM_TRY(bsm_place_node(out, n, BSM_RUN_CONTROL, NULL));
    }
    for (size_t i = 0; i < n->blocks.len; i++) {
      BSM_TRY(place_lists(n->blocks.items[i], depth + 1, out));
    }
  }
  return BSM_OK;
}

/* Regions are formed from nodes that no rule excludes. */
static bool may_be_in_region(const bsm_compilation *c,
                             const bsm_divided_graph *divided,
                             const bsm_node *node) {
  return divided->forms_regions && !bsm_fallback_rule_of(c->rules, node) &&
         !bsm_node_draws(node, c->module->aten);
}

bsm_status bsm_place_expected(const bsm_compilation *c,
                              const bsm_divided_graph *divided,
                              bsm_placement_list *out) {
  if (divided->is_plan) return expect_plan(c, divided->graph, false, out);
  BSM_TRY(expect_segments(c, divided, divided->graph->block, out));
  for (size_t i = 0; i < divided->nodes.len; i++) {
    const bsm_node *node = divided->nodes.items[i];
    BSM_TRY(
        bsm_program_calls_node(node)
            ? place_call(c, divided, node, may_be_in_region(c, divided, node),
                         out)
            : bsm_place_node(out, node, BSM_RUN_CONTROL, control_reason(node)));
  }
  return place_lists(divided->graph->block, 0, out);
}
