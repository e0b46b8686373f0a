/* SPDX-License-Identifier: Apache-2.0 */
/* Arena: a list of chunks, newest first, filled from the front.
 *
 * Chunks grow with the arena, so that one with little in it stays small: memory
 * that is touched for the first time costs more than filling it.
 *
 * Two kinds of chunk share the list. Small objects fill the newest *shared*
 * chunk; a large object gets a chunk of its own, pushed in front of it, and
 * does not waste what is left of the shared one. Each chunk therefore knows
 * the shared chunk that was current when it was pushed (itself, if shared).
 * A mark is the newest chunk and the fill of the shared chunk behind it. */
#include "base/arena.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/checked.h"
#include "base/memory_guard.h"
#include "base/sanitized.h"

#if BSM_HAS_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION((p), (n))
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#define RED_ZONE 16 /* never handed out, between two objects */
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#define RED_ZONE 0
#endif

#define FIRST_CHUNK_SIZE ((size_t)4 << 10)
#define CHUNK_SIZE ((size_t)64 << 10)
#define CHUNK_ALIGNMENT 64

struct bsm_arena_chunk {
  bsm_arena_chunk *next;
  bsm_arena_chunk *shared; /* NULL: none yet */
  size_t size;             /* bytes of `data` */
  size_t used;
  _Alignas(CHUNK_ALIGNMENT) unsigned char data[];
};

void bsm_arena_init(bsm_arena *arena, const bsm_allocator *allocator) {
  *arena = (bsm_arena){.allocator = allocator};
}

void bsm_arena_init_like(bsm_arena *arena, const bsm_arena *like) {
  *arena = (bsm_arena){.allocator = like->allocator, .guard = like->guard};
}

void bsm_arena_set_guard(bsm_arena *arena, bsm_memory_guard *guard) {
  if (arena->guard) arena->guard->used -= arena->total;
  arena->guard = guard;
  if (guard) guard->used += arena->total;
}

/* Releases the chunks in front of `stop`. */
static void pop_chunks(bsm_arena *arena, const bsm_arena_chunk *stop) {
  while (arena->chunks && arena->chunks != stop) {
    bsm_arena_chunk *chunk = arena->chunks;
    arena->chunks = chunk->next;
    arena->total -= sizeof(*chunk) + chunk->size;
    if (arena->guard) arena->guard->used -= sizeof(*chunk) + chunk->size;
    UNPOISON(chunk->data, chunk->size);
    bsm_deallocate(arena->allocator, chunk);
  }
}

/* Behind all chunks of `to`, so that marks and what is being filled stay. */
void bsm_arena_take(bsm_arena *to, bsm_arena *from) {
  bsm_arena_chunk **last = &to->chunks;
  while (*last) last = &(*last)->next;
  *last = from->chunks;
  to->total += from->total;
  bsm_arena_init_like(from, from);
}

void bsm_arena_destroy(bsm_arena *arena) {
  pop_chunks(arena, NULL);
}

static bsm_arena_chunk *push_chunk(bsm_arena *arena, size_t size) {
  size_t whole;
  if (!bsm_size_add(size, sizeof(bsm_arena_chunk), &whole)) return NULL;
  if (arena->guard && !bsm_memory_guard_allows(arena->guard, whole)) {
    return NULL;
  }
  bsm_arena_chunk *chunk =
      bsm_allocate(arena->allocator, whole, CHUNK_ALIGNMENT);
  if (!chunk) return NULL;
  if (arena->guard) arena->guard->used += whole;
  *chunk = (bsm_arena_chunk){.next = arena->chunks, .size = size};
  POISON(chunk->data, size);
  arena->chunks = chunk;
  arena->total += whole;
  return chunk;
}

/* Takes from `chunk`, or NULL when it has no room. */
static void *take(bsm_arena_chunk *chunk, size_t size, size_t alignment) {
  const uintptr_t base = (uintptr_t)chunk->data;
  uintptr_t start = base + chunk->used;
  start = (start + alignment - 1) & ~(uintptr_t)(alignment - 1);
  const size_t offset = (size_t)(start - base);
  if (offset > chunk->size || size > chunk->size - offset) return NULL;
  unsigned char *memory = chunk->data + offset;
  chunk->used = offset + size;
#if RED_ZONE
  if (chunk->size - chunk->used >= RED_ZONE) chunk->used += RED_ZONE;
#endif
  UNPOISON(memory, size);
  memset(memory, 0, size);
  return memory;
}

