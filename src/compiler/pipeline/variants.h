/* SPDX-License-Identifier: Apache-2.0 */
/* Variants: plans for single shapes of inputs that range. They are run instead
 * of the program when the inputs have these shapes. */
#ifndef BSM_COMPILER_PIPELINE_VARIANTS_H_
#define BSM_COMPILER_PIPELINE_VARIANTS_H_

#include "compiler/pipeline/compilation.h"
#include "compiler/pipeline/compilation_record.h"
#include "compiler/pipeline/shape_findings.h"
#include "compiler/pipeline/variant_shapes.h"

/* The model lowered for one shape. */
typedef struct bsm_variant {
  const bsm_input_spec *inputs;
  bsm_lowered lowered;
  bool is_optimal;
  bool is_plan; /* so that it can be a variant */
} bsm_variant;

typedef struct bsm_variant_list {
  bsm_variant items[BSM_MAX_VARIANTS];
  size_t count; /* 0: nothing ranges */
  bsm_shape_findings findings;
} bsm_variant_list;

/* Lowers the model for single shapes of the ranges. A shape in range that the
 * model does not take is left out, and in the findings; the optimal one has to
 * be taken. */
BSM_NODISCARD bsm_status bsm_lower_variants(const bsm_compilation *c,
                                            const bsm_lowered *lowered,
                                            bsm_variant_list *out);

/* Adds plans for them to the program of `plan`; those that cannot be compiled
 * are left to the program. `optimal` gets how the nodes of the optimal shape
 * run. */
BSM_NODISCARD bsm_status bsm_compile_variants(const bsm_compilation *c,
                                              const bsm_variant_list *variants,
                                              bsm_placement_list *optimal,
                                              bsm_arena *arena, bsm_plan *plan);

#endif /* BSM_COMPILER_PIPELINE_VARIANTS_H_ */
