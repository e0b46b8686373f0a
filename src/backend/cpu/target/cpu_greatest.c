/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a plan on made-up inputs, to see how great the values of its tensors
 * become. */
#include "backend/cpu/target/cpu_greatest.h"

#include <math.h>

#include "backend/cpu/target/cpu_dry_run.h"
#include "base/isa.h"
#include "base/thread_pool.h"

/* The greatest magnitude of a row of a tensor's last dimension. */
static double greatest_of_row(const float *x, int64_t n, int64_t stride) {
  double most = 0;
  for (int64_t i = 0; i < n; i++) {
    const double v = fabs((double)x[i * stride]);
    if (!(v <= most)) most = v;
  }
  return most;
}

static double greatest_of(const bsm_plan_tensor *t, const float *x) {
  const int32_t rank = t->dims.rank, last = rank - 1;
  int64_t index[BSM_MAX_RANK] = {0};
  double most = 0;
  for (int32_t d = 0; d < rank; d++) {
    if (t->dims.d[d] == 0) return 0;
  }
  if (rank == 0) return fabs((double)x[0]);
  for (;;) {
    int64_t offset = 0;
    for (int32_t d = 0; d < last; d++) offset += index[d] * t->strides[d];
    const double row =
        greatest_of_row(x + offset, t->dims.d[last], t->strides[last]);
    if (!(row <= most)) most = row;
    int32_t d = last - 1;
    while (d >= 0 && ++index[d] == t->dims.d[d]) index[d--] = 0;
    if (d < 0) return most;
  }
}

static void note(bsm_cpu_dry_run *dry, uint32_t tensor, double *greatest) {
  const bsm_plan_tensor *t = &dry->plan->tensors[tensor];
  if (t->dtype != BSM_DTYPE_FLOAT) return;
  const double most =
      greatest_of(t, bsm_run_address(&dry->run, dry->plan, tensor));
  if (!(most <= greatest[tensor])) greatest[tensor] = most;
}

static bsm_status run_all(bsm_cpu_dry_run *dry, double *greatest) {
  bsm_plan *plan = dry->plan;
  for (uint32_t i = 0; i < plan->input_count; i++) {
    BSM_TRY(bsm_cpu_dry_run_fill(dry, plan->inputs[i].tensor));
    note(dry, plan->inputs[i].tensor, greatest);
  }
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const bsm_plan_step *step = &plan->steps[i];
    bsm_prepared_step prepared;
    BSM_TRY(bsm_cpu_dry_run_prepare(dry, step, &prepared));
    BSM_TRY(prepared.enqueue(&prepared, &dry->run));
    for (uint32_t k = 0; k < step->output_count; k++) {
      note(dry, step->outputs[k], greatest);
    }
  }
  return BSM_OK;
}

bsm_status bsm_cpu_greatest_values(const bsm_target *target, bsm_plan *plan,
                                   bool *ran, double *greatest) {
  const bsm_cpu_target *cpu = bsm_cpu_target_of(target);
  /* As cpu_fidelity.c: the same on all machines. */
  const uint32_t isa = cpu->isa & BSM_ISA_AVX2 & bsm_isa_detect();
  bsm_cpu_dry_run dry;
  *ran = bsm_cpu_can_dry_run(plan);
  if (!*ran) return BSM_OK;
  bsm_status status =
      bsm_cpu_dry_run_open(cpu, isa, bsm_available_cpus(), plan, &dry);
  if (!status) status = run_all(&dry, greatest);
  bsm_cpu_dry_run_close(&dry);
  /* Made-up inputs may be none that the network can be run on. */
  if (status && bsm_status_code(status) != BSM_OUT_OF_MEMORY) {
    bsm_status_free(status);
    *ran = false;
    return BSM_OK;
  }
  return status;
}
