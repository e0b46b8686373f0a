/* SPDX-License-Identifier: Apache-2.0 */
/* Boxed values: containers, equality, and text as TorchScript prints it. */
#include "aten/ivalue.h"

#include <math.h>
#include <stdio.h>

#include "aten/element.h"
#include "base/siphash.h"

/* Values nest as deep as the file that holds them says; beyond this, text and
 * comparison stop. */
enum { MAX_DEPTH = 200, MAX_PRINTED_ELEMENTS = 1000 };

bsm_status bsm_iv_string(bsm_arena *arena, bsm_str text, bsm_ivalue *out) {
  bsm_str *s = BSM_NEW(arena, bsm_str);
  BSM_TRY_ALLOC(s);
  s->data = bsm_arena_strndup(arena, text.data ? text.data : "", text.len);
  BSM_TRY_ALLOC(s->data);
  s->len = text.len;
  *out = (bsm_ivalue){BSM_IVALUE_STRING, {.s = s}};
  return BSM_OK;
}

bsm_status bsm_list_new(bsm_arena *arena, const struct bsm_type *elem_type,
                        size_t len, bsm_list **out) {
  bsm_list *list = BSM_NEW(arena, bsm_list);
  BSM_TRY_ALLOC(list);
  list->elem_type = elem_type;
  list->arena = arena;
  if (len > 0) {
    list->items = BSM_NEW_ARRAY(arena, bsm_ivalue, len);
    BSM_TRY_ALLOC(list->items);
  }
  list->len = list->cap = len;
  *out = list;
  return BSM_OK;
}

/* Gives the list items of its own, with room for `cap`. */
__attribute__((cold, noinline)) static bsm_status move_list(bsm_list *list,
                                                            size_t cap) {
  bsm_ivalue *items = BSM_NEW_ARRAY(list->arena, bsm_ivalue, cap);
  BSM_TRY_ALLOC(items);
  if (list->len > 0) memcpy(items, list->items, list->len * sizeof(*items));
  list->items = items;
  list->cap = cap;
  list->used = NULL;
  return BSM_OK;
}

bsm_status bsm_list_append(bsm_list *list, bsm_ivalue item) {
  if (list->len == list->cap || (list->used && *list->used != list->len)) {
    BSM_TRY(move_list(list, list->len < 4 ? 4 : list->len * 2));
  }
  list->items[list->len++] = item;
  if (list->used) *list->used = list->len;
  return BSM_OK;
}

__attribute__((cold)) bsm_status bsm_list_own(bsm_list *list) {
  return list->used ? move_list(list, list->len + 1) : BSM_OK;
}

__attribute__((cold)) bsm_status bsm_list_copy(bsm_list *list, bsm_list **out) {
  bsm_list *copy = BSM_NEW(list->arena, bsm_list);
  BSM_TRY_ALLOC(copy);
  if (!list->used) {
    list->used = BSM_NEW(list->arena, size_t);
    BSM_TRY_ALLOC(list->used);
    *list->used = list->len;
  }
  *copy = *list;
  *out = copy;
  return BSM_OK;
}

bsm_status bsm_tuple_new(bsm_arena *arena, size_t len, bsm_tuple **out) {
  bsm_tuple *tuple = BSM_NEW(arena, bsm_tuple);
  BSM_TRY_ALLOC(tuple);
  if (len > 0) {
    tuple->items = BSM_NEW_ARRAY(arena, bsm_ivalue, len);
    BSM_TRY_ALLOC(tuple->items);
  }
  tuple->len = len;
  *out = tuple;
  return BSM_OK;
}

bsm_status bsm_dict_new(bsm_arena *arena, const struct bsm_type *key_type,
                        const struct bsm_type *value_type, bsm_dict **out) {
  bsm_dict *dict = BSM_NEW(arena, bsm_dict);
  BSM_TRY_ALLOC(dict);
  dict->arena = arena;
  dict->key_type = key_type;
  dict->value_type = value_type;
  *out = dict;
  return BSM_OK;
}

static bool key_equal(const bsm_ivalue *a, const bsm_ivalue *b) {
  if (a->tag != b->tag) return false;
  if (a->tag == BSM_IVALUE_TENSOR) return a->u.tensor == b->u.tensor;
  return bsm_iv_equal(a, b);
}

/* Functions are marked cold where size matters more than speed: the library
 * that only runs engines is held to its size. */

/* Below this many keys, looking at each is faster than hashing. */
enum { INDEXED_FROM = 8 };

