/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of depthwise_f32.h. Window, stride and the block of outputs are
 * constants of each instance; channels go by vectors. Of square windows the
 * last vector reaches back into the one before and stores what is left, so that
 * all go the same way; where there are fewer channels than a vector holds, and
 * with any window, it is masked. */
#include "backend/cpu/kernels/depthwise/depthwise_f32.h"
#include "backend/cpu/kernels/simd/unroll.h"

/* Outputs of a row that are summed at once: twice as many where the sums are
 * chains of many products and windows overlap most. */
#define BLOCK 4
#define WIDE_BLOCK 8

VF_INLINE vf load(const float *p, int64_t n) {
  return n >= VF_W ? vf_load(p) : vf_load_n(p, n);
}

/* The constants of a vector of channels: of the n from c on all are stored but
 * the first `skip`, which only whole vectors have. */
typedef struct channels {
  int64_t c, n, skip;
  vf bias, lo, hi;
} channels;

VF_INLINE channels channels_at(const bsm_k_depthwise_args *t, int64_t c,
                               int64_t n, int64_t skip) {
  return (channels){c,
                    n,
                    skip,
                    t->bias ? load(t->bias + c, n) : vf_zero(),
                    vf_set(t->lo),
                    vf_set(t->hi)};
}

VF_INLINE void finish(const bsm_k_depthwise_args *t, const channels *k,
                      const vf *acc, int row, int64_t p, const int pixels) {
  float *y = t->y + row * t->y_row + p * t->y_pixel + k->c;
  const float *residual = t->residual ? t->residual + row * t->residual_row +
                                            p * t->residual_pixel + k->c
                                      : NULL;
  UNROLL
  for (int i = 0; i < pixels; i++) {
    vf x = vf_add(acc[i], k->bias);
    if (residual) x = vf_add(x, load(residual + i * t->residual_pixel, k->n));
    x = vf_min(k->hi, vf_max(k->lo, x));
    if (k->n < VF_W) {
      vf_store_n(y + i * t->y_pixel, x, k->n);
    } else if (k->skip == 0) {
      vf_store(y + i * t->y_pixel, x);
    } else {
      vf_store_from(y + i * t->y_pixel, x, k->skip);
    }
  }
}

/* ---- square windows ---- */

/* The products of an input row with lines of the window: with `line` for output
 * row `from`, with those before it for the output rows up to `to`. Every pixel
 * is loaded once for all the outputs that it serves. */
VF_INLINE void input_row(const bsm_k_depthwise_args *t, const channels *k,
                         const vf *held, const int window, const int stride,
                         const int from, const int to, const int pixels,
                         const float *const *x, int line,
                         vf acc[][WIDE_BLOCK]) {
  vf w[BSM_K_DEPTHWISE_MAX_ROWS][BSM_K_DEPTHWISE_MAX_WINDOW];
  UNROLL
  for (int r = from; r < to; r++, line -= stride) {
    UNROLL
    for (int j = 0; j < window; j++) {
      w[r][j] = held ? held[line * window + j]
                     : load(t->w + (line * window + j) * t->w_tap + k->c, k->n);
    }
  }
  UNROLL
  for (int j = 0; j < (pixels - 1) * stride + window; j++) {
    const vf v = vf_keep(load(x[j] + k->c, k->n));
    UNROLL
    for (int r = from; r < to; r++) {
      UNROLL
      for (int q = 0; q < pixels; q++) {
        const int tap = j - q * stride;
        if (tap < 0 || tap >= window) continue;
        acc[r][q] = vf_fma(w[r][tap], v, acc[r][q]);
      }
    }
  }
}

/* Whether the input rows that serve every output row share their code, which
 * has no effect on windows of 7: unrolled they are as large as all the rest.
 * Rows of windows of 5 come in pairs, but for the last. */
VF_INLINE int rolled(const int window, const int stride, const int rows) {
  return window == 7 || (window == 5 && stride == 1 && rows == 1);
}

