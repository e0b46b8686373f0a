/* SPDX-License-Identifier: Apache-2.0 */
/* The network itself: creation, layers and tensors, names, the kept error.
 *
 * The network keeps the first failure of its adders and setters, so that code
 * that builds a chain of layers needs only one check at the end. */
#include "network/network_internal.h"

#include <stdio.h>
#include <string.h>

/* A larger network is a mistake. The limit also keeps ids in 32 bits. */
#define MAX_LAYERS 16000000u

bsm_status bsm_network_create(bsm_arena *arena, const bsm_logger *logger,
                              bsm_network **out) {
  *out = NULL;
  bsm_network *net = BSM_NEW(arena, bsm_network);
  BSM_TRY_ALLOC(net);
  net->arena = arena;
  net->logger = logger;
  *out = net;
  return BSM_OK;
}

void bsm_network_release(bsm_network *net) {
  if (!net) return;
  bsm_status_free(net->error);
  net->error = BSM_OK;
}

void bsm_network_fail(bsm_network *net, bsm_status status) {
  if (!status) return;
  if (net->error) {
    bsm_status_free(status);
  } else {
    net->error = status;
  }
}

const char *bsm_layer_label(const bsm_layer *layer, char *buffer, size_t size) {
  if (layer->name) {
    snprintf(buffer, size, "%s \"%.100s\"", bsm_layer_kind_name(layer->kind),
             layer->name);
  } else {
    snprintf(buffer, size, "%s %u", bsm_layer_kind_name(layer->kind),
             (unsigned)layer->id);
  }
  return buffer;
}

static bsm_itensor *new_tensor(bsm_network *net, bsm_dtype dtype,
                               bsm_dims dims) {
  bsm_itensor *tensor = BSM_NEW(net->arena, bsm_itensor);
  if (!tensor) return NULL;
  tensor->net = net;
  tensor->id = net->next_tensor_id++;
  tensor->name = bsm_arena_printf(net->arena, "t%u", (unsigned)tensor->id);
  tensor->made_up = tensor->name;
  tensor->dtype = dtype;
  tensor->dims = dims;
  if (!tensor->name || !bsm_vec_push(net->arena, &net->tensors, tensor)) {
    return NULL;
  }
  return tensor;
}

/* A tensor of a stale layer has no dims: reports why the layer is stale. */
static bsm_status check_usable(const bsm_itensor *tensor) {
  bsm_layer *layer = tensor->producer;
  if (!layer || !layer->stale) return BSM_OK;
  layer->stale_told = true;
  bsm_status status = bsm_layer_infer(layer);
  if (status) return status;
  return BSM_FAIL(BSM_INTERNAL, "a layer is stale without a reason");
}

static bsm_status check_inputs(const bsm_network *net, bsm_layer_kind kind,
                               bsm_itensor *const *inputs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!inputs[i]) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s: input %zu is NULL",
                      bsm_layer_kind_name(kind), i);
    }
    if (inputs[i]->net != net) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "%s: input %zu (\"%s\") belongs to another network",
                      bsm_layer_kind_name(kind), i, inputs[i]->name);
    }
    BSM_TRY(check_usable(inputs[i]));
  }
  return BSM_OK;
}

bsm_status bsm_network_new_layer(bsm_network *net, bsm_layer_kind kind,
                                 bsm_itensor *const *inputs, size_t input_count,
                                 size_t outputs, bsm_layer **out) {
  *out = NULL;
  BSM_TRY(check_inputs(net, kind, inputs, input_count));
  if (net->next_layer_id >= MAX_LAYERS) {
    return BSM_FAIL(BSM_LIMIT, "a network of more than %u layers", MAX_LAYERS);
  }
  bsm_layer *layer = BSM_NEW(net->arena, bsm_layer);
  BSM_TRY_ALLOC(layer);
  layer->net = net;
  layer->kind = kind;
  layer->id = net->next_layer_id++;
  for (size_t i = 0; i < input_count; i++) {
    if (!bsm_vec_push(net->arena, &layer->inputs, inputs[i])) {
      return BSM_FAIL_OOM();
    }
  }
  for (size_t i = 0; i < outputs; i++) {
    bsm_itensor *tensor = new_tensor(net, BSM_DTYPE_UNDEFINED, (bsm_dims){0});
    BSM_TRY_ALLOC(tensor);
    tensor->producer = layer;
    tensor->index = i;
    if (!bsm_vec_push(net->arena, &layer->outputs, tensor)) {
      return BSM_FAIL_OOM();
    }
  }
  if (!bsm_vec_push(net->arena, &net->layers, layer)) return BSM_FAIL_OOM();
  *out = layer;
  return BSM_OK;
}

/* Infers the shapes of a layer, and updates its stale flag and the count of
 * stale layers. Returns the failure. */
static bsm_status infer_and_mark(bsm_layer *layer) {
  bsm_status status = BSM_OK;
  for (size_t i = 0; !status && i < layer->inputs.len; i++) {
    const bsm_layer *producer = layer->inputs.items[i]->producer;
    if (producer && producer->stale) {
      status = BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "input %zu comes from a layer that has no shape", i);
    }
  }
  if (!status) status = bsm_layer_infer(layer);
  bool stale = status != BSM_OK;
  if (stale != layer->stale) {
    layer->stale = stale;
    if (stale) {
      layer->net->stale_count++;
    } else {
      layer->net->stale_count--;
    }
  }
  layer->stale_told = false;
  if (stale) {
    for (size_t i = 0; i < layer->outputs.len; i++) {
      layer->outputs.items[i]->dims = (bsm_dims){0};
    }
  }
  return status;
}

