/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a run. */
#include "lowering/specialize/memory/memory.h"

bsm_status bsm_spec_memory_init(bsm_spec *s) {
  s->memory = BSM_NEW(s->scratch, bsm_spec_memory);
  BSM_TRY_ALLOC(s->memory);
  return BSM_OK;
}
