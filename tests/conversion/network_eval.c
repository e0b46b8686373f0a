/* SPDX-License-Identifier: Apache-2.0 */
/* The slow evaluator of networks; see network_eval.h. */
#include "tests/conversion/network_eval.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct eval {
  const bsm_network *net;
  const bsm_aten_library *aten;
  bsm_arena *arena;
  bsm_ptrmap values; /* bsm_itensor -> bsm_tensor */
} eval;

#define MAX_ARGS 12

/* Calls an op that gives tensors. */
static bsm_status call_n(eval *e, const char *name, const bsm_ivalue *args,
                         size_t count, bsm_ivalue *outs, size_t n_outs) {
  const bsm_aten_op *op = bsm_aten_find(e->aten, bsm_str_of(name));
  if (!op) return BSM_FAIL(BSM_NOT_FOUND, "no reference op %s", name);
  bsm_op_ctx cx = {.arena = e->arena};
  return bsm_aten_call(&cx, op, args, count, outs, n_outs);
}

static bsm_status call(eval *e, const char *name, const bsm_ivalue *args,
                       size_t count, bsm_tensor **out) {
  bsm_ivalue result = {0};
  BSM_TRY(call_n(e, name, args, count, &result, 1));
  if (result.tag != BSM_IVALUE_TENSOR) {
    return BSM_FAIL(BSM_INTERNAL, "%s gave a %s", name,
                    bsm_iv_tag_name(result.tag));
  }
  *out = result.u.tensor;
  return BSM_OK;
}

#define CALL(e, name, out, ...)                        \
  call((e), (name), (const bsm_ivalue[]){__VA_ARGS__}, \
       sizeof((const bsm_ivalue[]){__VA_ARGS__}) / sizeof(bsm_ivalue), (out))
#define T(x) bsm_iv_tensor(x)
#define I(x) bsm_iv_int(x)
#define D(x) bsm_iv_double(x)
#define B(x) bsm_iv_bool(x)
#define NONE bsm_iv_none()

/* An int list; fails only when out of memory, which a test does not survive. */
static bsm_ivalue list(eval *e, const int64_t *values, int32_t count) {
  bsm_ivalue out = {0};
  bsm_status_free(bsm_iv_int_list(e->arena, values, (size_t)count, &out));
  return out;
}

static bsm_ivalue dims_list(eval *e, bsm_dims dims) {
  return list(e, dims.d, dims.rank);
}

static bsm_ivalue text(eval *e, const char *value) {
  bsm_ivalue out = {0};
  bsm_status_free(bsm_iv_string(e->arena, bsm_str_of(value), &out));
  return out;
}

static bsm_ivalue axes_list(eval *e, uint32_t axes, int32_t rank) {
  bsm_dims dims = {0};
  for (int32_t i = 0; i < rank; i++) {
    if (axes >> (unsigned)i & 1u) dims.d[dims.rank++] = i;
  }
  return dims_list(e, dims);
}

static bsm_status weights_tensor(eval *e, const bsm_weights *w, bsm_dims dims,
                                 bsm_tensor **out) {
  static double nothing;
  bsm_array array = {(void *)(w->values ? w->values : &nothing), w->dtype, dims,
                     NULL};
  return bsm_tensor_from_array(e->arena, &array, true, out);
}

static bsm_tensor *input(eval *e, const bsm_layer *layer, size_t i) {
  return bsm_ptrmap_get(&e->values, layer->inputs.items[i]);
}

static bsm_dims out_dims(const bsm_layer *layer) {
  return layer->outputs.items[0]->dims;
}

/* ---- convolution and pooling ---- */

static bsm_status padded(eval *e, bsm_tensor *x, const bsm_window_params *w,
                         bsm_tensor **out) {
  int64_t pads[2 * BSM_MAX_SPATIAL];
  for (int32_t i = 0; i < w->spatial; i++) {
    pads[2 * i] = w->pre_padding[w->spatial - 1 - i];
    pads[2 * i + 1] = w->post_padding[w->spatial - 1 - i];
  }
  return CALL(e, "aten::constant_pad_nd", out, T(x),
              list(e, pads, 2 * w->spatial), I(0));
}

static bsm_status eval_convolution(eval *e, const bsm_layer *layer,
                                   bsm_tensor **out) {
  const bsm_convolution_params *p = &layer->p.convolution;
  const bsm_window_params *w = &p->window;
  bool transposed = layer->kind == BSM_LAYER_DECONVOLUTION;
  int64_t zeros[BSM_MAX_SPATIAL] = {0};
  bsm_tensor *x = input(e, layer, 0), *kernel, *bias = NULL;
  int64_t channels = x->sizes.d[1];
  bsm_dims dims = {0};
  dims.d[0] = transposed ? channels : p->out_maps;
  dims.d[1] = (transposed ? p->out_maps : channels) / p->groups;
  dims.rank = 2 + w->spatial;
  for (int32_t i = 0; i < w->spatial; i++) dims.d[2 + i] = w->kernel[i];
  BSM_TRY(weights_tensor(e, &p->kernel, dims, &kernel));
  if (p->bias.count) {
    BSM_TRY(weights_tensor(e, &p->bias, (bsm_dims){1, {p->out_maps}}, &bias));
  }
  if (!transposed) BSM_TRY(padded(e, x, w, &x));
  return CALL(e, "aten::convolution", out, T(x), T(kernel),
              bias ? T(bias) : NONE, list(e, w->stride, w->spatial),
              list(e, transposed ? w->pre_padding : zeros, w->spatial),
              list(e, w->dilation, w->spatial), B(transposed),
              list(e, w->output_padding, w->spatial), I(p->groups));
}

static bsm_status eval_pooling(eval *e, const bsm_layer *layer,
                               bsm_tensor **out) {
  const bsm_pooling_params *p = &layer->p.pooling;
  const bsm_window_params *w = &p->window;
  bsm_ivalue x = T(input(e, layer, 0)), outs[2];
  bsm_ivalue kernel = list(e, w->kernel, w->spatial);
  bsm_ivalue stride = list(e, w->stride, w->spatial);
  bsm_ivalue padding = list(e, w->pre_padding, w->spatial);
  char name[64];
  snprintf(name, sizeof name, "aten::%s%s_pool%dd",
           p->adaptive ? "adaptive_" : "",
           p->type == BSM_POOLING_MAX ? "max" : "avg", (int)w->spatial);
  if (p->adaptive) {
    bsm_ivalue args[] = {x, list(e, p->output_size, w->spatial)};
    BSM_TRY(call_n(e, name, args, 2, outs, p->type == BSM_POOLING_MAX ? 2 : 1));
    *out = outs[0].u.tensor;
    return BSM_OK;
  }
  if (p->type == BSM_POOLING_MAX) {
    return CALL(e, name, out, x, kernel, stride, padding,
                list(e, w->dilation, w->spatial), B(p->ceil_mode));
  }
  bsm_ivalue args[] = {x,
                       kernel,
                       stride,
                       padding,
                       B(p->ceil_mode),
                       B(!p->count_excludes_padding),
                       p->divisor_override ? I(p->divisor_override) : NONE};
  return call(e, name, args, w->spatial == 1 ? 6 : 7, out);
}

