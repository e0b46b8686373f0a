/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs. Bytes that programs make floats of are read as floats,
 * which may be on a grid, and floats that become bytes at the end are written
 * as such. A program of one byte that takes long is a table of all 256; one
 * that is a sum of scaled inputs, or only quantizes, has a kernel. */
#include "backend/cpu/cpu_element_wise.h"

#define UNIT_BLOCKS 16
/* Blocks of longer rows are pieces of one row. */
#define SHORT_ROW (BSM_CPU_EW_BLOCK / 2)
/* Instructions from which on looking up bytes is faster, and as how many those
 * count that are no single operation on floats. */
#define TABLE_COST 6
#define LONG_COST 6

/* What a block and a unit of work are. */
static void choose_blocks(bsm_cpu_ew *e, int threads) {
  const bsm_cpu_space *s = &e->space;
  const int64_t row = s->dims[s->rank - 1];
  e->block_rows =
      s->rank > 1 && row > 0 && row < SHORT_ROW ? BSM_CPU_EW_BLOCK / row : 0;
  const int64_t block = e->block_rows ? e->block_rows * row : BSM_CPU_EW_BLOCK;
  e->unit = threads > 1 && s->count < 4 * BSM_CPU_EW_BLOCK * UNIT_BLOCKS *
                                          (int64_t)threads
                ? block * 4
                : block * UNIT_BLOCKS;
  e->in_place = bsm_cpu_ew_rows_touch(e, 0) &&
                (e->on_grid ||
                 (e->last_writes_result && e->result_dtype == e->out_dtype &&
                  (e->narrows || bsm_cpu_is_held_as_is(e->out_dtype))));
}

/* Whether bytes side by side become such bytes by a program that takes long. */
static bool wants_table(const bsm_cpu_ew *e) {
  const int32_t last = e->space.rank - 1;
  int32_t cost = 0;
  if (e->inputs != 1 || !bsm_cpu_ew_is_byte(e->dtypes[0]) ||
      !bsm_cpu_ew_is_byte(e->out_dtype) || e->space.strides[0][last] != 1 ||
      e->space.strides[1][last] != 1) {
    return false;
  }
  for (int32_t i = 0; i < e->count; i++) {
    const bsm_cpu_ew_instruction *in = &e->program[i];
    if (in->op.kind == BSM_STEP_EW_CONSTANT) continue;
    if (in->divides) return false; /* a table tells nothing of zeros */
    const bool is_short =
        in->narrow || (in->compute == BSM_CPU_F32 &&
                       (in->op.kind == BSM_STEP_EW_SELECT || in->exact ||
                        (in->op.kind == BSM_STEP_EW_BINARY &&
                         in->op.code != BSM_ELEMENT_WISE_POW)));
    cost += is_short ? 1 : LONG_COST;
  }
  return cost >= TABLE_COST;
}

/* By the program itself, so that results are the same. */
static bsm_status make_table(const bsm_cpu_prepare *p, bsm_cpu_ew *e) {
  bsm_arena arena;
  uint8_t *table = BSM_NEW_ARRAY(p->arena, uint8_t, BSM_CPU_EW_TABLE);
  bsm_arena_init_like(&arena, p->arena);
  const size_t buffers = (size_t)e->registers + 4;
  bsm_cpu_ew_work w = {
      .e = e,
      .scratch = bsm_arena_alloc(
          &arena, buffers * sizeof(int64_t[BSM_CPU_EW_BLOCK]), BSM_ALIGNMENT)};
  if (table && w.scratch) bsm_cpu_ew_fill_table(&w, table);
  const bool made = table && w.scratch;
  bsm_arena_destroy(&arena);
  e->table = table;
  return made ? BSM_OK : BSM_FAIL_OOM();
}

