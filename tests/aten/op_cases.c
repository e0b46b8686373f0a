/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of the op cases. */
#include "aten/op_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quantized/packed_params.h"

#define FOLDER BSM_TEST_DATA_DIR "/aten/op_cases"

static int is_part(const struct dirent *entry) {
  const char *dot = strrchr(entry->d_name, '.');
  return dot && strcmp(dot, ".bin") == 0;
}

/* Maps the part `r->part`; sets r->bad when that fails. */
static void open_part(op_case_reader *r) {
  char path[1024];
  r->bad = true;
  const int length =
      snprintf(path, sizeof path, "%s/%s", FOLDER, r->parts[r->part]->d_name);
  if (length < 0 || (size_t)length >= sizeof path) return;
  const bsm_status st = bsm_file_map_open(path, NULL, &r->map);
  if (st) {
    bsm_status_free(st);
    return;
  }
  r->p = r->map.data;
  r->end = r->p + r->map.size;
  if (r->map.size < 8 || memcmp(r->p, "BSMOPS1\n", 8) != 0) return;
  r->p += 8;
  r->bad = false;
}

bool op_cases_open(op_case_reader *r) {
  *r = (op_case_reader){0};
  r->part_count = scandir(FOLDER, &r->parts, is_part, alphasort);
  if (r->part_count <= 0) return false;
  open_part(r);
  return !r->bad;
}

void op_cases_close(op_case_reader *r) {
  bsm_file_map_close(&r->map);
  for (int i = 0; i < r->part_count; i++) free(r->parts[i]);
  free(r->parts);
  *r = (op_case_reader){0};
}

const char *op_cases_part(const op_case_reader *r) {
  return r->part < r->part_count ? r->parts[r->part]->d_name : "";
}

static const uint8_t *take(op_case_reader *r, size_t n) {
  const uint8_t *p = r->p;
  if (r->bad || (size_t)(r->end - p) < n) {
    r->bad = true;
    return NULL;
  }
  r->p += n;
  return p;
}

static uint8_t byte(op_case_reader *r) {
  const uint8_t *p = take(r, 1);
  return p ? *p : 0;
}

/* LEB128, zigzag. */
static int64_t number(op_case_reader *r) {
  uint64_t v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t b = byte(r);
    v |= (uint64_t)(b & 0x7f) << shift;
    if (!(b & 0x80)) break;
  }
  return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static bsm_status read_tensor(op_case_reader *r, bsm_arena *arena,
                              bsm_ivalue *out) {
  bsm_dims sizes = {0};
  int64_t strides[BSM_MAX_RANK];
  const bsm_dtype dtype = (bsm_dtype)byte(r);
  const uint8_t rank = byte(r);
  sizes.rank = rank <= BSM_MAX_RANK ? rank : 0;
  for (int i = 0; i < sizes.rank; i++) sizes.d[i] = number(r);
  for (int i = 0; i < sizes.rank; i++) strides[i] = number(r);
  const int64_t offset = number(r), count = number(r);
  const size_t bytes = (size_t)count * bsm_dtype_size(dtype);
  const uint8_t *data = take(r, bytes);
  bsm_storage *storage = BSM_NEW(arena, bsm_storage);
  BSM_TRY_ALLOC(storage);
  storage->size = bytes;
  storage->data = bsm_arena_alloc(arena, bytes + 1, 64);
  BSM_TRY_ALLOC(storage->data);
  if (data) memcpy(storage->data, data, bytes);
  bsm_tensor *t;
  BSM_TRY(bsm_tensor_from_storage(arena, storage, dtype, sizes, strides, offset,
                                  &t));
  *out = bsm_iv_tensor(t);
  return BSM_OK;
}

static bsm_status read_value(op_case_reader *r, bsm_arena *arena,
                             bsm_ivalue *out);

static bsm_status read_tagged(op_case_reader *r, bsm_arena *arena,
                              const bsm_tensor **out) {
  bsm_ivalue value;
  *out = NULL;
  if (byte(r) != 'T') r->bad = true;
  if (r->bad) return BSM_OK;
  BSM_TRY(read_tensor(r, arena, &value));
  *out = value.u.tensor;
  return BSM_OK;
}

/* Integers that get the quantized dtype and a quantizer. */
static bsm_status read_quantized(op_case_reader *r, bsm_arena *arena,
                                 bsm_ivalue *out) {
  const bsm_dtype dtype = (bsm_dtype)byte(r);
  const bool per_channel = byte(r) != 0;
  const bsm_tensor *integers;
  bsm_quantizer *q = BSM_NEW(arena, bsm_quantizer);
  BSM_TRY_ALLOC(q);
  q->axis = -1;
  BSM_TRY(read_tagged(r, arena, &integers));
  if (per_channel) {
    BSM_TRY(read_tagged(r, arena, &q->scales));
    BSM_TRY(read_tagged(r, arena, &q->zero_points));
    q->axis = (int32_t)number(r);
    q->float_zero_points =
        q->zero_points && bsm_dtype_is_floating(q->zero_points->dtype);
  } else {
    const uint8_t *p = take(r, 8);
    if (p) memcpy(&q->scale, p, 8);
    q->zero_point = number(r);
  }
  if (r->bad) return BSM_OK;
  bsm_tensor *t;
  BSM_TRY(bsm_tensor_view(arena, integers, integers->sizes, integers->strides,
                          integers->offset, &t));
  t->dtype = dtype;
  t->quantizer = q;
  *out = bsm_iv_tensor(t);
  return BSM_OK;
}

