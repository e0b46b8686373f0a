/* SPDX-License-Identifier: Apache-2.0 */
/* Putting data into a page. */
#include "tools/page.h"

#include <stdlib.h>
#include <string.h>

#include "tools/terminal.h"

static const char marker[] = "const DATA = null;";

static bsm_status write_file(const char *path, const char *text,
                             const char *data, size_t size) {
  const char *at = strstr(text, marker);
  if (!at) return BSM_FAIL(BSM_INTERNAL, "the page has no place for data");
  static const char before[] = "const DATA = ", after[] = ";";
  const char *rest = at + strlen(marker);
  const bsm_file_piece pieces[] = {{text, (size_t)(at - text)},
                                   {before, strlen(before)},
                                   {data, size},
                                   {after, strlen(after)},
                                   {rest, strlen(rest)}};
  const size_t count = sizeof(pieces) / sizeof(pieces[0]);
  return bsm_write_output(path, pieces, count);
}

bsm_status bsm_page_write(const char *path, const char *page,
                          bsm_page_data write, void *user) {
  char *data = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&data, &size);
  if (!file) return BSM_FAIL_OOM();
  bsm_status status = write(user, file);
  if (fclose(file) && !status) status = BSM_FAIL_OOM();
  if (!status) {
    status = write_file(path, page, data, size);
  }
  free(data);
  return status;
}
