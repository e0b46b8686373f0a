/* SPDX-License-Identifier: Apache-2.0 */
/* Taking names of steps apart. */
#include "tools/layer_text.h"

#include <string.h>

static bsm_str between(const char *from, const char *end) {
  return (bsm_str){from, end > from ? (size_t)(end - from) : 0};
}

/* The last place of `what` in the text; NULL: none. */
static const char *find_last(bsm_str text, const char *what) {
  const size_t length = strlen(what);
  for (size_t i = text.len; i >= length; i--) {
    const char *at = text.data + i - length;
    if (memcmp(at, what, length) == 0) return at;
  }
  return NULL;
}

/* "net.py:12 (features.2)", "(features.2)" or "net.py:12" */
static void take_place(bsm_str place, bsm_layer_text *out) {
  const char *end = place.data + place.len;
  const char *scope = find_last(place, "(");
  if (scope && place.len && end[-1] == ')' &&
      (scope == place.data || scope[-1] == ' ')) {
    out->module = between(scope + 1, end - 1);
    end = scope > place.data ? scope - 1 : scope;
  }
  out->source = between(place.data, end);
}

static bsm_layer_text take_apart(bsm_str whole) {
  bsm_layer_text out = {.whole = whole};
  const char *end = whole.data + whole.len;
  const char *at = find_last(whole, " at ");
  const char *sign = memmem(whole.data, whole.len, " = ", 3);
  const char *op = whole.data;
  if (whole.len && whole.data[0] == '%' && sign) {
    const char *comma = memchr(whole.data, ',', (size_t)(sign - whole.data));
    out.value = between(whole.data + 1, comma ? comma : sign);
    op = sign + 3;
  }
  if (!memmem(op, (size_t)(end - op), "::", 2)) return out;
  const char *paren = memchr(op, '(', (size_t)((at ? at : end) - op));
  out.op = between(op, paren ? paren : at ? at : end);
  if (at) take_place(between(at + 4, end), &out);
  return out;
}

bool bsm_layer_text_next(const char **at, bsm_layer_text *out) {
  if (!**at) return false;
  const char *end = strstr(*at, " + ");
  const size_t length = end ? (size_t)(end - *at) : strlen(*at);
  *out = take_apart((bsm_str){*at, length});
  *at += end ? length + 3 : length;
  return true;
}

bsm_layer_text bsm_layer_text_last(const char *name) {
  bsm_layer_text out = {.whole = {name, 0}};
  while (bsm_layer_text_next(&name, &out)) {
  }
  return out;
}

bsm_layer_text bsm_layer_text_first(const char *name) {
  bsm_layer_text first = {.whole = {name, 0}}, next;
  for (bool any = false; bsm_layer_text_next(&name, &next); any = true) {
    if (!any) first = next;
    if (next.source.len) return next;
  }
  return first;
}

const char *bsm_layer_short_name(bsm_arena *arena, const char *name) {
  bsm_text text;
  bsm_layer_text part;
  bsm_str before = {"", 0};
  bsm_text_init(&text, arena);
  for (const char *at = name; bsm_layer_text_next(&at, &part);) {
    bsm_str shown = part.module.len  ? part.module
                    : part.value.len ? part.value
                    : part.op.len    ? part.op
                                     : part.whole;
    if (text.len && bsm_str_eq(shown, before)) continue;
    bsm_text_printf(&text, "%s%.*s", text.len ? " + " : "", (int)shown.len,
                    shown.data);
    before = shown;
  }
  return text.failed ? NULL : text.len ? text.data : "";
}
