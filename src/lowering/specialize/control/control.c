/* SPDX-License-Identifier: Apache-2.0 */
/* What branches and loops keep while the method is run. */
#include "lowering/specialize/control/control.h"

bsm_status bsm_spec_control_init(bsm_spec *s, bsm_spec_unroller *unroller) {
  s->control = BSM_NEW(s->scratch, bsm_spec_control);
  BSM_TRY_ALLOC(s->control);
  s->control->unroller = unroller;
  return BSM_OK;
}
