/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes in tiles (AMX), in blocks of two by two tiles of sums. */
#include "backend/cpu/kernels/int8/int8.h"

#if defined(__x86_64__)
#include "backend/cpu/kernels/simd/simd_amx.h"
#include "backend/cpu/kernels/simd/unroll.h"

#define INLINE static inline __attribute__((always_inline))
#define COLUMNS BSM_K_INT8_MAX_COLUMNS

extern const bsm_k_int8_tile_product bsm_k_int8_product_amx;

static void begin(int32_t rows, int64_t depth) {
  tiles_begin(rows, (int)depth);
}

/* ---- products ---- */

INLINE void multiply_tiles(const bsm_k_int8_tiles *t, const bool two,
                           const bool wide) {
  const int64_t sums_row = COLUMNS * (int64_t)sizeof(int32_t);
  const uint8_t *a = t->a, *lower = a + t->rows * t->a_row;
  int32_t *below = t->sums + t->rows * COLUMNS;
  tiles_wait();
  TILE_LOAD(0, t->offset, 0);
  if (wide) TILE_LOAD(1, t->offset + TILE_COLUMNS, 0);
  if (two) TILE_LOAD(2, t->offset, 0);
  if (two && wide) TILE_LOAD(3, t->offset + TILE_COLUMNS, 0);
  for (int64_t i = 0; i < t->count; i++) {
    const int64_t k = i + 1 < t->count ? i * t->depth : t->last;
    const int8_t *b = t->b + k * TILE_COLUMNS;
    TILE_LOAD(4, a, t->a_row);
    TILE_LOAD(6, b, TILE_BYTES);
    TILE_ADD_BYTES(0, 4, 6);
    if (wide) {
      TILE_LOAD(7, b + t->b_panel, TILE_BYTES);
      TILE_ADD_BYTES(1, 4, 7);
    }
    if (two) {
      TILE_LOAD(5, lower, t->a_row);
      TILE_ADD_BYTES(2, 5, 6);
    }
    if (two && wide) TILE_ADD_BYTES(3, 5, 7);
    a += t->depth;
    lower += t->depth;
  }
  TILE_STORE(0, t->sums, sums_row);
  if (wide) TILE_STORE(1, t->sums + TILE_COLUMNS, sums_row);
  if (two) TILE_STORE(2, below, sums_row);
  if (two && wide) TILE_STORE(3, below + TILE_COLUMNS, sums_row);
  tiles_wait();
}

static void multiply(const bsm_k_int8_tiles *t) {
  if (t->two && t->panels == 2) {
    multiply_tiles(t, true, true);
  } else if (t->two) {
    multiply_tiles(t, true, false);
  } else if (t->panels == 2) {
    multiply_tiles(t, false, true);
  } else {
    multiply_tiles(t, false, false);
  }
}

/* ---- what is made of sums ---- */

/* Both halves of a row: columns 0 to 15, 16 to 31. */
typedef struct halves {
  __m512 v[2];
} halves;

/* The factors of all rows. */
typedef struct factors {
  halves scale, bias;
  __m512 inverse, low, high, residual_scale;
  __m512i residual_zero;
} factors;

INLINE halves load(const float *p) {
  return (halves){{_mm512_loadu_ps(p), _mm512_loadu_ps(p + 16)}};
}

INLINE __m512 residual_of(__m128i bytes, const factors *f) {
  const __m512i x =
      _mm512_sub_epi32(_mm512_cvtepu8_epi32(bytes), f->residual_zero);
  return _mm512_mul_ps(_mm512_cvtepi32_ps(x), f->residual_scale);
}

/* A row in words, of which each group of 8 has 4 of the left half and 4 of the
 * right. */
INLINE __m512i row_of(const bsm_k_int8_finish *t, int64_t row, __mmask32 kept,
                      const factors *f, const bool adds, const bool clamps) {
  const int32_t *sums = t->sums + row * COLUMNS;
  __m512i q[2];
  __m128i residual[2];
  if (adds) {
    const __m256i bytes =
        _mm256_maskz_loadu_epi8(kept, t->residual_bytes[row] + t->column);
    residual[0] = _mm256_castsi256_si128(bytes);
    residual[1] = _mm256_extracti128_si256(bytes, 1);
  }
  UNROLL for (int h = 0; h < 2; h++) {
    __m512 v = _mm512_cvtepi32_ps(_mm512_loadu_si512(sums + 16 * h));
    v = _mm512_add_ps(_mm512_mul_ps(v, f->scale.v[h]), f->bias.v[h]);
    if (adds) v = _mm512_add_ps(v, residual_of(residual[h], f));
    v = _mm512_mul_ps(v, f->inverse);
    if (clamps) v = _mm512_min_ps(_mm512_max_ps(v, f->low), f->high);
    q[h] = _mm512_cvtps_epi32(v);
  }
  return _mm512_packs_epi32(q[0], q[1]);
}

