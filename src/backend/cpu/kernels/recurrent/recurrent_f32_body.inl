/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of recurrent_f32.h, for the simd_*.h included before. */
#include "backend/cpu/kernels/math/vector_functions.inl"
#include "backend/cpu/kernels/recurrent/recurrent_f32.h"

#define PANEL 16

/* The sum of both products of gate `g` at lane `v`. */
VF_INLINE vf gate_sum(const float *x, const float *p, int64_t g, int64_t v) {
  return vf_add(vf_load(x + g * PANEL + v), vf_load(p + g * PANEL + v));
}

static void cell_lstm(const float *x, const float *p, const float *before,
                      float *cell, float *after, int64_t panels) {
  (void)before;
  for (int64_t i = 0; i < panels; i++, x += 4 * PANEL, p += 4 * PANEL) {
    for (int64_t v = 0; v < PANEL; v += VF_W) {
      const int64_t at = i * PANEL + v;
      const vf in = vf_sigmoid(gate_sum(x, p, 0, v));
      const vf forget = vf_sigmoid(gate_sum(x, p, 1, v));
      const vf fresh = vf_tanh(gate_sum(x, p, 2, v));
      const vf out = vf_sigmoid(gate_sum(x, p, 3, v));
      const vf kept = vf_mul(forget, vf_load(cell + at));
      const vf c = vf_fma(in, fresh, kept);
      vf_store(cell + at, c);
      vf_store(after + at, vf_mul(out, vf_tanh(c)));
    }
  }
}

/* h' = n + z (h - n), n = tanh(x_n + r p_n) */
static void cell_gru(const float *x, const float *p, const float *before,
                     float *cell, float *after, int64_t panels) {
  (void)cell;
  for (int64_t i = 0; i < panels; i++, x += 3 * PANEL, p += 3 * PANEL) {
    for (int64_t v = 0; v < PANEL; v += VF_W) {
      const int64_t at = i * PANEL + v;
      const vf reset = vf_sigmoid(gate_sum(x, p, 0, v));
      const vf update = vf_sigmoid(gate_sum(x, p, 1, v));
      const vf fresh = vf_tanh(vf_fma(reset, vf_load(p + 2 * PANEL + v),
                                      vf_load(x + 2 * PANEL + v)));
      const vf kept = vf_sub(vf_load(before + at), fresh);
      vf_store(after + at, vf_fma(update, kept, fresh));
    }
  }
}

static void cell_tanh(const float *x, const float *p, const float *before,
                      float *cell, float *after, int64_t panels) {
  (void)before;
  (void)cell;
  for (int64_t v = 0; v < panels * PANEL; v += VF_W) {
    vf_store(after + v, vf_tanh(vf_add(vf_load(x + v), vf_load(p + v))));
  }
}

static void cell_relu(const float *x, const float *p, const float *before,
                      float *cell, float *after, int64_t panels) {
  (void)before;
  (void)cell;
  for (int64_t v = 0; v < panels * PANEL; v += VF_W) {
    vf_store(after + v,
             vf_max(vf_zero(), vf_add(vf_load(x + v), vf_load(p + v))));
  }
}

#define TABLE_NAME_(suffix) bsm_k_recurrent_##suffix
#define TABLE_NAME(suffix) TABLE_NAME_(suffix)
#define STRING_(x) #x
#define STRING(x) STRING_(x)

const bsm_k_recurrent TABLE_NAME(BSM_K_SUFFIX) = {
    .name = STRING(BSM_K_SUFFIX),
    .lstm = cell_lstm,
    .gru = cell_gru,
    .tanh = cell_tanh,
    .relu = cell_relu,
};
