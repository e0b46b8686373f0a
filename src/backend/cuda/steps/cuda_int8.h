/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of a convolution of bytes in memory: rows of 16 bytes or a
 * multiple of them, padded with zeros. Depthwise ones have a row of all maps
 * for each tap; others one for each map of the output, of all taps, each with
 * the maps of its group. */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_INT8_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_INT8_H_

#include "backend/cuda/steps/cuda_steps.h"

typedef struct bsm_cuda_int8_layout {
  uint64_t size;
  int64_t taps, depth; /* depth: bytes that a map of the output has */
  int64_t map, k;      /* from map to map, and from k to k of a line */
  int64_t line;        /* k that follow each other */
  int64_t next_line;   /* from line to line */
  bool lined;          /* there are several */
} bsm_cuda_int8_layout;

/* BSM_CORRUPT: sizes that make no sense. */
BSM_NODISCARD bsm_status
bsm_cuda_int8_layout_of(const bsm_step_convolution *params, int64_t in_maps,
                        bsm_cuda_int8_layout *out);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_INT8_H_ */
