/* SPDX-License-Identifier: Apache-2.0 */
/* Signs that a model has more of its example in it than its author may know: a
 * trace keeps the numbers that Python computed from shapes, leaves out the
 * branches that were not taken, and names the devices of its tensors. */
#ifndef BSM_COMPILER_PIPELINE_FROZEN_TRACE_H_
#define BSM_COMPILER_PIPELINE_FROZEN_TRACE_H_

#include "compiler/pipeline/lower_method.h"

/* Warns of inputs that a trace does not use, and of devices that the model
 * asks for. Methods that lowering did not need are not looked at. */
BSM_NODISCARD bsm_status bsm_warn_of_trace(bsm_module *module,
                                           const bsm_compile_options *options);

/* Adds to why a method could not be lowered that it was traced with other
 * shapes than those of the options. */
BSM_NODISCARD bsm_status bsm_note_trace(bsm_module *module,
                                        const bsm_compile_options *options,
                                        bsm_status status);

/* A dim of which only the elements 0 to count - 1 are read, which are all for
 * the optimal shape: one by one (a loop that the trace has unrolled), or as a
 * slice. */
typedef struct bsm_cut_dim {
  const bsm_value *value; /* of the optimal shape's graph; NULL: none */
  const bsm_node *reader;
  int32_t dim;
  int64_t count;
  int64_t size; /* that another shape has */
  bool is_slice;
} bsm_cut_dim;

/* What came of lowering with single shapes of the range; in the module's
 * arena. */
typedef struct bsm_shape_trials {
  BSM_VEC(const bsm_node *) optimal; /* its reshapes with constant sizes */
  bsm_strmap values;                 /* of its graph, by name */
  bsm_cut_dim cut;
  const bsm_node *absorbed; /* one whose sizes are the optimal shape's */
  int32_t absorbed_dim;
  const char *failure; /* the first; NULL: every shape was taken */
} bsm_shape_trials;

/* A shape that the model took, the optimal one first. */
BSM_NODISCARD bsm_status bsm_shape_taken(bsm_module *module,
                                         bsm_shape_trials *trials,
                                         const bsm_graph *graph, bool optimal);
/* One that it did not take; `why` stays the caller's. */
BSM_NODISCARD bsm_status bsm_shape_refused(bsm_module *module,
                                           bsm_shape_trials *trials,
                                           bsm_status why);
/* Warns of what was found. Where shapes were refused, lowers with more of them
 * to tell the dimensions that the model fixes. */
BSM_NODISCARD bsm_status bsm_report_shapes(bsm_module *module,
                                           const bsm_compile_options *options,
                                           const bsm_lowered *lowered,
                                           const bsm_shape_trials *trials);

#endif /* BSM_COMPILER_PIPELINE_FROZEN_TRACE_H_ */
