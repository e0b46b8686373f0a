/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over the network, one file each. Each keeps the network valid:
 * topological order, dims, dtypes. They ask the target what it allows.
 * `scratch` is the pass's own memory. A target may bring further passes. */
#ifndef BSM_BUILDER_PASSES_H_
#define BSM_BUILDER_PASSES_H_

#include "builder/target.h"

/* QUANTIZE and DEQUANTIZE layers that the target does not run become
 * element-wise layers. This is the first pass, because the others fuse those.
 */
BSM_NODISCARD bsm_status bsm_pass_lower_quantization(const bsm_target *target,
                                                     bsm_network *net,
                                                     bsm_arena *scratch);
/* Convolutions and matrix multiplies get a dtype that the target multiplies in.
 * Runs before the passes that fuse, which must see the roundings. */
BSM_NODISCARD bsm_status bsm_pass_widen_products(const bsm_target *target,
                                                 bsm_network *net,
                                                 bsm_arena *scratch);
/* Reshapes of the rows of products move before the products, and reshapes of
 * reshapes become one. */
BSM_NODISCARD bsm_status bsm_pass_lift_reshapes(const bsm_target *target,
                                                bsm_network *net,
                                                bsm_arena *scratch);
/* Identities, and layers that change nothing, disappear. */
BSM_NODISCARD bsm_status bsm_pass_remove_identities(const bsm_target *target,
                                                    bsm_network *net,
                                                    bsm_arena *scratch);
/* Activations that models write as formulas become one layer: x * sigmoid(x)
 * becomes silu, and so on. */
BSM_NODISCARD bsm_status bsm_pass_recognize_norms(const bsm_target *target,
                                                  bsm_network *net,
                                                  bsm_arena *scratch);
BSM_NODISCARD bsm_status bsm_pass_recognize_activations(
    const bsm_target *target, bsm_network *net, bsm_arena *scratch);
/* A scale layer (batch norm) is folded into the convolution before it. */
BSM_NODISCARD bsm_status bsm_pass_fold_scale(const bsm_target *target,
                                             bsm_network *net,
                                             bsm_arena *scratch);
/* Convolutions of one tensor that are only added up become one. */
BSM_NODISCARD bsm_status bsm_pass_sum_convolutions(const bsm_target *target,
                                                   bsm_network *net,
                                                   bsm_arena *scratch);
/* Products around a softmax become attention layers. */
BSM_NODISCARD bsm_status bsm_pass_fuse_attention(const bsm_target *target,
                                                 bsm_network *net,
                                                 bsm_arena *scratch);
/* Permutations of rows move past products, and behind what splits dimensions.
 */
BSM_NODISCARD bsm_status bsm_pass_move_permutations(const bsm_target *target,
                                                    bsm_network *net,
                                                    bsm_arena *scratch);
/* Bias, scalar factors, residual adds and activations are fused into
 * convolutions and matrix multiplies. */
BSM_NODISCARD bsm_status bsm_pass_fuse_epilogues(const bsm_target *target,
                                                 bsm_network *net,
                                                 bsm_arena *scratch);
/* Matrix multiplies of one tensor with constants become one, when all readers
 * can read views. */
BSM_NODISCARD bsm_status bsm_pass_merge_products(const bsm_target *target,
                                                 bsm_network *net,
                                                 bsm_arena *scratch);
/* Of targets that multiply bytes (bsm_step_int8_convolution), in this order:
 * what is quantized gets one form, QUANTIZE layers move before layers that only
 * move numbers, those that are left over go, products of what is dequantized
 * become products of bytes, and several of one tensor become one. */
BSM_NODISCARD bsm_status bsm_pass_unify_quantizers(const bsm_target *target,
                                                   bsm_network *net,
                                                   bsm_arena *scratch);
BSM_NODISCARD bsm_status bsm_pass_move_quantizers(const bsm_target *target,
                                                  bsm_network *net,
                                                  bsm_arena *scratch);
BSM_NODISCARD bsm_status bsm_pass_skip_quantizers(const bsm_target *target,
                                                  bsm_network *net,
                                                  bsm_arena *scratch);
BSM_NODISCARD bsm_status bsm_pass_fuse_int8(const bsm_target *target,
                                            bsm_network *net,
                                            bsm_arena *scratch);
BSM_NODISCARD bsm_status bsm_pass_merge_int8(const bsm_target *target,
                                             bsm_network *net,
                                             bsm_arena *scratch);
/* Normalizations quantize what they make, where the target has that. */
BSM_NODISCARD bsm_status bsm_pass_quantize_norms(const bsm_target *target,
                                                 bsm_network *net,
                                                 bsm_arena *scratch);
/* Element-wise layers become programs, and chains of them one program. */
BSM_NODISCARD bsm_status bsm_pass_fuse_element_wise(const bsm_target *target,
                                                    bsm_network *net,
                                                    bsm_arena *scratch);

/* Called with the network after each pass, and once more after the last one, as
 * "optimized". */
typedef struct bsm_pass_watch {
  void (*after_pass)(void *user, const char *pass, const bsm_network *net);
  void *user;
} bsm_pass_watch;

/* Runs all passes in order, with those of the target. `watch` may be NULL. */
BSM_NODISCARD bsm_status bsm_run_passes(bsm_network *net,
                                        const bsm_target *target,
                                        const bsm_pass_watch *watch,
                                        const bsm_logger *logger);
/* The names that a watch may get, in order, with the passes of every target
 * that is linked in; NULL after the last. */
const char *bsm_builder_pass_name(size_t index);

#endif /* BSM_BUILDER_PASSES_H_ */
