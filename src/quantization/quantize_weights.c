/* SPDX-License-Identifier: Apache-2.0 */
/* Weights in int8 and fp8, and the layers around an activation. */
#include "quantization/quantize_weights.h"

#include <math.h>
#include <string.h>

#include "aten/tensor.h"
#include "builder/constants.h"
#include "quantization/kernels.h"

#define MOST 127 /* of weights, and of activations without a zero point */
#define LEAST_SCALE 0x1p-100f

/* ---- short forms: NULL goes in and comes out, the failure is kept ---- */

static bsm_itensor *out_of(bsm_layer *layer) {
  return layer ? bsm_layer_output(layer, 0) : NULL;
}

static bsm_itensor *constant(bsm_network *net, bsm_dims dims, bsm_dtype dtype,
                             const void *values, int64_t count) {
  const bsm_weights w = {.dtype = dtype, .values = values, .count = count};
  return out_of(bsm_network_add_constant(net, dims, &w));
}

static bsm_itensor *number(bsm_network *net, float value) {
  float *to = BSM_NEW(net->arena, float);
  if (!to) return NULL;
  *to = value;
  return constant(net, (bsm_dims){0}, BSM_DTYPE_FLOAT, to, 1);
}

/* ---- activations ---- */

static bsm_itensor *quantize(bsm_network *net, bsm_itensor *t,
                             bsm_itensor *scale, bsm_itensor *zero,
                             int32_t axis, bsm_dtype dtype) {
  if (!t || !scale) return NULL;
  bsm_layer *layer = bsm_network_add_quantize(net, t, scale, zero, axis, dtype);
  if (!layer) return NULL;
  if (dtype != BSM_DTYPE_FLOAT8_E4M3FN) {
    bsm_quantize_set_nan(layer, BSM_QUANTIZE_NAN_LEAST);
  }
  bsm_layer *back = bsm_network_add_dequantize(net, out_of(layer), scale, zero,
                                               axis, BSM_DTYPE_FLOAT);
  if (t->producer && back) {
    layer->source = back->source = t->producer->source;
    layer->scope = back->scope = t->producer->scope;
  }
  bsm_layer_set_name(layer, "quantize");
  bsm_layer_set_name(back, "dequantize");
  return out_of(back);
}

bsm_itensor *bsm_add_static_quantization(bsm_network *net, bsm_itensor *t,
                                         double low, double high,
                                         bool is_unsigned) {
  if (!is_unsigned) {
    const float scale = (float)(fmax(-low, high) / MOST);
    return quantize(net, t, number(net, scale), NULL, -1, BSM_DTYPE_INT8);
  }
  const float scale = (float)((high - low) / UINT8_MAX);
  const double zero = rint(-low / (double)scale);
  bsm_itensor *point = number(net, (float)fmin(fmax(zero, 0), UINT8_MAX));
  if (!point) return NULL;
  return quantize(net, t, number(net, scale), point, -1, BSM_DTYPE_UINT8);
}

bsm_itensor *bsm_add_float8_quantization(bsm_network *net, bsm_itensor *t,
                                         double low, double high) {
  const float scale = (float)(fmax(-low, high) / BSM_FLOAT8_MOST);
  return quantize(net, t, number(net, scale), NULL, -1,
                  BSM_DTYPE_FLOAT8_E4M3FN);
}

bool bsm_can_be_dynamic(const bsm_site *site) {
  return site->matrix && site->input == site->layer->inputs.items[0] &&
         site->sum_axis == site->input->dims.rank - 1;
}

static bsm_itensor *reshape(bsm_network *net, bsm_itensor *t, bsm_dims dims) {
  if (!t) return NULL;
  bsm_layer *layer = bsm_network_add_shuffle(net, t);
  if (!layer) return NULL;
  bsm_shuffle_set_reshape_dimensions(layer, dims);
  return out_of(layer);
}

static bsm_itensor *binary(bsm_network *net, bsm_itensor *a, bsm_itensor *b,
                           bsm_element_wise_operation operation) {
  if (!a || !b) return NULL;
  return out_of(bsm_network_add_element_wise(net, a, b, operation));
}

