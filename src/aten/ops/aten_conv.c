/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of one to three dimensions, plain and transposed.
 *
 * All are computed as three-dimensional ones on arrays of double; a result
 * element is rounded once. */
#include "aten/packed/aten_conv.h"
#include "aten/op_kit.h"

typedef struct conv_params {
  int dims; /* spatial */
  int64_t stride[3], pad[3], pad_after[3], dilation[3], out_pad[3], groups;
  bool transposed;
} conv_params;

/* The geometry with unit dims in front. */
typedef struct conv_plan {
  int64_t batch, in_channels, out_channels;
  int64_t in[3], out[3], kernel[3];
  int64_t stride[3], pad[3], dilation[3], groups;
  bool integers; /* they wrap around */
} conv_plan;

typedef union number {
  double d;
  uint64_t i;
} number;

static inline void multiply_add(bool integers, number *sum, number a,
                                number b) {
  if (integers) {
    sum->i += a.i * b.i;
  } else {
    sum->d += a.d * b.d;
  }
}

/* Adds one kernel tap of one plane pair: out[y] += w * in[y * stride + at]. */
static void add_tap(const conv_plan *p, const number *in, number *out, number w,
                    const int64_t *at) {
  for (int64_t z = 0; z < p->out[0]; z++) {
    const int64_t iz = z * p->stride[0] + at[0];
    if (iz < 0 || iz >= p->in[0]) continue;
    for (int64_t y = 0; y < p->out[1]; y++) {
      const int64_t iy = y * p->stride[1] + at[1];
      if (iy < 0 || iy >= p->in[1]) continue;
      const number *src = in + (iz * p->in[1] + iy) * p->in[2];
      number *dst = out + (z * p->out[1] + y) * p->out[2];
      int64_t low = 0, high = p->out[2];
      while (low < high && low * p->stride[2] + at[2] < 0) low++;
      while (high > low && (high - 1) * p->stride[2] + at[2] >= p->in[2]) {
        high--;
      }
      for (int64_t x = low; x < high; x++) {
        multiply_add(p->integers, &dst[x], w, src[x * p->stride[2] + at[2]]);
      }
    }
  }
}

/* The same tap the other way: out[y * stride + at] += w * in[y]. */
static void add_tap_transposed(const conv_plan *p, const number *in,
                               number *out, number w, const int64_t *at) {
  for (int64_t z = 0; z < p->in[0]; z++) {
    const int64_t oz = z * p->stride[0] + at[0];
    if (oz < 0 || oz >= p->out[0]) continue;
    for (int64_t y = 0; y < p->in[1]; y++) {
      const int64_t oy = y * p->stride[1] + at[1];
      if (oy < 0 || oy >= p->out[1]) continue;
      const number *src = in + (z * p->in[1] + y) * p->in[2];
      number *dst = out + (oz * p->out[1] + oy) * p->out[2];
      for (int64_t x = 0; x < p->in[2]; x++) {
        const int64_t ox = x * p->stride[2] + at[2];
        if (ox >= 0 && ox < p->out[2]) {
          multiply_add(p->integers, &dst[ox], w, src[x]);
        }
      }
    }
  }
}

/* One image. Weights are [out][in / groups][kernel], or, transposed,
 * [in][out / groups][kernel]. */
