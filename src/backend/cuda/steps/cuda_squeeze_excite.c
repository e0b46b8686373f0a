/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that squeeze and excite: which they are, and their launch. */
#include "backend/cuda/steps/cuda_squeeze_excite.h"

#include <string.h>

#include "backend/cuda/steps/cuda_mma.h"

#define BLOCKS 8 /* of a cluster */
#define THREADS 512
#define PIECE 8        /* maps that are copied at once */
#define LEAST_SLICE 16 /* maps: 32 bytes of a pixel, which come anyway */
/* Weights of a block: with more of them, products by all SMs are faster. */
#define MOST_WEIGHTS 7168
#define MOST_IMAGES 65535
#define MOST_PIXELS 232448 /* so that what they take can be told */

/* The four steps, and the tensors that they hand on. */
typedef struct excitation {
  const bsm_plan_step *squeeze, *reduce, *expand, *multiply;
  const bsm_plan_tensor *x, *mean, *hidden, *gates, *y;
  int64_t pixels, maps, units, slice;
  size_t shared;
} excitation;

/* ---- tensors ---- */

static bool is_at(const bsm_plan_tensor *a, const bsm_plan_tensor *b) {
  return a->place == b->place && a->index == b->index &&
         a->offset == b->offset && a->dtype == b->dtype;
}

/* An image of two dimensions whose maps lie together, and whose pixels are
 * equally far apart, all 16 bytes at a time. */
static bool is_image(const bsm_plan_tensor *t) {
  return t->dims.rank == 4 && t->dims.d[0] > 0 && t->dims.d[1] > 0 &&
         t->dims.d[2] > 0 && t->dims.d[3] > 0 && t->strides[1] == 1 &&
         t->strides[2] == t->dims.d[3] * t->strides[3] &&
         t->strides[3] >= t->dims.d[1] && bsm_cuda_mma_reads_along(t, 1);
}

/* One number for each of `maps` maps of an image, which lie together. */
static bool is_row(const bsm_plan_tensor *t, int64_t images, int64_t maps) {
  return t->dims.rank == 4 && t->dims.d[0] == images && t->dims.d[1] == maps &&
         t->dims.d[2] == 1 && t->dims.d[3] == 1 &&
         (maps == 1 || t->strides[1] == 1);
}

/* The same, seen as an image whose pixels all have it. */
static bool is_spread(const bsm_plan_tensor *t, const bsm_plan_tensor *gates) {
  return t->dims.rank == 4 && is_at(t, gates) && t->strides[1] == 1 &&
         (t->dims.d[0] == 1 || t->strides[0] == gates->strides[0]) &&
         (t->dims.d[2] == 1 || t->strides[2] == 0) &&
         (t->dims.d[3] == 1 || t->strides[3] == 0);
}

static bool is_same(const bsm_plan_tensor *a, const bsm_plan_tensor *b) {
  bool same = a->dims.rank == b->dims.rank && is_at(a, b);
  for (int32_t i = 0; i < a->dims.rank && same; i++) {
    same = a->dims.d[i] == b->dims.d[i] && a->strides[i] == b->strides[i];
  }
  return same;
}

/* ---- steps ---- */

static bool is_squeeze(const bsm_plan *plan, const bsm_plan_step *step) {
  if (step->kind != BSM_STEP_REDUCE || step->space != BSM_SPACE_DEVICE) {
    return false;
  }
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  return step->params->reduce.operation == BSM_REDUCE_AVG &&
         step->params->reduce.axes == 0xcu && step->params->reduce.keep_dims &&
         is_image(x) &&
         is_row(bsm_step_output(plan, step, 0), x->dims.d[0], x->dims.d[1]);
}

static bool is_ones(const int64_t *v) {
  return v[0] == 1 && v[1] == 1 && v[2] == 1;
}

/* A pointwise convolution of rows, which nobody has asked a plain kernel for.
 */
