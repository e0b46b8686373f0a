/* SPDX-License-Identifier: Apache-2.0 */
/* Values of arguments from example arrays: tensors take their shapes, numbers
 * their values. */
#include <inttypes.h>
#include <string.h>

#include "compiler/inputs/input_value.h"

static const bsm_type *without_optional(const bsm_type *type) {
  while (type->kind == BSM_TYPE_OPTIONAL) type = type->args[0];
  return type;
}

bool bsm_type_is_number_list(const bsm_type *type) {
  type = without_optional(type);
  if (type->kind != BSM_TYPE_LIST && type->kind != BSM_TYPE_TUPLE) return false;
  for (size_t i = 0; i < type->arg_count; i++) {
    if (!bsm_type_is_number(type->args[i])) return false;
  }
  return type->arg_count > 0;
}

int32_t bsm_type_array_count(const bsm_type *type) {
  type = without_optional(type);
  if (type->kind == BSM_TYPE_LIST || type->kind == BSM_TYPE_DICT) return -1;
  if (type->kind != BSM_TYPE_TUPLE) return 1;
  int32_t sum = 0;
  for (size_t i = 0; i < type->arg_count; i++) {
    const int32_t count = bsm_type_array_count(type->args[i]);
    if (count < 0) return -1;
    sum += count;
  }
  return sum;
}

/* ---- one array ---- */

/* Element `i` as a number; NONE for a dtype that holds none. */
static bsm_ivalue number_at(const bsm_tensor *t, int64_t i) {
  if (t->dtype == BSM_DTYPE_BOOL) {
    return bsm_iv_bool(bsm_tensor_get_int(t, i) != 0);
  }
  if (bsm_dtype_is_floating(t->dtype)) {
    return bsm_iv_double(bsm_tensor_get_double(t, i));
  }
  if (t->dtype <= BSM_DTYPE_INT64) {
    return bsm_iv_int(bsm_tensor_get_int(t, i));
  }
  return bsm_iv_none();
}

static bsm_status wrong_array(const bsm_input_maker *maker, const char *path,
                              const bsm_type *type, const bsm_array *array) {
  const char *given =
      bsm_arena_printf(maker->arena, "an array, %s %s",
                       bsm_dtype_name(array->dtype), bsm_dims_str(array->dims));
  BSM_TRY_ALLOC(given);
  return bsm_input_mismatch(maker, path, type, given);
}

/* The elements of a 1-d array as a list or tuple. */
static bsm_status numbers(const bsm_input_maker *maker, const bsm_type *type,
                          const bsm_tensor *t, const char *path,
                          bsm_ivalue *out) {
  const size_t n = (size_t)t->sizes.d[0];
  bsm_ivalue *items;
  if (type->kind == BSM_TYPE_LIST) {
    bsm_list *list;
    BSM_TRY(bsm_list_new(maker->arena, type->args[0], n, &list));
    items = list->items;
    *out = bsm_iv_list(list);
  } else {
    bsm_tuple *tuple;
    BSM_TRY(bsm_tuple_new(maker->arena, n, &tuple));
    tuple->type = type->field_names ? type : NULL;
    items = tuple->items;
    *out = bsm_iv_tuple(tuple);
  }
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_input_number(maker,
                             type->args[type->kind == BSM_TYPE_LIST ? 0 : i],
                             number_at(t, (int64_t)i), path, &items[i]));
  }
  return BSM_OK;
}

bsm_status bsm_input_example(const bsm_input_maker *maker, const bsm_type *type,
                             const bsm_input_spec *spec, const char *path,
                             bsm_ivalue *out) {
  const bsm_array *array = spec->array;
  bsm_tensor *t;
  type = without_optional(type);
  if (!array || !bsm_dtype_size(array->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "input \"%s\": an example without an array of numbers",
                    path);
  }
  if (type->kind == BSM_TYPE_TENSOR || type->kind == BSM_TYPE_ANY) {
    BSM_TRY(bsm_tensor_new(maker->arena, array->dtype, array->dims, true, &t));
    *out = bsm_iv_tensor(t);
    return BSM_OK;
  }
  if (!array->data) return wrong_array(maker, path, type, array);
  BSM_TRY(bsm_tensor_from_array(maker->arena, array, true, &t));
  if (t->sizes.rank == 0 && bsm_type_is_number(type)) {
    const bsm_ivalue number = number_at(t, 0);
    if (number.tag == BSM_IVALUE_NONE) {
      return wrong_array(maker, path, type, array);
    }
    return bsm_input_number(maker, type, number, path, out);
  }
  if (t->sizes.rank == 1 && bsm_type_is_number_list(type) &&
      (type->kind == BSM_TYPE_LIST ||
       type->arg_count == (size_t)t->sizes.d[0])) {
    return numbers(maker, type, t, path, out);
  }
  return wrong_array(maker, path, type, array);
}

