/* SPDX-License-Identifier: Apache-2.0 */
/* The interface to what makes plans while an engine runs, for shapes that are
 * known only then.
 *
 * The runtime asks for such plans through one table of functions. The
 * converters, the network and the builder, which make them, are in another
 * library. Programs that run only fixed shapes link an empty table instead. */
#ifndef BSM_ENGINE_REGION_PLANNER_H_
#define BSM_ENGINE_REGION_PLANNER_H_

#include "aten/op.h"
#include "engine/plan.h"
#include "engine/program.h"

/* The version of this interface; a table of another version is refused. */
#define BSM_REGION_PLANNER_VERSION 2

/* Marks a result of a region that is not an output of the plan; see `values`.
 */
#define BSM_NO_OUTPUT UINT32_MAX

typedef struct bsm_region_plan {
  /* The plan's inputs are the tensors among the region's inputs, in order,
   * including those in lists; see bsm_region_binds. */
  bsm_plan *plan;
  /* For each result, the output of the plan or the value. Several results may
   * be the same output. */
  uint32_t *outputs;
  bsm_ivalue *values;
  /* By output of the plan: where its elements are in its memory. NULL: all
   * outputs are row-major. */
  bsm_layout *layouts;
} bsm_region_plan;

typedef struct bsm_region_planner bsm_region_planner;

typedef struct bsm_region_planner_options {
  const bsm_plan *plan; /* of the engine, with a program; outlives it */
  const bsm_aten_library *aten;
  const bsm_allocator *allocator;
  /* Limits of the run on shapes for one plan. 0, or more than the defaults: the
   * defaults. */
  size_t max_bytes, max_instructions;
  size_t max_tensor_bytes; /* of a tensor in the plan; 0: as in programs */
  /* Bytes of packed weights that are kept for later plans. */
  uint64_t max_packed_bytes;
  /* Of plans of CALLs: whether they read a tensor where its strides say, from
   * its first element on, and whether their outputs may have any strides.
   * Otherwise inputs and outputs are row-major. */
  bool any_input_strides, any_output_strides;
} bsm_region_planner_options;

typedef struct bsm_region_planner_ops {
  uint32_t version; /* BSM_REGION_PLANNER_VERSION */

  /* Makes a planner. It is not thread safe, so each context has its own. A
   * failure other than BSM_OUT_OF_MEMORY means that the engine cannot have one.
   */
  bsm_status (*create)(const bsm_region_planner_options *options,
                       bsm_region_planner **out);
  void (*destroy)(bsm_region_planner *planner); /* NULL is allowed */
  /* How many instructions the planner has run on shapes so far. */
  uint64_t (*instructions)(const bsm_region_planner *planner);

  /* Plans a REGION of the program, or a CALL like a region of one call, for
   * inputs like these; of tensors only dtypes and dims matter, and strides
   * where the options say so. The plan of a CALL does not call the reference
   * library, and has only exact tactics. The plan is in `arena`, and
   * refers to weights of the engine and of the planner. `like`: the plan whose
   * tactics are taken over; NULL: tactics are chosen. Fails when the region has
   * no plan for these inputs: it needs data, raises, or has something that a
   * plan cannot do. Its instructions can still be run one by one. */
  bsm_status (*plan)(bsm_region_planner *planner, const bsm_instruction *region,
                     const bsm_ivalue *inputs, const bsm_plan *like,
                     bsm_arena *arena, bsm_region_plan *out);
} bsm_region_planner_ops;

/* The planner that is linked in; NULL: there is none. It is alone in its object
 * file, so that a program that defines it does not link the library's. */
extern const bsm_region_planner_ops *const bsm_linked_region_planner;

/* Whether input `k` is passed to the plan. In the plan of a CALL, the program's
 * constants are constants, and an argument that is given several times is one
 * input. `constant`: by register. */
static inline bool bsm_region_binds(const bsm_instruction *i, uint32_t k,
                                    const bool *constant) {
  if (i->kind != BSM_INSTRUCTION_CALL) return true;
  bool binds = !constant[i->inputs[k]];
  for (uint32_t n = 0; binds && n < k; n++) {
    binds = i->inputs[n] != i->inputs[k];
  }
  return binds;
}

/* Whether a value may go into a region or come out of it: tensors, numbers,
 * bools and None. */
static inline bool bsm_region_takes(const bsm_ivalue *value) {
  switch (value->tag) {
    case BSM_IVALUE_NONE:
    case BSM_IVALUE_INT:
    case BSM_IVALUE_DOUBLE:
    case BSM_IVALUE_BOOL:
    case BSM_IVALUE_TENSOR:
      return true;
    default:
      return false;
  }
}

#endif /* BSM_ENGINE_REGION_PLANNER_H_ */
