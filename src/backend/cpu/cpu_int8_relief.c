/* SPDX-License-Identifier: Apache-2.0 */
/* Takes out of columns of weights what may exceed sums of 16 bits.
 *
 * A sum is of one half, two bytes, of each of `level` groups of a column. It is
 * safe when what is positive in it, and what is negative, is at most 128. What
 * is too much becomes pieces, of pairs of bytes. */
#include "backend/cpu/cpu_int8_relief.h"

#include <math.h>
#include <string.h>

#include "engine/plan.h"

#define PANEL BSM_K_INT8_PANEL
#define DEPTH BSM_K_INT8_DEPTH
#define WINDOW 4             /* groups, of any level */
#define STEP (PANEL * DEPTH) /* bytes from a group to the next one */
#define MOST 128             /* of one sign in a sum */
#define HALF 2               /* bytes of a pair */
#define HALVES (DEPTH / HALF)

/* A column in a window, and its pieces. */
typedef struct column {
  int8_t bytes[WINDOW][DEPTH];
  int8_t pieces[WINDOW][DEPTH];
} column;

/* Of two bytes, what is of one sign: its size. */
static int size_of(const int8_t *pair, int sign) {
  const int a = sign * pair[0], b = sign * pair[1];
  return (a > 0 ? a : 0) + (b > 0 ? b : 0);
}

static int least(int a, int b) {
  return a < b ? a : b;
}