/* ---- element-wise ---- */

static bsm_status eval_activation(eval *e, const bsm_layer *layer,
                                  bsm_tensor **out) {
  static const char *const plain[] = {
      [BSM_ACTIVATION_RELU] = "aten::relu",
      [BSM_ACTIVATION_SIGMOID] = "aten::sigmoid",
      [BSM_ACTIVATION_TANH] = "aten::tanh",
      [BSM_ACTIVATION_SILU] = "aten::silu",
      [BSM_ACTIVATION_HARD_SWISH] = "aten::hardswish",
      [BSM_ACTIVATION_MISH] = "aten::mish",
      [BSM_ACTIVATION_LOG_SIGMOID] = "aten::log_sigmoid"};
  bsm_ivalue x = T(input(e, layer, 0));
  double alpha = layer->p.activation.alpha, beta = layer->p.activation.beta;
  bsm_tensor *scaled;
  switch (layer->p.activation.type) {
    case BSM_ACTIVATION_LEAKY_RELU:
      return CALL(e, "aten::leaky_relu", out, x, D(alpha));
    case BSM_ACTIVATION_ELU:
      return CALL(e, "aten::elu", out, x, D(alpha), I(1), I(1));
    case BSM_ACTIVATION_SELU:
      return CALL(e, "aten::elu", out, x, D(alpha), D(beta), I(1));
    case BSM_ACTIVATION_SOFTPLUS:
      return CALL(e, "aten::softplus", out, x, D(beta), D(alpha));
    case BSM_ACTIVATION_CLIP:
      if (!bsm_dtype_is_floating(x.u.tensor->dtype)) {
        return CALL(e, "aten::clamp", out, x, I((int64_t)alpha),
                    I((int64_t)beta));
      }
      return CALL(e, "aten::clamp", out, x, D(alpha), D(beta));
    case BSM_ACTIVATION_HARD_SIGMOID:
      BSM_TRY(CALL(e, "aten::mul.Scalar", &scaled, x, D(alpha)));
      BSM_TRY(CALL(e, "aten::add.Scalar", &scaled, T(scaled), D(beta), I(1)));
      return CALL(e, "aten::clamp", out, T(scaled), D(0), D(1));
    case BSM_ACTIVATION_THRESHOLD:
      return CALL(e, "aten::threshold", out, x, D(alpha), D(beta));
    case BSM_ACTIVATION_THRESHOLDED_RELU:
      return CALL(e, "aten::threshold", out, x, D(alpha), D(0));
    case BSM_ACTIVATION_GELU_ERF:
      return CALL(e, "aten::gelu", out, x, text(e, "none"));
    case BSM_ACTIVATION_GELU_TANH:
      return CALL(e, "aten::gelu", out, x, text(e, "tanh"));
    default: {
      const char *name = plain[layer->p.activation.type];
      if (!name) break;
      return CALL(e, name, out, x);
    }
  }
  return BSM_FAIL(BSM_UNSUPPORTED, "activation %d",
                  (int)layer->p.activation.type);
}

static bsm_status eval_unary(eval *e, const bsm_layer *layer,
                             bsm_tensor **out) {
  static const char *const names[] = {
      "exp",   "log",   "sqrt",        "reciprocal", "abs",   "neg",
      "sin",   "cos",   "tan",         "sinh",       "cosh",  "asin",
      "acos",  "atan",  "asinh",       "acosh",      "atanh", "ceil",
      "floor", "erf",   "logical_not", "sign",       "round", "isinf",
      "isnan", "trunc", "rsqrt",       "log2",       "log10", "log1p",
      "expm1", "erfc",  "bitwise_not", "square",     "frac",  "exp2"};
  char name[64];
  snprintf(name, sizeof name, "aten::%s", names[layer->p.unary.operation]);
  return CALL(e, name, out, T(input(e, layer, 0)));
}

static bsm_status eval_element_wise(eval *e, const bsm_layer *layer,
                                    bsm_tensor **out) {
  static const char *const names[] = {"add.Tensor",
                                      "mul.Tensor",
                                      "maximum",
                                      "minimum",
                                      "sub.Tensor",
                                      "div.Tensor",
                                      "pow.Tensor_Tensor",
                                      "div.Tensor_mode",
                                      "logical_and",
                                      "logical_or",
                                      "logical_xor",
                                      "eq.Tensor",
                                      "gt.Tensor",
                                      "lt.Tensor",
                                      "ne.Tensor",
                                      "ge.Tensor",
                                      "le.Tensor",
                                      "div.Tensor_mode",
                                      "remainder.Tensor",
                                      "fmod.Tensor",
                                      "atan2",
                                      "bitwise_and.Tensor",
                                      "bitwise_or.Tensor",
                                      "bitwise_xor.Tensor",
                                      "bitwise_left_shift.Tensor",
                                      "bitwise_right_shift.Tensor"};
  bsm_element_wise_operation operation = layer->p.element_wise.operation;
  char name[64];
  size_t count = 2;
  bsm_ivalue args[3] = {T(input(e, layer, 0)), T(input(e, layer, 1)), I(1)};
  snprintf(name, sizeof name, "aten::%s", names[operation]);
  if (operation == BSM_ELEMENT_WISE_SUM || operation == BSM_ELEMENT_WISE_SUB) {
    count = 3;
  } else if (operation == BSM_ELEMENT_WISE_FLOOR_DIV) {
    args[2] = text(e, "floor");
    count = 3;
  } else if (operation == BSM_ELEMENT_WISE_TRUNC_DIV) {
    args[2] = text(e, "trunc");
    count = 3;
  }
  return call(e, name, args, count, out);
}

static bsm_status eval_scale(eval *e, const bsm_layer *layer,
                             bsm_tensor **out) {
  const bsm_weights *all[3] = {&layer->p.scale.scale, &layer->p.scale.shift,
                               &layer->p.scale.power};
  static const char *const names[3] = {"aten::mul.Tensor", "aten::add.Tensor",
                                       "aten::pow.Tensor_Tensor"};
  bsm_tensor *x = input(e, layer, 0), *w;
  for (int i = 0; i < 3; i++) {
    if (all[i]->count == 0) continue;
    bsm_dims dims = {0};
    dims.rank = x->sizes.rank;
    for (int32_t d = 0; d < dims.rank; d++) dims.d[d] = 1;
    dims.d[1] = all[i]->count;
    BSM_TRY(weights_tensor(e, all[i], dims, &w));
    bsm_ivalue args[3] = {T(x), T(w), I(1)};
    BSM_TRY(call(e, names[i], args, i == 1 ? 3 : 2, &x));
  }
  *out = x;
  return BSM_OK;
}

