/* SPDX-License-Identifier: Apache-2.0 */
/* Post-training quantization: a model runs on sample data, which shows the
 * ranges of its values; layers then compute in int8.
 *
 *   bsm_calibrate_options options = BSM_CALIBRATE_OPTIONS_INIT;
 *   options.batches = batches;      // each an array of the model's inputs
 *   options.batch_count = 100;
 *   bsm_calibration *calibration = NULL;
 *   bsm_status st = bsm_calibrate(module, NULL, &options, &calibration);
 *   if (!st) st = bsm_calibration_save(calibration, "model.calib");
 *   compiling.precisions = BSM_PRECISION_INT8;
 *   compiling.calibration = calibration;
 *   if (!st) st = bsm_compile(module, &compiling, &engine);
 *
 * A calibration has the ranges of tensors, and what was decided and measured of
 * layers. It belongs to one model file, and serves every target and every size
 * of batch. docs/quantization.md tells what is quantized, and the format of the
 * file.
 *
 * Everything here is in the compiler library (libbessemer). */
#ifndef BESSEMER_CALIBRATION_H_
#define BESSEMER_CALIBRATION_H_

#include "bessemer/compiler.h"
#include "bessemer/engine.h"
#include "bessemer/export.h"
#include "bessemer/status.h"
#include "bessemer/types.h"

BSM_EXTERN_C_BEGIN

/* How the range that is quantized follows from the values that were seen. */
typedef enum bsm_calibration_method {
  BSM_CALIBRATION_ENTROPY = 0, /* least divergence, as TensorRT's */
  BSM_CALIBRATION_MIN_MAX = 1, /* all values */
  BSM_CALIBRATION_PERCENTILE = 2,
  BSM_CALIBRATION_MSE = 3 /* least mean square error */
} bsm_calibration_method;

/* "entropy", "min-max", "percentile", "mse"; NULL for what is none. */
BSM_API const char *bsm_calibration_method_name(bsm_calibration_method method);

/* Gives one batch of data: an array for each of the `count` inputs, of their
 * dtypes and dims, contiguous, in memory that stays until the next call.
 * `batch` counts from 0. Sets *end instead when there are no more. A failure
 * (bsm_status_make) ends the calibration, which returns it. */
typedef bsm_status (*bsm_calibration_next)(void *user, size_t batch,
                                           const bsm_binding *inputs,
                                           size_t count, bsm_array *arrays,
                                           bool *end);

/* How good an engine is, by the user's own measure, such as accuracy: the more
 * the better. The engine is lent. A failure ends the calibration. */
typedef bsm_status (*bsm_calibration_metric)(void *user, bsm_engine *engine,
                                             double *out);

/* Called after each batch of "ranges", and after each engine that is measured
 * of "layers" and "search". `total` 0: not known. The progress of the options
 * for compiling is called at the same places, and may cancel. */
typedef void (*bsm_calibration_progress)(void *user, const char *phase,
                                         size_t done, size_t total);

typedef struct bsm_calibrate_options {
  size_t struct_size; /* set by BSM_CALIBRATE_OPTIONS_INIT */
  bsm_calibration_method method;
  double percentile; /* of values that are not clipped; 0: 99.99 */
  /* The data: batches of arrays, one for each input, or else a function. */
  const bsm_array *const *batches;
  size_t batch_count;
  bsm_calibration_next next;
  void *next_user;
  size_t max_batches; /* no more are asked for; 0: all */
  /* Scale the channels between two convolutions so that their weights have
   * equal ranges (cross-layer equalization). */
  bool equalize;
  /* Measure each layer: the error of its own output when it computes in int8,
   * and of the model's outputs when it alone does. Takes an engine for each
   * layer. */
  bool measure_layers;
  /* Let products find their ranges when they run, where that helps, and leave
   * in float32 as few layers as it takes, so that the model loses no more than
   * this: root mean square of the error of its outputs, as a part of that
   * of the outputs (0.01 is 40 dB); or, with `metric`, how much less that gives
   * than for the engine in float32. 0: all layers compute in int8. */
  double max_loss;
  bsm_calibration_metric metric;
  void *metric_user;
  /* Bytes of batches that are kept for measuring, chosen evenly; 0: 64 MiB. The
   * data is not read twice. */
  size_t measure_bytes;
  bsm_calibration_progress progress;
  void *progress_user;
  /* Products with constant matrices find the range of their input when they
   * run, for each of its rows; nothing is calibrated for them. */
  bool dynamic_products;
} bsm_calibrate_options;
#define BSM_CALIBRATE_OPTIONS_INIT BSM_SIZED_INIT(bsm_calibrate_options)

/* Calibrates a model on the CPU. `compiling` gives the method, the inputs and
 * what else matters of the options for compiling, or is NULL. Where its
 * precisions have fp8 and not int8, layers are measured in fp8. A calibration
 * serves both: what is said of int8 here and below holds for fp8. Memory is
 * bounded: the values of one batch, and a histogram of 64 KiB for each tensor.
 * BSM_INVALID_ARGUMENT: there is no data; a batch does not fit the inputs; the
 * values of a tensor, which is named, are NaN or infinite; there is no layer
 * that int8 could compute, such as in a model of integers; no value of any
 * layer's input is other than zero.
 * BSM_UNSUPPORTED: shapes range, or the model branches on data.
 * *out is owned by the caller (bsm_calibration_destroy). */
