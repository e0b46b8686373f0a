/* SPDX-License-Identifier: Apache-2.0 */
/* Value types shared by every public header: dtypes, dimensions, arrays. */
#ifndef BESSEMER_TYPES_H_
#define BESSEMER_TYPES_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bessemer/export.h"

BSM_EXTERN_C_BEGIN

/* The highest rank of a tensor anywhere in Bessemer. */
#define BSM_MAX_RANK 12

/* Element types. The numbers are PyTorch's c10::ScalarType. */
typedef enum bsm_dtype {
  BSM_DTYPE_UINT8 = 0,
  BSM_DTYPE_INT8 = 1,
  BSM_DTYPE_INT16 = 2,
  BSM_DTYPE_INT32 = 3,
  BSM_DTYPE_INT64 = 4,
  BSM_DTYPE_HALF = 5,
  BSM_DTYPE_FLOAT = 6,
  BSM_DTYPE_DOUBLE = 7,
  BSM_DTYPE_COMPLEX_HALF = 8,
  BSM_DTYPE_COMPLEX_FLOAT = 9,
  BSM_DTYPE_COMPLEX_DOUBLE = 10,
  BSM_DTYPE_BOOL = 11,
  BSM_DTYPE_QINT8 = 12,
  BSM_DTYPE_QUINT8 = 13,
  BSM_DTYPE_QINT32 = 14,
  BSM_DTYPE_BFLOAT16 = 15,
  BSM_DTYPE_FLOAT8_E5M2 = 23,
  BSM_DTYPE_FLOAT8_E4M3FN = 24,
  BSM_DTYPE_UNDEFINED = 127
} bsm_dtype;

/* Bytes of one element; 0 for an unknown dtype. */
BSM_API size_t bsm_dtype_size(bsm_dtype dtype);

/* PyTorch's name, such as "float32"; "undefined" for an unknown dtype. */
BSM_API const char *bsm_dtype_name(bsm_dtype dtype);

/* Precisions that layers compute in, as bits, for sets of them. The dtypes in
 * which tensors are stored are separate. */
typedef enum bsm_precision {
  BSM_PRECISION_NONE = 0, /* integers, float64, or nothing is computed */
  BSM_PRECISION_FP32 = 1,
  BSM_PRECISION_TF32 = 2, /* products of 10 bits, sums of float32 */
  BSM_PRECISION_FP16 = 4,
  BSM_PRECISION_BF16 = 8,
  BSM_PRECISION_INT8 = 16, /* between QUANTIZE and DEQUANTIZE */
  BSM_PRECISION_FP8 = 32
} bsm_precision;
#define BSM_PRECISION_ALL 63u

/* "fp32", "tf32", ...; "" for NONE; NULL for what is no single precision. */
BSM_API const char *bsm_precision_name(bsm_precision precision);

/* Dimensions of a tensor. -1 stands for a dynamic dimension where the function
 * says so. */
typedef struct bsm_dims {
  int32_t rank;
  int64_t d[BSM_MAX_RANK];
} bsm_dims;

/* Writes "[1, 3, 224, 224]" into `buffer` of BSM_DIMS_STR_SIZE bytes and
 * returns it. */
#define BSM_DIMS_STR_SIZE 256
BSM_API const char *bsm_dims_format(char *buffer, bsm_dims dims);

/* The text of `dims`, living until the end of the enclosing block; in C++, of
 * the full expression. */
#ifdef __cplusplus
struct bsm_dims_text {
  char text[BSM_DIMS_STR_SIZE];
  explicit bsm_dims_text(const bsm_dims &dims) { bsm_dims_format(text, dims); }
};
#define bsm_dims_str(dims) (bsm_dims_text(dims).text)
#else
#define bsm_dims_str(dims) bsm_dims_format((char[BSM_DIMS_STR_SIZE]){0}, (dims))
#endif

/* Memory spaces: the host's, or that of the device that an engine runs on. For
 * the CPU all memory is the host's. */
typedef enum bsm_memory_space {
  BSM_SPACE_HOST = 0,
  BSM_SPACE_DEVICE = 1
} bsm_memory_space;
#define BSM_MEMORY_SPACES 2

/* An array in the caller's memory. `strides` are in elements; NULL means
 * contiguous (row-major). `space` says in which memory `data` is an address;
 * zero is the host's. On a device, `device` is its index, as in the options
 * that the engine was loaded with. */
typedef struct bsm_array {
  void *data;
  bsm_dtype dtype;
  bsm_dims dims;
  const int64_t *strides;
  bsm_memory_space space;
  int32_t device;
} bsm_array;

BSM_EXTERN_C_END

#endif /* BESSEMER_TYPES_H_ */
