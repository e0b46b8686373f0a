/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of half and bfloat16: which of their drivers a step has. */
#include "backend/cpu/cpu_half.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/cpu_window.h"

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  uint64_t size;
  BSM_TRY(bsm_cpu_check_images(plan, step,
                               bsm_step_output(plan, step, 0)->dtype, false));
  BSM_TRY(bsm_cpu_packed_half_size(step, x->dims.d[1], &size));
  return bsm_check_weights(plan, step, 0, size);
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_plan_tensor *x = bsm_step_input(p->plan, p->step, 0);
  if (bsm_cpu_is_half_depthwise(&p->step->params->convolution, x->dims.d[1])) {
    return bsm_cpu_half_depthwise_prepare(p, out);
  }
  BSM_TRY(bsm_cpu_half_image_prepare(p, out));
  return out->impl ? BSM_OK : bsm_cpu_half_product_prepare(p, out);
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const bsm_cpu_half_impl *impl = prepared->impl;
  return impl->run(prepared, r);
}

const bsm_cpu_kind bsm_cpu_half_convolution = {check, NULL, prepare, run};