/* All input rows of a block, in order: those that serve the first output rows,
 * those that serve all, and those that serve the last. */
VF_INLINE void input_rows(const bsm_k_depthwise_args *t, const channels *k,
                          const vf *held, const int window, const int stride,
                          const int rows, const int pixels, int64_t p,
                          vf acc[][WIDE_BLOCK]) {
  const int edge = (rows - 1) * stride;
  UNROLL
  for (int i = 0; i < edge; i++) {
    input_row(t, k, held, window, stride, 0, i / stride + 1, pixels,
              t->x[i] + p * stride, i, acc);
  }
  if (rolled(window, stride, rows)) {
    ROLLED
    for (int i = edge; i < window; i++) {
      input_row(t, k, held, window, stride, 0, rows, pixels,
                t->x[i] + p * stride, i, acc);
    }
  } else {
    UNROLL
    for (int i = edge; i < window; i++) {
      input_row(t, k, held, window, stride, 0, rows, pixels,
                t->x[i] + p * stride, i, acc);
    }
  }
  UNROLL
  for (int i = window; i < edge + window; i++) {
    const int from = (i - window) / stride + 1;
    input_row(t, k, held, window, stride, from, rows, pixels,
              t->x[i] + p * stride, i - from * stride, acc);
  }
}

VF_INLINE void block(const bsm_k_depthwise_args *t, const channels *k,
                     const vf *held, const int window, const int stride,
                     const int rows, const int pixels, int64_t p) {
  vf acc[BSM_K_DEPTHWISE_MAX_ROWS][WIDE_BLOCK];
  UNROLL
  for (int r = 0; r < rows; r++) {
    UNROLL
    for (int q = 0; q < pixels; q++) acc[r][q] = vf_zero();
  }
  input_rows(t, k, held, window, stride, rows, pixels, p, acc);
  UNROLL
  for (int r = 0; r < rows; r++) finish(t, k, acc[r], r, p, pixels);
}

/* What is left of a row of whole vectors: one block. */
VF_INLINE void last_pixels(const bsm_k_depthwise_args *t, const channels *k,
                           const vf *held, const int window, const int stride,
                           const int rows, int64_t p) {
  switch (t->pixels - p) {
    case 1:
      block(t, k, held, window, stride, rows, 1, p);
      break;
    case 2:
      block(t, k, held, window, stride, rows, 2, p);
      break;
    case 3:
      block(t, k, held, window, stride, rows, 3, p);
      break;
    default:
      break;
  }
}

VF_INLINE void square_vector(const bsm_k_depthwise_args *t, const int window,
                             const int stride, const int rows,
                             const channels *k) {
  vf all[9];
  if (window == 3) { /* few enough for registers, or nearly */
    UNROLL
    for (int j = 0; j < 9; j++) all[j] = load(t->w + j * t->w_tap + k->c, k->n);
  }
  const vf *held = window == 3 ? all : NULL;
  int64_t p = 0;
  if (k->n < VF_W) { /* small code: what is masked is short, and rare */
    ROLLED
    for (; p < t->pixels; p++) block(t, k, held, window, stride, rows, 1, p);
    return;
  }
  if (window == 7 && stride == 1 && VF_W > 1) {
    for (; p + WIDE_BLOCK <= t->pixels; p += WIDE_BLOCK) {
      block(t, k, held, window, stride, rows, WIDE_BLOCK, p);
    }
  }
  for (; p + BLOCK <= t->pixels; p += BLOCK) {
    block(t, k, held, window, stride, rows, BLOCK, p);
  }
  if (VF_W > 1) {
    last_pixels(t, k, held, window, stride, rows, p);
    return;
  }
  ROLLED
  for (; p < t->pixels; p++) block(t, k, held, window, stride, rows, 1, p);
}

