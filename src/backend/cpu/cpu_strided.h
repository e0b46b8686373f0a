/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of strided rows of elements of 1, 2, 4 or 8 bytes. */
#ifndef BSM_BACKEND_CPU_STRIDED_H_
#define BSM_BACKEND_CPU_STRIDED_H_

#include "backend/cpu/cpu_space.h"
#include "backend/cpu/kernels/rows/rows.h"

/* n elements; strides in elements. */
void bsm_cpu_copy_row(int64_t element, const char *x, int64_t x_stride, char *y,
                      int64_t y_stride, int64_t n);
/* Two dimensions, the inner one last; in the other order where that is short.
 */
void bsm_cpu_copy_rows(int64_t element, const char *x, const int64_t *x_stride,
                       char *y, const int64_t *y_stride, const int64_t *dims);
/* All of a space: operand 0 from operand 1. */
void bsm_cpu_copy_space(const bsm_cpu_space *space, int64_t element,
                        const char *x, char *y);
/* The same, with squares transposed where each side is contiguous along another
 * dimension. The space is sorted and merged before. */
void bsm_cpu_copy_box(const bsm_k_rows *rows, bsm_cpu_space *space,
                      int64_t element, const char *x, char *y);
/* y[i][j] = x[j][i] for i < rows, j < columns; strides between rows. */
void bsm_cpu_transpose(const bsm_k_rows *rows_kernels, int64_t element,
                       const char *x, int64_t x_stride, char *y,
                       int64_t y_stride, int64_t rows, int64_t columns);
/* n copies of one element. */
void bsm_cpu_repeat(int64_t element, const char *value, char *y,
                    int64_t y_stride, int64_t n);

#endif /* BSM_BACKEND_CPU_STRIDED_H_ */
