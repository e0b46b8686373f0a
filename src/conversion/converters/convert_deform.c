/* SPDX-License-Identifier: Apache-2.0 */
/* deform_conv2d: a convolution whose taps lie off their places by offsets that
 * are computed. A tap reads four pixels with weights, as grid_sample does; each
 * of the four is one gather of whole pixels for all taps of all outputs, laid
 * out as the rows of a matrix, which the weights multiply. */
#include "conversion/emit.h"

/* Positions are of float64, which no precision that is asked for narrows. */
#define POSITION BSM_DTYPE_DOUBLE

typedef struct deform {
  bsm_conversion_ctx *ctx;
  bsm_dtype dtype;
  /* of the input, its groups and those of the offsets; of the output */
  int64_t n, channels, size[2], groups, parts, maps, out[2];
  int64_t kernel[2], stride[2], pad[2], dilation[2];
} deform;

/* The two pixels that taps read along an axis, [n, oh, ow, taps, parts] each:
 * int64, POSITION and bool. */
typedef struct pair {
  bsm_itensor *index[2], *weight[2], *inside[2];
} pair;

static bsm_itensor *number(const deform *d, double value) {
  return bsm_emit_scalar(d->ctx, POSITION, value);
}

static bsm_itensor *binary(const deform *d, bsm_itensor *a, bsm_itensor *b,
                           bsm_element_wise_operation operation) {
  return bsm_emit_binary(d->ctx, a, b, operation);
}

static int64_t tap_count(const deform *d) {
  return d->kernel[0] * d->kernel[1];
}

/* How many rows of one part's channels are gathered. */
static int64_t row_count(const deform *d) {
  return d->n * d->out[0] * d->out[1] * tap_count(d) * d->parts;
}

/* What stands for each tap of each part: `each` numbers, of which this is
 * number `which`, [n, oh, ow, taps, parts]. */
static bsm_itensor *of_taps(const deform *d, bsm_itensor *x, int64_t each,
                            int64_t which) {
  const int64_t oh = d->out[0], ow = d->out[1], taps = tap_count(d);
  x = bsm_emit_reshape(d->ctx, x,
                       (bsm_dims){6, {d->n, d->parts, taps, each, oh, ow}});
  x = bsm_emit_slice(d->ctx, x, 3, which, 1, 1);
  x = bsm_emit_squeeze(d->ctx, x, 1u << 3);
  return bsm_emit_permute(d->ctx, x, (bsm_dims){5, {0, 3, 4, 2, 1}});
}

/* Where taps lie without offsets along an axis: [oh, 1, taps, 1] along the
 * first, [ow, taps, 1] along the second. */
static bsm_itensor *places(const deform *d, int axis) {
  const int64_t taps = tap_count(d), out = d->out[axis];
  int64_t *values = bsm_conversion_alloc(d->ctx, (size_t)taps * sizeof *values);
  bsm_dims first = {3, {out, 1, 1}};
  if (!values) return NULL;
  for (int64_t k = 0; k < taps; k++) {
    const int64_t at = axis ? k % d->kernel[1] : k / d->kernel[1];
    values[k] = at * d->dilation[axis];
  }
  if (axis == 0) first = (bsm_dims){4, {out, 1, 1, 1}};
  bsm_itensor *starts = bsm_emit_reshape(
      d->ctx, bsm_emit_arange(d->ctx, -d->pad[axis], out, d->stride[axis]),
      first);
  bsm_itensor *within =
      bsm_emit_int64s(d->ctx, values, (bsm_dims){2, {taps, 1}});
  return bsm_emit_cast(d->ctx, binary(d, starts, within, BSM_ELEMENT_WISE_SUM),
                       POSITION);
}

/* `offset` in POSITION: pairs of a row and a column for each tap. */
static pair read_axis(const deform *d, bsm_itensor *offset, int axis) {
  const double last = (double)(d->size[axis] - 1);
  bsm_itensor *at = binary(d, of_taps(d, offset, 2, axis), places(d, axis),
                           BSM_ELEMENT_WISE_SUM);
  bsm_itensor *low = bsm_emit_unary(d->ctx, at, BSM_UNARY_FLOOR);
  bsm_itensor *part = binary(d, at, low, BSM_ELEMENT_WISE_SUB);
  pair p;
  p.weight[0] = binary(d, number(d, 1), part, BSM_ELEMENT_WISE_SUB);
  p.weight[1] = part;
  for (int i = 0; i < 2; i++) {
    bsm_itensor *pixel = binary(d, low, number(d, i), BSM_ELEMENT_WISE_SUM);
    bsm_itensor *near =
        bsm_emit_activation(d->ctx, pixel, BSM_ACTIVATION_CLIP, 0, last);
    /* No number is the first pixel, which counts nothing. */
    p.inside[i] = binary(d, pixel, near, BSM_ELEMENT_WISE_EQUAL);
    near = bsm_emit_select(d->ctx, p.inside[i], near, number(d, 0));
    p.index[i] = bsm_emit_cast(d->ctx, near, BSM_DTYPE_INT64);
  }
  return p;
}

