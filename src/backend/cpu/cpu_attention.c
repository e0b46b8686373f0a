/* SPDX-License-Identifier: Apache-2.0 */
/* Attention: softmax(mask(scale * Q K^T)) V in one step.
 *
 * A unit is some query rows of one head (a matrix of the batch). It packs K and
 * V of the head into panels, and goes over its rows in blocks: the scores of a
 * block with a block of keys are computed, masked, made exponentials and
 * multiplied with V while they are in the cache. With several blocks of keys
 * the sums so far are scaled down to the new maximum of their row.
 *
 * Rows are computed in tiles whose borders depend on the sizes alone, and each
 * output element is summed in the order of the keys: the bits do not depend on
 * the units. With very few queries packing is not worth it: then both products
 * read K and V where they are. */
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu_step.h"
#include "backend/cpu/kernels/attention/attention_f32.h"
#include "backend/cpu/kernels/gemm/gemm_f32.h"
#include "backend/cpu/kernels/rows/rows.h"
#include "base/caches.h"
#include "base/checked.h"

/* Queries that are multiplied without packing. */
#define FEW_QUERIES 4
/* The most keys of a block. */
#define KEY_BLOCK 512
/* The most rows of a block of queries. */
#define MOST_ROWS 96
/* The least rows of a unit that make packing K and V worth it. */
#define UNIT_ROWS 64

typedef struct attention {
  bsm_cpu_impl base;
  const bsm_k_gemm *gemm;
  const bsm_k_rows *rows;
  const bsm_k_attention *kernels;
  int64_t heads, queries, keys, depth, width; /* L, S, E, W */
  int64_t diagonal; /* INT64_MAX / 4 at most: sums with rows fit */
  bool causal, clears_hidden, few;
  int biases, mask;
  float scale, fill;
  int64_t q_row, q_element, k_row, k_element, v_row, v_element, y_row;
  int64_t mask_row[3], mask_element[3]; /* of the biases, of the mask */
  bsm_cpu_rows q_heads, k_heads, v_heads, y_heads, mask_heads[3];
  /* Blocks. */
  int64_t tiles, block_tiles, block_rows, key_block, head_units;
  /* Bytes of the parts of a slot's scratch. */
  uint64_t k_size, v_size, q_size, scores_size, mask_size, state_size;
} attention;

/* ---- check ---- */

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_attention *p = &step->params->attention;
  if (p->biases > BSM_K_ATTENTION_BIASES) {
    return BSM_FAIL(BSM_CORRUPT, "%d biases and mask %d", p->biases, p->mask);
  }
  return bsm_check_attention(plan, step, BSM_DTYPE_FLOAT);
}

/* ---- prepare ---- */

static void set_operand(const bsm_plan_tensor *t, bsm_cpu_rows *heads,
                        int64_t *row, int64_t *element) {
  const int32_t r = t->dims.rank;
  bsm_cpu_rows_init(heads, r - 2, t->dims.d, t->strides);
  *row = t->strides[r - 2];
  *element = t->dims.d[r - 1] == 1 ? 1 : t->strides[r - 1];
}

static void set_shapes(attention *a, const bsm_plan *plan,
                       const bsm_plan_step *step) {
  const bsm_step_attention *p = &step->params->attention;
  const bsm_plan_tensor *q = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *k = bsm_step_input(plan, step, 1);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  const int32_t r = y->dims.rank;
  int64_t unused;
  a->heads = 1;
  for (int32_t i = 0; i < r - 2; i++) a->heads *= y->dims.d[i];
  a->queries = y->dims.d[r - 2];
  a->width = y->dims.d[r - 1];
  a->depth = q->dims.d[r - 1];
  a->keys = k->dims.d[r - 2];
  a->scale = (float)p->scale;
  a->fill = (float)p->fill;
  a->biases = p->biases;
  a->mask = p->mask;
  a->causal = p->causal != 0;
  a->clears_hidden = p->clears_hidden != 0;
  a->diagonal = bsm_cpu_max(-BSM_MAX_ELEMENTS,
                            bsm_cpu_min(p->diagonal, BSM_MAX_ELEMENTS));
  set_operand(q, &a->q_heads, &a->q_row, &a->q_element);
  set_operand(k, &a->k_heads, &a->k_row, &a->k_element);
  set_operand(bsm_step_input(plan, step, 2), &a->v_heads, &a->v_row,
              &a->v_element);
  set_operand(y, &a->y_heads, &a->y_row, &unused);
  for (int i = 0; i < a->biases + (a->mask ? 1 : 0); i++) {
    const int at = i < a->biases ? i : BSM_K_ATTENTION_BIASES;
    set_operand(bsm_step_input(plan, step, 3u + (uint32_t)i),
                &a->mask_heads[at], &a->mask_row[at], &a->mask_element[at]);
  }
}

