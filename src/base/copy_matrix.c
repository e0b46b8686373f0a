/* SPDX-License-Identifier: Apache-2.0 */
#include "base/copy_matrix.h"

#include <string.h>

/* Lines of a cache that a tile reads and writes stay there until all of their
 * elements have moved: 32 of either. */
#define TILE 32

typedef struct matrix {
  char *to;
  const char *from;
  int64_t to_row, from_row, from_column;
} matrix;

/* The usual sizes are known while compiling: a load and a store. */
static inline void move_tile(const matrix *m, int64_t rows, int64_t columns,
                             const size_t element) {
  for (int64_t r = 0; r < rows; r++) {
    char *to = m->to + r * m->to_row;
    const char *from = m->from + r * m->from_row;
    for (int64_t c = 0; c < columns; c++) {
      memcpy(to, from, element);
      to += element;
      from += m->from_column;
    }
  }
}

static void copy_tile(const matrix *m, int64_t rows, int64_t columns,
                      size_t element) {
  switch (element) {
    case 1:
      move_tile(m, rows, columns, 1);
      break;
    case 2:
      move_tile(m, rows, columns, 2);
      break;
    case 4:
      move_tile(m, rows, columns, 4);
      break;
    default:
      move_tile(m, rows, columns, element);
  }
}

void bsm_copy_matrix(void *to, int64_t to_row, const void *from,
                     int64_t from_row, int64_t from_column, int64_t rows,
                     int64_t columns, size_t element) {
  const int64_t size = (int64_t)element;
  for (int64_t r = 0; r < rows; r += TILE) {
    const int64_t high = rows - r < TILE ? rows - r : TILE;
    for (int64_t c = 0; c < columns; c += TILE) {
      const int64_t wide = columns - c < TILE ? columns - c : TILE;
      const matrix m = {
          (char *)to + r * to_row + c * size,
          (const char *)from + r * from_row + c * from_column,
          to_row,
          from_row,
          from_column,
      };
      copy_tile(&m, high, wide, element);
    }
  }
}
