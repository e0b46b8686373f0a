/* SPDX-License-Identifier: Apache-2.0 */
/* grid_sample of images and volumes, and affine_grid.
 *
 * Along each axis a position reads one to four elements (taps), each with a
 * weight; the result is the sum, over the product of the axes' taps, of the
 * elements times their weights. Where the target has a step for that, it is a
 * layer. Otherwise the elements come from one gather of whole pixels each: the
 * data is laid out [N * pixels, C]. */
#include "conversion/conversion_internal.h"
#include "conversion/emit.h"

enum { BILINEAR, NEAREST, BICUBIC };
enum { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION };
enum { MAX_TAPS = 4 };
/* Of a layer: float tells the pixels along an axis apart below it. */
enum { MAX_SIZE = 1 << 23 };

/* One axis: the element indices (as floats, inside the data) and weights. */
typedef struct tap {
  bsm_itensor *index, *weight; /* weight NULL: 1 */
} tap;

typedef struct sampler {
  bsm_conversion_ctx *ctx;
  bsm_dtype dtype;
  int64_t interpolation, padding;
  bool align;
  int32_t axes;
} sampler;

static bsm_itensor *number(const sampler *s, double value) {
  return bsm_emit_scalar(s->ctx, s->dtype, value);
}

static bsm_itensor *binary(const sampler *s, bsm_itensor *a, bsm_itensor *b,
                           bsm_element_wise_operation operation) {
  return bsm_emit_binary(s->ctx, a, b, operation);
}

/* x * scale + shift */
static bsm_itensor *linear(const sampler *s, bsm_itensor *x, double scale,
                           double shift) {
  x = binary(s, x, number(s, scale), BSM_ELEMENT_WISE_PROD);
  return binary(s, x, number(s, shift), BSM_ELEMENT_WISE_SUM);
}

/* NaN is the first one, as in PyTorch's kernels. */
static bsm_itensor *clip(const sampler *s, bsm_itensor *x, int64_t size) {
  x = bsm_emit_activation(s->ctx, x, BSM_ACTIVATION_CLIP, 0,
                          (double)(size - 1));
  return bsm_emit_select(s->ctx, binary(s, x, x, BSM_ELEMENT_WISE_EQUAL), x,
                         number(s, 0));
}

/* Reflects at the outer pixels' centres, or at their edges. */
static bsm_itensor *reflect(const sampler *s, bsm_itensor *x, int64_t size) {
  double low = s->align ? 0 : -0.5, span = (double)(s->align ? size - 1 : size);
  if (!(span > 0)) {
    return binary(s, x, number(s, 0), BSM_ELEMENT_WISE_PROD);
  }
  x = bsm_emit_unary(s->ctx, linear(s, x, 1, -low), BSM_UNARY_ABS);
  bsm_itensor *rest = binary(s, x, number(s, span), BSM_ELEMENT_WISE_FMOD);
  bsm_itensor *flips = bsm_emit_unary(
      s->ctx, binary(s, x, number(s, span), BSM_ELEMENT_WISE_DIV),
      BSM_UNARY_FLOOR);
  bsm_itensor *odd =
      binary(s, binary(s, flips, number(s, 2), BSM_ELEMENT_WISE_FMOD),
             number(s, 0.5), BSM_ELEMENT_WISE_GREATER);
  return clip(s,
              bsm_emit_select(s->ctx, odd, linear(s, rest, -1, span + low),
                              linear(s, rest, 1, low)),
              size);
}

static bsm_itensor *into_range(const sampler *s, bsm_itensor *x, int64_t size) {
  if (s->padding == PAD_BORDER) return clip(s, x, size);
  if (s->padding == PAD_REFLECTION) return reflect(s, x, size);
  return x;
}

/* With zero padding an index outside counts nothing: its weight is 0 and the
 * index moves inside. In images that is a product, so that a weight that is NaN
 * stays. */
