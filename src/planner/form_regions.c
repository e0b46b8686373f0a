/* SPDX-License-Identifier: Apache-2.0 */
/* Forms regions in the top block of a program. The block is run on the best
 * shapes. Instructions whose results this computes may go into regions. All are
 * put into stages, as partitioning does with the nodes of a graph: even stages
 * become regions, instructions of odd stages run one by one, and each stage
 * needs only stages before it. */
#include <string.h>

#include "planner/planner_internal.h"

/* What is known of one instruction of the block. */
typedef struct placed {
  bool fits;  /* can be in a region */
  bool calls; /* computes tensors */
  bool draws; /* random numbers: keeps its place among all that do */
  uint32_t stage;
} placed;

typedef struct former {
  bsm_planner *planner;
  bsm_program *program;
  bsm_arena *arena; /* of the program */
  bsm_arena *scratch;
  const bool *alone;
  size_t least;
  bsm_program_block *top;
  placed *placed;    /* by instruction */
  uint32_t *stages;  /* by register: the stage that sets it last, plus 1 */
  uint32_t *makers;  /* by register: the stage that makes it, plus 1 */
  uint32_t *readers; /* by register: the last stage that reads it, plus 1 */
  uint32_t last;
  bool called; /* by the instruction that is being run */
  BSM_VEC(bsm_program_block) blocks;
  BSM_VEC(struct region *) regions;
} former;

/* ---- what fits ---- */

static bsm_status note_call(void *user, const bsm_instruction *i,
                            const bsm_ivalue *args, const bsm_ivalue *outs) {
  (void)i;
  (void)args;
  (void)outs;
  ((former *)user)->called = true;
  return BSM_OK;
}

static bool is_alone(const former *f, const bsm_instruction *i) {
  return f->alone && i->output_count && f->alone[i->outputs[0]];
}

/* Whether it, or an instruction of a block inside of it, draws random numbers.
 * Those whose arguments decide it are in `alone` when they do. */
static bool draws(const former *f, const bsm_instruction *i) {
  const bsm_aten_op *op =
      i->kind == BSM_INSTRUCTION_CALL
          ? bsm_aten_find(f->planner->options.aten, bsm_str_of(i->name))
          : NULL;
  if (op && ((op->flags & BSM_ATEN_RANDOM) ||
             ((op->flags & BSM_ATEN_MAY_DRAW) && is_alone(f, i)))) {
    return true;
  }
  for (uint32_t b = 0; b < i->block_count; b++) {
    const bsm_program_block *inner = &f->program->blocks[i->blocks[b]];
    for (uint32_t k = 0; k < inner->instruction_count; k++) {
      if (draws(f, &inner->instructions[k])) return true;
    }
  }
  return false;
}

/* Runs all of the block on the best shapes. */
static bsm_status find_fitting(former *f, const bsm_ivalue *inputs,
                               bsm_abstract_run *run) {
  BSM_TRY(bsm_planner_start(f->planner, f->scratch, run));
  run->call = note_call;
  run->user = f;
  for (uint32_t i = 0; i < f->top->param_count; i++) {
    bsm_abstract_set(run, f->top->params[i], inputs[i]);
  }
  for (uint32_t k = 0; k < f->top->instruction_count; k++) {
    const bsm_instruction *i = &f->top->instructions[k];
    f->called = false;
    bool fits;
    BSM_TRY(bsm_abstract_try(run, i, &fits));
    f->placed[k].draws = draws(f, i);
    f->placed[k].fits = fits && !is_alone(f, i) && !f->placed[k].draws;
    f->placed[k].calls = f->called;
  }
  return BSM_OK;
}

/* ---- stages ---- */

typedef bsm_status visit_fn(former *f, uint32_t *reg, void *user);

/* Visits the registers that an instruction reads, including those read by
 * blocks inside of it. */
static bsm_status visit_reads(former *f, bsm_instruction *i, visit_fn *visit,
                              void *user) {
  for (uint32_t k = 0; k < i->input_count; k++) {
    BSM_TRY(visit(f, &i->inputs[k], user));
  }
  for (uint32_t b = 0; b < i->block_count; b++) {
    bsm_program_block *inner = &f->program->blocks[i->blocks[b]];
    for (uint32_t k = 0; k < inner->instruction_count; k++) {
      BSM_TRY(visit_reads(f, &inner->instructions[k], visit, user));
    }
    for (uint32_t k = 0; k < inner->result_count; k++) {
      BSM_TRY(visit(f, &inner->results[k], user));
    }
  }
  return BSM_OK;
}

