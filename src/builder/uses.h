/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of each tensor of a network, an index that is made anew when a
 * pass needs it, and the edits that passes make. */
#ifndef BSM_BUILDER_USES_H_
#define BSM_BUILDER_USES_H_

#include "network/layer.h"

typedef struct bsm_uses {
  bsm_layer ***readers;   /* by tensor id: layers, once for each input slot */
  uint32_t *reader_count; /* by tensor id */
  bool *is_output;        /* by tensor id: of the network */
} bsm_uses;

/* Covers the layers that are not removed. */
BSM_NODISCARD bsm_status bsm_uses_compute(const bsm_network *net,
                                          bsm_arena *arena, bsm_uses *out);

/* The only reader of a tensor that is not an output of the network; NULL when
 * there is none, or more than one. A layer that reads the tensor in two inputs
 * counts as two. */
bsm_layer *bsm_uses_single_reader(const bsm_uses *uses, const bsm_itensor *t);

/* Lets every reader of `from`, and the network's outputs, read `to`, and
 * updates the index, from which removed layers disappear. */
BSM_NODISCARD bsm_status bsm_uses_replace(bsm_network *net, bsm_arena *arena,
                                          bsm_uses *uses, bsm_itensor *from,
                                          bsm_itensor *to);

/* `next` has become part of `layer`, whose output it read alone: removes it,
 * and lets its readers read that output, which is now its own result and has
 * its name. */
BSM_NODISCARD bsm_status bsm_uses_absorb(bsm_network *net, bsm_arena *arena,
                                         bsm_uses *uses, bsm_layer *layer,
                                         bsm_layer *next);
/* Adds the names of a layer that has become part of `layer`, and computes what
 * that one read. */
BSM_NODISCARD bsm_status bsm_layer_name_before(bsm_layer *layer,
                                               const bsm_layer *part);
/* The name of the layer with those of its parts; NULL: out of memory. */
const char *bsm_layer_full_name(const bsm_layer *layer);

/* Drops removed layers, and layers that nothing needs. */
BSM_NODISCARD bsm_status bsm_network_sweep(bsm_network *net, bsm_arena *arena);

#endif /* BSM_BUILDER_USES_H_ */