static void convolve(const conv_plan *p, bool transposed, const number *in,
                     const number *w, number *out) {
  const int64_t in_plane = p->in[0] * p->in[1] * p->in[2],
                out_plane = p->out[0] * p->out[1] * p->out[2],
                taps = p->kernel[0] * p->kernel[1] * p->kernel[2];
  const int64_t gi = p->in_channels / p->groups,
                go = p->out_channels / p->groups;
  for (int64_t o = 0; o < p->out_channels; o++) {
    const int64_t group = o / go;
    for (int64_t i = 0; i < gi; i++) {
      const int64_t channel = group * gi + i;
      const number *kernel = transposed ? w + (channel * go + o % go) * taps
                                        : w + (o * gi + i) * taps;
      for (int64_t t = 0; t < taps; t++) {
        const int64_t k[3] = {t / (p->kernel[1] * p->kernel[2]),
                              t / p->kernel[2] % p->kernel[1],
                              t % p->kernel[2]};
        int64_t at[3];
        for (int d = 0; d < 3; d++) at[d] = k[d] * p->dilation[d] - p->pad[d];
        const number *src = in + channel * in_plane;
        number *dst = out + o * out_plane;
        if (transposed) {
          add_tap_transposed(p, src, dst, kernel[t], at);
        } else {
          add_tap(p, src, dst, kernel[t], at);
        }
      }
    }
  }
}

static bsm_status check_channels(const bsm_tensor *x, const bsm_tensor *w,
                                 const bsm_tensor *bias, const conv_params *p) {
  const int64_t channels = x->sizes.d[1];
  if (p->groups <= 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "non-positive groups is not supported");
  }
  if (p->groups > channels && channels > 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Given groups=%lld, expected at least as many channels in "
                    "an input of size %s",
                    (long long)p->groups, bsm_dims_str(x->sizes));
  }
  if (p->groups > (int64_t)1 << 31) {
    return BSM_FAIL(BSM_LIMIT, "a convolution of %lld groups",
                    (long long)p->groups);
  }
  const int64_t want =
      p->transposed ? w->sizes.d[0] : w->sizes.d[1] * p->groups;
  if (channels != want) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Given groups=%lld, weight of size %s, expected input%s to "
                    "have %lld channels, but got %lld channels instead",
                    (long long)p->groups, bsm_dims_str(w->sizes),
                    bsm_dims_str(x->sizes), (long long)want,
                    (long long)channels);
  }
  if (w->sizes.d[0] < p->groups && (channels > 0 || p->transposed)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Given groups=%lld, expected weight to be at least %lld at "
                    "dimension 0, but got weight of size %s instead",
                    (long long)p->groups, (long long)p->groups,
                    bsm_dims_str(w->sizes));
  }
  if (w->sizes.d[0] % p->groups != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Given groups=%lld, expected weight to be divisible by "
                    "%lld at dimension 0, but got weight of size %s instead",
                    (long long)p->groups, (long long)p->groups,
                    bsm_dims_str(w->sizes));
  }
  const int64_t out = p->transposed ? w->sizes.d[1] * p->groups : w->sizes.d[0];
  if (bias && (bias->sizes.rank != 1 || bias->sizes.d[0] != out)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Given weight of size %s, expected bias to be "
                    "1-dimensional with %lld elements, but got bias of size %s "
                    "instead",
                    bsm_dims_str(w->sizes), (long long)out,
                    bsm_dims_str(bias->sizes));
  }
  return BSM_OK;
}

static bsm_status out_size(const conv_params *p, int i, int64_t in, int64_t k,
                           int64_t *out) {
  /* What int64 cannot overflow on. */
  const int64_t big = (int64_t)1 << 31;
  if (p->stride[i] <= 0 || p->dilation[i] <= 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "non-positive stride or dilation is not supported");
  }
  if (k <= 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "kernel size should be greater than zero");
  }
  if (p->pad[i] < 0 || p->pad_after[i] < 0 || p->out_pad[i] < 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "negative padding is not supported");
  }
  if (in >= big || k >= big || p->stride[i] >= big || p->dilation[i] >= big ||
      p->pad[i] >= big || p->pad_after[i] >= big || p->out_pad[i] >= big) {
    return BSM_FAIL(BSM_LIMIT, "a convolution with too large a geometry");
  }
  const int64_t span = p->dilation[i] * (k - 1) + 1;
  if (p->transposed) {
    if (p->out_pad[i] >= p->stride[i] && p->out_pad[i] >= p->dilation[i]) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "output padding must be smaller than either stride or "
                      "dilation, but got output padding %lld, stride %lld, "
                      "dilation %lld",
                      (long long)p->out_pad[i], (long long)p->stride[i],
                      (long long)p->dilation[i]);
    }
    *out = (in - 1) * p->stride[i] - p->pad[i] - p->pad_after[i] + span +
           p->out_pad[i];
    if (*out < 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Calculated output size %lld in dimension %d is too "
                      "small",
                      (long long)*out, i);
    }
    return BSM_OK;
  }
  const int64_t padded = in + p->pad[i] + p->pad_after[i];
  if (padded < span) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Calculated padded input size per channel: (%lld). Kernel "
                    "size: (%lld). Kernel size can't be greater than actual "
                    "input size",
                    (long long)padded, (long long)span);
  }
  *out = (padded - span) / p->stride[i] + 1;
  return BSM_OK;
}

