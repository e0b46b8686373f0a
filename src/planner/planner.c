/* SPDX-License-Identifier: Apache-2.0 */
/* From a region and the shapes of its inputs to a plan. */
#include "planner/planner.h"

#include "base/allocate.h"
#include "planner/region_graph.h"

/* One plan: loops are unrolled within these. */
#define MAX_INSTRUCTIONS ((size_t)100000)
#define MAX_BYTES ((size_t)512 << 20)

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

bsm_status bsm_planner_start(bsm_planner *planner, bsm_arena *arena,
                             bsm_abstract_run *out) {
  *out = (bsm_abstract_run){.program = planner->options.plan->program,
                            .aten = planner->options.aten,
                            .arena = arena,
                            .max_bytes = MAX_BYTES,
                            .instructions = MAX_INSTRUCTIONS};
  return bsm_abstract_start(out, planner->options.constants);
}

static bsm_status build(bsm_planner *planner, const bsm_graph *graph,
                        const bsm_plan *like, bsm_arena *scratch,
                        bsm_arena *arena, bsm_plan **out) {
  const bsm_planner_options *o = &planner->options;
  const bsm_convert_options converting = {.require_full_compilation =
                                              o->require_full_compilation};
  bsm_build_options building = o->building;
  building.like = like;
  bsm_network *net;
  BSM_TRY(bsm_convert_graph_with(graph, o->aten, planner->registry, scratch,
                                 NULL, &converting, &net));
  bsm_status status = bsm_build(net, &building, arena, out);
  bsm_network_release(net);
  return status;
}

bsm_status bsm_planner_plan(bsm_planner *planner, const bsm_instruction *region,
                            const bsm_ivalue *inputs, const bsm_plan *like,
                            bsm_arena *arena, bsm_region_plan *out) {
  bsm_arena scratch;
  bsm_region_graph made;
  *out = (bsm_region_plan){0};
  bsm_arena_init(&scratch, planner->options.allocator);
  bsm_status status =
      bsm_region_graph_make(planner, region, inputs, &scratch, arena, &made);
  if (!status) {
    out->outputs = made.outputs;
    out->values = made.values;
    status = build(planner, made.graph, like, &scratch, arena, &out->plan);
  }
  bsm_arena_destroy(&scratch);
  return status;
}