/* One of the four pixels of each tap, weighted: [rows, channels of a part]. */
static bsm_itensor *read_pixels(const deform *d, bsm_itensor *pixels,
                                const pair *y, const pair *x, int i, int j) {
  const bsm_dims column = {2, {row_count(d), 1}};
  bsm_conversion_ctx *ctx = d->ctx;
  bsm_itensor *first =
      bsm_emit_arange(ctx, 0, d->n * d->parts, d->size[0] * d->size[1]);
  first =
      bsm_emit_reshape(ctx, first, (bsm_dims){5, {d->n, 1, 1, 1, d->parts}});
  bsm_itensor *at = binary(
      d, y->index[i], bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, d->size[1]),
      BSM_ELEMENT_WISE_PROD);
  at = binary(d, binary(d, at, x->index[j], BSM_ELEMENT_WISE_SUM), first,
              BSM_ELEMENT_WISE_SUM);
  at = bsm_emit_reshape(ctx, at, (bsm_dims){1, {row_count(d)}});
  bsm_itensor *rows = bsm_emit_gather(ctx, pixels, at, BSM_GATHER_DEFAULT, 0);
  bsm_itensor *weight =
      binary(d, y->weight[i], x->weight[j], BSM_ELEMENT_WISE_PROD);
  weight = bsm_emit_reshape(ctx, bsm_emit_cast(ctx, weight, d->dtype), column);
  bsm_itensor *inside = bsm_emit_reshape(
      ctx, binary(d, y->inside[i], x->inside[j], BSM_ELEMENT_WISE_AND), column);
  return bsm_emit_select(ctx, inside,
                         binary(d, rows, weight, BSM_ELEMENT_WISE_PROD),
                         bsm_emit_scalar(ctx, d->dtype, 0));
}

/* What all taps read: [rows, channels of a part]. */
static bsm_itensor *read_taps(const deform *d, bsm_itensor *x,
                              bsm_itensor *offset, bsm_itensor *mask) {
  const int64_t channels = d->channels / d->parts;
  const int64_t count = d->n * d->parts * d->size[0] * d->size[1];
  bsm_conversion_ctx *ctx = d->ctx;
  bsm_itensor *pixels = bsm_emit_reshape(
      ctx, x,
      (bsm_dims){5, {d->n, d->parts, channels, d->size[0], d->size[1]}});
  pixels = bsm_emit_permute(ctx, pixels, (bsm_dims){5, {0, 1, 3, 4, 2}});
  pixels = bsm_emit_reshape(ctx, pixels, (bsm_dims){2, {count, channels}});
  offset = bsm_emit_cast(ctx, offset, POSITION);
  const pair down = read_axis(d, offset, 0), along = read_axis(d, offset, 1);
  bsm_itensor *sum = NULL;
  for (int k = 0; k < 4; k++) {
    bsm_itensor *one = read_pixels(d, pixels, &down, &along, k / 2, k % 2);
    sum = sum ? binary(d, sum, one, BSM_ELEMENT_WISE_SUM) : one;
  }
  if (!mask) return sum;
  mask = bsm_emit_reshape(ctx, of_taps(d, mask, 1, 0),
                          (bsm_dims){2, {row_count(d), 1}});
  return binary(d, sum, mask, BSM_ELEMENT_WISE_PROD);
}

/* Rows of taps and channels times the weights: [outputs, maps]. */
static bsm_itensor *multiply(const deform *d, bsm_itensor *rows,
                             bsm_itensor *weight) {
  const int64_t taps = tap_count(d), outputs = d->n * d->out[0] * d->out[1];
  const int64_t g = d->groups, in = d->channels / g, maps = d->maps / g;
  bsm_conversion_ctx *ctx = d->ctx;
  rows = bsm_emit_reshape(ctx, rows, (bsm_dims){4, {outputs, taps, g, in}});
  rows = bsm_emit_permute(ctx, rows, (bsm_dims){4, {2, 0, 1, 3}});
  weight = bsm_emit_reshape(ctx, weight, (bsm_dims){4, {g, maps, in, taps}});
  weight = bsm_emit_permute(ctx, weight, (bsm_dims){4, {0, 1, 3, 2}});
  bsm_dims a = {3, {g, outputs, taps * in}}, b = {3, {g, maps, taps * in}};
  if (g == 1) {
    a = (bsm_dims){2, {outputs, taps * in}};
    b = (bsm_dims){2, {maps, taps * in}};
  }
  bsm_itensor *y = bsm_emit_matmul(ctx, bsm_emit_reshape(ctx, rows, a), false,
                                   bsm_emit_reshape(ctx, weight, b), true);
  if (g == 1) return y;
  y = bsm_emit_permute(ctx, y, (bsm_dims){3, {1, 0, 2}});
  return bsm_emit_reshape(ctx, y, (bsm_dims){2, {outputs, d->maps}});
}

