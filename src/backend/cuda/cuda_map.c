/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of tensors, by which kernels copy tiles. */
#include "backend/cuda/cuda_map.h"

#include <string.h>

bsm_status bsm_cuda_write_map(const bsm_cuda_driver *driver,
                              const bsm_cuda_tiles *t, uint8_t *params) {
  bsm_cu_tensor_map map;
  uint64_t value;
  memcpy(&value, params + t->address, sizeof(value));
  void *address = (void *)(uintptr_t)value;
  const int swizzle =
      t->box[0] == 64 ? BSM_CU_TENSOR_SWIZZLE_128 : BSM_CU_TENSOR_SWIZZLE_64;
  if (t->is_image) {
    BSM_TRY_CUDA(driver, map_pixels, &map, BSM_CU_TENSOR_FLOAT16, t->rank,
                 address, t->dims, t->strides, t->lower, t->upper, t->box[0],
                 t->box[1], t->step, 0, swizzle, BSM_CU_TENSOR_PROMOTION_256,
                 0);
  } else {
    BSM_TRY_CUDA(driver, map_tiles, &map, BSM_CU_TENSOR_FLOAT16, t->rank,
                 address, t->dims, t->strides, t->box, t->step, 0, swizzle,
                 BSM_CU_TENSOR_PROMOTION_256, 0);
  }
  memcpy(params + t->map, &map, sizeof(map));
  return BSM_OK;
}
