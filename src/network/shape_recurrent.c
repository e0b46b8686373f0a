/* SPDX-License-Identifier: Apache-2.0 */
/* The shape rule of recurrent layers. */
#include "network/network_internal.h"

static int64_t gates_of(bsm_recurrent_operation operation) {
  switch (operation) {
    case BSM_RECURRENT_LSTM:
      return 4;
    case BSM_RECURRENT_GRU:
      return 3;
    case BSM_RECURRENT_TANH:
    case BSM_RECURRENT_RELU:
      return 1;
  }
  return 0;
}

static bsm_status check_matrix(const bsm_weights *w, bsm_dtype dtype,
                               int64_t rows, int64_t columns,
                               const char *what) {
  if (w->dtype != dtype || (w->count > 0 && !w->values) || w->shape.rank != 2 ||
      w->shape.d[0] != rows || w->shape.d[1] != columns ||
      w->count != rows * columns) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the %s weights are %s%s, not %s[%lld, %lld]", what,
                    bsm_dtype_name(w->dtype), bsm_dims_str(w->shape),
                    bsm_dtype_name(dtype), (long long)rows, (long long)columns);
  }
  return BSM_OK;
}

static bsm_status check_bias(const bsm_weights *w, bsm_dtype dtype,
                             int64_t count, const char *what) {
  if (w->count == 0) return BSM_OK;
  if (w->dtype != dtype || !w->values || w->count != count) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the %s bias has %lld elements of %s, not %lld of %s", what,
                    (long long)w->count, bsm_dtype_name(w->dtype),
                    (long long)count, bsm_dtype_name(dtype));
  }
  return BSM_OK;
}

/* H from the first direction; P likewise. */
static bsm_status sizes_of(const bsm_layer *layer, int64_t *hidden,
                           int64_t *state) {
  const bsm_recurrent_weights *w = layer->p.recurrent.weights;
  const int64_t gates = gates_of(layer->p.recurrent.operation);
  const int64_t rows = w ? w->input.shape.d[0] : 0;
  if (gates == 0 || layer->p.recurrent.directions < 1 ||
      layer->p.recurrent.directions > 2 || !w || w->input.shape.rank != 2 ||
      rows < 1 || rows % gates != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "recurrent operation %d in %d directions with input "
                    "weights of dims %s",
                    (int)layer->p.recurrent.operation,
                    (int)layer->p.recurrent.directions,
                    w ? bsm_dims_str(w->input.shape) : "none");
  }
  *hidden = rows / gates;
  *state = w->projection.count ? w->projection.shape.d[0] : *hidden;
  return BSM_OK;
}

static bsm_status check_direction(const bsm_layer *layer,
                                  const bsm_recurrent_weights *w,
                                  int64_t hidden, int64_t state) {
  const int64_t rows = gates_of(layer->p.recurrent.operation) * hidden;
  const bool projects = layer->p.recurrent.weights->projection.count != 0;
  const bsm_itensor *x = layer->inputs.items[0];
  BSM_TRY(check_matrix(&w->input, x->dtype, rows, x->dims.d[2], "input"));
  BSM_TRY(check_matrix(&w->recurrent, x->dtype, rows, state, "recurrent"));
  BSM_TRY(check_bias(&w->input_bias, x->dtype, rows, "input"));
  BSM_TRY(check_bias(&w->recurrent_bias, x->dtype, rows, "recurrent"));
  if (projects != (w->projection.count != 0) ||
      (projects && layer->p.recurrent.operation != BSM_RECURRENT_LSTM)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "only LSTM has projections, in both directions");
  }
  if (!projects) return BSM_OK;
  return check_matrix(&w->projection, x->dtype, state, hidden, "projection");
}

static bsm_status check_state(const bsm_itensor *t, bsm_dtype dtype,
                              bsm_dims want, const char *what) {
  if (t->dtype == dtype && bsm_same_dims(t->dims, want)) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "the %s state is %s%s, not %s%s", what,
                  bsm_dtype_name(t->dtype), bsm_dims_str(t->dims),
                  bsm_dtype_name(dtype), bsm_dims_str(want));
}

static bsm_status check_lengths(const bsm_weights *w, bsm_dims x) {
  if (w->count == 0) return BSM_OK;
  if (w->dtype != BSM_DTYPE_INT64 || !w->values || w->count != x.d[1]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%lld lengths of %s for %lld samples",
                    (long long)w->count, bsm_dtype_name(w->dtype),
                    (long long)x.d[1]);
  }
  const int64_t *values = w->values;
  for (int64_t i = 0; i < w->count; i++) {
    if (values[i] < 0 || values[i] > x.d[0]) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "sample %lld has a length of %lld in %lld steps",
                      (long long)i, (long long)values[i], (long long)x.d[0]);
    }
  }
  return BSM_OK;
}

bsm_status bsm_infer_recurrent(bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0];
  const bool lstm = layer->p.recurrent.operation == BSM_RECURRENT_LSTM;
  const int32_t directions = layer->p.recurrent.directions;
  int64_t hidden, state;
  BSM_TRY(sizes_of(layer, &hidden, &state));
  if (!bsm_network_is_floating(x->dtype) || x->dims.rank != 3 ||
      x->dims.d[0] < 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "a recurrent layer over %s%s, not floating point of one or "
                    "more steps: [T, B, I]",
                    bsm_dtype_name(x->dtype), bsm_dims_str(x->dims));
  }
  if (layer->inputs.len != (lstm ? 3u : 2u) ||
      layer->outputs.len != (lstm ? 3u : 2u)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%zu inputs and %zu outputs of a recurrent layer",
                    layer->inputs.len, layer->outputs.len);
  }
  for (int32_t d = 0; d < directions; d++) {
    BSM_TRY(
        check_direction(layer, &layer->p.recurrent.weights[d], hidden, state));
  }
  BSM_TRY(check_lengths(&layer->p.recurrent.lengths, x->dims));
  const bsm_dims h = {3, {directions, x->dims.d[1], state}};
  const bsm_dims c = {3, {directions, x->dims.d[1], hidden}};
  BSM_TRY(check_state(layer->inputs.items[1], x->dtype, h, "hidden"));
  if (lstm) {
    BSM_TRY(check_state(layer->inputs.items[2], x->dtype, c, "cell"));
  }
  const bsm_dims y = {3, {x->dims.d[0], x->dims.d[1], directions * state}};
  BSM_TRY(bsm_layer_set_output(layer, 0, x->dtype, y));
  BSM_TRY(bsm_layer_set_output(layer, 1, x->dtype, h));
  return lstm ? bsm_layer_set_output(layer, 2, x->dtype, c) : BSM_OK;
}
