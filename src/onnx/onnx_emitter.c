/* SPDX-License-Identifier: Apache-2.0 */
/* Names, nodes and constants of an ONNX graph. */
#include "onnx/onnx_emitter.h"

#include <string.h>

#include "aten/tensor.h"

int bsm_onnx_dtype(bsm_dtype dtype) {
  switch (dtype) {
    case BSM_DTYPE_FLOAT:
      return 1;
    case BSM_DTYPE_UINT8:
      return 2;
    case BSM_DTYPE_INT8:
      return 3;
    case BSM_DTYPE_INT16:
      return 5;
    case BSM_DTYPE_INT32:
      return 6;
    case BSM_DTYPE_INT64:
      return 7;
    case BSM_DTYPE_BOOL:
      return 9;
    case BSM_DTYPE_HALF:
      return 10;
    case BSM_DTYPE_DOUBLE:
      return 11;
    case BSM_DTYPE_COMPLEX_FLOAT:
      return 14;
    case BSM_DTYPE_COMPLEX_DOUBLE:
      return 15;
    case BSM_DTYPE_BFLOAT16:
      return 16;
    default:
      return 0;
  }
}

static void fail(bsm_onnx_emitter *e, bsm_status status) {
  if (!e->status) {
    e->status = status;
  } else {
    bsm_status_free(status);
  }
}

void bsm_onnx_refuse(bsm_onnx_emitter *e, const char *reason) {
  if (!e->status) fail(e, BSM_FAIL(BSM_UNSUPPORTED, "%s", reason));
}

/* Memory in the arena; NULL after a failure. */
static void *allocate(bsm_onnx_emitter *e, size_t count, size_t size) {
  if (e->status) return NULL;
  void *memory = bsm_arena_alloc_array(e->arena, count ? count : 1, size, 16);
  if (!memory) fail(e, BSM_FAIL_OOM());
  return memory;
}

/* ---- names ---- */

static const char *new_name(bsm_onnx_emitter *e, const char *wanted) {
  const char *name = wanted;
  if (e->status) return NULL;
  for (; !name || !*name || bsm_strmap_get(&e->used, bsm_str_of(name));
       e->made++) {
    name = bsm_arena_printf(e->arena, "%s_%zu",
                            wanted && *wanted ? wanted : "v", e->made);
    if (!name) break;
  }
  if (!name || !(name = bsm_arena_strdup(e->arena, name)) ||
      !bsm_strmap_set(e->arena, &e->used, bsm_str_of(name),
                      (void *)(uintptr_t)name)) {
    fail(e, BSM_FAIL_OOM());
    return NULL;
  }
  return name;
}

/* ---- attributes ---- */

bsm_onnx_attribute bsm_onnx_int(const char *name, int64_t value) {
  return (bsm_onnx_attribute){.name = name, .kind = BSM_ONNX_INT, .i = value};
}

bsm_onnx_attribute bsm_onnx_float(const char *name, double value) {
  return (bsm_onnx_attribute){
      .name = name, .kind = BSM_ONNX_FLOAT, .f = (float)value};
}

bsm_onnx_attribute bsm_onnx_string(const char *name, const char *value) {
  return (bsm_onnx_attribute){
      .name = name, .kind = BSM_ONNX_STRING, .s = value};
}

bsm_onnx_attribute bsm_onnx_list(const char *name, const int64_t *values,
                                 size_t count) {
  return (bsm_onnx_attribute){
      .name = name, .kind = BSM_ONNX_INTS, .ints = values, .count = count};
}

/* ---- nodes ---- */

static const char *const *copy_names(bsm_onnx_emitter *e,
                                     const char *const *names, size_t count) {
  const char **copy = allocate(e, count, sizeof(*copy));
  for (size_t i = 0; copy && i < count; i++) {
    if (!names[i]) {
      if (!e->status) {
        fail(e, BSM_FAIL(BSM_INTERNAL,
                         "a node reads a value that is not "
                         "there"));
      }
      return NULL;
    }
    copy[i] = names[i];
  }
  return copy;
}

static bsm_onnx_attribute *copy_attributes(bsm_onnx_emitter *e,
                                           const bsm_onnx_attribute *from,
                                           size_t count) {
  bsm_onnx_attribute *copy = allocate(e, count, sizeof(*copy));
  for (size_t i = 0; copy && i < count; i++) {
    copy[i] = from[i];
    if (from[i].kind != BSM_ONNX_INTS) continue;
    int64_t *ints = allocate(e, from[i].count, sizeof(*ints));
    if (!ints) return NULL;
    memcpy(ints, from[i].ints, from[i].count * sizeof(*ints));
    copy[i].ints = ints;
  }
  return copy;
}

void bsm_onnx_op_to(bsm_onnx_emitter *e, const char *op,
                    const char *const *inputs, size_t input_count,
                    const bsm_onnx_attribute *attributes,
                    size_t attribute_count, const char **outputs,
                    size_t output_count) {
  bsm_onnx_node node = {.op = op,
                        .input_count = input_count,
                        .output_count = output_count,
                        .attribute_count = attribute_count};
  const char *layer = e->layer && e->layer->name ? e->layer->name : op;
  node.inputs = copy_names(e, inputs, input_count);
  node.attributes = copy_attributes(e, attributes, attribute_count);
  for (size_t i = 0; i < output_count; i++) {
    if (!outputs[i]) outputs[i] = new_name(e, NULL);
  }
  node.outputs = copy_names(e, outputs, output_count);
  if (e->status) return;
  node.name = bsm_arena_printf(e->arena, "%zu %s", e->nodes.len, layer);
  if (!node.name || !bsm_vec_push(e->arena, &e->nodes, node)) {
    fail(e, BSM_FAIL_OOM());
  }
}

