/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of a block, and the graphs of its segments. */
#include "partitioning/partition.h"

#include <string.h>

#include "ir/draws.h"

/* ---- what a segment can have ---- */

static bool is_fixed_tensor(const bsm_value *value) {
  const bsm_type *t = value->type;
  return bsm_type_has_sizes(t) && t->has_dtype;
}

static bool is_constant(const bsm_value *value) {
  return bsm_node_is(value->node, "prim::Constant");
}

/* A list of tensors of known dims and constants. */
static bool is_fixed_list(const bsm_value *value) {
  const bsm_node *node = value->node;
  if (!bsm_node_is(node, "prim::ListConstruct")) return false;
  for (size_t i = 0; i < node->inputs.len; i++) {
    const bsm_value *item = bsm_node_in(node, i);
    if (!is_constant(item) && !is_fixed_tensor(item)) return false;
  }
  return true;
}

bool bsm_node_is_floating(const bsm_node *node) {
  return bsm_node_is(node, "prim::Constant") ||
         bsm_node_is(node, "prim::Uninitialized") ||
         bsm_node_is(node, "prim::ListConstruct");
}

/* A list that is only taken apart into tensors of known dims. */
static bool is_unpacked_list(const bsm_value *value) {
  for (size_t i = 0; i < value->uses.len; i++) {
    const bsm_node *user = value->uses.items[i].user;
    if (!bsm_node_is(user, "prim::ListUnpack")) return false;
    for (size_t k = 0; k < user->outputs.len; k++) {
      if (!is_fixed_tensor(bsm_node_out(user, k))) return false;
    }
  }
  return value->uses.len > 0;
}

static bool writes(const bsm_node *node) {
  for (size_t i = 0; node->schema && i < node->schema->arg_count; i++) {
    if (node->schema->args[i].is_write) return true;
  }
  return false;
}

static bool fits(const bsm_node *node, const bsm_partition_options *options) {
  const bool unpack = bsm_node_is(node, "prim::ListUnpack");
  if (node->blocks.len || writes(node)) return false;
  if (options->memory && bsm_memory_touches(options->memory, node)) {
    return false;
  }
  for (size_t i = 0; i < node->outputs.len; i++) {
    const bsm_value *out = bsm_node_out(node, i);
    if (!is_fixed_tensor(out) && !is_unpacked_list(out)) return false;
  }
  if (unpack) {
    const bsm_node *from = bsm_node_in(node, 0)->node;
    return from->schema && fits(from, options);
  }
  for (size_t i = 0; i < node->inputs.len; i++) {
    const bsm_value *in = bsm_node_in(node, i);
    if (!is_constant(in) && !is_fixed_tensor(in) && !is_fixed_list(in)) {
      return false;
    }
  }
  return node->outputs.len && options->can_compile(options->user, node);
}

/* Whether all readers of the results can be in segments; readers that take over
 * the layout of their argument are followed to theirs. *budget: how many nodes
 * to visit. */
static bool stays_inside(const bsm_node *node,
                         const bsm_partition_options *options, size_t depth,
                         size_t *budget) {
  for (size_t i = 0; i < node->outputs.len; i++) {
    const bsm_value *out = bsm_node_out(node, i);
    for (size_t k = 0; k < out->uses.len; k++) {
      const bsm_node *user = out->uses.items[k].user;
      if (depth > 32 || !*budget) return false;
      --*budget;
      const bool through = bsm_node_is(user, "prim::ListConstruct") ||
                           bsm_node_attr_get(user, "strided");
      if (user->block != node->block || !user->kind[0] ||
          (!bsm_node_is_floating(user) && !fits(user, options)) ||
          (through && !stays_inside(user, options, depth + 1, budget))) {
        return false;
      }
    }
  }
  return true;
}

/* A segment returns contiguous tensors. In a literal graph the layout decides
 * whether reshape() shares memory, so a tensor that is not contiguous in
 * PyTorch does not leave a segment. */
static bool can_be_in_segment(const bsm_node *node,
                              const bsm_partition_options *options) {
  size_t budget = 200;
  if (!fits(node, options)) return false;
  return !options->memory || !bsm_node_attr_get(node, "strided") ||
         stays_inside(node, options, 0, &budget);
}

bool bsm_node_fits_segment(const bsm_node *node,
                           const bsm_partition_options *options) {
  return can_be_in_segment(node, options);
}

bool bsm_is_one_segment(const bsm_graph *graph,
                        const bsm_partition_options *options) {
  for (const bsm_node *n = graph->block->first; n; n = n->next) {
    if (!bsm_node_is_floating(n) && !can_be_in_segment(n, options)) {
      return false;
    }
  }
  const bsm_node *returns = graph->block->returns;
  for (size_t i = 0; i < returns->inputs.len; i++) {
    const bsm_value *v = bsm_node_in(returns, i);
    if (!is_fixed_tensor(v) && !is_constant(v)) return false;
  }
  return true;
}

