/* SPDX-License-Identifier: Apache-2.0 */
/* The pickle machine: opcodes, stack, marks and memo.
 *
 * Protocol 2 as PyTorch's C++ Pickler writes it, nothing else. Every opcode
 * checks that what it takes lies above the innermost mark, so a mark can never
 * be popped from under its items. There is no recursion. */
#include <stdio.h>

#include "base/resolve_limits.h"
#include "torchscript/pickle_internal.h"

typedef enum opcode {
  OP_PROTO = 0x80,
  OP_STOP = '.',
  OP_MARK = '(',
  OP_EMPTY_TUPLE = ')',
  OP_EMPTY_LIST = ']',
  OP_EMPTY_DICT = '}',
  OP_TUPLE = 't',
  OP_TUPLE1 = 0x85,
  OP_TUPLE2 = 0x86,
  OP_TUPLE3 = 0x87,
  OP_APPEND = 'a', /* by Python alone, as SETITEM */
  OP_APPENDS = 'e',
  OP_SETITEM = 's',
  OP_SETITEMS = 'u',
  OP_LIST = 'l',
  OP_DICT = 'd',
  OP_NONE = 'N',
  OP_NEWTRUE = 0x88,
  OP_NEWFALSE = 0x89,
  OP_BININT1 = 'K',
  OP_BININT2 = 'M',
  OP_BININT = 'J',
  OP_LONG1 = 0x8a,
  OP_BINFLOAT = 'G',
  OP_BINUNICODE = 'X',
  OP_GLOBAL = 'c',
  OP_BINPUT = 'q',
  OP_LONG_BINPUT = 'r',
  OP_BINGET = 'h',
  OP_LONG_BINGET = 'j',
  OP_REDUCE = 'R',
  OP_NEWOBJ = 0x81,
  OP_BUILD = 'b',
  OP_BINPERSID = 'Q'
} opcode;

static const char *opcode_name(uint8_t op) {
  static const struct {
    uint8_t op;
    const char *name;
  } names[] = {
      {OP_PROTO, "PROTO"},
      {OP_STOP, "STOP"},
      {OP_MARK, "MARK"},
      {OP_EMPTY_TUPLE, "EMPTY_TUPLE"},
      {OP_EMPTY_LIST, "EMPTY_LIST"},
      {OP_EMPTY_DICT, "EMPTY_DICT"},
      {OP_TUPLE, "TUPLE"},
      {OP_TUPLE1, "TUPLE1"},
      {OP_TUPLE2, "TUPLE2"},
      {OP_TUPLE3, "TUPLE3"},
      {OP_APPEND, "APPEND"},
      {OP_APPENDS, "APPENDS"},
      {OP_SETITEM, "SETITEM"},
      {OP_SETITEMS, "SETITEMS"},
      {OP_LIST, "LIST"},
      {OP_DICT, "DICT"},
      {OP_NONE, "NONE"},
      {OP_NEWTRUE, "NEWTRUE"},
      {OP_NEWFALSE, "NEWFALSE"},
      {OP_BININT1, "BININT1"},
      {OP_BININT2, "BININT2"},
      {OP_BININT, "BININT"},
      {OP_LONG1, "LONG1"},
      {OP_BINFLOAT, "BINFLOAT"},
      {OP_BINUNICODE, "BINUNICODE"},
      {OP_GLOBAL, "GLOBAL"},
      {OP_BINPUT, "BINPUT"},
      {OP_LONG_BINPUT, "LONG_BINPUT"},
      {OP_BINGET, "BINGET"},
      {OP_LONG_BINGET, "LONG_BINGET"},
      {OP_REDUCE, "REDUCE"},
      {OP_NEWOBJ, "NEWOBJ"},
      {OP_BUILD, "BUILD"},
      {OP_BINPERSID, "BINPERSID"},
  };
  for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
    if (names[i].op == op) return names[i].name;
  }
  return NULL;
}

/* ---- values ---- */

bsm_status bsm_pickle_private(pickle_machine *m, pickle_private_kind kind,
                              bsm_ivalue *out, pickle_private **body) {
  *body = BSM_NEW(&m->scratch, pickle_private);
  BSM_TRY_ALLOC(*body);
  (*body)->kind = kind;
  *out = (bsm_ivalue){BSM_IVALUE_CONTAINER, {.container = *body}};
  return BSM_OK;
}

