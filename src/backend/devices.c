/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that are linked in: one line each. */
#include "backend/cpu/cpu_device.h"
#include "backend/cuda/cuda_device.h"
#include "backend/device.h"

static const bsm_device_ops *const devices[] = {
    &bsm_cpu_device_ops,
    &bsm_cuda_device_ops,
};

const bsm_device_ops *const *bsm_device_table(size_t *count) {
  *count = sizeof(devices) / sizeof(devices[0]);
  return devices;
}