/* ---- many arrays ---- */

typedef struct example_set {
  const bsm_input_maker *maker;
  const bsm_input_spec *items;
  size_t count;
  size_t next; /* items without names are taken in order */
  const char *path;
} example_set;

static const bsm_input_spec *find_named(const example_set *set,
                                        const char *keys) {
  for (size_t i = 0; i < set->count; i++) {
    const char *name = set->items[i].name;
    if (name && strcmp(name, keys) == 0) return &set->items[i];
  }
  return NULL;
}

/* Whether `name` is `keys`, or continues after them with a dot. */
static bool is_below(const char *name, const char *keys) {
  const size_t n = strlen(keys);
  return name && (n == 0 || (strncmp(name, keys, n) == 0 &&
                             (name[n] == '.' || name[n] == '\0')));
}

static bool any_below(const example_set *set, const char *keys) {
  for (size_t i = 0; i < set->count; i++) {
    if (is_below(set->items[i].name, keys)) return true;
  }
  return false;
}

/* The next item without a name, which stays where it is; NULL: no more. */
static const bsm_input_spec *peek(example_set *set) {
  while (set->next < set->count && set->items[set->next].name) set->next++;
  return set->next < set->count ? &set->items[set->next] : NULL;
}

static const char *child_keys(const example_set *set, const char *keys,
                              const char *field, size_t index) {
  const char *dot = keys[0] ? "." : "";
  return field
             ? bsm_arena_printf(set->maker->arena, "%s%s%s", keys, dot, field)
             : bsm_arena_printf(set->maker->arena, "%s%s%zu", keys, dot, index);
}

static bsm_status absent(const example_set *set, const char *keys,
                         const bsm_type *type) {
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "no array for input \"%s%s%s\" (%s)",
                  set->path, keys[0] ? "." : "", keys,
                  bsm_type_str(set->maker->arena, type));
}

static bsm_status value_at(example_set *set, const bsm_type *type,
                           const char *keys, size_t depth, bsm_ivalue *out);

static bsm_status tuple_at(example_set *set, const bsm_type *type,
                           const char *keys, size_t depth, bsm_ivalue *out) {
  bsm_tuple *tuple;
  BSM_TRY(bsm_tuple_new(set->maker->arena, type->arg_count, &tuple));
  tuple->type = type->field_names ? type : NULL;
  for (size_t i = 0; i < type->arg_count; i++) {
    const char *below = child_keys(
        set, keys, type->field_names ? type->field_names[i] : NULL, i);
    BSM_TRY_ALLOC(below);
    BSM_TRY(value_at(set, type->args[i], below, depth + 1, &tuple->items[i]));
  }
  *out = bsm_iv_tuple(tuple);
  return BSM_OK;
}

static bsm_status list_at(example_set *set, const bsm_type *type,
                          const char *keys, size_t depth, bsm_ivalue *out) {
  bsm_list *list;
  BSM_TRY(bsm_list_new(set->maker->arena, type->args[0], 0, &list));
  for (size_t i = 0;; i++) {
    bsm_ivalue item;
    const char *below = child_keys(set, keys, NULL, i);
    BSM_TRY_ALLOC(below);
    if (!any_below(set, below) && !peek(set)) break;
    BSM_TRY(value_at(set, type->args[0], below, depth + 1, &item));
    BSM_TRY(bsm_list_append(list, item));
  }
  if (!list->len) return absent(set, keys, type);
  *out = bsm_iv_list(list);
  return BSM_OK;
}

/* The first key after `keys` in a name. When the values are not containers it
 * is the whole rest, so that keys may have dots. */
static bsm_str first_key(const char *name, const char *keys,
                         const bsm_type *value) {
  const char *rest = name + strlen(keys) + (keys[0] && name[strlen(keys)]);
  const bool whole = value->kind != BSM_TYPE_LIST &&
                     value->kind != BSM_TYPE_DICT &&
                     value->kind != BSM_TYPE_TUPLE;
  return (bsm_str){rest, whole ? strlen(rest) : strcspn(rest, ".")};
}

