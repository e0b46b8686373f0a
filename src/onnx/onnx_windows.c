/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that slide windows over images, and that resize them. */
#include <math.h>
#include <string.h>

#include "aten/tensor.h"
#include "onnx/onnx_emitter.h"

typedef struct attributes {
  bsm_onnx_attribute items[10];
  size_t count;
  int64_t pads[2 * BSM_MAX_SPATIAL];
} attributes;

static void put(attributes *a, bsm_onnx_attribute attribute) {
  a->items[a->count++] = attribute;
}

/* Kernel, strides and pads; all lists stay where they are. */
static void put_window(attributes *a, const bsm_window_params *w,
                       const int64_t *post) {
  const size_t n = (size_t)w->spatial;
  for (size_t i = 0; i < n; i++) {
    a->pads[i] = w->pre_padding[i];
    a->pads[n + i] = post[i];
  }
  put(a, bsm_onnx_list("kernel_shape", w->kernel, n));
  put(a, bsm_onnx_list("strides", w->stride, n));
  put(a, bsm_onnx_list("pads", a->pads, 2 * n));
}

void bsm_onnx_convolution(bsm_onnx_emitter *e) {
  const bsm_convolution_params *p = &e->layer->p.convolution;
  const bsm_window_params *w = &p->window;
  const bool transposed = e->layer->kind == BSM_LAYER_DECONVOLUTION;
  const char *inputs[3] = {bsm_onnx_in(e, 0), bsm_onnx_weights(e, &p->kernel)};
  size_t count = 2;
  attributes a = {.count = 0};
  if (!bsm_dtype_is_floating(p->kernel.dtype)) {
    bsm_onnx_refuse(e, "convolutions of integers");
    return;
  }
  put_window(&a, w, w->post_padding);
  put(&a, bsm_onnx_list("dilations", w->dilation, (size_t)w->spatial));
  put(&a, bsm_onnx_int("group", p->groups));
  if (transposed) {
    put(&a,
        bsm_onnx_list("output_padding", w->output_padding, (size_t)w->spatial));
  }
  if (p->bias.count) {
    const bsm_dims dims = {1, {p->bias.count}};
    inputs[count++] = bsm_onnx_weights_as(e, &p->bias, dims);
  }
  bsm_onnx_out(e, 0,
               bsm_onnx_op(e, transposed ? "ConvTranspose" : "Conv", inputs,
                           count, a.items, a.count));
}

/* ---- pooling ---- */

/* The padding behind that gives the output's size, however it was rounded. */
static bool find_post_padding(const bsm_layer *l, int64_t *post) {
  const bsm_window_params *w = &l->p.pooling.window;
  const bsm_dims in = l->inputs.items[0]->dims, out = l->outputs.items[0]->dims;
  bool extra = false;
  for (int32_t i = 0; i < w->spatial; i++) {
    const int32_t d = in.rank - w->spatial + i;
    const int64_t reach =
        (out.d[d] - 1) * w->stride[i] + w->dilation[i] * (w->kernel[i] - 1) + 1;
    post[i] = reach - in.d[d] - w->pre_padding[i];
    if (post[i] > w->post_padding[i]) extra = true;
    if (post[i] < w->post_padding[i]) post[i] = w->post_padding[i];
  }
  return extra;
}

/* The window of an adaptive pooling whose windows are all alike. */
static bool equal_windows(const bsm_layer *l, bsm_window_params *out) {
  const bsm_pooling_params *p = &l->p.pooling;
  const bsm_dims in = l->inputs.items[0]->dims;
  *out = (bsm_window_params){.spatial = p->window.spatial};
  for (int32_t i = 0; i < out->spatial; i++) {
    const int64_t size = in.d[in.rank - out->spatial + i];
    if (!p->output_size[i] || size % p->output_size[i]) return false;
    out->kernel[i] = out->stride[i] = size / p->output_size[i];
    out->dilation[i] = 1;
  }
  return true;
}

/* ONNX pools [N, C, spatial...]; what lacks the first is given it. */
static const char *pooled(bsm_onnx_emitter *e, const char *op, const char *x,
                          const attributes *a) {
  const bsm_layer *l = e->layer;
  const bsm_dims in = l->inputs.items[0]->dims, out = l->outputs.items[0]->dims;
  const bool single = in.rank == l->p.pooling.window.spatial + 1;
  if (single) {
    bsm_dims wide = {in.rank + 1, {1}};
    memcpy(wide.d + 1, in.d, sizeof(in.d[0]) * (size_t)in.rank);
    x = bsm_onnx_op2(e, "Reshape", x, bsm_onnx_dims(e, wide));
  }
  const char *y = bsm_onnx_op(e, op, &x, 1, a->items, a->count);
  return single ? bsm_onnx_op2(e, "Reshape", y, bsm_onnx_dims(e, out)) : y;
}