/* Of keys that are equal, the same. */
__attribute__((noinline)) static size_t hash_key(const bsm_ivalue *key) {
  const double zero = 0.0;
  double parts[2];
  switch (key->tag) {
    case BSM_IVALUE_INT:
      return (size_t)bsm_siphash(&key->u.i, sizeof(key->u.i));
    case BSM_IVALUE_DOUBLE:
      return (size_t)bsm_siphash(key->u.d == 0.0 ? &zero : &key->u.d,
                                 sizeof(zero));
    case BSM_IVALUE_COMPLEX:
      parts[0] = key->u.c.re + zero; /* no negative zero */
      parts[1] = key->u.c.im + zero;
      return (size_t)bsm_siphash(parts, sizeof(parts));
    case BSM_IVALUE_STRING:
      return (size_t)bsm_siphash(key->u.s->data, key->u.s->len);
    case BSM_IVALUE_TENSOR:
      return (size_t)bsm_siphash(&key->u.tensor, sizeof(key->u.tensor));
    default:
      return 0;
  }
}

/* Where the key of a place is entered. What is not equal to itself, as NaN, is
 * never found, so that it may be anywhere: many of one hash would make each
 * entry look at all. */
__attribute__((cold, noinline)) static size_t hash_place(const bsm_dict *dict,
                                                         size_t place) {
  const bsm_ivalue *key = &dict->keys[place];
  return key_equal(key, key) ? hash_key(key)
                             : (size_t)bsm_siphash(&place, sizeof(place));
}

__attribute__((cold, noinline)) static void add_to_index(bsm_dict *dict,
                                                         size_t place) {
  const size_t mask = dict->index_size - 1;
  size_t i = hash_place(dict, place) & mask;
  while (dict->index[i]) i = (i + 1) & mask;
  dict->index[i] = (uint32_t)place + 1;
}

__attribute__((cold, noinline)) static void fill_index(bsm_dict *dict) {
  memset(dict->index, 0, dict->index_size * sizeof(*dict->index));
  for (size_t i = 0; i < dict->len; i++) add_to_index(dict, i);
  dict->indexed = dict->len;
}

/* At most half full, with room for as many keys again. */
__attribute__((cold)) bsm_status bsm_dict_make_index(bsm_dict *dict) {
  size_t size = 4 * INDEXED_FROM;
  if (dict->len < INDEXED_FROM || dict->len >= UINT32_MAX / 8) return BSM_OK;
  while (size < 4 * dict->len) size *= 2;
  dict->index = BSM_NEW_ARRAY(dict->arena, uint32_t, size);
  BSM_TRY_ALLOC(dict->index);
  dict->index_size = size;
  fill_index(dict);
  return BSM_OK;
}

static bool has_index(const bsm_dict *dict) {
  return dict->index && dict->indexed == dict->len;
}

/* The place of the key, or `len`. */
__attribute__((noinline)) static size_t find_key(const bsm_dict *dict,
                                                 bsm_ivalue key) {
  size_t i = 0;
  if (!has_index(dict)) {
    while (i < dict->len && !key_equal(&dict->keys[i], &key)) i++;
    return i;
  }
  const size_t mask = dict->index_size - 1;
  for (i = hash_key(&key) & mask; dict->index[i]; i = (i + 1) & mask) {
    const size_t place = dict->index[i] - 1;
    if (key_equal(&dict->keys[place], &key)) return place;
  }
  return dict->len;
}

bsm_ivalue *bsm_dict_find(const bsm_dict *dict, bsm_ivalue key) {
  const size_t i = find_key(dict, key);
  return i < dict->len ? &dict->values[i] : NULL;
}

__attribute__((cold)) static bsm_status grow_dict(bsm_dict *dict) {
  const size_t cap = dict->cap < 4 ? 4 : dict->cap * 2;
  bsm_ivalue *keys = BSM_NEW_ARRAY(dict->arena, bsm_ivalue, cap);
  bsm_ivalue *values = BSM_NEW_ARRAY(dict->arena, bsm_ivalue, cap);
  BSM_TRY_ALLOC(keys);
  BSM_TRY_ALLOC(values);
  if (dict->len > 0) {
    memcpy(keys, dict->keys, dict->len * sizeof(*keys));
    memcpy(values, dict->values, dict->len * sizeof(*values));
  }
  dict->keys = keys;
  dict->values = values;
  dict->cap = cap;
  return BSM_OK;
}

