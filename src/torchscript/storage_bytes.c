/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of members as storages: where they lie, or copied, aligned and in this
 * machine's order. */
#include "torchscript/storage_bytes.h"

#include "base/byte_order.h"

enum { WEIGHT_ALIGNMENT = 16 /* of the largest element, complex128 */ };

/* Reverses the bytes of each number. */
static void swap_numbers(uint8_t *data, size_t size, bsm_dtype dtype) {
  size_t width = bsm_dtype_size(dtype);
  if (bsm_dtype_is_complex(dtype)) width /= 2;
  for (size_t at = 0; size - at >= width && at < size; at += width) {
    for (size_t i = 0; i < width / 2; i++) {
      const uint8_t low = data[at + i];
      data[at + i] = data[at + width - 1 - i];
      data[at + width - 1 - i] = low;
    }
  }
}

bsm_status bsm_storage_adopt(bsm_arena *arena, bsm_zip *zip,
                             const bsm_zip_entry *entry, bsm_dtype dtype,
                             bool swapped, bsm_storage *storage) {
  bsm_str bytes = {0};
  BSM_TRY(bsm_zip_read(zip, arena, entry, true, &bytes));
  const uintptr_t at = (uintptr_t)bytes.data, file = (uintptr_t)zip->data;
  const bool in_file = at >= file && at - file < zip->data_size;
  const bool swap = swapped && bsm_dtype_size(dtype) > 1;
  const bool aligned = at % WEIGHT_ALIGNMENT == 0;
  storage->size = bytes.len;
  storage->read_only = in_file;
  storage->data = (void *)(uintptr_t)bytes.data;
  if (bytes.len > 0 && (!aligned || (in_file && swap))) {
    storage->data = bsm_arena_alloc(arena, bytes.len, 64);
    BSM_TRY_ALLOC(storage->data);
    memcpy(storage->data, bytes.data, bytes.len);
    storage->read_only = false;
  }
  if (swap) swap_numbers(storage->data, bytes.len, dtype);
  return BSM_OK;
}

bsm_status bsm_storage_order(bsm_str text, bool *swapped) {
  const bool big = bsm_str_eq(text, BSM_STR("big"));
  if (text.data && !big && !bsm_str_eq(text, BSM_STR("little"))) {
    return BSM_FAIL(BSM_CORRUPT,
                    "the archive's byteorder is neither little nor big");
  }
  *swapped = big != BSM_HOST_IS_BIG;
  return BSM_OK;
}
