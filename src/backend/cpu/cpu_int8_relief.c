/* SPDX-License-Identifier: Apache-2.0 */
/* Takes out of columns of weights what may exceed sums of 16 bits.
 *
 * A sum is of one half, two bytes, of each of `level` groups of a column. It is
 * safe when what is positive in it, and what is negative, is at most 128. What
 * is too much goes into pieces of two bytes, for any of the 8 pairs of a window
 * of 4 groups. The first two of each of the 8 columns of a unit are one entry
 * of the rest, and so on. */
#include "backend/cpu/cpu_int8_relief.h"

#include <string.h>

#include "engine/plan.h"

#define PANEL BSM_K_INT8_PANEL
#define DEPTH BSM_K_INT8_DEPTH
#define COLUMNS BSM_CPU_INT8_UNIT
#define WINDOW BSM_K_INT8_WINDOW /* groups */
#define STEP (PANEL * DEPTH)     /* bytes from a group to the next one */
#define MOST 128                 /* of one sign in a sum */
#define MOST_OF_REST 64          /* as two pieces are summed */
#define HALF 2                   /* bytes of a pair */
#define HALVES (DEPTH / HALF)
#define PIECES 4 /* at most of a pair, which has 4 times what one may */

/* A column in a window, and its pieces. */
typedef struct column {
  int8_t bytes[WINDOW][DEPTH];
  int8_t pieces[WINDOW][HALVES][PIECES][HALF];
} column;

/* Of two bytes, what is of one sign: its size. */
static int size_of(const int8_t *pair, int sign) {
  const int a = sign * pair[0], b = sign * pair[1];
  return (a > 0 ? a : 0) + (b > 0 ? b : 0);
}

static int least(int a, int b) {
  return a < b ? a : b;
}

/* Moves `size` of one sign from a pair to its pieces, the greater byte first.
 */