static bsm_status wait_for(former *f, uint32_t *reg, void *user) {
  uint32_t *stage = user;
  const uint32_t set = f->stages[*reg];
  if (set && set - 1 > *stage) *stage = set - 1;
  return BSM_OK;
}

static bool changes_container(const former *f, const bsm_instruction *i) {
  const bsm_aten_op *op =
      i->kind == BSM_INSTRUCTION_CALL
          ? bsm_aten_find(f->planner->options.aten, bsm_str_of(i->name))
          : NULL;
  return op && (op->flags & BSM_ATEN_EFFECT) && i->input_count;
}

/* Visits the containers that an instruction changes, including changes by
 * blocks inside of it. */
static bsm_status visit_changes(former *f, bsm_instruction *i, visit_fn *visit,
                                void *user) {
  if (changes_container(f, i)) BSM_TRY(visit(f, &i->inputs[0], user));
  for (uint32_t b = 0; b < i->block_count; b++) {
    bsm_program_block *inner = &f->program->blocks[i->blocks[b]];
    for (uint32_t k = 0; k < inner->instruction_count; k++) {
      BSM_TRY(visit_changes(f, &inner->instructions[k], visit, user));
    }
  }
  return BSM_OK;
}

/* An instruction that changes a container counts as setting it, for later
 * readers. */
static bsm_status set_anew(former *f, uint32_t *reg, void *user) {
  const uint32_t *stage = user;
  if (f->stages[*reg]) f->stages[*reg] = *stage + 1;
  return BSM_OK;
}

/* A change of a container waits for all earlier readers. */
static bsm_status wait_for_readers(former *f, uint32_t *reg, void *user) {
  uint32_t *stage = user;
  const uint32_t read = f->readers[*reg];
  if (read && read - 1 > *stage) *stage = read - 1;
  return BSM_OK;
}

static bsm_status note_read(former *f, uint32_t *reg, void *user) {
  const uint32_t *stage = user;
  if (f->readers[*reg] < *stage + 1) f->readers[*reg] = *stage + 1;
  return BSM_OK;
}

static bsm_status place_all(former *f) {
  memset(f->stages, 0, f->program->register_count * sizeof(*f->stages));
  memset(f->readers, 0, f->program->register_count * sizeof(*f->readers));
  uint32_t drawn = 0; /* the stage of the last one that draws */
  f->last = 0;
  for (uint32_t k = 0; k < f->top->instruction_count; k++) {
    bsm_instruction *i = &f->top->instructions[k];
    uint32_t stage = 0;
    BSM_TRY(visit_reads(f, i, wait_for, &stage));
    BSM_TRY(visit_changes(f, i, wait_for_readers, &stage));
    if (f->placed[k].draws && drawn > stage) stage = drawn;
    if ((stage % 2 == 0) != f->placed[k].fits) stage++;
    if (f->placed[k].draws) drawn = stage;
    f->placed[k].stage = stage;
    if (stage > f->last) f->last = stage;
    for (uint32_t n = 0; n < i->output_count; n++) {
      f->stages[i->outputs[n]] = f->makers[i->outputs[n]] = stage + 1;
    }
    BSM_TRY(visit_reads(f, i, note_read, &stage));
    BSM_TRY(visit_changes(f, i, set_anew, &stage));
  }
  return BSM_OK;
}

/* ---- what may not be ---- */

typedef struct crossing {
  const bsm_abstract_run *run;
  uint32_t stage; /* of the reader */
  bool *bad;      /* by register: must be set outside of regions */
  bool found;
} crossing;

/* Finds a container that another stage reads. */
static bsm_status check_crossing(former *f, uint32_t *reg, void *user) {
  crossing *c = user;
  const uint32_t set = f->stages[*reg];
  if (!set || set - 1 == c->stage || c->bad[*reg]) return BSM_OK;
  if (c->run->known[*reg] &&
      bsm_region_takes(&c->run->walker.registers[*reg])) {
    return BSM_OK;
  }
  c->bad[*reg] = true;
  c->found = true;
  return BSM_OK;
}

