/* SPDX-License-Identifier: Apache-2.0 */
/* What the paths of reductions share: cpu_reduce.c prepares, and runs rows and
 * columns of floats; cpu_reduce_blocks.c runs the rest. */
#ifndef BSM_BACKEND_CPU_REDUCE_H_
#define BSM_BACKEND_CPU_REDUCE_H_

#include "backend/cpu/cpu_block.h"

typedef enum bsm_cpu_reduce_mode {
  BSM_CPU_REDUCE_ROWS,
  BSM_CPU_REDUCE_SHORT_ROWS,
  BSM_CPU_REDUCE_COLUMNS,
  BSM_CPU_REDUCE_TRUTH,
  BSM_CPU_REDUCE_INTEGERS,
  BSM_CPU_REDUCE_BLOCKS
} bsm_cpu_reduce_mode;

typedef struct bsm_cpu_reduce {
  bsm_cpu_impl base;
  bsm_cpu_reduce_mode mode;
  int32_t operation;
  double correction;
  bsm_dtype from, to;
  bsm_cpu_class accumulate; /* F64 or I64 */
  const bsm_k_rows *rows;
  bsm_cpu_space kept, reduced; /* 0: output, 1: input */
  int64_t unit_rows;
  /* blocks */
  bsm_cpu_view in, out;
  bsm_cpu_space one; /* element below each output */
  int64_t width, unit_blocks;
} bsm_cpu_reduce;

/* One run. */
typedef struct bsm_cpu_reduce_work {
  const bsm_cpu_reduce *r;
  const char *x;
  char *y;
  uint8_t *scratch;
  size_t slot_size;
} bsm_cpu_reduce_work;

/* Any layout, dtypes and operation. Scratch memory of a slot: *bytes. */
void bsm_cpu_reduce_prepare_blocks(bsm_cpu_reduce *r, uint64_t *bytes);
int64_t bsm_cpu_reduce_units(const bsm_cpu_reduce *r);
void bsm_cpu_reduce_blocks_unit(void *work, int64_t unit, int slot);

#endif /* BSM_BACKEND_CPU_REDUCE_H_ */
