/* SPDX-License-Identifier: Apache-2.0 */
/* Makes attention layers of
 *   scores = matrix multiply(q, k^T)
 *   scores = scores * scale, scores / scale          (or q or k before it)
 *   scores = scores + bias                           (at most two)
 *   scores = mask ? scores : fill, mask ? fill : scores
 *   p = softmax(scores)
 *   p = every score is -inf ? 0 : p, or no score is not -inf ? 0 : p
 *   y = matrix multiply(p, v)
 * where no other layer reads the tensors in between. Between the additions the
 * first dimension may be split in two and joined again, as windowed attention
 * does. A constant mask that hides the keys after the query becomes `causal`;
 * one that hides nothing is dropped.
 *
 * Requires: float; scores and y have the same leading dimensions. Runs before
 * scales and activations are fused into products. The layers in between are
 * removed as unused. */
#include <math.h>

#include "builder/constants.h"
#include "builder/passes.h"
#include "builder/uses.h"

/* Adding this or less to a score hides it: its softmax is 0. */
#define HIDDEN (-1e30f)

#define MAX_BIASES 2

/* What was found on the walk from the last product to the first. */
typedef struct pattern {
  bsm_layer *last, *first; /* the products */
  bsm_itensor *q, *k;
  bsm_itensor *biases[MAX_BIASES], *mask;
  int32_t bias_count;
  bool hides, causal, clears_hidden;
  /* A causal mask that adds or fills in a finite number, or NULL. Together with
   * another mask, a query may see only hidden keys; with a finite number their
   * scores still count. */
  bsm_itensor *finite_bias, *finite_mask;
  int64_t diagonal, split;
  double scale, fill;
} pattern;

typedef struct fusion {
  const bsm_target *target;
  bsm_network *net;
  const bsm_uses *uses;
  pattern p;
  bool scaled; /* the walk has passed a factor: masks may not come before it */
  bool in_split; /* the walk is where the first dimension is split in two */
} fusion;

/* ---- constants ---- */

/* The constant behind a tensor of floats. */
static const bsm_weights *numbers_of(const bsm_itensor *t) {
  return bsm_dtype_is_floating(t->dtype) ? bsm_constant_of(t, t->dtype) : NULL;
}

static bool scalar_of(const bsm_itensor *t, double *value) {
  const bsm_weights *w = numbers_of(t);
  if (!w || w->count != 1) return false;
  *value = bsm_constant_number(w, 0);
  return true;
}

/* How many keys each row of a constant mask sees, when these are the first
 * keys; otherwise -1. `hidden` says whether element i is hidden. */
typedef bool hidden_fn(const bsm_weights *mask, int64_t i, bool hides);

static bool hidden_by_bool(const bsm_weights *mask, int64_t i, bool hides) {
  return (((const uint8_t *)mask->values)[i] != 0) == hides;
}

static bool hidden_by_sum(const bsm_weights *mask, int64_t i, bool hides) {
  (void)hides;
  return bsm_constant_number(mask, i) <= HIDDEN;
}

static int64_t first_keys(const bsm_weights *mask, int64_t row, int64_t keys,
                          hidden_fn *hidden, bool hides) {
  int64_t n = 0;
  while (n < keys && !hidden(mask, row * keys + n, hides)) n++;
  for (int64_t j = n; j < keys; j++) {
    if (!hidden(mask, row * keys + j, hides)) return -1;
  }
  return n;
}

/* Whether a constant [1.., rows, keys] lets row i see the keys up to i +
 * *diagonal. Each row has to see at least one key. */
static bool is_causal(const bsm_itensor *t, const bsm_weights *w,
                      hidden_fn *hidden, bool hides, int64_t *diagonal) {
  const int32_t r = t->dims.rank;
  if (r < 2 || w->count < 1) return false;
  const int64_t rows = t->dims.d[r - 2], keys = t->dims.d[r - 1];
  if (w->count != rows * keys) return false;
  *diagonal = first_keys(w, 0, keys, hidden, hides) - 1;
  if (*diagonal < 0) return false;
  for (int64_t i = 0; i < rows; i++) {
    const int64_t expected =
        i + *diagonal + 1 < keys ? i + *diagonal + 1 : keys;
    if (first_keys(w, i, keys, hidden, hides) != expected) {
      return false;
    }
  }
  return true;
}

