/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the report of a model's operators against the engine that is made with
 * the same options: what is in it, and what it runs. */
#ifndef BSM_TESTS_COMPILER_REPORT_CHECK_H_
#define BSM_TESTS_COMPILER_REPORT_CHECK_H_

#include "bessemer/bessemer.h"
#include "engine/plan.h"
#include "engine/program.h"
#include "runtime/engine/engine.h"

/* aten_call steps of one plan; `op` NULL: all. */
size_t plan_reference_steps(const bsm_plan *plan, const char *op);
/* Of a plan, or of the segments that its program runs. */
size_t engine_reference_steps(const bsm_engine *engine, const char *op);
/* Of its program; `name` NULL: of all names. */
size_t engine_instructions(const bsm_engine *engine, bsm_instruction_kind kind,
                           const char *name);

/* The item of that qualified name, or NULL; until three more are found. */
const bsm_operator_info *report_find(const bsm_operator_list *list,
                                     const char *name);

/* Fails the test where the report is wrong. Whether the model compiles, which
 * the report must have told. */
bool report_check(bsm_module *module, const bsm_compile_options *options);

#endif /* BSM_TESTS_COMPILER_REPORT_CHECK_H_ */