static tap bounded(const sampler *s, bsm_itensor *index, bsm_itensor *weight,
                   int64_t size) {
  bsm_itensor *inside = clip(s, index, size);
  if (s->padding != PAD_ZEROS || !index) return (tap){inside, weight};
  bsm_itensor *same = binary(s, index, inside, BSM_ELEMENT_WISE_EQUAL);
  bsm_itensor *none = number(s, 0);
  if (!weight) {
    weight = number(s, 1);
  } else if (s->axes == 2) {
    none = binary(s, weight, none, BSM_ELEMENT_WISE_PROD);
  }
  return (tap){inside, bsm_emit_select(s->ctx, same, weight, none)};
}

/* Keys' kernel with A = -0.75 at distances `near` + [0, 1). */
static bsm_itensor *cubic_near(const sampler *s, bsm_itensor *t) {
  const double a = -0.75; /* ((a + 2) t - (a + 3)) t t + 1 */
  bsm_itensor *square = binary(s, t, t, BSM_ELEMENT_WISE_PROD);
  bsm_itensor *y =
      binary(s, linear(s, t, a + 2, -(a + 3)), square, BSM_ELEMENT_WISE_PROD);
  return binary(s, y, number(s, 1), BSM_ELEMENT_WISE_SUM);
}

static bsm_itensor *cubic_far(const sampler *s, bsm_itensor *t) {
  const double a = -0.75; /* ((a t - 5 a) t + 8 a) t - 4 a */
  bsm_itensor *y = binary(s, linear(s, t, a, -5 * a), t, BSM_ELEMENT_WISE_PROD);
  y = binary(s, y, number(s, 8 * a), BSM_ELEMENT_WISE_SUM);
  y = binary(s, y, t, BSM_ELEMENT_WISE_PROD);
  return binary(s, y, number(s, -4 * a), BSM_ELEMENT_WISE_SUM);
}

static int cubic_taps(const sampler *s, bsm_itensor *x, int64_t size,
                      tap *out) {
  bsm_itensor *base = bsm_emit_unary(s->ctx, x, BSM_UNARY_FLOOR);
  bsm_itensor *t = binary(s, x, base, BSM_ELEMENT_WISE_SUB);
  bsm_itensor *weights[] = {cubic_far(s, linear(s, t, 1, 1)), cubic_near(s, t),
                            cubic_near(s, linear(s, t, -1, 1)),
                            cubic_far(s, linear(s, t, -1, 2))};
  for (int i = 0; i < 4; i++) {
    bsm_itensor *index = linear(s, base, 1, i - 1);
    out[i] = bounded(s, into_range(s, index, size), weights[i], size);
  }
  return 4;
}

/* The taps along an axis of `size` for the grid's coordinate, -1 .. 1. */
static int axis_taps(const sampler *s, bsm_itensor *x, int64_t size, tap *out) {
  double n = (double)size;
  x = s->align ? linear(s, x, (n - 1) / 2, (n - 1) / 2)
               : linear(s, x, n / 2, (n - 1) / 2);
  if (s->interpolation == BICUBIC) return cubic_taps(s, x, size, out);
  x = into_range(s, x, size);
  if (s->interpolation == NEAREST) {
    out[0] = bounded(s, bsm_emit_unary(s->ctx, x, BSM_UNARY_ROUND), NULL, size);
    return 1;
  }
  bsm_itensor *base = bsm_emit_unary(s->ctx, x, BSM_UNARY_FLOOR);
  bsm_itensor *t = binary(s, x, base, BSM_ELEMENT_WISE_SUB);
  out[0] = bounded(s, base, linear(s, t, -1, 1), size);
  out[1] = bounded(s, linear(s, base, 1, 1), t, size);
  return 2;
}

