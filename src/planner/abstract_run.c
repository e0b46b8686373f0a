/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/abstract_run.h"

#include "engine/program_values.h"

/* No tensor that is computed here, because it depends on nothing, is larger. */
#define MAX_TENSOR_BYTES ((size_t)64 << 20)
/* Values nest no deeper; blocks neither, the verifier sees to that. */
#define MAX_DEPTH 60

static bool holds_meta(const bsm_ivalue *items, size_t n, int depth);

static bool is_meta(const bsm_ivalue *v, int depth) {
  switch (v->tag) {
    case BSM_IVALUE_TENSOR:
      return bsm_tensor_is_meta(v->u.tensor);
    case BSM_IVALUE_LIST:
      return holds_meta(v->u.list->items, v->u.list->len, depth + 1);
    case BSM_IVALUE_TUPLE:
      return holds_meta(v->u.tuple->items, v->u.tuple->len, depth + 1);
    case BSM_IVALUE_DICT:
      return holds_meta(v->u.dict->values, v->u.dict->len, depth + 1);
    default:
      return false;
  }
}

static bool holds_meta(const bsm_ivalue *items, size_t n, int depth) {
  for (size_t i = 0; i < n && depth < MAX_DEPTH; i++) {
    if (is_meta(&items[i], depth)) return true;
  }
  return false;
}

bool bsm_abstract_is_meta(const bsm_ivalue *value) {
  return is_meta(value, 0);
}

bsm_status bsm_abstract_start(bsm_abstract_run *run,
                              const bsm_program_constants *constants) {
  const bsm_program *p = run->program;
  run->registers =
      BSM_NEW_ARRAY(run->arena, bsm_ivalue, p->register_count + (size_t)1);
  run->known = BSM_NEW_ARRAY(run->arena, bool, p->register_count + (size_t)1);
  if (!run->registers || !run->known) return BSM_FAIL_OOM();
  for (uint32_t i = 0; i < p->constant_count; i++) {
    bsm_abstract_set(run, p->constant_registers[i], constants->values[i]);
  }
  return BSM_OK;
}

void bsm_abstract_set(bsm_abstract_run *run, uint32_t reg, bsm_ivalue value) {
  run->registers[reg] = value;
  run->known[reg] = true;
}

/* ---- calls ---- */

/* Of the ops with effects, those that change a container of this run. */
static bsm_status check_effect(const bsm_abstract_run *run,
                               const bsm_instruction *i,
                               const bsm_ivalue *args) {
  const bsm_arena *arena = NULL;
  if (i->input_count && args->tag == BSM_IVALUE_LIST) {
    arena = args->u.list->arena;
  } else if (i->input_count && args->tag == BSM_IVALUE_DICT) {
    arena = args->u.dict->arena;
  }
  return arena == run->arena
             ? BSM_OK
             : BSM_FAIL(BSM_UNSUPPORTED, "%s has effects", i->name);
}

static bsm_status run_call(bsm_abstract_run *run, const bsm_instruction *i,
                           const bsm_ivalue *args) {
  const bsm_aten_op *op = bsm_aten_find(run->aten, bsm_str_of(i->name));
  if (!op || (op->flags & (BSM_ATEN_INPLACE | BSM_ATEN_RANDOM))) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s cannot be planned", i->name);
  }
  BSM_TRY(bsm_program_check_nested(args, i->input_count));
  if (op->flags & BSM_ATEN_EFFECT) BSM_TRY(check_effect(run, i, args));
  bsm_op_ctx cx = {.arena = run->arena,
                   .max_tensor_bytes = holds_meta(args, i->input_count, 0)
                                           ? run->max_tensor_bytes
                                           : MAX_TENSOR_BYTES};
  bsm_ivalue *outs =
      BSM_NEW_ARRAY(run->arena, bsm_ivalue, i->output_count + (size_t)1);
  BSM_TRY_ALLOC(outs);
  BSM_TRY(bsm_aten_call(&cx, op, args, i->input_count, outs, i->output_count));
  /* What changes a list may have put it into itself. */
  BSM_TRY(bsm_program_check_nested(outs, i->output_count));
  if (run->call && holds_meta(outs, i->output_count, 0)) {
    BSM_TRY(run->call(run->user, i, args, outs));
  }
  for (uint32_t k = 0; k < i->output_count; k++) {
    run->registers[i->outputs[k]] = outs[k];
  }
  return BSM_OK;
}

/* ---- control ---- */

static bsm_status count_instruction(bsm_abstract_run *run) {
  if (!run->instructions) {
    return BSM_FAIL(BSM_LIMIT, "too many instructions");
  }
  run->instructions--;
  ++*run->done;
  return BSM_OK;
}

static void copy_registers(bsm_abstract_run *run, const uint32_t *from,
                           const uint32_t *to, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    run->registers[to[i]] = run->registers[from[i]];
  }
}

