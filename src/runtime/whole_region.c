/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/whole_region.h"

bool bsm_program_has_regions(const bsm_program *program) {
  for (uint32_t b = 0; b < program->block_count; b++) {
    const bsm_program_block *block = &program->blocks[b];
    for (uint32_t k = 0; k < block->instruction_count; k++) {
      if (block->instructions[k].kind == BSM_INSTRUCTION_REGION) return true;
    }
  }
  return false;
}

/* For each of `ids` its place in `among`; false when one is not there. */
static bool find_places(const uint32_t *ids, uint32_t count,
                        const uint32_t *among, uint32_t among_count,
                        uint32_t *out) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t at = 0;
    while (at < among_count && among[at] != ids[i]) at++;
    if (at == among_count) return false;
    out[i] = at;
  }
  return true;
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
  *out = (bsm_whole_region){.output_count = top->result_count};
  if (top->instruction_count != 1 || i->kind != BSM_INSTRUCTION_REGION) {
    return BSM_OK;
  }
  out->params = BSM_NEW_ARRAY(arena, uint32_t, i->input_count + 1u);
  out->results = BSM_NEW_ARRAY(arena, uint32_t, top->result_count + 1u);
  if (!out->params || !out->results) return BSM_FAIL_OOM();
  BSM_TRY(make_inputs(i->input_count, arena, &out->inputs));
  if (find_places(i->inputs, i->input_count, top->params, top->param_count,
                  out->params) &&
      find_places(top->results, top->result_count, i->outputs, i->output_count,
                  out->results)) {
    out->region = i;
  }
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

bool bsm_whole_region_fits(const bsm_whole_region *whole,
                           const bsm_region_plan *planned) {
  if (planned->plan->output_count != whole->output_count) return false;
  for (uint32_t i = 0; i < whole->output_count; i++) {
    if (planned->outputs[whole->results[i]] != i) return false;
  }
  return true;
}
