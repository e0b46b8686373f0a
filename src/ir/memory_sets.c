/* SPDX-License-Identifier: Apache-2.0 */
/* Union-find over the values of a graph. */
#include "ir/memory_sets.h"

#include <string.h>

#define MAX_DEPTH 256 /* of blocks: the verifier allows no more */

struct bsm_memory_sets {
  const bsm_aten_library *aten;
  bsm_arena *arena;
  uint32_t *parents; /* by value id */
  uint32_t *sizes;   /* of a root: members */
  bool *tensors;     /* of a root: a tensor is written to */
  bool *containers;  /* of a root: a list or dict is written to */
  uint32_t count;    /* of ids: values made later are in no set */
  bool any;
  bsm_ptrmap data; /* memory of a constant -> its first value's id, plus 1 */
};

/* Numbers, strings and the like hold no memory. */
static bool holds_memory(const bsm_value *value) {
  switch (value->type ? value->type->kind : BSM_TYPE_ANY) {
    case BSM_TYPE_NONE:
    case BSM_TYPE_INT:
    case BSM_TYPE_FLOAT:
    case BSM_TYPE_BOOL:
    case BSM_TYPE_COMPLEX:
    case BSM_TYPE_NUMBER:
    case BSM_TYPE_STRING:
    case BSM_TYPE_DEVICE:
      return false;
    default:
      return true;
  }
}

static bool is_tensor(const bsm_value *value) {
  const bsm_type *type = value->type;
  return type && type->kind == BSM_TYPE_TENSOR;
}

bool bsm_schema_writes(const bsm_schema *schema, size_t *which) {
  for (size_t i = 0; schema && i < schema->arg_count; i++) {
    if (schema->args[i].is_write) {
      *which = i;
      return true;
    }
  }
  return false;
}

/* ---- sets ---- */

static uint32_t find(const bsm_memory_sets *m, uint32_t id) {
  uint32_t *p = m->parents;
  while (p[id] != id) {
    p[id] = p[p[id]];
    id = p[id];
  }
  return id;
}

static void unite(bsm_memory_sets *m, const bsm_value *a, const bsm_value *b) {
  if (!holds_memory(a) || !holds_memory(b)) return;
  uint32_t x = find(m, a->id), y = find(m, b->id);
  if (x == y) return;
  if (m->sizes[x] < m->sizes[y]) {
    const uint32_t t = x;
    x = y;
    y = t;
  }
  m->parents[y] = x;
  m->sizes[x] += m->sizes[y];
}

static void unite_outputs(bsm_memory_sets *m, const bsm_node *node) {
  for (size_t i = 0; i < node->outputs.len; i++) {
    for (size_t k = 0; k < node->inputs.len; k++) {
      unite(m, bsm_node_out(node, i), bsm_node_in(node, k));
    }
  }
}

/* ---- which results share memory with arguments ---- */

static bool is_open(const bsm_type *type) {
  while (type->kind == BSM_TYPE_OPTIONAL || type->kind == BSM_TYPE_LIST) {
    type = type->args[0];
  }
  return type->kind != BSM_TYPE_TENSOR;
}

/* Ops that may answer their argument, or a view, though their schema does not
 * say so. */
static bool may_answer_argument(const bsm_schema *schema) {
  static const char *const names[] = {
      "aten::dropout",       "aten::dropout_",
      "aten::alpha_dropout", "aten::feature_dropout",
      "aten::type_as",       "aten::feature_alpha_dropout",
      "aten::atleast_1d",    "aten::broadcast_tensors",
      "aten::atleast_2d",    "aten::meshgrid",
      "aten::atleast_3d",    "aten::_unsafe_view",
      "aten::unsafe_chunk",  "aten::unsafe_split",
      "aten::sum_to_size",   "aten::unsafe_split_with_sizes",
      "aten::einsum",        "aten::quantize_per_tensor_dynamic",
      "aten::rrelu",         "aten::_to_copy",
      "aten::pad_sequence",  "aten::_pad_packed_sequence",
      "aten::lift",          "aten::_pack_padded_sequence",
      "aten::cartesian_prod"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (strcmp(schema->name, names[i]) == 0) return true;
  }
  return false;
}

