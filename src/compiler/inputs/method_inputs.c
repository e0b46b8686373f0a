/* SPDX-License-Identifier: Apache-2.0 */
/* Makes what lowering knows of each parameter from input specs. */
#include "compiler/inputs/method_inputs.h"

#include <inttypes.h>
#include <string.h>

#include "base/near_name.h"
#include "base/options.h"
#include "compiler/inputs/input_value.h"
#include "compiler/inputs/model_shapes.h"

static bsm_status no_parameter(const bsm_method *method, const char *name) {
  bsm_near_name near = {.wanted = bsm_str_of(name)};
  for (size_t i = 0; i < method->parameter_count; i++) {
    bsm_near_name_look(&near, bsm_method_parameter_name(method, i));
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s has no parameter \"%s\"%s%s%s",
                  method->name, name, BSM_NEAR_NAME_ARGS(near, "\""));
}

/* The parameter of a spec: the one of its name, or the next one without a spec.
 */
static bsm_status find_slot(const bsm_method *method,
                            const bsm_input_spec *spec, size_t spec_index,
                            const bsm_input_spec **slots, size_t *out) {
  for (size_t i = 0; i < method->parameter_count; i++) {
    const bool named =
        spec->name &&
        strcmp(spec->name, bsm_method_parameter_name(method, i)) == 0;
    if (named || (!spec->name && !slots[i])) {
      if (slots[i]) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT, "input \"%s\" is given twice",
                        spec->name);
      }
      *out = i;
      return BSM_OK;
    }
  }
  if (spec->name) return no_parameter(method, spec->name);
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "input %zu is one too many: %s has %zu parameter%s",
                  spec_index, method->name, method->parameter_count,
                  method->parameter_count == 1 ? "" : "s");
}

static bsm_status default_value(const bsm_method *method, size_t index,
                                bsm_ivalue *out) {
  const size_t at = method->first + index;
  if (method->schema && at < method->schema->arg_count &&
      method->schema->args[at].has_default) {
    *out = method->schema->args[at].default_value;
    return BSM_OK;
  }
  *out = bsm_iv_none();
  const bsm_type *type = bsm_method_parameter_type(method, index);
  if (type->kind == BSM_TYPE_OPTIONAL || type->kind == BSM_TYPE_NONE) {
    return BSM_OK;
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "the parameter has no default");
}

static bool takes_none(const bsm_type *type) {
  if (type->kind == BSM_TYPE_UNION) {
    for (size_t i = 0; i < type->arg_count; i++) {
      if (takes_none(type->args[i])) return true;
    }
  }
  return type->kind == BSM_TYPE_OPTIONAL || type->kind == BSM_TYPE_NONE ||
         type->kind == BSM_TYPE_ANY;
}

static bsm_status value_of_spec(const bsm_input_maker *maker,
                                const bsm_method *method, size_t index,
                                const bsm_input_spec *spec, bsm_ivalue *out) {
  const bsm_type *type = bsm_method_parameter_type(method, index);
  if (spec->kind == BSM_INPUT_DEFAULT ||
      (spec->kind == BSM_INPUT_NONE && !takes_none(type))) {
    return default_value(method, index, out);
  }
  return bsm_input_value(maker, type, spec,
                         bsm_method_parameter_name(method, index), 0, out);
}

/* ---- examples ---- */

typedef struct example_maker {
  const bsm_input_maker *maker;
  const bsm_model *model; /* that the examples are of; NULL: of a trace */
} example_maker;

/* Makes a value from an example or, when that is NULL, from a type that
 * determines it; *found is false when the type does not. */
static bsm_status example_value(const example_maker *maker,
                                const bsm_type *type, const bsm_ivalue *example,
                                size_t depth, bool *found, bsm_ivalue *out);

