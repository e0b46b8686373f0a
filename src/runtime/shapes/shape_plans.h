/* SPDX-License-Identifier: Apache-2.0 */
/* The plans that a context has made for shapes it has seen: bounded caches.
 * When one is full, its least recently used plan is dropped. */
#ifndef BSM_RUNTIME_SHAPES_SHAPE_PLANS_H_
#define BSM_RUNTIME_SHAPES_SHAPE_PLANS_H_

#include "runtime/shapes/plan_cache.h"

typedef struct bsm_shape_plans bsm_shape_plans;

/* Limits of a run of a program; 0: the defaults. */
typedef struct bsm_run_limits {
  size_t max_bytes;
  uint64_t max_instructions;
} bsm_run_limits;

/* The engine has a program. `capacity` 0: the default. Plans are made when they
 * are asked for, so this fails only with BSM_OUT_OF_MEMORY. */
BSM_NODISCARD bsm_status bsm_shape_plans_create(bsm_execution *execution,
                                                const bsm_run_limits *limits,
                                                size_t capacity,
                                                bsm_shape_plans **out);
void bsm_shape_plans_destroy(bsm_shape_plans *plans);

/* Finds or makes the plan of a REGION for inputs of these shapes and numbers;
 * of tensors only dtypes and dims matter. The plan stays until the next call.
 * *out is NULL when there can be none, and the instructions have to be run one
 * by one.
 * BSM_UNSUPPORTED: this library has no planner; the message says which one has.
 */
BSM_NODISCARD bsm_status bsm_shape_plans_find(bsm_shape_plans *plans,
                                              const bsm_instruction *region,
                                              const bsm_ivalue *inputs,
                                              bsm_shape_plan **out);

/* The same for a CALL, whose arguments may also be lists and strings; unless
 * the engine has a device, strides of tensors matter, too. *out is NULL when
 * converters do not take the call, without a planner, and when the call is
 * asked for the first time: then a plan is made only `at_once`. */
BSM_NODISCARD bsm_status bsm_shape_plans_find_call(bsm_shape_plans *plans,
                                                   const bsm_instruction *call,
                                                   const bsm_ivalue *args,
                                                   bool at_once,
                                                   bsm_shape_plan **out);
/* Whether plans of CALLs read tensors where the strides say that they were made
 * for. */
bool bsm_shape_plans_read_strides(const bsm_shape_plans *plans);
/* By register, for bsm_region_binds. */
const bool *bsm_shape_plans_constants(const bsm_shape_plans *plans);

/* How many instructions were run on shapes so far to make plans. */
uint64_t bsm_shape_plans_cost(const bsm_shape_plans *plans);
/* How many times a plan was made or refused. */
uint64_t bsm_shape_plans_made(const bsm_shape_plans *plans);

/* The steps of all plans that are kept, when the options ask for a profile;
 * they and their names stay until the next call of bsm_shape_plans_find. */
size_t bsm_shape_plans_step_count(const bsm_shape_plans *plans);
/* The profile of one of these steps; `index` is less than their count. */
void bsm_shape_plans_profile(const bsm_shape_plans *plans, size_t index,
                             bsm_step_profile *out);

#endif /* BSM_RUNTIME_SHAPES_SHAPE_PLANS_H_ */
