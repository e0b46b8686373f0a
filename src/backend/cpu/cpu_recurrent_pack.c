/* SPDX-License-Identifier: Apache-2.0 */
/* Packs the weights of recurrent steps. */
#include "backend/cpu/cpu_recurrent.h"

#include <string.h>

#include "backend/checks/checks.h"
#include "base/checked.h"

/* Adds the floats of a packed matrix to *at. */
static bsm_status add_matrix(int64_t k, int64_t n, int64_t *at) {
  int64_t count;
  const int64_t panels = n / BSM_PANEL + (n % BSM_PANEL != 0);
  if (!bsm_i64_mul(k, panels * BSM_PANEL, &count) || count > BSM_MAX_ELEMENTS) {
    return BSM_FAIL(BSM_CORRUPT, "a matrix of %lld x %lld", (long long)k,
                    (long long)n);
  }
  *at += count;
  return BSM_OK;
}

bsm_status bsm_cpu_recurrent_shape_of(const bsm_step_recurrent *p,
                                      bsm_cpu_recurrent_shape *s) {
  BSM_TRY(bsm_check_recurrent_sizes(p));
  *s = (bsm_cpu_recurrent_shape){.gates = bsm_recurrent_gates(p->operation)};
  s->panels = p->hidden / BSM_PANEL + (p->hidden % BSM_PANEL != 0);
  s->columns = s->panels * s->gates * BSM_PANEL;
  s->state = p->projection ? p->projection : p->hidden;
  /* Within the limits no sum can overflow. */
  BSM_TRY(add_matrix(p->input, s->columns, &s->recurrent));
  s->projection = s->recurrent;
  BSM_TRY(add_matrix(s->state, s->columns, &s->projection));
  s->bias = s->projection;
  if (p->projection) BSM_TRY(add_matrix(p->hidden, p->projection, &s->bias));
  s->state_bias = s->bias + s->columns;
  s->size =
      s->state_bias + (p->operation == BSM_RECURRENT_GRU ? s->columns : 0);
  return BSM_OK;
}

/* The row of a weight matrix [G H, ..] that is column `c`; -1 for padding. */
static int64_t row_of(const bsm_cpu_recurrent_shape *s, int64_t hidden,
                      int64_t c) {
  const int64_t panel = c / BSM_PANEL;
  const int64_t unit = panel / s->gates * BSM_PANEL + c % BSM_PANEL;
  return unit < hidden ? panel % s->gates * hidden + unit : -1;
}

/* Packs [G H, k] in the order of the columns. */
static void pack_gates(const bsm_cpu_recurrent_shape *s, int64_t hidden,
                       const float *from, int64_t k, float *to) {
  for (int64_t c = 0; c < s->columns; c++) {
    const int64_t row = row_of(s, hidden, c);
    float *column = to + c / BSM_PANEL * k * BSM_PANEL + c % BSM_PANEL;
    if (row < 0) continue;
    for (int64_t i = 0; i < k; i++) column[i * BSM_PANEL] = from[row * k + i];
  }
}

static void pack_biases(const bsm_step_recurrent *p,
                        const bsm_cpu_recurrent_shape *s, const float *input,
                        const float *state, float *to) {
  const bool gru = p->operation == BSM_RECURRENT_GRU;
  for (int64_t c = 0; c < s->columns; c++) {
    const int64_t row = row_of(s, p->hidden, c);
    if (row < 0) continue;
    if (gru && row >= 2 * p->hidden) {
      to[c] = input[row];
      to[s->columns + c] = state[row];
    } else {
      to[c] = input[row] + state[row];
    }
  }
}

bsm_status bsm_cpu_pack_recurrent(const bsm_step_recurrent *p,
                                  const float *values, void *packed,
                                  uint64_t *size) {
  bsm_cpu_recurrent_shape s;
  BSM_TRY(bsm_cpu_recurrent_shape_of(p, &s));
  *size = (uint64_t)s.size * sizeof(float) * (uint64_t)p->directions;
  if (!packed) return BSM_OK;
  const int64_t rows = s.gates * p->hidden, h = p->hidden, n = p->projection;
  memset(packed, 0, (size_t)*size);
  float *to = packed;
  for (int32_t d = 0; d < p->directions; d++, to += s.size) {
    pack_gates(&s, h, values, p->input, to);
    values += rows * p->input;
    pack_gates(&s, h, values, s.state, to + s.recurrent);
    values += rows * s.state;
    for (int64_t i = 0; i < n; i++) {
      float *column = to + s.projection + i / BSM_PANEL * h * BSM_PANEL;
      for (int64_t j = 0; j < h; j++) {
        column[j * BSM_PANEL + i % BSM_PANEL] = values[i * h + j];
      }
    }
    values += n * h;
    pack_biases(p, &s, values, values + rows, to + s.bias);
    values += 2 * rows;
  }
  return BSM_OK;
}
