/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of operators: those that are known, and how the operators of a model
 * run. */
#include <string.h>

#include "base/allocate.h"
#include "base/deep_stack.h"
#include "base/options.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/compile_options.h"
#include "conversion/convert.h"
#include "conversion/plugin_layers.h"
#include "network/layer.h"
#include "plugin/plugin_op.h"
#include "quantized/quantized_form.h"
#include "quantized/quantized_library.h"
#include "runtime/engine/engine.h"

/* Its items and their texts lie in one arena. */
struct bsm_operator_list {
  const char *failure;
  bsm_arena arena;
  BSM_VEC(bsm_operator_info) items;
  bsm_strmap index; /* qualified name -> item number + 1 */
  /* Of a model: the places of each item, and which ones it has. */
  BSM_VEC(bsm_text) places;
  bsm_strmap has_place; /* "item place" -> itself */
};

static bsm_status new_list(bsm_operator_list **out) {
  bsm_operator_list *owner = bsm_allocate(NULL, sizeof(*owner), 64);
  BSM_TRY_ALLOC(owner);
  memset(owner, 0, sizeof(*owner));
  bsm_arena_init(&owner->arena, NULL);
  *out = owner;
  return BSM_OK;
}

void bsm_operator_list_free(bsm_operator_list *list) {
  if (!list) return;
  bsm_arena_destroy(&list->arena);
  bsm_deallocate(NULL, list);
}

size_t bsm_operator_list_count(const bsm_operator_list *list) {
  return list ? list->items.len : 0;
}

bsm_status bsm_operator_list_get(const bsm_operator_list *list, size_t index,
                                 bsm_operator_info *out) {
  BSM_NEED(list);
  if (index >= list->items.len) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "operator %zu of a list of %zu", index,
                    list->items.len);
  }
  return BSM_OUT(bsm_operator_info, out, list->items.items[index]);
}

const char *bsm_operator_list_failure(const bsm_operator_list *list) {
  return list ? list->failure : NULL;
}

/* The item of `key`, new when there is none. */
static bsm_status find_item(bsm_operator_list *owner, bsm_str key,
                            const char *schema, bsm_operator_info **out) {
  uintptr_t at = (uintptr_t)bsm_strmap_get(&owner->index, key);
  if (!at) {
    bsm_operator_info info = {
        .source = "", .runs = "", .limits = "", .places = "", .why = ""};
    info.schema = bsm_arena_strdup(&owner->arena, schema);
    BSM_TRY_ALLOC(info.schema);
    BSM_TRY_ALLOC(bsm_vec_push(&owner->arena, &owner->items, info));
    at = owner->items.len;
    BSM_TRY_ALLOC(
        bsm_strmap_set(&owner->arena, &owner->index, key, (void *)at));
  }
  *out = &owner->items.items[at - 1];
  return BSM_OK;
}

static bsm_str name_of_schema(const char *schema) {
  return (bsm_str){schema, strcspn(schema, "(")};
}

static bsm_status finish(bsm_operator_list *owner, bsm_status status,
                         bsm_operator_list **out) {
  if (status) {
    bsm_operator_list_free(owner);
    return status;
  }
  *out = owner;
  return BSM_OK;
}

/* ---- how operators run ---- */

static bool has_tensor(const bsm_type *type) {
  if (type->kind == BSM_TYPE_TENSOR) return true;
  for (size_t i = 0; i < type->arg_count; i++) {
    if (has_tensor(type->args[i])) return true;
  }
  return false;
}

/* Whether a result is a tensor, or may be one. */
static bsm_status gives_tensors(bsm_ir_ctx *cx, bsm_str name, bool *out) {
  const bsm_schema *schema;
  *out = false;
  BSM_TRY(bsm_schema_table_find(cx->schemas, name, &schema));
  for (size_t i = 0; schema && i < schema->return_count; i++) {
    *out = *out || has_tensor(schema->returns[i].type);
  }
  return BSM_OK;
}

static bsm_status add_limit(bsm_operator_list *owner, bsm_operator_info *item,
                            const char *text) {
  item->limits = item->limits[0] ? bsm_arena_printf(&owner->arena, "%s\n%s",
                                                    item->limits, text)
                                 : bsm_arena_strdup(&owner->arena, text);
  BSM_TRY_ALLOC(item->limits);
  return BSM_OK;
}

