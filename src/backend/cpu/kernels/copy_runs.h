/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of bytes that windows side by side read, to be copied one behind the
 * other. */
#ifndef BSM_KERNELS_COPY_RUNS_H_
#define BSM_KERNELS_COPY_RUNS_H_

#include <stdint.h>

typedef struct bsm_k_runs {
  const uint8_t *x;
  int64_t x_row, rows;   /* x_row: bytes from one window to the next */
  const int64_t *offset; /* [runs], from x on */
  int64_t runs, bytes;   /* bytes: of each run */
  uint8_t *to;
  int64_t to_row;
} bsm_k_runs;

typedef void bsm_k_copy_runs(const bsm_k_runs *args);

#endif /* BSM_KERNELS_COPY_RUNS_H_ */
