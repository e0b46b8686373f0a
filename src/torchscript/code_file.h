/* SPDX-License-Identifier: Apache-2.0 */
/* A code file and places in it: what every stage of the language needs to say
 * where something is wrong. */
#ifndef BSM_TORCHSCRIPT_CODE_FILE_H_
#define BSM_TORCHSCRIPT_CODE_FILE_H_

#include "base/arena.h"
#include "base/strings.h"
#include "bessemer/limits.h"

typedef struct bsm_code_file {
  const char *path; /* for messages: "code/__torch__.py" */
  bsm_str module;   /* "__torch__.a.b" */
  bsm_str text;     /* at most 4 GiB - 1 */
} bsm_code_file;

/* A place: byte offset, line and column; both count from 1. */
typedef struct bsm_code_pos {
  uint32_t offset, line, col;
} bsm_code_pos;

/* A failure at a place, with the source line and a caret below it:
 *
 *   code/__torch__.py:12:9: unknown name 'y'
 *       return torch.add(x, y)
 *                           ^
 */
BSM_NODISCARD bsm_status bsm_code_error(const bsm_code_file *file,
                                        bsm_code_pos pos, bsm_code code,
                                        const char *format, ...)
    BSM_PRINTF(4, 5);

/* Notes a failure of another layer with the place and its source line. */
BSM_NODISCARD bsm_status bsm_code_note(const bsm_code_file *file,
                                       bsm_code_pos pos, bsm_status status);

#endif /* BSM_TORCHSCRIPT_CODE_FILE_H_ */
