/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping transformed weights exact enough.
 *
 * Winograd's algorithm computes the same convolution with other roundings, the
 * coarser the greater its tiles. Two bounds hold for what a build may use:
 * the error of each layer against a computation in double precision, as a part
 * of its greatest output; and the difference that all of them together make to
 * the outputs of the whole network. Both are measured, on activations that the
 * network itself makes of random inputs. */
#ifndef BSM_BACKEND_CPU_FIDELITY_H_
#define BSM_BACKEND_CPU_FIDELITY_H_

#include "builder/target.h"

/* Of a layer, and of the network's outputs, relative to the greatest of them.
 * The project promises 1e-4 of PyTorch's results for whole networks: the rest
 * is for other inputs and for the roundings that every tactic has. */
#define BSM_FIDELITY_LAYER 1e-5
#define BSM_FIDELITY_NETWORK 4e-5

/* check_accuracy of the target: lowers the forms of convolutions whose weights
 * are still pending, until the bounds hold. */
BSM_NODISCARD bsm_status bsm_cpu_check_accuracy(const bsm_target *target,
                                                const bsm_plan_draft *draft);

#endif /* BSM_BACKEND_CPU_FIDELITY_H_ */
