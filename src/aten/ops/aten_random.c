/* SPDX-License-Identifier: Apache-2.0 */
/* Random tensors: uniform, normal, integers and the other distributions,
 * permutations, multinomial, dropout while training. Without a generator in the
 * context ops compute shapes only. */
#include "aten/packed/aten_random.h"
#include "aten/generator.h"
#include "aten/op_random.h"

static bsm_status need_float(const bsm_tensor *t, const char *name) {
  if (bsm_dtype_is_floating(t->dtype)) return BSM_OK;
  return BSM_FAIL(
      bsm_dtype_is_complex(t->dtype) ? BSM_UNSUPPORTED : BSM_INVALID_ARGUMENT,
      "\"%s\" not implemented for '%s'", name, bsm_op_type_name(t->dtype));
}

static double rounded(bsm_dtype d, double v) {
  bsm_round_f64(d, 1, &v);
  return v;
}

/* ---- ops ---- */

enum { IN_PLACE, A_COPY };

/* The tensor an op fills: self, or one of its shape and layout. */
static bsm_status filled(bsm_op_ctx *cx, const bsm_aten_op *self,
                         const bsm_ivalue *args, bsm_tensor **out) {
  bsm_tensor *t = op_tensor(&args[0]);
  *out = t;
  if (self->flags & BSM_ATEN_INPLACE) return BSM_OK;
  return bsm_op_new_like(cx, t->dtype, t, out);
}

/* uniform_(self, from, to), exponential_(self, lambd), ...: the variant is the
 * distribution */
static bsm_status op_fill(OP_PARAMS) {
  bsm_tensor *t;
  bsm_draw w = {.kind = (bsm_random_kind)self->variant,
                .a = op_double(&args[1])};
  switch (w.kind) {
    case RANDOM_BERNOULLI:
    case RANDOM_EXPONENTIAL:
    case RANDOM_GEOMETRIC:
      break;
    default:
      w.b = op_double(&args[2]);
  }
  BSM_TRY(filled(cx, self, args, &t));
  BSM_TRY(bsm_random_fill(cx, t, w));
  return op_return(outs, t);
}

/* bernoulli(self), probabilities of its own; bernoulli.p(self, p): row-major
 * results */
static bsm_status op_bernoulli(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  BSM_TRY(bsm_op_new(cx, t->dtype, t->sizes, &out));
  outs[0] = bsm_iv_tensor(out);
  if (self->variant) {
    return bsm_random_fill(
        cx, out,
        (bsm_draw){.kind = RANDOM_BERNOULLI, .a = op_double(&args[1])});
  }
  return bsm_random_bernoulli(cx, out, t);
}

/* bernoulli_.Tensor(self, p), bernoulli.Tensor */
static bsm_status op_bernoulli_tensor(OP_PARAMS) {
  bsm_tensor *t;
  BSM_TRY(filled(cx, self, args, &t));
  BSM_TRY(bsm_random_bernoulli(cx, t, op_tensor(&args[1])));
  return op_return(outs, t);
}

enum { RANDOM_WHOLE, RANDOM_TO, RANDOM_FROM_TO };

/* random_(self), random_.to(self, to), random_.from(self, from, to) */
static bsm_status op_random(OP_PARAMS) {
  bsm_tensor *t;
  BSM_TRY(filled(cx, self, args, &t));
  outs[0] = bsm_iv_tensor(t);
  if (self->variant == RANDOM_WHOLE) return bsm_random_whole_range(cx, t);
  const bool two = self->variant == RANDOM_FROM_TO;
  const bsm_ivalue *end = &args[two ? 2 : 1];
  const int64_t from = two ? op_int(&args[1]) : 0, to = op_int_or(end, 0);
  return bsm_random_integers(cx, t, from, op_none(end) ? NULL : &to);
}

/* rand(size, [generator,] *, dtype, ...), randn, normal.float_float(mean, std,
 * size, *, generator, dtype) */
enum { NEW_RAND, NEW_RAND_G, NEW_RANDN, NEW_RANDN_G, NEW_NORMAL };

