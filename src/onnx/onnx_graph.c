/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over a network: each layer by its function, inputs and outputs, and
 * the list of what ONNX does not have. */
#include "onnx/onnx_emitter.h"

/* ---- layers of one node ---- */

/* A node of the same inputs and outputs. */
static void same(bsm_onnx_emitter *e, const char *op,
                 const bsm_onnx_attribute *attributes, size_t count) {
  const bsm_layer *l = e->layer;
  const size_t n = l->inputs.len;
  const char **inputs =
      bsm_arena_alloc_array(e->arena, n + 1, sizeof(*inputs), 16);
  if (!inputs) {
    if (!e->status) e->status = BSM_FAIL_OOM();
    return;
  }
  for (size_t i = 0; i < n; i++) inputs[i] = bsm_onnx_in(e, i);
  bsm_onnx_out(e, 0, bsm_onnx_op(e, op, inputs, n, attributes, count));
}

static void softmax(bsm_onnx_emitter *e) {
  const bsm_onnx_attribute axis =
      bsm_onnx_int("axis", e->layer->p.softmax.axis);
  same(e, e->layer->p.softmax.log ? "LogSoftmax" : "Softmax", &axis, 1);
}

static void concatenation(bsm_onnx_emitter *e) {
  const bsm_onnx_attribute axis =
      bsm_onnx_int("axis", e->layer->p.concatenation.axis);
  same(e, "Concat", &axis, 1);
}

static void top_k(bsm_onnx_emitter *e) {
  const bsm_layer *l = e->layer;
  const char *const inputs[] = {bsm_onnx_in(e, 0),
                                bsm_onnx_ints(e, &l->p.top_k.k, 1)};
  const bsm_onnx_attribute attributes[] = {
      bsm_onnx_int("axis", l->p.top_k.axis),
      bsm_onnx_int("largest", l->p.top_k.largest), bsm_onnx_int("sorted", 1)};
  const char *outputs[2] = {NULL};
  bsm_onnx_op_to(e, "TopK", inputs, 2, attributes, 3, outputs, 2);
  bsm_onnx_out(e, 0, outputs[0]);
  bsm_onnx_out(e, 1, outputs[1]);
}

static void constant(bsm_onnx_emitter *e) {
  bsm_onnx_out(e, 0,
               bsm_onnx_weights_as(e, &e->layer->p.constant.weights,
                                   e->layer->outputs.items[0]->dims));
}

/* The sizes are known: they are a constant. */
static void shape(bsm_onnx_emitter *e) {
  bsm_onnx_out(e, 0, bsm_onnx_dims(e, e->layer->inputs.items[0]->dims));
}

static void expanded(bsm_onnx_emitter *e, const char *x) {
  bsm_onnx_out(
      e, 0,
      bsm_onnx_op2(e, "Expand", x,
                   bsm_onnx_dims(e, e->layer->outputs.items[0]->dims)));
}

static void fill(bsm_onnx_emitter *e) {
  const bsm_layer *l = e->layer;
  expanded(e, bsm_onnx_scalar(e, l->p.fill.dtype, l->p.fill.value));
}

static void expand(bsm_onnx_emitter *e) {
  expanded(e, bsm_onnx_in(e, 0));
}

static void cast(bsm_onnx_emitter *e) {
  bsm_onnx_out(e, 0,
               bsm_onnx_cast(e, bsm_onnx_in(e, 0), e->layer->p.cast.dtype));
}

static void select_elements(bsm_onnx_emitter *e) {
  same(e, "Where", NULL, 0);
}

static void parametric_relu(bsm_onnx_emitter *e) {
  same(e, "PRelu", NULL, 0);
}

static void identity(bsm_onnx_emitter *e) {
  same(e, "Identity", NULL, 0);
}

static void aten_call(bsm_onnx_emitter *e) {
  bsm_onnx_refuse(
      e, "it is left to the reference library, as no converter takes it");
}

