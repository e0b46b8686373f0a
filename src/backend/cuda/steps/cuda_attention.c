/* SPDX-License-Identifier: Apache-2.0 */
/* Attention on a GPU. */
#include <string.h>

#include "aten/tensor.h"
#include "backend/cuda/kernels/params.h"
#include "backend/cuda/steps/cuda_mma.h"
#include "backend/cuda/steps/cuda_wgmma_attention.h"

#define THREADS 128
#define MAX_BLOCKS 65536

enum { OUT, Q, K, V, BIAS, MASK = BIAS + 2 };

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  if (!bsm_dtype_is_floating(y->dtype)) {
    return BSM_FAIL(BSM_CORRUPT, "attention of %s", bsm_dtype_name(y->dtype));
  }
  BSM_TRY(bsm_check_attention(plan, step, y->dtype));
  const int64_t width = y->dims.d[y->dims.rank - 1];
  return width <= BSM_CUDA_MAX_ATTENTION_WIDTH
             ? BSM_OK
             : BSM_FAIL(BSM_UNSUPPORTED,
                        "attention to values of %lld numbers, more than %d",
                        (long long)width, BSM_CUDA_MAX_ATTENTION_WIDTH);
}

static void set_operand(bsm_cuda_attention *a, int k,
                        const bsm_plan_tensor *t) {
  const int rank = t->dims.rank;
  for (int i = 0; i < rank - 2; i++) {
    a->head_strides[k][i] = t->dims.d[i] == 1 ? 0 : t->strides[i];
  }
  a->row[k] = t->dims.d[rank - 2] == 1 ? 0 : t->strides[rank - 2];
  a->column[k] = t->dims.d[rank - 1] == 1 ? 0 : t->strides[rank - 1];
}

/* Far enough for any tensor, and sums with rows fit. */
static int64_t clamp_diagonal(int64_t d) {
  return d < -BSM_MAX_ELEMENTS  ? -BSM_MAX_ELEMENTS
         : d > BSM_MAX_ELEMENTS ? BSM_MAX_ELEMENTS
                                : d;
}

/* The operands of a step: which there are, and their tensors. */
typedef struct operands {
  uint32_t ids[BSM_CUDA_ATTENTION_OPERANDS];
  bool has[BSM_CUDA_ATTENTION_OPERANDS];
} operands;

static operands operands_of(const bsm_plan_step *step) {
  operands o = {.ids = {step->outputs[0]}, .has = {true}};
  for (uint32_t i = 0; i < step->input_count; i++) {
    const bool is_mask =
        step->params->attention.mask && i == step->input_count - 1;
    const uint32_t at = is_mask ? MASK : Q + i;
    o.ids[at] = step->inputs[i];
    o.has[at] = true;
  }
  return o;
}

static bsm_cuda_attention params_of(const bsm_plan *plan,
                                    const bsm_plan_step *step,
                                    const operands *o) {
  const bsm_step_attention *p = &step->params->attention;
  const bsm_plan_tensor *q = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *k = bsm_step_input(plan, step, 1);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  const int rank = y->dims.rank;
  bsm_cuda_attention a = {.heads = 1,
                          .queries = y->dims.d[rank - 2],
                          .keys = k->dims.d[rank - 2],
                          .depth = q->dims.d[rank - 1],
                          .width = y->dims.d[rank - 1],
                          .diagonal = clamp_diagonal(p->diagonal),
                          .loops = rank - 2,
                          .biases = p->biases,
                          .mask = p->mask,
                          .causal = p->causal != 0,
                          .clears = p->clears_hidden != 0,
                          .scale = p->scale,
                          .fill = p->fill};
  for (int i = 0; i < BSM_CUDA_ATTENTION_OPERANDS; i++) {
    if (o->has[i]) set_operand(&a, i, &plan->tensors[o->ids[i]]);
  }
  for (int i = 0; i < rank - 2; i++) {
    a.head_sizes[i] = y->dims.d[i];
    a.heads *= y->dims.d[i];
  }
  return a;
}

/* Blocks that a GPU holds at once. */
#define MANY_BLOCKS 264

/* ---- on tensor cores ---- */

#define MMA_TACTIC "mma"
#define MMA_KEYS 64
/* Fewer blocks than this are made smaller. */
#define MMA_FEW_BLOCKS 128
#define MMA_MOST 256