static bool is_product(const bsm_plan *plan, const bsm_plan_step *step,
                       const bsm_plan_tensor *from) {
  if (step->kind != BSM_STEP_CONVOLUTION || step->space != BSM_SPACE_DEVICE) {
    return false;
  }
  const bsm_step_convolution *p = &step->params->convolution;
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  const int64_t images = from->dims.d[0];
  return strcmp(step->tactic, BSM_CUDA_PLAIN_TACTIC) != 0 && p->groups == 1 &&
         p->form == 0 && is_ones(p->window.kernel) &&
         !p->epilogue.has_residual && step->weights[0] != BSM_NO_WEIGHTS &&
         is_at(x, from) && is_row(x, images, from->dims.d[1]) &&
         (images == 1 || x->strides[0] == from->strides[0]) &&
         y->dtype == from->dtype && is_row(y, images, p->out_maps);
}

static bool is_multiply(const bsm_plan *plan, const bsm_plan_step *step,
                        const excitation *e) {
  if (step->kind != BSM_STEP_ELEMENT_WISE || step->space != BSM_SPACE_DEVICE ||
      step->input_count != 2) {
    return false;
  }
  const bsm_step_element_wise *p = &step->params->element_wise;
  const bsm_step_ew_instruction *i = &p->program[0];
  const bsm_plan_tensor *a = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *b = bsm_step_input(plan, step, 1);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  const bool scales = (is_same(a, e->x) && is_spread(b, e->gates)) ||
                      (is_same(b, e->x) && is_spread(a, e->gates));
  bool fits = p->instruction_count == 1 && p->result == i->dst &&
              i->kind == BSM_STEP_EW_BINARY &&
              i->code == BSM_ELEMENT_WISE_PROD && i->a + i->b == 1 &&
              (bsm_dtype)i->dtype == y->dtype && y->dtype == e->x->dtype;
  for (int32_t k = 0; k < 4 && fits; k++) {
    fits = y->dims.rank == 4 && y->dims.d[k] == e->x->dims.d[k];
  }
  return scales && fits && is_image(y);
}

/* Bytes of shared memory of a block: shared_parts of the kernel. */
static uint64_t shared_of(const excitation *e) {
  const uint64_t slice = (uint64_t)e->slice, units = (uint64_t)e->units;
  return 2 * slice * ((uint64_t)e->pixels + 2 * units) +
         4 * (THREADS * PIECE + 2 * slice + (BLOCKS + 1) * units);
}

static bool fits_in_cluster(excitation *e, int sm) {
  const int64_t eighth = (e->maps + BLOCKS - 1) / BLOCKS;
  e->slice = (eighth + PIECE - 1) / PIECE * PIECE;
  if (e->slice < LEAST_SLICE) e->slice = LEAST_SLICE;
  if (e->maps % PIECE != 0 || e->slice > THREADS || e->units > THREADS ||
      e->slice * e->units > MOST_WEIGHTS || e->pixels > MOST_PIXELS ||
      e->x->dims.d[0] > MOST_IMAGES) {
    return false;
  }
  e->shared = (size_t)shared_of(e);
  return e->shared <= bsm_cuda_most_shared(sm);
}

/* The steps from `index` on; how many they are, or 0. */
static uint32_t find(const bsm_plan *plan, uint32_t index, int sm,
                     excitation *e) {
  const bsm_plan_step *s = plan->steps + index;
  *e = (excitation){.squeeze = s};
  if (sm < 90 || plan->step_count - index < 3 || !is_squeeze(plan, s)) return 0;
  e->reduce = s + 1;
  e->expand = s + 2;
  e->x = bsm_step_input(plan, s, 0);
  e->mean = bsm_step_output(plan, s, 0);
  if ((e->x->dtype != BSM_DTYPE_HALF && e->x->dtype != BSM_DTYPE_BFLOAT16) ||
      e->mean->dtype != e->x->dtype || !is_product(plan, e->reduce, e->mean)) {
    return 0;
  }
  e->hidden = bsm_step_output(plan, e->reduce, 0);
  if (!is_product(plan, e->expand, e->hidden)) return 0;
  e->gates = bsm_step_output(plan, e->expand, 0);
  e->pixels = e->x->dims.d[2] * e->x->dims.d[3];
  e->maps = e->x->dims.d[1];
  e->units = e->hidden->dims.d[1];
  if (e->gates->dims.d[1] != e->maps || !fits_in_cluster(e, sm)) return 0;
  if (plan->step_count - index < 4 || !is_multiply(plan, s + 3, e)) return 3;
  e->multiply = s + 3;
  e->y = bsm_step_output(plan, e->multiply, 0);
  return 4;
}

