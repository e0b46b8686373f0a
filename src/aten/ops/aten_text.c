/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on strings. Characters are bytes, as in TorchScript. */
#include "aten/packed/aten_text.h"
#include "aten/op_kit.h"

enum { MAX_WIDTH = 1 << 24 };

static bsm_status return_text(bsm_text *text, bsm_ivalue *out) {
  if (text->failed) return BSM_FAIL_OOM();
  return bsm_iv_string(text->arena, (bsm_str){text->data, text->len}, out);
}

static bsm_status return_str(bsm_op_ctx *cx, const char *data, size_t len,
                             bsm_ivalue *out) {
  return bsm_iv_string(cx->arena, (bsm_str){data, len}, out);
}

static bsm_status op_text_len(OP_PARAMS) {
  (void)cx;
  (void)self;
  outs[0] = bsm_iv_int((int64_t)op_str(&args[0]).len);
  return BSM_OK;
}

static bsm_status op_concat(OP_PARAMS) {
  (void)self;
  bsm_text text;
  bsm_text_init(&text, cx->arena);
  bsm_text_append(&text, op_str(&args[0]));
  bsm_text_append(&text, op_str(&args[1]));
  return return_text(&text, &outs[0]);
}

static bsm_status op_to_text(OP_PARAMS) {
  (void)self;
  bsm_text text;
  if (cx->meta && args[0].tag == BSM_IVALUE_TENSOR) {
    return BSM_FAIL(BSM_DATA_DEPENDENT, "the text of a tensor");
  }
  bsm_text_init(&text, cx->arena);
  bsm_iv_print(&text, &args[0]);
  return return_text(&text, &outs[0]);
}

/* "{}" placeholders, in order. The number of args is not in the schema: the
 * caller has as many as there are placeholders. */
static bsm_status op_format(OP_PARAMS) {
  (void)self;
  bsm_text text;
  bsm_text_init(&text, cx->arena);
  const bsm_str s = op_str(&args[0]);
  size_t used = 1, start = 0;
  for (size_t i = 0; i + 1 < s.len; i++) {
    if (s.data[i] != '{' || s.data[i + 1] != '}') continue;
    if (used >= cx->arg_count) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Too few arguments for format string: %.*s", (int)s.len,
                      s.data);
    }
    if (args[used].tag == BSM_IVALUE_TENSOR && cx->meta) {
      return BSM_FAIL(BSM_DATA_DEPENDENT, "the text of a tensor");
    }
    bsm_text_append(&text, (bsm_str){s.data + start, i - start});
    bsm_iv_print(&text, &args[used++]);
    start = i + 2;
    i++;
  }
  bsm_text_append(&text, (bsm_str){s.data + start, s.len - start});
  return return_text(&text, &outs[0]);
}

static void print_percent(bsm_text *text, char kind, const bsm_ivalue *v) {
  switch (kind) {
    case 'd':
    case 'i':
      bsm_text_printf(text, "%lld", (long long)op_int(v));
      break;
    case 'x':
      bsm_text_printf(text, "%llx", (unsigned long long)op_int(v));
      break;
    case 'f':
    case 'F':
      bsm_text_printf(text, "%f", op_double(v));
      break;
    case 'e':
      bsm_text_printf(text, "%e", op_double(v));
      break;
    case 'g':
      bsm_text_printf(text, "%g", op_double(v));
      break;
    case 'c':
      if (v->tag == BSM_IVALUE_INT) {
        bsm_text_printf(text, "%c", (char)op_int(v));
        break;
      }
      bsm_iv_print(text, v);
      break;
    default:
      bsm_iv_print(text, v);
  }
}

