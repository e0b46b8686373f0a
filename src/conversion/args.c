/* SPDX-License-Identifier: Apache-2.0 */
/* Args: what a converter is given, and the deep unwraps.
 *
 * An unwrap of the wrong type records an error in the context and returns a
 * zero value, so converters need not check each arg; the driver looks at the
 * error when the converter returns. */
#include <math.h>
#include <string.h>

#include "aten/ivalue_parts.h"
#include "conversion/conversion_internal.h"

bsm_status bsm_args_init(bsm_conversion_ctx *ctx, const bsm_node *node,
                         const bsm_converter_entry *entry, bsm_args *args) {
  const bsm_schema *schema = entry->schema;
  size_t count = node->inputs.len;
  if (count < schema->arg_count) count = schema->arg_count;
  *args = (bsm_args){ctx, node, schema, NULL, count, entry->pattern->variant};
  args->items = BSM_NEW_ARRAY(ctx->impl->arena, bsm_var, count ? count : 1);
  BSM_TRY_ALLOC(args->items);
  for (size_t i = 0; i < node->inputs.len; i++) {
    args->items[i] = bsm_ctx_var(ctx, bsm_node_in(node, i));
    if (!args->items[i].itensor && !args->items[i].ivalue) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "input %zu, %s, has neither a tensor nor a static value: "
                      "its producer did not associate it",
                      i, bsm_value_text(ctx, bsm_node_in(node, i)));
    }
  }
  for (size_t i = node->inputs.len; i < count; i++) {
    if (!schema->args[i].has_default) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "argument %zu (%s) of %s is missing and has no default",
                      i, schema->args[i].name, schema->text);
    }
    args->items[i].ivalue = &schema->args[i].default_value;
  }
  return BSM_OK;
}

size_t bsm_args_count(const bsm_args *args) {
  return args->count;
}
int bsm_args_variant(const bsm_args *args) {
  return args->variant;
}

/* Records that arg `i` has the wrong type. */
static void wrong(const bsm_args *args, size_t i, const char *wanted) {
  const bsm_schema *schema = args->schema;
  bsm_code code = BSM_INVALID_ARGUMENT;
  if (i >= args->count) {
    bsm_ctx_fail(args->ctx,
                 BSM_FAIL(code,
                          "argument %zu was asked for; %s has %zu, counted "
                          "from 0: %s",
                          i, schema->qualified, args->count, schema->text));
    return;
  }
  const bsm_ivalue *v = args->items[i].ivalue;
  const char *name = i < schema->arg_count ? schema->args[i].name : NULL;
  /* Records that PyTorch takes the arg, but this converter does not. */
  if (!v || v->tag == BSM_IVALUE_COMPLEX || !bsm_ivalue_is_static(v)) {
    code = BSM_UNSUPPORTED;
  }
  bsm_ctx_fail(
      args->ctx,
      BSM_FAIL(
          code, "argument %zu%s%s%s: %s was asked for, it is %s", i,
          name ? " (" : "", name ? name : "", name ? ")" : "", wanted,
          v ? bsm_iv_tag_name(v->tag) : "a tensor known only at run time"));
}

/* The static value, or NULL without an error. */
static const bsm_ivalue *peek(const bsm_args *args, size_t i) {
  if (i >= args->count || args->items[i].itensor) return NULL;
  return args->items[i].ivalue;
}

static bool has_tag(const bsm_args *args, size_t i, bsm_ivalue_tag tag) {
  const bsm_ivalue *v = peek(args, i);
  return v && v->tag == tag;
}

bool bsm_arg_is_itensor(const bsm_args *args, size_t i) {
  return i < args->count && args->items[i].itensor;
}
bool bsm_arg_is_ivalue(const bsm_args *args, size_t i) {
  return peek(args, i) != NULL;
}
bool bsm_arg_is_none(const bsm_args *args, size_t i) {
  return has_tag(args, i, BSM_IVALUE_NONE);
}
bool bsm_arg_is_int(const bsm_args *args, size_t i) {
  return has_tag(args, i, BSM_IVALUE_INT);
}
bool bsm_arg_is_double(const bsm_args *args, size_t i) {
  return has_tag(args, i, BSM_IVALUE_DOUBLE);
}
bool bsm_arg_is_bool(const bsm_args *args, size_t i) {
  return has_tag(args, i, BSM_IVALUE_BOOL);
}
bool bsm_arg_is_string(const bsm_args *args, size_t i) {
  return has_tag(args, i, BSM_IVALUE_STRING);
}
bool bsm_arg_is_tensor(const bsm_args *args, size_t i) {
  return has_tag(args, i, BSM_IVALUE_TENSOR);
}
bool bsm_arg_is_list(const bsm_args *args, size_t i) {
  return has_tag(args, i, BSM_IVALUE_LIST);
}