/* A container is changed in the stage that makes it. */
static bsm_status check_change(former *f, uint32_t *reg, void *user) {
  crossing *c = user;
  if (f->makers[*reg] && f->makers[*reg] != c->stage + 1) c->found = true;
  return BSM_OK;
}

/* Takes instructions out of regions whose containers would enter or leave a
 * region. */
static bsm_status refuse_containers(former *f, const bsm_abstract_run *run,
                                    bool *again) {
  crossing c = {.run = run};
  c.bad = BSM_NEW_ARRAY(f->scratch, bool, f->program->register_count + 1u);
  BSM_TRY_ALLOC(c.bad);
  for (uint32_t k = 0; k < f->top->instruction_count; k++) {
    bsm_instruction *i = &f->top->instructions[k];
    c.stage = f->placed[k].stage;
    c.found = false;
    BSM_TRY(visit_changes(f, i, check_change, &c));
    BSM_TRY(visit_reads(f, i, check_crossing, &c));
    /* Such a container would enter the region, so its reader is taken out too.
     */
    if (c.found && f->placed[k].fits) {
      f->placed[k].fits = false;
      *again = true;
    }
  }
  c.stage = UINT32_MAX;
  for (uint32_t k = 0; k < f->top->result_count; k++) {
    BSM_TRY(check_crossing(f, &f->top->results[k], &c));
  }
  for (uint32_t k = 0; k < f->top->instruction_count; k++) {
    const bsm_instruction *i = &f->top->instructions[k];
    for (uint32_t n = 0; f->placed[k].fits && n < i->output_count; n++) {
      if (!c.bad[i->outputs[n]]) continue;
      f->placed[k].fits = false;
      *again = true;
    }
  }
  return BSM_OK;
}

/* A region that computes next to nothing is not worth a plan. */
static bsm_status refuse_small(former *f, bool *again) {
  size_t *counts = BSM_NEW_ARRAY(f->scratch, size_t, f->last + (size_t)1);
  BSM_TRY_ALLOC(counts);
  for (uint32_t k = 0; k < f->top->instruction_count; k++) {
    if (f->placed[k].calls) counts[f->placed[k].stage]++;
  }
  for (uint32_t k = 0; k < f->top->instruction_count; k++) {
    placed *p = &f->placed[k];
    if (!p->fits || counts[p->stage] >= f->least) continue;
    p->fits = false;
    *again = true;
  }
  return BSM_OK;
}

/* ---- the regions ---- */

typedef struct region {
  uint32_t stage, block;
  bool *is_input, *is_output; /* by register */
  BSM_VEC(uint32_t) inputs;
  BSM_VEC(uint32_t) outputs;
} region;

static bool is_constant(const former *f, uint32_t reg) {
  for (uint32_t i = 0; i < f->program->constant_count; i++) {
    if (f->program->constant_registers[i] == reg) return true;
  }
  return false;
}

/* Parameters and registers that another stage of the top block sets become
 * inputs. Constants need not be passed, and all others are set inside. */
static bsm_status add_input(former *f, uint32_t *reg, void *user) {
  region *r = user;
  bool param = false;
  for (uint32_t i = 0; i < f->top->param_count; i++) {
    param = param || f->top->params[i] == *reg;
  }
  const uint32_t set = f->stages[*reg];
  if (r->is_input[*reg] || is_constant(f, *reg)) return BSM_OK;
  if (!param && (!set || set - 1 == r->stage)) return BSM_OK;
  r->is_input[*reg] = true;
  if (param) return BSM_OK; /* see list_params */
  BSM_TRY_ALLOC(bsm_vec_push(f->arena, &r->inputs, *reg));
  return BSM_OK;
}

/* Parameters come first, in the order of the engine's inputs. */
static bsm_status list_params(const former *f, region *r) {
  const size_t others = r->inputs.len;
  for (uint32_t i = 0; i < f->top->param_count; i++) {
    if (!r->is_input[f->top->params[i]]) continue;
    BSM_TRY_ALLOC(bsm_vec_push(f->arena, &r->inputs, f->top->params[i]));
  }
  for (size_t i = 0; i < others; i++) {
    BSM_TRY_ALLOC(bsm_vec_push(f->arena, &r->inputs, r->inputs.items[i]));
  }
  r->inputs.items += others;
  r->inputs.len -= others;
  return BSM_OK;
}

