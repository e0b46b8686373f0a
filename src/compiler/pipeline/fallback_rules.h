/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes that the caller leaves to the reference library: fallback_ops and
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

/* Why the node falls back, for messages; NULL: no rule matches it, or the
 * reference library does not have its operator. */
const char *bsm_fallback_rule_of(const bsm_fallback_rules *rules,
                                 const bsm_node *node);

/* Warns of names that match no node of the lowered graph. BSM_INVALID_ARGUMENT:
 * the model does not have such a module. */
BSM_NODISCARD bsm_status bsm_fallback_rules_check(
    const bsm_fallback_rules *rules, const bsm_graph *graph,
    bsm_compilation_record *record);

/* The paths that the name of a submodule stands for, its own or those of a
 * class, in `arena`; *known: whether the model has such a submodule. */
BSM_NODISCARD bsm_status bsm_module_paths_of(bsm_module *module,
                                             const bsm_compile_options *options,
                                             const char *name, bsm_arena *arena,
                                             const char *const **paths,
                                             size_t *count, bool *known);
/* The failure for a submodule that the model does not have; `what` names the
 * option. */
BSM_NODISCARD bsm_status bsm_unknown_module(bsm_module *module,
                                            const bsm_compile_options *options,
                                            const char *what, const char *name,
                                            bsm_arena *arena);

#endif /* BSM_COMPILER_PIPELINE_FALLBACK_RULES_H_ */
