/* SPDX-License-Identifier: Apache-2.0 */
/* Where the values of a program are: tensors that plans compute on a device
 * stay there until the host reads them, and those of the host go there when a
 * plan needs them. Both copies hold until one is written. The reference library
 * sees memory of the host alone: what it gets is fetched before. */
#ifndef BSM_RUNTIME_PROGRAM_RESIDENCY_H_
#define BSM_RUNTIME_PROGRAM_RESIDENCY_H_

#include "aten/ivalue.h"
#include "runtime/plan/execution.h"

/* The copy of a storage on the device; bsm_storage.resident of its storage. */
typedef struct bsm_resident {
  struct bsm_resident *next;
  void *memory;
  size_t size;     /* of the memory, at least the storage's */
  bool valid;      /* holds the values */
  bool host_valid; /* so does the storage's own memory */
  bool host_own;   /* which is of the run's arena, though read only */
  bool borrowed;   /* the memory is the caller's */
  bool alive;      /* seen since bsm_residency_forget_all */
} bsm_resident;

typedef struct bsm_residency {
  bsm_execution *execution;
  const bsm_allocator *allocator;
  bsm_resident *all;
  bsm_resident *free; /* with memory for what comes next */
  size_t bytes;       /* of `all`, without what is borrowed */
  size_t max_bytes;   /* the most of them; set for each run */
  bool refused;       /* that was too little */
  bool pending; /* something enqueued still reads or writes the host's memory */
  bool failed;  /* waiting gave a failure of what was enqueued before */
} bsm_residency;

void bsm_residency_init(bsm_residency *r, bsm_execution *execution,
                        const bsm_allocator *allocator);
/* Waits, and releases everything. */
void bsm_residency_destroy(bsm_residency *r);

/* Waits for what is enqueued, if anything of the host depends on it. */
BSM_NODISCARD bsm_status bsm_residency_wait(bsm_residency *r);

/* A tensor for an output that a plan computes on the device. */
BSM_NODISCARD bsm_status bsm_residency_new(bsm_residency *r, bsm_arena *arena,
                                           bsm_dtype dtype, bsm_dims dims,
                                           bsm_tensor **out, void **address);
/* A tensor over an array of the caller's on the device. */
BSM_NODISCARD bsm_status bsm_residency_borrow(bsm_residency *r,
                                              bsm_arena *arena,
                                              const bsm_array *array,
                                              bsm_tensor **out);

/* The device address of a tensor's values, contiguous, uploaded if need be.
 * `arena`: for a contiguous copy on the host. */
BSM_NODISCARD bsm_status bsm_residency_to_device(bsm_residency *r,
                                                 bsm_arena *arena,
                                                 const bsm_tensor *t,
                                                 void **address);
/* Brings the tensors in values, also those in lists, tuples and dicts, to the
 * host; waits once for all. */
BSM_NODISCARD bsm_status bsm_residency_fetch(bsm_residency *r, bsm_arena *arena,
                                             const bsm_ivalue *values,
                                             size_t n);
/* The host is about to write to a tensor that was fetched. */
BSM_NODISCARD bsm_status bsm_residency_write(bsm_residency *r,
                                             const bsm_tensor *t);

/* Collecting garbage: forget all, mark what is found (collector.c), release the
 * others. */
void bsm_residency_forget_all(bsm_residency *r);
void bsm_residency_sweep(bsm_residency *r);

#endif /* BSM_RUNTIME_PROGRAM_RESIDENCY_H_ */
