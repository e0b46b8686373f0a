/* SPDX-License-Identifier: Apache-2.0 */
/* Fibers: stacks of one thread of the host that are switched by hand. */
#ifndef TESTS_CUDA_STANDIN_FIBER_H_
#define TESTS_CUDA_STANDIN_FIBER_H_

#include <stddef.h>

#if defined(__x86_64__) && !defined(__ILP32__) && !defined(FIBER_PORTABLE)
#define FIBER_ASSEMBLY 1
typedef struct fiber {
  void *stack_pointer;
} fiber;
#else
#include <ucontext.h>
typedef struct fiber {
  ucontext_t context;
} fiber;
#endif

/* A fiber that begins in `run`, which never returns. */
void fiber_make(fiber *f, char *stack, size_t bytes, void (*run)(void));
/* Leaves the running fiber in `from` and goes on with `to`. */
void fiber_switch(fiber *from, fiber *to);

#endif /* TESTS_CUDA_STANDIN_FIBER_H_ */