static bsm_status plan_conv(const bsm_tensor *x, const bsm_tensor *w,
                            const conv_params *p, conv_plan *plan) {
  *plan = (conv_plan){
      .batch = x->sizes.d[0],
      .in_channels = x->sizes.d[1],
      .out_channels = p->transposed ? w->sizes.d[1] * p->groups : w->sizes.d[0],
      .groups = p->groups};
  /* Where there is nothing to read PyTorch has no outputs, either. */
  if (plan->in_channels == 0) plan->out_channels = 0;
  for (int i = 0; i < 3; i++) {
    plan->in[i] = plan->out[i] = plan->kernel[i] = 1;
    plan->stride[i] = plan->dilation[i] = 1;
  }
  for (int i = 0; i < p->dims; i++) {
    const int at = 3 - p->dims + i;
    plan->in[at] = x->sizes.d[2 + i];
    plan->kernel[at] = w->sizes.d[2 + i];
    plan->stride[at] = p->stride[i];
    plan->dilation[at] = p->dilation[i];
    plan->pad[at] = p->pad[i];
    if (plan->in[at] == 0 && plan->batch > 0 && plan->in_channels > 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Only zero batch or zero channel inputs are supported, "
                      "but got input shape: %s",
                      bsm_dims_str(x->sizes));
    }
    BSM_TRY(out_size(p, i, plan->in[at], plan->kernel[at], &plan->out[at]));
    if (plan->out[at] == 0 && plan->batch > 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Calculated output size 0 in dimension %d is too small",
                      i);
    }
  }
  if (p->transposed && plan->out_channels == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "non-empty weight tensor expected, but got: %s",
                    bsm_dims_str(w->sizes));
  }
  return BSM_OK;
}

/* All elements in row-major order: doubles, or integers of 64 bits. */
static number *load(bsm_op_ctx *cx, const bsm_tensor *t) {
  const bool integers = bsm_dtype_is_integral(t->dtype, true);
  number *values =
      BSM_NEW_ARRAY(cx->arena, number, (size_t)bsm_tensor_numel(t) + 1);
  if (!values) return NULL;
  const bsm_tensor *one[] = {t};
  bsm_iter it;
  bsm_iter_init(&it, t->sizes, one, 1);
  number *p = values;
  while (bsm_iter_next(&it)) {
    if (integers) {
      bsm_load_i64(t->dtype, it.ptr[0], it.step[0], (size_t)it.count,
                   (int64_t *)p);
    } else {
      bsm_load_f64(t->dtype, it.ptr[0], it.step[0], (size_t)it.count,
                   (double *)p);
    }
    p += it.count;
  }
  return values;
}

static void store(const bsm_tensor *t, const number *values) {
  if (!bsm_dtype_is_integral(t->dtype, true)) {
    bsm_op_store_all(t, (const double *)values);
    return;
  }
  const bsm_tensor *one[] = {t};
  bsm_iter it;
  bsm_iter_init(&it, t->sizes, one, 1);
  while (bsm_iter_next(&it)) {
    bsm_store_i64(t->dtype, it.ptr[0], it.step[0], (size_t)it.count,
                  (const int64_t *)values);
    values += it.count;
  }
}

