/* SPDX-License-Identifier: Apache-2.0 */
/* Values that may be one of several: lists and dicts that others have, tensors
 * and symbols that come out of a branch or a container. A write to one would
 * have to reach the others, so it is refused. */
#ifndef BSM_LOWERING_SPECIALIZE_MEMORY_CONTAINER_ALIASES_H_
#define BSM_LOWERING_SPECIALIZE_MEMORY_CONTAINER_ALIASES_H_

#include "lowering/specialize/memory/memory.h"

/* The container may be the same as another one, depending on data: it must not
 * be written to any more. */
BSM_NODISCARD bsm_status bsm_spec_share_container(bsm_spec *s,
                                                  const bsm_ivalue *container);
bool bsm_spec_is_shared(const bsm_spec *s, const bsm_ivalue *container);
/* BSM_UNSUPPORTED when it is. */
BSM_NODISCARD bsm_status bsm_spec_check_shared(bsm_spec *s,
                                               const bsm_ivalue *container);
/* No list or dict in `value` may be written to. */
BSM_NODISCARD bsm_status bsm_spec_share_all(bsm_spec *s,
                                            const bsm_ivalue *value);

/* Other values may be the symbol, or share its memory: neither it nor what it
 * is a view of may be written to any more. */
void bsm_spec_alias_symbol(bsm_spec *s, const bsm_ivalue *symbol);
/* A value inside a dynamic container, or that another may be from now on, is
 * reached in ways that are not followed: its tensors, lists and dicts must not
 * be written to any more. */
BSM_NODISCARD bsm_status bsm_spec_note_shared(bsm_spec *s,
                                              const bsm_ivalue *item);
/* The same of what a list or dict holds. */
BSM_NODISCARD bsm_status bsm_spec_note_items(bsm_spec *s,
                                             const bsm_ivalue *container);

/* Which lists and dicts the results of a block hold, and how often: a block
 * gives each of its results a new identity. */
typedef struct bsm_spec_references {
  bsm_ptrmap counts; /* bsm_list, bsm_dict -> how often */
} bsm_spec_references;
/* Counts those of a result, or of what else keeps values. */
BSM_NODISCARD bsm_status bsm_spec_count_references(
    bsm_spec *s, bsm_spec_references *references, const bsm_ivalue *value);
/* Whether somebody else has a list or dict that is in `value`: another result,
 * something that keeps it, or (`stamp` > 0) what was there before. */
BSM_NODISCARD bsm_status
bsm_spec_may_alias(bsm_spec *s, const bsm_spec_references *references,
                   const bsm_ivalue *value, uint64_t stamp, bool *out);

#endif /* BSM_LOWERING_SPECIALIZE_MEMORY_CONTAINER_ALIASES_H_ */
