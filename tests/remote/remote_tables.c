/* SPDX-License-Identifier: Apache-2.0 */
/* The devices and targets of programs that are linked with this folder, in
 * place of backend/devices.c and backend/targets.c. The first target is what is
 * built for when none is asked for: the CPU, or, where REMOTE_FIRST is defined,
 * the remote device; or what BSM_TEST_TARGET in the environment names. */
#include <stdlib.h>
#include <string.h>

#include "tests/remote/remote.h"

extern const bsm_device_ops bsm_cpu_device_ops;
extern const bsm_device_ops bsm_cuda_device_ops;
extern const bsm_target_ops bsm_cpu_target_ops;
extern const bsm_target_ops bsm_cuda_target_ops;

const bsm_device_ops *const *bsm_device_table(size_t *count) {
  static const bsm_device_ops *const devices[] = {
      &bsm_cpu_device_ops, &remote_device_ops, &bsm_cuda_device_ops};
  *count = 3;
  return devices;
}

/* All targets are in the three entries from any of the first three on. */
const bsm_target_ops *const *bsm_target_table(size_t *count) {
  static const bsm_target_ops *const ring[] = {
      &bsm_cpu_target_ops, &remote_target_ops, &bsm_cuda_target_ops,
      &bsm_cpu_target_ops, &remote_target_ops};
#ifdef REMOTE_FIRST
  size_t first = 1;
#else
  size_t first = 0;
#endif
  const char *wanted = getenv("BSM_TEST_TARGET");
  for (size_t i = 0; wanted && i < 3; i++) {
    if (strcmp(ring[i]->name, wanted) == 0) first = i;
  }
  *count = 3;
  return &ring[first];
}
