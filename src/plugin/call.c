/* SPDX-License-Identifier: Apache-2.0 */
/* What a plug-in's function reads and sets. A reading that does not fit is kept
 * as the call's error and gives zero. */
#include "plugin/call.h"

#include <inttypes.h>
#include <math.h>

#include "base/options.h"

static const char *const phase_names[] = {"shape", "run", "evaluate"};

void bsm_call_init(bsm_call *call, const char *what, size_t outputs) {
  memset(call, 0, sizeof(*call));
  call->what = what;
  call->output_count =
      outputs < BSM_PLUGIN_MAX_OUTPUTS ? outputs : BSM_PLUGIN_MAX_OUTPUTS;
  for (size_t i = 0; i < call->output_count; i++) {
    call->outputs[i].dims.rank = -1;
  }
}

bsm_status bsm_call_do(bsm_call *call, bsm_call_fn fn) {
  call->error = BSM_OK;
  bsm_status status = fn(call);
  status = bsm_status_join(call->error, status);
  call->error = BSM_OK;
  return bsm_status_note(status, "in the function `%s` of plug-in layer %s",
                         phase_names[call->phase], call->what);
}

bsm_status bsm_call_shape(bsm_call *call, const bsm_layer_plugin *layer) {
  call->phase = BSM_CALL_SHAPE;
  BSM_TRY(bsm_call_do(call, layer->shape));
  for (size_t i = 0; i < call->output_count; i++) {
    if (call->outputs[i].dims.rank < 0) {
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "the shape function of plug-in layer %s did not set "
                      "output %zu",
                      call->what, i);
    }
  }
  return BSM_OK;
}

bsm_status bsm_call_workspace_size(bsm_call *call,
                                   const bsm_layer_plugin *layer, size_t *out) {
  *out = 0;
  if (!layer->workspace) return BSM_OK;
  call->error = BSM_OK;
  bsm_status status = layer->workspace(call, out);
  status = bsm_status_join(call->error, status);
  call->error = BSM_OK;
  return bsm_status_note(status, "in the function `workspace` of plug-in %s",
                         call->what);
}

/* ---- arguments ---- */

static void wrong(bsm_call *call, size_t i, const char *wanted) {
  bsm_status status =
      i < call->arg_count
          ? BSM_FAIL(BSM_UNSUPPORTED, "argument %zu of %s is not %s", i,
                     call->what, wanted)
          : BSM_FAIL(BSM_UNSUPPORTED, "argument %zu of %s was read; it has %zu",
                     i, call->what, call->arg_count);
  if (call->error) {
    bsm_status_free(status);
  } else {
    call->error = status;
  }
}

static const bsm_call_arg *arg_at(const bsm_call *call, size_t i) {
  static const bsm_call_arg none = {BSM_CALL_NONE, 0, {0}, NULL};
  return i < call->arg_count ? &call->args[i] : &none;
}

size_t bsm_call_arg_count(const bsm_call *call) {
  return call->arg_count;
}

bool bsm_call_is_none(const bsm_call *call, size_t i) {
  return arg_at(call, i)->tag == BSM_CALL_NONE;
}

const bsm_array *bsm_call_tensor(bsm_call *call, size_t i) {
  const bsm_call_arg *arg = arg_at(call, i);
  if (arg->tag == BSM_CALL_TENSOR) return &call->inputs[arg->u.input];
  if (arg->tag != BSM_CALL_NONE || i >= call->arg_count) {
    wrong(call, i, "a tensor");
  }
  return NULL;
}

const bsm_array *bsm_call_tensor_list(bsm_call *call, size_t i, size_t *count) {
  const bsm_call_arg *arg = arg_at(call, i);
  *count = 0;
  if (arg->tag == BSM_CALL_NONE && i < call->arg_count) return NULL;
  /* An empty list has no type of its own. */
  if (arg->tag == BSM_CALL_INT_LIST && arg->count == 0) return NULL;
  if (arg->tag != BSM_CALL_TENSOR_LIST) {
    wrong(call, i, "a list of tensors");
    return NULL;
  }
  *count = arg->count;
  return arg->count ? &call->inputs[arg->u.input] : NULL;
}

double bsm_call_double(bsm_call *call, size_t i) {
  const bsm_call_arg *arg = arg_at(call, i);
  if (arg->tag == BSM_CALL_DOUBLE) return arg->u.d;
  if (arg->tag == BSM_CALL_INT || arg->tag == BSM_CALL_BOOL) {
    return (double)arg->u.i;
  }
  wrong(call, i, "a number");
  return 0;
}

int64_t bsm_call_int(bsm_call *call, size_t i) {
  const bsm_call_arg *arg = arg_at(call, i);
  if (arg->tag == BSM_CALL_INT || arg->tag == BSM_CALL_BOOL) return arg->u.i;
  if (arg->tag == BSM_CALL_DOUBLE && arg->u.d >= -9.2e18 &&
      arg->u.d <= 9.2e18 && trunc(arg->u.d) == arg->u.d) {
    return (int64_t)arg->u.d;
  }
  wrong(call, i, "a whole number");
  return 0;
}

bool bsm_call_bool(bsm_call *call, size_t i) {
  const bsm_call_arg *arg = arg_at(call, i);
  if (arg->tag == BSM_CALL_INT || arg->tag == BSM_CALL_BOOL) {
    return arg->u.i != 0;
  }
  wrong(call, i, "a bool");
  return false;
}

const char *bsm_call_string(bsm_call *call, size_t i) {
  const bsm_call_arg *arg = arg_at(call, i);
  if (arg->tag == BSM_CALL_STRING) return arg->u.s;
  wrong(call, i, "a string");
  return "";
}

