/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix multiplication by a constant matrix of few bits (cpu_forms.h).
 *
 * With few rows the kernels make floats of the numbers where they multiply
 * them, so that the matrix is read once, and a fraction of the bytes. With more
 * rows a block of columns becomes floats in scratch memory, which the kernels
 * of float then multiply with all rows: that costs as much as some rows do. */
#include "backend/cpu/cpu_gemm.h"
#include "backend/cpu/cpu_matrix_shapes.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/kernels/few_bits/few_bits_f32.h"

/* Rows that are multiplied with the numbers as they are: from here on a matrix
 * of floats, which stays in the second-level cache, takes less time. */
#define MAX_FEW 8
/* Columns of a unit. */
#define FEW_COLUMNS 64
#define WIDE_COLUMNS 32

typedef struct few_bits_multiply {
  bsm_cpu_impl base;
  bsm_cpu_matrix_shapes s;
  bsm_cpu_few_bits_form form;
  const bsm_k_rows *rows;
  bsm_cpu_gemm gemm; /* its columns are those of a unit when there are many rows
                      */
  const bsm_k_few_bits *kernels;
  const uint8_t *b;
  const float *bias;
  bool few;
  int64_t columns; /* of a unit */
  uint64_t front;  /* bytes of scratch for the sums, or the floats of B */
} few_bits_multiply;

/* ---- check ---- */

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  bsm_cpu_few_bits_form form;
  BSM_TRY(bsm_check_matrices(plan, step, BSM_DTYPE_FLOAT));
  BSM_TRY(bsm_cpu_few_bits_form_of(&step->params->matrix_multiply, &form));
  return bsm_check_weights(plan, step, 0, form.size);
}

/* ---- prepare ---- */

/* As many columns as there is work for all threads with. */
static int64_t choose_columns(const few_bits_multiply *m, int threads) {
  int64_t columns = m->few ? FEW_COLUMNS : WIDE_COLUMNS;
  while (columns > BSM_PANEL && threads > 1 &&
         bsm_cpu_div_up(m->s.n, columns) < 4 * (int64_t)threads) {
    columns /= 2;
  }
  return columns;
}

static void plan_gemm(const bsm_cpu_prepare *p, few_bits_multiply *m) {
  const bsm_step_matrix_multiply *params = &p->step->params->matrix_multiply;
  bsm_cpu_gemm *g = &m->gemm;
  m->rows = bsm_k_rows_select(p->isa);
  *g = (bsm_cpu_gemm){.kernels = bsm_k_gemm_select(p->isa),
                      .scale = (float)params->scale,
                      .rows = m->s.rows,
                      .columns = m->columns,
                      .taps = 1,
                      .kc = m->s.k,
                      .streams = m->s.a_k == 1};
  g->epilogue =
      bsm_cpu_make_epilogue(&params->epilogue, bsm_k_math_select(p->isa));
  g->packs = (m->s.a_k != 1 && m->s.k > 1) ||
             (g->rows > BSM_K_GEMM_MAX_THIN && m->s.n >= 64 &&
              bsm_cpu_matrix_rows_collide(&m->s));
  bsm_cpu_gemm_plan(g, 1, 1);
  g->column_block = m->columns;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  few_bits_multiply *m = BSM_NEW(p->arena, few_bits_multiply);
  BSM_TRY_ALLOC(m);
  m->base.slots = p->threads;
  bsm_cpu_matrix_shapes_init(&m->s, p->plan, p->step);
  BSM_TRY(
      bsm_cpu_few_bits_form_of(&p->step->params->matrix_multiply, &m->form));
  m->kernels = bsm_k_few_bits_select(p->isa);
  m->b = bsm_cpu_weights(p, 0);
  m->bias = bsm_cpu_weights(p, 1);
  m->few = m->s.rows <= MAX_FEW;
  m->columns = choose_columns(m, p->threads);
  plan_gemm(p, m);
  m->base.description = bsm_arena_printf(
      p->arena, "%s %s, weights of %d bits", m->few ? "gemv" : "widened gemm",
      m->few ? m->kernels->name : m->gemm.kernels->name, (int)m->form.bits);
  BSM_TRY_ALLOC(m->base.description);
  const int64_t k = m->s.k;
  const int64_t floats =
      !m->few ? k * m->columns
              : m->s.rows * m->columns + (m->gemm.packs ? m->s.rows * k : 0);
  m->front = bsm_cpu_align((uint64_t)floats * sizeof(float));
  out->impl = m;
  return bsm_cpu_set_scratch(
      out, 0, m->front + (m->few ? 0 : bsm_cpu_gemm_scratch(&m->gemm)),
      m->base.slots);
}

/* ---- run ---- */

