/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the passes in their order. */
#include "builder/passes.h"

#include <string.h>

#include "builder/uses.h"

/* The passes before those of the target, and between its two kinds. */
static const bsm_target_pass first[] = {
    {"widen_products", false, bsm_pass_widen_products},
    {"lift_reshapes", false, bsm_pass_lift_reshapes},
    {"remove_identities", false, bsm_pass_remove_identities},
    {"recognize_norms", false, bsm_pass_recognize_norms},
    {"recognize_activations", false, bsm_pass_recognize_activations},
    {"fold_scale", false, bsm_pass_fold_scale},
    {"sum_convolutions", false, bsm_pass_sum_convolutions},
    {"fuse_attention", false, bsm_pass_fuse_attention},
    {"move_permutations", false, bsm_pass_move_permutations},
    {"fuse_epilogues", false, bsm_pass_fuse_epilogues},
    {"merge_products", false, bsm_pass_merge_products},
};
static const bsm_target_pass second[] = {
    {"quantize_norms", false, bsm_pass_quantize_norms},
    {"lower_quantization", false, bsm_pass_lower_quantization},
    {"fuse_element_wise", false, bsm_pass_fuse_element_wise},
};
static const char optimized[] = "optimized"; /* after the last pass */
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

typedef struct runner {
  bsm_network *net;
  const bsm_target *target;
  const bsm_pass_watch *watch;
  const bsm_logger *logger;
} runner;

static bsm_status run(const runner *r, const bsm_target_pass *pass) {
  bsm_network *net = r->net;
  bsm_arena scratch;
  const size_t before = net->layers.len;
  bsm_arena_init(&scratch, net->arena->allocator);
  bsm_status status = pass->run(r->target, net, &scratch);
  if (!status) status = bsm_network_sweep(net, &scratch);
  bsm_arena_destroy(&scratch);
  if (!status) status = bsm_network_take_error(net);
  if (status) {
    return bsm_status_note(status, "in the builder's pass %s", pass->name);
  }
  bsm_log(r->logger, BSM_LOG_LEVEL_DEBUG, "%s: %zu layers, were %zu",
          pass->name, net->layers.len, before);
  if (r->watch) r->watch->after_pass(r->watch->user, pass->name, net);
  return BSM_OK;
}

static bsm_status run_list(const runner *r, const bsm_target_pass *passes,
                           size_t count, bool last) {
  for (size_t i = 0; i < count; i++) {
    if (passes[i].last == last) BSM_TRY(run(r, &passes[i]));
  }
  return BSM_OK;
}

bsm_status bsm_run_passes(bsm_network *net, const bsm_target *target,
                          const bsm_pass_watch *watch,
                          const bsm_logger *logger) {
  const runner r = {net, target, watch, logger};
  const bsm_target_pass *own = target->ops->passes;
  const size_t own_count = target->ops->pass_count;
  BSM_TRY(run_list(&r, first, COUNT(first), false));
  BSM_TRY(run_list(&r, own, own_count, false));
  BSM_TRY(run_list(&r, second, COUNT(second), false));
  BSM_TRY(run_list(&r, own, own_count, true));
  if (watch) watch->after_pass(watch->user, optimized, net);
  return BSM_OK;
}

/* ---- names ---- */

/* Whether one of the first i targets has a pass of that name. */
static bool is_earlier_pass(const bsm_target_ops *const *targets, size_t i,
                            const char *name) {
  for (size_t t = 0; t < i; t++) {
    for (size_t k = 0; k < targets[t]->pass_count; k++) {
      if (strcmp(targets[t]->passes[k].name, name) == 0) return true;
    }
  }
  return false;
}

/* Finds pass number *index of one kind among those of all targets. When there
 * are fewer, *index is reduced by their number. */
static const char *target_pass_name(bool last, size_t *index) {
  size_t count;
  const bsm_target_ops *const *targets = bsm_target_table(&count);
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < targets[i]->pass_count; k++) {
      const bsm_target_pass *pass = &targets[i]->passes[k];
      if (pass->last != last || is_earlier_pass(targets, i, pass->name))
        continue;
      if ((*index)-- == 0) return pass->name;
    }
  }
  return NULL;
}

const char *bsm_builder_pass_name(size_t index) {
  if (index < COUNT(first)) return first[index].name;
  index -= COUNT(first);
  const char *name = target_pass_name(false, &index);
  if (name) return name;
  if (index < COUNT(second)) return second[index].name;
  index -= COUNT(second);
  name = target_pass_name(true, &index);
  return name ? name : index == 0 ? optimized : NULL;
}
