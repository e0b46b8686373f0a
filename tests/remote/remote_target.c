/* SPDX-License-Identifier: Apache-2.0 */
/* What is built for the remote device:
 *
 *   remote                   with this machine's CPU beside it
 *   remote:CPU_PARAMETERS    with any CPU: "remote:avx2,threads=2,l2=512K"
 *
 * It has no tactics to choose from and no passes. Products that share an
 * operand stay apart, and attention is products and a softmax. */
#include <string.h>

#include "tests/remote/remote_internal.h"

bool remote_takes_dtype(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_FLOAT || dtype == BSM_DTYPE_INT32 ||
         dtype == BSM_DTYPE_INT64 || dtype == BSM_DTYPE_BOOL;
}

static bsm_status parse(const bsm_target_request *request,
                        const char *parameters, bsm_arena *arena,
                        const bsm_target **out) {
  bsm_target_request cpu = *request;
  bsm_target *t = BSM_NEW(arena, bsm_target);
  BSM_TRY_ALLOC(t);
  cpu.text = parameters ? bsm_arena_printf(arena, "cpu:%s", parameters) : "cpu";
  BSM_TRY_ALLOC(cpu.text);
  *t = (bsm_target){.ops = &remote_target_ops};
  BSM_TRY(bsm_target_parse(&cpu, arena, &t->host));
  t->text = bsm_arena_printf(arena, "remote%s", t->host->text + strlen("cpu"));
  BSM_TRY_ALLOC(t->text);
  *out = t;
  return BSM_OK;
}

static bsm_status check_here(const bsm_target *target) {
  return target->host->ops->check_here(target->host);
}

static void machine_key(const bsm_target *target, bsm_text *text) {
  bsm_text_puts(text, "remote, ");
  target->host->ops->machine_key(target->host, text);
}

/* ---- layers ---- */

static bool takes_kind(bsm_layer_kind kind) {
  switch (kind) {
    case BSM_LAYER_CONVOLUTION:
    case BSM_LAYER_DECONVOLUTION:
    case BSM_LAYER_MATRIX_MULTIPLY:
    case BSM_LAYER_POOLING:
    case BSM_LAYER_SOFTMAX:
    case BSM_LAYER_NORMALIZATION:
    case BSM_LAYER_REDUCE:
    case BSM_LAYER_GATHER:
    case BSM_LAYER_FUSED_ELEMENT_WISE:
    case BSM_LAYER_SHUFFLE:
    case BSM_LAYER_SLICE:
    case BSM_LAYER_CONCATENATION:
    case BSM_LAYER_EXPAND:
    case BSM_LAYER_IDENTITY:
    case BSM_LAYER_CONSTANT:
    case BSM_LAYER_SHAPE:
      return true;
    default:
      return false;
  }
}

static bool is_product(const bsm_layer *layer) {
  return layer->kind == BSM_LAYER_CONVOLUTION ||
         layer->kind == BSM_LAYER_DECONVOLUTION ||
         layer->kind == BSM_LAYER_MATRIX_MULTIPLY;
}

static bool supports(const bsm_target *target, const bsm_layer *layer) {
  (void)target;
  if (!takes_kind(layer->kind)) return false;
  for (size_t i = 0; i < layer->inputs.len; i++) {
    if (!remote_takes_dtype(layer->inputs.items[i]->dtype)) return false;
  }
  for (size_t i = 0; i < layer->outputs.len; i++) {
    if (!remote_takes_dtype(layer->outputs.items[i]->dtype)) return false;
  }
  return !is_product(layer) ||
         layer->outputs.items[0]->dtype == BSM_DTYPE_FLOAT;
}

static bsm_dtype compute_dtype(const bsm_target *target, const bsm_layer *layer,
                               bsm_dtype dtype) {
  return target->host->ops->compute_dtype(target->host, layer, dtype);
}

static bool fuses(const bsm_target *target, bsm_fusion fusion,
                  bsm_dtype dtype) {
  (void)target;
  return dtype == BSM_DTYPE_FLOAT &&
         (fusion == BSM_FUSION_EPILOGUE || fusion == BSM_FUSION_SCALE);
}

/* As the CPU's kernels have them, which compute for it. */
static bsm_image_layout image_layout(const bsm_target *target,
                                     const bsm_layer *layer) {
  (void)target;
  (void)layer;
  return BSM_IMAGE_CHANNELS_LAST;
}

static bool reads_any_layout(const bsm_target *target, const bsm_layer *layer) {
  (void)target;
  (void)layer;
  return false;
}

/* ---- steps ---- */

static size_t list_tactics(const bsm_target *target, const bsm_plan *plan,
                           const bsm_plan_step *step, const char **names) {
  (void)target;
  (void)plan;
  (void)step;
  (void)names;
  return 0;
}

static double cost(const bsm_target *target, const bsm_plan *plan,
                   const bsm_plan_step *step, const char *tactic) {
  (void)target;
  (void)plan;
  (void)step;
  (void)tactic;
  return 0;
}

static void adopt(const bsm_target *target, const bsm_plan_step *step,
                  const char *tactic, bsm_step_params *params) {
  (void)target;
  (void)tactic;
  if (step->kind == BSM_STEP_CONVOLUTION) params->convolution.form = 0;
}

static bool is_approximate(const bsm_target *target,
                           const bsm_plan_step *step) {
  (void)target;
  (void)step;
  return false;
}

/* ---- timing: there is nothing to choose, so that none is ever asked for ----
 */

static bsm_status open_timer(const bsm_target *target,
                             const bsm_plan_draft *draft,
                             bsm_tactic_timer **out) {
  (void)target;
  (void)draft;
  *out = NULL;
  return BSM_OK;
}

static void close_timer(bsm_tactic_timer *timer) {
  (void)timer;
}

static int32_t timer_conditions(const bsm_tactic_timer *timer) {
  (void)timer;
  return 0;
}

static bsm_status time_step(bsm_tactic_timer *timer, bsm_plan_step *step,
                            const bsm_pending_pack *pending,
                            const char *const *tactics, size_t count,
                            double *seconds) {
  (void)timer;
  (void)pending;
  (void)tactics;
  (void)count;
  (void)seconds;
  return BSM_FAIL(BSM_INTERNAL, "%s: the remote device has no tactics",
                  step->name);
}

const bsm_target_ops remote_target_ops = {
    .version = BSM_TARGET_VERSION,
    .name = "remote",
    .parse = parse,
    .check_here = check_here,
    .machine_key = machine_key,
    .supports = supports,
    .compute_dtype = compute_dtype,
    .fuses = fuses,
    .image_layout = image_layout,
    .reads_any_layout = reads_any_layout,
    .tactics = list_tactics,
    .cost = cost,
    .adopt = adopt,
    .pack_version = 1,
    .pack = remote_pack,
    .is_approximate = is_approximate,
    .open_timer = open_timer,
    .close_timer = close_timer,
    .timer_conditions = timer_conditions,
    .time = time_step,
};
