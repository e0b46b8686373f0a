/* SPDX-License-Identifier: Apache-2.0 */
/* Writes of a literal graph.
 *
 * resolve_writes: a write to a tensor that no other value shares at that point
 * becomes a new value, which later uses of the tensor read. Most in-place ops
 * of models are of this kind, and their graphs become functional again.
 * own_memory: inputs and constants that a run may write to are copied when it
 * begins.
 *
 * Requires:    a graph as bsm_specialize leaves it when literal.
 * Establishes: no write reaches the memory of an input or a constant.
 * Breaks:      leaves constants dead. */
#include "ir/memory_sets.h"
#include "lowering/pass.h"

/* ---- resolve_writes ---- */

typedef struct resolver {
  bsm_graph *graph;
  const bsm_aten_library *aten;
  bsm_arena scratch;
  bsm_memory_sets *sets;
  bsm_ptrmap places; /* node -> its place in its block, plus 1 */
} resolver;

static bool is_copy(const bsm_node *node) {
  return node->schema && strcmp(node->schema->qualified, "aten::copy_") == 0;
}

/* Whether the op gives the dtype and dims of its argument, whatever they are.
 */
static bool keeps_shape(const bsm_node *node, const bsm_value *x) {
  static const char *const names[] = {
      "aten::relu",       "aten::relu6", "aten::leaky_relu",  "aten::hardtanh",
      "aten::silu",       "aten::mish",  "aten::hardsigmoid", "aten::elu",
      "aten::hardswish",  "aten::selu",  "aten::celu",        "aten::gelu",
      "aten::masked_fill"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (node->schema && strcmp(node->schema->name, names[i]) == 0) {
      return bsm_node_in(node, 0) == x;
    }
  }
  return false;
}

static bool same_shape(const bsm_value *x, const bsm_value *y) {
  bsm_dims a, b;
  bsm_dtype c, d;
  return (bsm_value_dims(x, &a, &c) && bsm_value_dims(y, &b, &d) && c == d &&
          bsm_dims_equal(a, b)) ||
         keeps_shape(y->node, x);
}

/* Whether PyTorch's tensor is contiguous for certain. Tensors made from it take
 * over its layout, and reshape() returns a view only of a contiguous one. */
static bool is_contiguous(const bsm_value *value) {
  const bsm_node *node = value->node;
  const bsm_ivalue *constant = bsm_value_constant(value);
  if (constant) {
    return constant->tag == BSM_IVALUE_TENSOR &&
           bsm_tensor_is_contiguous(constant->u.tensor);
  }
  return node->schema ? !bsm_node_attr_get(node, "strided")
                      : !node->kind[0] && !node->block->owner;
}

static bool runs_after(const resolver *r, const bsm_node *user,
                       const bsm_node *node) {
  while (user && user->block != node->block) {
    user = user->block ? user->block->owner : NULL;
  }
  const uintptr_t place = (uintptr_t)bsm_ptrmap_get(&r->places, user);
  return !place || place > (uintptr_t)bsm_ptrmap_get(&r->places, node);
}

/* Whether no other value shares the tensor before `node`, a node of the same
 * block: the tensor is new, and no earlier node has kept it. */
static bool is_alone(const resolver *r, const bsm_value *x,
                     const bsm_node *node) {
  const bool input = !x->node->kind[0] && !x->node->block->owner;
  if (!input && !bsm_memory_is_fresh(r->sets, x->node)) return false;
  for (size_t i = 0; i < x->uses.len; i++) {
    const bsm_node *user = x->uses.items[i].user;
    size_t which;
    if (user == node || is_copy(user) || runs_after(r, user, node)) continue;
    if (!user->schema || bsm_schema_writes(user->schema, &which)) return false;
    for (size_t k = 0; k < user->outputs.len; k++) {
      if (bsm_memory_may_share(r->sets, x, bsm_node_out(user, k))) return false;
    }
  }
  return true;
}

static bsm_status replace_later(const resolver *r, bsm_value *from,
                                bsm_value *to, const bsm_node *node) {
  for (size_t i = from->uses.len; i-- > 0;) {
    const bsm_use use = from->uses.items[i];
    if (runs_after(r, use.user, node)) {
      BSM_TRY(bsm_node_set_input(use.user, use.index, to));
    }
  }
  if (!bsm_type_has_sizes(to->type)) to->type = from->type;
  return BSM_OK;
}

