/* SPDX-License-Identifier: Apache-2.0 */
/* Lowers the model for each shape separately. Findings are kept even when there
 * will be no plan for the shape. */
#include "compiler/pipeline/variants.h"

#include "compiler/pipeline/divide_graph.h"
#include "compiler/pipeline/graph_to_plan.h"
#include "compiler/pipeline/lower_method.h"
#include "compiler/pipeline/program_plan.h"

/* The options of the plan for one shape. */
static bsm_compile_options options_for(const bsm_compilation *c,
                                       const bsm_variant *variant) {
  bsm_compile_options options = *c->options;
  options.inputs = variant->inputs;
  options.dump = NULL;
  options.no_timing = options.no_timing || !variant->is_optimal;
  return options;
}

/* The program runs every possible shape, so failures for shapes other than the
 * optimal one are only logged, and freed. */
static bsm_status forgive(const bsm_compilation *c, bool is_optimal,
                          bsm_status status) {
  if (!status || is_optimal || bsm_status_code(status) == BSM_OUT_OF_MEMORY ||
      bsm_status_code(status) == BSM_CANCELLED) {
    return status;
  }
  bsm_log(c->options->logger, BSM_LOG_LEVEL_INFO,
          "a shape in range is not possible: %s", bsm_status_message(status));
  bsm_status_free(status);
  return BSM_OK;
}

/* ---- lowering ---- */

static bsm_status lower_variant(const bsm_compilation *c, bool has_values,
                                bsm_shape_findings *findings,
                                bsm_variant *variant) {
  const bsm_compile_options options = options_for(c, variant);
  bsm_status status =
      bsm_lower_method(c->module, &options, c->target, &variant->lowered, NULL);
  if (status) {
    return bsm_status_join(status,
                           bsm_shape_refused(c->module, findings, status));
  }
  BSM_TRY(bsm_shape_taken(c->module, findings, variant->lowered.graph,
                          variant->is_optimal));
  variant->is_plan = !has_values && bsm_is_plan(c, &variant->lowered);
  return BSM_OK;
}

bsm_status bsm_lower_variants(const bsm_compilation *c,
                              const bsm_lowered *lowered,
                              bsm_variant_list *out) {
  bsm_input_spec *shapes[BSM_MAX_VARIANTS];
  size_t count;
  *out = (bsm_variant_list){0};
  BSM_TRY(bsm_variant_shapes(c->arena, c->options->inputs,
                             c->options->input_count, shapes, &count));
  for (size_t i = 0; i < count; i++) {
    bsm_variant *variant = &out->items[out->count];
    *variant = (bsm_variant){.inputs = shapes[i], .is_optimal = i == 0};
    bsm_status status = lower_variant(c, bsm_count_values(lowered) > 0,
                                      &out->findings, variant);
    out->count += status == NULL;
    BSM_TRY(forgive(c, variant->is_optimal, status));
  }
  return BSM_OK;
}

/* ---- plans ---- */

static bsm_status compile_variant(const bsm_compilation *c,
                                  const bsm_variant *variant,
                                  bsm_placement_list *optimal, bsm_arena *arena,
                                  bsm_plan *plan) {
  const bsm_compile_options options = options_for(c, variant);
  const bsm_compilation own = {.module = c->module,
                               .options = &options,
                               .target = c->target,
                               .arena = c->arena,
                               .rules = c->rules,
                               .registry = c->registry,
                               .precision = c->precision};
  bsm_conversion_record record = {.nodes = optimal};
  bsm_plan *made;
  BSM_TRY(bsm_graph_to_plan(&own, variant->lowered.graph, NULL,
                            variant->is_optimal ? &record : NULL, arena,
                            &made));
  return bsm_program_add_variant(plan, made, arena);
}

bsm_status bsm_compile_variants(const bsm_compilation *c,
                                const bsm_variant_list *variants,
                                bsm_placement_list *optimal, bsm_arena *arena,
                                bsm_plan *plan) {
  for (size_t i = 0; i < variants->count; i++) {
    const bsm_variant *variant = &variants->items[i];
    if (!variant->is_plan) continue;
    BSM_TRY(forgive(c, variant->is_optimal,
                    compile_variant(c, variant, optimal, arena, plan)));
  }
  return BSM_OK;
}
