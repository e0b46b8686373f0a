/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix multiplication, batched.
 *
 * When B is the same for the whole batch (constant weights, or broadcast), the
 * rows of all matrices A form one tall product. Otherwise each matrix is a
 * product of its own. A matrix B that is computed at run time is packed first:
 * by the thread that multiplies when there are many matrices (`per_matrix`),
 * else by all threads into shared memory (`shared`). */
#include <string.h>

#include "backend/cpu/cpu_gemm.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/kernels/rows/rows.h"

/* Rows of B that one task packs at least. */
#define PACK_ELEMENTS 16384

typedef enum mode { CONSTANT, PER_MATRIX, SHARED } mode;

typedef struct matrix_multiply {
  bsm_cpu_impl base;
  mode mode;
  bool constant_b, has_residual;
  int64_t batch, k, n;
  int64_t a_k, b_k, b_n; /* strides */
  /* Offsets of the matrices of the batch; one matrix when merged. */
  bsm_cpu_rows a_batch, b_batch, c_batch, residual_batch;
  bsm_cpu_rows a_rows, c_rows, residual_rows;
  bsm_cpu_gemm gemm;
  const bsm_k_rows *rows;
  const float *b, *bias;
  uint64_t shared_size, packed_size;
} matrix_multiply;

/* ---- check ---- */

/* Batch dimension i (of the output's) of t. */
static int64_t batch_size(const bsm_plan_tensor *t, int32_t rank, int32_t i) {
  const int32_t j = i - (rank - t->dims.rank);
  return j < 0 ? 1 : t->dims.d[j];
}

static int64_t batch_stride(const bsm_plan_tensor *t, int32_t rank, int32_t i) {
  const int32_t j = i - (rank - t->dims.rank);
  return j < 0 || t->dims.d[j] == 1 ? 0 : t->strides[j];
}

static bsm_status check_operand(const bsm_plan_tensor *t,
                                const bsm_plan_tensor *c, int64_t rows,
                                int64_t columns, const char *what) {
  BSM_TRY(bsm_cpu_check_dtype(t, BSM_DTYPE_FLOAT, what));
  const int32_t r = t->dims.rank;
  bool ok = r >= 2 && r <= c->dims.rank && t->dims.d[r - 2] == rows &&
            t->dims.d[r - 1] == columns;
  for (int32_t i = 0; ok && i < c->dims.rank - 2; i++) {
    const int64_t d = batch_size(t, c->dims.rank, i);
    ok = d == 1 || d == c->dims.d[i];
  }
  if (!ok) {
    return BSM_FAIL(BSM_CORRUPT, "%s is %s, the output %s", what,
                    bsm_dims_str(t->dims), bsm_dims_str(c->dims));
  }
  return BSM_OK;
}

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_matrix_multiply *p = &step->params->matrix_multiply;
  const bool has_residual = p->epilogue.has_residual != 0;
  BSM_TRY(bsm_cpu_check_counts(
      step, 1u + (p->constant_b ? 0u : 1u) + (has_residual ? 1u : 0u), 1));
  BSM_TRY(bsm_cpu_check_epilogue(&p->epilogue));
  const bsm_plan_tensor *a = bsm_cpu_input(plan, step, 0);
  const bsm_plan_tensor *c = bsm_cpu_output(plan, step, 0);
  BSM_TRY(bsm_cpu_check_dtype(c, BSM_DTYPE_FLOAT, "output"));
  const int32_t rank = c->dims.rank;
  if (rank < 2 || a->dims.rank < 2) {
    return BSM_FAIL(BSM_CORRUPT, "ranks %d and %d", a->dims.rank, rank);
  }
  const int64_t m = c->dims.d[rank - 2], n = c->dims.d[rank - 1];
  const int64_t k = a->dims.d[a->dims.rank - 1];
  if (n > 1 && c->strides[rank - 1] != 1) {
    return BSM_FAIL(BSM_CORRUPT, "the columns of the output are not adjacent");
  }
  BSM_TRY(check_operand(a, c, m, k, "the first matrix"));
  if (p->constant_b) {
    uint64_t size;
    if (p->k != k || p->n != n) {
      return BSM_FAIL(BSM_CORRUPT, "%lld x %lld weights for %s",
                      (long long)p->k, (long long)p->n, bsm_dims_str(a->dims));
    }
    BSM_TRY(bsm_cpu_packed_matrix_size(k, n, &size));
    BSM_TRY(bsm_cpu_check_weights(plan, step, 0, size));
  } else {
    BSM_TRY(check_operand(bsm_cpu_input(plan, step, 1), c, k, n,
                          "the second matrix"));
  }
  if (step->weights[1] != BSM_NO_WEIGHTS) {
    BSM_TRY(bsm_cpu_check_weights(plan, step, 1, (uint64_t)n * sizeof(float)));
  }
  if (has_residual) {
    const bsm_plan_tensor *r = bsm_cpu_input(plan, step, step->input_count - 1);
    BSM_TRY(check_operand(r, c, m, n, "the residual"));
    if (n > 1 && r->strides[r->dims.rank - 1] != 1) {
      return BSM_FAIL(BSM_CORRUPT,
                      "the columns of the residual are not adjacent");
    }
  }
  return BSM_OK;
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