/* The sizes of the output; false when something does not fit, of which the
 * reference library tells what. */
static bool measure(deform *d, const bsm_itensor *x, const bsm_itensor *weight,
                    const bsm_itensor *offset, const bsm_itensor *mask,
                    const bsm_itensor *bias) {
  const int64_t big = (int64_t)1 << 31;
  if (bsm_rank(x) != 4 || bsm_rank(weight) != 4 || d->groups <= 0 ||
      d->parts <= 0) {
    return false;
  }
  d->n = x->dims.d[0];
  d->channels = x->dims.d[1];
  d->maps = weight->dims.d[0];
  for (int i = 0; i < 2; i++) {
    d->size[i] = x->dims.d[2 + i];
    d->kernel[i] = weight->dims.d[2 + i];
    if (d->stride[i] <= 0 || d->stride[i] >= big || d->pad[i] < 0 ||
        d->pad[i] >= big || d->dilation[i] <= 0 || d->dilation[i] >= big ||
        d->kernel[i] <= 0 || d->kernel[i] >= big || d->size[i] <= 0) {
      return false;
    }
    const int64_t room =
        d->size[i] + 2 * d->pad[i] - (d->dilation[i] * (d->kernel[i] - 1) + 1);
    if (room < 0) return false;
    d->out[i] = room / d->stride[i] + 1;
  }
  const int64_t taps = tap_count(d) * d->parts;
  const bsm_dims offsets = {4, {d->n, 2 * taps, d->out[0], d->out[1]}};
  const bsm_dims masks = {4, {d->n, taps, d->out[0], d->out[1]}};
  return d->n > 0 && d->channels > 0 && d->maps > 0 &&
         weight->dims.d[1] * d->groups == d->channels &&
         d->maps % d->groups == 0 && d->channels % d->parts == 0 &&
         bsm_dims_equal(offset->dims, offsets) &&
         (!mask || bsm_dims_equal(mask->dims, masks)) &&
         bsm_itensor_numel(bias) == d->maps && weight->dtype == x->dtype &&
         offset->dtype == x->dtype && bias->dtype == x->dtype &&
         (!mask || mask->dtype == x->dtype);
}

static bsm_status convert_deform(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum {
    INPUT,
    WEIGHT,
    OFFSET,
    MASK,
    BIAS,
    STRIDE,
    PAD = STRIDE + 2,
    DILATION = PAD + 2,
    GROUPS = DILATION + 2,
    OFFSET_GROUPS,
    USE_MASK
  };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  bsm_itensor *weight = bsm_arg_itensor_or_freeze(ctx, args, WEIGHT);
  bsm_itensor *offset = bsm_arg_itensor_or_freeze(ctx, args, OFFSET);
  bsm_itensor *bias = bsm_arg_itensor_or_freeze(ctx, args, BIAS);
  bsm_itensor *mask = NULL;
  if (bsm_arg_unwrap_to_bool(args, USE_MASK)) {
    mask = bsm_arg_itensor_or_freeze(ctx, args, MASK);
    if (!mask) return bsm_ctx_take_error(ctx);
  }
  if (!x || !weight || !offset || !bias) return bsm_ctx_take_error(ctx);
  deform d = {.ctx = ctx,
              .dtype = x->dtype,
              .groups = bsm_arg_unwrap_to_int(args, GROUPS),
              .parts = bsm_arg_unwrap_to_int(args, OFFSET_GROUPS)};
  for (size_t i = 0; i < 2; i++) {
    d.stride[i] = bsm_arg_unwrap_to_int(args, STRIDE + i);
    d.pad[i] = bsm_arg_unwrap_to_int(args, PAD + i);
    d.dilation[i] = bsm_arg_unwrap_to_int(args, DILATION + i);
  }
  BSM_CHECK(measure(&d, x, weight, offset, mask, bias),
            "deform_conv2d of tensors that do not fit together, or of none");
  bsm_itensor *y = multiply(&d, read_taps(&d, x, offset, mask), weight);
  y = bsm_emit_binary(ctx, y,
                      bsm_emit_reshape(ctx, bias, (bsm_dims){1, {d.maps}}),
                      BSM_ELEMENT_WISE_SUM);
  y = bsm_emit_reshape(ctx, y,
                       (bsm_dims){4, {d.n, d.out[0], d.out[1], d.maps}});
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_permute(ctx, y, (bsm_dims){4, {0, 3, 1, 2}}));
}

static const bsm_conversion_pattern patterns[] = {
    {"torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, "
     "Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt "
     "pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt "
     "groups, SymInt offset_groups, bool use_mask) -> Tensor",
     convert_deform, 0},
};
BSM_CONVERTER_TABLE(deform, patterns);
