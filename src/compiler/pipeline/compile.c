/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of the compiler in order: inputs, lowering, dividing, plans. Each
 * stage takes what it needs and returns its result; what reports need goes into
 * the record. */
#include "compiler/pipeline/compile.h"

#include <inttypes.h>

#include "base/deep_stack.h"
#include "base/options.h"
#include "compiler/inputs/model_shapes.h"
#include "compiler/pipeline/build_program.h"
#include "compiler/pipeline/compile_options.h"
#include "compiler/pipeline/divide_graph.h"
#include "compiler/pipeline/engine_metadata.h"
#include "compiler/pipeline/graph_to_plan.h"
#include "compiler/pipeline/place_nodes.h"
#include "compiler/pipeline/plan_regions.h"
#include "compiler/pipeline/program_plan.h"
#include "compiler/pipeline/trace_warnings.h"
#include "compiler/pipeline/variants.h"
#include "conversion/plugin_layers.h"
#include "quantization/calibration.h"
#include "runtime/engine/engine.h"

/* ---- programs ---- */

typedef BSM_VEC(const bsm_node *) node_vec;

/* Checks that nodes outside of segments can be called. `none`: no node may be
 * called, so regions must have all of them. */
static bsm_status check_calls(const bsm_compilation *c,
                              const bsm_divided_graph *divided,
                              const bsm_region_nodes *regions, bool none) {
  node_vec calls = {0};
  for (size_t i = 0; i < divided->nodes.len; i++) {
    const bsm_node *node = divided->nodes.items[i];
    if (!bsm_program_calls_node(node)) continue;
    if (none && bsm_is_in_region(regions, node)) continue;
    BSM_TRY_ALLOC(bsm_vec_push(c->arena, &calls, node));
  }
  BSM_TRY(bsm_check_calls(c->module->aten, calls.items, calls.len, none));
  if (none || !calls.len) return BSM_OK;
  bsm_log(c->options->logger, BSM_LOG_LEVEL_INFO,
          "what the model computes depends on data or on shapes that range: "
          "%zu nodes run in a program",
          calls.len);
  return BSM_OK;
}

/* What is known of the dims of each output that is a tensor. */
static bsm_status known_dims(const bsm_lowered *lowered, bsm_arena *arena,
                             const bsm_dims **out) {
  const size_t n = lowered->graph->block->returns->inputs.len;
  bsm_dims *dims = BSM_NEW_ARRAY(arena, bsm_dims, n + 1);
  BSM_TRY_ALLOC(dims);
  for (size_t i = 0; i < lowered->leaf_count; i++) {
    const bsm_lowered_leaf *leaf = &lowered->leaves[i];
    if (leaf->is_output) dims[leaf->output] = leaf->dims;
  }
  *out = dims;
  return BSM_OK;
}

typedef struct segment_compiler {
  const bsm_compilation *c;
  bsm_conversion_record record;
} segment_compiler;

static bsm_status compile_segment(void *user, const bsm_graph *graph,
                                  bsm_arena *arena, bsm_plan **out) {
  segment_compiler *s = user;
  return bsm_graph_to_plan(s->c, graph, NULL, &s->record, arena, out);
}

static bsm_status build_program(const bsm_compilation *c,
                                const bsm_lowered *lowered,
                                const bsm_method_io *io,
                                const bsm_divided_graph *divided,
                                bsm_compilation_record *record,
                                bsm_arena *arena, bsm_plan **out,
                                bsm_program_map *map) {
  segment_compiler segments = {c, {&record->nodes, true}};
  bsm_program_source source = {.graph = lowered->graph,
                               .partition = &divided->partition,
                               .input_names = io->input_names,
                               .output_names = io->output_names,
                               .input_ranges = lowered->input_ranges,
                               .value_count = bsm_count_values(lowered),
                               .compile_segment = compile_segment,
                               .user = &segments};
  BSM_TRY(known_dims(lowered, c->arena, &source.output_dims));
  return bsm_build_program(&source, c->arena, arena, out, map);
}

