/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the passes. */
#include "builder/passes.h"

#include "builder/uses.h"

typedef struct pass {
  const char *name;
  bsm_status (*run)(bsm_network *net, bsm_arena *scratch);
} pass;

static const pass passes[] = {
    {"widen_products", bsm_pass_widen_products},
    {"lift_reshapes", bsm_pass_lift_reshapes},
    {"remove_identities", bsm_pass_remove_identities},
    {"recognize_activations", bsm_pass_recognize_activations},
    {"fold_scale", bsm_pass_fold_scale},
    {"fuse_attention", bsm_pass_fuse_attention},
    {"fuse_epilogues", bsm_pass_fuse_epilogues},
    {"merge_products", bsm_pass_merge_products},
    {"fold_channel_scales", bsm_pass_fold_channel_scales},
    {"fuse_element_wise", bsm_pass_fuse_element_wise},
};

bsm_status bsm_run_passes(bsm_network *net, const bsm_logger *logger) {
  for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
    bsm_arena scratch;
    const size_t before = net->layers.len;
    bsm_arena_init(&scratch, net->arena->allocator);
    bsm_status status = passes[i].run(net, &scratch);
    if (!status) status = bsm_network_sweep(net, &scratch);
    bsm_arena_destroy(&scratch);
    if (!status) status = bsm_network_take_error(net);
    if (status) {
      return bsm_status_note(status, "in the builder's pass %s",
                             passes[i].name);
    }
    bsm_log(logger, BSM_LOG_LEVEL_DEBUG, "%s: %zu layers, were %zu",
            passes[i].name, net->layers.len, before);
  }
  return BSM_OK;
}
