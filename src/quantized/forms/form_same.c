/* SPDX-License-Identifier: Apache-2.0 */
/* Ops whose results lie on the grid of their input, computed in floats:
 * clamping activations, pooling, resizing, padding, sorting; and comparisons,
 * whose results are no quantized tensors. */
#include <string.h>

#include "quantized/form_kit.h"

/* With the same arguments: what comes first of the results is on the grid. */
static bsm_status run_as(const bsm_q_call *c, const char *name, size_t n) {
  bsm_q_grid grid;
  bsm_ivalue *args = BSM_NEW_ARRAY(c->b->arena, bsm_ivalue, n + 1);
  BSM_TRY_ALLOC(args);
  BSM_TRY(bsm_q_grid_of(c, &c->args[0], &grid));
  for (size_t i = 0; i < n; i++) {
    args[i] = c->args[i];
    if (args[i].tag == BSM_IVALUE_LIST) continue;
    BSM_TRY(bsm_q_float(c, &args[i], &args[i]));
  }
  BSM_TRY(c->b->call(c->b, name, args, n, c->outs, c->n_outs));
  return bsm_q_quantize(c, &c->outs[0], &grid, &c->outs[0]);
}

static bsm_status run_same(const bsm_q_call *c) {
  return run_as(c, c->name, c->n);
}

/* Whether zeros are zeros: where they are around the tensor and take part in an
 * average; resizing, and pooling in three dimensions, round the numbers so. */
static bool keeps_zero(const bsm_q_call *c) {
  const bsm_ivalue *padding = &c->args[3]; /* self, kernel_size, stride */
  if (strncmp(c->name, "aten::upsample", 14) == 0 ||
      strcmp(c->name, "aten::avg_pool3d") == 0) {
    return true;
  }
  if (strncmp(c->name, "aten::avg_pool", 14) != 0) return false;
  for (size_t i = 0; i < padding->u.list->len; i++) {
    if (bsm_q_int(&padding->u.list->items[i])) return true;
  }
  return false;
}

/* Ops that average: of the integers themselves, so that what lies in the middle
 * of two goes to the even one, as in PyTorch's kernels for many channels. */
static bsm_status run_average(const bsm_q_call *c) {
  bsm_q_grid grid, steps;
  bsm_ivalue integers, x;
  bool is;
  bsm_ivalue *args = BSM_NEW_ARRAY(c->b->arena, bsm_ivalue, c->n + 1);
  BSM_TRY_ALLOC(args);
  BSM_TRY(c->b->split(c->b, &c->args[0], &integers, &grid, &is));
  if (!is || grid.q.scales) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a tensor with one scale is needed");
  }
  steps = grid;
  steps.q.scale = 1;
  if (!keeps_zero(c)) steps.q.zero_point = 0;
  memcpy(args, c->args, c->n * sizeof(*args));
  BSM_TRY(c->b->join(c->b, &integers, &steps, &x));
  BSM_TRY(bsm_q_float(c, &x, &args[0]));
  BSM_TRY(bsm_q_call1(c, &x, c->name, args, c->n));
  BSM_TRY(bsm_q_quantize(c, &x, &steps, &x));
  BSM_TRY(c->b->split(c->b, &x, &integers, &steps, &is));
  return c->b->join(c->b, &integers, &grid, &c->outs[0]);
}

/* Ops that have other names for floats. */
enum { RELU6, CLAMP, THRESHOLD, MAX_POOL1D, MAX_POOL2D, MAX_POOL3D };

static bsm_status run_renamed(const bsm_q_call *c) {
  static const struct {
    const char *name;
    size_t n;
  } ops[] = {
      [RELU6] = {"aten::relu6", 1},
      [CLAMP] = {"aten::clamp", 3},
      [THRESHOLD] = {"aten::threshold", 3},
      [MAX_POOL1D] = {"aten::max_pool1d", 6},
      [MAX_POOL2D] = {"aten::max_pool2d", 6},
      [MAX_POOL3D] = {"aten::max_pool3d", 6},
  };
  return run_as(c, ops[c->form->variant].name, ops[c->form->variant].n);
}

/* A mean in another dtype than the tensor's is none of PyTorch's. */
static bsm_status run_mean(const bsm_q_call *c) {
  if (c->args[c->n - 1].tag != BSM_IVALUE_NONE) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a mean of quantized values in another "
                    "dtype");
  }
  return run_average(c);
}

