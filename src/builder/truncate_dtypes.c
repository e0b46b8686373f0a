/* SPDX-License-Identifier: Apache-2.0 */
/* Narrows a network to int32 and float in one walk: weights are converted,
 * shapes and dtypes are inferred again, and casts are added where a wide tensor
 * is made (inputs, layers whose dtype is fixed) or required. */
#include "builder/truncate_dtypes.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "aten/tensor.h"
#include "builder/uses.h"

typedef struct truncation {
  bsm_network *net;
  bsm_arena scratch;
  const bsm_logger *logger;
  bsm_text *list;
  size_t listed;
  size_t tensor_count;         /* of the network before the pass */
  bsm_itensor **narrow;        /* by tensor id: its cast, or NULL */
  bsm_dtype *declared;         /* by tensor id: its dtype before */
  BSM_VEC(bsm_layer *) layers; /* the new order */
} truncation;

static bsm_dtype narrow_dtype(bsm_dtype dtype) {
  switch (dtype) {
    case BSM_DTYPE_INT64:
      return BSM_DTYPE_INT32;
    case BSM_DTYPE_DOUBLE:
      return BSM_DTYPE_FLOAT;
    default:
      return dtype;
  }
}

static bool is_wide(bsm_dtype dtype) {
  return narrow_dtype(dtype) != dtype;
}

static void note(truncation *t, const char *what, const char *name,
                 bsm_dtype dtype, bsm_dims dims) {
  bsm_log(t->logger, BSM_LOG_LEVEL_INFO, "%s %s: %s%s becomes %s", what, name,
          bsm_dtype_name(dtype), bsm_dims_str(dims),
          bsm_dtype_name(narrow_dtype(dtype)));
  if (t->listed++ >= BSM_TRUNCATE_LISTED) return;
  bsm_text_printf(t->list, "%s%s %s %s%s", t->listed > 1 ? "; " : "", what,
                  name, bsm_dtype_name(dtype), bsm_dims_str(dims));
}

/* ---- weights ---- */

static bsm_status check_value(bsm_dtype dtype, const void *values, int64_t i,
                              const char *what, const char *name) {
  if (dtype == BSM_DTYPE_INT64) {
    const int64_t v = ((const int64_t *)values)[i];
    if (v >= INT32_MIN && v <= INT32_MAX) return BSM_OK;
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "truncate_long_and_double: element %" PRId64
                    " of the %s of %s is %" PRId64
                    ", which does not fit int32: compile without truncation",
                    i, what, name, v);
  }
  const double v = ((const double *)values)[i];
  if (!isfinite(v) || fabs(v) <= (double)FLT_MAX) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "truncate_long_and_double: element %" PRId64
                  " of the %s of %s is %g, which does not fit float32: compile "
                  "without truncation",
                  i, what, name, v);
}

static bsm_status narrow_weights(truncation *t, const bsm_layer *layer,
                                 const char *what, bsm_weights *w) {
  if (!is_wide(w->dtype)) return BSM_OK;
  const bsm_dtype dtype = narrow_dtype(w->dtype);
  const char *name = layer->name ? layer->name : "a layer without a name";
  for (int64_t i = 0; i < w->count; i++) {
    BSM_TRY(check_value(w->dtype, w->values, i, what, name));
  }
  if (w->count > 0) {
    bsm_tensor *from, *to;
    const bsm_array values = {.data = (void *)(uintptr_t)w->values,
                              .dtype = w->dtype,
                              .dims = {1, {w->count}}};
    BSM_TRY(bsm_tensor_from_array(t->net->arena, &values, true, &from));
    BSM_TRY(bsm_tensor_to_dtype(t->net->arena, from, dtype, &to));
    note(t, what, name, w->dtype, w->shape);
    w->values = bsm_tensor_data(to);
  }
  w->dtype = dtype;
  return BSM_OK;
}

static bsm_status narrow_fill(bsm_layer *layer) {
  if (!is_wide(layer->p.fill.dtype)) return BSM_OK;
  const char *name = layer->name ? layer->name : "a layer without a name";
  const double value = layer->p.fill.value;
  const bool fits = layer->p.fill.dtype == BSM_DTYPE_INT64
                        ? value >= INT32_MIN && value <= INT32_MAX
                        : !isfinite(value) || fabs(value) <= (double)FLT_MAX;
  if (!fits) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "truncate_long_and_double: %s is filled with %g, which "
                    "does not fit %s: compile without truncation",
                    name, value,
                    bsm_dtype_name(narrow_dtype(layer->p.fill.dtype)));
  }
  layer->p.fill.dtype = narrow_dtype(layer->p.fill.dtype);
  return BSM_OK;
}

