/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the structure of a run's results from outputs and values. */
#include "runtime/program/run_result.h"

#include <inttypes.h>
#include <string.h>

#include "engine/structure_builder.h"

/* A list that holds one list several times, and so on, would unfold without
 * end. */
#define MAX_NODES ((size_t)1 << 22)

typedef struct maker {
  bsm_structure_builder b;  /* its names: of `all` */
  const bsm_array *outputs; /* of the engine */
  const bsm_ivalue *values; /* the next ones */
  bool counts;              /* outputs are numbered and named in the result */
  BSM_VEC(bsm_array) all;
  size_t nodes;
} maker;

static bsm_status count_nodes(maker *m, size_t n) {
  if (n > MAX_NODES || m->nodes > MAX_NODES - n) {
    return BSM_FAIL(BSM_LIMIT, "the result has more than %zu values",
                    MAX_NODES);
  }
  m->nodes += n;
  return BSM_OK;
}

static bsm_status too_deep(const bsm_structure_info *info) {
  return BSM_FAIL(BSM_LIMIT, "output \"%s\" is nested more than %d deep",
                  info->path, BSM_STRUCTURE_MAX_DEPTH);
}

/* ---- leaves ---- */

static bsm_status add_output(maker *m, const bsm_array *array,
                             bsm_structure_info *info) {
  BSM_TRY(bsm_structure_bind(&m->b, info));
  BSM_TRY_ALLOC(bsm_vec_push(m->b.arena, &m->all, *array));
  return BSM_OK;
}

/* Tensors in the engine's weights or the caller's inputs are copied, as these
 * may change or go before the next run. */
static bsm_status add_tensor(maker *m, bsm_tensor *t,
                             bsm_structure_info *info) {
  if (!bsm_dtype_size(t->dtype) || bsm_dtype_is_quantized(t->dtype)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "output \"%s\" is a tensor of dtype %s",
                    info->path, bsm_dtype_name(t->dtype));
  }
  if (t->storage->read_only) {
    BSM_TRY(bsm_tensor_clone(m->b.arena, t, &t));
  }
  BSM_TRY(bsm_tensor_contiguous(m->b.arena, t, &t));
  const bsm_array array = {bsm_tensor_data(t), t->dtype, t->sizes, NULL};
  info->kind = BSM_STRUCTURE_TENSOR;
  info->dtype = t->dtype;
  info->dims = t->sizes;
  return add_output(m, &array, info);
}

/* A number is a value of the structure, and an output of rank 0. A complex
 * number is an output only. */
static bsm_status add_number(maker *m, const bsm_ivalue *value,
                             bsm_structure_info *info) {
  bsm_tensor *t;
  switch (value->tag) {
    case BSM_IVALUE_COMPLEX:
      BSM_TRY(bsm_tensor_from_complex(m->b.arena, BSM_DTYPE_COMPLEX_DOUBLE,
                                      value->u.c.re, value->u.c.im, &t));
      return add_tensor(m, t, info);
    case BSM_IVALUE_DOUBLE:
      BSM_TRY(
          bsm_tensor_from_double(m->b.arena, BSM_DTYPE_DOUBLE, value->u.d, &t));
      break;
    default: {
      const bool truth = value->tag == BSM_IVALUE_BOOL;
      BSM_TRY(bsm_tensor_from_int(m->b.arena,
                                  truth ? BSM_DTYPE_BOOL : BSM_DTYPE_INT64,
                                  truth ? value->u.b : value->u.i, &t));
    }
  }
  const bsm_array array = {bsm_tensor_data(t), t->dtype, t->sizes, NULL};
  BSM_TRY(bsm_structure_set_value(&m->b, value, info));
  return add_output(m, &array, info);
}

static bsm_status set_leaf(maker *m, const bsm_ivalue *value,
                           bsm_structure_info *info) {
  switch (value->tag) {
    case BSM_IVALUE_TENSOR:
      return add_tensor(m, value->u.tensor, info);
    case BSM_IVALUE_INT:
    case BSM_IVALUE_DOUBLE:
    case BSM_IVALUE_BOOL:
    case BSM_IVALUE_COMPLEX:
      return add_number(m, value, info);
    case BSM_IVALUE_NONE:
    case BSM_IVALUE_STRING:
    case BSM_IVALUE_DEVICE:
      return bsm_structure_set_value(&m->b, value, info);
    default:
      return BSM_FAIL(BSM_UNSUPPORTED, "output \"%s\" is a %s", info->path,
                      bsm_iv_tag_name(value->tag));
  }
}

/* ---- values ---- */

