/* SPDX-License-Identifier: Apache-2.0 */
/* What ops keep from one to the next. */
#include "lowering/specialize/ops/ops.h"

bsm_status bsm_spec_ops_init(bsm_spec *s) {
  s->ops = BSM_NEW(s->scratch, bsm_spec_ops);
  BSM_TRY_ALLOC(s->ops);
  return BSM_OK;
}
