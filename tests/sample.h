/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of its work a test program does, so that processes can share it,
 * and so that it ends in time on machines where each piece takes long.
 *
 * "SAMPLE[/FIRST]" in its arguments: one piece in SAMPLE, from FIRST on.
 * BSM_TEST_SAMPLE in the environment, of the same form: of these again one in
 * so many. BSM_TEST_SECONDS: nothing new once the program has run for so long.
 */
#ifndef TESTS_SAMPLE_H_
#define TESTS_SAMPLE_H_

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct test_sample {
  unsigned long every, first;
  unsigned long met, taken, late; /* pieces; late: beyond the time */
  double until;                   /* 0: there is no limit */
} test_sample;

static inline double test_sample_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Of the pieces that `s` has, those that `text` says; NULL: all. */
static inline bool test_sample_of(test_sample *s, const char *text) {
  if (!text || !*text) return true;
  char *end = NULL;
  const unsigned long every = strtoul(text, &end, 10);
  unsigned long first = 0;
  if (*end == '/') first = strtoul(end + 1, &end, 10);
  if (*end || first >= every) return false;
  s->first += s->every * first;
  s->every *= every;
  return true;
}

/* `text` NULL: all pieces. false: it is wrong. */
static inline bool test_sample_init(test_sample *s, const char *text) {
  const char *limit = getenv("BSM_TEST_SECONDS");
  *s = (test_sample){.every = 1};
  if (!test_sample_of(s, text)) return false;
  if (!test_sample_of(s, getenv("BSM_TEST_SAMPLE"))) return false;
  if (limit && atof(limit) > 0) s->until = test_sample_now() + atof(limit);
  return true;
}

/* Whether there is time for a piece, which is done then. */
static inline bool test_sample_takes_more(test_sample *s) {
  if (s->until > 0 && test_sample_now() > s->until) {
    s->late++;
    return false;
  }
  s->taken++;
  return true;
}

/* Whether the next piece is to be done. */
static inline bool test_sample_takes(test_sample *s) {
  const unsigned long met = s->met++;
  if (s->every > 1 && met % s->every != s->first) return false;
  return test_sample_takes_more(s);
}

static inline void test_sample_tell(const test_sample *s) {
  if (s->every > 1) {
    printf("  a sample: %lu of %lu\n", s->taken, s->met);
  }
  if (s->late) printf("  %lu left out: the time was over\n", s->late);
}

#endif /* TESTS_SAMPLE_H_ */
