/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of the kernels of winograd_f32.h: the transform of one dimension,
 * all in registers, first for the rows of a tile and then for its columns. */
#include "backend/cpu/kernels/simd/unroll.h"
#include "backend/cpu/kernels/winograd/winograd_f32.h"

/* The second dimension of a transform: unrolling it keeps part of a tile in
 * registers. Under a sanitizer it takes compilers minutes. */
#if defined(__SANITIZE_ADDRESS__)
#define UNROLL_TILE
#else
#define UNROLL_TILE UNROLL
#endif

#define CONCAT_(a, b) a##b
#define CONCAT(a, b) CONCAT_(a, b)

/* sqrt(1/2) and sqrt(2), and their cubes. */
#define POINT_A 0.70710678118654752f
#define POINT_B 1.41421356237309505f
#define CUBE_A 0.35355339059327376f
#define CUBE_B 2.82842712474619010f

/* ---- B^T: n inputs to n outputs ---- */

VF_INLINE void input_to_4(const vf *d, vf *o) {
  o[0] = vf_sub(d[2], d[0]);
  o[1] = vf_add(d[2], d[1]);
  o[2] = vf_sub(d[2], d[1]);
  o[3] = vf_sub(d[3], d[1]);
}

/* The outputs of points +p and -p from the even and the odd part. */
VF_INLINE void both_signs(float p, vf even, vf odd, vf *o) {
  o[0] = vf_fma(vf_set(p), odd, even);
  o[1] = vf_fnma(vf_set(p), odd, even);
}

VF_INLINE void input_to_6(const vf *d, vf *o) {
  const vf two = vf_set(2.0f), half = vf_set(0.5f), c = vf_set(2.5f);
  o[0] = vf_fnma(c, d[2], vf_add(d[0], d[4]));
  both_signs(POINT_A, vf_fnma(two, d[2], d[4]), vf_fnma(two, d[1], d[3]),
             o + 1);
  both_signs(POINT_B, vf_fnma(half, d[2], d[4]), vf_fnma(half, d[1], d[3]),
             o + 3);
  o[5] = vf_fnma(c, d[3], vf_add(d[1], d[5]));
}

/* x2 * q - x1 * p + x0 */
VF_INLINE vf quadratic(vf x2, float q, vf x1, float p, vf x0) {
  return vf_fma(vf_set(q), x2, vf_fnma(vf_set(p), x1, x0));
}

VF_INLINE void input_to_8(const vf *d, vf *o) {
  const vf c = vf_set(5.25f);
  o[0] = vf_fma(c, vf_sub(d[2], d[4]), vf_sub(d[6], d[0]));
  const vf even = vf_fnma(vf_set(4.25f), d[4], vf_add(d[2], d[6]));
  const vf odd = vf_fnma(vf_set(4.25f), d[3], vf_add(d[1], d[5]));
  o[1] = vf_add(even, odd);
  o[2] = vf_sub(even, odd);
  both_signs(2.0f, quadratic(d[2], 0.25f, d[4], 1.25f, d[6]),
             quadratic(d[1], 0.25f, d[3], 1.25f, d[5]), o + 3);
  both_signs(0.5f, quadratic(d[2], 4.0f, d[4], 5.0f, d[6]),
             quadratic(d[1], 4.0f, d[3], 5.0f, d[5]), o + 5);
  o[7] = vf_fma(c, vf_sub(d[3], d[5]), vf_sub(d[7], d[1]));
}

VF_INLINE void input_line(const vf *d, vf *o, const int n) {
  if (n == 4) {
    input_to_4(d, o);
  } else if (n == 6) {
    input_to_6(d, o);
  } else {
    input_to_8(d, o);
  }
}

/* ---- A^T: n inputs to m outputs ---- */

VF_INLINE void output_from_4(const vf *m, vf *y) {
  y[0] = vf_add(m[0], vf_add(m[1], m[2]));
  y[1] = vf_add(m[3], vf_sub(m[1], m[2]));
}

