/* SPDX-License-Identifier: Apache-2.0 */
/* Draws from the generator into tensors, bit for bit as PyTorch's CPU kernels.
 *
 * Values are drawn in the order of memory, as PyTorch's iterators go. Where its
 * kernels are built with fused multiply-adds, these are used here as well
 * (fma): the last bit depends on it. */
#include "aten/op_random.h"

#include "aten/generator.h"

bsm_status bsm_random_ready(const bsm_op_ctx *cx, const bsm_tensor *t,
                            bool *draw) {
  *draw = !cx->meta && bsm_tensor_numel(t) > 0;
  if (!*draw || cx->generator) return BSM_OK;
  return BSM_FAIL(BSM_UNSUPPORTED,
                  "random numbers are not supported: for a network with "
                  "dropout, call .eval() on the model before saving it");
}

/* ---- drawing ---- */

static double rounded(bsm_dtype d, double v) {
  bsm_round_f64(d, 1, &v);
  return v;
}

/* from + x (to - from); x has as many random bits as the dtype has digits. */
static double uniform(bsm_generator *g, const bsm_draw *w) {
  if (w->dtype == BSM_DTYPE_DOUBLE) {
    return fma(bsm_generator_double(g), w->b - w->a, w->a);
  }
  const uint32_t digits = w->dtype == BSM_DTYPE_HALF       ? 11
                          : w->dtype == BSM_DTYPE_BFLOAT16 ? 8
                                                           : 24;
  const uint32_t bits = bsm_generator_u32(g) & ((1u << digits) - 1u);
  const float x = (float)bits / (float)(1u << digits);
  const double range = rounded(w->dtype, w->b - w->a);
  return (double)fmaf(x, (float)range, (float)w->a);
}

static double draw_value(bsm_generator *g, const bsm_draw *w) {
  const double pi = 3.14159265358979323846;
  switch (w->kind) {
    case RANDOM_UNIFORM:
      return uniform(g, w);
    case RANDOM_NORMAL:
      return fma(bsm_generator_normal(g), w->b, w->a);
    case RANDOM_BERNOULLI:
      return bsm_generator_double(g) < w->a;
    case RANDOM_EXPONENTIAL:
      return -1.0 / w->a * log1p(-bsm_generator_double(g));
    case RANDOM_CAUCHY:
      return fma(w->b, tan(pi * (bsm_generator_double(g) - 0.5)), w->a);
    case RANDOM_LOG_NORMAL:
      return exp(fma(bsm_generator_normal(g), w->b, w->a));
    case RANDOM_GEOMETRIC:
      return ceil(log(bsm_generator_double(g)) / log1p(-w->a));
  }
  return 0.0;
}

/* A view with the dims in the order of memory. */
static bsm_status in_memory_order(bsm_op_ctx *cx, const bsm_tensor *t,
                                  bsm_tensor **out) {
  int perm[BSM_MAX_RANK];
  const int rank = t->sizes.rank;
  for (int i = 0; i < rank; i++) {
    int at = i;
    while (at > 0) {
      const int o = perm[at - 1];
      const bool unit = t->sizes.d[o] == 1 || t->sizes.d[i] == 1;
      if (unit || t->strides[o] >= t->strides[i]) break;
      perm[at] = o;
      at--;
    }
    perm[at] = i;
  }
  bsm_dims dims = {rank, {0}};
  int64_t strides[BSM_MAX_RANK] = {0};
  for (int i = 0; i < rank; i++) {
    dims.d[i] = t->sizes.d[perm[i]];
    strides[i] = t->strides[perm[i]];
  }
  return bsm_tensor_view(cx->arena, t, dims, strides, t->offset, out);
}

static bsm_status fill_serial(bsm_op_ctx *cx, bsm_tensor *t,
                              const bsm_draw *w) {
  bsm_tensor *ordered;
  BSM_TRY(in_memory_order(cx, t, &ordered));
  const bsm_tensor *one[] = {ordered};
  bsm_iter it;
  bsm_iter_init(&it, ordered->sizes, one, 1);
  while (bsm_iter_next(&it)) {
    for (int64_t i = 0; i < it.count; i++) {
      bsm_store1_f64(t->dtype, it.ptr[0] + i * it.step[0],
                     draw_value(cx->generator, w));
    }
  }
  return BSM_OK;
}

