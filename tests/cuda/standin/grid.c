/* SPDX-License-Identifier: Apache-2.0 */
/* A whole launch: one block after the other, shared memory that ends where
 * nothing is mapped, and faults of a kernel, which become its result. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "backend/cuda/cuda_types.h"
#include "cuda/standin/block.h"
#include "cuda/standin/fiber.h"
#include "cuda/standin/standin.h"

#define PAGE ((size_t)4096)
#define SHARED_ROOM (((size_t)MAX_SHARED_BYTES + PAGE - 1) / PAGE * PAGE)
#define SHARED_PITCH (SHARED_ROOM + PAGE)
#define SHARED_BYTES (SHARED_PITCH * MAX_CLUSTER_BLOCKS)
#define SHARED_ALIGNMENT 128u
#define GARBAGE 0xff
#define SIGNAL_STACK ((size_t)64 << 10)

/* For each block of a cluster SHARED_ROOM bytes, then a page of nothing. */
static char *shared;
static char *signal_stack; /* a thread's stack may be what is full */
static __thread bool is_running_here;
static uint64_t serial; /* of the last block, or cluster */

static void *map(size_t bytes) {
  char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

static char *map_shared(void) {
  char *all = map(SHARED_BYTES);
  for (size_t end = SHARED_ROOM; all && end < SHARED_BYTES;
       end += SHARED_PITCH) {
    (void)mprotect(all + end, PAGE, PROT_NONE);
  }
  return all;
}

void grid_free(void) {
  if (shared) munmap(shared, SHARED_BYTES);
  if (signal_stack) munmap(signal_stack, SIGNAL_STACK);
  shared = signal_stack = NULL;
  block_free();
}

/* ---- faults ---- */

static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))
static struct sigaction old_actions[SIGNALS];

/* A processor tells no address when one is not canonical, or not aligned for
 * what loads vectors. */
static int explain(int number, const siginfo_t *info, char *text, size_t room) {
  const char *stack = block_stack(), *at = info->si_addr;
  if (number == SIGFPE) {
    snprintf(text, room, "an integer is divided by zero");
    return BSM_CU_LAUNCH_FAILED;
  }
  if (number == SIGILL) {
    snprintf(text, room, "an illegal instruction");
    return BSM_CU_ILLEGAL_INSTRUCTION;
  }
  if (number == SIGSEGV && info->si_code == SI_KERNEL) {
    snprintf(text, room, "a misaligned vector, or an address that none can be");
    return BSM_CU_MISALIGNED_ADDRESS;
  }
  if (stack && at < stack && at >= stack - 4 * PAGE) {
    snprintf(text, room, "the thread's stack is full");
    return BSM_CU_LAUNCH_FAILED;
  }
  if (shared && at >= shared && at < shared + SHARED_BYTES) {
    snprintf(text, room, "dynamic shared memory ends before this address");
    return BSM_CU_ILLEGAL_ADDRESS;
  }
  memory_describe((uint64_t)(uintptr_t)at, text, room);
  return BSM_CU_ILLEGAL_ADDRESS;
}

/* The thread leaves when the signal has been dealt with, where that can be
 * done; else from here, and the signal's stack is used again. */
static void leave_after(void *context) {
#ifdef FIBER_ASSEMBLY
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  registers[REG_RSP] = (greg_t)(uintptr_t)block_landing();
  registers[REG_RIP] = (greg_t)(uintptr_t)block_leave;
#else
  (void)context;
  block_leave();
#endif
}

static void on_fault(int number, siginfo_t *info, void *context) {
  char text[256];
  if (is_running_here && block_running()) {
    const int result = explain(number, info, text, sizeof(text));
    block_fail(result, text);
    leave_after(context);
    return;
  }
  /* Not ours: it happens again where this returns to. */
  for (size_t i = 0; i < SIGNALS; i++) {
    if (signals[i] == number) sigaction(number, &old_actions[i], NULL);
  }
}

