/* SPDX-License-Identifier: Apache-2.0 */
/* Makes values of specs, following the declared type. */
#include "compiler/inputs/input_value.h"

#include <inttypes.h>
#include <string.h>

#include "lowering/lowering.h"

bsm_status bsm_input_mismatch(const bsm_input_maker *maker, const char *path,
                              const bsm_type *type, const char *given) {
  bsm_text text;
  bsm_text_init(&text, maker->arena);
  bsm_type_print(&text, type, BSM_TYPE_STYLE_PYTHON);
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "input \"%s\" is of type %s, given %s",
                  path, text.data, given);
}

/* Describes a spec, for messages. */
static const char *given_text(bsm_arena *arena, const bsm_input_spec *spec) {
  static const char *const containers[] = {"a list", "a tuple", "a dict",
                                           "named fields"};
  bsm_text text;
  bsm_text_init(&text, arena);
  switch (spec->kind) {
    case BSM_INPUT_TENSOR: {
      bsm_dims dims = {spec->rank, {0}};
      if (spec->rank >= 0 && spec->rank <= BSM_MAX_RANK) {
        memcpy(dims.d, spec->min, (size_t)spec->rank * sizeof(int64_t));
      }
      bsm_text_printf(&text, "a tensor, %s %s", bsm_dtype_name(spec->dtype),
                      bsm_dims_str(dims));
      break;
    }
    case BSM_INPUT_INT:
      bsm_text_printf(&text, "int %" PRId64, spec->int_value);
      break;
    case BSM_INPUT_FLOAT:
      bsm_text_puts(&text, "float ");
      bsm_text_double(&text, spec->float_value);
      break;
    case BSM_INPUT_BOOL:
      bsm_text_printf(&text, "bool %s", spec->bool_value ? "True" : "False");
      break;
    case BSM_INPUT_NONE:
      return "None";
    case BSM_INPUT_CONSTANT_TENSOR:
      return "a constant tensor";
    case BSM_INPUT_STRING:
      bsm_text_puts(&text, "str ");
      bsm_text_quoted(&text, bsm_str_of(spec->string ? spec->string : ""));
      break;
    case BSM_INPUT_LIST:
    case BSM_INPUT_TUPLE:
    case BSM_INPUT_DICT:
    case BSM_INPUT_NAMED_TUPLE:
      bsm_text_printf(&text, "%s of %zu",
                      containers[spec->kind - BSM_INPUT_LIST],
                      spec->item_count);
      break;
    default:
      return "an example";
  }
  return text.data;
}

static bsm_status mismatch(const bsm_input_maker *maker, const char *path,
                           const bsm_type *type, const bsm_input_spec *spec) {
  return bsm_input_mismatch(maker, path, type, given_text(maker->arena, spec));
}

/* ---- tensors and numbers ---- */

/* The shapes of a tensor spec; *ranges when they are not one. */
static bsm_status spec_dims(const bsm_input_spec *spec, bsm_lowering_range *out,
                            bool *ranges) {
  if (spec->rank < 0 || spec->rank > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "rank %" PRId32 " is not 0 to %d",
                    spec->rank, BSM_MAX_RANK);
  }
  *out = (bsm_lowering_range){.kind = BSM_TYPE_TENSOR, .dtype = spec->dtype};
  out->min.rank = out->opt.rank = out->max.rank = spec->rank;
  *ranges = false;
  bool given = false;
  for (int32_t i = 0; i < spec->rank; i++) {
    given = given || spec->opt[i] != 0 || spec->max[i] != 0;
  }
  for (int32_t i = 0; i < spec->rank; i++) {
    if (spec->min[i] < 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "dimension %" PRId32 " is %" PRId64,
                      i, spec->min[i]);
    }
    out->min.d[i] = spec->min[i];
    out->opt.d[i] = given ? spec->opt[i] : spec->min[i];
    out->max.d[i] = given ? spec->max[i] : spec->min[i];
    if (out->opt.d[i] < out->min.d[i] || out->max.d[i] < out->opt.d[i]) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "dimension %" PRId32 " ranges from %" PRId64
                      " over %" PRId64 " to %" PRId64 ": they must not fall",
                      i, out->min.d[i], out->opt.d[i], out->max.d[i]);
    }
    *ranges = *ranges || out->min.d[i] != out->max.d[i];
  }
  return BSM_OK;
}

