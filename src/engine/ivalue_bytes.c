/* SPDX-License-Identifier: Apache-2.0 */
/* Values to bytes and back, and as text. */
#include "engine/ivalue_bytes.h"

#include <inttypes.h>

enum {
  TAG_NONE = 0,
  TAG_INT = 1,
  TAG_DOUBLE = 2,
  TAG_BOOL = 3,
  TAG_COMPLEX = 4,
  TAG_STRING = 5,
  TAG_DEVICE = 6,
  TAG_TENSOR = 7,
  TAG_LIST = 8,
  TAG_TUPLE = 9
};
enum { FLAG_WRAPPED_NUMBER = 1 };

/* ---- writing ---- */

typedef struct writer {
  bsm_text *out;
  bsm_tensor *const *tensors;
  size_t tensor_count;
} writer;

static void put(bsm_text *out, const void *data, size_t size) {
  bsm_text_append(out, (bsm_str){data, size});
}
static void put_u8(bsm_text *out, uint8_t value) {
  put(out, &value, 1);
}
static bsm_status put_length(bsm_text *out, size_t length) {
  const uint32_t value = (uint32_t)length;
  if (value != length) return BSM_FAIL(BSM_LIMIT, "%zu values", length);
  put(out, &value, sizeof(value));
  return BSM_OK;
}

static bsm_status put_tensor(const writer *w, const bsm_tensor *tensor) {
  for (size_t i = 0; i < w->tensor_count; i++) {
    if (w->tensors[i] != tensor) continue;
    put_u8(w->out, TAG_TENSOR);
    BSM_TRY(put_length(w->out, i));
    put_u8(w->out, tensor->wrapped_number ? FLAG_WRAPPED_NUMBER : 0);
    return BSM_OK;
  }
  return BSM_FAIL(BSM_UNSUPPORTED, "a tensor that is no input of the step");
}

static bsm_status put_values(const writer *w, const bsm_ivalue *values,
                             size_t count, int depth);

static bsm_status put_value(const writer *w, const bsm_ivalue *v, int depth) {
  bsm_text *out = w->out;
  switch (v->tag) {
    case BSM_IVALUE_NONE:
      put_u8(out, TAG_NONE);
      return BSM_OK;
    case BSM_IVALUE_INT:
      put_u8(out, TAG_INT);
      put(out, &v->u.i, sizeof(v->u.i));
      return BSM_OK;
    case BSM_IVALUE_DOUBLE:
      put_u8(out, TAG_DOUBLE);
      put(out, &v->u.d, sizeof(v->u.d));
      return BSM_OK;
    case BSM_IVALUE_BOOL:
      put_u8(out, TAG_BOOL);
      put_u8(out, v->u.b ? 1 : 0);
      return BSM_OK;
    case BSM_IVALUE_COMPLEX:
      put_u8(out, TAG_COMPLEX);
      put(out, &v->u.c.re, sizeof(v->u.c.re));
      put(out, &v->u.c.im, sizeof(v->u.c.im));
      return BSM_OK;
    case BSM_IVALUE_STRING:
      put_u8(out, TAG_STRING);
      BSM_TRY(put_length(out, v->u.s->len));
      bsm_text_append(out, *v->u.s);
      return BSM_OK;
    case BSM_IVALUE_DEVICE:
      put_u8(out, TAG_DEVICE);
      put(out, &v->u.device.type, 1);
      put(out, &v->u.device.index, 1);
      return BSM_OK;
    case BSM_IVALUE_TENSOR:
      return put_tensor(w, v->u.tensor);
    case BSM_IVALUE_LIST:
      put_u8(out, TAG_LIST);
      return put_values(w, v->u.list->items, v->u.list->len, depth + 1);
    case BSM_IVALUE_TUPLE:
      put_u8(out, TAG_TUPLE);
      return put_values(w, v->u.tuple->items, v->u.tuple->len, depth + 1);
    default:
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "a value of type %s cannot be stored in an engine",
                      bsm_iv_tag_name(v->tag));
  }
}

static bsm_status put_values(const writer *w, const bsm_ivalue *values,
                             size_t count, int depth) {
  if (depth > BSM_IVALUE_BYTES_MAX_DEPTH) {
    return BSM_FAIL(BSM_LIMIT, "values nest more than %d deep",
                    BSM_IVALUE_BYTES_MAX_DEPTH);
  }
  BSM_TRY(put_length(w->out, count));
  for (size_t i = 0; i < count; i++) BSM_TRY(put_value(w, &values[i], depth));
  return BSM_OK;
}

