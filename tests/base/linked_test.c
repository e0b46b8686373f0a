/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of a program with a link list, which another version made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/linked.h"

const bsm_link_list bsm_linked = {"a.bsm, b.bsm", "0.0.1"};

static void refused(bsm_status status, bsm_code code, const char *part) {
  assert_int_equal(bsm_status_code(status), code);
  if (!strstr(bsm_status_message(status), part)) {
    fail_msg("\"%s\" lacks \"%s\"", bsm_status_message(status), part);
  }
  bsm_status_free(status);
}

static void test_version(void **state) {
  (void)state;
  refused(bsm_check_linked(), BSM_VERSION,
          "is of version 0.0.1, the library has 0.");
}

static void test_not_linked(void **state) {
  (void)state;
  refused(bsm_fail_not_linked("op", "aten::topk"), BSM_UNSUPPORTED,
          "does not link the op aten::topk: its link list is for a.bsm, b.bsm; "
          "make one that has it (bessemer link-list)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_version),
      cmocka_unit_test(test_not_linked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
