/* SPDX-License-Identifier: Apache-2.0 */
/* Common subexpressions: of two pure nodes that compute the same from the same
 * values only the first stays. Equal constants are merged first, so that equal
 * ops on them are merged too. Constants that share memory are merged whatever
 * path leads to them.
 *
 * Requires:    a functional graph.
 * Establishes: no two pure nodes in scope of each other are equal.
 * Breaks:      nothing. */
#include "base/hash.h"
#include "lowering/pass.h"

/* Contents are compared up to this size; larger tensors by address. */
#define COMPARED_BYTES 4096u

/* ---- constants ---- */

static size_t tensor_bytes(const bsm_tensor *t) {
  return (size_t)bsm_tensor_numel(t) * bsm_dtype_size(t->dtype);
}

static bool by_content(const bsm_tensor *t) {
  return bsm_tensor_is_contiguous(t) && tensor_bytes(t) <= COMPARED_BYTES;
}

static bool same_tensor(const bsm_tensor *a, const bsm_tensor *b) {
  if (a->dtype != b->dtype || !bsm_dims_equal(a->sizes, b->sizes) ||
      a->wrapped_number != b->wrapped_number) {
    return false;
  }
  if (by_content(a) && by_content(b)) {
    const size_t n = tensor_bytes(a);
    return n == 0 || memcmp(bsm_tensor_data(a), bsm_tensor_data(b), n) == 0;
  }
  return bsm_tensor_data(a) == bsm_tensor_data(b) &&
         memcmp(a->strides, b->strides,
                (size_t)a->sizes.rank * sizeof(a->strides[0])) == 0;
}

static bool same_constant(const bsm_ivalue *a, const bsm_ivalue *b,
                          size_t depth) {
  if (a->tag != b->tag || depth > 100) {
    return false;
  }
  switch (a->tag) {
    case BSM_IVALUE_NONE:
      return true;
    case BSM_IVALUE_BOOL:
      return a->u.b == b->u.b;
    case BSM_IVALUE_INT:
      return a->u.i == b->u.i;
    case BSM_IVALUE_DOUBLE: /* by bits: 0.0 is not -0.0 */
      return memcmp(&a->u.d, &b->u.d, sizeof(a->u.d)) == 0;
    case BSM_IVALUE_COMPLEX:
      return memcmp(&a->u.c, &b->u.c, sizeof(a->u.c)) == 0;
    case BSM_IVALUE_STRING:
      return bsm_str_eq(*a->u.s, *b->u.s);
    case BSM_IVALUE_DEVICE:
      return a->u.device.type == b->u.device.type &&
             a->u.device.index == b->u.device.index;
    case BSM_IVALUE_TENSOR:
      return same_tensor(a->u.tensor, b->u.tensor);
    case BSM_IVALUE_LIST:
      if (a->u.list->len != b->u.list->len) {
        return false;
      }
      for (size_t i = 0; i < a->u.list->len; i++) {
        if (!same_constant(&a->u.list->items[i], &b->u.list->items[i],
                           depth + 1)) {
          return false;
        }
      }
      return true;
    default:
      return a->u.container == b->u.container;
  }
}

static uint64_t hash_constant(const bsm_ivalue *v, uint64_t seed,
                              size_t depth) {
  seed = bsm_hash64(&v->tag, sizeof(v->tag), seed);
  switch (v->tag) {
    case BSM_IVALUE_BOOL:
      return bsm_hash64(&v->u.b, sizeof(v->u.b), seed);
    case BSM_IVALUE_INT:
      return bsm_hash64(&v->u.i, sizeof(v->u.i), seed);
    case BSM_IVALUE_DOUBLE:
      return bsm_hash64(&v->u.d, sizeof(v->u.d), seed);
    case BSM_IVALUE_STRING:
      return bsm_hash64(v->u.s->data, v->u.s->len, seed);
    case BSM_IVALUE_TENSOR:
      seed = bsm_hash64(v->u.tensor->sizes.d,
                        (size_t)v->u.tensor->sizes.rank * sizeof(int64_t),
                        seed + (uint64_t)v->u.tensor->dtype);
      return by_content(v->u.tensor)
                 ? bsm_hash64(bsm_tensor_data(v->u.tensor),
                              tensor_bytes(v->u.tensor), seed)
                 : seed;
    case BSM_IVALUE_LIST:
      for (size_t i = 0; i < v->u.list->len && depth < 100; i++) {
        seed = hash_constant(&v->u.list->items[i], seed, depth + 1);
      }
      return seed;
    default:
      return seed;
  }
}