pickle_private *bsm_pickle_as(const bsm_ivalue *v, pickle_private_kind kind) {
  if (v->tag != BSM_IVALUE_CONTAINER) return NULL;
  pickle_private *body = v->u.container;
  return body->kind == kind ? body : NULL;
}

const char *bsm_pickle_kind(const bsm_ivalue *v) {
  static const char *const names[] = {
      [PICKLE_FUNCTION] = "a global",
      [PICKLE_CLASS] = "a class",
      [PICKLE_NEW] = "an object without state",
      [PICKLE_DTYPE] = "a storage type",
      [PICKLE_STORAGE] = "a storage",
      [PICKLE_QSCHEME] = "a quantization scheme",
      [PICKLE_TENSOR_TYPE] = "a class of tensors",
      [PICKLE_ARGS] = "an argument tuple",
  };
  if (v->tag != BSM_IVALUE_CONTAINER) return bsm_iv_tag_name(v->tag);
  return names[((pickle_private *)v->u.container)->kind];
}

bsm_status bsm_pickle_charge(pickle_machine *m, size_t n) {
  if (n > m->limits.max_pickle_ops - m->steps) {
    return BSM_FAIL(BSM_LIMIT, "more than %llu steps, the limit for one pickle",
                    (unsigned long long)m->limits.max_pickle_ops);
  }
  m->steps += n;
  return BSM_OK;
}

/* The meta of a container, NULL for anything else. */
static pickle_meta *meta_of(const bsm_ivalue *v) {
  switch (v->tag) {
    case BSM_IVALUE_LIST:
      return &((pickle_list *)v->u.list)->meta;
    case BSM_IVALUE_TUPLE:
      return &((pickle_tuple *)v->u.tuple)->meta;
    case BSM_IVALUE_DICT:
      return &((pickle_dict *)v->u.dict)->meta;
    case BSM_IVALUE_OBJECT:
    case BSM_IVALUE_ENUM:
      return &((pickle_object *)v->u.object)->meta;
    case BSM_IVALUE_CONTAINER:
      return &((pickle_private *)v->u.container)->meta;
    default:
      return NULL;
  }
}

/* As bsm_pickle_put, for what may hold private values too. */
static bsm_status put_any(pickle_machine *m, const bsm_ivalue *v,
                          uint32_t *height) {
  pickle_meta *meta = meta_of(v);
  if (!meta) return BSM_OK;
  meta->sealed = true;
  if (meta->height >= m->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "values nest deeper than %llu, the limit",
                    (unsigned long long)m->limits.max_depth);
  }
  if (meta->height >= *height) *height = meta->height + 1;
  return BSM_OK;
}

bsm_status bsm_pickle_put(pickle_machine *m, const bsm_ivalue *v,
                          uint32_t *height) {
  if (v->tag == BSM_IVALUE_CONTAINER) {
    return BSM_FAIL(BSM_CORRUPT, "%s where a value is expected",
                    bsm_pickle_kind(v));
  }
  return put_any(m, v, height);
}

/* ---- dicts ---- */

enum { INDEX_FROM = 16 }; /* entries from which a dict gets an index */

/* The bytes of a key: of a string its text, else 8 bytes in `buffer`. Keys of
 * one dict all have one tag. */
static bsm_str key_bytes(const bsm_ivalue *key, char *buffer) {
  int64_t bits = 0;
  switch (key->tag) {
    case BSM_IVALUE_STRING:
      return *key->u.s;
    case BSM_IVALUE_BOOL:
      bits = key->u.b;
      break;
    case BSM_IVALUE_DOUBLE: {
      const double d = key->u.d == 0 ? 0 : key->u.d; /* -0.0 == 0.0 */
      memcpy(&bits, &d, sizeof bits);
      break;
    }
    case BSM_IVALUE_TENSOR:
      bits = (int64_t)(intptr_t)key->u.tensor;
      break;
    default:
      bits = key->u.i;
  }
  memcpy(buffer, &bits, sizeof bits);
  return (bsm_str){buffer, sizeof bits};
}

size_t bsm_pickle_dict_find(const pickle_dict *d, const bsm_ivalue *key) {
  char a[8], b[8];
  const bsm_dict *dict = &d->dict;
  if (dict->len == 0 || dict->keys[0].tag != key->tag) return dict->len;
  const bsm_str wanted = key_bytes(key, a);
  if (d->index) {
    const size_t at = (size_t)(uintptr_t)bsm_strmap_get(d->index, wanted);
    return at ? at - 1 : dict->len;
  }
  size_t i = 0;
  while (i < dict->len && !bsm_str_eq(key_bytes(&dict->keys[i], b), wanted)) {
    i++;
  }
  return i;
}

