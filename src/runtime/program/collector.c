/* SPDX-License-Identifier: Apache-2.0 */
/* The garbage collector of programs: it moves live values between arenas. */
#include "runtime/program/collector.h"

#include <string.h>

#include "engine/plan.h"
#include "runtime/program/residency.h"

/* Moving recurses. */
#define MAX_DEPTH 200

static bsm_status move_value(bsm_collector *c, bsm_ivalue *v, int depth);

static bsm_status move_items(bsm_collector *c, bsm_ivalue *items, size_t n,
                             int depth) {
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(move_value(c, &items[i], depth + 1));
  }
  return BSM_OK;
}

static bsm_status remember(bsm_collector *c, const void *old, void *new) {
  BSM_TRY_ALLOC(bsm_ptrmap_set(c->to, &c->moved, old, new));
  return BSM_OK;
}

/* Memory that the run did not make (inputs, constants) is not copied, nor is a
 * tensor that is valid only on the device. */
static bsm_status move_storage(bsm_collector *c, bsm_storage **storage) {
  bsm_storage *old = *storage;
  bsm_storage *new = bsm_ptrmap_get(&c->moved, old);
  if (!new) {
    new = BSM_NEW(c->to, bsm_storage);
    BSM_TRY_ALLOC(new);
    *new = *old;
    bsm_resident *copy = old->resident;
    const bool stale = copy && !copy->host_valid;
    if (copy) copy->alive = true;
    if (stale && !(old->read_only && !copy->host_own)) new->data = NULL;
    if (new->data && (!old->read_only || (copy && copy->host_own))) {
      new->data = bsm_arena_alloc(c->to, old->size + 1, BSM_ALIGNMENT);
      BSM_TRY_ALLOC(new->data);
      memcpy(new->data, old->data, old->size);
    }
    BSM_TRY(remember(c, old, new));
  }
  *storage = new;
  return BSM_OK;
}

static bsm_status move_tensor(bsm_collector *c, bsm_tensor **tensor);

/* The scales of channels are tensors as well. */
static bsm_status move_quantizer(bsm_collector *c,
                                 const bsm_quantizer **quantizer) {
  const bsm_quantizer *old = *quantizer;
  bsm_quantizer *new = bsm_ptrmap_get(&c->moved, old);
  if (!new) {
    new = BSM_NEW(c->to, bsm_quantizer);
    BSM_TRY_ALLOC(new);
    *new = *old;
    bsm_tensor *scales = (bsm_tensor *)(uintptr_t)old->scales;
    bsm_tensor *zeros = (bsm_tensor *)(uintptr_t)old->zero_points;
    if (scales) BSM_TRY(move_tensor(c, &scales));
    if (zeros) BSM_TRY(move_tensor(c, &zeros));
    new->scales = scales;
    new->zero_points = zeros;
    BSM_TRY(remember(c, old, new));
  }
  *quantizer = new;
  return BSM_OK;
}

static bsm_status move_tensor(bsm_collector *c, bsm_tensor **tensor) {
  const bsm_tensor *old = *tensor;
  for (size_t i = 0; i < c->constant_count; i++) {
    if (old == &c->constants[i]) return BSM_OK;
  }
  bsm_tensor *new = bsm_ptrmap_get(&c->moved, old);
  if (!new) {
    new = BSM_NEW(c->to, bsm_tensor);
    BSM_TRY_ALLOC(new);
    *new = *old;
    BSM_TRY(move_storage(c, &new->storage));
    if (new->quantizer) BSM_TRY(move_quantizer(c, &new->quantizer));
    BSM_TRY(remember(c, old, new));
  }
  *tensor = new;
  return BSM_OK;
}

static bsm_status move_list(bsm_collector *c, bsm_ivalue *v, int depth) {
  const bsm_list *old = v->u.list;
  if (old->arena != c->from) return BSM_OK; /* a constant */
  bsm_list *new;
  BSM_TRY(bsm_list_new(c->to, old->elem_type, old->len, &new));
  if (old->len) memcpy(new->items, old->items, old->len * sizeof(*old->items));
  BSM_TRY(remember(c, old, new));
  v->u.list = new;
  return move_items(c, new->items, new->len, depth);
}

static bsm_status move_dict(bsm_collector *c, bsm_ivalue *v, int depth) {
  const bsm_dict *old = v->u.dict;
  if (old->arena != c->from) return BSM_OK;
  bsm_dict *new;
  BSM_TRY(bsm_dict_new(c->to, old->key_type, old->value_type, &new));
  BSM_TRY(remember(c, old, new));
  v->u.dict = new;
  if (!old->len) return BSM_OK;
  new->keys = BSM_NEW_ARRAY(c->to, bsm_ivalue, old->len);
  new->values = BSM_NEW_ARRAY(c->to, bsm_ivalue, old->len);
  if (!new->keys || !new->values) return BSM_FAIL_OOM();
  memcpy(new->keys, old->keys, old->len * sizeof(*old->keys));
  memcpy(new->values, old->values, old->len * sizeof(*old->values));
  new->len = new->cap = old->len;
  BSM_TRY(move_items(c, new->keys, new->len, depth));
  BSM_TRY(bsm_dict_make_index(new)); /* tensors are keys by their addresses */
  return move_items(c, new->values, new->len, depth);
}

static bsm_status move_tuple(bsm_collector *c, bsm_ivalue *v, int depth) {
  const bsm_tuple *old = v->u.tuple;
  bsm_tuple *new;
  BSM_TRY(bsm_tuple_new(c->to, old->len, &new));
  new->type = old->type;
  if (old->len) memcpy(new->items, old->items, old->len * sizeof(*old->items));
  BSM_TRY(remember(c, old, new));
  v->u.tuple = new;
  return move_items(c, new->items, new->len, depth);
}

static bool has_moved(const bsm_collector *c, bsm_ivalue *v) {
  void *moved = bsm_ptrmap_get(&c->moved, v->u.container);
  if (moved) v->u.container = moved;
  return moved != NULL;
}

static bsm_status move_value(bsm_collector *c, bsm_ivalue *v, int depth) {
  if (depth > MAX_DEPTH) {
    return BSM_FAIL(BSM_LIMIT, "a value is nested more than %d deep",
                    MAX_DEPTH);
  }
  switch (v->tag) {
    case BSM_IVALUE_TENSOR:
      return move_tensor(c, &v->u.tensor);
    case BSM_IVALUE_LIST:
      return has_moved(c, v) ? BSM_OK : move_list(c, v, depth);
    case BSM_IVALUE_DICT:
      return has_moved(c, v) ? BSM_OK : move_dict(c, v, depth);
    case BSM_IVALUE_TUPLE:
      return has_moved(c, v) ? BSM_OK : move_tuple(c, v, depth);
    case BSM_IVALUE_STRING:
      return bsm_iv_string(c->to, *v->u.s, v);
    default: /* held by the value itself */
      return BSM_OK;
  }
}

bsm_status bsm_collector_move(bsm_collector *collector, bsm_ivalue *values,
                              size_t n) {
  return move_items(collector, values, n, 0);
}
