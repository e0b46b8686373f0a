/* SPDX-License-Identifier: Apache-2.0 */
/* What the stages of one compilation share (compile.c). */
#ifndef BSM_COMPILER_PIPELINE_COMPILATION_H_
#define BSM_COMPILER_PIPELINE_COMPILATION_H_

#include "builder/target.h"
#include "compiler/pipeline/compile_internal.h"
#include "compiler/pipeline/fallback_rules.h"
#include "compiler/pipeline/frozen_trace.h"
#include "compiler/pipeline/lower_method.h"
#include "conversion/convert.h"
#include "partitioning/partition.h"

/* What the stages of one compilation share. */
typedef struct bsm_compilation {
  bsm_module *module;
  const bsm_compile_options *options;
  const bsm_target *target;
  bsm_arena arena; /* until the engine is made */
  bsm_converter_registry *registry;
  bsm_fallback_rules *rules;
  bsm_lowered lowered;
  bsm_method_io io;
  const bsm_compile_watch *watch; /* or NULL */
  bool in_program, in_variant, is_first_variant;
  bool has_plans;          /* for all shapes: variants are only looked at */
  bsm_shape_trials trials; /* of inputs that range */
  bsm_memory_sets *memory; /* of a literal graph */
} bsm_compilation;

/* How the compilation partitions graphs. */
bsm_partition_options bsm_partition_options_of(bsm_compilation *c);
/* Whether what was lowered is one plan: nothing of it ranges, depends on data
 * or is no tensor. */
bool bsm_is_plan(const bsm_lowered *lowered,
                 const bsm_partition_options *partition);

#endif /* BSM_COMPILER_PIPELINE_COMPILATION_H_ */
