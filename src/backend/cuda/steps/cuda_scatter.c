/* SPDX-License-Identifier: Apache-2.0 */
/* Scatter on a GPU: the data are copied, then each line gets its updates. */
#include <math.h>

#include "backend/cuda/kernels/params.h"
#include "backend/cuda/steps/cuda_copies.h"

#define BLOCK 256
#define MAX_BLOCKS 65536

enum { OUT, UPDATES, INDICES };

static void add_line(bsm_cuda_scatter *s, int *loops, int64_t size, int64_t out,
                     int64_t updates, int64_t indices) {
  s->e.count *= size;
  s->e.sizes[*loops] = size;
  s->e.strides[OUT][*loops] = out;
  s->e.strides[UPDATES][*loops] = updates;
  s->e.strides[INDICES][*loops] = indices;
  ++*loops;
}

static void add_tuple(bsm_cuda_scatter *s, int *tuples, int64_t size,
                      int64_t index, int64_t update) {
  s->tuple_count *= size;
  s->tuple_sizes[*tuples] = size;
  s->index_strides[*tuples] = index;
  s->update_strides[*tuples] = update;
  ++*tuples;
}

static void make_elements(bsm_cuda_scatter *s, const bsm_plan_tensor *i,
                          const bsm_plan_tensor *u, const bsm_plan_tensor *y,
                          int axis, int *loops, int *tuples) {
  for (int d = 0; d < y->dims.rank; d++) {
    if (d == axis) continue;
    add_line(s, loops, i->dims.d[d], y->strides[d], u->strides[d],
             i->strides[d]);
  }
  add_tuple(s, tuples, i->dims.d[axis], i->strides[axis], u->strides[axis]);
  s->depth = 1;
  s->sizes[0] = y->dims.d[axis];
  s->strides[0] = y->strides[axis];
}

static void make_slices(bsm_cuda_scatter *s, const bsm_plan_tensor *i,
                        const bsm_plan_tensor *u, const bsm_plan_tensor *y,
                        int axis, int *loops, int *tuples) {
  const int index_rank = i->dims.rank - 1;
  const int rest = axis + (int)i->dims.d[index_rank];
  s->depth = i->dims.d[index_rank];
  s->depth_stride = i->strides[index_rank];
  for (int d = 0; d < (int)s->depth; d++) {
    s->sizes[d] = y->dims.d[axis + d];
    s->strides[d] = y->strides[axis + d];
  }
  for (int d = 0; d < axis; d++) {
    add_line(s, loops, y->dims.d[d], y->strides[d], u->strides[d], 0);
  }
  for (int d = 0; d < index_rank; d++) {
    add_tuple(s, tuples, i->dims.d[d], i->strides[d], u->strides[axis + d]);
  }
  for (int d = rest; d < y->dims.rank; d++) {
    add_line(s, loops, y->dims.d[d], y->strides[d],
             u->strides[axis + index_rank + d - rest], 0);
  }
}

/* What any update replaces. */
static void set_fill(bsm_cuda_scatter *s, int32_t reduction, bsm_dtype dtype) {
  const int bits = 8 * (int)bsm_dtype_size(dtype);
  const bool is_unsigned = dtype == BSM_DTYPE_UINT8 || dtype == BSM_DTYPE_BOOL;
  const int64_t low = is_unsigned ? 0 : -((int64_t)1 << (bits - 2)) * 2;
  const int64_t high = dtype == BSM_DTYPE_BOOL    ? 1
                       : dtype == BSM_DTYPE_UINT8 ? UINT8_MAX
                                                  : -(low + 1);
  if (reduction == BSM_SCATTER_MUL) s->fill = 1, s->integer_fill = 1;
  if (reduction == BSM_SCATTER_MIN) {
    s->fill = (double)INFINITY;
    s->integer_fill = high;
  }
  if (reduction == BSM_SCATTER_MAX) {
    s->fill = -(double)INFINITY;
    s->integer_fill = low;
  }
}

static bsm_status launch(bsm_cuda_launches *l) {
  const bsm_step_scatter *p = &l->step->params->scatter;
  const bsm_plan_tensor *i = bsm_cuda_input(l, 1), *u = bsm_cuda_input(l, 2);
  const bsm_plan_tensor *y = bsm_cuda_output(l, 0);
  bsm_cuda_scatter s = {.e = {.count = 1}, .tuple_count = 1, .axis = p->axis};
  int loops = 0, tuples = 0;
  (p->mode == BSM_SCATTER_ELEMENT ? make_elements : make_slices)(
      &s, i, u, y, p->axis, &loops, &tuples);
  set_fill(&s, p->reduction, y->dtype);
  if (s.e.count == 0 || s.tuple_count == 0) return BSM_OK;
  s.e.loops = loops;
  s.tuples = tuples;
  s.reduction = p->reduction;
  s.keeps = p->include_self != 0;
  s.wraps = p->wrap != 0;
  BSM_TRY(bsm_cuda_add_launch(l, "scatter", "scatter", &s, sizeof(s),
                              "--fmad=false"));
  BSM_TRY(bsm_cuda_add_type(l, "K_T", y->dtype));
  BSM_TRY(bsm_cuda_add_type(l, "K_I", i->dtype));
  BSM_TRY(bsm_cuda_add_options(
      l, BSM_CUDA_FOR_STEP, "-DK_REDUCTION=%d -DK_SELF=%d -DK_WRAP=%d",
      p->reduction, p->include_self != 0, p->wrap != 0));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES,
                               "-DK_LOOPS=%d -DK_TUPLES=%d", loops, tuples));
  bsm_cuda_set_block(l, BLOCK, 1, 1);
  bsm_cuda_set_grid(l, bsm_cuda_blocks((uint64_t)s.e.count, BLOCK, MAX_BLOCKS),
                    1, 1);
  const uint32_t ids[] = {l->step->outputs[0], l->step->inputs[2],
                          l->step->inputs[1]};
  for (size_t k = 0; k < 3; k++) {
    BSM_TRY(bsm_cuda_add_typed_slot(
        l, offsetof(bsm_cuda_scatter, e.address) + k * sizeof(uint64_t),
        ids[k]));
  }
  return bsm_cuda_add_slot(l, BSM_CUDA_SLOT_FAULT,
                           offsetof(bsm_cuda_scatter, fault), 0);
}

static bsm_status launches(bsm_cuda_launches *l) {
  BSM_TRY(bsm_cuda_launch_copy(l, l->step->inputs[0], l->step->outputs[0]));
  return launch(l);
}

const bsm_cuda_step_kind bsm_cuda_SCATTER = {bsm_check_scatter, launches};
