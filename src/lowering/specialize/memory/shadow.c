/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the module as the specialiser sees them: lists, dicts, objects and
 * tensors are copied on first sight, once each, so identity is kept and the
 * module never changes. A tensor's memory is shared until it is written to. */
#include "lowering/specialize/memory/shadow.h"

#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/values/literal_policy.h"

static bsm_status shadow_items(bsm_spec *s, bsm_ivalue *items, size_t n,
                               const char *name) {
  if (++s->at.depth > s->cx->limits.max_depth) {
    s->at.depth--;
    return BSM_FAIL(BSM_LIMIT, "a value is nested more than %llu deep",
                    (unsigned long long)s->cx->limits.max_depth);
  }
  bsm_status st = BSM_OK;
  for (size_t i = 0; i < n && !st; i++) {
    st = bsm_spec_shadow(s, items[i], name, &items[i]);
  }
  s->at.depth--;
  return st;
}

static bsm_status copy_items(bsm_spec *s, const bsm_ivalue *from, size_t n,
                             bsm_ivalue **out) {
  *out = BSM_NEW_ARRAY(s->cx->arena, bsm_ivalue, n + 1);
  BSM_TRY_ALLOC(*out);
  if (n) {
    memcpy(*out, from, n * sizeof(bsm_ivalue));
  }
  return BSM_OK;
}

static bsm_status shadow_storage(bsm_spec *s, bsm_storage *from,
                                 bsm_storage **out) {
  *out = bsm_ptrmap_get(&s->memory->shadows, from);
  if (*out) {
    return BSM_OK;
  }
  bsm_storage *own = BSM_NEW(s->cx->arena, bsm_storage);
  BSM_TRY_ALLOC(own);
  *own = *from;
  own->read_only = true; /* copy on write */
  BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &s->memory->shadows, from, own));
  *out = own;
  return BSM_OK;
}

/* Storages of the module are shared by their shadows, without memory. */
static bsm_status without_data(bsm_spec *s, bsm_tensor *own,
                               const bsm_tensor *from) {
  bsm_spec_tensor *record = NULL;
  own->storage->meta = true;
  own->storage->data = NULL;
  BSM_TRY(bsm_spec_tensor_of(s, own, &record));
  record->known = from;
  return BSM_OK;
}

static bsm_status shadow_tensor(bsm_spec *s, bsm_tensor *from, const char *name,
                                void **out) {
  bsm_tensor *own = BSM_NEW(s->cx->arena, bsm_tensor);
  BSM_TRY_ALLOC(own);
  *own = *from;
  BSM_TRY(shadow_storage(s, from->storage, &own->storage));
  if (!bsm_spec_data_is_known(s)) {
    BSM_TRY(without_data(s, own, from));
  }
  bsm_spec_tensor *record = NULL;
  BSM_TRY(bsm_spec_tensor_of(s, own, &record));
  record->name = name;
  record->storage->created = 0; /* older than any block, wherever it is seen */
  *out = own;
  return BSM_OK;
}

static bsm_status shadow_list(bsm_spec *s, const bsm_list *from,
                              const char *name, void **out) {
  bsm_list *own = BSM_NEW(s->cx->arena, bsm_list);
  BSM_TRY_ALLOC(own);
  *own = *from;
  own->arena = s->cx->arena;
  own->cap = from->len;
  BSM_TRY(copy_items(s, from->items, from->len, &own->items));
  BSM_TRY(shadow_items(s, own->items, own->len, name));
  *out = own;
  return BSM_OK;
}

static bsm_status shadow_tuple(bsm_spec *s, const bsm_tuple *from,
                               const char *name, void **out) {
  bsm_tuple *own = BSM_NEW(s->cx->arena, bsm_tuple);
  BSM_TRY_ALLOC(own);
  *own = *from;
  BSM_TRY(copy_items(s, from->items, from->len, &own->items));
  BSM_TRY(shadow_items(s, own->items, own->len, name));
  *out = own;
  return BSM_OK;
}

static bsm_status shadow_dict(bsm_spec *s, const bsm_dict *from,
                              const char *name, void **out) {
  bsm_dict *own = NULL;
  BSM_TRY(bsm_dict_new(s->cx->arena, from->key_type, from->value_type, &own));
  for (size_t i = 0; i < from->len; i++) {
    bsm_ivalue value = from->values[i];
    BSM_TRY(shadow_items(s, &value, 1, name));
    BSM_TRY(bsm_dict_set(own, from->keys[i], value));
  }
  *out = own;
  return BSM_OK;
}

/* The slots stay the module's own until they are read (`loaded` tells which
 * are ours): most of a model's attributes are never looked at. */
static bsm_status shadow_object(bsm_spec *s, const bsm_object *from,
                                void **out) {
  bsm_object *own = BSM_NEW(s->cx->arena, bsm_object);
  BSM_TRY_ALLOC(own);
  *own = *from;
  BSM_TRY(copy_items(s, from->slots, from->len, &own->slots));
  bool *loaded = BSM_NEW_ARRAY(s->scratch, bool, from->len + 1);
  BSM_TRY_ALLOC(loaded);
  BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &s->memory->loaded, own, loaded));
  *out = own;
  return BSM_OK;
}

bsm_status bsm_spec_shadow(bsm_spec *s, bsm_ivalue value, const char *name,
                           bsm_ivalue *out) {
  *out = value;
  if (s->policy.own_objects) {
    return BSM_OK;
  }
  const void *key;
  switch (value.tag) {
    case BSM_IVALUE_TENSOR:
    case BSM_IVALUE_LIST:
    case BSM_IVALUE_TUPLE:
    case BSM_IVALUE_DICT:
    case BSM_IVALUE_OBJECT:
      /* All members of the union that hold pointers to mutable things. */
      key = value.u.container;
      break;
    default:
      return BSM_OK;
  }
  void *own = bsm_ptrmap_get(&s->memory->shadows, key);
  if (!own) {
    switch (value.tag) {
      case BSM_IVALUE_TENSOR:
        BSM_TRY(shadow_tensor(s, value.u.tensor, name, &own));
        break;
      case BSM_IVALUE_LIST:
        BSM_TRY(shadow_list(s, value.u.list, name, &own));
        break;
      case BSM_IVALUE_TUPLE:
        BSM_TRY(shadow_tuple(s, value.u.tuple, name, &own));
        break;
      case BSM_IVALUE_DICT:
        BSM_TRY(shadow_dict(s, value.u.dict, name, &own));
        break;
      default:
        BSM_TRY(shadow_object(s, value.u.object, &own));
        break;
    }
    BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &s->memory->shadows, key, own));
  }
  out->u.container = own;
  return BSM_OK;
}
