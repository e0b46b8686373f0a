/* SPDX-License-Identifier: Apache-2.0 */
/* Moves QUANTIZE layers before layers that only choose or move numbers:
 *
 *   quantize(max_pool(x))  -> max_pool(quantize(x))
 *
 * and so for reshapes, transposes, slices, concatenations, expansions and
 * resizing to the nearest. They come to the products that make the numbers, and
 * what is between works on bytes. Quantizing does not fall, so the greatest
 * number stays the greatest.
 * Floats of 8 bits are only moved.
 * Requires: unify_quantizers. The moved layer has one reader. */
#include <string.h>

#include "builder/passes.h"
#include "builder/quantized_grid.h"
#include "builder/uses.h"

static bool only_moves(const bsm_layer *layer, bsm_dtype quantized) {
  const bool whole = quantized != BSM_DTYPE_FLOAT8_E4M3FN;
  switch (layer->kind) {
    case BSM_LAYER_POOLING:
      return whole && layer->p.pooling.type == BSM_POOLING_MAX;
    case BSM_LAYER_SLICE:
      for (int32_t i = 0; i < layer->p.slice.stride.rank; i++) {
        if (layer->p.slice.stride.d[i] < 0) return false;
      }
      return !layer->p.slice.has_mode;
    case BSM_LAYER_RESIZE:
      return whole && layer->p.resize.mode == BSM_RESIZE_NEAREST;
    case BSM_LAYER_SHUFFLE:
    case BSM_LAYER_CONCATENATION:
    case BSM_LAYER_EXPAND:
      return true;
    default:
      return false;
  }
}

/* Moves the last `count` layers of the network to `index`. */
static bsm_status place(bsm_network *net, bsm_arena *scratch, size_t index,
                        size_t count) {
  bsm_layer **items = net->layers.items;
  const size_t first = net->layers.len - count;
  bsm_layer **moved = BSM_NEW_ARRAY(scratch, bsm_layer *, count + 1);
  BSM_TRY_ALLOC(moved);
  memcpy(moved, items + first, count * sizeof(*moved));
  memmove(items + index + count, items + index,
          (first - index) * sizeof(*items));
  memcpy(items + index, moved, count * sizeof(*moved));
  return BSM_OK;
}

static bsm_itensor *number(bsm_network *net, float value) {
  float *data = BSM_NEW(net->arena, float);
  if (!data) return NULL;
  *data = value;
  const bsm_weights w = {.dtype = BSM_DTYPE_FLOAT, .values = data, .count = 1};
  bsm_layer *layer = bsm_network_add_constant(net, (bsm_dims){0}, &w);
  return layer ? bsm_layer_output(layer, 0) : NULL;
}

/* A layer that quantizes `x` as `like` does. */
static bsm_itensor *quantized(bsm_network *net, bsm_itensor *x,
                              const bsm_layer *like, const bsm_grid *grid) {
  bsm_itensor *scale = number(net, grid->scale);
  bsm_itensor *zero =
      like->inputs.len == 3 ? number(net, (float)grid->zero) : NULL;
  if (!scale || (like->inputs.len == 3 && !zero)) return NULL;
  bsm_layer *q =
      bsm_network_add_quantize(net, x, scale, zero, -1, like->p.quantize.dtype);
  if (!q) return NULL;
  bsm_quantize_set_range(q, like->p.quantize.least, like->p.quantize.greatest);
  bsm_quantize_set_nan(q, like->p.quantize.nan);
  q->name = like->name;
  q->source = like->source;
  return bsm_layer_output(q, 0);
}

/* The layer before `quantize` that it can be moved before; NULL: none. Its
 * reciprocal has to follow from the scale as a float. */
static bsm_layer *movable_before(const bsm_uses *uses,
                                 const bsm_layer *quantize, bsm_grid *grid) {
  const bsm_itensor *t = quantize->inputs.items[0];
  if (quantize->removed || !bsm_quantize_grid(quantize, grid) ||
      grid->inverse < 1.0f / grid->scale ||
      grid->inverse > 1.0f / grid->scale) {
    return NULL;
  }
  bsm_layer *before = t->producer;
  return before && !before->removed &&
                 only_moves(before, quantize->p.quantize.dtype) &&
                 bsm_uses_single_reader(uses, t) == quantize
             ? before
             : NULL;
}

static size_t index_of(const bsm_network *net, const bsm_layer *layer) {
  size_t i = 0;
  while (net->layers.items[i] != layer) i++;
  return i;
}

static bsm_status move(bsm_network *net, bsm_arena *scratch, bsm_uses *uses,
                       bsm_layer *quantize, bsm_layer *before,
                       const bsm_grid *grid) {
  const size_t inputs =
      before->kind == BSM_LAYER_CONCATENATION ? before->inputs.len : 1;
  const size_t count = net->layers.len;
  for (size_t i = 0; i < inputs; i++) {
    bsm_itensor *q = quantized(net, before->inputs.items[i], quantize, grid);
    BSM_TRY(bsm_network_take_error(net));
    BSM_TRY_ALLOC(q);
    before->inputs.items[i] = q;
  }
  BSM_TRY(place(net, scratch, index_of(net, before), net->layers.len - count));
  BSM_TRY(bsm_layer_infer(before));
  quantize->removed = true;
  BSM_TRY(bsm_uses_replace(net, scratch, uses, quantize->outputs.items[0],
                           before->outputs.items[0]));
  return bsm_uses_compute(net, scratch, uses);
}

bsm_status bsm_pass_move_quantizers(const bsm_target *target, bsm_network *net,
                                    bsm_arena *scratch) {
  bsm_uses uses;
  (void)target;
  BSM_TRY(bsm_uses_compute(net, scratch, &uses));
  for (size_t i = net->layers.len; i-- > 0;) {
    bsm_layer *layer = net->layers.items[i];
    bsm_grid grid;
    bsm_layer *before = layer->kind == BSM_LAYER_QUANTIZE
                            ? movable_before(&uses, layer, &grid)
                            : NULL;
    if (!before) continue;
    BSM_TRY(move(net, scratch, &uses, layer, before, &grid));
    i = net->layers.len; /* the new layers may be anywhere before */
  }
  return BSM_OK;
}
