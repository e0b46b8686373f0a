/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on lists and dicts. Those that mutate do so in place: every holder of
 * the container sees it. */
#include "aten/packed/aten_container.h"
#include "aten/ivalue_parts.h"
#include "aten/op_kit.h"

/* What one op may make: a list of a hundred million values is a mistake or an
 * attack. */
enum { MAX_LIST = 100000000 };

static bsm_status as_list(const bsm_ivalue *a, bsm_list **out) {
  if (a->tag != BSM_IVALUE_LIST) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "expected a list, got %s",
                    bsm_iv_tag_name(a->tag));
  }
  *out = a->u.list;
  return BSM_OK;
}

static bsm_status copy_items(bsm_op_ctx *cx, const bsm_list *from, size_t start,
                             size_t n, bsm_list **out) {
  BSM_TRY(bsm_list_new(cx->arena, from->elem_type, n, out));
  if (n > 0) {
    memcpy((*out)->items, from->items + start, n * sizeof(bsm_ivalue));
  }
  return BSM_OK;
}

static bsm_status list_index(const bsm_list *list, int64_t index, size_t *out) {
  const int64_t n = (int64_t)list->len;
  if (index < -n || index >= n) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "list index out of range");
  }
  *out = (size_t)(index < 0 ? index + n : index);
  return BSM_OK;
}

static bsm_status op_len(OP_PARAMS) {
  (void)cx;
  (void)self;
  if (!bsm_iv_is_container(&args[0])) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "object of type %s has no len()",
                    bsm_iv_tag_name(args[0].tag));
  }
  outs[0] = bsm_iv_int((int64_t)bsm_iv_parts_of(&args[0]).len);
  return BSM_OK;
}

static bsm_status op_getitem(OP_PARAMS) {
  (void)cx;
  (void)self;
  bsm_list *list;
  size_t i;
  BSM_TRY(as_list(&args[0], &list));
  BSM_TRY(list_index(list, op_int(&args[1]), &i));
  outs[0] = list->items[i];
  return BSM_OK;
}

static bsm_status op_set_item(OP_PARAMS) {
  (void)cx;
  (void)self;
  bsm_list *list;
  size_t i;
  BSM_TRY(as_list(&args[0], &list));
  BSM_TRY(list_index(list, op_int(&args[1]), &i));
  BSM_TRY(bsm_list_own(list));
  list->items[i] = args[2];
  outs[0] = args[0];
  return BSM_OK;
}

static bsm_status op_delete(OP_PARAMS) {
  (void)cx;
  (void)self;
  (void)outs;
  bsm_list *list;
  size_t i;
  BSM_TRY(as_list(&args[0], &list));
  BSM_TRY(list_index(list, op_int(&args[1]), &i));
  BSM_TRY(bsm_list_own(list));
  memmove(&list->items[i], &list->items[i + 1],
          (list->len - i - 1) * sizeof(bsm_ivalue));
  list->len--;
  return BSM_OK;
}

static bsm_status op_append(OP_PARAMS) {
  (void)cx;
  (void)self;
  bsm_list *list;
  BSM_TRY(as_list(&args[0], &list));
  outs[0] = args[0];
  return bsm_list_append(list, args[1]);
}

enum { EXTEND_EXTEND, EXTEND_ADD };

static bsm_status op_extend(OP_PARAMS) {
  (void)cx;
  bsm_list *list, *other;
  BSM_TRY(as_list(&args[0], &list));
  BSM_TRY(as_list(&args[1], &other));
  const size_t n = other->len; /* the list may extend itself */
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_list_append(list, other->items[i]));
  }
  if (self->variant == EXTEND_ADD) outs[0] = args[0];
  return BSM_OK;
}

static bsm_status op_insert(OP_PARAMS) {
  (void)self;
  (void)outs;
  bsm_list *list;
  BSM_TRY(as_list(&args[0], &list));
  BSM_TRY(bsm_list_own(list));
  const int64_t n = (int64_t)list->len;
  int64_t at = op_int(&args[1]);
  if (at < 0) at = at + n < 0 ? 0 : at + n;
  if (at > n) at = n;
  BSM_TRY(bsm_op_charge_items(cx, (size_t)(n - at)));
  BSM_TRY(bsm_list_append(list, args[2]));
  memmove(&list->items[at + 1], &list->items[at],
          (size_t)(n - at) * sizeof(bsm_ivalue));
  list->items[at] = args[2];
  return BSM_OK;
}

static bsm_status op_pop(OP_PARAMS) {
  (void)self;
  bsm_list *list;
  size_t i;
  BSM_TRY(as_list(&args[0], &list));
  if (list->len == 0) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "pop from empty list");
  }
  BSM_TRY(list_index(list, op_int(&args[1]), &i));
  outs[0] = list->items[i];
  BSM_TRY(bsm_op_charge_items(cx, list->len - i));
  if (i + 1 < list->len) BSM_TRY(bsm_list_own(list));
  memmove(&list->items[i], &list->items[i + 1],
          (list->len - i - 1) * sizeof(bsm_ivalue));
  list->len--;
  return BSM_OK;
}

static bsm_status op_clear(OP_PARAMS) {
  (void)cx;
  (void)self;
  (void)outs;
  if (args[0].tag == BSM_IVALUE_DICT) {
    bsm_dict_truncate(args[0].u.dict, 0);
    return BSM_OK;
  }
  bsm_list *list;
  BSM_TRY(as_list(&args[0], &list));
  list->len = 0;
  return BSM_OK;
}

static bsm_status op_reverse(OP_PARAMS) {
  (void)cx;
  (void)self;
  (void)outs;
  bsm_list *list;
  BSM_TRY(as_list(&args[0], &list));
  BSM_TRY(bsm_list_own(list));
  for (size_t i = 0; i < list->len / 2; i++) {
    const bsm_ivalue t = list->items[i];
    list->items[i] = list->items[list->len - 1 - i];
    list->items[list->len - 1 - i] = t;
  }
  return BSM_OK;
}