/* Whether the mask leaves the visible scores unchanged. *infinite: the others
 * become -inf. */
static bool adds_nothing(const bsm_weights *w, bool *infinite) {
  *infinite = true;
  for (int64_t i = 0; i < w->count; i++) {
    const double value = bsm_constant_number(w, i);
    if (value != 0.0 && !(value <= HIDDEN)) return false;
    *infinite = *infinite && (value == 0.0 || isinf(value));
  }
  return true;
}

static bool take_causal(fusion *f, const bsm_itensor *t, const bsm_weights *w,
                        hidden_fn *hidden, bool hides) {
  int64_t diagonal;
  const int64_t rows = f->p.last->outputs.items[0]
                           ->dims.d[f->p.last->outputs.items[0]->dims.rank - 2];
  const int32_t r = t->dims.rank;
  if (f->p.causal || !is_causal(t, w, hidden, hides, &diagonal) ||
      t->dims.d[r - 2] != rows) {
    return false;
  }
  f->p.causal = true;
  f->p.diagonal = diagonal;
  return true;
}

/* ---- the walk ---- */

/* The layer that makes `t`, when `t` has only one reader; otherwise NULL. */
static bsm_layer *only_for_one(const fusion *f, const bsm_itensor *t) {
  return bsm_uses_single_reader(f->uses, t) ? t->producer : NULL;
}

/* Whether a mask broadcasts to scores that are [.., d / n, n, ..] too: outside
 * of the split it has to be the same along the first dimension. */
static bool fits_split(const fusion *f, const bsm_itensor *mask,
                       const bsm_itensor *scores) {
  if (f->in_split || mask->dims.rank < scores->dims.rank) return true;
  return scores->dims.rank > 2 ? mask->dims.d[0] == 1 : !f->p.split;
}

static bool take_bias(fusion *f, bsm_itensor *bias, const bsm_itensor *scores) {
  const bsm_weights *w = numbers_of(bias);
  bool infinite;
  if (f->scaled || bias->dtype != scores->dtype ||
      f->p.bias_count == MAX_BIASES ||
      (f->p.split && !fits_split(f, bias, scores))) {
    return false;
  }
  if (w && adds_nothing(w, &infinite) &&
      take_causal(f, bias, w, hidden_by_sum, true)) {
    if (!infinite) f->p.finite_bias = bias;
    return true;
  }
  f->p.biases[f->p.bias_count++] = bias;
  return true;
}

static bool take_mask(fusion *f, bsm_itensor *mask, const bsm_itensor *scores,
                      bool hides, double fill) {
  const bsm_weights *w = bsm_constant_of(mask, BSM_DTYPE_BOOL);
  if (f->scaled || (f->p.split && !fits_split(f, mask, scores))) return false;
  if (w && fill <= (double)HIDDEN &&
      take_causal(f, mask, w, hidden_by_bool, hides)) {
    if (!isinf(fill)) f->p.finite_mask = mask;
    return true;
  }
  /* The step adds biases before it masks, so no bias may follow the mask. */
  if (f->p.mask || f->p.bias_count) return false;
  f->p.mask = mask;
  f->p.hides = hides;
  f->p.fill = fill;
  return true;
}

/* A finite causal mask together with other masks becomes an ordinary one. */
static bool keep_finite_mask(fusion *f) {
  const bool alone = f->p.bias_count == 0 && !f->p.mask;
  if (alone || (!f->p.finite_bias && !f->p.finite_mask)) return true;
  if (f->p.finite_mask || f->p.bias_count == MAX_BIASES) return false;
  f->p.biases[f->p.bias_count++] = f->p.finite_bias;
  f->p.causal = false;
  return true;
}

