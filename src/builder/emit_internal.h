/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that emit layers, by family. Each gives every output of its
 * layer a tensor (e->value). */
#ifndef BSM_BUILDER_EMIT_INTERNAL_H_
#define BSM_BUILDER_EMIT_INTERNAL_H_

#include "builder/emitter.h"

/* emit_window.c: windows that slide over channels-last tensors */
BSM_NODISCARD bsm_status bsm_build_convolution(bsm_emitter *e,
                                               const bsm_layer *layer);
/* emit_int8.c */
BSM_NODISCARD bsm_status bsm_build_int8_convolution(bsm_emitter *e,
                                                    const bsm_layer *layer);
/* The window of a step, of a layer's. */
bsm_step_window bsm_build_window(const bsm_window_params *window);
/* The parameters of a convolution's step, and the packing of its kernel, which
 * points to `raw`. */
bsm_step_convolution bsm_build_convolution_params(const bsm_layer *layer);
bsm_packing bsm_build_kernel_packing(const bsm_layer *layer,
                                     bsm_raw_weights *raw);
/* emit_chain.c: whether a convolution ends a chain, and the step of such a
 * chain. */
bool bsm_build_is_chain(const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_build_chain(bsm_emitter *e,
                                         const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_build_pooling(bsm_emitter *e,
                                           const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_build_resize(bsm_emitter *e,
                                          const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_build_sample(bsm_emitter *e,
                                          const bsm_layer *layer);

/* emit_matrix.c */
BSM_NODISCARD bsm_status bsm_build_matrix_multiply(bsm_emitter *e,
                                                   const bsm_layer *layer);

/* emit_attention.c */
BSM_NODISCARD bsm_status bsm_build_attention(bsm_emitter *e,
                                             const bsm_layer *layer);

/* emit_recurrent.c */
BSM_NODISCARD bsm_status bsm_build_recurrent(bsm_emitter *e,
                                             const bsm_layer *layer);

/* emit_element_wise.c */
BSM_NODISCARD bsm_status bsm_build_element_wise(bsm_emitter *e,
                                                const bsm_layer *layer);

/* emit_rows.c: softmax, normalization, reduce, top-k, scan, non-zero, nms,
 * gather, scatter
 */
BSM_NODISCARD bsm_status bsm_build_softmax(bsm_emitter *e,
                                           const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_build_normalization(bsm_emitter *e,
                                                 const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_build_reduce(bsm_emitter *e,
                                          const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_build_top_k(bsm_emitter *e,
                                         const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_build_scan(bsm_emitter *e, const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_build_regions(bsm_emitter *e,
                                           const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_build_non_zero(bsm_emitter *e,
                                            const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_build_nms(bsm_emitter *e, const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_build_gather(bsm_emitter *e,
                                          const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_build_scatter(bsm_emitter *e,
                                           const bsm_layer *layer);

/* emit_move.c: layers that only move data, mostly views */
BSM_NODISCARD bsm_status bsm_build_shuffle(bsm_emitter *e,
                                           const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_build_slice(bsm_emitter *e,
                                         const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_build_expand(bsm_emitter *e,
                                          const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_build_identity(bsm_emitter *e,
                                            const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_build_constant_layer(bsm_emitter *e,
                                                  const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_build_shape(bsm_emitter *e,
                                         const bsm_layer *layer);

/* emit_concatenation.c */
BSM_NODISCARD bsm_status bsm_build_concatenation(bsm_emitter *e,
                                                 const bsm_layer *layer);

/* emit_plugin.c */
BSM_NODISCARD bsm_status bsm_build_plugin(bsm_emitter *e,
                                          const bsm_layer *layer);

/* emit_aten.c */
BSM_NODISCARD bsm_status bsm_build_aten_call(bsm_emitter *e,
                                             const bsm_layer *layer);

/* Converts the epilogue of a layer to that of a step. */
bsm_step_epilogue bsm_build_epilogue(const bsm_epilogue *epilogue);

#endif /* BSM_BUILDER_EMIT_INTERNAL_H_ */
