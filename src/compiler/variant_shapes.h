/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of an engine whose inputs range that get a plan of their own. */
#ifndef BSM_COMPILER_VARIANT_SHAPES_H_
#define BSM_COMPILER_VARIANT_SHAPES_H_

#include "base/arena.h"
#include "bessemer/compiler.h"

/* At most this many. */
#define BSM_MAX_VARIANTS 8

/* Copies of the specs with fixed shapes, the optimal one first: every shape
 * when there are few, else the optimal, smallest and largest. *count is 0 when
 * nothing ranges. */
BSM_NODISCARD bsm_status bsm_variant_shapes(bsm_arena *arena,
                                            const bsm_input_spec *specs,
                                            size_t spec_count,
                                            bsm_input_spec **out,
                                            size_t *count);

#endif /* BSM_COMPILER_VARIANT_SHAPES_H_ */