static bool index_key(pickle_machine *m, pickle_dict *d, size_t i) {
  char buffer[8];
  return bsm_strmap_set(&m->scratch, d->index,
                        key_bytes(&d->dict.keys[i], buffer),
                        (void *)(uintptr_t)(i + 1));
}

static bsm_status dict_append(pickle_machine *m, pickle_dict *d,
                              const bsm_ivalue *key, const bsm_ivalue *value) {
  bsm_dict *dict = &d->dict;
  if (dict->len == dict->cap) {
    const size_t cap = dict->cap < 4 ? 4 : dict->cap * 2;
    bsm_ivalue *keys = BSM_NEW_ARRAY(m->arena, bsm_ivalue, cap);
    bsm_ivalue *values = BSM_NEW_ARRAY(m->arena, bsm_ivalue, cap);
    BSM_TRY_ALLOC(keys);
    BSM_TRY_ALLOC(values);
    if (dict->len) {
      memcpy(keys, dict->keys, dict->len * sizeof(*keys));
      memcpy(values, dict->values, dict->len * sizeof(*values));
    }
    dict->keys = keys;
    dict->values = values;
    dict->cap = cap;
  }
  dict->keys[dict->len] = *key;
  dict->values[dict->len] = *value;
  dict->len++;
  if (d->index) return index_key(m, d, dict->len - 1) ? BSM_OK : BSM_FAIL_OOM();
  if (dict->len < INDEX_FROM) return BSM_OK;
  d->index = BSM_NEW(&m->scratch, bsm_strmap);
  BSM_TRY_ALLOC(d->index);
  for (size_t i = 0; i < dict->len; i++) {
    if (!index_key(m, d, i)) return BSM_FAIL_OOM();
  }
  return BSM_OK;
}

static bsm_status dict_put(pickle_machine *m, pickle_dict *d,
                           const bsm_ivalue *key, const bsm_ivalue *value) {
  switch (key->tag) {
    case BSM_IVALUE_INT:
    case BSM_IVALUE_DOUBLE:
    case BSM_IVALUE_BOOL:
    case BSM_IVALUE_STRING:
    case BSM_IVALUE_TENSOR:
      break;
    default:
      return BSM_FAIL(BSM_CORRUPT, "a dict key that is %s",
                      bsm_pickle_kind(key));
  }
  if (d->dict.len && d->dict.keys[0].tag != key->tag) {
    return BSM_FAIL(BSM_CORRUPT, "a dict with keys of types %s and %s",
                    bsm_pickle_kind(&d->dict.keys[0]), bsm_pickle_kind(key));
  }
  BSM_TRY(bsm_pickle_put(m, value, &d->meta.height));
  const size_t at = bsm_pickle_dict_find(d, key);
  if (at == d->dict.len) return dict_append(m, d, key, value);
  d->dict.values[at] = *value;
  return BSM_OK;
}

bsm_status bsm_pickle_new_dict(pickle_machine *m, bsm_ivalue *out) {
  pickle_dict *d = BSM_NEW(m->arena, pickle_dict);
  BSM_TRY_ALLOC(d);
  d->dict.arena = m->arena;
  d->meta.height = 1;
  *out = bsm_iv_dict(&d->dict);
  return BSM_OK;
}

/* ---- stack ---- */

static bsm_status push(pickle_machine *m, bsm_ivalue v) {
  return bsm_vec_push(&m->scratch, &m->stack, v) ? BSM_OK : BSM_FAIL_OOM();
}

/* How many items lie above the innermost mark. */
static size_t available(const pickle_machine *m) {
  const size_t floor = m->marks.len ? m->marks.items[m->marks.len - 1] : 0;
  return m->stack.len - floor;
}

static bsm_status need(const pickle_machine *m, size_t n) {
  if (available(m) < n) {
    return BSM_FAIL(BSM_CORRUPT, "needs %zu values on the stack, there are %zu",
                    n, available(m));
  }
  return BSM_OK;
}

/* The item `depth` below the top (0: the top); need() was asked. */
static bsm_ivalue *peek(pickle_machine *m, size_t depth) {
  return &m->stack.items[m->stack.len - 1 - depth];
}

/* The items above the innermost mark. They stay readable until the next push;
 * the mark is gone. */