static bool shares(const bsm_memory_sets *m, const bsm_node *node) {
  const bsm_schema *schema = node->schema;
  const bsm_aten_op *op = bsm_aten_find(m->aten, bsm_str_of(schema->qualified));
  if (!op || (op->flags & BSM_ATEN_VIEW) || may_answer_argument(schema) ||
      schema->is_vararg || schema->is_varret) {
    return true;
  }
  for (size_t i = 0; i < schema->return_count; i++) {
    if (schema->returns[i].has_alias || is_open(schema->returns[i].type)) {
      return true;
    }
  }
  return false;
}

static void unite_node(bsm_memory_sets *m, const bsm_node *node) {
  size_t which;
  const bool writes =
      bsm_schema_writes(node->schema, &which) && which < node->inputs.len;
  const bsm_value *to = writes ? bsm_node_in(node, which) : NULL;
  if (writes && is_tensor(to)) { /* the results are what was written to */
    for (size_t i = 0; i < node->outputs.len; i++) {
      unite(m, to, bsm_node_out(node, i));
    }
    return;
  }
  if (!node->schema || writes || shares(m, node)) unite_outputs(m, node);
  for (size_t i = 0; writes && i < node->inputs.len; i++) {
    unite(m, to, bsm_node_in(node, i)); /* what a container gets, it holds */
  }
}

static void unite_if(bsm_memory_sets *m, const bsm_node *node) {
  for (size_t b = 0; b < node->blocks.len; b++) {
    const bsm_node *returns = node->blocks.items[b]->returns;
    for (size_t i = 0; i < node->outputs.len && i < returns->inputs.len; i++) {
      unite(m, bsm_node_out(node, i), bsm_node_in(returns, i));
    }
  }
}

static void unite_loop(bsm_memory_sets *m, const bsm_node *node) {
  const bsm_block *body = node->blocks.items[0];
  for (size_t i = 0;
       i < node->outputs.len && i + 2 < node->inputs.len &&
       i + 1 < body->params->outputs.len && i + 1 < body->returns->inputs.len;
       i++) {
    const bsm_value *out = bsm_node_out(node, i);
    unite(m, out, bsm_node_in(node, i + 2));
    unite(m, out, bsm_node_out(body->params, i + 1));
    unite(m, out, bsm_node_in(body->returns, i + 1));
  }
}

/* Constants may share memory: parameters that are tied, views of one. */
static bsm_status unite_constant(bsm_memory_sets *m, const bsm_node *node) {
  const bsm_value *value = bsm_node_out(node, 0);
  const bsm_ivalue *constant = bsm_value_constant(value);
  if (!constant || constant->tag != BSM_IVALUE_TENSOR) return BSM_OK;
  const void *data = constant->u.tensor->storage->data;
  const bsm_value *first = data ? bsm_ptrmap_get(&m->data, data) : NULL;
  if (first) {
    unite(m, first, value);
  } else if (data) {
    BSM_TRY_ALLOC(
        bsm_ptrmap_set(m->arena, &m->data, data, (void *)(uintptr_t)value));
  }
  return BSM_OK;
}

static bsm_status unite_block(bsm_memory_sets *m, const bsm_block *block,
                              size_t depth) {
  if (depth > MAX_DEPTH) {
    return BSM_FAIL(BSM_LIMIT, "blocks nest more than %d deep", MAX_DEPTH);
  }
  for (const bsm_node *n = block->first; n; n = n->next) {
    if (bsm_node_is(n, "prim::Constant")) {
      BSM_TRY(unite_constant(m, n));
    } else if (bsm_node_is(n, "prim::If")) {
      unite_if(m, n);
    } else if (bsm_node_is(n, "prim::Loop") && n->blocks.len == 1) {
      unite_loop(m, n);
    } else {
      unite_node(m, n);
    }
    for (size_t b = 0; b < n->blocks.len; b++) {
      BSM_TRY(unite_block(m, n->blocks.items[b], depth + 1));
    }
  }
  return BSM_OK;
}

/* Such an op needs the tensor as PyTorch lays it out: as if it were written to.
 */
static bool needs_strides(const bsm_node *node) {
  static const char *const names[] = {"aten::as_strided", "aten::stride",
                                      "aten::is_contiguous",
                                      "aten::storage_offset"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (bsm_node_is(node, names[i])) return node->inputs.len > 0;
  }
  return false;
}

