/* SPDX-License-Identifier: Apache-2.0 */
/* Takes reshapes of rows from behind products, so that what follows them can
 * go into the product:
 *   reshape(matrix multiply(x, w)) -> matrix multiply(reshape(x), w)
 * where the reshape joins or splits rows and keeps the columns, and w is one
 * matrix. Models that flatten their rows for each product (GPT-2's Conv1D) have
 * flattened x before, and the two reshapes together are none:
 *   reshape(reshape(x)) -> reshape(x)
 * Requires nothing. The pass remove_identities takes what keeps its shape. */
#include "aten/tensor.h"
#include "builder/passes.h"
#include "builder/uses.h"

typedef struct lifting {
  bsm_network *net;
  bsm_arena *scratch;
  bsm_uses uses;
  BSM_VEC(bsm_layer *) layers; /* the new order */
} lifting;

/* A shuffle that only gives other dims. */
static bool is_reshape(const bsm_layer *layer) {
  return layer && !layer->removed && layer->kind == BSM_LAYER_SHUFFLE &&
         layer->p.shuffle.has_reshape && !layer->p.shuffle.has_first &&
         !layer->p.shuffle.has_second;
}

/* The reshape of the product's rows that is its only reader, or NULL. */
static bsm_layer *reshape_behind(const lifting *l, const bsm_layer *product) {
  if (product->kind != BSM_LAYER_MATRIX_MULTIPLY ||
      product->p.matrix_multiply.op_a != BSM_MATRIX_NONE ||
      product->p.matrix_multiply.epilogue.has_residual ||
      product->inputs.items[1]->dims.rank != 2) {
    return NULL;
  }
  const bsm_itensor *y = product->outputs.items[0];
  bsm_layer *reader = bsm_uses_single_reader(&l->uses, y);
  if (!is_reshape(reader)) return NULL;
  const bsm_dims from = y->dims, to = reader->outputs.items[0]->dims;
  return from.rank >= 2 && to.rank >= 2 &&
                 from.d[from.rank - 1] == to.d[to.rank - 1]
             ? reader
             : NULL;
}

/* The product reads its left operand through a reshape, and makes what the
 * reshape behind it made. */
static bsm_status lift(lifting *l, bsm_layer *product, bsm_layer *behind) {
  bsm_itensor *x = product->inputs.items[0];
  bsm_itensor *y = behind->outputs.items[0];
  bsm_dims dims = y->dims;
  dims.d[dims.rank - 1] = x->dims.d[x->dims.rank - 1];
  bsm_layer *shuffle = bsm_network_add_shuffle(l->net, x);
  if (shuffle) bsm_shuffle_set_reshape_dimensions(shuffle, dims);
  BSM_TRY(bsm_network_take_error(l->net));
  if (!shuffle) return BSM_FAIL_OOM();
  l->net->layers.len--; /* placed by the new order */
  shuffle->name = product->name;
  shuffle->source = product->source;
  product->inputs.items[0] = shuffle->outputs.items[0];
  product->outputs.items[0] = y;
  y->producer = product;
  behind->removed = true;
  BSM_TRY_ALLOC(bsm_vec_push(l->scratch, &l->layers, shuffle));
  return bsm_layer_infer(product);
}

/* A reshape of a reshape is one. */
static void merge(bsm_layer *layer) {
  while (is_reshape(layer) && is_reshape(layer->inputs.items[0]->producer)) {
    const bsm_layer *first = layer->inputs.items[0]->producer;
    layer->p.shuffle.reshape = layer->outputs.items[0]->dims;
    layer->inputs.items[0] = first->inputs.items[0];
  }
}

bsm_status bsm_pass_lift_reshapes(bsm_network *net, bsm_arena *scratch) {
  lifting l = {.net = net, .scratch = scratch};
  const size_t count = net->layers.len;
  BSM_TRY(bsm_uses_compute(net, scratch, &l.uses));
  for (size_t i = 0; i < count; i++) {
    bsm_layer *layer = net->layers.items[i];
    if (layer->removed) continue;
    bsm_layer *behind = reshape_behind(&l, layer);
    if (behind) {
      BSM_TRY_NOTE(lift(&l, layer, behind), "in layer %s",
                   layer->name ? layer->name : "?");
    }
    BSM_TRY_ALLOC(bsm_vec_push(scratch, &l.layers, layer));
  }
  net->layers.len = 0;
  for (size_t i = 0; i < l.layers.len; i++) {
    merge(l.layers.items[i]);
    BSM_TRY_ALLOC(bsm_vec_push(net->arena, &net->layers, l.layers.items[i]));
  }
  return BSM_OK;
}
