/* SPDX-License-Identifier: Apache-2.0 */
/* Running a program (engine/program.h).
 *
 * Values are in registers and in an arena that the next run empties. When the
 * arena has grown much, garbage is collected between two instructions: values
 * that are still read are copied to a second arena. Constants and inputs are
 * never written to and never copied. max_run_bytes and max_instructions of the
 * context's options bound a run. */
#ifndef BSM_RUNTIME_PROGRAM_PROGRAM_RUNNER_H_
#define BSM_RUNTIME_PROGRAM_PROGRAM_RUNNER_H_

#include "engine/program.h"
#include "runtime/plan/plan_runner.h"
#include "runtime/program/run_result.h"
#include "runtime/shapes/shape_plans.h"

typedef struct bsm_program_runner bsm_program_runner;

/* `segments`: a runner for each segment of the program, ready to run. `shapes`:
 * plans for its regions, or NULL. `arena` holds what lives as long as the
 * context. Checks the constants. */
BSM_NODISCARD bsm_status bsm_program_runner_create(bsm_execution *execution,
                                                   bsm_plan_runner *segments,
                                                   bsm_shape_plans *shapes,
                                                   const bsm_run_limits *limits,
                                                   bsm_arena *arena,
                                                   bsm_program_runner **out);
/* Releases the memory of the last run; NULL is allowed. */
void bsm_program_runner_destroy(bsm_program_runner *runner);

/* What it draws from now on is as after torch.manual_seed(seed); it begins with
 * the seed 0. */
void bsm_program_runner_seed(bsm_program_runner *runner, uint64_t seed);

/* Runs it on arrays that fit the engine's bindings. The results stay until the
 * next run. */
BSM_NODISCARD bsm_status bsm_program_runner_run(bsm_program_runner *runner,
                                                const bsm_array *inputs);
/* Result `index` of the last run, contiguous; checked against its binding. */
BSM_NODISCARD bsm_status bsm_program_runner_output(bsm_program_runner *runner,
                                                   uint32_t index,
                                                   bsm_array *out);
/* The structured result of the last run, with its outputs and further values,
 * in memory that counts as the run's. */
BSM_NODISCARD bsm_status bsm_program_runner_result(bsm_program_runner *runner,
                                                   const bsm_array *outputs,
                                                   bsm_run_result *out);

#endif /* BSM_RUNTIME_PROGRAM_PROGRAM_RUNNER_H_ */
