/* SPDX-License-Identifier: Apache-2.0 */
/* Host tensors: geometry, creation, views, copies. */
#include "aten/tensor.h"

#include <string.h>

#include "aten/element.h"
#include "base/checked.h"

int64_t bsm_tensor_numel(const bsm_tensor *t) {
  int64_t n = 1;
  for (int32_t i = 0; i < t->sizes.rank; i++) n *= t->sizes.d[i];
  return n;
}

/* A size of zero does not excuse the others: their product must fit too, so
 * that no later arithmetic on parts of a shape can overflow. */
bool bsm_dims_numel(bsm_dims dims, int64_t *out) {
  int64_t n = 1;
  bool zero = false;
  for (int32_t i = 0; i < dims.rank; i++) {
    if (dims.d[i] < 0) return false;
    if (dims.d[i] == 0) {
      zero = true;
    } else if (!bsm_i64_mul(n, dims.d[i], &n)) {
      return false;
    }
  }
  *out = zero ? 0 : n;
  return true;
}

bool bsm_dims_equal(bsm_dims a, bsm_dims b) {
  if (a.rank != b.rank) return false;
  for (int32_t i = 0; i < a.rank; i++) {
    if (a.d[i] != b.d[i]) return false;
  }
  return true;
}

void bsm_contiguous_strides(bsm_dims dims, int64_t *strides) {
  int64_t step = 1;
  for (int32_t i = dims.rank - 1; i >= 0; i--) {
    strides[i] = step;
    const int64_t size = dims.d[i] > 1 ? dims.d[i] : 1;
    /* Only tensors without elements can overflow here. */
    if (!bsm_i64_mul(step, size, &step)) step = 1;
  }
}

bool bsm_tensor_is_contiguous(const bsm_tensor *t) {
  if (bsm_tensor_numel(t) == 0) return true;
  int64_t step = 1;
  for (int32_t i = t->sizes.rank - 1; i >= 0; i--) {
    if (t->sizes.d[i] == 1) continue;
    if (t->strides[i] != step) return false;
    step *= t->sizes.d[i];
  }
  return true;
}

bool bsm_tensor_is_channels_last(const bsm_tensor *t) {
  static const int order4[] = {1, 3, 2, 0};
  static const int order5[] = {1, 4, 3, 2, 0};
  const int32_t rank = t->sizes.rank;
  if (rank != 4 && rank != 5) return false;
  const int *order = rank == 4 ? order4 : order5;
  int64_t step = 1;
  for (int32_t k = 0; k < rank; k++) {
    const int i = order[k];
    if (t->sizes.d[i] == 1) continue;
    if (t->strides[i] != step) return false;
    step *= t->sizes.d[i];
  }
  return true;
}

void *bsm_tensor_data(const bsm_tensor *t) {
  if (!t->storage->data) return NULL;
  return (char *)t->storage->data +
         (size_t)t->offset * bsm_dtype_size(t->dtype);
}

/* Bytes of a contiguous tensor; checks rank, sizes and dtype. */
static bsm_status dense_bytes(bsm_dtype dtype, bsm_dims sizes, size_t *out) {
  const size_t item = bsm_dtype_size(dtype);
  if (item == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "unknown dtype %d", (int)dtype);
  }
  if (sizes.rank < 0 || sizes.rank > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "a tensor of rank %d; at most %d is supported",
                    (int)sizes.rank, BSM_MAX_RANK);
  }
  for (int32_t i = 0; i < sizes.rank; i++) {
    if (sizes.d[i] < 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Trying to create tensor with negative dimension %lld: "
                      "%s",
                      (long long)sizes.d[i], bsm_dims_str(sizes));
    }
  }
  int64_t n;
  if (!bsm_dims_numel(sizes, &n) || !bsm_size_mul((size_t)n, item, out) ||
      *out > (size_t)INT64_MAX) {
    return BSM_FAIL(BSM_LIMIT, "a tensor of shape %s is too large",
                    bsm_dims_str(sizes));
  }
  return BSM_OK;
}

