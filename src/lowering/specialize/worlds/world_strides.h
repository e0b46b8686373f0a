/* SPDX-License-Identifier: Apache-2.0 */
/* as_strided of tensors whose dims range. */
#ifndef BSM_LOWERING_SPECIALIZE_WORLDS_WORLD_STRIDES_H_
#define BSM_LOWERING_SPECIALIZE_WORLDS_WORLD_STRIDES_H_

#include "lowering/specialize/worlds/worlds.h"

/* *done is false when the op is another, or the tensor's strides are not known.
 */
BSM_NODISCARD bsm_status bsm_spec_as_strided(bsm_spec *s,
                                             const bsm_schema *schema,
                                             const bsm_ivalue *args, size_t n,
                                             bsm_ivalue *outs, bool *done);

#endif /* BSM_LOWERING_SPECIALIZE_WORLDS_WORLD_STRIDES_H_ */
