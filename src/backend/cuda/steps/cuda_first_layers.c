/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/steps/cuda_first_layers.h"

#include <string.h>

#include "backend/cuda/steps/cuda_convolution.h"
#include "backend/cuda/steps/cuda_few_maps.h"
#include "backend/cuda/steps/cuda_images.h"
#include "backend/cuda/steps/cuda_products.h"

/* A convolution that reads what is cast, and what pooling makes of it. */
typedef struct first_layers {
  uint32_t count;
  const bsm_plan_step *convolution;
  uint32_t x, y; /* tensors that are read and written */
  bsm_cuda_few_maps_joined joined;
  bsm_cuda_mma_problem problem;
} first_layers;

static bool is_same(const bsm_plan_tensor *a, const bsm_plan_tensor *b) {
  bool same = a->place == b->place && a->index == b->index &&
              a->offset == b->offset && a->dtype == b->dtype &&
              a->dims.rank == b->dims.rank;
  for (int32_t i = 0; i < a->dims.rank && same; i++) {
    same = a->dims.d[i] == b->dims.d[i] && a->strides[i] == b->strides[i];
  }
  return same;
}

static bool is_convolution(const bsm_plan *plan, uint32_t index) {
  if (index >= plan->step_count) return false;
  const bsm_plan_step *step = &plan->steps[index];
  return step->kind == BSM_STEP_CONVOLUTION &&
         step->space == BSM_SPACE_DEVICE &&
         strcmp(step->tactic, BSM_CUDA_FEW_MAPS_TACTIC) == 0;
}

/* Whether what a step makes is the first input of the one behind it, and
 * nobody else's. */
static bool hands_on(const bsm_plan *plan, uint32_t index) {
  const bsm_plan_step *step = &plan->steps[index], *next = step + 1;
  const bsm_plan_tensor *made = bsm_step_output(plan, step, 0);
  for (uint32_t i = 1; i < next->input_count; i++) {
    if (bsm_plan_tensors_meet(bsm_step_input(plan, next, i), made)) {
      return false;
    }
  }
  return made->place == BSM_PLACE_WORKSPACE &&
         is_same(made, bsm_step_input(plan, next, 0)) &&
         !bsm_cuda_is_read_behind(plan, index + 1, made);
}

/* Whether a step rounds the floats of images for the convolution behind it. */
static bool casts_images(const bsm_plan *plan, uint32_t index) {
  if (!is_convolution(plan, index + 1) ||
      !bsm_cuda_is_cast(plan, &plan->steps[index], BSM_DTYPE_FLOAT)) {
    return false;
  }
  const bsm_plan_step *cast = &plan->steps[index];
  const bsm_plan_tensor *x = bsm_step_input(plan, cast, 0);
  const bsm_plan_tensor *made = bsm_step_output(plan, cast, 0);
  if (x->dims.rank != made->dims.rank ||
      made->dtype != bsm_step_output(plan, cast + 1, 0)->dtype) {
    return false;
  }
  for (int32_t i = 0; i < x->dims.rank; i++) {
    if (x->dims.d[i] != made->dims.d[i]) return false;
  }
  return hands_on(plan, index);
}

/* Windows of 2 by 2 pixels, all of them whole, that do not overlap. */
static bool is_of_pairs(const bsm_step_pooling *p, const bsm_cuda_image *x,
                        const bsm_cuda_image *y) {
  const bsm_step_window *w = &p->window;
  for (int d = 1; d < 3; d++) {
    if (w->kernel[d] != 2 || w->stride[d] != 2 || w->dilation[d] != 1 ||
        w->pre_padding[d] != 0 || y->size[d] != x->size[d] / 2) {
      return false;
    }
  }
  return !p->adaptive && bsm_cuda_is_flat(w, x, y) &&
         (p->divisor_override == 0 || p->divisor_override == 4 ||
          p->type == BSM_POOLING_MAX);
}

