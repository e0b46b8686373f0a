/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that the device of their memory space runs. */
#include "runtime/steps/step_driver.h"

static bsm_status check(const bsm_step_env *env, const bsm_plan *plan,
                        const bsm_plan_step *step) {
  const bsm_device_ops *ops = env->ops[step->space];
  return ops ? ops->check(plan, step)
             : BSM_FAIL(BSM_CORRUPT,
                        "a step of a device in an engine for the CPU");
}

static bsm_status prepare(const bsm_step_env *env, const bsm_run *runs,
                          const bsm_plan *plan, const bsm_plan_step *step,
                          bsm_arena *arena, bsm_prepared_step *out) {
  return env->ops[step->space]->prepare(env->streams[step->space], plan, step,
                                        runs[step->space].weights, arena, out);
}

static void discard(const bsm_step_env *env, bsm_prepared_step *prepared) {
  const bsm_device_ops *ops = env->ops[prepared->step->space];
  if (ops->discard) ops->discard(prepared);
}

static const char *describe(const bsm_step_env *env,
                            const bsm_prepared_step *prepared) {
  return env->ops[prepared->step->space]->describe(prepared);
}

const bsm_step_driver bsm_device_step_driver = {check, prepare, discard,
                                                describe};
