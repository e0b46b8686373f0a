/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes: lists and dicts whose items only the run will tell, because a block on
 * an unknown condition changes them, or an unknown index does.
 *
 * A box keeps the identity of its container here; its content is a value of
 * the residual graph, which, like all of them, never changes: writing to a box
 * copies the container, writes to the copy, and the copy is the new value.
 *
 * A container becomes a box before the outermost block that changes it. When a
 * block finds out too late, it fails and leaves the container in s->escape; the
 * block around it makes the box and runs it again. */
#include "lowering/specialize/specialize.h"

bsm_spec_box *bsm_spec_box_find(const bsm_spec *s, const bsm_ivalue *value) {
  const bool container =
      value->tag == BSM_IVALUE_LIST || value->tag == BSM_IVALUE_DICT;
  return container && s->boxes.len
             ? bsm_ptrmap_get(&s->boxes, value->u.container)
             : NULL;
}

bsm_status bsm_spec_box_share(bsm_spec *s, const bsm_ivalue *container) {
  BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &s->shared, container->u.container,
                               container->u.container));
  return BSM_OK;
}

bool bsm_spec_is_shared(const bsm_spec *s, const bsm_ivalue *container) {
  return (container->tag == BSM_IVALUE_LIST ||
          container->tag == BSM_IVALUE_DICT) &&
         s->shared.len &&
         bsm_ptrmap_get(&s->shared, container->u.container) != NULL;
}

bsm_status bsm_spec_check_shared(bsm_spec *s, const bsm_ivalue *container) {
  s->sharing = s->sharing || bsm_spec_is_shared(s, container);
  return bsm_spec_is_shared(s, container)
             ? BSM_FAIL(BSM_UNSUPPORTED,
                        "a list or dict is changed that may be one of several, "
                        "depending on data (it comes out of an if, a loop or "
                        "another list)")
             : BSM_OK;
}

bool bsm_spec_was_there(const bsm_spec *s, const bsm_ivalue *container,
                        uint64_t stamp) {
  const uint64_t *birth = bsm_ptrmap_get(&s->births, container->u.container);
  return !birth || *birth < stamp;
}

bool bsm_spec_is_older(const bsm_spec *s, const bsm_ivalue *container) {
  return s->branch_depth > 0 &&
         bsm_spec_was_there(s, container, s->branch_birth);
}

static bsm_status new_box(bsm_spec *s, const bsm_ivalue *container,
                          const bsm_type *type, bsm_value *value) {
  bsm_spec_box *box = BSM_NEW(s->scratch, bsm_spec_box);
  BSM_TRY_ALLOC(box);
  *box = (bsm_spec_box){*container, type, value};
  BSM_TRY_ALLOC(
      bsm_ptrmap_set(s->scratch, &s->boxes, container->u.container, box));
  return BSM_OK;
}

bsm_status bsm_spec_box_new(bsm_spec *s, const bsm_type *type, bsm_value *value,
                            bsm_ivalue *out) {
  if (type->kind == BSM_TYPE_DICT) {
    bsm_dict *dict = NULL;
    BSM_TRY(bsm_dict_new(s->cx->arena, type->args[0], type->args[1], &dict));
    *out = bsm_iv_dict(dict);
  } else {
    bsm_list *list = NULL;
    BSM_TRY(bsm_list_new(s->cx->arena,
                         type->kind == BSM_TYPE_LIST ? type->args[0] : NULL, 0,
                         &list));
    *out = bsm_iv_list(list);
  }
  BSM_TRY(bsm_spec_note_birth(s, out));
  return new_box(s, out, type, value);
}

static const bsm_type *container_type(bsm_spec *s, const bsm_ivalue *v) {
  const bsm_type *tensor = bsm_type_simple(s->cx->types, BSM_TYPE_TENSOR);
  if (v->tag == BSM_IVALUE_LIST) {
    const bsm_type *item = v->u.list->elem_type;
    if (!item && v->u.list->len) {
      item = bsm_spec_type_of(s, &v->u.list->items[0]);
    }
    return bsm_type_list(s->cx->types, item ? item : tensor);
  }
  const bsm_dict *dict = v->u.dict;
  return dict->key_type && dict->value_type
             ? bsm_type_dict(s->cx->types, dict->key_type, dict->value_type)
             : bsm_type_of_value(s->cx->types, v);
}

