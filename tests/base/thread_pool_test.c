/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/thread_pool.h"
#include "tests/base/test_allocator.h"

enum { MAX_COUNT = 1000 };

/* Plain bytes: ThreadSanitizer sees a lost hand-over between jobs. */
typedef struct marks {
  unsigned char seen[MAX_COUNT];
} marks;

static void mark(void *arg, size_t index) {
  ((marks *)arg)->seen[index]++;
}

static void every_index_runs_once(void **state) {
  (void)state;
  for (int threads = 1; threads <= 7; threads += 2) {
    bsm_thread_pool *pool;
    assert_null(bsm_thread_pool_create(threads, NULL, &pool));
    assert_int_equal(bsm_thread_pool_size(pool), threads);
    for (size_t count = 0; count <= MAX_COUNT; count = count * 2 + 1) {
      for (int round = 0; round < 50; round++) {
        marks m = {{0}};
        bsm_parallel_for(pool, count, mark, &m);
        for (size_t i = 0; i < MAX_COUNT; i++) {
          assert_int_equal(m.seen[i], i < count);
        }
      }
    }
    bsm_thread_pool_destroy(pool);
  }
}

static void workers_wake_up_again(void **state) {
  (void)state;
  bsm_thread_pool *pool;
  assert_null(bsm_thread_pool_create(4, NULL, &pool));
  for (int round = 0; round < 30; round++) {
    marks m = {{0}};
    bsm_parallel_for(pool, 100, mark, &m);
    for (size_t i = 0; i < 100; i++) assert_int_equal(m.seen[i], 1);
    nanosleep(&(struct timespec){0, 2000000}, NULL); /* they fall asleep */
  }
  bsm_thread_pool_destroy(pool);
}

typedef struct slots {
  unsigned char seen[MAX_COUNT];
  atomic_bool busy[7];
  atomic_int clashes;
  int threads;
} slots;

static void mark_with_slot(void *arg, int64_t unit, int slot) {
  slots *s = arg;
  if (slot < 0 || slot >= s->threads || atomic_exchange(&s->busy[slot], true)) {
    atomic_fetch_add(&s->clashes, 1);
    return;
  }
  s->seen[unit]++;
  atomic_store(&s->busy[slot], false);
}

static void slots_are_held_by_one_thread(void **state) {
  (void)state;
  bsm_thread_pool *pool;
  assert_null(bsm_thread_pool_create(5, NULL, &pool));
  for (int threads = 1; threads <= 7; threads++) {
    for (int64_t count = 0; count <= MAX_COUNT; count = count * 3 + 1) {
      slots s = {.threads = threads};
      bsm_parallel_units(pool, threads, count, mark_with_slot, &s);
      assert_int_equal(atomic_load(&s.clashes), 0);
      for (int64_t i = 0; i < MAX_COUNT; i++) {
        assert_int_equal(s.seen[i], i < count);
      }
    }
  }
  bsm_thread_pool_destroy(pool);
}

enum { PHASES = 40, WIDTH = 23 };

/* Each phase shifts the values of the one before by one place and adds one: a
 * phase that begins too early reads what is not there yet. Plain ints, for
 * ThreadSanitizer. */
typedef struct shifts {
  int values[PHASES + 1][WIDTH];
} shifts;

static void shift(void *arg, int64_t unit, int slot) {
  shifts *s = arg;
  (void)slot;
  const int64_t phase = unit / WIDTH, i = unit % WIDTH;
  s->values[phase + 1][i] = s->values[phase][(i + 1) % WIDTH] + 1;
}

static void phases_follow_each_other(void **state) {
  (void)state;
  for (int size = 1; size <= 7; size++) {
    bsm_thread_pool *pool;
    assert_null(bsm_thread_pool_create(size, NULL, &pool));
    for (int round = 0; round < 50; round++) {
      shifts s = {{{0}}};
      for (int i = 0; i < WIDTH; i++) s.values[0][i] = i;
      if (round % 10 == 5) { /* the workers are asleep */
        nanosleep(&(struct timespec){0, 5000000}, NULL);
      }
      bsm_parallel_phases(pool, 1 + round % 8, PHASES, WIDTH, shift, &s);
      for (int i = 0; i < WIDTH; i++) {
        assert_int_equal(s.values[PHASES][i], (i + PHASES) % WIDTH + PHASES);
      }
      marks m = {{0}}; /* a plain loop finds the pool as it was */
      bsm_parallel_for(pool, 30, mark, &m);
      for (size_t i = 0; i < 30; i++) assert_int_equal(m.seen[i], 1);
    }
    bsm_parallel_phases(pool, size, 0, WIDTH, shift, NULL);
    bsm_parallel_phases(pool, size, PHASES, 0, shift, NULL);
    bsm_thread_pool_destroy(pool);
  }
  shifts s = {{{0}}};
  bsm_parallel_phases(NULL, 3, PHASES, WIDTH, shift, &s);
  assert_int_equal(s.values[PHASES][0], PHASES);
}

