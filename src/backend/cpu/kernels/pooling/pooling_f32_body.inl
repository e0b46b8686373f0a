/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of pooling_f32.h, for the simd_*.h included before. */
#include "backend/cpu/kernels/pooling/pooling_f32.h"

/* Vectors of one pixel that are pooled at once. */
#define WIDE 4

VF_INLINE vf join(vf a, vf x, const int max) {
  return max ? vf_select(vf_is_nan(a), a, vf_max(a, x)) : vf_add(a, x);
}

/* `vectors` vectors of one output; of the last one only `rest` elements when
 * that is not 0. */
VF_INLINE void window(const bsm_k_pooling_args *p, const float *x, float *y,
                      const int vectors, int64_t rest, const int max) {
  vf a[WIDE];
  for (int v = 0; v < vectors; v++) {
    a[v] = max ? vf_set(-__builtin_inff()) : vf_zero();
  }
  for (int64_t i = 0; i < p->taps[0]; i++) {
    for (int64_t j = 0; j < p->taps[1]; j++) {
      const float *at = x + i * p->step[0] + j * p->step[1];
      for (int64_t k = 0; k < p->taps[2]; k++, at += p->step[2]) {
        for (int v = 0; v < vectors; v++) {
          const float *from = at + v * VF_W;
          const vf t = rest ? vf_load_n(from, rest) : vf_load(from);
          a[v] = join(a[v], t, max);
        }
      }
    }
  }
  const vf factor = vf_set(p->factor);
  for (int v = 0; v < vectors; v++) {
    if (!max) a[v] = vf_mul(a[v], factor);
    if (rest) {
      vf_store_n(y + v * VF_W, a[v], rest);
    } else {
      vf_store(y + v * VF_W, a[v]);
    }
  }
}

VF_INLINE void run_of(const bsm_k_pooling_args *p, const int max) {
  const float *x = p->x;
  float *y = p->y;
  for (int64_t i = 0; i < p->pixels; i++, x += p->x_pixel, y += p->y_pixel) {
    int64_t c = 0;
    for (; c + WIDE * VF_W <= p->channels; c += WIDE * VF_W) {
      window(p, x + c, y + c, WIDE, 0, max);
    }
    for (; c + VF_W <= p->channels; c += VF_W) {
      window(p, x + c, y + c, 1, 0, max);
    }
    if (c < p->channels) window(p, x + c, y + c, 1, p->channels - c, max);
  }
}

static void max_run(const bsm_k_pooling_args *p) {
  run_of(p, 1);
}
static void average_run(const bsm_k_pooling_args *p) {
  run_of(p, 0);
}

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)
const bsm_k_pooling JOIN(bsm_k_pooling_, BSM_K_SUFFIX) = {
    .name = TEXT(BSM_K_SUFFIX), .max = max_run, .average = average_run};
