/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the reference library. */
#ifndef BSM_LOWERING_SPECIALIZE_VALUES_REFERENCE_OP_H_
#define BSM_LOWERING_SPECIALIZE_VALUES_REFERENCE_OP_H_

#include "lowering/specialize/values/specializer.h"

/* NULL: the library has no such op. */
const bsm_aten_op *bsm_spec_find_op(const bsm_spec *s,
                                    const bsm_schema *schema);
/* Calls the reference implementation alone; results are in cx->arena.
 * BSM_DATA_DEPENDENT: it needs data that a meta tensor has not. */
BSM_NODISCARD bsm_status bsm_spec_call(bsm_spec *s, const bsm_aten_op *op,
                                       const bsm_ivalue *args, size_t n,
                                       bsm_ivalue *outs, size_t n_outs);

/* Whether a call failed because it takes more work than a constant is worth, or
 * more memory than there is: the engine then does it. Not where all has to be
 * known (bsm_evaluate). */
bool bsm_spec_is_left(bsm_spec *s, const bsm_status status);

/* The results' shapes: all come out without data. */
BSM_NODISCARD bsm_status bsm_spec_call_for_shapes(bsm_spec *s,
                                                  const bsm_aten_op *op,
                                                  const bsm_ivalue *args,
                                                  size_t n, bsm_ivalue *outs,
                                                  size_t n_outs);

#endif /* BSM_LOWERING_SPECIALIZE_VALUES_REFERENCE_OP_H_ */