/* Whether lowering replaces it by the form that it has on quantized tensors. */
static bool is_lowered(const char *qualified) {
  const bsm_q_form *form = bsm_q_find(qualified);
  return form && form->kind == BSM_Q_OP;
}

/* Fills in `runs` and `limits` of an operator whose `has_` fields are set. */
static bsm_status describe_run(bsm_operator_list *owner, bsm_ir_ctx *cx,
                               const bsm_aten_library *aten,
                               const bsm_plugin_registry *plugins,
                               bsm_operator_info *item) {
  const bsm_str name = name_of_schema(item->schema);
  const char *qualified = bsm_arena_strndup(&owner->arena, name.data, name.len);
  const bsm_aten_op *op = bsm_aten_find(aten, name);
  const char *refusal = op ? bsm_op_refusal(op) : NULL;
  bool tensors;
  BSM_TRY_ALLOC(qualified);
  BSM_TRY(gives_tensors(cx, name, &tensors));
  if (bsm_plugin_layer_runs(plugins, name)) {
    item->runs = "plugin";
    item->has_reference = false; /* but while compiling */
  } else if (item->has_converter) {
    const char *limit;
    item->runs = "layers";
    for (size_t i = 0; (limit = bsm_converter_limit(qualified, i)); i++) {
      BSM_TRY(add_limit(owner, item, limit));
    }
  } else if (item->has_evaluator) {
    item->runs = "evaluator";
  } else if (op && ((op->flags & (BSM_ATEN_INPLACE | BSM_ATEN_EFFECT)) ||
                    is_lowered(qualified))) {
    item->runs = "lowering";
  } else if (refusal) {
    item->runs = "refused";
    BSM_TRY(add_limit(owner, item, refusal));
  } else {
    item->runs = tensors ? "reference" : "evaluator";
  }
  return BSM_OK;
}

/* ---- the built-in tables ---- */

static bsm_status list_built_in(bsm_operator_list *owner,
                                const bsm_plugin_registry *plugins,
                                bsm_arena *scratch) {
  bsm_ir_ctx *cx;
  bsm_aten_library *aten;
  bsm_converter_registry *registry;
  bsm_operator_info *item;
  BSM_TRY(bsm_ir_ctx_create(scratch, NULL, NULL, &cx));
  BSM_TRY(bsm_aten_library_create(scratch, &aten));
  BSM_TRY(bsm_quantized_add_ops(scratch, aten));
  BSM_TRY(bsm_plugin_add_ops(scratch, aten, plugins));
  BSM_TRY(bsm_plugin_declare(cx, plugins));
  BSM_TRY(bsm_converter_registry_create(scratch, cx->types, NULL, &registry));
  BSM_TRY(bsm_plugin_register(registry, scratch, plugins));
  for (size_t i = 0; i < bsm_registry_converter_count(registry); i++) {
    const char *schema = bsm_registry_converter_schema(registry, i);
    BSM_TRY(find_item(owner, name_of_schema(schema), schema, &item));
    item->has_converter = true;
  }
  for (size_t i = 0; i < bsm_registry_evaluator_count(registry); i++) {
    const char *name = bsm_registry_evaluator_name(registry, i);
    const bsm_schema *schema = NULL;
    BSM_TRY(bsm_schema_table_find(cx->schemas, bsm_str_of(name), &schema));
    BSM_TRY(find_item(owner, bsm_str_of(name), schema ? schema->text : name,
                      &item));
    item->has_evaluator = true;
  }
  for (size_t i = 0; i < bsm_aten_library_count(aten); i++) {
    bsm_schema_text room;
    const char *schema = bsm_aten_schema(bsm_aten_library_at(aten, i), &room);
    BSM_TRY(find_item(owner, name_of_schema(schema), schema, &item));
    item->has_reference = true;
  }
  for (size_t i = 0; i < owner->items.len; i++) {
    BSM_TRY(describe_run(owner, cx, aten, plugins, &owner->items.items[i]));
  }
  return BSM_OK;
}

bsm_status bsm_operators(bsm_operator_list **out) {
  return bsm_operators_with(NULL, out);
}