static void set_blocks(attention *a, int threads) {
  const int64_t most = a->gemm->max_rows;
  const int64_t blocks = bsm_cpu_max(1, bsm_cpu_div_up(a->keys, KEY_BLOCK));
  a->key_block = bsm_cpu_div_up(a->keys, blocks);
  if (blocks > 1) a->key_block = bsm_cpu_round_up(a->key_block, 2 * BSM_PANEL);
  a->key_block = bsm_cpu_max(a->key_block, 1);
  a->tiles = bsm_cpu_div_up(a->queries, most);
  /* The scores of a block of queries fill most of a first-level cache. */
  const int64_t scores =
      (int64_t)(bsm_detect_caches().l1 * 3 / 4) / (int64_t)sizeof(float);
  const int64_t rows = bsm_cpu_min(scores / a->key_block, MOST_ROWS);
  a->block_tiles = bsm_cpu_max(1, bsm_cpu_min(rows / most, a->tiles));
  a->block_rows = a->block_tiles * most;
  /* As many units as the threads share evenly. */
  const int64_t want = threads > 1 ? 4 * (int64_t)threads : 1;
  const int64_t parts = bsm_cpu_div_up(want, bsm_cpu_max(a->heads, 1));
  const int64_t fit = bsm_cpu_max(1, a->queries / UNIT_ROWS);
  a->head_units = a->few ? 1 : bsm_cpu_min(bsm_cpu_min(parts, fit), a->tiles);
}

/* Between rows of scores: no two rows start in the same cache set. */
static int64_t scores_stride(const attention *a) {
  return bsm_cpu_round_up(a->key_block, BSM_PANEL) + BSM_PANEL;
}

static bsm_status float_bytes(int64_t rows, int64_t columns, uint64_t *out) {
  int64_t bytes;
  if (!bsm_i64_mul(rows, columns, &bytes) ||
      !bsm_i64_mul(bytes, (int64_t)sizeof(float), &bytes) ||
      bytes > INT64_MAX / 16) {
    return BSM_FAIL(BSM_LIMIT, "attention over %lld x %lld elements",
                    (long long)rows, (long long)columns);
  }
  *out = bsm_cpu_align((uint64_t)bytes);
  return BSM_OK;
}

static bsm_status set_sizes(attention *a) {
  const bool masks = a->biases || a->mask;
  if (a->few) {
    BSM_TRY(float_bytes(1, a->keys, &a->scores_size));
  } else {
    BSM_TRY(float_bytes(bsm_cpu_round_up(a->keys, BSM_PANEL), a->depth,
                        &a->k_size));
    BSM_TRY(float_bytes(bsm_cpu_round_up(a->width, BSM_PANEL), a->keys,
                        &a->v_size));
    BSM_TRY(float_bytes(a->block_rows, scores_stride(a), &a->scores_size));
    BSM_TRY(float_bytes(a->block_rows, 2, &a->state_size));
    if (a->q_element != 1) {
      BSM_TRY(float_bytes(a->block_rows, a->depth, &a->q_size));
    }
  }
  if (masks) {
    const int64_t n = a->few ? a->keys : a->key_block;
    BSM_TRY(float_bytes(3, n, &a->mask_size));
  }
  return BSM_OK;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  attention *a = BSM_NEW(p->arena, attention);
  BSM_TRY_ALLOC(a);
  a->base.slots = p->threads;
  a->gemm = bsm_k_gemm_select(p->isa);
  a->rows = bsm_k_rows_select(p->isa);
  a->kernels = bsm_k_attention_select(p->isa);
  set_shapes(a, p->plan, p->step);
  a->few = a->queries <= FEW_QUERIES && a->q_element == 1 &&
           a->k_element == 1 && a->v_element == 1;
  set_blocks(a, p->threads);
  BSM_TRY(set_sizes(a));
  a->base.description =
      bsm_arena_printf(p->arena, "%s %s", a->few ? "few queries" : "packed",
                       a->few ? a->kernels->name : a->gemm->name);
  BSM_TRY_ALLOC(a->base.description);
  out->impl = a;
  return bsm_cpu_set_scratch(out, 0,
                             a->k_size + a->v_size + a->q_size +
                                 a->scores_size + a->mask_size + a->state_size,
                             a->base.slots);
}

/* ---- run ---- */

typedef struct work {
  const attention *a;
  const float *q, *k, *v, *bias[BSM_K_ATTENTION_BIASES];
  const uint8_t *mask;
  float *y;
  uint8_t *scratch;
  size_t slot_size;
} work;

