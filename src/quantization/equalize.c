/* SPDX-License-Identifier: Apache-2.0 */
/* Scales of channels between convolutions. */
#include "quantization/equalize.h"

#include <math.h>

#include "builder/uses.h"
#include "quantization/kernels.h"

#define ROUNDS 20   /* over chains of layers */
#define ENOUGH 1e-3 /* a round that changes less is the last */
#define MOST_SCALE 1e4

typedef struct pair {
  bsm_layer *before, *behind;
  bsm_kernel first, second;
  float *bias; /* of the first; NULL: none */
} pair;

typedef BSM_VEC(pair) pair_vec;

static bool is_plain(const bsm_layer *layer) {
  return layer && layer->kind == BSM_LAYER_CONVOLUTION && !layer->removed &&
         layer->p.convolution.kernel.dtype == BSM_DTYPE_FLOAT &&
         !layer->p.convolution.deferred.cast &&
         !layer->p.convolution.epilogue.has_residual &&
         !layer->p.convolution.has_scale;
}

/* The convolution that alone reads a convolution, or NULL. */
static bsm_layer *reader_of(const bsm_uses *uses, const bsm_layer *layer) {
  bsm_layer *next = bsm_uses_single_reader(uses, layer->outputs.items[0]);
  if (next && next->kind == BSM_LAYER_ACTIVATION &&
      next->p.activation.type == BSM_ACTIVATION_RELU) {
    next = bsm_uses_single_reader(uses, next->outputs.items[0]);
  }
  return is_plain(next) ? next : NULL;
}

/* Each layer has one copy of its weights, whichever pairs it is in. */
static bsm_status open_kernel(bsm_layer *layer, const pair_vec *pairs,
                              bsm_kernel *out) {
  for (size_t i = 0; i < pairs->len; i++) {
    if (pairs->items[i].behind == layer) {
      *out = pairs->items[i].second;
      return BSM_OK;
    }
  }
  return bsm_kernel_open(layer, out);
}

static bsm_status find_pairs(bsm_network *net, bsm_arena *scratch,
                             pair_vec *out) {
  bsm_uses uses;
  BSM_TRY(bsm_uses_compute(net, scratch, &uses));
  for (size_t i = 0; i < net->layers.len; i++) {
    pair p = {.before = net->layers.items[i]};
    if (!is_plain(p.before)) continue;
    p.behind = reader_of(&uses, p.before);
    if (!p.behind) continue;
    bsm_weights *bias = &p.before->p.convolution.bias;
    BSM_TRY(open_kernel(p.before, out, &p.first));
    BSM_TRY(bsm_kernel_open(p.behind, &p.second));
    if (bias->count) {
      BSM_TRY(bsm_own_bias(net, bias, p.first.outs, &p.bias));
    }
    BSM_TRY_ALLOC(bsm_vec_push(scratch, out, p));
  }
  return BSM_OK;
}

/* The greatest weight of an output channel. */
static double before_range(const bsm_kernel *k, int64_t out) {
  double most = 0;
  const int64_t first = bsm_kernel_first_in(k, out);
  for (int64_t i = first; i < first + k->ins_each; i++) {
    const float *taps = bsm_kernel_taps(k, out, i);
    for (int64_t t = 0; t < k->taps; t++) {
      most = fmax(most, fabs((double)taps[t]));
    }
  }
  return most;
}

/* The output channels that read an input channel. */
static int64_t first_reader(const bsm_kernel *k, int64_t in) {
  return in / k->ins_each * k->outs_each;
}

static double behind_range(const bsm_kernel *k, int64_t in) {
  double most = 0;
  const int64_t first = first_reader(k, in);
  for (int64_t o = first; o < first + k->outs_each; o++) {
    const float *taps = bsm_kernel_taps(k, o, in);
    for (int64_t t = 0; t < k->taps; t++) {
      most = fmax(most, fabs((double)taps[t]));
    }
  }
  return most;
}

static void scale(float *values, int64_t count, double by) {
  for (int64_t i = 0; i < count; i++) {
    values[i] = (float)((double)values[i] * by);
  }
}

/* Multiplies a channel by `by` before, and divides it behind. */
static void scale_channel(pair *p, int64_t channel, double by) {
  const int64_t in = bsm_kernel_first_in(&p->first, channel);
  for (int64_t i = in; i < in + p->first.ins_each; i++) {
    scale(bsm_kernel_taps(&p->first, channel, i), p->first.taps, by);
  }
  if (p->bias) scale(p->bias + channel, 1, by);
  const int64_t out = first_reader(&p->second, channel);
  for (int64_t o = out; o < out + p->second.outs_each; o++) {
    scale(bsm_kernel_taps(&p->second, o, channel), p->second.taps, 1 / by);
  }
}

/* Returns the greatest change, as a logarithm. */
static double equalize_pair(pair *p) {
  double change = 0;
  for (int64_t c = 0; c < p->first.outs; c++) {
    const double before = before_range(&p->first, c);
    const double behind = behind_range(&p->second, c);
    if (before <= 0 || behind <= 0) continue; /* the channel does nothing */
    const double by = sqrt(behind / before);
    if (!(by > 1 / MOST_SCALE && by < MOST_SCALE)) continue;
    scale_channel(p, c, by);
    change = fmax(change, fabs(log(by)));
  }
  return change;
}

bsm_status bsm_equalize(bsm_network *net, bsm_arena *scratch, size_t *pairs) {
  pair_vec found = {0};
  BSM_TRY(find_pairs(net, scratch, &found));
  for (int round = 0; round < ROUNDS; round++) {
    double change = 0;
    for (size_t i = 0; i < found.len; i++) {
      change = fmax(change, equalize_pair(&found.items[i]));
    }
    if (change < ENOUGH) break;
  }
  *pairs = found.len;
  return BSM_OK;
}
