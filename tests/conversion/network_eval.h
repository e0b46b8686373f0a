/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a network slowly, each layer by calling reference ops: checks what
 * converters build without a backend. */
#ifndef BSM_TESTS_CONVERSION_NETWORK_EVAL_H_
#define BSM_TESTS_CONVERSION_NETWORK_EVAL_H_

#include "aten/op.h"
#include "network/layer.h"

/* `inputs` in the order of the network's inputs; `outputs` gets as many
 * tensors, in `arena`, as the network has outputs. */
BSM_NODISCARD bsm_status network_eval(const bsm_network *net,
                                      const bsm_aten_library *aten,
                                      bsm_arena *arena,
                                      bsm_tensor *const *inputs,
                                      bsm_tensor **outputs);

#endif /* BSM_TESTS_CONVERSION_NETWORK_EVAL_H_ */
