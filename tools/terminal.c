/* SPDX-License-Identifier: Apache-2.0 */
/* Streams in front of stdout and stderr that replace control characters. */
#include "tools/terminal.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"

static ssize_t write_all(int file, const char *data, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = write(file, data + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 0; /* what a cookie answers for a failure */
    done += (size_t)n;
  }
  return (ssize_t)size;
}

/* The cookie is the number of the file. */
static ssize_t write_printable(void *cookie, const char *data, size_t size) {
  char piece[4096];
  for (size_t at = 0; at < size;) {
    const size_t n = size - at < sizeof(piece) ? size - at : sizeof(piece);
    memcpy(piece, data + at, n);
    bsm_make_printable(piece, n);
    /* The first byte of two, of which the second is yet to come. */
    if ((unsigned char)piece[n - 1] == 0xc2) piece[n - 1] = '?';
    if (!write_all((int)(intptr_t)cookie, piece, n)) return 0;
    at += n;
  }
  return (ssize_t)size;
}

static FILE *guard(FILE *stream, int file, int mode) {
  const cookie_io_functions_t io = {.write = write_printable};
  fflush(stream);
  FILE *guarded = fopencookie((void *)(intptr_t)file, "w", io);
  if (!guarded) return stream;
  setvbuf(guarded, NULL, mode, BUFSIZ);
  return guarded;
}

void bsm_guard_terminal(void) {
  stdout =
      guard(stdout, STDOUT_FILENO, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
  stderr = guard(stderr, STDERR_FILENO, _IONBF);
}

void bsm_write_control(const char *text) {
  (void)write_all(STDERR_FILENO, text, strlen(text));
}

bool bsm_has_terminal(void) {
  const char *term = getenv("TERM");
  return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

void bsm_write_coloured(bsm_colour colour, const char *word) {
  const char *plain = getenv("NO_COLOR");
  const bool coloured = bsm_has_terminal() && (!plain || !*plain);
  char begin[8];
  snprintf(begin, sizeof(begin), "\033[%dm", (int)colour);
  if (coloured) bsm_write_control(begin);
  fputs(word, stderr);
  if (coloured) bsm_write_control("\033[0m");
}

bsm_status bsm_write_stdout(const void *data, size_t size) {
  if (fflush(stdout) || (size && !write_all(STDOUT_FILENO, data, size))) {
    return BSM_FAIL(BSM_IO, "cannot write to the standard output");
  }
  return BSM_OK;
}

bsm_status bsm_write_output(const char *path, const bsm_file_piece *pieces,
                            size_t count) {
  if (strcmp(path, "-") != 0) return bsm_file_write(path, pieces, count);
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(bsm_write_stdout(pieces[i].data, pieces[i].size));
  }
  return BSM_OK;
}