/* ---- stages ---- */

/* What is known of one node of the block. */
typedef struct placed {
  const bsm_node *node;
  uint32_t stage; /* even: in a segment */
} placed;

typedef struct stager {
  const bsm_block *block;
  const bsm_partition_options *options;
  bsm_arena *arena;
  bsm_ptrmap stages;  /* node -> its stage, plus 1 */
  bsm_ptrmap alone;   /* nodes that are not to be in a segment */
  bsm_ptrmap writers; /* container -> stage of the node that wrote it, plus 1 */
  BSM_VEC(placed) nodes;
  uint32_t last;
  uint32_t touched; /* the stage of the last node that touches what changes */
  uint32_t drawn;   /* that of the last one that draws random numbers */
} stager;

static uint32_t known_stage(const bsm_ptrmap *map, const void *key) {
  return (uint32_t)(uintptr_t)bsm_ptrmap_get(map, key);
}

static void raise_to(uint32_t *stage, uint32_t found) {
  if (found && found - 1 > *stage) *stage = found - 1;
}

/* The stage after which a value of this block exists. */
static void wait_for(const stager *s, const bsm_value *value, uint32_t *stage,
                     size_t depth) {
  const bsm_node *node = value->node;
  raise_to(stage, known_stage(&s->writers, value));
  if (node->block == s->block && bsm_node_is_floating(node) && depth < 64) {
    for (size_t i = 0; i < node->inputs.len; i++) {
      wait_for(s, bsm_node_in(node, i), stage, depth + 1);
    }
    return;
  }
  raise_to(stage, known_stage(&s->stages, node));
}

static void wait_for_inputs(const stager *s, const bsm_node *node,
                            uint32_t *stage, size_t depth) {
  for (size_t i = 0; i < node->inputs.len; i++) {
    wait_for(s, bsm_node_in(node, i), stage, 0);
  }
  if (depth > 256) return; /* the verifier allows no more */
  for (size_t b = 0; b < node->blocks.len; b++) {
    const bsm_block *block = node->blocks.items[b];
    for (const bsm_node *n = block->first; n; n = n->next) {
      wait_for_inputs(s, n, stage, depth + 1);
    }
    wait_for_inputs(s, block->returns, stage, depth + 1);
  }
}

/* A list is unpacked in the stage that makes it; lists do not enter or leave
 * segments. */
static bool is_alone(const stager *s, const bsm_node *node) {
  const bsm_partition_options *o = s->options;
  if (o->only_inner && !s->block->owner) return true;
  if (bsm_node_is(node, "prim::ListUnpack")) {
    node = bsm_node_in(node, 0)->node;
  }
  return bsm_ptrmap_get(&s->alone, node) ||
         (o->must_call && o->must_call(o->user, node));
}

static bsm_status place(stager *s, const bsm_node *node) {
  uint32_t stage = 0;
  const bool compiled =
      can_be_in_segment(node, s->options) && !is_alone(s, node);
  wait_for_inputs(s, node, &stage, 0);
  const bool touches =
      s->options->memory && bsm_memory_touches(s->options->memory, node);
  const bsm_aten_library *aten = s->options->aten;
  const bool draws = aten && bsm_node_draws(node, aten);
  if (touches && s->touched > stage) stage = s->touched;
  if (draws && s->drawn > stage) stage = s->drawn;
  if ((stage % 2 == 0) != compiled) stage++;
  if (touches) s->touched = stage;
  if (draws) s->drawn = stage;
  if (stage > s->last) s->last = stage;
  const placed p = {node, stage};
  void *known = (void *)(uintptr_t)(stage + 1);
  if (!bsm_vec_push(s->arena, &s->nodes, p) ||
      !bsm_ptrmap_set(s->arena, &s->stages, node, known)) {
    return BSM_FAIL_OOM();
  }
  for (size_t i = 0; node->schema && i < node->schema->arg_count; i++) {
    if (node->schema->args[i].is_write && i < node->inputs.len &&
        !bsm_ptrmap_set(s->arena, &s->writers, bsm_node_in(node, i), known)) {
      return BSM_FAIL_OOM();
    }
  }
  return BSM_OK;
}

static bsm_status place_all(stager *s) {
  s->stages = s->writers = (bsm_ptrmap){0};
  s->nodes.len = 0;
  s->last = s->touched = s->drawn = 0;
  for (const bsm_node *n = s->block->first; n; n = n->next) {
    if (!bsm_node_is_floating(n)) BSM_TRY(place(s, n));
  }
  return BSM_OK;
}

/* ---- small segments ---- */

