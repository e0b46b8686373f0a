/* SPDX-License-Identifier: Apache-2.0 */
/* Attention. The step reads and writes any strides, so heads that lie side by
 * side in a row need not be copied. */
#include "builder/emit_internal.h"

/* The first dimension as [d / n, n]. */
static bsm_layout split_first(bsm_layout layout, int64_t n) {
  bsm_layout out = layout;
  for (int32_t i = 1; i < layout.dims.rank; i++) {
    out.dims.d[i + 1] = layout.dims.d[i];
    out.strides[i + 1] = layout.strides[i];
  }
  out.dims.rank++;
  out.dims.d[0] = layout.dims.d[0] / n;
  out.dims.d[1] = n;
  out.strides[0] = layout.strides[0] * n;
  out.strides[1] = layout.strides[0];
  return out;
}

/* The leading dims of the output with the last two of `own`. */
static bsm_dims batch_of(bsm_dims out, bsm_dims own) {
  bsm_dims dims = out;
  dims.d[out.rank - 2] = own.d[own.rank - 2];
  dims.d[out.rank - 1] = own.d[own.rank - 1];
  return dims;
}

/* Whether elements of a matrix overlap: it is expanded, or windows slide. */
static bool shares_places(const bsm_layout *layout) {
  int64_t reach = 0, count = 1;
  for (int32_t i = layout->dims.rank - 2; i < layout->dims.rank; i++) {
    const int64_t size = layout->dims.d[i];
    if (layout->strides[i] == 0 && size > 1) return true;
    reach += (size - 1) * layout->strides[i];
    count *= size;
  }
  return count > 0 && reach < count - 1;
}

/* Prepares q, k or v: broadcasts it to the leading dimensions of the output,
 * and splits the first. A matrix with overlapping elements is copied, because
 * the step packs k and v. */
static bsm_status operand(bsm_emitter *e, const bsm_layer *layer, size_t index,
                          uint32_t *out) {
  const bsm_itensor *t = layer->inputs.items[index];
  const bsm_dims y = layer->outputs.items[0]->dims;
  *out = bsm_build_value(e, t);
  if (shares_places(&bsm_build_tensor_at(e, *out)->layout)) {
    BSM_TRY(bsm_build_as_contiguous(e, t, out));
  }
  bsm_layout layout = bsm_layout_broadcast(
      &bsm_build_tensor_at(e, *out)->layout, batch_of(y, t->dims));
  if (layer->p.attention.split) {
    layout = split_first(layout, layer->p.attention.split);
  }
  return bsm_build_view(e, *out, layout, 0, out);
}

bsm_status bsm_build_attention(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_itensor *y = layer->outputs.items[0];
  const int64_t split = layer->p.attention.split;
  const bsm_step_attention params = {
      .biases = layer->p.attention.biases,
      .mask = !layer->p.attention.has_mask ? BSM_ATTENTION_NO_MASK
              : layer->p.attention.hides   ? BSM_ATTENTION_HIDE
                                           : BSM_ATTENTION_KEEP,
      .causal = layer->p.attention.causal,
      .clears_hidden = layer->p.attention.clears_hidden,
      .diagonal = layer->p.attention.diagonal,
      .scale = layer->p.attention.scale,
      .fill = layer->p.attention.fill};
  uint32_t inputs[6], output;
  for (size_t i = 0; i < 3; i++) {
    BSM_TRY(operand(e, layer, i, &inputs[i]));
  }
  BSM_TRY(bsm_build_new(e, y->name, y->dtype, bsm_build_preferred(e, y),
                        &e->value[y->id]));
  output = e->value[y->id];
  if (split) {
    const bsm_layout layout =
        split_first(bsm_build_tensor_at(e, output)->layout, split);
    BSM_TRY(bsm_build_view(e, output, layout, 0, &output));
  }
  bsm_dims scores = bsm_build_tensor_at(e, output)->layout.dims;
  scores.d[scores.rank - 1] =
      layer->inputs.items[1]->dims.d[layer->inputs.items[1]->dims.rank - 2];
  for (size_t i = 3; i < layer->inputs.len && i < 6; i++) {
    inputs[i] = bsm_build_value(e, layer->inputs.items[i]);
    const bsm_layout wide = bsm_layout_broadcast(
        &bsm_build_tensor_at(e, inputs[i])->layout, scores);
    BSM_TRY(bsm_build_view(e, inputs[i], wide, 0, &inputs[i]));
  }
  return bsm_build_step(
      e,
      &(bsm_step_spec){BSM_STEP_ATTENTION, layer->name, inputs,
                       (uint32_t)layer->inputs.len, &output, 1, &params},
      NULL);
}
