/* SPDX-License-Identifier: Apache-2.0 */
/* Every macro of the public headers that expands to code, used once as a
 * program uses it: scripts/check_headers.sh compiles this as C11 and as C++17,
 * and sees that no macro is missing. It is not run. */
#include "bessemer/bessemer.h"

struct logging_context {
  const bsm_logger *logger;
};

bsm_status options(void);
bsm_status options(void) {
  bsm_module_options module = BSM_MODULE_OPTIONS_INIT;
  bsm_compile_options compile = BSM_COMPILE_OPTIONS_INIT;
  bsm_calibrate_options calibrate = BSM_CALIBRATE_OPTIONS_INIT;
  bsm_engine_load_options load = BSM_ENGINE_LOAD_OPTIONS_INIT;
  bsm_engine_save_options save = BSM_ENGINE_SAVE_OPTIONS_INIT;
  bsm_context_options context = BSM_CONTEXT_OPTIONS_INIT;
  bsm_thread_pool_options pool = BSM_THREAD_POOL_OPTIONS_INIT;
  bsm_limits limits = BSM_LIMITS_INIT;
  bsm_input_spec specs[2] = {BSM_INPUT_SPEC_INIT, BSM_INPUT_SPEC_INIT};
  compile.inputs = specs;
  module.limits = &limits;
  BSM_CHECK(module.limits && load.struct_size && save.struct_size &&
                context.struct_size && calibrate.struct_size &&
                pool.struct_size,
            "size %zu", compile.struct_size);
  return BSM_OK;
}

bsm_status results(const bsm_engine *engine);
bsm_status results(const bsm_engine *engine) {
  bsm_parameter parameter = BSM_PARAMETER_INIT;
  bsm_operator_info op = BSM_OPERATOR_INFO_INIT;
  bsm_binding binding = BSM_BINDING_INIT;
  bsm_engine_memory_info memory = BSM_ENGINE_MEMORY_INFO_INIT;
  bsm_step_info step = BSM_STEP_INFO_INIT;
  bsm_step_trial trial = BSM_STEP_TRIAL_INIT;
  bsm_engine_layer layer = BSM_ENGINE_LAYER_INIT;
  bsm_step_profile profile = BSM_STEP_PROFILE_INIT;
  bsm_tensor_info tensor = BSM_TENSOR_INFO_INIT;
  bsm_kept_tensor kept = BSM_KEPT_TENSOR_INIT;
  bsm_structure_info info = BSM_STRUCTURE_INFO_INIT;
  bsm_calibration_range range = BSM_CALIBRATION_RANGE_INIT;
  bsm_calibration_layer narrow = BSM_CALIBRATION_LAYER_INIT;
  bsm_calibration_info calibrated = BSM_CALIBRATION_INFO_INIT;
  BSM_TRY(bsm_engine_input(engine, 0, &binding));
  BSM_TRY_NOTE(bsm_engine_memory(engine, 1, &memory), "of %s",
               bsm_dims_str(binding.dims));
  BSM_TRY_ALLOC(binding.name);
  if (!parameter.struct_size || !op.struct_size || !step.struct_size ||
      !trial.struct_size || !layer.struct_size || !profile.struct_size ||
      !info.struct_size || !kept.struct_size || !range.struct_size ||
      !narrow.struct_size || !calibrated.struct_size || !tensor.struct_size) {
    return BSM_FAIL_OOM();
  }
  return BSM_FAIL(BSM_UNSUPPORTED, "%s", bsm_dims_str(binding.dims));
}

int lists(const struct logging_context *ctx);
int lists(const struct logging_context *ctx) {
#define COUNT(name, number, text) +1
  const int count = 0 BSM_LAYER_KINDS(COUNT);
#undef COUNT
  BSM_LOG_DEBUG("%d", count);
  BSM_LOG_INFO("%d", BSM_VERSION_NUMBER);
  BSM_LOG_WARNING("%d", BSM_MAKE_VERSION(1, 2, 3));
  return count;
}
