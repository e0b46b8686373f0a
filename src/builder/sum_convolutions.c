/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of one tensor that are only added up become one:
 *   convolution(x, a) + convolution(x, b) + scale(x) + x
 *     -> convolution(x, a + b + the diagonals of scale and x)
 * as in networks that are trained with several branches (RepVGG, MobileOne).
 * Kernels and biases are added in double and rounded once.
 *
 * One of them, the cover, has to have all places that the others read in its
 * window, so that nothing is multiplied that was not before; smaller kernels
 * are zero in the rest of it. Strides, groups and sizes of outputs are equal
 * then. Not added: what something else reads, or an output of the network is;
 * what has an epilogue; what is quantized, or reads what is, as products of
 * bytes have scales of their own; kernels that are not finite. The diagonal is
 * not added where the kernel is rounded to less than float: beside its ones
 * small weights would lose what they have.
 *
 * Requires: scales are folded into convolutions. Runs before fusion of
 * residuals, which would take the sums. */
#include <math.h>

#include "builder/constants.h"
#include "builder/passes.h"
#include "builder/precision.h"
#include "builder/uses.h"

/* Of longer sums only so many are looked at. */
#define MAX_TERMS 64

/* One term of a sum. */
typedef struct term {
  bsm_itensor *value;
  bsm_layer *sum;   /* which reads it; NULL: no more */
  bsm_layer *layer; /* a convolution or scale that nothing else reads, or NULL:
                       the value is a tensor as it is */
  bsm_itensor *x;   /* what is convolved, scaled, or added as it is */
} term;

typedef struct adding {
  const bsm_target *target;
  bsm_network *net;
  bsm_arena *scratch;
  bsm_uses uses;
  term terms[MAX_TERMS];
  size_t count;
  bool joined; /* anything */
} adding;

static bool is_convolution(const term *t) {
  return t->layer && t->layer->kind == BSM_LAYER_CONVOLUTION;
}

/* ---- what is a term ---- */

/* A sum of two tensors of its own dims and dtype. */
static bool is_sum(const bsm_layer *layer) {
  if (!layer || layer->removed || layer->kind != BSM_LAYER_ELEMENT_WISE ||
      layer->p.element_wise.operation != BSM_ELEMENT_WISE_SUM) {
    return false;
  }
  const bsm_itensor *y = layer->outputs.items[0];
  for (size_t i = 0; i < layer->inputs.len; i++) {
    const bsm_itensor *in = layer->inputs.items[i];
    if (in->dtype != y->dtype || !bsm_dims_equal(in->dims, y->dims)) {
      return false;
    }
  }
  return layer->inputs.len == 2;
}

static bool is_plain_convolution(const adding *a, const bsm_layer *layer) {
  if (layer->kind != BSM_LAYER_CONVOLUTION) return false;
  const bsm_convolution_params *p = &layer->p.convolution;
  const bsm_dtype dtype = layer->outputs.items[0]->dtype;
  const bsm_layer *from = layer->inputs.items[0]->producer;
  return layer->inputs.len == 1 && bsm_dtype_is_floating(dtype) &&
         bsm_dtype_size(dtype) > 1 && p->kernel.dtype == dtype &&
         bsm_constant_is_floating_or_empty(&p->bias) && !p->kernel_scale &&
         !p->has_scale && !p->joins_next && !p->epilogue.has_residual &&
         p->epilogue.activation == BSM_ACTIVATION_NONE &&
         !(from && from->kind == BSM_LAYER_DEQUANTIZE) &&
         a->target->ops->fuses(a->target, BSM_FUSION_SCALE, dtype);
}

/* x * scale + shift, for each map. */
static bool is_plain_scale(const bsm_layer *layer) {
  return layer->kind == BSM_LAYER_SCALE && layer->p.scale.power.count == 0 &&
         bsm_constant_is_floating_or_empty(&layer->p.scale.scale) &&
         bsm_constant_is_floating_or_empty(&layer->p.scale.shift);
}

static term term_of(const adding *a, bsm_itensor *value, bsm_layer *sum) {
  bsm_layer *from = value->producer;
  term out = {value, sum, NULL, value};
  if (from && bsm_uses_single_reader(&a->uses, value) == sum &&
      (is_plain_convolution(a, from) || is_plain_scale(from))) {
    out.layer = from;
    out.x = from->inputs.items[0];
  }
  return out;
}

