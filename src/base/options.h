/* SPDX-License-Identifier: Apache-2.0 */
/* What the functions of the public API do with their arguments: pointers that
 * must be there, and structs that grow.
 *
 * Structs that cross the interface grow at the end, and begin with the size
 * that the caller was built with: bessemer/version.h states the rule. A new
 * field begins behind the padding at the struct's old end, as the size that an
 * older caller states covers that: after a bool, put fields of 8 bytes first.
 */
#ifndef BSM_BASE_OPTIONS_H_
#define BSM_BASE_OPTIONS_H_

#include <stddef.h>

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

/* Copies what the caller's struct has over `out`, which holds the defaults;
 * `name` is the struct's. A caller built with an older header has fewer fields.
 * One built with a newer header has more: they must be zero, which means their
 * default. `given` may be NULL.
 * BSM_INVALID_ARGUMENT: its size is not set. BSM_UNSUPPORTED: it sets a field
 * that this library does not know. */
BSM_NODISCARD bsm_status bsm_options_copy(void *out, size_t out_size,
                                          const void *given, const char *name);

/* Fills the caller's struct from `made`, ours, as far as the caller's goes;
 * fields that we do not know become zero. The caller's size stays.
 * BSM_INVALID_ARGUMENT: it is not set, and nothing is written. */
BSM_NODISCARD bsm_status bsm_out_copy(void *out, const void *made,
                                      size_t made_size, const char *name);
/* bsm_out_copy for a value of type `type`. */
#define BSM_OUT(type, out, made) \
  bsm_out_copy((out), &(made), sizeof(type), #type)

#endif /* BSM_BASE_OPTIONS_H_ */
