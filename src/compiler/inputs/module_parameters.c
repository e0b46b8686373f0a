/* SPDX-License-Identifier: Apache-2.0 */
/* What a module says of the parameters of its methods. */
#include "aten/ivalue_parts.h"
#include "base/options.h"
#include "compiler/inputs/input_value.h"
#include "compiler/inputs/method_inputs.h"

bsm_status bsm_module_parameter_count(bsm_module *module, const char *method,
                                      size_t *out) {
  BSM_NEED(module);
  BSM_NEED(out);
  bsm_method found;
  *out = 0;
  bsm_module_lock(module);
  bsm_status status =
      bsm_module_status(module, bsm_module_find_method(module, method, &found));
  bsm_module_unlock(module);
  if (!status) *out = found.parameter_count;
  return status;
}

/* Tensors of a value, however nested. */
static int32_t count_tensors(const bsm_ivalue *value) {
  const bsm_iv_parts parts = bsm_iv_parts_of(value);
  int32_t count =
      value->tag == BSM_IVALUE_TENSOR || value->tag == BSM_IVALUE_CONTAINER;
  for (size_t i = 0; i < parts.len; i++)
    count += count_tensors(&parts.items[i]);
  return count;
}

/* The dims of a tensor, and those that they range between. */
static void describe_shape(const bsm_ivalue *value, bsm_parameter *out) {
  if (value->tag == BSM_IVALUE_TENSOR) {
    out->example_dtype = value->u.tensor->dtype;
    out->example_dims = value->u.tensor->sizes;
    out->min_dims = out->max_dims = out->example_dims;
  } else if (value->tag == BSM_IVALUE_CONTAINER) {
    const bsm_lowering_number *number = value->u.container;
    out->example_dtype = number->dtype;
    if (number->kind != BSM_TYPE_TENSOR) return;
    const bsm_lowering_range *range = value->u.container;
    out->example_dims = range->opt;
    out->min_dims = range->min;
    out->max_dims = range->max;
  }
}

/* Fills in what the archive or the IR's types say of a parameter. */
static bsm_status find_example(const bsm_module *module,
                               const bsm_method *method, size_t index,
                               bsm_parameter *out) {
  bsm_arena scratch;
  bsm_ivalue value;
  bsm_arena_init(&scratch, module->allocator);
  bsm_status status = bsm_method_example(module, method, index, &scratch,
                                         &out->has_example, &value);
  if (!status && out->has_example) describe_shape(&value, out);
  if (!status && out->has_example && out->array_count < 0) {
    out->array_count = count_tensors(&value);
  }
  bsm_arena_destroy(&scratch);
  return status;
}

static bsm_status describe_parameter(bsm_module *module, const char *method,
                                     size_t index, bsm_parameter *out) {
  bsm_method found;
  BSM_TRY(bsm_module_find_method(module, method, &found));
  if (index >= found.parameter_count) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "parameter %zu of %s, which has %zu",
                    index, found.name, found.parameter_count);
  }
  const bsm_type *type = bsm_method_parameter_type(&found, index);
  const bsm_schema_arg *arg = bsm_method_schema_arg(&found, index);
  bsm_text text;
  bsm_text_init(&text, &module->arena);
  bsm_type_print(&text, type, BSM_TYPE_STYLE_PYTHON);
  if (text.failed) return BSM_FAIL_OOM();
  out->name = bsm_method_parameter_name(&found, index);
  out->type = text.data;
  out->is_tensor =
      type->kind == BSM_TYPE_TENSOR || (type->kind == BSM_TYPE_OPTIONAL &&
                                        type->args[0]->kind == BSM_TYPE_TENSOR);
  out->has_default = arg && arg->has_default;
  out->array_count = bsm_type_array_count(type);
  out->is_number_list = bsm_type_is_number_list(type);
  return find_example(module, &found, index, out);
}

bsm_status bsm_module_parameter(bsm_module *module, const char *method,
                                size_t index, bsm_parameter *out) {
  BSM_NEED(module);
  bsm_parameter parameter = {.name = ""};
  bsm_module_lock(module);
  bsm_status status = bsm_module_status(
      module, describe_parameter(module, method, index, &parameter));
  bsm_module_unlock(module);
  return status ? status : BSM_OUT(bsm_parameter, out, parameter);
}