static bsm_status example_tensor(const bsm_input_maker *maker,
                                 const bsm_type *type,
                                 const bsm_ivalue *example, bool *found,
                                 bsm_ivalue *out) {
  bsm_dtype dtype = type->dtype;
  bsm_dims dims = type->dims;
  *found = type->kind == BSM_TYPE_TENSOR && type->has_dtype && type->has_dims;
  for (int32_t i = 0; *found && i < dims.rank; i++) *found = dims.d[i] >= 0;
  if (example && example->tag == BSM_IVALUE_TENSOR) {
    *found = true;
    dtype = example->u.tensor->dtype;
    dims = example->u.tensor->sizes;
  }
  if (!*found) return BSM_OK;
  bsm_tensor *tensor;
  BSM_TRY(bsm_tensor_new(maker->arena, dtype, dims, true, &tensor));
  *out = bsm_iv_tensor(tensor);
  return BSM_OK;
}

/* Makes a value from what the model itself says of an argument. */
static bsm_status example_leaf(const example_maker *maker, const bsm_type *type,
                               const bsm_ivalue *example, bool *found,
                               bsm_ivalue *out) {
  if (!maker->model || !example) {
    return example_tensor(maker->maker, type, example, found, out);
  }
  if (example->tag != BSM_IVALUE_TENSOR) {
    *out = *example;
    *found = maker->model->values_are_fixed;
    return BSM_OK;
  }
  if (!bsm_type_is_number(type)) {
    *found = true;
    return bsm_shape_of_example(maker->model, maker->maker->arena,
                                example->u.tensor, out);
  }
  /* A number that is given when running. */
  bsm_lowering_number *number =
      BSM_NEW(maker->maker->arena, bsm_lowering_number);
  BSM_TRY_ALLOC(number);
  *number = (bsm_lowering_number){type->kind, example->u.tensor->dtype};
  *out = (bsm_ivalue){BSM_IVALUE_CONTAINER, {.container = number}};
  *found = true;
  return BSM_OK;
}

static bsm_status example_tuple(const example_maker *maker,
                                const bsm_type *type, const bsm_ivalue *example,
                                size_t depth, bool *found, bsm_ivalue *out) {
  const bsm_tuple *from = NULL;
  bsm_tuple *tuple;
  if (example && example->tag == BSM_IVALUE_TUPLE &&
      example->u.tuple->len == type->arg_count) {
    from = example->u.tuple;
  }
  BSM_TRY(bsm_tuple_new(maker->maker->arena, type->arg_count, &tuple));
  tuple->type = type->field_names ? type : NULL;
  *out = bsm_iv_tuple(tuple);
  *found = true;
  for (size_t i = 0; i < type->arg_count && *found; i++) {
    BSM_TRY(example_value(maker, type->args[i], from ? &from->items[i] : NULL,
                          depth + 1, found, &tuple->items[i]));
  }
  return BSM_OK;
}

static bsm_status example_list(const example_maker *maker, const bsm_type *type,
                               const bsm_list *from, size_t depth, bool *found,
                               bsm_ivalue *out) {
  bsm_list *list;
  BSM_TRY(bsm_list_new(maker->maker->arena, type->args[0], from->len, &list));
  *out = bsm_iv_list(list);
  *found = true;
  for (size_t i = 0; i < from->len && *found; i++) {
    BSM_TRY(example_value(maker, type->args[0], &from->items[i], depth + 1,
                          found, &list->items[i]));
  }
  return BSM_OK;
}

static bsm_status example_dict(const example_maker *maker, const bsm_type *type,
                               const bsm_dict *from, size_t depth, bool *found,
                               bsm_ivalue *out) {
  bsm_dict *dict;
  BSM_TRY(
      bsm_dict_new(maker->maker->arena, type->args[0], type->args[1], &dict));
  *out = bsm_iv_dict(dict);
  *found = true;
  for (size_t i = 0; i < from->len && *found; i++) {
    bsm_ivalue value = bsm_iv_none();
    const bsm_ivalue_tag tag = from->keys[i].tag;
    *found = tag == BSM_IVALUE_STRING || tag == BSM_IVALUE_INT ||
             tag == BSM_IVALUE_DOUBLE || tag == BSM_IVALUE_BOOL;
    if (!*found) break;
    BSM_TRY(example_value(maker, type->args[1], &from->values[i], depth + 1,
                          found, &value));
    if (*found) BSM_TRY(bsm_dict_set(dict, from->keys[i], value));
  }
  return BSM_OK;
}

