/* SPDX-License-Identifier: Apache-2.0 */
/* The calibration behind the public handle. */
#ifndef BSM_QUANTIZATION_CALIBRATION_H_
#define BSM_QUANTIZATION_CALIBRATION_H_

#include "base/strings.h"
#include "bessemer/calibration.h"

typedef struct bsm_calibrated_tensor {
  const char *name;
  double low, high;       /* low <= 0 <= high, low < high */
  double least, greatest; /* seen */
  /* The mean of each channel, over which a product sums; NULL: not known. */
  double *means;
  size_t mean_count;
} bsm_calibrated_tensor;

typedef struct bsm_calibrated_layer {
  const char *name, *kind, *module, *input;
  bsm_precision precision; /* INT8 or FP32 */
  bool dynamic;
  double operations, sqnr, loss;
} bsm_calibrated_layer;

struct bsm_calibration {
  bsm_arena arena;
  bsm_calibration_method method;
  double percentile;
  uint64_t model; /* 0: fits any */
  uint64_t batches;
  bool equalized;
  double loss;
  BSM_VEC(bsm_calibrated_tensor *) tensors;
  BSM_VEC(bsm_calibrated_layer *) layers;
  bsm_strmap tensor_names, layer_names;
};

/* NULL when there is none. */
bsm_calibrated_tensor *bsm_calibration_tensor(const bsm_calibration *c,
                                              const char *name);
bsm_calibrated_layer *bsm_calibration_layer_of(const bsm_calibration *c,
                                               const char *name);
/* Adds one of a new name, which is copied. BSM_CORRUPT: the name is taken. */
BSM_NODISCARD bsm_status bsm_calibration_add_tensor(
    bsm_calibration *c, bsm_str name, bsm_calibrated_tensor **out);
BSM_NODISCARD bsm_status bsm_calibration_add_layer(bsm_calibration *c,
                                                   bsm_str name,
                                                   bsm_calibrated_layer **out);
/* Whether the numbers are a range. */
bool bsm_is_range(double low, double high);

/* ---- files (calibration_file.c, tensorrt_cache.c) ---- */

/* The text of a file. */
void bsm_calibration_print(bsm_text *text, const bsm_calibration *c);
void bsm_calibration_print_tensorrt(bsm_text *text, const bsm_calibration *c);
/* Reads it into an empty calibration. */
BSM_NODISCARD bsm_status bsm_calibration_parse(bsm_calibration *c,
                                               bsm_str text);
bool bsm_is_tensorrt_cache(bsm_str text);
BSM_NODISCARD bsm_status bsm_calibration_parse_tensorrt(bsm_calibration *c,
                                                        bsm_str text);

#endif /* BSM_QUANTIZATION_CALIBRATION_H_ */
