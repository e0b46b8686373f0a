/* SPDX-License-Identifier: Apache-2.0 */
/* What the functions of the public API do with their arguments. Option structs
 * grow at the end: their first field is the size that the caller was built
 * with. */
#ifndef BSM_BASE_OPTIONS_H_
#define BSM_BASE_OPTIONS_H_

#include <stddef.h>
#include <string.h>

#include "bessemer/status.h"

/* Fails when an argument that must be there is NULL: what a program sees that
 * goes on after a failure. */
#define BSM_NEED(pointer)                                         \
  do {                                                            \
    if (!(pointer)) {                                             \
      return BSM_FAIL(BSM_INVALID_ARGUMENT, #pointer " is NULL"); \
    }                                                             \
  } while (0)

/* The same for an array: NULL will do when it is empty. */
#define BSM_NEED_ARRAY(pointer, count)                            \
  do {                                                            \
    if (!(pointer) && (count) > 0) {                              \
      return BSM_FAIL(BSM_INVALID_ARGUMENT, #pointer " is NULL"); \
    }                                                             \
  } while (0)

/* Copies what the caller's struct has over `out`, which holds the defaults. A
 * caller built against an older header has fewer fields; one that left the
 * size zero is taken to have all. `given` may be NULL. */
static inline void bsm_options_copy(void *out, size_t out_size,
                                    const void *given) {
  if (!given) return;
  size_t size;
  memcpy(&size, given, sizeof(size));
  if (size == 0 || size > out_size) size = out_size;
  memcpy(out, given, size);
  memcpy(out, &out_size, sizeof(out_size));
}

#endif /* BSM_BASE_OPTIONS_H_ */
