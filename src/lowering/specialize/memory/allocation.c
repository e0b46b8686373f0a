/* SPDX-License-Identifier: Apache-2.0 */
/* When containers and objects were made, as stamps of the clock. What has none
 * was made outside of all residual blocks. */
#include "lowering/specialize/memory/allocation.h"

bool bsm_spec_was_there(const bsm_spec *s, const bsm_ivalue *container,
                        uint64_t stamp) {
  const uint64_t *created =
      bsm_ptrmap_get(&s->memory->allocations, container->u.container);
  return !created || *created < stamp;
}

bool bsm_spec_was_made_after(const bsm_spec *s, const bsm_ivalue *container,
                             uint64_t stamp) {
  const uint64_t *created =
      bsm_ptrmap_get(&s->memory->allocations, container->u.container);
  return created && *created > stamp;
}

bool bsm_spec_is_older(const bsm_spec *s, const bsm_ivalue *container) {
  return s->residual.block_depth > 0 &&
         bsm_spec_was_there(s, container, s->residual.block_created);
}

bsm_status bsm_spec_note_allocation(bsm_spec *s, const bsm_ivalue *container) {
  if (s->residual.block_depth == 0) {
    return BSM_OK;
  }
  uint64_t *stamp = BSM_NEW(s->scratch, uint64_t);
  BSM_TRY_ALLOC(stamp);
  *stamp = bsm_spec_tick(s);
  BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &s->memory->allocations,
                               container->u.container, stamp));
  return BSM_OK;
}
