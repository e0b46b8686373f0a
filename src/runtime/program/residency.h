/* SPDX-License-Identifier: Apache-2.0 */
/* Where the tensors of a program are. A tensor that a plan computes on a device
 * stays there until the host reads it; a tensor of the host is uploaded when a
 * plan needs it. Both copies are valid until one is written. The reference
 * library reads the host's memory only, so its arguments are fetched first. */
#ifndef BSM_RUNTIME_PROGRAM_RESIDENCY_H_
#define BSM_RUNTIME_PROGRAM_RESIDENCY_H_

#include "aten/ivalue.h"
#include "runtime/plan/execution.h"

/* The copy of a storage on the device; bsm_storage.resident of its storage. */
typedef struct bsm_resident {
  struct bsm_resident *next;
  void *memory;
  size_t size;     /* of the memory, at least the storage's */
  bool valid;      /* the device's memory holds the values */
  bool host_valid; /* the storage's own memory holds the values */
  bool host_own;   /* the storage's memory is in the run's arena, though it is
                      read only */
  bool borrowed;   /* the memory is the caller's */
  bool alive;      /* seen since bsm_residency_forget_all */
} bsm_resident;

typedef struct bsm_residency {
  bsm_execution *execution;
  const bsm_allocator *allocator;
  bsm_resident *all;
  bsm_resident *free; /* released memory that can be used again */
  size_t bytes;       /* of `all`, without borrowed memory */
  size_t max_bytes;   /* limit of `bytes`; set for each run */
  bool refused;       /* the limit was reached */
  bool pending; /* something enqueued still reads or writes the host's memory */
  bool failed;  /* waiting returned a failure of earlier work */
} bsm_residency;

void bsm_residency_init(bsm_residency *r, bsm_execution *execution,
                        const bsm_allocator *allocator);
/* Waits for the device, and releases everything. */
void bsm_residency_destroy(bsm_residency *r);

/* Waits for enqueued work if the host depends on any of it. */
BSM_NODISCARD bsm_status bsm_residency_wait(bsm_residency *r);

/* Makes a tensor for an output that a plan computes on the device. */
BSM_NODISCARD bsm_status bsm_residency_new(bsm_residency *r, bsm_arena *arena,
                                           bsm_dtype dtype, bsm_dims dims,
                                           bsm_tensor **out, void **address);
/* Makes a tensor over the caller's array on the device. */
BSM_NODISCARD bsm_status bsm_residency_borrow(bsm_residency *r,
                                              bsm_arena *arena,
                                              const bsm_array *array,
                                              bsm_tensor **out);

/* The device address of a tensor's values, which are contiguous there and are
 * uploaded if need be. `arena`: for a contiguous copy on the host. */
BSM_NODISCARD bsm_status bsm_residency_to_device(bsm_residency *r,
                                                 bsm_arena *arena,
                                                 const bsm_tensor *t,
                                                 void **address);
/* Brings tensors to the host, including those in lists, tuples and dicts, and
 * waits once for all of them. */
BSM_NODISCARD bsm_status bsm_residency_fetch(bsm_residency *r, bsm_arena *arena,
                                             const bsm_ivalue *values,
                                             size_t n);
/* Brings a result home that is a small part of its memory on the device, alone:
 * the tensor gets memory of its own. */
BSM_NODISCARD bsm_status bsm_residency_detach(bsm_residency *r,
                                              bsm_arena *arena, bsm_tensor *t);
/* Called before the host writes to a tensor that was fetched. */
BSM_NODISCARD bsm_status bsm_residency_write(bsm_residency *r,
                                             const bsm_tensor *t);

/* Collecting garbage: forget_all unmarks all copies, the collector marks those
 * that it meets (collector.c), sweep releases the others. */
void bsm_residency_forget_all(bsm_residency *r);
void bsm_residency_sweep(bsm_residency *r);

#endif /* BSM_RUNTIME_PROGRAM_RESIDENCY_H_ */
