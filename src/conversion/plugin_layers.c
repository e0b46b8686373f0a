/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that are layers of plug-ins: one converter serves all of them. */
#include "conversion/plugin_layers.h"

#include "base/near_name.h"
#include "conversion/emit.h"
#include "plugin/call.h"
#include "plugin/plugin_op.h"

/* The row that the registry keeps for an operator. */
typedef struct layer_pattern {
  bsm_conversion_pattern pattern; /* first: an entry points here */
  const bsm_layer_plugin *layer;
} layer_pattern;

/* The arguments of one node, on their way to bytes. */
typedef struct gathered {
  bsm_conversion_ctx *ctx;
  const char *name;
  bsm_itensor *inputs[BSM_PLUGIN_MAX_INPUTS];
  size_t count;
} gathered;

static bsm_status add_input(gathered *g, bsm_itensor *tensor) {
  BSM_TRY(bsm_ctx_take_error(g->ctx));
  if (g->count == BSM_PLUGIN_MAX_INPUTS) {
    return BSM_FAIL(BSM_LIMIT, "more than %d tensors are given to %s",
                    BSM_PLUGIN_MAX_INPUTS, g->name);
  }
  g->inputs[g->count++] = tensor;
  return BSM_OK;
}

/* The tensor of the network that a value is; constants are frozen. NULL when it
 * is not a tensor. */
static bsm_itensor *as_itensor(bsm_conversion_ctx *ctx,
                               const bsm_ivalue *value) {
  if (value->tag == BSM_IVALUE_TENSOR) {
    return bsm_freeze_tensor(ctx, value->u.tensor);
  }
  return value->tag == BSM_IVALUE_CONTAINER ? bsm_container_tensor(value)
                                            : NULL;
}

static bool is_tensor(const bsm_ivalue *value) {
  return value->tag == BSM_IVALUE_TENSOR || value->tag == BSM_IVALUE_CONTAINER;
}

static bsm_status gather_list(gathered *g, const bsm_list *list,
                              bsm_call_arg *out) {
  out->tag = BSM_CALL_TENSOR_LIST;
  out->count = (uint32_t)list->len;
  out->u.input = (uint32_t)g->count;
  for (size_t i = 0; i < list->len; i++) {
    if (!is_tensor(&list->items[i])) {
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "a list of tensors and others is given "
                      "to %s",
                      g->name);
    }
    BSM_TRY(add_input(g, as_itensor(g->ctx, &list->items[i])));
  }
  return BSM_OK;
}

static bsm_status gather(gathered *g, bsm_var var, bsm_call_arg *out) {
  if (var.itensor || is_tensor(var.ivalue)) {
    out->tag = BSM_CALL_TENSOR;
    out->u.input = (uint32_t)g->count;
    return add_input(
        g, var.itensor ? var.itensor : as_itensor(g->ctx, var.ivalue));
  }
  const bsm_list *list =
      var.ivalue->tag == BSM_IVALUE_LIST ? var.ivalue->u.list : NULL;
  if (list && list->len && is_tensor(&list->items[0])) {
    return gather_list(g, list, out);
  }
  bsm_call call;
  bsm_call_init(&call, g->name, 0);
  BSM_TRY(bsm_call_from_ivalues(&call, var.ivalue, 1, g->ctx->impl->arena));
  *out = call.args[0];
  return BSM_OK;
}

static bsm_status convert_layer(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  const bsm_converter_entry *entry =
      bsm_registry_find_converter(ctx->impl->registry, node);
  const bsm_layer_plugin *plugin =
      ((const layer_pattern *)entry->pattern)->layer;
  bsm_arena *arena = ctx->impl->arena;
  gathered g = {.ctx = ctx, .name = plugin->name};
  const void *bytes;
  size_t size;
  bsm_call_arg *items = BSM_NEW_ARRAY(arena, bsm_call_arg, args->count + 1);
  BSM_TRY_ALLOC(items);
  for (size_t i = 0; i < args->count; i++) {
    BSM_TRY(gather(&g, args->items[i], &items[i]));
  }
  BSM_TRY(bsm_call_args_encode(items, args->count, arena, &bytes, &size));
  bsm_layer *layer =
      bsm_network_add_plugin(ctx->net, plugin, bytes, size, g.inputs, g.count);
  if (!layer) return bsm_ctx_take_error(ctx);
  for (size_t i = 0; i < node->outputs.len; i++) {
    BSM_TRY(bsm_emit_output(ctx, node, i, bsm_layer_output(layer, i)));
  }
  return BSM_OK;
}

static bsm_status check_schema(bsm_type_table *types, bsm_arena *arena,
                               const bsm_layer_plugin *layer) {
  bsm_schema *schema;
  BSM_TRY(bsm_schema_parse(types, arena, bsm_str_of(layer->schema), &schema));
  const uint32_t outputs = layer->outputs ? layer->outputs : 1;
  if (schema->return_count != outputs || schema->is_vararg ||
      schema->is_varret) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "layer %s has %u outputs, its schema %zu results: %s",
                    layer->name, (unsigned)outputs, schema->return_count,
                    layer->schema);
  }
  for (size_t i = 0; i < schema->arg_count; i++) {
    if (!schema->args[i].is_write) continue;
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "layer %s writes to its argument %s: return the result "
                    "instead (%s)",
                    layer->name, schema->args[i].name, layer->schema);
  }
  for (size_t i = 0; i < schema->return_count; i++) {
    const bsm_schema_arg *result = &schema->returns[i];
    if (result->type->kind == BSM_TYPE_TENSOR && !result->has_alias) continue;
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "layer %s: results are new tensors, not as in %s",
                    layer->name, layer->schema);
  }
  return BSM_OK;
}