static bsm_status op_percent_format(OP_PARAMS) {
  (void)self;
  bsm_text text;
  bsm_text_init(&text, cx->arena);
  const bsm_str s = op_str(&args[0]);
  size_t used = 1;
  /* The values come one by one, or as one tuple. */
  const bsm_ivalue *values = args;
  size_t count = cx->arg_count;
  if (count == 2 && args[1].tag == BSM_IVALUE_TUPLE) {
    values = args[1].u.tuple->items;
    count = args[1].u.tuple->len;
    used = 0;
  }
  for (size_t i = 0; i < s.len; i++) {
    if (s.data[i] != '%' || i + 1 == s.len) {
      bsm_text_append(&text, (bsm_str){s.data + i, 1});
      continue;
    }
    const char kind = s.data[++i];
    if (kind == '%') {
      bsm_text_puts(&text, "%");
      continue;
    }
    if (used >= count) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Too few arguments for format string: %.*s", (int)s.len,
                      s.data);
    }
    if (!strchr("dixfFegcsr", kind)) {
      return BSM_FAIL(BSM_UNSUPPORTED, "The specifier %%%c is not supported",
                      kind);
    }
    const bsm_ivalue_tag tag = values[used].tag;
    if (strchr("dixfFeg", kind) && tag != BSM_IVALUE_INT &&
        tag != BSM_IVALUE_DOUBLE && tag != BSM_IVALUE_BOOL) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "%%%c requires a number for formatting, but got %s", kind,
                      bsm_iv_tag_name(tag));
    }
    print_percent(&text, kind, &values[used++]);
  }
  if (used < count) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Too many arguments for format string: %.*s", (int)s.len,
                    s.data);
  }
  return return_text(&text, &outs[0]);
}

static bsm_status text_index(bsm_str s, int64_t at, size_t *out) {
  const int64_t n = (int64_t)s.len;
  if (at < -n || at >= n) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "String index out of range");
  }
  *out = (size_t)(at < 0 ? at + n : at);
  return BSM_OK;
}

static bsm_status op_text_getitem(OP_PARAMS) {
  (void)self;
  const bsm_str s = op_str(&args[0]);
  size_t at;
  BSM_TRY(text_index(s, op_int(&args[1]), &at));
  return return_str(cx, s.data + at, 1, &outs[0]);
}

static bsm_status op_text_slice(OP_PARAMS) {
  (void)self;
  const bsm_str s = op_str(&args[0]);
  bsm_op_slice slice;
  BSM_TRY(bsm_op_slice_sequence(&args[1], (int64_t)s.len, &slice));
  bsm_text text;
  bsm_text_init(&text, cx->arena);
  for (int64_t i = 0; i < slice.count; i++) {
    bsm_text_append(&text, (bsm_str){s.data + slice.start + i * slice.step, 1});
  }
  return return_text(&text, &outs[0]);
}

/* list("abc") */
static bsm_status op_text_list(OP_PARAMS) {
  (void)self;
  const bsm_str s = op_str(&args[0]);
  bsm_list *list;
  BSM_TRY(bsm_list_new(cx->arena, NULL, s.len, &list));
  for (size_t i = 0; i < s.len; i++) {
    BSM_TRY(return_str(cx, s.data + i, 1, &list->items[i]));
  }
  outs[0] = bsm_iv_list(list);
  return BSM_OK;
}

/* ---- classes and case ---- */

static bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
static bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
static bool is_alpha(char c) {
  return is_lower(c) || is_upper(c);
}
static bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
static char to_lower(char c) {
  return is_upper(c) ? (char)(c + 32) : c;
}
static char to_upper(char c) {
  return is_lower(c) ? (char)(c - 32) : c;
}

enum {
  CLASS_ALNUM,
  CLASS_ALPHA,
  CLASS_DIGIT,
  CLASS_SPACE,
  CLASS_LOWER,
  CLASS_UPPER,
  CLASS_PRINTABLE,
  CLASS_IDENTIFIER
};

