/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of a call: from boxed values, to bytes and back. */
#include <inttypes.h>

#include "base/checked.h"
#include "plugin/call.h"

#define MAGIC UINT32_C(0x41534231) /* "1BSA" */
#define MAX_ARGS 1024

/* ---- from boxed values ---- */

static bsm_status add_input(bsm_call *call, const bsm_tensor *t,
                            bsm_arena *arena) {
  if (call->input_count == BSM_PLUGIN_MAX_INPUTS) {
    return BSM_FAIL(BSM_LIMIT, "more than %d tensors are given to %s",
                    BSM_PLUGIN_MAX_INPUTS, call->what);
  }
  bsm_array *array = &call->inputs[call->input_count++];
  *array = (bsm_array){NULL, t->dtype, t->sizes, NULL};
  if (bsm_tensor_is_meta(t)) return BSM_OK;
  bsm_tensor *plain;
  BSM_TRY(bsm_tensor_contiguous(arena, t, &plain));
  array->data = bsm_tensor_data(plain);
  return BSM_OK;
}

static bsm_status from_list(bsm_call *call, const bsm_list *list,
                            bsm_call_arg *out, bsm_arena *arena) {
  bool ints = true, tensors = list->len > 0, numbers = true;
  for (size_t i = 0; i < list->len; i++) {
    const bsm_ivalue_tag tag = list->items[i].tag;
    const bool whole = tag == BSM_IVALUE_INT || tag == BSM_IVALUE_BOOL;
    ints = ints && whole;
    numbers = numbers && (whole || tag == BSM_IVALUE_DOUBLE);
    tensors = tensors && tag == BSM_IVALUE_TENSOR;
  }
  if (list->len > UINT32_MAX / 16 || (!numbers && !tensors)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a list of %s is given to %s: plug-ins take lists of "
                    "ints, floats, bools and tensors",
                    list->len ? bsm_iv_tag_name(list->items[0].tag) : "?",
                    call->what);
  }
  out->count = (uint32_t)list->len;
  if (tensors) {
    out->tag = BSM_CALL_TENSOR_LIST;
    out->u.input = (uint32_t)call->input_count;
    for (size_t i = 0; i < list->len; i++) {
      BSM_TRY(add_input(call, list->items[i].u.tensor, arena));
    }
    return BSM_OK;
  }
  out->tag = ints ? BSM_CALL_INT_LIST : BSM_CALL_DOUBLE_LIST;
  int64_t *values = BSM_NEW_ARRAY(arena, int64_t, list->len + 1);
  double *doubles = BSM_NEW_ARRAY(arena, double, list->len + 1);
  if (!values || !doubles) return BSM_FAIL_OOM();
  for (size_t i = 0; i < list->len; i++) {
    const bsm_ivalue *item = &list->items[i];
    const bool whole = item->tag != BSM_IVALUE_DOUBLE;
    if (whole) {
      values[i] = item->tag == BSM_IVALUE_BOOL ? item->u.b : item->u.i;
    }
    doubles[i] = whole ? (double)values[i] : item->u.d;
  }
  out->u.ints = ints ? values : NULL;
  out->doubles = doubles;
  return BSM_OK;
}

static bsm_status from_ivalue(bsm_call *call, const bsm_ivalue *value,
                              bsm_call_arg *out, bsm_arena *arena) {
  switch (value->tag) {
    case BSM_IVALUE_NONE:
      out->tag = BSM_CALL_NONE;
      return BSM_OK;
    case BSM_IVALUE_INT:
      out->tag = BSM_CALL_INT;
      out->u.i = value->u.i;
      return BSM_OK;
    case BSM_IVALUE_BOOL:
      out->tag = BSM_CALL_BOOL;
      out->u.i = value->u.b;
      return BSM_OK;
    case BSM_IVALUE_DOUBLE:
      out->tag = BSM_CALL_DOUBLE;
      out->u.d = value->u.d;
      return BSM_OK;
    case BSM_IVALUE_STRING:
      out->tag = BSM_CALL_STRING;
      out->u.s = bsm_arena_strndup(arena, value->u.s->data, value->u.s->len);
      BSM_TRY_ALLOC(out->u.s);
      return BSM_OK;
    case BSM_IVALUE_TENSOR:
      out->tag = BSM_CALL_TENSOR;
      out->u.input = (uint32_t)call->input_count;
      return add_input(call, value->u.tensor, arena);
    case BSM_IVALUE_LIST:
      return from_list(call, value->u.list, out, arena);
    default:
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "a %s is given to %s: plug-ins take tensors, numbers, "
                      "strings, and lists of them",
                      bsm_iv_tag_name(value->tag), call->what);
  }
}

bsm_status bsm_call_from_ivalues(bsm_call *call, const bsm_ivalue *values,
                                 size_t count, bsm_arena *arena) {
  bsm_call_arg *args = BSM_NEW_ARRAY(arena, bsm_call_arg, count + 1);
  BSM_TRY_ALLOC(args);
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(from_ivalue(call, &values[i], &args[i], arena));
  }
  call->args = args;
  call->arg_count = count;
  return BSM_OK;
}

