/* SPDX-License-Identifier: Apache-2.0 */
/* Moves permutations of rows past products with one matrix, so that products
 * read rows that follow each other, and what follows can be fused into them:
 *   permute(matrix multiply(permute(x), w)) -> matrix multiply(permute(x), w)
 *   matrix multiply(permute(x), w) -> permute(matrix multiply(x, w))
 * where columns stay where they are; in the former the two permutations become
 * one, which may be none. And permutations behind what splits dimensions, so
 * that nothing is joined that is split again, and views need no copies:
 *   reshape(permute(reshape(x))) -> permute(reshape(x))
 * This is how attention of torch.nn is traced: sequences come first in it, and
 * batches and heads are one dimension. Requires nothing; runs after
 * fuse_attention, which knows these forms as they are. */
#include "aten/tensor.h"
#include "builder/passes.h"
#include "builder/uses.h"

typedef struct moving {
  bsm_network *net;
  bsm_arena *scratch;
  bsm_uses uses;
  BSM_VEC(bsm_layer *) layers; /* the new order */
} moving;

static bool is_shuffle(const bsm_layer *layer) {
  return layer && !layer->removed && layer->kind == BSM_LAYER_SHUFFLE &&
         !layer->p.shuffle.has_second;
}

static bool is_permutation(const bsm_layer *layer) {
  return is_shuffle(layer) && layer->p.shuffle.has_first &&
         !layer->p.shuffle.has_reshape;
}

static bool is_reshape(const bsm_layer *layer) {
  return is_shuffle(layer) && layer->p.shuffle.has_reshape &&
         !layer->p.shuffle.has_first;
}

/* Permutes rows, and no columns. */
static bool permutes_rows(const bsm_layer *layer) {
  if (!is_permutation(layer)) return false;
  const bsm_dims p = layer->p.shuffle.first_transpose;
  return p.rank > 1 && p.d[p.rank - 1] == p.rank - 1;
}

static bool is_product(const bsm_layer *layer) {
  return layer->kind == BSM_LAYER_MATRIX_MULTIPLY &&
         layer->p.matrix_multiply.op_a == BSM_MATRIX_NONE &&
         !layer->p.matrix_multiply.epilogue.has_residual &&
         layer->inputs.items[1]->dims.rank == 2;
}

/* A shuffle of x for `layer`, in front of it in the new order. */
static bsm_status add_shuffle(moving *m, const bsm_layer *layer, bsm_itensor *x,
                              bsm_layer **out) {
  bsm_layer *shuffle = bsm_network_add_shuffle(m->net, x);
  BSM_TRY(bsm_network_take_error(m->net));
  if (!shuffle) return BSM_FAIL_OOM();
  m->net->layers.len--; /* placed in the new order */
  shuffle->name = layer->name;
  shuffle->source = layer->source;
  *out = shuffle;
  return BSM_OK;
}

/* A shuffle that has been set up takes the place of x. */
static bsm_status put_shuffle(moving *m, bsm_layer *shuffle, bsm_itensor **x) {
  *x = shuffle->outputs.items[0];
  BSM_TRY_ALLOC(bsm_vec_push(m->scratch, &m->layers, shuffle));
  return bsm_network_take_error(m->net);
}

static bsm_status add_permutation(moving *m, const bsm_layer *layer,
                                  bsm_itensor **x, bsm_dims permutation) {
  bsm_layer *shuffle;
  BSM_TRY(add_shuffle(m, layer, *x, &shuffle));
  bsm_shuffle_set_first_transpose(shuffle, permutation);
  return put_shuffle(m, shuffle, x);
}

static bsm_status add_reshape(moving *m, const bsm_layer *layer,
                              bsm_itensor **x, bsm_dims dims) {
  bsm_layer *shuffle;
  BSM_TRY(add_shuffle(m, layer, *x, &shuffle));
  bsm_shuffle_set_reshape_dimensions(shuffle, dims);
  return put_shuffle(m, shuffle, x);
}

/* ---- from behind a product to before it ---- */

/* The permutation that makes x, which a reshape of its columns may follow; NULL
 * where there is none. */
static bsm_layer *permutation_of(const bsm_itensor *x) {
  bsm_layer *from = x->producer;
  if (!is_reshape(from)) return is_permutation(from) ? from : NULL;
  const bsm_itensor *whole = from->inputs.items[0];
  if (!is_permutation(whole->producer) || whole->dims.rank < x->dims.rank) {
    return NULL;
  }
  for (int32_t i = 0; i + 1 < x->dims.rank; i++) {
    if (whole->dims.d[i] != x->dims.d[i]) return NULL;
  }
  return whole->producer;
}

/* The permutation of the product's rows that is its only reader, when x is made
 * by one, too; otherwise NULL. */
static bsm_layer *permutation_behind(const moving *m,
                                     const bsm_layer *product) {
  if (!is_product(product)) return NULL;
  const bsm_itensor *y = product->outputs.items[0];
  bsm_layer *reader = bsm_uses_single_reader(&m->uses, y);
  return permutes_rows(reader) && permutation_of(product->inputs.items[0])
             ? reader
             : NULL;
}