/* ---- moves ---- */

static bsm_status eval_shuffle(eval *e, const bsm_layer *layer,
                               bsm_tensor **out) {
  bsm_tensor *x = input(e, layer, 0);
  if (layer->p.shuffle.has_first) {
    BSM_TRY(CALL(e, "aten::permute", &x, T(x),
                 dims_list(e, layer->p.shuffle.first_transpose)));
  }
  if (layer->p.shuffle.has_reshape) {
    BSM_TRY(CALL(e, "aten::reshape", &x, T(x),
                 dims_list(e, layer->p.shuffle.reshape)));
  }
  if (layer->p.shuffle.has_second) {
    BSM_TRY(CALL(e, "aten::permute", &x, T(x),
                 dims_list(e, layer->p.shuffle.second_transpose)));
  }
  *out = x;
  return BSM_OK;
}

static bsm_status eval_padding(eval *e, const bsm_layer *layer,
                               bsm_tensor **out) {
  static const char *const modes[] = {"constant", "reflect", "replicate",
                                      "circular"};
  bsm_tensor *x = input(e, layer, 0);
  bsm_dims start = layer->p.slice.start, size = layer->p.slice.size;
  int64_t pads[2 * BSM_MAX_RANK];
  int32_t count = 0, used = 0;
  for (int32_t i = start.rank - 1; i >= 0; i--) {
    pads[count++] = -start.d[i];
    pads[count++] = start.d[i] + size.d[i] - x->sizes.d[i];
    if (pads[count - 1] || pads[count - 2]) used = count;
  }
  if (layer->p.slice.mode == BSM_PADDING_CONSTANT) {
    return CALL(e, "aten::constant_pad_nd", out, T(x), list(e, pads, count),
                D(layer->p.slice.fill_value));
  }
  return CALL(e, "aten::pad", out, T(x), list(e, pads, used),
              text(e, modes[layer->p.slice.mode]), NONE);
}

static bsm_status eval_slice(eval *e, const bsm_layer *layer,
                             bsm_tensor **out) {
  bsm_tensor *x = input(e, layer, 0);
  if (layer->p.slice.has_mode) return eval_padding(e, layer, out);
  for (int32_t i = 0; i < x->sizes.rank; i++) {
    int64_t start = layer->p.slice.start.d[i], n = layer->p.slice.size.d[i];
    int64_t step = layer->p.slice.stride.d[i];
    if (step < 0) {
      BSM_TRY(CALL(e, "aten::flip", &x, T(x), list(e, (int64_t[]){i}, 1)));
      start = x->sizes.d[i] - 1 - start;
      step = -step;
    }
    int64_t end = n ? start + (n - 1) * step + 1 : start;
    BSM_TRY(CALL(e, "aten::slice.Tensor", &x, T(x), I(i), I(start), I(end),
                 I(step ? step : 1)));
  }
  *out = x;
  return BSM_OK;
}

static bsm_status eval_gather(eval *e, const bsm_layer *layer,
                              bsm_tensor **out) {
  bsm_tensor *x = input(e, layer, 0), *index = input(e, layer, 1), *flat;
  int32_t axis = layer->p.gather.axis;
  BSM_TRY(bsm_tensor_to_dtype(e->arena, index, BSM_DTYPE_INT64, &index));
  if (layer->p.gather.mode == BSM_GATHER_ELEMENT) {
    return CALL(e, "aten::gather", out, T(x), I(axis), T(index), B(false));
  }
  if (layer->p.gather.mode == BSM_GATHER_ND) {
    bsm_list *parts; /* x[index[..., 0], index[..., 1], ...] */
    const int32_t last = index->sizes.rank - 1;
    BSM_TRY(bsm_list_new(e->arena, NULL, (size_t)index->sizes.d[last], &parts));
    for (size_t i = 0; i < parts->len; i++) {
      bsm_tensor *part;
      BSM_TRY(
          CALL(e, "aten::select.int", &part, T(index), I(last), I((int64_t)i)));
      parts->items[i] = T(part);
    }
    return CALL(e, "aten::index.Tensor", out, T(x), bsm_iv_list(parts));
  }
  const int64_t count = bsm_tensor_numel(index);
  const bool wraps = layer->p.gather.mode == BSM_GATHER_DEFAULT;
  BSM_TRY(bsm_tensor_new(e->arena, BSM_DTYPE_INT64, (bsm_dims){1, {count}},
                         false, &flat));
  for (int64_t i = 0; i < count; i++) {
    int64_t at = bsm_tensor_get_int(index, i);
    ((int64_t *)bsm_tensor_data(flat))[i] =
        at < 0 && wraps ? at + x->sizes.d[axis] : at;
  }
  BSM_TRY(CALL(e, "aten::index_select", &x, T(x), I(axis), T(flat)));
  return CALL(e, "aten::reshape", out, T(x), dims_list(e, out_dims(layer)));
}

static bsm_status eval_concatenation(eval *e, const bsm_layer *layer,
                                     bsm_tensor **out) {
  bsm_list *parts;
  BSM_TRY(bsm_list_new(e->arena, NULL, layer->inputs.len, &parts));
  for (size_t i = 0; i < layer->inputs.len; i++) {
    parts->items[i] = T(input(e, layer, i));
  }
  return CALL(e, "aten::cat", out, bsm_iv_list(parts),
              I(layer->p.concatenation.axis));
}

static bsm_status eval_resize(eval *e, const bsm_layer *layer,
                              bsm_tensor **out) {
  static const char *const linear[] = {"", "linear1d", "bilinear2d",
                                       "trilinear3d"};
  int32_t n = layer->p.resize.output_size.rank;
  bsm_resize_mode mode = layer->p.resize.mode;
  char name[64];
  size_t count = 0;
  bsm_ivalue args[6];
  if (mode == BSM_RESIZE_LINEAR) {
    snprintf(name, sizeof name, "aten::upsample_%s", linear[n]);
  } else if (mode == BSM_RESIZE_CUBIC) {
    snprintf(name, sizeof name, "aten::upsample_bicubic2d");
  } else {
    snprintf(name, sizeof name, "aten::%supsample_nearest%s%dd",
             mode == BSM_RESIZE_NEAREST ? "" : "_",
             mode == BSM_RESIZE_NEAREST ? "" : "_exact", (int)n);
  }
  args[count++] = T(input(e, layer, 0));
  args[count++] = dims_list(e, layer->p.resize.output_size);
  if (mode == BSM_RESIZE_LINEAR || mode == BSM_RESIZE_CUBIC) {
    args[count++] = B(layer->p.resize.align_corners);
  }
  for (int32_t i = 0; i < n; i++) {
    double scale = layer->p.resize.scales[i];
    args[count++] = scale > 0 ? D(scale) : NONE;
  }
  return call(e, name, args, count, out);
}

