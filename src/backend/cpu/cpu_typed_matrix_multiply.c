/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix multiplication of double, int32 and int64. The shapes, the batch and
 * the strides are those of cpu_matrix_multiply.c; there is no residual, and
 * only double has a scale. */
#include <string.h>

#include "backend/cpu/cpu_matrix_shapes.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/cpu_typed_gemm.h"

typedef struct matrix_multiply {
  bsm_cpu_impl base;
  bool per_matrix; /* each task packs the B of its matrix */
  bsm_cpu_matrix_shapes shapes;
  bsm_cpu_typed_gemm gemm;
  const uint8_t *b, *bias;
  uint64_t packed_size; /* of a B that is computed at run time */
} matrix_multiply;

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_matrix_multiply *p = &step->params->matrix_multiply;
  const bsm_dtype dtype = bsm_step_output(plan, step, 0)->dtype;
  BSM_TRY(bsm_cpu_typed_check_epilogue(&p->epilogue));
  if (!(p->scale >= 1 && p->scale <= 1)) {
    return BSM_FAIL(BSM_CORRUPT, "a scale of %g that only float32 has",
                    p->scale);
  }
  return bsm_cpu_check_matrices(plan, step, dtype);
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  matrix_multiply *m = BSM_NEW(p->arena, matrix_multiply);
  BSM_TRY_ALLOC(m);
  m->base.slots = p->threads;
  bsm_cpu_matrix_shapes_init(&m->shapes, p->plan, p->step);
  const bsm_cpu_matrix_shapes *s = &m->shapes;
  if (s->constant_b) m->b = bsm_cpu_weights(p, 0);
  m->bias = bsm_cpu_weights(p, 1);
  bsm_cpu_typed_gemm *g = &m->gemm;
  g->dtype = bsm_step_output(p->plan, p->step, 0)->dtype;
  bsm_k_typed type = BSM_K_TYPED_F64;
  bsm_cpu_typed_of(g->dtype, &type);
  g->kernels = &bsm_k_typed_gemm_select(p->isa)->of[type];
  g->rows = s->rows;
  g->columns = s->n;
  g->k = s->k;
  m->per_matrix = !s->constant_b && s->batch >= 2 * (int64_t)p->threads;
  bsm_cpu_typed_gemm_plan(g, m->per_matrix ? 1 : p->threads, s->batch);
  if (!s->constant_b) {
    m->packed_size = bsm_cpu_align(
        (uint64_t)s->k * (uint64_t)bsm_cpu_round_up(s->n, BSM_PANEL) * g->size);
  }
  m->base.description = bsm_arena_printf(p->arena, "gemm %s", g->kernels->name);
  BSM_TRY_ALLOC(m->base.description);
  out->impl = m;
  return bsm_cpu_set_scratch(
      out, m->per_matrix ? 0 : m->packed_size,
      bsm_cpu_typed_gemm_scratch(g) + (m->per_matrix ? m->packed_size : 0),
      m->base.slots);
}

/* ---- run ---- */

typedef struct work {
  const matrix_multiply *m;
  const uint8_t *a, *b; /* of the matrix, or of the first one */
  uint8_t *c, *packed, *scratch;
  size_t slot_size;
} work;

static void pack_rows(const void *self, int64_t row, int64_t count, int64_t k,
                      int64_t length, void *to, int64_t stride) {
  const work *w = self;
  const bsm_cpu_matrix_shapes *s = &w->m->shapes;
  const size_t size = w->m->gemm.size;
  for (int64_t i = 0; i < count; i++) {
    int64_t offset;
    bsm_cpu_rows_offsets(&s->a_rows, row + i, 1, &offset);
    bsm_cpu_typed_gather(size, w->a + (size_t)(offset + k * s->a_k) * size,
                         s->a_k, length,
                         (uint8_t *)to + (size_t)(i * stride) * size);
  }
}

