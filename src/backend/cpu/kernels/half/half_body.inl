/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of half.h over the vocabulary of simd_<isa>.h. The file that
 * includes this defines BSM_K_SUFFIX, and DOT, its finish, TILES and the
 * instruction sets that they need, where it has products of pairs. */
#include "backend/cpu/kernels/half/half.h"

#define PANEL 16

/* The lower 16 bits of each lane. */
VF_INLINE vf half_of_lane(vi a) {
  /* Denormals become normal by the product, infinity and NaN numbers from 2^16
   * on, which get their exponent back. */
  const vi bits = vi_shl(vi_and(a, vi_set(0x7fff)), 13);
  const vf number = vf_mul(vi_as_float(bits), vf_set(0x1p112f));
  const vf special = vi_as_float(vi_add(bits, vi_set(0x70000000)));
  return vf_copysign(
      vf_select(vf_ge(number, vf_set(0x1p16f)), special, number),
      vi_as_float(vi_shl(a, 16)));
}

static void widen_half_panel(const uint16_t *b, int64_t pairs, float *to) {
  for (int64_t i = 0; i < pairs * PANEL; i += VF_W) {
    int32_t lanes[VF_W];
    __builtin_memcpy(lanes, b + 2 * i, sizeof(lanes));
    const vi v = vi_load(lanes);
    float *row = to + i / PANEL * 2 * PANEL + i % PANEL;
    vf_store(row, half_of_lane(v));
    vf_store(row + PANEL, half_of_lane(vi_sar(v, 16)));
  }
}

static void widen_bfloat_panel(const uint16_t *b, int64_t pairs, float *to) {
  for (int64_t i = 0; i < pairs * PANEL; i += VF_W) {
    int32_t lanes[VF_W];
    __builtin_memcpy(lanes, b + 2 * i, sizeof(lanes));
    const vi v = vi_load(lanes);
    float *row = to + i / PANEL * 2 * PANEL + i % PANEL;
    vf_store(row, vi_as_float(vi_shl(v, 16)));
    vf_store(row + PANEL, vi_as_float(vi_and(v, vi_set(-0x10000))));
  }
}

VF_INLINE vf widen(vh a, const int type) {
  return type == BSM_K_HALF_F16 ? vf_of_half(a) : vf_of_bfloat16(a);
}
VF_INLINE vh narrow(vf a, const int type) {
  return type == BSM_K_HALF_F16 ? vh_half_of(a) : vh_bfloat16_of(a);
}

/* n elements, at most a vector. */
VF_INLINE vf load_some(const uint16_t *p, int64_t n, const int type) {
  uint16_t all[VF_W] = {0};
  if (n >= VF_W) return widen(vh_load(p), type);
  __builtin_memcpy(all, p, (size_t)n * sizeof(*p));
  return widen(vh_load(all), type);
}
VF_INLINE void store_some(uint16_t *p, vf v, int64_t n, const int type) {
  uint16_t all[VF_W];
  if (n >= VF_W) {
    vh_store(p, narrow(v, type));
    return;
  }
  vh_store(all, narrow(v, type));
  __builtin_memcpy(p, all, (size_t)n * sizeof(*p));
}

VF_INLINE void finish(const bsm_k_half_finish *t, const int type) {
  const vf scale = vf_set(t->scale), lo = vf_set(t->lo), hi = vf_set(t->hi);
  for (int64_t c = 0; c < t->n; c += VF_W) {
    const int64_t n = t->n - c, at = t->column + c;
    const vf bias = t->bias ? vf_load(t->bias + c) : vf_zero();
    for (int64_t row = 0; row < t->rows; row++) {
      float *sums = t->sums + row * t->sums_stride + c;
      vf v = vf_mul(vf_load(sums), scale);
      if (t->bias) v = vf_add(v, bias);
      if (t->residual) {
        v = vf_add(v, load_some(t->residual[row] + at, n, type));
      }
      v = vf_min(hi, vf_max(lo, v));
      if (t->y) {
        store_some(t->y[row] + at, v, n, type);
      } else {
        vf_store(sums, v);
      }
    }
  }
}

static void finish_half(const bsm_k_half_finish *args) {
  finish(args, BSM_K_HALF_F16);
}
static void finish_bfloat(const bsm_k_half_finish *args) {
  finish(args, BSM_K_HALF_BF16);
}

#ifndef DOT
#define DOT NULL
#define DOT_FINISH NULL
#define DOT_ISA 0
#define TILES NULL
#define TILES_ISA 0
#endif

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
const bsm_k_half JOIN(bsm_k_half_, BSM_K_SUFFIX) = {
    .widen_panel = {widen_half_panel, widen_bfloat_panel},
    .finish = {finish_half, finish_bfloat},
    .dot = DOT,
    .dot_finish = DOT_FINISH,
    .dot_isa = DOT_ISA,
    .rows = TILES,
    .rows_isa = TILES_ISA};
