/* SPDX-License-Identifier: Apache-2.0 */
/* What bound_sizes.c knows of rows that are counted, and emits for them. */
#include "lowering/passes/bounded_rows.h"

const bsm_bounded *bsm_bounded_rows(const bsm_bounding *p,
                                    const bsm_value *value) {
  return bsm_ptrmap_get(&p->rows, value);
}

bool bsm_bounded_dims(const bsm_bounding *p, const bsm_value *value,
                      bsm_dims *dims, bsm_dtype *dtype) {
  const bsm_bounded *b = bsm_bounded_rows(p, value);
  return bsm_value_rank(b ? b->padded : value, dims, dtype);
}

/* ---- types ---- */

bsm_status bsm_bounded_set_rank(bsm_value *value, bsm_dtype dtype,
                                bsm_dims dims) {
  bsm_type_table *types = value->node->graph->cx->types;
  const bsm_type *type = bsm_type_tensor(types, dtype, dims);
  BSM_TRY_ALLOC(type);
  value->type = type;
  return BSM_OK;
}

/* A value as an argument, where `size` stands for what is not known. */
static bsm_status stand_in(const bsm_value *value, int64_t size,
                           bsm_arena *arena, bsm_ivalue *out, bool *known) {
  const bsm_ivalue *constant = bsm_value_constant(value);
  bsm_dims dims;
  bsm_dtype dtype;
  bsm_tensor *t;
  *known = true;
  if (constant && constant->tag != BSM_IVALUE_TENSOR) {
    *out = *constant;
  } else if (bsm_value_rank(value, &dims, &dtype)) {
    for (int32_t i = 0; i < dims.rank; i++) {
      if (dims.d[i] < 0) dims.d[i] = size;
    }
    BSM_TRY(bsm_tensor_new(arena, dtype, dims, true, &t));
    *out = bsm_iv_tensor(t);
  } else if (value->type && value->type->kind == BSM_TYPE_INT) {
    *out = bsm_iv_int(size);
  } else if (value->type && value->type->kind == BSM_TYPE_FLOAT) {
    *out = bsm_iv_double((double)size);
  } else {
    *known = false;
  }
  return BSM_OK;
}

static bsm_status stand_in_list(const bsm_value *value, int64_t size,
                                bsm_arena *arena, bsm_ivalue *out,
                                bool *known) {
  const bsm_node *list = bsm_value_list_node(value);
  const bsm_type *elem =
      value->type && value->type->arg_count ? value->type->args[0] : NULL;
  bsm_list *items;
  if (!list) return stand_in(value, size, arena, out, known);
  BSM_TRY(bsm_list_new(arena, elem, list->inputs.len, &items));
  *known = true;
  for (size_t i = 0; i < list->inputs.len && *known; i++) {
    BSM_TRY(
        stand_in(bsm_node_in(list, i), size, arena, &items->items[i], known));
  }
  *out = bsm_iv_list(items);
  return BSM_OK;
}

static bsm_status set_ranks(bsm_node *node, const bsm_ivalue *outs) {
  for (size_t i = 0; i < node->outputs.len; i++) {
    if (outs[i].tag != BSM_IVALUE_TENSOR) continue;
    const bsm_tensor *t = outs[i].u.tensor;
    bsm_dims dims = t->sizes;
    for (int32_t k = 0; k < dims.rank; k++) dims.d[k] = -1;
    BSM_TRY(bsm_bounded_set_rank(bsm_node_out(node, i), t->dtype, dims));
  }
  return BSM_OK;
}

