/* SPDX-License-Identifier: Apache-2.0 */
/* The devices and targets of programs that are linked with this folder, in
 * place of backend/devices.c and backend/targets.c. The first target is what is
 * built for when none is asked for: the CPU, or, where REMOTE_FIRST is defined,
 * the remote device. */
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

const bsm_target_ops *const *bsm_target_table(size_t *count) {
#ifdef REMOTE_FIRST
  static const bsm_target_ops *const targets[] = {
      &remote_target_ops, &bsm_cpu_target_ops, &bsm_cuda_target_ops};
#else
  static const bsm_target_ops *const targets[] = {
      &bsm_cpu_target_ops, &remote_target_ops, &bsm_cuda_target_ops};
#endif
  *count = 3;
  return targets;
}
