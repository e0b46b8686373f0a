/* SPDX-License-Identifier: Apache-2.0 */
/* Finding what int8 can compute. */
#include "quantization/quantizable.h"

#include "builder/constants.h"

#define NO_GROUP UINT32_MAX

static bool is_float(const bsm_itensor *t) {
  return t->dtype == BSM_DTYPE_FLOAT;
}

static bool is_computed(const bsm_itensor *t) {
  return !t->producer || (t->producer->kind != BSM_LAYER_CONSTANT &&
                          t->producer->kind != BSM_LAYER_FILL);
}

static bool is_quantized(const bsm_itensor *t) {
  return t->producer && t->producer->kind == BSM_LAYER_DEQUANTIZE;
}

static double elements(bsm_dims dims) {
  double count = 1;
  for (int32_t i = 0; i < dims.rank; i++) count *= (double)dims.d[i];
  return count;
}

/* ---- sites ---- */

static bool convolution_site(bsm_layer *layer, bsm_site *out) {
  const bsm_convolution_params *p = &layer->p.convolution;
  const bsm_dims y = layer->outputs.items[0]->dims;
  if (p->kernel.dtype != BSM_DTYPE_FLOAT || p->deferred.cast || p->has_scale ||
      p->epilogue.has_residual || !p->kernel.count) {
    return false;
  }
  const double places = layer->kind == BSM_LAYER_CONVOLUTION
                            ? elements(y) / (double)p->out_maps
                            : elements(layer->inputs.items[0]->dims) /
                                  (double)layer->inputs.items[0]->dims.d[1];
  out->input = layer->inputs.items[0];
  out->sum_axis = 1;
  out->out_channels = p->out_maps;
  out->operations = 2 * places * (double)p->kernel.count;
  return true;
}

/* The constant operand is a matrix, or some of them, that is no vector. */
static bool product_site(bsm_layer *layer, bsm_site *out) {
  bsm_itensor *a = layer->inputs.items[0], *b = layer->inputs.items[1];
  const bool first = bsm_constant_of(a, BSM_DTYPE_FLOAT) != NULL;
  if (layer->inputs.len != 2 || layer->p.matrix_multiply.parts > 1 ||
      first == (bsm_constant_of(b, BSM_DTYPE_FLOAT) != NULL)) {
    return false;
  }
  const bsm_matrix_operation op =
      first ? layer->p.matrix_multiply.op_b : layer->p.matrix_multiply.op_a;
  const bsm_dims y = layer->outputs.items[0]->dims;
  out->matrix = first ? a : b;
  out->input = first ? b : a;
  if (out->matrix->dims.rank < 2 || out->input->dims.rank < 2) return false;
  const bool last = first == (op != BSM_MATRIX_NONE);
  out->sum_axis = out->input->dims.rank - (last ? 1 : 2);
  out->out_channels = y.d[y.rank - (first ? 2 : 1)];
  out->operations = 2 * elements(y) * (double)out->input->dims.d[out->sum_axis];
  return true;
}

static bool is_site(bsm_layer *layer, bsm_site *out) {
  *out = (bsm_site){.layer = layer};
  if (layer->removed || layer->outputs.len != 1 ||
      !is_float(layer->outputs.items[0])) {
    return false;
  }
  const bool fits = layer->kind == BSM_LAYER_CONVOLUTION ||
                            layer->kind == BSM_LAYER_DECONVOLUTION
                        ? convolution_site(layer, out)
                    : layer->kind == BSM_LAYER_MATRIX_MULTIPLY
                        ? product_site(layer, out)
                        : false;
  out->name = layer->outputs.items[0]->name;
  return fits && is_float(out->input) && is_computed(out->input) &&
         !is_quantized(out->input) && out->operations > 0;
}

