/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over the graph in order: the inputs of a node are wide when it is
 * visited. A node that cannot be wide gets narrow inputs again. */
#include "lowering/widen_floats.h"

#include <string.h>

#include "aten/tensor.h"

/* Blocks nest at most this deep. */
#define MAX_DEPTH 256

typedef struct widening {
  bsm_graph *graph;
  const bsm_aten_library *aten;
  bsm_arena scratch;
  bsm_ptrmap declared;  /* bsm_value -> the narrow type that it had */
  bsm_ptrmap constants; /* a narrow constant -> its wide one */
} widening;

static bsm_dtype wide_dtype(bsm_dtype dtype) {
  switch (dtype) {
    case BSM_DTYPE_HALF:
    case BSM_DTYPE_BFLOAT16:
    case BSM_DTYPE_FLOAT:
      return BSM_DTYPE_DOUBLE;
    case BSM_DTYPE_COMPLEX_HALF:
    case BSM_DTYPE_COMPLEX_FLOAT:
      return BSM_DTYPE_COMPLEX_DOUBLE;
    default:
      return dtype;
  }
}

static bool is_narrow(bsm_dtype dtype) {
  return wide_dtype(dtype) != dtype;
}

/* The dtype that a type says, else UNDEFINED. */
static bsm_dtype dtype_of(const bsm_type *type) {
  return type && type->kind == BSM_TYPE_TENSOR && type->has_dtype
             ? type->dtype
             : BSM_DTYPE_UNDEFINED;
}

/* Notes the type that a value had before it became wide. */
static bsm_status note_declared(widening *w, const bsm_value *value,
                                const bsm_type *type) {
  return bsm_ptrmap_set(&w->scratch, &w->declared, value,
                        (void *)(uintptr_t)type)
             ? BSM_OK
             : BSM_FAIL_OOM();
}

/* Gives a value of narrow type the wide one; without dims the type says nothing
 * any more. */
static bsm_status widen_type(widening *w, bsm_value *value) {
  bsm_type_table *types = w->graph->cx->types;
  const bsm_type *type = value->type;
  bsm_dims dims;
  bsm_dtype dtype;
  if (!is_narrow(dtype_of(type))) return BSM_OK;
  BSM_TRY(note_declared(w, value, type));
  value->type = bsm_value_dims(value, &dims, &dtype)
                    ? bsm_type_tensor(types, wide_dtype(dtype), dims)
                    : bsm_type_simple(types, BSM_TYPE_TENSOR);
  return value->type ? BSM_OK : BSM_FAIL_OOM();
}

/* The narrow dtype that a value had before; UNDEFINED when it is as it was. */
static bsm_dtype declared_dtype(const widening *w, const bsm_value *value) {
  const bsm_dtype dtype = dtype_of(bsm_ptrmap_get(&w->declared, value));
  return is_narrow(dtype) ? dtype : BSM_DTYPE_UNDEFINED;
}

/* ---- constants ---- */

/* *out is a wide copy, or has the tag NONE when nothing in `v` is narrow. */
static bsm_status wide_constant(const widening *w, const bsm_ivalue *v,
                                bsm_ivalue *out) {
  bsm_arena *arena = w->graph->cx->arena;
  *out = bsm_iv_none();
  if (v->tag == BSM_IVALUE_TENSOR && is_narrow(v->u.tensor->dtype)) {
    bsm_tensor *wide;
    BSM_TRY(bsm_tensor_to_dtype(arena, v->u.tensor,
                                wide_dtype(v->u.tensor->dtype), &wide));
    *out = bsm_iv_tensor(wide);
  } else if (v->tag == BSM_IVALUE_LIST) {
    bsm_list *list;
    bool any = false;
    BSM_TRY(bsm_list_new(arena, v->u.list->elem_type, v->u.list->len, &list));
    for (size_t i = 0; i < list->len; i++) {
      list->items[i] = v->u.list->items[i];
      if (list->items[i].tag != BSM_IVALUE_TENSOR) continue;
      BSM_TRY(wide_constant(w, &v->u.list->items[i], &list->items[i]));
      any = any || list->items[i].tag == BSM_IVALUE_TENSOR;
      if (list->items[i].tag == BSM_IVALUE_NONE) {
        list->items[i] = v->u.list->items[i];
      }
    }
    if (any) *out = bsm_iv_list(list);
  }
  return BSM_OK;
}

/* Lets input `index` of a node read a wide constant, when it reads a narrow
 * one. */