/* ---- to bytes ---- */

static size_t pad8(size_t n) {
  return (n + 7) & ~(size_t)7;
}

static size_t payload_size(const bsm_call_arg *arg) {
  switch (arg->tag) {
    case BSM_CALL_INT:
    case BSM_CALL_BOOL:
    case BSM_CALL_DOUBLE:
    case BSM_CALL_TENSOR_LIST:
      return 8;
    case BSM_CALL_STRING:
      return pad8(strlen(arg->u.s) + 1);
    case BSM_CALL_INT_LIST:
      return (size_t)arg->count * 16;
    case BSM_CALL_DOUBLE_LIST:
      return (size_t)arg->count * 8;
    default:
      return 0;
  }
}

static void put(uint8_t **at, const void *data, size_t size) {
  if (size) memcpy(*at, data, size);
  *at += size;
}

static void put_arg(uint8_t **at, const bsm_call_arg *arg) {
  const size_t n = arg->count;
  uint32_t head[2] = {(uint32_t)arg->tag, arg->count};
  uint8_t *end = *at + sizeof(head) + payload_size(arg);
  if (arg->tag == BSM_CALL_STRING) head[1] = (uint32_t)strlen(arg->u.s) + 1;
  if (arg->tag == BSM_CALL_TENSOR) head[1] = arg->u.input;
  put(at, head, sizeof(head));
  if (arg->tag == BSM_CALL_INT || arg->tag == BSM_CALL_BOOL) {
    put(at, &arg->u.i, 8);
  } else if (arg->tag == BSM_CALL_DOUBLE) {
    put(at, &arg->u.d, 8);
  } else if (arg->tag == BSM_CALL_STRING) {
    put(at, arg->u.s, head[1]);
  } else if (arg->tag == BSM_CALL_TENSOR_LIST) {
    const uint64_t first = arg->u.input;
    put(at, &first, 8);
  } else if (arg->tag == BSM_CALL_INT_LIST) {
    put(at, arg->u.ints, n * 8);
    put(at, arg->doubles, n * 8);
  } else if (arg->tag == BSM_CALL_DOUBLE_LIST) {
    put(at, arg->doubles, n * 8);
  }
  *at = end;
}

bsm_status bsm_call_args_encode(const bsm_call_arg *args, size_t count,
                                bsm_arena *arena, const void **out,
                                size_t *size) {
  size_t total = 8;
  if (count > MAX_ARGS) return BSM_FAIL(BSM_LIMIT, "%zu arguments", count);
  for (size_t i = 0; i < count; i++) {
    if (!bsm_size_add(total, 8 + payload_size(&args[i]), &total)) {
      return BSM_FAIL(BSM_LIMIT, "the arguments are too large");
    }
  }
  uint8_t *bytes = bsm_arena_alloc(arena, total, 64);
  BSM_TRY_ALLOC(bytes);
  *out = bytes;
  *size = total;
  const uint32_t head[2] = {MAGIC, (uint32_t)count};
  put(&bytes, head, sizeof(head));
  for (size_t i = 0; i < count; i++) put_arg(&bytes, &args[i]);
  return BSM_OK;
}

/* ---- and back ---- */

typedef struct reader {
  const uint8_t *at;
  size_t left;
  size_t inputs, next_input; /* how many there are, how many were named */
} reader;

static bsm_status take(reader *r, size_t size, const void **out) {
  if (size > r->left) {
    return BSM_FAIL(BSM_CORRUPT, "%zu bytes are needed, %zu are left", size,
                    r->left);
  }
  *out = r->at;
  r->at += size;
  r->left -= size;
  return BSM_OK;
}

static bsm_status take_inputs(reader *r, uint64_t first, uint32_t count) {
  if (first != r->next_input || count > r->inputs - r->next_input) {
    return BSM_FAIL(BSM_CORRUPT,
                    "an argument names inputs %" PRIu64 " to %" PRIu64
                    " of %zu out of order",
                    first, first + count, r->inputs);
  }
  r->next_input += count;
  return BSM_OK;
}

