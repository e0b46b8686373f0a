/* SPDX-License-Identifier: Apache-2.0 */
/* Packed matrices of int8 for products whose sums of pairs are int16
 * (kernels/int8/int8.h): pairs that could exceed these are halved, and what is
 * missing is multiplied apart. Sums stay exact. Of weights with a bell's
 * distribution that is one group of 8 columns in five. */
#ifndef BSM_BACKEND_CPU_INT8_SPLIT_H_
#define BSM_BACKEND_CPU_INT8_SPLIT_H_

#include "backend/cpu/kernels/int8/int8.h"
#include "base/arena.h"

/* [panels][taps][groups][16][4] */
typedef struct bsm_cpu_int8_matrix {
  const int8_t *b;
  int64_t panels, taps, groups;
} bsm_cpu_int8_matrix;

typedef struct bsm_cpu_int8_split {
  const int8_t *b; /* the matrix itself when all pairs are safe */
  bsm_k_int8_rest rest;
} bsm_cpu_int8_split;

/* `columns`: of a unit, 8 or 16. */
bsm_status bsm_cpu_split_int8(const bsm_cpu_int8_matrix *matrix,
                              int64_t columns, bsm_arena *arena,
                              bsm_cpu_int8_split *out);

#endif /* BSM_BACKEND_CPU_INT8_SPLIT_H_ */
