/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a graph and builds the network, with checks and dumps between. */
#include "compiler/pipeline/graph_to_plan.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "builder/timing_cache.h"
#include "builder/truncate_dtypes.h"
#include "compiler/pipeline/compare_int8.h"
#include "compiler/pipeline/engine_metadata.h"
#include "network/layer.h"
#include "quantization/quantize_network.h"

/* ---- dumps ---- */

static void dump_network(const bsm_compile_options *options, const char *stage,
                         const bsm_network *net) {
  if (!options->dump) return;
  bsm_arena arena;
  bsm_text text;
  bsm_arena_init(&arena, options->allocator);
  bsm_text_init(&text, &arena);
  bsm_network_print(&text, net);
  if (!text.failed) options->dump(options->dump_user, stage, text.data);
  bsm_arena_destroy(&arena);
}

static void dump_pass(void *user, const char *pass, const bsm_network *net) {
  dump_network(user, pass, net);
}

/* ---- the network ---- */

static bsm_status check_size(const bsm_itensor *t, const bsm_limits *limits) {
  uint64_t bytes = bsm_dtype_size(t->dtype);
  for (int32_t i = 0; i < t->dims.rank; i++) {
    const int64_t size = t->dims.d[i];
    if (size == 0) return BSM_OK;
  }
  for (int32_t i = 0; i < t->dims.rank; i++) {
    const uint64_t size = (uint64_t)t->dims.d[i];
    if (bytes > limits->max_tensor_bytes / size) {
      return BSM_FAIL(BSM_LIMIT,
                      "tensor \"%s\" of shape %s and dtype %s is larger than "
                      "the limit max_tensor_bytes (%" PRIu64 ")",
                      t->name ? t->name : "", bsm_dims_str(t->dims),
                      bsm_dtype_name(t->dtype), limits->max_tensor_bytes);
    }
    bytes *= size;
  }
  return BSM_OK;
}

/* A model of few bytes may ask for tensors of any size. They are refused here,
 * before anything is allocated or planned. */
static bsm_status check_sizes(const bsm_network *net,
                              const bsm_limits *limits) {
  for (size_t i = 0; i < net->inputs.len; i++) {
    BSM_TRY(check_size(net->inputs.items[i], limits));
  }
  for (size_t i = 0; i < net->layers.len; i++) {
    const bsm_layer *layer = net->layers.items[i];
    if (layer->removed) continue;
    for (size_t k = 0; k < layer->outputs.len; k++) {
      BSM_TRY_NOTE(check_size(layer->outputs.items[k], limits), "in layer %s",
                   layer->name ? layer->name : "");
    }
  }
  return BSM_OK;
}

static const char *must_fall_back(void *user, const bsm_node *node) {
  const bsm_compilation *c = user;
  return bsm_fallback_rule_of(c->rules, node);
}

bsm_status bsm_graph_to_network(const bsm_compilation *c,
                                const bsm_graph *graph,
                                const char *const *input_names,
                                bsm_conversion_record *record,
                                bsm_network **out) {
  const bsm_compile_options *options = c->options;
  const bsm_convert_options converting = {
      .input_names = input_names,
      .require_full_compilation = options->require_full_compilation,
      .visit = record ? bsm_place_converted : NULL,
      .user = record,
      .must_fall_back = must_fall_back,
      .fallback_user = (void *)(uintptr_t)c,
      .takes = bsm_target_takes,
      .takes_user = c->target};
  BSM_TRY(bsm_convert_graph_with(graph, c->module->aten, c->registry, c->arena,
                                 options->logger, &converting, out));
  bsm_status status =
      bsm_status_note(bsm_network_verify(*out), "in the network as converted");
  if (!status) status = check_sizes(*out, &c->module->cx->limits);
  if (status) {
    bsm_network_release(*out);
    *out = NULL;
    return status;
  }
  dump_network(options, "network", *out);
  return BSM_OK;
}

/* Narrows dtypes if the option says so; *list is "" when nothing was narrowed.
 */
static bsm_status narrow_network(const bsm_compile_options *options,
                                 bsm_network *net, const char **list) {
  *list = "";
  if (!options->truncate_long_and_double) return BSM_OK;
  bsm_text text;
  bsm_text_init(&text, net->arena);
  BSM_TRY(bsm_truncate_long_and_double(net, options->logger, &text));
  if (text.len) *list = text.data;
  return BSM_OK;
}

/* ---- the plan ---- */

/* Runs that only look at a plan take these times what may be computed, and
 * taken, while compiling. */
#define TRIAL_WORK 64
#define TRIAL_MEMORY 16

static uint64_t trial_bytes(const bsm_module *module) {
  size_t bytes;
  return bsm_size_mul(module->max_memory, TRIAL_MEMORY, &bytes) ? bytes
                                                                : UINT64_MAX;
}

