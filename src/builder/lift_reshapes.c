/* SPDX-License-Identifier: Apache-2.0 */
/* Moves reshapes of rows from after products to before them, so that what
 * follows can be fused into the product:
 *   reshape(matrix multiply(x, w)) -> matrix multiply(reshape(x), w)
 * where the reshape joins or splits rows and keeps the columns, and w is one
 * matrix. Models that flatten their rows for each product (GPT-2's Conv1D) also
 * flatten x before it, and the two reshapes become one:
 *   reshape(reshape(x)) -> reshape(x)
 * Decomposed programs do the same with batches (bmm):
 *   reshape(matrix multiply(reshape(a), reshape(b))) -> matrix multiply(a, b)
 * where the reshapes join the leading dimensions and split them again. A
 * permutation that moves only dimensions of size 1 counts as a reshape.
 * Requires nothing. The pass remove_identities removes reshapes that keep the
 * shape. */
#include "aten/tensor.h"
#include "builder/passes.h"
#include "builder/uses.h"

typedef struct lifting {
  bsm_network *net;
  bsm_arena *scratch;
  bsm_uses uses;
  BSM_VEC(bsm_layer *) layers; /* the new order */
} lifting;

/* Whether the dimensions of `dims` that are not 1 stay in their order. */
static bool keeps_order(bsm_dims perm, bsm_dims dims) {
  int64_t last = -1;
  for (int32_t i = 0; i < perm.rank; i++) {
    if (dims.d[perm.d[i]] == 1) continue;
    if (perm.d[i] < last) return false;
    last = perm.d[i];
  }
  return true;
}

/* Shuffles that move nothing become reshapes. */
static void simplify(bsm_layer *layer) {
  if (layer->kind != BSM_LAYER_SHUFFLE || layer->removed) return;
  const bsm_dims in = layer->inputs.items[0]->dims;
  const bool first = layer->p.shuffle.has_first;
  if (first && !keeps_order(layer->p.shuffle.first_transpose, in)) return;
  if (layer->p.shuffle.has_second) {
    bsm_dims middle = in;
    const bsm_dims perm = layer->p.shuffle.first_transpose;
    for (int32_t i = 0; first && i < perm.rank; i++) {
      middle.d[i] = in.d[perm.d[i]];
    }
    if (layer->p.shuffle.has_reshape) middle = layer->p.shuffle.reshape;
    if (!keeps_order(layer->p.shuffle.second_transpose, middle)) return;
  }
  layer->p.shuffle.has_first = layer->p.shuffle.has_second = false;
  layer->p.shuffle.has_reshape = true;
  layer->p.shuffle.reshape = layer->outputs.items[0]->dims;
}

/* Whether a shuffle only changes dims. */
static bool is_reshape(const bsm_layer *layer) {
  return layer && !layer->removed && layer->kind == BSM_LAYER_SHUFFLE &&
         layer->p.shuffle.has_reshape && !layer->p.shuffle.has_first &&
         !layer->p.shuffle.has_second;
}

/* The reshape of the product's rows, if it is the only reader; otherwise NULL.
 */
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

/* Lets the product read operand `side` reshaped to `dims`. */
static bsm_status read_as(lifting *l, bsm_layer *product, size_t side,
                          bsm_dims dims) {
  bsm_layer *shuffle =
      bsm_network_add_shuffle(l->net, product->inputs.items[side]);
  if (shuffle) bsm_shuffle_set_reshape_dimensions(shuffle, dims);
  BSM_TRY(bsm_network_take_error(l->net));
  if (!shuffle) return BSM_FAIL_OOM();
  l->net->layers.len--; /* placed in the new order */
  shuffle->name = product->name;
  shuffle->source = product->source;
  product->inputs.items[side] = shuffle->outputs.items[0];
  BSM_TRY_ALLOC(bsm_vec_push(l->scratch, &l->layers, shuffle));
  return BSM_OK;
}

/* Lets the product make the tensor that the reshape after it made. */
static bsm_status replace(bsm_layer *product, bsm_layer *behind) {
  bsm_itensor *y = behind->outputs.items[0];
  product->outputs.items[0] = y;
  y->producer = product;
  behind->removed = true;
  return bsm_layer_infer(product);
}