/* The pixels of one combination of taps, [N * positions, C], weighted. */
static bsm_itensor *read_pixels(const sampler *s, bsm_itensor *pixels,
                                bsm_itensor *first, const tap *const *taps,
                                const int64_t *sizes, int32_t axes) {
  bsm_itensor *at = first, *weight = NULL;
  int64_t stride = 1;
  for (int32_t i = axes - 1; i >= 0; i--) {
    bsm_itensor *index = bsm_emit_cast(s->ctx, taps[i]->index, BSM_DTYPE_INT64);
    index =
        binary(s, index, bsm_emit_int_scalar(s->ctx, BSM_DTYPE_INT64, stride),
               BSM_ELEMENT_WISE_PROD);
    at = binary(s, at, index, BSM_ELEMENT_WISE_SUM);
    stride *= sizes[i];
    if (!taps[i]->weight) continue;
    weight = weight ? binary(s, weight, taps[i]->weight, BSM_ELEMENT_WISE_PROD)
                    : taps[i]->weight;
  }
  if (!at) return NULL;
  at = bsm_emit_reshape(s->ctx, at, (bsm_dims){1, {bsm_itensor_numel(at)}});
  bsm_itensor *out = bsm_emit_gather(s->ctx, pixels, at, BSM_GATHER_DEFAULT, 0);
  if (!weight) return out;
  weight = bsm_emit_reshape(s->ctx, weight,
                            (bsm_dims){2, {bsm_itensor_numel(weight), 1}});
  return binary(s, out, weight, BSM_ELEMENT_WISE_PROD);
}

/* Sums over all combinations of taps. */
static bsm_itensor *sum_taps(const sampler *s, bsm_itensor *pixels,
                             bsm_itensor *first, tap (*taps)[MAX_TAPS],
                             int count, const int64_t *sizes, int32_t axes) {
  const tap *chosen[3];
  int total = 1;
  bsm_itensor *sum = NULL;
  for (int32_t i = 0; i < axes; i++) total *= count;
  for (int k = 0; k < total; k++) {
    for (int32_t i = 0, rest = k; i < axes; i++, rest /= count) {
      chosen[i] = &taps[i][rest % count];
    }
    bsm_itensor *one = read_pixels(s, pixels, first, chosen, sizes, axes);
    sum = sum ? binary(s, sum, one, BSM_ELEMENT_WISE_SUM) : one;
  }
  return sum;
}

/* [N, C, in...] at grid [N, out..., axes], whose last dim is x, y(, z). */
static bsm_itensor *sample(const sampler *s, bsm_itensor *x,
                           bsm_itensor *grid) {
  int32_t axes = x->dims.rank - 2;
  int64_t n = x->dims.d[0], c = x->dims.d[1], in = 1, out = 1;
  tap taps[3][MAX_TAPS];
  int count = 0;
  bsm_dims to_last = {0}, to_first = {0}, shape = grid->dims;
  for (int32_t i = 0; i < axes; i++) {
    in *= x->dims.d[2 + i];
    out *= grid->dims.d[1 + i];
  }
  to_last.rank = to_first.rank = shape.rank = axes + 2;
  for (int32_t i = 0; i < axes + 2; i++) {
    to_last.d[i] = i == 0 ? 0 : i <= axes ? i + 1 : 1;
    to_first.d[i] = i == 0 ? 0 : i == 1 ? axes + 1 : i - 1;
  }
  shape.d[axes + 1] = c;
  bsm_itensor *pixels = bsm_emit_reshape(
      s->ctx, bsm_emit_permute(s->ctx, x, to_last), (bsm_dims){2, {n * in, c}});
  grid = bsm_emit_reshape(s->ctx, grid, (bsm_dims){3, {n, out, axes}});
  for (int32_t i = 0; i < axes; i++) {
    bsm_itensor *at = bsm_emit_slice(s->ctx, grid, 2, axes - 1 - i, 1, 1);
    count = axis_taps(s, bsm_emit_squeeze(s->ctx, at, 4), x->dims.d[2 + i],
                      taps[i]);
  }
  bsm_itensor *first = bsm_emit_reshape(
      s->ctx, bsm_emit_arange(s->ctx, 0, n, in), (bsm_dims){2, {n, 1}});
  bsm_itensor *sum =
      sum_taps(s, pixels, first, taps, count, x->dims.d + 2, axes);
  return bsm_emit_permute(s->ctx, bsm_emit_reshape(s->ctx, sum, shape),
                          to_first);
}

