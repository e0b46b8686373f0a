/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of an engine in the memory of its device: each is uploaded once,
 * when a plan first needs it, and then belongs to all contexts. Plans name
 * weights by where they lie on the host, which may be inside of others. */
#ifndef BSM_RUNTIME_ENGINE_DEVICE_WEIGHTS_H_
#define BSM_RUNTIME_ENGINE_DEVICE_WEIGHTS_H_

#include "backend/device.h"

typedef struct bsm_device_weights bsm_device_weights;

/* For the weights of all parts of `plan`, on a device that cannot read the
 * host's memory. */
BSM_NODISCARD bsm_status bsm_device_weights_create(
    const bsm_plan *plan, bsm_device *device, const bsm_allocator *allocator,
    bsm_device_weights **out);
void bsm_device_weights_destroy(bsm_device_weights *weights);

/* The device address of `size` bytes at `data`, after uploading them in
 * `stream` if need be; NULL when they are none of the engine's weights. By any
 * thread. */
BSM_NODISCARD bsm_status bsm_device_weights_find(bsm_device_weights *weights,
                                                 bsm_stream *stream,
                                                 const void *data,
                                                 uint64_t size,
                                                 const void **out);

/* Bytes that were uploaded so far. By any thread. */
uint64_t bsm_device_weights_bytes(bsm_device_weights *weights);

#endif /* BSM_RUNTIME_ENGINE_DEVICE_WEIGHTS_H_ */
