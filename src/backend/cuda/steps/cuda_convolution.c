/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and deconvolutions of a GPU. */
#include "backend/cuda/steps/cuda_convolution.h"

#include <string.h>

#include "backend/cuda/steps/cuda_depthwise.h"
#include "backend/cuda/steps/cuda_few_maps.h"
#include "backend/cuda/steps/cuda_few_rows.h"
#include "backend/cuda/steps/cuda_images.h"
#include "backend/cuda/steps/cuda_products.h"
#include "backend/cuda/steps/cuda_unfold.h"
#include "base/checked.h"

#define TILE 64
#define BLOCK 256

/* The kernel has the form of bsm_cuda_pack. */
static bsm_status check_kernel(const bsm_plan *plan, const bsm_plan_step *step,
                               bsm_dtype dtype) {
  const bsm_step_convolution *p = &step->params->convolution;
  const int64_t in = bsm_step_input(plan, step, 0)->dims.d[1] / p->groups;
  const int64_t *k = p->window.kernel;
  int64_t bytes;
  if (p->form != BSM_CUDA_KERNEL_PLAIN &&
      (p->form != BSM_CUDA_KERNEL_TF32 ||
       bsm_step_input(plan, step, 0)->dtype != BSM_DTYPE_FLOAT)) {
    return BSM_FAIL(BSM_CORRUPT, "weights of form %d", p->form);
  }
  if (!bsm_i64_mul(p->out_maps, in, &bytes) ||
      !bsm_i64_mul(bytes, k[0] * k[1] * k[2], &bytes) ||
      !bsm_i64_mul(bytes, (int64_t)bsm_dtype_size(dtype), &bytes)) {
    return BSM_FAIL(BSM_CORRUPT, "a kernel of a size that makes no sense");
  }
  return bsm_check_weights(plan, step, 0, (uint64_t)bytes);
}

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step,
                        bool transposed) {
  const bsm_dtype dtype = bsm_step_output(plan, step, 0)->dtype;
  BSM_TRY(bsm_check_convolution(plan, step, dtype, transposed));
  return check_kernel(plan, step, dtype);
}

static bsm_status check_convolution(const bsm_plan *plan,
                                    const bsm_plan_step *step) {
  return check(plan, step, false);
}

static bsm_status check_deconvolution(const bsm_plan *plan,
                                      const bsm_plan_step *step) {
  return check(plan, step, true);
}

/* ---- in tiles ---- */

/* Sets the stride from pixel to pixel when all pixels of an image are equally
 * far apart. */
static bool are_rows(const bsm_cuda_image *image, int64_t *row) {
  const int64_t sizes[4] = {image->n, image->size[0], image->size[1],
                            image->size[2]};
  const int64_t strides[4] = {image->n_stride, image->stride[0],
                              image->stride[1], image->stride[2]};
  int64_t count = 1;
  *row = 0;
  for (int d = 3; d >= 0; d--) {
    if (sizes[d] == 1) continue;
    if (count == 1) *row = strides[d];
    if (strides[d] != *row * count) return false;
    count *= sizes[d];
  }
  return true;
}

static bool are_rows_of_one(const bsm_cuda_image *image, int64_t *row) {
  bsm_cuda_image one = *image;
  one.n = 1;
  return are_rows(&one, row);
}

/* Whether every window is one pixel, the one at its own place. */
static bool is_pointwise(const bsm_step_window *w) {
  for (int d = 0; d < 3; d++) {
    if (w->kernel[d] != 1 || w->stride[d] != 1 || w->pre_padding[d] != 0 ||
        w->post_padding[d] != 0) {
      return false;
    }
  }
  return true;
}

static void set_windows(bsm_cuda_mma_problem *out, const bsm_step_window *w,
                        const bsm_cuda_image *x, const bsm_cuda_image *y) {
  bsm_cuda_mma *p = &out->params;
  out->image = bsm_cuda_is_flat(w, x, y) ? 2 : 3;
  p->image_stride = x->n_stride;
  for (int d = 0; d < 3; d++) {
    p->in[d] = (int32_t)x->size[d];
    p->in_stride[d] = (int32_t)x->stride[d];
    p->out[d] = (int32_t)y->size[d];
    p->kernel[d] = (int32_t)w->kernel[d];
    p->stride[d] = (int32_t)w->stride[d];
    p->dilation[d] = (int32_t)w->dilation[d];
    p->pre[d] = (int32_t)w->pre_padding[d];
  }
}

