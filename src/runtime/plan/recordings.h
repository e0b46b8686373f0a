/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings of a plan: enqueueing several of its steps costs as much as
 * enqueueing one, where the device can record. What is recorded is a *stretch*:
 * steps of the device, one behind the other. A step of the host, or a copy to
 * or from its memory, is something to wait for, and stands between stretches; a
 * plan that is on the device alone is one. Addresses are part of a recording,
 * so there is one for each set of them; a set is recorded when it comes again,
 * since many come once. */
#ifndef BSM_RUNTIME_PLAN_RECORDINGS_H_
#define BSM_RUNTIME_PLAN_RECORDINGS_H_

#include "runtime/plan/plan_runner.h"

/* Whether the device records what the runner enqueues. */
bool bsm_recordings_are_made(const bsm_plan_runner *runner);
/* Makes the table of a prepared runner in `arena`. *out is NULL when its plan
 * is not recorded. */
BSM_NODISCARD bsm_status bsm_recordings_create(const bsm_plan_runner *runner,
                                               bsm_arena *arena,
                                               bsm_recordings **out);
/* NULL is allowed. The runner is not in flight. */
void bsm_recordings_destroy(bsm_recordings *recordings);

/* Enqueues steps from `from` on, before `end`, one by one. */
typedef bsm_status bsm_enqueue_steps(const bsm_plan_runner *runner,
                                     uint32_t from, uint32_t end);

/* Enqueues all steps of the runner. */
BSM_NODISCARD bsm_status bsm_recordings_enqueue(bsm_recordings *recordings,
                                                bsm_plan_runner *runner,
                                                bsm_enqueue_steps *enqueue);

#endif /* BSM_RUNTIME_PLAN_RECORDINGS_H_ */
