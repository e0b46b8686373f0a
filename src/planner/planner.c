/* SPDX-License-Identifier: Apache-2.0 */
/* From a region and the shapes of its inputs to a plan. */
#include "planner/planner.h"

#include "base/allocate.h"
#include "base/checked.h"
#include "base/memory_guard.h"
#include "planner/region_graph.h"

/* Limits for one plan; loops are unrolled within them. Building may pack
 * weights, so it may use this many times the engine's weights in addition. */
#define MAX_INSTRUCTIONS ((size_t)100000)
#define MAX_BYTES ((size_t)512 << 20)
#define TIMES_WEIGHTS 8

static bsm_status init(bsm_planner *planner) {
  bsm_arena *arena = &planner->arena;
  BSM_TRY(bsm_ir_ctx_create(arena, NULL, NULL, &planner->cx));
  return bsm_converter_registry_create(arena, planner->cx->types, NULL,
                                       &planner->registry);
}

bsm_status bsm_planner_create(const bsm_planner_options *options,
                              bsm_planner **out) {
  *out = NULL;
  bsm_planner *planner =
      bsm_allocate(options->allocator, sizeof(*planner), _Alignof(bsm_planner));
  BSM_TRY_ALLOC(planner);
  *planner = (bsm_planner){.options = *options};
  bsm_arena_init(&planner->arena, options->allocator);
  bsm_status status = init(planner);
  if (status) {
    bsm_planner_destroy(planner);
    return status;
  }
  *out = planner;
  return BSM_OK;
}

void bsm_planner_destroy(bsm_planner *planner) {
  if (!planner) return;
  const bsm_allocator *allocator = planner->options.allocator;
  bsm_arena_destroy(&planner->arena);
  bsm_deallocate(allocator, planner);
}

uint64_t bsm_planner_instructions(const bsm_planner *planner) {
  return planner->instructions;
}

static size_t limit_of(size_t wanted, size_t most) {
  return wanted && wanted < most ? wanted : most;
}

bsm_status bsm_planner_start(bsm_planner *planner, bsm_arena *arena,
                             bsm_abstract_run *out) {
  const bsm_planner_options *o = &planner->options;
  *out = (bsm_abstract_run){
      .walker = {.program = o->plan->program,
                 .arena = arena,
                 .budget = limit_of(o->max_instructions, MAX_INSTRUCTIONS),
                 .done = &planner->instructions},
      .aten = o->aten,
      .max_bytes = limit_of(o->max_bytes, MAX_BYTES)};
  return bsm_abstract_start(out, planner->options.constants);
}

/* Plans of calls are made for whatever comes while an engine runs, and each has
 * one operator: calling the library for it would gain nothing, and checking how
 * accurate a tactic is would take longer than many runs. */
static bsm_status options_of_call(const bsm_planner *planner,
                                  const bsm_region_graph *made,
                                  bsm_arena *arena,
                                  bsm_convert_options *converting,
                                  bsm_build_options *building,
                                  bsm_region_plan *out) {
  converting->require_full_compilation = true;
  building->exact = true;
  if (planner->options.any_input_strides) {
    building->input_layouts = made->layouts.items;
  }
  if (!planner->options.any_output_strides) return BSM_OK;
  const size_t count = made->graph->block->returns->inputs.len;
  out->layouts = BSM_NEW_ARRAY(arena, bsm_layout, count + 1);
  BSM_TRY_ALLOC(out->layouts);
  building->output_layouts = out->layouts;
  return BSM_OK;
}

static bsm_status build(bsm_planner *planner, const bsm_instruction *region,
                        const bsm_region_graph *made, const bsm_plan *like,
                        bsm_arena *scratch, bsm_arena *arena,
                        bsm_region_plan *out) {
  const bsm_planner_options *o = &planner->options;
  bsm_convert_options converting = {
      .require_full_compilation = o->require_full_compilation,
      .visit = o->visit,
      .user = o->user,
      .takes = bsm_target_takes,
      .takes_user = o->building.target};
  bsm_build_options building = o->building;
  building.like = like;
  if (region->kind == BSM_INSTRUCTION_CALL) {
    BSM_TRY(options_of_call(planner, made, arena, &converting, &building, out));
  }
  bsm_network *net;
  BSM_TRY(bsm_convert_graph_with(made->graph, o->aten, planner->registry,
                                 scratch, NULL, &converting, &net));
  bsm_status status = bsm_build(net, &building, arena, &out->plan);
  bsm_network_release(net);
  return status;
}

/* A converter has to agree with the op that ran on shapes: readers of the
 * result rely on what the op said. */
static bsm_status check_outputs(const bsm_graph *graph,
                                const bsm_region_plan *planned) {
  const bsm_node *returns = graph->block->returns;
  const bsm_plan *plan = planned->plan;
  for (uint32_t i = 0; i < plan->output_count; i++) {
    const bsm_plan_tensor *t = &plan->tensors[plan->outputs[i].tensor];
    const bsm_type *type = bsm_node_in(returns, i)->type;
    const bsm_dims dims = planned->layouts ? planned->layouts[i].dims : t->dims;
    if (type->dtype == t->dtype && bsm_dims_equal(type->dims, dims)) continue;
    return BSM_FAIL(BSM_INTERNAL, "output %zu of the plan is %s%s, not %s%s",
                    (size_t)i, bsm_dtype_name(t->dtype), bsm_dims_str(dims),
                    bsm_dtype_name(type->dtype), bsm_dims_str(type->dims));
  }
  return BSM_OK;
}

static size_t building_limit(const bsm_plan *plan) {
  size_t weights = 0, limit;
  for (uint32_t i = 0; i < plan->weights_count; i++) {
    const uint64_t size = plan->weights[i].size;
    if (size > SIZE_MAX || !bsm_size_add(weights, (size_t)size, &weights)) {
      return SIZE_MAX;
    }
  }
  return bsm_size_mul(weights, TIMES_WEIGHTS, &limit) &&
                 bsm_size_add(limit, 2 * MAX_BYTES, &limit)
             ? limit
             : SIZE_MAX;
}

static bsm_status make_plan(bsm_planner *planner, const bsm_instruction *region,
                            const bsm_ivalue *inputs, const bsm_plan *like,
                            bsm_memory_guard *guard, bsm_arena *scratch,
                            bsm_arena *arena, bsm_region_plan *out) {
  bsm_region_graph made;
  BSM_TRY(
      bsm_region_graph_make(planner, region, inputs, scratch, arena, &made));
  out->outputs = made.outputs;
  out->values = made.values;
  guard->limit = building_limit(planner->options.plan);
  BSM_TRY(build(planner, region, &made, like, scratch, arena, out));
  return check_outputs(made.graph, out);
}

bsm_status bsm_planner_plan(bsm_planner *planner, const bsm_instruction *region,
                            const bsm_ivalue *inputs, const bsm_plan *like,
                            bsm_arena *arena, bsm_region_plan *out) {
  bsm_memory_guard guard;
  bsm_arena scratch;
  *out = (bsm_region_plan){0};
  bsm_memory_guard_init(&guard, planner->options.allocator,
                        limit_of(planner->options.max_bytes, MAX_BYTES));
  bsm_arena_init(&scratch, &guard.allocator);
  bsm_status status =
      make_plan(planner, region, inputs, like, &guard, &scratch, arena, out);
  bsm_arena_destroy(&scratch);
  return bsm_memory_guard_status(&guard, "planning", "", status);
}
