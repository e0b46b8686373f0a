/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes normalizations that models write as formulas, over some axes:
 *
 *   x * rsqrt(mean(x^2) + epsilon)                    -> rms norm of x
 *   (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon)
 *   (x - mean(x)) / sqrt(var(x) + epsilon)            -> layer norm of x
 *
 * and what multiplies or adds a constant behind a norm becomes its scale or
 * bias. Besides being one step, a norm squares in float whatever its tensors
 * are stored in. Requires nothing; works on float and double, along axes whose
 * elements lie together. */
#include <string.h>

#include "builder/constants.h"
#include "builder/passes.h"
#include "builder/uses.h"

static const bsm_layer *producer_of(const bsm_itensor *t, bsm_layer_kind kind) {
  const bsm_layer *layer = t->producer;
  return layer && !layer->removed && layer->kind == kind ? layer : NULL;
}

static bool is_number(const bsm_itensor *t, double *value) {
  const bsm_weights *w = bsm_constant_of(t, t->dtype);
  if (!w || w->count != 1) return false;
  *value = bsm_constant_number(w, 0);
  return true;
}

static bool is_binary(const bsm_layer *layer,
                      bsm_element_wise_operation operation) {
  return layer && layer->kind == BSM_LAYER_ELEMENT_WISE &&
         layer->p.element_wise.operation == operation;
}

/* What `t` is the unary function or the power of; NULL: it is neither. */
static const bsm_itensor *base_of(const bsm_itensor *t,
                                  bsm_unary_operation operation, double power) {
  const bsm_layer *layer = producer_of(t, BSM_LAYER_UNARY);
  double exponent;
  if (layer) {
    return layer->p.unary.operation == operation ? layer->inputs.items[0]
                                                 : NULL;
  }
  layer = producer_of(t, BSM_LAYER_ELEMENT_WISE);
  if (!is_binary(layer, BSM_ELEMENT_WISE_POW) ||
      !is_number(layer->inputs.items[1], &exponent) || exponent != power) {
    return NULL;
  }
  return layer->inputs.items[0];
}

static const bsm_itensor *squared(const bsm_itensor *t) {
  const bsm_layer *layer = producer_of(t, BSM_LAYER_ELEMENT_WISE);
  if (is_binary(layer, BSM_ELEMENT_WISE_PROD) &&
      layer->inputs.items[0] == layer->inputs.items[1]) {
    return layer->inputs.items[0];
  }
  return base_of(t, BSM_UNARY_SQUARE, 2);
}

/* 1 / `t` is the root of what is returned; NULL: it is not. */
static const bsm_itensor *inverse_root(const bsm_itensor *t) {
  const bsm_itensor *s = base_of(t, BSM_UNARY_RSQRT, -0.5);
  if (s) return s;
  s = base_of(t, BSM_UNARY_RECIP, -1);
  return s ? base_of(s, BSM_UNARY_SQRT, 0.5) : NULL;
}

/* What `t` is the reduction of, over axes that stay; NULL: it is none. */
static bsm_itensor *reduced(const bsm_itensor *t,
                            bsm_reduce_operation operation, uint32_t *axes) {
  const bsm_layer *layer = producer_of(t, BSM_LAYER_REDUCE);
  if (!layer || layer->p.reduce.operation != operation ||
      !layer->p.reduce.keep_dims || layer->p.reduce.correction != 0) {
    return NULL;
  }
  *axes = layer->p.reduce.axes;
  return layer->inputs.items[0];
}

/* What has become `t` when its mean over the axes was taken away; NULL: none
 * was. */
static bsm_itensor *uncentered(const bsm_itensor *t, uint32_t axes) {
  const bsm_layer *layer = producer_of(t, BSM_LAYER_ELEMENT_WISE);
  uint32_t own = 0;
  if (!is_binary(layer, BSM_ELEMENT_WISE_SUB)) return NULL;
  bsm_itensor *x = layer->inputs.items[0];
  const bsm_itensor *of = reduced(layer->inputs.items[1], BSM_REDUCE_AVG, &own);
  return of == x && own == axes ? x : NULL;
}

typedef struct norm {
  bsm_itensor *x;
  uint32_t axes;
  double epsilon;
  bool rms;
} norm;

/* Axes that lie together: the last ones, or the maps of images, which usually
 * have the maps last. Others are faster as the steps that they are. */
static bool lie_together(uint32_t axes, int32_t rank) {
  const uint32_t all = (uint32_t)(((uint64_t)1 << rank) - 1);
  const uint32_t rest = all & ~axes;
  return axes != 0 && ((rest & (rest + 1)) == 0 || (axes == 2u && rank >= 3));
}