/* ---- scatter ---- */

/* The place in the data, flattened, of every element of the updates. */
static bsm_status scatter_places(eval *e, const bsm_layer *layer,
                                 bsm_tensor **out) {
  bsm_tensor *index = input(e, layer, 1);
  bsm_dims x = input(e, layer, 0)->sizes, u = input(e, layer, 2)->sizes;
  int32_t axis = layer->p.scatter.axis;
  bool nd = layer->p.scatter.mode == BSM_SCATTER_ND;
  int32_t index_rank = nd ? index->sizes.rank - 1 : 1;
  int64_t depth = nd ? index->sizes.d[index_rank] : 1;
  int64_t count = bsm_tensor_numel(input(e, layer, 2)), at[BSM_MAX_RANK];
  BSM_TRY(bsm_tensor_contiguous(e->arena, index, &index));
  BSM_TRY(bsm_tensor_new(e->arena, BSM_DTYPE_INT64, (bsm_dims){1, {count}},
                         false, out));
  for (int64_t i = 0; i < count; i++) {
    int64_t rest = i, tuple = 0, place = 0;
    for (int32_t d = u.rank - 1; d >= 0; d--) {
      at[d] = rest % u.d[d];
      rest /= u.d[d];
    }
    for (int32_t d = 0; nd && d < index_rank; d++) {
      tuple = tuple * index->sizes.d[d] + at[axis + d];
    }
    for (int32_t d = 0; d < x.rank; d++) {
      int64_t k = d < axis ? at[d] : 0;
      if (d >= axis && d < axis + depth) {
        int64_t from = nd ? tuple * depth + d - axis : i;
        k = bsm_tensor_get_int(index, from);
        if (k < 0 && layer->p.scatter.wrap) k += x.d[d];
        if (k < 0 || k >= x.d[d]) {
          return BSM_FAIL(BSM_OUT_OF_RANGE, "index %lld", (long long)k);
        }
      } else if (d >= axis) {
        k = nd ? at[d - (int32_t)depth + index_rank] : at[d];
      }
      place = place * x.d[d] + k;
    }
    ((int64_t *)bsm_tensor_data(*out))[i] = place;
  }
  return BSM_OK;
}

static bsm_status eval_scatter(eval *e, const bsm_layer *layer,
                               bsm_tensor **out) {
  static const char *const names[] = {"", "sum", "prod", "amin", "amax"};
  bsm_tensor *x = input(e, layer, 0), *u = input(e, layer, 2), *at;
  bsm_dims dims = x->sizes;
  int64_t all = -1;
  BSM_TRY(scatter_places(e, layer, &at));
  BSM_TRY(CALL(e, "aten::reshape", &x, T(x), list(e, &all, 1)));
  BSM_TRY(CALL(e, "aten::reshape", &u, T(u), list(e, &all, 1)));
  if (layer->p.scatter.reduction == BSM_SCATTER_ASSIGN) {
    BSM_TRY(CALL(e, "aten::scatter.src", &x, T(x), I(0), T(at), T(u)));
  } else {
    BSM_TRY(CALL(e, "aten::scatter_reduce.two", &x, T(x), I(0), T(at), T(u),
                 text(e, names[layer->p.scatter.reduction]),
                 B(layer->p.scatter.include_self)));
  }
  return CALL(e, "aten::reshape", out, T(x), dims_list(e, dims));
}

/* ---- the rest ---- */

static bsm_status eval_reduce(eval *e, const bsm_layer *layer,
                              bsm_tensor **out) {
  bsm_tensor *x = input(e, layer, 0);
  uint32_t axes = layer->p.reduce.axes;
  bool keep = layer->p.reduce.keep_dims;
  bsm_ivalue dims = axes_list(e, axes, x->sizes.rank);
  double p = layer->p.reduce.operation == BSM_REDUCE_L1 ? 1 : 2;
  if (axes == 0 && layer->p.reduce.operation != BSM_REDUCE_VARIANCE) {
    *out = x; /* nothing to reduce; an L-norm of one is its size */
    if (layer->p.reduce.operation != BSM_REDUCE_L1 &&
        layer->p.reduce.operation != BSM_REDUCE_L2) {
      return BSM_OK;
    }
    return CALL(e, "aten::abs", out, T(x));
  }
  switch (layer->p.reduce.operation) {
    case BSM_REDUCE_SUM:
      return CALL(e, "aten::sum.dim_IntList", out, T(x), dims, B(keep),
                  I((int64_t)x->dtype));
    case BSM_REDUCE_PROD:
      *out = x;
      for (int32_t i = x->sizes.rank - 1; i >= 0; i--) {
        if (!(axes >> (unsigned)i & 1u)) continue;
        BSM_TRY(CALL(e, "aten::prod.dim_int", out, T(*out), I(i), B(keep),
                     I((int64_t)x->dtype)));
      }
      return BSM_OK;
    case BSM_REDUCE_MAX:
      return CALL(e, "aten::amax", out, T(x), dims, B(keep));
    case BSM_REDUCE_MIN:
      return CALL(e, "aten::amin", out, T(x), dims, B(keep));
    case BSM_REDUCE_AVG:
      return CALL(e, "aten::mean.dim", out, T(x), dims, B(keep), NONE);
    case BSM_REDUCE_ANY:
      return CALL(e, "aten::any.dims", out, T(x), dims, B(keep));
    case BSM_REDUCE_ALL:
      return CALL(e, "aten::all.dims", out, T(x), dims, B(keep));
    case BSM_REDUCE_L1:
    case BSM_REDUCE_L2:
      return CALL(e, "aten::norm.ScalarOpt_dim", out, T(x), D(p), dims,
                  B(keep));
    case BSM_REDUCE_VARIANCE:
      return CALL(e, "aten::var.correction", out, T(x), dims,
                  D(layer->p.reduce.correction), B(keep));
  }
  return BSM_FAIL(BSM_UNSUPPORTED, "reduce");
}

