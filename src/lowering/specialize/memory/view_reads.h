/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a view from its parent's value. */
#ifndef BSM_LOWERING_SPECIALIZE_MEMORY_VIEW_READS_H_
#define BSM_LOWERING_SPECIALIZE_MEMORY_VIEW_READS_H_

#include "lowering/specialize/memory/memory.h"

/* Emits the read; *out is `parent` itself for a view of all of it. */
BSM_NODISCARD bsm_status bsm_spec_read_view(bsm_spec *s, bsm_spec_tensor *view,
                                            bsm_value *parent, bsm_value **out);
/* A constant of the residual graph: for each element of the view, its row-major
 * index in the base. BSM_UNSUPPORTED: its place depends on data, or it has
 * another dtype. */
BSM_NODISCARD bsm_status bsm_spec_view_indices(bsm_spec *s,
                                               const bsm_spec_tensor *view,
                                               bsm_value **out);
/* Emits at the current place, with the source of the view. */
bsm_node_emitter bsm_spec_view_emitter(const bsm_spec *s,
                                       const bsm_spec_tensor *view);

#endif /* BSM_LOWERING_SPECIALIZE_MEMORY_VIEW_READS_H_ */