static bsm_structure_kind kind_of(const bsm_ivalue *value) {
  switch (value->tag) {
    case BSM_IVALUE_NONE:
      return BSM_STRUCTURE_NONE;
    case BSM_IVALUE_TENSOR:
      return BSM_STRUCTURE_TENSOR;
    case BSM_IVALUE_INT:
      return BSM_STRUCTURE_INT;
    case BSM_IVALUE_DOUBLE:
      return BSM_STRUCTURE_FLOAT;
    case BSM_IVALUE_BOOL:
      return BSM_STRUCTURE_BOOL;
    case BSM_IVALUE_STRING:
      return BSM_STRUCTURE_STRING;
    case BSM_IVALUE_LIST:
      return BSM_STRUCTURE_LIST;
    case BSM_IVALUE_TUPLE:
      return BSM_STRUCTURE_TUPLE;
    case BSM_IVALUE_DICT:
      return BSM_STRUCTURE_DICT;
    default:
      return BSM_STRUCTURE_OTHER;
  }
}

/* Replaces the type by the one that fits the value: Optional is removed, and
 * Any becomes NULL. */
static bsm_status match(const bsm_structure **type, const bsm_ivalue *value,
                        const bsm_structure_info *info) {
  const bsm_structure *t = *type;
  while (t && t->info.kind == BSM_STRUCTURE_OPTIONAL) {
    t = value->tag == BSM_IVALUE_NONE ? NULL : &t->children[0];
  }
  if (t && t->info.kind == BSM_STRUCTURE_ANY) t = NULL;
  *type = t;
  if (!t) return BSM_OK;
  const bool named = t->info.kind == BSM_STRUCTURE_NAMED_TUPLE;
  const bsm_structure_kind kind = named ? BSM_STRUCTURE_TUPLE : t->info.kind;
  bool fits = kind == kind_of(value);
  if (fits && kind == BSM_STRUCTURE_TUPLE) {
    fits = t->info.child_count == value->u.tuple->len;
  }
  return fits ? BSM_OK
              : BSM_FAIL(BSM_CORRUPT,
                         "output \"%s\" is a %s, which is not what the "
                         "engine's structure says",
                         info->path, bsm_iv_tag_name(value->tag));
}

static bsm_status make_value(maker *m, const bsm_structure *type,
                             const bsm_ivalue *value, size_t depth,
                             bsm_structure *node);

static bsm_status make_dict(maker *m, const bsm_structure *type,
                            const bsm_dict *dict, size_t depth,
                            bsm_structure *node) {
  BSM_TRY(count_nodes(m, dict->len));
  BSM_TRY(bsm_structure_open(&m->b, node, BSM_STRUCTURE_DICT, dict->len));
  for (size_t i = 0; i < dict->len; i++) {
    bsm_structure *child = &node->children[i];
    const bsm_structure *key_type = type ? &type->children[0] : NULL;
    BSM_TRY(match(&key_type, &dict->keys[i], &node->info));
    BSM_TRY(bsm_structure_set_dict_key(&m->b, &node->info, &dict->keys[i],
                                       &child->info));
    BSM_TRY(make_value(m, type ? &type->children[1] : NULL, &dict->values[i],
                       depth + 1, child));
  }
  return BSM_OK;
}

/* `type`: of all items. */
static bsm_status make_list(maker *m, const bsm_structure *type,
                            const bsm_list *list, size_t depth,
                            bsm_structure *node) {
  BSM_TRY(count_nodes(m, list->len));
  BSM_TRY(bsm_structure_open(&m->b, node, BSM_STRUCTURE_LIST, list->len));
  for (size_t i = 0; i < list->len; i++) {
    bsm_structure *child = &node->children[i];
    BSM_TRY(bsm_structure_set_position(&m->b, &node->info, i, &child->info));
    BSM_TRY(make_value(m, type, &list->items[i], depth + 1, child));
  }
  return BSM_OK;
}

static bsm_status make_tuple(maker *m, const bsm_structure *type,
                             const bsm_tuple *tuple, size_t depth,
                             bsm_structure *node) {
  const bool named = type && type->info.kind == BSM_STRUCTURE_NAMED_TUPLE;
  BSM_TRY(count_nodes(m, tuple->len));
  if (named) node->info.type_name = type->info.type_name;
  BSM_TRY(bsm_structure_open(
      &m->b, node, named ? BSM_STRUCTURE_NAMED_TUPLE : BSM_STRUCTURE_TUPLE,
      tuple->len));
  for (size_t i = 0; i < tuple->len; i++) {
    bsm_structure *child = &node->children[i];
    const bsm_structure *item = type ? &type->children[i] : NULL;
    if (named) {
      const bsm_str key = {item->info.key, item->info.key_length};
      BSM_TRY(bsm_structure_set_key(&m->b, &node->info, BSM_STRUCTURE_KEY_NAME,
                                    key, &child->info));
    } else {
      BSM_TRY(bsm_structure_set_position(&m->b, &node->info, i, &child->info));
    }
    BSM_TRY(make_value(m, item, &tuple->items[i], depth + 1, child));
  }
  return BSM_OK;
}

