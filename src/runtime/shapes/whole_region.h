/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that consist of one region. A plan for the shapes of the inputs
 * reads the caller's arrays and writes the outputs directly, without the
 * program. */
#ifndef BSM_RUNTIME_SHAPES_WHOLE_REGION_H_
#define BSM_RUNTIME_SHAPES_WHOLE_REGION_H_

#include "engine/plan.h"
#include "engine/region_planner.h"

typedef struct bsm_whole_region {
  const bsm_plan *plan;          /* with the program */
  const bsm_instruction *region; /* NULL: the program is not one region */
  uint32_t *params;  /* for each input of the region, the engine's */
  uint32_t *results; /* for each output of the engine, the region's */
  uint32_t output_count;
  bsm_ivalue *inputs; /* stand for arrays: bsm_whole_region_inputs */
} bsm_whole_region;

BSM_NODISCARD bsm_status bsm_whole_region_find(const bsm_plan *plan,
                                               bsm_arena *arena,
                                               bsm_whole_region *out);
/* Tensors without data, of the arrays' dtypes and dims, as inputs of the
 * region. They stay until the next call. */
const bsm_ivalue *bsm_whole_region_inputs(const bsm_whole_region *whole,
                                          const bsm_array *inputs);
/* Whether every output i of the plan is output i of the engine and has the
 * dtype and dims that the engine says. */
bool bsm_whole_region_fits(const bsm_whole_region *whole,
                           const bsm_region_plan *planned);

#endif /* BSM_RUNTIME_SHAPES_WHOLE_REGION_H_ */