bool bsm_reads_quantized(const bsm_layer *layer) {
  switch (layer->kind) {
    case BSM_LAYER_CONVOLUTION:
    case BSM_LAYER_DECONVOLUTION:
    case BSM_LAYER_MATRIX_MULTIPLY:
    case BSM_LAYER_POOLING:
    case BSM_LAYER_CONCATENATION:
    case BSM_LAYER_SHUFFLE:
    case BSM_LAYER_SLICE:
    case BSM_LAYER_EXPAND:
    case BSM_LAYER_IDENTITY:
    case BSM_LAYER_RESIZE:
      return true;
    case BSM_LAYER_ELEMENT_WISE:
      return layer->p.element_wise.operation == BSM_ELEMENT_WISE_SUM;
    default:
      return false;
  }
}

/* ---- tensors ---- */

/* Whether the outputs of a layer are values of its inputs. */
static bool moves(const bsm_layer *layer) {
  switch (layer->kind) {
    case BSM_LAYER_CONCATENATION:
    case BSM_LAYER_SHUFFLE:
    case BSM_LAYER_EXPAND:
    case BSM_LAYER_IDENTITY:
      return true;
    case BSM_LAYER_SLICE:
      return !layer->p.slice.has_mode;
    case BSM_LAYER_POOLING:
      return layer->p.pooling.type == BSM_POOLING_MAX;
    case BSM_LAYER_RESIZE:
      return layer->p.resize.mode == BSM_RESIZE_NEAREST;
    default:
      return false;
  }
}

static uint32_t root(const bsm_quantizable *q, uint32_t id) {
  while (q->group[id] != id) id = q->group[id];
  return id;
}

static bsm_status add_tensor(bsm_quantizable *q, bsm_arena *arena,
                             bsm_itensor *t) {
  if (q->group[t->id] != NO_GROUP) return BSM_OK;
  q->group[t->id] = t->id;
  BSM_TRY_ALLOC(bsm_vec_push(arena, &q->tensors, t));
  return BSM_OK;
}

/* What the layer reads is quantized as what it makes. */
static bsm_status join(bsm_quantizable *q, bsm_arena *arena,
                       const bsm_layer *layer) {
  const uint32_t made = layer->outputs.items[0]->id;
  for (size_t i = 0; i < layer->inputs.len; i++) {
    bsm_itensor *t = layer->inputs.items[i];
    if (!is_float(t) || !is_computed(t) || is_quantized(t)) continue;
    BSM_TRY(add_tensor(q, arena, t));
    q->group[root(q, t->id)] = root(q, made);
  }
  return BSM_OK;
}

bsm_status bsm_find_quantizable(const bsm_network *net, bsm_arena *arena,
                                bsm_quantizable *out) {
  bsm_quantizable q = {.tensor_count = net->tensors.len};
  q.group = BSM_NEW_ARRAY(arena, uint32_t, q.tensor_count + 1);
  q.channel_axis = BSM_NEW_ARRAY(arena, int32_t, q.tensor_count + 1);
  if (!q.group || !q.channel_axis) return BSM_FAIL_OOM();
  for (size_t i = 0; i < q.tensor_count; i++) {
    q.group[i] = NO_GROUP;
    q.channel_axis[i] = -1;
  }
  for (size_t i = 0; i < net->layers.len; i++) {
    bsm_site site;
    if (!is_site(net->layers.items[i], &site)) continue;
    BSM_TRY_ALLOC(bsm_vec_push(arena, &q.sites, site));
    BSM_TRY(add_tensor(&q, arena, site.input));
    if (q.channel_axis[site.input->id] < 0) {
      q.channel_axis[site.input->id] = site.sum_axis;
    }
  }
  for (size_t i = net->layers.len; i-- > 0;) {
    const bsm_layer *layer = net->layers.items[i];
    if (!layer->removed && moves(layer) &&
        q.group[layer->outputs.items[0]->id] != NO_GROUP) {
      BSM_TRY(join(&q, arena, layer));
    }
  }
  for (size_t i = 0; i < q.tensors.len; i++) {
    const uint32_t id = q.tensors.items[i]->id;
    q.group[id] = root(&q, id);
  }
  *out = q;
  return BSM_OK;
}
