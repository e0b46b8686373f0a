/* SPDX-License-Identifier: Apache-2.0 */
/* What the quantizer puts into a network for one tensor or one site. Layers are
 * appended to the network; the caller moves them to their place. */
#ifndef BSM_QUANTIZATION_QUANTIZE_WEIGHTS_H_
#define BSM_QUANTIZATION_QUANTIZE_WEIGHTS_H_

#include "quantization/quantizable.h"

/* Weights are of int8 or float8_e4m3fn, `dtype`.
 *
 * Rounds the kernel of a convolution to such multiples of the scale of each
 * output channel, and corrects the bias by the means of input channels, which
 * may be NULL. */
BSM_NODISCARD bsm_status bsm_quantize_kernel(const bsm_site *site,
                                             bsm_dtype dtype,
                                             const double *means);
/* A constant of the dtype and its DEQUANTIZE layer in the place of the site's
 * matrix; *out is the tensor to read, NULL when a layer could not be added. */
BSM_NODISCARD bsm_status bsm_quantize_matrix(const bsm_site *site,
                                             bsm_dtype dtype,
                                             const double *means,
                                             bsm_itensor **out);

/* QUANTIZE and DEQUANTIZE of a range: the tensor to read, or NULL. */
bsm_itensor *bsm_add_static_quantization(bsm_network *net, bsm_itensor *t,
                                         double low, double high,
                                         bool is_unsigned);
/* The same to float8_e4m3fn, whose greatest number is that of the range. */
bsm_itensor *bsm_add_float8_quantization(bsm_network *net, bsm_itensor *t,
                                         double low, double high);
/* The same with an int8 scale for each row, the last axis, found when it runs.
 */
bsm_itensor *bsm_add_dynamic_quantization(bsm_network *net, bsm_itensor *t);
/* Whether the site's product sums over the rows of its input. */
bool bsm_can_be_dynamic(const bsm_site *site);

#endif /* BSM_QUANTIZATION_QUANTIZE_WEIGHTS_H_ */