/* ---- nodes ---- */

static uint64_t hash_node(const bsm_node *node) {
  const void *op =
      node->schema ? (const void *)node->schema : (const void *)node->kind;
  uint64_t h = bsm_hash64(&op, sizeof(op), 17);
  for (size_t i = 0; i < node->inputs.len; i++) {
    const bsm_value *v = bsm_node_in(node, i);
    h = bsm_hash64(&v, sizeof(v), h);
  }
  for (size_t i = 0; i < node->attrs.len; i++) {
    h = hash_constant(&node->attrs.items[i].value, h, 0);
  }
  return h;
}

static bool same_node(const bsm_node *a, const bsm_node *b) {
  if (a->kind != b->kind || a->schema != b->schema ||
      a->inputs.len != b->inputs.len || a->outputs.len != b->outputs.len ||
      a->attrs.len != b->attrs.len) {
    return false;
  }
  for (size_t i = 0; i < a->inputs.len; i++) {
    if (bsm_node_in(a, i) != bsm_node_in(b, i)) {
      return false;
    }
  }
  for (size_t i = 0; i < a->outputs.len; i++) {
    if (bsm_node_out(a, i)->type != bsm_node_out(b, i)->type) {
      return false;
    }
  }
  for (size_t i = 0; i < a->attrs.len; i++) {
    if (a->attrs.items[i].name != b->attrs.items[i].name ||
        !same_constant(&a->attrs.items[i].value, &b->attrs.items[i].value, 0)) {
      return false;
    }
  }
  return true;
}

/* ---- the table: chains by hash; a block's entries leave with it ---- */

typedef struct entry {
  struct entry *next;
  bsm_node *node;
  uint64_t hash;
} entry;

typedef struct table {
  bsm_arena *arena;
  entry **buckets;
  size_t count; /* a power of two */
  BSM_VEC(entry *) order;
} table;

static bsm_node *find(const table *t, const bsm_node *node, uint64_t hash) {
  for (const entry *e = t->buckets[hash & (t->count - 1)]; e; e = e->next) {
    if (e->hash == hash && same_node(e->node, node)) {
      return e->node;
    }
  }
  return NULL;
}

static bsm_status insert(table *t, bsm_node *node, uint64_t hash) {
  entry *e = BSM_NEW(t->arena, entry);
  BSM_TRY_ALLOC(e);
  entry **bucket = &t->buckets[hash & (t->count - 1)];
  *e = (entry){*bucket, node, hash};
  BSM_TRY_ALLOC(bsm_vec_push(t->arena, &t->order, e));
  *bucket = e;
  return BSM_OK;
}

static void forget(table *t, size_t mark) {
  while (t->order.len > mark) {
    const entry *e = t->order.items[--t->order.len];
    t->buckets[e->hash & (t->count - 1)] = e->next;
  }
}

static bsm_status visit_block(table *t, bsm_block *block,
                              const bsm_aten_library *aten, size_t depth) {
  if (depth > block->graph->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "blocks are nested too deep");
  }
  const size_t mark = t->order.len;
  bsm_node *next = NULL;
  for (bsm_node *node = block->first; node; node = next) {
    next = node->next;
    for (size_t i = 0; i < node->blocks.len; i++) {
      BSM_TRY(visit_block(t, node->blocks.items[i], aten, depth + 1));
    }
    if (!bsm_node_is_pure(node, aten)) {
      continue;
    }
    const uint64_t hash = hash_node(node);
    bsm_node *first = find(t, node, hash);
    if (!first) {
      BSM_TRY(insert(t, node, hash));
      continue;
    }
    for (size_t i = 0; i < node->outputs.len; i++) {
      BSM_TRY(bsm_rewrite_value(node->graph, bsm_node_out(node, i),
                                bsm_node_out(first, i)));
    }
    bsm_node_destroy(node);
  }
  forget(t, mark);
  return BSM_OK;
}

bsm_status bsm_lower_eliminate_common_subexpressions(
    bsm_graph *graph, const bsm_aten_library *aten) {
  bsm_arena arena;
  bsm_arena_init(&arena, graph->cx->arena->allocator);
  table t = {.arena = &arena, .count = 64};
  while (t.count < graph->node_count && t.count < 1u << 20) {
    t.count *= 2;
  }
  t.buckets = BSM_NEW_ARRAY(&arena, entry *, t.count);
  bsm_status st =
      t.buckets ? visit_block(&t, graph->block, aten, 0) : BSM_FAIL_OOM();
  bsm_arena_destroy(&arena);
  return st;
}
