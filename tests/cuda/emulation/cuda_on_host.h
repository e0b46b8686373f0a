/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA C++ for a compiler of the host: what stands in front of a kernel's
 * source when the stand-in of NVRTC compiles it. Threads of a block are fibers
 * of one thread of the host, so nothing here is atomic; they change only in
 * barriers, in what a warp does together, and in __nanosleep.
 *
 * The source itself is in an unnamed namespace: then variables of functions
 * that are templates can lie in a section too. */
#ifndef TESTS_CUDA_EMULATION_CUDA_ON_HOST_H_
#define TESTS_CUDA_EMULATION_CUDA_ON_HOST_H_

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <type_traits>

#include "emulation_abi.h"

/* ---- the module ---- */

static emulated_module emulated = {};

extern "C" {
extern char __start_bsm_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_bsm_shared[] __attribute__((weak, visibility("hidden")));

__attribute__((visibility("default"))) emulated_module *bsm_emulated_module(
    void) {
  emulated.abi = EMULATION_ABI;
  emulated.shared = __start_bsm_shared;
  emulated.shared_end = __stop_bsm_shared;
  return &emulated;
}
}

struct emulated_registration {
  explicit emulated_registration(emulated_entry *entry) {
    entry->next = emulated.entries;
    emulated.entries = entry;
  }
};

/* A kernel: its body follows, in which its parameter is `p`. The entry has the
 * name and nothing else has it. */
#define EMULATED_KERNEL(name, type, threads) \
  EMULATED_KERNEL_(name, type, threads, 1)
/* Of clusters of `blocks` blocks, which have no variables in shared memory. */
#define EMULATED_CLUSTER_KERNEL(name, type, threads, blocks) \
  EMULATED_KERNEL_(name, type, threads, blocks)
#define EMULATED_KERNEL_(name, type, threads, blocks)                       \
  static void name(const type &p);                                          \
  static emulated_entry name##_entry = {#name,                              \
                                        [](const void *at) { name(*static_cast<const type *>(at)); },             \
                                        sizeof(type),                       \
                                        threads,                            \
                                        blocks,                             \
                                        nullptr};                           \
  static emulated_registration name##_registration(&name##_entry);          \
  static_assert(sizeof(type) <= 4096 && std::is_trivially_copyable_v<type>, \
                "what a launch can carry");                                 \
  static void name(const type &p)

/* ---- words of the language ---- */

#define __device__
#define __host__
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __constant__ static
/* `used`: it has values that the compiler does not see being written. */
#define __shared__ static __attribute__((section("bsm_shared"), used))
#define EMULATED_DYNAMIC_SHARED(name) char *const name = emulated.dynamic_shared

#define threadIdx (emulated.thread->index)
#define blockIdx (emulated.block)
#define blockDim (emulated.block_size)
#define gridDim (emulated.grid_size)
#define warpSize 32

[[noreturn]] inline void emulated_fail(int result, const char *text) {
  emulated.calls->fail(result, text);
  __builtin_unreachable();
}

#undef assert
#define assert(condition)                                   \
  ((condition) ? (void)0                                    \
               : emulated_fail(710 /* CUDA_ERROR_ASSERT */, \
                               "an assertion fails: " #condition))
#define __trap() emulated_fail(719, "__trap")
#define __builtin_assume(condition) ((void)0)

#include "types_on_host.h"

#include "math_on_host.h"

#include "warp_on_host.h"

#include "ptx_on_host.h"

#include "hopper_on_host.h"

#include "checks_on_host.h"

#endif /* TESTS_CUDA_EMULATION_CUDA_ON_HOST_H_ */