VF_INLINE void output_from_6(const vf *m, vf *y, const int outputs) {
  const vf sa = vf_add(m[1], m[2]), da = vf_sub(m[1], m[2]);
  const vf sb = vf_add(m[3], m[4]), db = vf_sub(m[3], m[4]);
  y[0] = vf_add(m[0], vf_add(sa, sb));
  if (outputs == 2) {
    y[1] = vf_fma(vf_set(POINT_A), da, vf_fma(vf_set(POINT_B), db, m[5]));
    return;
  }
  y[1] = vf_fma(vf_set(POINT_A), da, vf_mul(vf_set(POINT_B), db));
  y[2] = vf_fma(vf_set(0.5f), sa, vf_add(sb, sb));
  y[3] = vf_fma(vf_set(CUBE_A), da, vf_fma(vf_set(CUBE_B), db, m[5]));
}

VF_INLINE void output_from_8(const vf *m, vf *y, const int outputs) {
  const vf sa = vf_add(m[1], m[2]), da = vf_sub(m[1], m[2]);
  const vf sb = vf_add(m[3], m[4]), db = vf_sub(m[3], m[4]);
  const vf sc = vf_add(m[5], m[6]), dc = vf_sub(m[5], m[6]);
  y[0] = vf_add(vf_add(m[0], sa), vf_add(sb, sc));
  y[1] = vf_fma(vf_set(2.0f), db, vf_fma(vf_set(0.5f), dc, da));
  y[2] = vf_fma(vf_set(4.0f), sb, vf_fma(vf_set(0.25f), sc, sa));
  y[3] = vf_fma(vf_set(8.0f), db, vf_fma(vf_set(0.125f), dc, da));
  if (outputs == 4) {
    y[3] = vf_add(y[3], m[7]);
    return;
  }
  y[4] = vf_fma(vf_set(16.0f), sb, vf_fma(vf_set(0.0625f), sc, sa));
  y[5] =
      vf_fma(vf_set(32.0f), db, vf_fma(vf_set(0.03125f), dc, vf_add(da, m[7])));
}

VF_INLINE void output_line(const vf *d, vf *y, const int n, const int m) {
  if (n == 4) {
    output_from_4(d, y);
  } else if (n == 6) {
    output_from_6(d, y, m);
  } else {
    output_from_8(d, y, m);
  }
}

/* ---- tiles ---- */

/* The vector of channels from c on; what comes next is asked for line by line.
 */
VF_INLINE void input_vector(const bsm_k_winograd_input *t, int64_t c,
                            int64_t line, const int n) {
  vf rows[BSM_K_WINOGRAD_MAX][BSM_K_WINOGRAD_MAX];
  UNROLL_TILE
  for (int i = 0; i < n; i++) {
    vf d[BSM_K_WINOGRAD_MAX], o[BSM_K_WINOGRAD_MAX];
    UNROLL
    for (int j = 0; j < n; j++) {
      d[j] = vf_load(t->pixels[i * n + j] + c);
      if (line % 16 == 0) __builtin_prefetch(t->next[i * n + j] + line);
    }
    input_line(d, o, n);
    UNROLL
    for (int j = 0; j < n; j++) rows[i][j] = o[j];
  }
  UNROLL_TILE
  for (int j = 0; j < n; j++) {
    vf d[BSM_K_WINOGRAD_MAX], o[BSM_K_WINOGRAD_MAX];
    UNROLL
    for (int i = 0; i < n; i++) d[i] = rows[i][j];
    input_line(d, o, n);
    float *v = t->v + j * t->v_position + c;
    UNROLL
    for (int i = 0; i < n; i++) vf_store(v + i * n * t->v_position, o[i]);
  }
}

typedef void input_fn(const bsm_k_winograd_input *t);

/* Channels that fill no vector: copies of them that do, by the code for whole
 * ones. */
__attribute__((unused, noinline)) static void few_channels(
    const bsm_k_winograd_input *t, int positions, input_fn *whole) {
  float copies[BSM_K_WINOGRAD_MAX * BSM_K_WINOGRAD_MAX][VF_W];
  const float *pixels[BSM_K_WINOGRAD_MAX * BSM_K_WINOGRAD_MAX];
  for (int i = 0; i < positions; i++) {
    vf_store(copies[i], vf_load_n(t->pixels[i], t->channels));
    pixels[i] = copies[i];
  }
  const bsm_k_winograd_input all = {pixels, t->next, VF_W, t->v, t->v_position};
  whole(&all);
}

/* The last vector reaches back into the one before, so that all go the same
 * way. */
