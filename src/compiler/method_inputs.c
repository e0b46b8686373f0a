/* SPDX-License-Identifier: Apache-2.0 */
/* From input specs to what lowering knows of each parameter. */
#include <inttypes.h>
#include <string.h>

#include "base/options.h"
#include "compiler/input_value.h"
#include "compiler/module_internal.h"

/* The parameter a spec is for: by name, else the next one without a spec. */
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
  if (spec->name) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s has no parameter \"%s\"",
                    method->name, spec->name);
  }
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

typedef struct example_walk {
  const bsm_input_maker *maker;
  const bsm_example_input *examples; /* of the archive, flat */
  size_t count, next;
} example_walk;

/* A value after the archive's examples, or after complete types; *found is
 * false when they do not tell. */
static bsm_status example_value(example_walk *walk, const bsm_type *type,
                                bool last, bool *found, bsm_ivalue *out);

static bsm_status example_tensor(example_walk *walk, const bsm_type *type,
                                 bool *found, bsm_ivalue *out) {
  bsm_dtype dtype = type->dtype;
  bsm_dims dims = type->dims;
  *found = type->kind == BSM_TYPE_TENSOR && type->has_dtype && type->has_dims;
  for (int32_t i = 0; *found && i < dims.rank; i++) {
    *found = dims.d[i] >= 0;
  }
  if (walk->next < walk->count) {
    const bsm_example_input *example = &walk->examples[walk->next++];
    if (example->is_tensor) {
      *found = true;
      dtype = example->dtype;
      dims = example->dims;
    }
  }
  if (!*found) return BSM_OK;
  bsm_tensor *tensor;
  BSM_TRY(bsm_tensor_new(walk->maker->arena, dtype, dims, true, &tensor));
  *out = bsm_iv_tensor(tensor);
  return BSM_OK;
}

static bsm_status example_tuple(example_walk *walk, const bsm_type *type,
                                bool *found, bsm_ivalue *out) {
  bsm_tuple *tuple;
  BSM_TRY(bsm_tuple_new(walk->maker->arena, type->arg_count, &tuple));
  tuple->type = type->field_names ? type : NULL;
  *out = bsm_iv_tuple(tuple);
  *found = true;
  for (size_t i = 0; i < type->arg_count; i++) {
    bool has;
    BSM_TRY(example_value(walk, type->args[i], false, &has, &tuple->items[i]));
    *found = *found && has;
  }
  return BSM_OK;
}

/* All examples that are left are the list's. */
static bsm_status example_list(example_walk *walk, const bsm_type *type,
                               bool *found, bsm_ivalue *out) {
  bsm_list *list;
  BSM_TRY(bsm_list_new(walk->maker->arena, type->args[0], 0, &list));
  *found = walk->next < walk->count;
  while (walk->next < walk->count && *found) {
    bsm_ivalue item;
    const size_t before = walk->next;
    BSM_TRY(example_value(walk, type->args[0], false, found, &item));
    *found = *found && walk->next > before;
    BSM_TRY(bsm_list_append(list, item));
  }
  *out = bsm_iv_list(list);
  return BSM_OK;
}

static bsm_status example_value(example_walk *walk, const bsm_type *type,
                                bool last, bool *found, bsm_ivalue *out) {
  *found = false;
  switch (type->kind) {
    case BSM_TYPE_OPTIONAL:
      return walk->next < walk->count
                 ? example_value(walk, type->args[0], last, found, out)
                 : BSM_OK;
    case BSM_TYPE_TUPLE:
      return example_tuple(walk, type, found, out);
    case BSM_TYPE_LIST:
    case BSM_TYPE_DICT:
      if (last && type->kind == BSM_TYPE_LIST) {
        return example_list(walk, type, found, out);
      }
      walk->next = walk->count; /* where it ends is not known */
      return BSM_OK;
    default:
      return example_tensor(walk, type, found, out);
  }
}

bsm_status bsm_method_example(const bsm_module *module,
                              const bsm_method *method, size_t index,
                              bsm_arena *arena, bool *found, bsm_ivalue *out) {
  const bsm_input_maker maker = {module->cx, arena};
  example_walk walk = {.maker = &maker};
  const bsm_ts_module *archive = module->archive;
  if (archive && strcmp(method->name, "forward") == 0) {
    walk.examples = archive->examples;
    walk.count = archive->example_count;
  }
  for (size_t i = 0; i <= index; i++) {
    BSM_TRY(example_value(&walk, bsm_method_parameter_type(method, i),
                          i + 1 == method->parameter_count, found, out));
  }
  return BSM_OK;
}

/* For a parameter without a spec: the archive's example, or the default. */
static bsm_status value_without_spec(bsm_module *module,
                                     const bsm_method *method, size_t index,
                                     bsm_arena *arena, bsm_ivalue *out) {
  bool found;
  bsm_parameter parameter;
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
  return BSM_OK;
}
