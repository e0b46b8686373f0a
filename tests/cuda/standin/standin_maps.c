/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in's maps of tensors, by which kernels copy tiles: what the driver
 * refuses is refused, and what kernels here never ask for is a mistake. */
#include <string.h>

#include "cuda/standin/standin.h"

_Static_assert(sizeof(emulated_map) <= sizeof(bsm_cu_tensor_map),
               "what the driver has room for");

static bool is_aligned(const bsm_cu_tensor_map *map) {
  return (uintptr_t)map % 64 == 0;
}

/* Bytes of a swizzled row; 0: none is. */
static unsigned swizzled_row(int swizzle) {
  return swizzle == BSM_CU_TENSOR_SWIZZLE_128  ? 128
         : swizzle == BSM_CU_TENSOR_SWIZZLE_64 ? 64
                                               : 0;
}

static bool write_map(emulated_map *m, uint32_t rank, uint64_t address,
                      const uint64_t *dims, const uint64_t *strides,
                      const uint32_t *step) {
  *m = (emulated_map){
      .magic = EMULATED_MAP_MAGIC, .rank = (uint8_t)rank, .address = address};
  if (rank < 3 || rank > 5 || address % 16) return false;
  for (uint32_t i = 0; i < rank; i++) {
    if (!dims[i] || dims[i] > UINT32_MAX || !step[i] || step[i] > 8) {
      return false;
    }
    m->dims[i] = (uint32_t)dims[i];
    m->step[i] = (uint8_t)step[i];
  }
  for (uint32_t i = 0; i + 1 < rank; i++) {
    if (!strides[i] || strides[i] % 16 || strides[i] >> 36) return false;
    m->strides[i] = (uint32_t)(strides[i] / 16);
  }
  return step[0] == 1;
}

EXPORT int cuTensorMapEncodeTiled(bsm_cu_tensor_map *map, int type,
                                  uint32_t rank, void *address,
                                  const uint64_t *dims, const uint64_t *strides,
                                  const uint32_t *box, const uint32_t *step,
                                  int interleave, int swizzle, int promotion,
                                  int fill);
int cuTensorMapEncodeTiled(bsm_cu_tensor_map *map, int type, uint32_t rank,
                           void *address, const uint64_t *dims,
                           const uint64_t *strides, const uint32_t *box,
                           const uint32_t *step, int interleave, int swizzle,
                           int promotion, int fill) {
  BEGIN_HERE();
  emulated_map m;
  NEED(is_aligned(map));
  NEED(type == BSM_CU_TENSOR_FLOAT16 && !interleave && !fill);
  NEED(promotion >= 0 && promotion <= 3);
  NEED(write_map(&m, rank, (uint64_t)(uintptr_t)address, dims, strides, step));
  for (uint32_t i = 0; i < rank; i++) {
    NEED(box[i] && box[i] <= 256 && step[i] == 1);
    m.box[i] = (uint16_t)box[i];
  }
  m.row_bytes = (uint8_t)swizzled_row(swizzle);
  NEED(m.row_bytes && box[0] * 2 == m.row_bytes);
  memset(map, 0, sizeof(*map));
  memcpy(map, &m, sizeof(m));
  END();
}

EXPORT int cuTensorMapEncodeIm2col(
    bsm_cu_tensor_map *map, int type, uint32_t rank, void *address,
    const uint64_t *dims, const uint64_t *strides, const int *lower,
    const int *upper, uint32_t channels, uint32_t pixels, const uint32_t *step,
    int interleave, int swizzle, int promotion, int fill);
int cuTensorMapEncodeIm2col(bsm_cu_tensor_map *map, int type, uint32_t rank,
                            void *address, const uint64_t *dims,
                            const uint64_t *strides, const int *lower,
                            const int *upper, uint32_t channels,
                            uint32_t pixels, const uint32_t *step,
                            int interleave, int swizzle, int promotion,
                            int fill) {
  BEGIN_HERE();
  emulated_map m;
  NEED(is_aligned(map));
  NEED(type == BSM_CU_TENSOR_FLOAT16 && !interleave && !fill);
  NEED(promotion >= 0 && promotion <= 3);
  NEED(write_map(&m, rank, (uint64_t)(uintptr_t)address, dims, strides, step));
  const int most = rank == 5 ? 16 : rank == 4 ? 128 : 32768;
  for (uint32_t i = 0; i + 2 < rank; i++) {
    NEED(lower[i] >= -most && lower[i] < most);
    NEED(upper[i] >= -most && upper[i] < most);
    m.lower[i] = lower[i];
    m.upper[i] = upper[i];
  }
  NEED(pixels && pixels <= 1024);
  m.is_image = 1;
  m.box[0] = (uint16_t)channels;
  m.box[1] = (uint16_t)pixels;
  m.row_bytes = (uint8_t)swizzled_row(swizzle);
  NEED(m.row_bytes && channels * 2 == m.row_bytes);
  memset(map, 0, sizeof(*map));
  memcpy(map, &m, sizeof(m));
  END();
}
