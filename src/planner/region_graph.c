/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the graph of a region. A call whose results depend on data becomes a
 * node; everything else is computed by the run on shapes and becomes constant.
 */
#include "planner/region_graph.h"

#include "aten/ivalue_parts.h"

/* Bytes of one tensor: see largest_tensor(). */
#define SMALL_TENSOR ((uint64_t)1 << 30)
#define MAX_TENSOR ((uint64_t)16 << 30)
#define TIMES_LARGER 64

typedef struct graph_builder {
  bsm_ir_ctx *cx; /* the planner's, with memory and types for this graph */
  bsm_graph *graph;
  bsm_arena *scratch;
  bsm_region_graph *made;
  bsm_ptrmap values;  /* bsm_tensor -> bsm_value */
  bsm_ptrmap outputs; /* bsm_value -> which output it is, plus 1 */
} graph_builder;

static const bsm_type *type_of(const graph_builder *g, const bsm_tensor *t) {
  return bsm_type_tensor(g->cx->types, t->dtype, t->sizes);
}

static bsm_status bind(graph_builder *g, const bsm_tensor *t,
                       bsm_value *value) {
  BSM_TRY_ALLOC(bsm_ptrmap_set(g->scratch, &g->values, t, value));
  return BSM_OK;
}

static bsm_status add_constant(graph_builder *g, const bsm_ivalue *v,
                               const bsm_type *type, bsm_value **out) {
  bsm_node *node;
  if (v->tag == BSM_IVALUE_TENSOR) type = type_of(g, v->u.tensor);
  BSM_TRY(bsm_node_create_constant(g->graph, *v, type, &node));
  bsm_node_append(g->graph->block, node);
  *out = bsm_node_out(node, 0);
  return BSM_OK;
}

/* The value that stands for an argument; `type` as its schema says. */
static bsm_status value_of(graph_builder *g, const bsm_ivalue *v,
                           const bsm_type *type, bsm_value **out) {
  if (v->tag == BSM_IVALUE_TENSOR) {
    *out = bsm_ptrmap_get(&g->values, v->u.tensor);
    if (*out) return BSM_OK;
    if (bsm_tensor_is_meta(v->u.tensor)) {
      return BSM_FAIL(BSM_INTERNAL, "a tensor that nothing computes");
    }
    BSM_TRY(add_constant(g, v, NULL, out));
    return bind(g, v->u.tensor, *out);
  }
  if (!bsm_abstract_is_meta(v)) return add_constant(g, v, type, out);
  if (v->tag != BSM_IVALUE_LIST) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a %s of tensors as an argument",
                    bsm_iv_tag_name(v->tag));
  }
  const bsm_list *list = v->u.list;
  bsm_value **items = BSM_NEW_ARRAY(g->scratch, bsm_value *, list->len + 1);
  bsm_node *node;
  bsm_value *value;
  BSM_TRY_ALLOC(items);
  for (size_t i = 0; i < list->len; i++) {
    const bsm_ivalue *item = &list->items[i];
    if (item->tag != BSM_IVALUE_TENSOR && bsm_abstract_is_meta(item)) {
      return BSM_FAIL(BSM_UNSUPPORTED, "a %s of tensors in a list",
                      bsm_iv_tag_name(item->tag));
    }
    BSM_TRY(value_of(g, item, NULL, &items[i]));
  }
  if (!type) {
    type = bsm_type_list(g->cx->types,
                         bsm_type_simple(g->cx->types, BSM_TYPE_TENSOR));
    BSM_TRY_ALLOC(type);
  }
  BSM_TRY(bsm_node_create(g->graph, "prim::ListConstruct", &node));
  for (size_t i = 0; i < list->len; i++) {
    BSM_TRY(bsm_node_add_input(node, items[i]));
  }
  BSM_TRY(bsm_node_add_output(node, type, &value));
  bsm_node_append(g->graph->block, node);
  *out = value;
  return BSM_OK;
}

/* ---- results ---- */