static bsm_status add_output(former *f, uint32_t *reg, void *user) {
  region *r = user;
  if (r->is_output[*reg] || f->stages[*reg] != r->stage + 1) return BSM_OK;
  r->is_output[*reg] = true;
  BSM_TRY_ALLOC(bsm_vec_push(f->arena, &r->outputs, *reg));
  return BSM_OK;
}

static bsm_status rename_read(former *f, uint32_t *reg, void *user) {
  const uint32_t *names = user;
  (void)f;
  if (names[*reg]) *reg = names[*reg] - 1;
  return BSM_OK;
}

/* Gives results other registers inside the region than outside. */
static bsm_status rename_results(former *f, region *r,
                                 bsm_program_block *block) {
  uint32_t *names =
      BSM_NEW_ARRAY(f->scratch, uint32_t, f->program->register_count + 1u);
  BSM_TRY_ALLOC(names);
  block->result_count = (uint32_t)r->outputs.len;
  block->results = BSM_NEW_ARRAY(f->arena, uint32_t, r->outputs.len + 1);
  BSM_TRY_ALLOC(block->results);
  for (size_t i = 0; i < r->outputs.len; i++) {
    block->results[i] = f->program->register_count++;
    names[r->outputs.items[i]] = block->results[i] + 1;
  }
  for (uint32_t k = 0; k < block->instruction_count; k++) {
    bsm_instruction *i = &block->instructions[k];
    BSM_TRY(visit_reads(f, i, rename_read, names));
    for (uint32_t n = 0; n < i->output_count; n++) {
      if (names[i->outputs[n]]) i->outputs[n] = names[i->outputs[n]] - 1;
    }
  }
  return BSM_OK;
}

/* Moves the instructions of a stage into a block of their own. */
static bsm_status make_region(former *f, uint32_t stage, uint32_t count,
                              bsm_instruction *out) {
  const size_t n = f->program->register_count + (size_t)1;
  region *r = BSM_NEW(f->scratch, region);
  bsm_program_block block = {0};
  BSM_TRY_ALLOC(r);
  r->stage = stage;
  r->block = (uint32_t)f->blocks.len;
  r->is_input = BSM_NEW_ARRAY(f->scratch, bool, n);
  r->is_output = BSM_NEW_ARRAY(f->scratch, bool, n);
  block.instructions = BSM_NEW_ARRAY(f->arena, bsm_instruction, count + 1u);
  block.params = BSM_NEW_ARRAY(f->arena, uint32_t, 1);
  if (!r->is_input || !r->is_output || !block.instructions || !block.params) {
    return BSM_FAIL_OOM();
  }
  for (uint32_t k = 0; k < f->top->instruction_count; k++) {
    bsm_instruction *i = &f->top->instructions[k];
    if (f->placed[k].stage == stage) {
      BSM_TRY(visit_reads(f, i, add_input, r));
      block.instructions[block.instruction_count++] = *i;
    }
  }
  BSM_TRY(list_params(f, r));
  /* The results of the top block come first, in their order. */
  for (uint32_t k = 0; k < f->top->result_count; k++) {
    BSM_TRY(add_output(f, &f->top->results[k], r));
  }
  for (uint32_t k = 0; k < f->top->instruction_count; k++) {
    if (f->placed[k].stage == stage) continue;
    BSM_TRY(visit_reads(f, &f->top->instructions[k], add_output, r));
  }
  *out = (bsm_instruction){.kind = BSM_INSTRUCTION_REGION,
                           .name = "",
                           .source = "",
                           .input_count = (uint32_t)r->inputs.len,
                           .inputs = r->inputs.items,
                           .output_count = (uint32_t)r->outputs.len,
                           .outputs = r->outputs.items,
                           .block_count = 1,
                           .blocks = {r->block}};
  if (!bsm_vec_push(f->scratch, &f->regions, r) ||
      !bsm_vec_push(f->arena, &f->blocks, block)) {
    return BSM_FAIL_OOM();
  }
  return BSM_OK;
}

static uint32_t count_stage(const former *f, uint32_t stage) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < f->top->instruction_count; k++) {
    count += f->placed[k].stage == stage;
  }
  return count;
}

