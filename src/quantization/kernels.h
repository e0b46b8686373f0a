/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of convolutions and deconvolutions as passes change them: by output
 * and input channel, whichever the layer. */
#ifndef BSM_QUANTIZATION_KERNELS_H_
#define BSM_QUANTIZATION_KERNELS_H_

#include "network/layer.h"

typedef struct bsm_kernel {
  float *values; /* the layer's own, to be changed */
  int64_t outs, groups;
  int64_t ins_each, outs_each; /* of a group */
  int64_t taps;
  bool turned; /* of a deconvolution: input channels come first */
} bsm_kernel;

/* Gives the layer a kernel of its own in the network's memory, with what was
 * deferred done. */
BSM_NODISCARD bsm_status bsm_kernel_open(bsm_layer *layer, bsm_kernel *out);

/* The taps from input channel `in` of the whole input, which has to be in the
 * group of output channel `out`. */
static inline float *bsm_kernel_taps(const bsm_kernel *k, int64_t out,
                                     int64_t in) {
  const int64_t within = in % k->ins_each;
  const int64_t at = k->turned ? in * k->outs_each + out % k->outs_each
                               : out * k->ins_each + within;
  return k->values + at * k->taps;
}
/* The first input channel of the group of an output channel. */
static inline int64_t bsm_kernel_first_in(const bsm_kernel *k, int64_t out) {
  return out / k->outs_each * k->ins_each;
}

/* Gives the layer a bias of its own, zero where it had none. */
BSM_NODISCARD bsm_status bsm_own_bias(bsm_network *net, bsm_weights *bias,
                                      int64_t count, float **out);

#endif /* BSM_QUANTIZATION_KERNELS_H_ */
