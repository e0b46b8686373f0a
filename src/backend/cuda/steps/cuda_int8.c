/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and products of bytes of a GPU. Tiles, their costs and splits
 * are those of products of 16 bits, of which an element is two bytes: tensor
 * cores multiply, and copies move, as many of these. */
#include "backend/cuda/steps/cuda_int8.h"

#include <inttypes.h>

#include "backend/cuda/steps/cuda_convolution.h"
#include "backend/cuda/steps/cuda_images.h"
#include "base/checked.h"

#define DEPTHWISE_TACTIC "depthwise"
#define MAX_WINDOW 7
#define DEPTHWISE_BLOCK 128
/* Threads that keep a GPU busy: with more, each makes several outputs. */
#define BUSY_THREADS (1 << 17)
#define PLAIN_TILE 64
#define PLAIN_BLOCK 256

/* Whether bytes are of float8_e4m3fn. */
static bool is_fp8(const bsm_plan *plan, const bsm_plan_step *step) {
  return bsm_step_input(plan, step, 0)->dtype == BSM_DTYPE_FLOAT8_E4M3FN;
}

static const bsm_step_convolution *params_of(const bsm_plan_step *step) {
  return &step->params->int8_convolution.convolution;
}

/* ---- the kernel, as bsm_cuda_pack has packed it ---- */

bsm_status bsm_cuda_int8_layout_of(const bsm_step_convolution *p,
                                   int64_t in_maps, bsm_cuda_int8_layout *out) {
  int64_t taps = 1, depth, row, size;
  if (p->groups < 1 || in_maps < 1 || p->out_maps < 1 || in_maps % p->groups ||
      p->out_maps % p->groups) {
    return BSM_FAIL(BSM_CORRUPT,
                    "%" PRId64 " and %" PRId64 " maps in %" PRId64 " groups",
                    in_maps, p->out_maps, p->groups);
  }
  for (int d = 0; d < 3; d++) {
    if (p->window.kernel[d] < 1 ||
        !bsm_i64_mul(taps, p->window.kernel[d], &taps)) {
      return BSM_FAIL(BSM_CORRUPT, "a window of %" PRId64, p->window.kernel[d]);
    }
  }
  const int64_t maps = in_maps / p->groups, *kernel = p->window.kernel;
  const bool of_taps =
      p->groups > 1 && p->groups == in_maps && p->groups == p->out_maps;
  const bool lined =
      p->groups == 1 && maps % 4 != 0 && taps > 1 && p->window.dilation[2] == 1;
  const int64_t rows = of_taps ? taps : p->out_maps;
  if (!bsm_i64_mul(maps, taps, &depth) ||
      !bsm_i64_add(of_taps ? p->out_maps : depth, 15, &row) ||
      !bsm_i64_mul(row, 16, &size) || !bsm_i64_mul(size, rows, &size) ||
      size > (int64_t)1 << 44) {
    return BSM_FAIL(BSM_CORRUPT, "a kernel of a size that makes no sense");
  }
  const int64_t line = lined ? kernel[2] * maps : depth;
  const int64_t next_line = (line + 15) / 16 * 16;
  row = lined ? taps / kernel[2] * next_line : row / 16 * 16;
  *out = (bsm_cuda_int8_layout){.size = (uint64_t)(row * rows),
                                .taps = taps,
                                .depth = depth,
                                .map = of_taps ? 1 : row,
                                .k = of_taps ? row : 1,
                                .line = line,
                                .next_line = next_line,
                                .lined = lined};
  return BSM_OK;
}

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_convolution *p = params_of(step);
  bsm_cuda_int8_layout layout;
  BSM_TRY(bsm_check_int8_convolution(plan, step));
  if (p->form != 0) return BSM_FAIL(BSM_CORRUPT, "weights of form %d", p->form);
  BSM_TRY(bsm_cuda_int8_layout_of(p, bsm_step_input(plan, step, 0)->dims.d[1],
                                  &layout));
  return bsm_check_weights(plan, step, 0, layout.size);
}

static bsm_cuda_i32 numbers_of(const bsm_plan_tensor *t) {
  switch (t->dtype) {
    case BSM_DTYPE_FLOAT:
      return BSM_CUDA_INT8_FLOATS;
    case BSM_DTYPE_HALF:
      return BSM_CUDA_INT8_HALVES;
    case BSM_DTYPE_BFLOAT16:
      return BSM_CUDA_INT8_BFLOATS;
    default:
      return BSM_CUDA_INT8_BYTES;
  }
}

