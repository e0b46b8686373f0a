/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of pooling_f32.h, for the simd_*.h included before. */
#include "backend/cpu/kernels/pooling/pooling_f32.h"

/* Vectors of one pixel that are pooled at once. */
#define WIDE 4

VF_INLINE vf join(vf a, vf x, const int max) {
  return max ? vf_select(vf_is_nan(a), a, vf_max(a, x)) : vf_add(a, x);
}

#define MAX_FLOAT 0
#define AVERAGE 1
#define MAX_BFLOAT 2

/* A vector from element i on, or `rest` elements of it when that is not 0. */
VF_INLINE vf load(const void *x, int64_t i, int64_t rest, const int mode) {
  if (mode != MAX_BFLOAT) {
    const float *at = (const float *)x + i;
    return rest ? vf_load_n(at, rest) : vf_load(at);
  }
  const uint16_t *at = (const uint16_t *)x + i;
  uint16_t all[VF_W] = {0};
  if (!rest) return vf_of_bfloat16(vh_load(at));
  for (int64_t k = 0; k < rest; k++) all[k & (VF_W - 1)] = at[k];
  return vf_of_bfloat16(vh_load(all));
}
VF_INLINE void store(void *y, int64_t i, vf v, int64_t rest, const int mode) {
  float *to = (float *)y + i;
  uint16_t *halves = (uint16_t *)y + i, all[VF_W];
  if (mode == MAX_BFLOAT && rest) {
    vh_store(all, vh_bfloat16_of(v));
    for (int64_t k = 0; k < rest; k++) halves[k] = all[k & (VF_W - 1)];
  } else if (mode == MAX_BFLOAT) {
    vh_store(halves, vh_bfloat16_of(v));
  } else if (rest) {
    vf_store_n(to, v, rest);
  } else {
    vf_store(to, v);
  }
}

/* `vectors` vectors of one output, whose window begins at element x; of the
 * last one only `rest` elements when that is not 0. */
VF_INLINE void window(const bsm_k_pooling_args *p, int64_t x, int64_t y,
                      const int vectors, int64_t rest, const int mode) {
  const int max = mode != AVERAGE;
  vf a[WIDE];
  for (int v = 0; v < vectors; v++) {
    a[v] = max ? vf_set(-__builtin_inff()) : vf_zero();
  }
  for (int64_t i = 0; i < p->taps[0]; i++) {
    for (int64_t j = 0; j < p->taps[1]; j++) {
      int64_t at = x + i * p->step[0] + j * p->step[1];
      for (int64_t k = 0; k < p->taps[2]; k++, at += p->step[2]) {
        for (int v = 0; v < vectors; v++) {
          a[v] = join(a[v], load(p->x, at + v * VF_W, rest, mode), max);
        }
      }
    }
  }
  const vf factor = vf_set(p->factor);
  for (int v = 0; v < vectors; v++) {
    if (!max) a[v] = vf_mul(a[v], factor);
    store(p->y, y + v * VF_W, a[v], rest, mode);
  }
}

VF_INLINE void run_of(const bsm_k_pooling_args *p, const int mode) {
  int64_t x = 0, y = 0;
  for (int64_t i = 0; i < p->pixels; i++, x += p->x_pixel, y += p->y_pixel) {
    int64_t c = 0;
    for (; c + WIDE * VF_W <= p->channels; c += WIDE * VF_W) {
      window(p, x + c, y + c, WIDE, 0, mode);
    }
    for (; c + VF_W <= p->channels; c += VF_W) {
      window(p, x + c, y + c, 1, 0, mode);
    }
    if (c == p->channels) continue;
    /* Parts of vectors of 16 bits go through memory: the last one reaches back.
     */
    if (mode == MAX_BFLOAT && c > 0) {
      c = p->channels - VF_W;
      window(p, x + c, y + c, 1, 0, mode);
    } else {
      window(p, x + c, y + c, 1, p->channels - c, mode);
    }
  }
}

static void max_run(const bsm_k_pooling_args *p) {
  run_of(p, MAX_FLOAT);
}
static void average_run(const bsm_k_pooling_args *p) {
  run_of(p, AVERAGE);
}
static void max_bfloat_run(const bsm_k_pooling_args *p) {
  run_of(p, MAX_BFLOAT);
}

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)
const bsm_k_pooling JOIN(bsm_k_pooling_, BSM_K_SUFFIX) = {
    .name = TEXT(BSM_K_SUFFIX),
    .max = max_run,
    .average = average_run,
    .max_bfloat = max_bfloat_run};
