/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of attention_f32.h, for the simd_*.h included before. */
#include "backend/cpu/kernels/attention/attention_f32.h"
#include "backend/cpu/kernels/math/vector_functions.inl"

/* ---- rows of scores ---- */

/* The score of VF_W keys; the first `n` of `keys` may be read. */
VF_INLINE vf masked(vf x, int64_t i, int64_t n, const bsm_k_attention_mask *m,
                    const int biases, const int keys) {
  if (biases > 0) {
    const float *b = m->bias[0] + i;
    x = vf_add(x, n >= VF_W ? vf_load(b) : vf_load_n(b, n));
  }
  if (biases > 1) {
    const float *b = m->bias[1] + i;
    x = vf_add(x, n >= VF_W ? vf_load(b) : vf_load_n(b, n));
  }
  if (keys) {
    uint8_t rest[VF_W];
    const uint8_t *k = m->keys + i;
    if (n < VF_W) {
      for (int64_t j = 0; j < VF_W; j++) rest[j] = j < n ? k[j] : 0;
      k = rest;
    }
    const vm set = vm_load_bytes(k);
    const vf fill = vf_set(m->fill);
    x = m->hidden ? vf_select(set, fill, x) : vf_select(set, x, fill);
  }
  return x;
}

/* The maximum, passing over NaN. vf_max gives its second operand then. */
VF_INLINE float mask_row(float *x, int64_t n, const bsm_k_attention_mask *m,
                         const int biases, const int keys) {
  vf best[2];
  best[0] = best[1] = vf_set(-__builtin_inff());
  int64_t i = 0;
  for (; i + 2 * VF_W <= n; i += 2 * VF_W) {
    for (int j = 0; j < 2; j++) {
      float *at = x + i + j * VF_W;
      const vf y = masked(vf_load(at), i + j * VF_W, VF_W, m, biases, keys);
      if (biases || keys) vf_store(at, y);
      best[j] = vf_max(y, best[j]);
    }
  }
  for (; i + VF_W <= n; i += VF_W) {
    const vf y = masked(vf_load(x + i), i, VF_W, m, biases, keys);
    if (biases || keys) vf_store(x + i, y);
    best[0] = vf_max(y, best[0]);
  }
  float most = vf_max_of(vf_max(best[0], best[1]));
  if (i < n) {
    const vf y = masked(vf_load_n(x + i, n - i), i, n - i, m, biases, keys);
    if (biases || keys) vf_store_n(x + i, y, n - i);
    for (; i < n; i++) most = x[i] > most ? x[i] : most;
  }
  return most;
}

static float mask(float *x, int64_t n, const bsm_k_attention_mask *m) {
  const int biases = (m->bias[0] != NULL) + (m->bias[1] != NULL);
  float most;
  if (biases == 0) {
    most = m->keys ? mask_row(x, n, m, 0, 1) : mask_row(x, n, m, 0, 0);
  } else if (biases == 1) {
    most = m->keys ? mask_row(x, n, m, 1, 1) : mask_row(x, n, m, 1, 0);
  } else {
    most = m->keys ? mask_row(x, n, m, 2, 1) : mask_row(x, n, m, 2, 0);
  }
  if (most > -__builtin_inff()) return most;
  for (int64_t i = 0; i < n; i++) {
    if (x[i] != x[i]) return x[i];
  }
  return most;
}

/* e^x for x <= 0, 0 where that is denormal. */
VF_INLINE vf exp_below(vf x) {
  const vf least = vf_set(-87.3365402f);
  const vf y = vf_max(least, x);
  const vf shifted = vf_fma(y, vf_set(LOG2_E), vf_set(ROUND_MAGIC));
  const vf n = vf_sub(shifted, vf_set(ROUND_MAGIC));
  vf r = vf_fnma(n, vf_set(LN2_HI), y);
  r = vf_fnma(n, vf_set(LN2_LO), r);
  const vf e = vf_scale_near(vf_exp_reduced(r), n, shifted);
  return vf_select(vf_lt(x, least), vf_zero(), e);
}

static float exponentials(float *x, int64_t n, float max) {
  const vf m = vf_set(max);
  vf sum[2];
  sum[0] = sum[1] = vf_zero();
  int64_t i = 0;
  for (; i + 2 * VF_W <= n; i += 2 * VF_W) {
    for (int j = 0; j < 2; j++) {
      float *at = x + i + j * VF_W;
      const vf e = exp_below(vf_sub(vf_load(at), m));
      vf_store(at, e);
      sum[j] = vf_add(sum[j], e);
    }
  }
  for (; i + VF_W <= n; i += VF_W) {
    const vf e = exp_below(vf_sub(vf_load(x + i), m));
    vf_store(x + i, e);
    sum[0] = vf_add(sum[0], e);
  }
  float total = vf_sum(vf_add(sum[0], sum[1]));
  if (i < n) {
    vf_store_n(x + i, exp_below(vf_sub(vf_load_n(x + i, n - i), m)), n - i);
    for (; i < n; i++) total += x[i];
  }
  return total;
}

