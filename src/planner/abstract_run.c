/* SPDX-License-Identifier: Apache-2.0 */
/* The policy under which programs run on shapes. */
#include "planner/abstract_run.h"

#include "aten/ivalue_parts.h"
#include "engine/program_values.h"

/* Tensors that do not depend on inputs are computed here; none may be larger.
 */
#define MAX_TENSOR_BYTES ((size_t)64 << 20)
/* And what takes more work is left to the run. */
#define MAX_WORK ((double)(1 << 28))

static bool is_meta(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_TENSOR && bsm_tensor_is_meta(v->u.tensor);
}

bool bsm_abstract_is_meta(const bsm_ivalue *value) {
  return bsm_iv_any(value, 1, is_meta);
}

void bsm_abstract_set(bsm_abstract_run *run, uint32_t reg, bsm_ivalue value) {
  run->walker.registers[reg] = value;
  run->known[reg] = true;
}

/* ---- calls ---- */

/* An op with effects may change only containers that this run has made. */
static bsm_status check_effect(const bsm_abstract_run *run,
                               const bsm_instruction *i,
                               const bsm_ivalue *args) {
  return i->input_count && bsm_iv_arena_of(args) == run->walker.arena
             ? BSM_OK
             : BSM_FAIL(BSM_UNSUPPORTED, "%s has effects", i->name);
}

bool bsm_abstract_is_argument(const bsm_ivalue *value, const bsm_ivalue *args,
                              size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (bsm_iv_is_container(&args[i]) &&
        args[i].u.container == value->u.container) {
      return true;
    }
  }
  return false;
}

static bool contains(const bsm_ivalue *v, const void *container) {
  if (!bsm_iv_is_container(v)) return false;
  if (v->u.container == container) return true;
  const bsm_iv_parts parts = bsm_iv_parts_of(v);
  for (size_t i = 0; i < parts.len; i++) {
    if (contains(&parts.items[i], container)) return true;
  }
  return false;
}

/* What looks into values has to end: an op that changes a list may put it into
 * itself, and what one takes out of it may be too deep. What was in the list
 * before is not looked at again, as the list may grow with each call. */
static bsm_status check_change(const bsm_ivalue *args, size_t count) {
  for (size_t i = 1; i < count; i++) {
    if (!bsm_iv_is_container(&args[i])) continue;
    BSM_TRY(bsm_program_check_nested(&args[i], 1));
    if (contains(&args[i], args[0].u.container)) {
      return BSM_FAIL(BSM_LIMIT, "a value is put into itself");
    }
  }
  return BSM_OK;
}

static bsm_status check_results(const bsm_ivalue *outs, size_t out_count,
                                const bsm_ivalue *args, size_t count) {
  for (size_t k = 0; k < out_count; k++) {
    if (bsm_iv_is_container(&outs[k]) &&
        !bsm_abstract_is_argument(&outs[k], args, count)) {
      BSM_TRY(bsm_program_check_nested(&outs[k], 1));
    }
  }
  return BSM_OK;
}

static bsm_status run_call(bsm_abstract_run *run, const bsm_instruction *i,
                           const bsm_ivalue *args) {
  const bsm_aten_op *op = bsm_aten_find(run->aten, bsm_str_of(i->name));
  if (!op || (op->flags & BSM_ATEN_INPLACE)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s cannot be planned", i->name);
  }
  if (!(op->flags & BSM_ATEN_PASSES_ON)) {
    BSM_TRY(bsm_program_check_nested(args, i->input_count));
  }
  if (op->flags & BSM_ATEN_EFFECT) {
    BSM_TRY(check_effect(run, i, args));
    BSM_TRY(check_change(args, i->input_count));
  }
  bsm_op_ctx cx = {.arena = run->walker.arena,
                   .no_data = bsm_aten_may_draw(op),
                   .max_tensor_bytes = bsm_iv_any(args, i->input_count, is_meta)
                                           ? run->max_tensor_bytes
                                           : MAX_TENSOR_BYTES,
                   .work = &run->work};
  bsm_ivalue *outs =
      BSM_NEW_ARRAY(run->walker.arena, bsm_ivalue, i->output_count + (size_t)1);
  BSM_TRY_ALLOC(outs);
  BSM_TRY(bsm_aten_call(&cx, op, args, i->input_count, outs, i->output_count));
  BSM_TRY(check_results(outs, i->output_count, args, i->input_count));
  if (run->call && bsm_iv_any(outs, i->output_count, is_meta)) {
    BSM_TRY(run->call(run->user, i, args, outs));
  }
  for (uint32_t k = 0; k < i->output_count; k++) {
    run->walker.registers[i->outputs[k]] = outs[k];
  }
  return BSM_OK;
}