enum { FIND_CONTAINS, FIND_INDEX, FIND_COUNT, FIND_REMOVE };

static bsm_status op_find(OP_PARAMS) {
  bsm_list *list;
  BSM_TRY(as_list(&args[0], &list));
  size_t at = list->len, count = 0;
  for (size_t i = list->len; i > 0; i--) {
    if (!bsm_iv_equal(&list->items[i - 1], &args[1])) continue;
    at = i - 1;
    count++;
  }
  switch (self->variant) {
    case FIND_CONTAINS:
      outs[0] = bsm_iv_bool(count > 0);
      return BSM_OK;
    case FIND_COUNT:
      outs[0] = bsm_iv_int((int64_t)count);
      return BSM_OK;
    default:
      break;
  }
  if (count == 0) {
    bsm_text text;
    bsm_text_init(&text, cx->arena);
    bsm_iv_print(&text, &args[1]);
    return BSM_FAIL(BSM_RAISED, "ValueError: '%s' is not in list", text.data);
  }
  if (self->variant == FIND_INDEX) {
    outs[0] = bsm_iv_int((int64_t)at);
    return BSM_OK;
  }
  BSM_TRY(bsm_list_own(list));
  memmove(&list->items[at], &list->items[at + 1],
          (list->len - at - 1) * sizeof(bsm_ivalue));
  list->len--;
  return BSM_OK;
}

/* list(l), l.copy() */
static bsm_status op_copy_list(OP_PARAMS) {
  (void)self;
  bsm_list *list, *copy;
  BSM_TRY(as_list(&args[0], &list));
  BSM_TRY(copy_items(cx, list, 0, list->len, &copy));
  outs[0] = bsm_iv_list(copy);
  return BSM_OK;
}

static bsm_status op_add_lists(OP_PARAMS) {
  (void)self;
  bsm_list *a, *b, *sum;
  BSM_TRY(as_list(&args[0], &a));
  BSM_TRY(as_list(&args[1], &b));
  BSM_TRY(bsm_list_new(cx->arena, a->elem_type, a->len + b->len, &sum));
  if (a->len) memcpy(sum->items, a->items, a->len * sizeof(bsm_ivalue));
  if (b->len) {
    memcpy(sum->items + a->len, b->items, b->len * sizeof(bsm_ivalue));
  }
  outs[0] = bsm_iv_list(sum);
  return BSM_OK;
}

enum { REPEAT_LIST_FIRST, REPEAT_COUNT_FIRST, REPEAT_INPLACE };

static bsm_status op_repeat_list(OP_PARAMS) {
  bsm_list *list, *r;
  const int first = self->variant == REPEAT_COUNT_FIRST;
  BSM_TRY(as_list(&args[first], &list));
  int64_t times = op_int(&args[!first]);
  if (times < 0) times = 0;
  if (list->len > 0 && times > (int64_t)(MAX_LIST / list->len)) {
    return BSM_FAIL(BSM_LIMIT, "a list of %zu values repeated %lld times",
                    list->len, (long long)times);
  }
  const size_t n = list->len * (size_t)(list->len ? times : 0);
  BSM_TRY(bsm_list_new(cx->arena, list->elem_type, n, &r));
  for (size_t i = 0; i < n; i++) r->items[i] = list->items[i % list->len];
  if (self->variant == REPEAT_INPLACE) {
    list->items = r->items;
    list->len = list->cap = n;
    list->used = NULL;
    r = list;
  }
  outs[0] = bsm_iv_list(r);
  return BSM_OK;
}

static bsm_status op_slice_list(OP_PARAMS) {
  (void)self;
  bsm_list *list, *r;
  BSM_TRY(as_list(&args[0], &list));
  bsm_op_slice slice;
  BSM_TRY(bsm_op_slice_sequence(&args[1], (int64_t)list->len, &slice));
  BSM_TRY(bsm_list_new(cx->arena, list->elem_type, 0, &r));
  for (int64_t i = 0; i < slice.count; i++) {
    BSM_TRY(bsm_list_append(r, list->items[slice.start + i * slice.step]));
  }
  outs[0] = bsm_iv_list(r);
  return BSM_OK;
}

/* ---- sorting ---- */

/* Tuples by their first items that differ; what is_sortable lets through is not
 * nested deep. */
static bool less(const bsm_ivalue *a, const bsm_ivalue *b) {
  if (a->tag == BSM_IVALUE_TUPLE && b->tag == BSM_IVALUE_TUPLE) {
    const bsm_tuple *x = a->u.tuple, *y = b->u.tuple;
    for (size_t i = 0; i < x->len && i < y->len; i++) {
      if (less(&x->items[i], &y->items[i])) return true;
      if (!bsm_iv_equal(&x->items[i], &y->items[i])) return false;
    }
    return false;
  }
  if (a->tag == BSM_IVALUE_STRING && b->tag == BSM_IVALUE_STRING) {
    const bsm_str x = *a->u.s, y = *b->u.s;
    const int c = memcmp(x.data, y.data, x.len < y.len ? x.len : y.len);
    return c != 0 ? c < 0 : x.len < y.len;
  }
  if (op_is_integral(a) && op_is_integral(b)) return op_int(a) < op_int(b);
  return op_double(a) < op_double(b);
}