bsm_itensor *bsm_arg_itensor(const bsm_args *args, size_t i) {
  if (bsm_arg_is_itensor(args, i)) return args->items[i].itensor;
  wrong(args, i, "a tensor of the network");
  return NULL;
}

/* A Python number as a 0-dim tensor: int64, bool, or the default dtype. */
static bsm_status scalar_tensor(bsm_arena *arena, const bsm_ivalue *v,
                                bsm_tensor **out) {
  switch (v->tag) {
    case BSM_IVALUE_INT:
      return bsm_tensor_from_int(arena, BSM_DTYPE_INT64, v->u.i, out);
    case BSM_IVALUE_BOOL:
      return bsm_tensor_from_int(arena, BSM_DTYPE_BOOL, v->u.b, out);
    default:
      return bsm_tensor_from_double(arena, BSM_DTYPE_FLOAT, v->u.d, out);
  }
}

bsm_itensor *bsm_arg_itensor_or_freeze(bsm_conversion_ctx *ctx,
                                       const bsm_args *args, size_t i) {
  if (bsm_arg_is_itensor(args, i)) return args->items[i].itensor;
  const bsm_ivalue *v = peek(args, i);
  if (v && v->tag == BSM_IVALUE_TENSOR) {
    return bsm_freeze_tensor(ctx, v->u.tensor);
  }
  if (v && (v->tag == BSM_IVALUE_INT || v->tag == BSM_IVALUE_DOUBLE ||
            v->tag == BSM_IVALUE_BOOL)) {
    bsm_tensor *tensor;
    bsm_status status = scalar_tensor(ctx->impl->arena, v, &tensor);
    if (!status) return bsm_freeze_tensor(ctx, tensor);
    bsm_ctx_fail(ctx, status);
    return NULL;
  }
  wrong(args, i, "a tensor or a scalar");
  return NULL;
}

/* A number as a scalar: int, double, bool, or a tensor of one element. */
static bool to_scalar(const bsm_ivalue *v, bsm_scalar *out) {
  switch (v->tag) {
    case BSM_IVALUE_INT:
      *out = (bsm_scalar){BSM_DTYPE_INT64, v->u.i, (double)v->u.i};
      return true;
    case BSM_IVALUE_DOUBLE:
      *out = (bsm_scalar){BSM_DTYPE_DOUBLE, 0, v->u.d};
      return true;
    case BSM_IVALUE_BOOL:
      *out = (bsm_scalar){BSM_DTYPE_BOOL, v->u.b, v->u.b};
      return true;
    case BSM_IVALUE_TENSOR: {
      const bsm_tensor *t = v->u.tensor;
      if (bsm_tensor_is_meta(t) || bsm_tensor_numel(t) != 1 ||
          bsm_dtype_is_complex(t->dtype)) {
        return false;
      }
      bool floating = bsm_dtype_is_floating(t->dtype);
      out->dtype = floating                     ? BSM_DTYPE_DOUBLE
                   : t->dtype == BSM_DTYPE_BOOL ? BSM_DTYPE_BOOL
                                                : BSM_DTYPE_INT64;
      out->i = floating ? 0 : bsm_tensor_get_int(t, 0);
      out->d = bsm_tensor_get_double(t, 0);
      return true;
    }
    default:
      return false;
  }
}

bsm_scalar bsm_arg_unwrap_to_scalar(const bsm_args *args, size_t i) {
  const bsm_ivalue *v = peek(args, i);
  bsm_scalar scalar = {BSM_DTYPE_INT64, 0, 0};
  if (!v || !to_scalar(v, &scalar)) wrong(args, i, "a scalar");
  return scalar;
}

bsm_scalar bsm_arg_unwrap_to_scalar_or(const bsm_args *args, size_t i,
                                       bsm_scalar fallback) {
  if (bsm_arg_is_none(args, i)) return fallback;
  return bsm_arg_unwrap_to_scalar(args, i);
}

