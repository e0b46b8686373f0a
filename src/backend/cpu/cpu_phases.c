/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of transposed convolutions. */
#include "backend/cpu/cpu_phases.h"

#include "base/checked.h"

bsm_status bsm_cpu_check_phases(const bsm_step_convolution *p) {
  const int64_t *s = p->window.stride;
  return s[0] * s[1] > BSM_CPU_MAX_PHASES ||
                 bsm_cpu_phase_count(p) > BSM_CPU_MAX_PHASES
             ? BSM_FAIL(BSM_CORRUPT, "strides %lld, %lld, %lld are too large",
                        (long long)s[0], (long long)s[1], (long long)s[2])
             : BSM_OK;
}

/* Tap t is one of the outputs that t * dilation gives modulo the stride. */
void bsm_cpu_phase_of(const bsm_step_convolution *p, int64_t index,
                      bsm_cpu_phase *out) {
  const bsm_step_window *from = &p->window;
  out->params.convolution = *p;
  out->step =
      (bsm_plan_step){.kind = BSM_STEP_CONVOLUTION, .params = &out->params};
  bsm_step_window *w = &out->params.convolution.window;
  for (int d = 2; d >= 0; index /= from->stride[d], d--) {
    const int64_t common = bsm_i64_gcd(from->stride[d], from->dilation[d]);
    const int64_t apart = from->stride[d] / common;
    const int64_t end = bsm_cpu_min(apart, from->kernel[d]);
    const int64_t rest = index % from->stride[d];
    int64_t t = 0;
    while (t < end && t * from->dilation[d] % from->stride[d] != rest) t++;
    out->rest[d] = rest;
    const int64_t more = t < end ? (from->kernel[d] - 1 - t) / apart : 0;
    out->apart[d] = apart;
    out->last[d] = t < end ? t + more * apart : -1;
    w->kernel[d] = more + 1;
    w->dilation[d] = from->dilation[d] / common;
    w->stride[d] = 1;
    w->pre_padding[d] = w->post_padding[d] = 0;
  }
}
