/* SPDX-License-Identifier: Apache-2.0 */
/* Layers with windows: convolution, deconvolution, pooling and resize. Their
 * images have the layout that the target wants. */
#include <string.h>

#include "builder/constants.h"
#include "builder/emit_internal.h"

bsm_step_epilogue bsm_build_epilogue(const bsm_epilogue *epilogue) {
  return (bsm_step_epilogue){(int32_t)epilogue->activation,
                             epilogue->has_residual, epilogue->alpha,
                             epilogue->beta};
}

/* Converts a layer's window to a step's. A step always has three spatial
 * dimensions; those of the layer are the last of them. */
bsm_step_window bsm_build_window(const bsm_window_params *window) {
  bsm_step_window out = {.spatial = window->spatial};
  const int32_t shift = 3 - window->spatial;
  for (int32_t i = 0; i < 3; i++) {
    out.kernel[i] = out.stride[i] = out.dilation[i] = 1;
  }
  for (int32_t i = 0; i < window->spatial; i++) {
    out.kernel[shift + i] = window->kernel[i];
    out.stride[shift + i] = window->stride[i];
    out.dilation[shift + i] = window->dilation[i];
    out.pre_padding[shift + i] = window->pre_padding[i];
    out.post_padding[shift + i] = window->post_padding[i];
  }
  return out;
}

/* How many layers that pass on a layout are looked through for readers. */
#define READERS 3
/* Steps have no longer paddings. */
#define MAX_PADDING ((int64_t)1 << 20)

/* The members of how[] that the `make` of a kernel reads. */
enum { DECONVOLUTION, GROUPS, OUT_MAPS, OUTER, TURNED };

/* Multiplies kernel[i] by the factor of its output map: in double, rounded
 * once. [out, ..], or [in, out / groups, ..] where the group follows from the
 * input map. */
static void apply_factor(const bsm_packing *p, int64_t count, const void *from,
                         void *to) {
  const int64_t out_maps = p->how[OUT_MAPS], groups = p->how[GROUPS];
  const bool deconvolution = p->how[DECONVOLUTION] != 0;
  const int64_t rows = p->how[OUTER];
  const int64_t columns = deconvolution ? out_maps / groups : 1;
  const int64_t run = count / (rows * columns);
  const bsm_weights kernel = {.dtype = p->dtype, .values = from};
  int64_t at = 0;
  for (int64_t row = 0; row < rows; row++) {
    const int64_t first = deconvolution ? row / (rows / groups) * columns : row;
    for (int64_t column = 0; column < columns; column++) {
      const double factor = p->factor[first + column];
      for (int64_t i = 0; i < run; i++, at++) {
        bsm_constant_store(p->dtype, to, at,
                           bsm_constant_number(&kernel, at) * factor);
      }
    }
  }
}

/* From [in, out / groups, taps] to [out, in / groups, taps], the last tap
 * first. */
static void turn(const bsm_packing *p, int64_t count, const void *from,
                 void *to) {
  const size_t element = bsm_dtype_size(p->dtype);
  const int64_t groups = p->how[GROUPS];
  const int64_t co = p->how[OUT_MAPS] / groups, ci = p->how[OUTER] / groups;
  const int64_t taps = count / (groups * co * ci);
  uint8_t *at = to;
  for (int64_t o = 0; o < groups * co; o++) {
    for (int64_t i = 0; i < ci; i++) {
      const int64_t row = (o / co * ci + i) * co + o % co;
      for (int64_t t = taps; t-- > 0; at += element) {
        memcpy(at, (const uint8_t *)from + (size_t)(row * taps + t) * element,
               element);
      }
    }
  }
}

/* Makes the kernel with all deferred changes. */
static bsm_status make_kernel(bsm_arena *scratch, const bsm_packing *p,
                              const void **values) {
  const uint64_t size = p->raw[0].size;
  BSM_TRY(bsm_packing_cast(scratch, p, 0, values));
  const size_t count = (size_t)size / bsm_dtype_size(p->raw[0].dtype);
  for (int step = 0; step < 2 && count > 0; step++) {
    if (step == 0 ? !p->factor : !p->how[TURNED]) continue;
    void *made = bsm_arena_alloc_array(scratch, count, bsm_dtype_size(p->dtype),
                                       BSM_ALIGNMENT);
    BSM_TRY_ALLOC(made);
    (step == 0 ? apply_factor : turn)(p, (int64_t)count, *values, made);
    *values = made;
  }
  return BSM_OK;
}