static bsm_status pop_to_mark(pickle_machine *m, bsm_ivalue **items,
                              size_t *count) {
  if (m->marks.len == 0) return BSM_FAIL(BSM_CORRUPT, "there is no mark");
  const size_t mark = m->marks.items[--m->marks.len];
  *items = mark ? m->stack.items + mark : m->stack.items;
  *count = m->stack.len - mark;
  m->stack.len = mark;
  return BSM_OK;
}

/* ---- containers ---- */

/* The top `n` items, replaced by a tuple of them. */
static bsm_status make_tuple(pickle_machine *m, size_t n) {
  bsm_ivalue *from = n ? peek(m, n - 1) : NULL;
  bool is_private = false;
  uint32_t height = 1;
  for (size_t i = 0; i < n; i++) {
    is_private = is_private || from[i].tag == BSM_IVALUE_CONTAINER;
    BSM_TRY(put_any(m, &from[i], &height));
  }
  bsm_ivalue value = {0};
  bsm_tuple *tuple;
  if (is_private) {
    pickle_private *args;
    BSM_TRY(bsm_pickle_private(m, PICKLE_ARGS, &value, &args));
    args->meta.height = height;
    tuple = &args->u.args;
    tuple->items = BSM_NEW_ARRAY(&m->scratch, bsm_ivalue, n);
  } else {
    pickle_tuple *body = BSM_NEW(m->arena, pickle_tuple);
    BSM_TRY_ALLOC(body);
    body->meta.height = height;
    tuple = &body->tuple;
    tuple->items = BSM_NEW_ARRAY(m->arena, bsm_ivalue, n);
    value = bsm_iv_tuple(tuple);
  }
  BSM_TRY_ALLOC(tuple->items);
  if (n) memcpy(tuple->items, from, n * sizeof(*from));
  tuple->len = n;
  m->stack.len -= n;
  return push(m, value);
}

static bsm_status op_tuple(pickle_machine *m) {
  bsm_ivalue *items = NULL;
  size_t n = 0;
  BSM_TRY(pop_to_mark(m, &items, &n));
  m->stack.len += n; /* make_tuple takes them from the stack */
  return make_tuple(m, n);
}

static bsm_status op_small_tuple(pickle_machine *m, size_t n) {
  BSM_TRY(need(m, n));
  return make_tuple(m, n);
}

static bsm_status new_list(pickle_machine *m, pickle_list **out) {
  pickle_list *body = BSM_NEW(m->arena, pickle_list);
  BSM_TRY_ALLOC(body);
  body->list.arena = m->arena;
  body->meta.height = 1;
  *out = body;
  return BSM_OK;
}

/* Appends at once, so that a list is as large as what is in it. */
static bsm_status list_extend(pickle_machine *m, pickle_list *body,
                              const bsm_ivalue *items, size_t n) {
  bsm_list *list = &body->list;
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_pickle_put(m, &items[i], &body->meta.height));
  }
  if (body->meta.sealed) {
    return BSM_FAIL(BSM_CORRUPT, "a list changes after it was used");
  }
  if (n > list->cap - list->len) {
    const size_t cap = list->len ? 2 * list->len + n : n;
    bsm_ivalue *grown = BSM_NEW_ARRAY(m->arena, bsm_ivalue, cap);
    BSM_TRY_ALLOC(grown);
    if (list->len) memcpy(grown, list->items, list->len * sizeof(*grown));
    list->items = grown;
    list->cap = cap;
  }
  if (n) memcpy(list->items + list->len, items, n * sizeof(*items));
  list->len += n;
  return BSM_OK;
}

static bsm_status op_empty_list(pickle_machine *m) {
  pickle_list *body = NULL;
  BSM_TRY(new_list(m, &body));
  return push(m, bsm_iv_list(&body->list));
}

static bsm_status op_list(pickle_machine *m) {
  bsm_ivalue *items = NULL;
  size_t n = 0;
  pickle_list *body = NULL;
  BSM_TRY(pop_to_mark(m, &items, &n));
  BSM_TRY(new_list(m, &body));
  BSM_TRY(list_extend(m, body, items, n));
  return push(m, bsm_iv_list(&body->list));
}

/* The top `n` items go into the list or dict below; they stay readable. */
static bsm_status pop_items(pickle_machine *m, size_t n, bsm_ivalue **items) {
  BSM_TRY(need(m, n + 1));
  m->stack.len -= n;
  *items = m->stack.items + m->stack.len;
  return BSM_OK;
}