/* ---- normal numbers in blocks of 16 ----
 *
 * PyTorch draws u[16] and makes pairs of u[i] and u[i + 8] (Box and Muller).
 * For float it has vector code: the polynomials of Cephes' logf, sinf, cosf. */

/* x > 0 and normal. */
static float block_log(float x) {
  static const float p[] = {
      -1.1514610310E-1f, 1.1676998740E-1f, -1.2420140846E-1f, 1.4249322787E-1f,
      -1.6668057665E-1f, 2.0000714765E-1f, -2.4999993993E-1f, 3.3333331174E-1f};
  uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  float e = (float)((int)(bits >> 23) - 127) + 1.0f;
  bits = (bits & 0x807fffffu) | 0x3f000000u; /* the mantissa, in [0.5, 1) */
  memcpy(&x, &bits, sizeof(x));
  const bool low = x < 0.707106781186547524f;
  const float again = low ? x : 0.0f;
  x -= 1.0f;
  if (low) e -= 1.0f;
  x += again;
  const float z = x * x;
  float y = 7.0376836292E-2f;
  for (size_t i = 0; i < OP_COUNT(p); i++) y = fmaf(y, x, p[i]);
  y *= x;
  y = fmaf(y, z, e * -2.12194440e-4f);
  y = fmaf(z, -0.5f, y);
  return fmaf(e, 0.693359375f, x + y);
}

/* x >= 0 */
static void block_sincos(float x, float *sine, float *cosine) {
  const int octant = ((int)(x * 1.27323954473516f) + 1) & ~1;
  float y = (float)octant;
  x = fmaf(y, -0.78515625f, x);
  x = fmaf(y, -2.4187564849853515625e-4f, x);
  x = fmaf(y, -3.77489497744594108e-8f, x);
  const float z = x * x;
  float c = fmaf(2.443315711809948E-005f, z, -1.388731625493765E-003f);
  c = fmaf(c, z, 4.166664568298827E-002f);
  c = fmaf(c * z, z, -(z * 0.5f)) + 1.0f;
  float s = fmaf(-1.9515295891E-4f, z, 8.3321608736E-3f);
  s = fmaf(s, z, -1.6666654611E-1f);
  s = fmaf(s * z, x, x);
  const bool swap = (octant & 2) != 0;
  *sine = swap ? c : s;
  *cosine = swap ? s : c;
  if (octant & 4) *sine = -*sine;
  if (!((octant - 2) & 4)) *cosine = -*cosine;
}

static void normal_block_float(float *u, float mean, float std) {
  for (int i = 0; i < 8; i++) {
    float s, c;
    const float radius = sqrtf(-2.0f * block_log(1.0f - u[i]));
    block_sincos(6.283185307179586f * u[i + 8], &s, &c);
    u[i] = fmaf(radius * c, std, mean);
    u[i + 8] = fmaf(radius * s, std, mean);
  }
}

static void normal_block_double(double *u, double mean, double std) {
  for (int i = 0; i < 8; i++) {
    const double radius = sqrt(-2.0 * log(1.0 - u[i]));
    const double theta = 2.0 * 3.14159265358979323846 * u[i + 8];
    u[i] = fma(radius * cos(theta), std, mean);
    u[i + 8] = fma(radius * sin(theta), std, mean);
  }
}

/* half and bfloat16: every operation is rounded. */
static void normal_block_small(bsm_dtype d, double *u, double mean,
                               double std) {
  for (int i = 0; i < 8; i++) {
    const double u1 = rounded(d, 1.0 - u[i]);
    const double logs = rounded(d, (double)logf((float)u1));
    const double radius =
        rounded(d, (double)sqrtf((float)rounded(d, -2.0 * logs)));
    const float theta =
        (float)rounded(d, 2.0 * 3.14159265358979323846 * u[i + 8]);
    const double c = rounded(d, (double)cosf(theta));
    const double s = rounded(d, (double)sinf(theta));
    u[i] = rounded(d, rounded(d, rounded(d, radius * c) * std) + mean);
    u[i + 8] = rounded(d, rounded(d, rounded(d, radius * s) * std) + mean);
  }
}

