/* SPDX-License-Identifier: Apache-2.0 */
/* Decides between one plan and a program: answers what partitioning asks, and
 * uses its result. */
#include "compiler/pipeline/divide_graph.h"

#include "compiler/pipeline/build_program.h"
#include "ir/draws.h"

/* ---- how graphs are partitioned ---- */

static bool can_compile(void *user, const bsm_node *node) {
  const bsm_compilation *c = user;
  return bsm_node_is_convertible(c->module->aten, c->registry, node);
}

static bool must_call(void *user, const bsm_node *node) {
  const bsm_compilation *c = user;
  return bsm_fallback_rule_of(c->rules, node) != NULL ||
         bsm_node_draws(node, c->module->aten);
}

static bool can_call(void *user, const bsm_node *node) {
  const bsm_compilation *c = user;
  return !bsm_program_calls_node(node) ||
         bsm_node_is_callable(c->module->aten, node);
}

static bsm_partition_options partition_options(const bsm_compilation *c,
                                               const bsm_memory_sets *memory) {
  return (bsm_partition_options){
      .aten = c->module->aten,
      .can_compile = can_compile,
      .must_call = must_call,
      .can_call = can_call,
      .min_segment_nodes = c->options->min_block_size,
      .memory = memory,
      .user = (void *)(uintptr_t)c};
}

/* ---- what is one plan ---- */

size_t bsm_count_values(const bsm_lowered *lowered) {
  size_t count = 0;
  for (size_t i = 0; i < lowered->leaf_count; i++) {
    count += lowered->leaves[i].is_value;
  }
  return count;
}

static bool has_ranges(const bsm_lowered *lowered) {
  const size_t inputs = lowered->graph->block->params->outputs.len;
  for (size_t i = 0; lowered->input_ranges && i < inputs; i++) {
    if (lowered->input_ranges[i]) return true; /* though no node may care */
  }
  return false;
}

static bool is_plan(const bsm_compilation *c, const bsm_lowered *lowered,
                    const bsm_memory_sets *memory) {
  const bsm_partition_options options = partition_options(c, memory);
  return !has_ranges(lowered) && !bsm_count_values(lowered) &&
         bsm_is_one_segment(lowered->graph, &options);
}

bool bsm_is_plan(const bsm_compilation *c, const bsm_lowered *lowered) {
  return is_plan(c, lowered, NULL);
}

/* Regions are planned only by the built-in converters, and their nodes change
 * their order with the rest of the program. */
static bool can_form_regions(const bsm_compilation *c,
                             const bsm_lowered *lowered,
                             const bsm_memory_sets *memory) {
  const bsm_compile_options *o = c->options;
  return has_ranges(lowered) && !o->truncate_long_and_double &&
         !o->pattern_count && !c->module->plugins && !memory;
}

bool bsm_could_be_in_segment(const bsm_compilation *c,
                             const bsm_divided_graph *divided,
                             const bsm_node *node) {
  const bsm_partition_options options = partition_options(c, divided->memory);
  return bsm_node_fits_segment(node, &options);
}

/* ---- dividing ---- */

static bsm_status list_nodes(const bsm_block *block, bsm_arena *arena,
                             bsm_divided_graph *out) {
  const bsm_schedule *schedule = bsm_partition_schedule(&out->partition, block);
  for (size_t i = 0; schedule && i < schedule->count; i++) {
    const bsm_node *node = schedule->items[i].node;
    if (!node) continue;
    BSM_TRY_ALLOC(bsm_vec_push(arena, &out->nodes, node));
    for (size_t k = 0; k < node->blocks.len; k++) {
      BSM_TRY(list_nodes(node->blocks.items[k], arena, out));
    }
  }
  return BSM_OK;
}

/* Regions are planned when the engine runs, where converters of the user's are
 * not. */
static void warn_of_converters(const bsm_compilation *c,
                               const bsm_lowered *lowered) {
  const bsm_compile_options *o = c->options;
  if (!has_ranges(lowered) || (!o->pattern_count && !c->module->plugins)) {
    return;
  }
  bsm_log(o->logger, BSM_LOG_LEVEL_WARNING,
          "inputs range, and there are %s: these are not there when the engine "
          "makes plans for the shapes of a run, so it makes none. Only a few "
          "shapes of the range have plans; for all others operators run one by "
          "one, without converters of your own",
          o->pattern_count ? "converters of your own" : "plug-ins");
}

bsm_status bsm_divide_graph(const bsm_compilation *c,
                            const bsm_lowered *lowered,
                            bsm_divided_graph *out) {
  *out = (bsm_divided_graph){.graph = lowered->graph};
  if (lowered->literal) {
    BSM_TRY(bsm_memory_sets_of(lowered->graph, c->module->aten, c->arena,
                               &out->memory));
  }
  out->is_plan = is_plan(c, lowered, out->memory);
  if (out->is_plan) return BSM_OK;
  out->forms_regions = can_form_regions(c, lowered, out->memory);
  warn_of_converters(c, lowered);
  bsm_partition_options options = partition_options(c, out->memory);
  options.only_inner = out->forms_regions;
  BSM_TRY(
      bsm_partition_graph(lowered->graph, &options, c->arena, &out->partition));
  return list_nodes(lowered->graph->block, c->arena, out);
}
