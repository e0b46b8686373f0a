/* SPDX-License-Identifier: Apache-2.0 */
/* Thread pool: one job at a time, in one range of units per thread.
 *
 * A job splits its units into as many consecutive ranges as threads take part,
 * so that the same thread touches the same part of the data in job after job.
 * Each thread has a seat, one cache line with all that it needs: what to run,
 * its range, and a ticket that says who may look at it. The caller opens the
 * tickets; a worker that waits for its own enters by compare-and-swap and
 * leaves with a store; the caller takes back the tickets of those who have not
 * entered when all units are handed out, and waits for the others. So a worker
 * that wakes up late, or never, stops nobody.
 *
 * Units are handed out from `next` of the seats: a thread takes from its own,
 * then from those of others. In a job of several phases `next` counts through
 * all of them, and nobody takes beyond the phase at hand; how many units each
 * thread has done says when a phase is over. */
#include "base/thread_pool.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/allocate.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/options.h"

#define MAX_THREADS 4096
#define CACHE_LINE 64

/* Seconds of waiting before sleeping: for the next job while a model runs and
 * when none does, and for the workers that are inside a job. */
#define RUN_SPIN 2e-3
#define IDLE_SPIN 50e-6
#define LEAVE_SPIN 200e-6
/* Pauses between looks at the clock. */
#define PAUSES 32
/* Pauses at the end of a phase before helping a thread that is at work. */
#define PATIENCE 64

/* Tickets: the number of the job, and what became of it. */
enum { TICKET_CLOSED, TICKET_OPEN, TICKET_INSIDE, TICKET_STEP = 4 };

typedef struct seat {
  /* From the caller to the worker. */
  _Alignas(CACHE_LINE) atomic_uint_fast64_t ticket;
  bsm_unit_fn *fn;
  void *arg;
  int64_t start, count; /* the range, of each phase */
  atomic_llong next;    /* units handed out of it, in all phases */

  /* From the worker to the others, in jobs of several phases. */
  _Alignas(CACHE_LINE) atomic_llong done;
  atomic_bool entered;
  double began, ended; /* of its work in the job, when that is traced */

  _Alignas(CACHE_LINE) bsm_thread_pool *pool;
  int number;     /* 1 .. size - 1; the caller is 0 */
  atomic_int cpu; /* where the thread was seen last */
  bool sleeps;
  pthread_cond_t wake;
  pthread_t thread;
  void *users_thread; /* of the caller's `start` */
  atomic_bool taken;  /* in a job that the caller's `run` runs */
} seat;

struct bsm_thread_pool {
  const bsm_allocator *allocator;
  int size;
  int started; /* workers whose threads exist */
  int cpus;    /* that the process may use */
  seat *seats;
  bsm_thread_pool_options functions; /* the caller's */

  /* The job; written by the caller between jobs. */
  int threads;    /* that take part */
  int64_t phases; /* of `total` units */
  int64_t total;
  uint64_t number;
  bsm_pool_trace_fn *trace; /* NULL: none */
  void *trace_user;

  _Alignas(CACHE_LINE) atomic_bool stop;
  atomic_int runs; /* of models, at work */
  _Alignas(CACHE_LINE) atomic_int sleepers;
  atomic_bool caller_waits; /* for `left` */
  pthread_mutex_t sleep_lock;
  pthread_cond_t left;
  pthread_mutex_t turn; /* held by the caller whose job it is */
};

/* Whether this thread is inside a job: a nested loop runs on the spot. */
static _Thread_local bool inside_job;

static inline void pause_cpu(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#else
  atomic_signal_fence(memory_order_seq_cst);
#endif
}

static int note_cpu(seat *self) {
  const int cpu = sched_getcpu();
  if (atomic_load_explicit(&self->cpu, memory_order_relaxed) != cpu) {
    atomic_store_explicit(&self->cpu, cpu, memory_order_relaxed);
  }
  return cpu;
}

/* Of two threads on one CPU, the one that waits lets the other run: it may be
 * what it waits for, and the system can take long to part them. */
static void give_way(seat *self) {
  const bsm_thread_pool *pool = self->pool;
  const int cpu = note_cpu(self);
  for (int i = 0; i < pool->size; i++) {
    if (i != self->number &&
        atomic_load_explicit(&pool->seats[i].cpu, memory_order_relaxed) ==
            cpu) {
      sched_yield();
      return;
    }
  }
}

/* ---- inside a job ---- */