/* Whether a layer is x * c, c * x or x / c with a constant c; sets *x and the
 * factor. */
static bool scaled_by(const bsm_layer *layer, bsm_itensor **x, double *factor) {
  if (!layer || layer->kind != BSM_LAYER_ELEMENT_WISE) return false;
  const bsm_element_wise_operation operation = layer->p.element_wise.operation;
  bsm_itensor *a = layer->inputs.items[0], *b = layer->inputs.items[1];
  double value;
  if (operation == BSM_ELEMENT_WISE_PROD && scalar_of(a, &value)) {
    *x = b;
  } else if ((operation == BSM_ELEMENT_WISE_PROD ||
              operation == BSM_ELEMENT_WISE_DIV) &&
             scalar_of(b, &value)) {
    *x = a;
  } else {
    return false;
  }
  *factor = operation == BSM_ELEMENT_WISE_DIV ? 1 / value : value;
  return isfinite(*factor) &&
         bsm_dims_equal((*x)->dims, layer->outputs.items[0]->dims);
}

/* Of the operands of a sum or select, one is the scores and the other a mask.
 * The scores have the dims of the result, and a product makes them. */
static bool may_be_scores(const fusion *f, const bsm_itensor *t,
                          const bsm_layer *layer) {
  return t->dtype == layer->outputs.items[0]->dtype &&
         bsm_dims_equal(t->dims, layer->outputs.items[0]->dims) &&
         only_for_one(f, t) && t->producer->kind != BSM_LAYER_CONSTANT;
}

/* A reshape of the scores that splits the first dimension d into [d / n, n], or
 * joins it again. (The walk goes backwards, so it meets the joining first.) */
static bool take_reshape(fusion *f, const bsm_layer *layer) {
  if (!layer->p.shuffle.has_reshape || layer->p.shuffle.has_first ||
      layer->p.shuffle.has_second) {
    return false;
  }
  const bsm_dims from = layer->inputs.items[0]->dims;
  const bsm_dims to = layer->outputs.items[0]->dims;
  const bsm_dims *wide = from.rank > to.rank ? &from : &to;
  const bsm_dims *narrow = from.rank > to.rank ? &to : &from;
  if (wide->rank != narrow->rank + 1 || narrow->rank < 3 ||
      wide->d[0] * wide->d[1] != narrow->d[0]) {
    return false;
  }
  for (int32_t i = 1; i < narrow->rank; i++) {
    if (narrow->d[i] != wide->d[i + 1]) return false;
  }
  if (from.rank > to.rank) { /* before this reshape the dimension is split */
    if (f->p.split || f->in_split || f->p.bias_count || f->p.mask ||
        f->p.causal) {
      return false;
    }
    f->p.split = wide->d[1];
    f->in_split = true;
    return wide->d[1] > 0;
  }
  if (!f->in_split) return false;
  f->in_split = false;
  return true;
}

/* Takes the operand that is a mask; *next is the scores before it. */
static bool take_step(fusion *f, const bsm_layer *layer, bsm_itensor **next) {
  bsm_itensor *x;
  double value;
  if (layer->kind == BSM_LAYER_SHUFFLE) {
    *next = layer->inputs.items[0];
    return take_reshape(f, layer);
  }
  if (layer->kind == BSM_LAYER_SELECT) {
    bsm_itensor *mask = layer->inputs.items[0];
    bsm_itensor *yes = layer->inputs.items[1], *no = layer->inputs.items[2];
    const bool hides = scalar_of(yes, &value);
    if (!hides && !scalar_of(no, &value)) return false;
    *next = hides ? no : yes;
    return may_be_scores(f, *next, layer) &&
           take_mask(f, mask, *next, hides, value);
  }
  if (scaled_by(layer, &x, &value)) {
    f->p.scale *= value;
    f->scaled = true;
    *next = x;
    return true;
  }
  if (layer->kind != BSM_LAYER_ELEMENT_WISE ||
      layer->p.element_wise.operation != BSM_ELEMENT_WISE_SUM) {
    return false;
  }
  /* The scores are the operand that a product makes. */
  for (size_t side = 0; side < 2; side++) {
    bsm_itensor *t = layer->inputs.items[side];
    if (!may_be_scores(f, t, layer)) continue;
    const bsm_layer *p = t->producer;
    if (p->kind != BSM_LAYER_MATRIX_MULTIPLY &&
        p->kind != BSM_LAYER_ELEMENT_WISE && p->kind != BSM_LAYER_SELECT &&
        p->kind != BSM_LAYER_SHUFFLE) {
      continue;
    }
    *next = t;
    return take_bias(f, layer->inputs.items[1 - side], t);
  }
  return false;
}