/* Notes that the nodes of a stage are to run alone; *noted when this is new and
 * possible. */
static bsm_status set_alone(stager *s, uint32_t stage, bool *noted) {
  const bsm_partition_options *o = s->options;
  for (size_t i = 0; i < s->nodes.len; i++) {
    const placed *p = &s->nodes.items[i];
    if (p->stage == stage && o->can_call && !o->can_call(o->user, p->node)) {
      return BSM_OK;
    }
  }
  for (size_t i = 0; i < s->nodes.len; i++) {
    const placed *p = &s->nodes.items[i];
    if (p->stage != stage) continue;
    BSM_TRY_ALLOC(bsm_ptrmap_set(s->arena, &s->alone, p->node, s));
    *noted = true;
  }
  return BSM_OK;
}

/* Dissolves segments of too few nodes. That may make other segments smaller, so
 * it is repeated until there are none. Each round takes at least one node out
 * for good. */
static bsm_status dissolve_small(stager *s) {
  const size_t least = s->options->min_segment_nodes;
  for (bool again = least > 1; again;) {
    size_t *counts = BSM_NEW_ARRAY(s->arena, size_t, (size_t)s->last + 1);
    BSM_TRY_ALLOC(counts);
    again = false;
    for (size_t i = 0; i < s->nodes.len; i++) {
      counts[s->nodes.items[i].stage]++;
    }
    for (uint32_t stage = 0; stage <= s->last; stage += 2) {
      if (counts[stage] && counts[stage] < least) {
        BSM_TRY(set_alone(s, stage, &again));
      }
    }
    if (again) BSM_TRY(place_all(s));
  }
  return BSM_OK;
}

/* ---- the graph of a segment ---- */

typedef struct segment_builder {
  bsm_arena *arena;
  bsm_segment *segment;
  bsm_ptrmap copies;  /* value -> value of the segment's graph */
  bsm_ptrmap members; /* nodes that are in the segment */
  BSM_VEC(bsm_value *) inputs;
  BSM_VEC(bsm_value *) outputs;
} segment_builder;

static bsm_status map_value(segment_builder *b, bsm_value *value,
                            bsm_value **out);

static bsm_status name_copy(bsm_value *copy, const bsm_value *of) {
  return of->debug_name
             ? bsm_value_set_name(copy->node->graph, copy, of->debug_name)
             : BSM_OK;
}

static bsm_status copy_node(segment_builder *b, const bsm_node *node) {
  bsm_graph *graph = b->segment->graph;
  bsm_node *copy;
  BSM_TRY(bsm_node_create(graph, node->kind, &copy));
  copy->schema = node->schema;
  copy->source = node->source;
  for (size_t i = 0; i < node->inputs.len; i++) {
    bsm_value *in;
    BSM_TRY(map_value(b, bsm_node_in(node, i), &in));
    BSM_TRY(bsm_node_add_input(copy, in));
  }
  for (size_t i = 0; i < node->attrs.len; i++) {
    BSM_TRY(bsm_node_set_attr(copy, node->attrs.items[i].name,
                              node->attrs.items[i].value));
  }
  for (size_t i = 0; i < node->outputs.len; i++) {
    bsm_value *out;
    BSM_TRY(bsm_node_add_output(copy, bsm_node_out(node, i)->type, &out));
    BSM_TRY(name_copy(out, bsm_node_out(node, i)));
    BSM_TRY_ALLOC(
        bsm_ptrmap_set(b->arena, &b->copies, bsm_node_out(node, i), out));
  }
  bsm_node_append(graph->block, copy);
  return BSM_OK;
}

/* The value that replaces another one in the segment: a copy of a constant or
 * list, or a new input. */
static bsm_status map_value(segment_builder *b, bsm_value *value,
                            bsm_value **out) {
  *out = bsm_ptrmap_get(&b->copies, value);
  if (*out) return BSM_OK;
  if (bsm_node_is_floating(value->node)) {
    BSM_TRY(copy_node(b, value->node));
    *out = bsm_ptrmap_get(&b->copies, value);
    return BSM_OK;
  }
  BSM_TRY(bsm_block_add_input(b->segment->graph->block, value->type, out));
  BSM_TRY(name_copy(*out, value));
  if (!bsm_vec_push(b->arena, &b->inputs, value) ||
      !bsm_ptrmap_set(b->arena, &b->copies, value, *out)) {
    return BSM_FAIL_OOM();
  }
  return BSM_OK;
}

static bool is_member(const segment_builder *b, const bsm_node *node) {
  return bsm_ptrmap_get(&b->members, node) != NULL;
}

/* Whether anything outside of the segment reads the value, also through lists,
 * which are made anew where they are needed. */