static bsm_status run_conv(bsm_op_ctx *cx, const conv_plan *plan,
                           bool transposed, const bsm_tensor *x,
                           const bsm_tensor *w, const bsm_tensor *bias,
                           const bsm_tensor *out) {
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  const number *weights = load(cx, w);
  const number *b = bias ? load(cx, bias) : NULL;
  const int64_t plane = plan->out[0] * plan->out[1] * plan->out[2];
  const int64_t in_plane = plan->in[0] * plan->in[1] * plan->in[2];
  /* Each tap of a kernel goes over a whole plane. */
  BSM_TRY(bsm_op_charge(cx, plan->batch * plan->out_channels,
                        bsm_tensor_numel(w) / (transposed ? plan->in_channels
                                                          : plan->out_channels),
                        (transposed ? 4 * in_plane : plane) + 16));
  const size_t n = (size_t)(plan->out_channels * plane);
  number *sums = BSM_NEW_ARRAY(cx->arena, number, n + 1);
  BSM_TRY_ALLOC(weights);
  BSM_TRY_ALLOC(sums);
  if (bias) BSM_TRY_ALLOC(b);
  for (int64_t image = 0; image < plan->batch; image++) {
    const bsm_arena_mark inner = bsm_arena_get_mark(cx->arena);
    bsm_tensor *from, *to;
    BSM_TRY(bsm_op_select(cx, x, 0, image, &from));
    BSM_TRY(bsm_op_select(cx, out, 0, image, &to));
    const number *in = load(cx, from);
    BSM_TRY_ALLOC(in);
    for (size_t i = 0; i < n; i++) {
      sums[i] = b ? b[i / (size_t)plane] : (number){0};
    }
    convolve(plan, transposed, in, weights, sums);
    store(to, sums);
    bsm_arena_rewind(cx->arena, inner);
  }
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

static bsm_status check_operands(const bsm_tensor *x, const bsm_tensor *w,
                                 const bsm_tensor *bias, int dims) {
  if (w->sizes.rank != dims + 2 ||
      (x->sizes.rank != dims + 2 && x->sizes.rank != dims + 1)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected %dD (unbatched) or %dD (batched) input to "
                    "conv%dd, but got input of size: %s and weight of size: %s",
                    dims + 1, dims + 2, dims, bsm_dims_str(x->sizes),
                    bsm_dims_str(w->sizes));
  }
  if (x->dtype != w->dtype || (bias && bias->dtype != x->dtype)) {
    return BSM_FAIL(
        BSM_INVALID_ARGUMENT,
        "Input type (%s) and weight or bias type (%s) should be "
        "the same",
        bsm_op_type_name(x->dtype),
        bsm_op_type_name(x->dtype != w->dtype ? w->dtype : bias->dtype));
  }
  BSM_TRY(bsm_op_real(x));
  if (x->dtype == BSM_DTYPE_BOOL) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "\"slow_conv2d_cpu\" not implemented for 'Bool'");
  }
  return BSM_OK;
}

static bsm_status conv(bsm_op_ctx *cx, bsm_tensor *x, bsm_tensor *w,
                       bsm_tensor *bias, const conv_params *p,
                       bsm_tensor **out) {
  conv_plan plan;
  BSM_TRY(check_operands(x, w, bias, p->dims));
  const bool batched = x->sizes.rank == p->dims + 2;
  if (!batched) BSM_TRY(bsm_op_unsqueeze(cx, x, 0, &x));
  BSM_TRY(check_channels(x, w, bias, p));
  BSM_TRY(plan_conv(x, w, p, &plan));
  bsm_dims shape = {p->dims + 2, {plan.batch, plan.out_channels}};
  for (int i = 0; i < p->dims; i++) shape.d[2 + i] = plan.out[3 - p->dims + i];
  BSM_TRY(bsm_op_new(cx, x->dtype, shape, out));
  if (!cx->meta && bsm_tensor_numel(*out) > 0) {
    plan.integers = bsm_dtype_is_integral(x->dtype, true);
    BSM_TRY(run_conv(cx, &plan, p->transposed, x, w, bias, *out));
  }
  return batched ? BSM_OK : bsm_op_select(cx, *out, 0, 0, out);
}

