/* SPDX-License-Identifier: Apache-2.0 */
/* What int8 costs in accuracy, measured on the kept batches: of each layer, and
 * of the model; and the search for the layers that have to stay in float32. */
#ifndef BSM_COMPILER_CALIBRATION_MEASURE_H_
#define BSM_COMPILER_CALIBRATION_MEASURE_H_

#include "compiler/calibration/sample_batches.h"
#include "compiler/calibration/trial_engine.h"

/* Measures what the options ask for, and decides by max_loss. */
BSM_NODISCARD bsm_status bsm_measure_calibration(
    const bsm_trial_source *source, const bsm_calibrate_options *options,
    const bsm_sample_batches *batches, bsm_arena *arena, bsm_calibration *out);

#endif /* BSM_COMPILER_CALIBRATION_MEASURE_H_ */
