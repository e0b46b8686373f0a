/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of callers that were built with other versions of the headers. */
#include "base/options.h"

#include <string.h>

#include "bessemer/version.h"

/* No struct of the interface comes near it: a greater size was never set. */
#define MAX_STRUCT_SIZE 65536

/* The size that the struct itself states. */
static bsm_status read_size(const void *given, const char *name, size_t *out) {
  memcpy(out, given, sizeof(*out));
  if (*out >= sizeof(*out) && *out <= MAX_STRUCT_SIZE) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "%s.struct_size is %zu: initialise the struct with the "
                  "macro that its header has for it",
                  name, *out);
}

bsm_status bsm_options_copy(void *out, size_t out_size, const void *given,
                            const char *name) {
  size_t size;
  if (!given) return BSM_OK;
  BSM_TRY(read_size(given, name, &size));
  for (size_t i = out_size; i < size; i++) {
    if (((const unsigned char *)given)[i] == 0) continue;
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "%s has %zu bytes and sets what lies behind the %zu that "
                    "Bessemer %s knows: a library as new as the headers is "
                    "needed",
                    name, size, out_size, bsm_version());
  }
  memcpy(out, given, size < out_size ? size : out_size);
  memcpy(out, &out_size, sizeof(out_size));
  return BSM_OK;
}

bsm_status bsm_out_copy(void *out, const void *made, size_t made_size,
                        const char *name) {
  size_t size;
  BSM_NEED(out);
  BSM_TRY(read_size(out, name, &size));
  const size_t known = size < made_size ? size : made_size;
  memcpy(out, made, known);
  memset((unsigned char *)out + known, 0, size - known);
  memcpy(out, &size, sizeof(size));
  return BSM_OK;
}
