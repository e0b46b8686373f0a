/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix multiplication micro-kernels for double, int32 and int64: the same
 * panels of 16 columns as the float ones, but plain: rows of A lie at a fixed
 * distance, sums are written as they are, and no epilogue is fused.
 *
 * Integers wrap around. Doubles are added in the order of K with one rounding
 * for each product and addition where the machine has fused multiply-adds, and
 * two where it does not. Nothing is aligned; A and B are read exactly. */
#ifndef BSM_KERNELS_TYPED_GEMM_H_
#define BSM_KERNELS_TYPED_GEMM_H_

#include <stdbool.h>
#include <stdint.h>

#include "backend/cpu/kernels/kernel_isa.h"

#define BSM_K_TYPED_PANEL 16

typedef enum bsm_k_typed {
  BSM_K_TYPED_F64 = 0,
  BSM_K_TYPED_I32 = 1,
  BSM_K_TYPED_I64 = 2
} bsm_k_typed;

typedef struct bsm_k_typed_gemm_args {
  const void *a; /* [rows][k] */
  int64_t a_stride;
  int64_t k;
  const void *b; /* [k][16] */
  void *sums;    /* [rows][16] */
  int64_t sums_stride;
  int rows;        /* 1 .. max_rows */
  bool accumulate; /* sums += A B, else sums = A B */
} bsm_k_typed_gemm_args;

typedef struct bsm_k_typed_product {
  const char *name;
  int max_rows;
  void (*tile)(const bsm_k_typed_gemm_args *args);
  /* sums[i] += x[i] * w[i] for i < n. */
  void (*multiply_add)(const void *x, const void *w, int64_t n, void *sums);
} bsm_k_typed_product;

typedef struct bsm_k_typed_gemm {
  bsm_k_typed_product of[3]; /* by bsm_k_typed */
} bsm_k_typed_gemm;

BSM_K_FAMILY(typed_gemm)

#endif /* BSM_KERNELS_TYPED_GEMM_H_ */