bsm_itensor *bsm_add_dynamic_quantization(bsm_network *net, bsm_itensor *t) {
  const bsm_dims dims = t->dims;
  const int64_t width = dims.d[dims.rank - 1];
  int64_t rows = 1;
  for (int32_t i = 0; i + 1 < dims.rank; i++) rows *= dims.d[i];
  bsm_itensor *x = reshape(net, t, (bsm_dims){2, {rows, width}});
  bsm_itensor *size =
      x ? out_of(bsm_network_add_unary(net, x, BSM_UNARY_ABS)) : NULL;
  bsm_itensor *most = size ? out_of(bsm_network_add_reduce(
                                 net, size, BSM_REDUCE_MAX, 1u << 1, false))
                           : NULL;
  /* A row of zeros has any scale. */
  most = binary(net, most, number(net, LEAST_SCALE), BSM_ELEMENT_WISE_MAX);
  bsm_itensor *scale =
      binary(net, most, number(net, 1.0f / MOST), BSM_ELEMENT_WISE_PROD);
  return reshape(net, quantize(net, x, scale, NULL, 0, BSM_DTYPE_INT8), dims);
}

/* ---- weights ---- */

/* The scale of a channel by its greatest weight; that of zeros is 1. */
static float scale_of(bsm_dtype dtype, double most) {
  const float scale =
      (float)(most / (dtype == BSM_DTYPE_INT8 ? MOST : BSM_FLOAT8_MOST));
  return scale > LEAST_SCALE ? scale : 1.0f;
}

static double rounded(bsm_dtype dtype, float value, float scale) {
  const double x = (double)value / (double)scale;
  if (dtype == BSM_DTYPE_INT8) return fmin(fmax(rint(x), -MOST), MOST);
  const double most = BSM_FLOAT8_MOST;
  return (double)bsm_float8_to_float(
      dtype, bsm_float_to_float8(dtype, (float)fmin(fmax(x, -most), most)));
}

bsm_status bsm_quantize_kernel(const bsm_site *site, bsm_dtype dtype,
                               const double *means) {
  bsm_convolution_params *p = &site->layer->p.convolution;
  bsm_kernel k;
  float *bias = NULL;
  BSM_TRY(bsm_kernel_open(site->layer, &k));
  float *scales =
      BSM_NEW_ARRAY(site->layer->net->arena, float, (size_t)k.outs + 1);
  BSM_TRY_ALLOC(scales);
  if (means) {
    BSM_TRY(bsm_own_bias(site->layer->net, &p->bias, k.outs, &bias));
  }
  for (int64_t o = 0; o < k.outs; o++) {
    const int64_t first = bsm_kernel_first_in(&k, o);
    double most = 0, shift = 0;
    for (int64_t i = first; i < first + k.ins_each; i++) {
      const float *taps = bsm_kernel_taps(&k, o, i);
      for (int64_t t = 0; t < k.taps; t++) {
        most = fmax(most, fabs((double)taps[t]));
      }
    }
    scales[o] = scale_of(dtype, most);
    for (int64_t i = first; i < first + k.ins_each; i++) {
      float *taps = bsm_kernel_taps(&k, o, i);
      for (int64_t t = 0; t < k.taps; t++) {
        const float made =
            (float)rounded(dtype, taps[t], scales[o]) * scales[o];
        if (means) shift += ((double)made - (double)taps[t]) * means[i];
        taps[t] = made;
      }
    }
    if (bias) bias[o] = (float)((double)bias[o] - shift);
  }
  p->kernel_scale = scales;
  return BSM_OK;
}

/* A constant matrix, or some of them, by output channel. */
typedef struct matrix {
  const float *values;
  int64_t count, outs, sums;
  int64_t out_step, sum_step; /* between neighbours of a matrix */
  int32_t out_axis;
} matrix;

