/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that point into a code file. */
#include "torchscript/code_file.h"

#include <stdarg.h>
#include <stdio.h>

/* How much of a long source line a message shows. */
#define WINDOW 120

typedef struct excerpt {
  char line[WINDOW + 1]; /* printable */
  int indent;            /* columns before the caret */
} excerpt;

/* Cuts the source line around `pos`, so that the place is always shown. */
static excerpt excerpt_at(const bsm_code_file *file, bsm_code_pos pos) {
  excerpt out = {{0}, 0};
  const char *text = file->text.data;
  const size_t size = file->text.len;
  const size_t at = pos.offset < size ? pos.offset : size;
  size_t begin = at, end = at;
  while (begin > 0 && text[begin - 1] != '\n' && at - begin < WINDOW * 2 / 3) {
    begin--;
  }
  while (end < size && text[end] != '\n' && end - begin < WINDOW) end++;
  for (size_t i = begin; i < end; i++) {
    const char c = text[i];
    out.line[i - begin] = c >= 0x20 && c < 0x7f ? c : '.';
  }
  out.indent = (int)(at - begin);
  return out;
}

bsm_status bsm_code_error(const bsm_code_file *file, bsm_code_pos pos,
                          bsm_code code, const char *format, ...) {
  char what[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  const excerpt e = excerpt_at(file, pos);
  return BSM_FAIL(code, "%s:%u:%u: %s\n  %s\n  %*s^", file->path, pos.line,
                  pos.col, what, e.line, e.indent, "");
}

bsm_status bsm_code_note(const bsm_code_file *file, bsm_code_pos pos,
                         bsm_status status) {
  const excerpt e = excerpt_at(file, pos);
  return bsm_status_note(status, "at %s:%u:%u\n  %s\n  %*s^", file->path,
                         pos.line, pos.col, e.line, e.indent, "");
}
