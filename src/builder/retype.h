/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that compute in another dtype than their tensors have. Inputs are cast
 * before, weights are converted (large ones when they are packed), and the
 * result is cast back. A tensor is cast once, however many layers read it.
 *
 * One walk over the network in order gives each layer to bsm_retype_layer or to
 * bsm_retyping_keep; bsm_retyping_finish then puts the new order in place. */
#ifndef BSM_BUILDER_RETYPE_H_
#define BSM_BUILDER_RETYPE_H_

#include "network/layer.h"

typedef struct bsm_retyping {
  bsm_network *net;
  bsm_arena *scratch;
  bsm_itensor **cast; /* by tensor id: its last cast, or NULL */
  size_t count;       /* number of tensors at the start */
  /* What reads a result in the dtype that it is computed in gets it as it is,
   * not rounded to the tensor's dtype in between. */
  bool keeps_wide;
  bool defers;                 /* weights keep their values until packed */
  BSM_VEC(bsm_layer *) layers; /* the new order */
} bsm_retyping;

/* The dtype of the floats that a layer reads; UNDEFINED: none. */
bsm_dtype bsm_stored_dtype(const bsm_layer *layer);
/* Kinds whose tensors can be cast around them: results of the dtype of the
 * inputs. */
bool bsm_can_retype(const bsm_layer *layer);
/* Whether a layer moves numbers, and computes nothing. */
bool bsm_layer_moves(const bsm_layer *layer);

BSM_NODISCARD bsm_status bsm_retyping_start(bsm_retyping *w, bsm_network *net,
                                            bsm_arena *scratch);
BSM_NODISCARD bsm_status bsm_retyping_keep(bsm_retyping *w, bsm_layer *layer);
/* Lets the layer compute in `dtype`; casts of the results make the old outputs.
 * Inputs and outputs of other dtypes than the first output's do not change. */
BSM_NODISCARD bsm_status bsm_retype_layer(bsm_retyping *w, bsm_layer *layer,
                                          bsm_dtype dtype);
BSM_NODISCARD bsm_status bsm_retyping_finish(bsm_retyping *w);

#endif /* BSM_BUILDER_RETYPE_H_ */