/* What a unit works on: the addresses of its head, its scratch. */
typedef struct unit_state {
  const attention *a;
  const float *q, *k, *v, *bias[BSM_K_ATTENTION_BIASES];
  const uint8_t *mask;
  float *y;
  float *packed_k, *packed_v, *packed_q, *scores, *gathered;
  float *most, *sums; /* of the rows of the block */
  int64_t first;      /* row of the block */
} unit_state;

static int64_t head_offset(const bsm_cpu_rows *heads, int64_t head) {
  int64_t offset;
  bsm_cpu_rows_offsets(heads, head, 1, &offset);
  return offset;
}

static void enter_head(const work *w, int64_t head, int slot, unit_state *u) {
  const attention *a = w->a;
  uint8_t *at = w->scratch + (size_t)slot * w->slot_size;
  *u = (unit_state){.a = a,
                    .q = w->q + head_offset(&a->q_heads, head),
                    .k = w->k + head_offset(&a->k_heads, head),
                    .v = w->v + head_offset(&a->v_heads, head),
                    .y = w->y + head_offset(&a->y_heads, head)};
  for (int i = 0; i < a->biases; i++) {
    u->bias[i] = w->bias[i] + head_offset(&a->mask_heads[i], head);
  }
  if (a->mask) {
    u->mask =
        w->mask + head_offset(&a->mask_heads[BSM_K_ATTENTION_BIASES], head);
  }
  u->packed_k = (float *)(void *)at;
  at += a->k_size;
  u->packed_v = (float *)(void *)at;
  at += a->v_size;
  u->packed_q = (float *)(void *)at;
  at += a->q_size;
  u->scores = (float *)(void *)at;
  at += a->scores_size;
  u->gathered = (float *)(void *)at;
  at += a->mask_size;
  u->most = (float *)(void *)at;
  u->sums = u->most + a->block_rows;
}

/* The first key that query `row` does not see. */
static int64_t seen_by(const attention *a, int64_t row) {
  if (!a->causal) return a->keys;
  return bsm_cpu_max(0, bsm_cpu_min(a->keys, row + a->diagonal + 1));
}

/* The masks of keys key .. key + n - 1 for a query, gathered where they are not
 * adjacent; false when there are none. */
static bool find_mask(const unit_state *u, int64_t row, int64_t key, int64_t n,
                      bsm_k_attention_mask *out) {
  const attention *a = u->a;
  float *to = u->gathered;
  if (!a->biases && !a->mask) return false;
  for (int i = 0; i < a->biases; i++) {
    const int64_t step = a->mask_element[i];
    const float *from = u->bias[i] + row * a->mask_row[i] + key * step;
    out->bias[i] = from;
    if (step == 1) continue;
    for (int64_t j = 0; j < n; j++) to[j] = from[j * step];
    out->bias[i] = to;
    to += n;
  }
  if (a->mask) {
    const int at = BSM_K_ATTENTION_BIASES;
    const int64_t step = a->mask_element[at];
    const uint8_t *from = u->mask + row * a->mask_row[at] + key * step;
    out->keys = from;
    out->hidden = a->mask == BSM_ATTENTION_HIDE;
    out->fill = a->fill;
    if (step == 1) return true;
    uint8_t *bytes = (uint8_t *)to;
    for (int64_t j = 0; j < n; j++) bytes[j] = from[j * step];
    out->keys = bytes;
  }
  return true;
}

/* What the sum of a row is divided by, as a factor. */
static float factor_of(const attention *a, float most, float sum) {
  if (a->keys == 0) return 0.0f;
  if (most == -INFINITY) return a->clears_hidden ? 0.0f : NAN;
  return 1.0f / sum;
}

/* ---- few queries ---- */

static void few_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const attention *a = w->a;
  unit_state u;
  enter_head(w, unit, slot, &u);
  for (int64_t row = 0; row < a->queries; row++) {
    bsm_k_attention_mask mask = {{NULL, NULL}, NULL, 0, 0.0f};
    const int64_t n = seen_by(a, row);
    float most = -INFINITY, sum = 0.0f;
    a->kernels->dot(u.q + row * a->q_row, u.k, a->k_row, n, a->depth, a->scale,
                    u.scores);
    find_mask(&u, row, 0, n, &mask);
    if (n > 0) most = a->kernels->mask(u.scores, n, &mask);
    if (most == -INFINITY) {
      memset(u.scores, 0, (size_t)n * sizeof(float));
    } else {
      sum = a->kernels->exponentials(u.scores, n, most);
    }
    a->kernels->blend(u.scores, u.v, a->v_row, n, a->width,
                      factor_of(a, most, sum), u.y + row * a->y_row);
  }
}

