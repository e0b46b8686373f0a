/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions with packed parameters: quantized ones, whose result has a grid
 * of its own, and dynamic ones of floats; their packing and unpacking. */
#include <string.h>

#include "quantized/form_kit.h"

enum {
  DIMS = 3, /* a mask: 1, 2 or 3 */
  RELU = 4,
  TRANSPOSED = 8,
  DYNAMIC = 16, /* the range of the input is that of its data */
  LEGACY = 32,  /* strides and so on as arguments, which must not matter */
  ADDS = 64     /* a second tensor is added before the activation */
};

/* The last `n` of a list: one dimension is packed as two. */
static bsm_status tail(const bsm_q_call *c, const bsm_ivalue *list, size_t n,
                       bsm_ivalue *out) {
  int64_t v[3];
  const bsm_list *from = list->u.list;
  for (size_t i = 0; i < n; i++) {
    v[i] = from->items[from->len - n + i].u.i;
  }
  return bsm_iv_int_list(c->b->arena, v, n, out);
}

/* The convolution in floats. */
static bsm_status convolve(const bsm_q_call *c, const bsm_ivalue *x,
                           const bsm_ivalue *slots, bsm_ivalue *out) {
  static const char *const names[] = {"aten::conv1d", "aten::conv2d",
                                      "aten::conv3d"};
  static const char *const transposed[] = {"aten::conv_transpose1d",
                                           "aten::conv_transpose2d.input",
                                           "aten::conv_transpose3d.input"};
  const int32_t dims = c->form->variant & DIMS;
  const bool is_transposed = (c->form->variant & TRANSPOSED) != 0;
  bsm_ivalue w, bias, stride, padding, dilation, more;
  const bsm_tensor *packed = slots[BSM_PACKED_WEIGHT].u.tensor;
  if (packed->sizes.rank != (dims == 1 ? 4 : dims + 2) ||
      (dims == 1 && packed->sizes.d[2] != 1)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%d dimensions with a weight of %s",
                    (int)dims, bsm_dims_str(packed->sizes));
  }
  if (bsm_q_bool(&slots[BSM_PACKED_TRANSPOSED]) != is_transposed) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "packed parameters of a convolution that is%s transposed",
                    is_transposed ? " not" : "");
  }
  BSM_TRY(bsm_q_weight(c, slots, &w, &bias));
  if (dims == 1) Q_CALL(c, &w, "aten::squeeze.dim", w, I(2));
  BSM_TRY(tail(c, &slots[BSM_PACKED_STRIDE], (size_t)dims, &stride));
  BSM_TRY(tail(c, &slots[BSM_PACKED_PADDING], (size_t)dims, &padding));
  BSM_TRY(tail(c, &slots[BSM_PACKED_DILATION], (size_t)dims, &dilation));
  const bsm_ivalue groups = slots[BSM_PACKED_GROUPS];
  if (!is_transposed) {
    Q_CALL(c, out, names[dims - 1], *x, w, bias, stride, padding, dilation,
           groups);
    return BSM_OK;
  }
  BSM_TRY(tail(c, &slots[BSM_PACKED_OUTPUT_PADDING], (size_t)dims, &more));
  Q_CALL(c, out, transposed[dims - 1], *x, w, bias, stride, padding, more,
         groups, dilation);
  return BSM_OK;
}

/* (qx[, qaccum], packed[, stride, padding, dilation, groups], scale, zero) */
static bsm_status run_conv(const bsm_q_call *c) {
  const int32_t v = c->form->variant;
  const bsm_ivalue *arg = c->args;
  const bsm_ivalue *x = arg++;
  const bsm_ivalue *added = v & ADDS ? arg++ : NULL;
  const bsm_ivalue *slots;
  bsm_ivalue y, accum;
  bsm_q_grid grid, in;
  BSM_TRY(bsm_packed_read(arg++, BSM_PACKED_CONV, &slots));
  if (v & LEGACY) arg += 4;
  BSM_TRY(bsm_q_grid_of(c, x, &in));
  BSM_TRY(bsm_q_grid_from(&arg[0], &arg[1], in.dtype, &grid));
  BSM_TRY(bsm_q_float(c, x, &y));
  BSM_TRY(convolve(c, &y, slots, &y));
  if (added) {
    BSM_TRY(bsm_q_float(c, added, &accum));
    Q_CALL(c, &y, "aten::add.Tensor", y, accum, I(1));
  }
  if (v & RELU) Q_CALL(c, &y, "aten::relu", y);
  return bsm_q_quantize(c, &y, &grid, &c->outs[0]);
}

