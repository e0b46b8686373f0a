/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier: checks every invariant of a network. Debug builds and tests run
 * it after each pass of the builder. */
#include "network/network_internal.h"

static bsm_status verify_tensor(const bsm_network *net, const bsm_itensor *t,
                                const bsm_ptrmap *made, const bsm_layer *layer,
                                size_t index) {
  char label[BSM_LAYER_LABEL_SIZE];
  if (!t || t->net != net || !bsm_ptrmap_get(made, t)) {
    return BSM_FAIL(BSM_INTERNAL, "input %zu of layer %s is not made before it",
                    index, bsm_layer_label(layer, label, sizeof label));
  }
  return BSM_OK;
}

/* Compares the shapes of a layer with those that are inferred for a copy of it.
 */
static bsm_status verify_shapes(const bsm_layer *layer, bsm_arena *scratch) {
  char label[BSM_LAYER_LABEL_SIZE];
  bsm_layer copy = *layer;
  const size_t n = layer->outputs.len;
  bsm_itensor *tensors = BSM_NEW_ARRAY(scratch, bsm_itensor, n + 1);
  bsm_itensor **outputs = BSM_NEW_ARRAY(scratch, bsm_itensor *, n + 1);
  if (!tensors || !outputs) return BSM_FAIL_OOM();
  for (size_t i = 0; i < n; i++) outputs[i] = &tensors[i];
  copy.outputs.items = outputs;
  BSM_TRY(bsm_layer_infer(&copy));
  for (size_t i = 0; i < layer->outputs.len; i++) {
    const bsm_itensor *t = layer->outputs.items[i];
    if (t->producer != layer || t->index != i) {
      return BSM_FAIL(BSM_INTERNAL,
                      "output %zu of layer %s names another producer", i,
                      bsm_layer_label(layer, label, sizeof label));
    }
    if (t->dtype != tensors[i].dtype ||
        !bsm_same_dims(t->dims, tensors[i].dims)) {
      return BSM_FAIL(
          BSM_INTERNAL, "output %zu of layer %s is %s%s, inferred as %s%s", i,
          bsm_layer_label(layer, label, sizeof label), bsm_dtype_name(t->dtype),
          bsm_dims_str(t->dims), bsm_dtype_name(tensors[i].dtype),
          bsm_dims_str(tensors[i].dims));
    }
  }
  return BSM_OK;
}

static bsm_status verify_layers(const bsm_network *net, bsm_arena *scratch,
                                bsm_ptrmap *made) {
  for (size_t i = 0; i < net->layers.len; i++) {
    const bsm_layer *layer = net->layers.items[i];
    if (layer->removed) continue;
    for (size_t k = 0; k < layer->inputs.len; k++) {
      BSM_TRY(verify_tensor(net, layer->inputs.items[k], made, layer, k));
    }
    BSM_TRY(verify_shapes(layer, scratch));
    for (size_t k = 0; k < layer->outputs.len; k++) {
      bsm_itensor *t = layer->outputs.items[k];
      if (!bsm_ptrmap_set(scratch, made, t, t)) return BSM_FAIL_OOM();
    }
  }
  return BSM_OK;
}

static bsm_status verify(const bsm_network *net, bsm_arena *scratch) {
  bsm_ptrmap made = {0};
  for (size_t i = 0; i < net->inputs.len; i++) {
    bsm_itensor *t = net->inputs.items[i];
    if (t->producer) {
      return BSM_FAIL(BSM_INTERNAL, "network input \"%s\" has a producer",
                      t->name);
    }
    if (!bsm_ptrmap_set(scratch, &made, t, t)) return BSM_FAIL_OOM();
  }
  BSM_TRY(verify_layers(net, scratch, &made));
  if (net->outputs.len != net->output_names.len) {
    return BSM_FAIL(BSM_INTERNAL, "%zu outputs with %zu names",
                    net->outputs.len, net->output_names.len);
  }
  for (size_t i = 0; i < net->outputs.len; i++) {
    if (!bsm_ptrmap_get(&made, net->outputs.items[i])) {
      return BSM_FAIL(BSM_INTERNAL,
                      "network output \"%s\" is not made by a "
                      "layer of the network",
                      net->output_names.items[i]);
    }
  }
  return BSM_OK;
}

bsm_status bsm_network_verify(const bsm_network *net) {
  bsm_arena scratch;
  bsm_arena_init(&scratch, net->arena->allocator);
  bsm_status status = verify(net, &scratch);
  bsm_arena_destroy(&scratch);
  return status;
}