uint32_t bsm_cuda_squeeze_excite_steps(const bsm_plan *plan, uint32_t index,
                                       int sm) {
  excitation e;
  return find(plan, index, sm, &e);
}

/* ---- the launch ---- */

static bsm_status add_weights(bsm_cuda_launches *l, const bsm_plan_step *step,
                              size_t kernel, size_t bias) {
  BSM_TRY(
      bsm_cuda_add_slot(l, BSM_CUDA_SLOT_WEIGHTS, kernel, step->weights[0]));
  return step->weights[1] == BSM_NO_WEIGHTS
             ? BSM_OK
             : bsm_cuda_add_slot(l, BSM_CUDA_SLOT_WEIGHTS, bias,
                                 step->weights[1]);
}

static bsm_status add_tensor(bsm_cuda_launches *l, size_t offset,
                             uint32_t tensor) {
  return bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR, offset, tensor);
}

#define AT(member) offsetof(bsm_cuda_squeeze_excite, member)

/* What the image overwrites is not written before: other blocks may be as far
 * as that. */
static bsm_status add_slots(bsm_cuda_launches *l, const excitation *e) {
  BSM_TRY(add_tensor(l, AT(x), e->squeeze->inputs[0]));
  if (!e->multiply || !bsm_plan_tensors_meet(e->mean, e->y)) {
    BSM_TRY(add_tensor(l, AT(mean), e->squeeze->outputs[0]));
  }
  if (!e->multiply || !bsm_plan_tensors_meet(e->hidden, e->y)) {
    BSM_TRY(add_tensor(l, AT(hidden), e->reduce->outputs[0]));
  }
  BSM_TRY(add_tensor(l, AT(gates), e->expand->outputs[0]));
  if (e->multiply) BSM_TRY(add_tensor(l, AT(y), e->multiply->outputs[0]));
  BSM_TRY(add_weights(l, e->reduce, AT(to_units), AT(unit_bias)));
  return add_weights(l, e->expand, AT(to_gates), AT(gate_bias));
}

bsm_status bsm_cuda_launch_squeeze_excite(bsm_cuda_launches *l,
                                          uint32_t index) {
  excitation e;
  if (!find(l->plan, index, l->sm, &e)) {
    return BSM_FAIL(BSM_INTERNAL, "nothing is squeezed and excited");
  }
  const bsm_step_epilogue *unit = &e.reduce->params->convolution.epilogue;
  const bsm_step_epilogue *gate = &e.expand->params->convolution.epilogue;
  bsm_cuda_squeeze_excite p = {.pixels = (int32_t)e.pixels,
                               .maps = (int32_t)e.maps,
                               .units = (int32_t)e.units,
                               .slice = (int32_t)e.slice,
                               .x_image = e.x->strides[0],
                               .x_pixel = e.x->strides[3],
                               .mean_image = e.mean->strides[0],
                               .hidden_image = e.hidden->strides[0],
                               .gates_image = e.gates->strides[0],
                               .unit_alpha = (float)unit->alpha,
                               .unit_beta = (float)unit->beta,
                               .gate_alpha = (float)gate->alpha,
                               .gate_beta = (float)gate->beta};
  if (e.y) {
    p.y_image = e.y->strides[0];
    p.y_pixel = e.y->strides[3];
  }
  BSM_TRY(bsm_cuda_add_launch(
      l, "squeeze_excite", "squeeze_excite", &p, sizeof(p),
      "-DK_T=%s -DK_UNIT=%d -DK_GATE=%d -DK_SCALES=%d",
      bsm_cuda_type(e.x->dtype), unit->activation, gate->activation, e.y != 0));
  bsm_cuda_set_block(l, THREADS, 1, 1);
  bsm_cuda_set_grid(l, BLOCKS, (uint64_t)e.x->dims.d[0], 1);
  bsm_cuda_set_shared(l, e.shared);
  return add_slots(l, &e);
}
