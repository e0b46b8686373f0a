/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the clusters of blocks of a kernel that was compiled for the host, one
 * after the other; most have one block. Their threads are fibers. One kernel at
 * a time in the process. */
#ifndef TESTS_CUDA_STANDIN_BLOCK_H_
#define TESTS_CUDA_STANDIN_BLOCK_H_

#include <stdint.h>

#include "cuda/emulation/emulation_abi.h"

#define MAX_BLOCK_THREADS 1024
#define MAX_CLUSTER_BLOCKS 8
#define MAX_SHARED_BYTES (227 << 10)

typedef struct grid_launch {
  emulated_module *module;
  const emulated_entry *entry;
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  const void *parameter;
  /* 0: blocks, warps and lanes in their order; else in one that this number
   * and nothing else decides. */
  uint64_t seed;
} grid_launch;

/* A CUresult; of a failure also what, where and which thread, in `text`. */
int grid_run(const grid_launch *launch, char *text, size_t room);

/* What a module is given when it is loaded. */
extern const emulation_calls grid_calls;

/* ---- for block.c and grid.c ---- */

/* Runs a cluster of blocks of `threads` threads to its end: that from the block
 * `first` on. */
int block_run(const grid_launch *launch, emulated_index first, unsigned threads,
              uint64_t *random);
/* What block_run is to give; then the running thread has to leave, on its own
 * stack or from block_landing() on. */
void block_fail(int result, const char *text);
void block_leave(void);
char *block_landing(void);
/* The thread that runs, for messages; NULL: none. */
const emulated_thread *block_running(void);
const char *block_why(void);
/* Where the running thread's stack begins: an address in the page before is
 * one that did not fit. */
const char *block_stack(void);
/* Gives back the memory of all stacks. */
void block_free(void);
uint64_t next_random(uint64_t *series);

#endif /* TESTS_CUDA_STANDIN_BLOCK_H_ */
