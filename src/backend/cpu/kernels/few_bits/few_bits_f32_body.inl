/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of the kernels of few_bits_f32.h, over the vocabulary of
 * simd_<isa>.h. Codes are multiplied as floats, and each sum is multiplied by
 * its scale, which costs less than scaling every number. */
#include "backend/cpu/kernels/few_bits/few_bits_f32.h"
#include "backend/cpu/kernels/simd/unroll.h"

#define PANEL BSM_K_FEW_BITS_PANEL
#define MAX_ROWS BSM_K_FEW_BITS_MAX_ROWS
#define CODES BSM_K_FEW_BITS_CODES
#define PV (PANEL / VF_W) /* vectors in a panel */
#define MAX_CHAINS 4

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

/* Partial sums over K, which hide the latency of the multiply-add: 8 vectors of
 * them at most. */
VF_INLINE int chains_of(const int rows) {
  return rows * PV >= 8 ? 1 : rows * PV >= 4 ? 2 : MAX_CHAINS;
}

VF_INLINE void clear(vf sums[MAX_ROWS][MAX_CHAINS][PV], const int rows) {
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int s = 0; s < MAX_CHAINS; s++) {
      UNROLL for (int v = 0; v < PV; v++) sums[i][s][v] = vf_zero();
    }
  }
}

/* The partial sums of a row together. */
VF_INLINE vf join(vf sums[MAX_CHAINS][PV], const int chains, const int v) {
  vf sum = sums[0][v];
  UNROLL for (int s = 1; s < chains; s++) sum = vf_add(sum, sums[s][v]);
  return sum;
}

/* ---- 8 bits ---- */

/* One of k: a row of codes times the column k of A. */
VF_INLINE void step_8(const float *const *a, const int8_t *codes, int64_t k,
                      const int chain, vf sums[MAX_ROWS][MAX_CHAINS][PV],
                      const int rows) {
  UNROLL for (int v = 0; v < PV; v++) {
    const vf b = vi_to_float(vi_load_signed(codes + k * PANEL + v * VF_W));
    UNROLL for (int i = 0; i < rows; i++) {
      sums[i][chain][v] = vf_fma(vf_set(a[i][k]), b, sums[i][chain][v]);
    }
  }
}

VF_INLINE void product_8(const bsm_k_few_bits_product *t, const int rows) {
  const int chains = chains_of(rows);
  const int8_t *codes = t->b.codes;
  const float *scales = t->b.scales, *a[MAX_ROWS];
  vf sums[MAX_ROWS][MAX_CHAINS][PV];
  const int64_t length = t->b.k;
  int64_t k = 0;
  UNROLL for (int i = 0; i < rows; i++) a[i] = t->a[i < t->rows ? i : 0];
  clear(sums, rows);
  for (; k + chains <= length; k += chains) {
    UNROLL for (int s = 0; s < chains; s++) {
      step_8(a, codes, k + s, s, sums, rows);
    }
  }
  for (; k < length; k++) step_8(a, codes, k, 0, sums, rows);
  UNROLL for (int i = 0; i < rows; i++) {
    if (i >= t->rows) break;
    UNROLL for (int v = 0; v < PV; v++) {
      vf_store(t->sums + i * t->stride + v * VF_W,
               vf_mul(join(sums[i], chains, v), vf_load(scales + v * VF_W)));
    }
  }
}

static void widen_8(const bsm_k_few_bits_panel *b, float *to) {
  const int8_t *codes = b->codes;
  const float *scales = b->scales;
  for (int64_t k = 0; k < b->k; k++) {
    UNROLL for (int v = 0; v < PV; v++) {
      const vf code = vi_to_float(vi_load_signed(codes + k * PANEL + v * VF_W));
      vf_store(to + k * PANEL + v * VF_W,
               vf_mul(code, vf_load(scales + v * VF_W)));
    }
  }
}

/* ---- 4 bits ---- */

