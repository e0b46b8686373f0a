/* SPDX-License-Identifier: Apache-2.0 */
/* Messages about what is not linked. */
#include "base/linked.h"

#include <string.h>

#include "bessemer/version.h"

bsm_status bsm_check_linked(void) {
  if (!bsm_linked.version || strcmp(bsm_linked.version, bsm_version()) == 0) {
    return BSM_OK;
  }
  return BSM_FAIL(BSM_VERSION,
                  "this program's link list is of version %s, the library has "
                  "%s: make it again (bessemer link-list)",
                  bsm_linked.version, bsm_version());
}

bsm_status bsm_fail_not_linked(const char *what, const char *name) {
  return bsm_linked.engines
             ? BSM_FAIL(BSM_UNSUPPORTED,
                        "this program does not link the %s %s: its link list "
                        "is for %s; make one that has it (bessemer link-list) "
                        "and link again",
                        what, name, bsm_linked.engines)
             : BSM_FAIL(BSM_UNSUPPORTED,
                        "this version has no %s %s: compile the model again",
                        what, name);
}
