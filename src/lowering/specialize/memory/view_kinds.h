/* SPDX-License-Identifier: Apache-2.0 */
/* How a view's elements lie in its parent, from the geometry of both and the op
 * that made the view. */
#ifndef BSM_LOWERING_SPECIALIZE_MEMORY_VIEW_KINDS_H_
#define BSM_LOWERING_SPECIALIZE_MEMORY_VIEW_KINDS_H_

#include "lowering/specialize/memory/memory.h"

/* Sets what the kind needs (dim, start, perm ...) in `view`. `schema`: NULL, by
 * geometry alone. */
bsm_view_kind bsm_spec_view_kind(bsm_spec_tensor *view,
                                 const bsm_tensor *parent,
                                 const bsm_schema *schema,
                                 const bsm_ivalue *args, size_t n);

#endif /* BSM_LOWERING_SPECIALIZE_MEMORY_VIEW_KINDS_H_ */
