/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one layer in int8, or in fp8, of a product and what quantizes around
 * it:
 *
 *   dequantize -> convolution | matrix multiply by a constant
 *     [-> quantize]
 *
 * where the constant is on a grid (quantized_grid.h), or of float8 that is
 * dequantized, and what fuse_epilogues has put into the product (bias,
 * residual, activation) stays in it. A residual that is dequantized is read as
 * bytes. Without a QUANTIZE layer as the only reader the output has the
 * product's dtype. Sums of int8 are exact, while those of the floats that they
 * replace are not, so that results may differ in the last bits. A product of 16
 * bits has operands that were rounded to these; here they are not. Requires:
 * fuse_epilogues, unify_quantizers. */
#include <math.h>

#include "aten/tensor.h"
#include "builder/constants.h"
#include "builder/passes.h"
#include "builder/quantized_grid.h"
#include "builder/uses.h"

/* Sums of products of a byte each stay in int32. */
#define MAX_DEPTH 65000

typedef struct fusion {
  const bsm_target *target;
  bsm_network *net;
  bsm_arena *scratch;
  bsm_uses uses;
} fusion;

/* A product of float that may become one of int8. */
typedef struct product {
  const bsm_layer *layer;
  bsm_grid x;
  bsm_dtype byte;      /* of x: uint8 or float8_e4m3fn */
  int64_t maps, depth; /* of the output; of the sum for each of them */
  const bsm_epilogue *epilogue;
  const bsm_weights *bias;
  int8_t *kernel;  /* [maps, depth]; of float8: its bits */
  double *columns; /* factor of each map */
} product;

/* ---- what fits ---- */

/* The bytes of a dtype that `t` is dequantized from, or NULL. */
static bsm_itensor *bytes_of(const bsm_itensor *t, bsm_dtype byte,
                             bsm_grid *grid) {
  bsm_itensor *from = bsm_dequantized_from(t, grid);
  return from && from->dtype == byte ? from : NULL;
}

static bool is_half(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_HALF || dtype == BSM_DTYPE_BFLOAT16;
}

static bool is_float_row(const bsm_weights *w, int64_t count) {
  return w->count == 0 || ((w->dtype == BSM_DTYPE_FLOAT || is_half(w->dtype)) &&
                           w->count == count);
}

static bsm_status reserve(fusion *f, product *p, bool *fits) {
  *fits = p->maps > 0 && p->depth > 0 && p->depth <= MAX_DEPTH &&
          is_float_row(p->bias, p->maps);
  if (!*fits) return BSM_OK;
  p->kernel =
      BSM_NEW_ARRAY(f->net->arena, int8_t, (size_t)(p->maps * p->depth));
  p->columns = BSM_NEW_ARRAY(f->scratch, double, (size_t)p->maps);
  return p->kernel && p->columns ? BSM_OK : BSM_FAIL_OOM();
}

/* Finds the grid of each map; `x` has maps `map` and elements `stride` apart.
 */
static bool find_grids(product *p, const float *x, int64_t map, int64_t stride,
                       int64_t first, int64_t count) {
  for (int64_t o = 0; o < count; o++) {
    if (!bsm_find_grid(x + o * map, p->depth, stride, &p->columns[first + o],
                       p->kernel + (first + o) * p->depth)) {
      return false;
    }
  }
  return true;
}

/* `w`, whose values are of `stored`, as floats. */
static bsm_status as_floats(const fusion *f, const bsm_weights *w,
                            bsm_dtype stored, const float **out) {
  *out = w->values;
  if (stored == BSM_DTYPE_FLOAT) return BSM_OK;
  const uint16_t *from = w->values;
  float *to = BSM_NEW_ARRAY(f->scratch, float, (size_t)w->count + 1);
  BSM_TRY_ALLOC(to);
  for (int64_t i = 0; i < w->count; i++) {
    to[i] = stored == BSM_DTYPE_HALF ? bsm_half_to_float(from[i])
                                     : bsm_bfloat16_to_float(from[i]);
  }
  *out = to;
  return BSM_OK;
}

/* The matrix `b` before it is rounded to 16 bits; *out NULL: it is none that is
 * known. */
static bsm_status matrix_floats(const fusion *f, const bsm_itensor *b,
                                const float **out) {
  const bsm_layer *from = b->producer;
  if (is_half(b->dtype) && from && from->kind == BSM_LAYER_CAST) {
    b = from->inputs.items[0];
  } else if (is_half(b->dtype) && from && from->kind == BSM_LAYER_CONSTANT &&
             from->p.constant.deferred.cast &&
             from->p.constant.deferred.held == BSM_DTYPE_FLOAT) {
    *out = from->p.constant.weights.values;
    return BSM_OK;
  }
  return bsm_constant_floats(b, f->scratch, out);
}

