/* SPDX-License-Identifier: Apache-2.0 */
/* What makes plans while an engine runs, for shapes that are known only then.
 *
 * The runtime asks for such plans through one table of functions. Who makes
 * them - converters, network, builder - is a library of its own: programs that
 * run fixed shapes alone link an empty table and none of it. */
#ifndef BSM_ENGINE_REGION_PLANNER_H_
#define BSM_ENGINE_REGION_PLANNER_H_

#include "aten/op.h"
#include "engine/plan.h"
#include "engine/program.h"

struct bsm_target;

/* Of this interface: a table of another version is refused. */
#define BSM_REGION_PLANNER_VERSION 1

/* A result of a region that is no tensor of the plan: `values`. */
#define BSM_NO_OUTPUT UINT32_MAX

typedef struct bsm_region_plan {
  /* Its inputs are the tensors among the region's, in order, those in lists
   * too; see bsm_region_binds. */
  bsm_plan *plan;
  /* For each result: the output of the plan, or the value. Several results may
   * be one output. */
  uint32_t *outputs;
  bsm_ivalue *values;
} bsm_region_plan;

typedef struct bsm_region_planner bsm_region_planner;

typedef struct bsm_region_planner_options {
  const bsm_plan *plan; /* of the engine, with a program; outlives it */
  const bsm_aten_library *aten;
  const bsm_allocator *allocator;
  /* Of the run on shapes for one plan, beyond which it fails; 0 or more than
   * the defaults: these. */
  size_t max_bytes, max_instructions;
  size_t max_tensor_bytes; /* of what the plan computes; 0: as programs do */
  /* Bytes of weights packed for plans that are kept for the next ones. */
  uint64_t max_packed_bytes;
} bsm_region_planner_options;

typedef struct bsm_region_planner_ops {
  uint32_t version; /* BSM_REGION_PLANNER_VERSION */

  /* This machine as a target (builder/target.h): it packs what calls need. */
  bsm_status (*target)(bsm_arena *arena, const struct bsm_target **out);

  /* Not thread safe: one for each context. Anything but BSM_OUT_OF_MEMORY: the
   * engine does not allow for one. */
  bsm_status (*create)(const bsm_region_planner_options *options,
                       bsm_region_planner **out);
  void (*destroy)(bsm_region_planner *planner); /* NULL is allowed */
  /* How many instructions it has run on shapes until now. */
  uint64_t (*instructions)(const bsm_region_planner *planner);

  /* Plans a REGION of the program, or a CALL as if it was one, for inputs like
   * these: of tensors, only dtypes and dims count. Of a CALL nothing is left to
   * the reference library. Lives in `arena`, and refers to weights of the
   * engine and of the planner.
   * `like`: whose tactics to take; NULL: they are chosen.
   * Fails when the region cannot be planned so: it needs data, raises, or has
   * something that a plan cannot do. Running its instructions tells. */
  bsm_status (*plan)(bsm_region_planner *planner, const bsm_instruction *region,
                     const bsm_ivalue *inputs, const bsm_plan *like,
                     bsm_arena *arena, bsm_region_plan *out);
} bsm_region_planner_ops;

/* The planner that is linked in; NULL: none. Alone in its object file, so that
 * a program which defines it leaves out the library's. */
extern const bsm_region_planner_ops *const bsm_linked_region_planner;

/* Whether input `k` gives tensors to the plan. Of a CALL, constants of the
 * program are part of the plan, and what is given twice is one input.
 * `constant`: by register. */
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
