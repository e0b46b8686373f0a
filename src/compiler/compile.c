/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler, top to bottom: inputs, lowering, conversion, building. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/isa.h"
#include "base/options.h"
#include "base/thread_pool.h"
#include "builder/builder.h"
#include "builder/truncate_dtypes.h"
#include "compiler/module_internal.h"
#include "conversion/convert.h"
#include "conversion/plugin_layers.h"
#include "network/layer.h"
#include "runtime/engine.h"

bsm_compile_options bsm_compile_options_resolve(
    const bsm_module *module, const bsm_compile_options *given) {
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  bsm_options_copy(&options, sizeof(options), given);
  if (!options.logger) options.logger = module->logger;
  if (!options.allocator) options.allocator = module->allocator;
  if (options.threads <= 0) options.threads = bsm_available_cpus();
  const uint32_t have = bsm_isa_detect();
  if (options.isa & BSM_CONTEXT_ISA_SCALAR) {
    options.isa = BSM_ISA_SCALAR;
  } else {
    options.isa = options.isa ? options.isa & have : have;
  }
  return options;
}

const char *const *bsm_pass_names(void) {
  return bsm_lowering_pass_names();
}

/* ---- dumps ---- */

static bsm_status dump_graph(void *user, const char *pass,
                             const bsm_graph *graph) {
  const bsm_compile_options *options = user;
  bsm_arena arena;
  bsm_text text;
  bsm_arena_init(&arena, options->allocator);
  bsm_text_init(&text, &arena);
  bsm_graph_print(&text, graph, NULL);
  bsm_status status = text.failed ? BSM_FAIL_OOM() : BSM_OK;
  if (!status) options->dump(options->dump_user, pass, text.data);
  bsm_arena_destroy(&arena);
  return status;
}

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

/* ---- lowering ---- */

/* A number of the model's result as a 0-dim tensor. */
static bsm_status number_tensor(bsm_arena *arena, const bsm_ivalue *value,
                                bsm_tensor **out) {
  switch (value->tag) {
    case BSM_IVALUE_INT:
      return bsm_tensor_from_int(arena, BSM_DTYPE_INT64, value->u.i, out);
    case BSM_IVALUE_BOOL:
      return bsm_tensor_from_int(arena, BSM_DTYPE_BOOL, value->u.b, out);
    case BSM_IVALUE_DOUBLE:
      return bsm_tensor_from_double(arena, BSM_DTYPE_DOUBLE, value->u.d, out);
    case BSM_IVALUE_TENSOR:
      *out = value->u.tensor;
      return BSM_OK;
    default:
      *out = NULL; /* None and strings stand in the structure alone */
      return BSM_OK;
  }
}

/* Replaces the graph's outputs by one for each leaf of the result, in order;
 * leaves that are constants become constants of the graph. */
static bsm_status set_outputs(bsm_lowered *lowered) {
  bsm_graph *graph = lowered->graph;
  bsm_arena *arena = graph->cx->arena;
  bsm_node *returns = graph->block->returns;
  const size_t old_count = returns->inputs.len;
  bsm_value **values =
      BSM_NEW_ARRAY(arena, bsm_value *, lowered->leaf_count + old_count + 1);
  BSM_TRY_ALLOC(values);
  size_t count = 0;
  for (size_t i = 0; i < lowered->leaf_count; i++) {
    bsm_lowered_leaf *leaf = &lowered->leaves[i];
    if (leaf->is_output) {
      values[count] = bsm_node_in(returns, leaf->output);
    } else {
      bsm_tensor *tensor;
      bsm_node *constant;
      BSM_TRY(number_tensor(arena, &leaf->constant, &tensor));
      if (!tensor) continue;
      BSM_TRY(bsm_node_create_constant(graph, bsm_iv_tensor(tensor), NULL,
                                       &constant));
      bsm_node_append(graph->block, constant);
      values[count] = bsm_node_out(constant, 0);
    }
    leaf->is_output = true;
    leaf->output = count++;
  }
  for (size_t i = old_count; i-- > 0;) bsm_node_remove_input(returns, i);
  if (!count) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "the result holds no tensor and no number: there is "
                    "nothing for an engine to compute");
  }
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(bsm_block_add_output(graph->block, values[i]));
  }
  return BSM_OK;
}