/* Lets the product read its left operand through a reshape. */
static bsm_status lift(lifting *l, bsm_layer *product, bsm_layer *behind) {
  const bsm_itensor *x = product->inputs.items[0];
  bsm_dims dims = behind->outputs.items[0]->dims;
  dims.d[dims.rank - 1] = x->dims.d[x->dims.rank - 1];
  BSM_TRY(read_as(l, product, 0, dims));
  return replace(product, behind);
}

/* The leading dimensions of `to`, the last two of `x`. */
static bsm_dims with_batches(bsm_dims to, const bsm_itensor *x) {
  to.d[to.rank - 2] = x->dims.d[x->dims.rank - 2];
  to.d[to.rank - 1] = x->dims.d[x->dims.rank - 1];
  return to;
}

/* The reshape that splits the batches of a product, if it is the only reader
 * and an operand was split in the same way before it was joined; otherwise
 * NULL. */
static bsm_layer *batches_behind(const lifting *l, const bsm_layer *product) {
  if (product->kind != BSM_LAYER_MATRIX_MULTIPLY ||
      product->p.matrix_multiply.epilogue.has_residual) {
    return NULL;
  }
  const bsm_itensor *y = product->outputs.items[0];
  bsm_layer *reader = bsm_uses_single_reader(&l->uses, y);
  if (!is_reshape(reader) || y->dims.rank != 3) return NULL;
  const bsm_dims to = reader->outputs.items[0]->dims;
  bool split = false;
  for (size_t side = 0; side < 2; side++) {
    const bsm_itensor *x = product->inputs.items[side];
    /* An operand that is broadcast does not change. */
    if (x->dims.rank != 3 || x->dims.d[0] != y->dims.d[0]) return NULL;
    split = split || (is_reshape(x->producer) && to.rank > 3 &&
                      bsm_dims_equal(x->producer->inputs.items[0]->dims,
                                     with_batches(to, x)));
  }
  return split && bsm_dims_equal(to, with_batches(to, y)) ? reader : NULL;
}

static bsm_status lift_batches(lifting *l, bsm_layer *product,
                               bsm_layer *behind) {
  const bsm_dims to = behind->outputs.items[0]->dims;
  for (size_t side = 0; side < 2; side++) {
    const bsm_itensor *x = product->inputs.items[side];
    BSM_TRY(read_as(l, product, side, with_batches(to, x)));
  }
  return replace(product, behind);
}

/* Moves each of the reshapes that follow the product. */
static bsm_status lift_all(lifting *l, bsm_layer *product) {
  for (bsm_layer *behind; (behind = reshape_behind(l, product));) {
    BSM_TRY(lift(l, product, behind));
  }
  bsm_layer *behind = batches_behind(l, product);
  return behind ? lift_batches(l, product, behind) : BSM_OK;
}

/* Makes a reshape of a reshape one reshape. */
static void merge(bsm_layer *layer) {
  while (is_reshape(layer) && is_reshape(layer->inputs.items[0]->producer)) {
    const bsm_layer *first = layer->inputs.items[0]->producer;
    layer->p.shuffle.reshape = layer->outputs.items[0]->dims;
    layer->inputs.items[0] = first->inputs.items[0];
  }
}

bsm_status bsm_pass_lift_reshapes(const bsm_target *target, bsm_network *net,
                                  bsm_arena *scratch) {
  (void)target;
  lifting l = {.net = net, .scratch = scratch};
  const size_t count = net->layers.len;
  BSM_TRY(bsm_uses_compute(net, scratch, &l.uses));
  for (size_t i = 0; i < count; i++) simplify(net->layers.items[i]);
  for (size_t i = 0; i < count; i++) {
    bsm_layer *layer = net->layers.items[i];
    if (layer->removed) continue;
    BSM_TRY_NOTE(lift_all(&l, layer), "in layer %s",
                 layer->name ? layer->name : "?");
    BSM_TRY_ALLOC(bsm_vec_push(scratch, &l.layers, layer));
  }
  net->layers.len = 0;
  for (size_t i = 0; i < l.layers.len; i++) {
    merge(l.layers.items[i]);
    BSM_TRY_ALLOC(bsm_vec_push(net->arena, &net->layers, l.layers.items[i]));
  }
  return BSM_OK;
}