static void a_child_process_works_alone(void **state) {
  (void)state;
  bsm_thread_pool *pool;
  assert_null(bsm_thread_pool_create(3, NULL, &pool));
  marks m = {{0}};
  bsm_parallel_for(pool, 100, mark, &m);
  nanosleep(&(struct timespec){0, 20000000}, NULL); /* nobody holds a lock */
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    marks n = {{0}};
    shifts s = {{{0}}};
    bsm_parallel_for(pool, 100, mark, &n);
    bsm_parallel_phases(pool, 3, PHASES, WIDTH, shift, &s);
    bool ok = s.values[PHASES][0] == PHASES;
    for (size_t i = 0; i < 100; i++) ok = ok && n.seen[i] == 1;
    _exit(ok ? 0 : 1);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  bsm_thread_pool_destroy(pool);
}

static void no_pool_means_the_caller(void **state) {
  (void)state;
  assert_int_equal(bsm_thread_pool_size(NULL), 1);
  marks m = {{0}};
  bsm_parallel_for(NULL, 10, mark, &m);
  for (size_t i = 0; i < 10; i++) assert_int_equal(m.seen[i], 1);
  bsm_thread_pool_destroy(NULL);
}

typedef struct rendezvous {
  atomic_int arrived;
  int wanted;
} rendezvous;

/* Waits until all threads are inside at once. */
static void meet(void *arg, size_t index) {
  (void)index;
  rendezvous *r = arg;
  atomic_fetch_add(&r->arrived, 1);
  while (atomic_load(&r->arrived) < r->wanted) sched_yield();
}

static void all_threads_take_part(void **state) {
  (void)state;
  bsm_thread_pool *pool;
  assert_null(bsm_thread_pool_create(4, NULL, &pool));
  for (int round = 0; round < 20; round++) {
    rendezvous r = {.wanted = 4};
    bsm_parallel_for(pool, 4, meet, &r); /* hangs unless four threads run */
    assert_int_equal(atomic_load(&r.arrived), 4);
  }
  bsm_thread_pool_destroy(pool);
}

typedef struct nest {
  bsm_thread_pool *pool;
  pthread_t outer[4];
  atomic_int count;
  atomic_int strangers;
} nest;

typedef struct inner {
  nest *nest;
  pthread_t thread;
} inner;

static void run_inner(void *arg, size_t index) {
  (void)index;
  const inner *self = arg;
  atomic_fetch_add(&self->nest->count, 1);
  if (!pthread_equal(self->thread, pthread_self())) {
    atomic_fetch_add(&self->nest->strangers, 1);
  }
}

static void run_outer(void *arg, size_t index) {
  (void)index;
  nest *self = arg;
  inner in = {self, pthread_self()};
  bsm_parallel_for(self->pool, 25, run_inner, &in);
}

static void nested_loops_stay_on_their_thread(void **state) {
  (void)state;
  nest n = {0};
  assert_null(bsm_thread_pool_create(3, NULL, &n.pool));
  bsm_parallel_for(n.pool, 40, run_outer, &n);
  assert_int_equal(atomic_load(&n.count), 1000);
  assert_int_equal(atomic_load(&n.strangers), 0);
  bsm_thread_pool_destroy(n.pool);
}

static void *use_pool(void *arg) {
  for (int i = 0; i < 300; i++) {
    marks m = {{0}};
    bsm_parallel_for(arg, 50, mark, &m);
    for (size_t j = 0; j < 50; j++) {
      if (m.seen[j] != 1) return arg;
    }
  }
  return NULL;
}

static void contexts_take_turns(void **state) {
  (void)state;
  bsm_thread_pool *pool;
  assert_null(bsm_thread_pool_create(3, NULL, &pool));
  pthread_t users[4];
  for (int i = 0; i < 4; i++) {
    assert_int_equal(pthread_create(&users[i], NULL, use_pool, pool), 0);
  }
  for (int i = 0; i < 4; i++) {
    void *failed = pool;
    assert_int_equal(pthread_join(users[i], &failed), 0);
    assert_null(failed);
  }
  bsm_thread_pool_destroy(pool);
}

