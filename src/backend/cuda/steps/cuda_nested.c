/* SPDX-License-Identifier: Apache-2.0 */
/* Loops within loops, and how many threads share the inner ones. */
#include "backend/cuda/steps/cuda_nested.h"

#define BLOCK 256
#define MAX_BLOCKS 65536
#define MAX_HELD 32
#define MANY_ROWS 4096
#define SOME_ROWS 264 /* two for each multiprocessor of a large GPU */
#define FEW_ELEMENTS 8
/* So many keep a large GPU busy. */
#define MANY_THREADS (1 << 17)
/* Pieces of a thread that wait for each other less than threads do. */
#define FEW_PIECES 3

typedef struct side {
  int64_t *count, *sizes;
  int64_t (*strides)[BSM_CUDA_MAX_LOOPS];
  int loops;
} side;

static bool mergeable(const side *s, int operands, int i) {
  for (int k = 0; k < operands; k++) {
    if (s->strides[k][i] != s->strides[k][i + 1] * s->sizes[i + 1]) {
      return false;
    }
  }
  return true;
}

static void drop(side *s, int operands, int i) {
  s->loops--;
  for (int j = i; j < s->loops; j++) {
    s->sizes[j] = s->sizes[j + 1];
    for (int k = 0; k < operands; k++) s->strides[k][j] = s->strides[k][j + 1];
  }
}

static void swap(side *s, int operands, int i, int j) {
  const int64_t size = s->sizes[i];
  s->sizes[i] = s->sizes[j];
  s->sizes[j] = size;
  for (int k = 0; k < operands; k++) {
    const int64_t stride = s->strides[k][i];
    s->strides[k][i] = s->strides[k][j];
    s->strides[k][j] = stride;
  }
}

/* In the order of memory of operand `by`, as few loops as can be. */
static void merge(side *s, int operands, int by) {
  for (int i = 1; i < s->loops; i++) {
    for (int j = i; j > 0 && s->strides[by][j - 1] < s->strides[by][j]; j--) {
      swap(s, operands, j - 1, j);
    }
  }
  for (int i = s->loops - 2; i >= 0; i--) {
    if (!mergeable(s, operands, i)) continue;
    s->sizes[i + 1] *= s->sizes[i];
    drop(s, operands, i);
  }
  if (s->loops == 0) {
    s->sizes[0] = 1;
    s->loops = 1;
  }
}

static bsm_status add_dim(side *s, const bsm_cuda_nest *nest, int d) {
  *s->count *= nest->dims[d];
  if (nest->dims[d] == 1) return BSM_OK;
  if (s->loops == BSM_CUDA_MAX_LOOPS) {
    return BSM_FAIL(BSM_UNSUPPORTED, "more than %d loops", BSM_CUDA_MAX_LOOPS);
  }
  s->sizes[s->loops] = nest->dims[d];
  for (int k = 0; k < nest->operands; k++) {
    s->strides[k][s->loops] = nest->strides[k][d];
  }
  s->loops++;
  return BSM_OK;
}

/* One thread for each where there are many short ones, else as many as share
 * the work: a warp, or a block. */
static int choose_group(const bsm_cuda_nested *p, bool outer_is_adjacent) {
  if (p->inner_count <= 8 || (outer_is_adjacent && p->outer_count >= 1 << 15)) {
    return 1;
  }
  return p->inner_count <= 1024 ? 32 : BLOCK;
}

bsm_status bsm_cuda_nest_make(const bsm_cuda_nest *nest, bsm_cuda_nested *p) {
  *p = (bsm_cuda_nested){.outer_count = 1, .inner_count = 1};
  side outer = {&p->outer_count, p->outer_sizes, p->outer_strides, 0};
  side inner = {&p->inner_count, p->inner_sizes, p->inner_strides, 0};
  for (int d = 0; d < nest->rank; d++) {
    BSM_TRY(add_dim(nest->inner >> d & 1u ? &inner : &outer, nest, d));
  }
  merge(&outer, nest->operands, 1);
  merge(&inner, nest->operands, 1);
  p->outer_loops = outer.loops;
  p->inner_loops = inner.loops;
  p->group = choose_group(p, p->outer_strides[1][outer.loops - 1] == 1);
  return BSM_OK;
}

