/* SPDX-License-Identifier: Apache-2.0 */
/* Converters against PyTorch: each case of tests/data/conversion/cases.txt is
 * converted, the network is run by the reference ops, and dtypes, shapes and
 * numbers are compared with what PyTorch computed. */
#include "tests/conversion/case_reader.h"
#include "tests/conversion/network_eval.h"

static bsm_status run_case(fixture *f, const op_case *c) {
  bsm_network *net;
  bsm_tensor *results[MAX_TENSORS] = {0};
  BSM_TRY(convert_case(f, c, &net));
  BSM_TRY(network_eval(net, f->aten, &f->arena, c->inputs, results));
  return compare_case(c, results, net->outputs.len, 1);
}

static void test_cases(void **state) {
  for_each_case(*state, run_case);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_cases, fixture_setup,
                                      fixture_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