static bsm_status run_compare(const bsm_q_call *c) {
  bsm_ivalue args[2];
  for (size_t i = 0; i < 2; i++) {
    BSM_TRY(bsm_q_float(c, &c->args[i], &args[i]));
  }
  return bsm_q_call1(c, &c->outs[0], c->name, args, 2);
}

#define SAME(name) \
  { "aten::" name, run_same, 0, BSM_Q_TENSOR }
#define AVERAGE(name) \
  { "aten::" name, run_average, 0, BSM_Q_TENSOR }
#define COMPARE(name)                                        \
  {"aten::" name ".Tensor", run_compare, 0, BSM_Q_TENSOR}, { \
    "aten::" name ".Scalar", run_compare, 0, BSM_Q_TENSOR    \
  }
#define OP(text, variant) \
  { "quantized::" text, run_renamed, variant, BSM_Q_OP }
#define POOL                                                           \
  "(Tensor qx, int[] kernel_size, int[] stride, int[] padding, int[] " \
  "dilation, bool ceil_mode) -> Tensor"

#define POOL_OF_ATEN(d, variant, zero, one)                                    \
  {                                                                            \
    "aten::quantized_max_pool" d "d(Tensor self, int[" d                       \
    "] kernel_size, int[" d "] stride=[], int[" d "] padding=" zero ", int[" d \
    "] dilation=" one ", bool ceil_mode=False) -> Tensor",                     \
        run_renamed, variant, BSM_Q_OP                                         \
  }

static const bsm_q_form forms[] = {
    SAME("relu"),
    SAME("relu6"),
    SAME("hardtanh"),
    SAME("clamp"),
    SAME("clamp_min"),
    SAME("clamp_max"),
    SAME("leaky_relu"),
    SAME("gelu"),
    SAME("threshold"),
    SAME("max_pool1d"),
    SAME("max_pool2d"),
    SAME("max_pool3d"),
    AVERAGE("avg_pool1d"),
    AVERAGE("avg_pool2d"),
    AVERAGE("avg_pool3d"),
    AVERAGE("adaptive_avg_pool1d"),
    AVERAGE("adaptive_avg_pool2d"),
    AVERAGE("adaptive_avg_pool3d"),
    SAME("upsample_nearest1d"),
    SAME("upsample_nearest1d.vec"),
    SAME("upsample_nearest2d"),
    SAME("upsample_nearest2d.vec"),
    SAME("upsample_nearest3d"),
    SAME("upsample_nearest3d.vec"),
    SAME("_upsample_nearest_exact1d"),
    SAME("_upsample_nearest_exact1d.vec"),
    SAME("_upsample_nearest_exact2d"),
    SAME("_upsample_nearest_exact2d.vec"),
    SAME("_upsample_nearest_exact3d"),
    SAME("_upsample_nearest_exact3d.vec"),
    AVERAGE("upsample_bilinear2d"),
    AVERAGE("upsample_bilinear2d.vec"),
    SAME("pad"),
    SAME("constant_pad_nd"),
    SAME("reflection_pad1d"),
    SAME("reflection_pad2d"),
    SAME("reflection_pad3d"),
    SAME("topk"),
    SAME("sort"),
    SAME("sort.stable"),
    SAME("max"),
    SAME("min"),
    SAME("max.dim"),
    SAME("min.dim"),
    SAME("masked_fill.Scalar"),
    {"aten::mean", run_mean, 0, BSM_Q_TENSOR},
    {"aten::mean.dim", run_mean, 0, BSM_Q_TENSOR},
    COMPARE("eq"),
    COMPARE("ne"),
    COMPARE("lt"),
    COMPARE("le"),
    COMPARE("gt"),
    COMPARE("ge"),
    OP("relu6(Tensor qx, bool inplace=False) -> Tensor", RELU6),
    OP("clamp(Tensor qx, Scalar? min=None, Scalar? max=None) -> Tensor qy",
       CLAMP),
    OP("threshold(Tensor qx, Scalar threshold, Scalar value) -> Tensor qy",
       THRESHOLD),
    OP("max_pool1d" POOL, MAX_POOL1D),
    OP("max_pool2d" POOL, MAX_POOL2D),
    POOL_OF_ATEN("1", MAX_POOL1D, "[0]", "[1]"),
    POOL_OF_ATEN("2", MAX_POOL2D, "0", "1"),
    POOL_OF_ATEN("3", MAX_POOL3D, "0", "1"),
};
BSM_Q_TABLE(same, forms);