BSM_API BSM_NODISCARD bsm_status
bsm_calibrate(bsm_module *module, const bsm_compile_options *compiling,
              const bsm_calibrate_options *options, bsm_calibration **out);

/* A calibration without anything in it, for bsm_calibration_set_range. It fits
 * any model. */
BSM_API BSM_NODISCARD bsm_status bsm_calibration_create(bsm_calibration **out);
/* NULL is allowed. */
BSM_API void bsm_calibration_destroy(bsm_calibration *calibration);

/* Makes a calibration fit any model: for a model that has no file of its own,
 * such as one that is saved anew each time. NULL is allowed. */
BSM_API void bsm_calibration_untie(bsm_calibration *calibration);

/* Reads a calibration file, or a calibration cache of TensorRT, which has no
 * more than ranges. The first line tells which.
 * BSM_IO: cannot be read. BSM_CORRUPT, BSM_LIMIT: with the line. BSM_VERSION:
 * of a later version. */
BSM_API BSM_NODISCARD bsm_status bsm_calibration_load(const char *path,
                                                      bsm_calibration **out);
/* The same for text in memory. `name` is for messages. */
BSM_API BSM_NODISCARD bsm_status bsm_calibration_load_memory(
    const void *data, size_t size, const char *name, bsm_calibration **out);
/* Writes the file, complete or not at all. */
BSM_API BSM_NODISCARD bsm_status
bsm_calibration_save(const bsm_calibration *calibration, const char *path);
/* Writes the ranges as a calibration cache of TensorRT: the scale of each
 * tensor. */
BSM_API BSM_NODISCARD bsm_status bsm_calibration_save_tensorrt(
    const bsm_calibration *calibration, const char *path);

/* Sets the range of a tensor, which "bessemer inspect --network" names; adds
 * it if need be. BSM_INVALID_ARGUMENT: not finite, or low < high does not hold,
 * or zero is not within. */
BSM_API BSM_NODISCARD bsm_status bsm_calibration_set_range(
    bsm_calibration *calibration, const char *tensor, double low, double high);
/* Sets what a layer computes in, FP32 or INT8; it is named by its output.
 * BSM_NOT_FOUND: the calibration has no such layer. */
BSM_API BSM_NODISCARD bsm_status bsm_calibration_set_precision(
    bsm_calibration *calibration, const char *layer, bsm_precision precision);

/* The range of a tensor. Strings live as long as the calibration. */
typedef struct bsm_calibration_range {
  size_t struct_size; /* set by BSM_CALIBRATION_RANGE_INIT */
  const char *tensor;
  double low, high;       /* quantized; what is beyond is clipped */
  double least, greatest; /* seen */
} bsm_calibration_range;
#define BSM_CALIBRATION_RANGE_INIT BSM_SIZED_INIT(bsm_calibration_range)
BSM_API size_t bsm_calibration_range_count(const bsm_calibration *calibration);
/* BSM_OUT_OF_RANGE: there is no such index. */
BSM_API BSM_NODISCARD bsm_status
bsm_calibration_get_range(const bsm_calibration *calibration, size_t index,
                          bsm_calibration_range *out);

/* A layer that int8 could compute. */
typedef struct bsm_calibration_layer {
  size_t struct_size; /* set by BSM_CALIBRATION_LAYER_INIT */
  const char *name;   /* of its output */
  const char *kind;   /* "convolution" */
  const char *module; /* the path of its submodule, or "" */
  const char *input;  /* the tensor whose range counts */
  bsm_precision precision;
  bool dynamic;      /* finds the range of its input when it runs */
  double operations; /* of one run; a multiply-add counts as two */
  /* Measured (measure_layers), else NaN: the signal-to-noise ratio of the
   * layer's output in dB, and the part of the model's outputs that is noise
   * when this layer alone computes in int8. */
  double sqnr;
  double loss;
} bsm_calibration_layer;
#define BSM_CALIBRATION_LAYER_INIT BSM_SIZED_INIT(bsm_calibration_layer)
BSM_API size_t bsm_calibration_layer_count(const bsm_calibration *calibration);
/* BSM_OUT_OF_RANGE: there is no such index. */
BSM_API BSM_NODISCARD bsm_status
bsm_calibration_get_layer(const bsm_calibration *calibration, size_t index,
                          bsm_calibration_layer *out);

/* What is known of a calibration as a whole. */
typedef struct bsm_calibration_info {
  size_t struct_size; /* set by BSM_CALIBRATION_INFO_INIT */
  bsm_calibration_method method;
  double percentile;
  uint64_t model; /* hash of the model's file; 0: it fits any */
  uint64_t batches;
  bool equalized;
  /* Of the model with the layers in the precisions that were decided, as
   * max_loss has it; NaN: not measured. */
  double loss;
} bsm_calibration_info;
#define BSM_CALIBRATION_INFO_INIT BSM_SIZED_INIT(bsm_calibration_info)
BSM_API BSM_NODISCARD bsm_status bsm_calibration_describe(
    const bsm_calibration *calibration, bsm_calibration_info *out);

BSM_EXTERN_C_END

#endif /* BESSEMER_CALIBRATION_H_ */
