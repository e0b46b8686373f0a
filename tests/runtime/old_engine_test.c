/* SPDX-License-Identifier: Apache-2.0 */
/* Engines of older minor versions of the format load and run; the files are
 * made field by field by tests/data/make_engines.py. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>

#include "bessemer/engine.h"

static void check_status(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void load_and_run(const char *path) {
  static float x[6] = {0, 1, 2, -1, 0, 3};
  float y[6];
  bsm_engine *engine;
  bsm_context *context;
  check_status(bsm_engine_load(path, NULL, &engine));
  assert_null(bsm_engine_metadata(engine, "builder.target"));
  check_status(bsm_context_create(engine, NULL, &context));
  const bsm_dims dims = {2, {2, 3}};
  const bsm_array in = {.data = x, .dtype = BSM_DTYPE_FLOAT, .dims = dims};
  const bsm_array out = {.data = y, .dtype = BSM_DTYPE_FLOAT, .dims = dims};
  check_status(bsm_context_run(context, &in, 1, &out, 1));
  for (int row = 0; row < 2; row++) {
    double sum = 0;
    for (int i = 0; i < 3; i++) sum += exp((double)x[3 * row + i]);
    for (int i = 0; i < 3; i++) {
      const double expected = exp((double)x[3 * row + i]) / sum;
      assert_true(fabs((double)y[3 * row + i] - expected) < 1e-6);
    }
  }
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

static void test_every_version(void **state) {
  (void)state;
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_0.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_1.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_2.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_2_signed.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_3.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_3_signed.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_4.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_4_signed.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_5.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_5_signed.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_6.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_6_signed.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_7.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_7_signed.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_8.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_8_signed.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_9.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_9_signed.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_10.bsm");
  load_and_run(BSM_TEST_DATA_DIR "/engine/softmax_8_10_signed.bsm");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_version)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
