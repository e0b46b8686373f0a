/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the passes. */
#include "builder/passes.h"

#include "builder/uses.h"

/* Before the passes that the target brings, and between its two kinds. */
static const bsm_target_pass first[] = {
    {"lower_quantization", false, bsm_pass_lower_quantization},
    {"widen_products", false, bsm_pass_widen_products},
    {"lift_reshapes", false, bsm_pass_lift_reshapes},
    {"remove_identities", false, bsm_pass_remove_identities},
    {"recognize_activations", false, bsm_pass_recognize_activations},
    {"fold_scale", false, bsm_pass_fold_scale},
    {"fuse_attention", false, bsm_pass_fuse_attention},
    {"fuse_epilogues", false, bsm_pass_fuse_epilogues},
    {"merge_products", false, bsm_pass_merge_products},
};
static const bsm_target_pass second[] = {
    {"fuse_element_wise", false, bsm_pass_fuse_element_wise},
};
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static bsm_status run(bsm_network *net, const bsm_target *target,
                      const bsm_logger *logger, const bsm_target_pass *pass) {
  bsm_arena scratch;
  const size_t before = net->layers.len;
  bsm_arena_init(&scratch, net->arena->allocator);
  bsm_status status = pass->run(target, net, &scratch);
  if (!status) status = bsm_network_sweep(net, &scratch);
  bsm_arena_destroy(&scratch);
  if (!status) status = bsm_network_take_error(net);
  if (status) {
    return bsm_status_note(status, "in the builder's pass %s", pass->name);
  }
  bsm_log(logger, BSM_LOG_LEVEL_DEBUG, "%s: %zu layers, were %zu", pass->name,
          net->layers.len, before);
  return BSM_OK;
}

static bsm_status run_list(bsm_network *net, const bsm_target *target,
                           const bsm_logger *logger,
                           const bsm_target_pass *passes, size_t count,
                           bool last) {
  for (size_t i = 0; i < count; i++) {
    if (passes[i].last == last) BSM_TRY(run(net, target, logger, &passes[i]));
  }
  return BSM_OK;
}

bsm_status bsm_run_passes(bsm_network *net, const bsm_target *target,
                          const bsm_logger *logger) {
  const bsm_target_pass *own = target->ops->passes;
  const size_t own_count = target->ops->pass_count;
  BSM_TRY(run_list(net, target, logger, first, COUNT(first), false));
  BSM_TRY(run_list(net, target, logger, own, own_count, false));
  BSM_TRY(run_list(net, target, logger, second, COUNT(second), false));
  return run_list(net, target, logger, own, own_count, true);
}