/* `node` has its key; `type` NULL: any. */
static bsm_status make_value(maker *m, const bsm_structure *type,
                             const bsm_ivalue *value, size_t depth,
                             bsm_structure *node) {
  if (depth > BSM_STRUCTURE_MAX_DEPTH) return too_deep(&node->info);
  BSM_TRY(match(&type, value, &node->info));
  switch (value->tag) {
    case BSM_IVALUE_LIST:
      return make_list(m, type ? &type->children[0] : NULL, value->u.list,
                       depth, node);
    case BSM_IVALUE_TUPLE:
      return make_tuple(m, type, value->u.tuple, depth, node);
    case BSM_IVALUE_DICT:
      return make_dict(m, type, value->u.dict, depth, node);
    default:
      return set_leaf(m, value, &node->info);
  }
}

/* ---- the engine's structure ---- */

/* Reads a number that the run has written to an output. */
static void read_number(const bsm_array *array, bsm_structure_info *info) {
  if (info->is_fixed || !array->data || array->dims.rank != 0) return;
  info->is_fixed = true;
  if (info->kind == BSM_STRUCTURE_INT && array->dtype == BSM_DTYPE_INT64) {
    memcpy(&info->int_value, array->data, sizeof(info->int_value));
  } else if (info->kind == BSM_STRUCTURE_FLOAT &&
             array->dtype == BSM_DTYPE_DOUBLE) {
    memcpy(&info->float_value, array->data, sizeof(info->float_value));
  } else if (info->kind == BSM_STRUCTURE_FLOAT &&
             array->dtype == BSM_DTYPE_FLOAT) {
    float value;
    memcpy(&value, array->data, sizeof(value));
    info->float_value = (double)value;
  } else if (info->kind == BSM_STRUCTURE_BOOL &&
             array->dtype == BSM_DTYPE_BOOL) {
    info->bool_value = *(const uint8_t *)array->data != 0;
  } else {
    info->is_fixed = false; /* it is in the output only */
  }
}

/* Fills in a leaf that is an output of the engine. */
static bsm_status fill_leaf(maker *m, bsm_structure_info *info) {
  const bsm_array *array = &m->outputs[info->binding];
  if (info->kind == BSM_STRUCTURE_TENSOR) {
    info->dtype = array->dtype;
    info->dims = array->dims;
  } else {
    read_number(array, info);
  }
  if (!m->counts) return BSM_OK;
  BSM_TRY(bsm_structure_add(&m->b, info));
  BSM_TRY_ALLOC(bsm_vec_push(m->b.arena, &m->all, *array));
  return BSM_OK;
}

static bsm_status fill(maker *m, const bsm_structure *from, size_t depth,
                       bsm_structure *to) {
  const size_t n = from->info.child_count;
  to->info = from->info;
  if (depth > BSM_STRUCTURE_MAX_DEPTH) return too_deep(&to->info);
  if (from->info.kind == BSM_STRUCTURE_RUN_TIME) {
    const bsm_ivalue *value = m->values++;
    to->info.child_count = 0;
    BSM_TRY(make_value(m, &from->children[0], value, depth, to));
    /* The root has a name only when it is an output itself. */
    if (!depth && to->info.binding == BSM_NO_BINDING) to->info.path = "";
    return BSM_OK;
  }
  if (from->info.binding != BSM_NO_BINDING) {
    return fill_leaf(m, &to->info);
  }
  to->children = BSM_NEW_ARRAY(m->b.arena, bsm_structure, n + 1);
  BSM_TRY_ALLOC(to->children);
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(fill(m, &from->children[i], depth + 1, &to->children[i]));
  }
  return BSM_OK;
}

bsm_status bsm_run_result_make(const bsm_plan *plan, const bsm_array *outputs,
                               const bsm_ivalue *values, bsm_arena *arena,
                               bsm_run_result *out) {
  maker m = {.b = {.arena = arena, .outputs = true},
             .outputs = outputs,
             .values = values,
             .counts = bsm_plan_value_count(plan) > 0};
  *out = (bsm_run_result){0};
  if (!plan->output_structure) return BSM_OK;
  bsm_structure *root = BSM_NEW(arena, bsm_structure);
  BSM_TRY_ALLOC(root);
  for (uint32_t i = 0; m.counts && i < plan->output_count; i++) {
    BSM_TRY(bsm_structure_reserve(&m.b, plan->outputs[i].name));
  }
  BSM_TRY(fill(&m, plan->output_structure, 0, root));
  *out = (bsm_run_result){root, m.all.items, m.b.names.items, m.all.len};
  return BSM_OK;
}
