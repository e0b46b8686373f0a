/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and dicts that others have, too.
 *
 * What comes out of an If or a loop is a new list here, though it is an old one
 * when the engine runs. As long as nobody else has that, nobody can tell. When
 * somebody has, neither may be written to (dynamic_containers.c). */
#include "lowering/specialize/specialize.h"

typedef bsm_status visit_fn(bsm_spec *s, void *user, const bsm_ivalue *value);

static bool is_container(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_LIST || v->tag == BSM_IVALUE_DICT;
}

/* Calls `visit` for every list and dict inside. */
static bsm_status each(bsm_spec *s, const bsm_ivalue *v, size_t depth,
                       visit_fn *visit, void *user) {
  const bsm_ivalue *items = NULL;
  size_t n = 0;
  if (depth > s->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "a value is nested too deep");
  }
  if (is_container(v)) {
    BSM_TRY(visit(s, user, v));
  }
  if (bsm_spec_box_find(s, v)) {
    return BSM_OK;
  }
  if (v->tag == BSM_IVALUE_LIST) {
    items = v->u.list->items;
    n = v->u.list->len;
  } else if (v->tag == BSM_IVALUE_DICT) {
    items = v->u.dict->values;
    n = v->u.dict->len;
  } else if (v->tag == BSM_IVALUE_TUPLE) {
    items = v->u.tuple->items;
    n = v->u.tuple->len;
  }
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(each(s, &items[i], depth + 1, visit, user));
  }
  return BSM_OK;
}

static bsm_status count(bsm_spec *s, void *user, const bsm_ivalue *v) {
  bsm_spec_held *held = user;
  const uintptr_t n = (uintptr_t)bsm_ptrmap_get(&held->counts, v->u.container);
  BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &held->counts, v->u.container,
                               (void *)(n + 1)));
  return BSM_OK;
}

bsm_status bsm_spec_hold(bsm_spec *s, bsm_spec_held *held,
                         const bsm_ivalue *value) {
  return each(s, value, 0, count, held);
}

typedef struct question {
  const bsm_spec_held *held;
  uint64_t stamp;
  bool answer;
} question;

static bsm_status ask(bsm_spec *s, void *user, const bsm_ivalue *v) {
  question *q = user;
  q->answer = q->answer || bsm_spec_is_shared(s, v) ||
              (uintptr_t)bsm_ptrmap_get(&q->held->counts, v->u.container) > 1 ||
              (q->stamp && bsm_spec_was_there(s, v, q->stamp));
  return BSM_OK;
}

bsm_status bsm_spec_is_held_twice(bsm_spec *s, const bsm_spec_held *held,
                                  const bsm_ivalue *value, uint64_t stamp,
                                  bool *out) {
  question q = {held, stamp, false};
  BSM_TRY(each(s, value, 0, ask, &q));
  *out = q.answer;
  return BSM_OK;
}

static bsm_status share(bsm_spec *s, void *user, const bsm_ivalue *v) {
  (void)user;
  return bsm_spec_box_share(s, v);
}

bsm_status bsm_spec_share_all(bsm_spec *s, const bsm_ivalue *value) {
  return each(s, value, 0, share, NULL);
}