static bsm_status note_value(bsm_spec *s, const bsm_ivalue *item, size_t depth);

static bsm_status note_items(bsm_spec *s, const bsm_ivalue *items, size_t n,
                             size_t depth) {
  if (depth > s->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "a value is nested too deep");
  }
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(note_value(s, &items[i], depth + 1));
  }
  return BSM_OK;
}

static bsm_status note_value(bsm_spec *s, const bsm_ivalue *item,
                             size_t depth) {
  if (item->tag == BSM_IVALUE_TENSOR) {
    const bsm_spec_tensor *record = bsm_spec_tensor_find(s, item->u.tensor);
    if (record) {
      record->storage->joined = true;
    }
  } else if (bsm_spec_is_symbol(item)) {
    bsm_spec_alias_symbol(s, item);
  } else if (item->tag == BSM_IVALUE_TUPLE) {
    return note_items(s, item->u.tuple->items, item->u.tuple->len, depth);
  } else if (item->tag == BSM_IVALUE_LIST || item->tag == BSM_IVALUE_DICT) {
    const bool list = item->tag == BSM_IVALUE_LIST;
    if (!s->literal) {
      BSM_TRY(bsm_spec_box_share(s, item));
    }
    return bsm_spec_box_find(s, item) ? BSM_OK
           : list
               ? note_items(s, item->u.list->items, item->u.list->len, depth)
               : note_items(s, item->u.dict->values, item->u.dict->len, depth);
  }
  return BSM_OK;
}

bsm_status bsm_spec_note_shared(bsm_spec *s, const bsm_ivalue *item) {
  return note_value(s, item, 0);
}

bsm_status bsm_spec_note_items(bsm_spec *s, const bsm_ivalue *container) {
  if (bsm_spec_box_find(s, container)) {
    return BSM_OK; /* they are noted */
  }
  return container->tag == BSM_IVALUE_LIST
             ? note_items(s, container->u.list->items, container->u.list->len,
                          0)
         : container->tag == BSM_IVALUE_DICT
             ? note_items(s, container->u.dict->values, container->u.dict->len,
                          0)
             : BSM_OK;
}

/* A copy of a container, to be written to. */
static bsm_status copy_container(bsm_spec *s, bsm_value *from,
                                 const bsm_type *type, bsm_value **out) {
  const bsm_emitter e = bsm_spec_emitter(s);
  bsm_node *node = NULL;
  BSM_TRY(bsm_node_create(s->graph, "prim::CopyContainer", &node));
  BSM_TRY(bsm_node_add_input(node, from));
  BSM_TRY(bsm_node_add_output(node, type, out));
  bsm_ir_link(&e, node);
  return BSM_OK;
}

bsm_status bsm_spec_box_up(bsm_spec *s, const bsm_ivalue *container) {
  if (bsm_spec_box_find(s, container)) {
    return BSM_OK;
  }
  const bool list = container->tag == BSM_IVALUE_LIST;
  if (!list && container->tag != BSM_IVALUE_DICT) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a %s is changed in a way that depends on data",
                    bsm_iv_tag_name(container->tag));
  }
  /* A closed block makes only what is its own. */
  if (bsm_spec_is_older(s, container) ||
      (s->literal && s->reading &&
       bsm_spec_was_there(s, container, s->reading->birth))) {
    bsm_ivalue *asked = BSM_NEW(s->scratch, bsm_ivalue);
    BSM_TRY_ALLOC(asked);
    *asked = *container;
    s->escape = asked;
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a list or dict made outside of a block that depends on "
                    "data is changed inside");
  }
  bsm_value *value = NULL;
  const bsm_type *type = container_type(s, container);
  BSM_TRY_ALLOC(type);
  BSM_TRY_NOTE(bsm_spec_residual_items(s, container, type, &value),
               "a %s is changed in a way that depends on data",
               list ? "list" : "dict");
  if (s->literal) { /* the one that the run changes */
    BSM_TRY(copy_container(s, value, type, &value));
  }
  BSM_TRY(bsm_spec_note_items(s, container));
  return new_box(s, container, type, value);
}

