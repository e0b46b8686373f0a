/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose meaning changed. An archive of an older version means the
 * old one: its calls are matched against the old schema and then made as calls
 * of an upgrader, a function in today's operators that does what the old
 * operator did. The functions are written in the serialized language itself
 * (upgraders.c).
 *
 *   operator                       since  before
 *   div, div_                      4      integers: truncating division
 *   full                           5      no dtype: the fill value as float
 *   linspace, logspace             8, 9   steps may be None: 100
 *   gelu                           10     no approximation to choose
 *
 * (Calls with out= are made without it first: see script_emit_call.c.) */
#ifndef BSM_TORCHSCRIPT_UPGRADERS_H_
#define BSM_TORCHSCRIPT_UPGRADERS_H_

#include "torchscript/script_internal.h"

/* The overloads that a call of `name` ("aten::div") in this file chooses from,
 * in order. *count is 0 when there is no such operator. */
BSM_NODISCARD bsm_status bsm_upgraders_candidates(bsm_script_file *file,
                                                  const char *name,
                                                  const bsm_schema *const **out,
                                                  size_t *count);
/* The function to call in place of a matched schema; *out is NULL for the
 * schemas of today. */
BSM_NODISCARD bsm_status bsm_upgraders_function(bsm_script *script,
                                                const bsm_schema *schema,
                                                bsm_function **out);

#endif /* BSM_TORCHSCRIPT_UPGRADERS_H_ */