static bsm_status eval_matrix_multiply(eval *e, const bsm_layer *layer,
                                       bsm_tensor **out) {
  bsm_tensor *a = input(e, layer, 0), *b = input(e, layer, 1), *bias;
  if (layer->p.matrix_multiply.op_a) {
    BSM_TRY(CALL(e, "aten::transpose.int", &a, T(a), I(-1), I(-2)));
  }
  if (layer->p.matrix_multiply.op_b) {
    BSM_TRY(CALL(e, "aten::transpose.int", &b, T(b), I(-1), I(-2)));
  }
  BSM_TRY(CALL(e, "aten::matmul", out, T(a), T(b)));
  if (layer->p.matrix_multiply.bias.count) {
    BSM_TRY(weights_tensor(e, &layer->p.matrix_multiply.bias,
                           (bsm_dims){1, {layer->p.matrix_multiply.bias.count}},
                           &bias));
    BSM_TRY(CALL(e, "aten::add.Tensor", out, T(*out), T(bias), I(1)));
  }
  return BSM_OK;
}

static bsm_status eval_normalization(eval *e, const bsm_layer *layer,
                                     bsm_tensor **out) {
  bsm_tensor *x = input(e, layer, 0), *mean, *var, *y;
  bsm_dims whole = x->sizes, split = whole;
  uint32_t axes = layer->p.normalization.axes;
  int64_t groups = layer->p.normalization.groups;
  if (groups > 1) {
    /* [N, C, ...] -> [N, G, C / G, ...], over all but N and G. */
    split.rank++;
    for (int32_t i = split.rank - 1; i > 2; i--) split.d[i] = whole.d[i - 1];
    split.d[1] = groups;
    split.d[2] = whole.d[1] / groups;
    axes = ((1u << (unsigned)split.rank) - 1) & ~3u;
    BSM_TRY(CALL(e, "aten::reshape", &x, T(x), dims_list(e, split)));
  }
  bsm_ivalue dims = axes_list(e, axes, x->sizes.rank);
  y = x;
  if (!layer->p.normalization.rms) {
    BSM_TRY(CALL(e, "aten::mean.dim", &mean, T(x), dims, B(true), NONE));
    BSM_TRY(CALL(e, "aten::sub.Tensor", &y, T(x), T(mean), I(1)));
  }
  BSM_TRY(CALL(e, "aten::mul.Tensor", &var, T(y), T(y)));
  BSM_TRY(CALL(e, "aten::mean.dim", &var, T(var), dims, B(true), NONE));
  BSM_TRY(CALL(e, "aten::add.Scalar", &var, T(var),
               D(layer->p.normalization.epsilon), I(1)));
  BSM_TRY(CALL(e, "aten::rsqrt", &var, T(var)));
  BSM_TRY(CALL(e, "aten::mul.Tensor", &y, T(y), T(var)));
  if (groups > 1) {
    BSM_TRY(CALL(e, "aten::reshape", &y, T(y), dims_list(e, whole)));
  }
  size_t next = 1;
  if (layer->p.normalization.has_scale) {
    BSM_TRY(CALL(e, "aten::mul.Tensor", &y, T(y), T(input(e, layer, next++))));
  }
  if (layer->p.normalization.has_bias) {
    BSM_TRY(
        CALL(e, "aten::add.Tensor", &y, T(y), T(input(e, layer, next)), I(1)));
  }
  *out = y;
  return BSM_OK;
}

/* Of the first tensor, as many as there are elements, -1 behind them. */
static bsm_status eval_non_zero(eval *e, const bsm_layer *layer,
                                bsm_tensor **out) {
  bsm_tensor *flat, *found;
  const int64_t all = bsm_tensor_numel(input(e, layer, 0));
  BSM_TRY(CALL(e, "aten::flatten.using_ints", &flat, T(input(e, layer, 0)),
               I(0), I(-1)));
  BSM_TRY(CALL(e, "aten::nonzero_static", &found, T(flat), I(all), I(-1)));
  return CALL(e, "aten::flatten.using_ints", out, T(found), I(0), I(-1));
}

/* Scores that fall, so that the order is that of the boxes. */
static bsm_status eval_nms(eval *e, const bsm_layer *layer, bsm_tensor **out) {
  bsm_tensor *boxes = input(e, layer, 0), *kept, *y;
  const int64_t n = boxes->sizes.d[0];
  bsm_tensor *scores;
  BSM_TRY(bsm_tensor_new(e->arena, boxes->dtype, (bsm_dims){1, {n}}, false,
                         &scores));
  memset(bsm_tensor_data(scores), 0, (size_t)n * bsm_dtype_size(boxes->dtype));
  BSM_TRY(CALL(e, "torchvision::nms", &kept, T(boxes), T(scores),
               bsm_iv_double(layer->p.nms.threshold)));
  BSM_TRY(
      bsm_tensor_new(e->arena, BSM_DTYPE_BOOL, (bsm_dims){1, {n}}, false, &y));
  bool *at = bsm_tensor_data(y);
  memset(at, 0, (size_t)n);
  for (int64_t i = 0; i < bsm_tensor_numel(kept); i++) {
    at[((const int64_t *)bsm_tensor_data(kept))[i]] = true;
  }
  *out = y;
  return BSM_OK;
}

/* By the op that pools so. */
static bsm_status eval_regions(eval *e, const bsm_layer *layer) {
  static const char *const names[] = {
      "torchvision::roi_align", "torchvision::ps_roi_align",
      "torchvision::roi_pool", "torchvision::ps_roi_pool"};
  const bsm_region_pooling *p = &layer->p.regions;
  const size_t count = p->whole ? 5 : p->grouped ? 6 : 7;
  bsm_tensor *rois;
  BSM_TRY(bsm_tensor_to_dtype(e->arena, input(e, layer, 1), p->dtype, &rois));
  const bsm_ivalue args[] = {
      T(input(e, layer, 0)), T(rois),       D(p->scale),  I(p->rows),
      I(p->columns),         I(p->samples), B(p->aligned)};
  bsm_ivalue outs[2];
  BSM_TRY(call_n(e, names[2 * p->whole + p->grouped], args, count, outs,
                 p->whole || p->grouped ? 2 : 1));
  for (size_t i = 0; i < layer->outputs.len; i++) {
    BSM_TRY_ALLOC(bsm_ptrmap_set(e->arena, &e->values, layer->outputs.items[i],
                                 outs[i].u.tensor));
  }
  return BSM_OK;
}