bool bsm_spec_box_retry(bsm_spec *s, bsm_status *status) {
  if (!*status || !s->escape || bsm_spec_is_older(s, s->escape)) {
    return false;
  }
  const bsm_ivalue *container = s->escape;
  s->escape = NULL;
  s->sharing = false;
  bsm_status_free(*status);
  *status = bsm_spec_box_up(s, container);
  return !*status;
}

bsm_status bsm_spec_box_set(bsm_spec *s, bsm_spec_box *box, bsm_value *value) {
  if (bsm_spec_is_older(s, &box->container)) {
    const bsm_spec_place place = {BSM_PLACE_BOX, {.box = box}};
    BSM_TRY(bsm_spec_log(s, place));
  }
  box->value = value;
  return BSM_OK;
}

bsm_status bsm_spec_box_write(bsm_spec *s, const bsm_schema *schema,
                              const bsm_ivalue *args, size_t n, size_t which,
                              bsm_ivalue *outs, size_t n_outs) {
  BSM_TRY(bsm_spec_check_shared(s, &args[which]));
  bsm_spec_box *box = bsm_spec_box_find(s, &args[which]);
  bsm_spec_symbol *symbol = bsm_spec_is_symbol(&args[which])
                                ? bsm_spec_symbol_of(&args[which])
                                : NULL;
  if (!box && (!symbol || symbol->aliased || s->branch_depth > 0)) {
    s->sharing = true;
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a list or dict that was read from another one is changed "
                    "in a way that depends on data");
  }
  const bsm_type *type = box ? box->type : symbol->type;
  bsm_value *copy = NULL;
  bsm_ivalue own;
  BSM_TRY(copy_container(s, box ? box->value : symbol->value, type, &copy));
  BSM_TRY(bsm_spec_new_symbol(s, copy, type, &own));
  bsm_ivalue *inner = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n + 1);
  BSM_TRY_ALLOC(inner);
  for (size_t i = 0; i < n; i++) {
    inner[i] = i == which ? own : args[i];
    if (i != which) {
      BSM_TRY(bsm_spec_note_shared(s, &args[i]));
    }
  }
  for (size_t i = 0; i < n_outs; i++) {
    outs[i] = bsm_iv_none();
  }
  BSM_TRY(bsm_spec_emit(s, schema, inner, n, outs, n_outs));
  for (size_t i = 0; i < n_outs; i++) {
    if (i < schema->return_count && schema->returns[i].has_alias &&
        schema->returns[i].type == schema->args[which].type) {
      outs[i] = args[which]; /* append() and its like answer the list */
    } else if (bsm_spec_is_symbol(&outs[i])) {
      bsm_spec_symbol_of(&outs[i])->aliased = true;
    }
  }
  if (box) {
    return bsm_spec_box_set(s, box, copy);
  }
  symbol->value = copy;
  return BSM_OK;
}

bsm_status bsm_spec_unpack(bsm_spec *s, bsm_value *value, const bsm_type *item,
                           size_t len, bool aliased, bsm_ivalue *out) {
  const bsm_emitter e = bsm_spec_emitter(s);
  bsm_node *unpack = NULL;
  bsm_list *list = NULL;
  BSM_TRY(bsm_list_new(s->cx->arena, item, len, &list));
  BSM_TRY(bsm_node_create(s->graph, "prim::ListUnpack", &unpack));
  BSM_TRY(bsm_node_add_input(unpack, value));
  for (size_t i = 0; i < len; i++) {
    bsm_value *part = NULL;
    BSM_TRY(bsm_node_add_output(unpack, item, &part));
    BSM_TRY(bsm_spec_new_symbol(s, part, item, &list->items[i]));
    bsm_spec_symbol_of(&list->items[i])->aliased = aliased;
  }
  bsm_ir_link(&e, unpack);
  *out = bsm_iv_list(list);
  return bsm_spec_note_birth(s, out);
}