/* Batch offsets and row offsets of one operand; with `merge` all rows of the
 * batch are rows of one matrix. */
static void split_rows(const bsm_plan_tensor *t, const bsm_plan_tensor *c,
                       bool merge, bsm_cpu_rows *batch, bsm_cpu_rows *rows) {
  const int32_t rank = c->dims.rank;
  int64_t strides[BSM_MAX_RANK];
  for (int32_t i = 0; i < rank - 2; i++) strides[i] = batch_stride(t, rank, i);
  strides[rank - 2] = t->strides[t->dims.rank - 2];
  if (merge) {
    bsm_cpu_rows_init(batch, 0, NULL, NULL);
    bsm_cpu_rows_init(rows, rank - 1, c->dims.d, strides);
  } else {
    bsm_cpu_rows_init(batch, rank - 2, c->dims.d, strides);
    bsm_cpu_rows_init(rows, 1, &c->dims.d[rank - 2], &strides[rank - 2]);
  }
}

static bool same_for_batch(const bsm_plan_tensor *b, const bsm_plan_tensor *c) {
  for (int32_t i = 0; i < c->dims.rank - 2; i++) {
    if (c->dims.d[i] > 1 && batch_stride(b, c->dims.rank, i) != 0) return false;
  }
  return true;
}

static bool rows_collide(const bsm_cpu_rows *rows, int64_t k) {
  const int64_t stride = rows->strides[rows->rank - 1];
  return k >= 256 && stride != 0 && stride % 512 == 0;
}

