/* SPDX-License-Identifier: Apache-2.0 */
/* Ops by schema on abstract values: computed when everything is known, run for
 * their shapes and written down when not. */
#ifndef BSM_LOWERING_SPECIALIZE_OPS_OPS_H_
#define BSM_LOWERING_SPECIALIZE_OPS_OPS_H_

#include "lowering/specialize/values/abstract_value.h"

struct bsm_spec_nested;

typedef struct bsm_spec_ops {
  bsm_ptrmap nested;               /* tensors, symbols -> bsm_spec_nested */
  struct bsm_spec_nested *aligned; /* the last that was asked for; NULL: none */
  bsm_ptrmap quantized; /* tensors, symbols -> integers and their grid */
  bool warned_of_training;
} bsm_spec_ops;

BSM_NODISCARD bsm_status bsm_spec_ops_init(bsm_spec *s);

/* The implementation of bsm_spec_op (values/interpreter.h). */
BSM_NODISCARD bsm_status bsm_spec_apply_op(bsm_spec *s,
                                           const bsm_schema *schema,
                                           bsm_ivalue *args, size_t n,
                                           bsm_ivalue *outs, size_t n_outs);

#endif /* BSM_LOWERING_SPECIALIZE_OPS_OPS_H_ */
