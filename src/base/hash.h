/* SPDX-License-Identifier: Apache-2.0 */
/* A 64-bit hash for tables, checksums and cache keys: not cryptographic. */
#ifndef BSM_BASE_HASH_H_
#define BSM_BASE_HASH_H_

#include <stddef.h>
#include <stdint.h>

/* XXH64 of the bytes: the same on every machine, stored in files. */
uint64_t bsm_hash64(const void *data, size_t size, uint64_t seed);

#endif /* BSM_BASE_HASH_H_ */
