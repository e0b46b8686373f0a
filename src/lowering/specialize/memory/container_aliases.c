/* SPDX-License-Identifier: Apache-2.0 */
/* Values that may be one of several (may-alias analysis).
 *
 * What comes out of an If or a loop is a new list here, but it is an old one
 * when the engine runs. The difference shows only if something else refers to
 * the old one. Then neither of the two may be written to. */
#include "lowering/specialize/memory/container_aliases.h"

#include "aten/ivalue_parts.h"
#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/memory/allocation.h"
#include "lowering/specialize/values/literal_policy.h"

typedef bsm_status visit_fn(bsm_spec *s, void *user, const bsm_ivalue *value);

/* Calls `visit` for every list and dict inside. */
typedef struct walk {
  bsm_spec *s;
  visit_fn *visit;
  void *user;
  bsm_arena arena;
  bsm_ptrmap entered; /* how often, as a number */
} walk;

/* Whether a container is to be entered again. What is in one that is reached
 * twice is reached twice, too; more often makes no difference, and what is
 * shared again and again has no end. */
static bsm_status enter(walk *w, const bsm_ivalue *v, bool *again) {
  const uintptr_t n = (uintptr_t)bsm_ptrmap_get(&w->entered, v->u.container);
  *again = n < 2;
  if (*again) {
    BSM_TRY_ALLOC(bsm_ptrmap_set(&w->arena, &w->entered, v->u.container,
                                 (void *)(n + 1)));
  }
  return BSM_OK;
}

static bsm_status walk_value(walk *w, const bsm_ivalue *v, size_t depth) {
  const bsm_iv_parts parts = bsm_iv_parts_of(v);
  bool again = true;
  if (depth > w->s->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "a value is nested too deep");
  }
  if (bsm_spec_is_container(v)) {
    BSM_TRY(w->visit(w->s, w->user, v));
  }
  if (bsm_spec_dynamic_find(w->s, v)) {
    return BSM_OK;
  }
  if (depth > 0 && parts.len) BSM_TRY(enter(w, v, &again));
  for (size_t i = 0; i < parts.len && again; i++) {
    BSM_TRY(walk_value(w, &parts.items[i], depth + 1));
  }
  return BSM_OK;
}

static bsm_status each(bsm_spec *s, const bsm_ivalue *v, visit_fn *visit,
                       void *user) {
  walk w = {.s = s, .visit = visit, .user = user};
  bsm_arena_init(&w.arena, s->scratch->allocator);
  bsm_status status = walk_value(&w, v, 0);
  bsm_arena_destroy(&w.arena);
  return status;
}

static bsm_status count(bsm_spec *s, void *user, const bsm_ivalue *v) {
  bsm_spec_references *references = user;
  const uintptr_t n =
      (uintptr_t)bsm_ptrmap_get(&references->counts, v->u.container);
  BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &references->counts, v->u.container,
                               (void *)(n + 1)));
  return BSM_OK;
}

bsm_status bsm_spec_count_references(bsm_spec *s,
                                     bsm_spec_references *references,
                                     const bsm_ivalue *value) {
  return each(s, value, count, references);
}

typedef struct question {
  const bsm_spec_references *references;
  uint64_t stamp;
  bool answer;
} question;

static bsm_status ask(bsm_spec *s, void *user, const bsm_ivalue *v) {
  question *q = user;
  q->answer =
      q->answer || bsm_spec_is_shared(s, v) ||
      (uintptr_t)bsm_ptrmap_get(&q->references->counts, v->u.container) > 1 ||
      (q->stamp && bsm_spec_was_there(s, v, q->stamp));
  return BSM_OK;
}

bsm_status bsm_spec_may_alias(bsm_spec *s,
                              const bsm_spec_references *references,
                              const bsm_ivalue *value, uint64_t stamp,
                              bool *out) {
  question q = {references, stamp, false};
  BSM_TRY(each(s, value, ask, &q));
  *out = q.answer;
  return BSM_OK;
}

static bsm_status share(bsm_spec *s, void *user, const bsm_ivalue *v) {
  (void)user;
  return bsm_spec_share_container(s, v);
}

bsm_status bsm_spec_share_all(bsm_spec *s, const bsm_ivalue *value) {
  return each(s, value, share, NULL);
}