bsm_status bsm_tensor_new(bsm_arena *arena, bsm_dtype dtype, bsm_dims sizes,
                          bool meta, bsm_tensor **out) {
  size_t bytes;
  BSM_TRY(dense_bytes(dtype, sizes, &bytes));
  bsm_tensor *t = BSM_NEW(arena, bsm_tensor);
  BSM_TRY_ALLOC(t);
  t->storage = BSM_NEW(arena, bsm_storage);
  BSM_TRY_ALLOC(t->storage);
  t->storage->size = bytes;
  t->storage->meta = meta;
  if (!meta) {
    t->storage->data = bsm_arena_alloc(arena, bytes ? bytes : 1, 64);
    BSM_TRY_ALLOC(t->storage->data);
  }
  t->dtype = dtype;
  t->sizes = sizes;
  t->device_index = -1;
  bsm_contiguous_strides(sizes, t->strides);
  *out = t;
  return BSM_OK;
}

/* One past the last element that is reachable, in elements; 0 when empty. */
static bool reachable_end(bsm_dims sizes, const int64_t *strides,
                          int64_t offset, int64_t *out) {
  int64_t last = offset;
  for (int32_t i = 0; i < sizes.rank; i++) {
    int64_t span;
    if (strides[i] < 0) return false;
    if (!bsm_i64_mul(sizes.d[i] - 1, strides[i], &span) ||
        !bsm_i64_add(last, span, &last)) {
      return false;
    }
  }
  return bsm_i64_add(last, 1, out);
}

bsm_status bsm_tensor_from_storage(bsm_arena *arena, bsm_storage *storage,
                                   bsm_dtype dtype, bsm_dims sizes,
                                   const int64_t *strides, int64_t offset,
                                   bsm_tensor **out) {
  size_t bytes;
  BSM_TRY(dense_bytes(dtype, sizes, &bytes));
  if (offset < 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "a tensor with storage offset %lld",
                    (long long)offset);
  }
  bsm_tensor *t = BSM_NEW(arena, bsm_tensor);
  BSM_TRY_ALLOC(t);
  t->storage = storage;
  t->dtype = dtype;
  t->sizes = sizes;
  t->offset = offset;
  t->device_index = -1;
  if (strides) {
    memcpy(t->strides, strides, sizeof(int64_t) * (size_t)sizes.rank);
  } else {
    bsm_contiguous_strides(sizes, t->strides);
  }
  for (int32_t i = 0; i < sizes.rank; i++) {
    if (t->strides[i] < 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "a tensor with stride %lld",
                      (long long)t->strides[i]);
    }
  }
  int64_t end = 0;
  size_t end_bytes = 0;
  const bool empty = bsm_tensor_numel(t) == 0;
  if (!empty &&
      (!reachable_end(sizes, t->strides, offset, &end) ||
       !bsm_size_mul((size_t)end, bsm_dtype_size(dtype), &end_bytes) ||
       end_bytes > storage->size)) {
    return BSM_FAIL(BSM_CORRUPT,
                    "a tensor of shape %s at offset %lld reaches beyond its "
                    "storage of %zu bytes",
                    bsm_dims_str(sizes), (long long)offset, storage->size);
  }
  if (empty) t->offset = 0;
  *out = t;
  return BSM_OK;
}

bsm_status bsm_tensor_from_array(bsm_arena *arena, const bsm_array *array,
                                 bool read_only, bsm_tensor **out) {
  size_t bytes;
  BSM_TRY(dense_bytes(array->dtype, array->dims, &bytes));
  bsm_storage *storage = BSM_NEW(arena, bsm_storage);
  BSM_TRY_ALLOC(storage);
  storage->data = array->data;
  storage->read_only = read_only;
  storage->size = bytes;
  if (array->strides && bytes > 0) {
    /* The caller says that the strides are right: the storage is as large as
     * they reach. */
    int64_t end;
    if (!reachable_end(array->dims, array->strides, 0, &end) ||
        !bsm_size_mul((size_t)end, bsm_dtype_size(array->dtype),
                      &storage->size)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "an array of shape %s with negative or overflowing "
                      "strides",
                      bsm_dims_str(array->dims));
    }
  }
  return bsm_tensor_from_storage(arena, storage, array->dtype, array->dims,
                                 array->strides, 0, out);
}