/* Whether a step is a pooling of what a convolution ahead of it makes. */
static bool pools(const bsm_plan *plan, uint32_t index) {
  if (index >= plan->step_count) return false;
  const bsm_plan_step *step = &plan->steps[index];
  if (step->kind != BSM_STEP_POOLING || step->space != BSM_SPACE_DEVICE) {
    return false;
  }
  const bsm_step_pooling *p = &step->params->pooling;
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  const bsm_cuda_image from = bsm_cuda_image_of(x, p->window.spatial);
  const bsm_cuda_image to = bsm_cuda_image_of(y, p->window.spatial);
  return y->dtype == x->dtype && bsm_cuda_pixels(&to) > 0 &&
         is_of_pairs(p, &from, &to) && hands_on(plan, index - 1);
}

/* Whether a step copies what the one ahead of it makes to another layout. */
static bool copies(const bsm_plan *plan, uint32_t index) {
  if (index >= plan->step_count) return false;
  const bsm_plan_step *step = &plan->steps[index];
  return step->kind == BSM_STEP_COPY && step->space == BSM_SPACE_DEVICE &&
         bsm_step_input(plan, step, 0)->dtype ==
             bsm_step_output(plan, step, 0)->dtype &&
         hands_on(plan, index - 1);
}

/* Joins the pooling at an index, and a copy of what it makes. */
static void join_pooling(const bsm_plan *plan, uint32_t index,
                         first_layers *f) {
  bsm_cuda_mma *params = &f->problem.params;
  if (!pools(plan, index) || !bsm_cuda_few_maps_can_pool(&f->problem)) return;
  const bsm_step_pooling *p = &plan->steps[index].params->pooling;
  const uint32_t last = index + copies(plan, index + 1);
  const uint32_t y = plan->steps[last].outputs[0];
  const bsm_cuda_image to =
      bsm_cuda_image_of(&plan->tensors[y], p->window.spatial);
  if (!bsm_cuda_image_is_small(&to)) return;
  f->y = y;
  f->count += 1 + last - index;
  f->joined.pool = p->type == BSM_POOLING_AVERAGE ? BSM_CUDA_POOL_MEAN
                                                  : BSM_CUDA_POOL_LARGEST;
  params->y_batch[0] = to.n_stride;
  params->y_batch[1] = to.c_stride;
  params->y_line = to.stride[1];
  params->y_row = to.stride[2];
}

/* With the strides of what is read, which a cast may change. */
static bool find_problem(const bsm_plan *plan, int sm, first_layers *f) {
  bsm_plan_step step = *f->convolution;
  uint32_t inputs[2] = {f->x};
  if (step.params->convolution.epilogue.has_residual) {
    inputs[1] = f->convolution->inputs[1];
  }
  step.inputs = inputs;
  return bsm_cuda_convolution_problem_of(plan, &step, sm, false, &f->problem) &&
         bsm_cuda_has_few_maps(&f->problem);
}

static bool find_first_layers(const bsm_plan *plan, uint32_t index, int sm,
                              first_layers *f) {
  const bool casts = casts_images(plan, index);
  const uint32_t at = index + casts;
  /* It begins with the cast, where there is one. */
  if (!is_convolution(plan, at) ||
      (!casts && index > 0 && casts_images(plan, index - 1))) {
    return false;
  }
  *f = (first_layers){.count = 1u + casts,
                      .convolution = &plan->steps[at],
                      .x = plan->steps[index].inputs[0],
                      .y = plan->steps[at].outputs[0],
                      .joined = {.floats = casts}};
  if (!find_problem(plan, sm, f)) return false;
  join_pooling(plan, at + 1, f);
  return f->count > 1 &&
         !bsm_plan_tensors_meet(&plan->tensors[f->x], &plan->tensors[f->y]);
}

uint32_t bsm_cuda_first_layers_steps(const bsm_plan *plan, uint32_t index,
                                     int sm) {
  first_layers found;
  return find_first_layers(plan, index, sm, &found) ? found.count : 0;
}

bsm_status bsm_cuda_launch_first_layers(bsm_cuda_launches *l, uint32_t index) {
  first_layers f;
  if (!find_first_layers(l->plan, index, l->sm, &f)) {
    return BSM_FAIL(BSM_INTERNAL, "no first layers");
  }
  BSM_TRY(bsm_cuda_launch_few_maps(l, &f.problem, &f.joined));
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR, offsetof(bsm_cuda_mma, a),
                            f.x));
  return bsm_cuda_add_convolution_slots(l, f.convolution, f.y);
}
