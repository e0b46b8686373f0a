/* SPDX-License-Identifier: Apache-2.0 */
/* SipHash-1-3 (Aumasson and Bernstein) under a key that each process draws at
 * random: for tables whose keys come from files. Who writes a file cannot know
 * which keys collide. Not for what is stored; see base/hash.h. */
#ifndef BSM_BASE_SIPHASH_H_
#define BSM_BASE_SIPHASH_H_

#include <stddef.h>
#include <stdint.h>

/* Under the key of this process. Threads may call it at once. */
uint64_t bsm_siphash(const void *data, size_t size);

/* Under a given key, for tests. */
uint64_t bsm_siphash_with(const void *data, size_t size, const uint64_t key[2]);

#endif /* BSM_BASE_SIPHASH_H_ */
