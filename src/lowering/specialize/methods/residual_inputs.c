/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the method as inputs of the residual graph. */
#include "lowering/specialize/methods/residual_inputs.h"

#include "aten/ivalue_parts.h"
#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/memory/shadow.h"
#include "lowering/specialize/values/interpreter.h"
#include "lowering/specialize/worlds/world_ops.h"

static bsm_status add_input(bsm_spec *s, bsm_tensor *t, const char *name,
                            bsm_spec_inputs *inputs) {
  const bsm_type *type = bsm_spec_tensor_type(s, t);
  BSM_TRY_ALLOC(type);
  bsm_value *value = NULL;
  BSM_TRY(bsm_block_add_input(s->residual.graph->block, type, &value));
  BSM_TRY(bsm_value_set_name(s->residual.graph, value, name));
  BSM_TRY_ALLOC(bsm_vec_push(s->cx->arena, &inputs->names, name));
  BSM_TRY_ALLOC(bsm_vec_push(s->cx->arena, &inputs->ranges, NULL));
  return bsm_spec_bind_base(s, t, value);
}

/* A tensor whose dims range. */
static bsm_status add_range(bsm_spec *s, bsm_ivalue *value, const char *name,
                            bsm_spec_inputs *inputs) {
  const bsm_lowering_range *range = value->u.container;
  bsm_dims dims = range->min;
  for (int32_t i = 0; i < dims.rank; i++) {
    if (range->max.d[i] != dims.d[i]) dims.d[i] = -1;
  }
  const bsm_type *type = bsm_type_tensor(s->cx->types, range->dtype, dims);
  BSM_TRY_ALLOC(type);
  bsm_value *input = NULL;
  BSM_TRY(bsm_block_add_input(s->residual.graph->block, type, &input));
  BSM_TRY(bsm_value_set_name(s->residual.graph, input, name));
  BSM_TRY_ALLOC(bsm_vec_push(s->cx->arena, &inputs->names, name));
  BSM_TRY_ALLOC(bsm_vec_push(s->cx->arena, &inputs->ranges, range));
  return bsm_spec_range_input(s, range, input, value);
}

/* A number that the run will tell: read from a tensor of rank 0. */
static bsm_status add_number(bsm_spec *s, bsm_ivalue *value, const char *name,
                             bsm_spec_inputs *inputs) {
  const bsm_lowering_number *number = value->u.container;
  if (number->kind == BSM_TYPE_TENSOR) {
    return add_range(s, value, name, inputs);
  }
  const char *read = number->kind == BSM_TYPE_INT    ? "aten::Int.Tensor"
                     : number->kind == BSM_TYPE_BOOL ? "aten::Bool.Tensor"
                                                     : "aten::Float.Tensor";
  bsm_tensor *t = NULL;
  BSM_TRY(bsm_tensor_new(s->cx->arena, number->dtype, (bsm_dims){0}, true, &t));
  BSM_TRY(add_input(s, t, name, inputs));
  const bsm_ivalue tensor = bsm_iv_tensor(t);
  return bsm_spec_op_named(s, read, &tensor, 1, value);
}

/* `type`: a NamedTuple's, or NULL. */
static bsm_status bind_items(bsm_spec *s, bsm_ivalue *items, size_t n,
                             const bsm_type *type, const char *name,
                             size_t depth, bsm_spec_inputs *inputs) {
  for (size_t i = 0; i < n; i++) {
    const char *path = type && type->field_names
                           ? bsm_arena_printf(s->cx->arena, "%s.%s", name,
                                              type->field_names[i])
                           : bsm_arena_printf(s->cx->arena, "%s.%zu", name, i);
    BSM_TRY_ALLOC(path);
    BSM_TRY(bsm_spec_bind_argument(s, &items[i], path, depth + 1, inputs));
  }
  return BSM_OK;
}

static bsm_status bind_dict(bsm_spec *s, bsm_dict *dict, const char *name,
                            size_t depth, bsm_spec_inputs *inputs) {
  for (size_t i = 0; i < dict->len; i++) {
    bsm_text path;
    bsm_text_init(&path, s->cx->arena);
    bsm_text_printf(&path, "%s.", name);
    if (dict->keys[i].tag == BSM_IVALUE_STRING) {
      bsm_text_append(&path, *dict->keys[i].u.s);
    } else {
      bsm_iv_print(&path, &dict->keys[i]);
    }
    if (path.failed) {
      return BSM_FAIL_OOM();
    }
    BSM_TRY(bsm_spec_bind_argument(s, &dict->values[i], path.data, depth + 1,
                                   inputs));
  }
  return BSM_OK;
}

/* The caller's containers are copied: the method may append to them. */
bsm_status bsm_spec_bind_argument(bsm_spec *s, bsm_ivalue *value,
                                  const char *name, size_t depth,
                                  bsm_spec_inputs *inputs) {
  if (depth > s->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "input %s is nested too deep", name);
  }
  switch (value->tag) {
    case BSM_IVALUE_TENSOR:
      if (!bsm_tensor_is_meta(value->u.tensor)) {
        return bsm_spec_shadow(s, *value, name, value);
      } else {
        /* A tensor of our own: the caller may use one meta tensor twice. */
        const bsm_tensor *like = value->u.tensor;
        bsm_tensor *t = NULL;
        BSM_TRY(
            bsm_tensor_new(s->cx->arena, like->dtype, like->sizes, true, &t));
        *value = bsm_iv_tensor(t);
        return add_input(s, t, name, inputs);
      }
    case BSM_IVALUE_LIST: {
      const bsm_list *from = value->u.list;
      BSM_TRY(bsm_iv_list_of(s->cx->arena, from->elem_type, from->items,
                             from->len, value));
      return bind_items(s, value->u.list->items, from->len, NULL, name, depth,
                        inputs);
    }
    case BSM_IVALUE_TUPLE: {
      const bsm_tuple *from = value->u.tuple;
      BSM_TRY(bsm_iv_tuple_of(s->cx->arena, from->type, from->items, from->len,
                              value));
      return bind_items(s, value->u.tuple->items, from->len, from->type, name,
                        depth, inputs);
    }
    case BSM_IVALUE_DICT: {
      const bsm_dict *from = value->u.dict;
      bsm_dict *dict = NULL;
      BSM_TRY(
          bsm_dict_new(s->cx->arena, from->key_type, from->value_type, &dict));
      for (size_t i = 0; i < from->len; i++) {
        BSM_TRY(bsm_dict_set(dict, from->keys[i], from->values[i]));
      }
      value->u.dict = dict;
      return bind_dict(s, dict, name, depth, inputs);
    }
    case BSM_IVALUE_CONTAINER:
      return add_number(s, value, name, inputs);
    default:
      return bsm_spec_shadow(s, *value, name, value);
  }
}