/* Where each output is one step behind the one before it, a transposed
 * convolution is a convolution of its kernel turned around, and is built as
 * such: that has more tactics. */
static bool is_turned(const bsm_emitter *e, const bsm_layer *layer) {
  const bsm_window_params *w = &layer->p.convolution.window;
  if (layer->kind != BSM_LAYER_DECONVOLUTION ||
      layer->outputs.items[0]->dtype != BSM_DTYPE_FLOAT ||
      !e->target->ops->turns_deconvolutions) {
    return false;
  }
  for (int32_t i = 0; i < w->spatial; i++) {
    const int64_t reach = (w->kernel[i] - 1) * w->dilation[i];
    if (w->stride[i] != 1 || w->pre_padding[i] > reach ||
        w->post_padding[i] > reach + w->output_padding[i] ||
        reach + w->output_padding[i] > MAX_PADDING) {
      return false;
    }
  }
  return true;
}

/* The window of the convolution, and its kernel. */
static void turn_around(const bsm_layer *layer, bsm_step_window *w,
                        bsm_packing *packing) {
  const bsm_window_params *from = &layer->p.convolution.window;
  const int32_t shift = 3 - from->spatial;
  for (int32_t i = 0; i < from->spatial; i++) {
    const int64_t reach = (from->kernel[i] - 1) * from->dilation[i];
    w->pre_padding[shift + i] = reach - from->pre_padding[i];
    w->post_padding[shift + i] =
        reach - from->post_padding[i] + from->output_padding[i];
  }
  packing->how[TURNED] = true;
  packing->make = make_kernel;
}

bsm_packing bsm_build_kernel_packing(const bsm_layer *layer,
                                     bsm_raw_weights *raw) {
  const bsm_convolution_params *p = &layer->p.convolution;
  const bsm_deferred *deferred = &p->deferred;
  const bsm_dtype held = deferred->cast ? deferred->held : p->kernel.dtype;
  const bool deconvolution = layer->kind == BSM_LAYER_DECONVOLUTION;
  const int64_t in_maps = layer->inputs.items[0]->dims.d[1];
  *raw = (bsm_raw_weights){
      p->kernel.values, (uint64_t)p->kernel.count * bsm_dtype_size(held), held};
  return (bsm_packing){
      .in_maps = in_maps,
      .dtype = p->kernel.dtype,
      .raw = raw,
      .raw_count = 1,
      .factor = deferred->factor,
      .factor_count = deferred->factor ? (size_t)p->out_maps : 0,
      .how = {[DECONVOLUTION] = deconvolution,
              [GROUPS] = p->groups,
              [OUT_MAPS] = p->out_maps,
              [OUTER] = deconvolution ? in_maps : p->out_maps},
      .make = deferred->cast || deferred->factor ? make_kernel : NULL};
}

bsm_step_convolution bsm_build_convolution_params(const bsm_layer *layer) {
  const bsm_convolution_params *p = &layer->p.convolution;
  return (bsm_step_convolution){.window = bsm_build_window(&p->window),
                                .groups = p->groups,
                                .out_maps = p->out_maps,
                                .epilogue = bsm_build_epilogue(&p->epilogue)};
}

/* Where no reader has a use for channels innermost, they lie as the caller has
 * them, if the target can write that. */
static bsm_layout output_layout(const bsm_emitter *e, const bsm_layer *layer) {
  const bsm_target *t = e->target;
  const bsm_itensor *y = layer->outputs.items[0];
  return t->ops->writes_any_layout && t->ops->writes_any_layout(t, layer) &&
                 !bsm_build_readers_want_channels_last(e, y, READERS)
             ? bsm_layout_contiguous(y->dims)
             : bsm_build_convolved_layout(e, layer);
}