static bsm_status resolve(resolver *r, bsm_node *node, bool *resolved) {
  bsm_value *x = bsm_node_in(node, 0), *y = bsm_node_in(node, 1);
  *resolved = false;
  if (bsm_node_out(node, 0)->uses.len || x->node->block != node->block ||
      !is_alone(r, x, node) || !same_shape(x, y) || !is_contiguous(x) ||
      !is_contiguous(y)) {
    return BSM_OK;
  }
  if (y->uses.len > 1 || y->node->block != node->block ||
      !bsm_memory_is_fresh(r->sets, y->node)) {
    if (keeps_shape(y->node, x)) return BSM_OK;
    const bsm_node_emitter e = bsm_node_emitter_before(node, r->aten);
    bsm_value *in[2] = {y, NULL};
    BSM_TRY(bsm_ir_none(&e, &in[1]));
    BSM_TRY(bsm_ir_op(&e, "aten::clone", in, 2, &y));
    /* The new value takes the place of the write. */
    BSM_TRY_ALLOC(bsm_ptrmap_set(&r->scratch, &r->places, y->node,
                                 bsm_ptrmap_get(&r->places, node)));
  }
  bsm_memory_unite(
      r->sets, x,
      y); /* a value that shares memory with one shares it with both */
  BSM_TRY(replace_later(r, x, y, node));
  bsm_node_destroy(node);
  *resolved = true;
  return BSM_OK;
}

static bsm_status note_places(resolver *r, const bsm_block *block,
                              size_t depth) {
  uintptr_t place = 0;
  if (depth > (size_t)r->graph->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "blocks are nested too deep");
  }
  /* Parameters come before all nodes; what has no place comes after them. */
  BSM_TRY_ALLOC(
      bsm_ptrmap_set(&r->scratch, &r->places, block->params, (void *)++place));
  for (const bsm_node *n = block->first; n; n = n->next) {
    BSM_TRY_ALLOC(bsm_ptrmap_set(&r->scratch, &r->places, n, (void *)++place));
    for (size_t i = 0; i < n->blocks.len; i++) {
      BSM_TRY(note_places(r, n->blocks.items[i], depth + 1));
    }
  }
  return BSM_OK;
}

static bsm_status resolve_block(resolver *r, bsm_block *block, bool *any) {
  bsm_node *next;
  for (bsm_node *node = block->first; node; node = next) {
    bool resolved = false;
    next = node->next;
    for (size_t i = 0; i < node->blocks.len; i++) {
      BSM_TRY(resolve_block(r, node->blocks.items[i], any));
    }
    if (is_copy(node)) BSM_TRY(resolve(r, node, &resolved));
    *any = *any || resolved;
  }
  return BSM_OK;
}

/* Repeated while a round leaves tensors unshared that were shared before. */
#define MAX_TURNS 16

bsm_status bsm_lower_resolve_writes(bsm_graph *graph,
                                    const bsm_aten_library *aten) {
  bool any = true;
  for (int turn = 0; any && turn < MAX_TURNS; turn++) {
    resolver r = {.graph = graph, .aten = aten};
    any = false;
    bsm_arena_init(&r.scratch, graph->cx->arena->allocator);
    bsm_status st = bsm_memory_sets_of(graph, aten, &r.scratch, &r.sets);
    if (!st) st = note_places(&r, graph->block, 0);
    if (!st) st = resolve_block(&r, graph->block, &any);
    bsm_arena_destroy(&r.scratch);
    BSM_TRY(st);
  }
  return BSM_OK;
}

/* ---- own_memory ---- */

typedef struct owner {
  bsm_graph *graph;
  bsm_arena scratch;
  bsm_memory_sets *sets;
  bsm_node_emitter e;
  bsm_ptrmap bases; /* memory of constants -> the run's copy of it */
  BSM_VEC(bsm_value *) constants; /* that may be written to */
} owner;

static bsm_status clone(const owner *o, bsm_value *x, bsm_value **out) {
  bsm_value *in[2] = {x, NULL};
  BSM_TRY(bsm_ir_none(&o->e, &in[1]));
  return bsm_ir_op(&o->e, "aten::clone", in, 2, out);
}

static bsm_status own_input(const owner *o, bsm_value *x) {
  bsm_value *copy = NULL;
  if (!bsm_memory_is_written(o->sets, x)) return BSM_OK;
  BSM_TRY(clone(o, x, &copy));
  copy->type = x->type;
  for (size_t i = x->uses.len; i-- > 0;) {
    const bsm_use use = x->uses.items[i];
    if (use.user != copy->node) {
      BSM_TRY(bsm_node_set_input(use.user, use.index, copy));
    }
  }
  return BSM_OK;
}