/* Takes the next units of a range below `limit`: one, or all of them. */
static int64_t take(seat *s, int64_t limit, bool all, int64_t *first) {
  long long next = atomic_load_explicit(&s->next, memory_order_relaxed);
  while (next < limit) {
    const int64_t count = all ? limit - next : 1;
    if (atomic_compare_exchange_weak_explicit(&s->next, &next, next + count,
                                              memory_order_relaxed,
                                              memory_order_relaxed)) {
      *first = next;
      return count;
    }
  }
  return 0;
}

/* Runs units of one phase from the range of `from` until none is left. Of
 * several phases a thread takes its own range at once. */
static int64_t work_on(const bsm_thread_pool *pool, seat *from, seat *self,
                       int64_t phase) {
  const int64_t start = phase * pool->total + from->start - phase * from->count;
  const int64_t limit = (phase + 1) * from->count;
  int64_t first, count, done = 0;
  while ((count = take(from, limit, pool->phases > 1 && from == self,
                       &first)) != 0) {
    for (int64_t i = 0; i < count; i++) {
      self->fn(self->arg, start + first + i, self->number);
    }
    done += count;
  }
  return done;
}

static int64_t help_others(const bsm_thread_pool *pool, seat *self,
                           int64_t phase, bool only_absent) {
  int64_t done = 0;
  for (int step = 1; step < pool->threads; step++) {
    seat *other = &pool->seats[(self->number + step) % pool->threads];
    if (only_absent && atomic_load(&other->entered)) continue;
    done += work_on(pool, other, self, phase);
  }
  return done;
}

static bool phase_is_over(const bsm_thread_pool *pool, int64_t phase) {
  int64_t done = 0;
  for (int i = 0; i < pool->threads; i++) {
    done += atomic_load_explicit(&pool->seats[i].done, memory_order_acquire);
  }
  return done >= (phase + 1) * pool->total;
}

/* Looking at the ranges of others costs them time, so a thread waits a little
 * before it helps, unless they are not there. */
static void work_in_phases(const bsm_thread_pool *pool, seat *self) {
  int64_t done = 0;
  atomic_store(&self->entered, true);
  for (int64_t phase = 0; phase < pool->phases; phase++) {
    done += work_on(pool, self, self, phase);
    done += help_others(pool, self, phase, true);
    atomic_store_explicit(&self->done, done, memory_order_release);
    for (int i = 1; !phase_is_over(pool, phase); i++) {
      pause_cpu();
      if (i % PATIENCE != 0) continue;
      done += help_others(pool, self, phase, false);
      atomic_store_explicit(&self->done, done, memory_order_release);
      give_way(self);
    }
  }
}

static void work(const bsm_thread_pool *pool, seat *self) {
  inside_job = true;
  if (pool->trace) self->began = bsm_clock_seconds();
  if (pool->phases > 1) {
    work_in_phases(pool, self);
  } else {
    (void)work_on(pool, self, self, 0);
    (void)help_others(pool, self, 0, false);
  }
  if (pool->trace) self->ended = bsm_clock_seconds();
  inside_job = false;
}

/* ---- workers ---- */

static bool may_spin(const bsm_thread_pool *pool) {
  return pool->size <= pool->cpus;
}

static bool has_news(const seat *self, uint64_t seen) {
  return atomic_load(&self->ticket) / TICKET_STEP != seen ||
         atomic_load_explicit(&self->pool->stop, memory_order_relaxed);
}

/* Spins until there is a job other than `seen`; false when it took too long. */
static bool spin_for_job(seat *self, uint64_t seen) {
  const bsm_thread_pool *pool = self->pool;
  double start = 0, idle_since = 0;
  for (;;) {
    for (int i = 0; i < PAUSES; i++) {
      if (has_news(self, seen)) return true;
      pause_cpu();
    }
    const double now = bsm_clock_seconds();
    const bool runs =
        atomic_load_explicit(&pool->runs, memory_order_relaxed) > 0;
    if (start == 0) start = now;
    if (runs || idle_since == 0) idle_since = now;
    if (now - start > RUN_SPIN || now - idle_since > IDLE_SPIN) return false;
    give_way(self);
  }
}