static bsm_status append_items(pickle_machine *m, const bsm_ivalue *items,
                               size_t n) {
  BSM_TRY(need(m, 1));
  const bsm_ivalue *top = peek(m, 0);
  if (top->tag != BSM_IVALUE_LIST) {
    return BSM_FAIL(BSM_CORRUPT, "appends to %s", bsm_pickle_kind(top));
  }
  return list_extend(m, (pickle_list *)top->u.list, items, n);
}

static bsm_status op_append(pickle_machine *m) {
  bsm_ivalue *items = NULL;
  BSM_TRY(pop_items(m, 1, &items));
  return append_items(m, items, 1);
}

static bsm_status op_appends(pickle_machine *m) {
  bsm_ivalue *items = NULL;
  size_t n = 0;
  BSM_TRY(pop_to_mark(m, &items, &n));
  return append_items(m, items, n);
}

static bsm_status set_items(pickle_machine *m, pickle_dict *d,
                            const bsm_ivalue *items, size_t n) {
  if (n % 2 != 0) {
    return BSM_FAIL(BSM_CORRUPT, "%zu items are no key-value pairs", n);
  }
  for (size_t i = 0; i < n; i += 2) {
    BSM_TRY(dict_put(m, d, &items[i], &items[i + 1]));
    /* Checked each time: the value just put may have been the dict itself. */
    if (d->meta.sealed) {
      return BSM_FAIL(BSM_CORRUPT, "a dict changes after it was used");
    }
  }
  return BSM_OK;
}

static bsm_status op_empty_dict(pickle_machine *m) {
  bsm_ivalue value = {0};
  BSM_TRY(bsm_pickle_new_dict(m, &value));
  return push(m, value);
}

static bsm_status op_dict(pickle_machine *m) {
  bsm_ivalue *items = NULL, value;
  size_t n = 0;
  BSM_TRY(pop_to_mark(m, &items, &n));
  BSM_TRY(bsm_pickle_new_dict(m, &value));
  BSM_TRY(set_items(m, (pickle_dict *)value.u.dict, items, n));
  return push(m, value);
}

static bsm_status put_items(pickle_machine *m, const bsm_ivalue *items,
                            size_t n) {
  BSM_TRY(need(m, 1));
  const bsm_ivalue *top = peek(m, 0);
  if (top->tag != BSM_IVALUE_DICT) {
    return BSM_FAIL(BSM_CORRUPT, "sets items of %s", bsm_pickle_kind(top));
  }
  return set_items(m, (pickle_dict *)top->u.dict, items, n);
}

static bsm_status op_setitem(pickle_machine *m) {
  bsm_ivalue *items = NULL;
  BSM_TRY(pop_items(m, 2, &items));
  return put_items(m, items, 2);
}

static bsm_status op_setitems(pickle_machine *m) {
  bsm_ivalue *items = NULL;
  size_t n = 0;
  BSM_TRY(pop_to_mark(m, &items, &n));
  return put_items(m, items, n);
}

/* ---- reading ---- */

/* The next `n` bytes. */
static bsm_status take(pickle_machine *m, size_t n, const uint8_t **out) {
  if (n > m->bytes.len - m->pos) {
    return BSM_FAIL(BSM_CORRUPT, "the pickle ends after %zu bytes",
                    m->bytes.len);
  }
  *out = (const uint8_t *)m->bytes.data + m->pos;
  m->pos += n;
  return BSM_OK;
}

static uint64_t little_endian(const uint8_t *p, size_t n) {
  uint64_t v = 0;
  for (size_t i = n; i-- > 0;) v = v << 8 | p[i];
  return v;
}

static bsm_status take_unsigned(pickle_machine *m, size_t n, uint64_t *out) {
  const uint8_t *p = NULL;
  BSM_TRY(take(m, n, &p));
  *out = little_endian(p, n);
  return BSM_OK;
}

/* Up to a newline, which is skipped. */
static bsm_status take_line(pickle_machine *m, bsm_str *out) {
  const char *start = m->bytes.data + m->pos;
  const size_t left = m->bytes.len - m->pos;
  const char *end = left ? memchr(start, '\n', left) : NULL;
  if (!end) return BSM_FAIL(BSM_CORRUPT, "a line without end");
  out->data = start;
  out->len = (size_t)(end - start);
  m->pos += out->len + 1;
  if (out->len > m->limits.max_name_bytes) {
    return BSM_FAIL(BSM_LIMIT, "a name of %zu bytes; the limit is %llu",
                    out->len, (unsigned long long)m->limits.max_name_bytes);
  }
  return BSM_OK;
}

