/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds the weights of products to 8 or 4 bits.
 *
 * 8 bits: the greatest number of a column is 127. 4 bits: of some scales, the
 * one with the least square error of a group, and then the best scale for the
 * codes that it gives, are taken. A scale may be negative, as -8 is a code and
 * 8 is none. A zero point would take as much memory as the scale: smaller
 * groups gain more. */
#include "backend/cpu/target/cpu_few_bits.h"

#include <math.h>
#include <string.h>

#include "aten/tensor.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/kernels/few_bits/few_bits_f32.h"
#include "builder/quantized_grid.h"

#define MAX_GROUP 128
#define CODES BSM_K_FEW_BITS_CODES

int32_t bsm_cpu_few_bits_form_for(int32_t bits, int64_t group) {
  if (bits == 8) return BSM_CPU_MATRIX_INT8;
  if (bits != 4) return BSM_CPU_MATRIX_PLAIN;
  return group == 32    ? BSM_CPU_MATRIX_INT4_32
         : group == 64  ? BSM_CPU_MATRIX_INT4_64
         : group == 128 ? BSM_CPU_MATRIX_INT4_128
                        : BSM_CPU_MATRIX_PLAIN;
}

static bsm_status not_finite(void) {
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "a weight is not finite: it has no form of few bits");
}

/* To the nearest whole number, half to even; |x| is small. */
static inline float nearest(float x) {
  const float big = 12582912.0f; /* 1.5 * 2^23 */
  return (x + big) - big;
}

/* ---- 8 bits ---- */

/* A column of k floats, `stride` apart. */
static bsm_status round_column(const float *x, int64_t k, int64_t stride,
                               int8_t *codes, int8_t *column, float *scale) {
  double grid;
  float greatest = 0;
  if (bsm_find_grid(x, k, stride, &grid, column)) {
    *scale = (float)grid;
  } else {
    for (int64_t i = 0; i < k; i++) {
      const float v = fabsf(x[i * stride]);
      if (!(v <= 3.4e38f)) return not_finite();
      if (v > greatest) greatest = v;
    }
    *scale = greatest / 127;
    for (int64_t i = 0; i < k; i++) {
      const float q = *scale > 0 ? nearest(x[i * stride] / *scale) : 0;
      column[i] = (int8_t)(q > 127 ? 127 : q < -127 ? -127 : q);
    }
  }
  for (int64_t i = 0; i < k; i++) codes[i * BSM_PANEL] = column[i];
  return BSM_OK;
}

/* ---- 4 bits ---- */

typedef struct group {
  float x[MAX_GROUP];
  float codes[MAX_GROUP];
  int64_t n;
} group;

static float as_bfloat16(float x) {
  return bsm_bfloat16_to_float(bsm_float_to_bfloat16(x));
}

/* The square error of a scale; with `codes`, also what it gives. */
static float error_of(const group *g, float scale, float *codes) {
  const float inverse = 1 / scale;
  float error = 0;
  for (int64_t i = 0; i < g->n; i++) {
    float q = nearest(g->x[i] * inverse);
    q = q > 7 ? 7 : q < -8 ? -8 : q;
    const float d = g->x[i] - q * scale;
    error += d * d;
    if (codes) codes[i] = q;
  }
  return error;
}

/* The scale by which the codes are nearest to the numbers. */
static float best_scale(const group *g) {
  double product = 0, square = 0;
  for (int64_t i = 0; i < g->n; i++) {
    product += (double)g->x[i] * (double)g->codes[i];
    square += (double)g->codes[i] * (double)g->codes[i];
  }
  return square > 0 ? (float)(product / square) : 0;
}

/* Finds a scale, and leaves the codes in the group. */
static float round_group(group *g) {
  float greatest = 0, least_error = INFINITY, scale = 0;
  for (int64_t i = 0; i < g->n; i++) {
    if (fabsf(g->x[i]) > fabsf(greatest)) greatest = g->x[i];
  }
  memset(g->codes, 0, sizeof(g->codes));
  /* What is smaller has no inverse. */
  if (fabsf(greatest) < 0x1p-100f) return 0;
  for (int half = 11; half <= 17; half++) {
    for (int sign = -1; sign <= 1; sign += 2) {
      const float s = as_bfloat16((float)(2 * sign) * greatest / (float)half);
      const float error = error_of(g, s, NULL);
      if (!(error < least_error)) continue;
      least_error = error;
      scale = s;
    }
  }
  error_of(g, scale, g->codes);
  const float refined = as_bfloat16(best_scale(g));
  if (refined != 0 && error_of(g, refined, NULL) < least_error) {
    scale = refined;
    error_of(g, scale, g->codes);
  }
  return scale;
}

