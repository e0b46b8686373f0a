/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of windows. */
#include "backend/cpu/cpu_window.h"

#include "backend/cpu/cpu_gemm.h"
#include "backend/cpu/cpu_pack.h"

static bsm_status check_image(const bsm_plan_tensor *t, bsm_dtype dtype,
                              const char *what) {
  BSM_TRY(bsm_check_dtype(t, dtype, what));
  if (t->dims.d[1] > 1 && t->strides[1] != 1) {
    return BSM_FAIL(BSM_CORRUPT, "the channels of the %s are %lld apart", what,
                    (long long)t->strides[1]);
  }
  return BSM_OK;
}

bsm_status bsm_cpu_check_convolution(const bsm_plan *plan,
                                     const bsm_plan_step *step, bsm_dtype dtype,
                                     bool transposed) {
  BSM_TRY(bsm_cpu_check_convolution_of(plan, step, dtype, transposed));
  return check_image(bsm_step_input(plan, step, 0), dtype, "input");
}

bsm_status bsm_cpu_check_images(const bsm_plan *plan, const bsm_plan_step *step,
                                bsm_dtype dtype, bool transposed) {
  BSM_TRY(bsm_check_convolution(plan, step, dtype, transposed));
  BSM_TRY(check_image(bsm_step_input(plan, step, 0), dtype, "input"));
  BSM_TRY(check_image(bsm_step_output(plan, step, 0), dtype, "output"));
  return step->params->convolution.epilogue.has_residual
             ? check_image(bsm_step_input(plan, step, 1), dtype, "residual")
             : BSM_OK;
}

bsm_status bsm_cpu_check_convolution_of(const bsm_plan *plan,
                                        const bsm_plan_step *step,
                                        bsm_dtype dtype, bool transposed) {
  BSM_TRY(bsm_cpu_check_any_convolution(plan, step, dtype, transposed));
  return check_image(bsm_step_output(plan, step, 0), dtype, "output");
}

bsm_status bsm_cpu_check_any_convolution(const bsm_plan *plan,
                                         const bsm_plan_step *step,
                                         bsm_dtype dtype, bool transposed) {
  const bsm_step_convolution *p = &step->params->convolution;
  uint64_t size;
  BSM_TRY(bsm_check_convolution(plan, step, dtype, transposed));
  if (p->form != BSM_CPU_FORM_PLAIN &&
      (transposed || dtype != BSM_DTYPE_FLOAT)) {
    return BSM_FAIL(BSM_CORRUPT, "weights of form %d", p->form);
  }
  BSM_TRY(bsm_cpu_packed_kernel_size(p,
                                     bsm_step_input(plan, step, 0)->dims.d[1],
                                     transposed, bsm_dtype_size(dtype), &size));
  BSM_TRY(bsm_check_weights(plan, step, 0, size));
  return p->epilogue.has_residual
             ? check_image(bsm_step_input(plan, step, 1), dtype, "residual")
             : BSM_OK;
}
