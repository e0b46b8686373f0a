/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges: the model runs in float32 on all data, and the values of the tensors
 * that are to be quantized go into histograms. */
#ifndef BSM_COMPILER_CALIBRATION_OBSERVE_H_
#define BSM_COMPILER_CALIBRATION_OBSERVE_H_

#include "compiler/calibration/sample_batches.h"
#include "compiler/calibration/trial_engine.h"

/* Fills the calibration with ranges, means and layers. Tensors that are always
 * zero get no range. `batches` keeps some of the data; it has to be destroyed
 * also after a failure. */
BSM_NODISCARD bsm_status bsm_observe_ranges(
    const bsm_trial_source *source, const bsm_calibrate_options *options,
    bsm_arena *arena, bsm_calibration *out, bsm_sample_batches *batches);

#endif /* BSM_COMPILER_CALIBRATION_OBSERVE_H_ */