const bsm_cuda_rows bsm_cuda_range_rows[BSM_CUDA_RANGE_ROWS] = {
    {32, 128, 4, 1}, {128, 128, 8, 1}, {BLOCK, BLOCK, MAX_HELD, 1}};

/* Of a warp, as many threads as a short row has pieces; fewer where there are
 * so many rows that they all are busy. */
static int group_of_warp(const bsm_cuda_nested *n, int64_t pieces) {
  int group = 32;
  while (group > 4) {
    const int half = group / 2;
    if (pieces > half &&
        (pieces > half * FEW_PIECES || n->outer_count < MANY_THREADS / half)) {
      break;
    }
    group = half;
  }
  return group;
}

/* The threads of a warp for a row, whose elements are loaded in pieces, wait
 * for no others. Blocks are small where rows are few. */
static void share_pieces(const bsm_cuda_nested *n, int piece,
                         bsm_cuda_rows *out) {
  const int64_t pieces = (n->inner_count + piece - 1) / piece;
  const int most = MAX_HELD / piece;
  out->group = pieces <= 32 * most    ? group_of_warp(n, pieces)
               : pieces <= 128 * most ? 128
                                      : BLOCK;
  out->block = out->group > 32               ? out->group
               : n->outer_count >= MANY_ROWS ? 128
               : n->outer_count >= SOME_ROWS ? 64
                                             : 32;
  out->held = (int)((pieces + out->group - 1) / out->group) * piece;
  out->piece = piece;
}

static void share_row(const bsm_cuda_nested *n, bsm_cuda_rows *out) {
  const int64_t count = n->inner_count;
  /* A warp for each row has nothing to wait for, but few rows want more. */
  const bool many = n->outer_count >= MANY_ROWS;
  out->group = many && count <= FEW_ELEMENTS                      ? 1
               : count <= 128 || (many && count <= MAX_HELD * 32) ? 32
               : count <= 1024                                    ? 128
                                                                  : BLOCK;
  out->block = out->group <= 32 ? 128 : out->group;
  out->held = (int)((count + out->group - 1) / out->group);
}

bool bsm_cuda_nest_hold(const bsm_cuda_launches *l, const bsm_cuda_nested *n,
                        int piece, bsm_cuda_rows *out) {
  if (l->scope > BSM_CUDA_FOR_RANGE || n->inner_loops != 1 ||
      n->inner_count > MAX_HELD * BLOCK) {
    return false;
  }
  const bsm_cuda_rows *form = bsm_cuda_range_rows;
  while (n->inner_count > form->group * form->held) form++;
  *out = *form;
  if (l->scope != BSM_CUDA_FOR_SIZES) return true;
  if (piece > 1) {
    share_pieces(n, piece, out);
  } else {
    share_row(n, out);
  }
  return true;
}

void bsm_cuda_rows_set_grid(bsm_cuda_launches *l, const bsm_cuda_nested *n,
                            const bsm_cuda_rows *rows) {
  bsm_cuda_set_block(l, (unsigned)rows->block, 1, 1);
  bsm_cuda_set_grid(
      l,
      bsm_cuda_blocks((uint64_t)n->outer_count,
                      (unsigned)(rows->block / rows->group), MAX_BLOCKS),
      1, 1);
}

void bsm_cuda_nest_set_grid(bsm_cuda_launches *l, const bsm_cuda_nested *n) {
  bsm_cuda_set_block(l, BLOCK, 1, 1);
  bsm_cuda_set_grid(l,
                    bsm_cuda_blocks((uint64_t)n->outer_count,
                                    (unsigned)(BLOCK / n->group), MAX_BLOCKS),
                    1, 1);
}
