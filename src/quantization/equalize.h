/* SPDX-License-Identifier: Apache-2.0 */
/* Cross-layer equalization: two convolutions, the second of which alone reads
 * the first, through relu or nothing, can pass each channel between them in
 * another scale. It is chosen so that the channel's weights are as great before
 * as behind: then no channel is so small that steps for the others are too
 * coarse for it. What the network computes stays the same, but for roundings.
 *
 * Requires: scale layers are folded. */
#ifndef BSM_QUANTIZATION_EQUALIZE_H_
#define BSM_QUANTIZATION_EQUALIZE_H_

#include "network/layer.h"

/* `pairs`: the number of pairs of layers that were scaled. */
BSM_NODISCARD bsm_status bsm_equalize(bsm_network *net, bsm_arena *scratch,
                                      size_t *pairs);

#endif /* BSM_QUANTIZATION_EQUALIZE_H_ */
