/* SPDX-License-Identifier: Apache-2.0 */
/* The quantizer: a network of float32 gets QUANTIZE and DEQUANTIZE layers, for
 * int8 or for fp8.
 *
 *   x -> convolution(w)
 * becomes
 *   x -> quantize -> dequantize -> convolution(w')
 * with w' on whole multiples of a scale for each output channel; and a constant
 * matrix of a product becomes a constant of int8 and a DEQUANTIZE layer with
 * such scales. Weights are symmetric, -127 to 127. Activations have one scale,
 * uint8 with a zero point or int8 without, as the target wants; or, for
 * products whose layer is dynamic, an int8 scale for each row that is found
 * when it runs.
 *
 * For fp8 weights and activations are float8_e4m3fn, whose greatest number is
 * that of a channel, or what the calibration has seen of an activation. Layers
 * that tensor cores do not multiply, deconvolutions and depthwise convolutions,
 * stay as they are; none is dynamic.
 *
 * All readers of a tensor that can work on integers read the quantized form.
 * With the means of a tensor's channels, what rounding the weights adds to the
 * mean of an output is taken off the bias.
 *
 * Both steps change the network in place; neither changes names of tensors that
 * the network had when it was prepared. */
#ifndef BSM_QUANTIZATION_QUANTIZE_NETWORK_H_
#define BSM_QUANTIZATION_QUANTIZE_NETWORK_H_

#include "builder/precision.h"
#include "quantization/calibration.h"
#include "quantization/choose_int8.h"
#include "quantization/quantizable.h"

/* Before observing and before quantizing: names become unique, scale layers are
 * folded, and with `equalize` channels are scaled. */
BSM_NODISCARD bsm_status bsm_prepare_quantization(bsm_network *net,
                                                  const bsm_target *target,
                                                  bool equalize,
                                                  const bsm_logger *logger);

typedef struct bsm_quantize_options {
  const bsm_calibration *calibration;
  const bsm_target *target;
  const bsm_logger *logger;
  bsm_precision precision; /* INT8 or FP8 */
  /* Rules about single layers, which come before the calibration; or NULL. A
   * rule for int8 counts the layers that it is about. */
  bsm_precision_policy *policy;
  bool rules_alone; /* only the layers that a rule wants in that precision */
  /* Takes the calibration's word for a layer unless this says otherwise; NULL:
   * always. */
  bool (*takes)(const void *user, const char *layer);
  const void *user;
  /* Counts the layers that stay in float32 because the target expects all of
   * them together to be faster so; NULL: speed does not matter. Rules and
   * `takes` come before. */
  size_t *slower;
  bool was_slower; /* so it has been decided before, with other weights */
  /* By site, in their order: those that stay as they are where nothing else
   * decides, as somebody has found out; counted as slower. NULL: the target
   * estimates. */
  const bool *slow_sites;
  bsm_site_facts *facts; /* filled in, or NULL */
} bsm_quantize_options;

/* `count`: the layers that compute in that precision now. */
BSM_NODISCARD bsm_status bsm_quantize_network(
    bsm_network *net, const bsm_quantize_options *options, size_t *count);

#endif /* BSM_QUANTIZATION_QUANTIZE_NETWORK_H_ */
