/* SPDX-License-Identifier: Apache-2.0 */
/* The layer that calls an op of the reference library. */
#include "aten/tensor.h"
#include "network/network_internal.h"

bsm_status bsm_network_add_aten_call(bsm_network *net,
                                     bsm_itensor *const *inputs,
                                     size_t input_count,
                                     const bsm_aten_call_params *call,
                                     bsm_layer **out) {
  const size_t layers = net->layers.len, tensors = net->tensors.len;
  *out = NULL;
  bsm_layer *layer;
  bsm_status status =
      bsm_network_new_layer(net, BSM_LAYER_ATEN_CALL, inputs, input_count,
                            call->output_count, &layer);
  if (!status) {
    layer->p.aten_call = *call;
    status = bsm_layer_infer(layer);
  }
  if (status) {
    net->layers.len = layers;
    net->tensors.len = tensors;
    net->next_tensor_id = (uint32_t)tensors;
    return status;
  }
  *out = layer;
  return BSM_OK;
}

bsm_status bsm_infer_aten_call(bsm_layer *layer) {
  const bsm_aten_call_params *call = &layer->p.aten_call;
  if (call->tensor_count != layer->inputs.len ||
      call->output_count != layer->outputs.len || call->output_count == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s: %zu inputs and %zu outputs",
                    call->op, layer->inputs.len, layer->outputs.len);
  }
  for (size_t i = 0; i < call->tensor_count; i++) {
    const bsm_itensor *in = layer->inputs.items[i];
    const bsm_tensor *t = call->tensors[i];
    if (in->dtype != t->dtype || !bsm_same_dims(in->dims, t->sizes)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "%s: input %zu is %s%s, the call is for %s%s", call->op,
                      i, bsm_dtype_name(in->dtype), bsm_dims_str(in->dims),
                      bsm_dtype_name(t->dtype), bsm_dims_str(t->sizes));
    }
  }
  for (size_t i = 0; i < call->output_count; i++) {
    BSM_TRY(bsm_layer_set_output(layer, i, call->outputs[i].dtype,
                                 call->outputs[i].dims));
  }
  return BSM_OK;
}