static void move(int8_t *pair, int8_t (*pieces)[HALF], int sign, int size) {
  const int greater = sign * pair[1] > sign * pair[0];
  for (int i = 0; i < HALF && size > 0; i++) {
    const int at = i ? !greater : greater;
    for (int p = 0; p < PIECES && size > 0; p++) {
      int8_t *piece = pieces[p];
      const int room = least(size, MOST_OF_REST - size_of(piece, sign));
      const int here = sign * pair[at] > 0 ? least(room, sign * pair[at]) : 0;
      piece[at] = (int8_t)(piece[at] + sign * here);
      pair[at] = (int8_t)(pair[at] - sign * here);
      size -= here;
    }
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
    move(b[most] + half * HALF, c->pieces[g + most][half], sign, size);
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

/* The rest of a matrix. Without places its entries are counted only. */
typedef struct entries {
  int32_t count; /* even, but within a unit */
  bsm_k_int8_place *places;
  int8_t *b;      /* [COLUMNS][DEPTH] of each */
  uint8_t *order; /* the same */
} entries;

/* Adds the pieces of column `index` to the entries from `first` on. `skip`: how
 * many bytes the window is behind the place. */
static void add_pieces(const column *c, int index, int64_t skip, int32_t first,
                       bsm_k_int8_place place, entries *to) {
  int32_t count = 0;
  for (int i = 0; i < WINDOW * HALVES * PIECES; i++) {
    const int pair = i / PIECES;
    const int8_t *piece = c->pieces[pair / HALVES][pair % HALVES][i % PIECES];
    if (!piece[0] && !piece[1]) continue;
    const int32_t at = first + count / HALVES;
    const int half = count++ % HALVES;
    if (at >= to->count) to->count = at + 1;
    if (!to->places) continue;
    const int64_t k = ((int64_t)at * COLUMNS + index) * DEPTH + half * HALF;
    for (int byte = 0; byte < HALF; byte++) {
      to->b[k + byte] = piece[byte];
      to->order[k + byte] = (uint8_t)(skip + pair * HALF + byte);
    }
    to->places[at] = place;
  }
}

/* The columns of a unit in a window of `groups` groups from b on, which become
 * smaller in `made` where there are places. */
static void relieve_window(const int8_t *b, int8_t *made, int64_t groups,
                           int64_t skip, int32_t level, bsm_k_int8_place place,
                           entries *to) {
  const int32_t first = to->count;
  for (int i = 0; i < COLUMNS; i++) {
    column c;
    for (int64_t g = 0; g < groups; g++) {
      memcpy(c.bytes[g], b + g * STEP + i * DEPTH, DEPTH);
    }
    if (!relieve_column(&c, groups, level)) continue;
    add_pieces(&c, i, skip * DEPTH, first, place, to);
    for (int64_t g = 0; to->places && g < groups; g++) {
      memcpy(made + g * STEP + i * DEPTH, c.bytes[g], DEPTH);
    }
  }
}

static void relieve_unit(const bsm_cpu_int8_matrix *m, int64_t unit,
                         int32_t level, int8_t *made, entries *to) {
  const int64_t first = unit * COLUMNS;
  const int64_t at =
      first / PANEL * m->taps * m->groups * STEP + first % PANEL * DEPTH;
  for (int64_t tap = 0; tap < m->taps; tap++) {
    for (int64_t g = 0; g < m->groups; g += WINDOW) {
      const int64_t rest = m->groups - g, n = rest < WINDOW ? rest : WINDOW;
      const int64_t skip = m->groups > WINDOW ? WINDOW - n : 0;
      const bsm_k_int8_place place = {(int32_t)tap,
                                      (int32_t)((g - skip) * DEPTH)};
      const int64_t from = at + (tap * m->groups + g) * STEP;
      relieve_window(m->b + from, made ? made + from : NULL, n, skip, level,
                     place, to);
    }
  }
  to->count += to->count % 2; /* of zeros, at the start of the first tap */
}

/* ---- levels ---- */

#define PRODUCTS 88.0 /* of a nanosecond */

double bsm_cpu_int8_product_time(double products, double level) {
  return products * level / PRODUCTS;
}

/* Units that tell of all. */
#define SAMPLES 12

bsm_cpu_int8_level bsm_cpu_int8_best_level(const bsm_cpu_int8_matrix *m) {
  /* Times of a group of a unit and of an entry of its rest, as measured. */
  static const bsm_cpu_int8_level group[] = {{1, 1}, {2, 0.82}, {4, 0.74}};
  const double entry = 1.3;
  const int64_t units = m->panels * PANEL / COLUMNS;
  const int64_t step = units / SAMPLES + 1;
  const int64_t groups = (units + step - 1) / step * m->taps * m->groups;
  bsm_cpu_int8_level best = group[0];
  for (size_t i = 0; i < sizeof(group) / sizeof(group[0]) && groups; i++) {
    entries all = {0};
    for (int64_t u = 0; u < units; u += step) {
      relieve_unit(m, u, group[i].level, NULL, &all);
    }
    const double time =
        group[i].time + entry * (double)all.count / (double)groups;
    if (i == 0 || time < best.time) {
      best = (bsm_cpu_int8_level){group[i].level, time};
    }
  }
  return best;
}

/* ---- all of a matrix ---- */

bsm_status bsm_cpu_relieve_int8(const bsm_cpu_int8_matrix *m, int32_t level,
                                bsm_arena *arena, bsm_cpu_int8_split *out) {
  const size_t bytes = (size_t)(m->panels * m->taps * m->groups * STEP);
  const int64_t units = m->panels * PANEL / COLUMNS;
  int32_t *first = BSM_NEW_ARRAY(arena, int32_t, (size_t)units + 1);
  BSM_TRY_ALLOC(first);
  entries all = {0};
  for (int64_t u = 0; u < units; u++) {
    first[u] = all.count;
    relieve_unit(m, u, level, NULL, &all);
  }
  first[units] = all.count;
  *out = (bsm_cpu_int8_split){.b = m->b, .rest.first = first};
  if (!all.count) return BSM_OK;
  const size_t count = (size_t)all.count * COLUMNS;
  int8_t *made = bsm_arena_alloc(arena, bytes, BSM_ALIGNMENT);
  entries rest = {
      .places = BSM_NEW_ARRAY(arena, bsm_k_int8_place, (size_t)all.count),
      .b = BSM_NEW_ARRAY(arena, int8_t, count * DEPTH),
      .order = BSM_NEW_ARRAY(arena, uint8_t, count * DEPTH)};
  if (!made || !rest.places || !rest.b || !rest.order) return BSM_FAIL_OOM();
  memcpy(made, m->b, bytes);
  for (int64_t u = 0; u < units; u++) relieve_unit(m, u, level, made, &rest);
  *out = (bsm_cpu_int8_split){made, {first, rest.places, rest.b, rest.order}};
  return BSM_OK;
}
