/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU as a device: its memory is the host's, a stream is a thread pool and
 * an instruction set, and what is enqueued runs at once. */
#ifndef BSM_BACKEND_CPU_DEVICE_H_
#define BSM_BACKEND_CPU_DEVICE_H_

#include "backend/device.h"

extern const bsm_device_ops bsm_cpu_device_ops;

typedef struct bsm_cpu_stream {
  bsm_stream base;
  const bsm_allocator *allocator; /* of this struct and events */
  bsm_thread_pool *pool;          /* NULL: the calling thread alone */
  uint32_t isa;
  bool every_thread;
} bsm_cpu_stream;

/* The threads of the stream that a step runs in. */
static inline bsm_thread_pool *bsm_cpu_pool(const bsm_run *run) {
  return ((const bsm_cpu_stream *)run->stream)->pool;
}

#endif /* BSM_BACKEND_CPU_DEVICE_H_ */