static bsm_status eval_scan(eval *e, const bsm_layer *layer) {
  static const char *const ops[] = {"aten::cumsum", "aten::cumprod",
                                    "aten::cummax", "aten::cummin",
                                    "aten::logcumsumexp"};
  const bsm_scan_operation operation = layer->p.scan.operation;
  bsm_tensor *const x = input(e, layer, 0);
  bsm_ivalue args[] = {T(x), I(layer->p.scan.axis), I(x->dtype)};
  bsm_ivalue outs[2];
  BSM_TRY(call_n(e, ops[operation], args, operation <= BSM_SCAN_PROD ? 3 : 2,
                 outs, layer->outputs.len));
  for (size_t i = 0; i < layer->outputs.len; i++) {
    if (!bsm_ptrmap_set(e->arena, &e->values, layer->outputs.items[i],
                        outs[i].u.tensor)) {
      return BSM_FAIL_OOM();
    }
  }
  return BSM_OK;
}

static bsm_status eval_top_k(eval *e, const bsm_layer *layer) {
  bsm_ivalue args[] = {T(input(e, layer, 0)), I(layer->p.top_k.k),
                       I(layer->p.top_k.axis), B(layer->p.top_k.largest),
                       B(true)};
  bsm_ivalue outs[2];
  BSM_TRY(call_n(e, "aten::topk", args, 5, outs, 2));
  for (size_t i = 0; i < 2; i++) {
    if (!bsm_ptrmap_set(e->arena, &e->values, layer->outputs.items[i],
                        outs[i].u.tensor)) {
      return BSM_FAIL_OOM();
    }
  }
  return BSM_OK;
}

/* An argument of a call with the values of the inputs it names. */
static bsm_status call_argument(eval *e, const bsm_layer *layer,
                                const bsm_ivalue *v, bsm_ivalue *out) {
  *out = *v;
  if (v->tag == BSM_IVALUE_TENSOR) {
    for (size_t i = 0; i < layer->inputs.len; i++) {
      if (layer->p.aten_call.tensors[i] == v->u.tensor) {
        *out = T(input(e, layer, i));
        return BSM_OK;
      }
    }
    return BSM_FAIL(BSM_INTERNAL, "a tensor that is no input");
  }
  if (v->tag != BSM_IVALUE_LIST) return BSM_OK;
  bsm_list *list;
  BSM_TRY(bsm_list_new(e->arena, NULL, v->u.list->len, &list));
  *out = bsm_iv_list(list);
  for (size_t i = 0; i < list->len; i++) {
    BSM_TRY(call_argument(e, layer, &v->u.list->items[i], &list->items[i]));
  }
  return BSM_OK;
}

static bsm_status eval_aten_call(eval *e, const bsm_layer *layer) {
  const bsm_aten_call_params *call = &layer->p.aten_call;
  bsm_ivalue *args = BSM_NEW_ARRAY(e->arena, bsm_ivalue, call->arg_count + 1);
  bsm_ivalue *outs =
      BSM_NEW_ARRAY(e->arena, bsm_ivalue, call->result_count + 1);
  if (!args || !outs) return BSM_FAIL_OOM();
  for (size_t i = 0; i < call->arg_count; i++) {
    BSM_TRY(call_argument(e, layer, &call->args[i], &args[i]));
  }
  BSM_TRY(call_n(e, call->op, args, call->arg_count, outs, call->result_count));
  size_t at = 0;
  for (size_t i = 0; i < call->result_count; i++) {
    const int32_t kind = call->results[i];
    for (int32_t k = 0; k < (kind == BSM_ATEN_TENSOR ? 1 : kind); k++) {
      bsm_tensor *t = kind == BSM_ATEN_TENSOR
                          ? outs[i].u.tensor
                          : outs[i].u.list->items[k].u.tensor;
      bsm_itensor *promised = layer->outputs.items[at++];
      if (t->dtype != promised->dtype ||
          !bsm_dims_equal(t->sizes, promised->dims)) {
        return BSM_FAIL(BSM_INTERNAL, "%s gives %s%s, promised %s%s", call->op,
                        bsm_dtype_name(t->dtype), bsm_dims_str(t->sizes),
                        bsm_dtype_name(promised->dtype),
                        bsm_dims_str(promised->dims));
      }
      if (!bsm_ptrmap_set(e->arena, &e->values, promised, t)) {
        return BSM_FAIL_OOM();
      }
    }
  }
  return BSM_OK;
}

/* The weights of a recurrent layer as PyTorch lists them. */
static bsm_status recurrent_params(eval *e, const bsm_layer *layer,
                                   bsm_ivalue *out) {
  bsm_tensor *params[10];
  size_t count = 0;
  for (int32_t d = 0; d < layer->p.recurrent.directions; d++) {
    const bsm_recurrent_weights *w = &layer->p.recurrent.weights[d];
    const bsm_dims bias = {1, {w->input.shape.d[0]}};
    const bsm_weights *all[] = {&w->input, &w->recurrent, &w->input_bias,
                                &w->recurrent_bias, &w->projection};
    for (int i = 0; i < 5; i++) {
      const bsm_dims dims = i == 2 || i == 3 ? bias : all[i]->shape;
      if (i == 4 && all[i]->count == 0) continue;
      if (all[i]->count) {
        BSM_TRY(weights_tensor(e, all[i], dims, &params[count++]));
      } else { /* no bias */
        BSM_TRY(bsm_tensor_new(e->arena, BSM_DTYPE_FLOAT, dims, false,
                               &params[count++]));
      }
    }
  }
  return bsm_iv_tensor_list(e->arena, params, count, out);
}

/* As one call of PyTorch's op with one layer. args: x, hx, params, .. */
static bsm_status call_recurrent(eval *e, const bsm_layer *layer, bsm_tensor *x,
                                 bsm_tensor *const *states, bsm_ivalue params,
                                 bsm_ivalue *outs) {
  static const char *const names[] = {"aten::lstm.input", "aten::gru.input",
                                      "aten::rnn_tanh.input",
                                      "aten::rnn_relu.input"};
  const bsm_recurrent_operation operation = layer->p.recurrent.operation;
  bsm_ivalue hx = T(states[0]);
  if (operation == BSM_RECURRENT_LSTM) {
    BSM_TRY(bsm_iv_tensor_list(e->arena, states, 2, &hx));
  }
  const bsm_ivalue args[] = {
      T(x),    hx,   params,   B(true),
      I(1),    D(0), B(false), B(layer->p.recurrent.directions == 2),
      B(false)};
  return call_n(e, names[operation], args, 9, outs, layer->outputs.len);
}

/* Some samples only, and of the first tensor only the first steps. */
static bsm_status part_of(eval *e, bsm_tensor *t, int64_t steps, int64_t sample,
                          bsm_tensor **out) {
  BSM_TRY(CALL(e, "aten::narrow", out, T(t), I(1), I(sample), I(1)));
  if (steps < 0) return BSM_OK;
  return CALL(e, "aten::narrow", out, T(*out), I(0), I(0), I(steps));
}

/* Sample by sample when they have lengths, as PyTorch would without padding.
 */