static bsm_status widen_constant(widening *w, bsm_node *node, size_t index) {
  bsm_value *value = bsm_node_in(node, index);
  const bsm_ivalue *constant = bsm_value_constant(value);
  bsm_value *known = bsm_ptrmap_get(&w->constants, value);
  bsm_ivalue wide;
  if (!constant) return BSM_OK;
  if (!known) {
    BSM_TRY(wide_constant(w, constant, &wide));
    if (wide.tag == BSM_IVALUE_NONE) return BSM_OK;
    const bsm_type *type = value->type;
    if (wide.tag == BSM_IVALUE_TENSOR) {
      type = bsm_type_tensor(w->graph->cx->types, wide.u.tensor->dtype,
                             wide.u.tensor->sizes);
      BSM_TRY_ALLOC(type);
    }
    const bsm_node_emitter e = bsm_node_emitter_before(value->node, w->aten);
    BSM_TRY(bsm_ir_constant(&e, wide, type, &known));
    BSM_TRY_ALLOC(bsm_ptrmap_set(&w->scratch, &w->constants, value, known));
    BSM_TRY(note_declared(w, known, value->type));
  }
  return bsm_node_set_input(node, index, known);
}

/* ---- nodes ---- */

/* dtypes among the arguments: `dtype=torch.float32`. */
static bsm_status widen_dtypes(widening *w, bsm_node *node) {
  const bsm_schema *schema = node->schema;
  for (size_t i = 0; schema && i < node->inputs.len; i++) {
    int64_t dtype;
    bsm_value *wide;
    if (i >= schema->arg_count || strcmp(schema->args[i].name, "dtype") != 0 ||
        !bsm_value_int(bsm_node_in(node, i), &dtype) ||
        !is_narrow((bsm_dtype)dtype)) {
      continue;
    }
    const bsm_node_emitter e = bsm_node_emitter_before(node, w->aten);
    BSM_TRY(bsm_ir_int(&e, wide_dtype((bsm_dtype)dtype), &wide));
    BSM_TRY(bsm_node_set_input(node, i, wide));
  }
  return BSM_OK;
}

/* A cast of `value` in front of `before` (NULL: at the end of the block). */
static bsm_status cast(const widening *w, bsm_block *block, bsm_node *before,
                       bsm_value *value, bsm_dtype dtype, bsm_value **out) {
  const bsm_node_emitter e = {w->graph, block, before, w->aten,
                              value->node->source};
  return bsm_ir_cast(&e, value, dtype, out);
}

/* Lets the readers of a narrow value read a cast of it. */
static bsm_status widen_behind(widening *w, bsm_node *node, bsm_value *value) {
  bsm_node *next = node ? node->next : w->graph->block->first;
  bsm_block *block = node ? node->block : w->graph->block;
  const bsm_type *type = value->type;
  bsm_value *wide;
  BSM_TRY(cast(w, block, next, value, wide_dtype(dtype_of(type)), &wide));
  BSM_TRY(note_declared(w, wide, type));
  BSM_TRY(bsm_value_replace_all_uses(value, wide));
  /* The cast itself reads the narrow one. */
  return bsm_node_set_input(wide->node, 0, value);
}

/* Undoes the widening of a node: narrow inputs, given dtypes, narrow outputs
 * that are cast behind it. */
static bsm_status keep_narrow(widening *w, bsm_node *node,
                              bsm_value *const *given) {
  for (size_t i = 0; i < node->inputs.len; i++) {
    bsm_value *value = given[i];
    const bsm_dtype dtype = declared_dtype(w, value);
    if (dtype != BSM_DTYPE_UNDEFINED) {
      BSM_TRY(cast(w, node->block, node, value, dtype, &value));
    }
    BSM_TRY(bsm_node_set_input(node, i, value));
  }
  return BSM_OK;
}

/* Whether the op computes its results in float64 from wide inputs. */
static bsm_status try_wide(widening *w, bsm_node *node, bool *done) {
  *done = false;
  if (!bsm_aten_find(w->aten, bsm_str_of(node->schema->qualified))) {
    return BSM_OK;
  }
  bsm_status status = bsm_infer_types(node, w->aten);
  if (bsm_status_code(status) == BSM_OUT_OF_MEMORY) return status;
  *done = !status;
  bsm_status_free(status);
  return BSM_OK;
}