static bool all_of(int32_t variant, bsm_str s) {
  bool cased = false;
  for (size_t i = 0; i < s.len; i++) {
    const char c = s.data[i];
    cased = cased || is_alpha(c);
    const bool word = is_alpha(c) || is_digit(c);
    bool ok = true;
    switch (variant) {
      case CLASS_ALNUM:
        ok = word;
        break;
      case CLASS_ALPHA:
        ok = is_alpha(c);
        break;
      case CLASS_DIGIT:
        ok = is_digit(c);
        break;
      case CLASS_SPACE:
        ok = is_space(c);
        break;
      case CLASS_LOWER:
        ok = !is_upper(c);
        break;
      case CLASS_UPPER:
        ok = !is_lower(c);
        break;
      case CLASS_IDENTIFIER:
        ok = word && !(i == 0 && is_digit(c)); /* TorchScript: no '_' */
        break;
      default:
        ok = c >= ' ' && c < 127;
    }
    if (!ok) return false;
  }
  if (variant == CLASS_LOWER || variant == CLASS_UPPER) return cased;
  return s.len > 0 || variant == CLASS_PRINTABLE;
}

static bsm_status op_class(OP_PARAMS) {
  (void)cx;
  outs[0] = bsm_iv_bool(all_of(self->variant, op_str(&args[0])));
  return BSM_OK;
}

enum { CASE_LOWER, CASE_UPPER, CASE_SWAP, CASE_CAPITALIZE, CASE_TITLE };

static bsm_status op_case(OP_PARAMS) {
  const bsm_str s = op_str(&args[0]);
  char *copy = bsm_arena_strndup(cx->arena, s.data, s.len);
  BSM_TRY_ALLOC(copy);
  bool start = true;
  for (size_t i = 0; i < s.len; i++) {
    const char c = copy[i];
    switch (self->variant) {
      case CASE_LOWER:
        copy[i] = to_lower(c);
        break;
      case CASE_UPPER:
        copy[i] = to_upper(c);
        break;
      case CASE_SWAP:
        copy[i] = is_lower(c) ? to_upper(c) : to_lower(c);
        break;
      case CASE_CAPITALIZE:
        copy[i] = i == 0 ? to_upper(c) : to_lower(c);
        break;
      default:
        copy[i] = start ? to_upper(c) : to_lower(c);
        start = !is_alpha(c);
    }
  }
  return return_str(cx, copy, s.len, &outs[0]);
}

enum { STRIP_BOTH, STRIP_LEFT, STRIP_RIGHT };

static bool contains(bsm_str set, char c) {
  return memchr(set.data, c, set.len) != NULL;
}

static bsm_status op_strip(OP_PARAMS) {
  bsm_str s = op_str(&args[0]);
  const bsm_str set = op_str(&args[1]);
  while (self->variant != STRIP_RIGHT && s.len && contains(set, s.data[0])) {
    s.data++;
    s.len--;
  }
  while (self->variant != STRIP_LEFT && s.len &&
         contains(set, s.data[s.len - 1])) {
    s.len--;
  }
  return return_str(cx, s.data, s.len, &outs[0]);
}

/* ---- searching ---- */

/* TorchScript's (start, end) window; end -1 means the end. */
static bsm_str window(bsm_str s, int64_t start, int64_t end, int64_t *from) {
  const int64_t n = (int64_t)s.len;
  if (start < 0) start = start + n < 0 ? 0 : start + n;
  if (end < 0) end = end + n + 1 < 0 ? 0 : end + n + 1;
  if (end > n) end = n;
  if (start > end) start = end;
  *from = start;
  return (bsm_str){s.data + start, (size_t)(end - start)};
}

/* Looking for a text in another may compare it at each place. */
static bsm_status charge_search(bsm_op_ctx *cx, bsm_str s, bsm_str what) {
  return bsm_op_charge(cx, (int64_t)s.len, (int64_t)what.len / 8 + 4, 1);
}

static int64_t find_first(bsm_str s, bsm_str what) {
  for (size_t i = 0; i + what.len <= s.len; i++) {
    if (memcmp(s.data + i, what.data, what.len) == 0) return (int64_t)i;
  }
  return -1;
}

