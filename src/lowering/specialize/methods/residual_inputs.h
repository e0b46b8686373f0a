/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the method as inputs of the residual graph. */
#ifndef BSM_LOWERING_SPECIALIZE_METHODS_RESIDUAL_INPUTS_H_
#define BSM_LOWERING_SPECIALIZE_METHODS_RESIDUAL_INPUTS_H_

#include "lowering/specialize/methods/methods.h"

/* The inputs of the residual graph, in order; in cx->arena. */
typedef struct bsm_spec_inputs {
  BSM_VEC(const char *) names;
  BSM_VEC(const bsm_lowering_range *) ranges; /* NULL: dims are fixed */
} bsm_spec_inputs;

/* Makes an argument abstract: its meta tensors, and numbers and tensors that
 * the run tells, become inputs called `name` and `name`.PART. The caller's
 * containers are copied: the method may append to them. */
BSM_NODISCARD bsm_status bsm_spec_bind_argument(bsm_spec *s, bsm_ivalue *value,
                                                const char *name, size_t depth,
                                                bsm_spec_inputs *inputs);

#endif /* BSM_LOWERING_SPECIALIZE_METHODS_RESIDUAL_INPUTS_H_ */
