/* SPDX-License-Identifier: Apache-2.0 */
/* bsm_calibrate: lowers the model, observes it, and measures what int8 costs.
 */
#include <math.h>

#include "base/options.h"
#include "compiler/calibration/measure.h"
#include "compiler/calibration/observe.h"
#include "compiler/pipeline/compile_options.h"

#define DEFAULT_PERCENTILE 99.99

static bsm_status check_options(bsm_calibrate_options *o) {
  if (!bsm_calibration_method_name(o->method)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "calibration method %d is none",
                    (int)o->method);
  }
  if (o->percentile == 0) o->percentile = DEFAULT_PERCENTILE;
  if (!(o->percentile > 0 && o->percentile <= 100)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "percentile %g: it has to be above 0 and at most 100",
                    o->percentile);
  }
  if (!(o->max_loss >= 0)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "max_loss %g: it has to be positive",
                    o->max_loss);
  }
  if (!o->next) BSM_NEED_ARRAY(o->batches, o->batch_count);
  return BSM_OK;
}

/* Observing is done in float32, on the CPU. */
static void complete(bsm_compile_options *out) {
  out->target = NULL;
  out->precisions = 0;
  out->calibration = NULL;
  out->obey_precisions = false;
  out->no_timing = true;
  out->dump = NULL;
  out->progress = NULL; /* that of the calibration is told */
}

static bsm_status calibrate(bsm_module *module,
                            const bsm_compile_options *compiling,
                            const bsm_calibrate_options *options,
                            bsm_precision precision, bsm_progress *progress,
                            bsm_compilation_record *record,
                            bsm_calibration *out) {
  bsm_ready ready;
  bsm_sample_batches batches = {0};
  BSM_TRY(bsm_ready_compilation(module, compiling, record, &ready));
  if (!ready.divided.is_plan) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "calibrating takes shapes that are fixed, and a model that "
                    "does not branch on data");
  }
  out->model = bsm_module_hash(module);
  out->method = options->method;
  out->percentile = options->percentile;
  out->equalized = options->equalize;
  const bsm_trial_source source = {&ready, out, progress, precision};
  bsm_status status =
      bsm_observe_ranges(&source, options, &record->arena, out, &batches);
  if (!status) {
    status = bsm_measure_calibration(&source, options, &batches, &record->arena,
                                     out);
  }
  bsm_sample_batches_destroy(&batches);
  return status;
}

static bsm_status calibrate_module(bsm_module *module,
                                   const bsm_compile_options *given,
                                   const bsm_calibrate_options *options,
                                   bsm_calibration *out) {
  bsm_compile_options compiling;
  bsm_compilation_record record;
  BSM_TRY(bsm_compile_options_resolve(module, given, &compiling));
  bsm_progress progress = {.report = compiling.progress,
                           .user = compiling.progress_user};
  const uint32_t allowed = compiling.precisions;
  const bsm_precision precision =
      (allowed & (BSM_PRECISION_FP8 | BSM_PRECISION_INT8)) == BSM_PRECISION_FP8
          ? BSM_PRECISION_FP8
          : BSM_PRECISION_INT8;
  complete(&compiling);
  bsm_compilation_record_init(&record, &module->guard.allocator,
                              compiling.logger);
  bsm_status status =
      bsm_module_status(module, calibrate(module, &compiling, options,
                                          precision, &progress, &record, out));
  bsm_compilation_record_destroy(&record);
  return bsm_status_note(status, "while calibrating %s", module->name);
}

bsm_status bsm_calibrate(bsm_module *module,
                         const bsm_compile_options *compiling,
                         const bsm_calibrate_options *options,
                         bsm_calibration **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(module);
  bsm_calibrate_options complete_options = BSM_CALIBRATE_OPTIONS_INIT;
  bsm_calibration *made = NULL;
  BSM_TRY(bsm_options_copy(&complete_options, sizeof(complete_options), options,
                           "bsm_calibrate_options"));
  BSM_TRY(check_options(&complete_options));
  BSM_TRY(bsm_calibration_create(&made));
  bsm_module_lock(module);
  bsm_status status =
      calibrate_module(module, compiling, &complete_options, made);
  bsm_module_unlock(module);
  if (status) {
    bsm_calibration_destroy(made);
    return status;
  }
  *out = made;
  return BSM_OK;
}