/* ---- packed ---- */

static void pack(const unit_state *u, int64_t keys) {
  const attention *a = u->a;
  for (int64_t j = 0; j < keys; j += BSM_PANEL) {
    a->rows->pack_panel(u->k + j * a->k_row, a->depth,
                        bsm_cpu_min(BSM_PANEL, keys - j), a->k_element,
                        a->k_row, u->packed_k + j * a->depth);
  }
  for (int64_t c = 0; c < a->width; c += BSM_PANEL) {
    a->rows->pack_panel(u->v + c * a->v_element, keys,
                        bsm_cpu_min(BSM_PANEL, a->width - c), a->v_row,
                        a->v_element, u->packed_v + c * a->keys);
  }
}

/* Borders of tiles: rows of nearly equal counts. */
static int64_t tile_row(const attention *a, int64_t tile) {
  return tile * a->queries / a->tiles;
}

/* A row of Q, adjacent. */
static const float *query(const unit_state *u, int64_t row) {
  const attention *a = u->a;
  if (a->q_element == 1) return u->q + row * a->q_row;
  return u->packed_q + (row - u->first) * a->depth;
}

static void pack_queries(const unit_state *u, int64_t end) {
  const attention *a = u->a;
  for (int64_t row = u->first; row < end; row++) {
    const float *from = u->q + row * a->q_row;
    float *to = u->packed_q + (row - u->first) * a->depth;
    for (int64_t i = 0; i < a->depth; i++) to[i] = from[i * a->q_element];
  }
}

/* Keys of the block at `key` that a tile needs: all that its last row sees. */
static int64_t tile_keys(const attention *a, int64_t tile, int64_t key) {
  const int64_t end = seen_by(a, tile_row(a, tile + 1) - 1);
  return bsm_cpu_max(0, bsm_cpu_min(a->key_block, end - key));
}

/* scores = scale * Q K^T for tiles [tile, end) and the block of keys at `key`:
 * the panels of K one after the other, each staying in the cache. */
static void multiply_keys(const unit_state *u, int64_t tile, int64_t end,
                          int64_t key) {
  const attention *a = u->a;
  const int64_t keys = tile_keys(a, end - 1, key);
  const int64_t stride = scores_stride(a);
  bsm_k_gemm_args t = {.taps = 1,
                       .kc = a->depth,
                       .b_panel = a->depth * BSM_PANEL,
                       .flags = a->scale != 1.0f ? BSM_K_GEMM_SCALE : 0,
                       .scale = a->scale};
  int64_t width;
  for (int64_t j = 0; j < keys; j += width) {
    const bool wide = keys - j > BSM_PANEL;
    width = wide ? a->gemm->columns : BSM_PANEL;
    bsm_k_gemm_fn *const *fn = wide ? a->gemm->full : a->gemm->single;
    t.b = u->packed_k + (key + j) * a->depth;
    for (int64_t i = tile; i < end; i++) {
      const int64_t row = tile_row(a, i), rows = tile_row(a, i + 1) - row;
      const int64_t n = tile_keys(a, i, key) - j;
      if (n <= 0) continue;
      const float *q[BSM_K_GEMM_MAX_ROWS];
      float *c[BSM_K_GEMM_MAX_ROWS];
      for (int64_t r = 0; r < rows; r++) {
        q[r] = query(u, row + r);
        c[r] = u->scores + (row + r - u->first) * stride + j;
      }
      t.a = q;
      t.c = c;
      t.n = bsm_cpu_min(width, n);
      fn[rows - 1](&t);
    }
  }
}

/* Turns the scores of a row into exponentials, for the first `seen` of the `n`
 * keys of its tile. What was summed before is scaled down to a new maximum. */
static void soften_row(const unit_state *u, int64_t row, int64_t key,
                       int64_t seen, int64_t n) {
  const attention *a = u->a;
  const int64_t at = row - u->first;
  float *x = u->scores + at * scores_stride(a);
  bsm_k_attention_mask mask = {{NULL, NULL}, NULL, 0, 0.0f};
  float most = -INFINITY;
  if (seen > 0) {
    find_mask(u, row, key, seen, &mask);
    most = a->kernels->mask(x, seen, &mask);
  }
  if (key > 0) {
    const float before = u->most[at];
    if (!(most > before)) most = most == most ? before : most;
    if (most != before && before != -INFINITY) {
      const float factor = expf(before - most);
      u->sums[at] *= factor;
      a->kernels->scale(u->y + row * a->y_row, a->width, factor);
    }
  } else {
    u->sums[at] = 0.0f;
  }
  u->most[at] = most;
  if (most == -INFINITY) {
    seen = 0;
  } else if (seen > 0) {
    u->sums[at] += a->kernels->exponentials(x, seen, most);
  }
  memset(x + seen, 0, (size_t)(n - seen) * sizeof(float));
}

