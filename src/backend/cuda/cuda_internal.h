/* SPDX-License-Identifier: Apache-2.0 */
/* The device "cuda" behind backend/device.h: what its files share. */
#ifndef BSM_BACKEND_CUDA_INTERNAL_H_
#define BSM_BACKEND_CUDA_INTERNAL_H_

#include <pthread.h>

#include "backend/cuda/cuda_driver.h"
#include "backend/cuda/cuda_launch.h"
#include "backend/cuda/kernels/fault.h"
#include "backend/device.h"

/* Memory that was given back, kept for the next who asks. */
typedef struct bsm_cuda_block bsm_cuda_block;

typedef struct bsm_cuda_device {
  bsm_device base;
  const bsm_allocator *allocator;
  const bsm_logger *logger;
  bsm_cuda_driver driver;
  bsm_cu_device device;
  bsm_cu_context context; /* the primary one, shared with other libraries */
  int32_t index;
  int sm; /* 90 for compute capability 9.0 */
  char name[96];
  pthread_mutex_t lock; /* of the blocks */
  bsm_cuda_block *blocks, *spare;
} bsm_cuda_device;

static inline bsm_cuda_device *bsm_cuda_device_of(const bsm_device *device) {
  return (bsm_cuda_device *)(uintptr_t)device;
}

/* The driver acts on the context that is current in the thread: every entry
 * into the device makes its own current, and puts the caller's back. */
BSM_NODISCARD bsm_status bsm_cuda_enter(bsm_cuda_device *device);
void bsm_cuda_leave(bsm_cuda_device *device);

/* Has the process keep the context of an open device: cuda_keep.c. */
void bsm_cuda_keep(const bsm_cuda_device *device);
/* Takes that back, of one GPU or (-1) of all. */
void bsm_cuda_let_go(int32_t index);

/* Returns the status of an expression that is evaluated in the context. */
#define BSM_CUDA_INSIDE(device, expression) \
  do {                                      \
    bsm_cuda_device *inside_ = (device);    \
    BSM_TRY(bsm_cuda_enter(inside_));       \
    bsm_status result_ = (expression);      \
    bsm_cuda_leave(inside_);                \
    return result_;                         \
  } while (0)

/* ---- memory: cuda_memory.c ---- */

BSM_NODISCARD bsm_status bsm_cuda_allocate(bsm_device *device,
                                           const bsm_allocator *host,
                                           size_t bytes, size_t alignment,
                                           void **out);
void bsm_cuda_release(bsm_device *device, const bsm_allocator *host,
                      void *memory);
BSM_NODISCARD bsm_status bsm_cuda_check_address(bsm_device *device,
                                                const void *address);
/* Gives what is kept back to the driver, before the device is closed. */
void bsm_cuda_trim(bsm_cuda_device *device);

/* ---- code: cuda_code.c ---- */

BSM_NODISCARD bsm_status bsm_cuda_code_load(bsm_device *device,
                                            const bsm_plan *plan,
                                            bsm_code_image **out);
void bsm_cuda_code_unload(bsm_code_image *code);
/* The compute capability that the code was built for, of which its kernels are:
 * that of the device or an earlier one. NULL, or empty: that of the device. */
int bsm_cuda_code_sm(const bsm_code_image *code, const bsm_cuda_device *d);
bool bsm_cuda_code_has(const bsm_code_image *code,
                       const bsm_cuda_kernel *kernel);
/* The function of a kernel. BSM_UNSUPPORTED: the engine does not carry it. */
BSM_NODISCARD bsm_status bsm_cuda_code_find(bsm_code_image *code,
                                            const bsm_cuda_kernel *kernel,
                                            unsigned shared_bytes,
                                            bsm_cu_function *out);

/* ---- streams: cuda_stream.c ---- */

/* Pinned memory of a stream for transfers: cuda_staging.c. */
typedef struct bsm_cuda_piece bsm_cuda_piece;