double bsm_arg_unwrap_to_double(const bsm_args *args, size_t i) {
  const bsm_ivalue *v = peek(args, i);
  bsm_scalar scalar = {BSM_DTYPE_INT64, 0, 0};
  if (!v || !to_scalar(v, &scalar)) wrong(args, i, "a number");
  return scalar.d;
}

double bsm_arg_unwrap_to_double_or(const bsm_args *args, size_t i,
                                   double fallback) {
  if (bsm_arg_is_none(args, i)) return fallback;
  return bsm_arg_unwrap_to_double(args, i);
}

int64_t bsm_arg_unwrap_to_int(const bsm_args *args, size_t i) {
  const bsm_ivalue *v = peek(args, i);
  bsm_scalar scalar = {BSM_DTYPE_INT64, 0, 0};
  if (!v || !to_scalar(v, &scalar)) {
    wrong(args, i, "an int");
  } else if (scalar.dtype == BSM_DTYPE_DOUBLE) {
    if (scalar.d >= -0x1p63 && scalar.d < 0x1p63 &&
        !(scalar.d < floor(scalar.d)) && !(scalar.d > floor(scalar.d))) {
      return (int64_t)scalar.d;
    }
    wrong(args, i, "an int (it has a fraction or does not fit)");
  }
  return scalar.i;
}

int64_t bsm_arg_unwrap_to_int_or(const bsm_args *args, size_t i,
                                 int64_t fallback) {
  if (bsm_arg_is_none(args, i)) return fallback;
  return bsm_arg_unwrap_to_int(args, i);
}

bool bsm_arg_unwrap_to_bool(const bsm_args *args, size_t i) {
  const bsm_ivalue *v = peek(args, i);
  bsm_scalar scalar = {BSM_DTYPE_INT64, 0, 0};
  if (!v || !to_scalar(v, &scalar) || scalar.dtype == BSM_DTYPE_DOUBLE) {
    wrong(args, i, "a bool");
    return false;
  }
  return scalar.i != 0;
}

bool bsm_arg_unwrap_to_bool_or(const bsm_args *args, size_t i, bool fallback) {
  if (bsm_arg_is_none(args, i)) return fallback;
  return bsm_arg_unwrap_to_bool(args, i);
}

const char *bsm_arg_unwrap_to_string(const bsm_args *args, size_t i) {
  const bsm_ivalue *v = peek(args, i);
  if (!v || v->tag != BSM_IVALUE_STRING) {
    wrong(args, i, "a string");
    return "";
  }
  const char *copy =
      bsm_arena_strndup(args->ctx->impl->arena, v->u.s->data, v->u.s->len);
  if (!copy) bsm_ctx_fail(args->ctx, BSM_FAIL_OOM());
  return copy ? copy : "";
}

const char *bsm_arg_unwrap_to_string_or(const bsm_args *args, size_t i,
                                        const char *fallback) {
  if (bsm_arg_is_none(args, i)) return fallback;
  return bsm_arg_unwrap_to_string(args, i);
}

/* The elements of a list or tuple; a scalar is a list of one. NULL with an
 * error recorded when it is neither. */
static const bsm_ivalue *elements(const bsm_args *args, size_t i,
                                  const char *wanted, size_t *count) {
  const bsm_ivalue *v = peek(args, i);
  static const bsm_ivalue nothing = {0};
  *count = 0;
  if (v && bsm_iv_is_sequence(v)) {
    const bsm_iv_parts parts = bsm_iv_items_of(v);
    *count = parts.len;
    return *count ? parts.items : &nothing;
  }
  if (v && (v->tag == BSM_IVALUE_INT || v->tag == BSM_IVALUE_DOUBLE ||
            v->tag == BSM_IVALUE_BOOL)) {
    *count = 1;
    return v;
  }
  wrong(args, i, wanted);
  return NULL;
}

static void *array(const bsm_args *args, size_t count, size_t size) {
  void *memory = bsm_arena_alloc_array(
      args->ctx->impl->arena, count ? count : 1, size, _Alignof(max_align_t));
  if (!memory) bsm_ctx_fail(args->ctx, BSM_FAIL_OOM());
  return memory;
}