static bsm_status op_random_new(OP_PARAMS) {
  const bool normal = self->variant == NEW_NORMAL;
  const bool generator =
      self->variant == NEW_RAND_G || self->variant == NEW_RANDN_G;
  const int at = normal ? 4 : generator ? 2 : 1;
  bsm_draw w = {.kind = RANDOM_UNIFORM, .b = 1.0};
  bsm_tensor *out;
  bsm_dims dims;
  BSM_TRY(bsm_op_dims(&args[normal ? 2 : 0], &dims));
  BSM_TRY(bsm_op_new(cx, op_dtype_or(&args[at], BSM_DTYPE_FLOAT), dims, &out));
  outs[0] = bsm_iv_tensor(out);
  if (self->variant >= NEW_RANDN) w.kind = RANDOM_NORMAL;
  if (normal) w.a = op_double(&args[0]), w.b = op_double(&args[1]);
  return bsm_random_fill(cx, out, w);
}

/* randint([low,] high, size, [generator,] *, dtype, ...); the variant: 1 for
 * low, + 2 for a generator */
static bsm_status op_randint(OP_PARAMS) {
  const int low = self->variant & 1, at = low + 2 + (self->variant & 2) / 2;
  const int64_t from = low ? op_int(&args[0]) : 0, to = op_int(&args[low]);
  bsm_tensor *out;
  bsm_dims dims;
  BSM_TRY(bsm_op_dims(&args[low + 1], &dims));
  BSM_TRY(bsm_op_new(cx, op_dtype_or(&args[at], BSM_DTYPE_INT64), dims, &out));
  outs[0] = bsm_iv_tensor(out);
  return bsm_random_integers(cx, out, from, &to);
}

/* rand_like(self, [generator,] *, dtype, ...), randn_like; randint_like(self,
 * [low,] high, [generator,] *, dtype, ...) */
enum {
  LIKE_RAND,
  LIKE_RANDN,
  LIKE_RANDINT,
  LIKE_RANDINT_LOW,
  LIKE_RANDINT_TENSOR,
  LIKE_GENERATOR = 8
};

static bsm_status op_random_like(OP_PARAMS) {
  const int kind = self->variant & 7;
  const int bounds = kind < LIKE_RANDINT ? 0 : kind == LIKE_RANDINT_LOW ? 2 : 1;
  const int at = 1 + bounds + (self->variant & LIKE_GENERATOR ? 1 : 0);
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const int64_t format = op_int_or(&args[at + 4], 1);
  const bsm_dtype dtype = op_dtype_or(&args[at], t->dtype);
  if (format == 1) {
    BSM_TRY(bsm_op_new_like(cx, dtype, t, &out));
  } else if (format == 0) {
    BSM_TRY(bsm_op_new(cx, dtype, t->sizes, &out));
  } else {
    return BSM_FAIL(BSM_UNSUPPORTED, "random numbers in channels-last order");
  }
  outs[0] = bsm_iv_tensor(out);
  if (bounds == 0) {
    return bsm_random_fill(
        cx, out,
        (bsm_draw){.kind = kind == LIKE_RAND ? RANDOM_UNIFORM : RANDOM_NORMAL,
                   .b = 1.0});
  }
  int64_t from = bounds == 2 ? op_int(&args[1]) : 0, to = 0;
  if (kind == LIKE_RANDINT_TENSOR) {
    const bsm_tensor *high = op_tensor(&args[1]);
    if (bsm_tensor_numel(high) != 1) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "high must be a scalar tensor");
    }
    if (cx->meta) return BSM_OK;
    to = bsm_tensor_get_int(high, 0);
  } else {
    to = op_int(&args[bounds]);
  }
  return bsm_random_integers(cx, out, from, &to);
}