static bsm_status dict_at(example_set *set, const bsm_type *type,
                          const char *keys, size_t depth, bsm_ivalue *out) {
  const bsm_type *value_type = without_optional(type->args[1]);
  bsm_dict *dict;
  BSM_TRY(bsm_dict_new(set->maker->arena, type->args[0], type->args[1], &dict));
  for (size_t i = 0; i < set->count; i++) {
    bsm_ivalue key, value;
    if (!is_below(set->items[i].name, keys)) continue;
    const bsm_str text = first_key(set->items[i].name, keys, value_type);
    if (!text.len) continue;
    if (!bsm_input_key_of_text(set->maker, type->args[0], text, &key)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "input \"%s%s%s\": \"%.*s\" is no key of type %s",
                      set->path, keys[0] ? "." : "", keys, (int)text.len,
                      text.data,
                      bsm_type_str(set->maker->arena, type->args[0]));
    }
    if (bsm_dict_find(dict, key)) continue;
    const char *copy =
        bsm_arena_strndup(set->maker->arena, text.data, text.len);
    BSM_TRY_ALLOC(copy);
    const char *below = child_keys(set, keys, copy, 0);
    BSM_TRY_ALLOC(below);
    BSM_TRY(value_at(set, type->args[1], below, depth + 1, &value));
    BSM_TRY(bsm_dict_set(dict, key, value));
  }
  if (!dict->len) return absent(set, keys, type);
  *out = bsm_iv_dict(dict);
  return BSM_OK;
}

/* The array for the whole of a value, if there is one. */
static const bsm_input_spec *take(example_set *set, const char *keys,
                                  const bsm_type *type) {
  const bsm_input_spec *item = find_named(set, keys);
  if (item) return item;
  item = peek(set);
  if (!item) return NULL;
  if (bsm_type_is_number_list(type) &&
      !(item->array && item->array->dims.rank == 1)) {
    return NULL;
  }
  set->next++;
  return item;
}

static bsm_status value_at(example_set *set, const bsm_type *type,
                           const char *keys, size_t depth, bsm_ivalue *out) {
  if (depth > set->maker->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "input \"%s\" is nested too deep", set->path);
  }
  if (type->kind == BSM_TYPE_OPTIONAL && !any_below(set, keys) && !peek(set)) {
    *out = bsm_iv_none();
    return BSM_OK;
  }
  type = without_optional(type);
  const bool container = type->kind == BSM_TYPE_LIST ||
                         type->kind == BSM_TYPE_DICT ||
                         type->kind == BSM_TYPE_TUPLE;
  if (!container || bsm_type_is_number_list(type)) {
    const bsm_input_spec *item = take(set, keys, type);
    if (item) {
      const char *at = keys[0] ? bsm_arena_printf(set->maker->arena, "%s.%s",
                                                  set->path, keys)
                               : set->path;
      BSM_TRY_ALLOC(at);
      return bsm_input_value(set->maker, type, item, at, depth, out);
    }
    if (!container) return absent(set, keys, type);
  }
  if (type->kind == BSM_TYPE_TUPLE) {
    return tuple_at(set, type, keys, depth, out);
  }
  return type->kind == BSM_TYPE_LIST ? list_at(set, type, keys, depth, out)
                                     : dict_at(set, type, keys, depth, out);
}

bsm_status bsm_input_examples(const bsm_input_maker *maker,
                              const bsm_type *type, const bsm_input_spec *spec,
                              const char *path, bsm_ivalue *out) {
  if (spec->item_count && !spec->items) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "input \"%s\": the items are NULL",
                    path);
  }
  for (size_t i = 0; i < spec->item_count; i++) {
    if (spec->items[i].kind == BSM_INPUT_EXAMPLES) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "input \"%s\": examples within examples", path);
    }
  }
  example_set set = {maker, spec->items, spec->item_count, 0, path};
  BSM_TRY(value_at(&set, type, "", 0, out));
  if (peek(&set)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "input \"%s\" (%s) takes %zu arrays of the %zu given", path,
                    bsm_type_str(maker->arena, type), set.next,
                    spec->item_count);
  }
  return BSM_OK;
}
