/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler, top to bottom: inputs, lowering, conversion, building. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "builder/builder.h"
#include "builder/truncate_dtypes.h"
#include "compiler/inputs/model_shapes.h"
#include "compiler/pipeline/compile_internal.h"
#include "compiler/pipeline/compile_program.h"
#include "compiler/pipeline/engine_metadata.h"
#include "compiler/pipeline/fallback_rules.h"
#include "compiler/pipeline/frozen_trace.h"
#include "compiler/pipeline/plan_regions.h"
#include "compiler/pipeline/tell_nodes.h"
#include "compiler/pipeline/variant_shapes.h"
#include "conversion/convert.h"
#include "conversion/plugin_layers.h"
#include "network/layer.h"
#include "runtime/engine/engine.h"

bsm_compile_options bsm_compile_options_resolve(
    const bsm_module *module, const bsm_compile_options *given) {
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  bsm_options_copy(&options, sizeof(options), given);
  if (!options.logger) options.logger = module->logger;
  if (!options.allocator) options.allocator = module->allocator;
  return options;
}

const char *const *bsm_pass_names(void) {
  return bsm_lowering_pass_names();
}

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

static void dump_optimized(void *user, const bsm_network *net) {
  dump_network(user, "optimized", net);
}

/* ---- the whole ---- */

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

/* A model of few bytes may ask for tensors of any size: refused here, before
 * anything is allocated or planned for them. */
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

static bsm_status make_registry(bsm_compilation *c) {
  const bsm_compile_options *options = c->options;
  BSM_TRY(bsm_converter_registry_create(&c->arena, c->module->cx->types,
                                        options->logger, &c->registry));
  BSM_TRY(bsm_plugin_register(c->registry, &c->arena, c->module->plugins));
  return options->pattern_count
             ? bsm_register_conversion_patterns(c->registry, options->patterns,
                                                options->pattern_count)
             : BSM_OK;
}