void bsm_spec_alias_symbol(bsm_spec *s, const bsm_ivalue *value) {
  bsm_spec_symbol *symbol = bsm_spec_symbol_of(value);
  symbol->aliased = true;
  while (symbol->schema && bsm_spec_is_symbol(&symbol->parent)) {
    symbol = bsm_spec_symbol_of(&symbol->parent);
    symbol->aliased = true;
  }
  if (symbol->schema) { /* of a tensor */
    const bsm_spec_tensor *record =
        bsm_spec_tensor_find(s, symbol->parent.u.tensor);
    if (record) {
      record->storage->may_alias = true;
    }
  }
}

bsm_status bsm_spec_share_container(bsm_spec *s, const bsm_ivalue *container) {
  BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &s->memory->shared,
                               container->u.container, container->u.container));
  return BSM_OK;
}

bool bsm_spec_is_shared(const bsm_spec *s, const bsm_ivalue *container) {
  return (container->tag == BSM_IVALUE_LIST ||
          container->tag == BSM_IVALUE_DICT) &&
         s->memory->shared.len &&
         bsm_ptrmap_get(&s->memory->shared, container->u.container) != NULL;
}

bsm_status bsm_spec_check_shared(bsm_spec *s, const bsm_ivalue *container) {
  if (!bsm_spec_is_shared(s, container)) {
    return BSM_OK;
  }
  bsm_spec_needs_literal(s);
  return BSM_FAIL(BSM_UNSUPPORTED,
                  "a list or dict is changed that may be one of several, "
                  "depending on data (it comes out of an if, a loop or "
                  "another list)");
}

static bsm_status note_value(bsm_spec *s, const bsm_ivalue *item,
                             bsm_visited *visited, size_t depth);

static bsm_status note_items(bsm_spec *s, const bsm_ivalue *container,
                             bsm_visited *visited, size_t depth) {
  const bsm_iv_parts parts = bsm_iv_parts_of(container);
  bool before;
  if (depth > s->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "a value is nested too deep");
  }
  BSM_TRY(bsm_visit(visited, container, depth, &before));
  for (size_t i = 0; i < parts.len && !before; i++) {
    BSM_TRY(note_value(s, &parts.items[i], visited, depth + 1));
  }
  return BSM_OK;
}

static bsm_status note_value(bsm_spec *s, const bsm_ivalue *item,
                             bsm_visited *visited, size_t depth) {
  if (item->tag == BSM_IVALUE_TENSOR) {
    const bsm_spec_tensor *record = bsm_spec_tensor_find(s, item->u.tensor);
    if (record) {
      record->storage->may_alias = true;
    }
  } else if (bsm_spec_is_symbol(item)) {
    const bsm_type *type = bsm_spec_symbol_of(item)->type;
    if (bsm_spec_tracks_sharing(s) || (type && type->kind == BSM_TYPE_TENSOR)) {
      bsm_spec_alias_symbol(s, item);
    }
  } else if (item->tag == BSM_IVALUE_TUPLE) {
    return note_items(s, item, visited, depth);
  } else if (bsm_spec_is_container(item)) {
    if (bsm_spec_tracks_sharing(s)) {
      BSM_TRY(bsm_spec_share_container(s, item));
    }
    return bsm_spec_dynamic_find(s, item) ? BSM_OK
                                          : note_items(s, item, visited, depth);
  }
  return BSM_OK;
}

bsm_status bsm_spec_note_shared(bsm_spec *s, const bsm_ivalue *item) {
  bsm_visited visited;
  bsm_visited_init(&visited, s->scratch);
  bsm_status status = note_value(s, item, &visited, 0);
  bsm_visited_destroy(&visited);
  return status;
}

bsm_status bsm_spec_note_items(bsm_spec *s, const bsm_ivalue *container) {
  bsm_visited visited;
  if (bsm_spec_dynamic_find(s, container)) {
    return BSM_OK; /* they are noted */
  }
  if (!bsm_spec_is_container(container)) return BSM_OK;
  bsm_visited_init(&visited, s->scratch);
  bsm_status status = note_items(s, container, &visited, 0);
  bsm_visited_destroy(&visited);
  return status;
}
