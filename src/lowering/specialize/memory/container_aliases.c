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
static bsm_status each(bsm_spec *s, const bsm_ivalue *v, size_t depth,
                       visit_fn *visit, void *user) {
  const bsm_iv_parts parts = bsm_iv_parts_of(v);
  if (depth > s->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "a value is nested too deep");
  }
  if (bsm_spec_is_container(v)) {
    BSM_TRY(visit(s, user, v));
  }
  if (bsm_spec_dynamic_find(s, v)) {
    return BSM_OK;
  }
  for (size_t i = 0; i < parts.len; i++) {
    BSM_TRY(each(s, &parts.items[i], depth + 1, visit, user));
  }
  return BSM_OK;
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
  return each(s, value, 0, count, references);
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
  BSM_TRY(each(s, value, 0, ask, &q));
  *out = q.answer;
  return BSM_OK;
}

static bsm_status share(bsm_spec *s, void *user, const bsm_ivalue *v) {
  (void)user;
  return bsm_spec_share_container(s, v);
}

bsm_status bsm_spec_share_all(bsm_spec *s, const bsm_ivalue *value) {
  return each(s, value, 0, share, NULL);
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

static bsm_status note_value(bsm_spec *s, const bsm_ivalue *item, size_t depth);

static bsm_status note_items(bsm_spec *s, const bsm_ivalue *container,
                             size_t depth) {
  const bsm_iv_parts parts = bsm_iv_parts_of(container);
  if (depth > s->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "a value is nested too deep");
  }
  for (size_t i = 0; i < parts.len; i++) {
    BSM_TRY(note_value(s, &parts.items[i], depth + 1));
  }
  return BSM_OK;
}

static bsm_status note_value(bsm_spec *s, const bsm_ivalue *item,
                             size_t depth) {
  if (item->tag == BSM_IVALUE_TENSOR) {
    const bsm_spec_tensor *record = bsm_spec_tensor_find(s, item->u.tensor);
    if (record) {
      record->storage->may_alias = true;
    }
  } else if (bsm_spec_is_symbol(item)) {
    bsm_spec_alias_symbol(s, item);
  } else if (item->tag == BSM_IVALUE_TUPLE) {
    return note_items(s, item, depth);
  } else if (bsm_spec_is_container(item)) {
    if (bsm_spec_tracks_sharing(s)) {
      BSM_TRY(bsm_spec_share_container(s, item));
    }
    return bsm_spec_dynamic_find(s, item) ? BSM_OK : note_items(s, item, depth);
  }
  return BSM_OK;
}

bsm_status bsm_spec_note_shared(bsm_spec *s, const bsm_ivalue *item) {
  return note_value(s, item, 0);
}

bsm_status bsm_spec_note_items(bsm_spec *s, const bsm_ivalue *container) {
  if (bsm_spec_dynamic_find(s, container)) {
    return BSM_OK; /* they are noted */
  }
  return bsm_spec_is_container(container) ? note_items(s, container, 0)
                                          : BSM_OK;
}