VF_INLINE void input_tile(const bsm_k_winograd_input *t, const int n,
                          input_fn *whole) {
  const int64_t last = t->channels - VF_W;
  if (VF_W > 1 && last < 0) {
    few_channels(t, n * n, whole);
    return;
  }
  for (int64_t c = 0; c < t->channels; c += VF_W) {
    input_vector(t, VF_W == 1 || c < last ? c : last, c, n);
  }
}

/* Writes y[i] to row i of a column of pixels; `part` of a vector of channels,
 * or all when it is 0. */
VF_INLINE void output_column(const bsm_k_winograd_output *t, const vf *y,
                             int64_t pixel, int64_t c, int64_t part,
                             const int m) {
  const vf lo = vf_set(t->lo), hi = vf_set(t->hi);
  vf bias = vf_zero();
  if (t->bias)
    bias = part ? vf_load_n(t->bias + c, part) : vf_load(t->bias + c);
  float *to = t->y + pixel * t->y_pixel + c;
  const float *r =
      t->residual ? t->residual + pixel * t->residual_pixel + c : 0;
  UNROLL
  for (int i = 0; i < m; i++) {
    if (i >= t->rows) break;
    vf x = vf_add(y[i], bias);
    if (r) {
      const float *p = r + i * t->residual_row;
      x = vf_add(x, part ? vf_load_n(p, part) : vf_load(p));
    }
    x = vf_min(hi, vf_max(lo, x));
    if (part) {
      vf_store_n(to + i * t->y_row, x, part);
    } else {
      vf_store(to + i * t->y_row, x);
    }
  }
}

VF_INLINE void output_columns(const bsm_k_winograd_output *t,
                              vf rows[][BSM_K_WINOGRAD_MAX], int64_t c,
                              int64_t part, const int n, const int m) {
  ROLLED
  for (int64_t j = 0; j < t->pixels; j++) {
    vf d[BSM_K_WINOGRAD_MAX], o[BSM_K_WINOGRAD_MAX];
    UNROLL
    for (int i = 0; i < n; i++) d[i] = rows[i][j];
    output_line(d, o, n, m);
    output_column(t, o, j, c, part, m);
  }
}

/* M is padded to whole vectors: only what is written may be a part of one. */
VF_INLINE void output_vector(const bsm_k_winograd_output *t, int64_t c,
                             const int n, const int m) {
  vf rows[BSM_K_WINOGRAD_MAX][BSM_K_WINOGRAD_MAX];
  UNROLL_TILE
  for (int i = 0; i < n; i++) {
    vf d[BSM_K_WINOGRAD_MAX], o[BSM_K_WINOGRAD_MAX];
    const float *p = t->m + i * n * t->m_position + c;
    UNROLL
    for (int j = 0; j < n; j++) d[j] = vf_load(p + j * t->m_position);
    output_line(d, o, n, m);
    UNROLL
    for (int j = 0; j < m; j++) rows[i][j] = o[j];
  }
  const int64_t rest = t->channels - c;
  if (VF_W == 1 || rest >= VF_W) {
    output_columns(t, rows, c, 0, n, m);
  } else {
    output_columns(t, rows, c, rest, n, m);
  }
}

VF_INLINE void output_tile(const bsm_k_winograd_output *t, const int n,
                           const int m) {
  ROLLED
  for (int64_t c = 0; c < t->channels; c += VF_W) output_vector(t, c, n, m);
}

/* ---- products ---- */

/* Vectors in a panel. */
#define PV (BSM_K_WINOGRAD_PAD / VF_W)

/* `rows` tiles by `panels` panels. The same loop asks for what comes next:
 * `ahead` and `step` bytes further for each channel. */