/* normal(mean, std): at least one is a tensor */
static bsm_status op_normal(OP_PARAMS) {
  (void)self;
  bsm_tensor *mean = op_tensor(&args[0]), *std = op_tensor(&args[1]), *out;
  bsm_dims shape = mean ? mean->sizes : std->sizes;
  if (mean && std) BSM_TRY(bsm_op_broadcast(shape, std->sizes, &shape));
  BSM_TRY(bsm_op_new(cx, mean ? mean->dtype : std->dtype, shape, &out));
  const int64_t n = std && !cx->meta ? bsm_tensor_numel(std) : 0;
  for (int64_t i = 0; i < n; i++) {
    if (!(bsm_tensor_get_double(std, i) >= 0.0)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "normal expects all elements of std >= 0.0");
    }
  }
  BSM_TRY(bsm_random_fill(
      cx, out,
      (bsm_draw){.kind = RANDOM_NORMAL, .b = std ? 1.0 : op_double(&args[1])}));
  if (std) BSM_TRY(bsm_op_mul(cx, out, std, &out));
  if (!mean) BSM_TRY(bsm_op_wrap(cx, &args[0], &mean));
  BSM_TRY(bsm_op_add(cx, out, mean, 1.0, &out));
  return op_return(outs, out);
}

/* randperm(n, [generator,] *, dtype, ...): Fisher and Yates */
static bsm_status op_randperm(OP_PARAMS) {
  const int64_t n = op_int(&args[0]);
  bsm_tensor *out;
  bool go;
  const bsm_dtype dtype =
      op_dtype_or(&args[1 + self->variant], BSM_DTYPE_INT64);
  int64_t low, high;
  bsm_random_bounds(dtype, &low, &high);
  if (dtype == BSM_DTYPE_BFLOAT16) high = INT64_MAX; /* PyTorch does not look */
  if (bsm_dtype_is_floating(dtype) && high < INT64_MAX) high++;
  if (n < 0 || n > high) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "n must be non-negative and n - 1 fit in %s, got %lld",
                    bsm_op_type_name(dtype), (long long)n);
  }
  if (dtype == BSM_DTYPE_BOOL) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "\"randperm\" not implemented for 'Bool'");
  }
  BSM_TRY(bsm_op_new(cx, dtype, op_dims1(n), &out));
  outs[0] = bsm_iv_tensor(out);
  BSM_TRY(bsm_random_ready(cx, out, &go));
  if (!go) return BSM_OK;
  int64_t *order = BSM_NEW_ARRAY(cx->arena, int64_t, (size_t)n);
  BSM_TRY_ALLOC(order);
  for (int64_t i = 0; i < n; i++) order[i] = i;
  const bool wide = n >= (int64_t)(UINT32_MAX / 20);
  for (int64_t i = 0; i + 1 < n; i++) {
    const uint64_t r = wide ? bsm_generator_u64(cx->generator)
                            : bsm_generator_u32(cx->generator);
    const int64_t at = i + (int64_t)(r % (uint64_t)(n - i));
    const int64_t v = order[i];
    order[i] = order[at];
    order[at] = v;
  }
  bsm_store_i64(dtype, bsm_tensor_data(out), (int64_t)bsm_dtype_size(dtype),
                (size_t)n, order);
  return BSM_OK;
}

/* ---- multinomial ---- */

/* The sums of a row of probabilities, divided by the last. */
static bsm_status cumulate(bsm_dtype d, double *row, int64_t n) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    if (!(row[i] >= 0.0) || isinf(row[i])) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "probability tensor contains either `inf`, `nan` or "
                      "element < 0");
    }
    sum = rounded(d, sum + row[i]);
    row[i] = sum;
  }
  if (!(sum > 0.0)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "invalid multinomial distribution (sum of probabilities <= "
                    "0)");
  }
  for (int64_t i = 0; i < n; i++) row[i] = rounded(d, row[i] / sum);
  return BSM_OK;
}

static int64_t find_slot(const double *sums, int64_t n, double v) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t mid = low + (high - low) / 2;
    const double x = mid == n - 1 ? 1.0 : sums[mid];
    if (x < v) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low;
}

/* The places of the `k` largest p / q, q drawn exponentially: one race for
 * each row. */
