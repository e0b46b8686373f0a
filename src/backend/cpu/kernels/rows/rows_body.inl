/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of rows.h, for the simd_*.h included before. */
#include "backend/cpu/kernels/math/vector_functions.inl"
#include "backend/cpu/kernels/rows/rows.h"
#include "backend/cpu/kernels/simd/unroll.h"

#define PANEL 16
/* Elements summed before partial sums are added up. */
#define SUM_BLOCK (256 * VF_W)

/* ---- packing ---- */

/* A square of TILE x TILE: y[i][j] = x[j][i]. */
#define TILE BSM_K_TRANSPOSE
VF_INLINE void transpose_tile(const float *x, int64_t x_stride, float *y,
                              int64_t y_stride) {
#if VF_W >= 8
  __m256 r[8], t[8];
  UNROLL
  for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_ps(x + i * x_stride);
  UNROLL
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  UNROLL
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  UNROLL
  for (int i = 0; i < 4; i++) {
    _mm256_storeu_ps(y + i * y_stride,
                     _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(y + (i + 4) * y_stride,
                     _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
#elif VF_W == 4
  UNROLL
  for (int k = 0; k < 4; k++) {
    const int64_t i = k / 2 * 4, j = k % 2 * 4;
    float32x4x4_t r;
    UNROLL
    for (int l = 0; l < 4; l++) {
      r.val[l] = vld1q_f32(x + (j + l) * x_stride + i);
    }
    const float32x4x2_t a = vzipq_f32(r.val[0], r.val[2]);
    const float32x4x2_t b = vzipq_f32(r.val[1], r.val[3]);
    const float32x4x2_t low = vzipq_f32(a.val[0], b.val[0]);
    const float32x4x2_t high = vzipq_f32(a.val[1], b.val[1]);
    float *to = y + i * y_stride + j;
    vst1q_f32(to, low.val[0]);
    vst1q_f32(to + y_stride, low.val[1]);
    vst1q_f32(to + 2 * y_stride, high.val[0]);
    vst1q_f32(to + 3 * y_stride, high.val[1]);
  }
#else
  for (int i = 0; i < TILE; i++) {
    for (int j = 0; j < TILE; j++) y[i * y_stride + j] = x[j * x_stride + i];
  }
#endif
}

/* Two rows that become pairs: y[2 i] = a[i], y[2 i + 1] = b[i]. */
static void interleave(const float *a, const float *b, float *y, int64_t n) {
  int64_t i = 0;
#if VF_W >= 8
  for (; i + 8 <= n; i += 8) {
    const __m256 p = _mm256_loadu_ps(a + i), q = _mm256_loadu_ps(b + i);
    const __m256 lo = _mm256_unpacklo_ps(p, q), hi = _mm256_unpackhi_ps(p, q);
    _mm256_storeu_ps(y + 2 * i, _mm256_permute2f128_ps(lo, hi, 0x20));
    _mm256_storeu_ps(y + 2 * i + 8, _mm256_permute2f128_ps(lo, hi, 0x31));
  }
#elif VF_W == 4
  for (; i + 4 <= n; i += 4) {
    const float32x4x2_t pair = {{vld1q_f32(a + i), vld1q_f32(b + i)}};
    vst2q_f32(y + 2 * i, pair);
  }
#endif
  for (; i < n; i++) {
    y[2 * i] = a[i];
    y[2 * i + 1] = b[i];
  }
}

/* Whole tiles of at most SQUARE rows and columns. */
#define SQUARE (2 * TILE)
VF_INLINE void transpose_square(const float *x, int64_t x_stride, float *y,
                                int64_t y_stride, int64_t rows,
                                int64_t columns) {
  for (int64_t i = 0; i < rows; i += TILE) {
    for (int64_t j = 0; j < columns; j += TILE) {
      transpose_tile(x + j * x_stride + i, x_stride, y + i * y_stride + j,
                     y_stride);
    }
  }
}

VF_INLINE int64_t in_square(int64_t n) {
  return n < SQUARE ? n : SQUARE;
}

/* By squares, so that whole lines of the caches are read and written: rows that
 * are a power of two apart push each other out of all caches. Squares follow
 * each other along the rows that are far apart, as so many streams. */
static void transpose(const float *x, int64_t x_stride, float *y,
                      int64_t y_stride, int64_t rows, int64_t columns) {
  if (columns == 2 && y_stride == 2) {
    interleave(x, x + x_stride, y, rows);
    return;
  }
  const int64_t r = rows / TILE * TILE, c = columns / TILE * TILE;
  const int far = x_stride > y_stride; /* those of x */
  const int64_t outer = far ? c : r, inner = far ? r : c;
  for (int64_t o = 0; o < outer; o += SQUARE) {
    for (int64_t n = 0; n < inner; n += SQUARE) {
      const int64_t i = far ? n : o, j = far ? o : n;
      transpose_square(x + j * x_stride + i, x_stride, y + i * y_stride + j,
                       y_stride, in_square(r - i), in_square(c - j));
    }
  }
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = i < r ? c : 0; j < columns; j++) {
      y[i * y_stride + j] = x[j * x_stride + i];
    }
  }
}

static void pack_panel(const float *from, int64_t k, int64_t n,
                       int64_t k_stride, int64_t n_stride, float *to) {
  if (n_stride == 1) {
    for (int64_t i = 0; i < k; i++, from += k_stride, to += PANEL) {
      for (int64_t c = 0; c < PANEL; c += VF_W) {
        const int64_t rest = n - c;
        vf_store(to + c, rest >= VF_W ? vf_load(from + c)
                         : rest > 0   ? vf_load_n(from + c, rest)
                                      : vf_zero());
      }
    }
    return;
  }
  if (n < PANEL) {
    for (int64_t i = 0; i < k; i++) {
      for (int64_t c = n; c < PANEL; c++) to[i * PANEL + c] = 0.0f;
    }
  }
  if (k_stride == 1) {
    transpose(from, n_stride, to, PANEL, k, n);
    return;
  }
  for (int64_t i = 0; i < k; i++) {
    for (int64_t c = 0; c < n; c++) {
      to[i * PANEL + c] = from[i * k_stride + c * n_stride];
    }
  }
}

/* ---- reductions ---- */

VF_INLINE float sum_block(const float *x, int64_t n, const int squares,
                          float m) {
  const vf mean = vf_set(m);
  vf s[4] = {vf_zero(), vf_zero(), vf_zero(), vf_zero()};
  int64_t i = 0;
  for (; i + 4 * VF_W <= n; i += 4 * VF_W) {
    UNROLL
    for (int j = 0; j < 4; j++) {
      const vf v = vf_sub(vf_load(x + i + j * VF_W), mean);
      s[j] = squares ? vf_fma(v, v, s[j]) : vf_add(s[j], v);
    }
  }
  for (; i + VF_W <= n; i += VF_W) {
    const vf v = vf_sub(vf_load(x + i), mean);
    s[0] = squares ? vf_fma(v, v, s[0]) : vf_add(s[0], v);
  }
  float rest = 0.0f;
  for (; i < n; i++) {
    const float v = x[i] - m;
    rest += squares ? v * v : v;
  }
  return vf_sum(vf_add(vf_add(s[0], s[1]), vf_add(s[2], s[3]))) + rest;
}

static float sum(const float *x, int64_t n) {
  double total = 0.0;
  for (int64_t i = 0; i < n; i += SUM_BLOCK) {
    const int64_t count = n - i < SUM_BLOCK ? n - i : SUM_BLOCK;
    total += (double)sum_block(x + i, count, 0, 0.0f);
  }
  return (float)total;
}

static float sum_squares(const float *x, int64_t n, float mean) {
  double total = 0.0;
  for (int64_t i = 0; i < n; i += SUM_BLOCK) {
    const int64_t count = n - i < SUM_BLOCK ? n - i : SUM_BLOCK;
    total += (double)sum_block(x + i, count, 1, mean);
  }
  return (float)total;
}

VF_INLINE vf keep_nan_max(vf a, vf x) { /* a NaN in x wins by order, in a by */
  return vf_select(vf_is_nan(a), a, vf_max(a, x));
}
VF_INLINE vf keep_nan_min(vf a, vf x) {
  return vf_select(vf_is_nan(a), a, vf_min(a, x));
}

#define EXTREME(name, pick, better)                                   \
  static float name(const float *x, int64_t n) {                      \
    float best = x[0];                                                \
    int64_t i = 0;                                                    \
    if (n >= VF_W) {                                                  \
      vf m = vf_load(x);                                              \
      for (i = VF_W; i + VF_W <= n; i += VF_W) {                      \
        m = pick(m, vf_load(x + i));                                  \
      }                                                               \
      float lanes[VF_W];                                              \
      vf_store(lanes, m);                                             \
      best = lanes[0];                                                \
      for (int j = 1; j < VF_W; j++) {                                \
        if (!(best better lanes[j]) && best == best) best = lanes[j]; \
      }                                                               \
    }                                                                 \
    for (; i < n; i++) {                                              \
      if (!(best better x[i]) && best == best) best = x[i];           \
    }                                                                 \
    return best;                                                      \
  }
EXTREME(row_max, keep_nan_max, >=)
EXTREME(row_min, keep_nan_min, <=)

/* ---- softmax ---- */

/* e^x of what is at most 0. Where that is 0, as where a mask has put -inf, it is
 * not computed: results below the normal numbers take CPUs a hundred cycles. */
VF_INLINE vf exp_or_zero(vf x) {
  const vm is_zero = vf_lt(x, vf_set(-103.98f));
  const vf e = vf_exp(vf_select(is_zero, vf_zero(), x));
  return vf_select(is_zero, vf_zero(), e);
}

static void softmax(const float *x, float *y, int64_t n) {
  const vf m = vf_set(row_max(x, n));
  vf s = vf_zero();
  int64_t i = 0;
  for (; i + VF_W <= n; i += VF_W) {
    const vf e = exp_or_zero(vf_sub(vf_load(x + i), m));
    vf_store(y + i, e);
    s = vf_add(s, e);
  }
  float total = vf_sum(s);
  if (i < n) {
    const int64_t r = n - i;
    float lanes[VF_W];
    const vf e = exp_or_zero(vf_sub(vf_load_n(x + i, r), m));
    vf_store(lanes, e);
    vf_store_n(y + i, e, r);
    for (int64_t j = 0; j < r; j++) total += lanes[j];
  }
  const vf f = vf_set(total);
  for (i = 0; i + VF_W <= n; i += VF_W) {
    vf_store(y + i, vf_div(vf_load(y + i), f));
  }
  if (i < n) vf_store_n(y + i, vf_div(vf_load_n(y + i, n - i), f), n - i);
}

static void log_softmax(const float *x, float *y, int64_t n) {
  const vf m = vf_set(row_max(x, n));
  vf s = vf_zero();
  int64_t i = 0;
  for (; i + VF_W <= n; i += VF_W) {
    s = vf_add(s, exp_or_zero(vf_sub(vf_load(x + i), m)));
  }
  float total = vf_sum(s);
  if (i < n) {
    const int64_t r = n - i;
    float lanes[VF_W];
    vf_store(lanes, exp_or_zero(vf_sub(vf_load_n(x + i, r), m)));
    for (int64_t j = 0; j < r; j++) total += lanes[j];
  }
  const vf l = vf_log(vf_set(total));
  for (i = 0; i + VF_W <= n; i += VF_W) {
    vf_store(y + i, vf_sub(vf_sub(vf_load(x + i), m), l));
  }
  if (i < n) {
    const int64_t r = n - i;
    vf_store_n(y + i, vf_sub(vf_sub(vf_load_n(x + i, r), m), l), r);
  }
}

/* A vector of columns, all of it or the first `rest`. */
VF_INLINE void softmax_column(const float *x, int64_t x_stride, float *y,
                              int64_t y_stride, int64_t n, int64_t rest,
                              const int part, const int log_too) {
#define COLUMN(p) (part ? vf_load_n(p, rest) : vf_load(p))
#define PUT(p, v) (part ? vf_store_n(p, v, rest) : vf_store(p, v))
  vf m = COLUMN(x), s = vf_zero();
  for (int64_t i = 1; i < n; i++) m = keep_nan_max(m, COLUMN(x + i * x_stride));
  for (int64_t i = 0; i < n; i++) {
    const vf e = exp_or_zero(vf_sub(COLUMN(x + i * x_stride), m));
    if (!log_too) PUT(y + i * y_stride, e);
    s = vf_add(s, e);
  }
  const vf f = log_too ? vf_log(s) : vf_div(vf_set(1.0f), s);
  for (int64_t i = 0; i < n; i++) {
    float *to = y + i * y_stride;
    const vf v = log_too ? vf_sub(vf_sub(COLUMN(x + i * x_stride), m), f)
                         : vf_mul(COLUMN(to), f);
    PUT(to, v);
  }
}

VF_INLINE void all_columns(const float *x, int64_t x_stride, float *y,
                           int64_t y_stride, int64_t n, int64_t columns,
                           const int log_too) {
  int64_t c = 0;
  for (; c + VF_W <= columns; c += VF_W) {
    softmax_column(x + c, x_stride, y + c, y_stride, n, 0, 0, log_too);
  }
  if (c < columns) {
    softmax_column(x + c, x_stride, y + c, y_stride, n, columns - c, 1,
                   log_too);
  }
}

static void softmax_columns(const float *x, int64_t x_stride, float *y,
                            int64_t y_stride, int64_t n, int64_t columns) {
  all_columns(x, x_stride, y, y_stride, n, columns, 0);
}
static void log_softmax_columns(const float *x, int64_t x_stride, float *y,
                                int64_t y_stride, int64_t n, int64_t columns) {
  all_columns(x, x_stride, y, y_stride, n, columns, 1);
}

/* ---- element by element ---- */

/* Runs `BODY(load, store)` over full vectors, then on the masked rest. */
#define LOAD(p) vf_load((p) + i)
#define STORE(p, v) vf_store((p) + i, v)
#define LOAD_N(p) vf_load_n((p) + i, n - i)
#define STORE_N(p, v) vf_store_n((p) + i, v, n - i)
#define FOR_ALL(BODY)                                 \
  int64_t i = 0;                                      \
  for (; i + VF_W <= n; i += VF_W) BODY(LOAD, STORE); \
  if (i < n) BODY(LOAD_N, STORE_N);

static void normalize(const float *x, float *y, int64_t n, float mean,
                      float factor, const float *scale, const float *bias) {
  const vf m = vf_set(mean), f = vf_set(factor);
#define BOTH(L, S) S(y, vf_fma(vf_mul(vf_sub(L(x), m), f), L(scale), L(bias)))
#define SCALED(L, S) S(y, vf_mul(vf_mul(vf_sub(L(x), m), f), L(scale)))
#define SHIFTED(L, S) S(y, vf_fma(vf_sub(L(x), m), f, L(bias)))
#define PLAIN(L, S) S(y, vf_mul(vf_sub(L(x), m), f))
  if (scale && bias) {
    FOR_ALL(BOTH)
  } else if (scale) {
    FOR_ALL(SCALED)
  } else if (bias) {
    FOR_ALL(SHIFTED)
  } else {
    FOR_ALL(PLAIN)
  }
}

static void affine(const float *x, float *y, int64_t n, const float *scale,
                   const float *shift){
#define AFFINE(L, S) S(y, vf_fma(L(x), L(scale), L(shift)))
    FOR_ALL(AFFINE)}

/* A row of affine_rows; `s` and `b` are used when the operand is not along the
 * row. */
VF_INLINE vf affine_of(const bsm_k_affine *a, vf x, vf s, vf b, const int scale,
                       const int shift) {
  if (scale && shift) {
    x = vf_fma(x, s, b);
  } else if (scale) {
    x = vf_mul(x, s);
  } else {
    x = vf_add(x, b);
  }
  return a->clamps ? vf_clamp(x, vf_set(a->lo), vf_set(a->hi)) : x;
}

VF_INLINE void affine_row(const bsm_k_affine *a, int64_t r, const int scale,
                          const int shift, const int along) {
  const float *x = a->x + r * a->x_row;
  const float *s = scale ? a->scale + r * a->scale_row : x;
  const float *b = shift ? a->shift + r * a->shift_row : x;
  float *y = a->y + r * a->y_row;
  const int64_t n = a->n;
  const vf s1 = vf_set(*s), b1 = vf_set(*b);
#define AFFINE_ROW(L, S)                             \
  S(y, affine_of(a, L(x), along &&scale ? L(s) : s1, \
                 along &&shift ? L(b) : b1, scale, shift))
  FOR_ALL(AFFINE_ROW)
}

VF_INLINE void affine_all(const bsm_k_affine *a, const int scale,
                          const int shift, const int along) {
  for (int64_t r = 0; r < a->rows; r++) affine_row(a, r, scale, shift, along);
}

static void affine_rows(const bsm_k_affine *a) {
  if (a->n <= 0) return;
  if (a->along) {
    if (a->scale && a->shift) {
      affine_all(a, 1, 1, 1);
    } else if (a->scale) {
      affine_all(a, 1, 0, 1);
    } else {
      affine_all(a, 0, 1, 1);
    }
  } else if (a->scale && a->shift) {
    affine_all(a, 1, 1, 0);
  } else if (a->scale) {
    affine_all(a, 1, 0, 0);
  } else {
    affine_all(a, 0, 1, 0);
  }
}

static void scale_panel(const float *x, const float *scale, int64_t k,
                        float *y) {
  for (int64_t i = 0; i < k; i++, x += 16, y += 16) {
    const vf s = vf_set(scale[i]);
    UNROLL
    for (int j = 0; j < 16; j += VF_W) {
      vf_store(y + j, vf_mul(vf_load(x + j), s));
    }
  }
}

/* ---- columns ---- */

enum { COLUMNS_SUM, COLUMNS_SQUARES, COLUMNS_MAX, COLUMNS_MIN };

VF_INLINE vf column_step(const int what, vf s, vf x, vf m) {
  switch (what) {
    case COLUMNS_SUM:
      return vf_add(s, x);
    case COLUMNS_SQUARES:
      return vf_fma(vf_sub(x, m), vf_sub(x, m), s);
    case COLUMNS_MAX:
      return keep_nan_max(s, x);
    default:
      return keep_nan_min(s, x);
  }
}

/* `vectors` vectors of columns; of the last one only `rest` elements when that
 * is not 0. */
VF_INLINE void reduce_vectors(const int what, const float *x, int64_t stride,
                              int64_t rows, const float *mean, float *y,
                              const int vectors, int64_t rest) {
  vf s[4], m[4];
  UNROLL
  for (int j = 0; j < vectors; j++) {
    s[j] = rest ? vf_load_n(x, rest) : vf_load(x + j * VF_W);
    m[j] = vf_zero();
    if (what == COLUMNS_SQUARES) {
      m[j] = rest ? vf_load_n(mean, rest) : vf_load(mean + j * VF_W);
      s[j] = column_step(what, vf_zero(), s[j], m[j]);
    }
  }
  for (int64_t r = 1; r < rows; r++) {
    x += stride;
    UNROLL
    for (int j = 0; j < vectors; j++) {
      s[j] = column_step(
          what, s[j], rest ? vf_load_n(x, rest) : vf_load(x + j * VF_W), m[j]);
    }
  }
  UNROLL
  for (int j = 0; j < vectors; j++) {
    if (rest) {
      vf_store_n(y, s[j], rest);
    } else {
      vf_store(y + j * VF_W, s[j]);
    }
  }
}

VF_INLINE void reduce_columns(const int what, const float *x, int64_t stride,
                              int64_t rows, const float *mean, float *y,
                              int64_t n) {
  int64_t i = 0;
  for (; i + 4 * VF_W <= n; i += 4 * VF_W) {
    reduce_vectors(what, x + i, stride, rows, mean + i, y + i, 4, 0);
  }
  for (; i + VF_W <= n; i += VF_W) {
    reduce_vectors(what, x + i, stride, rows, mean + i, y + i, 1, 0);
  }
  if (i < n) {
    reduce_vectors(what, x + i, stride, rows, mean + i, y + i, 1, n - i);
  }
}

static void sum_columns(const float *x, int64_t stride, int64_t rows, float *y,
                        int64_t n) {
  reduce_columns(COLUMNS_SUM, x, stride, rows, x, y, n);
}
static void square_columns(const float *x, int64_t stride, int64_t rows,
                           const float *mean, float *y, int64_t n) {
  reduce_columns(COLUMNS_SQUARES, x, stride, rows, mean, y, n);
}
static void max_columns(const float *x, int64_t stride, int64_t rows, float *y,
                        int64_t n) {
  reduce_columns(COLUMNS_MAX, x, stride, rows, x, y, n);
}
static void min_columns(const float *x, int64_t stride, int64_t rows, float *y,
                        int64_t n) {
  reduce_columns(COLUMNS_MIN, x, stride, rows, x, y, n);
}

/* As reduce_vectors. */
VF_INLINE void moment_vectors(const float *x, int64_t stride, int64_t rows,
                              const float *mean, float *sum, float *squares,
                              const int vectors, int64_t rest) {
  vf s[2], q[2], m[2];
  UNROLL
  for (int j = 0; j < vectors; j++) {
    s[j] = q[j] = vf_zero();
    m[j] = rest ? vf_load_n(mean, rest) : vf_load(mean + j * VF_W);
  }
  for (int64_t r = 0; r < rows; r++, x += stride) {
    UNROLL
    for (int j = 0; j < vectors; j++) {
      const vf v =
          vf_sub(rest ? vf_load_n(x, rest) : vf_load(x + j * VF_W), m[j]);
      s[j] = vf_add(s[j], v);
      q[j] = vf_fma(v, v, q[j]);
    }
  }
  UNROLL
  for (int j = 0; j < vectors; j++) {
    if (rest) {
      vf_store_n(sum, s[j], rest);
      vf_store_n(squares, q[j], rest);
    } else {
      vf_store(sum + j * VF_W, s[j]);
      vf_store(squares + j * VF_W, q[j]);
    }
  }
}

static void moment_columns(const float *x, int64_t stride, int64_t rows,
                           const float *mean, float *sum, float *squares,
                           int64_t n) {
  int64_t i = 0;
  for (; i + 2 * VF_W <= n; i += 2 * VF_W) {
    moment_vectors(x + i, stride, rows, mean + i, sum + i, squares + i, 2, 0);
  }
  for (; i < n; i += VF_W) {
    const int64_t rest = n - i < VF_W ? n - i : VF_W;
    moment_vectors(x + i, stride, rows, mean + i, sum + i, squares + i, 1,
                   rest);
  }
}

/* A row of center_columns. */
VF_INLINE void center_row(const bsm_k_center *c, int64_t r, const int scales) {
  const float *x = c->x + r * c->x_row;
  float *y = c->y + r * c->y_row;
  const int64_t n = c->n;
  const vf rs = vf_set(scales && c->row_scale ? c->row_scale[r] : 1.0f);
  const vf rb = vf_set(scales && c->row_shift ? c->row_shift[r] : 0.0f);
#define CENTERED(L) vf_fma(vf_sub(L(x), L(c->mean)), L(c->factor), L(c->shift))
#define CENTER(L, S) S(y, CENTERED(L))
#define CENTER_SCALED(L, S) S(y, vf_fma(CENTERED(L), rs, rb))
  if (scales) {
    FOR_ALL(CENTER_SCALED)
  } else {
    FOR_ALL(CENTER)
  }
}

static void center_columns(const bsm_k_center *c) {
  if (c->row_scale || c->row_shift) {
    for (int64_t r = 0; r < c->rows; r++) center_row(c, r, 1);
  } else {
    for (int64_t r = 0; r < c->rows; r++) center_row(c, r, 0);
  }
}

/* A product and a sum apart, which round twice. */
static void center(const float *x, float *y, int64_t n, float mean,
                   float factor, float shift) {
  const vf m = vf_set(mean), f = vf_set(factor), b = vf_set(shift);
#define CENTER_ALL(L, S) S(y, vf_add(vf_mul(vf_sub(L(x), m), f), b))
  FOR_ALL(CENTER_ALL)
}

static void weighted(float *y, const float *x, int64_t n,
                     const int64_t *offsets, const float *weights, int count) {
  int64_t i = 0;
  for (; i + 4 * VF_W <= n; i += 4 * VF_W) {
    vf s[4] = {vf_zero(), vf_zero(), vf_zero(), vf_zero()};
    for (int k = 0; k < count; k++) {
      const float *from = x + offsets[k] + i;
      const vf w = vf_set(weights[k]);
      UNROLL
      for (int j = 0; j < 4; j++) {
        s[j] = vf_fma(vf_load(from + j * VF_W), w, s[j]);
      }
    }
    UNROLL
    for (int j = 0; j < 4; j++) vf_store(y + i + j * VF_W, s[j]);
  }
  for (; i < n; i += VF_W) {
    const int64_t rest = n - i < VF_W ? n - i : VF_W;
    vf s = vf_zero();
    for (int k = 0; k < count; k++) {
      s = vf_fma(vf_load_n(x + offsets[k] + i, rest), vf_set(weights[k]), s);
    }
    vf_store_n(y + i, s, rest);
  }
}

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)
const bsm_k_rows JOIN(bsm_k_rows_, BSM_K_SUFFIX) = {
    .name = TEXT(BSM_K_SUFFIX),
    .pack_panel = pack_panel,
    .transpose = transpose,
    .sum = sum,
    .sum_squares = sum_squares,
    .max = row_max,
    .min = row_min,
    .softmax = softmax,
    .log_softmax = log_softmax,
    .softmax_columns = softmax_columns,
    .log_softmax_columns = log_softmax_columns,
    .normalize = normalize,
    .affine = affine,
    .affine_rows = affine_rows,
    .center = center,
    .center_columns = center_columns,
    .sum_columns = sum_columns,
    .square_columns = square_columns,
    .moment_columns = moment_columns,
    .max_columns = max_columns,
    .min_columns = min_columns,
    .scale_panel = scale_panel,
    .weighted = weighted};
