/* SPDX-License-Identifier: Apache-2.0 */
/* Storages of tensors out of members of archives. */
#ifndef BSM_TORCHSCRIPT_STORAGE_BYTES_H_
#define BSM_TORCHSCRIPT_STORAGE_BYTES_H_

#include "aten/tensor.h"
#include "torchscript/zip.h"

/* Makes `storage` of the bytes of a member, elements of `dtype`: in place, or a
 * copy when they are misaligned or `swapped`, of the other byte order. */
BSM_NODISCARD bsm_status bsm_storage_adopt(bsm_arena *arena, bsm_zip *zip,
                                           const bsm_zip_entry *entry,
                                           bsm_dtype dtype, bool swapped,
                                           bsm_storage *storage);

/* What the member `byteorder` of an archive says: whether its storages are of
 * the other byte order than this machine's. Without text they are
 * little-endian. BSM_CORRUPT when it is neither. */
BSM_NODISCARD bsm_status bsm_storage_order(bsm_str text, bool *swapped);

#endif /* BSM_TORCHSCRIPT_STORAGE_BYTES_H_ */
