/* SPDX-License-Identifier: Apache-2.0 */
/* Host tensors with PyTorch's semantics: a storage, an offset, sizes and
 * strides. Views share a storage; two tensors alias exactly when their
 * storages are the same object.
 *
 * A *meta* tensor has a storage without memory: shapes, dtypes, strides and
 * aliasing are computed on it, values are not. Shape propagation runs the
 * reference library on meta tensors.
 *
 * Tensors, storages and their memory live in an arena, or borrow memory that
 * outlives the tensor (a mapped file). */
#ifndef BSM_ATEN_TENSOR_H_
#define BSM_ATEN_TENSOR_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "bessemer/types.h"

typedef struct bsm_storage {
  void *data;     /* NULL for meta storages and empty ones */
  size_t size;    /* bytes that `data` has, or would have */
  bool meta;      /* no memory behind it */
  bool read_only; /* borrowed from a file: in-place ops must copy first */
  /* A copy in other memory, of who runs a program (program/residency.h), which
   * may be the only one: `data` is NULL then until ops shall see it. */
  struct bsm_resident *resident;
} bsm_storage;

/* What the integers of a quantized tensor mean: (q - zero_point) * scale, with
 * one scale, or with one for each index of a dimension. */
typedef struct bsm_quantizer {
  double scale;
  int64_t zero_point;
  const struct bsm_tensor *scales; /* NULL: one for the whole tensor */
  const struct bsm_tensor *zero_points;
  int32_t axis;
  bool float_zero_points; /* added before rounding */
} bsm_quantizer;

typedef struct bsm_tensor {
  bsm_storage *storage;
  bsm_dtype dtype;
  bsm_dims sizes;
  int64_t strides[BSM_MAX_RANK]; /* elements, never negative */
  int64_t offset;                /* elements */
  /* "wrapped numbers": a 0-dim tensor made from a Python scalar has lower
   * priority in type promotion. */
  bool wrapped_number;
  int8_t device_type; /* 0 cpu, 1 cuda: as the model says, always run on CPU */
  int8_t device_index;
  const bsm_quantizer *quantizer; /* of the quantized dtypes; else NULL */
} bsm_tensor;

/* Number of elements; sizes are checked when a tensor is made, so this cannot
 * overflow. 1 for rank 0. */
int64_t bsm_tensor_numel(const bsm_tensor *t);
/* bsm_dims version; false when the product overflows or a size is negative. */
bool bsm_dims_numel(bsm_dims dims, int64_t *out);
bool bsm_dims_equal(bsm_dims a, bsm_dims b);
/* Row-major strides of `dims` (PyTorch's: size 0 counts as 1). */
void bsm_contiguous_strides(bsm_dims dims, int64_t *strides);
bool bsm_tensor_is_contiguous(const bsm_tensor *t);
/* Strides of a channels-last (NHWC, NDHWC) tensor of these dims, rank 4, 5. */
bool bsm_tensor_is_channels_last(const bsm_tensor *t);

static inline bool bsm_tensor_is_meta(const bsm_tensor *t) {
  return t->storage->meta;
}

/* The address of the first element. NULL for meta tensors. */
void *bsm_tensor_data(const bsm_tensor *t);

/* A new contiguous tensor, zero filled; `meta`: without memory.
 * BSM_INVALID_ARGUMENT for negative sizes, BSM_LIMIT when bytes overflow. */
BSM_NODISCARD bsm_status bsm_tensor_new(bsm_arena *arena, bsm_dtype dtype,
                                        bsm_dims sizes, bool meta,
                                        bsm_tensor **out);
/* A tensor over borrowed memory of `bytes` bytes: checks that every element
 * reachable by sizes, strides and offset lies inside. */
BSM_NODISCARD bsm_status bsm_tensor_from_storage(
    bsm_arena *arena, bsm_storage *storage, bsm_dtype dtype, bsm_dims sizes,
    const int64_t *strides, int64_t offset, bsm_tensor **out);