/* Whether the target has such a step. */
static bool is_taken(const bsm_conversion_ctx *ctx, bsm_itensor *x) {
  bsm_layer layer = {.kind = BSM_LAYER_SAMPLE};
  layer.inputs.items = layer.outputs.items = &x;
  layer.inputs.len = layer.outputs.len = 1;
  for (int32_t i = 2; i < x->dims.rank; i++) {
    if (x->dims.d[i] >= MAX_SIZE) return false;
  }
  return x->dtype == BSM_DTYPE_FLOAT && bsm_ctx_takes(ctx, &layer);
}

static bsm_itensor *add_layer(const sampler *s, bsm_itensor *x,
                              bsm_itensor *grid) {
  static const bsm_resize_mode modes[] = {[BILINEAR] = BSM_RESIZE_LINEAR,
                                          [NEAREST] = BSM_RESIZE_NEAREST,
                                          [BICUBIC] = BSM_RESIZE_CUBIC};
  static const bsm_sample_padding paddings[] = {
      [PAD_ZEROS] = BSM_SAMPLE_ZEROS,
      [PAD_BORDER] = BSM_SAMPLE_BORDER,
      [PAD_REFLECTION] = BSM_SAMPLE_REFLECTION};
  return bsm_emit(s->ctx, bsm_network_add_sample(
                              s->ctx->net, x, grid, modes[s->interpolation],
                              paddings[s->padding], s->align));
}

static bsm_status convert_grid_sampler(bsm_conversion_ctx *ctx,
                                       const bsm_node *node,
                                       const bsm_args *args) {
  enum { INPUT, GRID, INTERPOLATION, PADDING, ALIGN_CORNERS };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  bsm_itensor *grid = bsm_arg_itensor_or_freeze(ctx, args, GRID);
  sampler s = {ctx,
               bsm_itensor_dtype(x),
               bsm_arg_unwrap_to_int(args, INTERPOLATION),
               bsm_arg_unwrap_to_int(args, PADDING),
               bsm_arg_unwrap_to_bool(args, ALIGN_CORNERS),
               x ? bsm_rank(x) - 2 : 0};
  if (!x || !grid) return bsm_ctx_take_error(ctx);
  int32_t rank = bsm_rank(x);
  BSM_CHECK((rank == 4 || rank == 5) && bsm_rank(grid) == rank &&
                grid->dims.d[rank - 1] == rank - 2 &&
                grid->dims.d[0] == x->dims.d[0] && grid->dtype == x->dtype,
            "grid_sampler: an input with dims %s and a grid with dims %s",
            bsm_dims_str(x->dims), bsm_dims_str(grid->dims));
  BSM_CHECK(s.interpolation >= BILINEAR &&
                s.interpolation <= (rank == 4 ? BICUBIC : NEAREST),
            "grid_sampler: interpolation mode %lld of %d dimensions",
            (long long)s.interpolation, (int)rank - 2);
  BSM_CHECK(s.padding >= PAD_ZEROS && s.padding <= PAD_REFLECTION,
            "grid_sampler: padding mode %lld", (long long)s.padding);
  for (int32_t i = 2; i < rank; i++) {
    BSM_CHECK(x->dims.d[i] > 0,
              "grid_sampler: expected input to have non-empty spatial "
              "dimensions, it has dims %s",
              bsm_dims_str(x->dims));
  }
  return bsm_emit_output(
      ctx, node, 0,
      is_taken(ctx, x) ? add_layer(&s, x, grid) : sample(&s, x, grid));
}

/* ---- affine_grid ---- */

/* The homogeneous coordinates of each position, [positions, axes + 1]: x
 * first, 1 last. */
