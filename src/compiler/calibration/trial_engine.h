/* SPDX-License-Identifier: Apache-2.0 */
/* Engines that a calibration builds to see what is inside of them: of the model
 * in float32, or with some layers in int8 or fp8, with tensors of the network
 * as further outputs. */
#ifndef BSM_COMPILER_CALIBRATION_TRIAL_ENGINE_H_
#define BSM_COMPILER_CALIBRATION_TRIAL_ENGINE_H_

#include "compiler/pipeline/compile.h"
#include "quantization/calibration.h"
#include "quantization/quantizable.h"

/* What all engines of a calibration are built from. */
typedef struct bsm_trial_source {
  const bsm_ready *ready;
  const bsm_calibration *calibration; /* being made */
  bsm_progress *progress;
  bsm_precision precision; /* of quantized layers: INT8 or FP8 */
} bsm_trial_source;

typedef struct bsm_trial_options {
  /* Marks outputs in the network, after the model's own, or does nothing. The
   * network is prepared, and not yet quantized. NULL: none. */
  bsm_status (*mark)(void *user, bsm_network *net);
  void *mark_user;
  bool quantize;
  bool (*takes)(const void *user, const char *layer); /* which layers */
  const void *takes_user;
} bsm_trial_options;

typedef struct bsm_trial_engine {
  bsm_engine *engine;
  bsm_context *context; /* NULL until bsm_trial_run */
  int threads;
} bsm_trial_engine;

BSM_NODISCARD bsm_status bsm_trial_build(const bsm_trial_source *source,
                                         const bsm_trial_options *options,
                                         bsm_trial_engine *out);
/* Runs a batch; outputs are those of the context. */
BSM_NODISCARD bsm_status bsm_trial_run(bsm_trial_engine *engine,
                                       const bsm_array *arrays, size_t count);
void bsm_trial_close(bsm_trial_engine *engine);

/* The tensor of that name among those that layers make; NULL: there is none. */
bsm_itensor *bsm_find_tensor(const bsm_network *net, const char *name);

#endif /* BSM_COMPILER_CALIBRATION_TRIAL_ENGINE_H_ */
