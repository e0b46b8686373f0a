/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU as a target: instructions, threads and the cache that chains of
 * convolutions are made for. */
#ifndef BSM_BACKEND_CPU_TARGET_H_
#define BSM_BACKEND_CPU_TARGET_H_

#include "builder/target.h"

typedef struct bsm_cpu_target {
  bsm_target base;
  uint32_t isa; /* base/isa.h */
  int threads;
  size_t l2;    /* bytes of the second-level cache of one core */
  bool no_vnni; /* products of bytes have no instruction of their own */
} bsm_cpu_target;

extern const bsm_target_ops bsm_cpu_target_ops;

static inline const bsm_cpu_target *bsm_cpu_target_of(
    const bsm_target *target) {
  return (const bsm_cpu_target *)target;
}

/* cpu_precisions.c: functions of the target's table, and whether a layer is a
 * convolution, a deconvolution or a matrix multiply. */
bool bsm_cpu_is_product(const bsm_layer *layer);
bsm_dtype bsm_cpu_compute_dtype(const bsm_target *target,
                                const bsm_layer *layer, bsm_dtype dtype);
uint32_t bsm_cpu_precisions(const bsm_target *target, const bsm_layer *layer);
bool bsm_cpu_gains(const bsm_target *target, const bsm_layer *layer,
                   bsm_precision precision);
bsm_dtype bsm_cpu_wide_dtype(const bsm_target *target, bsm_dtype dtype,
                             bool multiplies);

/* cpu_chains.c: the passes over the network, with this target as first
 * argument. */
BSM_NODISCARD bsm_status bsm_cpu_fold_channel_scales(const bsm_target *target,
                                                     bsm_network *net,
                                                     bsm_arena *scratch);
BSM_NODISCARD bsm_status bsm_cpu_fuse_chains(const bsm_target *target,
                                             bsm_network *net,
                                             bsm_arena *scratch);

/* Whether a convolution is one of few maps that is computed from planes as well
 * as from channels last. It has a stride, so that Winograd's algorithm does not
 * apply to it. */
bool bsm_cpu_reads_planes(const bsm_layer *layer);

/* cpu_gains.c: in nanoseconds. */
bsm_int8_times bsm_cpu_int8_times(const bsm_target *target,
                                  const bsm_layer *layer);

#endif /* BSM_BACKEND_CPU_TARGET_H_ */