/* A class and the state that it is made from. */
static bsm_status read_packed(op_case_reader *r, bsm_arena *arena,
                              bsm_ivalue *out) {
  bsm_ivalue name, state;
  BSM_TRY(read_value(r, arena, &name));
  BSM_TRY(read_value(r, arena, &state));
  if (r->bad || name.tag != BSM_IVALUE_STRING) {
    r->bad = true;
    return BSM_OK;
  }
  return bsm_packed_from_state(arena, *name.u.s, &state, out);
}

static bsm_status read_container(op_case_reader *r, bsm_arena *arena, char tag,
                                 bsm_ivalue *out) {
  const size_t n = (size_t)number(r);
  if (r->bad) return BSM_OK;
  if (tag == 'M') {
    bsm_dict *dict;
    BSM_TRY(bsm_dict_new(arena, NULL, NULL, &dict));
    *out = bsm_iv_dict(dict);
    for (size_t i = 0; i < n && !r->bad; i++) {
      bsm_ivalue key, value;
      BSM_TRY(read_value(r, arena, &key));
      BSM_TRY(read_value(r, arena, &value));
      BSM_TRY(bsm_dict_set(dict, key, value));
    }
    return BSM_OK;
  }
  bsm_ivalue *items;
  if (tag == 'L') {
    bsm_list *list;
    BSM_TRY(bsm_list_new(arena, NULL, n, &list));
    items = list->items;
    *out = bsm_iv_list(list);
  } else {
    bsm_tuple *tuple;
    BSM_TRY(bsm_tuple_new(arena, n, &tuple));
    items = tuple->items;
    *out = bsm_iv_tuple(tuple);
  }
  for (size_t i = 0; i < n && !r->bad; i++) {
    BSM_TRY(read_value(r, arena, &items[i]));
  }
  return BSM_OK;
}

static bsm_status read_value(op_case_reader *r, bsm_arena *arena,
                             bsm_ivalue *out) {
  const char tag = (char)byte(r);
  *out = bsm_iv_none();
  switch (tag) {
    case 'N':
      return BSM_OK;
    case 'I':
      *out = bsm_iv_int(number(r));
      return BSM_OK;
    case 'B':
      *out = bsm_iv_bool(byte(r) != 0);
      return BSM_OK;
    case 'D': {
      const uint8_t *p = take(r, 8);
      double v = 0.0;
      if (p) memcpy(&v, p, 8);
      *out = bsm_iv_double(v);
      return BSM_OK;
    }
    case 'C': {
      const uint8_t *p = take(r, 16);
      double v[2] = {0.0, 0.0};
      if (p) memcpy(v, p, 16);
      *out = (bsm_ivalue){BSM_IVALUE_COMPLEX, {.c = {v[0], v[1]}}};
      return BSM_OK;
    }
    case 'S': {
      const size_t n = (size_t)number(r);
      const uint8_t *p = take(r, n);
      return bsm_iv_string(arena,
                           (bsm_str){p ? (const char *)p : "", p ? n : 0}, out);
    }
    case 'V': {
      const int8_t type = (int8_t)byte(r);
      const int8_t index = (int8_t)number(r);
      *out = (bsm_ivalue){BSM_IVALUE_DEVICE, {.device = {type, index}}};
      return BSM_OK;
    }
    case 'T':
      return read_tensor(r, arena, out);
    case 'Q':
      return read_quantized(r, arena, out);
    case 'P':
      return read_packed(r, arena, out);
    case 'L':
    case 'U':
    case 'M':
      return read_container(r, arena, tag, out);
    default:
      r->bad = true;
      return BSM_OK;
  }
}

bool op_cases_next(op_case_reader *r, bsm_arena *arena, op_case *out) {
  *out = (op_case){0};
  while (r->p == r->end && !r->bad) {
    if (++r->part >= r->part_count) return false;
    bsm_file_map_close(&r->map);
    open_part(r);
  }
  if (r->bad) return false;
  out->name.len = (size_t)number(r);
  out->name.data = (const char *)take(r, out->name.len);
  out->arg_count = (size_t)number(r);
  bsm_status st = BSM_OK;
  if (out->arg_count > OP_CASE_MAX) r->bad = true;
  for (size_t i = 0; i < out->arg_count && !r->bad && !st; i++) {
    st = read_value(r, arena, &out->args[i]);
  }
  const uint8_t flags = byte(r);
  out->outcome = (op_outcome)(flags & 3);
  out->strides = (flags & 4) != 0;
  out->has_after = (flags & 8) != 0;
  out->has_seed = (flags & 16) != 0;
  if (out->has_seed) {
    out->seed = (uint64_t)number(r);
    out->probe = number(r);
  }
  if (out->outcome != OP_RAISES && !st) {
    out->out_count = (size_t)number(r);
    if (out->out_count > OP_CASE_MAX) r->bad = true;
    for (size_t i = 0; i < out->out_count && !r->bad && !st; i++) {
      st = read_value(r, arena, &out->outs[i]);
    }
  }
  if (out->has_after && !r->bad && !st) st = read_value(r, arena, &out->after);
  if (st) {
    fprintf(stderr, "%.*s: %s\n", (int)out->name.len, out->name.data,
            bsm_status_message(st));
    bsm_status_free(st);
    r->bad = true;
  }
  return !r->bad;
}

static bool is_quantized(const bsm_ivalue *v) {
  if (v->tag == BSM_IVALUE_LIST) {
    return v->u.list->len && is_quantized(&v->u.list->items[0]);
  }
  return v->tag == BSM_IVALUE_OBJECT ||
         (v->tag == BSM_IVALUE_TENSOR &&
          bsm_dtype_is_quantized(v->u.tensor->dtype));
}

bool op_case_is_quantized(const op_case *c) {
  bool found = false;
  for (size_t i = 0; i < c->arg_count; i++) found |= is_quantized(&c->args[i]);
  for (size_t i = 0; i < c->out_count; i++) found |= is_quantized(&c->outs[i]);
  return found;
}
