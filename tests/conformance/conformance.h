/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite: what every target and its device must do alike.
 *
 * Each program of this folder takes the name of a target and tests it: one-step
 * plans are built by hand, their weights packed by the target, and everything
 * else goes through its device: memory, transfers, preparing, running, waiting.
 * Results are compared with plain loops (step_harness.h). ctest has an entry
 * for each program and target: `ctest -L conformance`, or `-L remote` for one
 * target's; by hand: `build/move_step_test remote`. A number behind the name
 * says that one step in so many is run (tests/sample.h); "f16" or "bf16" behind
 * that, that what the tests have in float is given to the device in that dtype
 * (narrow.h).
 *
 * What a device does not run its check refuses with BSM_UNSUPPORTED; such steps
 * are skipped, and counted by reason at the end of the output. A program in
 * which nothing ran fails. A target that takes nothing of a program at all is
 * told so in cmake/Tests.cmake: the program then has the argument "none" behind
 * its name and fails as soon as something runs.
 *
 * A new target is tested by
 *   1. linking it into the programs: the tables of backend/devices.c and
 *      backend/targets.c, or those of tests/remote for what only tests have;
 *   2. a line with its name in BSM_CONFORMANCE_TARGETS of cmake/Tests.cmake,
 *      and the programs that are none for it in BSM_CONFORMANCE_NONE_<name>.
 * Kernels are tested where they are (tests/backend for those of the CPU). */
#ifndef TESTS_CONFORMANCE_CONFORMANCE_H_
#define TESTS_CONFORMANCE_CONFORMANCE_H_

#include <stdio.h>
#include <string.h>

#include "tests/conformance/device_fixture.h"
#include "tests/sample.h"
#include "tests/target_kit.h"

#define SUITE_REASONS 32
#define SUITE_UNUSED __attribute__((unused))

/* What this program has done so far. */
static struct suite {
  bool none;      /* the target takes nothing of this */
  bool is_narrow; /* tensors of float are of `dtype` for the device */
  bsm_dtype dtype;
  test_sample sample; /* which steps are run */
  int ran, skipped;
  bsm_device *kept; /* open all the time: opening some takes long */
  struct {
    char text[120];
    int count;
  } reasons[SUITE_REASONS]; /* the last one: all others */
} suite;

/* What is tested, with one thread. */
static SUITE_UNUSED const bsm_target *suite_target(void) {
  static const bsm_target *target;
  if (!target) {
    target = test_target_of(fixture_device, 1, BSM_TARGET_ANY_ISA);
  }
  return target;
}

static SUITE_UNUSED bool suite_is_for(const char *name) {
  return strcmp(fixture_device, name) == 0;
}

/* Counts a step that the device does not run. */
static SUITE_UNUSED void suite_skip(const bsm_plan_step *step,
                                    bsm_status refusal) {
  char text[sizeof(suite.reasons[0].text)];
  const char *kind = bsm_step_kind_name(step->kind);
  snprintf(text, sizeof(text), "%s: %s", kind ? kind : "?",
           bsm_status_message(refusal));
  suite.skipped++;
  for (int i = 0; i < SUITE_REASONS; i++) {
    if (i == SUITE_REASONS - 1) snprintf(text, sizeof(text), "others");
    if (!suite.reasons[i].count) strcpy(suite.reasons[i].text, text);
    if (strcmp(suite.reasons[i].text, text) == 0) {
      suite.reasons[i].count++;
      return;
    }
  }
}

/* Ends the test as skipped when the device has no steps of a kind. */
static SUITE_UNUSED void suite_needs(bsm_step_kind kind) {
  const bsm_step_params params = {0};
  const bsm_plan plan = {0};
  const bsm_plan_step step = {.kind = kind, .name = "", .params = &params};
  bsm_status status = fixture_ops()->check(&plan, &step);
  const bool missing = bsm_status_code(status) == BSM_UNSUPPORTED;
  if (missing) suite_skip(&step, status);
  bsm_status_free(status);
  if (missing) skip();
}

/* Whether the next step is in the sample. */
static SUITE_UNUSED bool suite_takes_next(void) {
  return test_sample_takes(&suite.sample);
}

/* The same of a step that the sample has not. */
static SUITE_UNUSED bool suite_takes_more(void) {
  return test_sample_takes_more(&suite.sample);
}

/* NAME [none|SAMPLE[/FIRST] [f16|bf16]]: false when the arguments are wrong, or
 * the device cannot be opened. */
static SUITE_UNUSED bool suite_begin(int argc, char **argv) {
  if (argc > 1) fixture_device = argv[1];
  suite.none = argc > 2 && strcmp(argv[2], "none") == 0;
  const bool is_good =
      test_sample_init(&suite.sample, argc > 2 && !suite.none ? argv[2] : NULL);
  suite.is_narrow = argc > 3;
  if (suite.is_narrow) {
    suite.dtype =
        strcmp(argv[3], "f16") == 0 ? BSM_DTYPE_HALF : BSM_DTYPE_BFLOAT16;
  }
  if (argc > 4 || !is_good ||
      (suite.dtype == BSM_DTYPE_BFLOAT16 && strcmp(argv[3], "bf16") != 0)) {
    fprintf(stderr, "usage: %s [TARGET [none|SAMPLE[/FIRST] [f16|bf16]]]\n",
            argv[0]);
    return false;
  }
  const bsm_device_ops *ops;
  bsm_status status = bsm_device_find(bsm_str_of(fixture_device), &ops);
  if (!status) status = ops->open(&(bsm_device_options){0}, &suite.kept);
  if (status) fprintf(stderr, "%s\n", bsm_status_message(status));
  bsm_status_free(status);
  return suite.kept != NULL;
}

/* Says what was skipped; the exit status of the program. */
static SUITE_UNUSED int suite_end(int failed) {
  suite.kept->ops->close(suite.kept);
  printf("%s: %d steps ran, %d were skipped\n", fixture_device, suite.ran,
         suite.skipped);
  test_sample_tell(&suite.sample);
  for (int i = 0; i < SUITE_REASONS && suite.reasons[i].count; i++) {
    printf("  %6d  %s\n", suite.reasons[i].count, suite.reasons[i].text);
  }
  /* Of a few steps of a large sample, all may be none for the device. */
  const bool had_steps = suite.sample.every == 1 || suite.sample.taken > 4;
  if (!suite.none && suite.ran == 0 && had_steps && !suite.sample.late) {
    printf("FAILED: nothing ran\n");
    return 1;
  }
  if (suite.none && (suite.ran > 0 || suite.skipped == 0)) {
    printf("FAILED: %s is said to take nothing of this\n", fixture_device);
    return 1;
  }
  return failed != 0;
}

#define suite_run(argc, argv, tests)                          \
  (suite_begin(argc, argv)                                    \
       ? suite_end(cmocka_run_group_tests(tests, NULL, NULL)) \
       : 1)

#endif /* TESTS_CONFORMANCE_CONFORMANCE_H_ */
