/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of a program that compute nothing: they make containers,
 * take them apart, pass values on, or raise. The interpreter and the planner
 * run them alike. */
#ifndef BSM_ENGINE_PROGRAM_VALUES_H_
#define BSM_ENGINE_PROGRAM_VALUES_H_

#include "aten/ivalue.h"
#include "engine/program.h"

/* That arguments of an op nest no deeper than 60, and have no more than 2^24
 * values inside lists of lists, each counted as often as it is met: ops walk
 * them, and what an engine makes may be in itself. BSM_LIMIT: they do not. */
BSM_NODISCARD bsm_status bsm_program_check_nested(const bsm_ivalue *args,
                                                  size_t count);

/* Runs a LIST, TUPLE, DICT, UNPACK, COPY, RAISE or MOVE, verified: `args` are
 * its inputs, its outputs are set in `registers`; what it makes lives in
 * `arena`. BSM_RAISED: what the model would raise. */
BSM_NODISCARD bsm_status bsm_program_move_values(const bsm_instruction *i,
                                                 const bsm_ivalue *args,
                                                 bsm_arena *arena,
                                                 bsm_ivalue *registers);

#endif /* BSM_ENGINE_PROGRAM_VALUES_H_ */
