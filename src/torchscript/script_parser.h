/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of the `code/` language: recursive descent, one token ahead.
 *
 * It accepts what PyTorch's serializer writes, from version 1.4 on: calls
 * instead of operators, if with else, while, for over range(n), with. Nesting
 * is bounded by the limit max_depth, in recursion and in the trees made. */
#ifndef BSM_TORCHSCRIPT_SCRIPT_PARSER_H_
#define BSM_TORCHSCRIPT_SCRIPT_PARSER_H_

#include "torchscript/syntax.h"

/* Parses a whole file. The tree lives in `arena`; names are interned. */
BSM_NODISCARD bsm_status bsm_parse_file(bsm_arena *arena, bsm_interner *names,
                                        const bsm_limits *limits,
                                        const bsm_code_file *file,
                                        bsm_syntax *out);
/* Parses a text that is one expression (a type). */
BSM_NODISCARD bsm_status bsm_parse_expression(bsm_arena *arena,
                                              bsm_interner *names,
                                              const bsm_limits *limits,
                                              const bsm_code_file *file,
                                              bsm_expr **out);

#endif /* BSM_TORCHSCRIPT_SCRIPT_PARSER_H_ */