static void normal_block(bsm_dtype d, double *u, double mean, double std) {
  float f[16];
  switch (d) {
    case BSM_DTYPE_DOUBLE:
      normal_block_double(u, mean, std);
      break;
    case BSM_DTYPE_FLOAT:
      for (int i = 0; i < 16; i++) f[i] = (float)u[i];
      normal_block_float(f, (float)mean, (float)std);
      for (int i = 0; i < 16; i++) u[i] = (double)f[i];
      break;
    default:
      normal_block_small(d, u, rounded(d, mean), rounded(d, std));
  }
}

/* All uniform numbers are drawn first; where the size is no multiple of 16,
 * the last 16 are drawn again. */
static bsm_status fill_normal_blocks(bsm_op_ctx *cx, bsm_tensor *t,
                                     const bsm_draw *w) {
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  const size_t n = (size_t)bsm_tensor_numel(t);
  const bsm_draw unit = {RANDOM_UNIFORM, 0.0, 1.0, t->dtype};
  double *u = BSM_NEW_ARRAY(cx->arena, double, n);
  BSM_TRY_ALLOC(u);
  for (size_t i = 0; i < n; i++) u[i] = uniform(cx->generator, &unit);
  for (size_t i = 0; i + 16 <= n; i += 16) {
    normal_block(t->dtype, u + i, w->a, w->b);
  }
  if (n % 16 != 0) {
    double *last = u + n - 16;
    for (int i = 0; i < 16; i++) last[i] = uniform(cx->generator, &unit);
    normal_block(t->dtype, last, w->a, w->b);
  }
  bsm_op_store_all(t, u);
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

static bsm_status need_float(const bsm_tensor *t, const char *name) {
  if (bsm_dtype_is_floating(t->dtype)) return BSM_OK;
  return BSM_FAIL(
      bsm_dtype_is_complex(t->dtype) ? BSM_UNSUPPORTED : BSM_INVALID_ARGUMENT,
      "\"%s\" not implemented for '%s'", name, bsm_op_type_name(t->dtype));
}

static bsm_status check_draw(const bsm_tensor *t, const bsm_draw *w) {
  const char *problem = NULL;
  BSM_TRY(bsm_op_real(t));
  switch (w->kind) {
    case RANDOM_UNIFORM:
      BSM_TRY(need_float(t, "check_uniform_bounds"));
      if (!(w->a <= w->b)) problem = "uniform_ expects from <= to";
      break;
    case RANDOM_NORMAL:
      BSM_TRY(need_float(t, "normal_kernel_cpu"));
      if (!(w->b >= 0.0)) problem = "normal expects std >= 0.0";
      break;
    case RANDOM_BERNOULLI:
      if (!(w->a >= 0.0 && w->a <= 1.0)) {
        problem = "bernoulli_ expects p to be in [0, 1]";
      }
      break;
    case RANDOM_EXPONENTIAL:
      BSM_TRY(need_float(t, "exponential_cpu"));
      if (!(w->a > 0.0)) problem = "exponential_ expects lambda > 0.0";
      break;
    case RANDOM_CAUCHY:
      BSM_TRY(need_float(t, "cauchy_cpu"));
      if (!(w->b > 0.0)) problem = "cauchy_ expects sigma > 0.0";
      break;
    case RANDOM_LOG_NORMAL:
      BSM_TRY(need_float(t, "log_normal_cpu"));
      if (!(w->b > 0.0)) problem = "log_normal_ expects std > 0.0";
      break;
    case RANDOM_GEOMETRIC:
      if (t->dtype == BSM_DTYPE_BOOL) problem = "geometric_ of a bool tensor";
      if (!(w->a > 0.0 && w->a < 1.0)) {
        problem = "geometric_ expects p to be in (0, 1)";
      }
      break;
  }
  if (!problem) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s, but got %g, %g", problem, w->a,
                  w->b);
}

/* Fills `t`, which is written in place. */
bsm_status bsm_random_fill(bsm_op_ctx *cx, bsm_tensor *t, bsm_draw w) {
  bool go;
  w.dtype = t->dtype;
  if (bsm_tensor_numel(t) == 0 && w.kind == RANDOM_NORMAL && w.b >= 0.0) {
    return BSM_OK;
  }
  BSM_TRY(check_draw(t, &w));
  BSM_TRY(bsm_random_ready(cx, t, &go));
  BSM_TRY(bsm_op_writable(cx, t));
  if (!go) return BSM_OK;
  if (w.kind == RANDOM_UNIFORM) {
    w.a = rounded(t->dtype, w.a);
    w.b = rounded(t->dtype, w.b);
  }
  if (w.kind == RANDOM_NORMAL && bsm_tensor_numel(t) >= 16 &&
      bsm_tensor_is_contiguous(t)) {
    return fill_normal_blocks(cx, t, &w);
  }
  return fill_serial(cx, t, &w);
}