bsm_status bsm_tensor_view(bsm_arena *arena, const bsm_tensor *base,
                           bsm_dims sizes, const int64_t *strides,
                           int64_t offset, bsm_tensor **out) {
  bsm_tensor *t = BSM_NEW(arena, bsm_tensor);
  BSM_TRY_ALLOC(t);
  *t = *base;
  t->sizes = sizes;
  t->offset = offset;
  t->wrapped_number = false;
  memset(t->strides, 0, sizeof(t->strides));
  memcpy(t->strides, strides, sizeof(int64_t) * (size_t)sizes.rank);
  *out = t;
  return BSM_OK;
}

bsm_status bsm_tensor_clone(bsm_arena *arena, const bsm_tensor *t,
                            bsm_tensor **out) {
  bsm_tensor *copy;
  BSM_TRY(
      bsm_tensor_new(arena, t->dtype, t->sizes, bsm_tensor_is_meta(t), &copy));
  copy->device_type = t->device_type;
  copy->device_index = t->device_index;
  copy->quantizer = t->quantizer;
  if (!bsm_tensor_is_meta(t)) BSM_TRY(bsm_tensor_copy(copy, t));
  *out = copy;
  return BSM_OK;
}

bsm_status bsm_tensor_contiguous(bsm_arena *arena, const bsm_tensor *t,
                                 bsm_tensor **out) {
  if (bsm_tensor_is_contiguous(t)) {
    *out = (bsm_tensor *)t;
    return BSM_OK;
  }
  return bsm_tensor_clone(arena, t, out);
}

/* The usual sizes are known while compiling: a load and a store. */
static inline void move_items(char *dst, const char *src, const bsm_iter *it,
                              const size_t item) {
  for (int64_t i = 0; i < it->count; i++) {
    memmove(dst, src, item);
    dst += it->step[0];
    src += it->step[1];
  }
}

/* Moves elements without looking into them. */
static void copy_rows(bsm_iter *it, size_t item) {
  while (bsm_iter_next(it)) {
    char *dst = it->ptr[0];
    const char *src = it->ptr[1];
    if (it->step[0] == (int64_t)item && it->step[1] == (int64_t)item) {
      memmove(dst, src, (size_t)it->count * item);
      continue;
    }
    switch (item) {
      case 4:
        move_items(dst, src, it, 4);
        break;
      case 8:
        move_items(dst, src, it, 8);
        break;
      default:
        move_items(dst, src, it, item);
    }
  }
}

static void convert_complex_rows(bsm_iter *it, bsm_dtype to, bsm_dtype from) {
  bsm_c128 c[BSM_ROW];
  while (bsm_iter_next(it)) {
    for (int64_t i = 0; i < it->count; i += BSM_ROW) {
      const int64_t left = it->count - i;
      const size_t k = (size_t)(left < BSM_ROW ? left : BSM_ROW);
      bsm_load_c128(from, it->ptr[1] + i * it->step[1], it->step[1], k, c);
      bsm_store_c128(to, it->ptr[0] + i * it->step[0], it->step[0], k, c);
    }
  }
}

static void convert_rows(bsm_iter *it, bsm_dtype to, bsm_dtype from) {
  double f[BSM_ROW];
  int64_t n[BSM_ROW];
  const bool integral = bsm_dtype_is_integral(from, true);
  const bool halves = from == BSM_DTYPE_FLOAT && to == BSM_DTYPE_HALF;
  while (bsm_iter_next(it)) {
    if (halves && it->step[0] == sizeof(uint16_t) &&
        it->step[1] == sizeof(float)) { /* weights of whole networks */
      bsm_floats_to_half((const void *)it->ptr[1], (size_t)it->count,
                         (void *)it->ptr[0]);
      continue;
    }
    for (int64_t i = 0; i < it->count; i += BSM_ROW) {
      const int64_t left = it->count - i;
      const size_t k = (size_t)(left < BSM_ROW ? left : BSM_ROW);
      char *dst = it->ptr[0] + i * it->step[0];
      const char *src = it->ptr[1] + i * it->step[1];
      if (integral) {
        bsm_load_i64(from, src, it->step[1], k, n);
        bsm_store_i64(to, dst, it->step[0], k, n);
      } else {
        bsm_load_f64(from, src, it->step[1], k, f);
        bsm_store_f64(to, dst, it->step[0], k, f);
      }
    }
  }
}