/* Each image is multiplied with the same weights. */
static void set_images(bsm_cuda_mma_problem *out, const bsm_cuda_image *x,
                       const bsm_cuda_image *y, const bsm_cuda_image *r) {
  bsm_cuda_mma *p = &out->params;
  out->batches = y->n;
  out->images_apart = true;
  p->batch_sizes[0] = (int32_t)y->n;
  p->a_batch[0] = x->n_stride;
  p->b_batch[0] = p->bias_batch = 0;
  p->y_batch[0] = y->n_stride;
  p->residual_batch[0] = r->n_stride;
}

bool bsm_cuda_convolution_problem(const bsm_plan *plan,
                                  const bsm_plan_step *step,
                                  const bsm_cuda_unit *unit, bool transposed,
                                  bsm_cuda_mma_problem *out) {
  const bsm_step_convolution *c = &step->params->convolution;
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  const bsm_step_window *w = &c->window;
  const bsm_cuda_image in = bsm_cuda_image_of(x, w->spatial);
  const bsm_cuda_image to = bsm_cuda_image_of(y, w->spatial);
  const int64_t maps = in.c / c->groups, n = c->out_maps / c->groups;
  const int64_t pixels = bsm_cuda_pixels(&to);
  const int64_t k = maps * w->kernel[0] * w->kernel[1] * w->kernel[2];
  if (!bsm_cuda_image_is_small(&in) || !bsm_cuda_image_is_small(&to) ||
      !bsm_cuda_window_is_small(w) || k > INT32_MAX || c->groups > UINT16_MAX ||
      pixels == 0 || n == 0 || k == 0) {
    return false;
  }
  /* Groups of few maps would leave tiles empty. */
  if (c->groups > 1 && (maps < 8 || n < 8)) return false;
  *out = (bsm_cuda_mma_problem){.batches = c->groups,
                                .dtype = y->dtype,
                                .unit = unit,
                                .activation = c->epilogue.activation,
                                .transposed = transposed,
                                .weights = true,
                                .rounded = c->form == BSM_CUDA_KERNEL_TF32};
  bsm_cuda_mma *p = &out->params;
  const bsm_plan_tensor *r =
      c->epilogue.has_residual ? bsm_step_input(plan, step, 1) : NULL;
  const bsm_cuda_image added =
      r ? bsm_cuda_image_of(r, w->spatial) : (bsm_cuda_image){0};
  /* Where the pixels of an image are rows and those of all images are not, as
   * in a part of a larger tensor, each image is a product. */
  const bool together =
      are_rows(&to, &p->y_row) && (!r || are_rows(&added, &p->residual_row));
  if ((to.c != 1 && to.c_stride != 1) ||
      (!together && (c->groups > 1 || to.n > UINT16_MAX ||
                     !are_rows_of_one(&to, &p->y_row) ||
                     (r && !are_rows_of_one(&added, &p->residual_row))))) {
    return false;
  }
  if (r) p->residual_column = added.c_stride;
  if (transposed || !is_pointwise(w) ||
      !(together ? are_rows : are_rows_of_one)(&in, &p->a_row)) {
    set_windows(out, w, &in, &to);
  }
  p->m = (int32_t)(together ? pixels : pixels / to.n);
  p->n = (int32_t)n;
  p->k = (int32_t)k;
  p->maps = (int32_t)maps;
  p->scale = 1;
  p->alpha = (float)c->epilogue.alpha;
  p->beta = (float)c->epilogue.beta;
  p->a_column = in.c_stride;
  p->b_row = 1;
  p->b_column = k;
  p->loops = 1;
  p->batch_sizes[0] = (int32_t)c->groups;
  p->a_batch[0] = maps * in.c_stride;
  p->b_batch[0] = n * k;
  p->y_batch[0] = n * to.c_stride;
  p->residual_batch[0] = n * p->residual_column;
  p->bias_batch = n;
  if (!together) set_images(out, &in, &to, &added);
  out->residual = r != NULL;
  out->vector =
      n % 8 == 0 && bsm_cuda_mma_reads_along(y, 1) &&
      (!r || (p->residual_column == 1 && bsm_cuda_mma_reads_along(r, 1)));
  const bool whole = maps % bsm_cuda_chunk(x->dtype) == 0;
  out->a = whole && bsm_cuda_mma_reads_along(x, 1) ? BSM_CUDA_MMA_ALONG_K
                                                   : BSM_CUDA_MMA_ELEMENTS;
  out->b = whole ? BSM_CUDA_MMA_ALONG_K : BSM_CUDA_MMA_ELEMENTS;
  out->aligned_a = out->a;
  out->aligned_b = out->b;
  return true;
}