/* Eight of k: a row of words times as many columns of A. */
VF_INLINE void step_4(const float *const *a, const int32_t *words, int64_t k,
                      vf sums[MAX_ROWS][MAX_CHAINS][PV], const int rows,
                      const int chains) {
  UNROLL for (int v = 0; v < PV; v++) {
    const vi word = vi_load(words + v * VF_W);
    UNROLL for (int j = 0; j < CODES; j++) {
      const vf b = vi_nibble(word, j);
      UNROLL for (int i = 0; i < rows; i++) {
        vf *sum = &sums[i][j % chains][v];
        *sum = vf_fma(vf_set(a[i][k + j]), b, *sum);
      }
    }
  }
}

/* What is left of a row behind the last whole word, filled with zeros. */
VF_INLINE void step_4_end(const float *const *a, const int32_t *words,
                          int64_t k, int64_t end,
                          vf sums[MAX_ROWS][MAX_CHAINS][PV], const int rows,
                          const int chains) {
  float rest[MAX_ROWS][CODES] = {{0}};
  const float *from[MAX_ROWS];
  for (int i = 0; i < rows; i++) {
    for (int64_t j = k; j < end; j++) rest[i][j - k] = a[i][j];
    from[i] = rest[i];
  }
  step_4(from, words, 0, sums, rows, chains);
}

VF_INLINE void product_4(const bsm_k_few_bits_product *t, const int rows) {
  const int chains = chains_of(rows);
  const int32_t *words = t->b.codes;
  const uint16_t *scales = t->b.scales;
  const float *a[MAX_ROWS];
  vf total[MAX_ROWS][PV];
  UNROLL for (int i = 0; i < rows; i++) {
    a[i] = t->a[i < t->rows ? i : 0];
    UNROLL for (int v = 0; v < PV; v++) total[i][v] = vf_zero();
  }
  for (int64_t first = 0; first < t->b.k; first += t->b.group) {
    const int64_t end =
        first + t->b.group < t->b.k ? first + t->b.group : t->b.k;
    vf sums[MAX_ROWS][MAX_CHAINS][PV];
    int64_t k = first;
    clear(sums, rows);
    for (; k + CODES <= end; k += CODES, words += PANEL) {
      step_4(a, words, k, sums, rows, chains);
    }
    if (k < end) step_4_end(a, words, k, end, sums, rows, chains);
    UNROLL for (int v = 0; v < PV; v++) {
      const vf scale = vf_of_bfloat16(vh_load(scales + v * VF_W));
      UNROLL for (int i = 0; i < rows; i++) {
        total[i][v] = vf_fma(join(sums[i], chains, v), scale, total[i][v]);
      }
    }
    scales += PANEL;
  }
  UNROLL for (int i = 0; i < rows; i++) {
    if (i >= t->rows) break;
    UNROLL for (int v = 0; v < PV; v++) {
      vf_store(t->sums + i * t->stride + v * VF_W, total[i][v]);
    }
  }
}

static void widen_4(const bsm_k_few_bits_panel *b, float *to) {
  const int32_t *words = b->codes;
  const uint16_t *scales = b->scales;
  for (int64_t k = 0; k < b->k; k += CODES) {
    const int64_t codes = b->k - k < CODES ? b->k - k : CODES;
    UNROLL for (int v = 0; v < PV; v++) {
      const vf scale =
          vf_of_bfloat16(vh_load(scales + k / b->group * PANEL + v * VF_W));
      const vi word = vi_load(words + k / CODES * PANEL + v * VF_W);
      UNROLL for (int j = 0; j < CODES; j++) {
        if (j >= codes) break;
        vf_store(to + (k + j) * PANEL + v * VF_W,
                 vf_mul(vi_nibble(word, j), scale));
      }
    }
  }
}

/* ---- the table ---- */

/* Two or three rows are four, some of them twice: it is the matrix that takes
 * the time. */
static void multiply_8(const bsm_k_few_bits_product *t) {
  if (t->rows == 1) {
    product_8(t, 1);
  } else {
    product_8(t, MAX_ROWS);
  }
}

static void multiply_4(const bsm_k_few_bits_product *t) {
  if (t->rows == 1) {
    product_4(t, 1);
  } else {
    product_4(t, MAX_ROWS);
  }
}

#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
const bsm_k_few_bits CAT(bsm_k_few_bits_, BSM_K_SUFFIX) = {
    TEXT(BSM_K_SUFFIX), multiply_8, multiply_4, widen_8, widen_4};
