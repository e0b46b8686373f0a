/* SPDX-License-Identifier: Apache-2.0 */
/* Forms regions on the best shapes and plans them for these and the largest
 * shapes. The weights that this packs become the engine's. */
#include "compiler/pipeline/plan_regions.h"

#include <string.h>

#include "compiler/pipeline/place_nodes.h"
#include "compiler/pipeline/program_plan.h"
#include "planner/planner.h"

typedef struct region_planner {
  const bsm_region_options *options;
  bsm_plan *plan;
  bsm_arena *arena; /* of the engine */
  bsm_arena scratch;
  bsm_program_constants constants;
  bsm_weights_store store;
  bsm_planner *planner;
  bsm_placement_list nodes; /* of the region that is planned */
  bsm_conversion_record converted;
  bool whole;   /* the program is one region */
  bool planned; /* which has a plan for the shapes tried last */
} region_planner;

static bsm_status start(region_planner *r) {
  const bsm_plan *plan = r->plan;
  bsm_planner_options options = {
      .plan = plan,
      .aten = r->options->aten,
      .constants = &r->constants,
      .allocator = r->options->allocator,
      .building = r->options->building,
      .require_full_compilation = r->options->require_full_compilation,
      .visit = bsm_place_converted,
      .user = &r->converted};
  options.building.store = &r->store;
  BSM_TRY(bsm_program_read_constants(plan, &r->scratch, &r->constants));
  for (uint32_t i = 0; i < plan->weights_count; i++) {
    BSM_TRY(bsm_weights_store_add_constant(&r->store, i, plan->weights[i].data,
                                           plan->weights[i].size));
  }
  return bsm_planner_create(&options, &r->planner);
}

/* ---- shapes ---- */

typedef enum shape { BEST, LARGEST } shape;

/* Tensors without data for the inputs of the engine. */
static bsm_status make_inputs(region_planner *r, shape which,
                              bsm_ivalue **out) {
  const bsm_plan *plan = r->plan;
  const bsm_program *p = plan->program;
  bsm_ivalue *inputs =
      BSM_NEW_ARRAY(&r->scratch, bsm_ivalue, plan->input_count + (size_t)1);
  BSM_TRY_ALLOC(inputs);
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const bsm_plan_tensor *t = &plan->tensors[plan->inputs[i].tensor];
    bsm_dims dims = t->dims;
    bsm_tensor *input;
    for (uint32_t k = 0; k < p->range_count; k++) {
      if (p->ranges[k].input != i) continue;
      dims = which == BEST ? p->ranges[k].opt : p->ranges[k].max;
    }
    BSM_TRY(bsm_tensor_new(&r->scratch, t->dtype, dims, true, &input));
    inputs[i] = bsm_iv_tensor(input);
  }
  *out = inputs;
  return BSM_OK;
}

/* ---- plans ---- */

static bsm_status add_segment(region_planner *r, bsm_plan *made,
                              uint32_t *index) {
  bsm_program *p = r->plan->program;
  bsm_plan **all =
      BSM_NEW_ARRAY(r->arena, bsm_plan *, p->segment_count + (size_t)1);
  BSM_TRY_ALLOC(all);
  if (p->segment_count) {
    memcpy(all, p->segments, p->segment_count * sizeof(*all));
  }
  all[p->segment_count] = made;
  p->segments = all;
  *index = p->segment_count++;
  return BSM_OK;
}

/* Whether a run of the plan is one of the engine. */
static bool is_variant(const region_planner *r, const bsm_instruction *region,
                       const bsm_region_plan *made) {
  const bsm_program_block *top = r->plan->program->blocks;
  const bsm_plan *plan = made->plan;
  if (!r->whole || plan->input_count != r->plan->input_count ||
      region->input_count != plan->input_count ||
      plan->output_count != r->plan->output_count) {
    return false;
  }
  for (uint32_t i = 0; i < plan->input_count; i++) {
    if (region->inputs[i] != top->params[i]) return false;
  }
  for (uint32_t i = 0; i < plan->output_count; i++) {
    if (top->results[i] != region->outputs[i] || made->outputs[i] != i) {
      return false;
    }
  }
  return true;
}

/* Shapes that cannot be planned are left to the run, which reports why. */
static bsm_status plan_region(region_planner *r, const bsm_instruction *region,
                              const bsm_ivalue *inputs, const bsm_plan *like,
                              bsm_region_plan *out) {
  bsm_placement_list_init(&r->nodes, &r->scratch);
  bsm_status status =
      bsm_planner_plan(r->planner, region, inputs, like, r->arena, out);
  const bsm_precision_policy *policy = r->options->building.precision;
  r->planned = !status;
  if (bsm_status_code(status) == BSM_OUT_OF_MEMORY ||
      bsm_status_code(status) == BSM_CANCELLED ||
      (status && (r->options->require_full_compilation ||
                  (policy && policy->disobeyed)))) {
    return status;
  }
  if (status) {
    bsm_log(r->options->building.logger, BSM_LOG_LEVEL_INFO,
            "a part of the model runs without a plan: %s",
            bsm_status_message(status));
    bsm_status_free(status);
  }
  return BSM_OK;
}

