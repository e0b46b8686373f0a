/* SPDX-License-Identifier: Apache-2.0 */
/* Thread pool: one job at a time, indices in one range per thread.
 *
 * A job splits its indices into as many consecutive ranges as there are
 * threads. A thread first takes from its own range, so that the same thread
 * touches the same part of the data in job after job, and then helps the
 * others. Ranges are handed out by atomic counters.
 *
 * `state` decides who may look at the job: bits 0-15 count the workers inside,
 * bit 16 is set while the job is open, the upper half is its number. Workers
 * enter by compare-and-swap while it is open; the caller closes it when all
 * indices are handed out, waits until nobody is inside, and only then may the
 * fields of the job change. A worker that wakes up late finds it closed. */
#include "base/thread_pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/allocate.h"
#include "base/checked.h"

#define MAX_THREADS 4096
#define CACHE_LINE 64
#define SPIN_COUNT 2000 /* some ten microseconds of pause instructions */

#define STATE_INSIDE UINT64_C(0xffff)
#define STATE_OPEN (UINT64_C(1) << 16)
#define STATE_JOB_SHIFT 32

typedef struct index_range {
  _Alignas(CACHE_LINE) atomic_size_t next;
  size_t end;
} index_range;

typedef struct worker {
  bsm_thread_pool *pool;
  int number; /* 1 .. size - 1; the caller is 0 */
  pthread_t thread;
} worker;

struct bsm_thread_pool {
  const bsm_allocator *allocator;
  int size;
  int started; /* workers whose threads exist */
  worker *workers;

  /* The open job. */
  bsm_task_fn fn;
  void *arg;
  index_range *ranges; /* one for each thread */

  _Alignas(CACHE_LINE) atomic_uint_fast64_t state;
  atomic_bool stop;
  atomic_int sleeping;      /* workers that wait for `wake` */
  atomic_bool caller_waits; /* the caller waits for `left` */
  pthread_mutex_t sleep_lock;
  pthread_cond_t wake;
  pthread_cond_t left;
  pthread_mutex_t turn; /* held by the caller whose job it is */
};

/* Whether this thread is inside a job: a nested loop runs on the spot. */
static _Thread_local bool inside_job;

static inline void pause_cpu(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  atomic_signal_fence(memory_order_seq_cst);
#endif
}

static uint64_t job_number(uint64_t state) {
  return state >> STATE_JOB_SHIFT;
}

/* Runs indices of the open job until none is left to hand out. */
static void work(bsm_thread_pool *pool, int number) {
  const bsm_task_fn fn = pool->fn;
  void *const arg = pool->arg;
  inside_job = true;
  for (int step = 0; step < pool->size; step++) {
    index_range *range = &pool->ranges[(number + step) % pool->size];
    /* Looking first keeps an exhausted counter from being incremented by
     * everybody. */
    while (atomic_load_explicit(&range->next, memory_order_relaxed) <
           range->end) {
      const size_t i =
          atomic_fetch_add_explicit(&range->next, 1, memory_order_relaxed);
      if (i >= range->end) break;
      fn(arg, i);
    }
  }
  inside_job = false;
}

/* Waits for a job other than `seen`, or the end: spins, then sleeps. */
static void wait_for_job(bsm_thread_pool *pool, uint64_t seen) {
  for (int i = 0; i < SPIN_COUNT; i++) {
    if (job_number(atomic_load(&pool->state)) != seen ||
        atomic_load(&pool->stop)) {
      return;
    }
    pause_cpu();
  }
  pthread_mutex_lock(&pool->sleep_lock);
  /* The caller changes `state` and then reads `sleeping`; here it is the other
   * way around. One of the two sees the other, so no wake-up is lost. */
  atomic_fetch_add(&pool->sleeping, 1);
  while (job_number(atomic_load(&pool->state)) == seen &&
         !atomic_load(&pool->stop)) {
    pthread_cond_wait(&pool->wake, &pool->sleep_lock);
  }
  atomic_fetch_sub(&pool->sleeping, 1);
  pthread_mutex_unlock(&pool->sleep_lock);
}

/* Enters the job if it is open; its number goes to *seen either way. */
static bool enter(bsm_thread_pool *pool, uint64_t *seen) {
  uint_fast64_t state = atomic_load(&pool->state);
  do {
    *seen = job_number(state);
    if (!(state & STATE_OPEN)) return false;
  } while (!atomic_compare_exchange_weak(&pool->state, &state, state + 1));
  return true;
}

static void leave(bsm_thread_pool *pool) {
  const uint64_t before = atomic_fetch_sub(&pool->state, 1);
  if ((before & STATE_INSIDE) != 1 || (before & STATE_OPEN)) return;
  if (!atomic_load(&pool->caller_waits)) return;
  pthread_mutex_lock(&pool->sleep_lock);
  pthread_cond_signal(&pool->left);
  pthread_mutex_unlock(&pool->sleep_lock);
}

static void *run_worker(void *arg) {
  const worker *self = arg;
  bsm_thread_pool *pool = self->pool;
  uint64_t seen = 0;
  while (!atomic_load(&pool->stop)) {
    wait_for_job(pool, seen);
    if (enter(pool, &seen)) {
      work(pool, self->number);
      leave(pool);
    }
  }
  return NULL;
}