static void wait_for_job(seat *self, uint64_t seen) {
  bsm_thread_pool *pool = self->pool;
  if (may_spin(pool) && spin_for_job(self, seen)) return;
  pthread_mutex_lock(&pool->sleep_lock);
  /* The caller opens tickets and then changes `sleepers`; here it is the other
   * way around. Whose change comes second sees what the first did before, so
   * no wake-up is lost. */
  atomic_fetch_add(&pool->sleepers, 1);
  self->sleeps = true;
  atomic_store_explicit(&self->cpu, -1, memory_order_relaxed);
  while (!has_news(self, seen)) {
    pthread_cond_wait(&self->wake, &pool->sleep_lock);
  }
  self->sleeps = false;
  atomic_fetch_sub(&pool->sleepers, 1);
  pthread_mutex_unlock(&pool->sleep_lock);
}

static void leave(seat *self, uint64_t number) {
  bsm_thread_pool *pool = self->pool;
  atomic_store(&self->ticket, number * TICKET_STEP + TICKET_CLOSED);
  if (!atomic_load(&pool->caller_waits)) return;
  pthread_mutex_lock(&pool->sleep_lock);
  pthread_cond_signal(&pool->left);
  pthread_mutex_unlock(&pool->sleep_lock);
}

static void *run_worker(void *arg) {
  seat *self = arg;
  uint64_t seen = 0;
  while (!atomic_load(&self->pool->stop)) {
    wait_for_job(self, seen);
    uint_fast64_t ticket = atomic_load(&self->ticket);
    seen = ticket / TICKET_STEP;
    if (ticket % TICKET_STEP == TICKET_OPEN &&
        atomic_compare_exchange_strong(&self->ticket, &ticket,
                                       seen * TICKET_STEP + TICKET_INSIDE)) {
      work(self->pool, self);
      leave(self, seen);
    }
  }
  return NULL;
}

static void run_users_thread(void *arg) {
  (void)run_worker(arg);
}

/* ---- the caller ---- */

static void wake_sleepers(bsm_thread_pool *pool) {
  pthread_mutex_lock(&pool->sleep_lock);
  for (int i = 1; i < pool->threads; i++) {
    if (pool->seats[i].sleeps) pthread_cond_signal(&pool->seats[i].wake);
  }
  pthread_mutex_unlock(&pool->sleep_lock);
}

static void open_job(bsm_thread_pool *pool, bsm_unit_fn *fn, void *arg) {
  const int64_t each = pool->total / pool->threads;
  const int64_t extra = pool->total % pool->threads;
  int64_t start = 0;
  for (int i = 0; i < pool->threads; i++) {
    seat *s = &pool->seats[i];
    s->fn = fn;
    s->arg = arg;
    s->start = start;
    s->count = each + (i < extra);
    start += s->count;
    atomic_store_explicit(&s->next, 0, memory_order_relaxed);
    if (pool->phases == 1) continue;
    atomic_store_explicit(&s->done, 0, memory_order_relaxed);
    atomic_store_explicit(&s->entered, false, memory_order_relaxed);
  }
  pool->number++;
  (void)note_cpu(&pool->seats[0]);
  for (int i = 1; i < pool->threads; i++) {
    atomic_store_explicit(&pool->seats[i].ticket,
                          pool->number * TICKET_STEP + TICKET_OPEN,
                          memory_order_release);
  }
  if (atomic_fetch_add(&pool->sleepers, 0) > 0) wake_sleepers(pool);
}

/* Whether a worker is inside; if it has not entered, it no longer can. */
static bool is_inside(bsm_thread_pool *pool, seat *s) {
  uint_fast64_t ticket = atomic_load(&s->ticket);
  if (ticket % TICKET_STEP == TICKET_OPEN &&
      atomic_compare_exchange_strong(
          &s->ticket, &ticket, pool->number * TICKET_STEP + TICKET_CLOSED)) {
    return false;
  }
  return ticket % TICKET_STEP == TICKET_INSIDE;
}

static void wait_until_left(bsm_thread_pool *pool, seat *s) {
  if (!is_inside(pool, s)) return;
  const double start = bsm_clock_seconds();
  while (may_spin(pool) && bsm_clock_seconds() - start < LEAVE_SPIN) {
    for (int i = 0; i < PAUSES; i++) {
      if (!is_inside(pool, s)) return;
      pause_cpu();
    }
    give_way(&pool->seats[0]);
  }
  pthread_mutex_lock(&pool->sleep_lock);
  atomic_store(&pool->caller_waits, true);
  while (is_inside(pool, s)) {
    pthread_cond_wait(&pool->left, &pool->sleep_lock);
  }
  atomic_store(&pool->caller_waits, false);
  pthread_mutex_unlock(&pool->sleep_lock);
}

