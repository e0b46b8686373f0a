/* SPDX-License-Identifier: Apache-2.0 */
/* The targets that are linked in: one line each. The first one is what is built
 * for when none is asked for. */
#include "backend/cpu/target/cpu_target.h"
#include "backend/cuda/target/cuda_target.h"
#include "builder/target.h"

static const bsm_target_ops *const targets[] = {
    &bsm_cpu_target_ops,
    &bsm_cuda_target_ops,
};

const bsm_target_ops *const *bsm_target_table(size_t *count) {
  *count = sizeof(targets) / sizeof(targets[0]);
  return targets;
}
