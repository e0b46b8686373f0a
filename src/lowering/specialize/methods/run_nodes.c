/* SPDX-License-Identifier: Apache-2.0 */
/* The specialiser's state, and running nodes in order. */
#include "lowering/specialize/specialize.h"

/* Nodes run before giving up: unrolled loops and calls count again each time,
 * so a small file cannot keep the compiler busy for ever. */
#define STEPS_PER_NODE 16u

bsm_status bsm_spec_init(bsm_spec *s, bsm_ir_ctx *cx, bsm_arena *scratch,
                         bsm_arena *stack, const bsm_aten_library *aten) {
  *s = (bsm_spec){.cx = cx,
                  .scratch = scratch,
                  .stack = stack,
                  .aten = aten,
                  .logger = cx->logger,
                  .clock = 1};
  BSM_TRY(bsm_graph_create(cx, &s->graph));
  s->block = s->graph->block;
  BSM_TRY_ALLOC(bsm_vec_push(scratch, &s->open_blocks, s->block));
  return BSM_OK;
}

uint64_t bsm_spec_tick(bsm_spec *s) {
  return ++s->clock;
}

bsm_source bsm_spec_source(const bsm_spec *s) {
  bsm_source source = {0};
  if (s->node) {
    source = s->node->source;
  }
  if (s->frame && s->frame->scope && s->frame->scope[0]) {
    source.scope = s->frame->scope;
  }
  return source;
}

const char *bsm_spec_where(bsm_spec *s) {
  bsm_text text;
  bsm_text_init(&text, s->scratch);
  const bsm_source source = bsm_spec_source(s);
  bsm_source_print(&text, &source);
  return text.failed || text.len == 0 ? "an unknown place" : text.data;
}

bsm_emitter bsm_spec_emitter(const bsm_spec *s) {
  return (bsm_emitter){.graph = s->graph,
                       .block = s->block,
                       .aten = s->aten,
                       .source = bsm_spec_source(s)};
}

bsm_status bsm_spec_get(bsm_spec *s, const bsm_value *value, bsm_ivalue *out) {
  const bsm_spec_frame *f = s->frame;
  if (value->id >= f->count || !f->bound[value->id]) {
    char label[128];
    return BSM_FAIL(BSM_INTERNAL, "%s is used before it is computed",
                    bsm_value_label(value, label));
  }
  *out = f->values[value->id];
  return BSM_OK;
}

bsm_status bsm_spec_set(bsm_spec *s, const bsm_value *value, bsm_ivalue what) {
  bsm_spec_frame *f = s->frame;
  if (value->id >= f->count) {
    return BSM_FAIL(BSM_INTERNAL, "value %u is not of this graph", value->id);
  }
  f->values[value->id] = what;
  f->bound[value->id] = true;
  return BSM_OK;
}

bsm_status bsm_spec_new_symbol(bsm_spec *s, bsm_value *value,
                               const bsm_type *type, bsm_ivalue *out) {
  bsm_spec_symbol *symbol = BSM_NEW(s->scratch, bsm_spec_symbol);
  BSM_TRY_ALLOC(symbol);
  *symbol = (bsm_spec_symbol){
      .value = value, .type = type, .birth = bsm_spec_tick(s)};
  *out = (bsm_ivalue){.tag = BSM_IVALUE_CONTAINER, .u = {.container = symbol}};
  return BSM_OK;
}

/* Where a residual value stops being known: follows it back to an op without
 * a reference implementation, or to the first op that needs data. */
const char *bsm_spec_symbol_origin(const bsm_spec *s, const bsm_ivalue *v) {
  const bsm_value *value = bsm_spec_symbol_of(v)->value;
  const char *kind = "a value never computed";
  for (int steps = 0; value && value->node && steps < 1000; steps++) {
    const bsm_node *node = value->node;
    if (!node->kind[0]) {
      break;
    }
    kind = node->kind;
    if (node->schema && !bsm_spec_find_op(s, node->schema)) {
      return bsm_arena_printf(s->scratch,
                              "%s, which has no reference implementation",
                              node->schema->qualified);
    }
    value = NULL;
    for (size_t i = 0; i < node->inputs.len && !value; i++) {
      bsm_value *in = bsm_node_in(node, i);
      if (!bsm_value_constant(in) && !(in->type && in->type->has_dims)) {
        value = in;
      }
    }
  }
  return kind;
}