bsm_status bsm_operators_with(const bsm_plugin_registry *plugins,
                              bsm_operator_list **out) {
  BSM_NEED(out);
  *out = NULL;
  bsm_operator_list *owner;
  bsm_arena scratch;
  BSM_TRY(new_list(&owner));
  bsm_arena_init(&scratch, NULL);
  bsm_status status = list_built_in(owner, plugins, &scratch);
  bsm_arena_destroy(&scratch);
  return finish(owner, status, out);
}

/* ---- a model ---- */

/* Notes a place of an item; *out is the kept text of that place. */
static bsm_status add_place(bsm_operator_list *owner, size_t item,
                            const bsm_source *source, const char **out) {
  bsm_text text;
  while (owner->places.len <= item) {
    bsm_text_init(&text, &owner->arena);
    BSM_TRY_ALLOC(bsm_vec_push(&owner->arena, &owner->places, text));
  }
  bsm_text_init(&text, &owner->arena);
  bsm_text_printf(&text, "%zu ", item);
  const size_t start = text.len;
  bsm_source_print(&text, source);
  if (text.failed) return BSM_FAIL_OOM();
  *out = text.data + start;
  const bsm_str key = {text.data, text.len};
  if (text.len == start || bsm_strmap_get(&owner->has_place, key)) {
    return BSM_OK;
  }
  bsm_text *places = &owner->places.items[item];
  bsm_text_printf(places, "%s%s", places->len ? "\n" : "", *out);
  if (places->failed ||
      !bsm_strmap_set(&owner->arena, &owner->has_place, key, owner)) {
    return BSM_FAIL_OOM();
  }
  return BSM_OK;
}

static void count_run(bsm_operator_info *item, bsm_node_run run) {
  item->count++;
  item->layer_nodes += run == BSM_RUN_LAYERS;
  item->evaluated_nodes += run == BSM_RUN_EVALUATED;
  item->reference_nodes += run == BSM_RUN_REFERENCE;
  item->unsupported_nodes += run == BSM_RUN_UNSUPPORTED;
  item->planned_nodes += run == BSM_RUN_PLANNED;
  item->called_nodes += run == BSM_RUN_CALL;
  item->program_nodes += run == BSM_RUN_CONTROL;
}

static bsm_status add_node(bsm_operator_list *owner,
                           const bsm_aten_library *aten,
                           const bsm_node_placement *node,
                           bsm_operator_info **out) {
  bsm_operator_info *item;
  const char *place;
  BSM_TRY(find_item(owner, bsm_str_of(node->name), node->schema, &item));
  const size_t index = (size_t)(item - owner->items.items);
  BSM_TRY(add_place(owner, index, &node->source, &place));
  if (!item->source[0]) item->source = place;
  item->places = owner->places.items[index].data;
  item->has_converter = item->has_converter || node->run == BSM_RUN_LAYERS;
  item->has_evaluator = item->has_evaluator || node->run == BSM_RUN_EVALUATED;
  item->has_reference = bsm_aten_find(aten, bsm_str_of(node->name)) != NULL;
  if (node->why && !item->why[0]) {
    item->why =
        bsm_arena_strndup(&owner->arena, node->why, strcspn(node->why, "\n"));
    BSM_TRY_ALLOC(item->why);
  }
  *out = item;
  return BSM_OK;
}

/* Adds what the record says of all nodes. */
static bsm_status add_record(bsm_operator_list *owner,
                             const bsm_aten_library *aten,
                             const bsm_compilation_record *record) {
  bsm_operator_info *item;
  for (size_t i = 0; i < record->nodes.items.len; i++) {
    const bsm_node_placement *node = &record->nodes.items.items[i];
    BSM_TRY(add_node(owner, aten, node, &item));
    count_run(item, node->run);
  }
  for (size_t i = 0; i < record->optimal.items.len; i++) {
    const bsm_node_placement *node = &record->optimal.items.items[i];
    /* Nodes that are evaluated for one shape are not listed besides the
     * program's. */
    if (node->run == BSM_RUN_EVALUATED) continue;
    BSM_TRY(add_node(owner, aten, node, &item));
    item->optimal_layer_nodes += node->run == BSM_RUN_LAYERS;
    item->optimal_reference_nodes += node->run == BSM_RUN_REFERENCE;
  }
  return BSM_OK;
}

