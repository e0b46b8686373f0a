/* SPDX-License-Identifier: Apache-2.0 */
/* Engines: read by the library's own reader, changed as a plan, and written by
 * its writer, which makes all sizes and hashes right. What cannot be read is
 * changed word by word. */
#include <stdlib.h>
#include <string.h>

#include "engine/engine_file.h"
#include "engine/program.h"
#include "fuzz/mutators/mutator.h"

enum { HEADER = 64 };

typedef struct engine_change {
  fuzz_input *in;
  bsm_arena *arena;
  bsm_plan *plan; /* the whole */
  bsm_plan *part; /* the plan, or a segment of its program */
} engine_change;

static size_t below(engine_change *c, size_t n) {
  return fuzz_below(c->in, n);
}

/* An id: one that there is, mostly. */
static void change_id(engine_change *c, uint32_t *id, uint32_t count) {
  *id = below(c, 12) ? (uint32_t)below(c, count)
                     : (uint32_t)fuzz_integer(c->in, (int64_t)*id);
}

static void change_number(engine_change *c, int64_t *number) {
  *number = fuzz_integer(c->in, *number);
}

/* Deletes, repeats or exchanges one of `count` items of `size` bytes; gives the
 * new items, or NULL. */
static void *change_items(engine_change *c, const void *items, uint32_t *count,
                          size_t size) {
  const uint32_t n = *count;
  if (n == 0) return NULL;
  uint8_t *copy = bsm_arena_alloc(c->arena, (n + 1) * size, 16);
  if (!copy) return NULL;
  memcpy(copy, items, n * size);
  const size_t a = below(c, n), b = below(c, n);
  switch (below(c, 4)) {
    case 0:
      memmove(copy + a * size, copy + (a + 1) * size, (n - a - 1) * size);
      *count = n - 1;
      break;
    case 1:
      memmove(copy + (a + 1) * size, copy + a * size, (n - a) * size);
      *count = n + 1;
      break;
    default:
      memcpy(copy + a * size, (const uint8_t *)items + b * size, size);
      memcpy(copy + b * size, (const uint8_t *)items + a * size, size);
      break;
  }
  return copy;
}

static bool change_tensor(engine_change *c) {
  if (c->part->tensor_count == 0) return false;
  bsm_plan_tensor *t = &c->part->tensors[below(c, c->part->tensor_count)];
  /* A tensor of which nothing is known has a rank of -1. */
  const size_t dim =
      below(c, t->dims.rank > 0 ? (size_t)t->dims.rank : BSM_MAX_RANK);
  switch (below(c, 9)) {
    case 0:
      t->dtype = (bsm_dtype)below(c, 16);
      return true;
    case 1:
      t->place = (bsm_memory_place)below(c, 6);
      return true;
    case 2:
      change_id(c, &t->index, c->part->weights_count + 1);
      return true;
    case 3:
      t->offset = (uint64_t)fuzz_integer(c->in, (int64_t)t->offset);
      return true;
    case 4:
      t->dims.rank = (int32_t)below(c, BSM_MAX_RANK + 1);
      return true;
    case 5:
      t->offset = below(c, 64) * 64;
      return true;
    case 6:
      if (t->dims.rank <= 0) return false;
      change_number(c, &t->strides[dim]);
      return true;
    default:
      if (t->dims.rank <= 0) return false;
      change_number(c, &t->dims.d[dim]);
      return true;
  }
}

/* Words of parameters: of 4 bytes, or of 8, which may be doubles. */
static void change_word(engine_change *c, uint8_t *bytes, size_t size) {
  static const double odd[] = {0, 1, -1, 0.5, 1e300, -1e-300};
  const size_t width = size >= 8 && below(c, 2) ? 8 : 4;
  if (size < width) return;
  uint8_t *at = bytes + below(c, size / width) * width;
  if (width == 8 && below(c, 4) == 0) {
    memcpy(at, &odd[below(c, sizeof(odd) / sizeof(odd[0]))], 8);
  } else {
    const uint64_t old = fuzz_peek(at, width);
    fuzz_poke(at, (uint64_t)fuzz_integer(c->in, (int64_t)old), width);
  }
}

static void change_call(engine_change *c, bsm_step_aten_call *call) {
  uint8_t *args = bsm_arena_alloc(c->arena, call->args_size + 1u, 16);
  if (!args || call->args_size == 0) return;
  memcpy(args, call->args, call->args_size);
  args[below(c, call->args_size)] = (uint8_t)below(c, below(c, 2) ? 12 : 256);
  call->args = args;
}

static bool change_params(engine_change *c, bsm_plan_step *step) {
  const size_t size = bsm_step_params_size(step->kind);
  bsm_step_params *params = BSM_NEW(c->arena, bsm_step_params);
  if (!params || !step->params || size == 0) return false;
  memcpy(params, step->params, bsm_step_params_used(step->kind, step->params));
  step->params = params;
  if (step->kind == BSM_STEP_ATEN_CALL) {
    change_call(c, &params->aten_call);
    return true;
  }
  change_word(c, (uint8_t *)params, size);
  if (step->kind == BSM_STEP_ELEMENT_WISE) { /* the writer relies on it */
    int32_t *count = &params->element_wise.instruction_count;
    if (*count < 0 || *count > BSM_EW_MAX_INSTRUCTIONS) *count = 1;
  }
  return true;
}