static void check_idle_time(int threads, bool runs) {
  bsm_thread_pool *pool;
  assert_null(bsm_thread_pool_create(threads, NULL, &pool));
  marks m = {{0}};
  bsm_thread_pool_begin(pool);
  bsm_parallel_for(pool, 100, mark, &m);
  if (!runs) bsm_thread_pool_end(pool);
  nanosleep(&(struct timespec){0, 20000000}, NULL); /* the spinning is over */
  struct timespec before, after;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  nanosleep(&(struct timespec){0, 200000000}, NULL);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const long used = (after.tv_sec - before.tv_sec) * 1000000000L +
                    (after.tv_nsec - before.tv_nsec);
  assert_true(used < 20000000);
  if (runs) bsm_thread_pool_end(pool);
  bsm_thread_pool_destroy(pool);
}

/* Also in a run that does other things for long. */
static void idle_workers_use_no_time(void **state) {
  (void)state;
  check_idle_time(4, false);
  check_idle_time(bsm_available_cpus(), false);
  check_idle_time(bsm_available_cpus(), true);
}

static void bad_thread_counts_are_refused(void **state) {
  (void)state;
  bsm_thread_pool *pool = (bsm_thread_pool *)1;
  bsm_status status = bsm_thread_pool_create(-1, NULL, &pool);
  assert_int_equal(bsm_status_code(status), BSM_INVALID_ARGUMENT);
  assert_null(pool);
  bsm_status_free(status);
  status = bsm_thread_pool_create(1000000, NULL, &pool);
  assert_int_equal(bsm_status_code(status), BSM_INVALID_ARGUMENT);
  bsm_status_free(status);
}

/* Threads and loops of the caller's. */
typedef struct own_threads {
  pthread_t threads[8];
  void (*body)(void *);
  void *arg;
  int started, joined, refused;
  int loops;
} own_threads;

typedef struct own_start {
  void (*body)(void *);
  void *arg;
} own_start;

static void *run_own(void *start) {
  own_start s = *(own_start *)start;
  free(start);
  s.body(s.arg);
  return NULL;
}

static void *start_own(void *user, int number, void (*body)(void *),
                       void *arg) {
  own_threads *own = user;
  assert_int_equal(number, own->started + 1);
  if (number == own->refused) return NULL;
  own_start *start = malloc(sizeof(*start));
  *start = (own_start){body, arg};
  pthread_t *thread = &own->threads[number];
  assert_int_equal(pthread_create(thread, NULL, run_own, start), 0);
  own->started++;
  return thread;
}

static void join_own(void *user, void *thread) {
  own_threads *own = user;
  own->joined++;
  assert_int_equal(pthread_join(*(pthread_t *)thread, NULL), 0);
}

static bsm_thread_pool_options own_options(own_threads *own, int threads) {
  bsm_thread_pool_options options = BSM_THREAD_POOL_OPTIONS_INIT;
  options.threads = threads;
  options.user = own;
  options.start = start_own;
  options.join = join_own;
  return options;
}

static void threads_may_be_the_callers(void **state) {
  (void)state;
  own_threads own = {.refused = -1};
  bsm_thread_pool_options options = own_options(&own, 4);
  bsm_thread_pool *pool;
  assert_null(bsm_thread_pool_create_with(&options, &pool));
  assert_int_equal(bsm_thread_pool_size(pool), 4);
  assert_int_equal(own.started, 3);
  rendezvous r = {.wanted = 4};
  bsm_parallel_for(pool, 4, meet, &r); /* hangs unless all four run */
  marks m = {{0}};
  bsm_parallel_for(pool, 100, mark, &m);
  for (size_t i = 0; i < 100; i++) assert_int_equal(m.seen[i], 1);
  bsm_thread_pool_destroy(pool);
  assert_int_equal(own.joined, 3);
}

static void a_thread_that_does_not_start_makes_no_pool(void **state) {
  (void)state;
  own_threads own = {.refused = 3};
  bsm_thread_pool_options options = own_options(&own, 5);
  bsm_thread_pool *pool;
  bsm_status status = bsm_thread_pool_create_with(&options, &pool);
  assert_int_equal(bsm_status_code(status), BSM_IO);
  assert_non_null(strstr(bsm_status_message(status), "thread 4 of 5"));
  bsm_status_free(status);
  assert_null(pool);
  assert_int_equal(own.started, 2);
  assert_int_equal(own.joined, 2);
}

/* Ways to run a loop: at once, backwards one by one, not all of it, some of it
 * twice. */
static void run_backwards(void *user, int count, void (*task)(void *, int),
                          void *arg) {
  ((own_threads *)user)->loops++;
  for (int i = count; i-- > 0;) task(arg, i);
}

