/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/runtime/lazy_target.h"

#include <string.h>

uint64_t lazy_target_refuses;

extern const bsm_target_ops bsm_cpu_target_ops;
static const bsm_target_ops lazy_target_ops;

/* Its host, the CPU, answers. */
static bsm_status parse(const bsm_target_request *request,
                        const char *parameters, bsm_arena *arena,
                        const bsm_target **out) {
  bsm_target *target = BSM_NEW(arena, bsm_target);
  *out = NULL;
  BSM_TRY_ALLOC(target);
  target->ops = &lazy_target_ops;
  target->text = "lazy";
  BSM_TRY(bsm_cpu_target_ops.parse(request, parameters, arena, &target->host));
  *out = target;
  return BSM_OK;
}

static bsm_status check_here(const bsm_target *t) {
  return t->host->ops->check_here(t->host);
}

static void machine_key(const bsm_target *t, bsm_text *text) {
  t->host->ops->machine_key(t->host, text);
}

/* Of one layer the same answer each time. */
static bool supports(const bsm_target *t, const bsm_layer *layer) {
  if (lazy_target_refuses >> layer->kind & 1) return false;
  if ((lazy_target_refuses & LAZY_EVERY_THIRD) &&
      layer->outputs.items[0]->id % 3 == 1) {
    return false;
  }
  return t->host->ops->supports(t->host, layer);
}

static bsm_dtype compute_dtype(const bsm_target *t, const bsm_layer *layer,
                               bsm_dtype dtype) {
  return t->host->ops->compute_dtype(t->host, layer, dtype);
}

static uint32_t precisions(const bsm_target *t, const bsm_layer *layer) {
  return t->host->ops->precisions(t->host, layer);
}

static bool fuses(const bsm_target *t, bsm_fusion fusion, bsm_dtype dtype) {
  return t->host->ops->fuses(t->host, fusion, dtype);
}

static bsm_image_layout image_layout(const bsm_target *t,
                                     const bsm_layer *layer) {
  return t->host->ops->image_layout(t->host, layer);
}

static bool reads_any_layout(const bsm_target *t, const bsm_layer *layer) {
  return t->host->ops->reads_any_layout(t->host, layer);
}

static size_t tactics(const bsm_target *t, const bsm_plan *plan,
                      const bsm_plan_step *step, const char **names) {
  return t->host->ops->tactics(t->host, plan, step, names);
}

static double cost(const bsm_target *t, const bsm_plan *plan,
                   const bsm_plan_step *step, const char *tactic) {
  return t->host->ops->cost(t->host, plan, step, tactic);
}

static void adopt(const bsm_target *t, const bsm_plan_step *step,
                  const char *tactic, bsm_step_params *params) {
  t->host->ops->adopt(t->host, step, tactic, params);
}

static bsm_status pack(const bsm_target *t, const bsm_plan_step *step,
                       int64_t in_maps, const void *values, size_t element,
                       bool transposed, void *packed, uint64_t *size) {
  return t->host->ops->pack(t->host, step, in_maps, values, element, transposed,
                            packed, size);
}

static bool is_approximate(const bsm_target *t, const bsm_plan_step *step) {
  return t->host->ops->is_approximate(t->host, step);
}

static const bsm_target_ops lazy_target_ops = {
    .version = BSM_TARGET_VERSION,
    .name = "lazy",
    .parse = parse,
    .check_here = check_here,
    .machine_key = machine_key,
    .supports = supports,
    .precisions = precisions,
    .compute_dtype = compute_dtype,
    .fuses = fuses,
    .image_layout = image_layout,
    .reads_any_layout = reads_any_layout,
    .tactics = tactics,
    .cost = cost,
    .adopt = adopt,
    .pack = pack,
    .is_approximate = is_approximate,
};

const bsm_target_ops *const *bsm_target_table(size_t *count) {
  static const bsm_target_ops *const targets[] = {&bsm_cpu_target_ops,
                                                  &lazy_target_ops};
  *count = 2;
  return targets;
}