static bsm_status convert(bsm_compilation *c, const bsm_graph *graph,
                          const char *const *input_names, bsm_network **out) {
  const bsm_compile_options *options = c->options;
  const bsm_convert_options converting = {
      .input_names = input_names,
      .require_full_compilation = options->require_full_compilation,
      .visit = c->watch ? bsm_saw_node : NULL,
      .user = c,
      .must_fall_back = must_fall_back,
      .fallback_user = c};
  BSM_TRY(bsm_convert_graph_with(graph, c->module->aten, c->registry, &c->arena,
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

/* As the option asks; *list is "" when nothing was narrowed. */
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

static bsm_status build(const bsm_module *module,
                        const bsm_compile_options *options,
                        const bsm_target *target, bsm_network *net,
                        bsm_arena *arena, bsm_plan **out) {
  const char *truncated;
  bsm_metadata_vec metadata;
  BSM_TRY(narrow_network(options, net, &truncated));
  BSM_TRY(bsm_engine_metadata_of(module, options, target, truncated, net->arena,
                                 &metadata));
  const bsm_build_options building = {
      .target = target,
      .no_timing = options->no_timing,
      .timing_cache = options->timing_cache,
      .logger = options->logger,
      .optimized = options->dump ? dump_optimized : NULL,
      .user = (void *)(uintptr_t)options,
      .metadata = metadata.items,
      .metadata_count = (uint32_t)metadata.len};
  return bsm_build(net, &building, arena, out);
}

/* A graph of fixed shapes: network, then plan. */
static bsm_status compile_graph(bsm_compilation *c, const bsm_graph *graph,
                                const char *const *input_names,
                                bsm_arena *arena, bsm_plan **out) {
  bsm_network *net;
  BSM_TRY(convert(c, graph, input_names, &net));
  bsm_status status = build(c->module, c->options, c->target, net, arena, out);
  bsm_network_release(net);
  return status;
}

static bsm_status compile_segment(void *user, const bsm_graph *graph,
                                  bsm_arena *arena, bsm_plan **out) {
  return compile_graph(user, graph, NULL, arena, out);
}

static bool can_compile(void *user, const bsm_node *node) {
  const bsm_compilation *c = user;
  return bsm_node_is_convertible(c->module->aten, c->registry, node);
}

static bool must_call(void *user, const bsm_node *node) {
  return must_fall_back(user, node) != NULL;
}

static bool can_call(void *user, const bsm_node *node) {
  const bsm_compilation *c = user;
  return !bsm_program_calls_node(node) ||
         bsm_node_is_callable(c->module->aten, node);
}

bsm_partition_options bsm_partition_options_of(bsm_compilation *c) {
  return (bsm_partition_options){
      .aten = c->module->aten,
      .can_compile = can_compile,
      .must_call = must_call,
      .can_call = can_call,
      .min_segment_nodes = c->options->min_block_size,
      .memory = c->memory,
      .user = c};
}

/* What a literal graph writes to. */
static bsm_status find_memory(bsm_compilation *c) {
  return c->lowered.literal
             ? bsm_memory_sets_of(c->lowered.graph, c->module->aten, &c->arena,
                                  &c->memory)
             : BSM_OK;
}

/* The outputs that are no tensors: a program gives them. */
static size_t count_values(const bsm_lowered *lowered) {
  size_t count = 0;
  for (size_t i = 0; i < lowered->leaf_count; i++) {
    count += lowered->leaves[i].is_value;
  }
  return count;
}

bool bsm_is_plan(const bsm_lowered *lowered,
                 const bsm_partition_options *partition) {
  const size_t inputs = lowered->graph->block->params->outputs.len;
  for (size_t i = 0; lowered->input_ranges && i < inputs; i++) {
    if (lowered->input_ranges[i]) return false; /* though no node may care */
  }
  return !count_values(lowered) &&
         bsm_is_one_segment(lowered->graph, partition);
}

/* A plan for one shape, run instead of the program when the inputs have it. */
static bsm_status add_variant(bsm_compilation *c, const bsm_input_spec *inputs,
                              bool optimal, bsm_arena *arena, bsm_plan *plan) {
  bsm_compile_options options = *c->options;
  options.inputs = inputs;
  options.dump = NULL;
  options.no_timing = options.no_timing || !optimal;
  bsm_compilation own = *c;
  own.options = &options;
  own.in_program = false;
  own.in_variant = true;
  own.is_first_variant = optimal;
  const bsm_partition_options partition = bsm_partition_options_of(&own);
  bsm_plan *variant;
  bsm_status status =
      bsm_lower_method(c->module, &options, &own.lowered, &own.io);
  if (status) {
    return bsm_status_join(status,
                           bsm_shape_refused(c->module, &c->trials, status));
  }
  BSM_TRY(bsm_shape_taken(c->module, &c->trials, own.lowered.graph, optimal));
  own.memory = NULL; /* a graph that writes is no segment */
  if (count_values(&c->lowered) || !bsm_is_plan(&own.lowered, &partition)) {
    return BSM_OK;
  }
  if (c->has_plans) {
    bsm_network *net = NULL;
    if (optimal && c->watch) {
      status = convert(&own, own.lowered.graph, NULL, &net);
    }
    bsm_network_release(net);
    c->arena = own.arena;
    return status;
  }
  status = compile_graph(&own, own.lowered.graph, NULL, arena, &variant);
  c->arena = own.arena;
  BSM_TRY(status);
  return bsm_program_add_variant(plan, variant, arena);
}

static bsm_status add_variants(bsm_compilation *c, bsm_arena *arena,
                               bsm_plan *plan) {
  bsm_input_spec *shapes[BSM_MAX_VARIANTS];
  size_t count;
  BSM_TRY(bsm_variant_shapes(&c->arena, c->options->inputs,
                             c->options->input_count, shapes, &count));
  for (size_t i = 0; i < count; i++) {
    bsm_status status = add_variant(c, shapes[i], i == 0, arena, plan);
    /* The program runs every shape that is possible at all. */
    if (status && i > 0 && bsm_status_code(status) != BSM_OUT_OF_MEMORY) {
      bsm_log(c->options->logger, BSM_LOG_LEVEL_INFO,
              "a shape in range is not possible: %s",
              bsm_status_message(status));
      bsm_status_free(status);
      continue;
    }
    BSM_TRY(status);
  }
  return bsm_report_shapes(c->module, c->options, &c->lowered, &c->trials);
}

typedef BSM_VEC(const bsm_node *) node_vec;

/* That the nodes which are called one by one can be. */
static bsm_status check_calls(bsm_compilation *c,
                              const bsm_program_node_list *p, bool all) {
  node_vec calls = {0};
  for (size_t i = 0; i < p->count; i++) {
    if (!bsm_program_calls_node(p->nodes[i])) continue;
    if (all && bsm_is_planned(p, p->nodes[i])) continue;
    BSM_TRY_ALLOC(bsm_vec_push(&c->arena, &calls, p->nodes[i]));
  }
  BSM_TRY(bsm_check_calls(c->module->aten, calls.items, calls.len, all));
  if (all || !calls.len) return BSM_OK;
  bsm_log(c->options->logger, BSM_LOG_LEVEL_INFO,
          "what the model computes depends on data or on shapes that range: "
          "%zu nodes run in a program",
          calls.len);
  return BSM_OK;
}

/* What is known of the dims of each output that is a tensor. */
static bsm_status known_dims(bsm_compilation *c, const bsm_dims **out) {
  const bsm_lowered *lowered = &c->lowered;
  const size_t n = lowered->graph->block->returns->inputs.len;
  bsm_dims *dims = BSM_NEW_ARRAY(&c->arena, bsm_dims, n + 1);
  BSM_TRY_ALLOC(dims);
  for (size_t i = 0; i < lowered->leaf_count; i++) {
    const bsm_lowered_leaf *leaf = &lowered->leaves[i];
    if (leaf->is_output) dims[leaf->output] = leaf->dims;
  }
  *out = dims;
  return BSM_OK;
}

/* Regions are planned by the built-in converters alone, as they are; and what
 * they compute changes places with the rest of the program. */
static bool can_have_regions(const bsm_compilation *c) {
  const bsm_compile_options *o = c->options;
  bool ranges = false;
  const size_t n = c->lowered.graph->block->params->outputs.len;
  for (size_t i = 0; i < n && c->lowered.input_ranges; i++) {
    ranges = ranges || c->lowered.input_ranges[i];
  }
  return ranges && !o->truncate_long_and_double && !o->pattern_count &&
         !c->module->plugins && !c->memory;
}

static bsm_status plan_regions(bsm_compilation *c, const bool *alone,
                               bsm_arena *arena, bsm_plan *plan, bool *whole) {
  const bsm_compile_options *o = c->options;
  const bsm_region_options options = {
      .aten = c->module->aten,
      .building = {.target = c->target,
                   .no_timing = o->no_timing,
                   .timing_cache = o->timing_cache,
                   .logger = o->logger},
      .require_full_compilation = o->require_full_compilation,
      .alone = alone,
      .least = o->min_block_size};
  return bsm_plan_regions(plan, &options, arena, whole);
}

/* What is not of fixed shapes runs as a program. */
static bsm_status compile_lowered(bsm_compilation *c, bsm_arena *arena,
                                  bsm_plan **out) {
  const bsm_graph *graph = c->lowered.graph;
  bsm_partition_options partition = bsm_partition_options_of(c);
  const bsm_dims *output_dims;
  BSM_TRY(known_dims(c, &output_dims));
  const bsm_program_source source = {.input_names = c->io.input_names,
                                     .output_names = c->io.output_names,
                                     .input_ranges = c->lowered.input_ranges,
                                     .value_count = count_values(&c->lowered),
                                     .output_dims = output_dims,
                                     .compile_segment = compile_segment,
                                     .user = c};
  if (bsm_is_plan(&c->lowered, &partition)) {
    return compile_graph(c, graph, c->lowered.input_names, arena, out);
  }
  bsm_program_map map;
  bsm_program_node_list nodes = {0};
  bool *in_region;
  c->in_program = true;
  partition.only_inner = can_have_regions(c);
  BSM_TRY(bsm_program_nodes(graph, &partition, &c->arena, &nodes.nodes,
                            &nodes.count));
  BSM_TRY(check_calls(c, &nodes, false));
  BSM_TRY(bsm_compile_program(graph, &partition, &source, &c->arena, arena, out,
                              &map));
  if (partition.only_inner) {
    BSM_TRY(plan_regions(c, map.alone, arena, *out, &c->has_plans));
    BSM_TRY(bsm_region_registers((*out)->program, &c->arena, &in_region));
    nodes.map = &map;
    nodes.in_region = in_region;
  }
  BSM_TRY(bsm_tell_program(c, graph, &nodes, &partition));
  if (c->options->require_full_compilation) {
    BSM_TRY(check_calls(c, &nodes, true));
  }
  BSM_TRY(add_variants(c, arena, *out));
  if (!(*out)->metadata_count) {
    BSM_TRY(bsm_set_metadata(c->module, c->options, c->target, arena, *out));
  }
  return bsm_program_share_weights(*out, &c->arena);
}

/* Gives the plan the structures, and its outputs their names. */
static bsm_status describe(const bsm_method_io *io, bsm_arena *arena,
                           bsm_plan *plan) {
  BSM_TRY(bsm_structure_copy(arena, io->inputs, &plan->input_structure));
  BSM_TRY(bsm_structure_copy(arena, io->outputs, &plan->output_structure));
  for (uint32_t i = 0; i < plan->output_count; i++) {
    plan->outputs[i].name = bsm_arena_strdup(arena, io->output_names[i]);
    BSM_TRY_ALLOC(plan->outputs[i].name);
  }
  return BSM_OK;
}

static bsm_status compile_plan(bsm_compilation *c, bsm_arena *arena,
                               bool *lowered, bsm_plan **out) {
  BSM_TRY(
      bsm_fallback_rules_create(c->module, c->options, &c->arena, &c->rules));
  BSM_TRY(bsm_note_trace(
      c->module, c->options,
      bsm_lower_method(c->module, c->options, &c->lowered, &c->io)));
  BSM_TRY(bsm_warn_of_trace(c->module, c->options));
  BSM_TRY(bsm_fallback_rules_check(c->rules, c->lowered.graph));
  BSM_TRY(make_registry(c));
  BSM_TRY(find_memory(c));
  *lowered = true;
  BSM_TRY(compile_lowered(c, arena, out));
  return describe(&c->io, arena, *out);
}

/* ---- targets ---- */

static bsm_status find_target(const bsm_compile_options *options,
                              bsm_arena *arena, const bsm_target **out) {
  const bool scalar = options->isa & BSM_CONTEXT_ISA_SCALAR;
  const bsm_target_request request = {.text = options->target,
                                      .threads = options->threads,
                                      .isa = scalar ? 0
                                             : options->isa
                                                 ? options->isa
                                                 : BSM_TARGET_ANY_ISA};
  return bsm_target_parse(&request, arena, out);
}

bsm_status bsm_target_text(const char *target, char **out) {
  BSM_NEED(out);
  *out = NULL;
  const bsm_target_request request = {.text = target,
                                      .isa = BSM_TARGET_ANY_ISA};
  const bsm_target *found;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_status status = bsm_target_parse(&request, &arena, &found);
  if (!status) {
    *out = strdup(found->text);
    if (!*out) status = BSM_FAIL_OOM();
  }
  bsm_arena_destroy(&arena);
  return status;
}

bsm_status bsm_compile_plan(bsm_module *module,
                            const bsm_compile_options *options,
                            const bsm_compile_watch *watch, bsm_arena *arena,
                            bool *lowered, bsm_plan **out) {
  bsm_compile_options complete = *options;
  bsm_compilation c = {.module = module, .options = &complete, .watch = watch};
  *lowered = false;
  bsm_arena_init(&c.arena, options->allocator);
  bsm_status status = find_target(options, &c.arena, &c.target);
  if (!status) status = bsm_complete_specs(module, &c.arena, &complete);
  if (!status) status = compile_plan(&c, arena, lowered, out);
  if (status && *lowered && watch &&
      bsm_status_code(status) != BSM_OUT_OF_MEMORY) {
    bsm_status again = bsm_tell_again(&c);
    if (again) {
      bsm_status_free(status);
      status = again;
      *lowered = false;
    }
  }
  bsm_arena_destroy(&c.arena);
  return status;
}

bsm_status bsm_compile(bsm_module *module, const bsm_compile_options *given,
                       bsm_engine **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(module);
  const bsm_compile_options options =
      bsm_compile_options_resolve(module, given);
  bsm_arena engine;
  bsm_plan *plan = NULL;
  bool lowered;
  bsm_arena_init(&engine, options.allocator);
  bsm_status status =
      bsm_compile_plan(module, &options, NULL, &engine, &lowered, &plan);
  if (!status) {
    status = bsm_engine_adopt(&engine, plan, options.allocator, module->plugins,
                              out);
  }
  bsm_arena_destroy(&engine);
  return bsm_status_note(status, "while compiling %s", module->name);
}
