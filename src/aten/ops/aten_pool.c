/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of one to three dimensions: max, average, adaptive. */
#include "aten/packed/aten_pool.h"
#include "aten/op_kit.h"

typedef struct pool_params {
  int dims;
  int64_t kernel[3], stride[3], pad[3], dilation[3];
  bool ceil_mode, count_include_pad;
  int64_t divisor; /* 0: none */
} pool_params;

/* A tensor seen as planes of three dims; unit dims in front. */
typedef struct pool_plan {
  int64_t planes, in[3], out[3];
  bsm_dims shape; /* of the result */
} pool_plan;

/* What one result element is made of. */
typedef struct window {
  int64_t low[3], high[3], step[3]; /* within the plane */
  int64_t divisor;
} window;

typedef void (*pool_fn)(const double *plane, const int64_t *in, const window *w,
                        double *value, int64_t *index);

static void pool_max(const double *plane, const int64_t *in, const window *w,
                     double *value, int64_t *index) {
  double best = -INFINITY;
  int64_t where = (w->low[0] * in[1] + w->low[1]) * in[2] + w->low[2];
  for (int64_t z = w->low[0]; z < w->high[0]; z += w->step[0]) {
    for (int64_t y = w->low[1]; y < w->high[1]; y += w->step[1]) {
      for (int64_t x = w->low[2]; x < w->high[2]; x += w->step[2]) {
        const int64_t at = (z * in[1] + y) * in[2] + x;
        if (plane[at] > best || isnan(plane[at])) {
          best = plane[at];
          where = at;
        }
      }
    }
  }
  *value = best;
  *index = where;
}

static void pool_average(const double *plane, const int64_t *in,
                         const window *w, double *value, int64_t *index) {
  double sum = 0.0;
  for (int64_t z = w->low[0]; z < w->high[0]; z++) {
    for (int64_t y = w->low[1]; y < w->high[1]; y++) {
      for (int64_t x = w->low[2]; x < w->high[2]; x++) {
        sum += plane[(z * in[1] + y) * in[2] + x];
      }
    }
  }
  *value = sum / (double)w->divisor;
  *index = 0;
}

