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
    "amx_32x32", begin, multiply, tiles_end, copy, fill_up};

#else
/* A file has something. */
extern const int bsm_k_int8_no_tiles;
const int bsm_k_int8_no_tiles = 1;
#endif
