/* SPDX-License-Identifier: Apache-2.0 */
/* What lowering with single shapes of a range shows about a model. A trace
 * keeps the numbers that Python computed from the shapes of its example. */
#ifndef BSM_COMPILER_PIPELINE_SHAPE_FINDINGS_H_
#define BSM_COMPILER_PIPELINE_SHAPE_FINDINGS_H_

#include "compiler/pipeline/compilation_record.h"
#include "compiler/pipeline/lower_method.h"

/* A dim of which only the elements 0 to count - 1 are read, which is all of
 * them for the optimal shape. They are read one by one (a loop that the trace
 * has unrolled), or as a slice. */
typedef struct bsm_cut_dim {
  const bsm_value *value; /* of the optimal shape's graph; NULL: none */
  const bsm_node *reader;
  int32_t dim;
  int64_t count;
  int64_t size; /* that another shape has */
  bool is_slice;
} bsm_cut_dim;

/* The findings of lowering with single shapes of the range, in the module's
 * arena. */
typedef struct bsm_shape_findings {
  BSM_VEC(const bsm_node *) optimal; /* its reshapes with constant sizes */
  bsm_strmap values;                 /* of its graph, by name */
  bsm_cut_dim cut;
  const bsm_node *absorbed; /* one whose sizes are the optimal shape's */
  int32_t absorbed_dim;
  const char *failure; /* the first; NULL: every shape was taken */
} bsm_shape_findings;

/* Adds a shape that the model took; the optimal one comes first. */
BSM_NODISCARD bsm_status bsm_shape_taken(bsm_module *module,
                                         bsm_shape_findings *findings,
                                         const bsm_graph *graph, bool optimal);
/* Adds a shape that it did not take; `why` stays the caller's. */
BSM_NODISCARD bsm_status bsm_shape_refused(bsm_module *module,
                                           bsm_shape_findings *findings,
                                           bsm_status why);
/* Warns of what was found. When shapes were refused, lowers with more shapes to
 * find the dimensions that the model fixes. */
BSM_NODISCARD bsm_status bsm_warn_of_shapes(bsm_module *module,
                                            const bsm_compile_options *options,
                                            const bsm_lowered *lowered,
                                            const bsm_shape_findings *findings,
                                            bsm_compilation_record *record);

#endif /* BSM_COMPILER_PIPELINE_SHAPE_FINDINGS_H_ */