static bsm_status race(bsm_op_ctx *cx, bsm_tensor *t, int64_t k,
                       bsm_tensor *out) {
  bsm_tensor *q;
  BSM_TRY(bsm_op_new_like(cx, t->dtype, t, &q));
  BSM_TRY(
      bsm_random_fill(cx, q, (bsm_draw){.kind = RANDOM_EXPONENTIAL, .a = 1.0}));
  const int64_t n = t->sizes.d[t->sizes.rank - 1];
  const int64_t total = bsm_tensor_numel(t);
  BSM_TRY(bsm_op_charge(cx, total, k + 8, 1));
  const double *p = bsm_op_load_all(cx, t);
  double *score = bsm_op_load_all(cx, q);
  int64_t *to = bsm_tensor_data(out);
  BSM_TRY_ALLOC(p);
  BSM_TRY_ALLOC(score);
  for (int64_t r = 0; r < total; r += n) {
    double sum = 0.0;
    for (int64_t i = r; i < r + n; i++) {
      if (!(p[i] >= 0.0) || isinf(p[i])) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "probability tensor contains either `inf`, `nan` or "
                        "element < 0");
      }
      sum += p[i];
      score[i] = rounded(t->dtype, p[i] / score[i]);
    }
    if (sum == 0.0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "invalid multinomial distribution (sum of probabilities "
                      "<= 0)");
    }
    for (int64_t s = 0; s < k; s++) {
      int64_t best = -1;
      for (int64_t i = r; i < r + n; i++) {
        if (isnan(score[i]) || score[i] < 0.0) continue;
        if (best < 0 || score[i] > score[best]) best = i;
      }
      *to++ = best < 0 ? 0 : best - r;
      if (best >= 0) score[best] = -1.0; /* taken */
    }
  }
  return BSM_OK;
}

/* multinomial(self, num_samples, replacement) */
static bsm_status op_multinomial(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const int64_t k = op_int(&args[1]);
  const bool replace = op_bool(&args[2]);
  const int rank = t->sizes.rank;
  BSM_TRY(need_float(t, "multinomial"));
  if (rank < 1 || rank > 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "prob_dist must be 1 or 2 dim");
  }
  const int64_t n = t->sizes.d[rank - 1];
  if (k <= 0 || (!replace && k > n) || n == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "cannot draw %lld samples of %lld categories", (long long)k,
                    (long long)n);
  }
  bsm_dims shape = t->sizes;
  shape.d[rank - 1] = k;
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, shape, &out));
  outs[0] = bsm_iv_tensor(out);
  bool go;
  BSM_TRY(bsm_random_ready(cx, out, &go));
  if (!go) return BSM_OK;
  if (!replace || k == 1) return race(cx, t, k, out);
  const bsm_dtype sum_dtype =
      t->dtype == BSM_DTYPE_DOUBLE ? BSM_DTYPE_DOUBLE : BSM_DTYPE_FLOAT;
  double *sums = bsm_op_load_all(cx, t);
  int64_t *to = bsm_tensor_data(out);
  BSM_TRY_ALLOC(sums);
  for (int64_t r = 0; r < bsm_tensor_numel(t); r += n) {
    BSM_TRY(cumulate(sum_dtype, sums + r, n));
    for (int64_t s = 0; s < k; s++) {
      *to++ = find_slot(sums + r, n, bsm_generator_double(cx->generator));
    }
  }
  return BSM_OK;
}

/* ---- dropout while training ---- */

typedef struct dropout {
  double p;
  bool feature, alpha;
} dropout;

/* `t` times noise, which is 0 or 1 / (1 - p) (alpha: keeps mean and
 * variance). */