static bool broadcasts_to(bsm_dims from, bsm_dims to) {
  if (from.rank > to.rank) return false;
  for (int32_t i = 0; i < from.rank; i++) {
    const int64_t a = from.d[i], b = to.d[i + to.rank - from.rank];
    if (a != b && a != 1) return false;
  }
  return true;
}

bsm_status bsm_tensor_copy(const bsm_tensor *dst, const bsm_tensor *src) {
  if (!broadcasts_to(src->sizes, dst->sizes)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "a tensor of shape %s cannot be copied into one of shape "
                    "%s",
                    bsm_dims_str(src->sizes), bsm_dims_str(dst->sizes));
  }
  if (bsm_tensor_is_meta(dst) || bsm_tensor_is_meta(src)) return BSM_OK;
  if (dst->dtype != src->dtype &&
      (!bsm_dtype_is_number(dst->dtype) || !bsm_dtype_is_number(src->dtype))) {
    return BSM_FAIL(BSM_UNSUPPORTED, "conversion from %s to %s",
                    bsm_dtype_name(src->dtype), bsm_dtype_name(dst->dtype));
  }
  const bsm_tensor *both[] = {dst, src};
  bsm_iter it;
  bsm_iter_init(&it, dst->sizes, both, 2);
  if (dst->dtype == src->dtype) {
    copy_rows(&it, bsm_dtype_size(dst->dtype));
  } else if (bsm_dtype_is_complex(dst->dtype) ||
             bsm_dtype_is_complex(src->dtype)) {
    convert_complex_rows(&it, dst->dtype, src->dtype);
  } else {
    convert_rows(&it, dst->dtype, src->dtype);
  }
  return BSM_OK;
}

bsm_status bsm_tensor_to_dtype(bsm_arena *arena, const bsm_tensor *t,
                               bsm_dtype dtype, bsm_tensor **out) {
  bsm_tensor *copy;
  BSM_TRY(bsm_tensor_new(arena, dtype, t->sizes, bsm_tensor_is_meta(t), &copy));
  copy->device_type = t->device_type;
  copy->device_index = t->device_index;
  BSM_TRY(bsm_tensor_copy(copy, t));
  *out = copy;
  return BSM_OK;
}

bsm_status bsm_tensor_from_double(bsm_arena *arena, bsm_dtype dtype,
                                  double value, bsm_tensor **out) {
  return bsm_tensor_from_complex(arena, dtype, value, 0.0, out);
}

bsm_status bsm_tensor_from_complex(bsm_arena *arena, bsm_dtype dtype, double re,
                                   double im, bsm_tensor **out) {
  const bsm_c128 value = {re, im};
  BSM_TRY(bsm_tensor_new(arena, dtype, (bsm_dims){0}, false, out));
  if (!bsm_dtype_is_number(dtype)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a scalar tensor of dtype %s",
                    bsm_dtype_name(dtype));
  }
  bsm_store_c128(dtype, bsm_tensor_data(*out), 0, 1, &value);
  return BSM_OK;
}

bsm_status bsm_tensor_from_int(bsm_arena *arena, bsm_dtype dtype, int64_t value,
                               bsm_tensor **out) {
  BSM_TRY(bsm_tensor_new(arena, dtype, (bsm_dims){0}, false, out));
  if (bsm_dtype_is_complex(dtype)) {
    return bsm_tensor_from_complex(arena, dtype, (double)value, 0.0, out);
  }
  if (!bsm_dtype_has_rows(dtype)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a scalar tensor of dtype %s",
                    bsm_dtype_name(dtype));
  }
  bsm_store1_i64(dtype, bsm_tensor_data(*out), value);
  return BSM_OK;
}

static const void *element_at(const bsm_tensor *t, int64_t index) {
  int64_t at = 0;
  for (int32_t i = t->sizes.rank - 1; i >= 0; i--) {
    at += index % t->sizes.d[i] * t->strides[i];
    index /= t->sizes.d[i];
  }
  return (const char *)bsm_tensor_data(t) +
         at * (int64_t)bsm_dtype_size(t->dtype);
}

double bsm_tensor_get_double(const bsm_tensor *t, int64_t index) {
  return bsm_load1_f64(t->dtype, element_at(t, index));
}

int64_t bsm_tensor_get_int(const bsm_tensor *t, int64_t index) {
  return bsm_load1_i64(t->dtype, element_at(t, index));
}
