/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of a program that compute nothing: they make containers,
 * take them apart, pass values on, or raise. */
#ifndef BSM_ENGINE_PROGRAM_VALUES_H_
#define BSM_ENGINE_PROGRAM_VALUES_H_

#include "aten/ivalue.h"
#include "engine/program.h"

/* Checks that arguments of an op nest at most 60 deep, and have at most 2^24
 * values inside lists of lists, where a value that is met again counts again.
 * Ops walk their arguments recursively, and a program may put a list into
 * itself. BSM_LIMIT: one of the limits is exceeded. */
BSM_NODISCARD bsm_status bsm_program_check_nested(const bsm_ivalue *args,
                                                  size_t count);

/* Runs a verified LIST, TUPLE, DICT, UNPACK, COPY, RAISE or MOVE. `args` are
 * its inputs; sets its outputs in `registers`; new containers are made in
 * `arena`. BSM_RAISED: the model raises. */
BSM_NODISCARD bsm_status bsm_program_move_values(const bsm_instruction *i,
                                                 const bsm_ivalue *args,
                                                 bsm_arena *arena,
                                                 bsm_ivalue *registers);

#endif /* BSM_ENGINE_PROGRAM_VALUES_H_ */