static int64_t find_last(bsm_str s, bsm_str what) {
  if (what.len > s.len) return -1;
  for (size_t i = s.len - what.len + 1; i > 0; i--) {
    if (memcmp(s.data + i - 1, what.data, what.len) == 0) {
      return (int64_t)i - 1;
    }
  }
  return -1;
}

enum {
  SEARCH_FIND,
  SEARCH_RFIND,
  SEARCH_INDEX,
  SEARCH_RINDEX,
  SEARCH_COUNT,
  SEARCH_STARTS,
  SEARCH_ENDS
};

static bsm_status op_search(OP_PARAMS) {
  int64_t from;
  const bsm_str what = op_str(&args[1]);
  bsm_str s =
      window(op_str(&args[0]), op_int(&args[2]), op_int(&args[3]), &from);
  if (self->variant == SEARCH_STARTS) {
    outs[0] = bsm_iv_bool(bsm_str_starts_with(s, what));
    return BSM_OK;
  }
  if (self->variant == SEARCH_ENDS) {
    outs[0] = bsm_iv_bool(bsm_str_ends_with(s, what));
    return BSM_OK;
  }
  BSM_TRY(charge_search(cx, s, what));
  if (self->variant == SEARCH_COUNT) {
    int64_t count = 0, at;
    if (what.len == 0) {
      count = (int64_t)s.len + 1;
    } else {
      while ((at = find_first(s, what)) >= 0) {
        count++;
        s.data += (size_t)at + what.len;
        s.len -= (size_t)at + what.len;
      }
    }
    outs[0] = bsm_iv_int(count);
    return BSM_OK;
  }
  const bool last =
      self->variant == SEARCH_RFIND || self->variant == SEARCH_RINDEX;
  const int64_t at = last ? find_last(s, what) : find_first(s, what);
  if (at < 0 &&
      (self->variant == SEARCH_INDEX || self->variant == SEARCH_RINDEX)) {
    return BSM_FAIL(BSM_RAISED, "ValueError: substring not found");
  }
  outs[0] = bsm_iv_int(at < 0 ? -1 : at + from);
  return BSM_OK;
}

static bsm_status op_replace(OP_PARAMS) {
  (void)self;
  bsm_str s = op_str(&args[0]);
  const bsm_str old = op_str(&args[1]), with = op_str(&args[2]);
  int64_t left = op_int(&args[3]), at;
  bsm_text text;
  bsm_text_init(&text, cx->arena);
  BSM_TRY(charge_search(cx, s, old));
  while (left != 0 && old.len > 0 && (at = find_first(s, old)) >= 0) {
    bsm_text_append(&text, (bsm_str){s.data, (size_t)at});
    bsm_text_append(&text, with);
    s.data += (size_t)at + old.len;
    s.len -= (size_t)at + old.len;
    if (left > 0) left--;
  }
  bsm_text_append(&text, s);
  return return_text(&text, &outs[0]);
}

/* ---- splitting and joining ---- */

static bsm_status push(bsm_op_ctx *cx, bsm_list *list, bsm_str piece) {
  bsm_ivalue v;
  BSM_TRY(bsm_iv_string(cx->arena, piece, &v));
  return bsm_list_append(list, v);
}

static bsm_status split_spaces(bsm_op_ctx *cx, bsm_str s, int64_t max,
                               bsm_list *list) {
  size_t i = 0;
  for (;;) {
    while (i < s.len && is_space(s.data[i])) i++;
    if (i == s.len) return BSM_OK;
    if (max == 0) {
      return push(cx, list, (bsm_str){s.data + i, s.len - i});
    }
    const size_t start = i;
    while (i < s.len && !is_space(s.data[i])) i++;
    BSM_TRY(push(cx, list, (bsm_str){s.data + start, i - start}));
    if (max > 0) max--;
  }
}