/* "same": the padding that keeps the size, the odd one behind. */
static bsm_status same_padding(const bsm_ivalue *mode, const bsm_tensor *w,
                               conv_params *p) {
  if (bsm_str_eq(op_str(mode), BSM_STR("valid"))) return BSM_OK;
  if (!bsm_str_eq(op_str(mode), BSM_STR("same"))) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "Invalid padding string: '%.*s'",
                    (int)op_str(mode).len, op_str(mode).data);
  }
  for (int i = 0; i < p->dims; i++) {
    if (p->stride[i] != 1) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "padding='same' is not supported for strided "
                      "convolutions");
    }
    int64_t total;
    if (w->sizes.rank <= 2 + i ||
        !bsm_i64_mul(p->dilation[i], w->sizes.d[2 + i] - 1, &total)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "conv: bad weight of size %s",
                      bsm_dims_str(w->sizes));
    }
    p->pad[i] = total / 2;
    p->pad_after[i] = total - total / 2;
  }
  return BSM_OK;
}

/* conv2d(input, weight, bias, stride, padding, dilation, groups); the variant
 * is the number of spatial dims. */
static bsm_status op_conv(OP_PARAMS) {
  conv_params p = {.dims = self->variant, .groups = op_int(&args[6])};
  bsm_tensor *w = op_tensor(&args[1]), *out;
  BSM_TRY(bsm_op_ints(&args[3], p.dims, NULL, "stride", p.stride));
  BSM_TRY(bsm_op_ints(&args[5], p.dims, NULL, "dilation", p.dilation));
  if (args[4].tag == BSM_IVALUE_STRING) {
    BSM_TRY(same_padding(&args[4], w, &p));
  } else {
    BSM_TRY(bsm_op_ints(&args[4], p.dims, NULL, "padding", p.pad));
    memcpy(p.pad_after, p.pad, sizeof(p.pad));
  }
  BSM_TRY(conv(cx, op_tensor(&args[0]), w, op_tensor(&args[2]), &p, &out));
  return op_return(outs, out);
}

/* conv_transpose2d(input, weight, bias, stride, padding, output_padding,
 * groups, dilation) */
static bsm_status op_conv_transpose(OP_PARAMS) {
  conv_params p = {
      .dims = self->variant, .groups = op_int(&args[6]), .transposed = true};
  bsm_tensor *out;
  BSM_TRY(bsm_op_ints(&args[3], p.dims, NULL, "stride", p.stride));
  BSM_TRY(bsm_op_ints(&args[4], p.dims, NULL, "padding", p.pad));
  BSM_TRY(bsm_op_ints(&args[5], p.dims, NULL, "output_padding", p.out_pad));
  BSM_TRY(bsm_op_ints(&args[7], p.dims, NULL, "dilation", p.dilation));
  memcpy(p.pad_after, p.pad, sizeof(p.pad));
  BSM_TRY(conv(cx, op_tensor(&args[0]), op_tensor(&args[1]),
               op_tensor(&args[2]), &p, &out));
  return op_return(outs, out);
}

/* convolution(input, weight, bias, stride, padding, dilation, transposed,
 * output_padding, groups, ...) */