static bsm_status op_unsigned(pickle_machine *m, size_t n) {
  uint64_t v = 0;
  BSM_TRY(take_unsigned(m, n, &v));
  return push(m, bsm_iv_int((int64_t)v));
}

static bsm_status op_binint(pickle_machine *m) {
  uint64_t v = 0;
  BSM_TRY(take_unsigned(m, 4, &v));
  return push(m, bsm_iv_int((int32_t)(uint32_t)v));
}

/* TorchScript writes 8 bytes, Python as many as it takes. */
static bsm_status op_long1(pickle_machine *m) {
  uint64_t n = 0, v = 0;
  BSM_TRY(take_unsigned(m, 1, &n));
  if (n > 8) {
    return BSM_FAIL(BSM_CORRUPT, "an integer of %u bytes; at most 8 fit",
                    (unsigned)n);
  }
  BSM_TRY(take_unsigned(m, (size_t)n, &v));
  int64_t value = (int64_t)v;
  const bool is_negative = n > 0 && n < 8 && v >> (8 * n - 1);
  if (is_negative) value -= (int64_t)1 << (8 * n);
  return push(m, bsm_iv_int(value));
}

static bsm_status op_binfloat(pickle_machine *m) {
  const uint8_t *p = NULL;
  BSM_TRY(take(m, 8, &p));
  uint64_t bits = 0;
  for (int i = 0; i < 8; i++) bits = bits << 8 | p[i];
  double d;
  memcpy(&d, &bits, sizeof d);
  return push(m, bsm_iv_double(d));
}

static bsm_status op_binunicode(pickle_machine *m) {
  uint64_t n = 0;
  BSM_TRY(take_unsigned(m, 4, &n));
  if (n > m->limits.max_string_bytes) {
    return BSM_FAIL(BSM_LIMIT, "a string of %llu bytes; the limit is %llu",
                    (unsigned long long)n,
                    (unsigned long long)m->limits.max_string_bytes);
  }
  const uint8_t *p = NULL;
  BSM_TRY(take(m, (size_t)n, &p));
  bsm_ivalue value = {0};
  BSM_TRY(
      bsm_iv_string(m->arena, (bsm_str){(const char *)p, (size_t)n}, &value));
  return push(m, value);
}

/* ---- memo ---- */

static bsm_status op_put(pickle_machine *m, size_t bytes) {
  uint64_t id = 0;
  BSM_TRY(take_unsigned(m, bytes, &id));
  BSM_TRY(need(m, 1));
  /* Ids count up from 0, an opcode each. */
  if (id > m->bytes.len) {
    return BSM_FAIL(BSM_CORRUPT, "memo id %llu in a pickle of %zu bytes",
                    (unsigned long long)id, m->bytes.len);
  }
  const bsm_ivalue hole = {.tag = BSM_IVALUE_FUNCTION};
  while (m->memo.len <= id) {
    if (!bsm_vec_push(&m->scratch, &m->memo, hole)) return BSM_FAIL_OOM();
  }
  m->memo.items[id] = *peek(m, 0);
  return BSM_OK;
}

static bsm_status op_get(pickle_machine *m, size_t bytes) {
  uint64_t id = 0;
  BSM_TRY(take_unsigned(m, bytes, &id));
  if (id >= m->memo.len || m->memo.items[id].tag == BSM_IVALUE_FUNCTION) {
    return BSM_FAIL(BSM_CORRUPT, "memo id %llu was never put",
                    (unsigned long long)id);
  }
  return push(m, m->memo.items[id]);
}

/* ---- globals and objects ---- */

static bsm_status op_global(pickle_machine *m) {
  bsm_str module = {0}, name = {0};
  BSM_TRY(take_line(m, &module));
  BSM_TRY(take_line(m, &name));
  bsm_ivalue value = {0};
  BSM_TRY(bsm_pickle_global(m, module, name, &value));
  return push(m, value);
}

static bsm_status op_reduce(pickle_machine *m) {
  BSM_TRY(need(m, 2));
  bsm_ivalue value = {0};
  BSM_TRY(bsm_pickle_reduce(m, peek(m, 1), peek(m, 0), &value));
  m->stack.len -= 2;
  return push(m, value);
}