/* Two rows at once: words become bytes, clamped to those that there are. */
INLINE void finish_rows(const bsm_k_int8_finish *t, const factors *f,
                        const bool adds, const bool clamps) {
  const __mmask32 kept = (__mmask32)(UINT32_MAX >> (COLUMNS - t->n));
  const __m512i zero = _mm512_set1_epi16((short)t->grid.zero);
  const __m512i order =
      _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (int64_t row = 0; row < t->rows; row += 2) {
    const int64_t next = row + 1 < t->rows ? row + 1 : row;
    __m512i upper = row_of(t, row, kept, f, adds, clamps);
    __m512i lower = row_of(t, next, kept, f, adds, clamps);
    upper = _mm512_adds_epi16(upper, zero);
    lower = _mm512_adds_epi16(lower, zero);
    const __m512i bytes =
        _mm512_permutexvar_epi32(order, _mm512_packus_epi16(upper, lower));
    _mm256_mask_storeu_epi8(t->y_bytes[row] + t->y_column, kept,
                            _mm512_castsi512_si256(bytes));
    _mm256_mask_storeu_epi8(t->y_bytes[next] + t->y_column, kept,
                            _mm512_extracti64x4_epi64(bytes, 1));
  }
}

/* Clamps in floats are left out where those of bytes are the same. */
static void finish(const bsm_k_int8_finish *t) {
  const bsm_k_int8_grid *g = &t->grid;
  const float least = (float)(g->least - g->zero);
  const float greatest = (float)(g->greatest - g->zero);
  const float low = t->lo * g->inverse, high = t->hi * g->inverse;
  const bool clamps =
      low > least || g->least > 0 || high < greatest || g->greatest < UINT8_MAX;
  const factors f = {.scale = load(t->scale),
                     .bias = load(t->bias),
                     .inverse = _mm512_set1_ps(g->inverse),
                     .low = _mm512_set1_ps(low > least ? low : least),
                     .high = _mm512_set1_ps(high < greatest ? high : greatest),
                     .residual_scale = _mm512_set1_ps(t->residual_scale),
                     .residual_zero = _mm512_set1_epi32(t->residual_zero)};
  if (t->residual_bytes) {
    finish_rows(t, &f, true, clamps);
  } else if (clamps) {
    finish_rows(t, &f, false, true);
  } else {
    finish_rows(t, &f, false, false);
  }
}

/* ---- windows ---- */

/* So many bytes, all of which are one. */
INLINE __mmask64 first_bytes(int64_t n) {
  return n < 64 ? ((__mmask64)1 << n) - 1 : ~(__mmask64)0;
}

/* Stores whole vectors: the next run overwrites what is too much. */
static void copy_short(const bsm_k_runs *r) {
  const __mmask64 kept = first_bytes(r->bytes);
  for (int64_t i = 0; i < r->rows; i++) {
    const uint8_t *x = r->x + i * r->x_row;
    uint8_t *to = r->to + i * r->to_row;
    for (int64_t k = 0; k < r->runs; k++, to += r->bytes) {
      const __m512i v = _mm512_maskz_loadu_epi8(kept, x + r->offset[k]);
      if (r->bytes <= 32) {
        _mm256_storeu_si256((__m256i *)(void *)to, _mm512_castsi512_si256(v));
      } else {
        _mm512_storeu_si512(to, v);
      }
    }
  }
}

static void copy(const bsm_k_runs *r) {
  if (r->bytes <= 64) {
    copy_short(r);
    return;
  }
  /* The last vector has bytes of the one before again. */
  const int64_t last = r->bytes - 64;
  for (int64_t k = 0; k < r->runs; k++) {
    const uint8_t *x = r->x + r->offset[k];
    uint8_t *to = r->to + k * r->bytes;
    for (int64_t i = 0; i < r->rows; i++, x += r->x_row, to += r->to_row) {
      for (int64_t j = 0; j < last; j += 64) {
        _mm512_storeu_si512(to + j, _mm512_loadu_si512(x + j));
      }
      _mm512_storeu_si512(to + last, _mm512_loadu_si512(x + last));
    }
  }
}

static void fill_up(const bsm_k_int8_tile_ends *e) {
  const __mmask64 kept = first_bytes(e->size - e->at) << e->gap;
  uint8_t *to = e->to + e->at;
  for (int64_t i = 0; i < e->rows; i++, to += e->to_row) {
    _mm512_storeu_si512(to, _mm512_maskz_loadu_epi8(kept, to - e->gap));
  }
}

const bsm_k_int8_tile_product bsm_k_int8_product_amx = {
    "amx_32x32", begin, multiply, tiles_end, finish, copy, fill_up};

#else
/* A file has something. */
extern const int bsm_k_int8_no_tiles;
const int bsm_k_int8_no_tiles = 1;
#endif
