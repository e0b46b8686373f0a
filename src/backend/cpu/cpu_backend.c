/* SPDX-License-Identifier: Apache-2.0 */
/* The table of functions that the builder uses: tactics and packing. */
#include "backend/backend.h"

#include "backend/cpu/cpu_convolution.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/cpu_step.h"

static size_t cpu_tactics(const bsm_plan *plan, const bsm_plan_step *step,
                          uint32_t isa, const char **names) {
  const bsm_cpu_kind *kind = bsm_cpu_kind_of(step->kind);
  if (kind && kind->tactics) return kind->tactics(plan, step, isa, names);
  names[0] = "default";
  return 1;
}

/* Tactics of other kinds are few, or not told apart by their cost. */
static double cpu_cost(const bsm_plan *plan, const bsm_plan_step *step,
                       uint32_t isa, const char *tactic) {
  return step->kind == BSM_STEP_CONVOLUTION
             ? bsm_cpu_convolution_cost(plan, step, isa, tactic)
             : 0;
}

/* Only convolutions have weights of several forms. */
static void cpu_adopt(const bsm_plan_step *step, const char *tactic,
                      bsm_step_params *params) {
  if (step->kind == BSM_STEP_CONVOLUTION) {
    params->convolution.form = bsm_cpu_convolution_form_of(tactic);
  }
}

static const bsm_backend cpu_backend = {
    .version = BSM_BACKEND_VERSION,
    .name = "cpu",
    .tactics = cpu_tactics,
    .cost = cpu_cost,
    .adopt = cpu_adopt,
    .pack = bsm_cpu_pack,
};

const bsm_backend *bsm_backend_cpu(void) {
  return &cpu_backend;
}