static bsm_cuda_int8_end end_of(const bsm_plan *plan,
                                const bsm_plan_step *step) {
  const bsm_step_int8_convolution *p = &step->params->int8_convolution;
  const bsm_step_epilogue *e = &p->convolution.epilogue;
  bsm_cuda_int8_end end = {.maps = (bsm_cuda_i32)p->convolution.out_maps,
                           .x_zero = p->x_zero,
                           .residual_zero = p->residual_zero,
                           .y_zero = p->y_zero,
                           .least = p->least,
                           .greatest = p->greatest,
                           .residual_scale = (float)p->residual_scale,
                           .y_inverse = (float)p->y_inverse,
                           .alpha = (float)e->alpha,
                           .beta = (float)e->beta,
                           .activation = e->activation,
                           .y = numbers_of(bsm_step_output(plan, step, 0))};
  if (e->has_residual) end.residual = numbers_of(bsm_step_input(plan, step, 1));
  return end;
}

/* Slots of the end, of the launch that was added last. */
static bsm_status add_end(bsm_cuda_launches *l, size_t offset) {
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_WEIGHTS,
                            offset + offsetof(bsm_cuda_int8_end, columns),
                            l->step->weights[1]));
  return bsm_cuda_add_slot(l, BSM_CUDA_SLOT_WEIGHTS,
                           offset + offsetof(bsm_cuda_int8_end, offsets),
                           l->step->weights[2]);
}

/* ---- in tiles ---- */

static bool pads(const bsm_plan_step *step) {
  const bsm_step_window *w = &params_of(step)->window;
  bool pads = false;
  for (int d = 0; d < 3; d++) {
    pads = pads || w->pre_padding[d] || w->post_padding[d];
  }
  return pads && step->params->int8_convolution.x_zero != 0;
}

/* Offsets of bytes as those of pairs; which an odd one has not. */
static bsm_cuda_mma in_pairs(const bsm_cuda_mma *bytes) {
  bsm_cuda_mma p = *bytes;
  p.k = (p.k + 1) / 2;
  p.maps /= 2;
  p.a_row /= 2;
  p.b_column /= 2;
  p.a_batch[0] /= 2;
  p.b_batch[0] /= 2;
  p.image_stride /= 2;
  for (int d = 0; d < 3; d++) p.in_stride[d] /= 2;
  return p;
}

static int piece_of(const bsm_plan_tensor *x, int64_t maps) {
  int piece = bsm_cuda_image_vector(x, 16);
  while (piece > 1 && maps % piece != 0) piece /= 2;
  const bool apart = x->dims.d[1] > 1 && x->strides[1] != 1;
  return apart || piece < 4 ? 1 : piece;
}

/* How lines of a window are fetched: word by word where they begin and end with
 * whole ones; false: not as lines, as they do not lie together. */
static bool find_lines(const bsm_plan_tensor *x, const bsm_cuda_mma *p,
                       bsm_cuda_int8_lines *out) {
  const int64_t w = (int64_t)p->in[2] * p->maps;
  if (w > INT32_MAX || (p->maps > 1 && p->a_column != 1) ||
      (p->in[2] > 1 && p->in_stride[2] != p->maps)) {
    return false;
  }
  const bool words = w % 4 == 0 && p->in_stride[0] % 4 == 0 &&
                     p->in_stride[1] % 4 == 0 && p->image_stride % 4 == 0 &&
                     x->offset % 4 == 0;
  *out = words ? BSM_CUDA_INT8_WORDS_OF_LINES : BSM_CUDA_INT8_BYTES_OF_LINES;
  return true;
}

/* The problem in pairs, and what it is in bytes. */
static bool find_problem(const bsm_plan *plan, const bsm_plan_step *step,
                         int sm, bsm_cuda_mma_problem *out,
                         bsm_cuda_int8_problem *bytes) {
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  const bsm_cuda_unit *unit =
      bsm_cuda_unit_of(x->dtype, BSM_PRECISION_NONE, sm);
  bsm_cuda_int8_layout layout;
  if (!unit) return false;
  bsm_status status =
      bsm_cuda_int8_layout_of(params_of(step), x->dims.d[1], &layout);
  const bool fits =
      !status && bsm_cuda_convolution_problem(plan, step, unit, false, out);
  bsm_status_free(status);
  if (!fits || layout.map == 1 || layout.map > INT32_MAX) return false;
  bsm_cuda_mma *p = &out->params;
  p->b_column = layout.map;
  if (out->batches > 1 && !out->images_apart) p->b_batch[0] = p->n * layout.map;
  *bytes = (bsm_cuda_int8_problem){.params = *p,
                                   .end = end_of(plan, step),
                                   .fp8 = is_fp8(plan, step),
                                   .y = y->dtype,
                                   .piece = piece_of(x, p->maps)};
  if (layout.lined) {
    if (!find_lines(x, p, &bytes->lines)) return false;
    bytes->piece = 1;
    bytes->params.k = p->k = (int32_t)layout.map;
  }
  const bsm_plan_tensor *r =
      out->residual ? bsm_step_input(plan, step, 1) : NULL;
  bytes->vector = p->n % 16 == 0 && bsm_cuda_mma_reads_along(y, 1) &&
                  (!r || bsm_cuda_mma_reads_along(r, 1));
  out->dtype = BSM_DTYPE_HALF;
  out->params = in_pairs(p);
  out->vector = false;
  out->pads = pads(step);
  out->a = bytes->piece == 16 ? BSM_CUDA_MMA_ALONG_K : BSM_CUDA_MMA_ELEMENTS;
  out->b = BSM_CUDA_MMA_ALONG_K;
  out->aligned_a = out->a;
  out->aligned_b = out->b;
  return true;
}

