/* SPDX-License-Identifier: Apache-2.0 */
/* How long steps should take, for choosing between plans that were not timed.
 * Numbers are those of an H100, whose steps of mobilenet_v2 and bert_base in
 * half and in bytes were timed; other GPUs have as much of it as they have
 * multiprocessors. */
#include "backend/cuda/steps/cuda_mma.h"
#include "backend/cuda/steps/cuda_steps.h"
#include "backend/cuda/target/cuda_target.h"
#include "engine/plan_work.h"

#define MEASURED_SMS 132.0
#define LAUNCH 1.2 /* microseconds; the others are for a million */
#define BYTES 0.4
#define TURNED_BYTES 2.3 /* of a copy whose rows are others' columns */
/* Windows of depthwise convolutions, which are read more than once. */
#define DEPTHWISE_WINDOW 0.9 /* beside the launch, however few there are */
#define DEPTHWISE_BYTES 0.63
#define DEPTHWISE_INT8_BYTES 0.95
#define DEPTHWISE_INT8_OUTPUTS 3.0
/* What makes bytes of sums, which the costs of tiles do not know; and of what
 * an activation other than a bound gave. */
#define INT8_OUTPUTS 0.9
#define INT8_FUNCTIONS 1.0

static double millions(const bsm_plan_tensor *t) {
  double elements = 1e-6;
  for (int32_t i = 0; i < t->dims.rank; i++) elements *= (double)t->dims.d[i];
  return elements;
}

static double larger(double a, double b) {
  return a > b ? a : b;
}

static bool is_bounding(int32_t activation) {
  return activation == BSM_ACTIVATION_NONE ||
         activation == BSM_ACTIVATION_RELU || activation == BSM_ACTIVATION_CLIP;
}

static double depthwise(const bsm_plan_step *step, double outputs, double mb) {
  return DEPTHWISE_WINDOW + (step->kind == BSM_STEP_INT8_CONVOLUTION
                                 ? larger(DEPTHWISE_INT8_OUTPUTS * outputs,
                                          DEPTHWISE_INT8_BYTES * mb)
                                 : DEPTHWISE_BYTES * mb);
}

/* Microseconds beside the launch, of as many multiprocessors. */
static double work_of(const bsm_plan *plan, const bsm_plan_step *step) {
  const double mb = 1e-6 * bsm_step_work(plan, step).bytes;
  const bsm_plan_tensor *y = &plan->tensors[step->outputs[0]];
  switch (step->kind) {
    case BSM_STEP_CONVOLUTION:
    case BSM_STEP_INT8_CONVOLUTION:
      return step->params->convolution.groups > 1
                 ? depthwise(step, millions(y), mb)
                 : BYTES * mb;
    case BSM_STEP_COPY:
      return TURNED_BYTES * mb;
    default:
      return BYTES * mb;
  }
}

double bsm_cuda_step_seconds(const bsm_target *target, const bsm_plan *plan,
                             const bsm_plan_step *step) {
  const int sm = bsm_cuda_target_of(target)->sm;
  const bsm_cuda_step_kind *kind = bsm_cuda_step_kind_of(step->kind);
  const double share = MEASURED_SMS / bsm_cuda_multiprocessors(sm);
  if (step->output_count == 0) return 0;
  double us = LAUNCH + share * work_of(plan, step);
  const double tile =
      kind && kind->cost ? kind->cost(plan, step, sm, step->tactic) : 0;
  if (tile <= 0) return us * 1e-6;
  us = larger(us, tile);
  if (step->kind == BSM_STEP_INT8_CONVOLUTION) {
    const bool bounds =
        is_bounding(step->params->convolution.epilogue.activation);
    us = larger(us, tile + share *
                               (INT8_OUTPUTS + (bounds ? 0 : INT8_FUNCTIONS)) *
                               millions(&plan->tensors[step->outputs[0]]));
  }
  return us * 1e-6;
}
