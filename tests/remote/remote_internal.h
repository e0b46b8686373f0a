/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the remote device: memory, the queue, steps, packing. */
#ifndef TESTS_REMOTE_REMOTE_INTERNAL_H_
#define TESTS_REMOTE_REMOTE_INTERNAL_H_

#include <pthread.h>

#include "tests/remote/remote.h"

/* A mapping twice: [far, far + map_size) is handed out, [near, ...) is worked
 * in. The memory itself are the `size` bytes from `offset` on. */
typedef struct remote_piece {
  struct remote_piece *next;
  uint8_t *far, *near;
  size_t map_size, offset, size;
} remote_piece;

typedef struct remote_device {
  bsm_device base;
  const bsm_allocator *allocator;
  pthread_mutex_t lock; /* of the pieces */
  remote_piece *pieces;
  bsm_device *cpu; /* computes steps */
} remote_device;

/* ---- remote_device.c ---- */

/* Counts what there is, by `by`. */
void remote_count(int by);
/* Which kind of event may be made to fail: whether this one shall. */
typedef enum remote_fault {
  REMOTE_FAULT_ALLOCATION,
  REMOTE_FAULT_PREPARE,
  REMOTE_FAULT_STEP,
  REMOTE_FAULT_TRANSFER,
  REMOTE_FAULT_RECORDING,
  REMOTE_FAULTS
} remote_fault;
bool remote_shall_fail(remote_fault kind);
void remote_count_replay(void);

/* ---- remote_memory.c ---- */

BSM_NODISCARD bsm_status remote_allocate(bsm_device *device,
                                         const bsm_allocator *host,
                                         size_t bytes, size_t alignment,
                                         void **out);
void remote_release(bsm_device *device, const bsm_allocator *host,
                    void *memory);
/* Where the device has `bytes` at an address: BSM_INTERNAL when they are not
 * all in one piece of its memory. */
BSM_NODISCARD bsm_status remote_near(remote_device *device, const void *address,
                                     uint64_t bytes, uint8_t **out);

/* ---- remote_stream.c ---- */

typedef struct remote_stream remote_stream;
typedef struct remote_event remote_event;

BSM_NODISCARD bsm_status remote_stream_create(bsm_device *device,
                                              const bsm_stream_options *options,
                                              bsm_stream **out);
void remote_stream_destroy(bsm_stream *stream);
BSM_NODISCARD bsm_status remote_synchronize(bsm_stream *stream);
BSM_NODISCARD bsm_status remote_upload(bsm_stream *stream, void *to,
                                       const void *from, size_t bytes);
BSM_NODISCARD bsm_status remote_download(bsm_stream *stream, void *to,
                                         const void *from, size_t bytes);
BSM_NODISCARD bsm_status remote_copy(bsm_stream *stream, void *to,
                                     const void *from, size_t bytes);
BSM_NODISCARD bsm_status remote_copy_strided(bsm_stream *stream,
                                             const bsm_strided_copy *copy);
BSM_NODISCARD bsm_status remote_fill_zero(bsm_stream *stream, void *to,
                                          size_t bytes);
BSM_NODISCARD bsm_status remote_event_create(bsm_stream *stream,
                                             bsm_event **out);
void remote_event_destroy(bsm_event *event);
BSM_NODISCARD bsm_status remote_event_record(bsm_stream *stream,
                                             bsm_event *event);
BSM_NODISCARD bsm_status remote_event_wait(bsm_event *event);
double remote_event_seconds(const bsm_event *from, const bsm_event *to);
BSM_NODISCARD bsm_status remote_record_begin(bsm_stream *stream);
BSM_NODISCARD bsm_status remote_record_end(bsm_stream *stream,
                                           bsm_recording **out);
BSM_NODISCARD bsm_status remote_replay(bsm_stream *stream,
                                       const bsm_recording *recording);
void remote_recording_destroy(bsm_recording *recording);
/* Puts a step behind what is in the queue. */
BSM_NODISCARD bsm_status remote_push_step(const bsm_prepared_step *prepared,
                                          const bsm_run *run);
/* The stream of the CPU that a stream computes with. */
bsm_stream *remote_cpu_stream(bsm_stream *stream);

/* ---- remote_step.c ---- */

BSM_NODISCARD bsm_status remote_check(const bsm_plan *plan,
                                      const bsm_plan_step *step);
BSM_NODISCARD bsm_status remote_prepare(
    bsm_stream *stream, const bsm_plan *plan, const bsm_plan_step *step,
    const void *const *weights, bsm_arena *arena, bsm_prepared_step *out);
void remote_discard(bsm_prepared_step *prepared);
const char *remote_describe(const bsm_prepared_step *prepared);
/* On the thread of the stream. */
BSM_NODISCARD bsm_status remote_run_step(const bsm_prepared_step *prepared,
                                         const bsm_run *run);

/* ---- remote_pack.c: a header, then values in row-major order, their bytes in
 * the order that the host does not have ---- */

/* Whether the kind has packed weights. */
bool remote_has_packed(const bsm_plan_step *step);
/* Bytes of the packed weights; in_maps as the target's pack has it. */
BSM_NODISCARD bsm_status remote_packed_size(const bsm_plan_step *step,
                                            int64_t in_maps, size_t element,
                                            uint64_t *size);
BSM_NODISCARD bsm_status remote_pack(const bsm_target *target,
                                     const bsm_plan_step *step, int64_t in_maps,
                                     const void *values, size_t element,
                                     bool transposed, void *packed,
                                     uint64_t *size);
/* The values as they were, of packed weights that have the size above. */
BSM_NODISCARD bsm_status remote_unpack(const bsm_plan_step *step,
                                       int64_t in_maps, size_t element,
                                       const void *packed, void *values);
#define REMOTE_PACKED_HEADER 24

/* ---- remote_target.c ---- */

/* What the device takes, as steps and layers have it. */
bool remote_takes_dtype(bsm_dtype dtype);

#endif /* TESTS_REMOTE_REMOTE_INTERNAL_H_ */
