/* SPDX-License-Identifier: Apache-2.0 */
/* Counterexamples: shapes that the residual graph does not hold for. The graph
 * is run without data for many shapes of the range. A counterexample is a shape
 * that a check of world_checks.c would refuse, or for which a tensor has other
 * dims than its type says. Specialising once more with such shapes among the
 * worlds gives a graph that takes them.
 *
 * Values that depend on data are unknown, and so is what is computed from them.
 * An If on such a condition is run on both sides, a loop for one iteration. */
#include "lowering/specialize/worlds/counterexamples.h"

#include "aten/ivalue_parts.h"
#include "ir/draws.h"
#include "lowering/specialize/worlds/world_data.h"
#include "lowering/specialize/worlds/world_shapes.h"

enum {
  MIN_SAMPLES = 64, /* shapes that are tried, by the size of the graph */
  MAX_SAMPLES = 512,
  ALL_NODES = 500000,
  FEWEST_SAMPLES = 8, /* of graphs whose loops take longer than that */
  PER_SITE = 2,       /* new worlds for one check, in one round */
  PER_ROUND = 8,      /* and for all */
  MAX_NODES = 200000  /* run for one shape */
};

typedef enum verdict {
  VERDICT_FINE = 0,
  VERDICT_COUNTEREXAMPLE, /* a check fails */
  VERDICT_REFUSED         /* the model itself does not take the shape */
} verdict;

typedef struct shape_run {
  const bsm_aten_library *aten;
  bsm_ir_ctx *cx;
  bsm_arena *arena; /* of this shape */
  bsm_ivalue *values;
  bool literal; /* tensors are written to: only their shapes are known */
  size_t nodes;
  verdict verdict;
  const bsm_node *site; /* the check, or what the model refuses */
  const char *why;      /* it refuses */
} shape_run;

static const bsm_ivalue unknown = {.tag = BSM_IVALUE_CONTAINER};

static bool is_unknown(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_CONTAINER;
}

/* ---- values ---- */

static bsm_ivalue get(const shape_run *t, const bsm_value *value) {
  const bsm_ivalue *constant = bsm_value_constant(value);
  return constant ? *constant : t->values[value->id];
}

/* What the type alone says of a value. */
static bsm_status of_type(shape_run *t, const bsm_value *value) {
  bsm_dims dims;
  bsm_dtype dtype;
  bsm_tensor *meta = NULL;
  t->values[value->id] = unknown;
  if (bsm_value_dims(value, &dims, &dtype)) {
    BSM_TRY(bsm_tensor_new(t->arena, dtype, dims, true, &meta));
    t->values[value->id] = bsm_iv_tensor(meta);
  }
  return BSM_OK;
}

static bsm_status types_of(shape_run *t, const bsm_node *node) {
  for (size_t i = 0; i < node->outputs.len; i++) {
    BSM_TRY(of_type(t, bsm_node_out(node, i)));
  }
  return BSM_OK;
}

/* Large tensors are looked at without their data. */
static bsm_status set(shape_run *t, const bsm_node *node, size_t i,
                      bsm_ivalue v) {
  const bsm_value *value = bsm_node_out(node, i);
  bsm_dims dims;
  bsm_dtype dtype;
  if (v.tag == BSM_IVALUE_TENSOR) {
    const bsm_tensor *x = v.u.tensor;
    if (bsm_value_dims(value, &dims, &dtype) &&
        !bsm_dims_equal(dims, x->sizes)) {
      t->verdict = VERDICT_COUNTEREXAMPLE;
      t->site = node;
    }
    if (!bsm_tensor_is_meta(x) &&
        (t->literal || bsm_tensor_numel(x) > BSM_WORLD_DATA)) {
      bsm_tensor *meta = NULL;
      BSM_TRY(bsm_tensor_new(t->arena, x->dtype, x->sizes, true, &meta));
      v = bsm_iv_tensor(meta);
    }
  }
  t->values[value->id] = v;
  return BSM_OK;
}

