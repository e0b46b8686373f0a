/* SPDX-License-Identifier: Apache-2.0 */
/* fake_quantize: rounds to a grid of quant_min .. quant_max steps and back, in
 * the input's dtype.
 *
 * As PyTorch: products with 1 / scale and scale are of float32 (float64 for
 * float64 inputs), and NaN becomes quant_min. */
#include "aten/packed/aten_fake_quantize.h"
#include "aten/op_kit.h"

enum { PER_TENSOR, TENSOR_QPARAMS, PER_CHANNEL };

typedef struct grid {
  const double *scale, *zero; /* one, or one for each channel */
  int64_t channels, inner;
  double low, high;
  bool floating_zero; /* is added before rounding */
  bool wide;          /* float64 */
  bool ends_narrow;   /* results are rounded to float32 all the same */
  bool by_int64;      /* what int64 does not hold becomes the lowest */
} grid;

static double fake_quantize(const grid *g, double x, double scale,
                            double zero) {
  double q;
  if (g->wide) {
    const double y = x * (double)(1.0f / (float)scale);
    q = g->floating_zero ? nearbyint(zero + y) : zero + nearbyint(y);
  } else {
    const float y = (float)x * (1.0f / (float)scale);
    q = g->floating_zero ? (double)nearbyintf((float)zero + y)
                         : (double)((float)zero + nearbyintf(y));
  }
  if (g->by_int64 && !(q < 0x1p63)) q = g->low;
  q = fmin(fmax(q, g->low), g->high) - zero;
  if (g->wide) return g->ends_narrow ? (double)(float)(q * scale) : q * scale;
  return (double)((float)q * (float)scale);
}

/* The zero points of `channels` are checked: none where they are tensors. */
static bsm_status check_range(const grid *g, int64_t channels) {
  if (g->low > g->high) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "`quant_min` should be less than or equal to `quant_max`.");
  }
  for (int64_t i = 0; i < channels && !g->floating_zero; i++) {
    if (g->zero[i] < g->low || g->zero[i] > g->high) {
      return BSM_FAIL(
          BSM_INVALID_ARGUMENT,
          "`zero_point` must be between `quant_min` and `quant_max`.");
    }
  }
  return BSM_OK;
}

/* One scale and one zero point for each channel. */
static bsm_status check_channels(const bsm_ivalue *args, const bsm_tensor *x,
                                 int *axis) {
  const bsm_tensor *scale = op_tensor(&args[1]), *zero = op_tensor(&args[2]);
  const int64_t at = op_int(&args[3]);
  if (scale->dtype != BSM_DTYPE_FLOAT && scale->dtype != BSM_DTYPE_BFLOAT16) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Scale must be Float or BFloat16, found %s",
                    bsm_op_type_name(scale->dtype));
  }
  /* PyTorch refuses Int64, which its quantizers' graphs hold all the same. */
  if (zero->dtype != BSM_DTYPE_INT32 && zero->dtype != BSM_DTYPE_INT64 &&
      zero->dtype != BSM_DTYPE_FLOAT && zero->dtype != BSM_DTYPE_HALF) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Zero-point must be Int32, Float or Half, found %s",
                    bsm_op_type_name(zero->dtype));
  }
  if (at < 0 || at >= x->sizes.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "`axis` must be between 0 and number of dimensions of "
                    "input");
  }
  *axis = (int)at;
  if (scale->sizes.rank != 1 || zero->sizes.rank != 1 ||
      scale->sizes.d[0] != x->sizes.d[at] ||
      zero->sizes.d[0] != x->sizes.d[at]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "dimensions of scale and zero-point are not consistent "
                    "with input tensor");
  }
  return BSM_OK;
}

/* A number, or the only element of a tensor, as an array of one; truncated to a
 * `whole` number. */
static bsm_status read_one(bsm_op_ctx *cx, const bsm_ivalue *a, bool whole,
                           const double **out) {
  const bsm_tensor *t = op_tensor(a);
  double *value = BSM_NEW(cx->arena, double);
  BSM_TRY_ALLOC(value);
  *out = value;
  if (!t) {
    *value = op_double(a);
    return BSM_OK;
  }
  if (bsm_tensor_numel(t) != 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "fake_quantize: scale and zero_point have %lld elements",
                    (long long)bsm_tensor_numel(t));
  }
  BSM_TRY(bsm_op_real(t));
  if (!cx->meta) *value = bsm_tensor_get_double(t, 0);
  if (whole) *value = trunc(*value);
  return BSM_OK;
}

static bsm_status read_grid(bsm_op_ctx *cx, const bsm_ivalue *args,
                            const bsm_tensor *x, int variant, grid *g) {
  enum { SELF, SCALE, ZERO, REST };
  const int last = variant == PER_CHANNEL ? REST + 1 : REST;
  int axis = 0;
  *g = (grid){.channels = 1,
              .inner = bsm_tensor_numel(x),
              .low = op_double(&args[last]),
              .high = op_double(&args[last + 1]),
              .wide = x->dtype == BSM_DTYPE_DOUBLE,
              .ends_narrow = variant != PER_CHANNEL};
  if (variant != PER_CHANNEL) {
    BSM_TRY(read_one(cx, &args[SCALE], false, &g->scale));
    BSM_TRY(read_one(cx, &args[ZERO], true, &g->zero));
    return cx->meta ? BSM_OK : check_range(g, variant == PER_TENSOR);
  }
  BSM_TRY(check_channels(args, x, &axis));
  const bsm_tensor *zero = op_tensor(&args[ZERO]);
  g->by_int64 = true;
  g->floating_zero = bsm_dtype_is_floating(zero->dtype);
  g->channels = x->sizes.d[axis];
  g->inner = 1;
  for (int32_t i = axis + 1; i < x->sizes.rank; i++) g->inner *= x->sizes.d[i];
  if (cx->meta) return BSM_OK;
  g->scale = bsm_op_load_all(cx, op_tensor(&args[SCALE]));
  g->zero = bsm_op_load_all(cx, zero);
  if (!g->scale || !g->zero) return BSM_FAIL_OOM();
  return check_range(g, g->channels);
}

static bsm_status op_fake_quantize(OP_PARAMS) {
  bsm_tensor *x = op_tensor(&args[0]), *out;
  grid g;
  if (!bsm_dtype_is_floating(x->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "\"fake_quantize_tensor_cachemask_kernel_type_handling\" "
                    "not implemented for '%s'",
                    bsm_op_type_name(x->dtype));
  }
  BSM_TRY(read_grid(cx, args, x, self->variant, &g));
  BSM_TRY(bsm_op_new_like(cx, x->dtype, x, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  double *values = bsm_op_load_all(cx, x);
  BSM_TRY_ALLOC(values);
  for (int64_t i = 0; i < bsm_tensor_numel(x); i++) {
    const int64_t c = g.inner ? i / g.inner % g.channels : 0;
    values[i] = fake_quantize(&g, values[i], g.scale[c], g.zero[c]);
  }
  bsm_op_store_all(out, values);
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int "
       "zero_point, int quant_min, int quant_max) -> Tensor",
       op_fake_quantize, PER_TENSOR, 0),
    OP("aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, "
       "Tensor "
       "scale, Tensor zero_point, int quant_min, int quant_max) -> Tensor",
       op_fake_quantize, TENSOR_QPARAMS, 0),
    OP("aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, "
       "Tensor "
       "zero_point, int axis, int quant_min, int quant_max) -> Tensor",
       op_fake_quantize, PER_CHANNEL, 0),
};
BSM_ATEN_TABLE(fake_quantize, rows);