/* Tells when the workers of a job that is over were at work; those that did not
 * enter it have no time. */
static void trace_job(bsm_thread_pool *pool) {
  for (int i = 1; i < pool->threads; i++) {
    seat *s = &pool->seats[i];
    if (s->ended > 0) pool->trace(pool->trace_user, i, s->began, s->ended);
    s->ended = 0;
  }
}

static void take_seat(void *arg, int index) {
  bsm_thread_pool *pool = arg;
  if (index < 0 || index >= pool->threads) return;
  seat *s = &pool->seats[index];
  if (!atomic_exchange(&s->taken, true)) work(pool, s);
}

/* The caller has the threads. What it did not run is run here. */
static void run_by_caller(bsm_thread_pool *pool) {
  for (int i = 0; i < pool->threads; i++) {
    atomic_store_explicit(&pool->seats[i].taken, false, memory_order_relaxed);
  }
  pool->functions.run(pool->functions.user, pool->threads, take_seat, pool);
  take_seat(pool, 0);
}

static void run_by_workers(bsm_thread_pool *pool) {
  work(pool, &pool->seats[0]);
  for (int i = 1; i < pool->threads; i++) {
    wait_until_left(pool, &pool->seats[i]);
  }
}

static void run_alone(int64_t count, bsm_unit_fn *fn, void *arg) {
  for (int64_t i = 0; i < count; i++) fn(arg, i, 0);
}

void bsm_parallel_phases(bsm_thread_pool *pool, int threads, int64_t phases,
                         int64_t count, bsm_unit_fn *fn, void *arg) {
  if (phases <= 0 || count <= 0) return;
  const int64_t size = bsm_thread_pool_size(pool);
  int64_t most = threads < size ? threads : size;
  if (most > count) most = count;
  /* Threads that take turns on a CPU meet slowly. */
  if (phases > 1 && pool && most > pool->cpus) most = pool->cpus;
  if (most <= 1 || inside_job) {
    run_alone(phases * count, fn, arg);
    return;
  }
  pthread_mutex_lock(&pool->turn);
  pool->threads = (int)most;
  pool->phases = phases;
  pool->total = count;
  open_job(pool, fn, arg);
  if (pool->functions.run) {
    run_by_caller(pool);
  } else {
    run_by_workers(pool);
  }
  if (pool->trace) trace_job(pool);
  pthread_mutex_unlock(&pool->turn);
}

void bsm_parallel_units(bsm_thread_pool *pool, int threads, int64_t count,
                        bsm_unit_fn *fn, void *arg) {
  bsm_parallel_phases(pool, threads, 1, count, fn, arg);
}

typedef struct task {
  bsm_task_fn fn;
  void *arg;
} task;

static void run_task(void *arg, int64_t unit, int slot) {
  const task *t = arg;
  (void)slot;
  t->fn(t->arg, (size_t)unit);
}

void bsm_parallel_for(bsm_thread_pool *pool, size_t count, bsm_task_fn fn,
                      void *arg) {
  task t = {fn, arg};
  bsm_parallel_units(pool, INT_MAX, (int64_t)count, run_task, &t);
}

void bsm_thread_pool_set_trace(bsm_thread_pool *pool, bsm_pool_trace_fn *trace,
                               void *user) {
  pool->trace = trace;
  pool->trace_user = user;
}

void bsm_thread_pool_begin(bsm_thread_pool *pool) {
  if (!pool || pool->size == 1) return;
  atomic_fetch_add_explicit(&pool->runs, 1, memory_order_relaxed);
}

void bsm_thread_pool_end(bsm_thread_pool *pool) {
  if (!pool || pool->size == 1) return;
  atomic_fetch_sub_explicit(&pool->runs, 1, memory_order_relaxed);
}

int bsm_thread_pool_size(const bsm_thread_pool *pool) {
  return pool ? pool->size : 1;
}

/* ---- life ---- */

static int start_thread(seat *self) {
  const bsm_thread_pool_options *f = &self->pool->functions;
  if (!f->start) {
    return pthread_create(&self->thread, NULL, run_worker, self);
  }
  self->users_thread = f->start(f->user, self->number, run_users_thread, self);
  return self->users_thread ? 0 : EAGAIN;
}