/* (x, packed, reduce_range): PyTorch puts the result on the input's grid. */
static bsm_status run_dynamic(const bsm_q_call *c) {
  const bsm_ivalue *slots;
  bsm_q_dynamic_grid grid;
  bsm_ivalue *y = &c->outs[0];
  BSM_TRY(bsm_packed_read(&c->args[1], BSM_PACKED_CONV, &slots));
  BSM_TRY(bsm_q_choose(c, &c->args[0], bsm_q_bool(&c->args[2]), &grid));
  BSM_TRY(bsm_q_on_dynamic(c, &c->args[0], &grid, y));
  BSM_TRY(convolve(c, y, slots, y));
  return bsm_q_on_dynamic(c, y, &grid, y);
}

/* ---- packing ---- */

/* A list of ints with `first` in front of it. */
static bsm_status widen(bsm_arena *arena, bsm_ivalue *list, int64_t first) {
  int64_t v[2] = {first, 0};
  if (list->tag != BSM_IVALUE_LIST || list->u.list->len != 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "a convolution of one dimension takes lists of one number");
  }
  v[1] = bsm_q_int(&list->u.list->items[0]);
  return bsm_iv_int_list(arena, v, 2, list);
}

/* (weight, bias, stride, padding[, output_padding], dilation, groups) */
static bsm_status run_prepack(const bsm_q_call *c) {
  const bsm_ivalue *arg = c->args;
  const int32_t dims = c->form->variant & DIMS;
  const bool transposed = (c->form->variant & TRANSPOSED) != 0;
  bsm_arena *arena = c->b->arena;
  const int64_t none[3] = {0};
  bsm_packed_conv conv = {.dims = dims == 1 ? 2 : dims,
                          .transposed = transposed};
  BSM_TRY(c->b->slot(c->b, &arg[0], &conv.weight));
  conv.bias = arg[1];
  conv.stride = arg[2];
  conv.padding = arg[3];
  BSM_TRY(bsm_iv_int_list(arena, none, (size_t)dims, &conv.output_padding));
  if (transposed) conv.output_padding = arg[4];
  conv.dilation = arg[transposed ? 5 : 4];
  conv.groups = bsm_q_int(&arg[transposed ? 6 : 5]);
  if (dims == 1) {
    BSM_TRY(widen(arena, &conv.stride, 1));
    BSM_TRY(widen(arena, &conv.padding, 0));
    BSM_TRY(widen(arena, &conv.dilation, 1));
    BSM_TRY(widen(arena, &conv.output_padding, 0));
    bsm_tensor *t = conv.weight.u.tensor, *wide = NULL;
    if (conv.weight.tag != BSM_IVALUE_TENSOR || t->sizes.rank != 3) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "a weight of three dimensions is needed");
    }
    const bsm_dims sizes = {4,
                            {t->sizes.d[0], t->sizes.d[1], 1, t->sizes.d[2]}};
    const int64_t strides[] = {t->strides[0], t->strides[1], t->strides[1],
                               t->strides[2]};
    BSM_TRY(bsm_tensor_view(arena, t, sizes, strides, t->offset, &wide));
    conv.weight = bsm_iv_tensor(wide);
  }
  return bsm_packed_conv_new(arena, &conv, &c->outs[0]);
}

static bsm_status run_unpack(const bsm_q_call *c) {
  const bsm_ivalue *slots;
  BSM_TRY(bsm_packed_read(&c->args[0], BSM_PACKED_CONV, &slots));
  BSM_TRY(c->b->slot(c->b, &slots[BSM_PACKED_WEIGHT], &c->outs[0]));
  if ((c->form->variant & DIMS) == 1) {
    bsm_tensor *t = c->outs[0].u.tensor, *narrow = NULL;
    const bsm_dims sizes = {3, {t->sizes.d[0], t->sizes.d[1], t->sizes.d[3]}};
    const int64_t strides[] = {t->strides[0], t->strides[1], t->strides[3]};
    BSM_TRY(
        bsm_tensor_view(c->b->arena, t, sizes, strides, t->offset, &narrow));
    c->outs[0] = bsm_iv_tensor(narrow);
  }
  return c->b->slot(c->b, &slots[BSM_PACKED_BIAS], &c->outs[1]);
}

/* One of the numbers that were packed: variant is its slot. */
static bsm_status run_get(const bsm_q_call *c) {
  const bsm_ivalue *slots;
  BSM_TRY(bsm_packed_read(&c->args[0], BSM_PACKED_CONV, &slots));
  c->outs[0] = slots[c->form->variant];
  if (c->form->variant == BSM_PACKED_TRANSPOSED) {
    c->outs[0] = I(bsm_q_int(&c->outs[0]));
  }
  return BSM_OK;
}

#define C2 "__torch__.torch.classes.quantized.Conv2dPackedParamsBase "
#define C3 "__torch__.torch.classes.quantized.Conv3dPackedParamsBase "
#define NEW(packed)                                            \
  "(Tensor qx, " packed                                        \
  "packed_weight, float output_scale, int output_zero_point) " \
  "-> Tensor"