bsm_build_options bsm_building_options(const bsm_compilation *c) {
  const bsm_compile_options *options = c->options;
  return (bsm_build_options){
      .target = c->target,
      .no_timing = options->no_timing,
      .timing_cache = options->timing_cache,
      .precision = c->precision,
      .progress = c->module->cx->progress,
      .exact = options->prefer_size,
      .narrows = options->prefer_size,
      .refit = c->refit,
      .trial_work = TRIAL_WORK * c->module->cx->work.limit,
      .trial_bytes = trial_bytes(c->module),
      .logger = options->logger};
}

static bool has_fp8(const bsm_compilation *c) {
  return c->target->ops->fuses(c->target, BSM_FUSION_FP8, BSM_DTYPE_FLOAT);
}

/* fp8 where the target has it, or nothing else is allowed. */
static bsm_precision quantized_precision(const bsm_compilation *c) {
  const uint32_t allowed = c->options->precisions;
  if (!(allowed & BSM_PRECISION_FP8)) return BSM_PRECISION_INT8;
  if (allowed & BSM_PRECISION_INT8 && !has_fp8(c)) return BSM_PRECISION_INT8;
  if (!has_fp8(c)) {
    bsm_log(c->options->logger, BSM_LOG_LEVEL_WARNING,
            "the target %s has no products in fp8: they compute in fp32 what "
            "fp8 would give",
            c->target->text);
  }
  return BSM_PRECISION_FP8;
}

/* Whether an engine that is refitted computes in int8: its precisions stay, and
 * so do those of one that does not. */
static bool refits_int8(const bsm_compilation *c) {
  for (uint32_t i = 0; c->refit && i < c->refit->step_count; i++) {
    if (c->refit->steps[i].kind == BSM_STEP_INT8_CONVOLUTION) return true;
  }
  return false;
}

/* Quantizes layers, all or those that a rule is about, and takes what was asked
 * for as done. `slower`: layers that are not, for int8 would take longer. */
static bsm_status quantize_to(const bsm_compilation *c, bsm_network *net,
                              bsm_precision precision, bool rules_alone,
                              const bsm_int8_trial *trial, size_t *count,
                              size_t *slower) {
  const bsm_compile_options *options = c->options;
  const bsm_quantize_options quantizing = {
      .calibration = options->calibration,
      .target = c->target,
      .logger = options->logger,
      .precision = precision,
      .policy = c->precision,
      .rules_alone = rules_alone,
      .slower = c->precision->narrows || refits_int8(c) ? NULL : slower,
      .slow_sites = trial && !rules_alone ? trial->slow : NULL,
      .facts = trial && !rules_alone ? trial->facts : NULL,
      .was_slower = c->refit && !refits_int8(c)};
  BSM_TRY(bsm_quantize_network(net, &quantizing, count));
  if (*count) {
    bsm_log(options->logger, BSM_LOG_LEVEL_INFO, "%zu layers compute in %s",
            *count, bsm_precision_name(precision));
  }
  if (*slower && trial) {
    bsm_log(options->logger, BSM_LOG_LEVEL_INFO,
            "%zu layers are not in int8, as the target is %s to be faster "
            "without",
            *slower, options->no_timing ? "expected" : "measured");
  } else if (*slower) {
    bsm_log(options->logger, BSM_LOG_LEVEL_WARNING,
            "%zu layers stay in fp32, which is faster than int8 on the target "
            "%s; --prefer-size or overrides of their precision have int8 "
            "compute them anyway",
            *slower, c->target->text);
  }
  return BSM_OK;
}

/* Layers compute in int8 or fp8 as the calibration says, and in the other of
 * the two where a rule says so. What was asked of it is done then, and the rest
 * of the layers is for the builder to decide. */
static bsm_status quantize(const bsm_compilation *c, bsm_network *net,
                           const bsm_int8_trial *trial) {
  const bsm_compile_options *options = c->options;
  const bsm_precision main = quantized_precision(c);
  const bsm_precision other =
      main == BSM_PRECISION_INT8 ? BSM_PRECISION_FP8 : BSM_PRECISION_INT8;
  const bool both = other == BSM_PRECISION_INT8 || has_fp8(c);
  size_t count, more = 0, slower = 0, none = 0;
  BSM_TRY(bsm_prepare_quantization(
      net, c->target, options->calibration->equalized, options->logger));
  BSM_TRY(quantize_to(c, net, main, false, trial, &count, &slower));
  if (both) BSM_TRY(quantize_to(c, net, other, true, trial, &more, &none));
  if (!count && !more && !slower) {
    const char *name = bsm_precision_name(main);
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s: the calibration has no range of any layer of this "
                    "model that %s could compute",
                    name, name);
  }
  c->precision->allowed &= ~(uint32_t)(BSM_PRECISION_INT8 | BSM_PRECISION_FP8);
  for (size_t i = 0; i < c->precision->rule_count; i++) {
    bsm_precision_rule *rule = &c->precision->rules[i];
    if (rule->precision == main || (both && rule->precision == other)) {
      rule->precision = BSM_PRECISION_FP32;
    }
  }
  return BSM_OK;
}

