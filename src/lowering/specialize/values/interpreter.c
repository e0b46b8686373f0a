/* SPDX-License-Identifier: Apache-2.0 */
/* The specialiser's calls of itself, through the table in its state. */
#include "lowering/specialize/values/interpreter.h"

bsm_status bsm_spec_residual(bsm_spec *s, const bsm_ivalue *value,
                             const bsm_type *type, bsm_value **out) {
  return s->interpreter->residual(s, value, type, out);
}

bsm_status bsm_spec_op(bsm_spec *s, const bsm_schema *schema, bsm_ivalue *args,
                       size_t n, bsm_ivalue *outs, size_t n_outs) {
  return s->interpreter->apply(s, schema, args, n, outs, n_outs);
}

bsm_status bsm_spec_run_block(bsm_spec *s, const bsm_block *block) {
  return s->interpreter->run_block(s, block);
}

bsm_status bsm_spec_op_named(bsm_spec *s, const char *qualified,
                             const bsm_ivalue *args, size_t n,
                             bsm_ivalue *out) {
  const bsm_schema *schema = NULL;
  BSM_TRY(
      bsm_schema_table_find(s->cx->schemas, bsm_str_of(qualified), &schema));
  if (!schema || schema->arg_count != n) {
    return BSM_FAIL(BSM_INTERNAL, "lowering: no schema %s of %zu arguments",
                    qualified, n);
  }
  bsm_ivalue *own = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n + 1);
  BSM_TRY_ALLOC(own);
  memcpy(own, args, n * sizeof(*args));
  return bsm_spec_op(s, schema, own, n, out, 1);
}
