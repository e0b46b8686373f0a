/* SPDX-License-Identifier: Apache-2.0 */
/* Targets for tests: this machine's CPU. */
#ifndef TESTS_TARGET_KIT_H_
#define TESTS_TARGET_KIT_H_

#include <stddef.h>
#include <stdlib.h>

#include "builder/target.h"

/* A target by its text; lives as long as the program. */
static inline const bsm_target *test_target_of(const char *text, int threads,
                                               uint32_t isa) {
  static bsm_arena arena;
  const bsm_target_request request = {text, threads, isa};
  const bsm_target *target;
  if (!arena.chunks) bsm_arena_init(&arena, NULL);
  bsm_status status = bsm_target_parse(&request, &arena, &target);
  if (status) abort();
  return target;
}

/* This machine's CPU with so many threads. */
static inline const bsm_target *test_target(int threads) {
  static const bsm_target *made[9];
  if (!made[threads]) {
    made[threads] = test_target_of("cpu", threads, BSM_TARGET_ANY_ISA);
  }
  return made[threads];
}

#endif /* TESTS_TARGET_KIT_H_ */
