/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "base/near_name.h"

static const char *const names[] = {"fold_constants", "peephole", "fold_scale",
                                    "fuse_element_wise", "eliminate_dead_code"};

static const char *nearest(bsm_str wanted) {
  bsm_near_name near = {.wanted = wanted};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    bsm_near_name_look(&near, names[i]);
  }
  return near.name;
}

static void letters_may_differ(void **state) {
  (void)state;
  assert_string_equal(nearest(BSM_STR("peephole")), "peephole");
  assert_string_equal(nearest(BSM_STR("pephole")), "peephole");
  assert_string_equal(nearest(BSM_STR("peepholes")), "peephole");
  assert_string_equal(nearest(BSM_STR("fold-scale")), "fold_scale");
  assert_string_equal(nearest(BSM_STR("fold_scales")), "fold_scale");
  assert_string_equal(nearest(BSM_STR("fold_constant")), "fold_constants");
  assert_null(nearest(BSM_STR("frob")));
  assert_null(nearest(BSM_STR("ppl")));
}

static void parts_are_near(void **state) {
  (void)state;
  assert_string_equal(nearest(BSM_STR("dead_code")), "eliminate_dead_code");
  assert_string_equal(nearest(BSM_STR("the_peephole_pass")), "peephole");
  assert_string_equal(nearest(BSM_STR("fold")), "fold_scale"); /* the shorter */
  assert_null(nearest(BSM_STR("e_")));
  assert_null(nearest(BSM_STR("")));
}

static void long_names_are_near_to_nothing(void **state) {
  (void)state;
  char text[200];
  memset(text, 'a', sizeof(text));
  memcpy(text, "peephole", 8);
  assert_null(nearest((bsm_str){text, sizeof(text)}));
  assert_null(nearest((bsm_str){text, 65}));
  assert_string_equal(nearest((bsm_str){text, 64}), "peephole");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(letters_may_differ),
      cmocka_unit_test(parts_are_near),
      cmocka_unit_test(long_names_are_near_to_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