/* A product without anything fused into it. */
static bool is_plain_product(const fusion *f, const bsm_layer *layer) {
  return layer && layer->kind == BSM_LAYER_MATRIX_MULTIPLY && !layer->removed &&
         layer->p.matrix_multiply.bias.count == 0 &&
         !layer->p.matrix_multiply.epilogue.has_residual &&
         layer->p.matrix_multiply.epilogue.activation == BSM_ACTIVATION_NONE &&
         f->target->ops->fuses(f->target, BSM_FUSION_ATTENTION,
                               layer->outputs.items[0]->dtype);
}

/* Walks from the scores that the softmax reads to the first product. */
static bool walk(fusion *f, bsm_itensor *scores) {
  bsm_layer *layer = scores->producer;
  for (int steps = 0; layer && steps < 16; steps++) {
    if (is_plain_product(f, layer)) {
      f->p.first = layer;
      f->p.scale *= layer->p.matrix_multiply.scale;
      return !f->in_split;
    }
    bsm_itensor *next;
    if (layer->removed || !take_step(f, layer, &next)) return false;
    layer = only_for_one(f, next);
  }
  return false;
}

/* What a cast from one floating dtype to another reads, when `t` has only one
 * reader; otherwise `t`. */
static const bsm_itensor *before_cast(const fusion *f, const bsm_itensor *t) {
  const bsm_layer *layer = only_for_one(f, t);
  return layer && layer->kind == BSM_LAYER_CAST &&
                 bsm_dtype_is_floating(t->dtype) &&
                 bsm_dtype_is_floating(layer->inputs.items[0]->dtype)
             ? layer->inputs.items[0]
             : t;
}

/* Whether all elements are 0. */
static bool is_zero(const fusion *f, const bsm_itensor *t) {
  t = before_cast(f, t);
  const bsm_weights *w = numbers_of(t);
  const bsm_layer *layer = t->producer;
  if (layer && layer->kind == BSM_LAYER_FILL) {
    return bsm_dtype_is_floating(t->dtype) && layer->p.fill.value == 0;
  }
  for (int64_t i = 0; w && i < w->count; i++) {
    if (bsm_constant_number(w, i) != 0.0) return false;
  }
  return w && w->count > 0;
}

/* The tensor whose negation `t` is, when `t` has only one reader; otherwise
 * NULL. */
static const bsm_itensor *negated(const fusion *f, const bsm_itensor *t) {
  const bsm_layer *layer = only_for_one(f, t);
  return layer && layer->kind == BSM_LAYER_UNARY &&
                 layer->p.unary.operation == BSM_UNARY_NOT
             ? layer->inputs.items[0]
             : NULL;
}

/* The comparison behind `t`, when `t` says whether all scores of a row are
 * -inf: all(x == -inf), or not(any(not(x == -inf))); otherwise NULL. */
