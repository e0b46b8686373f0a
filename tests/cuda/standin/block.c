/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of the blocks of a cluster, most often one: who may run,
 * barriers, and what lanes of a warp do together. A thread runs until it waits
 * or ends; then the next lane does, and when no lane of a warp can, the next
 * warp. No sanitizer may instrument this file: it runs on stacks that they do
 * not know. */
#define _GNU_SOURCE
#include "cuda/standin/block.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/cuda/cuda_types.h"
#include "cuda/standin/fiber.h"

#define STACK_BYTES ((size_t)256 << 10)
#define GUARD_BYTES ((size_t)16 << 10)
#define BARRIERS 16
/* Turns in which threads do nothing but ask for another one. */
#define MAX_IDLE_TURNS 100000

typedef enum state { READY, YIELDED, IN_WARP, AT_BARRIER, ENDED } state;

typedef struct slot {
  emulated_thread thread;
  fiber fiber;
  char *stack; /* while it is begun and not ended */
  state state;
  emulated_meeting *act; /* IN_WARP */
  void *argument;
  unsigned mask;
  int barrier, vote; /* AT_BARRIER; the votes once it has passed */
} slot;

typedef struct barrier {
  unsigned expected, arrived;
  int votes;
} barrier;

#define MAX_THREADS (MAX_BLOCK_THREADS * MAX_CLUSTER_BLOCKS)
static slot slots[MAX_THREADS];
static emulated_copy copies[MAX_THREADS][EMULATED_COPIES];
/* Of each block; the last is that of the cluster. */
static barrier barriers[MAX_CLUSTER_BLOCKS][BARRIERS + 1];
#define CLUSTER_BARRIER BARRIERS
static unsigned block_threads, thread_count; /* of a block, and of all */
static slot *running;
static fiber scheduler;
static const grid_launch *current;
static int failure;
static char failure_text[512];
static bool has_moved; /* some thread did more than yield */

/* ---- stacks: the one that was used last is used first ---- */

static char *stacks, *free_stacks[MAX_THREADS];
static unsigned stack_count; /* that can be used */
static unsigned free_count;