static int8_t rounded(bsm_dtype byte, float v) {
  if (byte == BSM_DTYPE_UINT8) {
    return (int8_t)fminf(fmaxf(nearbyintf(v), -INT8_MAX), INT8_MAX);
  }
  v = fminf(fmaxf(v, -BSM_FLOAT8_MOST), BSM_FLOAT8_MOST);
  return (int8_t)bsm_float_to_float8(byte, v);
}

/* A kernel of the quantizer's, which knows the scales. */
static void use_scales(product *p, const float *x, const float *scale) {
  for (int64_t o = 0; o < p->maps; o++) {
    for (int64_t k = 0; k < p->depth; k++) {
      const int64_t at = o * p->depth + k;
      p->kernel[at] = rounded(p->byte, x[at] / scale[o]);
    }
    p->columns[o] = (double)scale[o];
  }
}

/* Which tensor cores do not multiply. */
static bool is_depthwise(const bsm_layer *layer) {
  const bsm_convolution_params *c = &layer->p.convolution;
  return c->groups > 1 && c->groups == layer->inputs.items[0]->dims.d[1];
}

static bsm_status read_convolution(fusion *f, product *p, bool *fits) {
  const bsm_convolution_params *c = &p->layer->p.convolution;
  const bsm_weights *w = &c->kernel;
  const bsm_dtype stored = c->deferred.cast ? c->deferred.held : w->dtype;
  const bool fp8 = p->byte != BSM_DTYPE_UINT8;
  const bool held = !fp8 && c->deferred.cast && stored == BSM_DTYPE_INT8;
  const bool halves = is_half(stored) && c->kernel_scale;
  *fits = !c->has_scale && !c->joins_next &&
          (held || halves || stored == BSM_DTYPE_FLOAT) &&
          !(fp8 && (!c->kernel_scale || is_depthwise(p->layer)));
  if (!*fits) return BSM_OK;
  p->maps = c->out_maps;
  p->depth = p->maps > 0 ? w->count / p->maps : 0;
  p->bias = &c->bias;
  p->epilogue = &c->epilogue;
  BSM_TRY(reserve(f, p, fits));
  if (!*fits) return BSM_OK;
  if (held) {
    const int8_t *from = w->values;
    for (int64_t i = 0; i < w->count; i++) p->kernel[i] = from[i];
    for (int64_t o = 0; o < p->maps; o++) p->columns[o] = 1;
  } else if (c->kernel_scale) {
    /* Rounded to 16 bits, numbers are still nearest to their step. */
    const float *values;
    BSM_TRY(as_floats(f, w, stored, &values));
    use_scales(p, values, c->kernel_scale);
  } else {
    *fits = find_grids(p, w->values, p->depth, 1, 0, p->maps);
  }
  for (int64_t o = 0; o < p->maps && c->deferred.factor; o++) {
    p->columns[o] *= c->deferred.factor[o];
  }
  return BSM_OK;
}

/* A matrix of float8 that is dequantized, by one scale or one of each column,
 * which is map `first` and those behind it. */
static bool read_float8(product *p, const bsm_itensor *b, bool turned,
                        int64_t first, int64_t count) {
  const bsm_layer *from = b->producer;
  if (from && is_half(b->dtype) && from->kind == BSM_LAYER_CAST) {
    from = from->inputs.items[0]->producer;
  }
  if (!from || from->kind != BSM_LAYER_DEQUANTIZE || from->inputs.len != 2) {
    return false;
  }
  const int32_t axis = from->p.dequantize.axis;
  const bsm_weights *w =
      bsm_constant_of(from->inputs.items[0], BSM_DTYPE_FLOAT8_E4M3FN);
  const bsm_weights *scale =
      bsm_constant_of(from->inputs.items[1], BSM_DTYPE_FLOAT);
  if (!w || !scale || (axis >= 0 && axis != (turned ? 0 : 1)) ||
      w->count != count * p->depth || scale->count != (axis < 0 ? 1 : count)) {
    return false;
  }
  const int8_t *bits = w->values;
  const float *scales = scale->values;
  for (int64_t o = 0; o < count; o++) {
    int8_t *to = p->kernel + (first + o) * p->depth;
    for (int64_t k = 0; k < p->depth; k++) {
      to[k] = bits[turned ? o * p->depth + k : k * count + o];
    }
    p->columns[first + o] = (double)scales[axis < 0 ? 0 : o];
  }
  return true;
}

