/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores and conversions of elements. */
#include "backend/cpu/cpu_element.h"

#include <string.h>

#include "aten/tensor.h"
#include "backend/cpu/kernels/convert/half_convert.h"

bsm_cpu_class bsm_cpu_class_of(bsm_dtype dtype) {
  switch (dtype) {
    case BSM_DTYPE_FLOAT:
    case BSM_DTYPE_HALF:
    case BSM_DTYPE_BFLOAT16:
    case BSM_DTYPE_FLOAT8_E4M3FN:
      return BSM_CPU_F32;
    case BSM_DTYPE_DOUBLE:
      return BSM_CPU_F64;
    case BSM_DTYPE_BOOL:
      return BSM_CPU_U8;
    default:
      return BSM_CPU_I64;
  }
}

typedef union bits32 {
  float f;
  uint32_t u;
} bits32;

float bsm_cpu_half_to_float(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
  const uint32_t exponent = (h >> 10) & 31u, mantissa = h & 1023u;
  bits32 r;
  if (exponent == 31) {
    r.u = sign | 0x7f800000u | mantissa << 13;
  } else if (exponent) {
    r.u = sign | (exponent + 112) << 23 | mantissa << 13;
  } else {
    r.f = (float)mantissa * 0x1p-24f;
    r.u |= sign;
  }
  return r.f;
}