/* Whether all that is done is to put an input's floats on the grid. */
static bool is_quantize(const bsm_cpu_ew *e) {
  const int32_t last = e->space.rank - 1;
  return e->on_grid && e->inputs == 1 && e->result == 0 && e->count == 0 &&
         e->dtypes[0] == BSM_DTYPE_FLOAT && e->space.strides[0][last] == 1 &&
         e->space.strides[1][last] == 1;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  bsm_cpu_ew *e = BSM_NEW(p->arena, bsm_cpu_ew);
  BSM_TRY_ALLOC(e);
  const bsm_plan_tensor *tensors[1 + BSM_EW_MAX_INPUTS];
  e->base.elements = bsm_cpu_elements_of(p->isa);
  e->base.slots = p->threads;
  e->math = bsm_k_math_select(p->isa);
  e->inputs = p->step->input_count;
  tensors[0] = bsm_step_output(p->plan, p->step, 0);
  e->out_dtype = tensors[0]->dtype;
  for (uint32_t i = 0; i < e->inputs; i++) {
    tensors[1 + i] = bsm_step_input(p->plan, p->step, i);
    e->dtypes[i] = tensors[1 + i]->dtype;
  }
  e->bytes = bsm_k_int8_select(p->isa);
  bsm_cpu_space_init(&e->space, tensors, 1 + (int)e->inputs);
  bsm_cpu_ew_read_program(p, e);
  choose_blocks(e, p->threads);
  e->is_affine = bsm_cpu_affine_find(p, &e->space, &e->affine);
  if (wants_table(e)) BSM_TRY(make_table(p, e));
  e->base.description = bsm_arena_printf(p->arena, "%s %s",
                                         e->is_affine       ? "affine"
                                         : is_quantize(e)   ? "quantize"
                                         : e->table != NULL ? "table"
                                                            : "blocks",
                                         e->math->name);
  BSM_TRY_ALLOC(e->base.description);
  out->impl = e;
  /* Registers, a spare one and three converted operands. */
  return bsm_cpu_set_scratch(
      out, 0, (uint64_t)(e->registers + 4) * BSM_CPU_EW_BLOCK * sizeof(int64_t),
      e->base.slots);
}

/* ---- run ---- */

static void affine_unit(void *arg, int64_t index, int slot) {
  const bsm_cpu_ew_work *w = arg;
  const bsm_cpu_ew *e = w->e;
  char *addresses[1 + BSM_EW_MAX_INPUTS] = {w->output};
  (void)slot;
  for (uint32_t i = 0; i < e->inputs; i++) {
    addresses[1 + i] = (char *)(uintptr_t)w->inputs[i];
  }
  const int64_t first = index * e->unit;
  bsm_cpu_affine_run(&e->affine, &e->space, addresses, first,
                     bsm_cpu_min(first + e->unit, e->space.count));
}

/* Rows of one input by a table, or by what quantizes it. */
static void rows_unit(void *arg, int64_t index, int slot) {
  const bsm_cpu_ew_work *w = arg;
  const bsm_cpu_ew *e = w->e;
  const float *floats = (const float *)(const void *)w->inputs[0];
  const int64_t first = index * e->unit;
  const int64_t end = bsm_cpu_min(first + e->unit, e->space.count);
  bsm_cpu_cursor c;
  (void)slot;
  bsm_cpu_seek(&e->space, first, &c);
  for (int64_t i = first, n; i < end; i += n) {
    uint8_t *y = (uint8_t *)w->output + c.offset[0];
    n = bsm_cpu_min(bsm_cpu_row_left(&e->space, &c), end - i);
    if (e->table) {
      e->bytes->look_up((const uint8_t *)w->inputs[0] + c.offset[1], n,
                        e->table, y);
    } else {
      e->bytes->quantize(floats + c.offset[1], n, &e->quantize.grid, y);
    }
    bsm_cpu_advance(&e->space, &c, n);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const bsm_cpu_ew *e = prepared->impl;
  atomic_bool by_zero = false;
  bsm_cpu_ew_work w = {
      .e = e,
      .output = bsm_cpu_output_address(prepared, r, 0),
      .scratch = r->scratch,
      .slot_size = prepared->scratch_size / (size_t)e->base.slots,
      .by_zero = &by_zero};
  for (uint32_t i = 0; i < e->inputs; i++) {
    w.inputs[i] = bsm_cpu_input_address(prepared, r, i);
  }
  bsm_cpu_parallel(r, e->base.slots, bsm_cpu_div_up(e->space.count, e->unit),
                   e->is_affine                 ? affine_unit
                   : e->table || is_quantize(e) ? rows_unit
                                                : bsm_cpu_ew_run_unit,
                   &w);
  return by_zero ? BSM_FAIL(BSM_INVALID_ARGUMENT, "ZeroDivisionError") : BSM_OK;
}

const bsm_cpu_kind bsm_cpu_ELEMENT_WISE = {bsm_check_element_wise, NULL,
                                           prepare, run};