/* Calls `fn` for each result; `place` gives the window of (z, y, x). */
static bsm_status run_pool(bsm_op_ctx *cx, const bsm_tensor *t,
                           const pool_plan *plan, const pool_params *p,
                           void (*place)(const pool_plan *, const pool_params *,
                                         const int64_t *, window *),
                           pool_fn fn, const bsm_tensor *out,
                           const bsm_tensor *index) {
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  int64_t taps = 1;
  for (int d = 0; d < 3; d++) { /* no kernel: adaptive */
    const int64_t k =
        p->kernel[d] ? p->kernel[d] : plan->in[d] / (plan->out[d] + 1) + 2;
    taps *= k < plan->in[d] ? k : plan->in[d];
  }
  BSM_TRY(bsm_op_charge(cx, bsm_tensor_numel(out), taps + 8, 1));
  const double *x = bsm_op_load_all(cx, t);
  const int64_t in_plane = plan->in[0] * plan->in[1] * plan->in[2];
  char *dst = bsm_tensor_data(out);
  int64_t *where = index ? bsm_tensor_data(index) : NULL;
  BSM_TRY_ALLOC(x);
  for (int64_t c = 0; c < plan->planes; c++) {
    int64_t at[3];
    for (at[0] = 0; at[0] < plan->out[0]; at[0]++) {
      for (at[1] = 0; at[1] < plan->out[1]; at[1]++) {
        for (at[2] = 0; at[2] < plan->out[2]; at[2]++) {
          window w;
          double value;
          int64_t best;
          place(plan, p, at, &w);
          fn(x + c * in_plane, plan->in, &w, &value, &best);
          bsm_store1_f64(out->dtype, dst, value);
          dst += bsm_dtype_size(out->dtype);
          if (where) *where++ = best;
        }
      }
    }
  }
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

static void place_max(const pool_plan *plan, const pool_params *p,
                      const int64_t *at, window *w) {
  for (int d = 0; d < 3; d++) {
    const int64_t start = at[d] * p->stride[d] - p->pad[d];
    const int64_t end = start + (p->kernel[d] - 1) * p->dilation[d] + 1;
    w->low[d] = start;
    while (w->low[d] < 0) w->low[d] += p->dilation[d];
    w->high[d] = end < plan->in[d] ? end : plan->in[d];
    w->step[d] = p->dilation[d];
  }
  w->divisor = 1;
}

static void place_average(const pool_plan *plan, const pool_params *p,
                          const int64_t *at, window *w) {
  int64_t padded = 1, real = 1;
  for (int d = 0; d < 3; d++) {
    const int64_t start = at[d] * p->stride[d] - p->pad[d];
    int64_t end = start + p->kernel[d];
    if (end > plan->in[d] + p->pad[d]) end = plan->in[d] + p->pad[d];
    padded *= end - start;
    w->low[d] = start < 0 ? 0 : start;
    w->high[d] = end < plan->in[d] ? end : plan->in[d];
    real *= w->high[d] - w->low[d];
    w->step[d] = 1;
  }
  w->divisor = p->divisor ? p->divisor : p->count_include_pad ? padded : real;
}

static void place_adaptive(const pool_plan *plan, const pool_params *p,
                           const int64_t *at, window *w) {
  (void)p;
  w->divisor = 1;
  for (int d = 0; d < 3; d++) {
    const int64_t in = plan->in[d], out = plan->out[d];
    w->low[d] = at[d] * in / out;
    w->high[d] = ((at[d] + 1) * in + out - 1) / out;
    w->step[d] = 1;
    w->divisor *= w->high[d] - w->low[d];
  }
}

/* Splits the shape in planes and spatial dims. */
static bsm_status split_shape(const bsm_tensor *t, int dims, const char *name,
                              pool_plan *plan) {
  const int32_t rank = t->sizes.rank;
  BSM_TRY(bsm_op_real(t));
  if (rank != dims + 1 && rank != dims + 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s: Expected %dD or %dD (batch mode) tensor for input, "
                    "but got: %s",
                    name, dims + 1, dims + 2, bsm_dims_str(t->sizes));
  }
  *plan = (pool_plan){.planes = 1, .shape = t->sizes};
  for (int i = 0; i < 3; i++) plan->in[i] = plan->out[i] = 1;
  for (int32_t i = 0; i < rank; i++) {
    const int32_t d = i - (rank - dims);
    if (d < 0) {
      plan->planes *= t->sizes.d[i];
    } else {
      plan->in[3 - dims + d] = t->sizes.d[i];
    }
    if (t->sizes.d[i] == 0 && (i > 0 || rank == dims + 1)) {
      /* Of no channels adaptive pooling has a result. */
      return BSM_FAIL(d < 0 ? BSM_UNSUPPORTED : BSM_INVALID_ARGUMENT,
                      "%s: Expected tensor with optional 0 dim batch size, but "
                      "other non-zero dimensions, got: %s",
                      name, bsm_dims_str(t->sizes));
    }
  }
  return BSM_OK;
}

static bsm_status pooled_size(const pool_params *p, int d, int64_t in,
                              int64_t *out) {
  const int64_t k = p->kernel[d], s = p->stride[d], pad = p->pad[d],
                dil = p->dilation[d];
  const int64_t big = (int64_t)1 << 31;
  if (k <= 0 || s <= 0 || dil <= 0 || k >= big || s >= big || dil >= big) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "kernel size, stride and dilation should be greater than "
                    "zero, but got kernel %lld, stride %lld, dilation %lld",
                    (long long)k, (long long)s, (long long)dil);
  }
  if (pad < 0 || pad > ((k - 1) * dil + 1) / 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "pad should be at most half of effective kernel size, but "
                    "got pad=%lld, kernel_size=%lld and dilation=%lld",
                    (long long)pad, (long long)k, (long long)dil);
  }
  const int64_t span =
      in + 2 * pad - dil * (k - 1) - 1 + (p->ceil_mode ? s - 1 : 0);
  int64_t n = (span >= 0 ? span / s : -((-span + s - 1) / s)) + 1;
  /* The last window starts inside the input or its left padding. */
  if (p->ceil_mode && (n - 1) * s >= in + pad) n--;
  if (n < 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Given input size: (%lld). Calculated output size: (%lld). "
                    "Output size is too small",
                    (long long)in, (long long)n);
  }
  *out = n;
  return BSM_OK;
}