/* ---- integers ---- */

static int digits_of(bsm_dtype d) {
  switch (d) {
    case BSM_DTYPE_DOUBLE:
      return 53;
    case BSM_DTYPE_FLOAT:
      return 24;
    case BSM_DTYPE_HALF:
      return 11;
    case BSM_DTYPE_BFLOAT16:
      return 8;
    default:
      return 0;
  }
}

/* The smallest and the largest value; for floating dtypes, the ends of the
 * range in which every integer has a place. */
void bsm_random_bounds(bsm_dtype d, int64_t *low, int64_t *high) {
  const int digits = digits_of(d);
  *low = 0;
  switch (d) {
    case BSM_DTYPE_BOOL:
      *high = 1;
      return;
    case BSM_DTYPE_UINT8:
      *high = UINT8_MAX;
      return;
    case BSM_DTYPE_INT8:
      *high = INT8_MAX;
      break;
    case BSM_DTYPE_INT16:
      *high = INT16_MAX;
      break;
    case BSM_DTYPE_INT32:
      *high = INT32_MAX;
      break;
    case BSM_DTYPE_INT64:
      *high = INT64_MAX;
      break;
    default:
      *high = (int64_t)1 << digits;
      *low = -*high;
      return;
  }
  *low = -*high - 1;
}

static int log2_floor(int64_t v) {
  int n = 0;
  uint64_t u = v < 0 ? (uint64_t)0 - (uint64_t)v : (uint64_t)v;
  while (u >>= 1) n++;
  return n;
}

static int64_t in_dtype(bsm_dtype d, int64_t v) {
  if (d == BSM_DTYPE_FLOAT) return bsm_double_to_i64((double)(float)v);
  return bsm_double_to_i64(rounded(d, (double)v));
}

/* Moves from and to inwards to values that the floating dtype has. */
static void snap(bsm_dtype d, int64_t *from, int64_t *to) {
  const int digits = digits_of(d);
  if (*from < INT64_MAX) {
    const int64_t up = in_dtype(d, *from + 1);
    if (up < *from) {
      *from = up + ((int64_t)1 << (log2_floor(*from + 1) - digits + 1));
    }
  }
  if (to && *to > INT64_MIN) {
    const int64_t down = in_dtype(d, *to - 1);
    if (down >= *to) {
      *to = down - ((int64_t)1 << (log2_floor(*to - 1) - digits + 1));
    }
  }
}

/* Values base + r % range; range 0: all 64 bits. */
static bsm_status fill_range(bsm_op_ctx *cx, bsm_tensor *t, uint64_t range,
                             int64_t base) {
  bsm_tensor *ordered;
  BSM_TRY(in_memory_order(cx, t, &ordered));
  const bsm_tensor *one[] = {ordered};
  const bool wide = range == 0 || range >= UINT64_C(1) << 28;
  bsm_iter it;
  bsm_iter_init(&it, ordered->sizes, one, 1);
  while (bsm_iter_next(&it)) {
    for (int64_t i = 0; i < it.count; i++) {
      const uint64_t r = wide ? bsm_generator_u64(cx->generator)
                              : bsm_generator_u32(cx->generator);
      const uint64_t v = (range ? r % range : r) + (uint64_t)base;
      bsm_store1_i64(t->dtype, it.ptr[0] + i * it.step[0], (int64_t)v);
    }
  }
  return BSM_OK;
}

static bsm_status out_of_bounds(const bsm_tensor *t, int64_t from, int64_t to) {
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "random_ from %lld to %lld is empty, or out of bounds for %s",
                  (long long)from, (long long)to, bsm_op_type_name(t->dtype));
}

static bool in_range(bsm_dtype d, int64_t v) {
  int64_t low, high;
  if (d == BSM_DTYPE_HALF) return v >= -65504 && v <= 65504;
  if (bsm_dtype_is_floating(d)) return true;
  bsm_random_bounds(d, &low, &high);
  return v >= low && v <= high;
}