/* Stable, bottom up. */
static bsm_status sort_items(bsm_op_ctx *cx, bsm_ivalue *items, size_t n,
                             bool reverse) {
  BSM_TRY(bsm_op_charge(cx, (int64_t)n, 128, 1));
  bsm_ivalue *spare = BSM_NEW_ARRAY(cx->arena, bsm_ivalue, n + 1);
  BSM_TRY_ALLOC(spare);
  bsm_ivalue *from = items, *to = spare;
  for (size_t width = 1; width < n; width *= 2) {
    for (size_t low = 0; low < n; low += 2 * width) {
      const size_t mid = low + width < n ? low + width : n;
      const size_t high = low + 2 * width < n ? low + 2 * width : n;
      size_t a = low, b = mid;
      for (size_t k = low; k < high; k++) {
        const bool right =
            a == mid || (b < high && (reverse ? less(&from[a], &from[b])
                                              : less(&from[b], &from[a])));
        to[k] = right ? from[b++] : from[a++];
      }
    }
    bsm_ivalue *t = from;
    from = to;
    to = t;
  }
  if (from != items) memcpy(items, from, n * sizeof(*items));
  return BSM_OK;
}

enum { SORT_INPLACE, SORT_SORTED };

enum { MAX_SORT_DEPTH = 64 };

/* Numbers, strings and tuples of them. */
static bsm_status is_sortable(const bsm_ivalue *v, int depth) {
  switch (v->tag) {
    case BSM_IVALUE_INT:
    case BSM_IVALUE_DOUBLE:
    case BSM_IVALUE_BOOL:
    case BSM_IVALUE_STRING:
      return BSM_OK;
    case BSM_IVALUE_TUPLE:
      if (depth == MAX_SORT_DEPTH) break;
      for (size_t i = 0; i < v->u.tuple->len; i++) {
        BSM_TRY(is_sortable(&v->u.tuple->items[i], depth + 1));
      }
      return BSM_OK;
    default:
      break;
  }
  return BSM_FAIL(BSM_UNSUPPORTED, "sorting a list of %s",
                  bsm_iv_tag_name(v->tag));
}

static bsm_status op_sort(OP_PARAMS) {
  bsm_list *list;
  BSM_TRY(as_list(&args[0], &list));
  for (size_t i = 0; i < list->len; i++) {
    BSM_TRY(is_sortable(&list->items[i], 0));
  }
  if (self->variant == SORT_SORTED) {
    BSM_TRY(copy_items(cx, list, 0, list->len, &list));
    outs[0] = bsm_iv_list(list);
    return sort_items(cx, list->items, list->len, false);
  }
  BSM_TRY(bsm_list_own(list));
  return sort_items(cx, list->items, list->len, op_bool(&args[1]));
}

/* ---- lists of numbers ---- */

enum { FOLD_ANY, FOLD_ALL, FOLD_SUM, FOLD_MIN, FOLD_MAX };

static bool truth(const bsm_ivalue *v) {
  if (v->tag == BSM_IVALUE_STRING) return v->u.s->len > 0;
  return v->tag == BSM_IVALUE_DOUBLE ? v->u.d != 0.0 : op_int(v) != 0;
}

static bsm_status op_fold(OP_PARAMS) {
  (void)cx;
  bsm_list *list;
  BSM_TRY(as_list(&args[0], &list));
  bool any = false, all = true, floating = false;
  uint64_t isum = 0;
  double sum = 0.0;
  size_t best = 0;
  for (size_t i = 0; i < list->len; i++) {
    const bsm_ivalue *v = &list->items[i];
    if (truth(v)) any = true;
    if (!truth(v)) all = false;
    if (v->tag == BSM_IVALUE_STRING) continue;
    if (v->tag == BSM_IVALUE_DOUBLE) floating = true;
    isum += (uint64_t)op_int(v);
    sum += op_double(v);
    const bsm_ivalue *b = &list->items[best];
    if (self->variant == FOLD_MAX ? less(b, v) : less(v, b)) best = i;
  }
  bsm_schema_text room;
  switch (self->variant) {
    case FOLD_ANY:
      outs[0] = bsm_iv_bool(any);
      break;
    case FOLD_ALL:
      outs[0] = bsm_iv_bool(all);
      break;
    case FOLD_SUM:
      outs[0] = floating || strstr(bsm_aten_schema(self, &room), "-> float")
                    ? bsm_iv_double(sum)
                    : bsm_iv_int((int64_t)isum);
      break;
    default:
      if (list->len == 0) {
        return BSM_FAIL(BSM_RAISED, "%s() arg is an empty sequence",
                        self->variant == FOLD_MAX ? "max" : "min");
      }
      outs[0] = list->items[best];
  }
  return BSM_OK;
}

/* prim::min.int_list(l, r): the lexicographically smaller list. */
static bsm_status op_list_extreme(OP_PARAMS) {
  (void)cx;
  bsm_list *a, *b;
  BSM_TRY(as_list(&args[0], &a));
  BSM_TRY(as_list(&args[1], &b));
  const size_t n = a->len < b->len ? a->len : b->len;
  bool a_less = a->len < b->len, b_less = b->len < a->len;
  for (size_t i = 0; i < n; i++) {
    if (bsm_iv_equal(&a->items[i], &b->items[i])) continue;
    a_less = less(&a->items[i], &b->items[i]);
    b_less = !a_less;
    break;
  }
  const bool pick_a = self->variant == FOLD_MAX ? !a_less : !b_less;
  outs[0] = pick_a ? args[0] : args[1];
  return BSM_OK;
}

static bsm_status op_rangelist(OP_PARAMS) {
  (void)self;
  const int64_t n = op_int(&args[0]);
  bsm_list *list;
  if (n > MAX_LIST) return BSM_FAIL(BSM_LIMIT, "range(%lld)", (long long)n);
  BSM_TRY(bsm_list_new(cx->arena, NULL, (size_t)(n > 0 ? n : 0), &list));
  for (int64_t i = 0; i < n; i++) list->items[i] = bsm_iv_int(i);
  outs[0] = bsm_iv_list(list);
  return BSM_OK;
}

/* torch.Size(l) and the like: the list itself. */
static bsm_status op_same(OP_PARAMS) {
  (void)cx;
  (void)self;
  outs[0] = args[0];
  return BSM_OK;
}