static bsm_status bind_list(graph_builder *g, bsm_value *value,
                            const bsm_list *list) {
  bsm_node *unpack;
  BSM_TRY(bsm_node_create(g->graph, "prim::ListUnpack", &unpack));
  BSM_TRY(bsm_node_add_input(unpack, value));
  bsm_node_append(g->graph->block, unpack);
  for (size_t i = 0; i < list->len; i++) {
    const bsm_ivalue *v = &list->items[i];
    bsm_value *item;
    if (v->tag != BSM_IVALUE_TENSOR) {
      return BSM_FAIL(BSM_UNSUPPORTED, "a list of results holds a %s",
                      bsm_iv_tag_name(v->tag));
    }
    const bsm_type *type = type_of(g, v->u.tensor);
    BSM_TRY_ALLOC(type);
    BSM_TRY(bsm_node_add_output(unpack, type, &item));
    BSM_TRY(bind(g, v->u.tensor, item));
  }
  return BSM_OK;
}

static bsm_status add_output(graph_builder *g, bsm_node *node,
                             const bsm_schema *schema, size_t i,
                             const bsm_ivalue *out) {
  const bsm_type *type = i < schema->return_count
                             ? schema->returns[i].type
                             : bsm_type_simple(g->cx->types, BSM_TYPE_ANY);
  bsm_value *value;
  if (out->tag == BSM_IVALUE_TENSOR) type = type_of(g, out->u.tensor);
  BSM_TRY_ALLOC(type);
  BSM_TRY(bsm_node_add_output(node, type, &value));
  if (out->tag == BSM_IVALUE_TENSOR) {
    /* An op may return its argument, which has a value already. */
    return bsm_ptrmap_get(&g->values, out->u.tensor)
               ? BSM_OK
               : bind(g, out->u.tensor, value);
  }
  return BSM_OK;
}

/* Whether an output needs the node: a tensor without data that has no value
 * yet, or a list with one. */
static bool is_new(const graph_builder *g, const bsm_ivalue *out) {
  if (out->tag == BSM_IVALUE_LIST) {
    for (size_t i = 0; i < out->u.list->len; i++) {
      if (is_new(g, &out->u.list->items[i])) return true;
    }
    return false;
  }
  return out->tag == BSM_IVALUE_TENSOR && bsm_tensor_is_meta(out->u.tensor) &&
         !bsm_ptrmap_get(&g->values, out->u.tensor);
}

/* A list that a call was given has in it what other calls made. It is not
 * looked at, as it may grow with each call. */
static bool is_new_of(const graph_builder *g, const bsm_instruction *i,
                      const bsm_ivalue *args, const bsm_ivalue *out) {
  return !(bsm_iv_is_container(out) &&
           bsm_abstract_is_argument(out, args, i->input_count)) &&
         is_new(g, out);
}

static bsm_status add_call(void *user, const bsm_instruction *i,
                           const bsm_ivalue *args, const bsm_ivalue *outs) {
  graph_builder *g = user;
  const bsm_schema *schema;
  bsm_node *node;
  bool needed = false;
  for (uint32_t k = 0; k < i->output_count; k++) {
    needed = needed || is_new_of(g, i, args, &outs[k]);
  }
  if (!needed) return BSM_OK;
  BSM_TRY(bsm_schema_table_find(g->cx->schemas, bsm_str_of(i->name), &schema));
  if (!schema) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s has no schema", i->name);
  }
  bsm_value **inputs =
      BSM_NEW_ARRAY(g->scratch, bsm_value *, i->input_count + (size_t)1);
  BSM_TRY_ALLOC(inputs);
  for (uint32_t k = 0; k < i->input_count; k++) {
    const bsm_type *type = k < schema->arg_count ? schema->args[k].type : NULL;
    BSM_TRY(value_of(g, &args[k], type, &inputs[k]));
  }
  BSM_TRY(bsm_node_create(g->graph, schema->name, &node));
  node->schema = schema;
  BSM_TRY(bsm_source_parse(i->source, g->scratch, &node->source));
  for (uint32_t k = 0; k < i->input_count; k++) {
    BSM_TRY(bsm_node_add_input(node, inputs[k]));
  }
  bsm_node_append(g->graph->block, node);
  for (uint32_t k = 0; k < i->output_count; k++) {
    BSM_TRY(add_output(g, node, schema, k, &outs[k]));
  }
  for (uint32_t k = 0; k < i->output_count; k++) {
    if (outs[k].tag != BSM_IVALUE_LIST) continue;
    if (!is_new_of(g, i, args, &outs[k])) continue;
    BSM_TRY(bind_list(g, bsm_node_out(node, k), outs[k].u.list));
  }
  return BSM_OK;
}