static void run_badly(void *user, int count, void (*task)(void *, int),
                      void *arg) {
  if (((own_threads *)user)->loops++ % 2 == 0) return;
  task(arg, count);
  task(arg, -1);
  task(arg, count - 1);
  task(arg, count - 1);
}

typedef struct one_task {
  void (*task)(void *, int);
  void *arg;
  int index;
} one_task;

static void *run_one(void *arg) {
  const one_task *t = arg;
  t->task(t->arg, t->index);
  return NULL;
}

static void run_at_once(void *user, int count, void (*task)(void *, int),
                        void *arg) {
  pthread_t threads[8];
  one_task tasks[8];
  ((own_threads *)user)->loops++;
  for (int i = 0; i < count; i++) {
    tasks[i] = (one_task){task, arg, i};
    assert_int_equal(pthread_create(&threads[i], NULL, run_one, &tasks[i]), 0);
  }
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

static void loops_may_be_the_callers(void **state) {
  (void)state;
  void (*const ways[])(void *, int, void (*)(void *, int), void *) = {
      run_at_once, run_backwards, run_badly};
  for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
    own_threads own = {0};
    bsm_thread_pool_options options = BSM_THREAD_POOL_OPTIONS_INIT;
    options.threads = 5;
    options.user = &own;
    options.run = ways[way];
    bsm_thread_pool *pool;
    assert_null(bsm_thread_pool_create_with(&options, &pool));
    assert_int_equal(bsm_thread_pool_size(pool), 5);
    for (int round = 0; round < 20; round++) {
      slots plain = {.threads = 5};
      bsm_parallel_units(pool, 5, 200, mark_with_slot, &plain);
      assert_int_equal(atomic_load(&plain.clashes), 0);
      for (int i = 0; i < 200; i++) assert_int_equal(plain.seen[i], 1);
      shifts s = {{{0}}};
      bsm_parallel_phases(pool, 5, PHASES, WIDTH, shift, &s);
      assert_int_equal(s.values[PHASES][0], PHASES);
    }
    assert_int_equal(own.loops, bsm_available_cpus() > 1 ? 40 : 20);
    bsm_thread_pool_destroy(pool);
  }
}

static void a_choice_of_functions_is_made(void **state) {
  (void)state;
  own_threads own = {.refused = -1};
  bsm_thread_pool *pool;
  for (int i = 0; i < 3; i++) {
    bsm_thread_pool_options options = own_options(&own, 2);
    if (i == 0) options.join = NULL;
    if (i == 1) options.start = NULL;
    if (i == 2) options.run = run_backwards;
    bsm_status status = bsm_thread_pool_create_with(&options, &pool);
    assert_int_equal(bsm_status_code(status), BSM_INVALID_ARGUMENT);
    bsm_status_free(status);
    assert_null(pool);
  }
  assert_int_equal(own.started, 0);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  int n = 0;
  for (;; n++) {
    test_allocator allocator;
    test_allocator_init(&allocator, n);
    bsm_thread_pool *pool;
    bsm_status status = bsm_thread_pool_create(3, &allocator.base, &pool);
    if (!status) bsm_thread_pool_destroy(pool);
    assert_int_equal(allocator.live, 0);
    if (!status) break;
    assert_int_equal(bsm_status_code(status), BSM_OUT_OF_MEMORY);
    assert_null(pool);
    bsm_status_free(status);
  }
  assert_int_equal(n, 2);
}

static void zero_threads_means_all_cpus(void **state) {
  (void)state;
  bsm_thread_pool *pool;
  assert_null(bsm_thread_pool_create(0, NULL, &pool));
  assert_int_equal(bsm_thread_pool_size(pool), bsm_available_cpus());
  bsm_thread_pool_destroy(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_index_runs_once),
      cmocka_unit_test(workers_wake_up_again),
      cmocka_unit_test(slots_are_held_by_one_thread),
      cmocka_unit_test(phases_follow_each_other),
      cmocka_unit_test(a_child_process_works_alone),
      cmocka_unit_test(no_pool_means_the_caller),
      cmocka_unit_test(all_threads_take_part),
      cmocka_unit_test(nested_loops_stay_on_their_thread),
      cmocka_unit_test(contexts_take_turns),
      cmocka_unit_test(idle_workers_use_no_time),
      cmocka_unit_test(bad_thread_counts_are_refused),
      cmocka_unit_test(threads_may_be_the_callers),
      cmocka_unit_test(a_thread_that_does_not_start_makes_no_pool),
      cmocka_unit_test(loops_may_be_the_callers),
      cmocka_unit_test(a_choice_of_functions_is_made),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(zero_threads_means_all_cpus),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