/* Panel `panel` of B: [k][16], zeros behind the last column. */
static void pack_panel(const work *w, int64_t panel, uint8_t *packed) {
  const bsm_cpu_matrix_shapes *s = &w->m->shapes;
  const size_t size = w->m->gemm.size;
  const int64_t column = panel * BSM_PANEL;
  const int64_t n = bsm_cpu_min(BSM_PANEL, s->n - column);
  uint8_t *to = packed + (size_t)(panel * s->k * BSM_PANEL) * size;
  const uint8_t *from = w->b + (size_t)(column * s->b_n) * size;
  for (int64_t i = 0; i < s->k; i++) {
    bsm_cpu_typed_gather(size, from, s->b_n, n, to);
    memset(to + (size_t)n * size, 0, (size_t)(BSM_PANEL - n) * size);
    from += (size_t)s->b_k * size;
    to += BSM_PANEL * size;
  }
}

static bsm_cpu_typed_operands operands(const work *w, const uint8_t *b) {
  return (bsm_cpu_typed_operands){.source = w,
                                  .pack = pack_rows,
                                  .b = b,
                                  .bias = w->m->bias,
                                  .c = w->c,
                                  .c_rows = &w->m->shapes.c_rows};
}

static void select_matrix(work *w, int64_t index) {
  const bsm_cpu_matrix_shapes *s = &w->m->shapes;
  const size_t size = w->m->gemm.size;
  int64_t offset;
  bsm_cpu_rows_offsets(&s->a_batch, index, 1, &offset);
  w->a += (size_t)offset * size;
  if (w->b) {
    bsm_cpu_rows_offsets(&s->b_batch, index, 1, &offset);
    w->b += (size_t)offset * size;
  }
  bsm_cpu_rows_offsets(&s->c_batch, index, 1, &offset);
  w->c += (size_t)offset * size;
}

static void product_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const bsm_cpu_typed_operands o =
      operands(w, w->m->shapes.constant_b ? w->m->b : w->packed);
  bsm_cpu_typed_gemm_run(&w->m->gemm, &o, unit,
                         w->scratch + (size_t)slot * w->slot_size);
}

static void pack_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  (void)slot;
  pack_panel(w, unit, w->packed);
}

static void matrix_unit(void *arg, int64_t unit, int slot) {
  work w = *(const work *)arg;
  const matrix_multiply *m = w.m;
  uint8_t *packed = w.scratch + (size_t)slot * w.slot_size;
  select_matrix(&w, unit);
  const int64_t panels = bsm_cpu_div_up(m->shapes.n, BSM_PANEL);
  for (int64_t i = 0; i < panels; i++) pack_panel(&w, i, packed);
  const bsm_cpu_typed_operands o = operands(&w, packed);
  const int64_t units = bsm_cpu_typed_gemm_units(&m->gemm);
  for (int64_t i = 0; i < units; i++) {
    bsm_cpu_typed_gemm_run(&m->gemm, &o, i, packed + m->packed_size);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const matrix_multiply *m = prepared->impl;
  const uint64_t shared = m->per_matrix ? 0 : m->packed_size;
  work w = {.m = m,
            .a = bsm_cpu_input_address(prepared, r, 0),
            .c = bsm_cpu_output_address(prepared, r, 0),
            .packed = r->scratch,
            .scratch = r->scratch + shared,
            .slot_size = (prepared->scratch_size - (size_t)shared) /
                         (size_t)m->base.slots};
  if (!m->shapes.constant_b) w.b = bsm_cpu_input_address(prepared, r, 1);
  if (m->per_matrix) {
    bsm_cpu_parallel(r, m->base.slots, m->shapes.batch, matrix_unit, &w);
    return BSM_OK;
  }
  const int64_t units = bsm_cpu_typed_gemm_units(&m->gemm);
  /* B may have no elements either, when its batch has none. */
  if (units == 0) return BSM_OK;
  for (int64_t i = 0; i < m->shapes.batch; i++) {
    work one = w;
    select_matrix(&one, i);
    if (!m->shapes.constant_b) {
      bsm_cpu_parallel(r, m->base.slots, bsm_cpu_div_up(m->shapes.n, BSM_PANEL),
                       pack_unit, &one);
    }
    bsm_cpu_parallel(r, m->base.slots, units, product_unit, &one);
  }
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_typed_matrix_multiply = {check, NULL, prepare, run};