static void catch_faults(stack_t *old_stack) {
  const stack_t stack = {.ss_sp = signal_stack, .ss_size = SIGNAL_STACK};
  struct sigaction action = {.sa_sigaction = on_fault,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  sigemptyset(&action.sa_mask);
  sigaltstack(&stack, old_stack);
  for (size_t i = 0; i < SIGNALS; i++) {
    sigaction(signals[i], &action, &old_actions[i]);
  }
  is_running_here = true;
}

static void release_faults(const stack_t *old_stack) {
  is_running_here = false;
  for (size_t i = 0; i < SIGNALS; i++) {
    sigaction(signals[i], &old_actions[i], NULL);
  }
  sigaltstack(old_stack, NULL);
}

/* ---- shared memory ---- */

/* Garbage before each cluster: nobody has written it. */
static void spoil_shared(const grid_launch *l) {
  emulated_module *m = l->module;
  const size_t room = (l->shared_bytes + SHARED_ALIGNMENT - 1) /
                      SHARED_ALIGNMENT * SHARED_ALIGNMENT;
  if (m->shared)
    memset(m->shared, GARBAGE, (size_t)(m->shared_end - m->shared));
  m->dynamic_shared = shared + SHARED_ROOM - room;
  m->dynamic_bytes = l->shared_bytes;
  m->cluster_pitch = SHARED_PITCH;
  for (unsigned rank = 0; rank < l->entry->cluster; rank++) {
    memset(m->dynamic_shared + rank * SHARED_PITCH, GARBAGE, room);
  }
}

/* What lies between the end and the page of nothing. */
static bool is_beyond_written(const grid_launch *l) {
  const size_t room = (l->shared_bytes + SHARED_ALIGNMENT - 1) /
                      SHARED_ALIGNMENT * SHARED_ALIGNMENT;
  const unsigned char *stop = (unsigned char *)shared + SHARED_ROOM;
  for (unsigned rank = 0; rank < l->entry->cluster; rank++) {
    const unsigned char *end = stop - room + l->shared_bytes;
    for (; end < stop; end++) {
      if (*end != GARBAGE) return true;
    }
    stop += SHARED_PITCH;
  }
  return false;
}

/* ---- blocks ---- */

/* What a launch of clusters has to be. */
static bool is_possible(const grid_launch *l, unsigned threads) {
  const emulated_module *m = l->module;
  return l->entry->cluster == 1 ||
         (l->entry->cluster <= MAX_CLUSTER_BLOCKS && threads % 32 == 0 &&
          l->grid[0] % l->entry->cluster == 0 && m->shared == m->shared_end);
}

static uint64_t gcd(uint64_t a, uint64_t b) {
  return b ? gcd(b, a % b) : a;
}

static int run_blocks(const grid_launch *l) {
  const unsigned *g = l->grid;
  const unsigned along = l->entry->cluster; /* x */
  const uint64_t across = g[0] / along, count = across * g[1] * g[2];
  const unsigned threads = l->block[0] * l->block[1] * l->block[2];
  uint64_t random = l->seed, start = 0, step = 1;
  if (!is_possible(l, threads)) {
    block_fail(BSM_CU_LAUNCH_FAILED, "it does not consist of clusters");
    return BSM_CU_LAUNCH_FAILED;
  }
  if (l->seed) {
    start = next_random(&random) % count;
    do {
      step = next_random(&random) % count + 1;
    } while (gcd(step, count) != 1);
  }
  for (uint64_t i = 0, b = start; i < count; i++, b = (b + step) % count) {
    const emulated_index first = {(unsigned)(b % across) * along,
                                  (unsigned)(b / across % g[1]),
                                  (unsigned)(b / across / g[1])};
    l->module->block = first;
    spoil_shared(l);
    l->module->serial = ++serial;
    const int result = block_run(l, first, threads, &random);
    if (result) return result;
    if (is_beyond_written(l)) return BSM_CU_ILLEGAL_ADDRESS;
  }
  return BSM_CU_SUCCESS;
}

static void tell(const grid_launch *l, const char *why, char *text,
                 size_t room) {
  const emulated_index b = l->module->block;
  const emulated_thread *t = l->module->thread;
  snprintf(text, room, "kernel %s, block (%u, %u, %u)", l->entry->name, b.x,
           b.y, b.z);
  const size_t used = strlen(text);
  if (t) {
    snprintf(text + used, room - used, ", thread (%u, %u, %u): %s", t->index.x,
             t->index.y, t->index.z, why);
  } else {
    snprintf(text + used, room - used, ": %s", why);
  }
}

int grid_run(const grid_launch *l, char *text, size_t room) {
  stack_t old_stack;
  text[0] = 0;
  if (!shared) shared = map_shared();
  if (!signal_stack) signal_stack = map(SIGNAL_STACK);
  if (!shared || !signal_stack) return BSM_CU_OUT_OF_MEMORY;
  l->module->block_size =
      (emulated_index){l->block[0], l->block[1], l->block[2]};
  l->module->grid_size = (emulated_index){l->grid[0], l->grid[1], l->grid[2]};
  l->module->thread = NULL;
  catch_faults(&old_stack);
  const int result = run_blocks(l);
  release_faults(&old_stack);
  if (result) {
    const char *why = block_why();
    tell(l, why[0] ? why : "wrote beyond its dynamic shared memory", text,
         room);
  }
  return result;
}