static void scale(float *x, int64_t n, float factor) {
  const vf f = vf_set(factor);
  int64_t i = 0;
  for (; i + VF_W <= n; i += VF_W) {
    vf_store(x + i, vf_mul(vf_load(x + i), f));
  }
  if (i < n) {
    vf_store_n(x + i, vf_mul(vf_load_n(x + i, n - i), f), n - i);
  }
}

/* ---- products for a few queries ---- */

#define KEYS 4 /* at once */

VF_INLINE void dot_keys(const float *q, const float *k, int64_t stride,
                        int64_t e, float factor, float *scores,
                        const int keys) {
  vf sum[KEYS];
  for (int j = 0; j < keys; j++) sum[j] = vf_zero();
  int64_t i = 0;
  for (; i + VF_W <= e; i += VF_W) {
    const vf x = vf_load(q + i);
    for (int j = 0; j < keys; j++) {
      sum[j] = vf_fma(x, vf_load(k + j * stride + i), sum[j]);
    }
  }
  if (i < e) {
    const vf x = vf_load_n(q + i, e - i);
    for (int j = 0; j < keys; j++) {
      sum[j] = vf_fma(x, vf_load_n(k + j * stride + i, e - i), sum[j]);
    }
  }
  for (int j = 0; j < keys; j++) scores[j] = vf_sum(sum[j]) * factor;
}

static void dot(const float *q, const float *k, int64_t stride, int64_t n,
                int64_t e, float factor, float *scores) {
  int64_t j = 0;
  for (; j + KEYS <= n; j += KEYS) {
    dot_keys(q, k + j * stride, stride, e, factor, scores + j, KEYS);
  }
  for (; j < n; j++) {
    dot_keys(q, k + j * stride, stride, e, factor, scores + j, 1);
  }
}

/* `vectors` full vectors of columns; two sums hide the latency. */
VF_INLINE void blend_columns(const float *p, const float *v, int64_t stride,
                             int64_t n, float factor, float *y,
                             const int vectors) {
  vf even[4], odd[4];
  for (int c = 0; c < vectors; c++) even[c] = odd[c] = vf_zero();
  int64_t j = 0;
  for (; j + 2 <= n; j += 2) {
    const vf a = vf_set(p[j]), b = vf_set(p[j + 1]);
    for (int c = 0; c < vectors; c++) {
      even[c] = vf_fma(a, vf_load(v + c * VF_W), even[c]);
      odd[c] = vf_fma(b, vf_load(v + stride + c * VF_W), odd[c]);
    }
    v += 2 * stride;
  }
  if (j < n) {
    const vf a = vf_set(p[j]);
    for (int c = 0; c < vectors; c++) {
      even[c] = vf_fma(a, vf_load(v + c * VF_W), even[c]);
    }
  }
  for (int c = 0; c < vectors; c++) {
    vf_store(y + c * VF_W, vf_mul(vf_add(even[c], odd[c]), vf_set(factor)));
  }
}

static void blend(const float *p, const float *v, int64_t stride, int64_t n,
                  int64_t columns, float factor, float *y) {
  int64_t c = 0;
  for (; c + 4 * VF_W <= columns; c += 4 * VF_W) {
    blend_columns(p, v + c, stride, n, factor, y + c, 4);
  }
  for (; c + VF_W <= columns; c += VF_W) {
    blend_columns(p, v + c, stride, n, factor, y + c, 1);
  }
  if (c < columns) {
    const int64_t rest = columns - c;
    vf sum = vf_zero();
    for (int64_t j = 0; j < n; j++) {
      sum = vf_fma(vf_set(p[j]), vf_load_n(v + j * stride + c, rest), sum);
    }
    vf_store_n(y + c, vf_mul(sum, vf_set(factor)), rest);
  }
}

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)
const bsm_k_attention JOIN(bsm_k_attention_, BSM_K_SUFFIX) = {
    .name = TEXT(BSM_K_SUFFIX),
    .mask = mask,
    .exponentials = exponentials,
    .scale = scale,
    .dot = dot,
    .blend = blend};
