/* SPDX-License-Identifier: Apache-2.0 */
/* What a test sees of the stand-in of NVIDIA's driver, standin_cuda.c: found
 * with dlsym in the library that the code under test has opened. */
#ifndef TESTS_CUDA_STANDIN_CUDA_H_
#define TESTS_CUDA_STANDIN_CUDA_H_

#include <stddef.h>
#include <stdint.h>

/* What is alive, and what has been done wrong. */
typedef struct standin_report {
  int contexts, streams, events, modules, pools, graphs, executables;
  int device_blocks, host_blocks;
  size_t device_bytes;
  /* Operations of captures that do not wait for the one ahead of them alone. */
  uint64_t unchained;
  uint64_t calls; /* of the driver, since the last reset */
  /* Calls with a dead or foreign handle, without a current context, beyond a
   * block, or that free what is in use. */
  int misuses;
  char last_misuse[160];
  /* The last kernel or copy that failed: which, where and why. */
  char last_fault[512];
} standin_report;

/* One launch of a kernel, as the driver was told. */
typedef struct standin_launch {
  char function[64];
  unsigned grid[3], block[3];
  unsigned shared_bytes;
} standin_launch;

typedef void standin_reset_fn(int devices, int version, size_t memory);
/* The n-th call from now (1: the next) gives this CUresult instead of doing
 * anything; 0 takes it back. */
typedef void standin_fail_fn(uint64_t n, int result);
/* From the n-th call on (1: the next) the device is lost: that call, and every
 * later one of the contexts that there are then, gives this CUresult. */
typedef void standin_lose_fn(uint64_t n, int result);
typedef void standin_report_fn(standin_report *out);
/* Launches since the last reset, at most 64 are kept. */
typedef int standin_launches_fn(standin_launch *out, int room);

/* How work is done; a reset takes BSM_STANDIN_DELAY and BSM_STANDIN_ORDER of
 * the environment, or 0.
 * delay: 0, at once; 1, only when somebody waits for it; other numbers begin
 *   a series of random ones that say when a stream goes on a step, too.
 * order: of the blocks, warps and lanes of a kernel: 0, theirs; other numbers
 *   begin a series that says which.
 * sm: the compute capability, 90 after a reset. */
typedef void standin_mode_fn(uint64_t delay, uint64_t order, int sm);

#endif /* TESTS_CUDA_STANDIN_CUDA_H_ */