/* ---- the region ---- */

/* A tensor input becomes an input of the graph, even when it has data. */
static bsm_status add_value(graph_builder *g, const bsm_ivalue *given,
                            bsm_ivalue *own) {
  bsm_tensor *t;
  bsm_value *value;
  *own = *given;
  if (given->tag != BSM_IVALUE_TENSOR) {
    return bsm_region_takes(given)
               ? BSM_OK
               : BSM_FAIL(BSM_UNSUPPORTED, "a %s goes into a region",
                          bsm_iv_tag_name(given->tag));
  }
  if (bsm_dtype_is_quantized(given->u.tensor->dtype)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a quantized tensor goes into a region");
  }
  BSM_TRY(bsm_tensor_new(g->scratch, given->u.tensor->dtype,
                         given->u.tensor->sizes, true, &t));
  t->wrapped_number = given->u.tensor->wrapped_number;
  *own = bsm_iv_tensor(t);
  const bsm_type *type = type_of(g, t);
  BSM_TRY_ALLOC(type);
  bsm_layout layout = {.dims = t->sizes};
  memcpy(layout.strides, given->u.tensor->strides, sizeof(layout.strides));
  BSM_TRY_ALLOC(bsm_vec_push(g->scratch, &g->made->layouts, layout));
  BSM_TRY(bsm_block_add_input(g->graph->block, type, &value));
  return bind(g, t, value);
}

/* So does each tensor of a list. */
static bsm_status add_list(graph_builder *g, const bsm_list *given,
                           bsm_ivalue *own) {
  bsm_list *list;
  BSM_TRY(bsm_list_new(g->scratch, given->elem_type, given->len, &list));
  for (size_t i = 0; i < given->len; i++) {
    BSM_TRY(add_value(g, &given->items[i], &list->items[i]));
  }
  *own = bsm_iv_list(list);
  return BSM_OK;
}

/* Single calls take lists and strings as well. */
static bsm_status add_input(graph_builder *g, const bsm_instruction *i,
                            const bsm_ivalue *given, bsm_ivalue *own) {
  if (i->kind != BSM_INSTRUCTION_CALL) return add_value(g, given, own);
  if (given->tag == BSM_IVALUE_LIST) return add_list(g, given->u.list, own);
  *own = *given;
  return given->tag == BSM_IVALUE_STRING ? BSM_OK : add_value(g, given, own);
}

/* Finds which output of the graph a result is, and adds one for a new result.
 */
static bsm_status add_result(graph_builder *g, const bsm_ivalue *v,
                             uint32_t *output) {
  bsm_block *block = g->graph->block;
  bsm_value *value;
  if (bsm_dtype_is_quantized(v->u.tensor->dtype)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a quantized tensor leaves a region");
  }
  BSM_TRY(value_of(g, v, NULL, &value));
  const uintptr_t known = (uintptr_t)bsm_ptrmap_get(&g->outputs, value);
  if (known) {
    *output = (uint32_t)(known - 1);
    return BSM_OK;
  }
  *output = (uint32_t)block->returns->inputs.len;
  BSM_TRY_ALLOC(bsm_ptrmap_set(g->scratch, &g->outputs, value,
                               (void *)((uintptr_t)*output + 1)));
  return bsm_block_add_output(block, value);
}

