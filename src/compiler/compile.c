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
#include "compiler/compile_program.h"
#include "compiler/module_internal.h"
#include "compiler/variant_shapes.h"
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

/* A number that the run computes as a tensor of rank 0; other values stay. */
static bsm_status as_tensor(bsm_graph *graph, bsm_value **value) {
  const bsm_type_kind kind =
      (*value)->type ? (*value)->type->kind : BSM_TYPE_ANY;
  const bsm_dtype dtype = kind == BSM_TYPE_INT     ? BSM_DTYPE_INT64
                          : kind == BSM_TYPE_FLOAT ? BSM_DTYPE_DOUBLE
                          : kind == BSM_TYPE_BOOL  ? BSM_DTYPE_BOOL
                                                   : BSM_DTYPE_UNDEFINED;
  const bsm_dims scalar = {0};
  const bsm_schema *schema;
  bsm_node *node;
  if (dtype == BSM_DTYPE_UNDEFINED) return BSM_OK;
  BSM_TRY(bsm_schema_table_find(graph->cx->schemas,
                                kind == BSM_TYPE_BOOL
                                    ? BSM_STR("prim::NumToTensor.bool")
                                    : BSM_STR("prim::NumToTensor.Scalar"),
                                &schema));
  if (!schema) return BSM_FAIL(BSM_INTERNAL, "no schema of prim::NumToTensor");
  BSM_TRY(bsm_node_create_schema(graph, schema, &node));
  BSM_TRY(bsm_node_add_input(node, *value));
  bsm_node_append(graph->block, node);
  *value = bsm_node_out(node, 0);
  (*value)->type = bsm_type_tensor(graph->cx->types, dtype, scalar);
  BSM_TRY_ALLOC((*value)->type);
  return BSM_OK;
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
      BSM_TRY(as_tensor(graph, &values[count]));
    } else {
      bsm_tensor *tensor;
      bsm_node *constant;
      BSM_TRY(number_tensor(arena, &leaf->constant, &tensor));
      if (!tensor) continue;
      const bsm_type *type =
          bsm_type_tensor(graph->cx->types, tensor->dtype, tensor->sizes);
      BSM_TRY_ALLOC(type);
      BSM_TRY(bsm_node_create_constant(graph, bsm_iv_tensor(tensor), type,
                                       &constant));
      bsm_node_append(graph->block, constant);
      values[count] = bsm_node_out(constant, 0);
    }
    leaf->is_output = true;
    leaf->output = count++;
  }
  if (!count) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "the result holds no tensor and no number: there is "
                    "nothing for an engine to compute");
  }
  for (size_t i = old_count; i-- > 0;) bsm_node_remove_input(returns, i);
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(bsm_block_add_output(graph->block, values[i]));
  }
  return BSM_OK;
}

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

