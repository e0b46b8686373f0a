/* SPDX-License-Identifier: Apache-2.0 */
/* Elements as programs hold them: those of integers of 8 to 32 bits as they are
 * in memory, all others in their class (cpu_element.h). Arithmetic that wraps
 * around has kernels for both. */
#ifndef BSM_BACKEND_CPU_HELD_H_
#define BSM_BACKEND_CPU_HELD_H_

#include "backend/cpu/cpu_element.h"

static inline bool bsm_cpu_is_narrow(bsm_dtype dtype) {
  return bsm_cpu_narrow_width(dtype) >= 0;
}
/* The width of such a dtype. */
static inline bsm_k_ints_width bsm_cpu_width_of(bsm_dtype dtype) {
  return (bsm_k_ints_width)bsm_cpu_narrow_width(dtype);
}
static inline bool bsm_cpu_is_held_as_is(bsm_dtype dtype) {
  return bsm_cpu_is_native(dtype) || bsm_cpu_is_narrow(dtype);
}
size_t bsm_cpu_held_size(bsm_dtype dtype);

/* n elements, `stride` elements apart, to and from an array. */
void bsm_cpu_hold(const bsm_cpu_elements *k, bsm_dtype dtype, const void *from,
                  int64_t stride, int64_t n, void *to);
void bsm_cpu_put(const bsm_cpu_elements *k, bsm_dtype dtype, void *to,
                 int64_t stride, int64_t n, const void *from);

/* Elements of `from` in a class. `to` may be `x` where sizes are the same. */
void bsm_cpu_held_to_class(const bsm_cpu_elements *k, bsm_dtype from,
                           const void *x, bsm_cpu_class c, void *to, int64_t n);
/* A cast: rounded or cut off. `room` is for n times 8 bytes. */
void bsm_cpu_cast_held(const bsm_cpu_elements *k, bsm_dtype from, const void *x,
                       bsm_dtype dtype, void *to, int64_t n, void *room);
/* The same of an array of a class. */
void bsm_cpu_class_to_held(const bsm_cpu_elements *k, bsm_cpu_class c,
                           const void *x, bsm_dtype dtype, void *to, int64_t n,
                           void *room);

/* An operation on integers of one narrow dtype: element-wise codes of
 * bsm_step_ew_instruction. False: there is no such kernel. */
bool bsm_cpu_narrow_has_unary(int32_t code);
bool bsm_cpu_narrow_has_binary(int32_t code);
void bsm_cpu_narrow_unary(const bsm_k_ints *ints, int32_t code, bsm_dtype dtype,
                          const void *a, void *y, int64_t n);
/* `room`: for n int32 each. */
void bsm_cpu_narrow_binary(const bsm_k_ints *ints, int32_t code,
                           bsm_dtype dtype, const void *a, const void *b,
                           void *y, int64_t n, int32_t *room_a,
                           int32_t *room_b);

#endif /* BSM_BACKEND_CPU_HELD_H_ */
