/* SPDX-License-Identifier: Apache-2.0 */
/* Lets a normalization quantize what it makes:
 *
 *   y = normalization(x); q = quantize(y)  -> y, q = normalization(x, grid)
 *
 * whose last input is a constant of four floats: the reciprocal of the scale,
 * the zero point, the least and the greatest number. Other readers of y read it
 * as before. Numbers are the same: y is rounded to its dtype first.
 * Requires: unify_quantizers. The grid is of uint8, or all of float8_e4m3fn,
 * whose least number is negative, and the same for all of y. */
#include <string.h>

#include "builder/passes.h"
#include "builder/quantized_grid.h"
#include "builder/uses.h"

/* The QUANTIZE layer to such bytes that reads the norm, or NULL. */
static bsm_layer *quantizer_of(const bsm_uses *uses, const bsm_layer *norm,
                               bsm_grid *grid) {
  const bsm_itensor *y = norm->outputs.items[0];
  for (uint32_t i = 0; i < uses->reader_count[y->id]; i++) {
    bsm_layer *reader = uses->readers[y->id][i];
    if (!bsm_quantize_grid(reader, grid)) continue;
    const bsm_dtype dtype = reader->outputs.items[0]->dtype;
    const bool fp8 = dtype == BSM_DTYPE_FLOAT8_E4M3FN &&
                     grid->least == -BSM_FLOAT8_MOST &&
                     grid->greatest == BSM_FLOAT8_MOST;
    if (fp8 || dtype == BSM_DTYPE_UINT8) return reader;
  }
  return NULL;
}

static bsm_itensor *add_grid(bsm_network *net, const bsm_grid *grid) {
  float *numbers = BSM_NEW_ARRAY(net->arena, float, BSM_GRID_NUMBERS);
  if (!numbers) return NULL;
  numbers[0] = grid->inverse;
  numbers[1] = (float)grid->zero;
  numbers[2] = (float)grid->least;
  numbers[3] = (float)grid->greatest;
  const bsm_weights w = {
      .dtype = BSM_DTYPE_FLOAT, .values = numbers, .count = BSM_GRID_NUMBERS};
  bsm_layer *layer =
      bsm_network_add_constant(net, (bsm_dims){1, {BSM_GRID_NUMBERS}}, &w);
  return layer ? bsm_layer_output(layer, 0) : NULL;
}

static bsm_status fuse(bsm_network *net, bsm_layer *norm, bsm_layer *quantize,
                       const bsm_grid *grid) {
  bsm_itensor *numbers = add_grid(net, grid);
  BSM_TRY(bsm_network_take_error(net));
  BSM_TRY_ALLOC(numbers);
  bsm_itensor *bytes = quantize->outputs.items[0];
  BSM_TRY_ALLOC(bsm_vec_push(net->arena, &norm->inputs, numbers));
  BSM_TRY_ALLOC(bsm_vec_push(net->arena, &norm->outputs, bytes));
  bytes->producer = norm;
  bytes->index = 1;
  quantize->removed = true;
  return bsm_layer_infer(norm);
}

bsm_status bsm_pass_quantize_norms(const bsm_target *target, bsm_network *net,
                                   bsm_arena *scratch) {
  const size_t count = net->layers.len;
  bsm_uses uses;
  BSM_TRY(bsm_uses_compute(net, scratch, &uses));
  for (size_t i = 0; i < count; i++) {
    bsm_layer *layer = net->layers.items[i];
    bsm_grid grid;
    bsm_layer *quantize =
        layer->kind == BSM_LAYER_NORMALIZATION && !layer->removed &&
                layer->outputs.len == 1 &&
                target->ops->fuses(target, BSM_FUSION_BYTES,
                                   layer->outputs.items[0]->dtype)
            ? quantizer_of(&uses, layer, &grid)
            : NULL;
    if (quantize) BSM_TRY(fuse(net, layer, quantize, &grid));
  }
  /* The constants come first. */
  const size_t added = net->layers.len - count;
  bsm_layer **items = net->layers.items;
  bsm_layer **all = BSM_NEW_ARRAY(scratch, bsm_layer *, added + 1);
  BSM_TRY_ALLOC(all);
  memcpy(all, items + count, added * sizeof(*all));
  memmove(items + added, items, count * sizeof(*items));
  memcpy(items, all, added * sizeof(*all));
  return BSM_OK;
}
