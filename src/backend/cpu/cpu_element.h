/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of any dtype, computed in one of four classes: float (float, half
 * and bfloat16, rounded after each operation as PyTorch does), double, int64
 * (all integers, wrapped after each operation), and uint8 for truth: 0 is
 * false, and anything else true, as memory from outside may hold anything. */
#ifndef BSM_BACKEND_CPU_ELEMENT_H_
#define BSM_BACKEND_CPU_ELEMENT_H_

#include "backend/cpu/cpu_step.h"
#include "backend/cpu/kernels/ints/ints.h"

typedef enum bsm_cpu_class {
  BSM_CPU_F32 = 0,
  BSM_CPU_F64 = 1,
  BSM_CPU_I64 = 2,
  BSM_CPU_U8 = 3
} bsm_cpu_class;

bsm_cpu_class bsm_cpu_class_of(bsm_dtype dtype);
/* The bsm_k_ints_width of integers of 8 to 32 bits, or -1. */
int bsm_cpu_narrow_width(bsm_dtype dtype);
static inline size_t bsm_cpu_class_size(bsm_cpu_class c) {
  return c == BSM_CPU_F32 ? 4 : c == BSM_CPU_U8 ? 1 : 8;
}
/* The dtype's own representation is that of its class. */
static inline bool bsm_cpu_is_native(bsm_dtype d) {
  return d == BSM_DTYPE_FLOAT || d == BSM_DTYPE_DOUBLE ||
         d == BSM_DTYPE_INT64 || d == BSM_DTYPE_BOOL;
}
static inline bool bsm_cpu_is_integral(bsm_cpu_class c) {
  return c == BSM_CPU_I64 || c == BSM_CPU_U8;
}

/* The kernels that an instruction set has for elements. All give the same bits.
 */
bsm_cpu_elements bsm_cpu_elements_of(uint32_t isa);

/* n elements, `stride` elements apart, to and from an array of the class. */
void bsm_cpu_load(const bsm_cpu_elements *k, bsm_dtype dtype, const void *from,
                  int64_t stride, int64_t n, void *to);
void bsm_cpu_store(const bsm_cpu_elements *k, bsm_dtype dtype, void *to,
                   int64_t stride, int64_t n, const void *from);
/* Between classes: C's conversions; double to int64 as x86 does. */
void bsm_cpu_convert(const bsm_cpu_elements *k, bsm_cpu_class from_class,
                     const void *from, bsm_cpu_class to_class, void *to,
                     int64_t n);
/* As a cast to `dtype`: converted and narrowed. `to` is of its class. */
void bsm_cpu_cast(const bsm_cpu_elements *k, bsm_cpu_class from_class,
                  const void *from, bsm_dtype dtype, void *to, int64_t n);
/* Rounds or wraps an array of the class to what `dtype` holds. */
void bsm_cpu_narrow(const bsm_cpu_elements *k, bsm_dtype dtype, void *values,
                    int64_t n);
/* Fills an array of the class: floating ones with `value`, others with
 * `integer`. */
void bsm_cpu_set(const bsm_cpu_elements *k, bsm_cpu_class c, void *to,
                 int64_t n, double value, int64_t integer);

float bsm_cpu_half_to_float(uint16_t h);
uint16_t bsm_cpu_float_to_half(float f);

static inline int64_t bsm_cpu_to_i64(double v) {
  if (v >= -9223372036854775808.0 && v < 9223372036854775808.0) {
    return (int64_t)v;
  }
  return INT64_MIN;
}

#endif /* BSM_BACKEND_CPU_ELEMENT_H_ */