/* Runs the op on tensors without data; *done: it took them. */
static bsm_status try_size(bsm_node *node, const bsm_aten_op *op, int64_t size,
                           bsm_arena *arena, bool *done) {
  const size_t n = node->inputs.len, m = node->outputs.len;
  bsm_ivalue *args = BSM_NEW_ARRAY(arena, bsm_ivalue, n + 1);
  bsm_ivalue *outs = BSM_NEW_ARRAY(arena, bsm_ivalue, m + 1);
  BSM_TRY_ALLOC(args && outs);
  *done = false;
  for (size_t i = 0; i < n; i++) {
    bool known;
    BSM_TRY(stand_in_list(bsm_node_in(node, i), size, arena, &args[i], &known));
    if (!known) return BSM_OK;
  }
  bsm_op_ctx cx = {
      .arena = arena, .no_data = true, .logger = node->graph->cx->logger};
  bsm_status status = bsm_aten_call(&cx, op, args, n, outs, m);
  if (bsm_status_code(status) == BSM_OUT_OF_MEMORY) return status;
  *done = !status;
  bsm_status_free(status);
  return *done ? set_ranks(node, outs) : BSM_OK;
}

/* Sizes of 1 go with any others, and large ones have any element: whatever an
 * op asks for, its results have the same dtypes and ranks. */
bsm_status bsm_bounded_types(bsm_node *node, const bsm_aten_library *aten) {
  const int64_t sizes[] = {1, 64};
  const bsm_aten_op *op =
      node->schema ? bsm_aten_find(aten, bsm_str_of(node->schema->qualified))
                   : NULL;
  bsm_status status = BSM_OK;
  bool done = !op;
  bsm_arena scratch;
  bsm_arena_init(&scratch, node->graph->cx->arena->allocator);
  for (int i = 0; i < 2 && !done && !status; i++) {
    status = try_size(node, op, sizes[i], &scratch, &done);
  }
  bsm_arena_destroy(&scratch);
  return status;
}

bsm_status bsm_bounded_op(const bsm_node_emitter *e, const char *name,
                          bsm_value *const *in, size_t n, bsm_value **out) {
  bsm_dims dims;
  bsm_dtype dtype;
  bsm_status status = bsm_ir_op(e, name, in, n, out);
  if (bsm_status_code(status) == BSM_OUT_OF_MEMORY) return status;
  const bool refused = status != BSM_OK;
  bsm_status_free(status);
  if (!refused && !bsm_value_rank(*out, &dims, &dtype)) {
    BSM_TRY(bsm_bounded_types((*out)->node, e->aten));
  }
  if (refused || !bsm_value_rank(*out, &dims, &dtype)) *out = NULL;
  return BSM_OK;
}

/* ---- numbers of the run ---- */

bsm_status bsm_bounded_size(const bsm_node_emitter *e, bsm_value *x,
                            int64_t dim, bsm_value **out) {
  bsm_value *in[2] = {x, NULL};
  BSM_TRY(bsm_ir_int(e, dim, &in[1]));
  return bsm_ir_op(e, "aten::size.int", in, 2, out);
}

bsm_status bsm_bounded_sizes(const bsm_node_emitter *e, bsm_value *x,
                             int32_t rank, bsm_value *first, int32_t first_rank,
                             bsm_value **out) {
  bsm_type_table *types = e->graph->cx->types;
  const bsm_type *type =
      bsm_type_list(types, bsm_type_simple(types, BSM_TYPE_INT));
  bsm_value *sizes[BSM_MAX_RANK];
  bsm_node *list;
  BSM_TRY_ALLOC(type);
  for (int32_t i = 0; i < rank; i++) {
    BSM_TRY(
        bsm_bounded_size(e, first && i < first_rank ? first : x, i, &sizes[i]));
  }
  BSM_TRY(bsm_node_create(e->graph, "prim::ListConstruct", &list));
  for (int32_t i = 0; i < rank; i++) {
    BSM_TRY(bsm_node_add_input(list, sizes[i]));
  }
  BSM_TRY(bsm_node_add_output(list, type, out));
  bsm_ir_link(e, list);
  return BSM_OK;
}