bsm_status bsm_dict_set(bsm_dict *dict, bsm_ivalue key, bsm_ivalue value) {
  const size_t i = find_key(dict, key);
  if (i < dict->len) {
    dict->values[i] = value;
    return BSM_OK;
  }
  if (i == dict->cap) BSM_TRY(grow_dict(dict));
  const bool room = has_index(dict) && 2 * (i + 1) <= dict->index_size;
  dict->keys[i] = key;
  dict->values[i] = value;
  dict->len++;
  if (!room) return bsm_dict_make_index(dict);
  add_to_index(dict, i);
  dict->indexed = dict->len;
  return BSM_OK;
}

__attribute__((cold)) bool bsm_dict_delete(bsm_dict *dict, bsm_ivalue key) {
  const bool indexed = has_index(dict);
  const size_t i = find_key(dict, key);
  if (i == dict->len) return false;
  const size_t rest = dict->len - i - 1;
  memmove(&dict->keys[i], &dict->keys[i + 1], rest * sizeof(bsm_ivalue));
  memmove(&dict->values[i], &dict->values[i + 1], rest * sizeof(bsm_ivalue));
  dict->len--;
  if (indexed) fill_index(dict);
  return true;
}

__attribute__((cold)) void bsm_dict_truncate(bsm_dict *dict, size_t len) {
  const size_t mask = dict->index_size - 1;
  while (dict->len > len) {
    /* The last key was put behind all others that have its hash, so nothing
     * that is looked for lies beyond its place in the index. */
    const size_t place = --dict->len;
    if (!dict->index || dict->indexed != place + 1) continue;
    size_t i = hash_place(dict, place) & mask;
    while (dict->index[i] != place + 1) i = (i + 1) & mask;
    dict->index[i] = 0;
    dict->indexed = place;
  }
}

bsm_status bsm_object_new(bsm_arena *arena, const struct bsm_type *type,
                          size_t len, bsm_object **out) {
  bsm_object *object = BSM_NEW(arena, bsm_object);
  BSM_TRY_ALLOC(object);
  object->type = type;
  if (len > 0) {
    object->slots = BSM_NEW_ARRAY(arena, bsm_ivalue, len);
    BSM_TRY_ALLOC(object->slots);
  }
  object->len = len;
  *out = object;
  return BSM_OK;
}

bsm_status bsm_iv_int_list(bsm_arena *arena, const int64_t *v, size_t n,
                           bsm_ivalue *out) {
  bsm_list *list;
  BSM_TRY(bsm_list_new(arena, NULL, n, &list));
  for (size_t i = 0; i < n; i++) list->items[i] = bsm_iv_int(v[i]);
  *out = bsm_iv_list(list);
  return BSM_OK;
}

bsm_status bsm_iv_tensor_list(bsm_arena *arena, bsm_tensor *const *v, size_t n,
                              bsm_ivalue *out) {
  bsm_list *list;
  BSM_TRY(bsm_list_new(arena, NULL, n, &list));
  for (size_t i = 0; i < n; i++) list->items[i] = bsm_iv_tensor(v[i]);
  *out = bsm_iv_list(list);
  return BSM_OK;
}

/* ---- equality ---- */

static bool equal_at(const bsm_ivalue *a, const bsm_ivalue *b, int depth);

static bool items_equal(const bsm_ivalue *a, size_t n, const bsm_ivalue *b,
                        size_t m, int depth) {
  if (n != m) return false;
  for (size_t i = 0; i < n; i++) {
    if (!equal_at(&a[i], &b[i], depth + 1)) return false;
  }
  return true;
}

static bool dicts_equal(const bsm_dict *a, const bsm_dict *b, int depth) {
  if (a->len != b->len) return false;
  for (size_t i = 0; i < a->len; i++) {
    const bsm_ivalue *other = bsm_dict_find(b, a->keys[i]);
    if (!other || !equal_at(&a->values[i], other, depth + 1)) return false;
  }
  return true;
}

/* Items of one enum class are the same when their names are, wherever they
 * were made. */
static bool enums_equal(const bsm_object *a, const bsm_object *b) {
  if (a == b) return true;
  return a->type == b->type && a->len > 0 && b->len > 0 &&
         a->slots[0].tag == BSM_IVALUE_STRING &&
         equal_at(&a->slots[0], &b->slots[0], 0);
}

static bool is_number(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_INT || v->tag == BSM_IVALUE_DOUBLE ||
         v->tag == BSM_IVALUE_BOOL;
}

static double number(const bsm_ivalue *v) {
  if (v->tag == BSM_IVALUE_DOUBLE) return v->u.d;
  return v->tag == BSM_IVALUE_INT ? (double)v->u.i : (double)v->u.b;
}

