/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that emit layers, by family. Each gives every output of its
 * layer a tensor (e->value). */
#ifndef BSM_BUILDER_EMIT_INTERNAL_H_
#define BSM_BUILDER_EMIT_INTERNAL_H_

#include "builder/emitter.h"

/* emit_window.c: windows that slide over channels-last tensors */
BSM_NODISCARD bsm_status bsm_emit_convolution(bsm_emitter *e,
                                              const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_emit_pooling(bsm_emitter *e,
                                          const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_emit_resize(bsm_emitter *e,
                                         const bsm_layer *layer);

/* emit_matrix.c */
BSM_NODISCARD bsm_status bsm_emit_matrix_multiply(bsm_emitter *e,
                                                  const bsm_layer *layer);

/* emit_element_wise.c */
BSM_NODISCARD bsm_status bsm_emit_element_wise(bsm_emitter *e,
                                               const bsm_layer *layer);

/* emit_rows.c: softmax, normalization, reduce, top-k, gather */
BSM_NODISCARD bsm_status bsm_emit_softmax(bsm_emitter *e,
                                          const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_emit_normalization(bsm_emitter *e,
                                                const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_emit_reduce(bsm_emitter *e,
                                         const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_emit_top_k(bsm_emitter *e, const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_emit_gather(bsm_emitter *e,
                                         const bsm_layer *layer);

/* emit_move.c: layers that only move data, mostly views */
BSM_NODISCARD bsm_status bsm_emit_shuffle(bsm_emitter *e,
                                          const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_emit_slice(bsm_emitter *e, const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_emit_concatenation(bsm_emitter *e,
                                                const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_emit_expand(bsm_emitter *e,
                                         const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_emit_identity(bsm_emitter *e,
                                           const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_emit_constant_layer(bsm_emitter *e,
                                                 const bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_emit_shape(bsm_emitter *e, const bsm_layer *layer);

/* The epilogue of a layer as a step has it. */
bsm_step_epilogue bsm_emit_epilogue(const bsm_epilogue *epilogue);

#endif /* BSM_BUILDER_EMIT_INTERNAL_H_ */