static void shift_params(pool_params *p) {
  pool_params q = *p;
  for (int i = 0; i < 3; i++) {
    q.kernel[i] = q.stride[i] = q.dilation[i] = 1;
    q.pad[i] = 0;
  }
  for (int i = 0; i < p->dims; i++) {
    const int at = 3 - p->dims + i;
    q.kernel[at] = p->kernel[i];
    q.stride[at] = p->stride[i];
    q.dilation[at] = p->dilation[i];
    q.pad[at] = p->pad[i];
  }
  *p = q;
}

static bsm_status plan_windows(const bsm_tensor *t, pool_params *p,
                               const char *name, pool_plan *plan) {
  BSM_TRY(split_shape(t, p->dims, name, plan));
  shift_params(p);
  for (int i = 0; i < p->dims; i++) {
    const int at = 3 - p->dims + i;
    BSM_TRY(pooled_size(p, at, plan->in[at], &plan->out[at]));
    plan->shape.d[t->sizes.rank - p->dims + i] = plan->out[at];
  }
  return BSM_OK;
}

enum { WITH_INDICES = 4 };

/* max_pool2d(self, kernel_size, stride, padding, dilation, ceil_mode); the
 * variant is the number of dims, + WITH_INDICES for two results. */
static bsm_status op_max_pool(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out, *index = NULL;
  pool_params p = {.dims = self->variant % WITH_INDICES,
                   .ceil_mode = op_bool(&args[5])};
  pool_plan plan;
  BSM_TRY(bsm_op_ints(&args[1], p.dims, NULL, "kernel_size", p.kernel));
  BSM_TRY(bsm_op_ints(&args[2], p.dims, p.kernel, "stride", p.stride));
  BSM_TRY(bsm_op_ints(&args[3], p.dims, NULL, "padding", p.pad));
  BSM_TRY(bsm_op_ints(&args[4], p.dims, NULL, "dilation", p.dilation));
  BSM_TRY(plan_windows(t, &p, "max_pool", &plan));
  if (t->dtype == BSM_DTYPE_BOOL) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "\"max_pool2d\" not implemented for 'Bool'");
  }
  BSM_TRY(bsm_op_new(cx, t->dtype, plan.shape, &out));
  outs[0] = bsm_iv_tensor(out);
  if (self->variant > WITH_INDICES) {
    BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, plan.shape, &index));
    outs[1] = bsm_iv_tensor(index);
  }
  if (cx->meta) return BSM_OK;
  return run_pool(cx, t, &plan, &p, place_max, pool_max, out, index);
}

/* avg_pool2d(self, kernel_size, stride, padding, ceil_mode,
 * count_include_pad, divisor_override) */
static bsm_status op_avg_pool(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  pool_params p = {.dims = self->variant,
                   .ceil_mode = op_bool(&args[4]),
                   .count_include_pad = op_bool(&args[5])};
  pool_plan plan;
  for (int i = 0; i < 3; i++) p.dilation[i] = 1;
  BSM_TRY(bsm_op_ints(&args[1], p.dims, NULL, "kernel_size", p.kernel));
  BSM_TRY(bsm_op_ints(&args[2], p.dims, p.kernel, "stride", p.stride));
  BSM_TRY(bsm_op_ints(&args[3], p.dims, NULL, "padding", p.pad));
  if (p.dims > 1 && !op_none(&args[6])) {
    p.divisor = op_int(&args[6]);
    if (p.divisor == 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "divisor must be not zero");
    }
  }
  BSM_TRY(plan_windows(t, &p, "avg_pool", &plan));
  if (!bsm_dtype_is_floating(t->dtype) && t->dtype != BSM_DTYPE_INT64) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "\"avg_pool2d\" not implemented for '%s'",
                    bsm_op_type_name(t->dtype));
  }
  BSM_TRY(bsm_op_new(cx, t->dtype, plan.shape, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  return run_pool(cx, t, &plan, &p, place_average, pool_average, out, NULL);
}

/* None in the output size keeps the input's. */
static bsm_status adaptive_plan(const bsm_tensor *t, const bsm_ivalue *size,
                                int dims, pool_plan *plan) {
  int64_t out[3] = {1, 1, 1};
  BSM_TRY(bsm_op_ints(size, dims, NULL, "output_size", out));
  const int32_t rank = t->sizes.rank;
  if ((rank == dims || rank > dims + 2) && out[0] == 1 && out[1] == 1 &&
      out[2] == 1) {
    /* PyTorch takes their mean. */
    return BSM_FAIL(BSM_UNSUPPORTED, "adaptive pooling of %s to one element",
                    bsm_dims_str(t->sizes));
  }
  BSM_TRY(split_shape(t, dims, "adaptive_pool", plan));
  for (int i = 0; i < dims; i++) {
    if (out[i] < 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "adaptive_pool: elements of output_size must be greater "
                      "than or equal to 0 but received %lld",
                      (long long)out[i]);
    }
    if (out[i] > (int64_t)1 << 31) {
      return BSM_FAIL(BSM_LIMIT,
                      "adaptive_pool: elements of output_size may be 2^31 at "
                      "most but received %lld",
                      (long long)out[i]);
    }
    plan->out[3 - dims + i] = out[i];
    plan->shape.d[t->sizes.rank - dims + i] = out[i];
  }
  return BSM_OK;
}