const int64_t *bsm_arg_unwrap_to_int_list(const bsm_args *args, size_t i,
                                          size_t *count) {
  const bsm_ivalue *items = elements(args, i, "a list of ints", count);
  int64_t *out = items ? array(args, *count, sizeof *out) : NULL;
  for (size_t k = 0; out && k < *count; k++) {
    bsm_scalar scalar;
    if (!to_scalar(&items[k], &scalar) || scalar.dtype == BSM_DTYPE_DOUBLE) {
      wrong(args, i, "a list of ints");
      *count = 0;
      return out;
    }
    out[k] = scalar.i;
  }
  if (!out) *count = 0;
  return out;
}

const int64_t *bsm_arg_unwrap_to_int_list_or_none(const bsm_args *args,
                                                  size_t i, size_t *count) {
  *count = 0;
  if (bsm_arg_is_none(args, i)) return NULL;
  return bsm_arg_unwrap_to_int_list(args, i, count);
}

const double *bsm_arg_unwrap_to_double_list(const bsm_args *args, size_t i,
                                            size_t *count) {
  const bsm_ivalue *items = elements(args, i, "a list of numbers", count);
  double *out = items ? array(args, *count, sizeof *out) : NULL;
  for (size_t k = 0; out && k < *count; k++) {
    bsm_scalar scalar;
    if (!to_scalar(&items[k], &scalar)) {
      wrong(args, i, "a list of numbers");
      *count = 0;
      return out;
    }
    out[k] = scalar.d;
  }
  if (!out) *count = 0;
  return out;
}

const double *bsm_arg_unwrap_to_double_list_or_none(const bsm_args *args,
                                                    size_t i, size_t *count) {
  *count = 0;
  if (bsm_arg_is_none(args, i)) return NULL;
  return bsm_arg_unwrap_to_double_list(args, i, count);
}

const bool *bsm_arg_unwrap_to_bool_list(const bsm_args *args, size_t i,
                                        size_t *count) {
  const bsm_ivalue *items = elements(args, i, "a list of bools", count);
  bool *out = items ? array(args, *count, sizeof *out) : NULL;
  for (size_t k = 0; out && k < *count; k++) {
    bsm_scalar scalar;
    if (!to_scalar(&items[k], &scalar) || scalar.dtype == BSM_DTYPE_DOUBLE) {
      wrong(args, i, "a list of bools");
      *count = 0;
      return out;
    }
    out[k] = scalar.i != 0;
  }
  if (!out) *count = 0;
  return out;
}

const bsm_tensor *bsm_arg_unwrap_to_tensor(const bsm_args *args, size_t i) {
  const bsm_ivalue *v = peek(args, i);
  if (v && v->tag == BSM_IVALUE_TENSOR) return v->u.tensor;
  wrong(args, i, "a constant tensor");
  return NULL;
}

const bsm_tensor *bsm_arg_unwrap_to_tensor_or_none(const bsm_args *args,
                                                   size_t i) {
  if (bsm_arg_is_none(args, i)) return NULL;
  return bsm_arg_unwrap_to_tensor(args, i);
}

const bsm_tensor *const *bsm_arg_unwrap_to_tensor_list(const bsm_args *args,
                                                       size_t i,
                                                       size_t *count) {
  const bsm_ivalue *items =
      elements(args, i, "a list of constant tensors", count);
  const bsm_tensor **out = items ? array(args, *count, sizeof *out) : NULL;
  for (size_t k = 0; out && k < *count; k++) {
    if (items[k].tag != BSM_IVALUE_TENSOR) {
      wrong(args, i, "a list of constant tensors");
      *count = 0;
      return out;
    }
    out[k] = items[k].u.tensor;
  }
  if (!out) *count = 0;
  return out;
}

bsm_itensor *const *bsm_arg_unwrap_to_itensor_list(bsm_conversion_ctx *ctx,
                                                   const bsm_args *args,
                                                   size_t i, size_t *count) {
  const bsm_ivalue *items = elements(args, i, "a list of tensors", count);
  bsm_itensor **out = items ? array(args, *count, sizeof *out) : NULL;
  for (size_t k = 0; out && k < *count; k++) {
    if (items[k].tag == BSM_IVALUE_CONTAINER) {
      out[k] = bsm_container_tensor(&items[k]);
    } else if (items[k].tag == BSM_IVALUE_TENSOR) {
      out[k] = bsm_freeze_tensor(ctx, items[k].u.tensor);
    } else if (items[k].tag != BSM_IVALUE_NONE) {
      wrong(args, i, "a list of tensors");
      *count = 0;
      return out;
    }
  }
  if (!out) *count = 0;
  return out;
}
