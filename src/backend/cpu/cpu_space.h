/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over several strided tensors of one broadcast shape, in the memory
 * order of the first one. Dimensions of size 1 are dropped and neighbours that
 * every tensor walks through in one stride are merged, so that what is
 * contiguous is one long row, whatever the layout. */
#ifndef BSM_BACKEND_CPU_SPACE_H_
#define BSM_BACKEND_CPU_SPACE_H_

#include "backend/cpu/cpu_step.h"

#define BSM_CPU_MAX_OPERANDS (BSM_EW_MAX_INPUTS + 2)

typedef struct bsm_cpu_space {
  int32_t rank; /* >= 1; the last dimension is the innermost */
  int operands;
  int64_t count; /* elements */
  int64_t dims[BSM_MAX_RANK];
  int64_t strides[BSM_CPU_MAX_OPERANDS][BSM_MAX_RANK]; /* elements */
} bsm_cpu_space;

/* tensors[0] gives the shape and the order; the others broadcast to it. */
void bsm_cpu_space_init(bsm_cpu_space *space,
                        const bsm_plan_tensor *const *tensors, int operands);
/* The same from explicit strides; merges in the given order of dimensions,
 * sorted by the strides of operand 0 when `sort`. */
void bsm_cpu_space_reduce(bsm_cpu_space *space, bool sort);

/* A place in the space: element offsets of every operand. */
typedef struct bsm_cpu_cursor {
  int64_t index[BSM_MAX_RANK];
  int64_t offset[BSM_CPU_MAX_OPERANDS];
} bsm_cpu_cursor;

void bsm_cpu_seek(const bsm_cpu_space *space, int64_t linear,
                  bsm_cpu_cursor *cursor);
/* Elements left in the innermost row. */
static inline int64_t bsm_cpu_row_left(const bsm_cpu_space *s,
                                       const bsm_cpu_cursor *c) {
  return s->dims[s->rank - 1] - c->index[s->rank - 1];
}
/* Moves by n <= row_left elements. */
void bsm_cpu_advance(const bsm_cpu_space *space, bsm_cpu_cursor *cursor,
                     int64_t n);
/* Moves by n along dimension i, to its end at most, and on in the outer ones
 * there. */
void bsm_cpu_move(const bsm_cpu_space *space, bsm_cpu_cursor *cursor, int32_t i,
                  int64_t n);
/* Whole rows left in the dimension outside the innermost; rank >= 2. */
static inline int64_t bsm_cpu_rows_left(const bsm_cpu_space *s,
                                        const bsm_cpu_cursor *c) {
  return s->dims[s->rank - 2] - c->index[s->rank - 2];
}
/* Moves by n <= rows_left rows, from the start of one to that of another. */
void bsm_cpu_advance_rows(const bsm_cpu_space *space, bsm_cpu_cursor *cursor,
                          int64_t n);

#endif /* BSM_BACKEND_CPU_SPACE_H_ */