static const bsm_layer *comparison_behind(const fusion *f,
                                          const bsm_itensor *t) {
  const bsm_itensor *inner = negated(f, t);
  const bsm_layer *reduce = only_for_one(f, inner ? inner : t);
  const bsm_reduce_operation operation =
      inner ? BSM_REDUCE_ANY : BSM_REDUCE_ALL;
  if (!reduce || reduce->kind != BSM_LAYER_REDUCE ||
      reduce->p.reduce.operation != operation || !reduce->p.reduce.keep_dims) {
    return NULL;
  }
  const bsm_itensor *row = reduce->inputs.items[0];
  if (reduce->p.reduce.axes != 1u << (unsigned)(row->dims.rank - 1)) {
    return NULL;
  }
  if (inner) row = negated(f, row);
  const bsm_layer *equal = row ? only_for_one(f, row) : NULL;
  return equal && equal->kind == BSM_LAYER_ELEMENT_WISE &&
                 equal->p.element_wise.operation == BSM_ELEMENT_WISE_EQUAL
             ? equal
             : NULL;
}

/* The softmax behind `t`, over the last axis; with `clears_hidden` through
 *   select(all(scores == -inf), 0, softmax(scores)). */
static bsm_layer *softmax_behind(fusion *f, const bsm_itensor *t) {
  bsm_layer *layer = only_for_one(f, t);
  double value;
  if (layer && layer->kind == BSM_LAYER_SELECT) {
    const bsm_layer *equal = comparison_behind(f, layer->inputs.items[0]);
    bsm_layer *softmax = only_for_one(f, layer->inputs.items[2]);
    if (!softmax || softmax->kind != BSM_LAYER_SOFTMAX || !equal ||
        !is_zero(f, layer->inputs.items[1]) ||
        before_cast(f, equal->inputs.items[0]) != softmax->inputs.items[0] ||
        !scalar_of(equal->inputs.items[1], &value) || value != -INFINITY ||
        !bsm_dims_equal(softmax->outputs.items[0]->dims, t->dims)) {
      return NULL;
    }
    f->p.clears_hidden = true;
    layer = softmax;
  }
  if (!layer || layer->kind != BSM_LAYER_SOFTMAX || layer->p.softmax.log ||
      layer->p.softmax.axis != t->dims.rank - 1) {
    return NULL;
  }
  return layer;
}

/* Whether only the softmax and the comparison read the scores. */
static bool scores_are_inner(const fusion *f, const bsm_itensor *scores) {
  const uint32_t readers = f->p.clears_hidden ? 2 : 1;
  return !f->uses->is_output[scores->id] &&
         f->uses->reader_count[scores->id] == readers;
}

/* A factor of q or k before the product becomes part of the scale of the
 * scores. */
static bsm_itensor *without_scale(fusion *f, bsm_itensor *t) {
  bsm_itensor *x;
  double factor;
  const bsm_layer *layer = only_for_one(f, t);
  if (!scaled_by(layer, &x, &factor)) return t;
  f->p.scale *= factor;
  return x;
}

static bool match(fusion *f, bsm_layer *last) {
  const bsm_itensor *y = last->outputs.items[0];
  f->p = (pattern){.last = last, .scale = 1};
  f->scaled = f->in_split = false;
  if (!is_plain_product(f, last) || last->p.matrix_multiply.scale != 1 ||
      last->p.matrix_multiply.op_a != BSM_MATRIX_NONE) {
    return false;
  }
  const bsm_layer *softmax = softmax_behind(f, last->inputs.items[0]);
  if (!softmax || !scores_are_inner(f, softmax->inputs.items[0]) ||
      !walk(f, softmax->inputs.items[0])) {
    return false;
  }
  if (!keep_finite_mask(f)) return false;
  const bsm_dims scores = f->p.first->outputs.items[0]->dims;
  if (f->p.first->precision != last->precision) return false;
  if (scores.rank != y->dims.rank || (f->p.split && scores.rank < 3) ||
      scores.rank + (f->p.split != 0) > BSM_MAX_RANK) {
    return false;
  }
  for (int32_t i = 0; i < scores.rank - 2; i++) {
    if (scores.d[i] != y->dims.d[i]) return false;
  }
  f->p.q = without_scale(f, f->p.first->inputs.items[0]);
  f->p.k = without_scale(f, f->p.first->inputs.items[1]);
  return isfinite(f->p.scale);
}

