/* SPDX-License-Identifier: Apache-2.0 */
/* Switching stacks: what a call preserves is pushed, the stack pointer is
 * exchanged. No sanitizer may instrument this file. */
#include "cuda/standin/fiber.h"

#include <stdint.h>
#include <string.h>

#ifdef FIBER_ASSEMBLY

void fiber_switch_stacks(void **from, void *to);
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".hidden fiber_switch_stacks\n"
    ".globl fiber_switch_stacks\n"
    ".type fiber_switch_stacks, @function\n"
    "fiber_switch_stacks:\n"
    "  pushq %rbp\n"
    "  pushq %rbx\n"
    "  pushq %r12\n"
    "  pushq %r13\n"
    "  pushq %r14\n"
    "  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n"
    "  popq %r14\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbx\n"
    "  popq %rbp\n"
    "  popq %rcx\n"
    "  jmpq *%rcx\n"
    ".size fiber_switch_stacks, .-fiber_switch_stacks\n");

void fiber_make(fiber *f, char *stack, size_t bytes, void (*run)(void)) {
  /* Six registers, the address to return to, and one for who would have
   * called: then the stack is aligned as at the start of a function. */
  char *top = stack + (bytes & ~(size_t)15) - 64;
  memset(top, 0, 64);
  memcpy(top + 48, &run, sizeof(run));
  f->stack_pointer = top;
}

void fiber_switch(fiber *from, fiber *to) {
  fiber_switch_stacks(&from->stack_pointer, to->stack_pointer);
}

#else

void fiber_make(fiber *f, char *stack, size_t bytes, void (*run)(void)) {
  getcontext(&f->context);
  f->context.uc_stack.ss_sp = stack;
  f->context.uc_stack.ss_size = bytes;
  f->context.uc_link = NULL;
  makecontext(&f->context, run, 0);
}

void fiber_switch(fiber *from, fiber *to) {
  swapcontext(&from->context, &to->context);
}

#endif
