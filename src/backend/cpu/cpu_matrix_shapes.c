/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of matrix multiply steps, and their shapes as rows. */
#include "backend/cpu/cpu_matrix_shapes.h"

#include <string.h>

#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/kernels/gemm/gemm_f32.h"

static int64_t batch_stride(const bsm_plan_tensor *t, int32_t rank, int32_t i) {
  const int32_t j = i - (rank - t->dims.rank);
  return j < 0 || t->dims.d[j] == 1 ? 0 : t->strides[j];
}

bsm_status bsm_cpu_check_matrices(const bsm_plan *plan,
                                  const bsm_plan_step *step, bsm_dtype dtype) {
  const bsm_step_matrix_multiply *p = &step->params->matrix_multiply;
  uint64_t size;
  BSM_TRY(bsm_check_matrices(plan, step, dtype));
  if (p->form != BSM_CPU_MATRIX_PLAIN) {
    return BSM_FAIL(BSM_CORRUPT, "a matrix of %s of form %d",
                    bsm_dtype_name(dtype), (int)p->form);
  }
  if (!p->constant_b) return BSM_OK;
  BSM_TRY(
      bsm_cpu_packed_matrix_size_of(p->k, p->n, bsm_dtype_size(dtype), &size));
  return bsm_check_weights(plan, step, 0, size);
}

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

void bsm_cpu_matrix_shapes_init(bsm_cpu_matrix_shapes *m, const bsm_plan *plan,
                                const bsm_plan_step *step) {
  const bsm_step_matrix_multiply *params = &step->params->matrix_multiply;
  const bsm_plan_tensor *a = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *c = bsm_step_output(plan, step, 0);
  const int32_t rank = c->dims.rank;
  bool merge = true;
  m->constant_b = params->constant_b != 0;
  m->has_residual = params->epilogue.has_residual != 0;
  m->k = a->dims.d[a->dims.rank - 1];
  m->n = c->dims.d[rank - 1];
  m->a_k = a->strides[a->dims.rank - 1];
  if (!m->constant_b) {
    const bsm_plan_tensor *b = bsm_step_input(plan, step, 1);
    merge = same_for_batch(b, c);
    split_rows(b, c, merge, &m->b_batch, &(bsm_cpu_rows){0});
    m->b_k = b->strides[b->dims.rank - 2];
    m->b_n = b->strides[b->dims.rank - 1];
  }
  split_rows(a, c, merge, &m->a_batch, &m->a_rows);
  split_rows(c, c, merge, &m->c_batch, &m->c_rows);
  if (m->has_residual) {
    split_rows(bsm_step_input(plan, step, step->input_count - 1), c, merge,
               &m->residual_batch, &m->residual_rows);
  }
  m->batch = 1;
  m->rows = c->dims.d[rank - 2];
  for (int32_t i = 0; i < rank - 2; i++) {
    *(merge ? &m->rows : &m->batch) *= c->dims.d[i];
  }
}

bool bsm_cpu_matrix_rows_collide(const bsm_cpu_matrix_shapes *m) {
  const int64_t stride = m->a_rows.strides[m->a_rows.rank - 1];
  return m->k >= 256 && stride != 0 && stride % 512 == 0;
}

void bsm_cpu_matrix_pointers(const void *source, int64_t row, int count,
                             int64_t tap, int64_t taps, const float **a) {
  const bsm_cpu_matrix_source *s = source;
  int64_t offsets[BSM_K_GEMM_MAX_ROWS];
  (void)tap;
  (void)taps;
  bsm_cpu_rows_offsets(&s->shapes->a_rows, row, count, offsets);
  for (int i = 0; i < count; i++) a[i] = s->a + offsets[i];
}

/* Rows that are neighbours, as of a transposed matrix: from[k * step + row]. A
 * line of the cache is read once for all of them, as lines that are `step`
 * apart may share few sets of it. */
static void pack_neighbours(const bsm_k_rows *kernels, const float *from,
                            int64_t step, int64_t count, int64_t length,
                            float *to, int64_t stride) {
  const int64_t whole = count / BSM_K_TRANSPOSE * BSM_K_TRANSPOSE;
  kernels->transpose(from, step, to, stride, whole, length);
  to += whole * stride;
  for (int64_t j = 0; whole < count && j < length; j++) {
    const float *line = from + j * step + whole;
    for (int64_t i = 0; i < count - whole; i++) to[i * stride + j] = line[i];
  }
}

static bool are_neighbours(const float *const *rows, int count) {
  for (int i = 1; i < count; i++) {
    if (rows[i] != rows[0] + i) return false;
  }
  return true;
}

void bsm_cpu_matrix_pack(const void *source, int64_t row, int count, int64_t k,
                         int64_t length, float *to, int64_t stride) {
  const bsm_cpu_matrix_source *s = source;
  const int64_t step = s->shapes->a_k;
  const float *a[BSM_K_GEMM_MAX_ROWS];
  bsm_cpu_matrix_pointers(source, row, count, 0, 1, a);
  if (step != 1 && are_neighbours(a, count)) {
    pack_neighbours(s->rows, a[0] + k * step, step, count, length, to, stride);
    return;
  }
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