/* Room for so many columns: 32, or a multiple of 64. */
static int room_for(int64_t columns) {
  return columns <= 32 ? 32 : (int)((columns + 63) / 64 * 64);
}

static int mma_warps(const bsm_cuda_attention *a) {
  return a->heads * ((a->queries + 63) / 64) < MMA_FEW_BLOCKS ? 2 : 4;
}

static size_t mma_bytes(const bsm_cuda_attention *a, int warps) {
  const int depth = room_for(a->depth), width = room_for(a->width);
  return 2u * (size_t)(16 * warps * depth + 2 * MMA_KEYS * (depth + width));
}

static bool runs_on_tensor_cores(const bsm_plan *plan,
                                 const bsm_plan_step *step, int sm) {
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  const operands o = operands_of(step);
  const bsm_cuda_attention a = params_of(plan, step, &o);
  return bsm_cuda_mma_has(y->dtype, sm) && a.depth <= MMA_MOST &&
         a.width <= MMA_MOST && mma_bytes(&a, 4) <= bsm_cuda_most_shared(sm) &&
         a.heads <= UINT16_MAX && a.depth > 0 && a.queries < INT32_MAX / 2 &&
         a.keys < INT32_MAX / 2;
}

/* ---- of short sequences, on tensor cores ---- */

#define SHORT_TACTIC "short"
#define SHORT_KEYS 32 /* of a tile */
#define SHORT_WARPS 8
#define SHORT_MOST 128 /* columns */

/* How warps share a head: options of the kernel. */
typedef struct shares {
  int rows, warps; /* of 16 queries; and of each of them */
  int keys;        /* of a tile */
  size_t shared_bytes;
} shares;

/* Of a block that waits for memory another one is to run beside it. */
static size_t half_of_shared(int sm) {
  return (sm >= 120              ? 49u
          : sm >= 90             ? 113u
          : sm == 80 || sm == 87 ? 81u
                                 : 49u)
         << 10;
}

