/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the shapes in a range that get a plan of their own. */
#ifndef BSM_COMPILER_PIPELINE_VARIANT_SHAPES_H_
#define BSM_COMPILER_PIPELINE_VARIANT_SHAPES_H_

#include "base/arena.h"
#include "bessemer/compiler.h"

/* At most this many. */
#define BSM_MAX_VARIANTS 8

/* Makes copies of the specs with fixed shapes, the optimal one first: all
 * shapes when there are few, otherwise the optimal, smallest and largest.
 * *count is 0 when nothing ranges. */
BSM_NODISCARD bsm_status bsm_variant_shapes(bsm_arena *arena,
                                            const bsm_input_spec *specs,
                                            size_t spec_count,
                                            bsm_input_spec **out,
                                            size_t *count);

/* A copy of the specs with fixed shapes: dims that range so have `size`,
 * all others are optimal. */
BSM_NODISCARD bsm_status bsm_one_shape(bsm_arena *arena,
                                       const bsm_input_spec *specs,
                                       size_t spec_count, int64_t min,
                                       int64_t opt, int64_t max, int64_t size,
                                       bsm_input_spec **out);

#endif /* BSM_COMPILER_PIPELINE_VARIANT_SHAPES_H_ */