/* ---- the policy ---- */

static bsm_status compute(bsm_program_walker *w, const bsm_instruction *i,
                          const bsm_ivalue *args) {
  return i->kind == BSM_INSTRUCTION_CALL
             ? run_call((bsm_abstract_run *)w, i, args)
             : BSM_FAIL(BSM_UNSUPPORTED, "a %s inside of a region",
                        bsm_instruction_kind_name(i->kind));
}

static bsm_status finish(bsm_program_walker *w, const bsm_instruction *i,
                         bsm_status status) {
  const bsm_abstract_run *run = (const bsm_abstract_run *)w;
  if (!status && w->arena->total > run->max_bytes) {
    status = BSM_FAIL(BSM_LIMIT, "constants take too much memory");
  }
  for (uint32_t k = 0; k < i->output_count; k++) {
    run->known[i->outputs[k]] = !status;
  }
  return status;
}

static bsm_status refuse(const bsm_program_walker *w) {
  (void)w;
  return BSM_FAIL(BSM_LIMIT, "too many instructions");
}

static bsm_status check_known(const bsm_program_walker *w,
                              const uint32_t *registers, uint32_t count) {
  const bsm_abstract_run *run = (const bsm_abstract_run *)w;
  for (uint32_t k = 0; k < count; k++) {
    if (!run->known[registers[k]]) {
      return BSM_FAIL(BSM_DATA_DEPENDENT, "it depends on data");
    }
  }
  return BSM_OK;
}

static void define(bsm_program_walker *w, const uint32_t *registers,
                   uint32_t count) {
  const bsm_abstract_run *run = (const bsm_abstract_run *)w;
  for (uint32_t k = 0; k < count; k++) run->known[registers[k]] = true;
}

static const bsm_program_policy policy = {.compute = compute,
                                          .finish = finish,
                                          .refuse = refuse,
                                          .check = check_known,
                                          .define = define};

/* ---- the run ---- */

bsm_status bsm_abstract_start(bsm_abstract_run *run,
                              const bsm_program_constants *constants) {
  bsm_program_walker *w = &run->walker;
  const bsm_program *p = w->program;
  w->policy = &policy;
  run->work = (bsm_work_budget){.limit = MAX_WORK, .left = MAX_WORK};
  w->registers =
      BSM_NEW_ARRAY(w->arena, bsm_ivalue, p->register_count + (size_t)1);
  run->known = BSM_NEW_ARRAY(w->arena, bool, p->register_count + (size_t)1);
  if (!w->registers || !run->known) return BSM_FAIL_OOM();
  for (uint32_t i = 0; i < p->constant_count; i++) {
    bsm_abstract_set(run, p->constant_registers[i], constants->values[i]);
  }
  return BSM_OK;
}

bsm_status bsm_abstract_instruction(bsm_abstract_run *run,
                                    const bsm_instruction *i) {
  return bsm_walk_instruction(&run->walker, i);
}

bsm_status bsm_abstract_try(bsm_abstract_run *run, const bsm_instruction *i,
                            bool *fits) {
  bsm_status status = bsm_abstract_instruction(run, i);
  *fits = !status;
  if (bsm_status_code(status) == BSM_OUT_OF_MEMORY) return status;
  bsm_status_free(status);
  return BSM_OK;
}

bsm_status bsm_abstract_block(bsm_abstract_run *run, uint32_t id) {
  return bsm_walk_block(&run->walker, id);
}
