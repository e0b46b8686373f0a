/* SPDX-License-Identifier: Apache-2.0 */
/* The target of the lazy device (lazy_device.h): the CPU's answers, but for the
 * layers that a test takes away from it. Linked with it, programs can compile
 * for "lazy". */
#ifndef TESTS_RUNTIME_LAZY_TARGET_H_
#define TESTS_RUNTIME_LAZY_TARGET_H_

#include "builder/target.h"

/* Bit n: every layer whose kind is n is left to the host; bit 63: also every
 * third layer that is asked for. */
extern uint64_t lazy_target_refuses;
#define LAZY_EVERY_THIRD (UINT64_C(1) << 63)

#endif /* TESTS_RUNTIME_LAZY_TARGET_H_ */