static bsm_status inputs_of(shape_run *t, const bsm_node *node,
                            bsm_ivalue **out, bool *known) {
  *out = BSM_NEW_ARRAY(t->arena, bsm_ivalue, node->inputs.len + 1);
  BSM_TRY_ALLOC(*out);
  for (size_t i = 0; i < node->inputs.len; i++) {
    (*out)[i] = get(t, bsm_node_in(node, i));
  }
  *known = !bsm_iv_any(*out, node->inputs.len, is_unknown);
  return BSM_OK;
}

/* ---- nodes ---- */

/* A container that the node writes to is no longer known. */
static void forget_written(shape_run *t, const bsm_node *node) {
  for (size_t i = 0;
       node->schema && i < node->schema->arg_count && i < node->inputs.len;
       i++) {
    if (node->schema->args[i].is_write &&
        node->schema->args[i].type->kind != BSM_TYPE_TENSOR) {
      t->values[bsm_node_in(node, i)->id] = unknown;
    }
  }
}

static bsm_status run_op(shape_run *t, const bsm_node *node) {
  const bsm_aten_op *op =
      node->schema ? bsm_aten_find(t->aten, bsm_str_of(node->schema->qualified))
                   : NULL;
  const size_t n = node->outputs.len;
  bsm_ivalue *args = NULL;
  bool known = false;
  BSM_TRY(inputs_of(t, node, &args, &known));
  if (!known || !op || (op->flags & BSM_ATEN_INPLACE)) {
    forget_written(t, node);
    return types_of(t, node);
  }
  bsm_ivalue *outs = BSM_NEW_ARRAY(t->arena, bsm_ivalue, n + 1);
  BSM_TRY_ALLOC(outs);
  bsm_op_ctx cx = {.arena = t->arena,
                   .no_data = bsm_node_draws(node, t->aten),
                   .max_tensor_bytes = (size_t)t->cx->limits.max_tensor_bytes,
                   .work = &t->cx->work,
                   .may_leave = true};
  t->cx->work.refused = false;
  bsm_status st = bsm_world_call(&cx, op, args, node->inputs.len, outs, n);
  if (bsm_status_code(st) == BSM_OUT_OF_MEMORY) {
    return st;
  }
  if (st) {
    if (bsm_status_code(st) != BSM_DATA_DEPENDENT && !t->cx->work.refused) {
      t->verdict = VERDICT_REFUSED;
      t->site = node;
      t->why = bsm_arena_strdup(t->arena, bsm_status_message(st));
    }
    bsm_status_free(st);
    forget_written(t, node);
    return types_of(t, node);
  }
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(set(t, node, i, outs[i]));
  }
  return BSM_OK;
}

static bsm_status make_container(shape_run *t, const bsm_node *node) {
  const size_t n = node->inputs.len;
  bsm_ivalue *args = NULL, made;
  bool known = false;
  BSM_TRY(inputs_of(t, node, &args, &known));
  if (bsm_node_is(node, "prim::TupleConstruct")) {
    BSM_TRY(bsm_iv_tuple_of(t->arena, NULL, args, n, &made));
  } else if (bsm_node_is(node, "prim::ListConstruct")) {
    const bsm_type *type = bsm_node_out(node, 0)->type;
    BSM_TRY(bsm_iv_list_of(t->arena,
                           type && type->arg_count ? type->args[0] : NULL, args,
                           n, &made));
  } else {
    made = unknown; /* dicts, and copies of what is written to */
  }
  return set(t, node, 0, made);
}

static bsm_status unpack(shape_run *t, const bsm_node *node) {
  const bsm_ivalue from = get(t, bsm_node_in(node, 0));
  const size_t n = node->outputs.len;
  const bsm_iv_parts parts = bsm_iv_items_of(&from);
  if (!bsm_iv_is_sequence(&from)) {
    return types_of(t, node);
  }
  if (n != parts.len) {
    t->verdict = VERDICT_COUNTEREXAMPLE;
    t->site = node;
    return types_of(t, node);
  }
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(set(t, node, i, parts.items[i]));
  }
  return BSM_OK;
}

