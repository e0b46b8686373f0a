/* SPDX-License-Identifier: Apache-2.0 */
/* Gather of a GPU: along an axis, element by element, by index tuples. */
#include "backend/cuda/kernels/params.h"
#include "backend/cuda/steps/cuda_steps.h"

#define BLOCK 256
#define MAX_BLOCKS 65536

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

static bsm_status launches(bsm_cuda_launches *l) {
  const bsm_step_gather *p = &l->step->params->gather;
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *i = bsm_cuda_input(l, 1);
  const bsm_plan_tensor *y = bsm_cuda_output(l, 0);
  const bool nd = p->mode == BSM_GATHER_ND;
  bsm_cuda_gather g = {.e = {.count = 1}, .tuple = 1};
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
  BSM_TRY(bsm_cuda_add_launch(l, "gather", "gather", &g, sizeof(g),
                              "--fmad=false"));
  BSM_TRY(bsm_cuda_add_type(l, "K_T", bsm_cuda_raw_dtype(x->dtype)));
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
    bsm_cuda_type_slot(l,
                       k == INDICES ? i->dtype : bsm_cuda_raw_dtype(x->dtype));
  }
  return bsm_cuda_add_slot(l, BSM_CUDA_SLOT_FAULT,
                           offsetof(bsm_cuda_gather, fault), 0);
}

const bsm_cuda_step_kind bsm_cuda_GATHER = {bsm_check_gather, launches};