/* The kind of number that a tensor of the dtype gives; ANY: none. */
static bsm_type_kind number_kind(bsm_dtype dtype) {
  switch (dtype) {
    case BSM_DTYPE_UINT8:
    case BSM_DTYPE_INT8:
    case BSM_DTYPE_INT16:
    case BSM_DTYPE_INT32:
    case BSM_DTYPE_INT64:
      return BSM_TYPE_INT;
    case BSM_DTYPE_HALF:
    case BSM_DTYPE_BFLOAT16:
    case BSM_DTYPE_FLOAT:
    case BSM_DTYPE_DOUBLE:
      return BSM_TYPE_FLOAT;
    case BSM_DTYPE_BOOL:
      return BSM_TYPE_BOOL;
    default:
      return BSM_TYPE_ANY;
  }
}

/* A tensor spec for a parameter that is a number: the number is given when
 * running. */
static bsm_status run_time_number(const bsm_input_maker *maker,
                                  const bsm_type *type,
                                  const bsm_input_spec *spec, const char *path,
                                  bsm_ivalue *out) {
  const bsm_type_kind kind = number_kind(spec->dtype);
  if (spec->rank != 0 || kind == BSM_TYPE_ANY ||
      (type->kind != BSM_TYPE_NUMBER && type->kind != kind)) {
    return mismatch(maker, path, type, spec);
  }
  bsm_lowering_number *number = BSM_NEW(maker->arena, bsm_lowering_number);
  BSM_TRY_ALLOC(number);
  *number = (bsm_lowering_number){kind, spec->dtype};
  *out = (bsm_ivalue){BSM_IVALUE_CONTAINER, {.container = number}};
  return BSM_OK;
}

static bsm_status tensor_value(const bsm_input_maker *maker,
                               const bsm_type *type, const bsm_input_spec *spec,
                               const char *path, bsm_ivalue *out) {
  bsm_tensor *tensor;
  if (spec->kind == BSM_INPUT_TENSOR && bsm_type_is_number(type)) {
    return run_time_number(maker, type, spec, path, out);
  }
  if (type->kind != BSM_TYPE_TENSOR && type->kind != BSM_TYPE_ANY) {
    return mismatch(maker, path, type, spec);
  }
  if (spec->kind == BSM_INPUT_CONSTANT_TENSOR) {
    if (!spec->array || !bsm_dtype_size(spec->array->dtype)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "input \"%s\": a constant without an array of numbers",
                      path);
    }
    BSM_TRY(bsm_tensor_from_array(maker->arena, spec->array, true, &tensor));
  } else {
    bsm_lowering_range *range = BSM_NEW(maker->arena, bsm_lowering_range);
    bool ranges;
    BSM_TRY_ALLOC(range);
    BSM_TRY_NOTE(spec_dims(spec, range, &ranges), "in input \"%s\"", path);
    if (!bsm_dtype_size(spec->dtype)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "input \"%s\": no dtype %d", path,
                      (int)spec->dtype);
    }
    if (ranges) {
      *out = (bsm_ivalue){BSM_IVALUE_CONTAINER, {.container = range}};
      return BSM_OK;
    }
    BSM_TRY(
        bsm_tensor_new(maker->arena, spec->dtype, range->opt, true, &tensor));
  }
  *out = bsm_iv_tensor(tensor);
  return BSM_OK;
}

bsm_status bsm_input_number(const bsm_input_maker *maker, const bsm_type *type,
                            bsm_ivalue number, const char *path,
                            bsm_ivalue *out) {
  const bsm_type_kind kind = type->kind;
  const bool any = kind == BSM_TYPE_NUMBER || kind == BSM_TYPE_ANY;
  bool fits = any;
  *out = number;
  switch (number.tag) {
    case BSM_IVALUE_INT:
      fits = fits || kind == BSM_TYPE_INT || kind == BSM_TYPE_FLOAT;
      if (kind == BSM_TYPE_FLOAT) *out = bsm_iv_double((double)number.u.i);
      break;
    case BSM_IVALUE_DOUBLE:
      fits = fits || kind == BSM_TYPE_FLOAT;
      break;
    default:
      fits = fits || kind == BSM_TYPE_BOOL;
  }
  if (fits) return BSM_OK;
  bsm_text text;
  bsm_text_init(&text, maker->arena);
  bsm_text_printf(&text, "%s ", bsm_iv_tag_name(number.tag));
  bsm_iv_print(&text, &number);
  return bsm_input_mismatch(maker, path, type, text.data);
}

/* ---- strings ---- */