/* One of the matrices side by side, whose first column is map `first`. */
static bsm_status read_part(fusion *f, product *p, const bsm_itensor *b,
                            bool turned, int64_t first, bool *fits) {
  const float *values = NULL;
  *fits = b->dims.rank == 2;
  if (!*fits) return BSM_OK;
  const int64_t count = b->dims.d[turned ? 0 : 1];
  if (p->byte != BSM_DTYPE_UINT8) {
    *fits = read_float8(p, b, turned, first, count);
    return BSM_OK;
  }
  BSM_TRY(matrix_floats(f, b, &values));
  *fits = values && (turned ? find_grids(p, values, p->depth, 1, first, count)
                            : find_grids(p, values, 1, count, first, count));
  return BSM_OK;
}

static bsm_status read_matrix(fusion *f, product *p, bool *fits) {
  const bsm_layer *layer = p->layer;
  const bsm_dims x = layer->inputs.items[0]->dims;
  const bsm_dims y = layer->outputs.items[0]->dims;
  const bool turned = layer->p.matrix_multiply.op_b == BSM_MATRIX_TRANSPOSE;
  const int32_t parts = layer->p.matrix_multiply.parts;
  *fits = layer->p.matrix_multiply.op_a == BSM_MATRIX_NONE && x.rank >= 2 &&
          x.rank == y.rank;
  if (!*fits) return BSM_OK;
  p->maps = y.d[y.rank - 1];
  p->depth = x.d[x.rank - 1];
  p->bias = &layer->p.matrix_multiply.bias;
  p->epilogue = &layer->p.matrix_multiply.epilogue;
  BSM_TRY(reserve(f, p, fits));
  int64_t first = 0;
  for (int32_t i = 0; *fits && i < (parts > 1 ? parts : 1); i++) {
    const bsm_itensor *b = layer->inputs.items[1 + i];
    BSM_TRY(read_part(f, p, b, turned, first, fits));
    first += b->dims.d[turned ? 0 : 1];
  }
  for (int64_t o = 0; *fits && o < p->maps; o++) {
    p->columns[o] *= bsm_matrix_factor(layer, o);
  }
  return BSM_OK;
}

static bsm_status read_product(fusion *f, product *p, bool *fits) {
  const bsm_layer *layer = p->layer;
  *fits = layer->kind == BSM_LAYER_CONVOLUTION ||
          layer->kind == BSM_LAYER_MATRIX_MULTIPLY;
  if (!*fits) return BSM_OK;
  const bsm_itensor *x = bsm_dequantized_from(layer->inputs.items[0], &p->x);
  *fits = x && x->dtype != BSM_DTYPE_INT8;
  if (!*fits) return BSM_OK;
  p->byte = x->dtype;
  *fits = f->target->ops->fuses(
      f->target, p->byte == BSM_DTYPE_UINT8 ? BSM_FUSION_INT8 : BSM_FUSION_FP8,
      layer->outputs.items[0]->dtype);
  if (!*fits) return BSM_OK;
  return layer->kind == BSM_LAYER_CONVOLUTION ? read_convolution(f, p, fits)
                                              : read_matrix(f, p, fits);
}

/* ---- the layer ---- */

static bsm_status make_columns(const fusion *f, const product *p,
                               bsm_layer *to) {
  float *columns = BSM_NEW_ARRAY(f->net->arena, float, (size_t)(2 * p->maps));
  int32_t *offset = BSM_NEW_ARRAY(f->net->arena, int32_t, (size_t)p->maps);
  if (!columns || !offset) return BSM_FAIL_OOM();
  const float *bias = NULL;
  if (p->bias->count) BSM_TRY(as_floats(f, p->bias, p->bias->dtype, &bias));
  for (int64_t o = 0; o < p->maps; o++) {
    int32_t sum = 0;
    for (int64_t k = 0; k < p->depth; k++) sum += p->kernel[o * p->depth + k];
    offset[o] = -p->x.zero * sum; /* which is 0 of float8 */
    columns[o] = (float)((double)p->x.scale * p->columns[o]);
    columns[p->maps + o] = bias ? bias[o] : 0;
  }
  to->p.int8_convolution.kernel = p->kernel;
  to->p.int8_convolution.columns = columns;
  to->p.int8_convolution.offset = offset;
  return BSM_OK;
}

/* The residual as the new layer reads it: bytes where it is dequantized. */
static bsm_itensor *residual_of(const product *p, bsm_layer *to) {
  bsm_itensor *t = p->layer->inputs.items[p->layer->inputs.len - 1];
  bsm_grid grid;
  bsm_itensor *bytes = bytes_of(t, p->byte, &grid);
  if (!bytes) return t;
  to->p.int8_convolution.residual_zero = grid.zero;
  to->p.int8_convolution.residual_scale = (double)grid.scale;
  return bytes;
}