bsm_status bsm_ivalues_to_bytes(bsm_text *out, const bsm_ivalue *values,
                                size_t count, bsm_tensor *const *tensors,
                                size_t tensor_count) {
  const writer w = {out, tensors, tensor_count};
  BSM_TRY(put_values(&w, values, count, 0));
  return out->failed ? BSM_FAIL_OOM() : BSM_OK;
}

/* ---- reading ---- */

typedef struct reader {
  const uint8_t *data;
  size_t size, at;
  bsm_arena *arena;
  bsm_tensor *tensors;
  size_t tensor_count;
} reader;

static bsm_status get(reader *r, void *out, size_t size) {
  if (size > r->size - r->at) {
    return BSM_FAIL(BSM_CORRUPT, "the values end at byte %zu of %zu", r->at,
                    r->size);
  }
  memcpy(out, r->data + r->at, size);
  r->at += size;
  return BSM_OK;
}

/* Reads the length of something that takes at least one byte for each element.
 */
static bsm_status get_length(reader *r, size_t *out) {
  uint32_t length;
  BSM_TRY(get(r, &length, sizeof(length)));
  if (length > r->size - r->at) {
    return BSM_FAIL(BSM_CORRUPT, "%" PRIu32 " elements do not fit at byte %zu",
                    length, r->at);
  }
  *out = length;
  return BSM_OK;
}

static bsm_status get_bool(reader *r, bsm_ivalue *out) {
  uint8_t value;
  BSM_TRY(get(r, &value, 1));
  if (value > 1) return BSM_FAIL(BSM_CORRUPT, "a bool of %d", value);
  *out = bsm_iv_bool(value == 1);
  return BSM_OK;
}

static bsm_status get_string(reader *r, bsm_ivalue *out) {
  size_t length;
  BSM_TRY(get_length(r, &length));
  const bsm_str text = {(const char *)r->data + r->at, length};
  BSM_TRY(bsm_iv_string(r->arena, text, out));
  r->at += length;
  return BSM_OK;
}

static bsm_status get_device(reader *r, bsm_ivalue *out) {
  *out = (bsm_ivalue){.tag = BSM_IVALUE_DEVICE};
  BSM_TRY(get(r, &out->u.device.type, 1));
  BSM_TRY(get(r, &out->u.device.index, 1));
  if (out->u.device.type < 0 || out->u.device.type > 2 ||
      out->u.device.index < -1) {
    return BSM_FAIL(BSM_CORRUPT, "a device %d:%d", out->u.device.type,
                    out->u.device.index);
  }
  return BSM_OK;
}

static bsm_status get_tensor(reader *r, bsm_ivalue *out) {
  uint32_t number;
  uint8_t flags;
  BSM_TRY(get(r, &number, sizeof(number)));
  BSM_TRY(get(r, &flags, sizeof(flags)));
  if (number >= r->tensor_count || flags > FLAG_WRAPPED_NUMBER) {
    return BSM_FAIL(BSM_CORRUPT, "tensor %" PRIu32 " of %zu, flags %d", number,
                    r->tensor_count, flags);
  }
  r->tensors[number].wrapped_number = flags != 0;
  *out = bsm_iv_tensor(&r->tensors[number]);
  return BSM_OK;
}

static bsm_status get_values(reader *r, int depth, bsm_ivalue **out,
                             size_t *count);

static bsm_status get_list(reader *r, int depth, bsm_ivalue *out) {
  bsm_list *list;
  BSM_TRY(bsm_list_new(r->arena, NULL, 0, &list));
  BSM_TRY(get_values(r, depth + 1, &list->items, &list->len));
  list->cap = list->len;
  *out = bsm_iv_list(list);
  return BSM_OK;
}

static bsm_status get_tuple(reader *r, int depth, bsm_ivalue *out) {
  bsm_tuple *tuple;
  BSM_TRY(bsm_tuple_new(r->arena, 0, &tuple));
  BSM_TRY(get_values(r, depth + 1, &tuple->items, &tuple->len));
  *out = bsm_iv_tuple(tuple);
  return BSM_OK;
}