bsm_status bsm_bounded_range(const bsm_node_emitter *e, bsm_value *n,
                             bsm_value **out) {
  bsm_value *in[5] = {n, NULL, NULL, NULL, NULL};
  BSM_TRY(bsm_ir_int(e, BSM_DTYPE_INT64, &in[1]));
  for (int i = 2; i < 5; i++) BSM_TRY(bsm_ir_none(e, &in[i]));
  BSM_TRY(bsm_ir_op(e, "aten::arange", in, 5, out));
  return bsm_bounded_set_rank(*out, BSM_DTYPE_INT64, (bsm_dims){1, {-1}});
}

/* ---- rows ---- */

bsm_status bsm_bounded_publish(bsm_bounding *p, const bsm_node_emitter *e,
                               bsm_value *old, bsm_value *padded,
                               bsm_value *count) {
  bsm_value *in[5] = {padded, NULL, NULL, NULL, NULL}, *exact;
  bsm_bounded *b = BSM_NEW(p->arena, bsm_bounded);
  bsm_dims dims;
  bsm_dtype dtype;
  BSM_TRY_ALLOC(b);
  if (!bsm_value_rank(padded, &dims, &dtype) || dims.rank == 0) return BSM_OK;
  *b = (bsm_bounded){padded, count, dims.d[0]};
  BSM_TRY(bsm_ir_int(e, 0, &in[1]));
  in[2] = in[1];
  BSM_TRY(bsm_ir_op(e, "aten::Int.Tensor", &count, 1, &in[3]));
  BSM_TRY(bsm_ir_int(e, 1, &in[4]));
  BSM_TRY(bsm_ir_op(e, "aten::slice.Tensor", in, 5, &exact));
  BSM_TRY(bsm_rewrite_value(p->graph, old, exact));
  BSM_TRY_ALLOC(bsm_ptrmap_set(p->arena, &p->rows, exact, b));
  return BSM_OK;
}

/* int64[most], a constant. */
static bsm_status known_range(const bsm_node_emitter *e, int64_t most,
                              int32_t rank, bsm_value **out) {
  bsm_tensor *numbers;
  bsm_dims dims = {rank, {most}};
  for (int32_t i = 1; i < rank; i++) dims.d[i] = 1;
  BSM_TRY(bsm_tensor_new(e->graph->cx->arena, BSM_DTYPE_INT64, dims, false,
                         &numbers));
  int64_t *at = bsm_tensor_data(numbers);
  for (int64_t i = 0; i < most; i++) at[i] = i;
  const bsm_type *type =
      bsm_type_tensor(e->graph->cx->types, BSM_DTYPE_INT64, dims);
  BSM_TRY_ALLOC(type);
  return bsm_ir_constant(e, bsm_iv_tensor(numbers), type, out);
}

/* The same of a number that the run tells. */
static bsm_status ranging_range(const bsm_node_emitter *e, const bsm_bounded *b,
                                int32_t rank, bsm_value **out) {
  bsm_value *in[2];
  BSM_TRY(bsm_bounded_size(e, b->padded, 0, &in[0]));
  BSM_TRY(bsm_bounded_range(e, in[0], out));
  for (int32_t i = 1; i < rank && *out; i++) {
    in[0] = *out;
    BSM_TRY(bsm_ir_int(e, 1, &in[1]));
    BSM_TRY(bsm_bounded_op(e, "aten::unsqueeze", in, 2, out));
  }
  return *out ? BSM_OK
              : BSM_FAIL(BSM_INTERNAL, "numbers of rows have no rank %d",
                         (int)rank);
}

bsm_status bsm_bounded_valid(const bsm_node_emitter *e, const bsm_bounded *b,
                             int32_t rank, bsm_value **out) {
  bsm_value *in[2] = {NULL, b->count};
  BSM_TRY(b->most < 0 ? ranging_range(e, b, rank, &in[0])
                      : known_range(e, b->most, rank, &in[0]));
  return bsm_bounded_op(e, "aten::lt.Tensor", in, 2, out);
}
