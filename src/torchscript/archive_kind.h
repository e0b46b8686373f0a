/* SPDX-License-Identifier: Apache-2.0 */
/* What a model file is, when it is no TorchScript archive: a message that
 * names it and says what to do. */
#ifndef BSM_TORCHSCRIPT_ARCHIVE_KIND_H_
#define BSM_TORCHSCRIPT_ARCHIVE_KIND_H_

#include "torchscript/zip.h"

/* By the first bytes: BSM_OK for what starts as a zip archive. */
BSM_NODISCARD bsm_status bsm_archive_check_magic(const void *data, size_t size);
/* By the members; on success *prefix is the directory of all members, with its
 * slash ("resnet18/"). */
BSM_NODISCARD bsm_status bsm_archive_check_members(bsm_arena *arena,
                                                   const bsm_zip *zip,
                                                   bsm_str *prefix);

#endif /* BSM_TORCHSCRIPT_ARCHIVE_KIND_H_ */