static bsm_status add_results(graph_builder *g, const bsm_abstract_run *run,
                              const uint32_t *results, uint32_t count,
                              bsm_arena *arena, bsm_region_graph *out) {
  out->outputs = BSM_NEW_ARRAY(arena, uint32_t, count + (size_t)1);
  out->values = BSM_NEW_ARRAY(arena, bsm_ivalue, count + (size_t)1);
  if (!out->outputs || !out->values) return BSM_FAIL_OOM();
  for (uint32_t i = 0; i < count; i++) {
    const bsm_ivalue *v = &run->walker.registers[results[i]];
    out->outputs[i] = BSM_NO_OUTPUT;
    if (v->tag == BSM_IVALUE_TENSOR) {
      BSM_TRY(add_result(g, v, &out->outputs[i]));
    } else if (bsm_region_takes(v)) {
      out->values[i] = *v;
    } else {
      return BSM_FAIL(BSM_UNSUPPORTED, "a %s comes out of a region",
                      bsm_iv_tag_name(v->tag));
    }
  }
  return BSM_OK;
}

/* As large as running the instructions would allow: see program_memory.c. */
static size_t largest_tensor(const bsm_planner *planner,
                             const bsm_instruction *region,
                             const bsm_ivalue *inputs) {
  const bsm_plan *plan = planner->options.plan;
  const size_t wanted = planner->options.max_tensor_bytes;
  uint64_t given = 0;
  for (uint32_t i = 0; i < plan->weights_count && given < MAX_TENSOR; i++) {
    given += plan->weights[i].size;
  }
  for (uint32_t i = 0; i < region->input_count && given < MAX_TENSOR; i++) {
    if (inputs[i].tag != BSM_IVALUE_TENSOR) continue;
    const bsm_tensor *t = inputs[i].u.tensor;
    given += (uint64_t)bsm_tensor_numel(t) * bsm_dtype_size(t->dtype);
  }
  given = given < MAX_TENSOR / TIMES_LARGER ? given * TIMES_LARGER : MAX_TENSOR;
  if (given < SMALL_TENSOR) given = SMALL_TENSOR;
  return wanted && wanted < given ? wanted : (size_t)given;
}

static bsm_status make(graph_builder *g, bsm_planner *planner,
                       const bsm_instruction *region, const bsm_ivalue *inputs,
                       bsm_arena *arena, bsm_region_graph *out) {
  bsm_abstract_run run;
  BSM_TRY(bsm_type_table_create(g->scratch, &g->cx->types));
  BSM_TRY(bsm_graph_create(g->cx, &g->graph));
  BSM_TRY(bsm_planner_start(planner, g->scratch, &run));
  run.max_tensor_bytes = largest_tensor(planner, region, inputs);
  run.call = add_call;
  run.user = g;
  bool *constant = BSM_NEW_ARRAY(
      g->scratch, bool, run.walker.program->register_count + (size_t)1);
  BSM_TRY_ALLOC(constant);
  memcpy(constant, run.known,
         run.walker.program->register_count * sizeof(bool));
  for (uint32_t i = 0; i < region->input_count; i++) {
    bsm_ivalue own;
    if (!bsm_region_binds(region, i, constant)) continue;
    BSM_TRY(add_input(g, region, &inputs[i], &own));
    bsm_abstract_set(&run, region->inputs[i], own);
  }
  if (region->kind == BSM_INSTRUCTION_CALL) {
    BSM_TRY(bsm_abstract_instruction(&run, region));
    return add_results(g, &run, region->outputs, region->output_count, arena,
                       out);
  }
  BSM_TRY(bsm_abstract_block(&run, region->blocks[0]));
  const bsm_program_block *block =
      &run.walker.program->blocks[region->blocks[0]];
  return add_results(g, &run, block->results, block->result_count, arena, out);
}

bsm_status bsm_region_graph_make(bsm_planner *planner,
                                 const bsm_instruction *region,
                                 const bsm_ivalue *inputs, bsm_arena *scratch,
                                 bsm_arena *arena, bsm_region_graph *out) {
  graph_builder g = {
      .cx = BSM_NEW(scratch, bsm_ir_ctx), .scratch = scratch, .made = out};
  *out = (bsm_region_graph){0};
  BSM_TRY_ALLOC(g.cx);
  *g.cx = *planner->cx;
  g.cx->arena = scratch;
  bsm_status status = make(&g, planner, region, inputs, arena, out);
  /* New names are in the planner's memory, so the planner keeps them. */
  planner->cx->names = g.cx->names;
  out->graph = g.graph;
  return status;
}