static void open_job(bsm_thread_pool *pool, size_t count, bsm_task_fn fn,
                     void *arg) {
  const size_t size = (size_t)pool->size;
  const size_t each = count / size, extra = count % size;
  size_t start = 0;
  for (size_t t = 0; t < size; t++) {
    atomic_store_explicit(&pool->ranges[t].next, start, memory_order_relaxed);
    start += each + (t < extra);
    pool->ranges[t].end = start;
  }
  pool->fn = fn;
  pool->arg = arg;
  const uint64_t number = job_number(atomic_load(&pool->state)) + 1;
  atomic_store(&pool->state, (number << STATE_JOB_SHIFT) | STATE_OPEN);
  if (atomic_load(&pool->sleeping) == 0) return;
  pthread_mutex_lock(&pool->sleep_lock);
  if (count >= size) {
    pthread_cond_broadcast(&pool->wake);
  } else {
    for (size_t i = 1; i < count; i++) pthread_cond_signal(&pool->wake);
  }
  pthread_mutex_unlock(&pool->sleep_lock);
}

static void close_job(bsm_thread_pool *pool) {
  uint64_t state = atomic_fetch_and(&pool->state, ~STATE_OPEN);
  for (int i = 0; (state & STATE_INSIDE) && i < SPIN_COUNT; i++) {
    pause_cpu();
    state = atomic_load(&pool->state);
  }
  if (!(state & STATE_INSIDE)) return;
  pthread_mutex_lock(&pool->sleep_lock);
  atomic_store(&pool->caller_waits, true);
  while (atomic_load(&pool->state) & STATE_INSIDE) {
    pthread_cond_wait(&pool->left, &pool->sleep_lock);
  }
  atomic_store(&pool->caller_waits, false);
  pthread_mutex_unlock(&pool->sleep_lock);
}

void bsm_parallel_for(bsm_thread_pool *pool, size_t count, bsm_task_fn fn,
                      void *arg) {
  if (!pool || pool->size == 1 || count <= 1 || inside_job) {
    for (size_t i = 0; i < count; i++) fn(arg, i);
    return;
  }
  pthread_mutex_lock(&pool->turn);
  open_job(pool, count, fn, arg);
  work(pool, 0);
  close_job(pool);
  pthread_mutex_unlock(&pool->turn);
}

int bsm_thread_pool_size(const bsm_thread_pool *pool) {
  return pool ? pool->size : 1;
}

static bsm_status start_workers(bsm_thread_pool *pool) {
  /* Signals belong to the threads of the program, not to ours. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  for (int i = 1; i < pool->size && !error; i++) {
    worker *self = &pool->workers[i - 1];
    *self = (worker){.pool = pool, .number = i};
    error = pthread_create(&self->thread, NULL, run_worker, self);
    if (!error) pool->started++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!error) return BSM_OK;
  return BSM_FAIL(BSM_IO, "cannot start thread %d of %d (error %d)",
                  pool->started + 2, pool->size, error);
}

bsm_status bsm_thread_pool_create(int threads, const bsm_allocator *allocator,
                                  bsm_thread_pool **out) {
  *out = NULL;
  if (threads == 0) threads = bsm_available_cpus();
  if (threads > MAX_THREADS || threads < 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%d threads asked for; must be from 0 (all) to %d", threads,
                    MAX_THREADS);
  }
  const size_t size = (size_t)threads;
  bsm_thread_pool *pool = bsm_allocate(allocator, sizeof(*pool), CACHE_LINE);
  BSM_TRY_ALLOC(pool);
  memset(pool, 0, sizeof(*pool));
  pool->allocator = allocator;
  pool->size = threads;
  pool->workers =
      bsm_allocate(allocator, size * sizeof(worker), _Alignof(worker));
  pool->ranges = bsm_allocate(allocator, size * sizeof(index_range),
                              _Alignof(index_range));
  pthread_mutex_init(&pool->sleep_lock, NULL);
  pthread_mutex_init(&pool->turn, NULL);
  pthread_cond_init(&pool->wake, NULL);
  pthread_cond_init(&pool->left, NULL);
  bsm_status status;
  if (pool->workers && pool->ranges) {
    memset(pool->ranges, 0, size * sizeof(index_range));
    status = start_workers(pool);
  } else {
    status = BSM_FAIL_OOM();
  }
  if (status) {
    bsm_thread_pool_destroy(pool);
    return status;
  }
  *out = pool;
  return BSM_OK;
}

void bsm_thread_pool_destroy(bsm_thread_pool *pool) {
  if (!pool) return;
  pthread_mutex_lock(&pool->sleep_lock);
  atomic_store(&pool->stop, true);
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->sleep_lock);
  for (int i = 0; i < pool->started; i++) {
    pthread_join(pool->workers[i].thread, NULL);
  }
  pthread_cond_destroy(&pool->left);
  pthread_cond_destroy(&pool->wake);
  pthread_mutex_destroy(&pool->turn);
  pthread_mutex_destroy(&pool->sleep_lock);
  const bsm_allocator *allocator = pool->allocator;
  bsm_deallocate(allocator, pool->ranges);
  bsm_deallocate(allocator, pool->workers);
  bsm_deallocate(allocator, pool);
}
