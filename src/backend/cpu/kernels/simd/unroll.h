/* SPDX-License-Identifier: Apache-2.0 */
/* UNROLL before a loop with constant bounds: it is unrolled completely, so that
 * the arrays it indexes are registers. ROLLED: it is not.
 *
 * With sanitizers, loops stay loops: their checks make unrolled bodies so large
 * that compiling them takes many minutes. BSM_K_ROLLED: so do those of kernels
 * that are to be small. */
#ifndef BSM_KERNELS_SIMD_UNROLL_H_
#define BSM_KERNELS_SIMD_UNROLL_H_

#if defined(BSM_SANITIZED) || defined(BSM_K_ROLLED)
#define UNROLL
#define ROLLED
#elif defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#define ROLLED _Pragma("GCC unroll 1")
#endif

#endif /* BSM_KERNELS_SIMD_UNROLL_H_ */