bool bsm_cuda_convolution_problem_of(const bsm_plan *plan,
                                     const bsm_plan_step *step, int sm,
                                     bool transposed,
                                     bsm_cuda_mma_problem *out) {
  const bsm_step_epilogue *e = &step->params->convolution.epilogue;
  const bsm_dtype dtype = bsm_step_output(plan, step, 0)->dtype;
  const bsm_cuda_unit *unit = bsm_cuda_unit_of(dtype, step->precision, sm);
  return unit && bsm_cuda_mma_has_numbers(dtype, 1, e->alpha, e->beta) &&
         bsm_cuda_convolution_problem(plan, step, unit, transposed, out);
}

/* ---- deconvolutions whose windows do not overlap ---- */

/* A tap of the window has the product of all pixels with its part of the
 * kernel, which are every so many pixels of the output. */
static void make_taps(const bsm_plan *plan, const bsm_plan_step *step,
                      bsm_cuda_mma_problem *out) {
  const bsm_step_convolution *c = &step->params->convolution;
  const bsm_step_window *w = &c->window;
  const bsm_cuda_image in =
      bsm_cuda_image_of(bsm_step_input(plan, step, 0), w->spatial);
  const bsm_cuda_image to =
      bsm_cuda_image_of(bsm_step_output(plan, step, 0), w->spatial);
  bsm_cuda_mma *p = &out->params;
  bool fits = out->batches == 1 && !out->residual &&
              bsm_cuda_is_flat(w, &in, &to) && in.n == to.n &&
              (to.n == 1 || to.n_stride == to.size[1] * to.stride[1]);
  for (int d = 1; d < 3; d++) {
    fits = fits && w->kernel[d] == w->stride[d] && w->pre_padding[d] == 0 &&
           to.size[d] == in.size[d] * w->stride[d];
  }
  int64_t row;
  if (!fits || !are_rows(&in, &row)) return;
  const int64_t taps = w->kernel[1] * w->kernel[2];
  out->transposed = false;
  out->image = 0;
  out->lines = BSM_CUDA_LINES_OF_ROWS;
  out->batches = taps;
  p->m = (int32_t)bsm_cuda_pixels(&in);
  p->k = p->maps;
  p->a_row = row;
  p->y_row = w->stride[2] * to.stride[2];
  p->y_line = w->stride[1] * to.stride[1];
  p->out[2] = (int32_t)in.size[2];
  p->loops = 2;
  for (int d = 0; d < 2; d++) {
    p->batch_sizes[d] = (int32_t)w->kernel[1 + d];
    p->a_batch[d] = p->residual_batch[d] = 0;
    p->b_batch[d] = (d == 0 ? w->kernel[2] : 1) * p->maps;
    p->y_batch[d] = to.stride[1 + d];
  }
  p->bias_batch = 0;
}

/* ---- which of them ---- */

static bool problem_of_step(const bsm_plan *plan, const bsm_plan_step *step,
                            int sm, bsm_cuda_mma_problem *out) {
  const bool transposed = step->kind == BSM_STEP_DECONVOLUTION;
  if (!bsm_cuda_convolution_problem_of(plan, step, sm, transposed, out))
    return false;
  if (transposed) make_taps(plan, step, out);
  return true;
}

