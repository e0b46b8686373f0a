/* SPDX-License-Identifier: Apache-2.0 */
/* Plans made for the CPU, spread over both memory spaces. */
#ifndef TESTS_RUNTIME_PLACED_PLAN_H_
#define TESTS_RUNTIME_PLACED_PLAN_H_

#include "engine/plan.h"

/* A plan that computes what `plan` does, for the target "lazy": each step, and
 * each binding, is where `choose` says, false for the host, and what a step
 * leaves is copied to the other space at once. Calls of the library and layers
 * of plug-ins stay on the host. Of a program the segments are placed. Refers to
 * the memory of `plan`; `arena` has the rest. */
bsm_plan *placed_plan(const bsm_plan *plan, bool (*choose)(void *user),
                      void *user, bsm_arena *arena);

#endif /* TESTS_RUNTIME_PLACED_PLAN_H_ */
