/* SPDX-License-Identifier: Apache-2.0 */
/* The data that all stages of a compilation read. It does not change after it
 * was made: stages return results, or add to the record. */
#ifndef BSM_COMPILER_PIPELINE_COMPILATION_H_
#define BSM_COMPILER_PIPELINE_COMPILATION_H_

#include "builder/target.h"
#include "compiler/modules/module_internal.h"
#include "compiler/pipeline/fallback_rules.h"
#include "compiler/pipeline/precision_options.h"
#include "conversion/convert.h"

typedef struct bsm_compilation {
  bsm_module *module;
  const bsm_compile_options *options; /* complete */
  const bsm_target *target;
  bsm_arena *arena; /* of what stages return; the record's */
  const bsm_fallback_rules *rules;
  bsm_converter_registry *registry;
  const bsm_plan *refit; /* of an engine whose tactics are taken, or NULL */
  bsm_precision_policy *precision; /* or NULL; counts what its rules matched */
} bsm_compilation;

#endif /* BSM_COMPILER_PIPELINE_COMPILATION_H_ */
