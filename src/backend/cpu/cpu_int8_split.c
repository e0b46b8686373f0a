/* SPDX-License-Identifier: Apache-2.0 */
/* Halves pairs of weights that are not safe. */
#include "backend/cpu/cpu_int8_split.h"

#include <string.h>

#include "engine/plan.h"

#define PANEL BSM_K_INT8_PANEL
#define DEPTH BSM_K_INT8_DEPTH

static bool is_safe(const int8_t *b, int64_t bytes) {
  int safe = 1;
  for (int64_t i = 0; i < bytes; i += 2) safe &= bsm_k_int8_is_safe(b + i);
  return safe != 0;
}

static int32_t count_unsafe(const bsm_cpu_int8_matrix *m, int64_t unit,
                            int64_t units) {
  int32_t count = 0;
  for (int64_t i = 0; i < units; i++) count += !is_safe(m->b + i * unit, unit);
  return count;
}

/* Halves of both are safe: of 127 and 127, or of -128 twice. */
static void halve(int8_t *b, int64_t bytes, int8_t *rest) {
  for (int64_t i = 0; i < bytes; i++) {
    const bool safe = bsm_k_int8_is_safe(b + (i & ~(int64_t)1));
    rest[i] = (int8_t)(safe ? 0 : b[i] - b[i] / 2);
  }
  for (int64_t i = 0; i < bytes; i++) b[i] = (int8_t)(b[i] - rest[i]);
}

/* The units of a column of units, along K. */
static void split_column(const bsm_cpu_int8_matrix *m, int64_t columns,
                         int8_t *b, int32_t *count, bsm_k_int8_place *places,
                         int8_t *rest) {
  const int64_t unit = columns * DEPTH;
  for (int64_t k = 0; k < m->taps * m->groups; k++, b += PANEL * DEPTH) {
    if (is_safe(b, unit)) continue;
    halve(b, unit, rest + *count * unit);
    places[(*count)++] = (bsm_k_int8_place){(int32_t)(k / m->groups),
                                            (int32_t)(k % m->groups * DEPTH)};
  }
}

bsm_status bsm_cpu_split_int8(const bsm_cpu_int8_matrix *m, int64_t columns,
                              bsm_arena *arena, bsm_cpu_int8_split *out) {
  const int64_t panel = m->taps * m->groups * PANEL * DEPTH;
  const int64_t unit = columns * DEPTH;
  const int32_t count = count_unsafe(m, unit, m->panels * panel / unit);
  const int64_t units = m->panels * PANEL / columns;
  int32_t *first = BSM_NEW_ARRAY(arena, int32_t, (size_t)units + 1);
  BSM_TRY_ALLOC(first);
  *out = (bsm_cpu_int8_split){.b = m->b, .rest.first = first};
  if (!count) return BSM_OK;
  int8_t *b =
      bsm_arena_alloc(arena, (size_t)(m->panels * panel), BSM_ALIGNMENT);
  int8_t *rest = bsm_arena_alloc(arena, (size_t)(count * unit), BSM_ALIGNMENT);
  bsm_k_int8_place *places =
      BSM_NEW_ARRAY(arena, bsm_k_int8_place, (size_t)count);
  if (!b || !rest || !places) return BSM_FAIL_OOM();
  memcpy(b, m->b, (size_t)(m->panels * panel));
  int32_t done = 0;
  for (int64_t i = 0; i < units; i++) {
    const int64_t column = i * columns;
    first[i] = done;
    split_column(m, columns,
                 b + column / PANEL * panel + column % PANEL * DEPTH, &done,
                 places, rest);
  }
  first[units] = done;
  *out = (bsm_cpu_int8_split){b, {first, places, rest, NULL}};
  return BSM_OK;
}