bsm_status bsm_build_convolution(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_convolution_params *p = &layer->p.convolution;
  const bool turned = is_turned(e, layer);
  const bool deconvolution = layer->kind == BSM_LAYER_DECONVOLUTION && !turned;
  const bsm_itensor *x = layer->inputs.items[0];
  const bsm_itensor *y = layer->outputs.items[0];
  const size_t element = bsm_dtype_size(y->dtype);
  bsm_step_convolution params = bsm_build_convolution_params(layer);
  bsm_raw_weights raw;
  bsm_packing packing = bsm_build_kernel_packing(layer, &raw);
  uint32_t inputs[2];
  if (bsm_build_is_chain(layer)) return bsm_build_chain(e, layer);
  if (turned) turn_around(layer, &params.window, &packing);
  inputs[0] = bsm_build_value(e, x);
  if (!e->target->ops->reads_any_layout(e->target, layer)) {
    BSM_TRY(bsm_build_as_image(e, layer, x, &inputs[0]));
  }
  if (p->epilogue.has_residual) {
    const bsm_itensor *residual = layer->inputs.items[layer->inputs.len - 1];
    BSM_TRY(bsm_build_as_image(e, layer, residual, &inputs[1]));
  }
  BSM_TRY(bsm_build_new(e, y->name, y->dtype, output_layout(e, layer),
                        &e->value[y->id]));
  bsm_plan_step *step;
  BSM_TRY(bsm_build_step(
      e,
      &(bsm_step_spec){
          deconvolution ? BSM_STEP_DECONVOLUTION : BSM_STEP_CONVOLUTION,
          layer->name, inputs, p->epilogue.has_residual ? 2 : 1,
          &e->value[y->id], 1, &params},
      &step));
  if (p->bias.count) {
    BSM_TRY(bsm_build_weights(e, p->bias.values,
                              (uint64_t)p->bias.count * element,
                              &step->weights[1]));
  }
  return bsm_build_pack(e, step, &packing);
}

/* The layout of an output: channels last when the input's is. */
static bsm_layout like_input(const bsm_layout *in, bsm_dims dims) {
  if (dims.rank >= 3 && bsm_layout_has_channels_inner(in) &&
      in->dims.d[1] > 1) {
    return bsm_layout_channels_last(dims);
  }
  return bsm_layout_contiguous(dims);
}

bsm_status bsm_build_pooling(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_pooling_params *p = &layer->p.pooling;
  const bsm_itensor *y = layer->outputs.items[0];
  bsm_step_pooling params = {
      .window = bsm_build_window(&p->window),
      .type = (int32_t)p->type,
      .count_excludes_padding = p->count_excludes_padding,
      .adaptive = p->adaptive,
      .divisor_override = p->divisor_override};
  const uint32_t x = bsm_build_value(e, layer->inputs.items[0]);
  const bsm_layout in = bsm_build_tensor_at(e, x)->layout;
  BSM_TRY(bsm_build_new(e, y->name, y->dtype, like_input(&in, y->dims),
                        &e->value[y->id]));
  return bsm_build_step(e,
                        &(bsm_step_spec){BSM_STEP_POOLING, layer->name, &x, 1,
                                         &e->value[y->id], 1, &params},
                        NULL);
}

bsm_status bsm_build_resize(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_itensor *y = layer->outputs.items[0];
  bsm_step_resize params = {.mode = (int32_t)layer->p.resize.mode,
                            .align_corners = layer->p.resize.align_corners,
                            .spatial = layer->p.resize.output_size.rank};
  memcpy(params.scales, layer->p.resize.scales, sizeof(params.scales));
  const uint32_t x = bsm_build_value(e, layer->inputs.items[0]);
  const bsm_layout in = bsm_build_tensor_at(e, x)->layout;
  BSM_TRY(bsm_build_new(e, y->name, y->dtype, like_input(&in, y->dims),
                        &e->value[y->id]));
  return bsm_build_step(e,
                        &(bsm_step_spec){BSM_STEP_RESIZE, layer->name, &x, 1,
                                         &e->value[y->id], 1, &params},
                        NULL);
}

bsm_status bsm_build_sample(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_itensor *y = layer->outputs.items[0];
  const bsm_step_sample params = {
      .mode = (int32_t)layer->p.sample.mode,
      .padding = (int32_t)layer->p.sample.padding,
      .align_corners = layer->p.sample.align_corners};
  uint32_t inputs[2];
  BSM_TRY(bsm_build_as_image(e, layer, layer->inputs.items[0], &inputs[0]));
  BSM_TRY(bsm_build_as_contiguous(e, layer->inputs.items[1], &inputs[1]));
  BSM_TRY(bsm_build_new(e, y->name, y->dtype,
                        bsm_build_image_layout(e, layer, y->dims),
                        &e->value[y->id]));
  return bsm_build_step(e,
                        &(bsm_step_spec){BSM_STEP_SAMPLE, layer->name, inputs,
                                         2, &e->value[y->id], 1, &params},
                        NULL);
}
