/* SPDX-License-Identifier: Apache-2.0 */
/* DLPack, versions before 1 and 1: how array libraries hand each other memory.
 * The layouts are those of https://dmlc.github.io/dlpack. */
#ifndef BSM_PYTHON_DLPACK_H_
#define BSM_PYTHON_DLPACK_H_

#include <stdint.h>

enum {
  DLPACK_CPU = 1,
  DLPACK_CUDA = 2,
  DLPACK_CUDA_HOST = 3,
  DLPACK_CUDA_MANAGED = 13
};

enum {
  DLPACK_INT = 0,
  DLPACK_UINT = 1,
  DLPACK_FLOAT = 2,
  DLPACK_BFLOAT = 4,
  DLPACK_COMPLEX = 5,
  DLPACK_BOOL = 6
};

typedef struct dlpack_tensor {
  void *data;
  int32_t device_type;
  int32_t device_id;
  int32_t rank;
  uint8_t code; /* of the dtype, as above */
  uint8_t bits;
  uint16_t lanes;
  int64_t *dims;
  int64_t *strides; /* in elements; NULL: contiguous */
  uint64_t byte_offset;
} dlpack_tensor;

/* In a capsule "dltensor"; who takes it renames the capsule "used_dltensor"
 * and calls `deleter` when done. */
typedef struct dlpack_managed {
  dlpack_tensor tensor;
  void *context;
  void (*deleter)(struct dlpack_managed *self);
} dlpack_managed;

/* In a capsule "dltensor_versioned". */
typedef struct dlpack_versioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct dlpack_versioned *self);
  uint64_t flags; /* bit 0: read-only */
  dlpack_tensor tensor;
} dlpack_versioned;

#endif /* BSM_PYTHON_DLPACK_H_ */