static bsm_status example_value(const example_maker *maker,
                                const bsm_type *type, const bsm_ivalue *example,
                                size_t depth, bool *found, bsm_ivalue *out) {
  *found = false;
  if (depth > maker->maker->cx->limits.max_depth) return BSM_OK;
  switch (type->kind) {
    case BSM_TYPE_OPTIONAL:
      return example ? example_value(maker, type->args[0], example, depth + 1,
                                     found, out)
                     : BSM_OK;
    case BSM_TYPE_TUPLE:
      return example_tuple(maker, type, example, depth, found, out);
    case BSM_TYPE_LIST:
      if (!example || example->tag != BSM_IVALUE_LIST) return BSM_OK;
      return example_list(maker, type, example->u.list, depth, found, out);
    case BSM_TYPE_DICT:
      if (!example || example->tag != BSM_IVALUE_DICT) return BSM_OK;
      return example_dict(maker, type, example->u.dict, depth, found, out);
    default:
      return example_leaf(maker, type, example, found, out);
  }
}

bsm_status bsm_method_example(const bsm_module *module,
                              const bsm_method *method, size_t index,
                              bsm_arena *arena, bool *found, bsm_ivalue *out) {
  const bsm_input_maker maker = {module->cx, arena};
  const bsm_ivalue *example = NULL;
  if (strcmp(method->name, "forward") == 0 &&
      index < module->model.example_count) {
    example = &module->model.examples[index];
  }
  const example_maker own = {
      &maker, module->model.values_are_fixed ? &module->model : NULL};
  return example_value(&own, bsm_method_parameter_type(method, index), example,
                       0, found, out);
}

/* For a parameter without a spec: the archive's example, or the default. */
static bsm_status value_without_spec(bsm_module *module,
                                     const bsm_method *method, size_t index,
                                     bsm_arena *arena, bsm_ivalue *out) {
  bool found;
  bsm_parameter parameter = BSM_PARAMETER_INIT;
  BSM_TRY(bsm_method_example(module, method, index, arena, &found, out));
  if (found) return BSM_OK;
  bsm_status status = default_value(method, index, out);
  if (!status) return BSM_OK;
  bsm_status_free(status);
  BSM_TRY(bsm_module_parameter(module, method->name, index, &parameter));
  const bool tensors = parameter.is_tensor || parameter.array_count != 1;
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "parameter \"%s: %s\" of %s has no %s: %zu parameter%s "
                  "must be given%s",
                  parameter.name, parameter.type, method->name,
                  tensors ? "shape" : "value", method->parameter_count,
                  method->parameter_count == 1 ? "" : "s",
                  tensors ? ", as \"(1,3,224,224)\" or from arrays" : "");
}

bsm_status bsm_method_inputs(bsm_module *module, const bsm_method *method,
                             const bsm_input_spec *specs, size_t spec_count,
                             bsm_arena *arena, bsm_lowering_input **out) {
  BSM_NEED_ARRAY(specs, spec_count);
  const bsm_input_maker maker = {module->cx, arena};
  const size_t n = method->parameter_count;
  const bsm_input_spec **slots =
      BSM_NEW_ARRAY(arena, const bsm_input_spec *, n + 1);
  *out = BSM_NEW_ARRAY(arena, bsm_lowering_input, n + 1);
  if (!slots || !*out) return BSM_FAIL_OOM();
  for (size_t i = 0; i < spec_count; i++) {
    size_t slot;
    BSM_TRY(find_slot(method, &specs[i], i, slots, &slot));
    slots[slot] = &specs[i];
  }
  for (size_t i = 0; i < n; i++) {
    bsm_lowering_input *input = &(*out)[i];
    input->name = bsm_method_parameter_name(method, i);
    if (slots[i]) {
      BSM_TRY_NOTE(value_of_spec(&maker, method, i, slots[i], &input->value),
                   "for parameter \"%s\" of %s", input->name, method->name);
    } else {
      BSM_TRY(value_without_spec(module, method, i, arena, &input->value));
    }
  }
  return bsm_fit_shapes(module, method, arena, *out);
}
