/* SPDX-License-Identifier: Apache-2.0 */
/* Status: the result of every operation that can fail.
 *
 * A status is a pointer. NULL (BSM_OK) is success; anything else owns a code
 * and a message and must be consumed exactly once: returned to the caller, or
 * released with bsm_status_free(). Callers add context with
 * bsm_status_note(), which appends a line and keeps the first cause in front.
 * Out of memory is a static object, so that failing cannot itself fail.
 *
 * Threads: a status may cross threads; one thread uses it at a time. */
#ifndef BESSEMER_STATUS_H_
#define BESSEMER_STATUS_H_

#include <stddef.h>

#include "bessemer/export.h"

BSM_EXTERN_C_BEGIN

typedef struct bsm_status_record *bsm_status;

#define BSM_OK ((bsm_status)0)

typedef enum bsm_code {
  BSM_CODE_OK = 0,
  BSM_INVALID_ARGUMENT = 1, /* the caller's arguments contradict something */
  BSM_OUT_OF_MEMORY = 2,    /* an allocation failed */
  BSM_UNSUPPORTED = 3,      /* valid, but not something this build can do */
  BSM_CORRUPT = 4,          /* a file or text that is malformed */
  BSM_LIMIT = 5,            /* a limit of bsm_limits was reached */
  BSM_IO = 6,               /* the operating system refused */
  BSM_VERSION = 7,          /* a file of another version */
  BSM_NOT_FOUND = 8,        /* a name that does not exist */
  BSM_OUT_OF_RANGE = 9,     /* an index beyond its bounds */
  BSM_DATA_DEPENDENT = 10,  /* the answer needs values not known yet */
  BSM_RAISED = 11,          /* the model itself raised an exception */
  BSM_INTERNAL = 12,        /* a bug in Bessemer; please report it */
  BSM_DEVICE = 13,          /* a device or its driver failed */
  BSM_UNTRUSTED = 14,       /* it carries machine code that is not trusted */
  BSM_CANCELLED = 15        /* the caller wanted no more of it */
} bsm_code;

/* The code of `status`; BSM_CODE_OK for NULL. */
BSM_API bsm_code bsm_status_code(bsm_status status);

/* The message with its notes, one per line, never NULL ("ok" for NULL). It may
 * hold names from files, but no control characters other than line ends and
 * tabs.
 * Valid until the status is freed. */
BSM_API const char *bsm_status_message(bsm_status status);

/* The stable name of a code, such as "INVALID_ARGUMENT". */
BSM_API const char *bsm_code_name(bsm_code code);

/* Releases `status`. NULL is allowed. */
BSM_API void bsm_status_free(bsm_status status);

/* Makes a failure. Use BSM_FAIL. Falls back to the static out-of-memory status
 * when the message cannot be allocated. */
BSM_API BSM_NODISCARD BSM_RETURNS_NONNULL bsm_status
bsm_status_make(bsm_code code, const char *format, ...) BSM_PRINTF(2, 3);

/* Appends a line to a failed status and returns it; NULL stays NULL. */
BSM_API BSM_NODISCARD bsm_status bsm_status_note(bsm_status status,
                                                 const char *format, ...)
    BSM_PRINTF(2, 3);

/* Keeps the first failure of two: when both failed, the message of `second` is
 * appended to `first`. */
BSM_API BSM_NODISCARD bsm_status bsm_status_join(bsm_status first,
                                                 bsm_status second);

/* The static out-of-memory status. */
BSM_API BSM_NODISCARD BSM_RETURNS_NONNULL bsm_status
bsm_status_out_of_memory(void);

#define BSM_FAIL(code, ...) bsm_status_make((code), __VA_ARGS__)

#define BSM_FAIL_OOM() bsm_status_out_of_memory()

#define BSM_TRY(expr)                    \
  do {                                   \
    bsm_status bsm_try_status_ = (expr); \
    if (bsm_try_status_) {               \
      return bsm_try_status_;            \
    }                                    \
  } while (0)

#define BSM_TRY_NOTE(expr, ...)                             \
  do {                                                      \
    bsm_status bsm_try_status_ = (expr);                    \
    if (bsm_try_status_) {                                  \
      return bsm_status_note(bsm_try_status_, __VA_ARGS__); \
    }                                                       \
  } while (0)

/* Fails with out of memory when `pointer` is NULL. */
#define BSM_TRY_ALLOC(pointer) \
  do {                         \
    if (!(pointer)) {          \
      return BSM_FAIL_OOM();   \
    }                          \
  } while (0)

/* For converters and plug-ins: fails with BSM_UNSUPPORTED and the message when
 * `condition` is false. Never an assert: it is how user input is checked. */
#define BSM_CHECK(condition, ...)                    \
  do {                                               \
    if (!(condition)) {                              \
      return BSM_FAIL(BSM_UNSUPPORTED, __VA_ARGS__); \
    }                                                \
  } while (0)

BSM_EXTERN_C_END

#endif /* BESSEMER_STATUS_H_ */