static bsm_status take_arg(reader *r, bsm_call_arg *arg) {
  const void *p;
  uint32_t head[2];
  BSM_TRY(take(r, sizeof(head), &p));
  memcpy(head, p, sizeof(head));
  arg->tag = (bsm_call_tag)head[0];
  const size_t n = head[1];
  switch (head[0]) {
    case BSM_CALL_NONE:
      return BSM_OK;
    case BSM_CALL_INT:
    case BSM_CALL_BOOL:
      BSM_TRY(take(r, 8, &p));
      memcpy(&arg->u.i, p, 8);
      if (head[0] == BSM_CALL_BOOL && arg->u.i != 0) arg->u.i = 1;
      return BSM_OK;
    case BSM_CALL_DOUBLE:
      BSM_TRY(take(r, 8, &p));
      memcpy(&arg->u.d, p, 8);
      return BSM_OK;
    case BSM_CALL_STRING:
      BSM_TRY(take(r, pad8(n), &p));
      arg->u.s = p;
      if (n == 0 || memchr(p, 0, n) != (const char *)p + n - 1) {
        return BSM_FAIL(BSM_CORRUPT, "a string does not end where it says");
      }
      return BSM_OK;
    case BSM_CALL_INT_LIST:
      arg->count = head[1];
      BSM_TRY(take(r, n * 8, &p));
      arg->u.ints = p;
      BSM_TRY(take(r, n * 8, &p));
      arg->doubles = p;
      return BSM_OK;
    case BSM_CALL_DOUBLE_LIST:
      arg->count = head[1];
      BSM_TRY(take(r, n * 8, &p));
      arg->doubles = p;
      return BSM_OK;
    case BSM_CALL_TENSOR:
      arg->u.input = head[1];
      return take_inputs(r, head[1], 1);
    case BSM_CALL_TENSOR_LIST: {
      uint64_t first;
      arg->count = head[1];
      BSM_TRY(take(r, 8, &p));
      memcpy(&first, p, 8);
      BSM_TRY(take_inputs(r, first, arg->count));
      arg->u.input = (uint32_t)first;
      return BSM_OK;
    }
    default:
      return BSM_FAIL(BSM_CORRUPT, "unknown tag %" PRIu32, head[0]);
  }
}

/* The value with which the schema's types are checked: what is inside lists
 * and tensors does not matter. */
static bsm_status to_ivalue(const bsm_call_arg *arg, bsm_tensor *tensor,
                            bsm_arena *arena, bsm_ivalue *out) {
  static const bsm_str text = {"", 0};
  bsm_list *list;
  bsm_ivalue item = bsm_iv_int(0);
  *out = bsm_iv_none();
  switch (arg->tag) {
    case BSM_CALL_NONE:
      return BSM_OK;
    case BSM_CALL_INT:
      *out = bsm_iv_int(arg->u.i);
      return BSM_OK;
    case BSM_CALL_BOOL:
      *out = bsm_iv_bool(arg->u.i != 0);
      return BSM_OK;
    case BSM_CALL_DOUBLE:
      *out = bsm_iv_double(arg->u.d);
      return BSM_OK;
    case BSM_CALL_STRING:
      out->tag = BSM_IVALUE_STRING;
      out->u.s = &text;
      return BSM_OK;
    case BSM_CALL_TENSOR:
      *out = bsm_iv_tensor(tensor);
      return BSM_OK;
    case BSM_CALL_DOUBLE_LIST:
      item = bsm_iv_double(0);
      break;
    case BSM_CALL_TENSOR_LIST:
      item = bsm_iv_tensor(tensor);
      break;
    case BSM_CALL_INT_LIST:
      break;
  }
  /* One element stands for all. */
  BSM_TRY(bsm_list_new(arena, NULL, arg->count ? 1 : 0, &list));
  if (arg->count) list->items[0] = item;
  *out = bsm_iv_list(list);
  return BSM_OK;
}

static bsm_status check_types(const bsm_call_arg *args, size_t count,
                              const char *schema, bsm_arena *arena) {
  const bsm_aten_op op = {schema, NULL, 0, 0};
  bsm_ivalue *values = BSM_NEW_ARRAY(arena, bsm_ivalue, count + 1);
  bsm_tensor *tensor;
  BSM_TRY_ALLOC(values);
  BSM_TRY(bsm_tensor_new(arena, BSM_DTYPE_FLOAT, (bsm_dims){0}, true, &tensor));
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(to_ivalue(&args[i], tensor, arena, &values[i]));
  }
  return bsm_aten_check_args(&op, values, count);
}

bsm_status bsm_call_args_decode(bsm_call *call, const char *schema,
                                const void *bytes, size_t size, size_t inputs,
                                bsm_arena *arena) {
  reader r = {bytes, size, inputs, 0};
  const void *p;
  uint32_t head[2];
  if ((uintptr_t)bytes % 8) return BSM_FAIL(BSM_CORRUPT, "misaligned");
  BSM_TRY(take(&r, sizeof(head), &p));
  memcpy(head, p, sizeof(head));
  if (head[0] != MAGIC || head[1] > MAX_ARGS) {
    return BSM_FAIL(BSM_CORRUPT, "these are no arguments");
  }
  bsm_call_arg *args = BSM_NEW_ARRAY(arena, bsm_call_arg, head[1] + 1u);
  BSM_TRY_ALLOC(args);
  for (uint32_t i = 0; i < head[1]; i++) {
    BSM_TRY_NOTE(take_arg(&r, &args[i]), "in argument %" PRIu32, i);
  }
  if (r.left || r.next_input != inputs) {
    return BSM_FAIL(BSM_CORRUPT, "%zu bytes and %zu inputs are left over",
                    r.left, inputs - r.next_input);
  }
  BSM_TRY(check_types(args, head[1], schema, arena));
  call->args = args;
  call->arg_count = head[1];
  return BSM_OK;
}
