/* SPDX-License-Identifier: Apache-2.0 */
#include "base/deep_stack.h"

#include <features.h>

#if defined(__GLIBC__) && !defined(BSM_SANITIZED)

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK_BYTES ((size_t)8 << 20)
#define GUARD_BYTES ((size_t)64 << 10) /* a page or more on any machine */

typedef struct deep {
  bsm_deep_call call;
  void *argument;
  bsm_status status;
  ucontext_t caller, callee;
} deep;

static _Thread_local bool inside;

/* makecontext passes numbers of int alone: an address is two of them. */
static void enter(unsigned high, unsigned low) {
  deep *d = (deep *)(uintptr_t)((uint64_t)high << 32 | low);
  d->status = d->call(d->argument);
}

static void switch_stack(deep *d, void *stack) {
  const uint64_t address = (uint64_t)(uintptr_t)d;
  d->callee.uc_stack.ss_sp = (char *)stack + GUARD_BYTES;
  d->callee.uc_stack.ss_size = STACK_BYTES;
  d->callee.uc_link = &d->caller;
  makecontext(&d->callee, (void (*)(void))enter, 2, (unsigned)(address >> 32),
              (unsigned)address);
  inside = true;
  swapcontext(&d->caller, &d->callee);
  inside = false;
}

bsm_status bsm_call_deeply(bsm_deep_call call, void *argument) {
  if (inside) return call(argument);
  const size_t size = STACK_BYTES + GUARD_BYTES;
  void *stack =
      mmap(NULL, size, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return BSM_FAIL_OOM();
  deep d = {.call = call, .argument = argument};
  if (mprotect(stack, GUARD_BYTES, PROT_NONE) || getcontext(&d.callee)) {
    munmap(stack, size);
    return BSM_FAIL_OOM();
  }
  switch_stack(&d, stack);
  munmap(stack, size);
  return d.status;
}

#else

bsm_status bsm_call_deeply(bsm_deep_call call, void *argument) {
  return call(argument);
}

#endif