static bool change_step(engine_change *c) {
  bsm_plan *p = c->part;
  if (p->step_count == 0) return false;
  bsm_plan_step *step = &p->steps[below(c, p->step_count)];
  const bsm_plan_step *other = &p->steps[below(c, p->step_count)];
  void *items;
  switch (below(c, 8)) {
    case 0:
      items = change_items(c, p->steps, &p->step_count, sizeof(*p->steps));
      if (items) p->steps = items;
      return items != NULL;
    case 1:
      if (step->input_count == 0) return false;
      change_id(c, &step->inputs[below(c, step->input_count)], p->tensor_count);
      return true;
    case 2:
      if (step->output_count == 0) return false;
      change_id(c, &step->outputs[below(c, step->output_count)],
                p->tensor_count);
      return true;
    case 3:
      change_id(c, &step->weights[below(c, BSM_STEP_MAX_WEIGHTS)],
                p->weights_count);
      return true;
    case 4:
      step->tactic = below(c, 2) ? other->tactic : "";
      return true;
    default:
      return change_params(c, step);
  }
}

static bool change_instruction(engine_change *c, bsm_program *p) {
  bsm_program_block *b = &p->blocks[below(c, p->block_count)];
  if (b->instruction_count == 0) return false;
  bsm_instruction *i = &b->instructions[below(c, b->instruction_count)];
  void *items;
  switch (below(c, 6)) {
    case 0:
      items = change_items(c, b->instructions, &b->instruction_count,
                           sizeof(*b->instructions));
      if (items) b->instructions = items;
      return items != NULL;
    case 1:
      if (i->output_count == 0) return false;
      change_id(c, &i->outputs[below(c, i->output_count)], p->register_count);
      return true;
    case 2:
      i->kind = (bsm_instruction_kind)(1 + below(c, 12));
      return true;
    case 3:
      change_id(c, &i->segment, p->segment_count + 1);
      return true;
    default:
      if (i->input_count == 0) return false;
      change_id(c, &i->inputs[below(c, i->input_count)], p->register_count);
      return true;
  }
}

static bool change_program(engine_change *c) {
  bsm_program *p = c->plan->program;
  if (!p || p->block_count == 0) return false;
  if (p->range_count && below(c, 6) == 0) {
    bsm_program_range *r = &p->ranges[below(c, p->range_count)];
    bsm_dims *dims[] = {&r->min, &r->opt, &r->max};
    if (r->opt.rank <= 0) return false;
    change_number(c, &dims[below(c, 3)]->d[below(c, (size_t)r->opt.rank)]);
    return true;
  }
  if (p->constants_size && below(c, 4) == 0) {
    uint8_t *bytes = bsm_arena_alloc(c->arena, p->constants_size, 16);
    if (!bytes) return false;
    memcpy(bytes, p->constants, p->constants_size);
    bytes[below(c, p->constants_size)] = (uint8_t)below(c, 256);
    p->constants = bytes;
    return true;
  }
  return change_instruction(c, p);
}

static bool change_rest(engine_change *c) {
  bsm_plan *p = c->part;
  switch (below(c, 3)) {
    case 0:
      p->workspace_size[0] =
          (uint64_t)fuzz_integer(c->in, (int64_t)p->workspace_size[0]);
      return true;
    case 1:
      if (p->input_count == 0) return false;
      change_id(c, &p->inputs[below(c, p->input_count)].tensor,
                p->tensor_count);
      return true;
    default:
      if (p->output_count == 0) return false;
      change_id(c, &p->outputs[below(c, p->output_count)].tensor,
                p->tensor_count);
      return true;
  }
}

static bool change_plan(engine_change *c) {
  const bsm_program *program = c->plan->program;
  if (program && below(c, 2)) return change_program(c);
  if (program && program->segment_count) {
    c->part = program->segments[below(c, program->segment_count)];
  }
  const size_t how = below(c, 8);
  return how < 3 ? change_tensor(c) : how < 7 ? change_step(c) : change_rest(c);
}

/* Puts the file into the input. */
static bsm_status put(void *user, const bsm_file_piece *pieces, size_t count) {
  fuzz_input *in = user;
  size_t size = 0;
  for (size_t i = 0; i < count; i++) {
    const size_t n = pieces[i].size;
    if (n > in->room - size) return BSM_FAIL(BSM_LIMIT, "no room");
    if (n) memcpy(in->data + size, pieces[i].data, n);
    size += n;
  }
  in->size = size;
  return BSM_OK;
}

/* The plan refers to the bytes of `file`, not to those of the input. */
static bool change_file(fuzz_input *in, const uint8_t *file) {
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  engine_change c = {.in = in, .arena = &arena};
  bsm_status status =
      bsm_engine_file_read(&arena, file, in->size, false, &c.plan);
  c.part = c.plan;
  bool changed = !status && change_plan(&c);
  if (changed) {
    status = bsm_engine_file_give(c.plan, NULL, put, in);
    changed = !status;
  }
  bsm_status_free(status);
  bsm_arena_destroy(&arena);
  return changed;
}

bool fuzz_mutate_engine(fuzz_input *in) {
  if (in->size <= HEADER + 4) return false;
  uint8_t *file = aligned_alloc(64, (in->size + 63) / 64 * 64);
  if (!file) return false;
  memcpy(file, in->data, in->size);
  bool changed = change_file(in, file);
  free(file);
  if (!changed && fuzz_below(in, 4) == 0) {
    uint8_t *word = in->data + HEADER + fuzz_below(in, in->size - HEADER - 4);
    fuzz_poke(word, (uint64_t)fuzz_integer(in, (int64_t)fuzz_peek(word, 4)), 4);
    changed = true;
  }
  return changed;
}