static bsm_status plan_best(void *user, bsm_instruction *region,
                            const bsm_ivalue *inputs) {
  region_planner *r = user;
  bsm_region_plan made;
  uint32_t index;
  BSM_TRY(plan_region(r, region, inputs, NULL, &made));
  if (!r->planned) return BSM_OK;
  if (is_variant(r, region, &made)) {
    BSM_TRY(bsm_program_add_variant(r->plan, made.plan, r->arena));
    BSM_TRY(bsm_placement_list_append(r->options->optimal, &r->nodes));
    index = r->plan->program->segment_count - 1;
  } else {
    BSM_TRY(add_segment(r, made.plan, &index));
  }
  region->segment = index + 1;
  return BSM_OK;
}

/* Plans for the largest shapes, to find how much memory plans take. */
static bsm_status plan_largest(void *user, bsm_instruction *region,
                               const bsm_ivalue *inputs) {
  region_planner *r = user;
  const bsm_program *p = r->plan->program;
  bsm_region_plan made;
  uint32_t index;
  if (!region->segment) return BSM_OK;
  BSM_TRY(
      plan_region(r, region, inputs, p->segments[region->segment - 1], &made));
  if (!r->planned) return BSM_OK;
  return is_variant(r, region, &made)
             ? bsm_program_add_variant(r->plan, made.plan, r->arena)
             : add_segment(r, made.plan, &index);
}

/* ---- packed weights ---- */

/* Makes the weights that were packed the engine's. */
static bsm_status keep_packed(region_planner *r) {
  bsm_plan *plan = r->plan;
  bsm_program *p = plan->program;
  const size_t count = bsm_weights_store_count(&r->store);
  bsm_plan_weights *weights = BSM_NEW_ARRAY(r->arena, bsm_plan_weights,
                                            plan->weights_count + count + 1);
  p->derived = BSM_NEW_ARRAY(r->arena, bsm_program_derived, count + 1);
  if (!weights || !p->derived) return BSM_FAIL_OOM();
  if (plan->weights_count) {
    memcpy(weights, plan->weights, plan->weights_count * sizeof(*weights));
  }
  for (size_t i = 0; i < count; i++) {
    const bsm_weights_entry *e = bsm_weights_store_at(&r->store, i);
    weights[plan->weights_count] = (bsm_plan_weights){e->data, e->size};
    p->derived[i] = (bsm_program_derived){{e->key.hash[0], e->key.hash[1]},
                                          plan->weights_count++};
  }
  p->derived_count = (uint32_t)count;
  plan->weights = weights;
  bsm_arena_take(r->arena, &r->store.made);
  return BSM_OK;
}

static bool is_one_region(const bsm_program *p) {
  return p->blocks[0].instruction_count == 1 &&
         p->blocks[0].instructions[0].kind == BSM_INSTRUCTION_REGION;
}

static bsm_status plan_all(region_planner *r) {
  bsm_program *p = r->plan->program;
  const uint32_t variants = p->variant_count;
  bsm_ivalue *best, *largest;
  BSM_TRY(start(r));
  BSM_TRY(make_inputs(r, BEST, &best));
  BSM_TRY(make_inputs(r, LARGEST, &largest));
  BSM_TRY(bsm_planner_form_regions(r->planner, best, r->options->alone,
                                   r->options->least, p, r->arena));
  r->whole = is_one_region(p);
  BSM_TRY(bsm_planner_visit_regions(r->planner, best, plan_best, r));
  r->whole = r->whole && p->variant_count > variants;
  BSM_TRY(bsm_planner_visit_regions(r->planner, largest, plan_largest, r));
  return keep_packed(r);
}

bsm_status bsm_plan_regions(bsm_plan *plan, const bsm_region_options *options,
                            bsm_arena *arena, bool *whole) {
  region_planner r = {.options = options, .plan = plan, .arena = arena};
  bsm_arena_init_like(&r.scratch, arena);
  bsm_weights_store_init(&r.store, arena->allocator);
  bsm_arena_set_guard(&r.store.tables, arena->guard);
  bsm_arena_set_guard(&r.store.made, arena->guard);
  r.converted = (bsm_conversion_record){.nodes = &r.nodes};
  bsm_status status = plan_all(&r);
  bsm_planner_destroy(r.planner);
  bsm_weights_store_destroy(&r.store);
  bsm_arena_destroy(&r.scratch);
  *whole = !status && r.whole;
  return status;
}

/* ---- what is in regions ---- */

static void mark_block(const bsm_program *p, uint32_t id, bool inside,
                       bool *set) {
  const bsm_program_block *block = &p->blocks[id];
  for (uint32_t k = 0; k < block->instruction_count; k++) {
    const bsm_instruction *i = &block->instructions[k];
    const bool region = inside || i->kind == BSM_INSTRUCTION_REGION;
    for (uint32_t n = 0; region && n < i->output_count; n++) {
      set[i->outputs[n]] = true;
    }
    for (uint32_t b = 0; b < i->block_count; b++) {
      mark_block(p, i->blocks[b], region, set);
    }
  }
}

bsm_status bsm_region_registers(const bsm_program *program, bsm_arena *arena,
                                bool **out) {
  *out = BSM_NEW_ARRAY(arena, bool, program->register_count + (size_t)1);
  BSM_TRY_ALLOC(*out);
  mark_block(program, 0, false, *out);
  return BSM_OK;
}