static bsm_status op_unwrap_optional(OP_PARAMS) {
  (void)cx;
  (void)self;
  if (op_none(&args[0])) {
    return BSM_FAIL(BSM_RAISED, "AssertionError: Unwrapping null optional");
  }
  outs[0] = args[0];
  return BSM_OK;
}

/* ---- dicts ---- */

static bsm_status key_error(bsm_op_ctx *cx, const bsm_ivalue *key) {
  bsm_text text;
  bsm_text_init(&text, cx->arena);
  bsm_iv_print(&text, key);
  return BSM_FAIL(BSM_RAISED, "KeyError: %s", text.data);
}

static bsm_status op_dict_getitem(OP_PARAMS) {
  (void)self;
  const bsm_ivalue *found = bsm_dict_find(args[0].u.dict, args[1]);
  if (!found) return key_error(cx, &args[1]);
  outs[0] = *found;
  return BSM_OK;
}

static bsm_status op_dict_set_item(OP_PARAMS) {
  (void)cx;
  (void)self;
  (void)outs;
  return bsm_dict_set(args[0].u.dict, args[1], args[2]);
}

static bsm_status op_dict_delete(OP_PARAMS) {
  (void)self;
  (void)outs;
  BSM_TRY(bsm_op_charge_items(cx, 2 * args[0].u.dict->len));
  if (!bsm_dict_delete(args[0].u.dict, args[1])) {
    return key_error(cx, &args[1]);
  }
  return BSM_OK;
}

static bsm_status op_dict_contains(OP_PARAMS) {
  (void)cx;
  (void)self;
  outs[0] = bsm_iv_bool(bsm_dict_find(args[0].u.dict, args[1]) != NULL);
  return BSM_OK;
}

enum { GET_PLAIN, GET_DEFAULT, GET_POP, GET_POP_DEFAULT, GET_SETDEFAULT };

static bsm_status op_dict_get(OP_PARAMS) {
  bsm_dict *dict = args[0].u.dict;
  const bsm_ivalue *found = bsm_dict_find(dict, args[1]);
  const bool fallback = self->variant == GET_DEFAULT ||
                        self->variant == GET_POP_DEFAULT ||
                        self->variant == GET_SETDEFAULT;
  if (found) {
    outs[0] = *found;
  } else if (fallback) {
    outs[0] = args[2];
  } else if (self->variant == GET_POP) {
    return key_error(cx, &args[1]);
  }
  if (self->variant == GET_POP || self->variant == GET_POP_DEFAULT) {
    BSM_TRY(bsm_op_charge_items(cx, 2 * dict->len));
    (void)bsm_dict_delete(dict, args[1]);
  }
  if (self->variant == GET_SETDEFAULT && !found) {
    return bsm_dict_set(dict, args[1], args[2]);
  }
  return BSM_OK;
}

static bsm_status make_pair(bsm_op_ctx *cx, bsm_ivalue a, bsm_ivalue b,
                            bsm_ivalue *out) {
  bsm_tuple *pair;
  BSM_TRY(bsm_tuple_new(cx->arena, 2, &pair));
  pair->items[0] = a;
  pair->items[1] = b;
  *out = bsm_iv_tuple(pair);
  return BSM_OK;
}

enum { VIEW_KEYS, VIEW_VALUES, VIEW_ITEMS };

static bsm_status op_dict_list(OP_PARAMS) {
  const bsm_dict *dict = args[0].u.dict;
  bsm_list *list;
  BSM_TRY(bsm_list_new(cx->arena,
                       self->variant == VIEW_KEYS     ? dict->key_type
                       : self->variant == VIEW_VALUES ? dict->value_type
                                                      : NULL,
                       dict->len, &list));
  for (size_t i = 0; i < dict->len; i++) {
    if (self->variant == VIEW_ITEMS) {
      BSM_TRY(make_pair(cx, dict->keys[i], dict->values[i], &list->items[i]));
    } else {
      list->items[i] =
          self->variant == VIEW_KEYS ? dict->keys[i] : dict->values[i];
    }
  }
  outs[0] = bsm_iv_list(list);
  return BSM_OK;
}

static bsm_status op_dict_popitem(OP_PARAMS) {
  (void)self;
  bsm_dict *dict = args[0].u.dict;
  if (dict->len == 0) {
    return BSM_FAIL(BSM_RAISED, "KeyError: popitem(): dictionary is empty");
  }
  bsm_dict_truncate(dict, dict->len - 1);
  return make_pair(cx, dict->keys[dict->len], dict->values[dict->len],
                   &outs[0]);
}

static bsm_status merge(bsm_dict *into, const bsm_dict *from) {
  for (size_t i = 0; i < from->len; i++) {
    BSM_TRY(bsm_dict_set(into, from->keys[i], from->values[i]));
  }
  return BSM_OK;
}

static bsm_status op_dict_update(OP_PARAMS) {
  (void)cx;
  (void)self;
  (void)outs;
  return merge(args[0].u.dict, args[1].u.dict);
}

/* d.copy(), dict(d) */
static bsm_status op_dict_copy(OP_PARAMS) {
  (void)self;
  const bsm_dict *dict = args[0].u.dict;
  bsm_dict *copy;
  BSM_TRY(bsm_dict_new(cx->arena, dict->key_type, dict->value_type, &copy));
  outs[0] = bsm_iv_dict(copy);
  return merge(copy, dict);
}

/* dict([(k, v), ...]), dict() */
static bsm_status op_dict_make(OP_PARAMS) {
  (void)self;
  bsm_dict *dict;
  BSM_TRY(bsm_dict_new(cx->arena, NULL, NULL, &dict));
  outs[0] = bsm_iv_dict(dict);
  for (size_t i = 0; i < op_list_len(&args[0]); i++) {
    const bsm_ivalue *pair = &args[0].u.list->items[i];
    if (pair->tag != BSM_IVALUE_TUPLE || pair->u.tuple->len != 2) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "dict() of something else than "
                      "pairs");
    }
    BSM_TRY(
        bsm_dict_set(dict, pair->u.tuple->items[0], pair->u.tuple->items[1]));
  }
  return BSM_OK;
}

