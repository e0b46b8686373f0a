/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one layer in int8 of a product and what quantizes around it:
 *
 *   dequantize -> convolution | matrix multiply by a constant
 *     [-> quantize]
 *
 * where the constant is on a grid (quantized_grid.h), and what fuse_epilogues
 * has put into the product (bias, residual, activation) stays in it. A residual
 * that is dequantized is read as bytes. Without a QUANTIZE layer as the only
 * reader the output has the product's dtype. Sums of int8 are exact, while
 * those of the floats that they replace are not, so that results may differ in
 * the last bits. A product of 16 bits has operands that were rounded to these;
 * here they are not. Requires: fuse_epilogues, unify_quantizers. */
#include <math.h>

#include "aten/tensor.h"
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
  int64_t maps, depth; /* of the output; of the sum for each of them */
  const bsm_epilogue *epilogue;
  const bsm_weights *bias;
  int8_t *kernel;  /* [maps, depth] */
  double *columns; /* factor of each map */
} product;

/* ---- what fits ---- */

/* The uint8 that `t` is dequantized from, or NULL. */
static bsm_itensor *bytes_of(const bsm_itensor *t, bsm_grid *grid) {
  bsm_itensor *from = bsm_dequantized_from(t, grid);
  return from && from->dtype == BSM_DTYPE_UINT8 ? from : NULL;
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

/* A kernel of the quantizer's, which knows the scales. */
static void use_scales(product *p, const float *x, const float *scale) {
  for (int64_t o = 0; o < p->maps; o++) {
    for (int64_t k = 0; k < p->depth; k++) {
      const int64_t at = o * p->depth + k;
      const float q = nearbyintf(x[at] / scale[o]);
      p->kernel[at] = (int8_t)fminf(fmaxf(q, -INT8_MAX), INT8_MAX);
    }
    p->columns[o] = (double)scale[o];
  }
}

static bsm_status read_convolution(fusion *f, product *p, bool *fits) {
  const bsm_convolution_params *c = &p->layer->p.convolution;
  const bsm_weights *w = &c->kernel;
  const bsm_dtype stored = c->deferred.cast ? c->deferred.held : w->dtype;
  const bool held = c->deferred.cast && stored == BSM_DTYPE_INT8;
  const bool halves = is_half(stored) && c->kernel_scale;
  *fits = !c->has_scale && !c->joins_next &&
          (held || halves || stored == BSM_DTYPE_FLOAT);
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
    const float *values = NULL;
    *fits = b->dims.rank == 2;
    if (*fits) BSM_TRY(matrix_floats(f, b, &values));
    if (!values) *fits = false;
    if (!*fits) return BSM_OK;
    const int64_t count = b->dims.d[turned ? 0 : 1];
    *fits = turned ? find_grids(p, values, p->depth, 1, first, count)
                   : find_grids(p, values, 1, count, first, count);
    first += count;
  }
  for (int64_t o = 0; *fits && o < p->maps; o++) {
    p->columns[o] *= layer->p.matrix_multiply.scale;
  }
  return BSM_OK;
}

static bsm_status read_product(fusion *f, product *p, bool *fits) {
  const bsm_layer *layer = p->layer;
  *fits = (layer->kind == BSM_LAYER_CONVOLUTION ||
           layer->kind == BSM_LAYER_MATRIX_MULTIPLY) &&
          f->target->ops->fuses(f->target, BSM_FUSION_INT8,
                                layer->outputs.items[0]->dtype) &&
          bytes_of(layer->inputs.items[0], &p->x);
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
    offset[o] = -p->x.zero * sum;
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
  bsm_itensor *bytes = bytes_of(t, &grid);
  if (!bytes) return t;
  to->p.int8_convolution.residual_zero = grid.zero;
  to->p.int8_convolution.residual_scale = (double)grid.scale;
  return bytes;
}

/* The QUANTIZE layer that alone reads the product; NULL: there is none. */
static bsm_layer *quantizer_of(const fusion *f, const product *p,
                               bsm_grid *grid) {
  bsm_layer *reader =
      bsm_uses_single_reader(&f->uses, p->layer->outputs.items[0]);
  return reader && bsm_quantize_grid(reader, grid) &&
                 reader->outputs.items[0]->dtype == BSM_DTYPE_UINT8
             ? reader
             : NULL;
}

static void set_output(bsm_layer *to, const bsm_grid *grid) {
  to->p.int8_convolution.quantizes = true;
  to->p.int8_convolution.y_zero = grid->zero;
  to->p.int8_convolution.least = grid->least;
  to->p.int8_convolution.greatest = grid->greatest;
  to->p.int8_convolution.y_inverse = (double)grid->inverse;
}

/* Puts the new layer, the network's last, into the place of the product. */
static void replace(fusion *f, size_t index, bsm_layer *to, bsm_layer *last) {
  bsm_layer *from = f->net->layers.items[index];
  to->name = from->name;
  to->source = from->source;
  to->scope = from->scope;
  to->precision = BSM_PRECISION_INT8;
  f->net->layers.items[index] = to;
  f->net->layers.len--;
  to->outputs.items[0] = last->outputs.items[0];
  to->outputs.items[0]->producer = to;
  from->removed = last->removed = true;
}

static bsm_status fuse(fusion *f, size_t index, const product *p) {
  bsm_grid grid;
  bsm_itensor *inputs[2] = {bytes_of(p->layer->inputs.items[0], &grid)};
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
  if (quantizer) set_output(to, &grid);
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