/* Collects the terms of a sum, and of those sums that only it reads. */
static void collect(adding *a, bsm_layer *root) {
  bsm_layer *open[MAX_TERMS] = {root};
  size_t left = 1;
  a->count = 0;
  while (left > 0) {
    bsm_layer *sum = open[--left];
    for (size_t i = 0; i < 2; i++) {
      bsm_itensor *in = sum->inputs.items[i];
      /* Each open sum is going to be two terms at least. */
      const bool room = a->count + 2 * left + 4 <= MAX_TERMS;
      if (room && is_sum(in->producer) &&
          bsm_uses_single_reader(&a->uses, in) == sum) {
        open[left++] = in->producer;
      } else {
        a->terms[a->count++] = term_of(a, in, sum);
      }
    }
  }
}

/* ---- which convolution has room for which term ---- */

/* Where a window lies in one dimension: its taps read first, first + step, ..
 * from the place that an output is at. */
typedef struct reach {
  int64_t first, step, count;
} reach;

static reach reach_of(const bsm_window_params *w, int32_t i) {
  return (reach){-w->pre_padding[i], w->dilation[i], w->kernel[i]};
}

/* The tap of `cover` that reads what tap `tap` of `part` does, or -1. */
static int64_t tap_in(reach cover, reach part, int64_t tap) {
  const int64_t from = part.first + tap * part.step - cover.first;
  const bool in = from >= 0 && from % cover.step == 0;
  return in && from / cover.step < cover.count ? from / cover.step : -1;
}

static bool covers_in(reach cover, reach part) {
  for (int64_t tap = 0; tap < part.count; tap++) {
    if (tap_in(cover, part, tap) < 0) return false;
  }
  return true;
}

static int64_t taps_of(const bsm_layer *conv) {
  const bsm_window_params *w = &conv->p.convolution.window;
  int64_t taps = 1;
  for (int32_t i = 0; i < w->spatial; i++) taps *= w->kernel[i];
  return taps;
}

/* Whether the window of `conv` has what `t` reads; that of a term that is no
 * convolution is the one pixel. */
static bool has_window_of(const bsm_layer *conv, const term *t) {
  const bsm_window_params *w = &conv->p.convolution.window;
  for (int32_t i = 0; i < w->spatial; i++) {
    reach part = {0, 1, 1};
    int64_t stride = 1;
    if (is_convolution(t)) {
      part = reach_of(&t->layer->p.convolution.window, i);
      stride = t->layer->p.convolution.window.stride[i];
    }
    if (w->stride[i] != stride || !covers_in(reach_of(w, i), part)) {
      return false;
    }
  }
  return true;
}

static bool is_diagonal_fine(const adding *a, const bsm_layer *conv,
                             const term *t) {
  const bsm_dims d = conv->inputs.items[0]->dims;
  const bsm_dtype dtype = conv->p.convolution.kernel.dtype;
  return d.d[1] == conv->p.convolution.out_maps &&
         bsm_dims_equal(d, t->value->dims) &&
         (dtype == BSM_DTYPE_DOUBLE ||
          (dtype == BSM_DTYPE_FLOAT &&
           bsm_layer_precision(a->target, conv) == BSM_PRECISION_FP32));
}

static bool may_join(const adding *a, const term *cover, const term *t) {
  const bsm_layer *conv = cover->layer;
  if (t == cover || !t->sum || t->x != cover->x ||
      t->value->dtype != cover->value->dtype || !has_window_of(conv, t)) {
    return false;
  }
  if (!is_convolution(t)) return is_diagonal_fine(a, conv, t);
  const bsm_convolution_params *p = &t->layer->p.convolution;
  return p->groups == conv->p.convolution.groups &&
         bsm_layer_precision(a->target, t->layer) ==
             bsm_layer_precision(a->target, conv);
}

/* Whether no other convolution has room for this one, the first of those that
 * read the same. */
static bool is_cover(const adding *a, const term *t) {
  if (!t->sum || !is_convolution(t)) return false;
  for (size_t i = 0; i < a->count; i++) {
    const term *other = &a->terms[i];
    if (!is_convolution(other) || !may_join(a, other, t)) continue;
    if (other < t || taps_of(other->layer) > taps_of(t->layer)) return false;
  }
  return true;
}

/* ---- the numbers ---- */

typedef struct sums {
  double *kernel, *bias; /* [out, in / groups, taps], [out] */
  int64_t maps, inputs, taps;
  bool has_bias;
} sums;

