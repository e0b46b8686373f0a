/* SPDX-License-Identifier: Apache-2.0 */
/* Storages, their base tensors, and the views made from them: which tensors
 * alias each other. */
#ifndef BSM_LOWERING_SPECIALIZE_MEMORY_ALIAS_H_
#define BSM_LOWERING_SPECIALIZE_MEMORY_ALIAS_H_

#include "lowering/specialize/memory/memory.h"

/* The record of a tensor, made on first sight as the base of its storage, or
 * as a view by geometry of a storage already known. */
BSM_NODISCARD bsm_status bsm_spec_tensor_of(bsm_spec *s, bsm_tensor *t,
                                            bsm_spec_tensor **out);
/* The record if there is one. */
bsm_spec_tensor *bsm_spec_tensor_find(const bsm_spec *s, const bsm_tensor *t);
/* A record of `t` that belongs to no storage yet. */
BSM_NODISCARD bsm_status bsm_spec_tensor_new(bsm_spec *s, bsm_tensor *t,
                                             bsm_spec_tensor **out);
/* Notes that `t`, made by the schema from args, is a view of `parent`. `schema`
 * NULL: by geometry alone. */
BSM_NODISCARD bsm_status bsm_spec_note_view(bsm_spec *s, bsm_tensor *t,
                                            bsm_tensor *parent,
                                            const bsm_schema *schema,
                                            const bsm_ivalue *args, size_t n);
/* A new base whose value is `value`. */
BSM_NODISCARD bsm_status bsm_spec_bind_base(bsm_spec *s, bsm_tensor *t,
                                            bsm_value *value);
/* The same of one that may be any of several. */
BSM_NODISCARD bsm_status bsm_spec_bind_aliased(bsm_spec *s, bsm_tensor *t,
                                               bsm_value *value);
/* Before a write with known data: the storage gets memory of its own. */
BSM_NODISCARD bsm_status bsm_spec_make_writable(bsm_spec *s, bsm_tensor *t);
/* Whether a dim repeats its elements. */
bool bsm_spec_overlaps_itself(const bsm_tensor *t);
/* Whether its memory is older than the innermost residual block. */
bool bsm_spec_has_old_memory(const bsm_spec *s, const bsm_spec_tensor *record);
/* After such a write. */
BSM_NODISCARD bsm_status bsm_spec_touch(bsm_spec *s, bsm_tensor *t);

#endif /* BSM_LOWERING_SPECIALIZE_MEMORY_ALIAS_H_ */