VF_INLINE void square_row(const bsm_k_depthwise_args *t, const int window,
                          const int stride, const int rows) {
  if (VF_W > 1 && t->channels < VF_W) {
    const channels k = channels_at(t, 0, t->channels, 0);
    square_vector(t, window, stride, rows, &k);
    return;
  }
  for (int64_t c = 0; c < t->channels; c += VF_W) {
    const int64_t last = t->channels - VF_W;
    const int64_t skip = VF_W > 1 && c > last ? c - last : 0;
    const channels k = channels_at(t, c - skip, VF_W, skip);
    square_vector(t, window, stride, rows, &k);
  }
}

/* ---- any window ---- */

/* Taps of a line that are multiplied at once: every pixel is loaded once for
 * all the outputs that it serves. */
#define SHIFTS 3

VF_INLINE void shifted_taps(const bsm_k_depthwise_args *t, const channels *k,
                            const int pixels, int64_t j, int64_t p, vf *acc) {
  vf w[SHIFTS];
  UNROLL
  for (int i = 0; i < SHIFTS; i++) {
    w[i] = load(t->w + (j + i) * t->w_tap + k->c, k->n);
  }
  const float *const *x = t->x[j] + p;
  UNROLL
  for (int s = 0; s < pixels + SHIFTS - 1; s++) {
    const vf v = vf_keep(load(x[s] + k->c, k->n));
    UNROLL
    for (int q = 0; q < pixels; q++) {
      if (s - q < 0 || s - q >= SHIFTS) continue;
      acc[q] = vf_fma(w[s - q], v, acc[q]);
    }
  }
}

VF_INLINE void one_tap(const bsm_k_depthwise_args *t, const channels *k,
                       const int pixels, int64_t j, int64_t p, vf *acc) {
  const float *const *x = t->x[j] + p;
  const vf w = load(t->w + j * t->w_tap + k->c, k->n);
  UNROLL
  for (int q = 0; q < pixels; q++) {
    acc[q] = vf_fma(w, load(x[q] + k->c, k->n), acc[q]);
  }
}

VF_INLINE void any_block(const bsm_k_depthwise_args *t, const channels *k,
                         const int pixels, int64_t p) {
  vf acc[WIDE_BLOCK];
  UNROLL
  for (int q = 0; q < pixels; q++) acc[q] = vf_zero();
  const int64_t line = pixels > 1 && t->line > 1 ? t->line : t->taps;
  ROLLED
  for (int64_t j = 0; j < t->taps;) {
    const int64_t end = j + line;
    if (pixels > 1 && t->line > 1) {
      ROLLED
      for (; j + SHIFTS <= end; j += SHIFTS) {
        shifted_taps(t, k, pixels, j, p, acc);
      }
    }
    ROLLED
    for (; j < end; j++) one_tap(t, k, pixels, j, p, acc);
  }
  finish(t, k, acc, 0, p, pixels);
}

/* `whole`: n is VF_W. */
VF_INLINE void any_vector(const bsm_k_depthwise_args *t, int64_t c, int64_t n,
                          const int whole) {
  const channels k = channels_at(t, c, n, 0);
  int64_t p = 0;
  if (whole) {
    ROLLED
    for (; p + WIDE_BLOCK <= t->pixels; p += WIDE_BLOCK) {
      any_block(t, &k, WIDE_BLOCK, p);
    }
  }
  ROLLED
  for (; p + BLOCK <= t->pixels; p += BLOCK) any_block(t, &k, BLOCK, p);
  ROLLED
  for (; p < t->pixels; p++) any_block(t, &k, 1, p);
}

static void any(const bsm_k_depthwise_args *t) {
  int64_t c = 0;
  for (; c + VF_W <= t->channels; c += VF_W) any_vector(t, c, VF_W, 1);
  if (VF_W > 1 && c < t->channels) any_vector(t, c, t->channels - c, 0);
}

/* ---- groups of few maps ---- */

/* Outputs of a row that are summed at once: images are most often of multiples
 * of 7 pixels. */