/* The tap of the cover that has each tap of a convolution. */
static bsm_status map_taps(bsm_arena *scratch, const bsm_layer *cover,
                           const bsm_layer *part, int64_t **out) {
  const bsm_window_params *to = &cover->p.convolution.window;
  const bsm_window_params *from = &part->p.convolution.window;
  const int64_t count = taps_of(part);
  int64_t *map = BSM_NEW_ARRAY(scratch, int64_t, (size_t)count + 1);
  BSM_TRY_ALLOC(map);
  for (int64_t i = 0; i < count; i++) {
    int64_t rest = i, run = 1;
    for (int32_t d = from->spatial - 1; d >= 0; d--) {
      map[i] += run * tap_in(reach_of(to, d), reach_of(from, d),
                             rest % from->kernel[d]);
      rest /= from->kernel[d];
      run *= to->kernel[d];
    }
  }
  *out = map;
  return BSM_OK;
}

static bsm_status add_convolution(bsm_arena *scratch, const bsm_layer *cover,
                                  const bsm_layer *part, sums *s) {
  const bsm_convolution_params *p = &part->p.convolution;
  const int64_t taps = taps_of(part);
  bsm_weights kernel = p->kernel;
  if (p->deferred.cast) kernel.dtype = p->deferred.held;
  int64_t *map;
  BSM_TRY(map_taps(scratch, cover, part, &map));
  for (int64_t o = 0; o < s->maps; o++) {
    const double factor = p->deferred.factor ? p->deferred.factor[o] : 1;
    for (int64_t row = o * s->inputs; row < (o + 1) * s->inputs; row++) {
      for (int64_t i = 0; i < taps; i++) {
        s->kernel[row * s->taps + map[i]] +=
            factor * bsm_constant_number(&kernel, row * taps + i);
      }
    }
    s->bias[o] += bsm_constant_number_or(&p->bias, o, 0);
  }
  s->has_bias = s->has_bias || p->bias.count;
  return BSM_OK;
}

/* Adds a scale, or with NULL one, at the pixel itself. */
static void add_diagonal(const bsm_layer *cover, const bsm_layer *scale,
                         sums *s) {
  const bsm_window_params *w = &cover->p.convolution.window;
  int64_t tap = 0;
  for (int32_t d = 0; d < w->spatial; d++) {
    tap = tap * w->kernel[d] + tap_in(reach_of(w, d), (reach){0, 1, 1}, 0);
  }
  for (int64_t o = 0; o < s->maps; o++) {
    const int64_t row = o * s->inputs + o % s->inputs;
    s->kernel[row * s->taps + tap] +=
        scale ? bsm_constant_number_or(&scale->p.scale.scale, o, 1) : 1;
    if (scale)
      s->bias[o] += bsm_constant_number_or(&scale->p.scale.shift, o, 0);
  }
  s->has_bias = s->has_bias || (scale && scale->p.scale.shift.count);
}

/* Whether numbers stay finite in a dtype. */
static bool are_finite(const double *values, int64_t count, bsm_dtype dtype) {
  const double most = bsm_largest_number(dtype);
  for (int64_t i = 0; i < count; i++) {
    if (!(fabs(values[i]) <= most)) return false;
  }
  return true;
}

static bsm_status store(bsm_arena *arena, bsm_dtype dtype, const double *from,
                        int64_t count, const void **out) {
  void *values = bsm_arena_alloc_array(arena, (size_t)count + 1,
                                       bsm_dtype_size(dtype), BSM_ALIGNMENT);
  BSM_TRY_ALLOC(values);
  for (int64_t i = 0; i < count; i++) {
    bsm_constant_store(dtype, values, i, from[i]);
  }
  *out = values;
  return BSM_OK;
}

/* Sets the kernel and bias of the cover. */
static bsm_status set_sums(bsm_network *net, bsm_layer *conv, const sums *s) {
  bsm_convolution_params *p = &conv->p.convolution;
  const bsm_dtype dtype = p->kernel.dtype;
  BSM_TRY(store(net->arena, dtype, s->kernel, s->maps * s->inputs * s->taps,
                &p->kernel.values));
  p->deferred = (bsm_deferred){0};
  if (!s->has_bias) return BSM_OK;
  p->bias = (bsm_weights){.dtype = dtype,
                          .count = s->maps,
                          .shape = {1, {s->maps}},
                          .num_input_maps = 1,
                          .num_output_maps = s->maps};
  return store(net->arena, dtype, s->bias, s->maps, &p->bias.values);
}

/* Adds up the cover, and the terms marked in `joins`; *done false: not all of
 * it is finite, also where a weight was not and nothing is left of it. */