static bsm_status run_block(shape_run *t, const bsm_block *block, size_t depth);

/* A side that may not be taken: what the model itself refuses does not count.
 */
static bsm_status run_maybe(shape_run *t, const bsm_block *block,
                            size_t depth) {
  BSM_TRY(run_block(t, block, depth));
  if (t->verdict == VERDICT_REFUSED) {
    t->verdict = VERDICT_FINE;
  }
  return BSM_OK;
}

static bsm_status run_if(shape_run *t, const bsm_node *node, size_t depth) {
  const bsm_ivalue condition = get(t, bsm_node_in(node, 0));
  if (condition.tag == BSM_IVALUE_BOOL) {
    const bsm_block *block = node->blocks.items[condition.u.b ? 0 : 1];
    BSM_TRY(run_block(t, block, depth + 1));
    for (size_t i = 0; i < node->outputs.len && !t->verdict; i++) {
      BSM_TRY(set(t, node, i, get(t, bsm_node_in(block->returns, i))));
    }
    return BSM_OK;
  }
  for (size_t i = 0; i < 2 && !t->verdict; i++) {
    BSM_TRY(run_maybe(t, node->blocks.items[i], depth + 1));
  }
  return types_of(t, node);
}

static bsm_status run_loop(shape_run *t, const bsm_node *node, size_t depth) {
  const bsm_block *body = node->blocks.items[0];
  const bsm_ivalue trips = get(t, bsm_node_in(node, 0));
  bsm_ivalue more = get(t, bsm_node_in(node, 1));
  const size_t n = node->outputs.len;
  bsm_ivalue *carried = NULL;
  bool known = trips.tag == BSM_IVALUE_INT && more.tag == BSM_IVALUE_BOOL;
  BSM_TRY(inputs_of(t, node, &carried, &(bool){false}));
  carried += 2;
  for (int64_t iteration = 0; known && more.u.b && iteration < trips.u.i;
       iteration++) {
    t->values[bsm_node_out(body->params, 0)->id] = bsm_iv_int(iteration);
    for (size_t i = 0; i < n; i++) {
      BSM_TRY(set(t, body->params, i + 1, carried[i]));
    }
    BSM_TRY(run_block(t, body, depth + 1));
    if (t->verdict) {
      return BSM_OK;
    }
    more = get(t, bsm_node_in(body->returns, 0));
    known = more.tag == BSM_IVALUE_BOOL && t->nodes < MAX_NODES;
    for (size_t i = 0; i < n; i++) {
      carried[i] = get(t, bsm_node_in(body->returns, i + 1));
    }
  }
  if (!known) {
    BSM_TRY(types_of(t, body->params));
    BSM_TRY(run_maybe(t, body, depth + 1));
    return types_of(t, node);
  }
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(set(t, node, i, carried[i]));
  }
  return BSM_OK;
}

/* An exception: ours, or the model's own. */
static void raise(shape_run *t, const bsm_node *node) {
  const bsm_ivalue *text = bsm_value_constant(bsm_node_in(node, 0));
  const bool ours = text && text->tag == BSM_IVALUE_STRING &&
                    bsm_str_starts_with(*text->u.s, BSM_STR(BSM_WORLD_CHECK));
  t->verdict = ours ? VERDICT_COUNTEREXAMPLE : VERDICT_REFUSED;
  t->site = node;
  t->why = "the model raises an exception";
  if (text && text->tag == BSM_IVALUE_STRING) {
    t->why = bsm_arena_printf(t->arena, "%.*s", (int)text->u.s->len,
                              text->u.s->data);
  }
}

