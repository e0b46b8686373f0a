/* SPDX-License-Identifier: Apache-2.0 */
/* The most multiply-adds that the CPU does: what profiles compare with. */
#ifndef BSM_BASE_FMA_PEAK_H_
#define BSM_BASE_FMA_PEAK_H_

#include <stdint.h>

#include "base/thread_pool.h"

/* Measures for about `seconds` and returns GFLOP/s of all threads of the pool
 * together (NULL: one thread), with the registers of `isa`: independent chains
 * of float32 multiply-adds, two operations each. */
double bsm_measure_fma_peak(uint32_t isa, bsm_thread_pool *pool,
                            double seconds);

#endif /* BSM_BASE_FMA_PEAK_H_ */