static bsm_status op_adaptive_avg_pool(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const pool_params p = {.dims = self->variant};
  pool_plan plan;
  BSM_TRY(adaptive_plan(t, &args[1], p.dims, &plan));
  if (!bsm_dtype_is_floating(t->dtype)) {
    return BSM_FAIL(op_refusal_of(t),
                    "\"adaptive_avg_pool2d\" not implemented for '%s'",
                    bsm_op_type_name(t->dtype));
  }
  BSM_TRY(bsm_op_new(cx, t->dtype, plan.shape, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta || bsm_tensor_numel(out) == 0) return BSM_OK;
  return run_pool(cx, t, &plan, &p, place_adaptive, pool_average, out, NULL);
}

static bsm_status op_adaptive_max_pool(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out, *index;
  const pool_params p = {.dims = self->variant};
  pool_plan plan;
  BSM_TRY(adaptive_plan(t, &args[1], p.dims, &plan));
  if (!bsm_dtype_is_floating(t->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "\"adaptive_max_pool2d\" not implemented for '%s'",
                    bsm_op_type_name(t->dtype));
  }
  BSM_TRY(bsm_op_new(cx, t->dtype, plan.shape, &out));
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, plan.shape, &index));
  outs[0] = bsm_iv_tensor(out);
  outs[1] = bsm_iv_tensor(index);
  if (cx->meta || bsm_tensor_numel(out) == 0) return BSM_OK;
  return run_pool(cx, t, &plan, &p, place_adaptive, pool_max, out, index);
}

static const bsm_aten_op rows[] = {
    OP("aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], "
       "int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> "
       "Tensor",
       op_max_pool, 1, 0),
    OP("aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], "
       "int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor",
       op_max_pool, 2, 0),
    OP("aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], "
       "int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor",
       op_max_pool, 3, 0),
    OP("aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] "
       "stride=[], int[1] padding=[0], int[1] dilation=[1], bool "
       "ceil_mode=False) -> (Tensor, Tensor)",
       op_max_pool, WITH_INDICES + 1, 0),
    OP("aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] "
       "stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) "
       "-> "
       "(Tensor, Tensor)",
       op_max_pool, WITH_INDICES + 2, 0),
    OP("aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] "
       "stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) "
       "-> "
       "(Tensor, Tensor)",
       op_max_pool, WITH_INDICES + 3, 0),
    OP("aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], "
       "int[1] padding=[0], bool ceil_mode=False, bool count_include_pad=True) "
       "-> Tensor",
       op_avg_pool, 1, 0),
    OP("aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], "
       "int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, "
       "int? divisor_override=None) -> Tensor",
       op_avg_pool, 2, 0),
    OP("aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], "
       "int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, "
       "int? divisor_override=None) -> Tensor",
       op_avg_pool, 3, 0),
    OP("aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
       op_adaptive_avg_pool, 1, 0),
    OP("aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> "
       "Tensor",
       op_adaptive_avg_pool, 2, 0),
    OP("aten::adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> "
       "Tensor",
       op_adaptive_avg_pool, 3, 0),
    OP("aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> "
       "Tensor",
       op_adaptive_avg_pool, 2, 0),
    OP("aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> "
       "Tensor",
       op_adaptive_avg_pool, 3, 0),
    OP("aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, "
       "Tensor)",
       op_adaptive_max_pool, 1, 0),
    OP("aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, "
       "Tensor)",
       op_adaptive_max_pool, 2, 0),
    OP("aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, "
       "Tensor)",
       op_adaptive_max_pool, 3, 0),
};
BSM_ATEN_TABLE(pool, rows);