/* Over the caller's array; `read_only` when in-place ops must not touch it. */
BSM_NODISCARD bsm_status bsm_tensor_from_array(bsm_arena *arena,
                                               const bsm_array *array,
                                               bool read_only,
                                               bsm_tensor **out);
/* A view: same storage, other geometry. The caller guarantees bounds. */
BSM_NODISCARD bsm_status bsm_tensor_view(bsm_arena *arena,
                                         const bsm_tensor *base, bsm_dims sizes,
                                         const int64_t *strides, int64_t offset,
                                         bsm_tensor **out);
/* A contiguous copy with its own storage (meta stays meta). */
BSM_NODISCARD bsm_status bsm_tensor_clone(bsm_arena *arena, const bsm_tensor *t,
                                          bsm_tensor **out);
/* `t` itself when contiguous, else a contiguous copy. */
BSM_NODISCARD bsm_status bsm_tensor_contiguous(bsm_arena *arena,
                                               const bsm_tensor *t,
                                               bsm_tensor **out);
/* Copies `src` into `dst` with broadcasting and dtype conversion (copy_). */
BSM_NODISCARD bsm_status bsm_tensor_copy(const bsm_tensor *dst,
                                         const bsm_tensor *src);
/* A contiguous copy in another dtype. */
BSM_NODISCARD bsm_status bsm_tensor_to_dtype(bsm_arena *arena,
                                             const bsm_tensor *t,
                                             bsm_dtype dtype, bsm_tensor **out);
/* A 0-dim tensor. */
BSM_NODISCARD bsm_status bsm_tensor_from_double(bsm_arena *arena,
                                                bsm_dtype dtype, double value,
                                                bsm_tensor **out);
BSM_NODISCARD bsm_status bsm_tensor_from_complex(bsm_arena *arena,
                                                 bsm_dtype dtype, double re,
                                                 double im, bsm_tensor **out);
BSM_NODISCARD bsm_status bsm_tensor_from_int(bsm_arena *arena, bsm_dtype dtype,
                                             int64_t value, bsm_tensor **out);

/* One element at a linear index in row-major order of the sizes, converted.
 * The tensor must not be meta. */
double bsm_tensor_get_double(const bsm_tensor *t, int64_t index);
int64_t bsm_tensor_get_int(const bsm_tensor *t, int64_t index);

/* dtype classes and PyTorch's promotion. */
/* Of 8 and 16 bits, float, double. */
bool bsm_dtype_is_floating(bsm_dtype d);
bool bsm_dtype_is_float8(bsm_dtype d);
bool bsm_dtype_is_complex(bsm_dtype d);
static inline bool bsm_dtype_is_quantized(bsm_dtype d) {
  return d == BSM_DTYPE_QINT8 || d == BSM_DTYPE_QUINT8 || d == BSM_DTYPE_QINT32;
}
bool bsm_dtype_is_integral(bsm_dtype d, bool include_bool);
/* The dtype of the parts of a complex one (others: itself), and back:
 * BSM_DTYPE_UNDEFINED where there is none. */
bsm_dtype bsm_dtype_value_type(bsm_dtype d);
bsm_dtype bsm_dtype_complex_type(bsm_dtype d);
/* c10::promoteTypes. */
bsm_dtype bsm_promote_types(bsm_dtype a, bsm_dtype b);

float bsm_half_to_float(uint16_t bits);
uint16_t bsm_float_to_half(float value); /* round to nearest even */
void bsm_floats_to_half(const float *values, size_t count, uint16_t *halves);
/* Of the two dtypes of float8, as PyTorch casts: what is too great for e4m3
 * becomes NaN. */
float bsm_float8_to_float(bsm_dtype dtype, uint8_t bits);
uint8_t bsm_float_to_float8(bsm_dtype dtype, float value);
float bsm_bfloat16_to_float(uint16_t bits);
uint16_t bsm_float_to_bfloat16(float value);

#endif /* BSM_ATEN_TENSOR_H_ */
