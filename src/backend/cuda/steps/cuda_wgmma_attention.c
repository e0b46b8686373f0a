/* SPDX-License-Identifier: Apache-2.0 */
/* Attention by wgmma: what it takes, and its launches. */
#include "backend/cuda/steps/cuda_wgmma_attention.h"

#include <stddef.h>
#include <string.h>

#define MOST 256 /* columns of Q, K and V */
#define COLUMNS 64
#define ROWS 64 /* of a tile of keys, and queries of a warpgroup */
#define STAGES 2
#define ALIGNMENT 1024

enum { Q = 1, BIAS = 4, MASK = 6 }; /* K and V follow Q */

/* Queries of a block. */
static const char *const tactics[] = {"wgmma 64", "wgmma 128"};

static int room_for(int64_t columns) {
  return (int)((columns + COLUMNS - 1) / COLUMNS * COLUMNS);
}

static bool takes_operand(const bsm_cuda_attention *a, int k, int64_t rows) {
  bool takes = bsm_cuda_is_tile_stride(rows, a->row[k]);
  for (int i = 0; i < a->loops; i++) {
    /* A stride of zero: the same for all of them. */
    takes = takes &&
            (a->head_strides[k][i] == 0 ||
             bsm_cuda_is_tile_stride(a->head_sizes[i], a->head_strides[k][i]));
  }
  return takes;
}

bool bsm_cuda_attention_is_flat(const bsm_cuda_attention *a) {
  bool flat = !a->mask || a->row[MASK] == 0;
  for (int i = 0; i < a->biases; i++) flat = flat && a->row[BIAS + i] == 0;
  return flat;
}

size_t bsm_cuda_wgmma_attention_tactics(const bsm_cuda_attention *a,
                                        bsm_dtype dtype, bool chunks, int sm,
                                        const char **names) {
  if (sm < 90 || sm >= 100 ||
      (dtype != BSM_DTYPE_HALF && dtype != BSM_DTYPE_BFLOAT16) || !chunks ||
      a->loops > BSM_CUDA_TILE_LOOPS || a->depth < 1 || a->depth > MOST ||
      a->width < 1 || a->width > MOST || a->queries < 1 || a->keys < 1 ||
      a->queries >= INT32_MAX / 2 || a->keys >= INT32_MAX / 2 ||
      a->heads > UINT16_MAX || !takes_operand(a, Q, a->queries) ||
      !takes_operand(a, Q + 1, a->keys) || !takes_operand(a, Q + 2, a->keys)) {
    return 0;
  }
  names[0] = tactics[0];
  /* Two warpgroups have registers for so many columns. */
  if (a->depth > 128 || a->width > 128 || a->queries <= ROWS) return 1;
  names[1] = tactics[1];
  return 2;
}

/* The tensor of an operand: columns, rows, and loops over heads. */
static bsm_status add_tensor(bsm_cuda_launches *l,
                             const bsm_cuda_tiled_attention *p, int k,
                             int64_t columns, int64_t rows, size_t map) {
  const bsm_cuda_attention *a = &p->attention;
  bsm_cuda_tiles t = {
      .address = (uint32_t)(offsetof(bsm_cuda_attention, address) +
                            (size_t)k * sizeof(uint64_t)),
      .map = (uint32_t)map,
      .rank = 5,
      .dims = {(uint64_t)columns, (uint64_t)rows, 1, 1, 1},
      .strides = {16, 16, 16, 16},
      .box = {COLUMNS, ROWS, 1, 1, 1},
      .step = {1, 1, 1, 1, 1}};
  if (rows > 1) t.strides[0] = (uint64_t)a->row[k] * 2;
  for (int i = 0; i < a->loops; i++) {
    if (!p->moves[k - Q][i]) continue;
    t.dims[2 + i] = (uint64_t)a->head_sizes[i];
    t.strides[1 + i] = (uint64_t)a->head_strides[k][i] * 2;
  }
  return bsm_cuda_add_tiles(l, &t);
}

static bsm_status add_tensors(bsm_cuda_launches *l,
                              const bsm_cuda_tiled_attention *p) {
  const bsm_cuda_attention *a = &p->attention;
  BSM_TRY(add_tensor(l, p, Q, a->depth, a->queries,
                     offsetof(bsm_cuda_tiled_attention, q)));
  BSM_TRY(add_tensor(l, p, Q + 1, a->depth, a->keys,
                     offsetof(bsm_cuda_tiled_attention, k)));
  return add_tensor(l, p, Q + 2, a->width, a->keys,
                    offsetof(bsm_cuda_tiled_attention, v));
}

bsm_status bsm_cuda_launch_wgmma_attention(bsm_cuda_launches *l,
                                           const bsm_cuda_attention *a,
                                           const char *tactic) {
  const bsm_step_attention *s = &l->step->params->attention;
  const int groups = tactic && strcmp(tactic, tactics[1]) == 0 ? 2 : 1;
  const int depth = room_for(a->depth), width = room_for(a->width);
  const int widest = depth > width ? depth : width;
  /* Blocks that an SM has registers for. */
  const int resident = widest > 128 ? 1 : widest > 64 ? 3 - groups : 4 - groups;
  bsm_cuda_tiled_attention p = {.attention = *a};
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < a->loops; i++) {
      p.moves[k][i] = a->head_sizes[i] > 1 && a->head_strides[Q + k][i] != 0;
    }
  }
  BSM_TRY(bsm_cuda_add_launch(
      l, "wgmma_attention", "wgmma_attention", &p, sizeof(p),
      "-DK_T=%s -DK_HEADS=%d -DK_BIASES=%d -DK_MASK=%d -DK_CAUSAL=%d "
      "-DK_CLEARS=%d -DK_FLAT=%d -DK_GROUPS=%d -DK_STAGES=%d -DK_DEPTH=%d "
      "-DK_WIDTH=%d "
      "-DK_RESIDENT=%d",
      bsm_cuda_type(bsm_cuda_output(l, 0)->dtype), (int)a->loops, s->biases,
      s->mask, s->causal != 0, s->clears_hidden != 0,
      bsm_cuda_attention_is_flat(a), groups, STAGES, depth, width, resident));
  bsm_cuda_set_block(l, 128u * (unsigned)groups + 32, 1, 1);
  bsm_cuda_set_grid(l,
                    bsm_cuda_blocks((uint64_t)a->queries,
                                    (unsigned)(ROWS * groups), UINT32_MAX),
                    (uint64_t)a->heads, 1);
  bsm_cuda_set_shared(
      l, (size_t)(2 * ROWS * (groups * depth + STAGES * (depth + width)) +
                  ALIGNMENT));
  return add_tensors(l, &p);
}