typedef struct work {
  const few_bits_multiply *m;
  bsm_cpu_matrix_source source;
  const float *residual;
  float *c;
  uint8_t *scratch;
  size_t slot_size;
} work;

static bsm_k_few_bits_panel panel_at(const few_bits_multiply *m,
                                     int64_t column) {
  const uint8_t *codes = m->b + (uint64_t)(column / BSM_PANEL) * m->form.panel;
  return (bsm_k_few_bits_panel){.codes = codes,
                                .scales = codes + m->form.codes,
                                .k = m->s.k,
                                .group = m->form.group};
}

/* The operands for the columns from `column` on. */
static bsm_cpu_gemm_operands operands(const work *w, const float *b,
                                      int64_t column) {
  const few_bits_multiply *m = w->m;
  return (bsm_cpu_gemm_operands){
      .source = &w->source,
      .pointers = bsm_cpu_matrix_pointers,
      .pack = bsm_cpu_matrix_pack,
      .b = b,
      .b_panel = m->s.k * BSM_PANEL,
      .bias = m->bias ? m->bias + column : NULL,
      .c = w->c + column,
      .c_rows = &m->s.c_rows,
      .residual = w->residual ? w->residual + column : NULL,
      .residual_rows = &m->s.residual_rows};
}

/* The rows of A from `row` on, copied where K is not side by side. */
static void find_rows(const work *w, int64_t row, int64_t rows, float *copy,
                      const float **a) {
  const few_bits_multiply *m = w->m;
  if (!m->gemm.packs) {
    bsm_cpu_matrix_pointers(&w->source, row, (int)rows, 0, 1, a);
    return;
  }
  bsm_cpu_matrix_pack(&w->source, row, (int)rows, 0, m->s.k, copy, m->s.k);
  for (int64_t i = 0; i < rows; i++) a[i] = copy + i * m->s.k;
}

static void few_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const few_bits_multiply *m = w->m;
  const int64_t column = unit * m->columns;
  const int64_t columns = bsm_cpu_min(m->columns, m->s.n - column);
  float *sums = (float *)(void *)(w->scratch + (size_t)slot * w->slot_size);
  const float *a[MAX_FEW];
  find_rows(w, 0, m->s.rows, sums + m->s.rows * m->columns, a);
  for (int64_t j = 0; j < columns; j += BSM_PANEL) {
    bsm_k_few_bits_product t = {.b = panel_at(m, column + j),
                                .stride = m->columns};
    for (int64_t row = 0; row < m->s.rows; row += BSM_K_FEW_BITS_MAX_ROWS) {
      t.a = a + row;
      t.rows = bsm_cpu_min(BSM_K_FEW_BITS_MAX_ROWS, m->s.rows - row);
      t.sums = sums + row * m->columns + j;
      (m->form.bits == 8 ? m->kernels->multiply_8 : m->kernels->multiply_4)(&t);
    }
  }
  const bsm_cpu_gemm_operands o = operands(w, NULL, column);
  bsm_cpu_gemm g = m->gemm;
  g.packs = false;
  bsm_cpu_gemm_finish(&g, &o, 0, m->s.rows, 0, columns, sums);
}

static void wide_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const few_bits_multiply *m = w->m;
  const int64_t column = unit * m->columns;
  uint8_t *scratch = w->scratch + (size_t)slot * w->slot_size;
  float *b = (float *)(void *)scratch;
  bsm_cpu_gemm g = m->gemm;
  g.columns = bsm_cpu_min(m->columns, m->s.n - column);
  for (int64_t j = 0; j < g.columns; j += BSM_PANEL) {
    const bsm_k_few_bits_panel panel = panel_at(m, column + j);
    (m->form.bits == 8 ? m->kernels->widen_8 : m->kernels->widen_4)(
        &panel, b + j * m->s.k);
  }
  const bsm_cpu_gemm_operands o = operands(w, b, column);
  const int64_t units = bsm_cpu_gemm_units(&g);
  for (int64_t i = 0; i < units; i++) {
    bsm_cpu_gemm_run(&g, &o, i, scratch + m->front);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const few_bits_multiply *m = prepared->impl;
  work w = {.m = m,
            .source = {&m->s, bsm_cpu_input_address(prepared, r, 0), m->rows},
            .c = bsm_cpu_output_address(prepared, r, 0),
            .scratch = r->scratch,
            .slot_size = prepared->scratch_size / (size_t)m->base.slots};
  if (m->s.has_residual) w.residual = bsm_cpu_input_address(prepared, r, 1);
  if (m->s.rows == 0) return BSM_OK;
  bsm_cpu_parallel(r, m->base.slots, bsm_cpu_div_up(m->s.n, m->columns),
                   m->few ? few_unit : wide_unit, &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_few_bits_matrix_multiply = {check, NULL, prepare,
                                                       run};