uint16_t bsm_cpu_float_to_half(float f) {
  bits32 v = {.f = f};
  const uint32_t sign = (v.u >> 16) & 0x8000u;
  v.u &= 0x7fffffffu;
  if (v.u > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (v.u >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
  if (v.u < 0x38800000u) { /* denormal or zero: the adder rounds */
    v.f += 0.5f;
    return (uint16_t)(sign | (v.u - 0x3f000000u));
  }
  const uint32_t odd = (v.u >> 13) & 1u;
  return (uint16_t)(sign | (v.u - 0x38000000u + 0xfffu + odd) >> 13);
}

bsm_cpu_elements bsm_cpu_elements_of(uint32_t isa) {
  return (bsm_cpu_elements){bsm_k_ints_select(isa), bsm_k_convert_select(isa)};
}

int bsm_cpu_narrow_width(bsm_dtype dtype) {
  switch (dtype) {
    case BSM_DTYPE_UINT8:
      return BSM_K_INTS_U8;
    case BSM_DTYPE_INT8:
      return BSM_K_INTS_I8;
    case BSM_DTYPE_INT16:
      return BSM_K_INTS_I16;
    case BSM_DTYPE_INT32:
      return BSM_K_INTS_I32;
    default:
      return -1;
  }
}

/* Half and bfloat16 that lie apart are gathered first: the conversions work on
 * arrays. */
#define NARROW_ROW 256

static void load_narrow(const bsm_k_convert *c, bool half, const uint16_t *from,
                        int64_t stride, int64_t n, float *to) {
  uint16_t row[NARROW_ROW];
  int64_t k = n;
  for (int64_t at = 0; at < n; at += k) {
    const uint16_t *x = from + at * stride;
    if (stride != 1) {
      k = n - at < NARROW_ROW ? n - at : NARROW_ROW;
      for (int64_t i = 0; i < k; i++) row[i] = x[i * stride];
      x = row;
    }
    (half ? c->half_to_float : c->bfloat_to_float)(x, k, to + at);
  }
}

static void store_narrow(const bsm_k_convert *c, bool half, uint16_t *to,
                         int64_t stride, int64_t n, const float *from) {
  uint16_t row[NARROW_ROW];
  int64_t k = n;
  for (int64_t at = 0; at < n; at += k) {
    uint16_t *y = to + at * stride;
    if (stride != 1) k = n - at < NARROW_ROW ? n - at : NARROW_ROW;
    (half ? c->float_to_half : c->float_to_bfloat)(from + at, k,
                                                   stride == 1 ? y : row);
    for (int64_t i = 0; i < k && stride != 1; i++) y[i * stride] = row[i];
  }
}

#define LOAD(type, out_type, expression)                                \
  {                                                                     \
    const type *p = from;                                               \
    out_type *o = to;                                                   \
    if (stride == 1) {                                                  \
      for (int64_t i = 0; i < n; i++) o[i] = expression(p[i]);          \
    } else {                                                            \
      for (int64_t i = 0; i < n; i++) o[i] = expression(p[i * stride]); \
    }                                                                   \
    return;                                                             \
  }
/* Neighbours have kernels, which are not made for few of them. */
#define FEW 16
#define LOAD_APART(type)                                           \
  {                                                                \
    const type *p = from;                                          \
    int64_t *o = to;                                               \
    for (int64_t i = 0; i < n; i++) o[i] = (int64_t)p[i * stride]; \
    return;                                                        \
  }
#define AS_IS(x) (x)
#define AS_TRUTH(x) ((uint8_t)((x) != 0))
#define FROM_FLOAT8(x) bsm_float8_to_float(BSM_DTYPE_FLOAT8_E4M3FN, x)
#define TO_FLOAT8(x) bsm_float_to_float8(BSM_DTYPE_FLOAT8_E4M3FN, x)

/* Copies neighbours that are in memory as they are computed with. */
static bool copy_neighbours(bsm_dtype dtype, const void *from, int64_t stride,
                            int64_t n, void *to) {
  const bool as_is = dtype == BSM_DTYPE_FLOAT || dtype == BSM_DTYPE_DOUBLE ||
                     dtype == BSM_DTYPE_INT64;
  if (stride != 1 || !as_is || n == 0) return false;
  memcpy(to, from, (size_t)n * bsm_dtype_size(dtype));
  return true;
}

/* n times an element of 4 bytes: pairs, from where eight bytes are aligned. */
static void repeat_word(const bsm_k_ints *ints, uint32_t word, char *to,
                        int64_t n) {
  const int64_t before = n > 0 && (uintptr_t)to % 8 != 0 ? 1 : 0;
  const int64_t pairs = (n - before) / 2;
  if (before != 0) memcpy(to, &word, 4);
  to += 4 * before;
  const uint64_t both = (uint64_t)word << 32 | word;
  ints->fill((int64_t)both, (int64_t *)(void *)to, pairs);
  if (before + 2 * pairs < n) memcpy(to + 8 * pairs, &word, 4);
}

/* n times an element of 1, 4 or 8 bytes. */
static void repeat(const bsm_k_ints *ints, size_t size, const void *element,
                   void *to, int64_t n) {
  int64_t value;
  uint32_t word;
  switch (size) {
    case 1:
      memset(to, *(const uint8_t *)element, (size_t)n);
      return;
    case 4:
      memcpy(&word, element, size);
      repeat_word(ints, word, to, n);
      return;
    default:
      memcpy(&value, element, size);
      ints->fill(value, to, n);
      return;
  }
}

void bsm_cpu_load(const bsm_cpu_elements *k, bsm_dtype dtype, const void *from,
                  int64_t stride, int64_t n, void *to) {
  if (stride == 0 && n > 1) {
    int64_t one = 0;
    bsm_cpu_load(k, dtype, from, 1, 1, &one);
    repeat(k->ints, bsm_cpu_class_size(bsm_cpu_class_of(dtype)), &one, to, n);
    return;
  }
  if (copy_neighbours(dtype, from, stride, n, to)) return;
  if (stride == 1 && n >= FEW && bsm_cpu_narrow_width(dtype) >= 0) {
    k->ints->load((bsm_k_ints_width)bsm_cpu_narrow_width(dtype), from, to, n);
    return;
  }
  if (dtype == BSM_DTYPE_HALF || dtype == BSM_DTYPE_BFLOAT16) {
    load_narrow(k->halves, dtype == BSM_DTYPE_HALF, from, stride, n, to);
    return;
  }
  switch (dtype) {
    case BSM_DTYPE_FLOAT:
      LOAD(float, float, AS_IS)
    case BSM_DTYPE_DOUBLE:
      LOAD(double, double, AS_IS)
    case BSM_DTYPE_UINT8:
      LOAD_APART(uint8_t)
    case BSM_DTYPE_INT8:
      LOAD_APART(int8_t)
    case BSM_DTYPE_INT16:
      LOAD_APART(int16_t)
    case BSM_DTYPE_INT32:
      LOAD_APART(int32_t)
    case BSM_DTYPE_BOOL:
      LOAD(uint8_t, uint8_t, AS_TRUTH)
    case BSM_DTYPE_FLOAT8_E4M3FN:
      LOAD(uint8_t, float, FROM_FLOAT8)
    default:
      LOAD(int64_t, int64_t, AS_IS)
  }
}

#define STORE(type, in_type, expression)                                \
  {                                                                     \
    type *p = to;                                                       \
    const in_type *v = from;                                            \
    if (stride == 1) {                                                  \
      for (int64_t i = 0; i < n; i++) p[i] = expression(v[i]);          \
    } else {                                                            \
      for (int64_t i = 0; i < n; i++) p[i * stride] = expression(v[i]); \
    }                                                                   \
    return;                                                             \
  }
#define STORE_APART(type, expression)                                 \
  {                                                                   \
    type *p = to;                                                     \
    const int64_t *v = from;                                          \
    for (int64_t i = 0; i < n; i++) p[i * stride] = expression(v[i]); \
    return;                                                           \
  }
#define AS_U8(x) ((uint8_t)(x))
#define AS_I8(x) ((int8_t)(uint8_t)(x))
#define AS_I16(x) ((int16_t)(uint16_t)(x))
#define AS_I32(x) ((int32_t)(uint32_t)(x))

void bsm_cpu_store(const bsm_cpu_elements *k, bsm_dtype dtype, void *to,
                   int64_t stride, int64_t n, const void *from) {
  if (copy_neighbours(dtype, from, stride, n, to)) return;
  if (stride == 1 && n >= FEW && bsm_cpu_narrow_width(dtype) >= 0) {
    k->ints->store((bsm_k_ints_width)bsm_cpu_narrow_width(dtype), from, to, n);
    return;
  }
  if (dtype == BSM_DTYPE_HALF || dtype == BSM_DTYPE_BFLOAT16) {
    store_narrow(k->halves, dtype == BSM_DTYPE_HALF, to, stride, n, from);
    return;
  }
  switch (dtype) {
    case BSM_DTYPE_FLOAT:
      STORE(float, float, AS_IS)
    case BSM_DTYPE_DOUBLE:
      STORE(double, double, AS_IS)
    case BSM_DTYPE_UINT8:
      STORE_APART(uint8_t, AS_U8)
    case BSM_DTYPE_INT8:
      STORE_APART(int8_t, AS_I8)
    case BSM_DTYPE_INT16:
      STORE_APART(int16_t, AS_I16)
    case BSM_DTYPE_INT32:
      STORE_APART(int32_t, AS_I32)
    case BSM_DTYPE_BOOL:
      STORE(uint8_t, uint8_t, AS_TRUTH)
    case BSM_DTYPE_FLOAT8_E4M3FN:
      STORE(uint8_t, float, TO_FLOAT8)
    default:
      STORE(int64_t, int64_t, AS_IS)
  }
}

#define CONVERT(in_type, out_type, expression)               \
  {                                                          \
    const in_type *p = from;                                 \
    out_type *o = to;                                        \
    for (int64_t i = 0; i < n; i++) o[i] = expression(p[i]); \
    return;                                                  \
  }
#define TO_FLOAT(x) ((float)(x))
#define TO_DOUBLE(x) ((double)(x))

void bsm_cpu_convert(const bsm_cpu_elements *k, bsm_cpu_class from_class,
                     const void *from, bsm_cpu_class to_class, void *to,
                     int64_t n) {
  if (from_class == to_class) {
    memmove(to, from, (size_t)n * bsm_cpu_class_size(to_class));
    return;
  }
  const bsm_k_ints *ints = k->ints;
  switch ((int)from_class * 4 + (int)to_class) {
    case BSM_CPU_F32 * 4 + BSM_CPU_F64:
      CONVERT(float, double, TO_DOUBLE)
    case BSM_CPU_F32 * 4 + BSM_CPU_I64:
      ints->of_floats(from, to, n);
      return;
    case BSM_CPU_F64 * 4 + BSM_CPU_F32:
      CONVERT(double, float, TO_FLOAT)
    case BSM_CPU_F64 * 4 + BSM_CPU_I64:
      CONVERT(double, int64_t, bsm_cpu_to_i64)
    case BSM_CPU_I64 * 4 + BSM_CPU_F32:
      ints->to_floats(from, to, n);
      return;
    case BSM_CPU_U8 * 4 + BSM_CPU_F32:
      ints->floats_of_truth(from, to, n);
      return;
    case BSM_CPU_U8 * 4 + BSM_CPU_F64:
      CONVERT(uint8_t, double, AS_TRUTH)
    case BSM_CPU_U8 * 4 + BSM_CPU_I64:
      ints->of_truth(from, to, n);
      return;
    case BSM_CPU_F32 * 4 + BSM_CPU_U8:
      ints->truth_of_floats(from, to, n);
      return;
    case BSM_CPU_F64 * 4 + BSM_CPU_U8:
      CONVERT(double, uint8_t, AS_TRUTH)
    case BSM_CPU_I64 * 4 + BSM_CPU_U8:
      ints->to_truth(from, to, n);
      return;
    default:
      CONVERT(int64_t, double, TO_DOUBLE)
  }
}

#define ROUND_TO_FLOAT8(x) FROM_FLOAT8(TO_FLOAT8(x))
#define NARROW(type, expression)                                   \
  {                                                                \
    type *v = values;                                              \
    for (int64_t i = 0; i < n; i++) v[i] = (type)expression(v[i]); \
    return;                                                        \
  }

void bsm_cpu_narrow(const bsm_cpu_elements *k, bsm_dtype dtype, void *values,
                    int64_t n) {
  if (bsm_cpu_narrow_width(dtype) >= 0) {
    k->ints->wrap((bsm_k_ints_width)bsm_cpu_narrow_width(dtype), values, values,
                  n);
    return;
  }
  switch (dtype) {
    case BSM_DTYPE_HALF:
      k->halves->round_to_half(values, n, values);
      return;
    case BSM_DTYPE_BFLOAT16:
      k->halves->round_to_bfloat(values, n, values);
      return;
    case BSM_DTYPE_BOOL:
      k->ints->truth(BSM_K_TRUTH_OR, values, values, values, n);
      return;
    case BSM_DTYPE_FLOAT8_E4M3FN:
      NARROW(float, ROUND_TO_FLOAT8)
    default:
      return;
  }
}

void bsm_cpu_cast(const bsm_cpu_elements *k, bsm_cpu_class from_class,
                  const void *from, bsm_dtype dtype, void *to, int64_t n) {
  bsm_cpu_convert(k, from_class, from, bsm_cpu_class_of(dtype), to, n);
  bsm_cpu_narrow(k, dtype, to, n);
}

void bsm_cpu_set(const bsm_cpu_elements *k, bsm_cpu_class c, void *to,
                 int64_t n, double value, int64_t integer) {
  if (c == BSM_CPU_F32) {
    const float v = (float)value;
    repeat(k->ints, sizeof(v), &v, to, n);
  } else if (c == BSM_CPU_F64) {
    repeat(k->ints, sizeof(value), &value, to, n);
  } else if (c == BSM_CPU_U8) {
    memset(to, integer != 0, (size_t)n);
  } else {
    k->ints->fill(integer, to, n);
  }
}