static size_t tactics(const bsm_plan *plan, const bsm_plan_step *step, int sm,
                      const char **names) {
  size_t count = bsm_cuda_depthwise_tactics(plan, step, names);
  bsm_cuda_mma_problem problem;
  if (problem_of_step(plan, step, sm, &problem)) {
    if (bsm_cuda_has_few_maps(&problem)) {
      names[count++] = BSM_CUDA_FEW_MAPS_TACTIC;
    }
    count += bsm_cuda_few_rows_tactics(&problem, sm, names + count);
    bsm_cuda_mma_problem matrix;
    if (bsm_cuda_unfolds(&problem, &matrix)) {
      names[count++] = BSM_CUDA_UNFOLDED_TACTIC;
    }
  }
  return count + bsm_cuda_mma_step_tactics(problem_of_step, plan, step, sm,
                                           names + count);
}

static double cost(const bsm_plan *plan, const bsm_plan_step *step, int sm,
                   const char *tactic) {
  bsm_cuda_mma_problem problem;
  if (!problem_of_step(plan, step, sm, &problem)) return 0;
  if (strcmp(tactic, BSM_CUDA_UNFOLDED_TACTIC) == 0) {
    return bsm_cuda_unfolded_cost(&problem, sm);
  }
  const double few = bsm_cuda_few_rows_cost(&problem, sm, tactic);
  return few > 0 ? few : bsm_cuda_mma_cost(&problem, sm, tactic);
}

/* By its tactic, or without one. */
static bool unfolds(const bsm_cuda_launches *l,
                    const bsm_cuda_mma_problem *problem) {
  const char *tactic = l->step->tactic;
  bsm_cuda_mma_problem matrix;
  return l->scope == BSM_CUDA_FOR_SIZES &&
         (!tactic[0] || strcmp(tactic, BSM_CUDA_UNFOLDED_TACTIC) == 0) &&
         bsm_cuda_unfolds(problem, &matrix);
}

bsm_status bsm_cuda_add_convolution_slots(bsm_cuda_launches *l,
                                          const bsm_plan_step *step,
                                          uint32_t y) {
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_WEIGHTS, offsetof(bsm_cuda_mma, b),
                            step->weights[0]));
  BSM_TRY(
      bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR, offsetof(bsm_cuda_mma, y), y));
  if (step->weights[1] != BSM_NO_WEIGHTS) {
    BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_WEIGHTS,
                              offsetof(bsm_cuda_mma, bias), step->weights[1]));
  }
  return step->params->convolution.epilogue.has_residual
             ? bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR,
                                 offsetof(bsm_cuda_mma, residual),
                                 step->inputs[1])
             : BSM_OK;
}

static bsm_status launch_mma(bsm_cuda_launches *l,
                             const bsm_cuda_mma_problem *problem) {
  const bsm_plan_step *step = l->step;
  const bool few =
      bsm_cuda_has_few_maps(problem) &&
      (!step->tactic[0] || strcmp(step->tactic, BSM_CUDA_FEW_MAPS_TACTIC) == 0);
  if (!few && unfolds(l, problem)) {
    BSM_TRY(bsm_cuda_launch_unfolded(l, problem));
  } else {
    BSM_TRY(few ? bsm_cuda_launch_few_maps(l, problem,
                                           &(bsm_cuda_few_maps_joined){0})
            : bsm_cuda_takes_few_rows(l, problem)
                ? bsm_cuda_launch_few_rows(l, problem)
                : bsm_cuda_launch_many_rows(l, problem));
    BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR,
                              offsetof(bsm_cuda_mma, a), step->inputs[0]));
  }
  return bsm_cuda_add_convolution_slots(l, step, step->outputs[0]);
}

/* ---- in any layout ---- */

