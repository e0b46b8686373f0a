/* SPDX-License-Identifier: Apache-2.0 */
/* The code that other targets make for the steps of this suite, so that scripts
 * can have it compiled: scripts/check_kernels.py. BSM_OTHER_TARGETS names the
 * targets, with spaces between them, and BSM_OTHER_RECORD the folder in which
 * the compilers that stand in write down what they are asked for. */
#ifndef TESTS_CONFORMANCE_OTHER_CODE_H_
#define TESTS_CONFORMANCE_OTHER_CODE_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/target_kit.h"

#define OTHER_TARGETS 8
#define OTHER_UNUSED __attribute__((unused))

static OTHER_UNUSED const bsm_target *const *other_targets(size_t *count) {
  static const bsm_target *targets[OTHER_TARGETS];
  static size_t known;
  static bool is_read;
  const char *text = is_read ? NULL : getenv("BSM_OTHER_TARGETS");
  char name[128];
  int length;
  is_read = true;
  while (text && known < OTHER_TARGETS &&
         sscanf(text, "%127s%n", name, &length) == 1) {
    targets[known++] = test_target_of(name, 1, BSM_TARGET_ANY_ISA);
    text += length;
  }
  *count = known;
  return targets;
}

/* The first step of a plan, which has no code yet. */
static OTHER_UNUSED bsm_status other_code(const bsm_plan *plan,
                                          bsm_arena *arena) {
  const char *folder = getenv("BSM_OTHER_RECORD");
  bsm_status status = BSM_OK;
  size_t count;
  if (!folder) return BSM_OK;
  const bsm_target *const *targets = other_targets(&count);
  setenv("BSM_STANDIN_RECORD", folder, 1);
  for (size_t i = 0; i < count && !status; i++) {
    bsm_plan copy = *plan;
    status = targets[i]->ops->add_code(targets[i], &copy, arena, NULL);
  }
  unsetenv("BSM_STANDIN_RECORD");
  return status;
}

#endif /* TESTS_CONFORMANCE_OTHER_CODE_H_ */
