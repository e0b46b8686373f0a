/* SPDX-License-Identifier: Apache-2.0 */
/* The planner of a loaded engine: it builds for the engine's target, with the
 * engine's constants and packed weights. */
#include "planner/engine_planner.h"

#include "base/allocate.h"
#include "planner/planner.h"

struct bsm_region_planner {
  const bsm_allocator *allocator;
  bsm_arena arena;
  bsm_program_constants constants;
  bsm_weights_store store;
  bsm_planner *planner;
};

static void destroy(bsm_region_planner *p) {
  if (!p) return;
  bsm_planner_destroy(p->planner);
  bsm_weights_store_destroy(&p->store);
  bsm_arena_destroy(&p->arena);
  bsm_deallocate(p->allocator, p);
}

/* Puts the engine's weights into the store: constants, and packed ones. */
static bsm_status fill_store(bsm_region_planner *r, const bsm_plan *plan) {
  const bsm_program *p = plan->program;
  for (uint32_t i = 0; i < plan->weights_count; i++) {
    const bsm_plan_weights *w = &plan->weights[i];
    BSM_TRY(bsm_weights_store_add_constant(&r->store, i, w->data, w->size));
  }
  for (uint32_t i = 0; i < p->derived_count; i++) {
    const bsm_program_derived *d = &p->derived[i];
    const bsm_plan_weights *w = &plan->weights[d->weights];
    BSM_TRY(bsm_weights_store_put(&r->store,
                                  (bsm_weights_key){{d->key[0], d->key[1]}},
                                  w->data, w->size));
  }
  return BSM_OK;
}

/* The rules of the engine. Those that the target cannot follow were reported
 * when the engine was built. */
static bsm_status make_policy(const bsm_program *p, bsm_arena *arena,
                              bsm_precision_policy **out) {
  *out = NULL;
  if (!p->allowed_precisions && !p->precision_count && !p->weight_bits) {
    return BSM_OK;
  }
  bsm_precision_policy *policy = BSM_NEW(arena, bsm_precision_policy);
  BSM_TRY_ALLOC(policy);
  policy->allowed = p->allowed_precisions;
  policy->few_bits =
      (bsm_few_bits_policy){(int32_t)p->weight_bits, (int32_t)p->weight_group,
                            (int64_t)p->weight_rows};
  policy->rules =
      BSM_NEW_ARRAY(arena, bsm_precision_rule, p->precision_count + (size_t)1);
  BSM_TRY_ALLOC(policy->rules);
  for (; policy->rule_count < p->precision_count; policy->rule_count++) {
    const bsm_program_precision *from = &p->precisions[policy->rule_count];
    policy->rules[policy->rule_count] =
        (bsm_precision_rule){.given = from->given,
                             .pattern = from->pattern[0] ? from->pattern : NULL,
                             .paths = from->paths,
                             .path_count = from->path_count,
                             .precision = (bsm_precision)from->precision};
  }
  *out = policy;
  return BSM_OK;
}

static bsm_status init(bsm_region_planner *p,
                       const bsm_region_planner_options *o) {
  const bsm_target_request request = {.text = o->plan->target,
                                      .isa = BSM_TARGET_ANY_ISA};
  const bsm_target *target;
  BSM_TRY(bsm_target_parse(&request, &p->arena, &target));
  BSM_TRY(bsm_program_read_constants(o->plan, &p->arena, &p->constants));
  BSM_TRY(fill_store(p, o->plan));
  p->store.room = o->max_packed_bytes;
  bsm_precision_policy *policy;
  BSM_TRY(make_policy(o->plan->program, &p->arena, &policy));
  const bsm_planner_options options = {
      .plan = o->plan,
      .aten = o->aten,
      .constants = &p->constants,
      .allocator = o->allocator,
      .building = {.target = target,
                   .no_timing = true,
                   .precision = policy,
                   .store = &p->store},
      .max_bytes = o->max_bytes,
      .max_instructions = o->max_instructions,
      .max_tensor_bytes = o->max_tensor_bytes,
      .any_input_strides = o->any_input_strides,
      .any_output_strides = o->any_output_strides};
  return bsm_planner_create(&options, &p->planner);
}

static bsm_status create(const bsm_region_planner_options *options,
                         bsm_region_planner **out) {
  *out = NULL;
  bsm_region_planner *p = bsm_allocate(options->allocator, sizeof(*p),
                                       _Alignof(bsm_region_planner));
  BSM_TRY_ALLOC(p);
  *p = (bsm_region_planner){.allocator = options->allocator};
  bsm_arena_init(&p->arena, options->allocator);
  bsm_weights_store_init(&p->store, options->allocator);
  bsm_status status = init(p, options);
  if (status) {
    destroy(p);
    return status;
  }
  *out = p;
  return BSM_OK;
}

static uint64_t instructions(const bsm_region_planner *p) {
  return bsm_planner_instructions(p->planner);
}

static bsm_status plan(bsm_region_planner *p, const bsm_instruction *region,
                       const bsm_ivalue *inputs, const bsm_plan *like,
                       bsm_arena *arena, bsm_region_plan *out) {
  return bsm_planner_plan(p->planner, region, inputs, like, arena, out);
}

const bsm_region_planner_ops bsm_engine_planner_ops = {
    .version = BSM_REGION_PLANNER_VERSION,
    .create = create,
    .destroy = destroy,
    .instructions = instructions,
    .plan = plan,
};