static bsm_status run_node(shape_run *t, const bsm_node *node, size_t depth) {
  if (bsm_node_is(node, "prim::Constant")) {
    return BSM_OK;
  }
  if (bsm_node_is(node, "prim::If")) {
    return run_if(t, node, depth);
  }
  if (bsm_node_is(node, "prim::Loop")) {
    return run_loop(t, node, depth);
  }
  if (bsm_node_is(node, "prim::RaiseException")) {
    raise(t, node);
    return BSM_OK;
  }
  if (bsm_node_is(node, "prim::ListUnpack") ||
      bsm_node_is(node, "prim::TupleUnpack")) {
    return unpack(t, node);
  }
  if (bsm_node_is(node, "prim::ListConstruct") ||
      bsm_node_is(node, "prim::TupleConstruct") ||
      bsm_node_is(node, "prim::DictConstruct") ||
      bsm_node_is(node, "prim::CopyContainer")) {
    return make_container(t, node);
  }
  if (bsm_node_is(node, "prim::unchecked_unwrap_optional") ||
      bsm_node_is(node, "prim::unchecked_cast")) {
    return set(t, node, 0, get(t, bsm_node_in(node, 0)));
  }
  return run_op(t, node);
}

static bsm_status run_block(shape_run *t, const bsm_block *block,
                            size_t depth) {
  if (depth > t->cx->limits.max_depth) {
    return BSM_OK;
  }
  for (const bsm_node *n = block->first; n && !t->verdict; n = n->next) {
    if (++t->nodes > MAX_NODES) {
      return BSM_OK;
    }
    BSM_TRY(run_node(t, n, depth));
  }
  return BSM_OK;
}

/* ---- shapes ---- */

static bsm_status set_inputs(shape_run *t, const bsm_lowered *lowered,
                             uint32_t shape) {
  const bsm_node *params = lowered->graph->block->params;
  for (size_t i = 0; i < params->outputs.len; i++) {
    const bsm_lowering_range *range = lowered->input_ranges[i];
    bsm_tensor *x = NULL;
    BSM_TRY(of_type(t, bsm_node_out(params, i)));
    if (range) {
      BSM_TRY(bsm_tensor_new(t->arena, range->dtype,
                             bsm_world_dims(range, shape), true, &x));
      t->values[bsm_node_out(params, i)->id] = bsm_iv_tensor(x);
    }
  }
  return BSM_OK;
}

/* Keeps what the model does not take: "x [2, 46]: why, at file:12". Dims that
 * range alike are the same in such shapes, so that inputs fit together. */
static bsm_status note_refusal(const shape_run *t, bsm_lowered *lowered,
                               uint32_t shape) {
  const size_t n = lowered->graph->block->params->outputs.len;
  bsm_text text;
  if (lowered->refusal || !bsm_is_even_shape(shape) || !t->why) {
    return BSM_OK;
  }
  bsm_text_init(&text, t->cx->arena);
  for (size_t i = 0; i < n; i++) {
    if (lowered->input_ranges[i]) {
      bsm_text_printf(
          &text, "%sinput \"%s\" of shape %s", text.len ? ", " : "",
          lowered->input_names[i],
          bsm_dims_str(bsm_world_dims(lowered->input_ranges[i], shape)));
    }
  }
  bsm_text_printf(&text, ": %s\nin %s at ", t->why, t->site->kind);
  bsm_source_print(&text, &t->site->source);
  if (text.failed) {
    return BSM_FAIL_OOM();
  }
  lowered->refusal = text.data;
  return BSM_OK;
}

/* Makes what is told of the results' dims hold for this shape as well. */
static void widen_results(const shape_run *t, bsm_lowered *lowered) {
  const bsm_node *returns = lowered->graph->block->returns;
  for (size_t i = 0; i < lowered->leaf_count; i++) {
    bsm_lowered_leaf *leaf = &lowered->leaves[i];
    if (!leaf->is_output || leaf->dims.rank < 0) {
      continue;
    }
    const bsm_ivalue v = get(t, bsm_node_in(returns, leaf->output));
    if (v.tag != BSM_IVALUE_TENSOR) {
      continue;
    }
    const bsm_dims own = v.u.tensor->sizes;
    if (own.rank != leaf->dims.rank) {
      leaf->dims = (bsm_dims){.rank = -1};
      continue;
    }
    for (int32_t d = 0; d < own.rank; d++) {
      if (leaf->dims.d[d] != own.d[d]) {
        leaf->dims.d[d] = -1;
      }
    }
  }
}

