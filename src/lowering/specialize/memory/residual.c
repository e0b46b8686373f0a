/* SPDX-License-Identifier: Apache-2.0 */
/* From abstract values to values of the residual graph. */
#include "lowering/specialize/memory/residual.h"

#include "lowering/specialize/memory/dynamic_containers.h"
#include "lowering/specialize/memory/residual_containers.h"
#include "lowering/specialize/memory/symbol_views.h"
#include "lowering/specialize/memory/tensor_values.h"
#include "lowering/specialize/values/literal_policy.h"

/* What a closed block left of a tensor, symbol or dynamic container; NULL:
 * nothing. */
static bsm_value *left_by_block(const bsm_spec *s, const bsm_ivalue *value) {
  return s->memory->reading
             ? bsm_ptrmap_get(&s->memory->reading->values, value->u.container)
             : NULL;
}

bsm_status bsm_spec_make_residual(bsm_spec *s, const bsm_ivalue *value,
                                  const bsm_type *type, bsm_value **out) {
  const bool container =
      value->tag == BSM_IVALUE_LIST || value->tag == BSM_IVALUE_DICT;
  if (bsm_spec_containers_have_identity(s) && container) {
    BSM_TRY(bsm_spec_make_dynamic(s, value)); /* it has identity */
  }
  const bsm_dynamic_container *dynamic = bsm_spec_dynamic_find(s, value);
  if (dynamic || value->tag == BSM_IVALUE_TENSOR || bsm_spec_is_symbol(value)) {
    *out = left_by_block(s, value);
    if (*out) {
      return BSM_OK;
    }
  }
  if (dynamic) {
    *out = dynamic->value;
    return BSM_OK;
  }
  switch (value->tag) {
    case BSM_IVALUE_TENSOR:
      return bsm_spec_tensor_value(s, value->u.tensor, out);
    case BSM_IVALUE_CONTAINER:
      return bsm_spec_symbol_value(s, value, out);
    case BSM_IVALUE_OBJECT:
    case BSM_IVALUE_FUNCTION:
    case BSM_IVALUE_ENUM:
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "a value of kind %s would be needed when the engine runs",
                      bsm_iv_tag_name(value->tag));
    case BSM_IVALUE_LIST:
    case BSM_IVALUE_DICT:
      return bsm_spec_residual_items(s, value, type, out);
    case BSM_IVALUE_TUPLE:
      return bsm_spec_residual_tuple(s, value, out);
    default:
      return bsm_spec_residual_constant(s, value, type, out);
  }
}
