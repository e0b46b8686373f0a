/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions: which kernel, and its launches. */
#include "backend/cuda/steps/cuda_depthwise.h"

#include <string.h>

#include "backend/cuda/steps/cuda_images.h"

#define POINTS_TACTIC "depthwise"
#define POINTS_BLOCK 128
/* Taps that are unrolled: of a window, and of one of its lines. */
#define MOST_TAPS 128
#define MOST_TAPS_OF_LINE 64
/* Weights of a line and of all maps of a thread, which registers hold. */
#define HELD_WEIGHTS 64
/* Threads that keep a GPU busy: with more, each makes several outputs. */
#define POINTS_THREADS (1 << 17)

#define TILES_TACTIC "depthwise tiles"
/* Warps that keep a GPU busy: with more, each makes several rows. */
#define TILES_WARPS 1584
#define TILES_MAX_MAPS (64 * 65535)
#define TILES_WINDOW 7
/* Taps from which on the tiles should be faster; and where 3 by 3 are, too:
 * narrow images, with enough to do, and activations of an instruction or two,
 * as times on an H100 say. */
#define TILES_TAPS 25
#define TILES_FEW_TAPS 9
#define TILES_WIDTH 14
#define TILES_OUTPUTS (1 << 16)

static bool is_depthwise(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_convolution *c = &step->params->convolution;
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  const bsm_step_window *w = &c->window;
  const bsm_cuda_image in = bsm_cuda_image_of(x, w->spatial);
  const bsm_cuda_image to = bsm_cuda_image_of(y, w->spatial);
  return step->kind == BSM_STEP_CONVOLUTION && bsm_cuda_is_float(y->dtype) &&
         c->groups > 1 && c->groups == in.c && c->out_maps == in.c &&
         in.c_stride == 1 && to.c_stride == 1 &&
         bsm_cuda_is_flat(w, &in, &to) && w->kernel[1] <= MOST_TAPS &&
         w->kernel[2] <= MOST_TAPS_OF_LINE &&
         w->kernel[1] * w->kernel[2] <= MOST_TAPS && w->stride[2] <= 8 &&
         bsm_cuda_image_is_small(&in) && bsm_cuda_image_is_small(&to) &&
         bsm_cuda_window_is_small(w);
}

static bool has_tiles(const bsm_plan_step *step) {
  const bsm_step_convolution *c = &step->params->convolution;
  const bsm_step_window *w = &c->window;
  return w->stride[1] <= 2 && w->stride[2] <= 2 &&
         w->kernel[1] <= TILES_WINDOW && w->kernel[2] <= TILES_WINDOW &&
         (w->kernel[1] == 1 || w->dilation[1] == 1) &&
         (w->kernel[2] == 1 || w->dilation[2] == 1) &&
         c->out_maps <= TILES_MAX_MAPS;
}

static bool is_bounding(int32_t activation) {
  return activation == BSM_ACTIVATION_NONE ||
         activation == BSM_ACTIVATION_RELU || activation == BSM_ACTIVATION_CLIP;
}

static bool prefers_tiles(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_convolution *c = &step->params->convolution;
  const int64_t taps = c->window.kernel[1] * c->window.kernel[2];
  const bsm_cuda_image y =
      bsm_cuda_image_of(bsm_step_output(plan, step, 0), c->window.spatial);
  return taps >= TILES_TAPS ||
         (taps == TILES_FEW_TAPS && y.size[2] <= TILES_WIDTH &&
          is_bounding(c->epilogue.activation) &&
          bsm_cuda_pixels(&y) * y.c >= TILES_OUTPUTS);
}

size_t bsm_cuda_depthwise_tactics(const bsm_plan *plan,
                                  const bsm_plan_step *step,
                                  const char **names) {
  if (!is_depthwise(plan, step)) return 0;
  names[0] = POINTS_TACTIC;
  if (!has_tiles(step)) return 1;
  const bool prefers = prefers_tiles(plan, step);
  names[prefers ? 0 : 1] = TILES_TACTIC;
  names[prefers ? 1 : 0] = POINTS_TACTIC;
  return 2;
}

/* ---- a point, or a strip of them, in each thread ---- */

static bsm_status add_points(bsm_cuda_launches *l,
                             const bsm_cuda_convolution *params, int vector,
                             int strip) {
  const bsm_step_convolution *c = &l->step->params->convolution;
  const bsm_plan_tensor *y = bsm_cuda_output(l, 0);
  const int64_t elements = bsm_cuda_pixels(&params->y) * params->y.c;
  BSM_TRY(bsm_cuda_add_launch(
      l, "depthwise", "depthwise", params, sizeof(*params),
      "-DK_T=%s -DK_ACTIVATION=%d -DK_VECTOR=%d -DK_STRIP=%d -DK_KH=%d "
      "-DK_KW=%d -DK_STRIDE=%d",
      bsm_cuda_type(y->dtype), c->epilogue.activation, vector, strip,
      (int)c->window.kernel[1], (int)c->window.kernel[2],
      (int)c->window.stride[2]));
  bsm_cuda_set_block(l, POINTS_BLOCK, 1, 1);
  bsm_cuda_set_grid(l,
                    bsm_cuda_blocks((uint64_t)(elements / vector / strip) + 1,
                                    POINTS_BLOCK, UINT16_MAX),
                    1, 1);
  return BSM_OK;
}

