/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of an engine in the memory of its device. Each is uploaded once,
 * when a plan first needs it, and all contexts share it. Plans refer to weights
 * by their addresses on the host; one may be inside of another. */
#ifndef BSM_RUNTIME_ENGINE_DEVICE_WEIGHTS_H_
#define BSM_RUNTIME_ENGINE_DEVICE_WEIGHTS_H_

#include "backend/device.h"

typedef struct bsm_device_weights bsm_device_weights;

/* Makes the table for the weights of all parts of `plan`. The device cannot
 * read the host's memory. */
BSM_NODISCARD bsm_status bsm_device_weights_create(
    const bsm_plan *plan, bsm_device *device, const bsm_allocator *allocator,
    bsm_device_weights **out);
void bsm_device_weights_destroy(bsm_device_weights *weights);

/* The device address of `size` bytes at `data`, which are uploaded in `stream`
 * if need be; NULL when they are not among the engine's weights. Any thread may
 * call it. */
BSM_NODISCARD bsm_status bsm_device_weights_find(bsm_device_weights *weights,
                                                 bsm_stream *stream,
                                                 const void *data,
                                                 uint64_t size,
                                                 const void **out);

/* The bytes uploaded so far. Any thread may call it. */
uint64_t bsm_device_weights_bytes(bsm_device_weights *weights);

#endif /* BSM_RUNTIME_ENGINE_DEVICE_WEIGHTS_H_ */
