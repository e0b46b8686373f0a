/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and names of dtypes, and the text of dimensions. */
#include <inttypes.h>
#include <stdio.h>

#include "bessemer/types.h"

typedef struct dtype_info {
  const char *name;
  size_t size;
} dtype_info;

static const dtype_info infos[] = {
    [BSM_DTYPE_UINT8] = {"uint8", 1},
    [BSM_DTYPE_INT8] = {"int8", 1},
    [BSM_DTYPE_INT16] = {"int16", 2},
    [BSM_DTYPE_INT32] = {"int32", 4},
    [BSM_DTYPE_INT64] = {"int64", 8},
    [BSM_DTYPE_HALF] = {"float16", 2},
    [BSM_DTYPE_FLOAT] = {"float32", 4},
    [BSM_DTYPE_DOUBLE] = {"float64", 8},
    [BSM_DTYPE_COMPLEX_HALF] = {"complex32", 4},
    [BSM_DTYPE_COMPLEX_FLOAT] = {"complex64", 8},
    [BSM_DTYPE_COMPLEX_DOUBLE] = {"complex128", 16},
    [BSM_DTYPE_BOOL] = {"bool", 1},
    [BSM_DTYPE_QINT8] = {"qint8", 1},
    [BSM_DTYPE_QUINT8] = {"quint8", 1},
    [BSM_DTYPE_QINT32] = {"qint32", 4},
    [BSM_DTYPE_BFLOAT16] = {"bfloat16", 2},
    [BSM_DTYPE_FLOAT8_E5M2] = {"float8_e5m2", 1},
    [BSM_DTYPE_FLOAT8_E4M3FN] = {"float8_e4m3fn", 1},
};

/* The number may come from a file, so it is checked as an unsigned. */
static const dtype_info *find(bsm_dtype dtype) {
  const unsigned number = (unsigned)dtype;
  return number < sizeof(infos) / sizeof(infos[0]) && infos[number].size
             ? &infos[number]
             : NULL;
}

size_t bsm_dtype_size(bsm_dtype dtype) {
  const dtype_info *info = find(dtype);
  return info ? info->size : 0;
}

const char *bsm_precision_name(bsm_precision precision) {
  switch (precision) {
    case BSM_PRECISION_NONE:
      return "";
    case BSM_PRECISION_FP32:
      return "fp32";
    case BSM_PRECISION_TF32:
      return "tf32";
    case BSM_PRECISION_FP16:
      return "fp16";
    case BSM_PRECISION_BF16:
      return "bf16";
    case BSM_PRECISION_INT8:
      return "int8";
    case BSM_PRECISION_FP8:
      return "fp8";
  }
  return NULL;
}

const char *bsm_dtype_name(bsm_dtype dtype) {
  const dtype_info *info = find(dtype);
  return info ? info->name : "undefined";
}

const char *bsm_dims_format(char *buffer, bsm_dims dims) {
  if (!buffer) return NULL;
  if (dims.rank < 0 || dims.rank > BSM_MAX_RANK) {
    snprintf(buffer, BSM_DIMS_STR_SIZE, "[rank %" PRId32 "]", dims.rank);
    return buffer;
  }
  /* Room is kept for ", ...]": twelve dimensions of twenty characters do not
   * fit. */
  const size_t room = BSM_DIMS_STR_SIZE - sizeof(", ...]");
  size_t length = 0;
  buffer[length++] = '[';
  for (int32_t i = 0; i < dims.rank; i++) {
    char item[32];
    const int written =
        snprintf(item, sizeof(item), "%s%" PRId64, i ? ", " : "", dims.d[i]);
    if (written < 0 || length + (size_t)written > room) {
      length += (size_t)snprintf(buffer + length, BSM_DIMS_STR_SIZE - length,
                                 ", ...");
      break;
    }
    for (int j = 0; j < written; j++) buffer[length++] = item[j];
  }
  buffer[length++] = ']';
  buffer[length] = '\0';
  return buffer;
}