static bsm_status build(const bsm_compilation *c, bsm_network *net,
                        const bsm_int8_trial *trial, bsm_arena *arena,
                        bsm_plan **out) {
  const bsm_compile_options *options = c->options;
  const char *truncated;
  bsm_metadata_vec metadata;
  if (options->calibration) BSM_TRY(quantize(c, net, trial));
  dump_network(options, "quantized", net);
  BSM_TRY(narrow_network(options, net, &truncated));
  BSM_TRY(bsm_engine_metadata_of(c->module, options, c->target, truncated,
                                 net->arena, &metadata));
  bsm_build_options building = bsm_building_options(c);
  const bsm_pass_watch watch = {dump_pass, (void *)(uintptr_t)options};
  building.watch = options->dump ? &watch : NULL;
  if (trial) building.times = trial->times;
  building.metadata = metadata.items;
  building.metadata_count = (uint32_t)metadata.len;
  return bsm_build(net, &building, arena, out);
}

/* Builds the network in float32 and runs it on made-up inputs, so that layers
 * whose values float16 does not hold stay in float32. */
static bsm_status learn_values(const bsm_compilation *c, const bsm_graph *graph,
                               const char *const *input_names,
                               bsm_known_values *values) {
  bsm_network *net;
  bsm_plan *plan;
  const char *truncated;
  bool ran = false;
  BSM_TRY(bsm_graph_to_network(c, graph, input_names, NULL, &net));
  bsm_build_options building = bsm_building_options(c);
  building.precision = NULL;
  building.no_timing = true;
  building.exact = true;
  building.refit = NULL;
  building.logger = NULL;
  bsm_status status = narrow_network(c->options, net, &truncated);
  if (!status) status = bsm_build(net, &building, values->arena, &plan);
  bsm_network_release(net);
  BSM_TRY(status);
  double *greatest =
      BSM_NEW_ARRAY(values->arena, double, plan->tensor_count + 1u);
  BSM_TRY_ALLOC(greatest);
  BSM_TRY(c->target->ops->greatest_values(c->target, plan, &ran, greatest));
  if (ran) return bsm_known_values_add(values, plan, greatest);
  bsm_log(c->options->logger, BSM_LOG_LEVEL_WARNING,
          "precision fp16: the model cannot be run on made-up inputs while it "
          "is compiled, so nothing tells which values float16 does not hold");
  return BSM_OK;
}

/* A build whose plan is only looked at: nobody is told of it. */
static bsm_status try_int8(const bsm_compilation *c, const bsm_graph *graph,
                           const bsm_int8_trial *trial, bsm_arena *arena,
                           bsm_plan **out) {
  bsm_network *net;
  bsm_compile_options options = *c->options;
  bsm_precision_policy policy = *c->precision;
  bsm_compilation own = *c;
  options.logger = NULL;
  options.dump = NULL;
  own.options = &options;
  own.precision = &policy;
  policy.rules =
      BSM_NEW_ARRAY(arena, bsm_precision_rule, policy.rule_count + 1);
  BSM_TRY_ALLOC(policy.rules);
  memcpy(policy.rules, c->precision->rules,
         policy.rule_count * sizeof(*policy.rules));
  BSM_TRY(bsm_graph_to_network(&own, graph, NULL, NULL, &net));
  bsm_status status = build(&own, net, trial, arena, out);
  bsm_network_release(net);
  return status;
}

static bool compares_int8(const bsm_compilation *c) {
  const uint32_t narrow = BSM_PRECISION_FP16 | BSM_PRECISION_BF16;
  return c->options->calibration && c->precision &&
         c->precision->allowed & narrow && !c->precision->narrows &&
         c->target->ops->step_seconds &&
         quantized_precision(c) == BSM_PRECISION_INT8;
}

static bool wants_values(const bsm_compilation *c) {
  return c->precision && (c->precision->allowed & BSM_PRECISION_FP16) &&
         c->target->ops->greatest_values && !c->options->calibration;
}

bsm_status bsm_graph_to_plan(const bsm_compilation *c, const bsm_graph *graph,
                             const char *const *input_names,
                             bsm_conversion_record *record, bsm_arena *arena,
                             bsm_plan **out) {
  bsm_network *net;
  bsm_arena scratch;
  bsm_known_values values = {.arena = &scratch};
  bsm_status status = BSM_OK;
  bsm_arena_init_like(&scratch, arena);
  if (wants_values(c)) {
    status = learn_values(c, graph, input_names, &values);
    c->precision->values = &values;
  }
  if (!status) {
    status = bsm_graph_to_network(c, graph, input_names, record, &net);
  }
  if (!status) {
    bsm_timing_cache times = {.arena = &scratch};
    bsm_int8_trial trial = {.times = &times};
    const bool compares = compares_int8(c);
    if (compares)
      status = bsm_compare_int8(c, graph, try_int8, &scratch, &trial);
    if (!status) status = build(c, net, compares ? &trial : NULL, arena, out);
    bsm_network_release(net);
  }
  if (c->precision) c->precision->values = NULL;
  bsm_arena_destroy(&scratch);
  return status;
}