static bool reserve_stacks(unsigned count) {
  const size_t each = STACK_BYTES + GUARD_BYTES;
  if (!stacks) {
    void *all = mmap(NULL, each * MAX_THREADS, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return false;
    stacks = all;
  }
  for (; stack_count < count; stack_count++) {
    if (mprotect(stacks + stack_count * each + GUARD_BYTES, STACK_BYTES,
                 PROT_READ | PROT_WRITE)) {
      block_free();
      return false;
    }
  }
  free_count = count;
  for (size_t i = 0; i < count; i++) {
    free_stacks[i] = stacks + (count - 1 - i) * each + GUARD_BYTES;
  }
  return true;
}

void block_free(void) {
  if (stacks) munmap(stacks, (STACK_BYTES + GUARD_BYTES) * MAX_THREADS);
  stacks = NULL;
  stack_count = 0;
}

const char *block_stack(void) {
  return running ? running->stack : NULL;
}

const emulated_thread *block_running(void) {
  return running ? &running->thread : NULL;
}

const char *block_why(void) {
  return failure_text;
}

uint64_t next_random(uint64_t *series) {
  *series += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t x = *series;
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

/* ---- leaving a thread ---- */

static unsigned lanes_from(const slot *warp) {
  const unsigned left = block_threads - warp->thread.linear;
  return left < 32 ? left : 32;
}

static void enter(slot *s) {
  running = s;
  current->module->thread = &s->thread;
  current->module->block = s->thread.block;
  current->module->dynamic_shared = s->thread.dynamic_shared;
}

static void wait_here(void) {
  fiber_switch(&running->fiber, &scheduler);
}

/* A lane that can go on, and has begun; NULL: none, or the order is random. */
static slot *next_lane(slot *from) {
  slot *warp = from - from->thread.lane;
  const unsigned lanes = lanes_from(warp);
  for (unsigned i = 1; i < lanes && !current->seed; i++) {
    const unsigned lane = from->thread.lane + i;
    slot *s = &warp[lane < lanes ? lane : lane - lanes];
    if (s->state == READY && s->stack) return s;
  }
  return NULL;
}

/* The same without the scheduler between two lanes: half of the switches. */
static void wait_for_lanes(void) {
  slot *own = running, *next = next_lane(own);
  if (!next) {
    wait_here();
    return;
  }
  has_moved = true;
  enter(next);
  fiber_switch(&own->fiber, &next->fiber);
}

void block_fail(int result, const char *text) {
  failure = result;
  snprintf(failure_text, sizeof(failure_text), "%s", text);
}

void block_leave(void) {
  wait_here(); /* never resumed */
}

static void block_abort(int result, const char *text) {
  block_fail(result, text);
  block_leave();
}

char *block_landing(void) {
  /* Nobody needs what is there; aligned as at the start of a function. */
  return running->stack + STACK_BYTES - 4096 - 8;
}

/* ---- barriers ---- */

static void pass_barrier(barrier *b, int id) {
  const bool is_clusters = id == CLUSTER_BARRIER;
  const unsigned first = is_clusters ? 0 : running->thread.rank * block_threads;
  const unsigned count = is_clusters ? thread_count : block_threads;
  for (unsigned i = first; i < first + count; i++) {
    slot *s = &slots[i];
    if (s->state != AT_BARRIER || s->barrier != id) continue;
    s->state = READY;
    s->vote = b->votes;
  }
  *b = (barrier){0};
}

static int come_to(barrier *b, int id, unsigned expected, int vote, int waits) {
  if (b->arrived && b->expected != expected) {
    block_abort(BSM_CU_LAUNCH_FAILED,
                "threads disagree how many come to a barrier");
  }
  b->expected = expected;
  b->votes += vote;
  running->barrier = id;
  running->vote = b->votes;
  if (++b->arrived == expected) {
    running->vote = b->votes;
    pass_barrier(b, id);
    return running->vote;
  }
  if (!waits) return 0;
  running->state = AT_BARRIER;
  wait_here();
  return running->vote;
}

static int at_barrier(int id, int threads, int vote, int waits) {
  if (id < 0 || id >= BARRIERS || threads < 0 || threads % 32 ||
      (unsigned)threads > block_threads) {
    block_abort(BSM_CU_LAUNCH_FAILED, "a barrier that cannot be");
  }
  return come_to(&barriers[running->thread.rank][id], id,
                 threads ? (unsigned)threads : block_threads, vote, waits);
}

static void at_cluster(void) {
  (void)come_to(&barriers[0][CLUSTER_BARRIER], CLUSTER_BARRIER, thread_count, 0,
                1);
}

/* ---- meetings of a warp ---- */

/* Whether all lanes of the mask that are left have come to what lane `own` has
 * come to. The next one is looked at first: most often it has not. */
static bool have_come(const slot *warp, unsigned lanes, unsigned own) {
  for (unsigned i = 1; i < lanes; i++) {
    const unsigned lane = own + i < lanes ? own + i : own + i - lanes;
    const slot *s = &warp[lane];
    if (!(warp[own].mask >> lane & 1u) || s->state == ENDED) continue;
    if (s->state != IN_WARP || s->mask != warp[own].mask ||
        s->act != warp[own].act) {
      return false;
    }
  }
  return true;
}

/* Lets them go on then. */
static bool try_meeting(slot *warp, unsigned own) {
  const unsigned lanes = lanes_from(warp), mask = warp[own].mask;
  void *arguments[32] = {0};
  unsigned present = 0;
  if (!have_come(warp, lanes, own)) return false;
  for (unsigned i = 0; i < lanes; i++) {
    arguments[i] = warp[i].argument;
    if (mask >> i & 1u && warp[i].state != ENDED) present |= 1u << i;
  }
  warp[own].act(arguments, present);
  for (unsigned i = 0; i < lanes; i++) {
    if (present >> i & 1u) warp[i].state = READY;
  }
  return true;
}

static void meet(unsigned mask, emulated_meeting *act, void *argument) {
  slot *warp = running - running->thread.lane;
  if (!(mask >> running->thread.lane & 1u)) {
    block_abort(BSM_CU_LAUNCH_FAILED,
                "a lane uses a mask in which it is not itself");
  }
  running->state = IN_WARP;
  running->mask = mask;
  running->act = act;
  running->argument = argument;
  if (!try_meeting(warp, running->thread.lane)) wait_for_lanes();
}

/* Others may have waited for the lane that has ended. */
static void leave_warp(slot *ended) {
  slot *warp = ended - ended->thread.lane;
  const unsigned lanes = lanes_from(warp);
  for (unsigned i = 0; i < lanes; i++) {
    if (warp[i].state == IN_WARP && warp[i].mask >> ended->thread.lane & 1u) {
      (void)try_meeting(warp, i);
    }
  }
}

static void yield(void) {
  running->state = YIELDED;
  wait_here();
}

const emulation_calls grid_calls = {at_barrier, meet, at_cluster, yield,
                                    block_abort};

/* ---- the scheduler ---- */

static void thread_main(void) {
  current->entry->run(current->parameter);
  running->state = ENDED;
  leave_warp(running);
  wait_here();
}

static void resume(slot *s) {
  if (!s->stack) {
    s->stack = free_stacks[--free_count];
    /* Stacks begin in different lines of the cache. */
    const size_t shift = s->thread.linear % 64 * 64;
    fiber_make(&s->fiber, s->stack, STACK_BYTES - shift, thread_main);
  }
  enter(s);
  fiber_switch(&scheduler, &s->fiber);
  s = running; /* lanes change without coming here */
  running = NULL;
  if (s->state != YIELDED) has_moved = true;
  if (s->state == ENDED) {
    free_stacks[free_count++] = s->stack;
    s->stack = NULL;
  }
}

/* Runs the lanes of a warp until none can; an odd step and a start make an
 * order of lanes. False: nothing was to be done, or the kernel has failed. */
static bool run_warp(unsigned first, uint64_t *random) {
  const unsigned lanes = lanes_from(&slots[first]);
  bool any = false, again = true;
  while (again) {
    unsigned start = 0, step = 1;
    if (current->seed) {
      const uint64_t r = next_random(random);
      start = (unsigned)r & 31u;
      step = ((unsigned)(r >> 8) & 31u) | 1u;
    }
    again = false;
    for (unsigned i = 0; i < 32; i++) {
      const unsigned lane = (start + i * step) & 31u;
      if (lane >= lanes || slots[first + lane].state != READY) continue;
      again = any = true;
      resume(&slots[first + lane]);
      if (failure) return false;
    }
  }
  return any;
}

static bool wake_yielded(void) {
  bool any = false;
  for (unsigned i = 0; i < thread_count; i++) {
    if (slots[i].state != YIELDED) continue;
    slots[i].state = READY;
    any = true;
  }
  return any;
}

static const char *const state_words[] = {"runs", "sleeps",
                                          "waits for lanes of its warp",
                                          "waits at a barrier", "has ended"};

/* Nobody can run, and somebody waits: one thread of each kind is named. */
static int deadlock(const char *how) {
  current->module->thread = NULL;
  int used = snprintf(failure_text, sizeof(failure_text), "%s", how);
  for (unsigned k = 0; k <= ENDED; k++) {
    unsigned count = 0, first = 0;
    for (unsigned i = 0; i < thread_count; i++) {
      if ((unsigned)slots[i].state != k) continue;
      if (!count++) first = i;
    }
    if (!count) continue;
    used += snprintf(failure_text + used, sizeof(failure_text) - (size_t)used,
                     "; %u threads, the first is %u: %s", count, first,
                     state_words[k]);
    if (k == IN_WARP) {
      used += snprintf(failure_text + used, sizeof(failure_text) - (size_t)used,
                       " (mask %08x)", slots[first].mask);
    }
  }
  return BSM_CU_LAUNCH_FAILED;
}

static int run_threads(uint64_t *random) {
  /* Where there are several blocks, they consist of whole warps. */
  const unsigned warps = (thread_count + 31) / 32;
  unsigned idle = 0;
  for (;;) {
    unsigned start = 0, backwards = 0;
    bool any = false;
    if (current->seed) {
      const uint64_t r = next_random(random);
      start = (unsigned)(r % warps);
      backwards = (unsigned)(r >> 32) & 1u;
    }
    has_moved = false;
    for (unsigned i = 0; i < warps; i++) {
      const unsigned at = backwards ? warps - 1 - i : i;
      if (run_warp((start + at) % warps * 32, random)) any = true;
      if (failure) return failure;
    }
    const bool yielded = wake_yielded();
    if (any && has_moved) idle = 0;
    if (any && yielded && ++idle > MAX_IDLE_TURNS) {
      return deadlock("threads sleep for what never comes");
    }
    if (!any && !yielded) break;
  }
  for (unsigned i = 0; i < thread_count; i++) {
    if (slots[i].state != ENDED) return deadlock("not all threads can go on");
  }
  return BSM_CU_SUCCESS;
}

static void begin_thread(const grid_launch *l, emulated_index block,
                         unsigned rank, unsigned linear) {
  const unsigned *size = l->block, i = rank * block_threads + linear;
  slot *s = &slots[i];
  s->thread =
      (emulated_thread){.index = {linear % size[0], linear / size[0] % size[1],
                                  linear / size[0] / size[1]},
                        .block = block,
                        .dynamic_shared = l->module->dynamic_shared +
                                          rank * l->module->cluster_pitch,
                        .rank = rank,
                        .linear = linear,
                        .lane = linear % 32,
                        .copy = copies[i]};
  s->stack = NULL;
  s->state = READY;
}

int block_run(const grid_launch *launch, emulated_index first, unsigned threads,
              uint64_t *random) {
  const unsigned blocks = launch->entry->cluster;
  failure = BSM_CU_SUCCESS;
  failure_text[0] = 0;
  current = launch;
  block_threads = threads;
  thread_count = threads * blocks;
  memset(barriers, 0, sizeof(barriers));
  if (!reserve_stacks(thread_count)) return BSM_CU_OUT_OF_MEMORY;
  for (unsigned rank = 0; rank < blocks; rank++) {
    emulated_index block = first;
    block.x += rank;
    for (unsigned i = 0; i < threads; i++) {
      begin_thread(launch, block, rank, i);
    }
  }
  const int result = run_threads(random);
  for (unsigned rank = 0; rank < blocks && !result; rank++) {
    for (int i = 0; i <= BARRIERS; i++) {
      if (barriers[rank][i].arrived) {
        return deadlock("a barrier was left before all had come");
      }
    }
  }
  return result;
}