static bsm_status op_split_text(OP_PARAMS) {
  (void)self;
  bsm_str s = op_str(&args[0]);
  int64_t max = op_int(&args[2]), at;
  bsm_list *list;
  BSM_TRY(bsm_list_new(cx->arena, NULL, 0, &list));
  outs[0] = bsm_iv_list(list);
  if (op_none(&args[1])) return split_spaces(cx, s, max, list);
  const bsm_str by = op_str(&args[1]);
  if (by.len == 0) return BSM_FAIL(BSM_RAISED, "ValueError: empty separator");
  BSM_TRY(charge_search(cx, s, by));
  while (max != 0 && (at = find_first(s, by)) >= 0) {
    BSM_TRY(push(cx, list, (bsm_str){s.data, (size_t)at}));
    s.data += (size_t)at + by.len;
    s.len -= (size_t)at + by.len;
    if (max > 0) max--;
  }
  return push(cx, list, s);
}

static bsm_status op_splitlines(OP_PARAMS) {
  (void)self;
  const bsm_str s = op_str(&args[0]);
  const bool keep = op_bool(&args[1]);
  bsm_list *list;
  BSM_TRY(bsm_list_new(cx->arena, NULL, 0, &list));
  outs[0] = bsm_iv_list(list);
  size_t start = 0;
  /* As TorchScript, not as Python: every line end counts alone, and those kept
   * are items of their own. */
  for (size_t i = 0; i < s.len; i++) {
    if (s.data[i] != '\n' && s.data[i] != '\r') continue;
    BSM_TRY(push(cx, list, (bsm_str){s.data + start, i - start}));
    if (keep) BSM_TRY(push(cx, list, (bsm_str){s.data + i, 1}));
    start = i + 1;
  }
  if (start < s.len) {
    return push(cx, list, (bsm_str){s.data + start, s.len - start});
  }
  return BSM_OK;
}

static bsm_status op_join(OP_PARAMS) {
  (void)self;
  bsm_text text;
  bsm_text_init(&text, cx->arena);
  for (size_t i = 0; i < op_list_len(&args[1]); i++) {
    if (i > 0) bsm_text_append(&text, op_str(&args[0]));
    bsm_text_append(&text, op_str(&args[1].u.list->items[i]));
  }
  return return_text(&text, &outs[0]);
}

enum { PARTITION_FIRST, PARTITION_LAST };

static bsm_status op_partition(OP_PARAMS) {
  const bsm_str s = op_str(&args[0]), by = op_str(&args[1]);
  const bool last = self->variant == PARTITION_LAST;
  const int64_t at = last ? find_last(s, by) : find_first(s, by);
  bsm_str piece[3] = {{"", 0}, {"", 0}, {"", 0}};
  if (at < 0) {
    piece[last ? 2 : 0] = s;
  } else {
    piece[0] = (bsm_str){s.data, (size_t)at};
    piece[1] = by;
    piece[2] = (bsm_str){s.data + at + by.len, s.len - (size_t)at - by.len};
  }
  for (int i = 0; i < 3; i++) {
    BSM_TRY(bsm_iv_string(cx->arena, piece[i], &outs[i]));
  }
  return BSM_OK;
}

/* ---- padding ---- */

enum { JUST_LEFT, JUST_RIGHT, JUST_CENTER, JUST_ZERO };

static bsm_status op_justify(OP_PARAMS) {
  bsm_str s = op_str(&args[0]);
  const int64_t width = op_int(&args[1]);
  const bsm_str fill =
      self->variant == JUST_ZERO ? BSM_STR("0") : op_str(&args[2]);
  if (fill.len != 1) {
    return BSM_FAIL(BSM_RAISED,
                    "TypeError: The fill character must be exactly one "
                    "character long");
  }
  if (width > MAX_WIDTH) {
    return BSM_FAIL(BSM_LIMIT, "a string of width %lld", (long long)width);
  }
  const int64_t pad = width > (int64_t)s.len ? width - (int64_t)s.len : 0;
  int64_t before = pad;
  if (self->variant == JUST_LEFT) before = 0;
  if (self->variant == JUST_CENTER) {
    before = pad / 2 + (pad & width & 1);
  }
  bsm_text text;
  bsm_text_init(&text, cx->arena);
  for (int64_t i = 0; i < before; i++) bsm_text_append(&text, fill);
  bsm_text_append(&text, s);
  for (int64_t i = before; i < pad; i++) bsm_text_append(&text, fill);
  return return_text(&text, &outs[0]);
}