static void plugin(bsm_onnx_emitter *e) {
  bsm_onnx_refuse(e, "it is a layer of a plug-in");
}

/* By kind; NULL: layers that only the builder makes. */
static void (*const writers[])(bsm_onnx_emitter *e) = {
    [BSM_LAYER_CONVOLUTION] = bsm_onnx_convolution,
    [BSM_LAYER_DECONVOLUTION] = bsm_onnx_convolution,
    [BSM_LAYER_POOLING] = bsm_onnx_pooling,
    [BSM_LAYER_ACTIVATION] = bsm_onnx_activation,
    [BSM_LAYER_SCALE] = bsm_onnx_scale,
    [BSM_LAYER_SOFTMAX] = softmax,
    [BSM_LAYER_CONCATENATION] = concatenation,
    [BSM_LAYER_ELEMENT_WISE] = bsm_onnx_element_wise,
    [BSM_LAYER_UNARY] = bsm_onnx_unary,
    [BSM_LAYER_SHUFFLE] = bsm_onnx_shuffle,
    [BSM_LAYER_REDUCE] = bsm_onnx_reduce,
    [BSM_LAYER_SCAN] = bsm_onnx_scan,
    [BSM_LAYER_TOP_K] = top_k,
    [BSM_LAYER_GATHER] = bsm_onnx_gather,
    [BSM_LAYER_SCATTER] = bsm_onnx_scatter,
    [BSM_LAYER_MATRIX_MULTIPLY] = bsm_onnx_matrix_multiply,
    [BSM_LAYER_CONSTANT] = constant,
    [BSM_LAYER_SLICE] = bsm_onnx_slice,
    [BSM_LAYER_RESIZE] = bsm_onnx_resize,
    [BSM_LAYER_SAMPLE] = bsm_onnx_sample,
    [BSM_LAYER_FILL] = fill,
    [BSM_LAYER_CAST] = cast,
    [BSM_LAYER_NORMALIZATION] = bsm_onnx_normalization,
    [BSM_LAYER_EXPAND] = expand,
    [BSM_LAYER_SELECT] = select_elements,
    [BSM_LAYER_PARAMETRIC_RELU] = parametric_relu,
    [BSM_LAYER_IDENTITY] = identity,
    [BSM_LAYER_SHAPE] = shape,
    [BSM_LAYER_QUANTIZE] = bsm_onnx_quantize,
    [BSM_LAYER_DEQUANTIZE] = bsm_onnx_quantize,
    [BSM_LAYER_RECURRENT] = bsm_onnx_recurrent,
    [BSM_LAYER_ATEN_CALL] = aten_call,
    [BSM_LAYER_PLUGIN] = plugin,
};

static void write_layer(bsm_onnx_emitter *e) {
  const size_t kind = (size_t)e->layer->kind;
  if (kind < sizeof(writers) / sizeof(writers[0]) && writers[kind]) {
    writers[kind](e);
  } else {
    bsm_onnx_refuse(e, "ONNX has no such layer");
  }
}

/* ---- the graph ---- */

static bsm_status write_inputs(bsm_onnx_emitter *e, bsm_onnx_value *out) {
  for (size_t i = 0; i < e->net->inputs.len; i++) {
    const bsm_itensor *t = e->net->inputs.items[i];
    if (!bsm_onnx_dtype(t->dtype)) {
      return BSM_FAIL(BSM_UNSUPPORTED, "ONNX has no dtype for input %s",
                      t->name);
    }
    out[i] =
        (bsm_onnx_value){.name = t->name, .dtype = t->dtype, .dims = t->dims};
    e->names[t->id] = t->name;
    if (!bsm_strmap_set(e->arena, &e->used, bsm_str_of(t->name),
                        (void *)(uintptr_t)t->name)) {
      return BSM_FAIL_OOM();
    }
  }
  return BSM_OK;
}