static int64_t at_most(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static size_t short_bytes(const bsm_cuda_attention *a, const shares *s) {
  const int64_t depth = room_for(a->depth), width = room_for(a->width);
  const int64_t keys = (a->keys + s->keys - 1) / s->keys * s->keys;
  const int64_t read = 2 * (16 * s->rows * depth + keys * (depth + width));
  const int64_t found = 4 * s->rows * s->warps * (16 * (width + 8) + 32);
  return (size_t)(read > found ? read : found);
}

/* False: keys and values do not fit in shared memory. */
static bool make_shares(const bsm_cuda_attention *a, bsm_cuda_scope scope,
                        int sm, shares *s) {
  const int64_t sixteens = (a->queries + 15) / 16;
  if (sm < 80 || a->keys > 4096 || a->depth > SHORT_MOST ||
      a->width > SHORT_MOST) {
    return false;
  }
  const bool sizes = scope == BSM_CUDA_FOR_SIZES;
  s->keys = sizes && a->keys <= SHORT_KEYS / 2 * SHORT_WARPS ? SHORT_KEYS / 2
                                                             : SHORT_KEYS;
  s->rows = 1;
  while (sizes && s->rows < 4 && s->rows < sixteens &&
         (sixteens + s->rows - 1) / s->rows * a->heads > MANY_BLOCKS) {
    s->rows *= 2;
  }
  const int64_t tiles = (a->keys + s->keys - 1) / s->keys;
  s->warps = SHORT_WARPS / (s->rows == 4 ? 2 : 1);
  if (sizes) s->warps = (int)at_most(s->warps, tiles > 0 ? tiles : 1);
  s->shared_bytes = short_bytes(a, s);
  return s->shared_bytes <= half_of_shared(sm);
}

/* With few blocks warps share the keys of a query; with many, those that read
 * keys in tiles overlap better. */
static bool prefers_short(const bsm_cuda_attention *a) {
  return a->heads * ((a->queries + 63) / 64) < MANY_BLOCKS;
}

/* ---- of float ---- */

#define FLOAT_TACTIC "tiles"
#define FLOAT_MOST 256 /* columns */

/* Of the kernel: lines of threads, queries of a thread, keys of a tile, and
 * room. */
typedef struct float_tile {
  int lines, rows, keys, depth, width;
} float_tile;

static size_t float_bytes(const float_tile *t) {
  const int queries = t->lines * t->rows, pitch = t->depth + 4;
  return 4u * (size_t)(queries * pitch + 2 * t->keys * (pitch + t->width) +
                       queries * (t->keys + 4));
}

static int float_room(int64_t columns) {
  return columns <= 16 ? 16 : room_for(columns);
}

static int64_t float_blocks(const bsm_cuda_attention *a, const float_tile *t) {
  const int64_t queries = t->lines * t->rows;
  return a->heads * ((a->queries + queries - 1) / queries);
}

/* As many queries as leave no multiprocessor without work, and then as many
 * keys as there is room for. */
static float_tile choose_float_tile(const bsm_cuda_attention *a, int sm) {
  float_tile t = {.lines = 16,
                  .rows = 4,
                  .keys = 64,
                  .depth = float_room(a->depth),
                  .width = float_room(a->width)};
  if (float_blocks(a, &t) < MANY_BLOCKS / 2) t.lines = 8;
  if (float_blocks(a, &t) < MANY_BLOCKS / 4) t.rows = 2;
  while (t.keys > 16 && float_bytes(&t) > bsm_cuda_most_shared(sm)) t.keys /= 2;
  if (float_bytes(&t) > bsm_cuda_most_shared(sm)) t.lines = 8;
  return t;
}

static bool takes_float(const bsm_plan *plan, const bsm_plan_step *step,
                        int sm) {
  const operands o = operands_of(step);
  const bsm_cuda_attention a = params_of(plan, step, &o);
  if (bsm_step_output(plan, step, 0)->dtype != BSM_DTYPE_FLOAT ||
      a.depth > FLOAT_MOST || a.width > FLOAT_MOST || a.depth == 0 ||
      a.heads > UINT16_MAX || a.queries >= INT32_MAX / 2 ||
      a.keys >= INT32_MAX / 2) {
    return false;
  }
  const float_tile t = choose_float_tile(&a, sm);
  return float_bytes(&t) <= bsm_cuda_most_shared(sm);
}

static bool reads_chunks(const bsm_plan *plan, const operands *o) {
  for (int i = Q; i <= V; i++) {
    const bsm_plan_tensor *t = &plan->tensors[o->ids[i]];
    if (!bsm_cuda_mma_reads_along(t, t->dims.rank - 1)) return false;
  }
  return true;
}

static size_t tactics(const bsm_plan *plan, const bsm_plan_step *step, int sm,
                      const char **names) {
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  const operands o = operands_of(step);
  const bsm_cuda_attention a = params_of(plan, step, &o);
  shares s;
  size_t count = 0;
  if (runs_on_tensor_cores(plan, step, sm)) {
    const bool has_short = make_shares(&a, BSM_CUDA_FOR_SIZES, sm, &s);
    const bool is_short = has_short && prefers_short(&a);
    if (is_short) names[count++] = SHORT_TACTIC;
    count += bsm_cuda_wgmma_attention_tactics(
        &a, y->dtype, reads_chunks(plan, &o), sm, names + count);
    names[count++] = MMA_TACTIC;
    if (has_short && !is_short) names[count++] = SHORT_TACTIC;
  }
  if (takes_float(plan, step, sm)) names[count++] = FLOAT_TACTIC;
  names[count++] = BSM_CUDA_PLAIN_TACTIC;
  return count;
}

static bsm_status add_mma(bsm_cuda_launches *l, const bsm_cuda_attention *a,
                          int warps, bool chunks) {
  const bsm_step_attention *p = &l->step->params->attention;
  const int depth = room_for(a->depth), width = room_for(a->width);
  BSM_TRY(bsm_cuda_add_launch(
      l, "mma_attention", "mma_attention", a, sizeof(*a),
      "-DK_T=%s -DK_HEADS=%d -DK_BIASES=%d -DK_MASK=%d -DK_CAUSAL=%d "
      "-DK_CLEARS=%d -DK_WARPS=%d -DK_DEPTH=%d -DK_WIDTH=%d -DK_CHUNKS=%d",
      bsm_cuda_type(bsm_cuda_output(l, 0)->dtype),
      bsm_cuda_output(l, 0)->dims.rank - 2, p->biases, p->mask, p->causal != 0,
      p->clears_hidden != 0, warps, depth, width, chunks));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES, "-DK_FLAT=%d",
                               bsm_cuda_attention_is_flat(a)));
  bsm_cuda_set_block(l, 32u * (unsigned)warps, 1, 1);
  bsm_cuda_set_grid(
      l,
      bsm_cuda_blocks((uint64_t)a->queries, 16u * (unsigned)warps, UINT32_MAX),
      (uint64_t)a->heads, 1);
  bsm_cuda_set_shared(l, mma_bytes(a, warps));
  return BSM_OK;
}