const char *bsm_onnx_op(bsm_onnx_emitter *e, const char *op,
                        const char *const *inputs, size_t input_count,
                        const bsm_onnx_attribute *attributes,
                        size_t attribute_count) {
  const char *output = NULL;
  bsm_onnx_op_to(e, op, inputs, input_count, attributes, attribute_count,
                 &output, 1);
  return e->status ? NULL : output;
}

const char *bsm_onnx_op1(bsm_onnx_emitter *e, const char *op, const char *a) {
  return bsm_onnx_op(e, op, &a, 1, NULL, 0);
}

const char *bsm_onnx_op2(bsm_onnx_emitter *e, const char *op, const char *a,
                         const char *b) {
  const char *const inputs[] = {a, b};
  return bsm_onnx_op(e, op, inputs, 2, NULL, 0);
}

const char *bsm_onnx_op3(bsm_onnx_emitter *e, const char *op, const char *a,
                         const char *b, const char *c) {
  const char *const inputs[] = {a, b, c};
  return bsm_onnx_op(e, op, inputs, 3, NULL, 0);
}

/* ---- constants ---- */

const char *bsm_onnx_initializer(bsm_onnx_emitter *e, bsm_dtype dtype,
                                 bsm_dims dims, const void *data) {
  int64_t count;
  const char *name = new_name(e, NULL);
  if (!name) return NULL;
  if (!bsm_onnx_dtype(dtype) || !bsm_dims_numel(dims, &count)) {
    bsm_onnx_refuse(e, "a constant is of a dtype that ONNX lacks");
    return NULL;
  }
  const bsm_onnx_value value = {.name = name,
                                .dtype = dtype,
                                .dims = dims,
                                .data = data,
                                .bytes = (size_t)count * bsm_dtype_size(dtype)};
  if (!bsm_vec_push(e->arena, &e->initializers, value)) {
    fail(e, BSM_FAIL_OOM());
    return NULL;
  }
  return name;
}

const char *bsm_onnx_weights_as(bsm_onnx_emitter *e, const bsm_weights *w,
                                bsm_dims dims) {
  return bsm_onnx_initializer(e, w->dtype, dims, w->values);
}

const char *bsm_onnx_weights(bsm_onnx_emitter *e, const bsm_weights *w) {
  return bsm_onnx_weights_as(e, w, w->shape);
}

const char *bsm_onnx_scalar(bsm_onnx_emitter *e, bsm_dtype dtype,
                            double value) {
  bsm_tensor *wide, *tensor;
  if (e->status) return NULL;
  bsm_status status =
      bsm_tensor_from_double(e->arena, BSM_DTYPE_DOUBLE, value, &wide);
  if (!status) status = bsm_tensor_to_dtype(e->arena, wide, dtype, &tensor);
  if (status) {
    fail(e, status);
    return NULL;
  }
  return bsm_onnx_initializer(e, dtype, (bsm_dims){0}, bsm_tensor_data(tensor));
}

const char *bsm_onnx_ints(bsm_onnx_emitter *e, const int64_t *values,
                          size_t count) {
  int64_t *copy = allocate(e, count, sizeof(*copy));
  if (!copy) return NULL;
  if (count) memcpy(copy, values, count * sizeof(*copy));
  const bsm_dims dims = {1, {(int64_t)count}};
  return bsm_onnx_initializer(e, BSM_DTYPE_INT64, dims, copy);
}

const char *bsm_onnx_dims(bsm_onnx_emitter *e, bsm_dims dims) {
  return bsm_onnx_ints(e, dims.d, (size_t)dims.rank);
}

/* ---- values of the network ---- */

const char *bsm_onnx_in(bsm_onnx_emitter *e, size_t index) {
  if (e->status) return NULL;
  const bsm_itensor *t = e->layer->inputs.items[index];
  if (!e->names[t->id]) {
    fail(e, BSM_FAIL(BSM_INTERNAL, "%s is read before it is made", t->name));
  }
  return e->names[t->id];
}

void bsm_onnx_out(bsm_onnx_emitter *e, size_t index, const char *name) {
  if (e->status || !name) return;
  const bsm_itensor *t = e->layer->outputs.items[index];
  /* What the last node has made is called as the model calls it. */
  const bsm_onnx_node *last =
      e->nodes.len ? &e->nodes.items[e->nodes.len - 1] : NULL;
  for (size_t i = 0; last && i < last->output_count; i++) {
    if (last->outputs[i] != name) continue;
    name = new_name(e, t->name);
    ((const char **)(uintptr_t)last->outputs)[i] = name;
    break;
  }
  e->names[t->id] = name;
}

const char *bsm_onnx_cast(bsm_onnx_emitter *e, const char *x, bsm_dtype dtype) {
  const bsm_onnx_attribute to = bsm_onnx_int("to", bsm_onnx_dtype(dtype));
  if (!to.i) {
    bsm_onnx_refuse(e, "a cast to a dtype that ONNX lacks");
    return NULL;
  }
  return bsm_onnx_op(e, "Cast", &x, 1, &to, 1);
}
