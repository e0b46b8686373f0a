/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes the caller leaves to the reference library: fallback_ops and
 * fallback_modules of bsm_compile_options. */
#ifndef BSM_COMPILER_PIPELINE_FALLBACK_RULES_H_
#define BSM_COMPILER_PIPELINE_FALLBACK_RULES_H_

#include "compiler/modules/module_internal.h"
#include "compiler/pipeline/compilation_record.h"

typedef struct bsm_fallback_rules bsm_fallback_rules;

/* The rules of the options, in `arena`. BSM_INVALID_ARGUMENT: an operator that
 * is not known. BSM_UNSUPPORTED: one that the reference library cannot run. */
BSM_NODISCARD bsm_status bsm_fallback_rules_create(
    bsm_module *module, const bsm_compile_options *options, bsm_arena *arena,
    bsm_fallback_rules **out);

/* Why the node falls back, for messages; NULL: no rule is about it, or the
 * reference library has not its operator. */
const char *bsm_fallback_rule_of(const bsm_fallback_rules *rules,
                                 const bsm_node *node);

/* Warns of names that no node of the lowered graph has. BSM_INVALID_ARGUMENT: a
 * module that the model has not at all. */
BSM_NODISCARD bsm_status bsm_fallback_rules_check(
    const bsm_fallback_rules *rules, const bsm_graph *graph,
    bsm_compilation_record *record);

/* The paths that the name of a submodule stands for, its own or those of a
 * class, in `arena`; *known: whether the model has it. */
BSM_NODISCARD bsm_status bsm_module_paths_of(bsm_module *module,
                                             const bsm_compile_options *options,
                                             const char *name, bsm_arena *arena,
                                             const char *const **paths,
                                             size_t *count, bool *known);
/* That the model has no such submodule; `what` names the option. */
BSM_NODISCARD bsm_status bsm_unknown_module(bsm_module *module,
                                            const bsm_compile_options *options,
                                            const char *what, const char *name,
                                            bsm_arena *arena);

#endif /* BSM_COMPILER_PIPELINE_FALLBACK_RULES_H_ */
