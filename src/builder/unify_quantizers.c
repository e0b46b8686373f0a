/* SPDX-License-Identifier: Apache-2.0 */
/* Gives what is quantized one form:
 *   quantize(cast to float(x)), x of 16 bits   -> quantize(x)
 *   int8, read by DEQUANTIZE layers alone      -> uint8, all numbers plus 128
 *   QUANTIZE layers of one tensor to one grid  -> one
 *   quantize(dequantize(q)) on one grid        -> q
 * Numbers do not change, and kernels need to know uint8 alone. Between the two
 * of the last, the floats may have been rounded to 16 bits, for a layer that is
 * gone; then they are not.
 * Requires nothing. */
#include <string.h>

#include "builder/passes.h"
#include "builder/quantized_grid.h"
#include "builder/uses.h"

#define SHIFT 128

typedef struct unification {
  bsm_network *net;
  bsm_arena *scratch;
  bsm_uses uses;
  size_t count; /* layers of the network before the pass */
} unification;

/* ---- int8 as uint8 ---- */

/* Whether only layers read `t` that dequantize it. */
static bool is_inner(const unification *u, const bsm_itensor *t) {
  if (u->uses.is_output[t->id]) return false;
  for (uint32_t i = 0; i < u->uses.reader_count[t->id]; i++) {
    const bsm_layer *reader = u->uses.readers[t->id][i];
    bsm_grid grid;
    if (!bsm_dequantize_grid(reader, &grid) || reader->inputs.items[0] != t) {
      return false;
    }
  }
  return true;
}

/* A constant of one element. */
static bsm_itensor *number(unification *u, bsm_dtype dtype, double value) {
  void *data = bsm_arena_alloc(u->net->arena, sizeof(double), sizeof(double));
  if (!data) return NULL;
  const float narrow = (float)value;
  memcpy(data, dtype == BSM_DTYPE_FLOAT ? (const void *)&narrow : &value,
         dtype == BSM_DTYPE_FLOAT ? sizeof(narrow) : sizeof(value));
  const bsm_weights w = {.dtype = dtype, .values = data, .count = 1};
  bsm_layer *layer = bsm_network_add_constant(u->net, (bsm_dims){0}, &w);
  return layer ? bsm_layer_output(layer, 0) : NULL;
}

/* Moves the zero point of a quantizing layer. */
static bsm_status shift_zero(unification *u, bsm_layer *layer, bsm_dtype dtype,
                             int32_t zero) {
  bsm_itensor *t = number(u, dtype, (double)(zero + SHIFT));
  BSM_TRY(bsm_network_take_error(u->net));
  BSM_TRY_ALLOC(t);
  if (layer->inputs.len < 3) {
    BSM_TRY_ALLOC(bsm_vec_push(u->net->arena, &layer->inputs, t));
  }
  layer->inputs.items[2] = t;
  return BSM_OK;
}

static bsm_status shift(unification *u, bsm_layer *quantize) {
  bsm_itensor *q = quantize->outputs.items[0];
  bsm_grid grid;
  if (q->dtype != BSM_DTYPE_INT8 || !bsm_quantize_grid(quantize, &grid) ||
      !is_inner(u, q)) {
    return BSM_OK;
  }
  quantize->p.quantize.dtype = BSM_DTYPE_UINT8;
  quantize->p.quantize.least += SHIFT;
  quantize->p.quantize.greatest += SHIFT;
  BSM_TRY(shift_zero(u, quantize, BSM_DTYPE_FLOAT, grid.zero));
  for (uint32_t i = 0; i < u->uses.reader_count[q->id]; i++) {
    bsm_layer *reader = u->uses.readers[q->id][i];
    if (!bsm_dequantize_grid(reader, &grid)) continue;
    BSM_TRY(shift_zero(u, reader, reader->inputs.items[1]->dtype, grid.zero));
  }
  return bsm_layer_infer(quantize);
}

/* ---- what is quantized twice ---- */

static bool same_quantizer(const bsm_layer *a, const bsm_layer *b) {
  bsm_grid one, other;
  return bsm_quantize_grid(a, &one) && bsm_quantize_grid(b, &other) &&
         bsm_same_grid(&one, &other) && one.least == other.least &&
         one.greatest == other.greatest &&
         a->outputs.items[0]->dtype == b->outputs.items[0]->dtype;
}

