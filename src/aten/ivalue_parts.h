/* SPDX-License-Identifier: Apache-2.0 */
/* Walking boxed values: what is inside of one, whatever container it is.
 * Objects and enums are not looked into. */
#ifndef BSM_ATEN_IVALUE_PARTS_H_
#define BSM_ATEN_IVALUE_PARTS_H_

#include "aten/ivalue.h"

/* The container's own array: valid until it grows. */
typedef struct bsm_iv_parts {
  bsm_ivalue *items;
  size_t len;
} bsm_iv_parts;

static inline bool bsm_iv_is_sequence(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_LIST || v->tag == BSM_IVALUE_TUPLE;
}

static inline bool bsm_iv_is_container(const bsm_ivalue *v) {
  return bsm_iv_is_sequence(v) || v->tag == BSM_IVALUE_DICT;
}

/* The items of a list or tuple; none of anything else. */
static inline bsm_iv_parts bsm_iv_items_of(const bsm_ivalue *v) {
  switch (v->tag) {
    case BSM_IVALUE_LIST:
      return (bsm_iv_parts){v->u.list->items, v->u.list->len};
    case BSM_IVALUE_TUPLE:
      return (bsm_iv_parts){v->u.tuple->items, v->u.tuple->len};
    default:
      return (bsm_iv_parts){NULL, 0};
  }
}

/* The items of a list or tuple, the values of a dict; none of anything else. */
static inline bsm_iv_parts bsm_iv_parts_of(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_DICT
             ? (bsm_iv_parts){v->u.dict->values, v->u.dict->len}
             : bsm_iv_items_of(v);
}

/* Whether the test holds for one of the values or for a value inside of them.
 * It is taken to hold for what is nested more than BSM_IV_MAX_DEPTH deep. */
#define BSM_IV_MAX_DEPTH 64
bool bsm_iv_any(const bsm_ivalue *values, size_t n,
                bool (*test)(const bsm_ivalue *v));

/* The containers that a walk has been in, so that it goes into what is shared
 * once: sixty lists, each with the one before it twice, have 2^60 items. What
 * is in the outermost one directly is not worth remembering when it holds
 * nothing more. */
typedef struct bsm_visited {
  bsm_arena arena;
  bsm_ptrmap seen;
} bsm_visited;
static inline void bsm_visited_init(bsm_visited *visited,
                                    const bsm_arena *like) {
  visited->seen = (bsm_ptrmap){0};
  bsm_arena_init(&visited->arena, like->allocator);
}
static inline void bsm_visited_destroy(bsm_visited *visited) {
  bsm_arena_destroy(&visited->arena);
}
/* Whether the container was there before, if it may be shared: it is in another
 * one, `depth` of them, and holds something. */
BSM_NODISCARD bsm_status bsm_visit(bsm_visited *visited, const bsm_ivalue *v,
                                   size_t depth, bool *before);

/* The arena that a list or dict was made in, NULL of anything else: who may
 * change the container knows it by that. */
static inline const bsm_arena *bsm_iv_arena_of(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_LIST   ? v->u.list->arena
         : v->tag == BSM_IVALUE_DICT ? v->u.dict->arena
                                     : NULL;
}

/* New containers of `n` values. They fail only with out of memory. */
BSM_NODISCARD bsm_status bsm_iv_list_of(bsm_arena *arena,
                                        const struct bsm_type *elem_type,
                                        const bsm_ivalue *items, size_t n,
                                        bsm_ivalue *out);
BSM_NODISCARD bsm_status bsm_iv_tuple_of(bsm_arena *arena,
                                         const struct bsm_type *type,
                                         const bsm_ivalue *items, size_t n,
                                         bsm_ivalue *out);

#endif /* BSM_ATEN_IVALUE_PARTS_H_ */
