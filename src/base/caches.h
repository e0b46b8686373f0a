/* SPDX-License-Identifier: Apache-2.0 */
/* The caches of the CPU: what blocks and estimates are made for. */
#ifndef BSM_BASE_CACHES_H_
#define BSM_BASE_CACHES_H_

#include <stddef.h>

/* Bytes. The first two are of one core; the last is what cores share, or the
 * second again where there is none. */
typedef struct bsm_caches {
  size_t l1, l2, l3;
} bsm_caches;

/* What this machine has; usual sizes where it does not tell. Asked of the CPU
 * once in a process: asking takes microseconds in a virtual machine. */
bsm_caches bsm_detect_caches(void);

/* Takes memory out of all caches, where the CPU can; what it holds stays. */
void bsm_evict_from_caches(const void *data, size_t size);

#endif /* BSM_BASE_CACHES_H_ */
