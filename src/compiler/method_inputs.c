/* SPDX-License-Identifier: Apache-2.0 */
/* From input specs to what lowering knows of each parameter. */
#include <inttypes.h>
#include <string.h>

#include "base/options.h"
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

/* The fixed shape of a tensor spec. */
static bsm_status spec_dims(const bsm_input_spec *spec, bsm_dims *out) {
  if (spec->rank < 0 || spec->rank > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "rank %" PRId32 " is not 0 to %d",
                    spec->rank, BSM_MAX_RANK);
  }
  *out = (bsm_dims){.rank = spec->rank};
  bool given = false;
  for (int32_t i = 0; i < spec->rank; i++) {
    given = given || spec->opt[i] != 0 || spec->max[i] != 0;
  }
  for (int32_t i = 0; i < spec->rank; i++) {
    if (spec->min[i] < 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "dimension %" PRId32 " is %" PRId64,
                      i, spec->min[i]);
    }
    if (given &&
        (spec->opt[i] != spec->min[i] || spec->max[i] != spec->min[i])) {
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "dimension %" PRId32 " ranges from %" PRId64
                      " to %" PRId64
                      ": engines have fixed shapes; compile one for each "
                      "shape you need",
                      i, spec->min[i], spec->max[i]);
    }
    out->d[i] = spec->min[i];
  }
  return BSM_OK;
}

static const bsm_type *without_optional(const bsm_type *type) {
  return type->kind == BSM_TYPE_OPTIONAL ? type->args[0] : type;
}

static bsm_status wrong_kind(const bsm_type *type, const char *given,
                             bsm_arena *arena) {
  bsm_text text;
  bsm_text_init(&text, arena);
  bsm_type_print(&text, type, BSM_TYPE_STYLE_PYTHON);
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "the parameter is of type %s, not %s",
                  text.data, given);
}

static bsm_status number_value(const bsm_type *type, const bsm_input_spec *spec,
                               bsm_arena *arena, bsm_ivalue *out) {
  const bsm_type_kind kind = without_optional(type)->kind;
  const bool any = kind == BSM_TYPE_NUMBER || kind == BSM_TYPE_ANY;
  switch (spec->kind) {
    case BSM_INPUT_INT:
      *out = kind == BSM_TYPE_FLOAT ? bsm_iv_double((double)spec->int_value)
                                    : bsm_iv_int(spec->int_value);
      if (any || kind == BSM_TYPE_INT || kind == BSM_TYPE_FLOAT) return BSM_OK;
      return wrong_kind(type, "int", arena);
    case BSM_INPUT_FLOAT:
      *out = bsm_iv_double(spec->float_value);
      if (any || kind == BSM_TYPE_FLOAT) return BSM_OK;
      return wrong_kind(type, "float", arena);
    default:
      *out = bsm_iv_bool(spec->bool_value);
      if (kind == BSM_TYPE_ANY || kind == BSM_TYPE_BOOL) return BSM_OK;
      return wrong_kind(type, "bool", arena);
  }
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

static bsm_status value_of_spec(const bsm_method *method, size_t index,
                                const bsm_input_spec *spec, bsm_arena *arena,
                                bsm_ivalue *out) {
  const bsm_type *type = bsm_method_parameter_type(method, index);
  const bsm_type_kind kind = without_optional(type)->kind;
  if ((unsigned)spec->kind > BSM_INPUT_CONSTANT_TENSOR) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "unknown kind of input %u",
                    (unsigned)spec->kind);
  }
  if (spec->kind == BSM_INPUT_NONE) return default_value(method, index, out);
  if (spec->kind != BSM_INPUT_TENSOR &&
      spec->kind != BSM_INPUT_CONSTANT_TENSOR) {
    return number_value(type, spec, arena, out);
  }
  if (kind != BSM_TYPE_TENSOR && kind != BSM_TYPE_ANY) {
    return wrong_kind(type, "Tensor", arena);
  }
  bsm_tensor *tensor;
  if (spec->kind == BSM_INPUT_CONSTANT_TENSOR) {
    if (!spec->array) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "a constant without an array");
    }
    BSM_TRY(bsm_tensor_from_array(arena, spec->array, true, &tensor));
  } else {
    bsm_dims dims;
    BSM_TRY(spec_dims(spec, &dims));
    BSM_TRY(bsm_tensor_new(arena, spec->dtype, dims, true, &tensor));
  }
  *out = bsm_iv_tensor(tensor);
  return BSM_OK;
}

/* For a parameter without a spec: the archive's example, or the default. */
static bsm_status value_without_spec(bsm_module *module,
                                     const bsm_method *method, size_t index,
                                     bsm_arena *arena, bsm_ivalue *out) {
  bsm_parameter parameter;
  BSM_TRY(bsm_module_parameter(module, method->name, index, &parameter));
  if (parameter.is_tensor && parameter.has_example) {
    bsm_tensor *tensor;
    BSM_TRY(bsm_tensor_new(arena, parameter.example_dtype,
                           parameter.example_dims, true, &tensor));
    *out = bsm_iv_tensor(tensor);
    return BSM_OK;
  }
  bsm_status status = default_value(method, index, out);
  if (!status) return BSM_OK;
  bsm_status_free(status);
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "parameter \"%s: %s\" of %s has no shape: %zu parameter%s "
                  "must be given, as \"(1,3,224,224)\" or from arrays",
                  parameter.name, parameter.type, method->name,
                  method->parameter_count,
                  method->parameter_count == 1 ? "" : "s");
}

bsm_status bsm_method_inputs(bsm_module *module, const bsm_method *method,
                             const bsm_input_spec *specs, size_t spec_count,
                             bsm_arena *arena, bsm_lowering_input **out) {
  BSM_NEED_ARRAY(specs, spec_count);
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
      BSM_TRY_NOTE(value_of_spec(method, i, slots[i], arena, &input->value),
                   "for parameter \"%s\" of %s", input->name, method->name);
    } else {
      BSM_TRY(value_without_spec(module, method, i, arena, &input->value));
    }
  }
  return BSM_OK;
}