/* Lets what reads a later layer of the same kind read the first. */
static bsm_status merge(unification *u, bsm_layer *first) {
  const bsm_itensor *x = first->inputs.items[0];
  for (uint32_t i = 0; i < u->uses.reader_count[x->id]; i++) {
    bsm_layer *other = u->uses.readers[x->id][i];
    if (other == first || other->removed || !same_quantizer(first, other) ||
        u->uses.is_output[other->outputs.items[0]->id]) {
      continue;
    }
    other->removed = true;
    BSM_TRY(bsm_uses_replace(u->net, u->scratch, &u->uses,
                             other->outputs.items[0], first->outputs.items[0]));
  }
  return BSM_OK;
}

/* quantize(dequantize(q)) with the range of q's dtype, which cuts nothing. */
static bsm_status skip(unification *u, bsm_layer *quantize) {
  bsm_grid to, from;
  bsm_itensor *q = bsm_dequantized_from(quantize->inputs.items[0], &from);
  if (!q || !bsm_quantize_grid(quantize, &to) || !bsm_same_grid(&to, &from)) {
    return BSM_OK;
  }
  bsm_grid made = from;
  if (q->producer && q->producer->kind == BSM_LAYER_QUANTIZE &&
      !bsm_quantize_grid(q->producer, &made)) {
    made = from;
  }
  if (q->dtype != quantize->outputs.items[0]->dtype || made.least < to.least ||
      made.greatest > to.greatest) {
    return BSM_OK;
  }
  quantize->removed = true;
  return bsm_uses_replace(u->net, u->scratch, &u->uses,
                          quantize->outputs.items[0], q);
}

/* Puts the constants that were added before all other layers. */
static bsm_status order(unification *u) {
  const size_t total = u->net->layers.len, added = total - u->count;
  bsm_layer **all = BSM_NEW_ARRAY(u->scratch, bsm_layer *, total + 1);
  BSM_TRY_ALLOC(all);
  memcpy(all, u->net->layers.items + u->count, added * sizeof(*all));
  memcpy(all + added, u->net->layers.items, u->count * sizeof(*all));
  memcpy(u->net->layers.items, all, total * sizeof(*all));
  return BSM_OK;
}

/* Quantizing computes in float whatever it reads. */
static void skip_cast(bsm_layer *quantize) {
  const bsm_layer *cast = quantize->inputs.items[0]->producer;
  if (!cast || cast->kind != BSM_LAYER_CAST ||
      quantize->inputs.items[0]->dtype != BSM_DTYPE_FLOAT) {
    return;
  }
  bsm_itensor *x = cast->inputs.items[0];
  if (x->dtype == BSM_DTYPE_HALF || x->dtype == BSM_DTYPE_BFLOAT16) {
    quantize->inputs.items[0] = x;
  }
}

/* Starts a pass; *found: there is anything to do. */
static bsm_status begin(unification *u, bool *found) {
  *found = false;
  for (size_t i = 0; i < u->count; i++) {
    bsm_layer *layer = u->net->layers.items[i];
    if (layer->kind != BSM_LAYER_QUANTIZE || layer->removed) continue;
    skip_cast(layer);
    *found = true;
  }
  return *found ? bsm_uses_compute(u->net, u->scratch, &u->uses) : BSM_OK;
}

/* The second half again, for what move_quantizers has brought together. */
bsm_status bsm_pass_skip_quantizers(const bsm_target *target, bsm_network *net,
                                    bsm_arena *scratch) {
  unification u = {.net = net, .scratch = scratch, .count = net->layers.len};
  bool found;
  (void)target;
  BSM_TRY(begin(&u, &found));
  for (size_t i = 0; found && i < u.count; i++) {
    bsm_layer *layer = net->layers.items[i];
    if (layer->kind != BSM_LAYER_QUANTIZE || layer->removed) continue;
    BSM_TRY(merge(&u, layer));
    BSM_TRY(skip(&u, layer));
  }
  return BSM_OK;
}

bsm_status bsm_pass_unify_quantizers(const bsm_target *target, bsm_network *net,
                                     bsm_arena *scratch) {
  unification u = {.net = net, .scratch = scratch, .count = net->layers.len};
  bool found;
  (void)target;
  BSM_TRY(begin(&u, &found));
  if (!found) return BSM_OK;
  for (size_t i = 0; i < u.count; i++) {
    bsm_layer *layer = net->layers.items[i];
    if (layer->kind != BSM_LAYER_QUANTIZE || layer->removed) continue;
    BSM_TRY(merge(&u, layer));
    BSM_TRY(shift(&u, layer));
    BSM_TRY(skip(&u, layer));
  }
  return order(&u);
}