/* Narrows the weights and dtypes among the parameters of a layer. */
static bsm_status narrow_params(truncation *t, bsm_layer *layer) {
  switch (layer->kind) {
    case BSM_LAYER_CONVOLUTION:
    case BSM_LAYER_DECONVOLUTION:
      BSM_TRY(narrow_weights(t, layer, "kernel", &layer->p.convolution.kernel));
      return narrow_weights(t, layer, "bias", &layer->p.convolution.bias);
    case BSM_LAYER_SCALE:
      BSM_TRY(narrow_weights(t, layer, "shift", &layer->p.scale.shift));
      BSM_TRY(narrow_weights(t, layer, "scale", &layer->p.scale.scale));
      return narrow_weights(t, layer, "power", &layer->p.scale.power);
    case BSM_LAYER_MATRIX_MULTIPLY:
      return narrow_weights(t, layer, "bias", &layer->p.matrix_multiply.bias);
    case BSM_LAYER_CONSTANT:
      return narrow_weights(t, layer, "constant", &layer->p.constant.weights);
    case BSM_LAYER_FILL:
      return narrow_fill(layer);
    case BSM_LAYER_CAST:
      layer->p.cast.dtype = narrow_dtype(layer->p.cast.dtype);
      return BSM_OK;
    case BSM_LAYER_QUANTIZE:
      layer->p.quantize.dtype = narrow_dtype(layer->p.quantize.dtype);
      return BSM_OK;
    case BSM_LAYER_DEQUANTIZE:
      layer->p.dequantize.dtype = narrow_dtype(layer->p.dequantize.dtype);
      return BSM_OK;
    default:
      return BSM_OK;
  }
}

/* ---- layers ---- */

/* Kinds whose dtypes follow from their inputs and parameters, or whose result
 * always has the same dtype. Other kinds keep their dtypes, between casts. */
static bool can_narrow(bsm_layer_kind kind) {
  switch (kind) {
    case BSM_LAYER_CONVOLUTION:
    case BSM_LAYER_DECONVOLUTION:
    case BSM_LAYER_POOLING:
    case BSM_LAYER_ACTIVATION:
    case BSM_LAYER_SCALE:
    case BSM_LAYER_SOFTMAX:
    case BSM_LAYER_CONCATENATION:
    case BSM_LAYER_ELEMENT_WISE:
    case BSM_LAYER_UNARY:
    case BSM_LAYER_SHUFFLE:
    case BSM_LAYER_REDUCE:
    case BSM_LAYER_TOP_K:
    case BSM_LAYER_SCAN:
    case BSM_LAYER_GATHER:
    case BSM_LAYER_MATRIX_MULTIPLY:
    case BSM_LAYER_CONSTANT:
    case BSM_LAYER_SLICE:
    case BSM_LAYER_RESIZE:
    case BSM_LAYER_FILL:
    case BSM_LAYER_CAST:
    case BSM_LAYER_NORMALIZATION:
    case BSM_LAYER_EXPAND:
    case BSM_LAYER_SELECT:
    case BSM_LAYER_PARAMETRIC_RELU:
    case BSM_LAYER_IDENTITY:
    case BSM_LAYER_SHAPE:
    case BSM_LAYER_QUANTIZE:
    case BSM_LAYER_DEQUANTIZE:
      return true;
    default:
      return false;
  }
}

static bsm_status add_cast(truncation *t, bsm_itensor *x, bsm_dtype dtype,
                           bsm_itensor **out) {
  bsm_layer *cast = bsm_network_add_cast(t->net, x, dtype);
  BSM_TRY(bsm_network_take_error(t->net));
  if (!cast) return BSM_FAIL_OOM();
  cast->name = x->producer ? x->producer->name : x->name;
  /* The layer was appended to the network, and belongs here in the new order.
   */
  t->net->layers.len--;
  BSM_TRY_ALLOC(bsm_vec_push(&t->scratch, &t->layers, cast));
  *out = cast->outputs.items[0];
  return BSM_OK;
}

