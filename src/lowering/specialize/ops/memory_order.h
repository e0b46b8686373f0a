/* SPDX-License-Identifier: Apache-2.0 */
/* Draws in the order of memory.
 *
 * PyTorch fills a tensor with random numbers in the order of its memory, and
 * rand_like, dropout and their like make tensors with the strides of their
 * argument. Tensors of a lowered graph have no strides, so a draw for a tensor
 * whose dims are in another order is one for its transposed view. */
#ifndef BSM_LOWERING_SPECIALIZE_OPS_MEMORY_ORDER_H_
#define BSM_LOWERING_SPECIALIZE_OPS_MEMORY_ORDER_H_

#include "lowering/specialize/ops/ops.h"

/* Lowers the call as one on transposed tensors, when its first argument is a
 * tensor that has its dims in another order in memory; otherwise *done is
 * false. */
BSM_NODISCARD bsm_status bsm_spec_draw_in_memory_order(
    bsm_spec *s, const bsm_schema *schema, const bsm_ivalue *args, size_t n,
    bsm_ivalue *outs, size_t n_outs, bool *done);

#endif /* BSM_LOWERING_SPECIALIZE_OPS_MEMORY_ORDER_H_ */
