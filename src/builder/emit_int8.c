/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and products of quantized values. A product of rows is a
 * convolution over images of one pixel. */
#include "builder/emit_internal.h"

static bsm_step_int8_convolution step_params(const bsm_layer *layer) {
  bsm_step_int8_convolution p = {
      .convolution = {.window =
                          bsm_build_window(&layer->p.int8_convolution.window),
                      .groups = layer->p.int8_convolution.groups,
                      .out_maps = layer->p.int8_convolution.out_maps,
                      .epilogue = bsm_build_epilogue(
                          &layer->p.int8_convolution.epilogue)},
      .x_zero = layer->p.int8_convolution.x_zero,
      .residual_zero = layer->p.int8_convolution.residual_zero,
      .y_zero = layer->p.int8_convolution.y_zero,
      .least = layer->p.int8_convolution.least,
      .greatest = layer->p.int8_convolution.greatest,
      .residual_scale = layer->p.int8_convolution.residual_scale,
      .y_inverse = layer->p.int8_convolution.y_inverse};
  if (p.convolution.window.spatial == 0) p.convolution.window.spatial = 1;
  return p;
}

/* The rows of a tensor as images of one pixel: [rows, columns, 1]. */
static bsm_status as_pixels(bsm_emitter *e, uint32_t id, bool *done,
                            uint32_t *out) {
  const bsm_layout *layout = &bsm_build_tensor_at(e, id)->layout;
  const int32_t last = layout->dims.rank - 1;
  bsm_dims dims = {3, {1, layout->dims.d[last], 1}};
  bsm_layout rows;
  for (int32_t i = 0; i < last; i++) dims.d[0] *= layout->dims.d[i];
  *done = bsm_layout_reshape(layout, dims, &rows) &&
          (dims.d[1] <= 1 || rows.strides[1] == 1);
  return *done ? bsm_build_view(e, id, rows, 0, out) : BSM_OK;
}

/* An input of a product of rows; copied when its rows are not alike. */
static bsm_status rows_of(bsm_emitter *e, const bsm_itensor *t, uint32_t *out) {
  bool done;
  BSM_TRY(as_pixels(e, bsm_build_value(e, t), &done, out));
  if (done) return BSM_OK;
  uint32_t copy;
  BSM_TRY(bsm_build_as_contiguous(e, t, &copy));
  BSM_TRY(as_pixels(e, copy, &done, out));
  return done ? BSM_OK : BSM_FAIL(BSM_INTERNAL, "rows that have no layout");
}

static bsm_status add_weights(bsm_emitter *e, const bsm_layer *layer,
                              int64_t in_maps, bsm_plan_step *step) {
  const uint64_t maps = (uint64_t)layer->p.int8_convolution.out_maps;
  const bsm_window_params *w = &layer->p.int8_convolution.window;
  uint64_t count =
      maps * (uint64_t)(in_maps / layer->p.int8_convolution.groups);
  for (int32_t i = 0; i < w->spatial; i++) count *= (uint64_t)w->kernel[i];
  BSM_TRY(bsm_build_weights(e, layer->p.int8_convolution.columns,
                            2 * maps * sizeof(float), &step->weights[1]));
  BSM_TRY(bsm_build_weights(e, layer->p.int8_convolution.offset,
                            maps * sizeof(int32_t), &step->weights[2]));
  const bsm_raw_weights raw = {layer->p.int8_convolution.kernel, count,
                               BSM_DTYPE_INT8};
  const bsm_packing packing = {
      .in_maps = in_maps, .dtype = BSM_DTYPE_INT8, .raw = &raw, .raw_count = 1};
  return bsm_build_pack(e, step, &packing);
}

bsm_status bsm_build_int8_convolution(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_step_int8_convolution params = step_params(layer);
  const bool rows = layer->p.int8_convolution.window.spatial == 0;
  const bsm_itensor *y = layer->outputs.items[0];
  const uint32_t count = (uint32_t)layer->inputs.len;
  uint32_t inputs[2], output;
  for (uint32_t i = 0; i < count; i++) {
    const bsm_itensor *t = layer->inputs.items[i];
    BSM_TRY(rows ? rows_of(e, t, &inputs[i])
                 : bsm_build_as_image(e, layer, t, &inputs[i]));
  }
  BSM_TRY(bsm_build_new(e, y->name, y->dtype,
                        rows ? bsm_layout_contiguous(y->dims)
                             : bsm_build_image_layout(e, layer, y->dims),
                        &e->value[y->id]));
  output = e->value[y->id];
  bool done = true;
  if (rows) BSM_TRY(as_pixels(e, output, &done, &output));
  if (!done) return BSM_FAIL(BSM_INTERNAL, "an output that has no rows");
  bsm_plan_step *step;
  BSM_TRY(
      bsm_build_step(e,
                     &(bsm_step_spec){BSM_STEP_INT8_CONVOLUTION, layer->name,
                                      inputs, count, &output, 1, &params},
                     &step));
  return add_weights(e, layer,
                     bsm_build_tensor_at(e, inputs[0])->layout.dims.d[1], step);
}
