/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator that Bessemer knows, called with arguments that make no
 * sense: sizes of -1 and INT64_MIN, strides, groups and kernels of zero,
 * indices beyond the ends, lists of wrong lengths, wrong types and counts.
 * Compiling and running must end with a result or a status.
 *
 * With arguments: hostile_operators_test TRIALS [SEED [OPERATOR]]. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdlib.h>

#include "bessemer/bessemer.h"
#include "hostile/hostile.h"
#include "hostile/op_text.h"

static uint64_t trials = 2, first_seed = 1;
static const char *only;

static void every_operator(void **state) {
  (void)state;
  bsm_operator_list *list = NULL;
  bsm_status status = bsm_operators(&list);
  assert_null(status);
  assert_true(bsm_operator_list_count(list) > 300);
  op_text *t = malloc(sizeof(*t));
  assert_non_null(t);
  size_t made = 0, compiled = 0;
  for (size_t i = 0; i < bsm_operator_list_count(list); i++) {
    bsm_operator_info info = BSM_OPERATOR_INFO_INIT;
    assert_null(bsm_operator_list_get(list, i, &info));
    const char *schema = info.schema;
    if (only && strncmp(schema, only, strlen(only)) != 0) continue;
    for (uint64_t k = 0; k < trials; k++) {
      op_choices choices = {.seed = first_seed * 1000003 + i * 8191 + k + 1};
      if (!op_text_make(t, schema, &choices)) continue;
      if (getenv("HOSTILE_PRINT")) {
        fprintf(stderr, "seed %" PRIu64 " trial %" PRIu64 "\n%s", first_seed, k,
                t->text);
        for (size_t n = 0; n < t->tensors; n++) {
          fprintf(stderr, "%%t%zu: %s %s %s\n", n,
                  t->specs[n].kind ? "constant" : "input",
                  bsm_dtype_name(t->arrays[n].dtype),
                  bsm_dims_str(t->arrays[n].dims));
        }
      }
      hostile_result result;
      hostile_try(&(hostile_case){.data = t->text,
                                  .size = t->length,
                                  .specs = t->specs,
                                  .spec_count = t->tensors,
                                  .run = true,
                                  .input_byte = (int)(k % 2 ? 0xff : 1)},
                  &result);
      if (getenv("HOSTILE_PRINT")) {
        fprintf(stderr, "%s: %s\n", bsm_code_name(result.code), result.message);
      }
      made++;
      compiled += result.code == BSM_CODE_OK;
    }
  }
  printf("%zu calls, %zu of them compiled and ran\n", made, compiled);
  if (!only) {
    assert_true(made > bsm_operator_list_count(list));
    assert_true(compiled > made / 50);
  }
  free(t);
  bsm_operator_list_free(list);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_operator)};
  if (argc > 1) trials = strtoull(argv[1], NULL, 10);
  if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
  if (argc > 3) only = argv[3];
  return cmocka_run_group_tests_name("hostile_operators", tests, NULL, NULL);
}