static void soften(const unit_state *u, int64_t tile, int64_t end,
                   int64_t key) {
  const attention *a = u->a;
  for (int64_t i = tile; i < end; i++) {
    const int64_t n = tile_keys(a, i, key);
    for (int64_t row = tile_row(a, i); row < tile_row(a, i + 1); row++) {
      const int64_t seen = seen_by(a, row) - key;
      soften_row(u, row, key, bsm_cpu_max(0, bsm_cpu_min(seen, n)), n);
    }
  }
}

/* y (+)= exponentials V. */
static void multiply_values(const unit_state *u, int64_t tile, int64_t end,
                            int64_t key) {
  const attention *a = u->a;
  const int64_t stride = scores_stride(a);
  bsm_k_gemm_args t = {.taps = 1,
                       .b_panel = a->keys * BSM_PANEL,
                       .flags = key > 0 ? BSM_K_GEMM_ACCUMULATE : 0};
  for (int64_t i = tile; i < end; i++) {
    const int64_t row = tile_row(a, i), rows = tile_row(a, i + 1) - row;
    t.kc = tile_keys(a, i, key);
    if (t.kc == 0 && key > 0) continue;
    const float *p[BSM_K_GEMM_MAX_ROWS];
    float *y[BSM_K_GEMM_MAX_ROWS];
    int64_t width;
    for (int64_t c = 0; c < a->width; c += width) {
      const bool wide = a->width - c > BSM_PANEL;
      width = wide ? a->gemm->columns : BSM_PANEL;
      for (int64_t r = 0; r < rows; r++) {
        p[r] = u->scores + (row + r - u->first) * stride;
        y[r] = u->y + (row + r) * a->y_row + c;
      }
      t.a = p;
      t.c = t.from = y;
      t.b = u->packed_v + c * a->keys + key * BSM_PANEL;
      t.n = bsm_cpu_min(width, a->width - c);
      (wide ? a->gemm->full : a->gemm->single)[rows - 1](&t);
    }
  }
}

static void finish_rows(const unit_state *u, int64_t end) {
  const attention *a = u->a;
  for (int64_t row = u->first; row < end; row++) {
    const int64_t at = row - u->first;
    a->kernels->scale(u->y + row * a->y_row, a->width,
                      factor_of(a, u->most[at], u->sums[at]));
  }
}

static void packed_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const attention *a = w->a;
  const int64_t part = unit % a->head_units;
  const int64_t first = part * a->tiles / a->head_units;
  const int64_t last = (part + 1) * a->tiles / a->head_units;
  unit_state u;
  enter_head(w, unit / a->head_units, slot, &u);
  pack(&u, seen_by(a, tile_row(a, last) - 1));
  for (int64_t tile = first; tile < last; tile += a->block_tiles) {
    const int64_t end = bsm_cpu_min(tile + a->block_tiles, last);
    const int64_t end_row = tile_row(a, end);
    u.first = tile_row(a, tile);
    if (a->q_element != 1) pack_queries(&u, end_row);
    const int64_t keys = seen_by(a, end_row - 1);
    int64_t key = 0;
    do {
      multiply_keys(&u, tile, end, key);
      soften(&u, tile, end, key);
      multiply_values(&u, tile, end, key);
      key += a->key_block;
    } while (key < keys);
    finish_rows(&u, end_row);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const attention *a = prepared->impl;
  work w = {.a = a,
            .q = bsm_cpu_input_address(prepared, r, 0),
            .k = bsm_cpu_input_address(prepared, r, 1),
            .v = bsm_cpu_input_address(prepared, r, 2),
            .y = bsm_cpu_output_address(prepared, r, 0),
            .scratch = r->scratch,
            .slot_size = prepared->scratch_size / (size_t)a->base.slots};
  if (a->queries == 0 || a->width == 0) return BSM_OK;
  for (int i = 0; i < a->biases; i++) {
    w.bias[i] = bsm_cpu_input_address(prepared, r, 3u + (uint32_t)i);
  }
  if (a->mask) {
    w.mask = bsm_cpu_input_address(prepared, r, 3u + (uint32_t)a->biases);
  }
  bsm_cpu_parallel(r, a->base.slots, a->heads * a->head_units,
                   a->few ? few_unit : packed_unit, &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_ATTENTION = {check, NULL, prepare, run};
