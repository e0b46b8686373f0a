/* SPDX-License-Identifier: Apache-2.0 */
/* The version that this library was built as. */
#include "bessemer/version.h"

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

const char *bsm_version(void) {
  return TEXT(BSM_VERSION_MAJOR) "." TEXT(BSM_VERSION_MINOR) "." TEXT(
      BSM_VERSION_PATCH);
}

int bsm_version_number(void) {
  return BSM_VERSION_NUMBER;
}