static bsm_status try_shape(bsm_lowered *lowered, const bsm_aten_library *aten,
                            uint32_t shape, bsm_arena *arena, size_t *nodes,
                            verdict *out, const bsm_node **site) {
  const bsm_graph *graph = lowered->graph;
  shape_run t = {.aten = aten,
                 .cx = graph->cx,
                 .arena = arena,
                 .literal = lowered->literal};
  t.values = BSM_NEW_ARRAY(arena, bsm_ivalue, graph->next_value_id + 1u);
  BSM_TRY_ALLOC(t.values);
  for (uint32_t i = 0; i < graph->next_value_id; i++) {
    t.values[i] = unknown;
  }
  BSM_TRY(set_inputs(&t, lowered, shape));
  BSM_TRY(run_block(&t, graph->block, 0));
  *nodes += t.nodes;
  if (t.verdict == VERDICT_FINE) {
    widen_results(&t, lowered);
  } else if (t.verdict == VERDICT_REFUSED) {
    BSM_TRY(note_refusal(&t, lowered, shape));
  }
  *out = t.verdict;
  *site = t.site;
  return BSM_OK;
}

static bool is_sample(const bsm_world_samples *samples, uint32_t shape) {
  for (size_t i = 0; i < samples->count; i++) {
    if (samples->shapes[i] == shape) {
      return true;
    }
  }
  return false;
}

static bool has_ranges(const bsm_lowered *lowered) {
  const size_t n = lowered->graph->block->params->outputs.len;
  for (size_t i = 0; lowered->input_ranges && i < n; i++) {
    if (lowered->input_ranges[i]) {
      return true;
    }
  }
  return false;
}

/* Whether the site may have one more world in this round. */
static bool is_wanted(const bsm_node *site, const bsm_node **sites,
                      size_t count) {
  size_t same = 0;
  for (size_t i = 0; i < count; i++) {
    same += sites[i] == site;
  }
  return same < PER_SITE;
}

/* Few for graphs that take long. */
static uint32_t sample_count(const bsm_graph *graph) {
  const size_t count = ALL_NODES / (graph->node_count + 1);
  return count < MIN_SAMPLES   ? MIN_SAMPLES
         : count > MAX_SAMPLES ? MAX_SAMPLES
                               : (uint32_t)count;
}

/* Whether to try another shape: loops over sizes run many nodes. */
static bool goes_on(uint32_t tried, size_t nodes) {
  return nodes < ALL_NODES || tried < FEWEST_SAMPLES ||
         (tried < MIN_SAMPLES && nodes < 2 * ALL_NODES);
}

bsm_status bsm_find_counterexamples(bsm_lowered *lowered,
                                    const bsm_aten_library *aten,
                                    bsm_world_samples *samples, bool *found) {
  const size_t room = BSM_MAX_WORLDS - BSM_FIRST_WORLDS;
  const bsm_node *sites[PER_ROUND], *site = NULL;
  size_t count = 0, nodes = 0;
  bsm_arena arena;
  bsm_status st = BSM_OK;
  *found = false;
  if (!has_ranges(lowered)) {
    return BSM_OK;
  }
  bsm_arena_init(&arena, lowered->graph->cx->arena->allocator);
  const uint32_t samples_to_try = sample_count(lowered->graph);
  for (uint32_t k = 0; k < samples_to_try && goes_on(k, nodes) && !st; k++) {
    const uint32_t shape = BSM_FIRST_WORLDS + k;
    const bsm_arena_mark mark = bsm_arena_get_mark(&arena);
    verdict v = VERDICT_FINE;
    if (is_sample(samples, shape)) {
      continue;
    }
    st = try_shape(lowered, aten, shape, &arena, &nodes, &v, &site);
    bsm_arena_rewind(&arena, mark);
    if (!st && v == VERDICT_COUNTEREXAMPLE && samples->count < room &&
        count < PER_ROUND && is_wanted(site, sites, count)) {
      sites[count++] = site;
      samples->shapes[samples->count++] = shape;
      *found = true;
    }
  }
  bsm_arena_destroy(&arena);
  return st;
}