typedef struct bsm_cuda_stream {
  bsm_stream base;
  const bsm_allocator *allocator;
  bsm_cu_stream stream; /* what work is given to */
  bool is_callers;
  /* What is captured, NULL until something is; and what `stream` was meanwhile.
   */
  bsm_cu_stream recorder, live;
  /* The nodes of a recording that ended its places, the last one of which goes
   * on: place i has ends[first[i]] up to ends[first[i + 1]]. */
  struct {
    bsm_arena arena;
    BSM_VEC(uint32_t) first;
    BSM_VEC(bsm_cu_node *) ends;
  } places;
  bsm_cuda_fault *fault;   /* the host's memory, that kernels write to */
  bsm_cu_address counters; /* 0 until a step needs them */
  struct {
    bsm_cuda_piece *first, *last; /* in use, in the order of the stream */
    bsm_cuda_piece *spare;
    size_t room; /* of all */
  } staging;
  bsm_code_image *code;
  int multiprocessors; /* of the device */
  bool profile;
} bsm_cuda_stream;

bsm_status bsm_cuda_stream_create(bsm_device *device,
                                  const bsm_stream_options *options,
                                  bsm_stream **out);
void bsm_cuda_stream_destroy(bsm_stream *stream);
/* Sees that the stream has counters for kernels. */
BSM_NODISCARD bsm_status bsm_cuda_stream_count(bsm_stream *stream);
bsm_status bsm_cuda_synchronize(bsm_stream *stream);
bsm_status bsm_cuda_look(bsm_stream *stream);
bsm_status bsm_cuda_upload(bsm_stream *stream, void *to, const void *from,
                           size_t bytes);
bsm_status bsm_cuda_download(bsm_stream *stream, void *to, const void *from,
                             size_t bytes);
bsm_status bsm_cuda_copy(bsm_stream *stream, void *to, const void *from,
                         size_t bytes);
bsm_status bsm_cuda_fill_zero(bsm_stream *stream, void *to, size_t bytes);
bsm_status bsm_cuda_copy_strided(bsm_stream *stream,
                                 const bsm_strided_copy *copy);
bsm_status bsm_cuda_event_create(bsm_stream *stream, bsm_event **out);
void bsm_cuda_event_destroy(bsm_event *event);
bsm_status bsm_cuda_event_record(bsm_stream *stream, bsm_event *event);
bsm_status bsm_cuda_event_wait(bsm_event *event);
double bsm_cuda_event_seconds(const bsm_event *from, const bsm_event *to);

/* ---- transfers of memory that is not pinned: cuda_staging.c ---- */

BSM_NODISCARD bsm_status bsm_cuda_stage_upload(bsm_cuda_device *device,
                                               bsm_cuda_stream *stream,
                                               bsm_cu_address to,
                                               const void *from, size_t bytes);
BSM_NODISCARD bsm_status bsm_cuda_stage_download(bsm_cuda_device *device,
                                                 bsm_cuda_stream *stream,
                                                 void *to, bsm_cu_address from,
                                                 size_t bytes);
/* Downloads that the device has done reach their memory. */
BSM_NODISCARD bsm_status bsm_cuda_staging_advance(bsm_cuda_device *device,
                                                  bsm_cuda_stream *stream);
/* The same for all of them, as the stream is empty. */
void bsm_cuda_staging_finish(bsm_cuda_stream *stream);
/* No download reaches its memory: the stream has failed. */
void bsm_cuda_staging_abandon(bsm_cuda_stream *stream);
/* The stream is empty. */
void bsm_cuda_staging_destroy(bsm_cuda_device *device, bsm_cuda_stream *stream);

/* ---- recordings: cuda_recording.c ---- */

bsm_status bsm_cuda_record_begin(bsm_stream *stream);
bsm_status bsm_cuda_record_place(bsm_stream *stream, uint32_t place,
                                 const uint32_t *behind, uint32_t count);
bsm_status bsm_cuda_record_end(bsm_stream *stream, bsm_recording **out);
bsm_status bsm_cuda_replay(bsm_stream *stream, const bsm_recording *recording);
void bsm_cuda_recording_destroy(bsm_recording *recording);

/* ---- steps: cuda_step.c ---- */

bsm_status bsm_cuda_check(const bsm_plan *plan, const bsm_plan_step *step);
bsm_status bsm_cuda_prepare(bsm_stream *stream, const bsm_plan *plan,
                            const bsm_plan_step *step,
                            const void *const *weights, bsm_arena *arena,
                            bsm_prepared_step *out);
const char *bsm_cuda_describe(const bsm_prepared_step *prepared);
/* The failure that a kernel left behind, which is then taken back; OK: none. */
BSM_NODISCARD bsm_status bsm_cuda_take_fault(bsm_cuda_fault *fault);

#endif /* BSM_BACKEND_CUDA_INTERNAL_H_ */