static void set_shapes(const bsm_cpu_prepare *p, matrix_multiply *m) {
  const bsm_plan_tensor *a = bsm_cpu_input(p->plan, p->step, 0);
  const bsm_plan_tensor *c = bsm_cpu_output(p->plan, p->step, 0);
  const int32_t rank = c->dims.rank;
  bool merge = true;
  m->k = a->dims.d[a->dims.rank - 1];
  m->n = c->dims.d[rank - 1];
  m->a_k = a->strides[a->dims.rank - 1];
  if (!m->constant_b) {
    const bsm_plan_tensor *b = bsm_cpu_input(p->plan, p->step, 1);
    merge = same_for_batch(b, c);
    split_rows(b, c, merge, &m->b_batch, &(bsm_cpu_rows){0});
    m->b_k = b->strides[b->dims.rank - 2];
    m->b_n = b->strides[b->dims.rank - 1];
  }
  split_rows(a, c, merge, &m->a_batch, &m->a_rows);
  split_rows(c, c, merge, &m->c_batch, &m->c_rows);
  if (m->has_residual) {
    split_rows(bsm_cpu_input(p->plan, p->step, p->step->input_count - 1), c,
               merge, &m->residual_batch, &m->residual_rows);
  }
  m->batch = 1;
  m->gemm.rows = c->dims.d[rank - 2];
  for (int32_t i = 0; i < rank - 2; i++) {
    *(merge ? &m->gemm.rows : &m->batch) *= c->dims.d[i];
  }
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_matrix_multiply *params = &p->step->params->matrix_multiply;
  matrix_multiply *m = BSM_NEW(p->arena, matrix_multiply);
  BSM_TRY_ALLOC(m);
  m->base.slots = p->threads;
  m->constant_b = params->constant_b != 0;
  m->has_residual = params->epilogue.has_residual != 0;
  m->rows = bsm_k_rows_select(p->isa);
  if (m->constant_b) m->b = bsm_cpu_weights(p->plan, p->step, 0);
  m->bias = bsm_cpu_weights(p->plan, p->step, 1);
  set_shapes(p, m);
  bsm_cpu_gemm *g = &m->gemm;
  g->kernels = bsm_k_gemm_select(p->isa);
  g->epilogue =
      bsm_cpu_make_epilogue(&params->epilogue, bsm_k_math_select(p->isa));
  g->scale = (float)params->scale;
  g->columns = m->n;
  g->taps = 1;
  g->kc = m->k;
  g->packs = (m->a_k != 1 && m->k > 1) ||
             (g->rows > BSM_K_GEMM_MAX_THIN && m->n >= 64 &&
              rows_collide(&m->a_rows, m->k));
  m->mode = m->constant_b ? CONSTANT
            : p->threads == 1 || m->batch >= 2 * (int64_t)p->threads
                ? PER_MATRIX
                : SHARED;
  bsm_cpu_gemm_plan(g, m->mode == PER_MATRIX ? 1 : p->threads, m->batch);
  m->packed_size =
      m->constant_b
          ? 0
          : bsm_cpu_align((uint64_t)m->k *
                          (uint64_t)bsm_cpu_round_up(m->n, BSM_PANEL) *
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
  const float *a, *b, *residual; /* of the matrix, or of the first one */
  float *c;
  float *packed; /* mode SHARED */
  uint8_t *scratch;
  size_t slot_size;
} work;

static void row_pointers(const void *self, int64_t row, int count, int64_t tap,
                         int64_t taps, const float **a) {
  const work *w = self;
  int64_t offsets[BSM_K_GEMM_MAX_ROWS];
  (void)tap;
  (void)taps;
  bsm_cpu_rows_offsets(&w->m->a_rows, row, count, offsets);
  for (int i = 0; i < count; i++) a[i] = w->a + offsets[i];
}

static void row_pack(const void *self, int64_t row, int count, int64_t k,
                     int64_t length, float *to, int64_t stride) {
  const work *w = self;
  const int64_t step = w->m->a_k;
  const float *a[BSM_K_GEMM_MAX_ROWS];
  row_pointers(self, row, count, 0, 1, a);
  for (int i = 0; i < count; i++) {
    const float *from = a[i] + k * step;
    float *row_to = to + i * stride;
    if (step == 1) {
      memcpy(row_to, from, (size_t)length * sizeof(float));
    } else {
      for (int64_t j = 0; j < length; j++) row_to[j] = from[j * step];
    }
  }
}

/* Packs panels [first, first + count) of B. */
static void pack_b(const matrix_multiply *m, const float *b, int64_t first,
                   int64_t count, float *to) {
  for (int64_t i = first; i < first + count; i++) {
    const int64_t column = i * BSM_PANEL;
    m->rows->pack_panel(b + column * m->b_n, m->k,
                        bsm_cpu_min(BSM_PANEL, m->n - column), m->b_k, m->b_n,
                        to + i * m->k * BSM_PANEL);
  }
}

static bsm_cpu_gemm_operands operands(const work *w, const float *b) {
  const matrix_multiply *m = w->m;
  return (bsm_cpu_gemm_operands){.source = w,
                                 .pointers = row_pointers,
                                 .pack = row_pack,
                                 .b = b,
                                 .b_tap = 0,
                                 .b_panel = m->k * BSM_PANEL,
                                 .bias = m->bias,
                                 .c = w->c,
                                 .c_rows = &m->c_rows,
                                 .residual = w->residual,
                                 .residual_rows = &m->residual_rows};
}

static void select_matrix(work *w, int64_t index) {
  const matrix_multiply *m = w->m;
  int64_t offset;
  bsm_cpu_rows_offsets(&m->a_batch, index, 1, &offset);
  w->a += offset;
  bsm_cpu_rows_offsets(&m->b_batch, index, 1, &offset);
  w->b += offset;
  bsm_cpu_rows_offsets(&m->c_batch, index, 1, &offset);
  w->c += offset;
  if (w->residual) {
    bsm_cpu_rows_offsets(&m->residual_batch, index, 1, &offset);
    w->residual += offset;
  }
}

static void product_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const bsm_cpu_gemm_operands o =
      operands(w, w->m->mode == CONSTANT ? w->m->b : w->packed);
  bsm_cpu_gemm_run(&w->m->gemm, &o, unit,
                   w->scratch + (size_t)slot * w->slot_size);
}