/* The tensor that a narrowed layer reads instead of `x`. */
static bsm_itensor *narrowed(const truncation *t, bsm_itensor *x) {
  return x->id < t->tensor_count && t->narrow[x->id] ? t->narrow[x->id] : x;
}

/* Makes a narrow cast of a wide tensor, for narrowed readers. */
static bsm_status add_twin(truncation *t, bsm_itensor *x) {
  if (!is_wide(x->dtype)) return BSM_OK;
  return add_cast(t, x, narrow_dtype(x->dtype), &t->narrow[x->id]);
}

static bsm_status visit(truncation *t, bsm_layer *layer) {
  const bool narrows = can_narrow(layer->kind);
  for (size_t i = 0; i < layer->inputs.len; i++) {
    bsm_itensor *x = layer->inputs.items[i];
    if (narrows) {
      layer->inputs.items[i] = narrowed(t, x);
    } else if (x->dtype != t->declared[x->id]) {
      BSM_TRY(add_cast(t, x, t->declared[x->id], &layer->inputs.items[i]));
    }
  }
  if (narrows) {
    BSM_TRY(narrow_params(t, layer));
    BSM_TRY_NOTE(bsm_layer_infer(layer), "in layer %s, narrowed",
                 layer->name ? layer->name : "?");
  }
  BSM_TRY_ALLOC(bsm_vec_push(&t->scratch, &t->layers, layer));
  for (size_t i = 0; i < layer->outputs.len; i++) {
    BSM_TRY(add_twin(t, layer->outputs.items[i]));
  }
  return BSM_OK;
}

static bsm_status walk(truncation *t) {
  bsm_network *net = t->net;
  const size_t layers = net->layers.len;
  for (size_t i = 0; i < net->inputs.len; i++) {
    bsm_itensor *x = net->inputs.items[i];
    if (is_wide(x->dtype)) note(t, "input", x->name, x->dtype, x->dims);
    BSM_TRY(add_twin(t, x));
  }
  for (size_t i = 0; i < layers; i++) {
    if (!net->layers.items[i]->removed) BSM_TRY(visit(t, net->layers.items[i]));
  }
  for (size_t i = 0; i < net->outputs.len; i++) {
    bsm_itensor *x = net->outputs.items[i];
    const bsm_dtype dtype = t->declared[x->id];
    if (x->dtype == dtype) continue;
    note(t, "output", net->output_names.items[i], dtype, x->dims);
    BSM_TRY(add_cast(t, x, dtype, &net->outputs.items[i]));
  }
  net->layers.len = 0;
  for (size_t i = 0; i < t->layers.len; i++) {
    BSM_TRY_ALLOC(bsm_vec_push(net->arena, &net->layers, t->layers.items[i]));
  }
  return bsm_network_sweep(net, &t->scratch);
}

static bsm_status start(truncation *t) {
  t->tensor_count = t->net->tensors.len;
  t->narrow = BSM_NEW_ARRAY(&t->scratch, bsm_itensor *, t->tensor_count + 1);
  t->declared = BSM_NEW_ARRAY(&t->scratch, bsm_dtype, t->tensor_count + 1);
  if (!t->narrow || !t->declared) return BSM_FAIL_OOM();
  for (size_t i = 0; i < t->tensor_count; i++) {
    const bsm_itensor *x = t->net->tensors.items[i];
    t->declared[x->id] = x->dtype;
  }
  return BSM_OK;
}

bsm_status bsm_truncate_long_and_double(bsm_network *net,
                                        const bsm_logger *logger,
                                        bsm_text *list) {
  truncation t = {.net = net, .logger = logger, .list = list};
  bsm_arena_init(&t.scratch, net->arena->allocator);
  bsm_status status = start(&t);
  if (!status) status = walk(&t);
  bsm_arena_destroy(&t.scratch);
  if (!status && t.listed > BSM_TRUNCATE_LISTED) {
    bsm_text_printf(list, "; and %zu more", t.listed - BSM_TRUNCATE_LISTED);
  }
  if (!status && list->failed) status = BSM_FAIL_OOM();
  if (!status) status = bsm_network_verify(net);
  return bsm_status_note(status, "while truncating int64 and float64");
}
