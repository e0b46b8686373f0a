/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the reference library. */
#include "lowering/specialize/values/reference_op.h"

const bsm_aten_op *bsm_spec_find_op(const bsm_spec *s,
                                    const bsm_schema *schema) {
  return bsm_aten_find(s->aten, bsm_str_of(schema->qualified));
}

static bsm_op_ctx op_ctx(const bsm_spec *s) {
  return (bsm_op_ctx){
      .arena = s->cx->arena,
      .logger = s->logger,
      .max_tensor_bytes = (size_t)s->cx->limits.max_tensor_bytes,
      .work = &s->cx->work,
      .may_leave = !s->policy.own_objects};
}

bsm_status bsm_spec_call(bsm_spec *s, const bsm_aten_op *op,
                         const bsm_ivalue *args, size_t n, bsm_ivalue *outs,
                         size_t n_outs) {
  bsm_op_ctx cx = op_ctx(s);
  s->cx->work.refused = false;
  return bsm_aten_call(&cx, op, args, n, outs, n_outs);
}

bool bsm_spec_is_left(bsm_spec *s, const bsm_status status) {
  const bool left = bsm_status_code(status) == BSM_LIMIT &&
                    s->cx->work.refused && !s->policy.own_objects;
  if (left) {
    bsm_log(s->logger, BSM_LOG_LEVEL_INFO,
            "%s: a constant is left to the engine: %s", bsm_spec_where(s),
            bsm_status_message(status));
  }
  return left;
}

bsm_status bsm_spec_call_for_shapes(bsm_spec *s, const bsm_aten_op *op,
                                    const bsm_ivalue *args, size_t n,
                                    bsm_ivalue *outs, size_t n_outs) {
  bsm_op_ctx cx = op_ctx(s);
  cx.no_data = true;
  return bsm_aten_call(&cx, op, args, n, outs, n_outs);
}
