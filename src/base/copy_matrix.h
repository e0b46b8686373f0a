/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of matrices whose elements lie apart. */
#ifndef BSM_BASE_COPY_MATRIX_H_
#define BSM_BASE_COPY_MATRIX_H_

#include <stddef.h>
#include <stdint.h>

/* Writes rows of `columns` elements beside each other, `to_row` bytes from row
 * to row. Those it reads are `from_row` bytes from row to row and
 * `from_column` from column to column, so that a transpose is one form of it.
 * Elements have any size and alignment; the two may not overlap. */
void bsm_copy_matrix(void *to, int64_t to_row, const void *from,
                     int64_t from_row, int64_t from_column, int64_t rows,
                     int64_t columns, size_t element);

#endif /* BSM_BASE_COPY_MATRIX_H_ */
