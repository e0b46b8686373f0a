/* SPDX-License-Identifier: Apache-2.0 */
/* Norms in training mode: ops that normalise, and writes to the statistics. */
#ifndef BSM_LOWERING_SPECIALIZE_OPS_TRAINING_NORMS_H_
#define BSM_LOWERING_SPECIALIZE_OPS_TRAINING_NORMS_H_

#include "lowering/specialize/ops/ops.h"

/* A batch norm that updates running statistics; *done is false when it does
 * not. */
BSM_NODISCARD bsm_status bsm_spec_training_norm(bsm_spec *s,
                                                const bsm_schema *schema,
                                                const bsm_ivalue *args,
                                                size_t n, bsm_ivalue *outs,
                                                size_t n_outs, bool *done);

#endif /* BSM_LOWERING_SPECIALIZE_OPS_TRAINING_NORMS_H_ */