/* Whether `x` divided by the root of `s` is a norm. */
static bool find_norm(bsm_itensor *x, const bsm_itensor *s, norm *out) {
  const bsm_layer *sum = producer_of(s, BSM_LAYER_ELEMENT_WISE);
  if (!is_binary(sum, BSM_ELEMENT_WISE_SUM)) return false;
  const int at = is_number(sum->inputs.items[0], &out->epsilon);
  if (!at && !is_number(sum->inputs.items[1], &out->epsilon)) return false;
  const bsm_itensor *mean = sum->inputs.items[at];
  const bsm_itensor *square = reduced(mean, BSM_REDUCE_AVG, &out->axes);
  if (square && squared(square) == x) {
    bsm_itensor *all = uncentered(x, out->axes);
    out->x = all ? all : x;
    out->rms = !all;
  } else {
    out->x = reduced(mean, BSM_REDUCE_VARIANCE, &out->axes);
    out->rms = false;
    if (!out->x || uncentered(x, out->axes) != out->x) return false;
  }
  return out->epsilon >= 0 && out->x->dtype == s->dtype &&
         lie_together(out->axes, out->x->dims.rank);
}

static bool recognized(const bsm_layer *layer, norm *out) {
  bsm_itensor *const *in = layer->inputs.items;
  const bsm_itensor *s;
  if (is_binary(layer, BSM_ELEMENT_WISE_DIV)) {
    s = base_of(in[1], BSM_UNARY_SQRT, 0.5);
    return s && find_norm(in[0], s, out);
  }
  if (!is_binary(layer, BSM_ELEMENT_WISE_PROD)) return false;
  for (int i = 0; i < 2; i++) {
    s = inverse_root(in[1 - i]);
    if (s && find_norm(in[i], s, out)) return true;
  }
  return false;
}

static void become_norm(bsm_layer *layer, const norm *n) {
  memset(&layer->p, 0, sizeof(layer->p));
  layer->kind = BSM_LAYER_NORMALIZATION;
  layer->inputs.items[0] = n->x;
  layer->inputs.len = 1;
  layer->p.normalization.axes = n->axes;
  layer->p.normalization.epsilon = n->epsilon;
  layer->p.normalization.groups = 1;
  layer->p.normalization.rms = n->rms;
}

static bool broadcasts_to(bsm_dims from, bsm_dims to) {
  if (from.rank > to.rank) return false;
  for (int32_t i = 1; i <= from.rank; i++) {
    const int64_t size = from.d[from.rank - i];
    if (size != 1 && size != to.d[to.rank - i]) return false;
  }
  return true;
}

/* Lets the layer, which multiplies or adds a constant, be the norm ahead of it
 * that nothing else reads. */
static bsm_status take_norm(bsm_network *net, const bsm_uses *uses,
                            bsm_layer *layer) {
  const bool scales = is_binary(layer, BSM_ELEMENT_WISE_PROD);
  if (!scales && !is_binary(layer, BSM_ELEMENT_WISE_SUM)) return BSM_OK;
  for (int i = 0; i < 2; i++) {
    bsm_itensor *y = layer->inputs.items[i], *w = layer->inputs.items[1 - i];
    const bsm_layer *n = producer_of(y, BSM_LAYER_NORMALIZATION);
    if (!n || n->p.normalization.has_bias || n->outputs.len != 1 ||
        (scales && n->p.normalization.has_scale) ||
        !producer_of(w, BSM_LAYER_CONSTANT) || w->dtype != y->dtype ||
        bsm_uses_single_reader(uses, y) != layer ||
        !broadcasts_to(w->dims, y->dims) ||
        !bsm_dims_equal(layer->outputs.items[0]->dims, y->dims)) {
      continue;
    }
    layer->kind = BSM_LAYER_NORMALIZATION;
    layer->p = n->p;
    layer->p.normalization.has_scale |= scales;
    layer->p.normalization.has_bias = !scales;
    layer->inputs.len = 0;
    for (size_t k = 0; k < n->inputs.len; k++) {
      BSM_TRY_ALLOC(
          bsm_vec_push(net->arena, &layer->inputs, n->inputs.items[k]));
    }
    BSM_TRY_ALLOC(bsm_vec_push(net->arena, &layer->inputs, w));
    return bsm_layer_infer(layer);
  }
  return BSM_OK;
}

bsm_status bsm_pass_recognize_norms(const bsm_target *target, bsm_network *net,
                                    bsm_arena *scratch) {
  (void)target;
  bsm_uses uses;
  BSM_TRY(bsm_uses_compute(net, scratch, &uses));
  for (size_t i = 0; i < net->layers.len; i++) {
    bsm_layer *layer = net->layers.items[i];
    norm n;
    if (layer->removed || layer->kind != BSM_LAYER_ELEMENT_WISE) continue;
    const bsm_itensor *y = layer->outputs.items[0];
    if (y->dtype != BSM_DTYPE_FLOAT && y->dtype != BSM_DTYPE_DOUBLE) continue;
    if (recognized(layer, &n) && bsm_dims_equal(n.x->dims, y->dims)) {
      become_norm(layer, &n);
      BSM_TRY(bsm_layer_infer(layer));
    } else {
      BSM_TRY(take_norm(net, &uses, layer));
    }
  }
  return BSM_OK;
}