static bsm_status lift(moving *m, bsm_layer *product, bsm_layer *behind) {
  bsm_itensor *x = product->inputs.items[0];
  const bsm_layer *before = permutation_of(x);
  const bsm_dims first = before->p.shuffle.first_transpose;
  const bsm_dims second = behind->p.shuffle.first_transpose;
  bsm_dims both = first, dims = behind->outputs.items[0]->dims;
  for (int32_t i = 0; i + 1 < second.rank; i++) {
    both.d[i] = first.d[second.d[i]];
  }
  dims.d[dims.rank - 1] = x->dims.d[x->dims.rank - 1];
  x = before->inputs.items[0];
  BSM_TRY(add_permutation(m, product, &x, both));
  if (both.rank != dims.rank) BSM_TRY(add_reshape(m, product, &x, dims));
  product->inputs.items[0] = x;
  bsm_itensor *y = behind->outputs.items[0];
  product->outputs.items[0] = y;
  y->producer = product;
  behind->removed = true;
  return bsm_layer_infer(product);
}

/* ---- from before a product to behind it ---- */

static bsm_status sink(moving *m, bsm_layer *product) {
  const bsm_layer *before = product->inputs.items[0]->producer;
  bsm_itensor *y = product->outputs.items[0];
  bsm_layer *shuffle;
  BSM_TRY(add_shuffle(m, product, y, &shuffle));
  /* The two exchange what they make, so that readers keep what they read. */
  bsm_itensor *own = shuffle->outputs.items[0];
  own->name = y->name;
  product->inputs.items[0] = before->inputs.items[0];
  product->outputs.items[0] = own;
  own->producer = product;
  shuffle->inputs.items[0] = own;
  shuffle->outputs.items[0] = y;
  y->producer = shuffle;
  BSM_TRY(bsm_layer_infer(product));
  bsm_shuffle_set_first_transpose(shuffle, before->p.shuffle.first_transpose);
  BSM_TRY(bsm_network_take_error(m->net));
  BSM_TRY_ALLOC(bsm_vec_push(m->scratch, &m->layers, product));
  BSM_TRY_ALLOC(bsm_vec_push(m->scratch, &m->layers, shuffle));
  return BSM_OK;
}

/* ---- behind what splits dimensions ---- */

/* Which dimensions of `to` each one of `from` is split into: begin[i] up to
 * begin[i + 1]. False: they are joined, too. */
static bool split_of(bsm_dims from, bsm_dims to,
                     int32_t begin[BSM_MAX_RANK + 1]) {
  int32_t at = 0;
  for (int32_t i = 0; i < from.rank; i++) {
    int64_t size = 1;
    begin[i] = at;
    while (size != from.d[i]) {
      if (at == to.rank || to.d[at] == 0 || from.d[i] % to.d[at] != 0) {
        return false;
      }
      size *= to.d[at++];
      if (size > from.d[i]) return false;
    }
  }
  while (at < to.rank && to.d[at] == 1) at++;
  begin[from.rank] = at;
  return at == to.rank && from.rank > 0;
}

static bsm_status split_early(moving *m, bsm_layer *layer) {
  const bsm_layer *permutation =
      is_reshape(layer) ? layer->inputs.items[0]->producer : NULL;
  if (!is_permutation(permutation)) return BSM_OK;
  const bsm_layer *joins = permutation->inputs.items[0]->producer;
  const bsm_dims to = layer->outputs.items[0]->dims;
  int32_t begin[BSM_MAX_RANK + 1], place[BSM_MAX_RANK];
  if (!is_reshape(joins) ||
      !split_of(layer->inputs.items[0]->dims, to, begin)) {
    return BSM_OK;
  }
  const bsm_dims order = permutation->p.shuffle.first_transpose;
  for (int32_t i = 0; i < order.rank; i++) place[order.d[i]] = i;
  bsm_dims dims = {.rank = to.rank}, moved = {.rank = to.rank};
  int32_t count = 0;
  for (int32_t k = 0; k < order.rank; k++) {
    for (int32_t i = begin[place[k]]; i < begin[place[k] + 1]; i++) {
      moved.d[i] = count;
      dims.d[count++] = to.d[i];
    }
  }
  bsm_itensor *x = joins->inputs.items[0];
  BSM_TRY(add_reshape(m, layer, &x, dims));
  layer->inputs.items[0] = x;
  layer->p.shuffle.has_reshape = false;
  bsm_shuffle_set_first_transpose(layer, moved);
  return bsm_network_take_error(m->net);
}

/* ---- the pass ---- */

static bsm_status move(moving *m, bsm_layer *layer) {
  for (bsm_layer *behind; (behind = permutation_behind(m, layer));) {
    BSM_TRY(lift(m, layer, behind));
  }
  if (is_product(layer) && permutes_rows(layer->inputs.items[0]->producer)) {
    return sink(m, layer);
  }
  BSM_TRY(split_early(m, layer));
  BSM_TRY_ALLOC(bsm_vec_push(m->scratch, &m->layers, layer));
  return BSM_OK;
}

bsm_status bsm_pass_move_permutations(const bsm_target *target,
                                      bsm_network *net, bsm_arena *scratch) {
  (void)target;
  moving m = {.net = net, .scratch = scratch};
  const size_t count = net->layers.len;
  BSM_TRY(bsm_uses_compute(net, scratch, &m.uses));
  for (size_t i = 0; i < count; i++) {
    bsm_layer *layer = net->layers.items[i];
    if (layer->removed) continue;
    BSM_TRY_NOTE(move(&m, layer), "in layer %s",
                 layer->name ? layer->name : "?");
  }
  net->layers.len = 0;
  for (size_t i = 0; i < m.layers.len; i++) {
    BSM_TRY_ALLOC(bsm_vec_push(net->arena, &net->layers, m.layers.items[i]));
  }
  return BSM_OK;
}