static void find_writes(bsm_memory_sets *m, const bsm_block *block) {
  for (const bsm_node *n = block->first; n; n = n->next) {
    for (size_t i = 0;
         n->schema && i < n->schema->arg_count && i < n->inputs.len; i++) {
      if (!n->schema->args[i].is_write) continue;
      const bsm_value *value = bsm_node_in(n, i);
      const bsm_type *type = n->schema->args[i].type;
      if (type->kind == BSM_TYPE_OPTIONAL) type = type->args[0];
      m->any = true;
      if (type->kind == BSM_TYPE_TENSOR) {
        m->tensors[find(m, value->id)] = true;
      } else {
        m->containers[find(m, value->id)] = true;
      }
    }
    if (needs_strides(n)) m->tensors[find(m, bsm_node_in(n, 0)->id)] = true;
    for (size_t b = 0; b < n->blocks.len; b++) {
      find_writes(m, n->blocks.items[b]);
    }
  }
}

bsm_status bsm_memory_sets_of(const bsm_graph *graph,
                              const bsm_aten_library *aten, bsm_arena *arena,
                              bsm_memory_sets **out) {
  const size_t n = (size_t)graph->next_value_id + 1;
  bsm_memory_sets *m = BSM_NEW(arena, bsm_memory_sets);
  BSM_TRY_ALLOC(m);
  *m = (bsm_memory_sets){
      .aten = aten, .arena = arena, .count = graph->next_value_id};
  m->parents = BSM_NEW_ARRAY(arena, uint32_t, n);
  m->sizes = BSM_NEW_ARRAY(arena, uint32_t, n);
  m->tensors = BSM_NEW_ARRAY(arena, bool, n);
  m->containers = BSM_NEW_ARRAY(arena, bool, n);
  if (!m->parents || !m->sizes || !m->tensors || !m->containers) {
    return BSM_FAIL_OOM();
  }
  for (uint32_t i = 0; i < n; i++) {
    m->parents[i] = i;
    m->sizes[i] = 1;
  }
  BSM_TRY(unite_block(m, graph->block, 0));
  find_writes(m, graph->block);
  *out = m;
  return BSM_OK;
}

/* ---- questions ---- */

bool bsm_memory_any_written(const bsm_memory_sets *sets) {
  return sets->any;
}

bool bsm_memory_may_share(const bsm_memory_sets *sets, const bsm_value *a,
                          const bsm_value *b) {
  return holds_memory(a) && holds_memory(b) &&
         (a->id >= sets->count || b->id >= sets->count ||
          find(sets, a->id) == find(sets, b->id));
}

void bsm_memory_unite(bsm_memory_sets *sets, const bsm_value *a,
                      const bsm_value *b) {
  if (a->id < sets->count && b->id < sets->count) unite(sets, a, b);
}

bool bsm_memory_is_fresh(const bsm_memory_sets *sets, const bsm_node *node) {
  size_t which;
  return node->schema && !bsm_schema_writes(node->schema, &which) &&
         !shares(sets, node);
}

/* A list that is made for one use is only what its items are. */
static bool is_written(const bsm_memory_sets *m, const bsm_value *value,
                       size_t depth) {
  if (!holds_memory(value)) return false;
  if (value->id >= m->count) return m->any;
  const uint32_t root = find(m, value->id);
  if (is_tensor(value)) return m->tensors[root];
  if (bsm_node_is(value->node, "prim::ListConstruct") && depth < MAX_DEPTH) {
    for (size_t i = 0; i < value->node->inputs.len; i++) {
      if (is_written(m, bsm_node_in(value->node, i), depth + 1)) return true;
    }
    return false;
  }
  return m->tensors[root] || m->containers[root];
}

bool bsm_memory_is_written(const bsm_memory_sets *sets,
                           const bsm_value *value) {
  return is_written(sets, value, 0);
}

static bool touches(const bsm_memory_sets *m, const bsm_node *node,
                    size_t depth) {
  for (size_t i = 0; i < node->inputs.len; i++) {
    if (is_written(m, bsm_node_in(node, i), 0)) return true;
  }
  for (size_t b = 0; b < node->blocks.len; b++) {
    if (depth > MAX_DEPTH) return true;
    for (const bsm_node *n = node->blocks.items[b]->first; n; n = n->next) {
      if (touches(m, n, depth + 1)) return true;
    }
  }
  return false;
}

bool bsm_memory_touches(const bsm_memory_sets *sets, const bsm_node *node) {
  return sets->any && touches(sets, node, 0);
}
