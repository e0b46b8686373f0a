/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix multiplication, batched: float here, other dtypes in
 * cpu_typed_matrix_multiply.c.
 *
 * When B is the same for the whole batch (constant weights, or broadcast), the
 * rows of all matrices A form one tall product. Otherwise each matrix is a
 * product of its own. A matrix B that is computed at run time is packed first:
 * by the thread that multiplies when there are many matrices (`per_matrix`),
 * else by all threads into shared memory (`shared`). */
#include <string.h>

#include "backend/cpu/cpu_denormals.h"
#include "backend/cpu/cpu_gemm.h"
#include "backend/cpu/cpu_matrix_shapes.h"
#include "backend/cpu/kernels/rows/rows.h"

/* Rows of B that one task packs at least. */
#define PACK_ELEMENTS 16384

typedef enum mode { CONSTANT, PER_MATRIX, SHARED } mode;

typedef struct matrix_multiply {
  bsm_cpu_impl base;
  mode mode;
  bsm_cpu_matrix_shapes s;
  bsm_cpu_gemm gemm;
  const bsm_k_rows *rows;
  const float *b, *bias;
  uint64_t shared_size, packed_size;
  bool flushes; /* denormal numbers are zeros in it */
} matrix_multiply;

/* ---- check ---- */

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  return bsm_cpu_check_matrices(plan, step, BSM_DTYPE_FLOAT);
}

static size_t tactics(const bsm_plan *plan, const bsm_plan_step *step,
                      uint32_t isa, const char **names) {
  (void)plan;
  (void)step;
  (void)isa;
  names[0] = "gemm";
  return 1;
}

/* ---- prepare ---- */

/* The rows of A are the shares of a softmax, whose sum is 1: what is denormal
 * among them is nothing beside what the others add. */
static bool multiplies_shares(const bsm_plan *plan, const bsm_plan_step *step) {
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const bsm_plan_step *s = &plan->steps[i];
    if (s->kind == BSM_STEP_SOFTMAX && s->outputs[0] == step->inputs[0]) {
      return !s->params->softmax.log;
    }
  }
  return false;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_matrix_multiply *params = &p->step->params->matrix_multiply;
  matrix_multiply *m = BSM_NEW(p->arena, matrix_multiply);
  BSM_TRY_ALLOC(m);
  m->base.slots = p->threads;
  m->rows = bsm_k_rows_select(p->isa);
  bsm_cpu_matrix_shapes_init(&m->s, p->plan, p->step);
  if (m->s.constant_b) m->b = bsm_cpu_weights(p, 0);
  m->bias = bsm_cpu_weights(p, 1);
  m->flushes = multiplies_shares(p->plan, p->step);
  bsm_cpu_gemm *g = &m->gemm;
  g->rows = m->s.rows;
  g->kernels = bsm_k_gemm_select(p->isa);
  g->epilogue =
      bsm_cpu_make_epilogue(&params->epilogue, bsm_k_math_select(p->isa));
  g->scale = (float)params->scale;
  g->columns = m->s.n;
  g->taps = 1;
  g->kc = m->s.k;
  g->streams = m->s.a_k == 1;
  g->packs = (m->s.a_k != 1 && m->s.k > 1) ||
             (g->rows > BSM_K_GEMM_MAX_THIN && m->s.n >= 64 &&
              bsm_cpu_matrix_rows_collide(&m->s));
  m->mode = m->s.constant_b ? CONSTANT
            : p->threads == 1 || m->s.batch >= 2 * (int64_t)p->threads
                ? PER_MATRIX
                : SHARED;
  bsm_cpu_gemm_plan(g, m->mode == PER_MATRIX ? 1 : p->threads, m->s.batch);
  m->packed_size =
      m->s.constant_b
          ? 0
          : bsm_cpu_align((uint64_t)m->s.k *
                          (uint64_t)bsm_cpu_round_up(m->s.n, BSM_PANEL) *
                          sizeof(float));
  m->shared_size = m->mode == SHARED ? m->packed_size : 0;
  m->base.description = bsm_arena_printf(
      p->arena, "%s %s%s", g->thin ? "gemv" : "gemm", g->kernels->name,
      m->mode == CONSTANT     ? ""
      : m->mode == PER_MATRIX ? ", packs each"
                              : ", packs");
  BSM_TRY_ALLOC(m->base.description);
  out->impl = m;
  return bsm_cpu_set_scratch(
      out, m->shared_size,
      bsm_cpu_gemm_scratch(g) + (m->mode == PER_MATRIX ? m->packed_size : 0),
      m->base.slots);
}

/* ---- run ---- */

typedef struct work {
  const matrix_multiply *m;
  bsm_cpu_matrix_source source; /* of the matrix, or of the first one */
  const float *b, *residual;
  float *c;
  float *packed; /* mode SHARED */
  uint8_t *scratch;
  size_t slot_size;
} work;

