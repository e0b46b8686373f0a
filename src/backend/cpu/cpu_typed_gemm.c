/* SPDX-License-Identifier: Apache-2.0 */
/* Blocked matrix products of double, int32 and int64. */
#include "backend/cpu/cpu_typed_gemm.h"

#include <string.h>

/* Bytes of K in a block: a panel of B is then 16 KiB, half of a first-level
 * cache, while the tiles of A pass over it. */
#define K_BLOCK_BYTES 1024
#define ROW_BLOCK 48 /* a multiple of every kernel's tile */
#define COLUMN_BLOCK 512
/* Elements between rows of copied A: no two rows in the same cache set. */
#define PACK_PAD 8

bool bsm_cpu_typed_of(bsm_dtype dtype, bsm_k_typed *out) {
  switch (dtype) {
    case BSM_DTYPE_DOUBLE:
      *out = BSM_K_TYPED_F64;
      return true;
    case BSM_DTYPE_INT32:
      *out = BSM_K_TYPED_I32;
      return true;
    case BSM_DTYPE_INT64:
      *out = BSM_K_TYPED_I64;
      return true;
    default:
      return false;
  }
}

bsm_status bsm_cpu_typed_check_epilogue(const bsm_step_epilogue *epilogue) {
  if (epilogue->activation != BSM_ACTIVATION_NONE || epilogue->has_residual) {
    return BSM_FAIL(BSM_CORRUPT, "an epilogue that only float32 has");
  }
  return BSM_OK;
}

/* ---- blocks ---- */

static int64_t blocks(int64_t n, int64_t block) {
  return bsm_cpu_div_up(n, block);
}

void bsm_cpu_typed_gemm_plan(bsm_cpu_typed_gemm *g, int threads,
                             int64_t products) {
  g->size = bsm_dtype_size(g->dtype);
  g->k_block =
      bsm_cpu_max(1, bsm_cpu_min(g->k, K_BLOCK_BYTES / (int64_t)g->size));
  g->row_block = bsm_cpu_max(
      1,
      bsm_cpu_min(ROW_BLOCK, bsm_cpu_round_up(g->rows, g->kernels->max_rows)));
  g->column_block = bsm_cpu_max(
      BSM_PANEL,
      bsm_cpu_min(COLUMN_BLOCK, bsm_cpu_round_up(g->columns, BSM_PANEL)));
  /* Enough units for the threads, down to two panels each. */
  while (products * bsm_cpu_typed_gemm_units(g) < 2 * (int64_t)threads &&
         threads > 1 && g->column_block >= 4 * BSM_PANEL) {
    g->column_block = bsm_cpu_round_up(g->column_block / 2, BSM_PANEL);
  }
}

int64_t bsm_cpu_typed_gemm_units(const bsm_cpu_typed_gemm *g) {
  return blocks(g->rows, g->row_block) * blocks(g->columns, g->column_block);
}

static uint64_t packed_bytes(const bsm_cpu_typed_gemm *g) {
  return bsm_cpu_align((uint64_t)g->row_block *
                       (uint64_t)(g->k_block + PACK_PAD) * g->size);
}

uint64_t bsm_cpu_typed_gemm_scratch(const bsm_cpu_typed_gemm *g) {
  return packed_bytes(g) + bsm_cpu_align((uint64_t)g->row_block *
                                         (uint64_t)g->column_block * g->size);
}

/* ---- running ---- */

void bsm_cpu_typed_add(bsm_dtype dtype, const void *bias, int64_t n,
                       void *sums) {
  if (dtype == BSM_DTYPE_DOUBLE) {
    const double *from = bias;
    double *to = sums;
    for (int64_t i = 0; i < n; i++) to[i] += from[i];
  } else if (dtype == BSM_DTYPE_INT64) {
    const uint64_t *from = bias;
    uint64_t *to = sums;
    for (int64_t i = 0; i < n; i++) to[i] += from[i];
  } else {
    const uint32_t *from = bias;
    uint32_t *to = sums;
    for (int64_t i = 0; i < n; i++) to[i] += from[i];
  }
}

void bsm_cpu_typed_gather(size_t size, const void *from, int64_t stride,
                          int64_t n, void *to) {
  if (stride == 1) {
    memcpy(to, from, (size_t)n * size);
  } else if (size == 8) {
    for (int64_t i = 0; i < n; i++) {
      memcpy((uint64_t *)to + i, (const uint64_t *)from + i * stride, 8);
    }
  } else {
    for (int64_t i = 0; i < n; i++) {
      memcpy((uint32_t *)to + i, (const uint32_t *)from + i * stride, 4);
    }
  }
}

/* The block of A at k times the panels of the unit, added to the sums. */
static void multiply_block(const bsm_cpu_typed_gemm *g,
                           const bsm_cpu_typed_operands *o,
                           const uint8_t *packed, int64_t rows,
                           int64_t first_column, int64_t columns, int64_t k,
                           uint8_t *sums) {
  const int64_t length = bsm_cpu_min(g->k_block, g->k - k);
  const int64_t a_stride = g->k_block + PACK_PAD;
  const int64_t first = first_column / BSM_PANEL;
  const int64_t panels = bsm_cpu_div_up(columns, BSM_PANEL);
  for (int64_t p = 0; p < panels; p++) {
    const size_t b = (size_t)(((first + p) * g->k + k) * BSM_PANEL) * g->size;
    for (int64_t row = 0; row < rows; row += g->kernels->max_rows) {
      const bsm_k_typed_gemm_args args = {
          .a = packed + (size_t)(row * a_stride) * g->size,
          .a_stride = a_stride,
          .k = length,
          .b = o->b + b,
          .sums =
              sums + (size_t)(row * g->column_block + p * BSM_PANEL) * g->size,
          .sums_stride = g->column_block,
          .rows = (int)bsm_cpu_min(g->kernels->max_rows, rows - row),
          .accumulate = k > 0};
      g->kernels->tile(&args);
    }
  }
}

void bsm_cpu_typed_gemm_run(const bsm_cpu_typed_gemm *g,
                            const bsm_cpu_typed_operands *o, int64_t unit,
                            void *scratch) {
  const int64_t row_blocks = blocks(g->rows, g->row_block);
  const int64_t row = unit % row_blocks * g->row_block;
  const int64_t column = unit / row_blocks * g->column_block;
  const int64_t rows = bsm_cpu_min(g->row_block, g->rows - row);
  const int64_t columns = bsm_cpu_min(g->column_block, g->columns - column);
  uint8_t *packed = scratch;
  uint8_t *sums = packed + packed_bytes(g);
  if (g->k == 0) {
    memset(sums, 0, (size_t)(rows * g->column_block) * g->size);
  }
  for (int64_t k = 0; k < g->k; k += g->k_block) {
    const int64_t length = bsm_cpu_min(g->k_block, g->k - k);
    o->pack(o->source, row, rows, k, length, packed, g->k_block + PACK_PAD);
    multiply_block(g, o, packed, rows, column, columns, k, sums);
  }
  for (int64_t i = 0; i < rows; i++) {
    uint8_t *from = sums + (size_t)(i * g->column_block) * g->size;
    int64_t offset;
    bsm_cpu_rows_offsets(o->c_rows, row + i, 1, &offset);
    if (o->bias) {
      bsm_cpu_typed_add(g->dtype, o->bias + (size_t)column * g->size, columns,
                        from);
    }
    memcpy(o->c + (size_t)(offset + column) * g->size, from,
           (size_t)columns * g->size);
  }
}