static bsm_status scan_items(const bsm_spec *s, const bsm_ivalue *items,
                             size_t n, size_t depth, bsm_spec_leaves *out) {
  for (size_t i = 0; i < n && !(out->meta && out->symbol); i++) {
    BSM_TRY(bsm_spec_scan(s, &items[i], depth + 1, out));
  }
  return BSM_OK;
}

bsm_status bsm_spec_scan(const bsm_spec *s, const bsm_ivalue *value,
                         size_t depth, bsm_spec_leaves *out) {
  if (depth > s->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "a value is nested more than %llu deep",
                    (unsigned long long)s->cx->limits.max_depth);
  }
  if (bsm_spec_box_find(s, value)) {
    out->symbol = true;
    return BSM_OK;
  }
  switch (value->tag) {
    case BSM_IVALUE_TENSOR:
      out->meta = out->meta || bsm_tensor_is_meta(value->u.tensor);
      return BSM_OK;
    case BSM_IVALUE_CONTAINER:
      out->symbol = true;
      return BSM_OK;
    case BSM_IVALUE_LIST:
      return scan_items(s, value->u.list->items, value->u.list->len, depth,
                        out);
    case BSM_IVALUE_TUPLE:
      return scan_items(s, value->u.tuple->items, value->u.tuple->len, depth,
                        out);
    case BSM_IVALUE_DICT:
      return scan_items(s, value->u.dict->values, value->u.dict->len, depth,
                        out);
    default:
      return BSM_OK;
  }
}

/* A trace keeps `x + 1.5` as an addition of a constant tensor without
 * dimensions. PyTorch makes a number of it again before it runs the graph
 * (CanonicalizeOps), for these operators alone, so that it does not count as a
 * tensor of float64 in type promotion. */
static bsm_status number_operand(bsm_spec *s, const bsm_node *node,
                                 bsm_ivalue *arg) {
  static const char *const canonical[] = {
      "aten::add.Tensor", "aten::sub.Tensor", "aten::mul.Tensor",
      "aten::div.Tensor"};
  if (node->inputs.len < 2 || arg->tag != BSM_IVALUE_TENSOR ||
      !bsm_node_is(bsm_node_in(node, 1)->node, "prim::Constant")) {
    return BSM_OK;
  }
  bool is = false;
  for (size_t i = 0; i < sizeof(canonical) / sizeof(canonical[0]); i++) {
    is = is || strcmp(node->schema->qualified, canonical[i]) == 0;
  }
  const bsm_tensor *t = arg->u.tensor;
  const bsm_spec_tensor *record = bsm_spec_tensor_find(s, t);
  if (record && record->known) t = record->known;
  if (!is || t->sizes.rank != 0 || t->wrapped_number || bsm_tensor_is_meta(t)) {
    return BSM_OK;
  }
  bsm_tensor *number;
  if (bsm_dtype_is_floating(t->dtype)) {
    BSM_TRY(bsm_tensor_from_double(s->cx->arena, BSM_DTYPE_DOUBLE,
                                   bsm_tensor_get_double(t, 0), &number));
  } else if (bsm_dtype_is_integral(t->dtype, true)) {
    BSM_TRY(bsm_tensor_from_int(
        s->cx->arena,
        t->dtype == BSM_DTYPE_BOOL ? BSM_DTYPE_BOOL : BSM_DTYPE_INT64,
        bsm_tensor_get_int(t, 0), &number));
  } else {
    return BSM_OK;
  }
  number->wrapped_number = true;
  return bsm_spec_shadow(s, bsm_iv_tensor(number),
                         bsm_node_in(node, 1)->debug_name, arg);
}

/* An op by schema: gathers its arguments, binds its results. */
static bsm_status run_schema_node(bsm_spec *s, const bsm_node *node) {
  const size_t n = node->inputs.len, m = node->outputs.len;
  const bsm_schema *schema = node->schema;
  if ((n != schema->arg_count && !schema->is_vararg) || n < schema->arg_count ||
      (m != schema->return_count && !schema->is_varret)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s has %zu inputs and %zu outputs, its schema %zu and %zu",
                    schema->qualified, n, m, schema->arg_count,
                    schema->return_count);
  }
  bsm_ivalue *args = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n + 1);
  bsm_ivalue *outs = BSM_NEW_ARRAY(s->stack, bsm_ivalue, m + 1);
  BSM_TRY_ALLOC(args && outs);
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_spec_get(s, bsm_node_in(node, i), &args[i]));
  }
  if (n > 1) BSM_TRY(number_operand(s, node, &args[1]));
  BSM_TRY(bsm_spec_op(s, node->schema, args, n, outs, m));
  for (size_t i = 0; i < m; i++) {
    BSM_TRY(bsm_spec_set(s, bsm_node_out(node, i), outs[i]));
  }
  return BSM_OK;
}

