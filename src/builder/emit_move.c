/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that only move data. Most are views and cost nothing. */
#include <string.h>

#include "builder/emit_internal.h"

static bsm_status permute(bsm_emitter *e, bsm_dims perm, uint32_t *id) {
  const bsm_layout layout =
      bsm_layout_permute(&bsm_build_tensor_at(e, *id)->layout, perm);
  return bsm_build_view(e, *id, layout, 0, id);
}

/* The dims that a shuffle reshapes to, without -1: those that its second
 * transpose turns into the output's. */
static bsm_dims reshape_dims(const bsm_layer *layer) {
  const bsm_dims out = layer->outputs.items[0]->dims;
  if (!layer->p.shuffle.has_second) return out;
  bsm_dims dims = {.rank = out.rank};
  for (int32_t i = 0; i < out.rank; i++) {
    dims.d[layer->p.shuffle.second_transpose.d[i]] = out.d[i];
  }
  return dims;
}

/* The layout of a copy of `from` which, when reshaped to `dims`, is a
 * channels-last image: the dimensions that become channels are innermost. False
 * when a new dimension does not consist of whole old ones. */
static bool channels_inside(bsm_dims from, bsm_dims dims, bsm_layout *out) {
  int32_t order[BSM_MAX_RANK], first[BSM_MAX_RANK + 1];
  int32_t at = 0, n = 0;
  for (int32_t i = 0; i < dims.rank; i++) {
    int64_t product = 1;
    first[i] = at;
    while (at < from.rank && product < dims.d[i]) product *= from.d[at++];
    while (at < from.rank && from.d[at] == 1) at++;
    if (product != dims.d[i]) return false;
  }
  first[dims.rank] = at;
  if (at != from.rank || dims.rank < 3) return false;
  for (int32_t i = 0; i <= dims.rank; i++) {
    if (i == 1) continue;
    const int32_t piece = i == dims.rank ? 1 : i; /* the channels last */
    for (int32_t k = first[piece]; k < first[piece + 1]; k++) order[n++] = k;
  }
  *out = bsm_layout_ordered(from, order);
  return true;
}

/* Copies a tensor so that it can be viewed with other dims. The copy is
 * row-major, or channels-last when its readers want an image in that layout. */
static bsm_status copy_for_reshape(bsm_emitter *e, const bsm_layer *layer,
                                   bsm_dims dims, uint32_t *id,
                                   bsm_layout *view) {
  const bsm_itensor *y = layer->outputs.items[0];
  const bsm_build_tensor t = *bsm_build_tensor_at(e, *id);
  bsm_layout layout;
  if (!layer->p.shuffle.has_second && !e->uses.is_output[y->id] &&
      bsm_build_readers_want_channels_last(e, y, 3) &&
      channels_inside(t.layout.dims, dims, &layout) &&
      bsm_layout_reshape(&layout, dims, view)) {
    const uint32_t from = *id;
    BSM_TRY(bsm_build_new(e, t.name, t.dtype, layout, id));
    return bsm_build_copy(e, layer->name, from, *id);
  }
  *view = bsm_layout_contiguous(dims);
  return bsm_build_contiguous_copy(e, *id, layer->name, id);
}

bsm_status bsm_build_shuffle(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_itensor *y = layer->outputs.items[0];
  uint32_t id = bsm_build_value(e, layer->inputs.items[0]);
  if (layer->p.shuffle.has_first) {
    BSM_TRY(permute(e, layer->p.shuffle.first_transpose, &id));
  }
  if (layer->p.shuffle.has_reshape) {
    const bsm_dims dims = reshape_dims(layer);
    bsm_layout view;
    if (!bsm_layout_reshape(&bsm_build_tensor_at(e, id)->layout, dims, &view)) {
      BSM_TRY(copy_for_reshape(e, layer, dims, &id, &view));
    }
    BSM_TRY(bsm_build_view(e, id, view, 0, &id));
  }
  if (layer->p.shuffle.has_second) {
    BSM_TRY(permute(e, layer->p.shuffle.second_transpose, &id));
  }
  e->value[y->id] = id;
  return BSM_OK;
}

/* Reads a dimension backwards by a gather with descending indices. */
static bsm_status reversed(bsm_emitter *e, const bsm_layer *layer, int32_t axis,
                           int64_t start, int64_t size, int64_t stride,
                           uint32_t *id) {
  int64_t *indices = BSM_NEW_ARRAY(e->scratch, int64_t, (size_t)size + 1);
  BSM_TRY_ALLOC(indices);
  for (int64_t i = 0; i < size; i++) indices[i] = start + i * stride;
  uint32_t inputs[2];
  BSM_TRY(bsm_build_contiguous_copy(e, *id, layer->name, &inputs[0]));
  BSM_TRY(bsm_build_constant(e, "", BSM_DTYPE_INT64, (bsm_dims){1, {size}},
                             BSM_DTYPE_INT64, indices, &inputs[1]));
  const bsm_build_tensor in = *bsm_build_tensor_at(e, inputs[0]);
  bsm_dims dims = in.layout.dims;
  dims.d[axis] = size;
  const bsm_step_gather params = {BSM_GATHER_DEFAULT, axis};
  BSM_TRY(bsm_build_new(e, in.name, in.dtype, bsm_layout_contiguous(dims), id));
  return bsm_build_step(
      e,
      &(bsm_step_spec){BSM_STEP_GATHER, layer->name, inputs, 2, id, 1, &params},
      NULL);
}

