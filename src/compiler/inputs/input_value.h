/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the abstract value that lowering starts from, from an input spec and
 * the declared type of a parameter: meta tensors for what is given when
 * running, plain values for what is fixed. */
#ifndef BSM_COMPILER_INPUTS_INPUT_VALUE_H_
#define BSM_COMPILER_INPUTS_INPUT_VALUE_H_

#include "bessemer/compiler.h"
#include "ir/graph.h"

typedef struct bsm_input_maker {
  bsm_ir_ctx *cx;
  bsm_arena *arena; /* of the values */
} bsm_input_maker;

/* `path` names the argument, or the part of one, in messages.
 * BSM_INVALID_ARGUMENT: the spec does not fit the type; both are named. */
BSM_NODISCARD bsm_status bsm_input_value(const bsm_input_maker *maker,
                                         const bsm_type *type,
                                         const bsm_input_spec *spec,
                                         const char *path, size_t depth,
                                         bsm_ivalue *out);

/* The kinds BSM_INPUT_EXAMPLE and BSM_INPUT_EXAMPLES. */
BSM_NODISCARD bsm_status bsm_input_example(const bsm_input_maker *maker,
                                           const bsm_type *type,
                                           const bsm_input_spec *spec,
                                           const char *path, bsm_ivalue *out);
BSM_NODISCARD bsm_status bsm_input_examples(const bsm_input_maker *maker,
                                            const bsm_type *type,
                                            const bsm_input_spec *spec,
                                            const char *path, bsm_ivalue *out);

/* A number for a parameter of the type; BSM_INVALID_ARGUMENT when the type does
 * not admit it. */
BSM_NODISCARD bsm_status bsm_input_number(const bsm_input_maker *maker,
                                          const bsm_type *type,
                                          bsm_ivalue number, const char *path,
                                          bsm_ivalue *out);
/* Reads a dict's key of a type from text; false when the text is no such key.
 */
bool bsm_input_key_of_text(const bsm_input_maker *maker, const bsm_type *type,
                           bsm_str text, bsm_ivalue *out);
/* "input "x" is of type int, given ...". */
bsm_status bsm_input_mismatch(const bsm_input_maker *maker, const char *path,
                              const bsm_type *type, const char *given);

static inline bool bsm_type_is_number(const bsm_type *type) {
  return type->kind == BSM_TYPE_INT || type->kind == BSM_TYPE_FLOAT ||
         type->kind == BSM_TYPE_BOOL || type->kind == BSM_TYPE_NUMBER;
}
/* Whether it is a list or tuple of numbers only. */
bool bsm_type_is_number_list(const bsm_type *type);
/* How many arrays make up a value of the type: -1 where it may vary. */
int32_t bsm_type_array_count(const bsm_type *type);

#endif /* BSM_COMPILER_INPUTS_INPUT_VALUE_H_ */