static bool equal_at(const bsm_ivalue *a, const bsm_ivalue *b, int depth) {
  if (depth > MAX_DEPTH) return false;
  if (a->tag != b->tag) {
    return is_number(a) && is_number(b) && number(a) == number(b);
  }
  switch (a->tag) {
    case BSM_IVALUE_NONE:
      return true;
    case BSM_IVALUE_INT:
      return a->u.i == b->u.i;
    case BSM_IVALUE_DOUBLE:
      return a->u.d == b->u.d;
    case BSM_IVALUE_BOOL:
      return a->u.b == b->u.b;
    case BSM_IVALUE_COMPLEX:
      return a->u.c.re == b->u.c.re && a->u.c.im == b->u.c.im;
    case BSM_IVALUE_STRING:
      return a->u.s->len == b->u.s->len &&
             memcmp(a->u.s->data, b->u.s->data, a->u.s->len) == 0;
    case BSM_IVALUE_DEVICE:
      return a->u.device.type == b->u.device.type &&
             a->u.device.index == b->u.device.index;
    case BSM_IVALUE_LIST:
      return items_equal(a->u.list->items, a->u.list->len, b->u.list->items,
                         b->u.list->len, depth);
    case BSM_IVALUE_TUPLE:
      return items_equal(a->u.tuple->items, a->u.tuple->len, b->u.tuple->items,
                         b->u.tuple->len, depth);
    case BSM_IVALUE_DICT:
      return dicts_equal(a->u.dict, b->u.dict, depth);
    case BSM_IVALUE_ENUM:
      return enums_equal(a->u.object, b->u.object);
    case BSM_IVALUE_TENSOR:
    case BSM_IVALUE_OBJECT:
    case BSM_IVALUE_FUNCTION:
    case BSM_IVALUE_CONTAINER:
      return a->u.container == b->u.container;
  }
  return false;
}

bool bsm_iv_equal(const bsm_ivalue *a, const bsm_ivalue *b) {
  return equal_at(a, b, 0);
}

bool bsm_iv_is(const bsm_ivalue *a, const bsm_ivalue *b) {
  if (a->tag != b->tag) return false;
  switch (a->tag) {
    case BSM_IVALUE_LIST:
    case BSM_IVALUE_TUPLE:
    case BSM_IVALUE_DICT:
      return a->u.container == b->u.container;
    default:
      return bsm_iv_equal(a, b);
  }
}

/* ---- text ---- */

const char *bsm_iv_tag_name(bsm_ivalue_tag tag) {
  static const char *const names[] = {
      "None", "int",    "float",  "bool",     "complex",
      "str",  "Device", "Tensor", "List",     "Tuple",
      "Dict", "Object", "Enum",   "Function", "TensorContainer"};
  const size_t i = (size_t)tag;
  return i < sizeof(names) / sizeof(names[0]) ? names[i] : "unknown";
}

/* TorchScript's text of a float: "1." for whole numbers of moderate size, else
 * 17 significant digits. Not Python's. */
static void print_double(bsm_text *text, double v) {
  if (isnan(v)) {
    bsm_text_puts(text, "nan");
  } else if (isinf(v)) {
    bsm_text_puts(text, v < 0 ? "-inf" : "inf");
  } else if (fabs(v) <= 1e10 && v == floor(v)) {
    bsm_text_printf(text, "%lld.", (long long)v);
  } else {
    char digits[40];
    snprintf(digits, sizeof(digits), "%.17g", v);
    for (char *p = digits; *p; p++) { /* the locale's decimal point */
      if (!((*p >= '0' && *p <= '9') || *p == '-' || *p == '+' || *p == 'e')) {
        *p = '.';
      }
    }
    bsm_text_puts(text, digits);
  }
}

