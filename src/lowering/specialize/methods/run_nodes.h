/* SPDX-License-Identifier: Apache-2.0 */
/* Running the nodes of a method in program order. */
#ifndef BSM_LOWERING_SPECIALIZE_METHODS_RUN_NODES_H_
#define BSM_LOWERING_SPECIALIZE_METHODS_RUN_NODES_H_

#include "lowering/specialize/methods/methods.h"

/* The implementation of bsm_spec_run_block (values/interpreter.h). */
BSM_NODISCARD bsm_status bsm_spec_execute_block(bsm_spec *s,
                                                const bsm_block *block);

#endif /* BSM_LOWERING_SPECIALIZE_METHODS_RUN_NODES_H_ */
