/* SPDX-License-Identifier: Apache-2.0 */
/* What is made of sums, and element-wise programs of bytes, over the vocabulary
 * of simd_<isa>.h. The file that includes this may define LOOK_UP, its own
 * look_up. */
#include "backend/cpu/kernels/int8/int8.h"
#include "backend/cpu/kernels/simd/unroll.h"

/* `v` on the grid, as int32. */
VF_INLINE vi on_grid(vf v, const bsm_k_int8_grid *g) {
  v = vf_mul(v, vf_set(g->inverse));
  v = vf_max(v, vf_set((float)(g->least - g->zero)));
  v = vf_min(v, vf_set((float)(g->greatest - g->zero)));
  return vi_add(vf_to_int(v), vi_set(g->zero));
}

/* The bytes at p, of which there are n < VF_W. */
VF_INLINE vi load_some(const uint8_t *p, int64_t n) {
  uint8_t all[VF_W] = {0};
  __builtin_memcpy(all, p, (size_t)n);
  return vi_load_bytes(all);
}
VF_INLINE void store_some(uint8_t *p, vi v, int64_t n) {
  uint8_t all[VF_W];
  vi_store_bytes(all, v);
  __builtin_memcpy(p, all, (size_t)n);
}

static void quantize(const float *x, int64_t n, const bsm_k_int8_grid *grid,
                     uint8_t *y) {
  int64_t i = 0;
  for (; i + VF_W <= n; i += VF_W) {
    vi_store_bytes(y + i, on_grid(vf_load(x + i), grid));
  }
  if (i < n) store_some(y + i, on_grid(vf_load_n(x + i, n - i), grid), n - i);
}

/* As many bytes as a vector of floats has, and fewer. */
typedef uint8_t byte_vector __attribute__((
    vector_size(VF_W < 4 ? 16 : VF_W * 4), aligned(1), may_alias));
typedef uint8_t few_bytes
    __attribute__((vector_size(16), aligned(1), may_alias));

#define GREATEST(vector, x, y)                                   \
  do {                                                           \
    const vector a_ = *(const vector *)(x), b_ = *(vector *)(y); \
    const vector larger_ = (vector)(a_ > b_);                    \
    *(vector *)(y) = (a_ & larger_) | (b_ & ~larger_);           \
  } while (0)

/* The last bytes together with some before them, which are as great already. */
static void greatest(const uint8_t *x, int64_t n, uint8_t *y) {
  const int64_t width = (int64_t)sizeof(byte_vector);
  const int64_t few = (int64_t)sizeof(few_bytes);
  int64_t i = 0;
  for (; i + width <= n; i += width) GREATEST(byte_vector, x + i, y + i);
  for (; i + few <= n; i += few) GREATEST(few_bytes, x + i, y + i);
  if (i < n && n >= few) {
    GREATEST(few_bytes, x + n - few, y + n - few);
    return;
  }
  for (; i < n; i++) {
    if (x[i] > y[i]) y[i] = x[i];
  }
}

static void widen(const uint8_t *x, int64_t n, float zero, float scale,
                  float *y) {
  const vf z = vf_set(zero), s = vf_set(scale);
  int64_t i = 0;
  for (; i + VF_W <= n; i += VF_W) {
    const vf v = vi_to_float(vi_load_bytes(x + i));
    vf_store(y + i, vf_mul(vf_sub(v, z), s));
  }
  if (i < n) {
    const vf v = vi_to_float(load_some(x + i, n - i));
    vf_store_n(y + i, vf_mul(vf_sub(v, z), s), n - i);
  }
}

static void widen_signed(const int8_t *x, int64_t n, float zero, float scale,
                         float *y) {
  const vf z = vf_set(zero), s = vf_set(scale);
  int64_t i = 0;
  for (; i + VF_W <= n; i += VF_W) {
    const vf v = vi_to_float(vi_load_signed(x + i));
    vf_store(y + i, vf_mul(vf_sub(v, z), s));
  }
  for (; i < n; i++) y[i] = ((float)x[i] - zero) * scale;
}

/* Floats beyond int32 are multiples of 256, or become the least int32. */
VF_INLINE vi low_byte(vf v) {
  return vi_and(vf_to_int(vf_trunc(v)), vi_set(0xff));
}

static void narrow(const float *x, int64_t n, uint8_t *y) {
  int64_t i = 0;
  for (; i + VF_W <= n; i += VF_W) {
    vi_store_bytes(y + i, low_byte(vf_load(x + i)));
  }
  if (i < n) store_some(y + i, low_byte(vf_load_n(x + i, n - i)), n - i);
}

#ifndef LOOK_UP
#define LOOK_UP look_up
static void look_up(const uint8_t *x, int64_t n, const uint8_t *table,
                    uint8_t *y) {
  for (int64_t i = 0; i < n; i++) y[i] = table[x[i]];
}
#endif

VF_INLINE vf residual_at(const bsm_k_int8_finish *t, int64_t row, int64_t c) {
  const int64_t n = t->n - c, at = t->column + c;
  if (t->residual) {
    const float *p = t->residual[row] + at;
    return n >= VF_W ? vf_load(p) : vf_load_n(p, n);
  }
  const uint8_t *p = t->residual_bytes[row] + at;
  const vi bytes = n >= VF_W ? vi_load_bytes(p) : load_some(p, n);
  return vf_mul(vi_to_float(vi_sub(bytes, vi_set(t->residual_zero))),
                vf_set(t->residual_scale));
}

