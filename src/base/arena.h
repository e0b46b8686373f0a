/* SPDX-License-Identifier: Apache-2.0 */
/* Arena: memory that is released all at once.
 *
 * Objects of a graph, a network or a pass are never freed one by one, so early
 * return leaks nothing. Memory comes zeroed. Allocations above a quarter of the
 * chunk size get a chunk of their own. Under ASan the gaps are poisoned.
 * One thread uses an arena at a time. */
#ifndef BSM_BASE_ARENA_H_
#define BSM_BASE_ARENA_H_

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bessemer/allocator.h"
#include "bessemer/status.h"

typedef struct bsm_arena_chunk bsm_arena_chunk;
struct bsm_memory_guard;

typedef struct bsm_arena {
  const bsm_allocator *allocator; /* NULL: malloc */
  bsm_arena_chunk *chunks;        /* newest first */
  size_t total;                   /* bytes taken from the allocator */
  /* Counts and limits them (base/memory_guard.h), though they are not of its
   * allocator and may outlive it; NULL: nobody does. */
  struct bsm_memory_guard *guard;
} bsm_arena;

typedef struct bsm_arena_mark {
  bsm_arena_chunk *chunk;
  size_t used;
} bsm_arena_mark;

void bsm_arena_init(bsm_arena *arena, const bsm_allocator *allocator);
/* With the allocator and the guard of another arena. */
void bsm_arena_init_like(bsm_arena *arena, const bsm_arena *like);
/* From now on `guard` counts what the arena has; NULL: nobody does any more. */
void bsm_arena_set_guard(bsm_arena *arena, struct bsm_memory_guard *guard);

/* Releases everything; the arena is then empty and usable again. */
void bsm_arena_destroy(bsm_arena *arena);

/* Zeroed memory, or NULL when out of memory. `alignment`: a power of two. */
void *bsm_arena_alloc(bsm_arena *arena, size_t size, size_t alignment);

/* As bsm_arena_alloc for `count` objects; NULL also when the size overflows. */
void *bsm_arena_alloc_array(bsm_arena *arena, size_t count, size_t size,
                            size_t alignment);

/* Moves all memory of `from`, which is then empty, to `to`: it stays where it
 * is and lives as long as `to`. Both have the same allocator and guard. */
void bsm_arena_take(bsm_arena *to, bsm_arena *from);

bsm_arena_mark bsm_arena_get_mark(const bsm_arena *arena);
/* Releases all that was allocated after `mark`. */
void bsm_arena_rewind(bsm_arena *arena, bsm_arena_mark mark);

/* NUL-terminated copies; NULL when out of memory. */
char *bsm_arena_strdup(bsm_arena *arena, const char *text);
char *bsm_arena_strndup(bsm_arena *arena, const char *text, size_t length);
char *bsm_arena_printf(bsm_arena *arena, const char *format, ...)
    BSM_PRINTF(2, 3);
char *bsm_arena_vprintf(bsm_arena *arena, const char *format, va_list args);

#define BSM_NEW(arena, T) \
  ((T *)bsm_arena_alloc((arena), sizeof(T), _Alignof(T)))
#define BSM_NEW_ARRAY(arena, T, n) \
  ((T *)bsm_arena_alloc_array((arena), (n), sizeof(T), _Alignof(T)))

/* A growable array in an arena: `typedef BSM_VEC(int64_t) int64_vec;`, zero
 * initialised. bsm_vec_push is an expression, false when out of memory. */
#define BSM_VEC(T) \
  struct {         \
    T *items;      \
    size_t len;    \
    size_t cap;    \
  }
bool bsm_vec_grow_(bsm_arena *arena, void **items, size_t *cap, size_t len,
                   size_t size, size_t alignment);
#define bsm_vec_push(arena, vec, ...)                                       \
  ((((vec)->len < (vec)->cap) ||                                            \
    bsm_vec_grow_((arena), (void **)&(vec)->items, &(vec)->cap, (vec)->len, \
                  sizeof(*(vec)->items), _Alignof(max_align_t))) &&         \
   ((vec)->items[(vec)->len++] = (__VA_ARGS__), true))

#endif /* BSM_BASE_ARENA_H_ */