/* Schemas have variables for types, "t" and "t1", "key", "tVal": a lower-case
 * name of any other kind is a misspelt type. */
static bool is_variable(const char *name) {
  static const char *const known[] = {"key", "value", "tVal"};
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
    if (strcmp(name, known[i]) == 0) return true;
  }
  return !name[1] || (!name[2] && name[1] >= '0' && name[1] <= '9');
}

static bsm_status check_type(const bsm_type *type, const char *text) {
  static const char *const types[] = {"Tensor", "int",    "float",  "bool",
                                      "str",    "Scalar", "Device", "complex"};
  for (size_t i = 0; i < type->arg_count; i++) {
    BSM_TRY(check_type(type->args[i], text));
  }
  if (type->kind != BSM_TYPE_VAR || is_variable(type->name)) return BSM_OK;
  bsm_near_name near = {.wanted = bsm_str_of(type->name)};
  for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
    bsm_near_name_look(&near, types[i]);
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "there is no type %s%s%s%s: %s",
                  type->name, BSM_NEAR_NAME_ARGS(near, ""), text);
}

static bsm_status check_types(bsm_ir_ctx *cx, const char *text) {
  bsm_schema *schema;
  BSM_TRY(bsm_schema_parse(cx->types, cx->arena, bsm_str_of(text), &schema));
  for (size_t i = 0; i < schema->arg_count; i++) {
    BSM_TRY(check_type(schema->args[i].type, text));
  }
  for (size_t i = 0; i < schema->return_count; i++) {
    BSM_TRY(check_type(schema->returns[i].type, text));
  }
  return BSM_OK;
}

/* PyTorch's own schemas are not replaced. */
static bsm_status add_schema(bsm_ir_ctx *cx, const char *text) {
  const bsm_schema *known;
  const bsm_str name = {text, strcspn(text, "(")};
  BSM_TRY(bsm_schema_table_find(cx->schemas, name, &known));
  if (known) return BSM_OK;
  BSM_TRY(check_types(cx, text));
  return bsm_schema_table_add(cx->schemas, bsm_str_of(text));
}

static bsm_status declare(bsm_ir_ctx *cx, const bsm_plugin *plugin) {
  for (size_t i = 0; i < plugin->layer_count; i++) {
    if (!plugin->layers[i].schema) continue;
    BSM_TRY(check_types(cx, plugin->layers[i].schema));
    BSM_TRY(check_schema(cx->types, cx->arena, &plugin->layers[i]));
    BSM_TRY(add_schema(cx, plugin->layers[i].schema));
  }
  for (size_t i = 0; i < plugin->evaluator_count; i++) {
    BSM_TRY_NOTE(add_schema(cx, plugin->evaluators[i].schema),
                 "in the schema of an evaluator: %s",
                 plugin->evaluators[i].schema);
  }
  for (size_t i = 0; i < plugin->pattern_count; i++) {
    if (!plugin->patterns[i].schema)
      continue; /* reported when it is registered */
    BSM_TRY_NOTE(add_schema(cx, plugin->patterns[i].schema),
                 "in the schema of a converter: %s",
                 plugin->patterns[i].schema);
  }
  return BSM_OK;
}

bsm_status bsm_plugin_declare(bsm_ir_ctx *cx,
                              const bsm_plugin_registry *plugins) {
  for (size_t i = 0; i < bsm_plugin_registry_count(plugins); i++) {
    const bsm_plugin *plugin = bsm_plugin_registry_at(plugins, i);
    BSM_TRY_NOTE(declare(cx, plugin), "in plug-in %s", plugin->name);
  }
  return BSM_OK;
}

static bool is_of(const char *schema, bsm_str name) {
  return bsm_str_eq((bsm_str){schema, strcspn(schema, "(")}, name);
}

bool bsm_plugin_layer_runs(const bsm_plugin_registry *plugins, bsm_str name) {
  bool runs = false; /* the last one to be registered counts */
  for (size_t i = 0; i < bsm_plugin_registry_count(plugins); i++) {
    const bsm_plugin *plugin = bsm_plugin_registry_at(plugins, i);
    for (size_t k = 0; k < plugin->layer_count; k++) {
      const bsm_layer_plugin *layer = &plugin->layers[k];
      if (layer->schema && layer->run && is_of(layer->schema, name)) {
        runs = true;
      }
    }
    for (size_t k = 0; k < plugin->pattern_count; k++) {
      const char *schema = plugin->patterns[k].schema;
      if (schema && is_of(schema, name)) runs = false;
    }
  }
  return runs;
}

bsm_status bsm_plugin_register(bsm_converter_registry *registry,
                               bsm_arena *arena,
                               const bsm_plugin_registry *plugins) {
  for (size_t i = 0; i < bsm_plugin_registry_count(plugins); i++) {
    const bsm_plugin *plugin = bsm_plugin_registry_at(plugins, i);
    for (size_t k = 0; k < plugin->layer_count; k++) {
      const bsm_layer_plugin *layer = &plugin->layers[k];
      if (!layer->schema || !layer->run) continue;
      layer_pattern *row = BSM_NEW(arena, layer_pattern);
      BSM_TRY_ALLOC(row);
      row->pattern = (bsm_conversion_pattern){layer->schema, convert_layer, 0};
      row->layer = layer;
      BSM_TRY(bsm_register_conversion_patterns(registry, &row->pattern, 1));
    }
    BSM_TRY_NOTE(bsm_register_conversion_patterns(registry, plugin->patterns,
                                                  plugin->pattern_count),
                 "in plug-in %s", plugin->name);
  }
  return BSM_OK;
}