/* Outputs have names of their own, which no other value gets. */
static bsm_status reserve_outputs(bsm_onnx_emitter *e) {
  for (size_t i = 0; i < e->net->outputs.len; i++) {
    const char *name = e->net->output_names.items[i];
    if (bsm_strmap_get(&e->used, bsm_str_of(name))) {
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "ONNX does not let an output have the name of an input, "
                      "%s",
                      name);
    }
    if (!bsm_strmap_set(e->arena, &e->used, bsm_str_of(name),
                        (void *)(uintptr_t)name)) {
      return BSM_FAIL_OOM();
    }
  }
  return BSM_OK;
}

static void write_outputs(bsm_onnx_emitter *e, bsm_onnx_value *out) {
  e->layer = NULL;
  for (size_t i = 0; i < e->net->outputs.len; i++) {
    const bsm_itensor *t = e->net->outputs.items[i];
    const char *name = e->net->output_names.items[i];
    bsm_onnx_op_to(e, "Identity", &e->names[t->id], 1, NULL, 0, &name, 1);
    out[i] = (bsm_onnx_value){.name = name, .dtype = t->dtype, .dims = t->dims};
  }
}

/* Writes all layers. Those that cannot be are listed, each with its reason;
 * what reads them is given a name that stands for them. */
static bsm_status write_layers(bsm_onnx_emitter *e) {
  enum { LISTED = 20 };
  bsm_text list;
  size_t refused = 0;
  bsm_text_init(&list, e->arena);
  for (size_t i = 0; i < e->net->layers.len; i++) {
    const bsm_layer *l = e->net->layers.items[i];
    if (l->removed) continue;
    e->layer = l;
    write_layer(e);
    if (bsm_status_code(e->status) == BSM_UNSUPPORTED) {
      if (refused++ < LISTED) {
        bsm_text_printf(&list, "\n  %s %s: %s", bsm_layer_kind_name(l->kind),
                        l->name ? l->name : "", bsm_status_message(e->status));
      }
      bsm_status_free(e->status);
      e->status = BSM_OK;
      for (size_t k = 0; k < l->outputs.len; k++) {
        e->names[l->outputs.items[k]->id] = "refused";
      }
    }
    BSM_TRY(e->status);
  }
  if (!refused) return BSM_OK;
  if (refused > LISTED) {
    bsm_text_printf(&list, "\n  and %zu more", refused - LISTED);
  }
  if (list.failed) return BSM_FAIL_OOM();
  return BSM_FAIL(BSM_UNSUPPORTED,
                  "ONNX cannot express %zu of the model's layers:%s", refused,
                  list.data);
}

bsm_status bsm_onnx_from_network(const bsm_network *net, const char *name,
                                 bsm_arena *arena, bsm_onnx_graph *out) {
  bsm_onnx_emitter e = {.arena = arena, .net = net};
  bsm_onnx_value *inputs =
      BSM_NEW_ARRAY(arena, bsm_onnx_value, net->inputs.len + 1);
  bsm_onnx_value *outputs =
      BSM_NEW_ARRAY(arena, bsm_onnx_value, net->outputs.len + 1);
  e.names = BSM_NEW_ARRAY(arena, const char *, net->tensors.len + 1);
  BSM_TRY_ALLOC(inputs && outputs && e.names);
  BSM_TRY(write_inputs(&e, inputs));
  BSM_TRY(reserve_outputs(&e));
  BSM_TRY(write_layers(&e));
  write_outputs(&e, outputs);
  BSM_TRY(e.status);
  *out = (bsm_onnx_graph){.struct_size = sizeof(*out),
                          .name = name,
                          .opset = BSM_ONNX_OPSET,
                          .nodes = e.nodes.items,
                          .node_count = e.nodes.len,
                          .initializers = e.initializers.items,
                          .initializer_count = e.initializers.len,
                          .inputs = inputs,
                          .input_count = net->inputs.len,
                          .outputs = outputs,
                          .output_count = net->outputs.len};
  return BSM_OK;
}