static bsm_status string_value(const bsm_input_maker *maker,
                               const bsm_type *type, const bsm_input_spec *spec,
                               const char *path, bsm_ivalue *out) {
  if (!spec->string) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "input \"%s\" is a NULL string",
                    path);
  }
  const bsm_str text = {spec->string, spec->string_length
                                          ? spec->string_length
                                          : strlen(spec->string)};
  if (type->kind == BSM_TYPE_STRING || type->kind == BSM_TYPE_ANY) {
    return bsm_iv_string(maker->arena, text, out);
  }
  if (type->kind == BSM_TYPE_DEVICE && bsm_str_eq(text, BSM_STR("cpu"))) {
    *out = (bsm_ivalue){BSM_IVALUE_DEVICE, {.device = {0, -1}}};
    return BSM_OK;
  }
  if (type->kind == BSM_TYPE_CLASS && type->cls && type->cls->is_enum) {
    const bsm_ivalue *item = bsm_class_find_constant(type->cls, spec->string);
    if (item) *out = *item;
    if (item) return BSM_OK;
  }
  return mismatch(maker, path, type, spec);
}

/* ---- containers ---- */

static const char *join(const bsm_input_maker *maker, const char *path,
                        const char *key) {
  return bsm_arena_printf(maker->arena, "%s.%s", path, key);
}

static const char *join_index(const bsm_input_maker *maker, const char *path,
                              size_t index) {
  return bsm_arena_printf(maker->arena, "%s.%zu", path, index);
}

/* The type of items without a declaration: what all have in common. */
static const bsm_type *common_type(const bsm_input_maker *maker,
                                   const bsm_ivalue *items, size_t n) {
  bsm_type_table *types = maker->cx->types;
  const bsm_type *common = NULL;
  for (size_t i = 0; i < n; i++) {
    const bsm_type *type = items[i].tag == BSM_IVALUE_TENSOR
                               ? bsm_type_simple(types, BSM_TYPE_TENSOR)
                               : bsm_type_of_value(types, &items[i]);
    common = common && type ? bsm_type_unify(types, common, type) : type;
    if (!common) break;
  }
  if (!n) return bsm_type_simple(types, BSM_TYPE_TENSOR);
  return common ? common : bsm_type_simple(types, BSM_TYPE_ANY);
}

static bsm_status list_value(const bsm_input_maker *maker, const bsm_type *type,
                             const bsm_input_spec *spec, const char *path,
                             size_t depth, bsm_ivalue *out) {
  const bsm_type *elem = type->kind == BSM_TYPE_ANY ? type : type->args[0];
  bsm_list *list;
  BSM_TRY(bsm_list_new(maker->arena, elem, spec->item_count, &list));
  for (size_t i = 0; i < spec->item_count; i++) {
    const char *at = join_index(maker, path, i);
    BSM_TRY_ALLOC(at);
    BSM_TRY(bsm_input_value(maker, elem, &spec->items[i], at, depth + 1,
                            &list->items[i]));
  }
  if (elem->kind == BSM_TYPE_ANY) {
    list->elem_type = common_type(maker, list->items, list->len);
    BSM_TRY_ALLOC(list->elem_type);
  }
  *out = bsm_iv_list(list);
  return BSM_OK;
}

/* Items in order, as a tuple of the type; NamedTuples too. */
static bsm_status tuple_value(const bsm_input_maker *maker,
                              const bsm_type *type, const bsm_input_spec *spec,
                              const char *path, size_t depth, bsm_ivalue *out) {
  const bool any = type->kind == BSM_TYPE_ANY;
  bsm_tuple *tuple;
  if (!any && type->arg_count != spec->item_count) {
    return mismatch(maker, path, type, spec);
  }
  BSM_TRY(bsm_tuple_new(maker->arena, spec->item_count, &tuple));
  tuple->type = type->field_names ? type : NULL;
  for (size_t i = 0; i < spec->item_count; i++) {
    const char *at = type->field_names ? join(maker, path, type->field_names[i])
                                       : join_index(maker, path, i);
    BSM_TRY_ALLOC(at);
    BSM_TRY(bsm_input_value(maker, any ? type : type->args[i], &spec->items[i],
                            at, depth + 1, &tuple->items[i]));
  }
  *out = bsm_iv_tuple(tuple);
  return BSM_OK;
}