static bsm_status op_dict_empty(OP_PARAMS) {
  (void)args;
  (void)self;
  bsm_dict *dict;
  BSM_TRY(bsm_dict_new(cx->arena, NULL, NULL, &dict));
  outs[0] = bsm_iv_dict(dict);
  return BSM_OK;
}

#define PASSES BSM_ATEN_PASSES_ON
static const bsm_aten_op rows[] = {
    OP("aten::len.t(t[] a) -> int", op_len, 0, PASSES),
    OP("aten::len.any(Any[] a) -> int", op_len, 0, PASSES),
    OP("aten::len.Dict_str(Dict(str, t) self) -> int", op_len, 0, PASSES),
    OP("aten::__getitem__.Dict_str(Dict(str, t) self, str key) -> t(*)",
       op_dict_getitem, 0, PASSES),
    OP("aten::_set_item.str(Dict(str, t)(a!) l, str(b -> *) idx, t(c -> *) v) "
       "-> "
       "()",
       op_dict_set_item, 0, PASSES | BSM_ATEN_EFFECT),
    OP("aten::Delete.Dict_str(Dict(str, t)(a!) self, str key) -> ()",
       op_dict_delete, 0, PASSES | BSM_ATEN_EFFECT),
    OP("aten::__contains__.str(Dict(str, t) dict, str key) -> bool",
       op_dict_contains, 0, PASSES),
    OP("aten::get.str(Dict(str, t) self, str key) -> t(*)?", op_dict_get,
       GET_PLAIN, PASSES),
    OP("aten::get.default_str(Dict(str, t) self, str key, t default_value) -> "
       "t(*)",
       op_dict_get, GET_DEFAULT, PASSES),
    OP("aten::pop.Dict_str(Dict(str, t)(a!) self, str key) -> t(*)",
       op_dict_get, GET_POP, PASSES | BSM_ATEN_EFFECT),
    OP("aten::pop.Dict_default_str(Dict(str, t)(a!) self, str key, t "
       "default_value) -> t(*)",
       op_dict_get, GET_POP_DEFAULT, PASSES | BSM_ATEN_EFFECT),
    OP("aten::setdefault.str(Dict(str, t)(a!) self, str(b -> *) key, t(c -> *) "
       "default_value) -> t(*)",
       op_dict_get, GET_SETDEFAULT, PASSES | BSM_ATEN_EFFECT),
    OP("aten::keys.str(Dict(str, t) self) -> str[](*)", op_dict_list, VIEW_KEYS,
       0),
    OP("aten::values.str(Dict(str, t) self) -> t[](*)", op_dict_list,
       VIEW_VALUES, 0),
    OP("aten::items.str(Dict(str, t) self) -> ((str, t)[])", op_dict_list,
       VIEW_ITEMS, 0),
    OP("aten::popitem.str(Dict(str, t)(a!) self) -> ((str, t))",
       op_dict_popitem, 0, BSM_ATEN_EFFECT),
    OP("aten::update.str(Dict(str, t)(a!) self, Dict(str, t)(a!) to_add) -> ()",
       op_dict_update, 0, BSM_ATEN_EFFECT),
    OP("aten::copy.Dict_str(Dict(str, t)(a) self) -> Dict(str, t)",
       op_dict_copy, 0, 0),
    OP("aten::dict.Dict_str(Dict(str, t)(a) self) -> Dict(str, t)",
       op_dict_copy, 0, 0),
    OP("aten::dict.str((str, tVal)[] inputs) -> Dict(str, tVal)", op_dict_make,
       0, 0),
    OP("aten::clear.str(Dict(str, t)(a!) self) -> ()", op_clear, 0,
       PASSES | BSM_ATEN_EFFECT),
    OP("aten::len.Dict_int(Dict(int, t) self) -> int", op_len, 0, PASSES),
    OP("aten::__getitem__.Dict_int(Dict(int, t) self, int key) -> t(*)",
       op_dict_getitem, 0, PASSES),
    OP("aten::_set_item.int(Dict(int, t)(a!) l, int(b -> *) idx, t(c -> *) v) "
       "-> "
       "()",
       op_dict_set_item, 0, PASSES | BSM_ATEN_EFFECT),
    OP("aten::Delete.Dict_int(Dict(int, t)(a!) self, int key) -> ()",
       op_dict_delete, 0, PASSES | BSM_ATEN_EFFECT),
    OP("aten::__contains__.int(Dict(int, t) dict, int key) -> bool",
       op_dict_contains, 0, PASSES),
    OP("aten::get.int(Dict(int, t) self, int key) -> t(*)?", op_dict_get,
       GET_PLAIN, PASSES),
    OP("aten::get.default_int(Dict(int, t) self, int key, t default_value) -> "
       "t(*)",
       op_dict_get, GET_DEFAULT, PASSES),
    OP("aten::pop.Dict_int(Dict(int, t)(a!) self, int key) -> t(*)",
       op_dict_get, GET_POP, PASSES | BSM_ATEN_EFFECT),
    OP("aten::pop.Dict_default_int(Dict(int, t)(a!) self, int key, t "
       "default_value) -> t(*)",
       op_dict_get, GET_POP_DEFAULT, PASSES | BSM_ATEN_EFFECT),
    OP("aten::setdefault.int(Dict(int, t)(a!) self, int(b -> *) key, t(c -> *) "
       "default_value) -> t(*)",
       op_dict_get, GET_SETDEFAULT, PASSES | BSM_ATEN_EFFECT),
    OP("aten::keys.int(Dict(int, t) self) -> int[](*)", op_dict_list, VIEW_KEYS,
       0),
    OP("aten::values.int(Dict(int, t) self) -> t[](*)", op_dict_list,
       VIEW_VALUES, 0),
    OP("aten::items.int(Dict(int, t) self) -> ((int, t)[])", op_dict_list,
       VIEW_ITEMS, 0),
    OP("aten::popitem.int(Dict(int, t)(a!) self) -> ((int, t))",
       op_dict_popitem, 0, BSM_ATEN_EFFECT),
    OP("aten::update.int(Dict(int, t)(a!) self, Dict(int, t)(a!) to_add) -> ()",
       op_dict_update, 0, BSM_ATEN_EFFECT),
    OP("aten::copy.Dict_int(Dict(int, t)(a) self) -> Dict(int, t)",
       op_dict_copy, 0, 0),
    OP("aten::dict.Dict_int(Dict(int, t)(a) self) -> Dict(int, t)",
       op_dict_copy, 0, 0),
    OP("aten::dict.int((int, tVal)[] inputs) -> Dict(int, tVal)", op_dict_make,
       0, 0),
    OP("aten::clear.int(Dict(int, t)(a!) self) -> ()", op_clear, 0,
       PASSES | BSM_ATEN_EFFECT),
    OP("aten::len.Dict_bool(Dict(bool, t) self) -> int", op_len, 0, PASSES),
    OP("aten::__getitem__.Dict_bool(Dict(bool, t) self, bool key) -> t(*)",
       op_dict_getitem, 0, PASSES),
    OP("aten::_set_item.bool(Dict(bool, t)(a!) l, bool(b -> *) idx, t(c -> *) "
       "v) "
       "-> ()",
       op_dict_set_item, 0, PASSES | BSM_ATEN_EFFECT),
    OP("aten::Delete.Dict_bool(Dict(bool, t)(a!) self, bool key) -> ()",
       op_dict_delete, 0, PASSES | BSM_ATEN_EFFECT),
    OP("aten::__contains__.bool(Dict(bool, t) dict, bool key) -> bool",
       op_dict_contains, 0, PASSES),
    OP("aten::get.bool(Dict(bool, t) self, bool key) -> t(*)?", op_dict_get,
       GET_PLAIN, PASSES),
    OP("aten::get.default_bool(Dict(bool, t) self, bool key, t default_value) "
       "-> "
       "t(*)",
       op_dict_get, GET_DEFAULT, PASSES),
    OP("aten::pop.Dict_bool(Dict(bool, t)(a!) self, bool key) -> t(*)",
       op_dict_get, GET_POP, PASSES | BSM_ATEN_EFFECT),
    OP("aten::pop.Dict_default_bool(Dict(bool, t)(a!) self, bool key, t "
       "default_value) -> t(*)",
       op_dict_get, GET_POP_DEFAULT, PASSES | BSM_ATEN_EFFECT),
    OP("aten::setdefault.bool(Dict(bool, t)(a!) self, bool(b -> *) key, t(c -> "
       "*) default_value) -> t(*)",
       op_dict_get, GET_SETDEFAULT, PASSES | BSM_ATEN_EFFECT),
    OP("aten::keys.bool(Dict(bool, t) self) -> bool[](*)", op_dict_list,
       VIEW_KEYS, 0),
    OP("aten::values.bool(Dict(bool, t) self) -> t[](*)", op_dict_list,
       VIEW_VALUES, 0),
    OP("aten::items.bool(Dict(bool, t) self) -> ((bool, t)[])", op_dict_list,
       VIEW_ITEMS, 0),
    OP("aten::popitem.bool(Dict(bool, t)(a!) self) -> ((bool, t))",
       op_dict_popitem, 0, BSM_ATEN_EFFECT),
    OP("aten::update.bool(Dict(bool, t)(a!) self, Dict(bool, t)(a!) to_add) -> "
       "()",
       op_dict_update, 0, BSM_ATEN_EFFECT),
    OP("aten::copy.Dict_bool(Dict(bool, t)(a) self) -> Dict(bool, t)",
       op_dict_copy, 0, 0),
    OP("aten::dict.Dict_bool(Dict(bool, t)(a) self) -> Dict(bool, t)",
       op_dict_copy, 0, 0),
    OP("aten::dict.bool((bool, tVal)[] inputs) -> Dict(bool, tVal)",
       op_dict_make, 0, 0),
    OP("aten::clear.bool(Dict(bool, t)(a!) self) -> ()", op_clear, 0,
       PASSES | BSM_ATEN_EFFECT),
    OP("aten::len.Dict_float(Dict(float, t) self) -> int", op_len, 0, PASSES),
    OP("aten::__getitem__.Dict_float(Dict(float, t) self, float key) -> t(*)",
       op_dict_getitem, 0, PASSES),
    OP("aten::_set_item.float(Dict(float, t)(a!) l, float(b -> *) idx, t(c -> "
       "*) "
       "v) -> ()",
       op_dict_set_item, 0, PASSES | BSM_ATEN_EFFECT),
    OP("aten::Delete.Dict_float(Dict(float, t)(a!) self, float key) -> ()",
       op_dict_delete, 0, PASSES | BSM_ATEN_EFFECT),
    OP("aten::__contains__.float(Dict(float, t) dict, float key) -> bool",
       op_dict_contains, 0, PASSES),
    OP("aten::get.float(Dict(float, t) self, float key) -> t(*)?", op_dict_get,
       GET_PLAIN, PASSES),
    OP("aten::get.default_float(Dict(float, t) self, float key, t "
       "default_value) "
       "-> t(*)",
       op_dict_get, GET_DEFAULT, PASSES),
    OP("aten::pop.Dict_float(Dict(float, t)(a!) self, float key) -> t(*)",
       op_dict_get, GET_POP, PASSES | BSM_ATEN_EFFECT),
    OP("aten::pop.Dict_default_float(Dict(float, t)(a!) self, float key, t "
       "default_value) -> t(*)",
       op_dict_get, GET_POP_DEFAULT, PASSES | BSM_ATEN_EFFECT),
    OP("aten::setdefault.float(Dict(float, t)(a!) self, float(b -> *) key, t(c "
       "-> *) default_value) -> t(*)",
       op_dict_get, GET_SETDEFAULT, PASSES | BSM_ATEN_EFFECT),
    OP("aten::keys.float(Dict(float, t) self) -> float[](*)", op_dict_list,
       VIEW_KEYS, 0),
    OP("aten::values.float(Dict(float, t) self) -> t[](*)", op_dict_list,
       VIEW_VALUES, 0),
    OP("aten::items.float(Dict(float, t) self) -> ((float, t)[])", op_dict_list,
       VIEW_ITEMS, 0),
    OP("aten::popitem.float(Dict(float, t)(a!) self) -> ((float, t))",
       op_dict_popitem, 0, BSM_ATEN_EFFECT),
    OP("aten::update.float(Dict(float, t)(a!) self, Dict(float, t)(a!) to_add) "
       "-> ()",
       op_dict_update, 0, BSM_ATEN_EFFECT),
    OP("aten::copy.Dict_float(Dict(float, t)(a) self) -> Dict(float, t)",
       op_dict_copy, 0, 0),
    OP("aten::dict.Dict_float(Dict(float, t)(a) self) -> Dict(float, t)",
       op_dict_copy, 0, 0),
    OP("aten::dict.float((float, tVal)[] inputs) -> Dict(float, tVal)",
       op_dict_make, 0, 0),
    OP("aten::clear.float(Dict(float, t)(a!) self) -> ()", op_clear, 0,
       PASSES | BSM_ATEN_EFFECT),
    OP("aten::len.Dict_Tensor(Dict(Tensor, t) self) -> int", op_len, 0, PASSES),
    OP("aten::__getitem__.Dict_Tensor(Dict(Tensor, t) self, Tensor key) -> "
       "t(*)",
       op_dict_getitem, 0, PASSES),
    OP("aten::_set_item.Tensor(Dict(Tensor, t)(a!) l, Tensor(b -> *) idx, t(c "
       "-> "
       "*) v) -> ()",
       op_dict_set_item, 0, PASSES | BSM_ATEN_EFFECT),
    OP("aten::Delete.Dict_Tensor(Dict(Tensor, t)(a!) self, Tensor key) -> ()",
       op_dict_delete, 0, PASSES | BSM_ATEN_EFFECT),
    OP("aten::__contains__.Tensor(Dict(Tensor, t) dict, Tensor key) -> bool",
       op_dict_contains, 0, PASSES),
    OP("aten::keys.Tensor(Dict(Tensor, t) self) -> Tensor[](*)", op_dict_list,
       VIEW_KEYS, 0),
    OP("aten::values.Tensor(Dict(Tensor, t) self) -> t[](*)", op_dict_list,
       VIEW_VALUES, 0),
    OP("aten::items.Tensor(Dict(Tensor, t) self) -> ((Tensor, t)[])",
       op_dict_list, VIEW_ITEMS, 0),
    OP("aten::get.Tensor(Dict(Tensor, t) self, Tensor key) -> t(*)?",
       op_dict_get, GET_PLAIN, PASSES),
    OP("aten::dict() -> Dict(str, Tensor)", op_dict_empty, 0, 0),
    OP("aten::__getitem__.t(t[](a) list, int idx) -> t(*)", op_getitem, 0,
       PASSES),
    OP("aten::select.t(t[](a) list, int idx) -> t(*)", op_getitem, 0, PASSES),
    OP("aten::_set_item.t(t[](a!) l, int idx, t(b -> *) el) -> t[](a!)",
       op_set_item, 0, PASSES | BSM_ATEN_EFFECT),
    OP("aten::Delete.t(t[](a!) self, int idx) -> ()", op_delete, 0,
       PASSES | BSM_ATEN_EFFECT),
    OP("aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)", op_append, 0,
       PASSES | BSM_ATEN_EFFECT),
    OP("aten::extend.t(t[](a!) self, t[] other) -> ()", op_extend,
       EXTEND_EXTEND, BSM_ATEN_EFFECT),
    OP("aten::add_.t(t[](a!) self, t[] b) -> t[]", op_extend, EXTEND_ADD,
       BSM_ATEN_EFFECT),
    OP("aten::insert.t(t[](a!) self, int idx, t(b -> *) el) -> ()", op_insert,
       0, PASSES | BSM_ATEN_EFFECT),
    OP("aten::pop.t(t[](a!) self, int idx=-1) -> t(*)", op_pop, 0,
       PASSES | BSM_ATEN_EFFECT),
    OP("aten::clear.t(t[](a!) self) -> ()", op_clear, 0,
       PASSES | BSM_ATEN_EFFECT),
    OP("aten::reverse.t(t[](a!) self) -> ()", op_reverse, 0, BSM_ATEN_EFFECT),
    OP("aten::__contains__.int_list(int[] l, int item) -> bool", op_find,
       FIND_CONTAINS, 0),
    OP("aten::__contains__.float_list(float[] l, float item) -> bool", op_find,
       FIND_CONTAINS, 0),
    OP("aten::__contains__.str_list(str[] l, str item) -> bool", op_find,
       FIND_CONTAINS, 0),
    OP("aten::index.list_int(int[] self, int el) -> int", op_find, FIND_INDEX,
       0),
    OP("aten::count.int(int[] self, int el) -> int", op_find, FIND_COUNT, 0),
    OP("aten::remove.int(int[](a!) self, int el) -> ()", op_find, FIND_REMOVE,
       BSM_ATEN_EFFECT),
    OP("aten::sort.int(int[](a!) self, bool reverse=False) -> ()", op_sort,
       SORT_INPLACE, BSM_ATEN_EFFECT),
    OP("aten::sorted.int(int[](a) input) -> int[]", op_sort, SORT_SORTED, 0),
    OP("aten::index.list_float(float[] self, float el) -> int", op_find,
       FIND_INDEX, 0),
    OP("aten::count.float(float[] self, float el) -> int", op_find, FIND_COUNT,
       0),
    OP("aten::remove.float(float[](a!) self, float el) -> ()", op_find,
       FIND_REMOVE, BSM_ATEN_EFFECT),
    OP("aten::sort.float(float[](a!) self, bool reverse=False) -> ()", op_sort,
       SORT_INPLACE, BSM_ATEN_EFFECT),
    OP("aten::sorted.float(float[](a) input) -> float[]", op_sort, SORT_SORTED,
       0),
    OP("aten::index.list_bool(bool[] self, bool el) -> int", op_find,
       FIND_INDEX, 0),
    OP("aten::count.bool(bool[] self, bool el) -> int", op_find, FIND_COUNT, 0),
    OP("aten::remove.bool(bool[](a!) self, bool el) -> ()", op_find,
       FIND_REMOVE, BSM_ATEN_EFFECT),
    OP("aten::sort.bool(bool[](a!) self, bool reverse=False) -> ()", op_sort,
       SORT_INPLACE, BSM_ATEN_EFFECT),
    OP("aten::sorted.bool(bool[](a) input) -> bool[]", op_sort, SORT_SORTED, 0),
    OP("aten::index.list_str(str[] self, str el) -> int", op_find, FIND_INDEX,
       0),
    OP("aten::count.str(str[] self, str el) -> int", op_find, FIND_COUNT, 0),
    OP("aten::remove.str(str[](a!) self, str el) -> ()", op_find, FIND_REMOVE,
       BSM_ATEN_EFFECT),
    OP("aten::sort.str(str[](a!) self, bool reverse=False) -> ()", op_sort,
       SORT_INPLACE, BSM_ATEN_EFFECT),
    OP("aten::sorted.str(str[](a) input) -> str[]", op_sort, SORT_SORTED, 0),
    OP("aten::sort.any(t[](a!) self, bool reverse=False) -> ()", op_sort,
       SORT_INPLACE, BSM_ATEN_EFFECT),
    OP("aten::sorted.any(t[](a) self) -> t[]", op_sort, SORT_SORTED, 0),
    OP("aten::list.t(t[] l) -> t[]", op_copy_list, 0, 0),
    OP("aten::copy.t(t[](a) self) -> t[]", op_copy_list, 0, 0),
    OP("aten::add.t(t[] a, t[] b) -> t[]", op_add_lists, 0, 0),
    OP("aten::mul.left_t(t[] l, int n) -> t[]", op_repeat_list,
       REPEAT_LIST_FIRST, 0),
    OP("aten::mul.right_(int n, t[] l) -> t[]", op_repeat_list,
       REPEAT_COUNT_FIRST, 0),
    OP("aten::mul_.t(t[](a!) l, int n) -> t[](a!)", op_repeat_list,
       REPEAT_INPLACE, BSM_ATEN_EFFECT),
    OP("aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> "
       "t[]",
       op_slice_list, 0, 0),
    OP("aten::any.str(str[] self) -> bool", op_fold, FOLD_ANY, 0),
    OP("aten::any.int(int[] self) -> bool", op_fold, FOLD_ANY, 0),
    OP("aten::any.float(float[] self) -> bool", op_fold, FOLD_ANY, 0),
    OP("aten::any.bool(bool[] self) -> bool", op_fold, FOLD_ANY, 0),
    OP("aten::all.int(int[] self) -> bool", op_fold, FOLD_ALL, 0),
    OP("aten::sum.int(int[] self) -> int", op_fold, FOLD_SUM, 0),
    OP("prim::min.self_int(int[] self) -> int", op_fold, FOLD_MIN, 0),
    OP("prim::max.self_int(int[] self) -> int", op_fold, FOLD_MAX, 0),
    OP("prim::min.int_list(int[] l, int[] r) -> int[]", op_list_extreme,
       FOLD_MIN, 0),
    OP("prim::max.int_list(int[] l, int[] r) -> int[]", op_list_extreme,
       FOLD_MAX, 0),
    OP("aten::all.float(float[] self) -> bool", op_fold, FOLD_ALL, 0),
    OP("aten::sum.float(float[] self) -> float", op_fold, FOLD_SUM, 0),
    OP("prim::min.self_float(float[] self) -> float", op_fold, FOLD_MIN, 0),
    OP("prim::max.self_float(float[] self) -> float", op_fold, FOLD_MAX, 0),
    OP("prim::min.float_list(float[] l, float[] r) -> float[]", op_list_extreme,
       FOLD_MIN, 0),
    OP("prim::max.float_list(float[] l, float[] r) -> float[]", op_list_extreme,
       FOLD_MAX, 0),
    OP("aten::all.bool(bool[] self) -> bool", op_fold, FOLD_ALL, 0),
    OP("aten::sum.bool(bool[] self) -> int", op_fold, FOLD_SUM, 0),
    OP("prim::min.self_bool(bool[] self) -> bool", op_fold, FOLD_MIN, 0),
    OP("prim::max.self_bool(bool[] self) -> bool", op_fold, FOLD_MAX, 0),
    OP("prim::min.bool_list(bool[] l, bool[] r) -> bool[]", op_list_extreme,
       FOLD_MIN, 0),
    OP("prim::max.bool_list(bool[] l, bool[] r) -> bool[]", op_list_extreme,
       FOLD_MAX, 0),
    OP("prim::rangelist(int n) -> int[]", op_rangelist, 0, 0),
    OP("aten::Size(int[] sizes) -> int[]", op_same, 0, PASSES),
    OP("aten::_unwrap_optional(t(a)? optional) -> t(a)", op_unwrap_optional, 0,
       0),
    OP("prim::unchecked_unwrap_optional(t(a)? optional) -> t(a)",
       op_unwrap_optional, 0, 0),
    OP("prim::unchecked_cast(t x) -> t", op_same, 0, PASSES),
};
BSM_ATEN_TABLE(container, rows);