static bool problem_of(const bsm_plan *plan, const bsm_plan_step *step, int sm,
                       bsm_cuda_mma_problem *out) {
  bsm_cuda_int8_problem bytes;
  return find_problem(plan, step, sm, out, &bytes);
}

static bsm_status launch_mma(bsm_cuda_launches *l,
                             const bsm_cuda_mma_problem *problem) {
  const bsm_plan_step *step = l->step;
  BSM_TRY(bsm_cuda_launch_mma(l, problem, step->tactic));
  const bool tiled =
      l->items[l->count - 1].params_size == sizeof(bsm_cuda_int8_tiled);
  BSM_TRY(add_end(l, tiled ? offsetof(bsm_cuda_int8_tiled, end)
                           : offsetof(bsm_cuda_int8_gemm, end)));
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR, offsetof(bsm_cuda_mma, a),
                            step->inputs[0]));
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_WEIGHTS, offsetof(bsm_cuda_mma, b),
                            step->weights[0]));
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR, offsetof(bsm_cuda_mma, y),
                            step->outputs[0]));
  return problem->residual ? bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR,
                                               offsetof(bsm_cuda_mma, residual),
                                               step->inputs[1])
                           : BSM_OK;
}

/* ---- depthwise, and in any layout ---- */

static bool is_depthwise(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_convolution *c = params_of(step);
  const bsm_step_window *w = &c->window;
  const bsm_cuda_image in =
      bsm_cuda_image_of(bsm_step_input(plan, step, 0), w->spatial);
  const bsm_cuda_image to =
      bsm_cuda_image_of(bsm_step_output(plan, step, 0), w->spatial);
  return !is_fp8(plan, step) && c->groups > 1 && c->groups == in.c &&
         c->out_maps == in.c && in.c_stride == 1 && to.c_stride == 1 &&
         bsm_cuda_is_flat(w, &in, &to) && w->kernel[1] <= MAX_WINDOW &&
         w->kernel[2] <= MAX_WINDOW && w->stride[2] <= 8 &&
         bsm_cuda_image_is_small(&in) && bsm_cuda_image_is_small(&to) &&
         bsm_cuda_window_is_small(w);
}

static bsm_status launch_depthwise(bsm_cuda_launches *l,
                                   const bsm_cuda_int8_convolution *params) {
  const bsm_step_convolution *c = params_of(l->step);
  const bsm_plan_tensor *y = bsm_cuda_output(l, 0);
  const bsm_cuda_image *to = &params->convolution.y;
  const int64_t elements = bsm_cuda_pixels(to) * to->c;
  const int of_x = bsm_cuda_image_vector(bsm_cuda_input(l, 0), 4);
  const int of_y = bsm_cuda_image_vector(y, 4);
  const int vector = of_x < of_y ? of_x : of_y;
  const bool strips = c->window.dilation[2] == 1 && c->window.kernel[2] > 1 &&
                      l->scope == BSM_CUDA_FOR_SIZES &&
                      elements / vector >= BUSY_THREADS * 4;
  BSM_TRY(bsm_cuda_add_launch(
      l, "int8_depthwise", "int8_depthwise", params, sizeof(*params),
      "-DK_ACTIVATION=%d -DK_VECTOR=%d -DK_STRIP=%d -DK_KH=%d -DK_KW=%d "
      "-DK_STRIDE=%d -DK_Y=%s -DK_RESIDUAL=%d -DK_OFFSETS=%d --fmad=false",
      c->epilogue.activation, vector, strips ? 4 : 1, (int)c->window.kernel[1],
      (int)c->window.kernel[2], (int)c->window.stride[2],
      bsm_cuda_type(y->dtype), (int)params->end.residual,
      params->end.x_zero != 0));
  bsm_cuda_set_block(l, DEPTHWISE_BLOCK, 1, 1);
  bsm_cuda_set_grid(
      l,
      bsm_cuda_blocks((uint64_t)(elements / vector / (strips ? 4 : 1)) + 1,
                      DEPTHWISE_BLOCK, UINT16_MAX),
      1, 1);
  return BSM_OK;
}