static int64_t least64(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Moves `size` of one sign from a pair to its piece, the greater byte first. */
static void move(int8_t *pair, int8_t *piece, int sign, int size) {
  const int greater = sign * pair[1] > sign * pair[0];
  for (int i = 0; i < HALF && size > 0; i++) {
    const int at = i ? !greater : greater;
    const int here = sign * pair[at] > 0 ? least(size, sign * pair[at]) : 0;
    piece[at] = (int8_t)(piece[at] + sign * here);
    pair[at] = (int8_t)(pair[at] - sign * here);
    size -= here;
  }
}

/* Makes the sum of one half and sign of `level` groups from g on small enough.
 */
static void relieve(column *c, int64_t g, int64_t level, int half, int sign) {
  int8_t(*b)[DEPTH] = c->bytes + g;
  int sum = 0;
  for (int i = 0; i < level; i++) sum += size_of(b[i] + half * HALF, sign);
  while (sum > MOST) {
    int most = 0, greatest = 0;
    for (int i = 0; i < level; i++) {
      const int size = size_of(b[i] + half * HALF, sign);
      if (size > greatest) {
        greatest = size;
        most = i;
      }
    }
    const int size = least(sum - MOST, greatest);
    move(b[most] + half * HALF, c->pieces[g + most] + half * HALF, sign, size);
    sum -= size;
  }
}

static bool is_safe(int8_t (*b)[DEPTH], int64_t level) {
  int most[2] = {0}, less[2] = {0};
  for (int64_t g = 0; g < level; g++) {
    for (int i = 0; i < DEPTH; i++) {
      const int w = b[g][i];
      most[i / HALF] += w > 0 ? w : 0;
      less[i / HALF] -= w < 0 ? w : 0;
    }
  }
  return most[0] <= MOST && most[1] <= MOST && less[0] <= MOST &&
         less[1] <= MOST;
}

/* Whether there are pieces. Groups behind the last whole `level` are summed by
 * themselves. */
static bool relieve_column(column *c, int64_t groups, int32_t level) {
  bool found = false;
  for (int64_t g = 0, n; g < groups; g += n) {
    n = groups - g >= level ? level : 1;
    if (is_safe(c->bytes + g, n)) continue;
    if (!found) memset(c->pieces, 0, sizeof(c->pieces));
    found = true;
    for (int half = 0; half < HALVES; half++) {
      relieve(c, g, n, half, 1);
      relieve(c, g, n, half, -1);
    }
  }
  return found;
}

/* The rest of a matrix. Without pieces they are counted only. */
typedef struct rest {
  int64_t count;
  bsm_k_int8_piece *pieces;
} rest;

/* Adds the pieces of a window, whose first pair is `pair`. */
static void add_pieces(const column *c, int64_t groups, int64_t pair,
                       rest *to) {
  for (int64_t i = 0; i < groups * HALVES; i++) {
    const int8_t *w = c->pieces[i / HALVES] + i % HALVES * HALF;
    if (!w[0] && !w[1]) continue;
    if (to->pieces) {
      to->pieces[to->count] =
          (bsm_k_int8_piece){(int32_t)(pair + i), {w[0], w[1]}};
    }
    to->count++;
  }
}

/* All of a column, which becomes smaller in `made` where there are pieces. */
static void relieve_all(const bsm_cpu_int8_matrix *m, int64_t index,
                        int32_t level, int8_t *made, rest *to) {
  const int64_t at =
      index / PANEL * m->taps * m->groups * STEP + index % PANEL * DEPTH;
  for (int64_t tap = 0; tap < m->taps; tap++) {
    for (int64_t g = 0; g < m->groups; g += WINDOW) {
      const int64_t first = tap * m->groups + g;
      const int64_t groups = least64(m->groups - g, WINDOW);
      column c;
      for (int64_t i = 0; i < groups; i++) {
        memcpy(c.bytes[i], m->b + at + (first + i) * STEP, DEPTH);
      }
      if (!relieve_column(&c, groups, level)) continue;
      add_pieces(&c, groups, first * HALVES, to);
      for (int64_t i = 0; made && i < groups; i++) {
        memcpy(made + at + (first + i) * STEP, c.bytes[i], DEPTH);
      }
    }
  }
}

/* ---- levels ---- */

#define PRODUCTS 88.0 /* of a nanosecond */

double bsm_cpu_int8_product_time(double products, double level) {
  return products * level / PRODUCTS;
}

/* Columns that tell of all. */
#define SAMPLES 96
#define UNIT 8 /* columns of a vector */

/* Of a group of a unit, the time of masked bytes, which does not depend on the
 * weights: what is multiplied, and masks from memory, once for all rows. */
#define MASKED_TIME 1.18
#define MASKS_TIME 5.5
#define CACHED_BYTES (256 << 10)

/* What pieces take more, of which a group of a unit has `pieces`. A tile has
 * `rows` rows, which are brought side by side eight at once; sums of a unit are
 * made once for all `groups`. */
static double time_of_rest(double pieces, double rows, double groups,
                           double maps) {
  if (pieces <= 0) return 0;
  const bool two = rows > UNIT;
  return (pieces * (two ? 2.4 : 2) + (two ? 64 : 32) / maps + 35 / groups) /
         rows;
}

bsm_cpu_int8_level bsm_cpu_int8_best_level(const bsm_cpu_int8_matrix *m,
                                           int64_t rows, int64_t maps) {
  /* Times of a group of a unit without a rest, as measured. */
  static const bsm_cpu_int8_level group[] = {{1, 1}, {2, 0.81}, {4, 0.75}};
  const int64_t columns = least64(m->panels * PANEL, maps);
  const int64_t step = columns / SAMPLES + 1;
  const double units = (double)((columns + step - 1) / step) *
                       (double)(m->taps * m->groups) / UNIT;
  bsm_cpu_int8_level best = group[0];
  if (units <= 0 || rows <= 0) return best;
  const double height = (double)least64(rows, BSM_K_INT8_MAX_ROWS);
  const int64_t bytes = m->taps * m->groups * DEPTH * maps;
  best.level = BSM_K_INT8_MASKED;
  best.time =
      MASKED_TIME + (bytes > CACHED_BYTES ? MASKS_TIME / (double)rows : 0);
  for (size_t i = 0; i < sizeof(group) / sizeof(group[0]); i++) {
    rest all = {0};
    for (int64_t c = 0; c < columns; c += step) {
      relieve_all(m, c, group[i].level, NULL, &all);
    }
    const double time =
        group[i].time + time_of_rest((double)all.count / units, height,
                                     (double)(m->taps * m->groups),
                                     (double)maps);
    if (time < best.time) {
      best = (bsm_cpu_int8_level){group[i].level, time};
    }
  }
  return best;
}

/* ---- all of a matrix ---- */

/* The sizes of weights, each group with its masks behind it. */
static bsm_status mask(const bsm_cpu_int8_matrix *m, int64_t bytes,
                       bsm_arena *arena, bsm_cpu_int8_split *out) {
  int8_t *to = bsm_arena_alloc(arena, 2 * (size_t)bytes, BSM_ALIGNMENT);
  BSM_TRY_ALLOC(to);
  out->b = to;
  for (int64_t i = 0; i < bytes; i++) {
    const int w = m->b[i];
    int8_t *at = to + i / STEP * 2 * STEP + i % STEP;
    at[0] = (int8_t)(w < 0 ? -w : w);
    at[STEP] = BSM_K_INT8_MASK(w);
  }
  return BSM_OK;
}

bsm_status bsm_cpu_relieve_int8(const bsm_cpu_int8_matrix *m, int32_t level,
                                bsm_arena *arena, bsm_cpu_int8_split *out) {
  const size_t bytes = (size_t)(m->panels * m->taps * m->groups * STEP);
  const int64_t columns = m->panels * PANEL;
  rest all = {0};
  *out = (bsm_cpu_int8_split){.b = m->b};
  if (level == BSM_K_INT8_MASKED) return mask(m, (int64_t)bytes, arena, out);
  for (int64_t c = 0; c < columns; c++) relieve_all(m, c, level, NULL, &all);
  if (!all.count) return BSM_OK;
  if (all.count > INT32_MAX) return BSM_FAIL_OOM();
  int32_t *first = BSM_NEW_ARRAY(arena, int32_t, (size_t)columns + 1);
  int8_t *made = bsm_arena_alloc(arena, bytes, BSM_ALIGNMENT);
  rest kept = {0, BSM_NEW_ARRAY(arena, bsm_k_int8_piece, (size_t)all.count)};
  if (!first || !made || !kept.pieces) return BSM_FAIL_OOM();
  memcpy(made, m->b, bytes);
  for (int64_t c = 0; c < columns; c++) {
    first[c] = (int32_t)kept.count;
    relieve_all(m, c, level, made, &kept);
  }
  first[columns] = (int32_t)kept.count;
  *out = (bsm_cpu_int8_split){made, {.first = first, .pieces = kept.pieces}};
  return BSM_OK;
}