static bool is_read_outside(const segment_builder *b, const bsm_value *value,
                            size_t depth) {
  for (size_t i = 0; i < value->uses.len; i++) {
    const bsm_node *user = value->uses.items[i].user;
    if (bsm_node_is(user, "prim::ListConstruct") && depth < 64) {
      if (is_read_outside(b, bsm_node_out(user, 0), depth + 1)) return true;
    } else if (!is_member(b, user)) {
      return true;
    }
  }
  return false;
}

static bsm_status add_outputs(segment_builder *b, const bsm_node *node) {
  for (size_t i = 0; i < node->outputs.len; i++) {
    bsm_value *value = bsm_node_out(node, i);
    if (!is_read_outside(b, value, 0) || !is_fixed_tensor(value)) continue;
    BSM_TRY(bsm_block_add_output(b->segment->graph->block,
                                 bsm_ptrmap_get(&b->copies, value)));
    BSM_TRY_ALLOC(bsm_vec_push(b->arena, &b->outputs, value));
  }
  return BSM_OK;
}

static bsm_status make_segment(const stager *s, uint32_t stage,
                               bsm_segment **out) {
  segment_builder b = {.arena = s->arena};
  *out = b.segment = BSM_NEW(s->arena, bsm_segment);
  BSM_TRY_ALLOC(b.segment);
  BSM_TRY(bsm_graph_create(s->block->graph->cx, &b.segment->graph));
  for (size_t i = 0; i < s->nodes.len; i++) {
    const placed *p = &s->nodes.items[i];
    if (p->stage != stage) continue;
    BSM_TRY(copy_node(&b, p->node));
    BSM_TRY_ALLOC(bsm_ptrmap_set(s->arena, &b.members, p->node, b.segment));
    b.segment->node_count++;
  }
  for (size_t i = 0; i < s->nodes.len; i++) {
    if (s->nodes.items[i].stage == stage) {
      BSM_TRY(add_outputs(&b, s->nodes.items[i].node));
    }
  }
  b.segment->inputs = b.inputs.items;
  b.segment->input_count = b.inputs.len;
  b.segment->outputs = b.outputs.items;
  b.segment->output_count = b.outputs.len;
  return BSM_OK;
}

static bsm_status partition_block(const bsm_block *block,
                                  const bsm_partition_options *options,
                                  bsm_arena *arena, bsm_schedule *out) {
  stager s = {.block = block, .options = options, .arena = arena};
  BSM_VEC(bsm_schedule_item) items = {0};
  BSM_TRY(place_all(&s));
  BSM_TRY(dissolve_small(&s));
  for (uint32_t stage = 0; s.nodes.len && stage <= s.last; stage++) {
    bsm_schedule_item item = {0};
    for (size_t i = 0; i < s.nodes.len; i++) {
      if (s.nodes.items[i].stage != stage) continue;
      if (stage % 2 == 0) {
        BSM_TRY(make_segment(&s, stage, &item.segment));
      } else {
        item.node = s.nodes.items[i].node;
        item.must_call =
            options->must_call && options->must_call(options->user, item.node);
      }
      /* A segment whose results are not read is not run. */
      if (item.node || item.segment->output_count) {
        BSM_TRY_ALLOC(bsm_vec_push(arena, &items, item));
      }
      if (stage % 2 == 0) break;
    }
  }
  *out = (bsm_schedule){items.items, items.len};
  return BSM_OK;
}

/* ---- whole graphs ---- */

static bsm_status schedule_block(const bsm_block *block,
                                 const bsm_partition_options *options,
                                 bsm_arena *arena, size_t depth,
                                 bsm_partition *out) {
  bsm_schedule *schedule = BSM_NEW(arena, bsm_schedule);
  BSM_TRY_ALLOC(schedule);
  if (depth > 256) return BSM_OK; /* the verifier allows no more */
  BSM_TRY(partition_block(block, options, arena, schedule));
  BSM_TRY_ALLOC(bsm_ptrmap_set(arena, &out->schedules, block, schedule));
  for (size_t i = 0; i < schedule->count; i++) {
    const bsm_node *node = schedule->items[i].node;
    for (size_t k = 0; node && k < node->blocks.len; k++) {
      BSM_TRY(schedule_block(node->blocks.items[k], options, arena, depth + 1,
                             out));
    }
  }
  return BSM_OK;
}

bsm_status bsm_partition_graph(const bsm_graph *graph,
                               const bsm_partition_options *options,
                               bsm_arena *arena, bsm_partition *out) {
  *out = (bsm_partition){0};
  return schedule_block(graph->block, options, arena, 0, out);
}

const bsm_schedule *bsm_partition_schedule(const bsm_partition *partition,
                                           const bsm_block *block) {
  return bsm_ptrmap_get(&partition->schedules, block);
}
