/* SPDX-License-Identifier: Apache-2.0 */
/* The control flow of programs, under the policy of who runs them. */
#include "engine/program_walker.h"

#include <inttypes.h>
#include <string.h>

#include "engine/program_values.h"

/* So many arguments and carried values are on the stack, more in an arena. The
 * verifier bounds how deep blocks nest. */
#define FEW 8

static bsm_status count(bsm_program_walker *w) {
  if (!w->budget) return w->policy->refuse(w);
  w->budget--;
  if (w->done) ++*w->done;
  return BSM_OK;
}

static bsm_status check(const bsm_program_walker *w, const uint32_t *registers,
                        uint32_t n) {
  return w->policy->check ? w->policy->check(w, registers, n) : BSM_OK;
}

static void get(const bsm_program_walker *w, const uint32_t *from, uint32_t n,
                bsm_ivalue *out) {
  for (uint32_t k = 0; k < n; k++) out[k] = w->registers[from[k]];
}

static void set(bsm_program_walker *w, const uint32_t *to, uint32_t n,
                const bsm_ivalue *values) {
  for (uint32_t k = 0; k < n; k++) w->registers[to[k]] = values[k];
}

/* ---- branches ---- */

bsm_status bsm_walk_inner(bsm_program_walker *w, const bsm_instruction *i,
                          uint32_t id) {
  const bsm_program_block *block = &w->program->blocks[id];
  bsm_ivalue few[FEW], *results = few;
  BSM_TRY(bsm_walk_block(w, id));
  if (i->output_count > FEW) {
    results = BSM_NEW_ARRAY(w->arena, bsm_ivalue, i->output_count);
    BSM_TRY_ALLOC(results);
  }
  get(w, block->results, i->output_count, results);
  set(w, i->outputs, i->output_count, results);
  return BSM_OK;
}

static bsm_status check_condition(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_BOOL
             ? BSM_OK
             : BSM_FAIL(BSM_CORRUPT, "a condition is a %s",
                        bsm_iv_tag_name(v->tag));
}

static bsm_status run_if(bsm_program_walker *w, const bsm_instruction *i,
                         const bsm_ivalue *args) {
  BSM_TRY(check_condition(&args[0]));
  return bsm_walk_inner(w, i, i->blocks[args[0].u.b ? 0 : 1]);
}

/* ---- loops ---- */

/* `values`: the condition and the carried values. They are stale while the body
 * runs, which may move what they point to. */
static bsm_status run_turns(bsm_program_walker *w, const bsm_instruction *i,
                            int64_t turns, bsm_ivalue *values) {
  const uint32_t id = i->blocks[0], n = i->output_count;
  const bsm_program_block *body = &w->program->blocks[id];
  for (int64_t turn = 0; turn < turns && values[0].u.b; turn++) {
    BSM_TRY(count(w)); /* the body may have no instructions */
    w->registers[body->params[0]] = bsm_iv_int(turn);
    set(w, body->params + 1, n, values + 1);
    if (w->policy->define) w->policy->define(w, body->params, n + 1);
    BSM_TRY(bsm_walk_block(w, id));
    get(w, body->results, n + 1, values);
    BSM_TRY(check_condition(&values[0]));
  }
  set(w, i->outputs, n, values + 1);
  return BSM_OK;
}

static bsm_status run_loop(bsm_program_walker *w, const bsm_instruction *i,
                           const bsm_ivalue *args) {
  const size_t n = i->output_count + (size_t)1;
  if (args[0].tag != BSM_IVALUE_INT || args[1].tag != BSM_IVALUE_BOOL) {
    return BSM_FAIL(BSM_CORRUPT, "a loop of %s turns while %s",
                    bsm_iv_tag_name(args[0].tag), bsm_iv_tag_name(args[1].tag));
  }
  if (n <= FEW) {
    bsm_ivalue few[FEW];
    memcpy(few, args + 1, n * sizeof(*few));
    return run_turns(w, i, args[0].u.i, few);
  }
  /* The policy may empty the walker's arena. */
  bsm_arena own;
  bsm_arena_init(&own, w->arena->allocator);
  bsm_ivalue *values = BSM_NEW_ARRAY(&own, bsm_ivalue, n);
  bsm_status status = values ? BSM_OK : BSM_FAIL_OOM();
  if (!status) {
    memcpy(values, args + 1, n * sizeof(*values));
    status = run_turns(w, i, args[0].u.i, values);
  }
  bsm_arena_destroy(&own);
  return status;
}

/* ---- instructions ---- */

static bsm_status run_with(bsm_program_walker *w, const bsm_instruction *i,
                           const bsm_ivalue *args) {
  switch (i->kind) {
    case BSM_INSTRUCTION_CALL:
    case BSM_INSTRUCTION_SEGMENT:
    case BSM_INSTRUCTION_REGION:
      return w->policy->compute(w, i, args);
    case BSM_INSTRUCTION_IF:
      return run_if(w, i, args);
    case BSM_INSTRUCTION_LOOP:
      return run_loop(w, i, args);
    default:
      return bsm_program_move_values(i, args, w->arena, w->registers);
  }
}

static bsm_status run(bsm_program_walker *w, const bsm_instruction *i) {
  bsm_ivalue few[FEW], *args = few;
  BSM_TRY(check(w, i->inputs, i->input_count));
  BSM_TRY(count(w));
  if (i->input_count > FEW) {
    args = BSM_NEW_ARRAY(w->arena, bsm_ivalue, i->input_count);
    BSM_TRY_ALLOC(args);
  }
  get(w, i->inputs, i->input_count, args);
  return run_with(w, i, args);
}

bsm_status bsm_walk_instruction(bsm_program_walker *w,
                                const bsm_instruction *i) {
  return w->policy->finish(w, i, run(w, i));
}

bsm_status bsm_walk_block(bsm_program_walker *w, uint32_t id) {
  const bsm_program_block *block = &w->program->blocks[id];
  const uint32_t outer = w->block;
  bsm_status status = BSM_OK;
  w->block = id;
  for (uint32_t k = 0; k < block->instruction_count && !status; k++) {
    status = bsm_walk_instruction(w, &block->instructions[k]);
  }
  w->block = outer;
  return status ? status : check(w, block->results, block->result_count);
}
