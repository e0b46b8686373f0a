/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>

#include "bessemer/version.h"

static void the_version_is_that_of_the_headers(void **state) {
  (void)state;
  char text[64];
  snprintf(text, sizeof(text), "%d.%d.%d", BSM_VERSION_MAJOR, BSM_VERSION_MINOR,
           BSM_VERSION_PATCH);
  assert_string_equal(bsm_version(), text);
  assert_int_equal(bsm_version_number(), BSM_VERSION_NUMBER);
  assert_int_equal(BSM_MAKE_VERSION(1, 2, 3), 10203);
#if BSM_VERSION_NUMBER < BSM_MAKE_VERSION(0, 1, 0)
  fail_msg("the preprocessor compares otherwise");
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_version_is_that_of_the_headers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