/* Packs panels [first, first + count) of B. */
static void pack_b(const matrix_multiply *m, const float *b, int64_t first,
                   int64_t count, float *to) {
  for (int64_t i = first; i < first + count; i++) {
    const int64_t column = i * BSM_PANEL;
    m->rows->pack_panel(b + column * m->s.b_n, m->s.k,
                        bsm_cpu_min(BSM_PANEL, m->s.n - column), m->s.b_k,
                        m->s.b_n, to + i * m->s.k * BSM_PANEL);
  }
}

static bsm_cpu_gemm_operands operands(const work *w, const float *b) {
  const matrix_multiply *m = w->m;
  return (bsm_cpu_gemm_operands){.source = &w->source,
                                 .pointers = bsm_cpu_matrix_pointers,
                                 .pack = bsm_cpu_matrix_pack,
                                 .b = b,
                                 .b_tap = 0,
                                 .b_panel = m->s.k * BSM_PANEL,
                                 .bias = m->bias,
                                 .c = w->c,
                                 .c_rows = &m->s.c_rows,
                                 .residual = w->residual,
                                 .residual_rows = &m->s.residual_rows};
}

static void select_matrix(work *w, int64_t index) {
  const matrix_multiply *m = w->m;
  int64_t offset;
  bsm_cpu_rows_offsets(&m->s.a_batch, index, 1, &offset);
  w->source.a += offset;
  bsm_cpu_rows_offsets(&m->s.b_batch, index, 1, &offset);
  w->b += offset;
  bsm_cpu_rows_offsets(&m->s.c_batch, index, 1, &offset);
  w->c += offset;
  if (w->residual) {
    bsm_cpu_rows_offsets(&m->s.residual_batch, index, 1, &offset);
    w->residual += offset;
  }
}

static void product_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const bsm_cpu_gemm_operands o =
      operands(w, w->m->mode == CONSTANT ? w->m->b : w->packed);
  const unsigned before = bsm_cpu_denormals_begin(w->m->flushes);
  bsm_cpu_gemm_run(&w->m->gemm, &o, unit,
                   w->scratch + (size_t)slot * w->slot_size);
  bsm_cpu_denormals_end(before);
}

static void matrix_unit(void *arg, int64_t unit, int slot) {
  work w = *(const work *)arg;
  const matrix_multiply *m = w.m;
  uint8_t *scratch = w.scratch + (size_t)slot * w.slot_size;
  float *packed = (float *)(void *)scratch;
  select_matrix(&w, unit);
  pack_b(m, w.b, 0, bsm_cpu_div_up(m->s.n, BSM_PANEL), packed);
  const bsm_cpu_gemm_operands o = operands(&w, packed);
  const int64_t units = bsm_cpu_gemm_units(&m->gemm);
  const unsigned before = bsm_cpu_denormals_begin(m->flushes);
  for (int64_t i = 0; i < units; i++) {
    bsm_cpu_gemm_run(&m->gemm, &o, i, scratch + m->packed_size);
  }
  bsm_cpu_denormals_end(before);
}

static int64_t panels_of_task(const matrix_multiply *m) {
  return bsm_cpu_max(
      1, PACK_ELEMENTS / bsm_cpu_max(1, m->s.k * (int64_t)BSM_PANEL));
}

static void pack_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const int64_t step = panels_of_task(w->m);
  const int64_t first = unit * step;
  const int64_t panels = bsm_cpu_div_up(w->m->s.n, BSM_PANEL);
  (void)slot;
  pack_b(w->m, w->b, first, bsm_cpu_min(step, panels - first), w->packed);
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const matrix_multiply *m = prepared->impl;
  work w = {.m = m,
            .source = {&m->s, bsm_cpu_input_address(prepared, r, 0), m->rows},
            .c = bsm_cpu_output_address(prepared, r, 0),
            .packed = (float *)(void *)r->scratch,
            .scratch = r->scratch + m->shared_size,
            .slot_size = (prepared->scratch_size - (size_t)m->shared_size) /
                         (size_t)m->base.slots};
  if (!m->s.constant_b) w.b = bsm_cpu_input_address(prepared, r, 1);
  if (m->s.has_residual) {
    w.residual =
        bsm_cpu_input_address(prepared, r, prepared->step->input_count - 1);
  }
  const int64_t units = bsm_cpu_gemm_units(&m->gemm);
  /* B may have no elements either, when its batch has none. */
  if (units == 0) return BSM_OK;
  if (m->mode == CONSTANT) {
    bsm_cpu_parallel(r, m->base.slots, units, product_unit, &w);
  } else if (m->mode == PER_MATRIX) {
    bsm_cpu_parallel(r, m->base.slots, m->s.batch, matrix_unit, &w);
  } else {
    const int64_t panels = bsm_cpu_div_up(m->s.n, BSM_PANEL);
    for (int64_t i = 0; i < m->s.batch; i++) {
      work one = w;
      select_matrix(&one, i);
      bsm_cpu_parallel(r, m->base.slots,
                       bsm_cpu_div_up(panels, panels_of_task(m)), pack_unit,
                       &one);
      bsm_cpu_parallel(r, m->base.slots, units, product_unit, &one);
    }
  }
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_MATRIX_MULTIPLY = {check, tactics, prepare, run};
