/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that may nest deeply, on a stack of their own: threads of a caller may
 * have small ones (Go, Java, musl). */
#ifndef BSM_BASE_DEEP_STACK_H_
#define BSM_BASE_DEEP_STACK_H_

#include "bessemer/status.h"

typedef bsm_status (*bsm_deep_call)(void *argument);

/* Calls `call(argument)` in this thread, on a stack of 8 MiB of which only what
 * is used takes memory; of the caller's stack it needs less than 4 KiB. A call
 * inside of such a call stays on its stack. Callbacks of the user that are
 * called in it run on that stack, too, and must return: no longjmp out of it.
 * BSM_OUT_OF_MEMORY: there is no room for a stack. Where the C library cannot
 * change stacks, and with sanitizers, this is a plain call. */
BSM_NODISCARD bsm_status bsm_call_deeply(bsm_deep_call call, void *argument);

#endif /* BSM_BASE_DEEP_STACK_H_ */
