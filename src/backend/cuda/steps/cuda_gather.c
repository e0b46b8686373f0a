/* SPDX-License-Identifier: Apache-2.0 */
/* Gather of a GPU: along an axis, element by element, by index tuples. */
#include "backend/cuda/kernels/params.h"
#include "backend/cuda/steps/cuda_steps.h"

#define BLOCK 256
#define MAX_BLOCKS 65536
#define WIDE_BYTES 8

enum { OUT, DATA, INDICES };

static void add_loop(bsm_cuda_gather *g, int *loops, int64_t size, int64_t out,
                     int64_t data, int64_t indices) {
  g->e.count *= size;
  g->e.sizes[*loops] = size;
  g->e.strides[OUT][*loops] = out;
  g->e.strides[DATA][*loops] = data;
  g->e.strides[INDICES][*loops] = indices;
  ++*loops;
}

/* Loops over the output: those of the data's kept dimensions, and those of the
 * indices. */
static int make_loops(bsm_cuda_gather *g, const bsm_step_gather *p,
                      const bsm_plan_tensor *x, const bsm_plan_tensor *i,
                      const bsm_plan_tensor *y) {
  int loops = 0;
  const bool nd = p->mode == BSM_GATHER_ND;
  const int first = nd ? 0 : p->axis;
  if (p->mode == BSM_GATHER_ELEMENT) {
    for (int d = 0; d < y->dims.rank; d++) {
      add_loop(g, &loops, y->dims.d[d], y->strides[d],
               d == p->axis ? 0 : x->strides[d], i->strides[d]);
    }
  } else {
    const int index_rank = i->dims.rank - nd;
    const int rest = first + (int)g->tuple;
    for (int d = 0; d < first; d++) {
      add_loop(g, &loops, x->dims.d[d], y->strides[d], x->strides[d], 0);
    }
    for (int d = 0; d < index_rank; d++) {
      add_loop(g, &loops, i->dims.d[d], y->strides[first + d], 0,
               i->strides[d]);
    }
    for (int d = rest; d < x->dims.rank; d++) {
      add_loop(g, &loops, x->dims.d[d],
               y->strides[first + index_rank + d - rest], x->strides[d], 0);
    }
  }
  return loops;
}

/* What of some strides keeps `wide` elements together. */
static bool are_multiples(const int64_t *strides, int count, int64_t wide) {
  for (int i = 0; i < count; i++) {
    if (strides[i] % wide != 0) return false;
  }
  return true;
}

/* Where rows of elements are moved, several of them are moved as one of 8
 * bytes. The dtype that moves them. */
static bsm_dtype widen(const bsm_cuda_launches *l, bsm_cuda_gather *g,
                       int loops) {
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *y = bsm_cuda_output(l, 0);
  const bsm_dtype raw = bsm_cuda_raw_dtype(x->dtype);
  const int64_t wide = WIDE_BYTES / (int64_t)bsm_dtype_size(x->dtype);
  const int last = loops - 1;
  if (l->scope != BSM_CUDA_FOR_SIZES || wide < 2 || last < 0 ||
      g->e.sizes[last] % wide != 0 || g->e.strides[OUT][last] != 1 ||
      g->e.strides[DATA][last] != 1 || g->e.strides[INDICES][last] != 0 ||
      x->offset % WIDE_BYTES != 0 || y->offset % WIDE_BYTES != 0 ||
      !are_multiples(g->e.strides[OUT], last, wide) ||
      !are_multiples(g->e.strides[DATA], last, wide) ||
      !are_multiples(g->strides, (int)g->tuple, wide)) {
    return raw;
  }
  for (int i = 0; i < last; i++) {
    g->e.strides[OUT][i] /= wide;
    g->e.strides[DATA][i] /= wide;
  }
  for (int i = 0; i < (int)g->tuple; i++) g->strides[i] /= wide;
  g->e.sizes[last] /= wide;
  g->e.count /= wide;
  return BSM_DTYPE_INT64;
}

static bsm_status launches(bsm_cuda_launches *l) {
  const bsm_step_gather *p = &l->step->params->gather;
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *i = bsm_cuda_input(l, 1);
  const bsm_plan_tensor *y = bsm_cuda_output(l, 0);
  const bool nd = p->mode == BSM_GATHER_ND;
  bsm_cuda_gather g = {
      .e = {.count = 1},
      .tuple = 1,
      .wraps = p->mode == BSM_GATHER_DEFAULT || p->mode == BSM_GATHER_ND};
  if (nd) {
    g.tuple = i->dims.d[i->dims.rank - 1];
    g.tuple_stride = i->strides[i->dims.rank - 1];
  }
  for (int d = 0; d < (int)g.tuple; d++) {
    g.sizes[d] = x->dims.d[(nd ? 0 : p->axis) + d];
    g.strides[d] = x->strides[(nd ? 0 : p->axis) + d];
  }
  const int loops = make_loops(&g, p, x, i, y);
  if (g.e.count == 0) return BSM_OK;
  g.e.loops = loops;
  const bsm_dtype moved = widen(l, &g, loops);
  BSM_TRY(bsm_cuda_add_launch(l, "gather", "gather", &g, sizeof(g),
                              "--fmad=false"));
  BSM_TRY(bsm_cuda_add_type(l, "K_T", moved));
  BSM_TRY(bsm_cuda_add_type(l, "K_I", i->dtype));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES, "-DK_LOOPS=%d", loops));
  bsm_cuda_set_block(l, BLOCK, 1, 1);
  bsm_cuda_set_grid(l, bsm_cuda_blocks((uint64_t)g.e.count, BLOCK, MAX_BLOCKS),
                    1, 1);
  const uint32_t ids[] = {l->step->outputs[0], l->step->inputs[0],
                          l->step->inputs[1]};
  for (size_t k = 0; k < 3; k++) {
    BSM_TRY(bsm_cuda_add_slot(
        l, BSM_CUDA_SLOT_TENSOR,
        offsetof(bsm_cuda_gather, e.address) + k * sizeof(uint64_t), ids[k]));
    bsm_cuda_type_slot(l, k == INDICES ? i->dtype : moved);
  }
  return bsm_cuda_add_slot(l, BSM_CUDA_SLOT_FAULT,
                           offsetof(bsm_cuda_gather, fault), 0);
}

const bsm_cuda_step_kind bsm_cuda_GATHER = {bsm_check_gather, launches};
