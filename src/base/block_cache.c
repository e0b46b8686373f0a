/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes are rounded up to classes: to pages up to 256 KiB, to quarters of a
 * power of two up to 16 MiB. What is larger is not kept. */
#include "base/block_cache.h"

#include <stdint.h>

#include "base/allocate.h"
#include "base/checked.h"

#define ALIGNMENT 64
#define PAGE ((size_t)4096)
#define PAGE_CLASSES 64
#define NOT_KEPT BSM_BLOCK_CLASSES

/* Stands before the memory. */
struct bsm_block {
  bsm_block *next;
  size_t class;
};

/* The class of a size, which is rounded up to that of the class. */
static size_t class_of(size_t *size) {
  if (*size <= PAGE * PAGE_CLASSES) {
    const size_t pages = (*size + PAGE - 1) / PAGE;
    *size = pages * PAGE;
    return pages ? pages - 1 : 0;
  }
  size_t quarter = PAGE * PAGE_CLASSES / 4;
  for (size_t id = PAGE_CLASSES; id + 4 <= BSM_BLOCK_CLASSES; id += 4) {
    for (size_t k = 5; k <= 8; k++) {
      if (*size > k * quarter) continue;
      *size = k * quarter;
      return id + k - 5;
    }
    if (quarter >= (size_t)2 << 20) break;
    quarter *= 2;
  }
  return NOT_KEPT;
}

static void *cache_alloc(void *user, size_t size, size_t alignment) {
  bsm_block_cache *cache = user;
  if (alignment > ALIGNMENT || !bsm_size_add(size, ALIGNMENT, &size)) {
    return NULL;
  }
  const size_t class = class_of(&size);
  bsm_block *block = class == NOT_KEPT ? NULL : cache->kept[class];
  if (block) {
    cache->kept[class] = block->next;
  } else {
    block = bsm_allocate(cache->base, size, ALIGNMENT);
    if (!block) return NULL;
    block->class = class;
  }
  return (uint8_t *)block + ALIGNMENT;
}

static void cache_free(void *user, void *pointer) {
  bsm_block_cache *cache = user;
  if (!pointer) return;
  bsm_block *block = (bsm_block *)(void *)((uint8_t *)pointer - ALIGNMENT);
  if (block->class == NOT_KEPT) {
    bsm_deallocate(cache->base, block);
    return;
  }
  block->next = cache->kept[block->class];
  cache->kept[block->class] = block;
}

void bsm_block_cache_init(bsm_block_cache *cache, const bsm_allocator *base) {
  *cache = (bsm_block_cache){.allocator = {cache_alloc, cache_free, cache},
                             .base = base};
}

void bsm_block_cache_destroy(bsm_block_cache *cache) {
  for (size_t i = 0; i < BSM_BLOCK_CLASSES; i++) {
    while (cache->kept[i]) {
      bsm_block *block = cache->kept[i];
      cache->kept[i] = block->next;
      bsm_deallocate(cache->base, block);
    }
  }
}