/* ---- characters and numbers ---- */

static bsm_status op_ord(OP_PARAMS) {
  (void)cx;
  (void)self;
  const bsm_str s = op_str(&args[0]);
  if (s.len != 1) {
    return BSM_FAIL(BSM_RAISED,
                    "String for ord() must be 1 character, found %zu", s.len);
  }
  outs[0] = bsm_iv_int((uint8_t)s.data[0]);
  return BSM_OK;
}

static bsm_status op_chr(OP_PARAMS) {
  (void)self;
  const int64_t i = op_int(&args[0]);
  if (i < 0 || i >= 1114111) {
    return BSM_FAIL(BSM_RAISED, "chr() arg not in range(0x110000), found %lld",
                    (long long)i);
  }
  const char c = (char)i;
  return return_str(cx, &c, 1, &outs[0]);
}

enum { RADIX_HEX, RADIX_OCT, RADIX_BIN };

static bsm_status op_radix(OP_PARAMS) {
  const int64_t v = op_int(&args[0]);
  const uint64_t u = v < 0 ? (uint64_t)0 - (uint64_t)v : (uint64_t)v;
  bsm_text text;
  bsm_text_init(&text, cx->arena);
  if (v < 0) bsm_text_puts(&text, "-");
  if (self->variant == RADIX_HEX) {
    bsm_text_printf(&text, "0x%llx", (unsigned long long)u);
  } else if (self->variant == RADIX_OCT) {
    bsm_text_printf(&text, "0o%llo", (unsigned long long)u);
  } else {
    bsm_text_puts(&text, "0b");
    int bit = 63;
    while (bit > 0 && !(u >> bit & 1)) bit--;
    for (; bit >= 0; bit--) bsm_text_puts(&text, u >> bit & 1 ? "1" : "0");
  }
  return return_text(&text, &outs[0]);
}