/* A column of k floats: its place in words and scales of a panel. */
static bsm_status round_groups(const float *x, int64_t k, int64_t stride,
                               int64_t length, uint32_t *words,
                               uint16_t *scales) {
  group g;
  for (int64_t first = 0; first < k; first += length) {
    g.n = k - first < length ? k - first : length;
    for (int64_t i = 0; i < g.n; i++) {
      g.x[i] = x[(first + i) * stride];
      if (!isfinite(g.x[i])) return not_finite();
    }
    scales[first / length * BSM_PANEL] = bsm_float_to_bfloat16(round_group(&g));
    for (int64_t i = 0; i < g.n; i++) {
      words[(first + i) / CODES * BSM_PANEL] |=
          ((uint32_t)(int32_t)g.codes[i] & 15) << (first + i) % CODES * 4;
    }
  }
  return BSM_OK;
}

/* ---- matrices ---- */

/* Where a column is. */
typedef struct place {
  int8_t *codes;
  uint32_t *words;
  float *scale;
  uint16_t *scales;
} place;

static place place_of(const bsm_cpu_few_bits_form *form, void *packed,
                      int64_t column) {
  uint8_t *panel =
      (uint8_t *)packed + (uint64_t)(column / BSM_PANEL) * form->panel;
  uint8_t *scales = panel + form->codes;
  const int64_t i = column % BSM_PANEL;
  return (place){(int8_t *)panel + i, (uint32_t *)(void *)panel + i,
                 (float *)(void *)scales + i, (uint16_t *)(void *)scales + i};
}

bsm_status bsm_cpu_few_bits_pack(const bsm_step_matrix_multiply *p,
                                 const float *values, bool transposed,
                                 void *packed, uint64_t *size) {
  bsm_cpu_few_bits_form form;
  BSM_TRY(bsm_cpu_few_bits_form_of(p, &form));
  *size = form.size;
  if (!packed) return BSM_OK;
  memset(packed, 0, (size_t)form.size);
  bsm_arena scratch;
  bsm_arena_init(&scratch, NULL);
  int8_t *column = BSM_NEW_ARRAY(&scratch, int8_t, (size_t)p->k + 1);
  bsm_status status = column ? BSM_OK : BSM_FAIL_OOM();
  for (int64_t j = 0; j < p->n && !status; j++) {
    const float *x = values + (transposed ? j * p->k : j);
    const int64_t stride = transposed ? 1 : p->n;
    const place to = place_of(&form, packed, j);
    status =
        form.bits == 8
            ? round_column(x, p->k, stride, to.codes, column, to.scale)
            : round_groups(x, p->k, stride, form.group, to.words, to.scales);
  }
  bsm_arena_destroy(&scratch);
  return status;
}

static float number_at(const bsm_cpu_few_bits_form *form, const place *from,
                       int64_t k) {
  if (form->bits == 8) return (float)from->codes[k * BSM_PANEL] * *from->scale;
  const uint32_t word = from->words[k / CODES * BSM_PANEL];
  const int32_t code = (int32_t)(word >> k % CODES * 4 & 15);
  return (float)(code > 7 ? code - 16 : code) *
         bsm_bfloat16_to_float(from->scales[k / form->group * BSM_PANEL]);
}

bsm_status bsm_cpu_few_bits_unpack(const bsm_step_matrix_multiply *p,
                                   const void *packed, bool transposed,
                                   float *values) {
  bsm_cpu_few_bits_form form;
  BSM_TRY(bsm_cpu_few_bits_form_of(p, &form));
  for (int64_t j = 0; j < p->n; j++) {
    /* Read only. */
    const place from = place_of(&form, (void *)(uintptr_t)packed, j);
    for (int64_t i = 0; i < p->k; i++) {
      values[transposed ? j * p->k + i : i * p->n + j] =
          number_at(&form, &from, i);
    }
  }
  return BSM_OK;
}