static bsm_status launch_plain(bsm_cuda_launches *l,
                               const bsm_cuda_convolution *params,
                               bool transposed) {
  const bsm_step_convolution *p = &l->step->params->convolution;
  BSM_TRY(bsm_cuda_add_launch(l, "convolution", "convolution", params,
                              sizeof(*params), "--fmad=false"));
  BSM_TRY(bsm_cuda_add_product_type(l, bsm_cuda_input(l, 0)->dtype));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_STEP,
                               "-DK_ACTIVATION=%d -DK_TRANSPOSED=%d",
                               p->epilogue.activation, transposed));
  bsm_cuda_set_block(l, BLOCK, 1, 1);
  bsm_cuda_set_grid(
      l,
      bsm_cuda_blocks((uint64_t)bsm_cuda_pixels(&params->y), TILE, UINT32_MAX) *
          bsm_cuda_blocks((uint64_t)params->out, TILE, UINT32_MAX),
      (uint64_t)p->groups, 1);
  return BSM_OK;
}

static bsm_status launch(bsm_cuda_launches *l, bool transposed) {
  bsm_cuda_mma_problem problem;
  /* What sizes a range has decides about less. */
  if (bsm_cuda_may_specialise(l) &&
      (l->scope == BSM_CUDA_FOR_SIZES
           ? problem_of_step(l->plan, l->step, l->sm, &problem)
           : bsm_cuda_convolution_problem_of(l->plan, l->step, l->sm,
                                             transposed, &problem))) {
    return launch_mma(l, &problem);
  }
  const bsm_step_convolution *p = &l->step->params->convolution;
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *y = bsm_cuda_output(l, 0);
  const bool has_residual = p->epilogue.has_residual;
  const bool has_bias = l->step->weights[1] != BSM_NO_WEIGHTS;
  bsm_cuda_convolution params = {.x = bsm_cuda_image_of(x, p->window.spatial),
                                 .y = bsm_cuda_image_of(y, p->window.spatial),
                                 .window = bsm_cuda_window_of(&p->window),
                                 .groups = p->groups,
                                 .in = x->dims.d[1] / p->groups,
                                 .out = p->out_maps / p->groups,
                                 .transposed = transposed,
                                 .activation = p->epilogue.activation,
                                 .alpha = p->epilogue.alpha,
                                 .beta = p->epilogue.beta};
  if (has_residual) {
    params.residual =
        bsm_cuda_image_of(bsm_cuda_input(l, 1), p->window.spatial);
  }
  if (bsm_cuda_pixels(&params.y) == 0 || params.out == 0) return BSM_OK;
  const char *ignored[2];
  if (bsm_cuda_may_specialise(l) &&
      bsm_cuda_depthwise_tactics(l->plan, l->step, ignored)) {
    BSM_TRY(bsm_cuda_launch_depthwise(l, &params));
  } else {
    BSM_TRY(launch_plain(l, &params, transposed));
  }
  const struct {
    bsm_cuda_slot_kind kind;
    size_t offset;
    uint32_t id;
    bool is_there;
  } slots[] = {
      {BSM_CUDA_SLOT_TENSOR, offsetof(bsm_cuda_convolution, x.address),
       l->step->inputs[0], true},
      {BSM_CUDA_SLOT_TENSOR, offsetof(bsm_cuda_convolution, y.address),
       l->step->outputs[0], true},
      {BSM_CUDA_SLOT_WEIGHTS, offsetof(bsm_cuda_convolution, kernel),
       l->step->weights[0], true},
      {BSM_CUDA_SLOT_WEIGHTS, offsetof(bsm_cuda_convolution, bias),
       l->step->weights[1], has_bias},
      {BSM_CUDA_SLOT_TENSOR, offsetof(bsm_cuda_convolution, residual.address),
       has_residual ? l->step->inputs[1] : 0, has_residual}};
  for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
    if (!slots[i].is_there) continue;
    BSM_TRY(bsm_cuda_add_slot(l, slots[i].kind, slots[i].offset, slots[i].id));
    bsm_cuda_type_product_slot(l, x->dtype);
  }
  return BSM_OK;
}

static bsm_status convolution(bsm_cuda_launches *l) {
  return launch(l, false);
}

static bsm_status deconvolution(bsm_cuda_launches *l) {
  return launch(l, true);
}

const bsm_cuda_step_kind bsm_cuda_CONVOLUTION = {check_convolution, convolution,
                                                 tactics, cost};
const bsm_cuda_step_kind bsm_cuda_DECONVOLUTION = {
    check_deconvolution, deconvolution, tactics, cost};