static bsm_status fields_value(const bsm_input_maker *maker,
                               const bsm_type *type, const bsm_input_spec *spec,
                               const char *path, size_t depth,
                               bsm_ivalue *out) {
  if (type->kind != BSM_TYPE_TUPLE || !type->field_names) {
    return mismatch(maker, path, type, spec);
  }
  const size_t n = type->arg_count;
  bsm_input_spec *items = BSM_NEW_ARRAY(maker->arena, bsm_input_spec, n + 1);
  bool *given = BSM_NEW_ARRAY(maker->arena, bool, n + 1);
  BSM_TRY_ALLOC(items && given);
  for (size_t k = 0; k < spec->item_count; k++) {
    const char *name = spec->items[k].name ? spec->items[k].name : "";
    size_t i = 0;
    while (i < n && strcmp(type->field_names[i], name) != 0) i++;
    if (i == n || given[i]) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      i == n ? "input \"%s\", a %s, has no field \"%s\""
                             : "input \"%s\", a %s: field \"%s\" twice",
                      path, type->name ? type->name : "NamedTuple", name);
    }
    items[i] = spec->items[k];
    given[i] = true;
  }
  for (size_t i = 0; i < n; i++) {
    if (given[i]) continue;
    return BSM_FAIL(
        BSM_INVALID_ARGUMENT, "input \"%s\", a %s: field \"%s\" is not given",
        path, type->name ? type->name : "NamedTuple", type->field_names[i]);
  }
  bsm_input_spec ordered = *spec;
  ordered.items = items;
  ordered.item_count = n;
  return tuple_value(maker, type, &ordered, path, depth, out);
}

bool bsm_input_key_of_text(const bsm_input_maker *maker, const bsm_type *type,
                           bsm_str text, bsm_ivalue *out) {
  *out = bsm_iv_none();
  switch (type->kind) {
    case BSM_TYPE_INT:
      out->tag = BSM_IVALUE_INT;
      return bsm_parse_i64(text, &out->u.i);
    case BSM_TYPE_FLOAT:
      out->tag = BSM_IVALUE_DOUBLE;
      return bsm_parse_double(text, &out->u.d);
    case BSM_TYPE_BOOL:
      *out = bsm_iv_bool(bsm_str_eq(text, BSM_STR("True")));
      return out->u.b || bsm_str_eq(text, BSM_STR("False"));
    case BSM_TYPE_STRING:
    case BSM_TYPE_ANY: {
      bsm_status status = bsm_iv_string(maker->arena, text, out);
      const bool made = !status;
      bsm_status_free(status);
      return made;
    }
    default:
      return false;
  }
}

static bsm_status key_value(const bsm_input_maker *maker, const bsm_type *type,
                            const bsm_input_spec *item, const char *path,
                            bsm_ivalue *out) {
  bsm_ivalue key = bsm_iv_none();
  switch (item->key_kind) {
    case BSM_INPUT_KEY_NAME:
      if (item->name &&
          bsm_input_key_of_text(maker, type, bsm_str_of(item->name), out)) {
        return BSM_OK;
      }
      break;
    case BSM_INPUT_KEY_INT:
      key = bsm_iv_int(item->int_key);
      break;
    case BSM_INPUT_KEY_FLOAT:
      key = bsm_iv_double(item->float_key);
      break;
    case BSM_INPUT_KEY_BOOL:
      key = bsm_iv_bool(item->int_key != 0);
      break;
  }
  if (key.tag != BSM_IVALUE_NONE) {
    const char *at = bsm_arena_printf(maker->arena, "a key of %s", path);
    BSM_TRY_ALLOC(at);
    return bsm_input_number(maker, type, key, at, out);
  }
  return BSM_FAIL(
      BSM_INVALID_ARGUMENT, "input \"%s\": \"%s\" is no key of type %s", path,
      item->name ? item->name : "NULL", bsm_type_str(maker->arena, type));
}

static bsm_status dict_value(const bsm_input_maker *maker, const bsm_type *type,
                             const bsm_input_spec *spec, const char *path,
                             size_t depth, bsm_ivalue *out) {
  const bool any = type->kind == BSM_TYPE_ANY;
  const bsm_type *value_type = any ? type : type->args[1];
  bsm_dict *dict;
  BSM_TRY(bsm_dict_new(maker->arena, any ? type : type->args[0], value_type,
                       &dict));
  for (size_t i = 0; i < spec->item_count; i++) {
    bsm_ivalue key, value;
    bsm_text at;
    bsm_text_init(&at, maker->arena);
    BSM_TRY(key_value(maker, dict->key_type, &spec->items[i], path, &key));
    bsm_text_printf(&at, "%s.", path);
    if (key.tag == BSM_IVALUE_STRING) {
      bsm_text_append(&at, *key.u.s);
    } else {
      bsm_iv_print(&at, &key);
    }
    if (at.failed) return BSM_FAIL_OOM();
    if (bsm_dict_find(dict, key)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "input \"%s\" is given twice",
                      at.data);
    }
    BSM_TRY(bsm_input_value(maker, value_type, &spec->items[i], at.data,
                            depth + 1, &value));
    BSM_TRY(bsm_dict_set(dict, key, value));
  }
  if (any) {
    dict->key_type = common_type(maker, dict->keys, dict->len);
    dict->value_type = common_type(maker, dict->values, dict->len);
    BSM_TRY_ALLOC(dict->key_type && dict->value_type);
  }
  *out = bsm_iv_dict(dict);
  return BSM_OK;
}

