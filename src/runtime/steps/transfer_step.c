/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of tensors between the host's memory and the device's. The device's
 * stream does them, in order with its other work. Steps on the host have to
 * wait for them (plan_runner.c). */
#include "runtime/steps/step_driver.h"

typedef struct transfer {
  bsm_stream *stream;      /* of the device */
  const bsm_run *from_run; /* the memory space that is read */
  bool up;                 /* to the device */
  size_t bytes;
} transfer;

/* The plan's verifier has compared the tensors. */
static bsm_status check(const bsm_step_env *env, const bsm_plan *plan,
                        const bsm_plan_step *step) {
  (void)plan;
  (void)step;
  return env->ops[BSM_SPACE_DEVICE]
             ? BSM_OK
             : BSM_FAIL(BSM_CORRUPT, "a transfer in an engine for the CPU");
}

static bsm_status enqueue(const bsm_prepared_step *prepared,
                          const bsm_run *run) {
  const transfer *t = prepared->impl;
  const bsm_plan_step *step = prepared->step;
  const bsm_device_ops *ops = t->stream->device->ops;
  void *to = bsm_run_address(run, prepared->plan, step->outputs[0]);
  const void *from =
      bsm_run_address(t->from_run, prepared->plan, step->inputs[0]);
  return (t->up ? ops->upload : ops->download)(t->stream, to, from, t->bytes);
}

static bsm_status prepare(const bsm_step_env *env, const bsm_run *runs,
                          const bsm_plan *plan, const bsm_plan_step *step,
                          bsm_arena *arena, bsm_prepared_step *out) {
  uint64_t bytes = 0;
  (void)bsm_plan_tensor_extent(&plan->tensors[step->inputs[0]], &bytes);
  transfer *t = BSM_NEW(arena, transfer);
  BSM_TRY_ALLOC(t);
  t->stream = env->streams[BSM_SPACE_DEVICE];
  t->up = step->space == BSM_SPACE_DEVICE;
  t->from_run = &runs[t->up ? BSM_SPACE_HOST : BSM_SPACE_DEVICE];
  t->bytes = (size_t)bytes; /* of a tensor that fits its memory */
  *out = (bsm_prepared_step){
      .enqueue = enqueue, .plan = plan, .step = step, .impl = t};
  return BSM_OK;
}

static const char *describe(const bsm_step_env *env,
                            const bsm_prepared_step *prepared) {
  (void)env;
  return ((const transfer *)prepared->impl)->up ? "upload" : "download";
}

const bsm_step_driver bsm_transfer_step_driver = {check, prepare, NULL,
                                                  describe};
