/* SPDX-License-Identifier: Apache-2.0 */
/* Liveness of registers: each block is walked backwards. */
#include "runtime/program/liveness.h"

#define NO_BLOCK 0u /* else a block's id, plus 1 */
#define SHARED UINT32_MAX

typedef BSM_VEC(uint32_t) id_vec;

typedef struct walker {
  const bsm_program *program;
  bsm_arena *arena;
  uint32_t *owners; /* of each register: the one block that sets it */
  uint32_t *seen;   /* the last block whose walk met it */
} walker;

static void own(walker *w, const uint32_t *ids, uint32_t count,
                uint32_t owner) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t *known = &w->owners[ids[i]];
    *known = *known == NO_BLOCK || *known == owner ? owner : SHARED;
  }
}

static void find_owners(walker *w) {
  const bsm_program *p = w->program;
  own(w, p->constant_registers, p->constant_count, SHARED);
  for (uint32_t b = 0; b < p->block_count; b++) {
    const bsm_program_block *block = &p->blocks[b];
    own(w, block->params, block->param_count, b + 1);
    for (uint32_t k = 0; k < block->instruction_count; k++) {
      own(w, block->instructions[k].outputs,
          block->instructions[k].output_count, b + 1);
    }
  }
}

static bsm_status meet(walker *w, uint32_t block, const uint32_t *ids,
                       uint32_t count, id_vec *dead) {
  for (uint32_t i = 0; i < count; i++) {
    if (w->seen[ids[i]] == block + 1) continue;
    w->seen[ids[i]] = block + 1;
    if (!dead || w->owners[ids[i]] != block + 1) continue;
    BSM_TRY_ALLOC(bsm_vec_push(w->arena, dead, ids[i]));
  }
  return BSM_OK;
}

/* Meets the registers that an instruction reads or writes, including those of
 * blocks inside of it. */
static bsm_status meet_all(walker *w, uint32_t block, const bsm_instruction *i,
                           id_vec *dead) {
  BSM_TRY(meet(w, block, i->inputs, i->input_count, dead));
  BSM_TRY(meet(w, block, i->outputs, i->output_count, dead));
  for (uint32_t n = 0; n < i->block_count; n++) {
    const bsm_program_block *inner = &w->program->blocks[i->blocks[n]];
    BSM_TRY(meet(w, block, inner->results, inner->result_count, dead));
    for (uint32_t k = 0; k < inner->instruction_count; k++) {
      BSM_TRY(meet_all(w, block, &inner->instructions[k], dead));
    }
  }
  return BSM_OK;
}

bsm_status bsm_program_liveness(const bsm_program *program, bsm_arena *arena,
                                bsm_dead_registers ***out) {
  walker w = {.program = program, .arena = arena};
  bsm_dead_registers **all =
      BSM_NEW_ARRAY(arena, bsm_dead_registers *, program->block_count);
  w.owners = BSM_NEW_ARRAY(arena, uint32_t, program->register_count + 1u);
  w.seen = BSM_NEW_ARRAY(arena, uint32_t, program->register_count + 1u);
  if (!all || !w.owners || !w.seen) return BSM_FAIL_OOM();
  find_owners(&w);
  for (uint32_t b = 0; b < program->block_count; b++) {
    const bsm_program_block *block = &program->blocks[b];
    const size_t n = block->instruction_count;
    all[b] = BSM_NEW_ARRAY(arena, bsm_dead_registers, n + 1);
    BSM_TRY_ALLOC(all[b]);
    BSM_TRY(meet(&w, b, block->results, block->result_count, NULL));
    for (size_t k = n; k-- > 0;) {
      id_vec dead = {0};
      BSM_TRY(meet_all(&w, b, &block->instructions[k], &dead));
      all[b][k] = (bsm_dead_registers){dead.items, dead.len};
    }
  }
  *out = all;
  return BSM_OK;
}