void bsm_layer_refresh(bsm_layer *layer) {
  bsm_network *net = layer->net;
  bsm_dims before[2] = {{0}, {0}};
  for (size_t i = 0; i < layer->outputs.len && i < 2; i++) {
    before[i] = layer->outputs.items[i]->dims;
  }
  bsm_status_free(infer_and_mark(layer));
  bool changed = layer->stale;
  for (size_t i = 0; i < layer->outputs.len && i < 2; i++) {
    changed |= !bsm_same_dims(before[i], layer->outputs.items[i]->dims);
  }
  if (!changed || net->layers.len == 0 ||
      net->layers.items[net->layers.len - 1] == layer) {
    return;
  }
  size_t at = net->layers.len;
  while (at > 0 && net->layers.items[at - 1] != layer) at--;
  for (size_t i = at; i < net->layers.len; i++) {
    bsm_status_free(infer_and_mark(net->layers.items[i]));
  }
}

bsm_status bsm_network_take_error(bsm_network *net) {
  bsm_status status = net->error;
  net->error = BSM_OK;
  if (status || net->stale_count == 0) return status;
  for (size_t i = 0; !status && i < net->layers.len; i++) {
    bsm_layer *layer = net->layers.items[i];
    if (!layer->stale || layer->stale_told) continue;
    status = infer_and_mark(layer);
    layer->stale_told = true;
  }
  return status;
}

bsm_itensor *bsm_network_add_input(bsm_network *net, const char *name,
                                   bsm_dtype dtype, bsm_dims dims) {
  int64_t count;
  if (!name || !*name) {
    bsm_network_fail(
        net, BSM_FAIL(BSM_INVALID_ARGUMENT, "a network input has no name"));
    return NULL;
  }
  if (bsm_strmap_get(&net->input_index, bsm_str_of(name))) {
    bsm_network_fail(net, BSM_FAIL(BSM_INVALID_ARGUMENT,
                                   "two network inputs named \"%s\"", name));
    return NULL;
  }
  if (!bsm_network_dtype_ok(dtype)) {
    bsm_network_fail(net, BSM_FAIL(BSM_UNSUPPORTED,
                                   "input \"%s\": dtype %s is not supported",
                                   name, bsm_dtype_name(dtype)));
    return NULL;
  }
  if (dims.rank < 0 || dims.rank > BSM_MAX_RANK ||
      !bsm_count_elements(dims, &count)) {
    bsm_network_fail(
        net, BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "input \"%s\": dims %s are not static and in range", name,
                      bsm_dims_str(dims)));
    return NULL;
  }
  bsm_itensor *tensor = new_tensor(net, dtype, dims);
  if (tensor) tensor->name = bsm_arena_strdup(net->arena, name);
  if (!tensor || !tensor->name ||
      !bsm_strmap_set(net->arena, &net->input_index, bsm_str_of(tensor->name),
                      tensor) ||
      !bsm_vec_push(net->arena, &net->inputs, tensor)) {
    bsm_network_fail(net, BSM_FAIL_OOM());
    return NULL;
  }
  return tensor;
}

bsm_status bsm_network_mark_output(bsm_network *net, bsm_itensor *tensor,
                                   const char *name) {
  if (!tensor || tensor->net != net) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "output \"%s\" is not a tensor of this network",
                    name ? name : "");
  }
  if (!name || !*name) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "a network output has no name");
  }
  if (bsm_strmap_get(&net->output_index, bsm_str_of(name))) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "two network outputs named \"%s\"",
                    name);
  }
  BSM_TRY(check_usable(tensor));
  char *copy = bsm_arena_strdup(net->arena, name);
  BSM_TRY_ALLOC(copy);
  if (!bsm_strmap_set(net->arena, &net->output_index, bsm_str_of(copy), copy) ||
      !bsm_vec_push(net->arena, &net->output_names, (const char *)copy) ||
      !bsm_vec_push(net->arena, &net->outputs, tensor)) {
    return BSM_FAIL_OOM();
  }
  return BSM_OK;
}

void bsm_layer_set_name(bsm_layer *layer, const char *name) {
  if (!layer || !name) return;
  const char *copy = bsm_arena_strdup(layer->net->arena, name);
  if (copy) {
    layer->name = copy;
  } else {
    bsm_network_fail(layer->net, BSM_FAIL_OOM());
  }
}

const char *bsm_layer_name(const bsm_layer *layer) {
  return layer->name ? layer->name : "";
}

bsm_layer_kind bsm_layer_get_kind(const bsm_layer *layer) {
  return layer->kind;
}

size_t bsm_layer_input_count(const bsm_layer *layer) {
  return layer->inputs.len;
}

bsm_itensor *bsm_layer_input(const bsm_layer *layer, size_t index) {
  return index < layer->inputs.len ? layer->inputs.items[index] : NULL;
}

size_t bsm_layer_output_count(const bsm_layer *layer) {
  return layer->outputs.len;
}

bsm_itensor *bsm_layer_output(const bsm_layer *layer, size_t index) {
  if (!layer || index >= layer->outputs.len) return NULL;
  return layer->outputs.items[index];
}

bsm_dims bsm_itensor_dims(const bsm_itensor *tensor) {
  return tensor ? tensor->dims : (bsm_dims){0};
}

bsm_dtype bsm_itensor_dtype(const bsm_itensor *tensor) {
  return tensor ? tensor->dtype : BSM_DTYPE_UNDEFINED;
}

const char *bsm_itensor_name(const bsm_itensor *tensor) {
  return tensor->name;
}

void bsm_itensor_set_name(bsm_itensor *tensor, const char *name) {
  if (!tensor || !name) return;
  const char *copy = bsm_arena_strdup(tensor->net->arena, name);
  if (copy) {
    tensor->name = copy;
  } else {
    bsm_network_fail(tensor->net, BSM_FAIL_OOM());
  }
}