#define GROUPS_BLOCK 7
/* Of a vector's part behind the others: groups seldom leave one of few maps. */
#define REST_BLOCK (VF_W == 16 ? GROUPS_BLOCK : 3)

/* Where input map `i` of its group is for each channel of a vector: an element
 * of the vector of input channels; or where groups fill whole vectors, one map
 * for all. */
typedef struct group {
  vi lanes;     /* the first map of each channel's group */
  int64_t base; /* the first map of the only group */
  int64_t c, n; /* the vector's channels */
} group;

VF_INLINE group group_of(const bsm_k_depthwise_args *t) {
  float first[VF_W];
  for (int64_t i = 0; i < VF_W; i++) first[i] = (float)(i - i % t->maps);
  return (group){vf_to_int(vf_load(first)), 0, 0, VF_W};
}

VF_INLINE vf spread(const float *x, const group *g, int64_t i, vi lanes,
                    const int whole) {
  return whole ? vf_set(x[g->base + i])
               : vf_permute(load(x + g->c, g->n), lanes);
}

/* The weights of vector c, at the first tap and map. */
VF_INLINE const float *group_weights(const bsm_k_depthwise_args *t, int64_t c) {
  return t->w + c / 16 * t->w_panel + c % 16;
}

/* The constants of the vector are loaded here: held while products are summed,
 * they would take registers from the pixels. */
VF_INLINE void finish_groups(const bsm_k_depthwise_args *t, const group *g,
                             const vf *acc, int64_t p, const int pixels) {
  const channels k = channels_at(t, g->c, g->n, 0);
  finish(t, &k, acc, 0, p, pixels);
}

VF_INLINE void groups_block(const bsm_k_depthwise_args *t, const group *g,
                            const int stride, const int whole, const int pixels,
                            int64_t p) {
  const int64_t maps = t->maps, tap = maps * 16;
  const float *w = group_weights(t, g->c);
  vf acc[GROUPS_BLOCK];
  UNROLL
  for (int q = 0; q < pixels; q++) acc[q] = vf_zero();
  for (int row = 0; row < 3; row++, w += 3 * tap) {
    const float *const *x = t->x[row] + p * stride;
    vi lanes = g->lanes;
    ROLLED
    for (int64_t i = 0; i < maps; i++) {
      const float *at = w + i * 16;
      const vf taps[3] = {vf_load(at), vf_load(at + tap),
                          vf_load(at + 2 * tap)};
      UNROLL
      for (int j = 0; j < (pixels - 1) * stride + 3; j++) {
        const vf v = spread(x[j], g, i, lanes, whole);
        UNROLL
        for (int q = 0; q < pixels; q++) {
          const int at_tap = j - q * stride;
          if (at_tap < 0 || at_tap > 2) continue;
          acc[q] = vf_fma(taps[at_tap], v, acc[q]);
        }
      }
      lanes = vi_add(lanes, vi_set(1));
    }
  }
  finish_groups(t, g, acc, p, pixels);
}

VF_INLINE void groups_vector(const bsm_k_depthwise_args *t, group g,
                             const int stride, const int whole, int64_t c,
                             int64_t n, const int most) {
  g.base = c - c % t->maps;
  g.c = c;
  g.n = n;
  int64_t p = 0;
  for (; p + most <= t->pixels; p += most) {
    groups_block(t, &g, stride, whole, most, p);
  }
  if (most > 3) {
    for (; p + 3 <= t->pixels; p += 3) {
      groups_block(t, &g, stride, whole, 3, p);
    }
  }
  for (; p < t->pixels; p++) groups_block(t, &g, stride, whole, 1, p);
}