bsm_status bsm_lower_method(bsm_module *module,
/* Whether a value holds a number that the run will tell. */
static bool has_run_time_number(const bsm_structure *node) {
  const bsm_structure_kind kind = node->info.kind;
  if (node->info.binding != BSM_NO_BINDING && kind != BSM_STRUCTURE_TENSOR) {
    return true;
  }
  for (size_t i = 0; i < node->info.child_count; i++) {
    if (has_run_time_number(&node->children[i])) return true;
  }
  return false;
}

                            const bsm_compile_options *options,
                            bsm_lowered *out, bsm_method_io *io) {
  bsm_method method;
  bsm_lowering_input *inputs;
  BSM_TRY(bsm_module_find_method(module, options->method, &method));
  bsm_method_io own;
  if (!io) io = &own;
  BSM_TRY(bsm_method_inputs(module, &method, options->inputs,
                            options->input_count, &module->arena, &inputs));
  bsm_compile_options dump = *options;
  BSM_TRY(bsm_describe_inputs(&module->arena, &method, inputs, io));
  const bsm_lowering_options lowering = {
      .aten = module->aten,
      .after_pass = options->dump ? dump_graph : NULL,
      .user = &dump};
  bsm_status status = bsm_lower(method.graph, method.root, inputs,
                                method.parameter_count, &lowering, out);
  if (status && has_run_time_number(io->inputs)) {
    return bsm_status_note(status,
                           "with a number that is given when running: it may "
                           "have to be fixed when compiling");
  }
  BSM_TRY(status);
  BSM_TRY(set_outputs(out));
  return bsm_graph_verify(out->graph);
  BSM_TRY(bsm_describe_outputs(&module->arena, out, io));
  out->input_names = io->input_names;
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

static bsm_status convert(bsm_module *module,
                          const bsm_compile_options *options, bsm_arena *arena,
                          bsm_method_io *io, bsm_network **out) {
  bsm_lowered lowered;
  bsm_converter_registry *registry;
  *out = NULL;
  BSM_TRY(bsm_lower_method(module, options, &lowered, io));
  BSM_TRY(bsm_converter_registry_create(arena, module->cx->types,
                                        options->logger, &registry));
  BSM_TRY(bsm_plugin_register(registry, arena, module->plugins));
  if (options->pattern_count) {
    BSM_TRY(bsm_register_conversion_patterns(registry, options->patterns,
                                             options->pattern_count));
  }
  BSM_TRY(bsm_convert_graph(lowered.graph, module->aten, registry, arena,
                            options->logger, lowered.input_names, out));
  bsm_status status =
      bsm_status_note(bsm_network_verify(*out), "in the network as converted");
  if (!status) status = check_sizes(*out, &module->cx->limits);
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
                        const bsm_compile_options *options, bsm_network *net,
                        bsm_arena *arena, bsm_plan **out) {
  char threads[16];
  const char *truncated;
  BSM_TRY(narrow_network(options, net, &truncated));
  snprintf(threads, sizeof(threads), "%d", options->threads);
  const char *slash = strrchr(module->name, '/');
  const bsm_plan_metadata metadata[] = {
      {"builder.version", bsm_version()},
      {"builder.isa", bsm_isa_name(options->isa)},
      {"builder.threads", threads},
      {"builder.timing", options->no_timing ? "no" : "yes"},
      {"source.file", slash ? slash + 1 : module->name},
      {"source.method", options->method ? options->method : "forward"},
      {"truncated", truncated}, /* left out when nothing was */
  };
  const bsm_build_options building = {
      .isa = options->isa,
      .threads = options->threads,
      .no_timing = options->no_timing,
      .timing_cache = options->timing_cache,
      .logger = options->logger,
      .optimized = options->dump ? dump_optimized : NULL,
      .user = (void *)(uintptr_t)options,
      .metadata = metadata,
      .metadata_count = (uint32_t)(sizeof(metadata) / sizeof(metadata[0])) -
                        (truncated[0] ? 0u : 1u)};
  return bsm_build(net, &building, arena, out);
}

bsm_status bsm_compile(bsm_module *module, const bsm_compile_options *given,
                       bsm_engine **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(module);
  const bsm_compile_options options =
      bsm_compile_options_resolve(module, given);
  bsm_arena conversion, engine;
  bsm_network *net = NULL;
  bsm_plan *plan = NULL;
  bsm_arena_init(&conversion, options.allocator);
  bsm_arena_init(&engine, options.allocator);
  bsm_status status = convert(module, &options, &conversion, &io, &net);
  if (!status) status = build(module, &options, net, &engine, &plan);
  if (!status) {
    status = bsm_engine_adopt(&engine, plan, options.allocator, module->plugins,
                              out);
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

  }
  if (net) bsm_network_release(net);
  bsm_arena_destroy(&conversion);
  bsm_arena_destroy(&engine);
  return bsm_status_note(status, "while compiling %s", module->name);
}
  bsm_method_io io = {0};
  if (!status) status = describe(&io, &engine, plan);