static bsm_status launch_mma(bsm_cuda_launches *l, const bsm_cuda_attention *a,
                             const operands *o) {
  return add_mma(l, a, mma_warps(a), reads_chunks(l->plan, o));
}

static bsm_status add_short(bsm_cuda_launches *l, const bsm_cuda_attention *a,
                            const shares *s, bool chunks) {
  const bsm_step_attention *p = &l->step->params->attention;
  BSM_TRY(bsm_cuda_add_launch(
      l, "short_attention", "short_attention", a, sizeof(*a),
      "-DK_T=%s -DK_HEADS=%d -DK_BIASES=%d -DK_MASK=%d -DK_CAUSAL=%d "
      "-DK_CLEARS=%d -DK_ROWS=%d -DK_SHARES=%d -DK_KEYS=%d -DK_DEPTH=%d "
      "-DK_WIDTH=%d -DK_CHUNKS=%d",
      bsm_cuda_type(bsm_cuda_output(l, 0)->dtype),
      bsm_cuda_output(l, 0)->dims.rank - 2, p->biases, p->mask, p->causal != 0,
      p->clears_hidden != 0, s->rows, s->warps, s->keys, room_for(a->depth),
      room_for(a->width), chunks));
  bsm_cuda_set_block(l, 32u * (unsigned)(s->rows * s->warps), 1, 1);
  bsm_cuda_set_grid(l,
                    bsm_cuda_blocks((uint64_t)a->queries,
                                    16u * (unsigned)s->rows, UINT32_MAX),
                    (uint64_t)a->heads, 1);
  bsm_cuda_set_shared(l, s->shared_bytes);
  return BSM_OK;
}

/* All kernels for a range of sizes: of short sequences and of long ones. */
static bsm_status set_all_aside(bsm_cuda_launches *l,
                                const bsm_cuda_attention *a) {
  bsm_cuda_attention few = *a;
  shares s;
  few.queries = few.keys = 1;
  for (int chunks = 0; chunks < 2; chunks++) {
    for (int warps = 2; warps <= 4; warps += 2) {
      BSM_TRY(add_mma(l, a, warps, chunks));
      BSM_TRY(bsm_cuda_set_aside(l));
    }
    if (!make_shares(&few, l->scope, l->sm, &s)) continue;
    BSM_TRY(add_short(l, a, &s, chunks));
    BSM_TRY(bsm_cuda_set_aside(l));
  }
  return BSM_OK;
}

/* ---- of any dtype ---- */

static bsm_status launch_plain(bsm_cuda_launches *l,
                               const bsm_cuda_attention *a) {
  const bsm_step_attention *p = &l->step->params->attention;
  const bsm_plan_tensor *y = bsm_cuda_output(l, 0);
  BSM_TRY(bsm_cuda_add_launch(l, "attention", "attention", a, sizeof(*a),
                              "--fmad=false -DK_T=%s",
                              bsm_cuda_type(y->dtype)));
  BSM_TRY(bsm_cuda_add_options(
      l, BSM_CUDA_FOR_STEP,
      "-DK_BIASES=%d -DK_MASK=%d -DK_CAUSAL=%d -DK_CLEARS=%d", p->biases,
      p->mask, p->causal != 0, p->clears_hidden != 0));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES,
                               "-DK_HEADS=%d -DK_COLUMNS=%d", y->dims.rank - 2,
                               (int)((a->width + THREADS - 1) / THREADS)));
  bsm_cuda_set_block(l, THREADS, 1, 1);
  bsm_cuda_set_grid(
      l, bsm_cuda_blocks((uint64_t)(a->heads * a->queries), 1, MAX_BLOCKS), 1,
      1);
  return BSM_OK;
}