static bsm_status base_grid(bsm_conversion_ctx *ctx, bsm_dtype dtype,
                            const int64_t *sizes, int32_t axes, bool align,
                            int64_t positions, bsm_tensor **out) {
  bsm_tensor *grid;
  BSM_TRY(bsm_tensor_new(ctx->impl->arena, BSM_DTYPE_DOUBLE,
                         (bsm_dims){2, {positions, axes + 1}}, false, &grid));
  double *values = bsm_tensor_data(grid);
  for (int64_t p = 0; p < positions; p++, values += axes + 1) {
    int64_t rest = p;
    for (int32_t i = axes - 1; i >= 0; i--) {
      double n = (double)sizes[i], at = (double)(rest % sizes[i]);
      double steps = align ? n - 1 : n;
      values[axes - 1 - i] = steps > 0 && sizes[i] > 1
                                 ? (2 * at + (align ? 0 : 1)) / steps - 1
                                 : 0;
      rest /= sizes[i];
    }
    values[axes] = 1;
  }
  return bsm_tensor_to_dtype(ctx->impl->arena, grid, dtype, out);
}

/* theta [N, axes, axes + 1] and the size [N, C, spatial...] -> [N, spatial...,
 * axes]. */
static bsm_status convert_affine_grid(bsm_conversion_ctx *ctx,
                                      const bsm_node *node,
                                      const bsm_args *args) {
  enum { THETA, SIZE, ALIGN_CORNERS };
  size_t count;
  bsm_itensor *theta = bsm_arg_itensor_or_freeze(ctx, args, THETA);
  const int64_t *size = bsm_arg_unwrap_to_int_list(args, SIZE, &count);
  if (!theta || !size) return bsm_ctx_take_error(ctx);
  BSM_CHECK((count == 4 || count == 5) && bsm_rank(theta) == 3 &&
                theta->dims.d[0] == size[0] &&
                theta->dims.d[1] == (int64_t)count - 2 &&
                theta->dims.d[2] == (int64_t)count - 1 &&
                bsm_dtype_is_floating(theta->dtype),
            "affine_grid: theta has dims %s, the size has %zu dimensions",
            bsm_dims_str(theta->dims), count);
  int32_t axes = (int32_t)count - 2;
  bsm_dims spatial = bsm_dims_of(size + 2, (size_t)axes), out = {0};
  int64_t positions;
  BSM_CHECK(bsm_dims_numel(spatial, &positions) && positions > 0,
            "affine_grid: size %s", bsm_dims_str(spatial));
  bsm_tensor *base;
  BSM_TRY(base_grid(ctx, theta->dtype, size + 2, axes,
                    bsm_arg_unwrap_to_bool(args, ALIGN_CORNERS), positions,
                    &base));
  out.rank = axes + 2;
  out.d[0] = size[0];
  for (int32_t i = 0; i < axes; i++) out.d[1 + i] = size[2 + i];
  out.d[axes + 1] = axes;
  bsm_itensor *grid =
      bsm_emit_matmul(ctx, bsm_freeze_tensor(ctx, base), false, theta, true);
  return bsm_emit_output(ctx, node, 0, bsm_emit_reshape(ctx, grid, out));
}

#define GRID_SAMPLER(name)                                     \
  {                                                            \
    "aten::" name                                              \
    "(Tensor input, Tensor grid, int interpolation_mode, int " \
    "padding_mode, bool align_corners) -> Tensor",             \
        convert_grid_sampler, 0                                \
  }

static const bsm_conversion_pattern patterns[] = {
    GRID_SAMPLER("grid_sampler"),
    GRID_SAMPLER("grid_sampler_2d"),
    GRID_SAMPLER("grid_sampler_3d"),
    {"aten::affine_grid_generator(Tensor theta, int[] size, bool "
     "align_corners) -> Tensor",
     convert_affine_grid, 0},
};
BSM_CONVERTER_TABLE(grid_sample, patterns);
