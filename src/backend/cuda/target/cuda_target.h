/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA GPUs as a target (builder/target.h). */
#ifndef BSM_BACKEND_CUDA_TARGET_CUDA_TARGET_H_
#define BSM_BACKEND_CUDA_TARGET_CUDA_TARGET_H_

#include "builder/target.h"

typedef struct bsm_cuda_target {
  bsm_target base;
  int sm;                   /* compute capability: 75, 80, 90, ... */
  bool specific;            /* uses what this GPU alone has: the suffix */
  const char *architecture; /* "sm_90a": what NVRTC compiles for */
  const char *later;        /* "compute_90": that of PTX for later GPUs */
} bsm_cuda_target;

static inline const bsm_cuda_target *bsm_cuda_target_of(
    const bsm_target *target) {
  return (const bsm_cuda_target *)(const void *)target;
}

extern const bsm_target_ops bsm_cuda_target_ops;

/* ---- cuda_pack.c ---- */

/* `pack` of the target: kernels [out, spatial..., in / groups], those of
 * deconvolutions [groups, out / groups, spatial..., in / groups], matrices
 * [K, N], those of recurrent steps as they are, all in their dtype. */
bsm_status bsm_cuda_pack(const bsm_target *target, const bsm_plan_step *step,
                         int64_t in_maps, const void *values, size_t element,
                         bool transposed, void *packed, uint64_t *size);

/* ---- cuda_seconds.c ---- */

/* `step_seconds` of the target. */
double bsm_cuda_step_seconds(const bsm_target *target, const bsm_plan *plan,
                             const bsm_plan_step *step);

/* ---- kernel_code.c ---- */

/* A bit of scopes: with the kernels that the steps need at other sizes. */
#define BSM_CUDA_WITH_OTHERS (1u << 8)
/* The same: only code of the GPU that is built for, to be run at once. */
#define BSM_CUDA_CODE_ALONE (1u << 9)

/* Adds to a plan, which has no code, that of its steps in the scopes of some
 * bits (1 << BSM_CUDA_FOR_SIZES, ...). All kernels for whole kinds are added,
 * whether the plan needs them or not. */
BSM_NODISCARD bsm_status bsm_cuda_add_scopes(const bsm_target *target,
                                             uint32_t scopes, bsm_plan *plan,
                                             bsm_arena *arena,
                                             const bsm_logger *logger);
/* `add_code` of the target: what the plan needs, and what plans may need that
 * are made while the engine runs. */
bsm_status bsm_cuda_add_code(const bsm_target *target, bsm_plan *plan,
                             bsm_arena *arena, const bsm_logger *logger);

#endif /* BSM_BACKEND_CUDA_TARGET_CUDA_TARGET_H_ */