static bsm_status eval_lengths(eval *e, const bsm_layer *layer,
                               bsm_tensor *const *inputs, bsm_ivalue params,
                               bsm_tensor **outs) {
  const int64_t *lengths = layer->p.recurrent.lengths.values;
  const size_t count = layer->outputs.len;
  for (size_t i = 0; i < count; i++) {
    const bsm_itensor *y = layer->outputs.items[i];
    BSM_TRY(bsm_tensor_new(e->arena, y->dtype, y->dims, false, &outs[i]));
    if (i > 0) BSM_TRY(bsm_tensor_copy(outs[i], inputs[i]));
  }
  for (int64_t b = 0; b < layer->p.recurrent.lengths.count; b++) {
    bsm_tensor *parts[3] = {NULL}, *to;
    bsm_ivalue results[3];
    if (lengths[b] == 0) continue;
    for (size_t i = 0; i < count; i++) {
      BSM_TRY(part_of(e, inputs[i], i ? -1 : lengths[b], b, &parts[i]));
    }
    BSM_TRY(call_recurrent(e, layer, parts[0], parts + 1, params, results));
    for (size_t i = 0; i < count; i++) {
      BSM_TRY(part_of(e, outs[i], i ? -1 : lengths[b], b, &to));
      BSM_TRY(bsm_tensor_copy(to, results[i].u.tensor));
    }
  }
  return BSM_OK;
}

static bsm_status eval_recurrent(eval *e, const bsm_layer *layer) {
  bsm_tensor *inputs[3] = {NULL}, *outs[3] = {NULL};
  bsm_ivalue params, results[3];
  BSM_TRY(recurrent_params(e, layer, &params));
  for (size_t i = 0; i < layer->inputs.len; i++) {
    inputs[i] = input(e, layer, i);
  }
  if (layer->p.recurrent.lengths.count) {
    BSM_TRY(eval_lengths(e, layer, inputs, params, outs));
  } else {
    BSM_TRY(call_recurrent(e, layer, inputs[0], inputs + 1, params, results));
    for (size_t i = 0; i < layer->outputs.len; i++) {
      outs[i] = results[i].u.tensor;
    }
  }
  for (size_t i = 0; i < layer->outputs.len; i++) {
    if (!bsm_ptrmap_set(e->arena, &e->values, layer->outputs.items[i],
                        outs[i])) {
      return BSM_FAIL_OOM();
    }
  }
  return BSM_OK;
}

/* A scale or zero point that broadcasts along the axis. */
static bsm_status along(eval *e, const bsm_layer *layer, size_t i, int32_t axis,
                        bsm_tensor **out) {
  const bsm_dims x = layer->inputs.items[0]->dims;
  bsm_dims dims = {0};
  if (axis >= 0) {
    dims.rank = x.rank;
    for (int32_t k = 0; k < x.rank; k++) dims.d[k] = k == axis ? x.d[k] : 1;
  }
  return CALL(e, "aten::reshape", out, T(input(e, layer, i)),
              dims_list(e, dims));
}

static bsm_status eval_quantize(eval *e, const bsm_layer *layer,
                                bsm_tensor **out) {
  const int32_t axis = layer->p.quantize.axis;
  const bsm_dtype wide =
      bsm_quantize_compute_dtype(layer->inputs.items[0]->dtype);
  bsm_tensor *x, *scale, *zero = NULL, *odd;
  BSM_TRY(bsm_tensor_to_dtype(e->arena, input(e, layer, 0), wide, &x));
  BSM_TRY(along(e, layer, 1, axis, &scale));
  if (layer->inputs.len == 3) BSM_TRY(along(e, layer, 2, axis, &zero));
  BSM_TRY(CALL(e, "aten::reciprocal", &scale, T(scale)));
  BSM_TRY(bsm_tensor_to_dtype(e->arena, scale, wide, &scale));
  BSM_TRY(CALL(e, "aten::mul.Tensor", &x, T(x), T(scale)));
  if (!layer->p.quantize.rounds_last) {
    BSM_TRY(CALL(e, "aten::round", &x, T(x)));
  }
  if (zero) BSM_TRY(CALL(e, "aten::add.Tensor", &x, T(x), T(zero), I(1)));
  if (layer->p.quantize.rounds_last) {
    BSM_TRY(CALL(e, "aten::round", &x, T(x)));
  }
  BSM_TRY(CALL(e, "aten::lt.Scalar", &odd, T(x), D(0x1p63)));
  BSM_TRY(CALL(e, "aten::logical_not", &odd, T(odd)));
  if (layer->p.quantize.nan == BSM_QUANTIZE_NAN_LEAST) {
    BSM_TRY(CALL(e, "aten::isnan", &odd, T(x)));
  }
  BSM_TRY(CALL(e, "aten::clamp", &x, T(x), D(layer->p.quantize.least),
               D(layer->p.quantize.greatest)));
  if (layer->p.quantize.nan != BSM_QUANTIZE_NAN_CAST) {
    BSM_TRY(CALL(e, "aten::masked_fill.Scalar", &x, T(x), T(odd),
                 D(layer->p.quantize.least)));
  }
  return bsm_tensor_to_dtype(e->arena, x, layer->p.quantize.dtype, out);
}

static bsm_status eval_dequantize(eval *e, const bsm_layer *layer,
                                  bsm_tensor **out) {
  const int32_t axis = layer->p.dequantize.axis;
  const bsm_dtype dtype = layer->inputs.items[1]->dtype;
  bsm_tensor *q = input(e, layer, 0), *scale, *zero;
  BSM_TRY(along(e, layer, 1, axis, &scale));
  if (layer->inputs.len == 3) {
    BSM_TRY(along(e, layer, 2, axis, &zero));
    BSM_TRY(bsm_tensor_to_dtype(e->arena, q, zero->dtype, &q));
    BSM_TRY(CALL(e, "aten::sub.Tensor", &q, T(q), T(zero), I(1)));
  }
  BSM_TRY(bsm_tensor_to_dtype(e->arena, q, dtype, &q));
  BSM_TRY(CALL(e, "aten::mul.Tensor", &q, T(q), T(scale)));
  return bsm_tensor_to_dtype(e->arena, q, layer->p.dequantize.dtype, out);
}

static bsm_status eval_prelu(eval *e, const bsm_layer *layer,
                             bsm_tensor **out) {
  bsm_tensor *x = input(e, layer, 0), *below, *positive;
  BSM_TRY(CALL(e, "aten::mul.Tensor", &below, T(x), T(input(e, layer, 1))));
  BSM_TRY(CALL(e, "aten::gt.Scalar", &positive, T(x), I(0)));
  return CALL(e, "aten::where.self", out, T(positive), T(x), T(below));
}