static bsm_status run_if(bsm_abstract_run *run, const bsm_instruction *i,
                         const bsm_ivalue *args) {
  if (args[0].tag != BSM_IVALUE_BOOL) {
    return BSM_FAIL(BSM_CORRUPT, "a condition is a %s",
                    bsm_iv_tag_name(args[0].tag));
  }
  const uint32_t id = i->blocks[args[0].u.b ? 0 : 1];
  BSM_TRY(bsm_abstract_block(run, id));
  copy_registers(run, run->program->blocks[id].results, i->outputs,
                 i->output_count);
  return BSM_OK;
}

static bsm_status run_loop(bsm_abstract_run *run, const bsm_instruction *i,
                           const bsm_ivalue *args) {
  const uint32_t n = i->output_count;
  const bsm_program_block *body = &run->program->blocks[i->blocks[0]];
  bsm_ivalue *values = BSM_NEW_ARRAY(run->arena, bsm_ivalue, n + (size_t)1);
  BSM_TRY_ALLOC(values);
  for (uint32_t k = 0; k <= n; k++) values[k] = args[k + 1];
  if (args[0].tag != BSM_IVALUE_INT) {
    return BSM_FAIL(BSM_CORRUPT, "a loop of %s turns",
                    bsm_iv_tag_name(args[0].tag));
  }
  for (int64_t turn = 0; turn < args[0].u.i; turn++) {
    if (values[0].tag != BSM_IVALUE_BOOL) {
      return BSM_FAIL(BSM_CORRUPT, "a condition is a %s",
                      bsm_iv_tag_name(values[0].tag));
    }
    if (!values[0].u.b) break;
    BSM_TRY(count_instruction(run)); /* the body may have none */
    bsm_abstract_set(run, body->params[0], bsm_iv_int(turn));
    for (uint32_t k = 0; k < n; k++) {
      bsm_abstract_set(run, body->params[k + 1], values[k + 1]);
    }
    BSM_TRY(bsm_abstract_block(run, i->blocks[0]));
    for (uint32_t k = 0; k <= n; k++) {
      values[k] = run->registers[body->results[k]];
    }
  }
  for (uint32_t k = 0; k < n; k++) {
    run->registers[i->outputs[k]] = values[k + 1];
  }
  return BSM_OK;
}

/* ---- instructions ---- */

static bsm_status run_known(bsm_abstract_run *run, const bsm_instruction *i,
                            const bsm_ivalue *args) {
  switch (i->kind) {
    case BSM_INSTRUCTION_CALL:
      return run_call(run, i, args);
    case BSM_INSTRUCTION_IF:
      return run_if(run, i, args);
    case BSM_INSTRUCTION_LOOP:
      return run_loop(run, i, args);
    case BSM_INSTRUCTION_SEGMENT:
    case BSM_INSTRUCTION_REGION:
      return BSM_FAIL(BSM_UNSUPPORTED, "a %s inside of a region",
                      bsm_instruction_kind_name(i->kind));
    default:
      return bsm_program_move_values(i, args, run->arena, run->registers);
  }
}

/* That all of them are known. */
static bsm_status check_known(const bsm_abstract_run *run, const uint32_t *ids,
                              uint32_t count) {
  for (uint32_t k = 0; k < count; k++) {
    if (!run->known[ids[k]]) {
      return BSM_FAIL(BSM_DATA_DEPENDENT, "it depends on data");
    }
  }
  return BSM_OK;
}

static bsm_status try_instruction(bsm_abstract_run *run,
                                  const bsm_instruction *i) {
  bsm_ivalue *args =
      BSM_NEW_ARRAY(run->arena, bsm_ivalue, i->input_count + (size_t)1);
  BSM_TRY_ALLOC(args);
  BSM_TRY(check_known(run, i->inputs, i->input_count));
  BSM_TRY(count_instruction(run));
  for (uint32_t k = 0; k < i->input_count; k++) {
    args[k] = run->registers[i->inputs[k]];
  }
  BSM_TRY(run_known(run, i, args));
  return run->arena->total > run->max_bytes
             ? BSM_FAIL(BSM_LIMIT, "constants take too much memory")
             : BSM_OK;
}

bsm_status bsm_abstract_instruction(bsm_abstract_run *run,
                                    const bsm_instruction *i) {
  bsm_status status = try_instruction(run, i);
  for (uint32_t k = 0; k < i->output_count; k++) {
    run->known[i->outputs[k]] = !status;
  }
  return status;
}

bsm_status bsm_abstract_block(bsm_abstract_run *run, uint32_t id) {
  const bsm_program_block *block = &run->program->blocks[id];
  for (uint32_t k = 0; k < block->instruction_count; k++) {
    BSM_TRY(bsm_abstract_instruction(run, &block->instructions[k]));
  }
  return check_known(run, block->results, block->result_count);
}
