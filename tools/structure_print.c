/* SPDX-License-Identifier: Apache-2.0 */
/* Prints structures. */
#include "tools/structure_print.h"

#include "tools/arrays.h"

static const char *const kinds[] = {
    "none",      "tensor",   "int",      "float",       "bool", "str",
    "other",     "list",     "tuple",    "named_tuple", "dict", "object",
    "arguments", "run_time", "optional", "any"};

bsm_structure_info bsm_structure_info_of(const bsm_structure *node) {
  bsm_structure_info info = BSM_STRUCTURE_INFO_INIT;
  bsm_status_free(bsm_structure_describe(node, &info)); /* its size is set */
  return info;
}

bool bsm_structure_is_plain(const bsm_structure *root) {
  const bsm_structure_info info = bsm_structure_info_of(root);
  if (info.kind == BSM_STRUCTURE_TENSOR) return !info.is_fixed;
  if (info.kind != BSM_STRUCTURE_TUPLE &&
      info.kind != BSM_STRUCTURE_ARGUMENTS) {
    return false;
  }
  for (size_t i = 0; i < info.child_count; i++) {
    const bsm_structure_info child =
        bsm_structure_info_of(bsm_structure_child(root, i));
    if (child.kind != BSM_STRUCTURE_TENSOR || child.is_fixed) return false;
  }
  return true;
}

bsm_status bsm_structure_show(const char *title, const bsm_structure *root) {
  char *text = NULL;
  BSM_TRY(bsm_structure_text(root, &text));
  printf("%s: %s\n", title, text);
  bsm_string_free(text);
  return BSM_OK;
}

static void json_key(bsm_json *json, const bsm_structure_info *info) {
  switch (info->key_kind) {
    case BSM_STRUCTURE_KEY_NONE:
    case BSM_STRUCTURE_KEY_TYPE:
      return;
    case BSM_STRUCTURE_KEY_POSITION:
    case BSM_STRUCTURE_KEY_INT:
      bsm_json_int(json, "key", info->int_key);
      return;
    case BSM_STRUCTURE_KEY_FLOAT:
      bsm_json_double(json, "key", info->float_key);
      return;
    case BSM_STRUCTURE_KEY_BOOL:
      bsm_json_bool(json, "key", info->int_key != 0);
      return;
    default:
      bsm_json_string(json, "key", info->key);
  }
}

static void json_fixed(bsm_json *json, const bsm_structure_info *info) {
  switch (info->kind) {
    case BSM_STRUCTURE_INT:
      bsm_json_int(json, "value", info->int_value);
      return;
    case BSM_STRUCTURE_FLOAT:
      bsm_json_double(json, "value", info->float_value);
      return;
    case BSM_STRUCTURE_BOOL:
      bsm_json_bool(json, "value", info->bool_value);
      return;
    case BSM_STRUCTURE_STRING:
    case BSM_STRUCTURE_OTHER:
      bsm_json_string(json, "value", info->string);
      return;
    case BSM_STRUCTURE_TENSOR:
      bsm_json_string(json, "dtype", bsm_dtype_name(info->dtype));
      bsm_json_dims(json, "dims", info->dims);
      return;
    default:
      return;
  }
}

static void json_number(bsm_json *json, bsm_structure_kind kind,
                        const bsm_array *array) {
  const double value = bsm_array_element(array, 0);
  if (kind == BSM_STRUCTURE_BOOL) {
    bsm_json_bool(json, "value", value != 0);
  } else if (kind == BSM_STRUCTURE_INT && array->dtype == BSM_DTYPE_INT64) {
    bsm_json_int(json, "value", *(const int64_t *)array->data);
  } else {
    bsm_json_double(json, "value", value);
  }
}

/* "List[Tensor]" */
static void json_type(bsm_json *json, const bsm_structure *run_time) {
  char *text = NULL;
  bsm_status status =
      bsm_structure_text(bsm_structure_child(run_time, 0), &text);
  if (text) bsm_json_string(json, "type", text);
  bsm_status_free(status);
  bsm_string_free(text);
}

void bsm_structure_json(bsm_json *json, const char *key,
                        const bsm_structure *root, const bsm_array *values) {
  const bsm_structure_info info = bsm_structure_info_of(root);
  const bool bound = info.binding != BSM_NO_BINDING;
  bsm_json_open(json, key, '{');
  json_key(json, &info);
  bsm_json_string(json, "kind", kinds[info.kind]);
  if (info.type_name[0]) bsm_json_string(json, "type", info.type_name);
  if (info.kind == BSM_STRUCTURE_RUN_TIME) json_type(json, root);
  if (bound) {
    bsm_json_string(json, "name", info.path);
    bsm_json_int(json, "binding", (int64_t)info.binding);
  }
  if (info.is_fixed) {
    json_fixed(json, &info);
  } else if (bound && values && info.kind != BSM_STRUCTURE_TENSOR) {
    json_number(json, info.kind, &values[info.binding]);
  }
  if (info.kind >= BSM_STRUCTURE_LIST && info.kind < BSM_STRUCTURE_ANY) {
    bsm_json_open(json, "items", '[');
    for (size_t i = 0; i < info.child_count; i++) {
      bsm_structure_json(json, NULL, bsm_structure_child(root, i), values);
    }
    bsm_json_close(json, ']');
  }
  bsm_json_close(json, '}');
}