static bsm_status eval_shape(eval *e, const bsm_layer *layer,
                             bsm_tensor **out) {
  bsm_dims dims = input(e, layer, 0)->sizes;
  BSM_TRY(bsm_tensor_new(e->arena, BSM_DTYPE_INT64, (bsm_dims){1, {dims.rank}},
                         false, out));
  for (int32_t i = 0; i < dims.rank; i++) {
    ((int64_t *)bsm_tensor_data(*out))[i] = dims.d[i];
  }
  return BSM_OK;
}

static bsm_status eval_layer(eval *e, const bsm_layer *layer,
                             bsm_tensor **out) {
  bsm_ivalue x = layer->inputs.len ? T(input(e, layer, 0)) : NONE;
  switch (layer->kind) {
    case BSM_LAYER_CONVOLUTION:
    case BSM_LAYER_DECONVOLUTION:
      return eval_convolution(e, layer, out);
    case BSM_LAYER_ACTIVATION:
      return eval_activation(e, layer, out);
    case BSM_LAYER_POOLING:
      return eval_pooling(e, layer, out);
    case BSM_LAYER_SCALE:
      return eval_scale(e, layer, out);
    case BSM_LAYER_SOFTMAX:
      return CALL(
          e,
          layer->p.softmax.log ? "aten::log_softmax.int" : "aten::softmax.int",
          out, x, I(layer->p.softmax.axis), NONE);
    case BSM_LAYER_CONCATENATION:
      return eval_concatenation(e, layer, out);
    case BSM_LAYER_ELEMENT_WISE:
      return eval_element_wise(e, layer, out);
    case BSM_LAYER_UNARY:
      return eval_unary(e, layer, out);
    case BSM_LAYER_SHUFFLE:
      return eval_shuffle(e, layer, out);
    case BSM_LAYER_REDUCE:
      return eval_reduce(e, layer, out);
    case BSM_LAYER_GATHER:
      return eval_gather(e, layer, out);
    case BSM_LAYER_NON_ZERO:
      return eval_non_zero(e, layer, out);
    case BSM_LAYER_NMS:
      return eval_nms(e, layer, out);
    case BSM_LAYER_SCATTER:
      return eval_scatter(e, layer, out);
    case BSM_LAYER_MATRIX_MULTIPLY:
      return eval_matrix_multiply(e, layer, out);
    case BSM_LAYER_CONSTANT:
      return weights_tensor(e, &layer->p.constant.weights, out_dims(layer),
                            out);
    case BSM_LAYER_IDENTITY:
      *out = x.u.tensor;
      return BSM_OK;
    case BSM_LAYER_SLICE:
      return eval_slice(e, layer, out);
    case BSM_LAYER_SHAPE:
      return eval_shape(e, layer, out);
    case BSM_LAYER_PARAMETRIC_RELU:
      return eval_prelu(e, layer, out);
    case BSM_LAYER_RESIZE:
      return eval_resize(e, layer, out);
    case BSM_LAYER_SELECT:
      return CALL(e, "aten::where.self", out, x, T(input(e, layer, 1)),
                  T(input(e, layer, 2)));
    case BSM_LAYER_FILL:
      return CALL(e, "aten::full", out, dims_list(e, layer->p.fill.dims),
                  D(layer->p.fill.value), I((int64_t)layer->p.fill.dtype), NONE,
                  NONE, NONE);
    case BSM_LAYER_CAST:
      return bsm_tensor_to_dtype(e->arena, x.u.tensor, layer->p.cast.dtype,
                                 out);
    case BSM_LAYER_NORMALIZATION:
      return eval_normalization(e, layer, out);
    case BSM_LAYER_EXPAND:
      return CALL(e, "aten::expand", out, x, dims_list(e, layer->p.expand.dims),
                  B(false));
    case BSM_LAYER_QUANTIZE:
      return eval_quantize(e, layer, out);
    case BSM_LAYER_DEQUANTIZE:
      return eval_dequantize(e, layer, out);
    default: /* those that the builder makes, and calls */
      break;
  }
  return BSM_FAIL(BSM_UNSUPPORTED, "layer kind %s",
                  bsm_layer_kind_name(layer->kind));
}

/* A result must have the dtype and dims that the network promised. */
static bsm_status check(const bsm_layer *layer, const bsm_tensor *t) {
  const bsm_itensor *promised = layer->outputs.items[0];
  if (t->dtype == promised->dtype && bsm_dims_equal(t->sizes, promised->dims)) {
    return BSM_OK;
  }
  return BSM_FAIL(BSM_INTERNAL, "%s gives %s%s, the network says %s%s",
                  bsm_layer_kind_name(layer->kind), bsm_dtype_name(t->dtype),
                  bsm_dims_str(t->sizes), bsm_dtype_name(promised->dtype),
                  bsm_dims_str(promised->dims));
}

bsm_status network_eval(const bsm_network *net, const bsm_aten_library *aten,
                        bsm_arena *arena, bsm_tensor *const *inputs,
                        bsm_tensor **outputs) {
  eval e = {net, aten, arena, {0}};
  for (size_t i = 0; i < net->inputs.len; i++) {
    if (!bsm_ptrmap_set(arena, &e.values, net->inputs.items[i], inputs[i])) {
      return BSM_FAIL_OOM();
    }
  }
  for (size_t i = 0; i < net->layers.len; i++) {
    const bsm_layer *layer = net->layers.items[i];
    bsm_tensor *out = NULL;
    if (layer->kind == BSM_LAYER_TOP_K) {
      BSM_TRY(eval_top_k(&e, layer));
      continue;
    }
    if (layer->kind == BSM_LAYER_REGIONS) {
      BSM_TRY(eval_regions(&e, layer));
      continue;
    }
    if (layer->kind == BSM_LAYER_SCAN) {
      BSM_TRY(eval_scan(&e, layer));
      continue;
    }
    if (layer->kind == BSM_LAYER_ATEN_CALL) {
      BSM_TRY(eval_aten_call(&e, layer));
      continue;
    }
    if (layer->kind == BSM_LAYER_RECURRENT) {
      BSM_TRY(eval_recurrent(&e, layer));
      continue;
    }
    BSM_TRY_NOTE(eval_layer(&e, layer, &out), "in layer %s",
                 bsm_layer_name(layer));
    BSM_TRY_NOTE(check(layer, out), "in layer %s", bsm_layer_name(layer));
    if (!bsm_ptrmap_set(arena, &e.values, layer->outputs.items[0], out)) {
      return BSM_FAIL_OOM();
    }
  }
  for (size_t i = 0; i < net->outputs.len; i++) {
    outputs[i] = bsm_ptrmap_get(&e.values, net->outputs.items[i]);
  }
  return BSM_OK;
}
