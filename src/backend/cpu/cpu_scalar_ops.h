/* SPDX-License-Identifier: Apache-2.0 */
/* Array operations of the element-wise driver for all classes and codes, with
 * PyTorch's semantics. What vector_math.h has for floats is used; the rest is
 * plain loops over the C library. An output may be an input of the same class.
 */
#ifndef BSM_BACKEND_CPU_SCALAR_OPS_H_
#define BSM_BACKEND_CPU_SCALAR_OPS_H_

#include "backend/cpu/cpu_element.h"

/* The result is a truth value: a uint8 array of 0 and 1. */
bool bsm_cpu_unary_is_test(int32_t code);      /* NOT, ISINF, ISNAN */
bool bsm_cpu_binary_is_test(int32_t code);     /* comparisons, AND, OR, XOR */
bool bsm_cpu_binary_is_division(int32_t code); /* of integers */

/* y = op(x). `c`: class of x, and of y except for tests; uint8 only for tests.
 * `dtype`: of y. */
void bsm_cpu_unary(const bsm_cpu_elements *k, const bsm_k_math *math,
                   int32_t code, bsm_cpu_class c, bsm_dtype dtype,
                   const void *x, void *y, int64_t n);
void bsm_cpu_binary(const bsm_cpu_elements *k, const bsm_k_math *math,
                    int32_t code, bsm_cpu_class c, bsm_dtype dtype,
                    const void *a, const void *b, void *y, int64_t n);
void bsm_cpu_activate(const bsm_k_math *math, int32_t type, bsm_cpu_class c,
                      const void *x, void *y, int64_t n, double alpha,
                      double beta);
/* pow with one exponent for all. */
void bsm_cpu_power(const bsm_k_math *math, bsm_cpu_class c, const void *x,
                   double exponent, void *y, int64_t n);

#endif /* BSM_BACKEND_CPU_SCALAR_OPS_H_ */
