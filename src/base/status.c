/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses: a code and a growing message in one block of plain malloc.
 *
 * They do not use the caller's allocator: a status outlives the object that
 * failed to be made, and with it whatever allocator that object would have
 * kept. The out-of-memory status is a constant that nothing writes to. */
#include "bessemer/status.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"

struct bsm_status_record {
  bsm_code code;
  const char *message; /* `text`, or a literal for the static status */
  char text[];
};

static const struct bsm_status_record out_of_memory = {
    .code = BSM_OUT_OF_MEMORY, .message = "out of memory"};

bsm_status bsm_status_out_of_memory(void) {
  return (bsm_status)&out_of_memory;
}

bsm_code bsm_status_code(bsm_status status) {
  return status ? status->code : BSM_CODE_OK;
}

const char *bsm_status_message(bsm_status status) {
  return status ? status->message : "ok";
}

void bsm_status_free(bsm_status status) {
  if (status != &out_of_memory) free(status);
}

const char *bsm_code_name(bsm_code code) {
  switch (code) {
    case BSM_CODE_OK:
      return "OK";
    case BSM_INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case BSM_OUT_OF_MEMORY:
      return "OUT_OF_MEMORY";
    case BSM_UNSUPPORTED:
      return "UNSUPPORTED";
    case BSM_CORRUPT:
      return "CORRUPT";
    case BSM_LIMIT:
      return "LIMIT";
    case BSM_IO:
      return "IO";
    case BSM_VERSION:
      return "VERSION";
    case BSM_NOT_FOUND:
      return "NOT_FOUND";
    case BSM_OUT_OF_RANGE:
      return "OUT_OF_RANGE";
    case BSM_DATA_DEPENDENT:
      return "DATA_DEPENDENT";
    case BSM_RAISED:
      return "RAISED";
    case BSM_INTERNAL:
      return "INTERNAL";
    case BSM_DEVICE:
      return "DEVICE";
    case BSM_UNTRUSTED:
      return "UNTRUSTED";
    case BSM_CANCELLED:
      return "CANCELLED";
  }
  return "UNKNOWN";
}

/* Makes room for `extra` more characters behind `length` in `record` (NULL: a
 * new one). NULL when out of memory; `record` is then as it was. */
static struct bsm_status_record *grow(struct bsm_status_record *record,
                                      size_t length, size_t extra) {
  const size_t fixed = sizeof(*record) + 1;
  if (extra > SIZE_MAX - fixed - length) return NULL;
  struct bsm_status_record *grown = realloc(record, fixed + length + extra);
  if (grown) grown->message = grown->text;
  return grown;
}

bsm_status bsm_status_make(bsm_code code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  const size_t size = length > 0 ? (size_t)length : 0;
  struct bsm_status_record *record = grow(NULL, 0, size);
  if (!record) return bsm_status_out_of_memory();
  /* A failure that calls itself success would be lost. */
  record->code = code == BSM_CODE_OK ? BSM_INTERNAL : code;
  record->text[0] = '\0';
  va_start(args, format);
  if (size) vsnprintf(record->text, size + 1, format, args);
  bsm_make_printable(record->text, size);
  va_end(args);
  return record;
}

bsm_status bsm_status_note(bsm_status status, const char *format, ...) {
  if (!status || status == &out_of_memory) return status;
  va_list args;
  va_start(args, format);
  const int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (length <= 0) return status;
  const size_t old = strlen(status->text), size = (size_t)length;
  struct bsm_status_record *record = grow(status, old, size + 1);
  if (!record) return status; /* the first cause matters more than the note */
  record->text[old] = '\n';
  va_start(args, format);
  vsnprintf(record->text + old + 1, size + 1, format, args);
  bsm_make_printable(record->text + old + 1, size);
  va_end(args);
  return record;
}

bsm_status bsm_status_join(bsm_status first, bsm_status second) {
  if (!first) return second;
  if (!second) return first;
  const bsm_status joined = bsm_status_note(first, "%s", second->message);
  bsm_status_free(second);
  return joined;
}