static void matrix_unit(void *arg, int64_t unit, int slot) {
  work w = *(const work *)arg;
  const matrix_multiply *m = w.m;
  uint8_t *scratch = w.scratch + (size_t)slot * w.slot_size;
  float *packed = (float *)(void *)scratch;
  select_matrix(&w, unit);
  pack_b(m, w.b, 0, bsm_cpu_div_up(m->n, BSM_PANEL), packed);
  const bsm_cpu_gemm_operands o = operands(&w, packed);
  const int64_t units = bsm_cpu_gemm_units(&m->gemm);
  for (int64_t i = 0; i < units; i++) {
    bsm_cpu_gemm_run(&m->gemm, &o, i, scratch + m->packed_size);
  }
}

static int64_t panels_of_task(const matrix_multiply *m) {
  return bsm_cpu_max(1,
                     PACK_ELEMENTS / bsm_cpu_max(1, m->k * (int64_t)BSM_PANEL));
}

static void pack_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const int64_t step = panels_of_task(w->m);
  const int64_t first = unit * step;
  const int64_t panels = bsm_cpu_div_up(w->m->n, BSM_PANEL);
  (void)slot;
  pack_b(w->m, w->b, first, bsm_cpu_min(step, panels - first), w->packed);
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const matrix_multiply *m = prepared->impl;
  work w = {.m = m,
            .a = bsm_cpu_input_address(prepared, r, 0),
            .c = bsm_cpu_output_address(prepared, r, 0),
            .packed = (float *)(void *)r->scratch,
            .scratch = r->scratch + m->shared_size,
            .slot_size = (prepared->scratch_size - m->shared_size) /
                         (size_t)m->base.slots};
  if (!m->constant_b) w.b = bsm_cpu_input_address(prepared, r, 1);
  if (m->has_residual) {
    w.residual =
        bsm_cpu_input_address(prepared, r, prepared->step->input_count - 1);
  }
  const int64_t units = bsm_cpu_gemm_units(&m->gemm);
  if (m->mode == CONSTANT) {
    bsm_cpu_parallel(r, m->base.slots, units, product_unit, &w);
  } else if (m->mode == PER_MATRIX) {
    bsm_cpu_parallel(r, m->base.slots, m->batch, matrix_unit, &w);
  } else {
    const int64_t panels = bsm_cpu_div_up(m->n, BSM_PANEL);
    for (int64_t i = 0; i < m->batch; i++) {
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