static bsm_status drop(bsm_op_ctx *cx, bsm_tensor *t, const dropout *d,
                       bsm_tensor **out) {
  bsm_tensor *noise, *zero, *scale, *shift = NULL;
  bsm_ivalue number = bsm_iv_double(0.0);
  if (d->p == 1.0) {
    BSM_TRY(bsm_op_new(cx, t->dtype, (bsm_dims){0}, &zero));
    return bsm_op_mul(cx, t, zero, out);
  }
  if (d->feature) {
    bsm_dims dims = t->sizes;
    for (int32_t i = 2; i < dims.rank; i++) dims.d[i] = 1;
    BSM_TRY(bsm_op_new(cx, t->dtype, dims, &noise));
  } else {
    BSM_TRY(bsm_op_new_like(cx, t->dtype, t, &noise));
  }
  BSM_TRY(bsm_random_fill(
      cx, noise, (bsm_draw){.kind = RANDOM_BERNOULLI, .a = 1.0 - d->p}));
  if (!d->alpha) {
    number.u.d = 1.0 / rounded(t->dtype == BSM_DTYPE_DOUBLE ? BSM_DTYPE_DOUBLE
                                                            : BSM_DTYPE_FLOAT,
                               1.0 - d->p);
    BSM_TRY(bsm_op_wrap(cx, &number, &scale));
    BSM_TRY(bsm_op_mul(cx, noise, scale, &noise));
    return bsm_op_mul(cx, t, noise, out);
  }
  const double alpha = 1.7580993408473766;
  const double a = 1.0 / sqrt((alpha * alpha * d->p + 1.0) * (1.0 - d->p));
  const double parts[] = {-1.0, alpha * a, alpha * a * d->p, a};
  bsm_tensor *wrapped[4];
  for (int i = 0; i < 4; i++) {
    number.u.d = parts[i];
    BSM_TRY(bsm_op_wrap(cx, &number, &wrapped[i]));
  }
  BSM_TRY(bsm_op_add(cx, noise, wrapped[0], 1.0, &shift));
  BSM_TRY(bsm_op_mul(cx, shift, wrapped[1], &shift));
  BSM_TRY(bsm_op_add(cx, shift, wrapped[2], 1.0, &shift));
  BSM_TRY(bsm_op_mul(cx, noise, wrapped[3], &noise));
  BSM_TRY(bsm_op_mul(cx, t, noise, out));
  return bsm_op_add(cx, *out, shift, 1.0, out);
}

enum { DROP_FEATURE = 1, DROP_ALPHA = 2 };

/* dropout(input, p, train) and its relatives */
static bsm_status op_dropout(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const dropout d = {op_double(&args[1]), self->variant & DROP_FEATURE,
                     self->variant & DROP_ALPHA};
  if (!(d.p >= 0.0 && d.p <= 1.0)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "dropout probability has to be between 0 and 1, but got %g",
                    d.p);
  }
  outs[0] = args[0];
  if (d.p == 0.0 || !op_bool(&args[2]) || bsm_tensor_numel(t) == 0) {
    return BSM_OK;
  }
  if (d.p < 1.0 && !cx->meta && !cx->generator) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "dropout in training mode is not supported here: call "
                    ".eval() on the model before saving it");
  }
  if (d.feature && d.p < 1.0 && t->sizes.rank < 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Feature dropout requires at least 2 dimensions in the "
                    "input");
  }
  BSM_TRY(drop(cx, t, &d, &out));
  if (!(self->flags & BSM_ATEN_INPLACE)) return op_return(outs, out);
  BSM_TRY(bsm_op_writable(cx, t));
  return cx->meta ? BSM_OK : bsm_tensor_copy(t, out);
}

