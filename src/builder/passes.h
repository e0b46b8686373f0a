/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over the network, one file each. Each keeps the network valid:
 * topological order, dims, dtypes. `scratch` is for the pass alone. */
#ifndef BSM_BUILDER_PASSES_H_
#define BSM_BUILDER_PASSES_H_

#include "network/layer.h"

/* Convolutions and matrix multiplies get a dtype that the backend multiplies
 * in. First: what fuses later must see the roundings. */
BSM_NODISCARD bsm_status bsm_pass_widen_products(bsm_network *net,
                                                 bsm_arena *scratch);
/* Reshapes of the rows of products go before these, and reshapes of reshapes
 * become one. */
BSM_NODISCARD bsm_status bsm_pass_lift_reshapes(bsm_network *net,
                                                bsm_arena *scratch);
/* Identities, and layers that change nothing, disappear. */
BSM_NODISCARD bsm_status bsm_pass_remove_identities(bsm_network *net,
                                                    bsm_arena *scratch);
/* Activations that models spell out become one layer: x * sigmoid(x) -> silu,
 * and so on. */
BSM_NODISCARD bsm_status bsm_pass_recognize_activations(bsm_network *net,
                                                        bsm_arena *scratch);
/* A scale layer (batch norm) goes into the convolution before it. */
BSM_NODISCARD bsm_status bsm_pass_fold_scale(bsm_network *net,
                                             bsm_arena *scratch);
/* Products around a softmax become attention layers. */
BSM_NODISCARD bsm_status bsm_pass_fuse_attention(bsm_network *net,
                                                 bsm_arena *scratch);
/* Bias, scalar factors, residual adds and activations go into convolutions and
 * matrix multiplies. */
BSM_NODISCARD bsm_status bsm_pass_fuse_epilogues(bsm_network *net,
                                                 bsm_arena *scratch);
/* A factor of each channel goes into the pointwise convolution that reads the
 * product. */
BSM_NODISCARD bsm_status bsm_pass_fold_channel_scales(bsm_network *net,
                                                      bsm_arena *scratch);
/* Matrix multiplies of one tensor with constants become one, when all that
 * reads them reads views. */
BSM_NODISCARD bsm_status bsm_pass_merge_products(bsm_network *net,
                                                 bsm_arena *scratch);
/* Element-wise layers become programs, and chains of them one program. */
BSM_NODISCARD bsm_status bsm_pass_fuse_element_wise(bsm_network *net,
                                                    bsm_arena *scratch);

/* After the passes: pointwise and depthwise convolutions in a row become one
 * step, where what lies between would not stay in the caches of so many
 * threads. */
BSM_NODISCARD bsm_status bsm_fuse_chains(bsm_network *net, int threads);

/* All of them in order. */
BSM_NODISCARD bsm_status bsm_run_passes(bsm_network *net,
                                        const bsm_logger *logger);

#endif /* BSM_BUILDER_PASSES_H_ */