static matrix matrix_of(const bsm_site *site) {
  const bsm_layer *layer = site->layer;
  const bsm_dims dims = site->matrix->dims;
  const bool first = site->matrix == layer->inputs.items[0];
  const bool turned =
      (first ? layer->p.matrix_multiply.op_a : layer->p.matrix_multiply.op_b) !=
      BSM_MATRIX_NONE;
  matrix m = {0};
  const bsm_weights *w = bsm_constant_of(site->matrix, BSM_DTYPE_FLOAT);
  /* The outputs of a first operand are its rows. */
  m.out_axis = dims.rank - (first == turned ? 1 : 2);
  m.values = w->values;
  m.count = w->count;
  m.outs = dims.d[m.out_axis];
  m.sums = dims.d[2 * dims.rank - 3 - m.out_axis];
  const int64_t width = dims.d[dims.rank - 1];
  m.out_step = m.out_axis == dims.rank - 1 ? 1 : width;
  m.sum_step = m.out_axis == dims.rank - 1 ? width : 1;
  return m;
}

static double channel_most(const matrix *m, int64_t out) {
  double most = 0;
  for (int64_t base = 0; base < m->count; base += m->outs * m->sums) {
    for (int64_t s = 0; s < m->sums; s++) {
      const int64_t at = base + out * m->out_step + s * m->sum_step;
      most = fmax(most, fabs((double)m->values[at]));
    }
  }
  return most;
}

/* Rounds a channel; returns what that adds to the mean of the output. */
static double round_channel(const matrix *m, bsm_dtype dtype, int64_t out,
                            float scale, const double *means, int8_t *to) {
  double shift = 0;
  for (int64_t base = 0; base < m->count; base += m->outs * m->sums) {
    for (int64_t s = 0; s < m->sums; s++) {
      const int64_t at = base + out * m->out_step + s * m->sum_step;
      const double number = rounded(dtype, m->values[at], scale);
      const double off = number * (double)scale - (double)m->values[at];
      to[at] = dtype == BSM_DTYPE_INT8
                   ? (int8_t)number
                   : (int8_t)bsm_float_to_float8(dtype, (float)number);
      if (means) shift += off * means[s];
    }
  }
  return shift;
}

bsm_status bsm_quantize_matrix(const bsm_site *site, bsm_dtype dtype,
                               const double *means, bsm_itensor **out) {
  bsm_layer *layer = site->layer;
  bsm_network *net = layer->net;
  const matrix m = matrix_of(site);
  int8_t *values = BSM_NEW_ARRAY(net->arena, int8_t, (size_t)m.count + 1);
  float *scales = BSM_NEW_ARRAY(net->arena, float, (size_t)m.outs + 1);
  float *bias = NULL;
  if (!values || !scales) return BSM_FAIL_OOM();
  /* The bias is one for all rows of the result: for one matrix behind them. */
  const bool corrects = means && m.count == m.outs * m.sums &&
                        site->matrix == layer->inputs.items[1];
  if (corrects) {
    BSM_TRY(bsm_own_bias(net, &layer->p.matrix_multiply.bias, m.outs, &bias));
  }
  for (int64_t o = 0; o < m.outs; o++) {
    scales[o] = scale_of(dtype, channel_most(&m, o));
    const double shift =
        round_channel(&m, dtype, o, scales[o], corrects ? means : NULL, values);
    if (bias) {
      bias[o] = (float)((double)bias[o] - shift * bsm_matrix_factor(layer, o));
    }
  }
  bsm_itensor *whole =
      constant(net, site->matrix->dims, dtype, values, m.count);
  bsm_itensor *scale =
      constant(net, (bsm_dims){1, {m.outs}}, BSM_DTYPE_FLOAT, scales, m.outs);
  *out = NULL;
  if (!whole || !scale) return BSM_OK;
  bsm_layer *back = bsm_network_add_dequantize(net, whole, scale, NULL,
                                               m.out_axis, BSM_DTYPE_FLOAT);
  bsm_layer_set_name(back, "dequantize");
  *out = out_of(back);
  return BSM_OK;
}
