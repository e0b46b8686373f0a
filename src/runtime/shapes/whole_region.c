/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose only instruction is a region. The region's inputs and outputs
 * are matched with the engine's once, when a context is made. Each plan is then
 * compared with what the engine promises of its outputs. */
#include "runtime/shapes/whole_region.h"

/* Finds for each of `ids` its last place in `among`, because the value set last
 * counts; *found is false when one is missing. */
static bsm_status find_places(const bsm_program *p, const uint32_t *ids,
                              uint32_t count, const uint32_t *among,
                              uint32_t among_count, uint32_t *out,
                              bool *found) {
  bsm_arena scratch;
  bsm_arena_init(&scratch, NULL);
  uint32_t *places = /* by register, plus 1 */
      BSM_NEW_ARRAY(&scratch, uint32_t, p->register_count + (size_t)1);
  bsm_status status = places ? BSM_OK : BSM_FAIL_OOM();
  for (uint32_t i = 0; i < among_count && places; i++) {
    places[among[i]] = i + 1;
  }
  for (uint32_t i = 0; i < count && places && *found; i++) {
    *found = places[ids[i]] != 0;
    out[i] = places[ids[i]] - *found;
  }
  bsm_arena_destroy(&scratch);
  return status;
}

static bsm_status make_inputs(uint32_t count, bsm_arena *arena,
                              bsm_ivalue **out) {
  *out = BSM_NEW_ARRAY(arena, bsm_ivalue, count + (size_t)1);
  BSM_TRY_ALLOC(*out);
  for (uint32_t i = 0; i < count; i++) {
    bsm_tensor *t;
    BSM_TRY(bsm_tensor_new(arena, BSM_DTYPE_FLOAT, (bsm_dims){0}, true, &t));
    (*out)[i] = bsm_iv_tensor(t);
  }
  return BSM_OK;
}

bsm_status bsm_whole_region_find(const bsm_plan *plan, bsm_arena *arena,
                                 bsm_whole_region *out) {
  const bsm_program_block *top = &plan->program->blocks[0];
  const bsm_instruction *i = top->instructions;
  *out = (bsm_whole_region){.plan = plan, .output_count = plan->output_count};
  if (bsm_plan_value_count(plan) || top->instruction_count != 1 ||
      i->kind != BSM_INSTRUCTION_REGION) {
    return BSM_OK;
  }
  out->params = BSM_NEW_ARRAY(arena, uint32_t, i->input_count + 1u);
  out->results = BSM_NEW_ARRAY(arena, uint32_t, top->result_count + 1u);
  if (!out->params || !out->results) return BSM_FAIL_OOM();
  BSM_TRY(make_inputs(i->input_count, arena, &out->inputs));
  bool found = true;
  BSM_TRY(find_places(plan->program, i->inputs, i->input_count, top->params,
                      top->param_count, out->params, &found));
  BSM_TRY(find_places(plan->program, top->results, top->result_count,
                      i->outputs, i->output_count, out->results, &found));
  if (found) out->region = i;
  return BSM_OK;
}

const bsm_ivalue *bsm_whole_region_inputs(const bsm_whole_region *whole,
                                          const bsm_array *inputs) {
  for (uint32_t i = 0; i < whole->region->input_count; i++) {
    const bsm_array *array = &inputs[whole->params[i]];
    bsm_tensor *t = whole->inputs[i].u.tensor;
    t->dtype = array->dtype;
    t->sizes = array->dims;
  }
  return whole->inputs;
}

/* Whether the output has the dtype and dims that the engine says. Otherwise the
 * program is run, which reports the difference. */
static bool fits_binding(const bsm_plan *engine, const bsm_plan *planned,
                         uint32_t output) {
  const bsm_plan_tensor *want =
      &engine->tensors[engine->outputs[output].tensor];
  const bsm_plan_tensor *have =
      &planned->tensors[planned->outputs[output].tensor];
  bool fits =
      (want->dtype == have->dtype || want->dtype == BSM_DTYPE_UNDEFINED) &&
      (want->dims.rank == have->dims.rank || want->dims.rank == -1);
  for (int32_t k = 0; fits && k < want->dims.rank; k++) {
    fits = want->dims.d[k] < 0 || want->dims.d[k] == have->dims.d[k];
  }
  return fits;
}

bool bsm_whole_region_fits(const bsm_whole_region *whole,
                           const bsm_region_plan *planned) {
  if (planned->plan->output_count != whole->output_count) return false;
  for (uint32_t i = 0; i < whole->output_count; i++) {
    if (planned->outputs[whole->results[i]] != i) return false;
    if (!fits_binding(whole->plan, planned->plan, i)) return false;
  }
  return true;
}
