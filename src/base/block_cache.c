/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes are rounded up to classes: quarters of a power of two, from 4 KiB to
 * 16 MiB. What is larger is not kept. A block serves sizes down to half of its
 * own, so that few blocks do for sizes that vary. */
#include "base/block_cache.h"

#include <stdint.h>
#include <string.h>

#include "base/allocate.h"
#include "base/checked.h"

#define ALIGNMENT 64
#define LEAST ((size_t)4096)
#define MOST ((size_t)16 << 20)
#define CLASSES_OF_TWICE 4
#define NOT_KEPT BSM_BLOCK_CLASSES

/* Stands before the memory. */
struct bsm_block {
  bsm_block *next;
  size_t class;
};

/* The class of a size, which is rounded up to that of the class. */
static size_t class_of(size_t *size) {
  size_t id = 0, quarter = LEAST / 4, quarters = 4;
  if (*size > MOST) return NOT_KEPT;
  while (*size > quarters * quarter) {
    id++;
    if (++quarters <= 8) continue;
    quarter *= 2;
    quarters = 5;
  }
  *size = quarters * quarter;
  return id;
}

/* A block of the class, or of one that is not twice as large. */
static bsm_block *take(bsm_block_cache *cache, size_t class) {
  for (size_t i = 0; i < CLASSES_OF_TWICE; i++) {
    const size_t id = class + i;
    bsm_block *block = id < BSM_BLOCK_CLASSES ? cache->kept[id] : NULL;
    if (!block) continue;
    cache->kept[id] = block->next;
    return block;
  }
  return NULL;
}

static void *cache_alloc(void *user, size_t size, size_t alignment) {
  bsm_block_cache *cache = user;
  if (alignment > ALIGNMENT || !bsm_size_add(size, ALIGNMENT, &size)) {
    return NULL;
  }
  const size_t class = class_of(&size);
  bsm_block *block = take(cache, class);
  if (!block) {
    block = bsm_allocate(cache->base, size, ALIGNMENT);
    if (!block) return NULL;
    /* All of its pages at once: else a process would go on growing while
     * blocks serve sizes that reach further into them. */
    if (class != NOT_KEPT) memset(block, 0, size);
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

void bsm_block_cache_release(bsm_block_cache *cache) {
  for (size_t i = 0; i < BSM_BLOCK_CLASSES; i++) {
    while (cache->kept[i]) {
      bsm_block *block = cache->kept[i];
      cache->kept[i] = block->next;
      bsm_deallocate(cache->base, block);
    }
  }
}