/* How an operator runs in this model. When its nodes run in several ways, the
 * slowest counts. */
static bsm_status describe_run_in_model(bsm_operator_list *owner,
                                        const bsm_module *module,
                                        bsm_operator_info *item) {
  BSM_TRY(describe_run(owner, module->cx, module->aten, module->plugins, item));
  const bool plugin = strcmp(item->runs, "plugin") == 0;
  const bool layers = item->layer_nodes || item->optimal_layer_nodes;
  if (item->unsupported_nodes) {
    item->runs = "refused";
  } else if (item->reference_nodes) {
    item->runs = "reference";
  } else if (item->called_nodes) {
    item->runs = "call";
  } else if (item->program_nodes) {
    item->runs = "program";
  } else if (item->planned_nodes) {
    item->runs = "planned";
  } else if (layers) {
    item->runs = plugin ? "plugin" : "layers";
  } else {
    item->runs = item->optimal_reference_nodes ? "reference" : "evaluator";
  }
  return BSM_OK;
}

/* Compiles as bsm_compile does; the result is discarded. */
static bsm_status make_engine(bsm_module *module,
                              const bsm_compile_options *options,
                              bsm_compilation_record *record) {
  bsm_arena arena;
  bsm_plan *plan;
  bsm_engine *engine = NULL;
  bsm_arena_init(&arena, options->allocator);
  bsm_arena_set_guard(&arena, &module->guard);
  bsm_status status = bsm_compile_plan(module, options, &arena, record, &plan);
  if (!status) {
    status = bsm_engine_adopt(&arena, plan, options->allocator, module->plugins,
                              &engine);
  }
  bsm_engine_destroy(engine);
  bsm_arena_destroy(&arena);
  return status;
}

/* Makes the list from the record of a compilation, with the reason when that
 * failed. */
static bsm_status list_record(const bsm_module *module,
                              const bsm_compilation_record *record,
                              bsm_status status, bsm_operator_list *owner) {
  if (status &&
      (!record->lowered || bsm_status_code(status) == BSM_OUT_OF_MEMORY)) {
    return status;
  }
  if (status) {
    owner->failure =
        bsm_arena_strdup(&owner->arena, bsm_status_message(status));
    bsm_status_free(status);
    BSM_TRY_ALLOC(owner->failure);
  }
  BSM_TRY(add_record(owner, module->aten, record));
  for (size_t i = 0; i < owner->items.len; i++) {
    BSM_TRY(describe_run_in_model(owner, module, &owner->items.items[i]));
  }
  return BSM_OK;
}

static bsm_status list_model(bsm_module *module,
                             const bsm_compile_options *options,
                             bsm_operator_list *owner) {
  bsm_compilation_record record;
  bsm_compilation_record_init(&record, &module->guard.allocator,
                              options->logger);
  bsm_status status = list_record(module, &record,
                                  make_engine(module, options, &record), owner);
  bsm_compilation_record_destroy(&record);
  return status;
}

static bsm_status list_operators(bsm_module *module,
                                 const bsm_compile_options *given,
                                 bsm_operator_list **out) {
  bsm_compile_options options;
  BSM_TRY(bsm_compile_options_resolve(module, given, &options));
  options.no_timing = true;
  options.timing_cache = NULL;
  bsm_operator_list *owner;
  BSM_TRY(new_list(&owner));
  bsm_status status =
      bsm_module_status(module, list_model(module, &options, owner));
  return bsm_status_note(finish(owner, status, out), "while reading %s",
                         module->name);
}

typedef struct request {
  bsm_module *module;
  const bsm_compile_options *options;
  bsm_operator_list **out;
} request;

static bsm_status list_deeply(void *argument) {
  const request *r = argument;
  return list_operators(r->module, r->options, r->out);
}

bsm_status bsm_module_operators(bsm_module *module,
                                const bsm_compile_options *options,
                                bsm_operator_list **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(module);
  request r = {module, options, out};
  bsm_module_lock(module);
  bsm_status status = bsm_call_deeply(list_deeply, &r);
  bsm_module_unlock(module);
  return status;
}