/* Forms regions of the program and makes their first plans. *whole: these plans
 * are also the program's variants. The nodes of regions are recorded even when
 * a region cannot be planned. */
static bsm_status plan_regions(const bsm_compilation *c,
                               const bsm_divided_graph *divided,
                               const bsm_program_map *map,
                               bsm_compilation_record *record, bsm_arena *arena,
                               bsm_plan *plan, bsm_region_nodes *out,
                               bool *whole) {
  const bsm_compile_options *o = c->options;
  const bsm_region_options options = {
      .aten = c->module->aten,
      .building = bsm_building_options(c),
      .require_full_compilation = o->require_full_compilation,
      .alone = map->alone,
      .allocator = c->arena->allocator,
      .least = o->min_block_size,
      .optimal = &record->optimal};
  bool *in_region;
  bsm_status status = bsm_plan_regions(plan, &options, arena, whole);
  if (bsm_status_code(status) == BSM_OUT_OF_MEMORY) return status;
  bsm_status placed = bsm_region_registers(plan->program, c->arena, &in_region);
  if (!placed) {
    *out = (bsm_region_nodes){&map->registers, in_region};
    placed = bsm_place_calls(c, divided, out, &record->nodes);
  }
  return bsm_status_join(status, placed);
}

static bsm_status compile_program(const bsm_compilation *c,
                                  const bsm_lowered *lowered,
                                  const bsm_method_io *io,
                                  const bsm_divided_graph *divided,
                                  bsm_compilation_record *record,
                                  bsm_arena *arena, bsm_plan **out) {
  bsm_program_map map;
  bsm_region_nodes regions = {0};
  bsm_variant_list *variants = BSM_NEW(c->arena, bsm_variant_list);
  bool whole = false;
  BSM_TRY_ALLOC(variants);
  BSM_TRY(check_calls(c, divided, &regions, false));
  BSM_TRY(build_program(c, lowered, io, divided, record, arena, out, &map));
  BSM_TRY(bsm_program_set_precision(*out, c->precision, arena));
  if (divided->forms_regions) {
    BSM_TRY(
        plan_regions(c, divided, &map, record, arena, *out, &regions, &whole));
  }
  if (c->options->require_full_compilation) {
    BSM_TRY(check_calls(c, divided, &regions, true));
  }
  BSM_TRY(bsm_lower_variants(c, lowered, variants));
  if (!whole) {
    BSM_TRY(bsm_compile_variants(c, variants, &record->optimal, arena, *out));
  }
  BSM_TRY(bsm_warn_of_shapes(c->module, c->options, lowered,
                             &variants->findings, record));
  if (!(*out)->metadata_count) {
    BSM_TRY(bsm_set_metadata(c->module, c->options, c->target, arena, *out));
  }
  /* The engine opens the device of this target, and makes plans for it. */
  (*out)->target = bsm_arena_strdup(arena, c->target->text);
  BSM_TRY_ALLOC((*out)->target);
  return bsm_program_share_weights(*out, c->arena);
}

/* ---- all stages ---- */

static bsm_status compile_plan(const bsm_compilation *c,
                               const bsm_lowered *lowered,
                               bsm_compilation_record *record, bsm_arena *arena,
                               bsm_plan **out) {
  bsm_conversion_record converted = {.nodes = &record->nodes};
  return bsm_graph_to_plan(c, lowered->graph, lowered->input_names, &converted,
                           arena, out);
}

static bsm_status make_registry(bsm_module *module,
                                const bsm_compile_options *options,
                                bsm_arena *arena,
                                bsm_converter_registry **out) {
  BSM_TRY(bsm_converter_registry_create(arena, module->cx->types,
                                        options->logger, out));
  BSM_TRY(bsm_plugin_register(*out, arena, module->plugins));
  return options->pattern_count
             ? bsm_register_conversion_patterns(*out, options->patterns,
                                                options->pattern_count)
             : BSM_OK;
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

/* Refuses a calibration that cannot be followed, before anything is done. */
static bsm_status check_calibration(const bsm_module *module,
                                    const bsm_compile_options *options) {
  const bsm_calibration *calibration = options->calibration;
  if (!calibration) return BSM_OK;
  if (!(options->precisions & (BSM_PRECISION_INT8 | BSM_PRECISION_FP8))) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "there is a calibration, but precisions do not allow int8 "
                    "or fp8");
  }
  if (calibration->model && calibration->model != bsm_module_hash(module)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the calibration is of another model: of the file with the "
                    "hash %016" PRIx64 ", not %016" PRIx64,
                    calibration->model, bsm_module_hash(module));
  }
  return BSM_OK;
}