static bsm_status add_up(adding *a, const term *cover, const bool *joins,
                         bool *done) {
  bsm_layer *conv = cover->layer;
  const bsm_convolution_params *p = &conv->p.convolution;
  sums s = {.maps = p->out_maps,
            .inputs = cover->x->dims.d[1] / p->groups,
            .taps = taps_of(conv)};
  const size_t count = (size_t)(s.maps * s.inputs * s.taps);
  s.kernel = BSM_NEW_ARRAY(a->scratch, double, count + 1);
  s.bias = BSM_NEW_ARRAY(a->scratch, double, (size_t)s.maps + 1);
  if (!s.kernel || !s.bias) return BSM_FAIL_OOM();
  BSM_TRY(add_convolution(a->scratch, conv, conv, &s));
  for (size_t i = 0; i < a->count; i++) {
    const term *t = &a->terms[i];
    if (!joins[i]) continue;
    if (is_convolution(t)) {
      BSM_TRY(add_convolution(a->scratch, conv, t->layer, &s));
    } else {
      add_diagonal(conv, t->layer, &s);
    }
  }
  *done = are_finite(s.kernel, (int64_t)count, p->kernel.dtype) &&
          are_finite(s.bias, s.maps, p->kernel.dtype);
  return *done ? set_sums(a->net, conv, &s) : BSM_OK;
}

/* ---- the edit ---- */

/* Takes a term out of the sum that reads it: that one's readers read its other
 * operand. */
static bsm_status take_out(adding *a, bsm_layer *conv, const term *t) {
  bsm_layer *sum = t->sum;
  bsm_itensor *out = sum->outputs.items[0];
  bsm_layer *reader = bsm_uses_single_reader(&a->uses, out);
  bsm_itensor *other = sum->inputs.items[sum->inputs.items[0] == t->value];
  for (size_t i = 0; i < a->count; i++) {
    if (a->terms[i].sum == sum) a->terms[i].sum = reader;
  }
  if (t->layer) {
    t->layer->removed = true;
    conv->cancels = conv->cancels || t->layer->cancels;
    BSM_TRY(bsm_layer_name_before(conv, t->layer));
  }
  if (bsm_uses_single_reader(&a->uses, other) == sum && other->producer &&
      (is_sum(other->producer) || other->producer == conv)) {
    return bsm_uses_absorb(a->net, a->scratch, &a->uses, other->producer, sum);
  }
  sum->removed = true;
  BSM_TRY(bsm_layer_name_before(conv, sum));
  return bsm_uses_replace(a->net, a->scratch, &a->uses, out, other);
}

/* Joins what can be joined with a cover. */
static bsm_status join(adding *a, const term *cover) {
  bool joins[MAX_TERMS] = {false}, any = false, done;
  for (size_t i = 0; i < a->count; i++) {
    joins[i] = may_join(a, cover, &a->terms[i]);
    any = any || joins[i];
  }
  if (!any) return BSM_OK;
  const bsm_arena_mark mark = bsm_arena_get_mark(a->scratch);
  BSM_TRY(add_up(a, cover, joins, &done));
  bsm_arena_rewind(a->scratch, mark);
  a->joined = a->joined || done;
  for (size_t i = 0; done && i < a->count; i++) {
    term *t = &a->terms[i];
    if (!joins[i]) continue;
    BSM_TRY(take_out(a, cover->layer, t));
    t->sum = NULL;
  }
  return BSM_OK;
}

/* Whether a sum is not only a term of another. */
static bool is_root(const adding *a, const bsm_layer *layer) {
  return is_sum(layer) &&
         !is_sum(bsm_uses_single_reader(&a->uses, layer->outputs.items[0]));
}

static bsm_status join_all(adding *a) {
  BSM_TRY(bsm_uses_compute(a->net, a->scratch, &a->uses));
  a->joined = false;
  for (size_t i = 0; i < a->net->layers.len; i++) {
    if (!is_root(a, a->net->layers.items[i])) continue;
    collect(a, a->net->layers.items[i]);
    for (size_t k = 0; k < a->count; k++) {
      if (is_cover(a, &a->terms[k])) BSM_TRY(join(a, &a->terms[k]));
    }
  }
  return BSM_OK;
}

bsm_status bsm_pass_sum_convolutions(const bsm_target *target, bsm_network *net,
                                     bsm_arena *scratch) {
  adding a = {.target = target, .net = net, .scratch = scratch};
  /* What scaled a sum scales a convolution now, which may be a term itself. */
  for (a.joined = true; a.joined;) {
    BSM_TRY(join_all(&a));
    if (a.joined) BSM_TRY(bsm_pass_fold_scale(target, net, scratch));
  }
  return BSM_OK;
}