static void print_tensor(bsm_text *text, const bsm_tensor *t) {
  const int64_t n = bsm_tensor_numel(t);
  if (bsm_tensor_is_meta(t) || !bsm_dtype_has_rows(t->dtype) ||
      n > MAX_PRINTED_ELEMENTS) {
    bsm_text_printf(text, "tensor(..., size=%s, dtype=%s)",
                    bsm_dims_str(t->sizes), bsm_dtype_name(t->dtype));
    return;
  }
  bsm_text_puts(text, "tensor(");
  for (int32_t k = 0; k < t->sizes.rank; k++) bsm_text_puts(text, "[");
  for (int64_t i = 0; i < n; i++) {
    int64_t block = 1;
    int32_t closed = 0;
    for (int32_t k = t->sizes.rank - 1; k >= 0 && i > 0; k--) {
      block *= t->sizes.d[k];
      if (i % block == 0) closed++;
    }
    for (int32_t k = 0; k < closed; k++) bsm_text_puts(text, "]");
    if (i > 0) bsm_text_puts(text, ", ");
    for (int32_t k = 0; k < closed; k++) bsm_text_puts(text, "[");
    if (t->dtype == BSM_DTYPE_BOOL) {
      bsm_text_puts(text, bsm_tensor_get_int(t, i) ? "True" : "False");
    } else if (bsm_dtype_is_integral(t->dtype, false)) {
      bsm_text_printf(text, "%lld", (long long)bsm_tensor_get_int(t, i));
    } else {
      bsm_text_double(text, bsm_tensor_get_double(t, i));
    }
  }
  for (int32_t k = 0; k < t->sizes.rank; k++) bsm_text_puts(text, "]");
  bsm_text_puts(text, ")");
}

static void print_at(bsm_text *text, const bsm_ivalue *v, int depth);

/* What is shared is printed each time, so that sixty lists, each with the one
 * before it twice, end only where memory does. */
static void print_items(bsm_text *text, const bsm_ivalue *items, size_t n,
                        int depth) {
  for (size_t i = 0; i < n && !text->failed; i++) {
    if (i > 0) bsm_text_puts(text, ", ");
    print_at(text, &items[i], depth + 1);
  }
}

static void print_dict(bsm_text *text, const bsm_dict *dict, int depth) {
  bsm_text_puts(text, "{");
  for (size_t i = 0; i < dict->len && !text->failed; i++) {
    if (i > 0) bsm_text_puts(text, ", ");
    print_at(text, &dict->keys[i], depth + 1);
    bsm_text_puts(text, ": ");
    print_at(text, &dict->values[i], depth + 1);
  }
  bsm_text_puts(text, "}");
}

static void print_device(bsm_text *text, bsm_torch_device device) {
  static const char *const names[] = {"cpu", "cuda", "other"};
  const int type = device.type;
  bsm_text_puts(text, type >= 0 && type < 3 ? names[type] : "other");
  if (device.index >= 0) bsm_text_printf(text, ":%d", device.index);
}

static void print_at(bsm_text *text, const bsm_ivalue *v, int depth) {
  if (depth > MAX_DEPTH) {
    bsm_text_puts(text, "...");
    return;
  }
  switch (v->tag) {
    case BSM_IVALUE_NONE:
      bsm_text_puts(text, "None");
      break;
    case BSM_IVALUE_INT:
      bsm_text_printf(text, "%lld", (long long)v->u.i);
      break;
    case BSM_IVALUE_DOUBLE:
      print_double(text, v->u.d);
      break;
    case BSM_IVALUE_BOOL:
      bsm_text_puts(text, v->u.b ? "True" : "False");
      break;
    case BSM_IVALUE_COMPLEX:
      print_double(text, v->u.c.re);
      if (v->u.c.im >= 0) bsm_text_puts(text, "+");
      print_double(text, v->u.c.im);
      bsm_text_puts(text, "j");
      break;
    case BSM_IVALUE_STRING:
      bsm_text_append(text, *v->u.s);
      break;
    case BSM_IVALUE_DEVICE:
      print_device(text, v->u.device);
      break;
    case BSM_IVALUE_TENSOR:
      print_tensor(text, v->u.tensor);
      break;
    case BSM_IVALUE_LIST:
      bsm_text_puts(text, "[");
      print_items(text, v->u.list->items, v->u.list->len, depth);
      bsm_text_puts(text, "]");
      break;
    case BSM_IVALUE_TUPLE:
      bsm_text_puts(text, "(");
      print_items(text, v->u.tuple->items, v->u.tuple->len, depth);
      bsm_text_puts(text, v->u.tuple->len == 1 ? ",)" : ")");
      break;
    case BSM_IVALUE_DICT:
      print_dict(text, v->u.dict, depth);
      break;
    case BSM_IVALUE_OBJECT:
    case BSM_IVALUE_ENUM:
    case BSM_IVALUE_FUNCTION:
    case BSM_IVALUE_CONTAINER:
      bsm_text_printf(text, "<%s>", bsm_iv_tag_name(v->tag));
      break;
  }
}

void bsm_iv_print(bsm_text *text, const bsm_ivalue *value) {
  print_at(text, value, 0);
}
