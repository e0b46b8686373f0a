/* SPDX-License-Identifier: Apache-2.0 */
/* Leveled logging through a callback. The libraries print nothing themselves
 * and keep no global logger: whoever wants messages passes a bsm_logger in the
 * options of the call. NULL means silence. */
#ifndef BESSEMER_LOG_H_
#define BESSEMER_LOG_H_

#include "bessemer/export.h"

BSM_EXTERN_C_BEGIN

typedef enum bsm_log_level {
  BSM_LOG_LEVEL_ERROR = 0,
  BSM_LOG_LEVEL_WARNING = 1,
  BSM_LOG_LEVEL_INFO = 2,
  BSM_LOG_LEVEL_DEBUG = 3,
  BSM_LOG_LEVEL_GRAPH = 4 /* whole IR dumps, as TRTorch's kGRAPH */
} bsm_log_level;

/* `level` is the most verbose level wanted. `write` gets one message without a
 * newline; it may be called from any thread that runs a Bessemer function. */
typedef struct bsm_logger {
  bsm_log_level level;
  void (*write)(void *user, bsm_log_level level, const char *message);
  void *user;
} bsm_logger;

/* Formats and hands on a message when `logger` wants that level. */
BSM_API void bsm_log(const bsm_logger *logger, bsm_log_level level,
                     const char *format, ...) BSM_PRINTF(3, 4);

BSM_EXTERN_C_END

#endif /* BESSEMER_LOG_H_ */
