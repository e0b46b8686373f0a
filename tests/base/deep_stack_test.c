/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/deep_stack.h"

/* Frames that the compiler cannot merge; deeper than the thread's stack. */
static size_t descend(size_t depth, volatile char *below) {
  volatile char frame[1024];
  frame[0] = below ? below[0] : 1;
  frame[sizeof(frame) - 1] = (char)depth;
  const size_t deepest = depth ? descend(depth - 1, frame) : 0;
  return deepest + (frame[0] == 1) + (frame[sizeof(frame) - 1] == (char)depth) -
         1;
}

typedef struct probe {
  size_t depth, reached;
  bsm_status wanted;
} probe;

static bsm_status go_down(void *argument) {
  probe *p = argument;
  p->reached = descend(p->depth, NULL);
  return p->wanted;
}

static bsm_status go_down_inside(void *argument) {
  return bsm_call_deeply(go_down, argument);
}

static void *in_a_thread(void *argument) {
  probe *p = argument;
  p->wanted = bsm_call_deeply(p->wanted ? go_down_inside : go_down, p);
  return NULL;
}

static void in_a_small_thread(probe *p) {
  pthread_attr_t attributes;
  pthread_t thread;
  assert_int_equal(pthread_attr_init(&attributes), 0);
#ifndef BSM_SANITIZED
  const long least = sysconf(_SC_THREAD_STACK_MIN); /* 128 KiB on ARM */
  const size_t size = least > 64 << 10 ? (size_t)least : 64 << 10;
  assert_int_equal(pthread_attr_setstacksize(&attributes, size), 0);
#endif
  assert_int_equal(pthread_create(&thread, &attributes, in_a_thread, p), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  pthread_attr_destroy(&attributes);
}

/* 2 MiB of frames in a thread of 64 KiB, or of as little as there can be. */
static void deep_calls_need_no_stack_of_the_caller(void **state) {
  (void)state;
  probe p = {.depth = 2000};
  in_a_small_thread(&p);
  assert_null(p.wanted);
  assert_int_equal(p.reached, 2001);
}

static void what_fails_inside_fails_outside(void **state) {
  (void)state;
  probe p = {.depth = 100, .wanted = BSM_FAIL(BSM_CORRUPT, "down here")};
  in_a_small_thread(&p); /* a call inside of a call */
  assert_int_equal(bsm_status_code(p.wanted), BSM_CORRUPT);
  assert_string_equal(bsm_status_message(p.wanted), "down here");
  assert_int_equal(p.reached, 101);
  bsm_status_free(p.wanted);
}

static void the_stack_is_given_back(void **state) {
  (void)state;
  for (int i = 0; i < 20000; i++) { /* 160 GB if they were kept */
    probe p = {.depth = 3};
    assert_null(bsm_call_deeply(go_down, &p));
    assert_int_equal(p.reached, 4);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(deep_calls_need_no_stack_of_the_caller),
      cmocka_unit_test(what_fails_inside_fails_outside),
      cmocka_unit_test(the_stack_is_given_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