VF_INLINE void put(const bsm_k_int8_finish *t, int64_t row, int64_t c, vf v) {
  const int64_t n = t->n - c, at = t->y_column + c;
  if (t->y) {
    float *p = t->y[row] + at;
    if (n >= VF_W) {
      vf_store(p, v);
    } else {
      vf_store_n(p, v, n);
    }
    return;
  }
  uint8_t *p = t->y_bytes[row] + at;
  if (n >= VF_W) {
    vi_store_bytes(p, on_grid(v, &t->grid));
  } else {
    store_some(p, on_grid(v, &t->grid), n);
  }
}

/* The columns from c on of all rows; `adds`: there is a residual. */
VF_INLINE void finish_columns(const bsm_k_int8_finish *t, int64_t c,
                              const int adds) {
  const vf scale = vf_load(t->scale + c), bias = vf_load(t->bias + c);
  const vf lo = vf_set(t->lo), hi = vf_set(t->hi);
  for (int64_t row = 0; row < t->rows; row++) {
    const int32_t *sums = t->sums + row * BSM_K_INT8_MAX_COLUMNS;
    vf v = vf_add(vf_mul(vi_to_float(vi_load(sums + c)), scale), bias);
    if (adds) v = vf_add(v, residual_at(t, row, c));
    put(t, row, c, vf_min(hi, vf_max(lo, v)));
  }
}

/* Whole vectors without a residual, to bytes. Both clamps are one: a product is
 * rounded without changing an order. */
VF_INLINE void finish_simply(const bsm_k_int8_finish *t, int64_t c) {
  const vf scale = vf_load(t->scale + c), bias = vf_load(t->bias + c);
  const bsm_k_int8_grid *g = &t->grid;
  const vf inverse = vf_set(g->inverse);
  const vf low = vf_max(vf_mul(vf_set(t->lo), inverse),
                        vf_set((float)(g->least - g->zero)));
  const vf high = vf_min(vf_mul(vf_set(t->hi), inverse),
                         vf_set((float)(g->greatest - g->zero)));
  const vi zero = vi_set(g->zero);
  for (int64_t row = 0; row < t->rows; row++) {
    const int32_t *sums = t->sums + row * BSM_K_INT8_MAX_COLUMNS;
    vf v = vf_add(vf_mul(vi_to_float(vi_load(sums + c)), scale), bias);
    v = vf_mul(v, inverse);
    v = vf_min(vf_max(v, low), high);
    vi_store_bytes(t->y_bytes[row] + t->y_column + c,
                   vi_add(vf_to_int(v), zero));
  }
}

static void finish(const bsm_k_int8_finish *t) {
  const bool adds = t->residual || t->residual_bytes;
  /* Where the two clamps exclude each other, their order counts. */
  const bool simple =
      !adds && !t->y && t->lo <= t->hi &&
      t->lo * t->grid.inverse <= (float)(t->grid.greatest - t->grid.zero) &&
      t->hi * t->grid.inverse >= (float)(t->grid.least - t->grid.zero);
  for (int64_t c = 0; c < t->n; c += VF_W) {
    if (simple && c + VF_W <= t->n) {
      finish_simply(t, c);
    } else if (adds) {
      finish_columns(t, c, 1);
    } else {
      finish_columns(t, c, 0);
    }
  }
}

/* VF_W maps from c on, of which there are n, in `rows` rows. */
VF_INLINE void depthwise_rows(const bsm_k_int8_depthwise *t, int64_t row,
                              int64_t c, int64_t n, const int rows) {
  const int64_t at = t->column + c;
  vi sums[4];
  UNROLL for (int i = 0; i < rows; i++) sums[i] = vi_load(t->offset + c);
  for (int64_t tap = 0; tap < t->taps; tap++) {
    const uint8_t *const *a = t->a + tap * t->rows + row;
    const vi w = vi_load_signed(t->w + tap * t->w_tap + at);
    UNROLL for (int i = 0; i < rows; i++) {
      const vi x =
          n >= VF_W ? vi_load_bytes(a[i] + at) : load_some(a[i] + at, n);
      sums[i] = vi_add(sums[i], vi_mul_short(x, w));
    }
  }
  UNROLL for (int i = 0; i < rows; i++) {
    vi_store(t->sums + (row + i) * BSM_K_INT8_MAX_COLUMNS + c, sums[i]);
  }
}

static void depthwise(const bsm_k_int8_depthwise *t) {
  for (int64_t c = 0; c < t->n; c += VF_W) {
    int64_t row = 0;
    for (; row + 4 <= t->rows; row += 4) {
      depthwise_rows(t, row, c, t->n - c, 4);
    }
    for (; row < t->rows; row++) depthwise_rows(t, row, c, t->n - c, 1);
  }
}

#ifndef WINOGRAD
#define WINOGRAD NULL
#endif

/* The table of an instruction set: its product, that of an instruction for it,
 * which needs the bits `isa`, that of tiles, and a finish for bytes. */
#define INT8_TABLE(own, wide, isa, tile_product, to_bytes)                     \
  {                                                                            \
    .product = (own), .vnni = (wide), .vnni_isa = (isa),                       \
    .tiles = (tile_product), .finish_bytes = (to_bytes), .winograd = WINOGRAD, \
    .depthwise = depthwise, .finish = finish, .quantize = quantize,            \
    .greatest = greatest, .widen = widen, .widen_signed = widen_signed,        \
    .narrow = narrow, .look_up = LOOK_UP                                       \
  }
