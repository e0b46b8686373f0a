/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks: what a step does for each element of one space (`kept`) over the
 * elements of another one (`reduced`) is done for many neighbours at once, in
 * columns that lie beside each other, whatever the strides and the dtype are.
 *
 * A block is up to BSM_CPU_BLOCK_WIDTH elements of the kept space. Pieces of
 * it, [count][width] of some elements of the reduced space, are loaded into a
 * buffer of one class (cpu_element.h), or found in place where they lie as the
 * buffer would. With width 1 a piece is a row. */
#ifndef BSM_BACKEND_CPU_BLOCK_H_
#define BSM_BACKEND_CPU_BLOCK_H_

#include "backend/cpu/cpu_element.h"
#include "backend/cpu/cpu_space.h"
#include "backend/cpu/kernels/rows/rows.h"

#define BSM_CPU_BLOCK_WIDTH 256
#define BSM_CPU_BLOCK_OPERANDS 4
/* Elements that a buffer usually has room for. */
#define BSM_CPU_BLOCK_ROOM 8192
/* Bytes of a buffer: values, and what they are converted from or to. */
static inline uint64_t bsm_cpu_block_bytes(int64_t room) {
  return (uint64_t)room * 16;
}

/* The runs of a block are neighbours in the kept space's innermost dimension.
 */
typedef struct bsm_cpu_block {
  int64_t width;
  int runs;
  int64_t first[BSM_CPU_BLOCK_WIDTH], length[BSM_CPU_BLOCK_WIDTH];
  int64_t offset[BSM_CPU_BLOCK_OPERANDS][BSM_CPU_BLOCK_WIDTH];
} bsm_cpu_block;

/* One operand of both spaces, and the class of its pieces. */
typedef struct bsm_cpu_view {
  const bsm_cpu_space *kept, *reduced;
  int operand;
  bsm_dtype dtype;
  bsm_cpu_class piece;
  int64_t room; /* elements of a buffer */
  const bsm_k_rows *rows;
  const bsm_cpu_elements *elements;
} bsm_cpu_view;

/* How many neighbours should be done at once, so that vectors are full: 1 where
 * the reduced elements themselves are rows in all of `operands`, or there are
 * few neighbours. */
int64_t bsm_cpu_block_width(const bsm_cpu_space *kept,
                            const bsm_cpu_space *reduced, int operands);
void bsm_cpu_block_seek(const bsm_cpu_space *kept, int64_t first, int64_t width,
                        bsm_cpu_block *block);

/* Elements of the reduced space, below each other in a piece: whole inner
 * dimensions, and a range of the one outside of them. */
typedef struct bsm_cpu_piece {
  bsm_cpu_cursor at;
  int32_t level;
  int64_t most, length; /* of the range */
  int64_t inner;        /* elements for each of the range */
  int64_t done, count;  /* elements before it, and of it */
} bsm_cpu_piece;

/* The first of the pieces that make up the reduced space, such that they lie in
 * place in `v` if they can, and the next one; false behind the last. */
bool bsm_cpu_piece_first(const bsm_cpu_view *v, const bsm_cpu_block *block,
                         bsm_cpu_piece *piece);
bool bsm_cpu_piece_next(const bsm_cpu_view *v, bsm_cpu_piece *piece);

/* Where the elements of a piece lie below the block as they would in a buffer
 * of the class; *stride: from row to row. NULL: they do not. */
void *bsm_cpu_block_place(const bsm_cpu_view *v, const char *base,
                          const bsm_cpu_block *block,
                          const bsm_cpu_piece *piece, int64_t *stride);
/* The same, brought to `buffer` where they do not. */
const void *bsm_cpu_block_load(const bsm_cpu_view *v, const char *base,
                               const bsm_cpu_block *block,
                               const bsm_cpu_piece *piece, void *buffer,
                               int64_t *stride);
/* Puts a piece of the class, rows `width` apart, to its place. `buffer` is
 * where it lies. */
void bsm_cpu_block_store(const bsm_cpu_view *v, char *base,
                         const bsm_cpu_block *block, const bsm_cpu_piece *piece,
                         void *buffer);

#endif /* BSM_BACKEND_CPU_BLOCK_H_ */
