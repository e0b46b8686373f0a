/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator that keeps what it gets back: for arenas that come and go and
 * ask for the same sizes again, so that a process that makes plans without end
 * does not grow by what lies between them. One thread at a time. */
#ifndef BSM_BASE_BLOCK_CACHE_H_
#define BSM_BASE_BLOCK_CACHE_H_

#include "bessemer/allocator.h"

#define BSM_BLOCK_CLASSES 64

typedef struct bsm_block bsm_block;

typedef struct bsm_block_cache {
  bsm_allocator allocator; /* use this; the cache may not move */
  const bsm_allocator *base;
  bsm_block *kept[BSM_BLOCK_CLASSES]; /* by size */
} bsm_block_cache;

/* `base` NULL: malloc. */
void bsm_block_cache_init(bsm_block_cache *cache, const bsm_allocator *base);
/* Gives back what is kept; what is in use stays. The last call comes when
 * nothing is in use. */
void bsm_block_cache_release(bsm_block_cache *cache);

#endif /* BSM_BASE_BLOCK_CACHE_H_ */
