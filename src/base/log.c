/* SPDX-License-Identifier: Apache-2.0 */
/* Formats log messages for the caller's callback. */
#include "bessemer/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"

void bsm_log(const bsm_logger *logger, bsm_log_level level, const char *format,
             ...) {
  if (!logger || !logger->write || level > logger->level) return;
  char small[512];
  char *text = small;
  va_list args;
  va_start(args, format);
  const int length = vsnprintf(small, sizeof(small), format, args);
  va_end(args);
  if (length < 0) return;
  if ((size_t)length >= sizeof(small)) {
    /* When there is no memory for the whole, its beginning is still useful. */
    char *large = malloc((size_t)length + 1);
    if (large) {
      va_start(args, format);
      vsnprintf(large, (size_t)length + 1, format, args);
      va_end(args);
      text = large;
    }
  }
  bsm_make_printable(text, strlen(text));
  logger->write(logger->user, level, text);
  if (text != small) free(text);
}
