/* SPDX-License-Identifier: Apache-2.0 */
/* The description of a plan as bytes: what an engine file holds besides the
 * header and the weights. Weights are named by offset and size into the file's
 * weights section. */
#ifndef BSM_ENGINE_PLAN_BYTES_H_
#define BSM_ENGINE_PLAN_BYTES_H_

#include "engine/byte_reader.h"
#include "engine/plan.h"

/* `offsets[i]`: the offset of weights i in the weights section. The plan's own
 * weights come first, then those of its program's segments, in order. */
BSM_NODISCARD bsm_status bsm_plan_to_bytes(const bsm_plan *plan,
                                           const uint64_t *offsets,
                                           bsm_arena *arena, bsm_str *out);

/* The file's weights. */
typedef struct bsm_weights_section {
  const uint8_t *data;
  uint64_t size;
} bsm_weights_section;

/* Weights point into `weights`. `minor`: the minor version of the bytes' format
 * (engine_file.h). `segment`: the plan is a segment of a program, so it must
 * not have a program itself. */
BSM_NODISCARD bsm_status bsm_plan_from_bytes(bsm_str bytes, uint32_t minor,
                                             const bsm_weights_section *weights,
                                             bool segment, bsm_arena *arena,
                                             bsm_plan **out);

/* The same for the program of a plan, which may have none; the two functions
 * above call these. */
BSM_NODISCARD bsm_status bsm_program_to_bytes(const bsm_plan *plan,
                                              const uint64_t *offsets,
                                              bsm_text *out);
BSM_NODISCARD bsm_status bsm_program_from_bytes(
    bsm_byte_reader *r, const bsm_weights_section *weights, bsm_plan *plan);

#endif /* BSM_ENGINE_PLAN_BYTES_H_ */