/* native_dropout(input, p, train): also the mask */
static bsm_status op_native_dropout(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *mask, *out, *scale;
  const double p = op_double(&args[1]), keep = 1.0 - p;
  const bool train = op_none(&args[2]) || op_bool(&args[2]);
  const double scale_value = keep == 0.0 ? 0.0 : 1.0 / keep;
  if (bsm_tensor_numel(t) == 0) {
    BSM_TRY(bsm_op_new_like(cx, t->dtype, t, &mask));
    outs[0] = args[0];
    outs[1] = bsm_iv_tensor(mask);
    return BSM_OK;
  }
  BSM_TRY(bsm_op_new_like(cx, BSM_DTYPE_BOOL, t, &mask));
  outs[1] = bsm_iv_tensor(mask);
  if (!train) {
    const bsm_tensor *all = mask;
    BSM_TRY(bsm_op_new_like(cx, t->dtype, t, &out));
    outs[0] = bsm_iv_tensor(out);
    if (cx->meta) return BSM_OK;
    memset(bsm_tensor_data(all), 1, (size_t)bsm_tensor_numel(all));
    return bsm_tensor_copy(out, t);
  }
  BSM_TRY(bsm_random_fill(cx, mask,
                          (bsm_draw){.kind = RANDOM_BERNOULLI, .a = keep}));
  BSM_TRY(bsm_tensor_from_double(cx->arena, t->dtype, scale_value, &scale));
  BSM_TRY(bsm_op_mul(cx, t, mask, &out));
  BSM_TRY(bsm_op_mul(cx, out, scale, &out));
  return op_return(outs, out);
}