static bsm_status get_value(reader *r, int depth, bsm_ivalue *out) {
  uint8_t tag;
  *out = bsm_iv_none();
  BSM_TRY(get(r, &tag, 1));
  switch (tag) {
    case TAG_NONE:
      return BSM_OK;
    case TAG_INT:
      out->tag = BSM_IVALUE_INT;
      return get(r, &out->u.i, sizeof(out->u.i));
    case TAG_DOUBLE:
      out->tag = BSM_IVALUE_DOUBLE;
      return get(r, &out->u.d, sizeof(out->u.d));
    case TAG_BOOL:
      return get_bool(r, out);
    case TAG_COMPLEX:
      out->tag = BSM_IVALUE_COMPLEX;
      BSM_TRY(get(r, &out->u.c.re, sizeof(out->u.c.re)));
      return get(r, &out->u.c.im, sizeof(out->u.c.im));
    case TAG_STRING:
      return get_string(r, out);
    case TAG_DEVICE:
      return get_device(r, out);
    case TAG_TENSOR:
      return get_tensor(r, out);
    case TAG_LIST:
      return get_list(r, depth, out);
    case TAG_TUPLE:
      return get_tuple(r, depth, out);
    default:
      return BSM_FAIL(BSM_CORRUPT, "unknown tag %d before byte %zu", tag,
                      r->at);
  }
}

static bsm_status get_values(reader *r, int depth, bsm_ivalue **out,
                             size_t *count) {
  if (depth > BSM_IVALUE_BYTES_MAX_DEPTH) {
    return BSM_FAIL(BSM_CORRUPT, "values nest more than %d deep",
                    BSM_IVALUE_BYTES_MAX_DEPTH);
  }
  BSM_TRY(get_length(r, count));
  *out = BSM_NEW_ARRAY(r->arena, bsm_ivalue, *count + 1);
  BSM_TRY_ALLOC(*out);
  for (size_t i = 0; i < *count; i++) {
    BSM_TRY(get_value(r, depth, &(*out)[i]));
  }
  return BSM_OK;
}

bsm_status bsm_ivalues_from_bytes(bsm_str bytes, bsm_arena *arena,
                                  bsm_tensor *tensors, size_t tensor_count,
                                  bsm_ivalue **values, size_t *count) {
  reader r = {
      (const uint8_t *)bytes.data, bytes.len, 0, arena, tensors, tensor_count};
  *values = NULL;
  *count = 0;
  BSM_TRY(get_values(&r, 0, values, count));
  if (r.at != r.size) {
    return BSM_FAIL(BSM_CORRUPT, "%zu bytes too many after the values",
                    r.size - r.at);
  }
  return BSM_OK;
}

/* ---- printing ---- */

typedef struct printer {
  bsm_text *text;
  const bsm_tensor *tensors;
  const uint32_t *names;
} printer;

static void print_values(const printer *p, const bsm_ivalue *values,
                         size_t count) {
  for (size_t i = 0; i < count; i++) {
    const bsm_ivalue *v = &values[i];
    if (i) bsm_text_puts(p->text, ", ");
    switch (v->tag) {
      case BSM_IVALUE_TENSOR:
        bsm_text_printf(p->text, "t%" PRIu32,
                        p->names[v->u.tensor - p->tensors]);
        break;
      case BSM_IVALUE_STRING:
        bsm_text_quoted(p->text, *v->u.s);
        break;
      case BSM_IVALUE_LIST:
        bsm_text_puts(p->text, "[");
        print_values(p, v->u.list->items, v->u.list->len);
        bsm_text_puts(p->text, "]");
        break;
      case BSM_IVALUE_TUPLE:
        bsm_text_puts(p->text, "(");
        print_values(p, v->u.tuple->items, v->u.tuple->len);
        bsm_text_puts(p->text, ")");
        break;
      default:
        bsm_iv_print(p->text, v);
    }
  }
}

void bsm_ivalue_bytes_print(bsm_text *text, bsm_str bytes,
                            const uint32_t *names, size_t tensor_count) {
  bsm_arena scratch;
  bsm_ivalue *values;
  size_t count;
  bsm_arena_init(&scratch, text->arena->allocator);
  bsm_tensor *tensors = BSM_NEW_ARRAY(&scratch, bsm_tensor, tensor_count + 1);
  bsm_status status =
      tensors ? bsm_ivalues_from_bytes(bytes, &scratch, tensors, tensor_count,
                                       &values, &count)
              : BSM_FAIL_OOM();
  if (status) {
    bsm_text_puts(text, "?");
    bsm_status_free(status);
  } else {
    const printer p = {text, tensors, names};
    print_values(&p, values, count);
  }
  bsm_arena_destroy(&scratch);
}
