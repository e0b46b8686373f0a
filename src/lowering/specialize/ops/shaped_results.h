/* SPDX-License-Identifier: Apache-2.0 */
/* Results of an op that was run, on values of which all shapes are known. */
#ifndef BSM_LOWERING_SPECIALIZE_OPS_SHAPED_RESULTS_H_
#define BSM_LOWERING_SPECIALIZE_OPS_SHAPED_RESULTS_H_

#include "lowering/specialize/ops/ops.h"

/* Known results stand, the rest is written down; views are noted as such. */
BSM_NODISCARD bsm_status bsm_spec_bind_shaped(bsm_spec *s,
                                              const bsm_schema *schema,
                                              const bsm_ivalue *args, size_t n,
                                              bsm_ivalue *outs, size_t n_outs);

#endif /* BSM_LOWERING_SPECIALIZE_OPS_SHAPED_RESULTS_H_ */
