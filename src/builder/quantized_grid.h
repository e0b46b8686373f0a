/* SPDX-License-Identifier: Apache-2.0 */
/* What layers that quantize say: the grid of an activation, which is a scale, a
 * zero point and a range, and the grids of the columns of a constant matrix. */
#ifndef BSM_BUILDER_QUANTIZED_GRID_H_
#define BSM_BUILDER_QUANTIZED_GRID_H_

#include "network/layer.h"

/* Of a grid as a layer reads it: quantize_norms.c. */
#define BSM_GRID_NUMBERS 4

typedef struct bsm_grid {
  float scale, inverse;
  int32_t zero, least, greatest;
} bsm_grid;

/* The grid of a QUANTIZE layer from floats (not double) to uint8, int8 or
 * float8_e4m3fn by constants of one element; false for any other layer. */
bool bsm_quantize_grid(const bsm_layer *layer, bsm_grid *out);
/* The scale and zero point of a DEQUANTIZE layer from such bytes to float;
 * the rest of the grid is that of the dtype. */
bool bsm_dequantize_grid(const bsm_layer *layer, bsm_grid *out);
/* The bytes that `t` is dequantized from, and rounded to 16 bits perhaps; NULL:
 * it is not. */
bsm_itensor *bsm_dequantized_from(const bsm_itensor *t, bsm_grid *out);
/* Whether numbers of one are the same numbers on the other. */
bool bsm_same_grid(const bsm_grid *a, const bsm_grid *b);

/* The floats of a constant, also of one that passes through quantizing layers
 * or is held in bytes, in `scratch` or borrowed; *out NULL: it is none. */
BSM_NODISCARD bsm_status bsm_constant_floats(const bsm_itensor *t,
                                             bsm_arena *scratch,
                                             const float **out);

/* Finds the greatest scale by which all of n floats, `stride` apart, are whole
 * numbers of int8: x[i] = (float)(q[i] * scale) in every bit. false: there is
 * none. */
bool bsm_find_grid(const float *x, int64_t n, int64_t stride, double *scale,
                   int8_t *q);

#endif /* BSM_BUILDER_QUANTIZED_GRID_H_ */