static bsm_status widen_schema_node(widening *w, bsm_node *node) {
  const size_t n = node->inputs.len, m = node->outputs.len;
  bsm_value **given = BSM_NEW_ARRAY(&w->scratch, bsm_value *, n + 1);
  const bsm_type **types = BSM_NEW_ARRAY(&w->scratch, const bsm_type *, m + 1);
  bool wide;
  BSM_TRY_ALLOC(given && types);
  for (size_t i = 0; i < n; i++) given[i] = bsm_node_in(node, i);
  for (size_t i = 0; i < m; i++) types[i] = bsm_node_out(node, i)->type;
  for (size_t i = 0; i < n; i++) BSM_TRY(widen_constant(w, node, i));
  BSM_TRY(widen_dtypes(w, node));
  BSM_TRY(try_wide(w, node, &wide));
  if (!wide) {
    for (size_t i = 0; i < m; i++) bsm_node_out(node, i)->type = types[i];
    BSM_TRY(keep_narrow(w, node, given));
  }
  for (size_t i = 0; i < m; i++) {
    bsm_value *out = bsm_node_out(node, i);
    bsm_dims dims;
    bsm_dtype dtype;
    if (!bsm_value_dims(out, &dims, &dtype)) {
      if (wide) BSM_TRY(widen_type(w, out));
    } else if (is_narrow(dtype)) {
      BSM_TRY(widen_behind(w, node, out));
    } else {
      BSM_TRY(note_declared(w, out, types[i]));
    }
  }
  return BSM_OK;
}

static bsm_status widen_block(widening *w, bsm_block *block, int depth);

static bsm_status widen_node(widening *w, bsm_node *node, int depth) {
  if (strcmp(node->kind, "prim::Constant") == 0) return BSM_OK;
  if (node->schema) return widen_schema_node(w, node);
  for (size_t i = 0; i < node->inputs.len; i++) {
    BSM_TRY(widen_constant(w, node, i));
  }
  for (size_t i = 0; i < node->blocks.len; i++) {
    BSM_TRY(widen_block(w, node->blocks.items[i], depth + 1));
  }
  for (size_t i = 0; i < node->outputs.len; i++) {
    BSM_TRY(widen_type(w, bsm_node_out(node, i)));
  }
  return BSM_OK;
}

static bsm_status widen_block(widening *w, bsm_block *block, int depth) {
  if (depth > MAX_DEPTH) {
    return BSM_FAIL(BSM_LIMIT, "blocks nest more than %d deep", MAX_DEPTH);
  }
  for (size_t i = 0; depth && i < block->params->outputs.len; i++) {
    BSM_TRY(widen_type(w, bsm_node_out(block->params, i)));
  }
  for (bsm_node *n = block->first; n; n = n->next) {
    BSM_TRY(widen_node(w, n, depth));
  }
  for (size_t i = 0; depth && i < block->returns->inputs.len; i++) {
    BSM_TRY(widen_constant(w, block->returns, i));
  }
  return BSM_OK;
}

/* The inputs of the graph are cast, after which all is wide. */
static bsm_status widen_inputs(widening *w) {
  const bsm_node *params = w->graph->block->params;
  for (size_t i = 0; i < params->outputs.len; i++) {
    bsm_value *value = bsm_node_out(params, i);
    if (!is_narrow(dtype_of(value->type)) || !value->uses.len) continue;
    BSM_TRY(widen_behind(w, NULL, value));
  }
  return BSM_OK;
}

static bsm_status narrow_outputs(widening *w) {
  bsm_node *returns = w->graph->block->returns;
  for (size_t i = 0; i < returns->inputs.len; i++) {
    bsm_value *value = bsm_node_in(returns, i);
    const bsm_dtype dtype = declared_dtype(w, value);
    if (dtype == BSM_DTYPE_UNDEFINED) continue;
    BSM_TRY(cast(w, w->graph->block, NULL, value, dtype, &value));
    BSM_TRY(bsm_node_set_input(returns, i, value));
  }
  return BSM_OK;
}

bsm_status bsm_widen_floats(bsm_graph *graph, const bsm_aten_library *aten) {
  widening w = {.graph = graph, .aten = aten};
  bsm_arena_init(&w.scratch, graph->cx->arena->allocator);
  /* The casts of inputs are in front: the walk begins behind them. */
  bsm_node *first = graph->block->first;
  bsm_status status = widen_inputs(&w);
  for (bsm_node *n = first; n && !status; n = n->next) {
    status = widen_node(&w, n, 0);
  }
  if (!status) status = narrow_outputs(&w);
  if (!status) status = bsm_graph_verify(graph);
  bsm_arena_destroy(&w.scratch);
  return bsm_status_note(status, "while widening the model to float64");
}