/* random_.from: integers in [from, *to); to NULL: up to the dtype's largest. */
bsm_status bsm_random_integers(bsm_op_ctx *cx, bsm_tensor *t, int64_t from,
                               const int64_t *to) {
  const bool floating = bsm_dtype_is_floating(t->dtype);
  uint64_t range = 0;
  bool go;
  BSM_TRY(bsm_op_real(t));
  if (to) {
    int64_t end = *to;
    if (from >= end) return out_of_bounds(t, from, end);
    if (floating) snap(t->dtype, &from, &end);
    if (from >= end || !in_range(t->dtype, from) ||
        !in_range(t->dtype, end - 1)) {
      return out_of_bounds(t, from, end);
    }
    range = (uint64_t)end - (uint64_t)from;
  } else if (from != INT64_MIN) {
    int64_t low, high;
    bsm_random_bounds(t->dtype, &low, &high);
    if (floating) snap(t->dtype, &from, NULL);
    if ((floating && from >= high) || !in_range(t->dtype, from)) {
      return out_of_bounds(t, from, high);
    }
    range = (uint64_t)high - (uint64_t)from + 1;
  } else if (t->dtype != BSM_DTYPE_INT64 &&
             (!floating || t->dtype == BSM_DTYPE_HALF)) {
    return out_of_bounds(t, from, INT64_MAX);
  }
  BSM_TRY(bsm_random_ready(cx, t, &go));
  BSM_TRY(bsm_op_writable(cx, t));
  return go ? fill_range(cx, t, range, range == 0 && !to ? 0 : from) : BSM_OK;
}

/* random_(self): [0, largest] of integers, [0, 2^digits] of floats. */
bsm_status bsm_random_whole_range(bsm_op_ctx *cx, bsm_tensor *t) {
  bsm_tensor *ordered;
  bool go;
  int64_t low, high;
  BSM_TRY(bsm_op_real(t));
  BSM_TRY(bsm_random_ready(cx, t, &go));
  BSM_TRY(bsm_op_writable(cx, t));
  if (!go) return BSM_OK;
  bsm_random_bounds(t->dtype, &low, &high);
  BSM_TRY(in_memory_order(cx, t, &ordered));
  const bool wide = t->dtype == BSM_DTYPE_INT64 || t->dtype == BSM_DTYPE_DOUBLE;
  const bsm_tensor *one[] = {ordered};
  bsm_iter it;
  bsm_iter_init(&it, ordered->sizes, one, 1);
  while (bsm_iter_next(&it)) {
    for (int64_t i = 0; i < it.count; i++) {
      const uint64_t r = wide ? bsm_generator_u64(cx->generator)
                              : bsm_generator_u32(cx->generator);
      bsm_store1_i64(t->dtype, it.ptr[0] + i * it.step[0],
                     (int64_t)(r % ((uint64_t)high + 1)));
    }
  }
  return BSM_OK;
}

/* ---- bernoulli with a tensor of probabilities ---- */

bsm_status bsm_random_bernoulli(bsm_op_ctx *cx, bsm_tensor *t, bsm_tensor *p) {
  bsm_tensor *spread;
  bool go;
  BSM_TRY(bsm_op_real(t));
  BSM_TRY(need_float(p, "bernoulli_tensor_cpu_p_"));
  BSM_TRY(bsm_op_expand(cx, p, t->sizes, &spread));
  BSM_TRY(bsm_random_ready(cx, t, &go));
  BSM_TRY(bsm_op_writable(cx, t));
  if (!go) return BSM_OK;
  const bsm_tensor *both[] = {t, spread};
  bsm_iter it;
  bsm_iter_init(&it, t->sizes, both, 2);
  while (bsm_iter_next(&it)) {
    for (int64_t i = 0; i < it.count; i++) {
      const double v = bsm_load1_f64(p->dtype, it.ptr[1] + i * it.step[1]);
      if (!(v >= 0.0 && v <= 1.0)) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "Expected p_in >= 0 && p_in <= 1, got %g", v);
      }
      const bool one = p->dtype == BSM_DTYPE_DOUBLE
                           ? bsm_generator_double(cx->generator) < v
                           : bsm_generator_float(cx->generator) < (float)v;
      bsm_store1_i64(t->dtype, it.ptr[0] + i * it.step[0], one);
    }
  }
  return BSM_OK;
}
