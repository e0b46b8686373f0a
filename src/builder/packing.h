/* SPDX-License-Identifier: Apache-2.0 */
/* A description of packed weights, from which they can be made: the memory that
 * they come from, and what is done with it. The key of derived weights in a
 * store is computed from this alone. */
#ifndef BSM_BUILDER_PACKING_H_
#define BSM_BUILDER_PACKING_H_

#include "builder/weights_store.h"
#include "engine/plan.h"

/* Weights in memory as the network has them. */
typedef struct bsm_raw_weights {
  const void *values; /* NULL when empty */
  uint64_t size;      /* bytes */
  bsm_dtype dtype;
} bsm_raw_weights;

#define BSM_PACKING_MAX_RAW 16
#define BSM_PACKING_MAX_HOW 6

/* Everything except the addresses is part of the key. What `make` does must
 * follow from the kind of the step and the other members. */
typedef struct bsm_packing {
  int64_t in_maps;
  bsm_dtype dtype; /* of the values that the target gets */
  bool transposed;
  const bsm_raw_weights *raw;
  size_t raw_count;
  const double *factor; /* a factor for each output map, or NULL */
  size_t factor_count;
  int64_t how[BSM_PACKING_MAX_HOW]; /* whatever else `make` depends on */
  /* Makes the values for the target, in `scratch`. NULL: the values are raw[0].
   */
  bsm_status (*make)(bsm_arena *scratch, const struct bsm_packing *packing,
                     const void **values);
} bsm_packing;

/* Weights that are packed when the tactic of their step has been chosen,
 * because the tactic may require another form. */
typedef struct bsm_pending_pack {
  uint32_t step;           /* index; its weights[0] */
  bsm_step_params *params; /* of the step, for its form */
  bsm_packing packing;     /* raw weights in memory that the build keeps */
} bsm_pending_pack;

/* The values that are packed, as the target's pack takes them; in `scratch`, or
 * borrowed. */
BSM_NODISCARD bsm_status bsm_packing_values(bsm_arena *scratch,
                                            const bsm_packing *packing,
                                            const void **values);

/* The part of keys that depends on the target: its name, and the version of its
 * packing. */
typedef struct bsm_packer {
  const char *name;
  uint32_t version;
} bsm_packer;

/* The key of these weights packed for `step`, of `size` bytes. Raw weights in
 * constants of the store are identified by their place, others by their
 * content; with `store` NULL all are identified by content. */
BSM_NODISCARD bsm_status bsm_packing_key(bsm_weights_store *store,
                                         bsm_packer packer,
                                         const bsm_plan_step *step,
                                         const bsm_packing *packing,
                                         uint64_t size, bsm_weights_key *out);

/* Within one build: raw weights are identified by their address. */
BSM_NODISCARD bsm_status bsm_packing_key_in_memory(bsm_packer packer,
                                                   const bsm_plan_step *step,
                                                   const bsm_packing *packing,
                                                   uint64_t size,
                                                   bsm_weights_key *out);

/* raw[index] converted to the packing's dtype: in `scratch`, or itself. */
BSM_NODISCARD bsm_status bsm_packing_cast(bsm_arena *scratch,
                                          const bsm_packing *packing,
                                          size_t index, const void **values);

#endif /* BSM_BUILDER_PACKING_H_ */