static bsm_status op_convolution(OP_PARAMS) {
  (void)self;
  bsm_tensor *w = op_tensor(&args[1]), *out;
  conv_params p = {.dims = w->sizes.rank - 2,
                   .groups = op_int(&args[8]),
                   .transposed = op_bool(&args[6])};
  if (p.dims < 1 || p.dims > 3) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "weight should have at least three dimensions, but got %s",
                    bsm_dims_str(w->sizes));
  }
  BSM_TRY(bsm_op_ints(&args[3], p.dims, NULL, "stride", p.stride));
  BSM_TRY(bsm_op_ints(&args[4], p.dims, NULL, "padding", p.pad));
  BSM_TRY(bsm_op_ints(&args[5], p.dims, NULL, "dilation", p.dilation));
  BSM_TRY(bsm_op_ints(&args[7], p.dims, NULL, "output_padding", p.out_pad));
  memcpy(p.pad_after, p.pad, sizeof(p.pad));
  BSM_TRY(conv(cx, op_tensor(&args[0]), w, op_tensor(&args[2]), &p, &out));
  return op_return(outs, out);
}

/* _convolution_mode(input, weight, bias, stride, padding, dilation, groups) */
static bsm_status op_convolution_mode(OP_PARAMS) {
  bsm_aten_op as_conv = *self;
  as_conv.variant = op_tensor(&args[1])->sizes.rank - 2;
  if (as_conv.variant < 1 || as_conv.variant > 3) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "weight should have at least three dimensions");
  }
  return op_conv(cx, args, outs, &as_conv);
}

static const bsm_aten_op rows[] = {
    OP("aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] "
       "stride=[1], SymInt[1] padding=[0], SymInt[1] dilation=[1], SymInt "
       "groups=1) -> Tensor",
       op_conv, 1, 0),
    OP("aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] "
       "stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], "
       "SymInt groups=1) -> Tensor",
       op_conv, 2, 0),
    OP("aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] "
       "stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, "
       "1, "
       "1], SymInt groups=1) -> Tensor",
       op_conv, 3, 0),
    OP("aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, "
       "SymInt[1] stride=[1], str padding=\"valid\", SymInt[1] dilation=[1], "
       "SymInt groups=1) -> Tensor",
       op_conv, 1, 0),
    OP("aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, "
       "SymInt[2] stride=[1, 1], str padding=\"valid\", SymInt[2] dilation=[1, "
       "1], SymInt groups=1) -> Tensor",
       op_conv, 2, 0),
    OP("aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, "
       "SymInt[3] stride=[1, 1, 1], str padding=\"valid\", SymInt[3] "
       "dilation=[1, 1, 1], SymInt groups=1) -> Tensor",
       op_conv, 3, 0),
    OP("aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, "
       "SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] "
       "output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1]) -> Tensor",
       op_conv_transpose, 1, 0),
    OP("aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? "
       "bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], "
       "SymInt[2] "
       "output_padding=[0, 0], SymInt groups=1, SymInt[2] dilation=[1, 1]) -> "
       "Tensor",
       op_conv_transpose, 2, 0),
    OP("aten::conv_transpose3d.input(Tensor input, Tensor weight, Tensor? "
       "bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], "
       "SymInt[3] output_padding=[0, 0, 0], SymInt groups=1, SymInt[3] "
       "dilation=[1, 1, 1]) -> Tensor",
       op_conv_transpose, 3, 0),
    OP("aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] "
       "stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] "
       "output_padding, SymInt groups) -> Tensor",
       op_convolution, 0, 0),
    OP("aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] "
       "stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] "
       "output_padding, SymInt groups, bool benchmark, bool deterministic, "
       "bool "
       "cudnn_enabled, bool allow_tf32) -> Tensor",
       op_convolution, 0, 0),
    OP("aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? "
       "bias, "
       "SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, "
       "int[] output_padding, SymInt groups, bool benchmark, bool "
       "deterministic, "
       "bool cudnn_enabled) -> Tensor",
       op_convolution, 0, 0),
    OP("aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, "
       "SymInt[] stride, str padding, SymInt[] dilation, SymInt groups) -> "
       "Tensor",
       op_convolution_mode, 0, 0),
};
BSM_ATEN_TABLE(conv, rows);