#define OLD(packed)                                                   \
  "(Tensor qx, " packed                                               \
  "weight, int[] stride, int[] padding, int[] dilation, int groups, " \
  "float output_scale, int output_zero_point) -> Tensor"
#define DYN(packed) \
  "(Tensor qx, " packed "packed_weight, bool reduce_range=False) -> Tensor"
#define PACK                                                            \
  "_prepack(Tensor weight, Tensor? bias, int[] stride, int[] padding, " \
  "int[] dilation, int groups) -> "
#define PACK_T                                                          \
  "_prepack(Tensor weight, Tensor? bias, int[] stride, int[] padding, " \
  "int[] output_padding, int[] dilation, int groups) -> "
#define UNPACK(packed)                                    \
  "_unpack(" packed                                       \
  "packed_weights) -> (Tensor unpacked_weights, Tensor? " \
  "B_origin)"
#define C2_END "__torch__.torch.classes.quantized.Conv2dPackedParamsBase"
#define C3_END "__torch__.torch.classes.quantized.Conv3dPackedParamsBase"
#define OP(name, rest, run, variant) \
  { "quantized::" name rest, run, variant, BSM_Q_OP }
#define GET(name, packed, type, slot) \
  OP(name, "(" packed "packed_weights) -> " type, run_get, slot)
/* What was packed, of one class of parameters. */
#define GETTERS(name, packed)                                                  \
  GET(name "_stride", packed, "int[]", BSM_PACKED_STRIDE),                     \
      GET(name "_padding", packed, "int[]", BSM_PACKED_PADDING),               \
      GET(name "_output_padding", packed, "int[]", BSM_PACKED_OUTPUT_PADDING), \
      GET(name "_dilation", packed, "int[]", BSM_PACKED_DILATION),             \
      GET(name "_groups", packed, "int", BSM_PACKED_GROUPS),                   \
      GET(name "_transpose", packed, "int", BSM_PACKED_TRANSPOSED)
/* Packing and unpacking, and the dynamic form. */
#define FAMILY(name, packed, end, pack, variant)     \
  OP(name, pack end, run_prepack, variant),          \
      OP(name, UNPACK(packed), run_unpack, variant), \
      OP(name "_dynamic", DYN(packed), run_dynamic, (variant) | DYNAMIC)

static const bsm_q_form forms[] = {
    OP("conv1d", NEW(C2), run_conv, 1),
    OP("conv1d_relu", NEW(C2), run_conv, 1 | RELU),
    OP("conv2d.new", NEW(C2), run_conv, 2),
    OP("conv2d_relu.new", NEW(C2), run_conv, 2 | RELU),
    OP("conv3d.new", NEW(C3), run_conv, 3),
    OP("conv3d_relu.new", NEW(C3), run_conv, 3 | RELU),
    OP("conv2d", OLD(C2), run_conv, 2 | LEGACY),
    OP("conv2d_relu", OLD(C2), run_conv, 2 | RELU | LEGACY),
    OP("conv3d", OLD(C3), run_conv, 3 | LEGACY),
    OP("conv3d_relu", OLD(C3), run_conv, 3 | RELU | LEGACY),
    OP("conv2d_add",
       "(Tensor qx, Tensor qaccum, " C2
       "packed_weight, float output_scale, int output_zero_point) -> Tensor",
       run_conv, 2 | ADDS),
    OP("conv2d_add_relu",
       "(Tensor qx, Tensor qaccum, " C2
       "packed_weight, float output_scale, int output_zero_point) -> Tensor",
       run_conv, 2 | ADDS | RELU),
    OP("conv_transpose1d", NEW(C2), run_conv, 1 | TRANSPOSED),
    OP("conv_transpose2d", NEW(C2), run_conv, 2 | TRANSPOSED),
    OP("conv_transpose3d", NEW(C3), run_conv, 3 | TRANSPOSED),
    FAMILY("conv1d", C2, C2_END, PACK, 1),
    FAMILY("conv2d", C2, C2_END, PACK, 2),
    FAMILY("conv3d", C3, C3_END, PACK, 3),
    FAMILY("conv_transpose1d", C2, C2_END, PACK_T, 1 | TRANSPOSED),
    FAMILY("conv_transpose2d", C2, C2_END, PACK_T, 2 | TRANSPOSED),
    FAMILY("conv_transpose3d", C3, C3_END, PACK_T, 3 | TRANSPOSED),
    OP("conv", PACK C2_END, run_prepack, 2),
    OP("conv", UNPACK(C2), run_unpack, 2),
    GETTERS("conv2d", C2),
    GETTERS("conv3d", C3),
    GETTERS("conv_transpose2d", C2),
    GETTERS("conv_transpose3d", C3),
};
BSM_Q_TABLE(convolution, forms);