/* Maps that a thread can load and store at once. */
static int widest_vector(bsm_cuda_launches *l) {
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *y = bsm_cuda_output(l, 0);
  const int most = (int)(16 / bsm_dtype_size(y->dtype));
  const int of_x = bsm_cuda_image_vector(x, most);
  const int of_y = bsm_cuda_image_vector(y, most);
  return of_x < of_y ? of_x : of_y;
}

static bsm_status launch_points(bsm_cuda_launches *l,
                                const bsm_cuda_convolution *params) {
  const bsm_step_convolution *c = &l->step->params->convolution;
  const int64_t elements = bsm_cuda_pixels(&params->y) * params->y.c;
  int widest = widest_vector(l), strip = 1;
  while (widest > 1 && widest * c->window.kernel[2] > HELD_WEIGHTS) widest /= 2;
  int vector = widest;
  const bool ranges = l->scope == BSM_CUDA_FOR_RANGE;
  while (vector > 2 && elements / vector < POINTS_THREADS / 4) {
    vector = ranges ? 2 : vector / 2;
  }
  const bool has_strips = c->window.dilation[2] == 1 && c->window.kernel[2] > 1;
  if (has_strips && elements / vector >= POINTS_THREADS * 4) strip = 4;
  for (int form = 0; ranges && form < 3; form++) {
    const int other_vector = form || widest < 2 ? widest : 2;
    const int other_strip = form == 2 && has_strips ? 4 : 1;
    if (other_vector == vector && other_strip == strip) continue;
    BSM_TRY(add_points(l, params, other_vector, other_strip));
    BSM_TRY(bsm_cuda_set_aside(l));
  }
  return add_points(l, params, vector, strip);
}

/* ---- tiles of outputs in each thread ---- */

typedef struct tiling {
  int rows, strip, vector, warps; /* warps of a block */
} tiling;

static int64_t parts(int64_t size, int64_t part) {
  return (size + part - 1) / part;
}

static int64_t tiles_of(const bsm_cuda_image *y, const tiling *t) {
  return y->n * parts(y->size[1], t->rows) * parts(y->size[2], t->strip);
}

static int64_t warps_of(const bsm_cuda_image *y, const tiling *t) {
  return tiles_of(y, t) * parts(y->c, 32 * t->vector);
}

/* Strips in which the least is left over, wide ones first. */
static int strip_of(int64_t width) {
  static const int strips[] = {8, 7, 4};
  int best = strips[0];
  for (size_t i = 1; i < sizeof(strips) / sizeof(strips[0]); i++) {
    if (parts(width, strips[i]) * strips[i] < parts(width, best) * best) {
      best = strips[i];
    }
  }
  return best;
}

static tiling choose_tiling(const bsm_cuda_image *y, int widest) {
  tiling t = {.rows = 4,
              .strip = strip_of(y->size[2]),
              .vector = widest < 2 ? 1 : 2,
              .warps = 4};
  while (t.rows > 1 &&
         (t.rows / 2 >= y->size[1] || warps_of(y, &t) < TILES_WARPS)) {
    t.rows /= 2;
  }
  if (warps_of(y, &t) < TILES_WARPS / 4) t.vector = 1;
  if (warps_of(y, &t) < TILES_WARPS) t.warps = 2;
  return t;
}

static bsm_status launch_tiles(bsm_cuda_launches *l,
                               const bsm_cuda_convolution *params) {
  const bsm_step_convolution *c = &l->step->params->convolution;
  const tiling t = choose_tiling(&params->y, widest_vector(l));
  BSM_TRY(bsm_cuda_add_launch(
      l, "depthwise_tile", "depthwise_tile", params, sizeof(*params),
      "-DK_T=%s -DK_ACTIVATION=%d -DK_VECTOR=%d -DK_ROWS=%d -DK_STRIP=%d "
      "-DK_KH=%d -DK_KW=%d -DK_STRIDE_Y=%d -DK_STRIDE_X=%d -DK_WARPS=%d",
      bsm_cuda_type(bsm_cuda_output(l, 0)->dtype), c->epilogue.activation,
      t.vector, t.rows, t.strip, (int)c->window.kernel[1],
      (int)c->window.kernel[2], (int)c->window.stride[1],
      (int)c->window.stride[2], t.warps));
  bsm_cuda_set_block(l, 32u * (unsigned)t.warps, 1, 1);
  bsm_cuda_set_grid(l, (uint64_t)parts(tiles_of(&params->y, &t), t.warps),
                    (uint64_t)parts(params->y.c, 32 * t.vector), 1);
  return BSM_OK;
}

bsm_status bsm_cuda_launch_depthwise(bsm_cuda_launches *l,
                                     const bsm_cuda_convolution *params) {
  const char *tactic = l->step->tactic;
  const bool tiles = strcmp(tactic, TILES_TACTIC) == 0 ||
                     (strcmp(tactic, POINTS_TACTIC) != 0 &&
                      has_tiles(l->step) && prefers_tiles(l->plan, l->step));
  return tiles && l->scope == BSM_CUDA_FOR_SIZES ? launch_tiles(l, params)
                                                 : launch_points(l, params);
}