static void join_thread(seat *self) {
  const bsm_thread_pool_options *f = &self->pool->functions;
  if (f->start) {
    f->join(f->user, self->users_thread);
  } else {
    pthread_join(self->thread, NULL);
  }
}

static bsm_status start_workers(bsm_thread_pool *pool) {
  if (pool->functions.run) return BSM_OK;
  /* Signals belong to the threads of the program, not to ours. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  for (int i = 1; i < pool->size && !error; i++) {
    error = start_thread(&pool->seats[i]);
    if (!error) pool->started++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!error) return BSM_OK;
  if (pool->functions.start) {
    return BSM_FAIL(BSM_IO, "thread %d of %d was not started by the caller",
                    pool->started + 2, pool->size);
  }
  return BSM_FAIL(BSM_IO, "cannot start thread %d of %d (error %d)",
                  pool->started + 2, pool->size, error);
}

static bsm_status make_seats(bsm_thread_pool *pool) {
  const size_t bytes = (size_t)pool->size * sizeof(seat);
  pool->seats = bsm_allocate(pool->allocator, bytes, CACHE_LINE);
  BSM_TRY_ALLOC(pool->seats);
  memset(pool->seats, 0, bytes);
  for (int i = 0; i < pool->size; i++) {
    pool->seats[i].pool = pool;
    pool->seats[i].number = i;
    atomic_init(&pool->seats[i].cpu, -1);
    pthread_cond_init(&pool->seats[i].wake, NULL);
  }
  return start_workers(pool);
}

static bsm_status check_options(const bsm_thread_pool_options *o) {
  if (o->threads > MAX_THREADS || o->threads < 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%d threads asked for; must be from 0 (all) to %d",
                    o->threads, MAX_THREADS);
  }
  if (!o->start != !o->join) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "of `start` and `join` only one is given; threads that "
                    "are started have to be waited for");
  }
  if (o->run && o->start) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "both `run` and `start` are given; with `run` the pool "
                    "has no threads of its own");
  }
  return BSM_OK;
}

bsm_status bsm_thread_pool_create_with(const bsm_thread_pool_options *options,
                                       bsm_thread_pool **out) {
  BSM_NEED(out);
  *out = NULL;
  bsm_thread_pool_options o = BSM_THREAD_POOL_OPTIONS_INIT;
  BSM_TRY(bsm_options_copy(&o, sizeof(o), options, "bsm_thread_pool_options"));
  BSM_TRY(check_options(&o));
  const int cpus = bsm_available_cpus();
  bsm_thread_pool *pool = bsm_allocate(o.allocator, sizeof(*pool), CACHE_LINE);
  BSM_TRY_ALLOC(pool);
  memset(pool, 0, sizeof(*pool));
  pool->allocator = o.allocator;
  pool->functions = o;
  pool->size = o.threads ? o.threads : cpus;
  pool->cpus = cpus;
  pthread_mutex_init(&pool->sleep_lock, NULL);
  pthread_mutex_init(&pool->turn, NULL);
  pthread_cond_init(&pool->left, NULL);
  bsm_status status = make_seats(pool);
  if (status) {
    bsm_thread_pool_destroy(pool);
    return status;
  }
  *out = pool;
  return BSM_OK;
}

bsm_status bsm_thread_pool_create(int threads, const bsm_allocator *allocator,
                                  bsm_thread_pool **out) {
  bsm_thread_pool_options options = BSM_THREAD_POOL_OPTIONS_INIT;
  options.threads = threads;
  options.allocator = allocator;
  return bsm_thread_pool_create_with(&options, out);
}

void bsm_thread_pool_destroy(bsm_thread_pool *pool) {
  if (!pool) return;
  pthread_mutex_lock(&pool->sleep_lock);
  atomic_store(&pool->stop, true);
  for (int i = 1; i <= pool->started; i++) {
    pthread_cond_signal(&pool->seats[i].wake);
  }
  pthread_mutex_unlock(&pool->sleep_lock);
  for (int i = 1; i <= pool->started; i++) {
    join_thread(&pool->seats[i]);
  }
  for (int i = 0; pool->seats && i < pool->size; i++) {
    pthread_cond_destroy(&pool->seats[i].wake);
  }
  pthread_cond_destroy(&pool->left);
  pthread_mutex_destroy(&pool->turn);
  pthread_mutex_destroy(&pool->sleep_lock);
  const bsm_allocator *allocator = pool->allocator;
  bsm_deallocate(allocator, pool->seats);
  bsm_deallocate(allocator, pool);
}
