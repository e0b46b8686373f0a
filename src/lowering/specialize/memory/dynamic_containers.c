/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic containers: lists and dicts whose items only the run will tell,
 * because a block on an unknown condition changes them, or an unknown index
 * does.
 *
 * Such a container keeps its identity here. Its content is a value of the
 * residual graph, which never changes: a write copies the container and writes
 * to the copy, and the copy is the new value.
 *
 * A container becomes dynamic before the outermost block that changes it. When
 * a block finds out too late, it fails and leaves the container in
 * s->memory->must_be_dynamic; the block around it makes it dynamic and runs it
 * again. */
#include "lowering/specialize/memory/dynamic_containers.h"

#include "lowering/specialize/memory/allocation.h"
#include "lowering/specialize/memory/container_aliases.h"
#include "lowering/specialize/memory/locations.h"
#include "lowering/specialize/memory/residual_containers.h"
#include "lowering/specialize/values/literal_policy.h"

static bsm_status new_dynamic(bsm_spec *s, const bsm_ivalue *container,
                              const bsm_type *type, bsm_value *value) {
  bsm_dynamic_container *dynamic = BSM_NEW(s->scratch, bsm_dynamic_container);
  BSM_TRY_ALLOC(dynamic);
  *dynamic = (bsm_dynamic_container){*container, type, value};
  BSM_TRY_ALLOC(
      bsm_ptrmap_set(s->scratch, &s->dynamic, container->u.container, dynamic));
  return BSM_OK;
}

bsm_status bsm_spec_dynamic_new(bsm_spec *s, const bsm_type *type,
                                bsm_value *value, bsm_ivalue *out) {
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
  BSM_TRY(bsm_spec_note_allocation(s, out));
  return new_dynamic(s, out, type, value);
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

bsm_status bsm_spec_make_dynamic(bsm_spec *s, const bsm_ivalue *container) {
  if (bsm_spec_dynamic_find(s, container)) {
    return BSM_OK;
  }
  const bool list = container->tag == BSM_IVALUE_LIST;
  if (!list && container->tag != BSM_IVALUE_DICT) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a %s is changed in a way that depends on data",
                    bsm_iv_tag_name(container->tag));
  }
  /* A closed block makes only containers of its own dynamic. */
  if (bsm_spec_is_older(s, container) ||
      (bsm_spec_containers_have_identity(s) && s->memory->reading &&
       bsm_spec_was_there(s, container, s->memory->reading->created))) {
    bsm_ivalue *asked = BSM_NEW(s->scratch, bsm_ivalue);
    BSM_TRY_ALLOC(asked);
    *asked = *container;
    s->memory->must_be_dynamic = asked;
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
  if (bsm_spec_containers_have_identity(s)) { /* the one that the run changes */
    BSM_TRY(bsm_spec_copy_container(s, value, type, &value));
  }
  BSM_TRY(bsm_spec_note_items(s, container));
  return new_dynamic(s, container, type, value);
}

bool bsm_spec_retry_dynamic(bsm_spec *s, bsm_status *status) {
  if (!*status || !s->memory->must_be_dynamic ||
      bsm_spec_is_older(s, s->memory->must_be_dynamic)) {
    return false;
  }
  const bsm_ivalue *container = s->memory->must_be_dynamic;
  s->memory->must_be_dynamic = NULL;
  s->policy.needs_literal = false;
  bsm_status_free(*status);
  *status = bsm_spec_make_dynamic(s, container);
  return !*status;
}

bsm_status bsm_spec_dynamic_set(bsm_spec *s, bsm_dynamic_container *dynamic,
                                bsm_value *value) {
  if (bsm_spec_is_older(s, &dynamic->container)) {
    const bsm_spec_location location = {BSM_LOCATION_CONTAINER,
                                        {.dynamic = dynamic}};
    BSM_TRY(bsm_spec_log(s, location));
  }
  dynamic->value = value;
  return BSM_OK;
}

bsm_status bsm_spec_unpack(bsm_spec *s, bsm_value *value, const bsm_type *item,
                           size_t len, bool aliased, bsm_ivalue *out) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  bsm_node *unpack = NULL;
  bsm_list *list = NULL;
  BSM_TRY(bsm_list_new(s->cx->arena, item, len, &list));
  BSM_TRY(bsm_node_create(s->residual.graph, "prim::ListUnpack", &unpack));
  BSM_TRY(bsm_node_add_input(unpack, value));
  for (size_t i = 0; i < len; i++) {
    bsm_value *part = NULL;
    BSM_TRY(bsm_node_add_output(unpack, item, &part));
    BSM_TRY(bsm_spec_new_symbol(s, part, item, &list->items[i]));
    bsm_spec_symbol_of(&list->items[i])->aliased = aliased;
  }
  bsm_ir_link(&e, unpack);
  *out = bsm_iv_list(list);
  return bsm_spec_note_allocation(s, out);
}

bsm_status bsm_spec_check_write(bsm_spec *s, const bsm_ivalue *container) {
  BSM_TRY(bsm_spec_check_shared(s, container));
  return bsm_spec_is_older(s, container) ? bsm_spec_make_dynamic(s, container)
                                         : BSM_OK;
}