static bsm_status launch_plain(bsm_cuda_launches *l,
                               const bsm_cuda_int8_convolution *params) {
  const bsm_cuda_convolution *c = &params->convolution;
  BSM_TRY(bsm_cuda_add_launch(l, "int8_convolution", "int8_convolution", params,
                              sizeof(*params), "--fmad=false%s",
                              is_fp8(l->plan, l->step) ? " -DK_FP8=1" : ""));
  bsm_cuda_set_block(l, PLAIN_BLOCK, 1, 1);
  bsm_cuda_set_grid(
      l,
      bsm_cuda_blocks((uint64_t)bsm_cuda_pixels(&c->y), PLAIN_TILE,
                      UINT32_MAX) *
          bsm_cuda_blocks((uint64_t)c->out, PLAIN_TILE, UINT32_MAX),
      (uint64_t)c->groups, 1);
  return BSM_OK;
}

static bsm_status launch_windows(bsm_cuda_launches *l) {
  const bsm_plan_step *step = l->step;
  const bsm_step_convolution *p = params_of(step);
  const int32_t spatial = p->window.spatial;
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0);
  bsm_cuda_int8_layout layout;
  BSM_TRY(bsm_cuda_int8_layout_of(p, x->dims.d[1], &layout));
  bsm_cuda_int8_convolution params = {
      .convolution = {.x = bsm_cuda_image_of(x, spatial),
                      .y = bsm_cuda_image_of(bsm_cuda_output(l, 0), spatial),
                      .window = bsm_cuda_window_of(&p->window),
                      .groups = p->groups,
                      .in = x->dims.d[1] / p->groups,
                      .out = p->out_maps / p->groups},
      .end = end_of(l->plan, step),
      .kernel_map = layout.map,
      .kernel_k = layout.k,
      .line = layout.line,
      .next_line = layout.next_line};
  if (p->epilogue.has_residual) {
    params.convolution.residual =
        bsm_cuda_image_of(bsm_cuda_input(l, 1), spatial);
  }
  if (bsm_cuda_pixels(&params.convolution.y) == 0) return BSM_OK;
  BSM_TRY(bsm_cuda_may_specialise(l) && is_depthwise(l->plan, step)
              ? launch_depthwise(l, &params)
              : launch_plain(l, &params));
  BSM_TRY(add_end(l, offsetof(bsm_cuda_int8_convolution, end)));
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR,
                            offsetof(bsm_cuda_convolution, x.address),
                            step->inputs[0]));
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR,
                            offsetof(bsm_cuda_convolution, y.address),
                            step->outputs[0]));
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_WEIGHTS,
                            offsetof(bsm_cuda_convolution, kernel),
                            step->weights[0]));
  return p->epilogue.has_residual
             ? bsm_cuda_add_slot(
                   l, BSM_CUDA_SLOT_TENSOR,
                   offsetof(bsm_cuda_convolution, residual.address),
                   step->inputs[1])
             : BSM_OK;
}

/* ---- which of them ---- */

static size_t tactics(const bsm_plan *plan, const bsm_plan_step *step, int sm,
                      const char **names) {
  const bool depthwise = is_depthwise(plan, step);
  if (depthwise) names[0] = DEPTHWISE_TACTIC;
  return depthwise + bsm_cuda_mma_step_tactics(problem_of, plan, step, sm,
                                               names + depthwise);
}

static double cost(const bsm_plan *plan, const bsm_plan_step *step, int sm,
                   const char *tactic) {
  return bsm_cuda_mma_step_cost(problem_of, plan, step, sm, tactic);
}

static bsm_status launches(bsm_cuda_launches *l) {
  bsm_cuda_mma_problem problem;
  bsm_cuda_int8_problem bytes;
  if (!bsm_cuda_may_specialise(l) ||
      !find_problem(l->plan, l->step, l->sm, &problem, &bytes)) {
    return launch_windows(l);
  }
  problem.bytes = &bytes;
  return launch_mma(l, &problem);
}

const bsm_cuda_step_kind bsm_cuda_INT8_CONVOLUTION = {check, launches, tactics,
                                                      cost};