static const bsm_aten_op rows[] = {
    OP("aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? "
       "generator=None) -> Tensor(a!)",
       op_fill, RANDOM_BERNOULLI, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM),
    OP("aten::uniform_(Tensor(a!) self, float from=0., float to=1., *, "
       "Generator? generator=None) -> Tensor(a!)",
       op_fill, RANDOM_UNIFORM, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM),
    OP("aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, "
       "Generator? generator=None) -> Tensor(a!)",
       op_fill, RANDOM_NORMAL, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM),
    OP("aten::exponential_(Tensor(a!) self, float lambd=1., *, Generator? "
       "generator=None) -> Tensor(a!)",
       op_fill, RANDOM_EXPONENTIAL, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM),
    OP("aten::cauchy_(Tensor(a!) self, float median=0., float sigma=1., *, "
       "Generator? generator=None) -> Tensor(a!)",
       op_fill, RANDOM_CAUCHY, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM),
    OP("aten::log_normal_(Tensor(a!) self, float mean=1., float std=2., *, "
       "Generator? generator=None) -> Tensor(a!)",
       op_fill, RANDOM_LOG_NORMAL, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM),
    OP("aten::geometric_(Tensor(a!) self, float p, *, Generator? "
       "generator=None) -> Tensor(a!)",
       op_fill, RANDOM_GEOMETRIC, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM),
    OP("aten::_no_grad_uniform_(Tensor(a!) tensor, float a, float b, "
       "Generator? generator=None) -> Tensor(a!)",
       op_fill, RANDOM_UNIFORM, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM),
    OP("aten::_no_grad_normal_(Tensor(a!) tensor, float mean, float std, "
       "Generator? generator=None) -> Tensor(a!)",
       op_fill, RANDOM_NORMAL, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM),
    OP("aten::bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? "
       "generator=None) -> Tensor(a!)",
       op_bernoulli_tensor, 0, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM),
    OP("aten::random_(Tensor(a!) self, *, Generator? generator=None) -> "
       "Tensor(a!)",
       op_random, RANDOM_WHOLE, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM),
    OP("aten::random_.to(Tensor(a!) self, int to, *, Generator? "
       "generator=None) -> Tensor(a!)",
       op_random, RANDOM_TO, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM),
    OP("aten::random_.from(Tensor(a!) self, int from, int? to, *, Generator? "
       "generator=None) -> Tensor(a!)",
       op_random, RANDOM_FROM_TO, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM),
    OP("aten::uniform(Tensor self, float from=0., float to=1., *, Generator? "
       "generator=None) -> Tensor",
       op_fill, RANDOM_UNIFORM, BSM_ATEN_RANDOM),
    OP("aten::normal_functional(Tensor self, float mean=0., float std=1., *, "
       "Generator? generator=None) -> Tensor",
       op_fill, RANDOM_NORMAL, BSM_ATEN_RANDOM),
    OP("aten::exponential(Tensor self, float lambd=1., *, Generator? "
       "generator=None) -> Tensor",
       op_fill, RANDOM_EXPONENTIAL, BSM_ATEN_RANDOM),
    OP("aten::cauchy(Tensor self, float median=0., float sigma=1., *, "
       "Generator? generator=None) -> Tensor",
       op_fill, RANDOM_CAUCHY, BSM_ATEN_RANDOM),
    OP("aten::log_normal(Tensor self, float mean=1., float std=2., *, "
       "Generator? generator=None) -> Tensor",
       op_fill, RANDOM_LOG_NORMAL, BSM_ATEN_RANDOM),
    OP("aten::geometric(Tensor self, float p, *, Generator? generator=None) "
       "-> Tensor",
       op_fill, RANDOM_GEOMETRIC, BSM_ATEN_RANDOM),
    OP("aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
       op_bernoulli, 0, BSM_ATEN_RANDOM),
    OP("aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) "
       "-> Tensor",
       op_bernoulli, 1, BSM_ATEN_RANDOM),
    OP("aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? "
       "generator=None) -> Tensor",
       op_bernoulli_tensor, 0, BSM_ATEN_RANDOM),
    OP("aten::random(Tensor self, *, Generator? generator=None) -> Tensor",
       op_random, RANDOM_WHOLE, BSM_ATEN_RANDOM),
    OP("aten::random.to(Tensor self, int to, *, Generator? generator=None) -> "
       "Tensor",
       op_random, RANDOM_TO, BSM_ATEN_RANDOM),
    OP("aten::random.from(Tensor self, int from, int? to, *, Generator? "
       "generator=None) -> Tensor",
       op_random, RANDOM_FROM_TO, BSM_ATEN_RANDOM),
    OP("aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       op_random_new, NEW_RAND, BSM_ATEN_RANDOM),
    OP("aten::rand.generator(SymInt[] size, *, Generator? generator, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? pin_memory=None) -> Tensor",
       op_random_new, NEW_RAND_G, BSM_ATEN_RANDOM),
    OP("aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       op_random_new, NEW_RANDN, BSM_ATEN_RANDOM),
    OP("aten::randn.generator(SymInt[] size, *, Generator? generator, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? pin_memory=None) -> Tensor",
       op_random_new, NEW_RANDN_G, BSM_ATEN_RANDOM),
    OP("aten::normal.float_float(float mean, float std, SymInt[] size, *, "
       "Generator? generator=None, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       op_random_new, NEW_NORMAL, BSM_ATEN_RANDOM),
    OP("aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, "
       "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
       "Tensor",
       op_randint, 0, BSM_ATEN_RANDOM),
    OP("aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, "
       "ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? "
       "pin_memory=None) -> Tensor",
       op_randint, 1, BSM_ATEN_RANDOM),
    OP("aten::randint.generator(SymInt high, SymInt[] size, *, Generator? "
       "generator, ScalarType? dtype=4, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None) -> Tensor",
       op_randint, 2, BSM_ATEN_RANDOM),
    OP("aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, "
       "*, Generator? generator, ScalarType? dtype=4, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None) -> Tensor",
       op_randint, 3, BSM_ATEN_RANDOM),
    OP("aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None, "
       "MemoryFormat? memory_format=None) -> Tensor",
       op_random_like, LIKE_RAND, BSM_ATEN_RANDOM),
    OP("aten::rand_like.generator(Tensor self, *, Generator? generator, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       op_random_like, LIKE_RAND | LIKE_GENERATOR, BSM_ATEN_RANDOM),
    OP("aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None, "
       "MemoryFormat? memory_format=None) -> Tensor",
       op_random_like, LIKE_RANDN, BSM_ATEN_RANDOM),
    OP("aten::randn_like.generator(Tensor self, *, Generator? generator, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       op_random_like, LIKE_RANDN | LIKE_GENERATOR, BSM_ATEN_RANDOM),
    OP("aten::randint_like(Tensor self, SymInt high, *, ScalarType? "
       "dtype=None, Layout? layout=None, Device? device=None, bool? "
       "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       op_random_like, LIKE_RANDINT, BSM_ATEN_RANDOM),
    OP("aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       op_random_like, LIKE_RANDINT_LOW, BSM_ATEN_RANDOM),
    OP("aten::randint_like.Tensor(Tensor self, Tensor high, *, ScalarType? "
       "dtype=None, Layout? layout=None, Device? device=None, bool? "
       "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       op_random_like, LIKE_RANDINT_TENSOR, BSM_ATEN_RANDOM),
    OP("aten::randint_like.generator(Tensor self, SymInt high, *, Generator? "
       "generator, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) "
       "-> Tensor",
       op_random_like, LIKE_RANDINT | LIKE_GENERATOR, BSM_ATEN_RANDOM),
    OP("aten::randint_like.low_generator_dtype(Tensor self, SymInt low, "
       "SymInt high, *, Generator? generator, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None, "
       "MemoryFormat? memory_format=None) -> Tensor",
       op_random_like, LIKE_RANDINT_LOW | LIKE_GENERATOR, BSM_ATEN_RANDOM),
    OP("aten::randint_like.Tensor_generator(Tensor self, Tensor high, *, "
       "Generator? generator, ScalarType? dtype=None, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None, MemoryFormat? "
       "memory_format=None) -> Tensor",
       op_random_like, LIKE_RANDINT_TENSOR | LIKE_GENERATOR, BSM_ATEN_RANDOM),
    OP("aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? "
       "generator=None) -> Tensor",
       op_normal, 0, BSM_ATEN_RANDOM),
    OP("aten::normal.float_Tensor(float mean, Tensor std, *, Generator? "
       "generator=None) -> Tensor",
       op_normal, 0, BSM_ATEN_RANDOM),
    OP("aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? "
       "generator=None) -> Tensor",
       op_normal, 0, BSM_ATEN_RANDOM),
    OP("aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None) -> Tensor",
       op_randperm, 0, BSM_ATEN_RANDOM),
    OP("aten::randperm.generator(SymInt n, *, Generator? generator, "
       "ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? "
       "pin_memory=None) -> Tensor",
       op_randperm, 1, BSM_ATEN_RANDOM),
    OP("aten::multinomial(Tensor self, SymInt num_samples, bool "
       "replacement=False, *, Generator? generator=None) -> Tensor",
       op_multinomial, 0, BSM_ATEN_RANDOM),
    OP("aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, "
       "Tensor)",
       op_native_dropout, 0, BSM_ATEN_MAY_DRAW),
    OP("aten::dropout(Tensor input, float p, bool train) -> Tensor", op_dropout,
       0, BSM_ATEN_MAY_DRAW),
    OP("aten::dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
       op_dropout, 0, BSM_ATEN_INPLACE | BSM_ATEN_MAY_DRAW),
    OP("aten::feature_dropout(Tensor input, float p, bool train) -> Tensor",
       op_dropout, DROP_FEATURE, BSM_ATEN_MAY_DRAW),
    OP("aten::feature_dropout_(Tensor(a!) self, float p, bool train) -> "
       "Tensor(a!)",
       op_dropout, DROP_FEATURE, BSM_ATEN_INPLACE | BSM_ATEN_MAY_DRAW),
    OP("aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor",
       op_dropout, DROP_ALPHA, BSM_ATEN_MAY_DRAW),
    OP("aten::alpha_dropout_(Tensor(a!) self, float p, bool train) -> "
       "Tensor(a!)",
       op_dropout, DROP_ALPHA, BSM_ATEN_INPLACE | BSM_ATEN_MAY_DRAW),
    OP("aten::feature_alpha_dropout(Tensor input, float p, bool train) -> "
       "Tensor",
       op_dropout, DROP_FEATURE | DROP_ALPHA, BSM_ATEN_MAY_DRAW),
    OP("aten::feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> "
       "Tensor(a!)",
       op_dropout, DROP_FEATURE | DROP_ALPHA,
       BSM_ATEN_INPLACE | BSM_ATEN_MAY_DRAW),
};
BSM_ATEN_TABLE(random, rows);
