/* SPDX-License-Identifier: Apache-2.0 */
/* Containers and constants as values of the residual graph. */
#ifndef BSM_LOWERING_SPECIALIZE_MEMORY_RESIDUAL_CONTAINERS_H_
#define BSM_LOWERING_SPECIALIZE_MEMORY_RESIDUAL_CONTAINERS_H_

#include "lowering/specialize/memory/memory.h"

/* A list or dict as an argument of an op that does not keep it: made for this
 * use alone. */
BSM_NODISCARD bsm_status bsm_spec_residual_items(bsm_spec *s,
                                                 const bsm_ivalue *container,
                                                 const bsm_type *type,
                                                 bsm_value **out);
BSM_NODISCARD bsm_status bsm_spec_residual_tuple(bsm_spec *s,
                                                 const bsm_ivalue *tuple,
                                                 bsm_value **out);
/* Of a known value; a list is copied, as it may be appended to later. */
BSM_NODISCARD bsm_status bsm_spec_residual_constant(bsm_spec *s,
                                                    const bsm_ivalue *value,
                                                    const bsm_type *type,
                                                    bsm_value **out);
/* A copy that the run makes of a list or dict, to be written to. */
BSM_NODISCARD bsm_status bsm_spec_copy_container(bsm_spec *s, bsm_value *from,
                                                 const bsm_type *type,
                                                 bsm_value **out);

#endif /* BSM_LOWERING_SPECIALIZE_MEMORY_RESIDUAL_CONTAINERS_H_ */