const int64_t *bsm_call_int_list(bsm_call *call, size_t i, size_t *count) {
  const bsm_call_arg *arg = arg_at(call, i);
  *count = 0;
  if (arg->tag == BSM_CALL_NONE && i < call->arg_count) return NULL;
  if (arg->tag != BSM_CALL_INT_LIST) {
    wrong(call, i, "a list of ints");
    return NULL;
  }
  *count = arg->count;
  return arg->u.ints;
}

const double *bsm_call_double_list(bsm_call *call, size_t i, size_t *count) {
  const bsm_call_arg *arg = arg_at(call, i);
  *count = 0;
  if (arg->tag == BSM_CALL_NONE && i < call->arg_count) return NULL;
  if (arg->tag != BSM_CALL_INT_LIST && arg->tag != BSM_CALL_DOUBLE_LIST) {
    wrong(call, i, "a list of numbers");
    return NULL;
  }
  *count = arg->count;
  return arg->doubles;
}

size_t bsm_call_input_count(const bsm_call *call) {
  return call->input_count;
}

const bsm_array *bsm_call_input(const bsm_call *call, size_t i) {
  return i < call->input_count ? &call->inputs[i] : NULL;
}

const void *bsm_call_params(const bsm_call *call, size_t *size) {
  *size = call->params_size;
  return call->params;
}

/* ---- outputs ---- */

static bsm_status no_output(const bsm_call *call, size_t i) {
  return BSM_FAIL(BSM_UNSUPPORTED, "output %zu of %s, which has %zu", i,
                  call->what, call->output_count);
}

bsm_status bsm_call_set_output(bsm_call *call, size_t i, bsm_dtype dtype,
                               bsm_dims dims) {
  int64_t n;
  if (i >= call->output_count) return no_output(call, i);
  if (call->phase == BSM_CALL_RUN) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "outputs of %s are set by its shape function", call->what);
  }
  if (dims.rank < 0 || dims.rank > BSM_MAX_RANK || !bsm_dims_numel(dims, &n) ||
      !bsm_dtype_size(dtype)) {
    return BSM_FAIL(
        BSM_UNSUPPORTED, "output %zu of %s has dtype %s and dims %s", i,
        call->what, bsm_dtype_name(dtype),
        dims.rank < 0 || dims.rank > BSM_MAX_RANK ? "of a wrong rank"
                                                  : bsm_dims_str(dims));
  }
  for (int32_t d = dims.rank; d < BSM_MAX_RANK; d++) dims.d[d] = 0;
  call->outputs[i] = (bsm_array){NULL, dtype, dims, NULL};
  if (call->phase == BSM_CALL_EVALUATE) {
    bsm_tensor *tensor;
    BSM_TRY(bsm_op_new(call->op, dtype, dims, &tensor));
    call->results[i] = bsm_iv_tensor(tensor);
    call->outputs[i].data = bsm_tensor_data(tensor);
  }
  return BSM_OK;
}

const bsm_array *bsm_call_output(const bsm_call *call, size_t i) {
  if (i >= call->output_count || call->outputs[i].dims.rank < 0) return NULL;
  return &call->outputs[i];
}

void *bsm_call_workspace(const bsm_call *call) {
  return call->workspace;
}

void bsm_call_parallel(const bsm_call *call, size_t count,
                       void (*fn)(void *arg, size_t index), void *arg) {
  bsm_parallel_for(call->pool, count, fn, arg);
}

/* ---- an evaluator's results ---- */

static bsm_status set_result(bsm_call *call, size_t i, bsm_ivalue value) {
  if (i >= call->output_count) return no_output(call, i);
  if (call->phase != BSM_CALL_EVALUATE) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "%s: only evaluators return values that are no tensors",
                    call->what);
  }
  call->results[i] = value;
  call->outputs[i].dims.rank = 0; /* set */
  return BSM_OK;
}

bsm_status bsm_call_return_none(bsm_call *call, size_t i) {
  return set_result(call, i, bsm_iv_none());
}

bsm_status bsm_call_return_int(bsm_call *call, size_t i, int64_t value) {
  return set_result(call, i, bsm_iv_int(value));
}

bsm_status bsm_call_return_double(bsm_call *call, size_t i, double value) {
  return set_result(call, i, bsm_iv_double(value));
}

bsm_status bsm_call_return_bool(bsm_call *call, size_t i, bool value) {
  return set_result(call, i, bsm_iv_bool(value));
}

bsm_status bsm_call_return_string(bsm_call *call, size_t i, const char *value) {
  bsm_ivalue text = bsm_iv_none();
  BSM_NEED(value);
  if (call->op) {
    BSM_TRY(bsm_iv_string(call->op->arena, bsm_str_of(value), &text));
  }
  return set_result(call, i, text);
}

bsm_status bsm_call_return_int_list(bsm_call *call, size_t i,
                                    const int64_t *values, size_t count) {
  bsm_ivalue list = bsm_iv_none();
  BSM_NEED_ARRAY(values, count);
  if (call->op) {
    BSM_TRY(bsm_iv_int_list(call->op->arena, values, count, &list));
  }
  return set_result(call, i, list);
}

bsm_status bsm_call_return_double_list(bsm_call *call, size_t i,
                                       const double *values, size_t count) {
  bsm_ivalue result = bsm_iv_none();
  BSM_NEED_ARRAY(values, count);
  if (call->op) {
    bsm_list *list;
    BSM_TRY(bsm_list_new(call->op->arena, NULL, count, &list));
    for (size_t k = 0; k < count; k++) {
      list->items[k] = bsm_iv_double(values[k]);
    }
    result = bsm_iv_list(list);
  }
  return set_result(call, i, result);
}