void bsm_onnx_pooling(bsm_onnx_emitter *e) {
  const bsm_layer *l = e->layer;
  const bsm_pooling_params *p = &l->p.pooling;
  bsm_window_params w = p->window;
  const bool max = p->type == BSM_POOLING_MAX;
  int64_t post[BSM_MAX_SPATIAL] = {0}, volume = 1;
  bool dilated = false, extra = false;
  attributes a = {.count = 0};
  if (p->adaptive) {
    if (!equal_windows(l, &w)) {
      bsm_onnx_refuse(e, "adaptive pooling with windows of different sizes");
      return;
    }
  } else {
    extra = find_post_padding(l, post);
  }
  for (int32_t i = 0; i < w.spatial; i++) {
    volume *= w.kernel[i];
    dilated = dilated || w.dilation[i] != 1;
  }
  if (!max && (dilated || (extra && !p->count_excludes_padding))) {
    bsm_onnx_refuse(e, "average pooling whose windows leave the padding");
    return;
  }
  put_window(&a, &w, post);
  if (max && dilated) {
    put(&a, bsm_onnx_list("dilations", w.dilation, (size_t)w.spatial));
  }
  const bool included = !p->count_excludes_padding || p->divisor_override;
  if (!max) put(&a, bsm_onnx_int("count_include_pad", included));
  const char *y =
      pooled(e, max ? "MaxPool" : "AveragePool", bsm_onnx_in(e, 0), &a);
  if (!max && p->divisor_override && p->divisor_override != volume) {
    const double factor = (double)volume / (double)p->divisor_override;
    y = bsm_onnx_op2(e, "Mul", y,
                     bsm_onnx_scalar(e, l->inputs.items[0]->dtype, factor));
  }
  bsm_onnx_out(e, 0, y);
}

/* ---- resizing ---- */

/* The scales of all dims as an input, when the layer has them and they give its
 * sizes; NULL: sizes are what counts. */
static const char *scales_of(bsm_onnx_emitter *e) {
  const bsm_layer *l = e->layer;
  const bsm_dims in = l->inputs.items[0]->dims, out = l->outputs.items[0]->dims;
  const int32_t spatial = l->p.resize.output_size.rank;
  float *scales =
      bsm_arena_alloc_array(e->arena, BSM_MAX_RANK, sizeof(*scales), 16);
  if (!scales) return NULL;
  for (int32_t i = 0; i < in.rank; i++) {
    const int32_t k = i - (in.rank - spatial);
    scales[i] = k < 0 ? 1.0f : (float)l->p.resize.scales[k];
    if (!(scales[i] > 0) ||
        (int64_t)floor((double)in.d[i] * (double)scales[i]) != out.d[i]) {
      return NULL;
    }
  }
  const bsm_dims dims = {1, {in.rank}};
  return bsm_onnx_initializer(e, BSM_DTYPE_FLOAT, dims, scales);
}

void bsm_onnx_resize(bsm_onnx_emitter *e) {
  const bsm_layer *l = e->layer;
  const bsm_resize_mode mode = l->p.resize.mode;
  const bool nearest =
      mode == BSM_RESIZE_NEAREST || mode == BSM_RESIZE_NEAREST_EXACT;
  const char *scales = scales_of(e);
  const char *const inputs[] = {
      bsm_onnx_in(e, 0), "", scales ? scales : "",
      scales ? "" : bsm_onnx_dims(e, l->outputs.items[0]->dims)};
  attributes a = {.count = 0};
  put(&a, bsm_onnx_string("mode", nearest                     ? "nearest"
                                  : mode == BSM_RESIZE_LINEAR ? "linear"
                                                              : "cubic"));
  put(&a, bsm_onnx_string("coordinate_transformation_mode",
                          mode == BSM_RESIZE_NEAREST  ? "asymmetric"
                          : l->p.resize.align_corners ? "align_corners"
                                                      : "half_pixel"));
  if (nearest) {
    put(&a, bsm_onnx_string("nearest_mode", mode == BSM_RESIZE_NEAREST
                                                ? "floor"
                                                : "round_prefer_ceil"));
  }
  if (mode == BSM_RESIZE_CUBIC) put(&a, bsm_onnx_float("cubic_coeff_a", -0.75));
  bsm_onnx_out(
      e, 0, bsm_onnx_op(e, "Resize", inputs, scales ? 3 : 4, a.items, a.count));
}

void bsm_onnx_sample(bsm_onnx_emitter *e) {
  static const char *const paddings[] = {
      [BSM_SAMPLE_ZEROS] = "zeros",
      [BSM_SAMPLE_BORDER] = "border",
      [BSM_SAMPLE_REFLECTION] = "reflection"};
  const bsm_layer *l = e->layer;
  const bsm_resize_mode mode = l->p.sample.mode;
  if (l->inputs.items[0]->dims.rank != 4) {
    bsm_onnx_refuse(e, "GridSample of volumes came with opset 20");
    return;
  }
  const char *const inputs[] = {bsm_onnx_in(e, 0), bsm_onnx_in(e, 1)};
  attributes a = {.count = 0};
  put(&a, bsm_onnx_string("mode", mode == BSM_RESIZE_NEAREST  ? "nearest"
                                  : mode == BSM_RESIZE_LINEAR ? "bilinear"
                                                              : "bicubic"));
  put(&a, bsm_onnx_string("padding_mode", paddings[l->p.sample.padding]));
  put(&a, bsm_onnx_int("align_corners", l->p.sample.align_corners));
  bsm_onnx_out(e, 0, bsm_onnx_op(e, "GridSample", inputs, 2, a.items, a.count));
}