static bsm_status op_newobj(pickle_machine *m) {
  BSM_TRY(need(m, 2));
  const bsm_ivalue *args = peek(m, 0);
  const pickle_private *cls = bsm_pickle_as(peek(m, 1), PICKLE_CLASS);
  if (!cls) {
    return BSM_FAIL(BSM_CORRUPT, "an instance of %s, which is no class",
                    bsm_pickle_kind(peek(m, 1)));
  }
  if (args->tag != BSM_IVALUE_TUPLE || args->u.tuple->len != 0) {
    return BSM_FAIL(BSM_CORRUPT, "an instance of %s with arguments",
                    cls->u.cls->name);
  }
  bsm_ivalue value = {0};
  pickle_private *body = NULL;
  BSM_TRY(bsm_pickle_private(m, PICKLE_NEW, &value, &body));
  body->u.cls = cls->u.cls;
  m->stack.len -= 2;
  return push(m, value);
}

static bsm_status op_build(pickle_machine *m) {
  BSM_TRY(need(m, 2));
  /* An OrderedDict may have attributes: those that Module.state_dict() makes
   * have _metadata, the versions of its modules. */
  if (peek(m, 1)->tag == BSM_IVALUE_DICT &&
      peek(m, 0)->tag == BSM_IVALUE_DICT) {
    m->stack.len--;
    return BSM_OK;
  }
  const pickle_private *body = bsm_pickle_as(peek(m, 1), PICKLE_NEW);
  if (!body) {
    return BSM_FAIL(BSM_CORRUPT, "sets the state of %s",
                    bsm_pickle_kind(peek(m, 1)));
  }
  bsm_ivalue value = {0};
  BSM_TRY(bsm_pickle_build(m, body->u.cls, peek(m, 0), &value));
  m->stack.len -= 2;
  return push(m, value);
}

static bsm_status op_binpersid(pickle_machine *m) {
  BSM_TRY(need(m, 1));
  const pickle_private *args = bsm_pickle_as(peek(m, 0), PICKLE_ARGS);
  if (!args) {
    return BSM_FAIL(BSM_CORRUPT, "a persistent id that is %s",
                    bsm_pickle_kind(peek(m, 0)));
  }
  bsm_ivalue value = {0};
  BSM_TRY(bsm_pickle_persistent_id(m, &args->u.args, &value));
  m->stack.len -= 1;
  return push(m, value);
}

/* ---- running ---- */

static bsm_status op_mark(pickle_machine *m) {
  return bsm_vec_push(&m->scratch, &m->marks, m->stack.len) ? BSM_OK
                                                            : BSM_FAIL_OOM();
}

/* Every opcode but PROTO and STOP. */
static bsm_status step(pickle_machine *m, uint8_t op) {
  switch ((opcode)op) {
    case OP_MARK:
      return op_mark(m);
    case OP_EMPTY_TUPLE:
      return make_tuple(m, 0);
    case OP_EMPTY_LIST:
      return op_empty_list(m);
    case OP_EMPTY_DICT:
      return op_empty_dict(m);
    case OP_TUPLE:
      return op_tuple(m);
    case OP_TUPLE1:
      return op_small_tuple(m, 1);
    case OP_TUPLE2:
      return op_small_tuple(m, 2);
    case OP_TUPLE3:
      return op_small_tuple(m, 3);
    case OP_APPEND:
      return op_append(m);
    case OP_APPENDS:
      return op_appends(m);
    case OP_SETITEM:
      return op_setitem(m);
    case OP_SETITEMS:
      return op_setitems(m);
    case OP_LIST:
      return op_list(m);
    case OP_DICT:
      return op_dict(m);
    case OP_NONE:
      return push(m, bsm_iv_none());
    case OP_NEWTRUE:
    case OP_NEWFALSE:
      return push(m, bsm_iv_bool(op == OP_NEWTRUE));
    case OP_BININT1:
      return op_unsigned(m, 1);
    case OP_BININT2:
      return op_unsigned(m, 2);
    case OP_BININT:
      return op_binint(m);
    case OP_LONG1:
      return op_long1(m);
    case OP_BINFLOAT:
      return op_binfloat(m);
    case OP_BINUNICODE:
      return op_binunicode(m);
    case OP_GLOBAL:
      return op_global(m);
    case OP_BINPUT:
      return op_put(m, 1);
    case OP_LONG_BINPUT:
      return op_put(m, 4);
    case OP_BINGET:
      return op_get(m, 1);
    case OP_LONG_BINGET:
      return op_get(m, 4);
    case OP_REDUCE:
      return op_reduce(m);
    case OP_NEWOBJ:
      return op_newobj(m);
    case OP_BUILD:
      return op_build(m);
    case OP_BINPERSID:
      return op_binpersid(m);
    case OP_PROTO:
    case OP_STOP:
      break;
  }
  return BSM_FAIL(BSM_CORRUPT, "opcode 0x%02x is not allowed here", op);
}