/* The size of the next shared chunk, which doubles the arena up to CHUNK_SIZE
 * at a time. */
static size_t shared_size(const bsm_arena *arena, size_t least) {
  size_t size = arena->total;
  if (size < FIRST_CHUNK_SIZE) size = FIRST_CHUNK_SIZE;
  if (size < least) size = least;
  return size < CHUNK_SIZE ? size : CHUNK_SIZE;
}

void *bsm_arena_alloc(bsm_arena *arena, size_t size, size_t alignment) {
  if (size == 0) size = 1; /* distinct objects have distinct addresses */
  bsm_arena_chunk *shared = arena->chunks ? arena->chunks->shared : NULL;
  size_t worst;
  if (!bsm_size_add(size, alignment - 1, &worst) ||
      !bsm_size_add(worst, RED_ZONE, &worst)) {
    return NULL;
  }
  if (worst > CHUNK_SIZE / 4) {
    bsm_arena_chunk *own = push_chunk(arena, worst);
    if (!own) return NULL;
    own->shared = shared;
    return take(own, size, alignment);
  }
  void *memory = shared ? take(shared, size, alignment) : NULL;
  if (memory) return memory;
  shared = push_chunk(arena, shared_size(arena, worst));
  if (!shared) return NULL;
  shared->shared = shared;
  return take(shared, size, alignment);
}

void *bsm_arena_alloc_array(bsm_arena *arena, size_t count, size_t size,
                            size_t alignment) {
  size_t bytes;
  if (!bsm_size_mul(count, size, &bytes)) return NULL;
  return bsm_arena_alloc(arena, bytes, alignment);
}

bsm_arena_mark bsm_arena_get_mark(const bsm_arena *arena) {
  bsm_arena_chunk *chunk = arena->chunks;
  const bsm_arena_chunk *shared = chunk ? chunk->shared : NULL;
  return (bsm_arena_mark){chunk, shared ? shared->used : 0};
}

void bsm_arena_rewind(bsm_arena *arena, bsm_arena_mark mark) {
  pop_chunks(arena, mark.chunk);
  bsm_arena_chunk *shared = arena->chunks ? arena->chunks->shared : NULL;
  if (!shared) return;
  POISON(shared->data + mark.used, shared->size - mark.used);
  shared->used = mark.used;
}

char *bsm_arena_strndup(bsm_arena *arena, const char *text, size_t length) {
  size_t size;
  if (!bsm_size_add(length, 1, &size)) return NULL;
  char *copy = bsm_arena_alloc(arena, size, 1);
  if (copy && length) memcpy(copy, text, length);
  return copy;
}

char *bsm_arena_strdup(bsm_arena *arena, const char *text) {
  return bsm_arena_strndup(arena, text, strlen(text));
}

char *bsm_arena_vprintf(bsm_arena *arena, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  const int length = vsnprintf(NULL, 0, format, args);
  char *text = NULL;
  if (length >= 0) text = bsm_arena_alloc(arena, (size_t)length + 1, 1);
  if (text) vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return text;
}

char *bsm_arena_printf(bsm_arena *arena, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *text = bsm_arena_vprintf(arena, format, args);
  va_end(args);
  return text;
}

bool bsm_vec_grow_(bsm_arena *arena, void **items, size_t *cap, size_t len,
                   size_t size, size_t alignment) {
  size_t wanted = 8;
  if (*cap && !bsm_size_mul(*cap, 2, &wanted)) return false;
  void *grown = bsm_arena_alloc_array(arena, wanted, size, alignment);
  if (!grown) return false;
  /* `items` points to a T *, not a void *: copied as bytes for that reason. */
  void *old;
  memcpy(&old, items, sizeof(old));
  if (len) memcpy(grown, old, len * size);
  memcpy(items, &grown, sizeof(grown));
  *cap = wanted;
  return true;
}
