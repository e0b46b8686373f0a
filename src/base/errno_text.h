/* SPDX-License-Identifier: Apache-2.0 */
/* The text of errno values, safe with threads. */
#ifndef BSM_BASE_ERRNO_TEXT_H_
#define BSM_BASE_ERRNO_TEXT_H_

#include <string.h>

typedef struct bsm_errno_buffer {
  char text[128];
} bsm_errno_buffer;

static inline const char *bsm_describe_errno(int error,
                                             bsm_errno_buffer *buffer) {
#ifdef __GLIBC__ /* and _GNU_SOURCE: it returns its text */
  return strerror_r(error, buffer->text, sizeof(buffer->text));
#else
  return strerror_r(error, buffer->text, sizeof(buffer->text)) ? "unknown error"
                                                               : buffer->text;
#endif
}

/* Lives until the end of the block. */
#define BSM_ERRNO_TEXT(error) \
  bsm_describe_errno((error), &(bsm_errno_buffer){{0}})

#endif /* BSM_BASE_ERRNO_TEXT_H_ */
