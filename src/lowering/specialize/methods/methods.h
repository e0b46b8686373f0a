/* SPDX-License-Identifier: Apache-2.0 */
/* Methods: functions, objects and the prim:: nodes of their graphs. */
#ifndef BSM_LOWERING_SPECIALIZE_METHODS_METHODS_H_
#define BSM_LOWERING_SPECIALIZE_METHODS_METHODS_H_

#include "lowering/specialize/values/abstract_value.h"

typedef struct bsm_spec_methods {
  bsm_ptrmap paths; /* bsm_object -> "layer1.0" */
} bsm_spec_methods;

BSM_NODISCARD bsm_status bsm_spec_methods_init(bsm_spec *s);

/* Runs a graph in a new frame; `outs` has room for all its outputs. */
BSM_NODISCARD bsm_status bsm_spec_run_graph(bsm_spec *s, const bsm_graph *graph,
                                            const bsm_function *function,
                                            const char *scope,
                                            const bsm_ivalue *args, size_t n,
                                            bsm_ivalue *outs, size_t n_outs);

#endif /* BSM_LOWERING_SPECIALIZE_METHODS_METHODS_H_ */