VF_INLINE void product_tile(const bsm_k_winograd_product *t, int64_t row,
                            const char *ahead, int64_t step, const int rows,
                            const int panels) {
  const int vectors = panels * PV;
  const int64_t channels = t->channels, panel = channels * BSM_K_WINOGRAD_PAD;
  /* A pointer for every three rows: as many as there are registers. */
  const float *a[(BSM_K_WINOGRAD_ROWS + 2) / 3];
  const int64_t v_row = t->v_row;
  const float *u = t->u;
  vf acc[BSM_K_WINOGRAD_ROWS][2 * PV];
  UNROLL
  for (int i = 0; i < rows; i++) {
    if (i % 3 == 0) a[i / 3] = t->v + (row + i) * v_row;
    UNROLL
    for (int j = 0; j < vectors; j++) acc[i][j] = vf_zero();
  }
  for (int64_t k = 0; k < channels; k++) {
    vf y[2 * PV];
    UNROLL
    for (int j = 0; j < vectors; j++) {
      y[j] = vf_load(u + (j / PV) * panel + (j % PV) * VF_W);
    }
    __builtin_prefetch(ahead, 0, 2);
    if (step > 64) __builtin_prefetch(ahead + 64, 0, 2);
    ahead += step;
    UNROLL
    for (int i = 0; i < rows; i++) {
      const vf x = vf_set(a[i / 3][i % 3 * v_row]);
      UNROLL
      for (int j = 0; j < vectors; j++) acc[i][j] = vf_fma(x, y[j], acc[i][j]);
    }
    u += BSM_K_WINOGRAD_PAD;
    UNROLL
    for (int i = 0; i < rows; i += 3) a[i / 3]++;
  }
  UNROLL
  for (int i = 0; i < rows; i++) {
    float *m = t->m + (row + i) * t->m_row;
    UNROLL
    for (int j = 0; j < vectors; j++) vf_store(m + j * VF_W, acc[i][j]);
  }
}
typedef void rows_fn(const bsm_k_winograd_product *t, int64_t row,
                     const char *ahead, int64_t step);

#define ROWS(rows, panels)                                            \
  static void rows_##rows##x##panels(const bsm_k_winograd_product *t, \
                                     int64_t row, const char *ahead,  \
                                     int64_t step) {                  \
    product_tile(t, row, ahead, step, rows, panels);                  \
  }
#define NAME(rows, panels) rows_##rows##x##panels,
BSM_K_WINOGRAD_EACH(ROWS, 1)
static rows_fn *const narrow[] = {BSM_K_WINOGRAD_EACH(NAME, 1)};
#if BSM_K_WINOGRAD_PANELS == 2
BSM_K_WINOGRAD_EACH(ROWS, 2)
static rows_fn *const wide[] = {BSM_K_WINOGRAD_EACH(NAME, 2)};
#else
#define wide narrow
#endif

/* The tiles in parts of nearly equal size; each part asks for its share of what
 * comes next. */
VF_INLINE void product(const bsm_k_winograd_product *t, rows_fn *const *each,
                       int64_t panels) {
  const int64_t parts =
      (t->tiles + BSM_K_WINOGRAD_ROWS - 1) / BSM_K_WINOGRAD_ROWS;
  const int64_t line = panels * BSM_K_WINOGRAD_PAD * (int64_t)sizeof(float);
  const int64_t step = line / parts;
  const char *ahead = (const char *)t->next;
  int64_t row = 0;
  for (int64_t i = parts; i > 0; i--) {
    const int64_t rows = (t->tiles - row + i - 1) / i;
    each[rows - 1](t, row, ahead, step);
    ahead += step * t->channels;
    row += rows;
  }
}
static void product_1(const bsm_k_winograd_product *t) {
  product(t, narrow, 1);
}
static void product_2(const bsm_k_winograd_product *t) {
  product(t, wide, BSM_K_WINOGRAD_PANELS);
}

#define INPUT(n)                                                      \
  static void CONCAT(input_tile_, n)(const bsm_k_winograd_input *t) { \
    input_tile(t, n, CONCAT(input_tile_, n));                         \
  }
#define OUTPUT(n, m)                                                \
  static void output_##n##_to_##m(const bsm_k_winograd_output *t) { \
    output_tile(t, n, m);                                           \
  }
INPUT(4)
INPUT(6)
INPUT(8)
OUTPUT(4, 2)
OUTPUT(6, 4)
OUTPUT(8, 6)
OUTPUT(6, 2)
OUTPUT(8, 4)

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
const bsm_k_winograd CONCAT(bsm_k_winograd_, BSM_K_SUFFIX) = {
    .name = TEXT(BSM_K_SUFFIX),
    .rows = BSM_K_WINOGRAD_ROWS,
    .panels = BSM_K_WINOGRAD_PANELS,
    .product = {product_1, product_2},
    .input = {input_tile_4, input_tile_6, input_tile_8},
    .output = {{output_4_to_2, output_6_to_4, output_8_to_6},
               {0, output_6_to_2, output_8_to_4}}};
