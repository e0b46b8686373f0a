/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the inputs of a program's regions for given shapes of the program's
 * inputs. */
#include "planner/planner_internal.h"

/* Shows a region to the visitor when its inputs are known, and runs it. */
static bsm_status visit_region(bsm_abstract_run *run, bsm_instruction *i,
                               bsm_visit_region *visit, void *user) {
  bsm_program_walker *w = &run->walker;
  bsm_ivalue *inputs =
      BSM_NEW_ARRAY(w->arena, bsm_ivalue, i->input_count + (size_t)1);
  BSM_TRY_ALLOC(inputs);
  for (uint32_t k = 0; k < i->input_count; k++) {
    if (!run->known[i->inputs[k]]) return BSM_OK;
    inputs[k] = w->registers[i->inputs[k]];
  }
  BSM_TRY(visit(user, i, inputs));
  bsm_status status = bsm_walk_inner(w, i, i->blocks[0]);
  for (uint32_t k = 0; k < i->output_count && !status; k++) {
    run->known[i->outputs[k]] = true;
  }
  if (bsm_status_code(status) == BSM_OUT_OF_MEMORY) return status;
  bsm_status_free(status);
  return BSM_OK;
}

static bsm_status visit_all(bsm_planner *planner, const bsm_ivalue *inputs,
                            bsm_arena *arena, bsm_visit_region *visit,
                            void *user) {
  const bsm_program_block *top = planner->options.plan->program->blocks;
  bsm_abstract_run run;
  BSM_TRY(bsm_planner_start(planner, arena, &run));
  for (uint32_t i = 0; i < top->param_count; i++) {
    bsm_abstract_set(&run, top->params[i], inputs[i]);
  }
  for (uint32_t k = 0; k < top->instruction_count; k++) {
    bsm_instruction *i = &top->instructions[k];
    if (i->kind == BSM_INSTRUCTION_REGION) {
      BSM_TRY(visit_region(&run, i, visit, user));
      continue;
    }
    BSM_TRY(bsm_abstract_try(&run, i, &(bool){false}));
  }
  return BSM_OK;
}

bsm_status bsm_planner_visit_regions(bsm_planner *planner,
                                     const bsm_ivalue *inputs,
                                     bsm_visit_region *visit, void *user) {
  bsm_arena arena;
  bsm_arena_init(&arena, planner->options.allocator);
  bsm_status status = visit_all(planner, inputs, &arena, visit, user);
  bsm_arena_destroy(&arena);
  return status;
}
