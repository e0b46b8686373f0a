/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a residual If or Loop. */
#ifndef BSM_LOWERING_SPECIALIZE_CONTROL_RESIDUAL_BLOCK_H_
#define BSM_LOWERING_SPECIALIZE_CONTROL_RESIDUAL_BLOCK_H_

#include "lowering/specialize/memory/memory.h"

/* A block while it is filled, and what it did. */
typedef struct bsm_residual_block {
  bsm_block *block;
  bool raised;   /* it always ends with an exception */
  bool may_fail; /* other shapes do not get here: a failure is an exception */
  bool on_data; /* the data say whether it runs: so is one of the model's ops */
  bsm_spec_snapshot left;   /* residual values at its end */
  bsm_spec_content *writes; /* older locations, with their new content */
  size_t write_count;
  size_t mark; /* of the undo log */
  bsm_block *outer;
  uint64_t outer_created;
} bsm_residual_block;
/* Opens a new block of `node`, which is not linked yet. */
BSM_NODISCARD bsm_status bsm_residual_block_open(bsm_spec *s, bsm_node *node,
                                                 bsm_residual_block *filled);
/* Runs the nodes of `from` in it. An exception becomes a
 * prim::RaiseException. */
BSM_NODISCARD bsm_status bsm_residual_block_run(bsm_spec *s,
                                                bsm_residual_block *filled,
                                                const bsm_block *from);
/* Remembers the residual values of all tensors and dynamic containers in
 * `value`. */
BSM_NODISCARD bsm_status bsm_residual_block_capture(bsm_spec *s,
                                                    bsm_residual_block *filled,
                                                    const bsm_ivalue *value);
/* Ends it and takes back what it wrote; keeps the first failure. */
BSM_NODISCARD bsm_status bsm_residual_block_close(bsm_spec *s,
                                                  bsm_residual_block *filled,
                                                  bsm_status status);
/* The residual value of a leaf that was captured, or of a symbol or constant,
 * in the closed block. `type`: what it is used as; may be NULL. */
BSM_NODISCARD bsm_status bsm_residual_block_value(
    bsm_spec *s, const bsm_residual_block *filled, const bsm_ivalue *value,
    const bsm_type *type, bsm_value **out);
/* What the block left in the location; NULL: it did not write there. */
const bsm_spec_content *bsm_residual_block_find(
    const bsm_residual_block *filled, bsm_spec_location location);
/* A value that is never read, in the place of one like `like`. */
BSM_NODISCARD bsm_status bsm_spec_placeholder(bsm_spec *s, bsm_block *block,
                                              const bsm_ivalue *like,
                                              const bsm_type *type,
                                              bsm_value **out);

#endif /* BSM_LOWERING_SPECIALIZE_CONTROL_RESIDUAL_BLOCK_H_ */