/* What saturates at the greatest number alone. */
static bool is_all_of_float8(const bsm_grid *grid) {
  return grid->least == -BSM_FLOAT8_MOST && grid->greatest == BSM_FLOAT8_MOST;
}

/* The QUANTIZE layer that alone reads the product; NULL: there is none. */
static bsm_layer *quantizer_of(const fusion *f, const product *p,
                               bsm_grid *grid) {
  bsm_layer *reader =
      bsm_uses_single_reader(&f->uses, p->layer->outputs.items[0]);
  return reader && bsm_quantize_grid(reader, grid) &&
                 reader->outputs.items[0]->dtype == p->byte &&
                 (p->byte == BSM_DTYPE_UINT8 || is_all_of_float8(grid))
             ? reader
             : NULL;
}

static void set_output(bsm_layer *to, const product *p, const bsm_grid *grid) {
  to->p.int8_convolution.quantizes = true;
  if (p->byte == BSM_DTYPE_UINT8) {
    to->p.int8_convolution.y_zero = grid->zero;
    to->p.int8_convolution.least = grid->least;
    to->p.int8_convolution.greatest = grid->greatest;
  }
  to->p.int8_convolution.y_inverse = (double)grid->inverse;
}

/* Puts the new layer, the network's last, into the place of the product. */
static void replace(fusion *f, size_t index, bsm_layer *to, bsm_layer *last) {
  bsm_layer *from = f->net->layers.items[index];
  to->name = from->name;
  to->source = from->source;
  to->scope = from->scope;
  to->precision = to->inputs.items[0]->dtype == BSM_DTYPE_UINT8
                      ? BSM_PRECISION_INT8
                      : BSM_PRECISION_FP8;
  f->net->layers.items[index] = to;
  f->net->layers.len--;
  to->outputs.items[0] = last->outputs.items[0];
  to->outputs.items[0]->producer = to;
  from->removed = last->removed = true;
}

static bsm_status fuse(fusion *f, size_t index, const product *p) {
  bsm_grid grid;
  bsm_itensor *inputs[2] = {
      bytes_of(p->layer->inputs.items[0], p->byte, &grid)};
  const bool convolves = p->layer->kind == BSM_LAYER_CONVOLUTION;
  bsm_layer *to;
  BSM_TRY(bsm_network_new_layer(f->net, BSM_LAYER_INT8_CONVOLUTION, inputs, 1,
                                1, &to));
  to->p.int8_convolution.out_maps = p->maps;
  to->p.int8_convolution.groups =
      convolves ? p->layer->p.convolution.groups : 1;
  if (convolves) {
    to->p.int8_convolution.window = p->layer->p.convolution.window;
  } else {
    const bsm_window_params pixel = {
        .kernel = {1}, .stride = {1}, .dilation = {1}};
    to->p.int8_convolution.window = pixel;
  }
  to->p.int8_convolution.epilogue = *p->epilogue;
  to->p.int8_convolution.x_zero = p->x.zero;
  to->p.int8_convolution.dims = p->layer->outputs.items[0]->dims;
  to->p.int8_convolution.dtype = p->layer->outputs.items[0]->dtype;
  BSM_TRY(make_columns(f, p, to));
  if (p->epilogue->has_residual) {
    bsm_itensor *residual = residual_of(p, to);
    BSM_TRY_ALLOC(bsm_vec_push(f->net->arena, &to->inputs, residual));
  }
  bsm_layer *quantizer = quantizer_of(f, p, &grid);
  bsm_layer *last = quantizer ? quantizer : f->net->layers.items[index];
  if (quantizer) set_output(to, p, &grid);
  replace(f, index, to, last);
  return bsm_layer_infer(to);
}

bsm_status bsm_pass_fuse_int8(const bsm_target *target, bsm_network *net,
                              bsm_arena *scratch) {
  fusion f = {.target = target, .net = net, .scratch = scratch};
  bool found = false;
  const size_t count = net->layers.len;
  for (size_t i = 0; i < count && !found; i++) {
    found = net->layers.items[i]->kind == BSM_LAYER_DEQUANTIZE;
  }
  if (!found) return BSM_OK;
  BSM_TRY(bsm_uses_compute(net, scratch, &f.uses));
  for (size_t i = 0; i < count; i++) {
    product p = {.layer = net->layers.items[i]};
    bool fits = false;
    if (!p.layer->removed) BSM_TRY(read_product(&f, &p, &fits));
    if (fits) BSM_TRY(fuse(&f, i, &p));
  }
  return BSM_OK;
}