bsm_status bsm_lower_method(bsm_module *module,
                            const bsm_compile_options *options,
                            bsm_lowered *out, bsm_method_io *io) {
  bsm_method method;
  bsm_lowering_input *inputs;
  bsm_method_io own;
  if (!io) io = &own;
  BSM_TRY(bsm_module_find_method(module, options->method, &method));
  BSM_TRY(bsm_method_inputs(module, &method, options->inputs,
                            options->input_count, &module->arena, &inputs));
  BSM_TRY(bsm_describe_inputs(&module->arena, &method, inputs, io));
  bsm_compile_options dump = *options;
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
  BSM_TRY(bsm_describe_outputs(&module->arena, out, io));
  out->input_names = io->input_names;
  return bsm_graph_verify(out->graph);
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

/* What the stages of one compilation share. */
typedef struct compilation {
  bsm_module *module;
  const bsm_compile_options *options;
  bsm_arena arena; /* until the engine is made */
  bsm_converter_registry *registry;
  bsm_lowered lowered;
  bsm_method_io io;
} compilation;

static bsm_status make_registry(compilation *c) {
  const bsm_compile_options *options = c->options;
  BSM_TRY(bsm_converter_registry_create(&c->arena, c->module->cx->types,
                                        options->logger, &c->registry));
  BSM_TRY(bsm_plugin_register(c->registry, &c->arena, c->module->plugins));
  return options->pattern_count
             ? bsm_register_conversion_patterns(c->registry, options->patterns,
                                                options->pattern_count)
             : BSM_OK;
}

static bsm_status convert(compilation *c, const bsm_graph *graph,
                          const char *const *input_names, bsm_network **out) {
  const bsm_compile_options *options = c->options;
  const bsm_convert_options converting = {
      .input_names = input_names,
      .require_full_compilation = options->require_full_compilation};
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

/* A graph of fixed shapes: network, then plan. */
static bsm_status compile_graph(compilation *c, const bsm_graph *graph,
                                const char *const *input_names,
                                bsm_arena *arena, bsm_plan **out) {
  bsm_network *net;
  BSM_TRY(convert(c, graph, input_names, &net));
  bsm_status status = build(c->module, c->options, net, arena, out);
  bsm_network_release(net);
  return status;
}

static bsm_status compile_segment(void *user, const bsm_graph *graph,
                                  bsm_arena *arena, bsm_plan **out) {
  return compile_graph(user, graph, NULL, arena, out);
}

static bool can_compile(void *user, const bsm_node *node) {
  const compilation *c = user;
  return bsm_node_is_convertible(c->module->aten, c->registry, node);
}

/* A plan for one shape, run instead of the program when the inputs have it. */
static bsm_status add_variant(compilation *c, const bsm_input_spec *inputs,
                              bool optimal, bsm_arena *arena, bsm_plan *plan) {
  bsm_compile_options options = *c->options;
  options.inputs = inputs;
  options.dump = NULL;
  options.no_timing = options.no_timing || !optimal;
  compilation own = *c;
  own.options = &options;
  const bsm_partition_options partition = {
      .aten = c->module->aten, .can_compile = can_compile, .user = &own};
  bsm_plan *variant;
  BSM_TRY(bsm_lower_method(c->module, &options, &own.lowered, &own.io));
  if (!bsm_is_one_segment(own.lowered.graph, &partition)) return BSM_OK;
  bsm_status status =
      compile_graph(&own, own.lowered.graph, NULL, arena, &variant);
  c->arena = own.arena;
  BSM_TRY(status);
  return bsm_program_add_variant(plan, variant, arena);
}

static bsm_status add_variants(compilation *c, bsm_arena *arena,
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
  return BSM_OK;
}

/* What is not of fixed shapes runs as a program. */
static bsm_status compile_lowered(compilation *c, bsm_arena *arena,
                                  bsm_plan **out) {
  const bsm_graph *graph = c->lowered.graph;
  const bsm_partition_options partition = {
      .aten = c->module->aten, .can_compile = can_compile, .user = c};
  const bsm_program_source source = {.input_names = c->io.input_names,
                                     .output_names = c->io.output_names,
                                     .input_ranges = c->lowered.input_ranges,
                                     .compile_segment = compile_segment,
                                     .user = c};
  const bsm_node *const *calls;
  size_t count;
  if (bsm_is_one_segment(graph, &partition)) {
    return compile_graph(c, graph, c->lowered.input_names, arena, out);
  }
  BSM_TRY(bsm_program_calls(graph, &partition, &c->arena, &calls, &count));
  BSM_TRY(bsm_check_calls(c->module->aten, calls, count,
                          c->options->require_full_compilation));
  bsm_log(c->options->logger, BSM_LOG_LEVEL_INFO,
          "what the model computes depends on data: %zu nodes run by the "
          "reference library",
          count);
  BSM_TRY(
      bsm_compile_program(graph, &partition, &source, &c->arena, arena, out));
  BSM_TRY(add_variants(c, arena, *out));
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

bsm_status bsm_compile(bsm_module *module, const bsm_compile_options *given,
                       bsm_engine **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(module);
  const bsm_compile_options options =
      bsm_compile_options_resolve(module, given);
  compilation c = {.module = module, .options = &options};
  bsm_arena engine;
  bsm_plan *plan = NULL;
  bsm_arena_init(&c.arena, options.allocator);
  bsm_arena_init(&engine, options.allocator);
  bsm_status status = bsm_lower_method(module, &options, &c.lowered, &c.io);
  if (!status) status = make_registry(&c);
  if (!status) status = compile_lowered(&c, &engine, &plan);
  if (!status) status = describe(&c.io, &engine, plan);
  if (!status) {
    status = bsm_engine_adopt(&engine, plan, options.allocator, module->plugins,
                              out);
  }
  bsm_arena_destroy(&c.arena);
  bsm_arena_destroy(&engine);
  return bsm_status_note(status, "while compiling %s", module->name);
}