static bsm_status emit_pad(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_itensor *y = layer->outputs.items[0];
  for (int32_t i = 0; i < layer->p.slice.stride.rank; i++) {
    if (layer->p.slice.stride.d[i] != 1) {
      return BSM_FAIL(BSM_UNSUPPORTED, "padding with a stride");
    }
  }
  bsm_step_pad params = {.mode = (int32_t)layer->p.slice.mode,
                         .fill_value = layer->p.slice.fill_value};
  memcpy(params.start, layer->p.slice.start.d, sizeof(params.start));
  const uint32_t x = bsm_build_value(e, layer->inputs.items[0]);
  const bsm_layout *in = &bsm_build_tensor_at(e, x)->layout;
  const bool channels_last = y->dims.rank >= 3 && y->dims.rank <= 5 &&
                             bsm_layout_has_channels_inner(in) &&
                             in->dims.d[1] > 1;
  const bsm_layout layout = channels_last ? bsm_layout_channels_last(y->dims)
                                          : bsm_layout_contiguous(y->dims);
  BSM_TRY(bsm_build_new(e, y->name, y->dtype, layout, &e->value[y->id]));
  return bsm_build_step(e,
                        &(bsm_step_spec){BSM_STEP_PAD, layer->name, &x, 1,
                                         &e->value[y->id], 1, &params},
                        NULL);
}

bsm_status bsm_build_slice(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0];
  const bsm_itensor *y = layer->outputs.items[0];
  const bsm_dims start = layer->p.slice.start, stride = layer->p.slice.stride;
  bool inside = true, empty = false;
  for (int32_t i = 0; i < x->dims.rank; i++) {
    const int64_t last = start.d[i] + (y->dims.d[i] - 1) * stride.d[i];
    empty = empty || y->dims.d[i] == 0;
    inside = inside && start.d[i] >= 0 && start.d[i] < x->dims.d[i] &&
             last >= 0 && last < x->dims.d[i];
  }
  if (empty) {
    return bsm_build_new(e, y->name, y->dtype, bsm_layout_contiguous(y->dims),
                         &e->value[y->id]);
  }
  if (!inside) return emit_pad(e, layer);
  uint32_t id = bsm_build_value(e, x);
  bsm_layout layout = bsm_build_tensor_at(e, id)->layout;
  int64_t offset = 0;
  for (int32_t i = 0; i < layout.dims.rank; i++) {
    if (stride.d[i] < 0) continue;
    offset += start.d[i] * layout.strides[i];
    layout.strides[i] *= stride.d[i] ? stride.d[i] : 1;
    layout.dims.d[i] = y->dims.d[i];
  }
  BSM_TRY(bsm_build_view(e, id, layout, offset, &id));
  for (int32_t i = 0; i < layout.dims.rank; i++) {
    if (stride.d[i] < 0) {
      BSM_TRY(
          reversed(e, layer, i, start.d[i], y->dims.d[i], stride.d[i], &id));
    }
  }
  e->value[y->id] = id;
  return BSM_OK;
}

bsm_status bsm_build_expand(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_itensor *y = layer->outputs.items[0];
  const uint32_t x = bsm_build_value(e, layer->inputs.items[0]);
  const bsm_layout layout =
      bsm_layout_broadcast(&bsm_build_tensor_at(e, x)->layout, y->dims);
  return bsm_build_view(e, x, layout, 0, &e->value[y->id]);
}

bsm_status bsm_build_identity(bsm_emitter *e, const bsm_layer *layer) {
  e->value[layer->outputs.items[0]->id] =
      bsm_build_value(e, layer->inputs.items[0]);
  return BSM_OK;
}

bsm_status bsm_build_constant_layer(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_itensor *y = layer->outputs.items[0];
  const bsm_deferred *deferred = &layer->p.constant.deferred;
  return bsm_build_constant(e, y->name, y->dtype, y->dims,
                            deferred->cast ? deferred->held : y->dtype,
                            layer->p.constant.weights.values, &e->value[y->id]);
}

bsm_status bsm_build_shape(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_itensor *y = layer->outputs.items[0];
  const bsm_dims dims = layer->inputs.items[0]->dims;
  int64_t *values = BSM_NEW_ARRAY(e->scratch, int64_t, BSM_MAX_RANK);
  BSM_TRY_ALLOC(values);
  memcpy(values, dims.d, sizeof(dims.d));
  return bsm_build_constant(e, y->name, BSM_DTYPE_INT64, y->dims,
                            BSM_DTYPE_INT64, values, &e->value[y->id]);
}