VF_INLINE void any_groups_block(const bsm_k_depthwise_args *t, const group *g,
                                const int whole, const int pixels, int64_t p) {
  const float *w = group_weights(t, g->c);
  vf acc[GROUPS_BLOCK];
  UNROLL
  for (int q = 0; q < pixels; q++) acc[q] = vf_zero();
  for (int64_t j = 0; j < t->taps; j++) {
    const float *const *x = t->x[j] + p;
    vi lanes = g->lanes;
    ROLLED
    for (int64_t i = 0; i < t->maps; i++, w += 16) {
      const vf a = vf_load(w);
      UNROLL
      for (int q = 0; q < pixels; q++) {
        acc[q] = vf_fma(a, spread(x[q], g, i, lanes, whole), acc[q]);
      }
      lanes = vi_add(lanes, vi_set(1));
    }
  }
  finish_groups(t, g, acc, p, pixels);
}

VF_INLINE void any_groups_vector(const bsm_k_depthwise_args *t, group g,
                                 const int whole, int64_t c, int64_t n,
                                 const int most) {
  g.base = c - c % t->maps;
  g.c = c;
  g.n = n;
  int64_t p = 0;
  for (; p + most <= t->pixels; p += most) {
    any_groups_block(t, &g, whole, most, p);
  }
  for (; p < t->pixels; p++) any_groups_block(t, &g, whole, 1, p);
}

/* Whether groups fill vectors, as those of 8 maps fill vectors of 8. They leave
 * no part of one. */
VF_INLINE int groups_fill(const bsm_k_depthwise_args *t) {
  return VF_W == 1 || (VF_W <= 8 && t->maps >= VF_W);
}

VF_INLINE void groups_row(const bsm_k_depthwise_args *t, const int stride,
                          const int whole) {
  const group g = group_of(t);
  int64_t c = 0;
  for (; c + VF_W <= t->channels; c += VF_W) {
    groups_vector(t, g, stride, whole, c, VF_W, GROUPS_BLOCK);
  }
  if (!whole && c < t->channels) {
    groups_vector(t, g, stride, whole, c, t->channels - c, REST_BLOCK);
  }
}

#define SQUARE_GROUPS(stride)                                         \
  static void square_groups_##stride(const bsm_k_depthwise_args *t) { \
    if (groups_fill(t)) {                                             \
      groups_row(t, stride, 1);                                       \
    } else {                                                          \
      groups_row(t, stride, 0);                                       \
    }                                                                 \
  }
SQUARE_GROUPS(1)
SQUARE_GROUPS(2)

VF_INLINE void any_groups_row(const bsm_k_depthwise_args *t, const int whole) {
  const group g = group_of(t);
  int64_t c = 0;
  for (; c + VF_W <= t->channels; c += VF_W) {
    any_groups_vector(t, g, whole, c, VF_W, GROUPS_BLOCK);
  }
  if (!whole && c < t->channels) {
    any_groups_vector(t, g, whole, c, t->channels - c, REST_BLOCK);
  }
}

static void any_groups(const bsm_k_depthwise_args *t) {
  if (groups_fill(t)) {
    any_groups_row(t, 1);
  } else {
    any_groups_row(t, 0);
  }
}

#define SQUARE(window, stride, rows)               \
  static void square_##window##_##stride##_##rows( \
      const bsm_k_depthwise_args *t) {             \
    square_row(t, window, stride, rows);           \
  }

SQUARE(3, 1, 1)
SQUARE(3, 1, 2)
SQUARE(3, 2, 1)
SQUARE(3, 2, 2)
SQUARE(5, 1, 1)
SQUARE(5, 1, 2)
SQUARE(5, 2, 1)
SQUARE(7, 1, 1)
SQUARE(7, 2, 1)

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)
const bsm_k_depthwise JOIN(bsm_k_depthwise_, BSM_K_SUFFIX) = {
    .name = TEXT(BSM_K_SUFFIX),
    .any = any,
    .any_groups = any_groups,
    .square_groups = {square_groups_1, square_groups_2},
    .square = {{{square_3_1_1, square_3_1_2}, {square_3_2_1, square_3_2_2}},
               {{square_5_1_1, square_5_1_2}, {square_5_2_1, NULL}},
               {{square_7_1_1, NULL}, {square_7_2_1, NULL}}}};
