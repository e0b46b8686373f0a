/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the reference library. Inputs and outputs are row-major, because
 * some ops (views) depend on strides. */
#include "builder/emit_internal.h"
#include "engine/ivalue_bytes.h"

_Static_assert((int)BSM_ATEN_TENSOR == BSM_RESULT_TENSOR, "one numbering");
_Static_assert((int)BSM_ATEN_UNUSED == BSM_RESULT_UNUSED, "one numbering");

/* Copies the op, its arguments as bytes and its results to the plan's arena. */
static bsm_status fill_call(bsm_emitter *e, const bsm_layer *layer,
                            bsm_step_aten_call *out) {
  const bsm_aten_call_params *call = &layer->p.aten_call;
  const size_t result_bytes = call->result_count * sizeof(int32_t);
  bsm_text bytes;
  bsm_text_init(&bytes, e->scratch);
  BSM_TRY(bsm_ivalues_to_bytes(&bytes, call->args, call->arg_count,
                               call->tensors, call->tensor_count));
  if (bytes.len > UINT32_MAX) {
    return BSM_FAIL(BSM_LIMIT, "%zu bytes of arguments", bytes.len);
  }
  int32_t *results = BSM_NEW_ARRAY(e->arena, int32_t, call->result_count + 1);
  uint8_t *args = BSM_NEW_ARRAY(e->arena, uint8_t, bytes.len + 1);
  out->op = bsm_arena_strdup(e->arena, call->op);
  if (!results || !args || !out->op) return BSM_FAIL_OOM();
  if (result_bytes) memcpy(results, call->results, result_bytes);
  memcpy(args, bytes.data, bytes.len);
  out->results = results;
  out->result_count = (uint32_t)call->result_count;
  out->args = args;
  out->args_size = (uint32_t)bytes.len;
  return BSM_OK;
}

bsm_status bsm_build_aten_call(bsm_emitter *e, const bsm_layer *layer) {
  bsm_step_aten_call params = {0};
  const size_t n_in = layer->inputs.len, n_out = layer->outputs.len;
  uint32_t *ids = BSM_NEW_ARRAY(e->scratch, uint32_t, n_in + n_out + 1);
  BSM_TRY_ALLOC(ids);
  BSM_TRY(fill_call(e, layer, &params));
  for (size_t i = 0; i < n_in; i++) {
    BSM_TRY(bsm_build_as_contiguous(e, layer->inputs.items[i], &ids[i]));
  }
  for (size_t i = 0; i < n_out; i++) {
    const bsm_itensor *y = layer->outputs.items[i];
    BSM_TRY(bsm_build_new(e, y->name, y->dtype, bsm_layout_contiguous(y->dims),
                          &ids[n_in + i]));
    e->value[y->id] = ids[n_in + i];
  }
  const bsm_step_spec spec = {
      BSM_STEP_ATEN_CALL, layer->name,     ids,    (uint32_t)n_in,
      ids + n_in,         (uint32_t)n_out, &params};
  return bsm_build_step(e, &spec, NULL);
}
