/* SPDX-License-Identifier: Apache-2.0 */
/* What a schema says of an op: its arguments by name, and what it writes to. */
#include "lowering/specialize/values/schema_query.h"

#include <string.h>

#include "lowering/specialize/values/abstract_value.h"

bool bsm_name_in(const char *name, const char *const *list) {
  for (; *list; list++) {
    if (strcmp(name, *list) == 0) {
      return true;
    }
  }
  return false;
}

static bool is_open(const bsm_type *type) {
  return type->kind == BSM_TYPE_VAR || type->kind == BSM_TYPE_ANY;
}

int64_t bsm_schema_find_arg(const bsm_schema *schema, const char *name) {
  for (size_t i = 0; i < schema->arg_count; i++) {
    if (strcmp(schema->args[i].name, name) == 0) {
      return (int64_t)i;
    }
  }
  return -1;
}

bool bsm_spec_is_new_container(const bsm_schema *schema, size_t i,
                               const bsm_ivalue *args, size_t n,
                               const bsm_ivalue *out) {
  if ((out->tag != BSM_IVALUE_LIST && out->tag != BSM_IVALUE_DICT) ||
      i >= schema->return_count || is_open(schema->returns[i].type)) {
    return false;
  }
  for (size_t k = 0; k < n; k++) {
    if (args[k].tag == out->tag && args[k].u.container == out->u.container) {
      return false;
    }
  }
  return true;
}

static const bsm_type *strip_optional(const bsm_type *type) {
  return type->kind == BSM_TYPE_OPTIONAL ? type->args[0] : type;
}

bool bsm_spec_writes_tensor(const bsm_schema *schema, size_t *which) {
  for (size_t i = 0; i < schema->arg_count; i++) {
    if (schema->args[i].is_write &&
        strip_optional(schema->args[i].type)->kind == BSM_TYPE_TENSOR) {
      *which = i;
      return true;
    }
  }
  return false;
}

bool bsm_spec_writes_container(const bsm_schema *schema, size_t *which) {
  for (size_t i = 0; i < schema->arg_count; i++) {
    const bsm_type *type = schema->args[i].type;
    if (schema->args[i].is_write &&
        (type->kind == BSM_TYPE_LIST || type->kind == BSM_TYPE_DICT)) {
      *which = i;
      return true;
    }
  }
  return false;
}

/* Dropout of an evaluated model: self, p, train. */
bool bsm_spec_writes_nothing(const bsm_schema *schema, const bsm_ivalue *args) {
  const size_t length = strlen(schema->name), end = strlen("dropout_");
  return length >= end &&
         strcmp(schema->name + length - end, "dropout_") == 0 &&
         schema->arg_count == 3 && args[2].tag == BSM_IVALUE_BOOL &&
         !args[2].u.b && !bsm_spec_is_symbol(&args[2]);
}

bool bsm_spec_is_fill(const bsm_schema *schema) {
  static const char *const names[] = {"aten::zero_", "aten::fill_.Scalar",
                                      "aten::fill_.Tensor", NULL};
  return bsm_name_in(schema->qualified, names);
}

bool bsm_spec_is_geometric(const bsm_schema *schema) {
  static const char *const names[] = {"aten::unsqueeze_",
                                      "aten::squeeze_",
                                      "aten::t_",
                                      "aten::transpose_",
                                      "aten::swapaxes_",
                                      "aten::swapdims_",
                                      "aten::as_strided_",
                                      "aten::detach_",
                                      "aten::requires_grad_",
                                      NULL};
  for (const char *const *n = names; *n; n++) {
    if (strcmp(*n, schema->name) == 0) {
      return true;
    }
  }
  return false;
}