bsm_status bsm_ready_compilation(bsm_module *module,
                                 const bsm_compile_options *given,
                                 bsm_compilation_record *record,
                                 bsm_ready *out) {
  bsm_arena *arena = &record->arena;
  bsm_compile_options *options = &out->options;
  bsm_compilation *c = &out->c;
  *options = *given;
  *c = (bsm_compilation){.module = module, .options = options, .arena = arena};
  module->doing = "lowering";
  BSM_TRY(check_calibration(module, options));
  BSM_TRY(bsm_check_user_metadata(options));
  out->lowered = BSM_NEW(arena, bsm_lowered);
  BSM_TRY_ALLOC(out->lowered);
  BSM_TRY(bsm_find_target(options, arena, &c->target));
  BSM_TRY(bsm_complete_specs(module, arena, options));
  bsm_fallback_rules *rules;
  BSM_TRY(bsm_fallback_rules_create(module, options, arena, &rules));
  c->rules = rules;
  BSM_TRY(bsm_precision_policy_of(module, options, arena, &c->precision));
  BSM_TRY(bsm_note_trace(
      module, options,
      bsm_lower_method(module, options, c->target, out->lowered, &out->io)));
  BSM_TRY(bsm_warn_of_trace(module, options, record));
  BSM_TRY(bsm_fallback_rules_check(rules, out->lowered->graph, record));
  BSM_TRY(make_registry(module, options, arena, &c->registry));
  BSM_TRY(bsm_divide_graph(c, out->lowered, &out->divided));
  BSM_TRY(bsm_place_expected(c, &out->divided, &record->nodes));
  record->lowered = out->lowered;
  module->doing = "planning";
  return BSM_OK;
}

/* Constants that were too large are computed in each run. They may not make an
 * engine of a model of few bytes take any amount of memory. */
static bsm_status bound_what_was_left(const bsm_module *module,
                                      const bsm_plan *plan,
                                      bsm_compilation_record *record) {
  if (!module->cx->work.too_large) return BSM_OK;
  const bsm_plan *part;
  for (uint32_t k = 0; (part = bsm_plan_part(plan, k)); k++) {
    for (int space = 0; space < BSM_MEMORY_SPACES; space++) {
      const uint64_t bytes = part->workspace_size[space];
      if (bytes / BSM_LEFT_TIMES < module->max_memory) continue;
      return BSM_FAIL(BSM_LIMIT,
                      "constants are too large to be kept, and with them the "
                      "engine takes %" PRIu64
                      " bytes: raise max_memory_bytes "
                      "of the limits (--max-memory, max_memory)",
                      bytes);
    }
  }
  return bsm_record_warning(
      record,
      "constants are left to the engine: with them compiling takes more than "
      "max_memory_bytes of the limits (--max-memory, max_memory), %zu",
      module->max_memory);
}

/* What is computed in each run although it is constant. */
static bsm_status warn_of_work(const bsm_module *module,
                               bsm_compilation_record *record) {
  const bsm_work_budget *work = &module->cx->work;
  bsm_log(record->logger, BSM_LOG_LEVEL_INFO,
          "what is constant took %.0f multiply-adds and visits of elements, of "
          "max_work %.0f",
          work->limit - work->left, work->limit);
  if (!work->refusals) return BSM_OK;
  return bsm_record_warning(
      record,
      "constants are left to the engine: to compute them takes more than "
      "max_work of the limits (--max-work, max_work), %.0f",
      work->limit);
}

