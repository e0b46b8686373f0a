/* SPDX-License-Identifier: Apache-2.0 */
/* Which layers of a network int8 can compute, and which tensors are quantized
 * for them.
 *
 * A site is a convolution, a deconvolution, or a matrix multiply with one
 * constant matrix, in float32, whose input nobody has quantized yet. Its input
 * is quantized. Where that comes from a layer that only moves or selects values
 * (pooling by maximum, reshapes, concatenations), so is what that layer reads,
 * and all of these tensors share one range: so the layer between can work on
 * the integers, and changes none of them. */
#ifndef BSM_QUANTIZATION_QUANTIZABLE_H_
#define BSM_QUANTIZATION_QUANTIZABLE_H_

#include "network/layer.h"

typedef struct bsm_site {
  bsm_layer *layer;
  bsm_itensor *input;   /* the operand that is no constant */
  bsm_itensor *matrix;  /* the constant operand; NULL: a convolution */
  const char *name;     /* of its output, which names it */
  int32_t sum_axis;     /* of the input: the channels that products sum over */
  int64_t out_channels; /* each has a scale of its own */
  double operations;
} bsm_site;

typedef struct bsm_quantizable {
  BSM_VEC(bsm_site) sites;        /* in the order of the layers */
  BSM_VEC(bsm_itensor *) tensors; /* that are quantized, in any order */
  uint32_t *group;       /* by tensor id: that of the range; UINT32_MAX: none */
  int32_t *channel_axis; /* by tensor id: sum_axis of its first site; -1 */
  size_t tensor_count;   /* of the network */
} bsm_quantizable;

/* In `arena`. */
BSM_NODISCARD bsm_status bsm_find_quantizable(const bsm_network *net,
                                              bsm_arena *arena,
                                              bsm_quantizable *out);

/* Whether a layer may read the quantized form of its inputs: it computes in
 * int8 itself, or can be fused with what does. */
bool bsm_reads_quantized(const bsm_layer *layer);

#endif /* BSM_QUANTIZATION_QUANTIZABLE_H_ */
