/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on symbols, and ops whose results only the run will tell. */
#ifndef BSM_LOWERING_SPECIALIZE_OPS_UNKNOWN_RESULTS_H_
#define BSM_LOWERING_SPECIALIZE_OPS_UNKNOWN_RESULTS_H_

#include "lowering/specialize/ops/ops.h"

/* Writes the op down. `op`: its reference implementation, or NULL. What of its
 * results follows from types, dims and worlds is known all the same. */
BSM_NODISCARD bsm_status bsm_spec_apply_unknown(
    bsm_spec *s, const bsm_schema *schema, const bsm_aten_op *op,
    const bsm_ivalue *args, size_t n, bsm_ivalue *outs, size_t n_outs);
/* Writes it down, and every result becomes a symbol; a list of known length one
 * of symbols. */
BSM_NODISCARD bsm_status bsm_spec_apply_opaque(bsm_spec *s,
                                               const bsm_schema *schema,
                                               const bsm_ivalue *args, size_t n,
                                               bsm_ivalue *outs, size_t n_outs);

#endif /* BSM_LOWERING_SPECIALIZE_OPS_UNKNOWN_RESULTS_H_ */