static bsm_status compile_stages(bsm_module *module,
                                 const bsm_compile_options *given,
                                 const bsm_plan *refit, bsm_arena *engine,
                                 bsm_compilation_record *record,
                                 bsm_plan **plan) {
  bsm_ready ready;
  const bsm_compilation *c = &ready.c;
  BSM_TRY(bsm_ready_compilation(module, given, record, &ready));
  ready.c.refit = refit;
  if (c->options->calibration && !ready.divided.is_plan) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "int8 by a calibration takes shapes that are fixed, and a "
                    "model that does not branch on data");
  }
  BSM_TRY(ready.divided.is_plan
              ? compile_plan(c, ready.lowered, record, engine, plan)
              : compile_program(c, ready.lowered, &ready.io, &ready.divided,
                                record, engine, plan));
  BSM_TRY(warn_of_work(module, record));
  BSM_TRY(bound_what_was_left(module, *plan, record));
  BSM_TRY(
      bsm_precision_policy_check(c->precision, module, c->options, c->arena));
  if (c->target->ops->add_code) {
    BSM_TRY(bsm_progress_report(module->cx->progress, "kernels", 0, 0));
    BSM_TRY(
        c->target->ops->add_code(c->target, *plan, engine, c->options->logger));
  }
  return describe(&ready.io, engine, *plan);
}

static bsm_status compile_to_plan(bsm_module *module,
                                  const bsm_compile_options *options,
                                  const bsm_plan *refit, bsm_arena *arena,
                                  bsm_compilation_record *record,
                                  bsm_plan **out) {
  bsm_plan *plan = NULL;
  bsm_progress progress = {.report = options->progress,
                           .user = options->progress_user};
  module->cx->progress = &progress;
  bsm_status status =
      compile_stages(module, options, refit, arena, record, &plan);
  module->cx->progress = NULL;
  BSM_TRY(status);
  record->plan = *out = plan;
  return BSM_OK;
}

bsm_status bsm_compile_plan(bsm_module *module,
                            const bsm_compile_options *options,
                            bsm_arena *arena, bsm_compilation_record *record,
                            bsm_plan **out) {
  return compile_to_plan(module, options, NULL, arena, record, out);
}

static bsm_status compile_module(bsm_module *module,
                                 const bsm_compile_options *given,
                                 const bsm_plan *refit, bsm_engine **out) {
  bsm_compile_options options;
  BSM_TRY(bsm_compile_options_resolve(module, given, &options));
  bsm_compilation_record record;
  bsm_arena engine;
  bsm_plan *plan = NULL;
  bsm_arena_init(&engine, options.allocator);
  bsm_arena_set_guard(&engine, &module->guard);
  bsm_compilation_record_init(&record, &module->guard.allocator,
                              options.logger);
  bsm_status status =
      compile_to_plan(module, &options, refit, &engine, &record, &plan);
  bsm_compilation_record_destroy(&record);
  if (!status) {
    module->doing = "making an engine of";
    status = bsm_engine_adopt(&engine, plan, options.allocator, module->plugins,
                              out);
  }
  bsm_arena_destroy(&engine);
  return bsm_status_note(bsm_module_status(module, status),
                         "while compiling %s", module->name);
}

typedef struct request {
  bsm_module *module;
  const bsm_compile_options *options;
  const bsm_plan *refit;
  bsm_engine **out;
} request;

static bsm_status compile_deeply(void *argument) {
  const request *r = argument;
  return compile_module(r->module, r->options, r->refit, r->out);
}

bsm_status bsm_compile(bsm_module *module, const bsm_compile_options *options,
                       bsm_engine **out) {
  return bsm_compile_like(module, options, NULL, out);
}

bsm_status bsm_compile_like(bsm_module *module,
                            const bsm_compile_options *options,
                            const bsm_plan *refit, bsm_engine **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(module);
  request r = {module, options, refit, out};
  bsm_module_lock(module);
  bsm_status status = bsm_call_deeply(compile_deeply, &r);
  bsm_module_unlock(module);
  return status;
}