static bsm_status make_regions(former *f) {
  bsm_program *p = f->program;
  const bsm_program_block top = *f->top;
  BSM_VEC(bsm_instruction) instructions = {0};
  for (uint32_t i = 0; i < p->block_count; i++) {
    BSM_TRY_ALLOC(bsm_vec_push(f->arena, &f->blocks, p->blocks[i]));
  }
  for (uint32_t stage = 0; stage <= f->last; stage++) {
    const uint32_t count = count_stage(f, stage);
    bsm_instruction made;
    if (stage % 2 == 0 && count) {
      BSM_TRY(make_region(f, stage, count, &made));
      BSM_TRY_ALLOC(bsm_vec_push(f->arena, &instructions, made));
      continue;
    }
    for (uint32_t k = 0; k < top.instruction_count; k++) {
      if (f->placed[k].stage != stage) continue;
      BSM_TRY_ALLOC(bsm_vec_push(f->arena, &instructions, top.instructions[k]));
    }
  }
  for (size_t i = 0; i < f->regions.len; i++) {
    region *r = f->regions.items[i];
    BSM_TRY(rename_results(f, r, &f->blocks.items[r->block]));
  }
  f->blocks.items[0].instructions = instructions.items;
  f->blocks.items[0].instruction_count = (uint32_t)instructions.len;
  return BSM_OK;
}

/* ---- the order of blocks ---- */

/* Numbers a block and the blocks inside of it; inner blocks get higher numbers.
 */
static uint32_t renumber(former *f, uint32_t id, uint32_t next,
                         bsm_program_block *to) {
  const bsm_program_block *from = &f->blocks.items[id];
  const uint32_t own = next++;
  to[own] = *from;
  for (uint32_t k = 0; k < from->instruction_count; k++) {
    bsm_instruction *i = &from->instructions[k];
    for (uint32_t b = 0; b < i->block_count; b++) {
      const uint32_t inner = next;
      next = renumber(f, i->blocks[b], next, to);
      i->blocks[b] = inner;
    }
  }
  return next;
}

static bsm_status order_blocks(former *f) {
  bsm_program_block *blocks =
      BSM_NEW_ARRAY(f->arena, bsm_program_block, f->blocks.len);
  BSM_TRY_ALLOC(blocks);
  f->program->block_count = renumber(f, 0, 0, blocks);
  f->program->blocks = blocks;
  return BSM_OK;
}

static bsm_status form(former *f, const bsm_ivalue *inputs) {
  bsm_abstract_run run;
  f->placed = BSM_NEW_ARRAY(f->scratch, placed, f->top->instruction_count + 1u);
  f->stages =
      BSM_NEW_ARRAY(f->scratch, uint32_t, f->program->register_count + 1u);
  f->makers =
      BSM_NEW_ARRAY(f->scratch, uint32_t, f->program->register_count + 1u);
  f->readers =
      BSM_NEW_ARRAY(f->scratch, uint32_t, f->program->register_count + 1u);
  if (!f->placed || !f->stages || !f->makers || !f->readers) {
    return BSM_FAIL_OOM();
  }
  BSM_TRY(find_fitting(f, inputs, &run));
  /* Each round takes at least one instruction out for good. */
  for (bool again = true; again;) {
    again = false;
    BSM_TRY(place_all(f));
    BSM_TRY(refuse_containers(f, &run, &again));
    if (!again) BSM_TRY(refuse_small(f, &again));
  }
  for (uint32_t k = 0; k < f->top->instruction_count; k++) {
    if (!f->placed[k].fits) continue;
    BSM_TRY(make_regions(f));
    return order_blocks(f);
  }
  return BSM_OK;
}

bsm_status bsm_planner_form_regions(bsm_planner *planner,
                                    const bsm_ivalue *inputs, const bool *alone,
                                    size_t least, bsm_program *program,
                                    bsm_arena *arena) {
  bsm_arena scratch;
  bsm_arena_init(&scratch, planner->options.allocator);
  former f = {.planner = planner,
              .program = program,
              .arena = arena,
              .scratch = &scratch,
              .alone = alone,
              .least = least ? least : 1,
              .top = &program->blocks[0]};
  bsm_status status = form(&f, inputs);
  bsm_arena_destroy(&scratch);
  return status;
}
