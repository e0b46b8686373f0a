// SPDX-License-Identifier: Apache-2.0
// Telling the host of bad data: fault.h.
#pragma once

// The first thread to come fills in the record. The host may look at any time:
// what it is about is said last.
DEVICE void fault_index(const bsm_cuda_fault_place &place, i64 index,
                        i64 limit, i64 dimension) {
  bsm_cuda_fault *f = (bsm_cuda_fault *)place.record;
  if (atomicCAS(&f->taken, 0u, 1u) != 0u) return;
  f->step = place.step;
  f->value = index;
  f->limit = limit;
  f->dimension = dimension;
  __threadfence_system();
  *(volatile bsm_cuda_u32 *)&f->what = BSM_CUDA_FAULT_INDEX;
}