static const bsm_tensor *tensor_of(const bsm_value *value) {
  const bsm_ivalue *constant = bsm_value_constant(value);
  return constant && constant->tag == BSM_IVALUE_TENSOR ? constant->u.tensor
                                                        : NULL;
}

static bsm_status find_constants(owner *o, const bsm_block *block,
                                 size_t depth) {
  if (depth > (size_t)o->graph->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "blocks are nested too deep");
  }
  for (const bsm_node *n = block->first; n; n = n->next) {
    if (bsm_node_is(n, "prim::Constant") && tensor_of(bsm_node_out(n, 0)) &&
        bsm_memory_is_written(o->sets, bsm_node_out(n, 0))) {
      BSM_TRY_ALLOC(
          bsm_vec_push(&o->scratch, &o->constants, bsm_node_out(n, 0)));
    }
    for (size_t i = 0; i < n->blocks.len; i++) {
      BSM_TRY(find_constants(o, n->blocks.items[i], depth + 1));
    }
  }
  return BSM_OK;
}

/* The run's copy of all the memory behind a constant, as one row. */
static bsm_status base_of(owner *o, const bsm_tensor *t, bsm_value **out) {
  const size_t item = bsm_dtype_size(t->dtype);
  *out = bsm_ptrmap_get(&o->bases, t->storage->data);
  if (*out && (*out)->type->dtype == t->dtype) return BSM_OK;
  if (*out || !item) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a tensor of the model of dtype %s is written to, and "
                    "shares memory with one of another dtype",
                    bsm_dtype_name(t->dtype));
  }
  const bsm_dims dims = {1, {(int64_t)(t->storage->size / item)}};
  const int64_t stride = 1;
  bsm_tensor *row = NULL;
  bsm_value *constant = NULL;
  BSM_TRY(bsm_tensor_view(o->graph->cx->arena, t, dims, &stride, 0, &row));
  BSM_TRY(bsm_ir_constant(&o->e, bsm_iv_tensor(row), NULL, &constant));
  constant->type = bsm_type_tensor(o->graph->cx->types, t->dtype, dims);
  BSM_TRY_ALLOC(constant->type);
  BSM_TRY(clone(o, constant, out));
  BSM_TRY_ALLOC(bsm_ptrmap_set(&o->scratch, &o->bases, t->storage->data, *out));
  return BSM_OK;
}

static bsm_status own_constant(owner *o, bsm_value *x) {
  const bsm_tensor *t = tensor_of(x);
  const size_t rank = (size_t)t->sizes.rank;
  bsm_value *in[4] = {NULL, NULL, NULL, NULL}, *own = NULL;
  if (!t->storage->data) {
    return BSM_OK; /* empty: there is nothing to write to */
  }
  BSM_TRY(base_of(o, t, &in[0]));
  BSM_TRY(bsm_ir_ints(&o->e, t->sizes.d, rank, &in[1]));
  BSM_TRY(bsm_ir_ints(&o->e, t->strides, rank, &in[2]));
  BSM_TRY(bsm_ir_int(&o->e, t->offset, &in[3]));
  BSM_TRY(bsm_ir_op(&o->e, "aten::as_strided", in, 4, &own));
  own->type = x->type;
  return bsm_value_replace_all_uses(x, own);
}

static bsm_status own_all(owner *o, const bsm_aten_library *aten) {
  bsm_block *block = o->graph->block;
  BSM_TRY(bsm_memory_sets_of(o->graph, aten, &o->scratch, &o->sets));
  if (!bsm_memory_any_written(o->sets)) return BSM_OK;
  BSM_TRY(find_constants(o, block, 0));
  o->e = (bsm_node_emitter){
      .graph = o->graph, .block = block, .before = block->first, .aten = aten};
  for (size_t i = 0; i < block->params->outputs.len; i++) {
    BSM_TRY(own_input(o, bsm_node_out(block->params, i)));
  }
  for (size_t i = 0; i < o->constants.len; i++) {
    BSM_TRY(own_constant(o, o->constants.items[i]));
  }
  return BSM_OK;
}

bsm_status bsm_lower_own_memory(bsm_graph *graph,
                                const bsm_aten_library *aten) {
  owner o = {.graph = graph};
  bsm_arena_init(&o.scratch, graph->cx->arena->allocator);
  bsm_status st = own_all(&o, aten);
  bsm_arena_destroy(&o.scratch);
  return st;
}