static bsm_status op_warn(OP_PARAMS) {
  (void)self;
  (void)outs;
  const bsm_str s = op_str(&args[0]);
  bsm_log(cx->logger, BSM_LOG_LEVEL_WARNING, "Warning from TorchScript: %.*s",
          (int)s.len, s.data);
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::len.str(str s) -> int", op_text_len, 0, 0),
    OP("aten::add.str(str a, str b) -> str", op_concat, 0, 0),
    OP("aten::str(t elem) -> str", op_to_text, 0, 0),
    OP("aten::format(str self, ...) -> str", op_format, 0, 0),
    OP("aten::percentFormat(str self, ...) -> str", op_percent_format, 0, 0),
    OP("aten::__getitem__.str(str s, int index) -> str", op_text_getitem, 0, 0),
    OP("prim::StringIndex(str string, int index) -> str", op_text_getitem, 0,
       0),
    OP("aten::slice.str(str string, int? start=None, int? end=None, int "
       "step=1) "
       "-> str",
       op_text_slice, 0, 0),
    OP("aten::list(str t) -> str[]", op_text_list, 0, 0),
    OP("aten::isalnum(str self) -> bool", op_class, CLASS_ALNUM, 0),
    OP("aten::isalpha(str self) -> bool", op_class, CLASS_ALPHA, 0),
    OP("aten::isdecimal(str self) -> bool", op_class, CLASS_DIGIT, 0),
    OP("aten::isdigit(str self) -> bool", op_class, CLASS_DIGIT, 0),
    OP("aten::isnumeric(str self) -> bool", op_class, CLASS_DIGIT, 0),
    OP("aten::isspace(str self) -> bool", op_class, CLASS_SPACE, 0),
    OP("aten::islower(str self) -> bool", op_class, CLASS_LOWER, 0),
    OP("aten::isupper(str self) -> bool", op_class, CLASS_UPPER, 0),
    OP("aten::isprintable(str self) -> bool", op_class, CLASS_PRINTABLE, 0),
    OP("aten::isidentifier(str self) -> bool", op_class, CLASS_IDENTIFIER, 0),
    OP("aten::lower(str self) -> str", op_case, CASE_LOWER, 0),
    OP("aten::upper(str self) -> str", op_case, CASE_UPPER, 0),
    OP("aten::swapcase(str self) -> str", op_case, CASE_SWAP, 0),
    OP("aten::capitalize(str self) -> str", op_case, CASE_CAPITALIZE, 0),
    OP("aten::title(str self) -> str", op_case, CASE_TITLE, 0),
    OP("aten::strip(str self, str chars=\" \\n\\t\\f\\v\") -> str", op_strip,
       STRIP_BOTH, 0),
    OP("aten::lstrip(str self, str chars=\" \\n\\t\\f\\v\") -> str", op_strip,
       STRIP_LEFT, 0),
    OP("aten::rstrip(str self, str chars=\" \\n\\t\\f\\v\") -> str", op_strip,
       STRIP_RIGHT, 0),
    OP("aten::find(str self, str substr, int start=0, int end=-1) -> int",
       op_search, SEARCH_FIND, 0),
    OP("aten::rfind(str self, str substr, int start=0, int end=-1) -> int",
       op_search, SEARCH_RFIND, 0),
    OP("aten::index.str(str self, str substr, int start=0, int end=-1) -> int",
       op_search, SEARCH_INDEX, 0),
    OP("aten::rindex(str self, str substr, int start=0, int end=-1) -> int",
       op_search, SEARCH_RINDEX, 0),
    OP("aten::count(str self, str substr, int start=0, int end=-1) -> int",
       op_search, SEARCH_COUNT, 0),
    OP("aten::startswith(str self, str substr, int start=0, int end=-1) -> "
       "bool",
       op_search, SEARCH_STARTS, 0),
    OP("aten::endswith(str self, str substr, int start=0, int end=-1) -> bool",
       op_search, SEARCH_ENDS, 0),
    OP("aten::replace(str self, str old, str new, int max=-1) -> str",
       op_replace, 0, 0),
    OP("aten::split.str(str self, str? separator=None, int max=-1) -> str[]",
       op_split_text, 0, 0),
    OP("aten::splitlines(str self, bool keepends=False) -> str[]",
       op_splitlines, 0, 0),
    OP("aten::join(str self, str[] values) -> str", op_join, 0, 0),
    OP("aten::partition(str self, str separator) -> (str, str, str)",
       op_partition, PARTITION_FIRST, 0),
    OP("aten::rpartition(str self, str separator) -> (str, str, str)",
       op_partition, PARTITION_LAST, 0),
    OP("aten::ljust(str self, int width, str fillchar=\" \") -> str",
       op_justify, JUST_LEFT, 0),
    OP("aten::rjust(str self, int width, str fillchar=\" \") -> str",
       op_justify, JUST_RIGHT, 0),
    OP("aten::center(str self, int width, str fillchar=\" \") -> str",
       op_justify, JUST_CENTER, 0),
    OP("aten::zfill(str self, int width) -> str", op_justify, JUST_ZERO, 0),
    OP("aten::ord(str string) -> int", op_ord, 0, 0),
    OP("aten::chr(int i) -> str", op_chr, 0, 0),
    OP("aten::hex(int i) -> str", op_radix, RADIX_HEX, 0),
    OP("aten::oct(int i) -> str", op_radix, RADIX_OCT, 0),
    OP("aten::bin(int i) -> str", op_radix, RADIX_BIN, 0),
    OP("aten::warn(str message, int stacklevel=2) -> ()", op_warn, 0,
       BSM_ATEN_EFFECT),
};
BSM_ATEN_TABLE(text, rows);
