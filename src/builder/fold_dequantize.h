/* SPDX-License-Identifier: Apache-2.0 */
/* DEQUANTIZE layers of constants that no kernel reads in their integers. */
#ifndef BSM_BUILDER_FOLD_DEQUANTIZE_H_
#define BSM_BUILDER_FOLD_DEQUANTIZE_H_

#include "network/layer.h"

/* A DEQUANTIZE layer of constants of 8 bits becomes a constant of float32, with
 * the numbers that it would make; *folded is false for any other layer. */
BSM_NODISCARD bsm_status bsm_fold_dequantize(bsm_layer *layer, bool *folded);

#endif /* BSM_BUILDER_FOLD_DEQUANTIZE_H_ */