/* Appends " in layer1.conv.weight": the keys of the dicts under construction,
 * which are the states of the objects around the failure. */
static void append_path(pickle_machine *m, bsm_text *text) {
  bool first = true;
  for (size_t k = 0; k < m->marks.len; k++) {
    const size_t begin = m->marks.items[k];
    const size_t end =
        k + 1 < m->marks.len ? m->marks.items[k + 1] : m->stack.len;
    if (begin == 0 || m->stack.items[begin - 1].tag != BSM_IVALUE_DICT) {
      continue;
    }
    /* Keys are at even places; the last string there names the value that is
     * being made. */
    const bsm_str *key = NULL;
    for (size_t i = begin; i < end; i += 2) {
      if (m->stack.items[i].tag != BSM_IVALUE_STRING) break;
      key = m->stack.items[i].u.s;
    }
    if (!key || text->len > 1000) continue;
    bsm_text_puts(text, first ? ", attribute " : ".");
    first = false;
    for (size_t i = 0; i < key->len && i < 100; i++) {
      const char c = key->data[i];
      bsm_text_printf(text, "%c", c >= 0x20 && c < 0x7f ? c : '?');
    }
  }
}

static bsm_status locate(pickle_machine *m, bsm_status status, const char *what,
                         uint8_t op, size_t at) {
  bsm_text path;
  bsm_text_init(&path, &m->scratch);
  append_path(m, &path);
  const char *name = opcode_name(op);
  return bsm_status_note(status, "in %s at offset %zu (%s)%s", what, at,
                         name ? name : "unknown opcode", path.data);
}

static bsm_status start(pickle_machine *m, const char *what) {
  const uint8_t *data = (const uint8_t *)m->bytes.data;
  if (m->bytes.len < 2 || data[0] != OP_PROTO) {
    return BSM_FAIL(BSM_CORRUPT, "%s is not a pickle", what);
  }
  if (data[1] != 2) {
    return BSM_FAIL(BSM_CORRUPT, "%s: pickle protocol %u instead of 2", what,
                    data[1]);
  }
  m->pos = 2;
  return BSM_OK;
}

static bsm_status finish(pickle_machine *m, bsm_ivalue *out) {
  if (m->stack.len != 1 || m->marks.len != 0) {
    return BSM_FAIL(BSM_CORRUPT,
                    "%zu values and %zu marks left instead of one "
                    "value",
                    m->stack.len, m->marks.len);
  }
  if (m->pos != m->bytes.len) {
    return BSM_FAIL(BSM_CORRUPT, "%zu bytes follow the end",
                    m->bytes.len - m->pos);
  }
  uint32_t height = 1;
  BSM_TRY(bsm_pickle_put(m, &m->stack.items[0], &height));
  *out = m->stack.items[0];
  return BSM_OK;
}

static bsm_status run(pickle_machine *m, const char *what, bsm_ivalue *out) {
  BSM_TRY(start(m, what));
  for (;;) {
    if (m->pos >= m->bytes.len) {
      return BSM_FAIL(BSM_CORRUPT, "%s: no STOP in %zu bytes", what,
                      m->bytes.len);
    }
    const size_t at = m->pos;
    const uint8_t op = (uint8_t)m->bytes.data[m->pos++];
    bsm_status status = bsm_pickle_charge(m, 1);
    if (!status) status = op == OP_STOP ? finish(m, out) : step(m, op);
    if (status) return locate(m, status, what, op, at);
    if (op == OP_STOP) return BSM_OK;
  }
}

bsm_status bsm_unpickle(bsm_arena *arena, bsm_type_table *types, bsm_str bytes,
                        const char *what, const bsm_limits *limits,
                        const bsm_pickle_hooks *hooks, bsm_ivalue *out) {
  static const bsm_pickle_hooks no_hooks = {0};
  pickle_machine m = {.arena = arena,
                      .types = types,
                      .hooks = hooks ? hooks : &no_hooks,
                      .bytes = bytes};
  m.limits = bsm_resolve_limits(limits);
  bsm_arena_init(&m.scratch, arena->allocator);
  *out = bsm_iv_none();
  const bsm_status status = run(&m, what, out);
  bsm_arena_destroy(&m.scratch);
  return status;
}