/* ---- the edit ---- */

/* Makes `t` with its last two dimensions exchanged; the new layer is before
 * `at`. */
static bsm_status transposed(bsm_network *net, const bsm_layer *at,
                             bsm_itensor *t, bsm_itensor **out) {
  bsm_layer *shuffle = bsm_network_add_shuffle(net, t);
  bsm_dims perm = {.rank = t->dims.rank};
  for (int32_t i = 0; i < perm.rank; i++) perm.d[i] = i;
  perm.d[perm.rank - 2] = perm.rank - 1;
  perm.d[perm.rank - 1] = perm.rank - 2;
  if (shuffle) bsm_shuffle_set_first_transpose(shuffle, perm);
  BSM_TRY(bsm_network_take_error(net));
  if (!shuffle) return BSM_FAIL_OOM();
  shuffle->name = at->name;
  shuffle->source = at->source;
  size_t i = net->layers.len - 1;
  for (; i > 0 && net->layers.items[i - 1] != at; i--) {
    net->layers.items[i] = net->layers.items[i - 1];
  }
  net->layers.items[i] = net->layers.items[i - 1];
  net->layers.items[i - 1] = shuffle;
  *out = shuffle->outputs.items[0];
  return BSM_OK;
}

/* Turns the last product into the attention layer. */
static bsm_status fuse(fusion *f) {
  const pattern *p = &f->p;
  bsm_network *net = f->net;
  bsm_layer *layer = p->last;
  bsm_itensor *inputs[6] = {p->q, p->k, layer->inputs.items[1]};
  size_t count = 3;
  if (p->first->p.matrix_multiply.op_a == BSM_MATRIX_TRANSPOSE) {
    BSM_TRY(transposed(net, layer, inputs[0], &inputs[0]));
  }
  if (p->first->p.matrix_multiply.op_b == BSM_MATRIX_NONE) {
    BSM_TRY(transposed(net, layer, inputs[1], &inputs[1]));
  }
  if (layer->p.matrix_multiply.op_b == BSM_MATRIX_TRANSPOSE) {
    BSM_TRY(transposed(net, layer, inputs[2], &inputs[2]));
  }
  for (int32_t i = p->bias_count; i > 0; i--)
    inputs[count++] = p->biases[i - 1];
  if (p->mask) inputs[count++] = p->mask;
  layer->kind = BSM_LAYER_ATTENTION;
  layer->inputs.len = 0;
  for (size_t i = 0; i < count; i++) {
    BSM_TRY_ALLOC(bsm_vec_push(net->arena, &layer->inputs, inputs[i]));
  }
  layer->p.attention.biases = p->bias_count;
  layer->p.attention.has_mask = p->mask != NULL;
  layer->p.attention.hides = p->hides;
  layer->p.attention.causal = p->causal;
  layer->p.attention.clears_hidden = p->clears_hidden;
  layer->p.attention.diagonal = p->diagonal;
  layer->p.attention.split = p->bias_count || p->mask ? p->split : 0;
  layer->p.attention.scale = p->scale;
  layer->p.attention.fill = p->fill;
  return bsm_layer_infer(layer);
}

bsm_status bsm_pass_fuse_attention(const bsm_target *target, bsm_network *net,
                                   bsm_arena *scratch) {
  bsm_uses uses;
  BSM_TRY(bsm_uses_compute(net, scratch, &uses));
  fusion f = {.target = target, .net = net, .uses = &uses};
  for (size_t i = 0; i < net->layers.len; i++) {
    bsm_layer *layer = net->layers.items[i];
    if (layer->kind != BSM_LAYER_MATRIX_MULTIPLY || layer->removed) continue;
    if (match(&f, layer)) BSM_TRY(fuse(&f));
  }
  return BSM_OK;
}
