/* SPDX-License-Identifier: Apache-2.0 */
/* Packed matrices of int8 for products that sum pairs of several groups in
 * int16 (`levels` of kernels/int8/int8.h): what makes such a sum exceed 16 bits
 * with any uint8 is taken out of the matrix and multiplied apart, so that sums
 * stay exact. How many groups are summed follows from the weights: of those
 * with few great ones most sums of 4 or 8 are small enough. */
#ifndef BSM_BACKEND_CPU_INT8_RELIEF_H_
#define BSM_BACKEND_CPU_INT8_RELIEF_H_

#include "backend/cpu/cpu_int8_split.h"

/* How long products and Winograd's algorithm (cpu_int8_winograd.c) take with
 * AVX2, in nanoseconds of one core that was measured: only ratios count.
 * `level`: the time of a weight, as below. */
double bsm_cpu_int8_product_time(double products, double level);
double bsm_cpu_int8_winograd_time(int64_t in_maps, int64_t out_maps,
                                  int64_t tiles);

/* A level, and what the product takes with it: the time of each weight, where
 * that of one without a rest is 1 at level 1. */
typedef struct bsm_cpu_int8_level {
  int32_t level;
  double time;
} bsm_cpu_int8_level;

/* The best level, from a sample of the columns: of `rows` rows, and `maps`
 * columns, for which rows are arranged once. */
bsm_cpu_int8_level bsm_cpu_int8_best_level(const bsm_cpu_int8_matrix *matrix,
                                           int64_t rows, int64_t maps);

/* The matrix for sums of a level: the same where nothing is taken out; twice as
 * large with masks. */
bsm_status bsm_cpu_relieve_int8(const bsm_cpu_int8_matrix *matrix,
                                int32_t level, bsm_arena *arena,
                                bsm_cpu_int8_split *out);

#endif /* BSM_BACKEND_CPU_INT8_RELIEF_H_ */
