/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over boxed values, and containers made of their parts. */
#include "aten/ivalue_parts.h"

#include <string.h>

static bool any_of(const bsm_ivalue *values, size_t n, int depth,
                   bool (*test)(const bsm_ivalue *v)) {
  if (n && depth > BSM_IV_MAX_DEPTH) return true;
  for (size_t i = 0; i < n; i++) {
    const bsm_iv_parts parts = bsm_iv_parts_of(&values[i]);
    if (test(&values[i]) || any_of(parts.items, parts.len, depth + 1, test)) {
      return true;
    }
  }
  return false;
}

bool bsm_iv_any(const bsm_ivalue *values, size_t n,
                bool (*test)(const bsm_ivalue *v)) {
  return any_of(values, n, 0, test);
}

bsm_status bsm_visit(bsm_visited *visited, const bsm_ivalue *v, size_t depth,
                     bool *before) {
  *before = false;
  if (depth == 0 || !bsm_iv_is_container(v) || !bsm_iv_parts_of(v).len) {
    return BSM_OK;
  }
  *before = bsm_ptrmap_get(&visited->seen, v->u.container) != NULL;
  if (*before) return BSM_OK;
  BSM_TRY_ALLOC(
      bsm_ptrmap_set(&visited->arena, &visited->seen, v->u.container, visited));
  return BSM_OK;
}

bsm_status bsm_iv_list_of(bsm_arena *arena, const struct bsm_type *elem_type,
                          const bsm_ivalue *items, size_t n, bsm_ivalue *out) {
  bsm_list *list;
  BSM_TRY(bsm_list_new(arena, elem_type, n, &list));
  if (n) memcpy(list->items, items, n * sizeof(*items));
  *out = bsm_iv_list(list);
  return BSM_OK;
}

bsm_status bsm_iv_tuple_of(bsm_arena *arena, const struct bsm_type *type,
                           const bsm_ivalue *items, size_t n, bsm_ivalue *out) {
  bsm_tuple *tuple;
  BSM_TRY(bsm_tuple_new(arena, n, &tuple));
  tuple->type = type;
  if (n) memcpy(tuple->items, items, n * sizeof(*items));
  *out = bsm_iv_tuple(tuple);
  return BSM_OK;
}