static bsm_status launch_float(bsm_cuda_launches *l,
                               const bsm_cuda_attention *a, const operands *o) {
  const bsm_step_attention *p = &l->step->params->attention;
  const float_tile t = choose_float_tile(a, l->sm);
  BSM_TRY(bsm_cuda_add_launch(
      l, "float_attention", "float_attention", a, sizeof(*a),
      "-DK_HEADS=%d -DK_BIASES=%d -DK_MASK=%d -DK_CAUSAL=%d -DK_CLEARS=%d "
      "-DK_LINES=%d -DK_ROWS=%d -DK_KEYS=%d -DK_DEPTH=%d -DK_WIDTH=%d "
      "-DK_CHUNKS=%d",
      bsm_cuda_output(l, 0)->dims.rank - 2, p->biases, p->mask, p->causal != 0,
      p->clears_hidden != 0, t.lines, t.rows, t.keys, t.depth, t.width,
      reads_chunks(l->plan, o)));
  bsm_cuda_set_block(l, 16u * (unsigned)t.lines, 1, 1);
  bsm_cuda_set_grid(l,
                    bsm_cuda_blocks((uint64_t)a->queries,
                                    (unsigned)(t.lines * t.rows), UINT32_MAX),
                    (uint64_t)a->heads, 1);
  bsm_cuda_set_shared(l, float_bytes(&t));
  return BSM_OK;
}

/* By its tactic, or without one. */
static bool takes_short(const bsm_cuda_launches *l, const bsm_cuda_attention *a,
                        shares *s) {
  const char *tactic = l->step->tactic;
  const bool wanted =
      strcmp(tactic, SHORT_TACTIC) == 0 ||
      (strncmp(tactic, "wgmma", 5) != 0 && strcmp(tactic, MMA_TACTIC) != 0 &&
       (l->scope != BSM_CUDA_FOR_SIZES || prefers_short(a)));
  return wanted && make_shares(a, l->scope, l->sm, s);
}

/* The tactic by wgmma that a step has or should have; NULL: none. */
static const char *wgmma_tactic(const bsm_cuda_launches *l,
                                const bsm_cuda_attention *a,
                                const operands *o) {
  const char *names[2], *tactic = l->step->tactic;
  const size_t count = bsm_cuda_wgmma_attention_tactics(
      a, bsm_step_output(l->plan, l->step, 0)->dtype, reads_chunks(l->plan, o),
      l->sm, names);
  for (size_t i = 0; i < count; i++) {
    if (strcmp(tactic, names[i]) == 0) return names[i];
  }
  return count && strcmp(tactic, MMA_TACTIC) != 0 ? names[0] : NULL;
}

/* On tensor cores, of sequences that are not short. */
static bsm_status launch_long(bsm_cuda_launches *l, const bsm_cuda_attention *a,
                              const operands *o) {
  const char *tactic =
      l->scope == BSM_CUDA_FOR_SIZES ? wgmma_tactic(l, a, o) : NULL;
  return tactic ? bsm_cuda_launch_wgmma_attention(l, a, tactic)
                : launch_mma(l, a, o);
}

static bsm_status launches(bsm_cuda_launches *l) {
  const operands o = operands_of(l->step);
  const bsm_cuda_attention a = params_of(l->plan, l->step, &o);
  if (a.heads == 0 || a.queries == 0 || a.width == 0) return BSM_OK;
  const bool plain = !bsm_cuda_may_specialise(l) ||
                     !runs_on_tensor_cores(l->plan, l->step, l->sm);
  shares s;
  const bool in_float = plain && l->scope == BSM_CUDA_FOR_SIZES &&
                        bsm_cuda_may_specialise(l) &&
                        takes_float(l->plan, l->step, l->sm);
  const bool is_short = !plain && takes_short(l, &a, &s);
  if (!plain && l->scope == BSM_CUDA_FOR_RANGE) BSM_TRY(set_all_aside(l, &a));
  BSM_TRY(in_float   ? launch_float(l, &a, &o)
          : plain    ? launch_plain(l, &a)
          : is_short ? add_short(l, &a, &s, reads_chunks(l->plan, &o))
                     : launch_long(l, &a, &o));
  for (size_t i = 0; i < BSM_CUDA_ATTENTION_OPERANDS; i++) {
    if (!o.has[i]) continue;
    BSM_TRY(bsm_cuda_add_slot(
        l, BSM_CUDA_SLOT_TENSOR,
        offsetof(bsm_cuda_attention, address) + i * sizeof(uint64_t),
        o.ids[i]));
  }
  return BSM_OK;
}

const bsm_cuda_step_kind bsm_cuda_ATTENTION = {check, launches, tactics, NULL};