static bsm_status run_node_inner(bsm_spec *s, const bsm_node *node) {
  typedef bsm_status (*handler)(bsm_spec *, const bsm_node *, bool *);
  static const handler handlers[] = {bsm_spec_control_node, bsm_spec_call_node,
                                     bsm_spec_container_node,
                                     bsm_spec_prim_node};
  static const char *const ours[] = {"aten::format", "aten::warn",
                                     "aten::wait"};
  bool special = strncmp(node->kind, "prim::", 6) == 0 || !node->schema;
  for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
    special = special || bsm_node_is(node, ours[i]);
  }
  if (special) {
    for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
      bool done = false;
      BSM_TRY(handlers[i](s, node, &done));
      if (done) {
        return BSM_OK;
      }
    }
  }
  if (!node->schema) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "%s is not an operator known here: a plug-in that has "
                    "it must be given (docs/plugins.md)",
                    node->kind);
  }
  return run_schema_node(s, node);
}

static bsm_status run_node(bsm_spec *s, const bsm_node *node) {
  if (++s->steps > s->cx->limits.max_nodes * STEPS_PER_NODE) {
    return BSM_FAIL(
        BSM_LIMIT,
        "the method runs more than %llu operations while compiling (at %s): %u "
        "for each node of the limit max_nodes",
        (unsigned long long)s->cx->limits.max_nodes * STEPS_PER_NODE,
        bsm_spec_where(s), STEPS_PER_NODE);
  }
  const bsm_node *outer = s->node;
  const bsm_arena_mark mark = bsm_arena_get_mark(s->stack);
  s->node = node;
  bsm_status st = run_node_inner(s, node);
  bsm_arena_rewind(s->stack, mark);
  /* The innermost failing node names its place; a call adds its own line. */
  if (st && node->blocks.len == 0) {
    const bool call = strncmp(node->kind, "prim::Call", 10) == 0;
    st = bsm_status_note(st, call ? "called as %s at %s" : "in %s at %s",
                         node->kind, bsm_spec_where(s));
  }
  s->node = outer;
  return st;
}

bsm_status bsm_spec_run_block(bsm_spec *s, const bsm_block *block) {
  if (++s->depth > s->cx->limits.max_depth) {
    s->depth--;
    return BSM_FAIL(BSM_LIMIT, "calls and blocks nest more than %llu deep",
                    (unsigned long long)s->cx->limits.max_depth);
  }
  bsm_status st = BSM_OK;
  for (const bsm_node *n = block->first; n && !st; n = n->next) {
    st = run_node(s, n);
  }
  s->depth--;
  return st;
}

bsm_status bsm_spec_run_graph(bsm_spec *s, const bsm_graph *graph,
                              const bsm_function *function, const char *scope,
                              const bsm_ivalue *args, size_t n,
                              bsm_ivalue *outs, size_t n_outs) {
  const bsm_block *block = graph->block;
  const char *name = function ? function->qualified : "the graph";
  if (block->params->outputs.len != n) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s takes %zu inputs, %zu given",
                    name, block->params->outputs.len, n);
  }
  if (block->returns->inputs.len != n_outs) {
    return BSM_FAIL(BSM_INTERNAL, "%s returns %zu values, %zu expected", name,
                    block->returns->inputs.len, n_outs);
  }
  bsm_spec_frame frame = {.caller = s->frame,
                          .function = function,
                          .call = s->node,
                          .count = graph->next_value_id,
                          .scope = scope};
  frame.values = BSM_NEW_ARRAY(s->stack, bsm_ivalue, frame.count + 1);
  frame.bound = BSM_NEW_ARRAY(s->stack, bool, frame.count + 1);
  BSM_TRY_ALLOC(frame.values && frame.bound);
  s->frame = &frame;
  bsm_status st = BSM_OK;
  for (size_t i = 0; i < n && !st; i++) {
    st = bsm_spec_set(s, bsm_node_out(block->params, i), args[i]);
  }
  if (!st) {
    st = bsm_spec_run_block(s, block);
  }
  for (size_t i = 0; i < n_outs && !st; i++) {
    st = bsm_spec_get(s, bsm_node_in(block->returns, i), &outs[i]);
  }
  s->frame = frame.caller;
  return st;
}