static bsm_status container_value(const bsm_input_maker *maker,
                                  const bsm_type *type,
                                  const bsm_input_spec *spec, const char *path,
                                  size_t depth, bsm_ivalue *out) {
  const bool any = type->kind == BSM_TYPE_ANY;
  const bool ordered =
      spec->kind == BSM_INPUT_LIST || spec->kind == BSM_INPUT_TUPLE;
  if (spec->item_count && !spec->items) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "input \"%s\": the items are NULL",
                    path);
  }
  if (any && spec->kind == BSM_INPUT_NAMED_TUPLE) {
    return mismatch(maker, path, type, spec);
  }
  if ((any && spec->kind == BSM_INPUT_LIST) ||
      (ordered && type->kind == BSM_TYPE_LIST)) {
    return list_value(maker, type, spec, path, depth, out);
  }
  if (ordered && (any || type->kind == BSM_TYPE_TUPLE)) {
    return tuple_value(maker, type, spec, path, depth, out);
  }
  if (spec->kind == BSM_INPUT_DICT && (any || type->kind == BSM_TYPE_DICT)) {
    return dict_value(maker, type, spec, path, depth, out);
  }
  if (!ordered) return fields_value(maker, type, spec, path, depth, out);
  return mismatch(maker, path, type, spec);
}

/* Takes the first alternative that fits. */
static bsm_status union_value(const bsm_input_maker *maker,
                              const bsm_type *type, const bsm_input_spec *spec,
                              const char *path, size_t depth, bsm_ivalue *out) {
  for (size_t i = 0; i < type->arg_count; i++) {
    bsm_status status =
        bsm_input_value(maker, type->args[i], spec, path, depth + 1, out);
    if (bsm_status_code(status) != BSM_INVALID_ARGUMENT) return status;
    bsm_status_free(status);
  }
  return mismatch(maker, path, type, spec);
}

bsm_status bsm_input_value(const bsm_input_maker *maker, const bsm_type *type,
                           const bsm_input_spec *spec, const char *path,
                           size_t depth, bsm_ivalue *out) {
  *out = bsm_iv_none();
  if (depth > maker->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "input \"%s\" is nested too deep", path);
  }
  if (spec->kind == BSM_INPUT_NONE &&
      (type->kind == BSM_TYPE_OPTIONAL || type->kind == BSM_TYPE_NONE ||
       type->kind == BSM_TYPE_ANY)) {
    return BSM_OK;
  }
  if (spec->kind == BSM_INPUT_EXAMPLES) {
    return bsm_input_examples(maker, type, spec, path, out);
  }
  if (type->kind == BSM_TYPE_OPTIONAL) {
    return bsm_input_value(maker, type->args[0], spec, path, depth + 1, out);
  }
  if (type->kind == BSM_TYPE_UNION) {
    return union_value(maker, type, spec, path, depth, out);
  }
  switch (spec->kind) {
    case BSM_INPUT_TENSOR:
    case BSM_INPUT_CONSTANT_TENSOR:
      return tensor_value(maker, type, spec, path, out);
    case BSM_INPUT_INT:
      return bsm_input_number(maker, type, bsm_iv_int(spec->int_value), path,
                              out);
    case BSM_INPUT_FLOAT:
      return bsm_input_number(maker, type, bsm_iv_double(spec->float_value),
                              path, out);
    case BSM_INPUT_BOOL:
      return bsm_input_number(maker, type, bsm_iv_bool(spec->bool_value), path,
                              out);
    case BSM_INPUT_STRING:
      return string_value(maker, type, spec, path, out);
    case BSM_INPUT_EXAMPLE:
      return bsm_input_example(maker, type, spec, path, out);
    case BSM_INPUT_NONE:
      return mismatch(maker, path, type, spec);
    case BSM_INPUT_LIST:
    case BSM_INPUT_TUPLE:
    case BSM_INPUT_DICT:
    case BSM_INPUT_NAMED_TUPLE:
      return container_value(maker, type, spec, path, depth, out);
    case BSM_INPUT_DEFAULT:
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "input \"%s\": a part of an argument has no default",
                      path);
    default:
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "unknown kind of input %u",
                      (unsigned)spec->kind);
  }
}
