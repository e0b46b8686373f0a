/* SPDX-License-Identifier: Apache-2.0 */
/* Equal elements are beside each other once they are sorted. A run begins where
 * an element differs from the one before; the sum of beginnings is the number
 * of the run, and the next beginning ends it. */
#include "lowering/passes/unique_parts.h"

typedef struct parts {
  const bsm_node_emitter *e;
  int64_t size;
} parts;

/* An op with ints behind its first argument. */
static bsm_status with_ints(const parts *p, const char *name, bsm_value *x,
                            const int64_t *ints, size_t count,
                            bsm_value **out) {
  bsm_value *in[4] = {x, NULL, NULL, NULL};
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(bsm_ir_int(p->e, ints[i], &in[i + 1]));
  }
  return bsm_ir_op(p->e, name, in, count + 1, out);
}

static bsm_status sort(const parts *p, bsm_value *x, bsm_value **sorted,
                       bsm_value **order) {
  bsm_value *in[3] = {x, NULL, NULL};
  BSM_TRY(bsm_ir_op(p->e, "aten::msort", in, 1, sorted));
  BSM_TRY(bsm_ir_int(p->e, 0, &in[1]));
  BSM_TRY(bsm_ir_bool(p->e, false, &in[2]));
  return bsm_ir_op(p->e, "aten::argsort", in, 3, order);
}

/* A vector without its first element, and one element before or behind it. */
static bsm_status pad(const parts *p, bsm_value *x, bool before, int64_t value,
                      bsm_value **out) {
  const int64_t sides[2] = {before, !before};
  bsm_value *in[3] = {x, NULL, NULL};
  BSM_TRY(bsm_ir_ints(p->e, sides, 2, &in[1]));
  BSM_TRY(bsm_ir_int(p->e, value, &in[2]));
  return bsm_ir_op(p->e, "aten::constant_pad_nd", in, 3, out);
}

static bsm_status find_first(const parts *p, bsm_value *x, bsm_value **out) {
  bsm_value *both[2];
  BSM_TRY(bsm_ir_slice(p->e, x, 0, 1, p->size, 1, &both[0]));
  BSM_TRY(bsm_ir_slice(p->e, x, 0, 0, p->size - 1, 1, &both[1]));
  BSM_TRY(bsm_ir_op(p->e, "aten::ne.Tensor", both, 2, out));
  return pad(p, *out, true, 1, out);
}

/* The numbers of runs, from 0 on. */
static bsm_status number_runs(const parts *p, bsm_value *first,
                              bsm_value **out) {
  const int64_t ones[2] = {1, 1};
  bsm_value *in[3] = {first, NULL, NULL};
  BSM_TRY(bsm_ir_int(p->e, 0, &in[1]));
  BSM_TRY(bsm_ir_none(p->e, &in[2]));
  BSM_TRY(bsm_ir_op(p->e, "aten::cumsum", in, 3, out));
  return with_ints(p, "aten::sub.Scalar", *out, ones, 2, out);
}

/* The numbers go where the elements were before they were sorted. */
static bsm_status make_inverse(const parts *p, bsm_value *first,
                               bsm_value *order, bsm_dims dims,
                               bsm_value **out) {
  bsm_value *numbers;
  BSM_TRY(number_runs(p, first, &numbers));
  if (order) {
    bsm_value *in[4] = {numbers, NULL, order, numbers};
    BSM_TRY(bsm_ir_int(p->e, 0, &in[1]));
    BSM_TRY(bsm_ir_op(p->e, "aten::scatter.src", in, 4, &numbers));
  }
  return bsm_ir_reshape(p->e, numbers, dims, out);
}

/* int64[n], a constant: `start`, then more by `step` each. */
static bsm_status make_range(const parts *p, int64_t start, int64_t step,
                             bsm_value **out) {
  bsm_graph *graph = p->e->graph;
  const bsm_dims dims = {1, {p->size}};
  bsm_tensor *numbers;
  BSM_TRY(
      bsm_tensor_new(graph->cx->arena, BSM_DTYPE_INT64, dims, false, &numbers));
  int64_t *at = bsm_tensor_data(numbers);
  for (int64_t i = 0; i < p->size; i++) at[i] = start + i * step;
  const bsm_type *type =
      bsm_type_tensor(graph->cx->types, BSM_DTYPE_INT64, dims);
  BSM_TRY_ALLOC(type);
  return bsm_ir_constant(p->e, bsm_iv_tensor(numbers), type, out);
}

static bsm_status turn(const parts *p, bsm_value *x, bsm_value **out) {
  const int64_t dim = 0;
  bsm_value *in[2] = {x, NULL};
  BSM_TRY(bsm_ir_ints(p->e, &dim, 1, &in[1]));
  return bsm_ir_op(p->e, "aten::flip", in, 2, out);
}

/* Where the next run begins, less where this one does: the least of all
 * beginnings behind. */
static bsm_status make_counts(const parts *p, bsm_value *first,
                              bsm_value **out) {
  bsm_value *places, *in[3] = {first, NULL, NULL}, *next;
  const int64_t dim = 0;
  BSM_TRY(make_range(p, 0, 1, &places));
  in[1] = places;
  BSM_TRY(make_range(p, p->size, 0, &in[2]));
  BSM_TRY(bsm_ir_op(p->e, "aten::where.self", in, 3, &next));
  BSM_TRY(bsm_ir_slice(p->e, next, 0, 1, p->size, 1, &next));
  BSM_TRY(pad(p, next, false, p->size, &next));
  BSM_TRY(turn(p, next, &next));
  BSM_TRY(with_ints(p, "aten::cummin", next, &dim, 1, &next));
  BSM_TRY(turn(p, next, &in[0]));
  in[1] = places;
  BSM_TRY(bsm_ir_int(p->e, 1, &in[2]));
  return bsm_ir_op(p->e, "aten::sub.Tensor", in, 3, out);
}

/* Whether a flag of the node is true; *known: it is a constant. */
static bool asks(const bsm_node *node, size_t index, bool *known) {
  bool value = false;
  if (!bsm_value_bool(bsm_node_in(node, index), &value)) *known = false;
  return value;
}

bsm_status bsm_make_unique_parts(const bsm_node_emitter *e,
                                 const bsm_node *node, bsm_unique_parts *out) {
  const bool consecutive = bsm_node_is(node, "aten::unique_consecutive");
  const bool has_counts = consecutive || bsm_node_is(node, "aten::_unique2");
  const size_t flag = consecutive ? 1 : 2;
  bsm_value *x = bsm_node_in(node, 0), *order = NULL;
  bsm_dims dims;
  bsm_dtype dtype;
  bool known = true;
  parts p = {.e = e};
  *out = (bsm_unique_parts){NULL, NULL, NULL, NULL};
  const bool inverse = asks(node, flag, &known);
  const bool counts = has_counts && asks(node, flag + 1, &known);
  if (!known || !bsm_value_dims(x, &dims, &dtype) ||
      bsm_dtype_is_complex(dtype) || !bsm_dims_numel(dims, &p.size) ||
      p.size < 2 || (consecutive && !bsm_value_is_none(bsm_node_in(node, 3)))) {
    return BSM_OK;
  }
  /* What is not asked for is empty. */
  if ((!inverse && bsm_node_out(node, 1)->uses.len > 0) ||
      (has_counts && !counts && bsm_node_out(node, 2)->uses.len > 0)) {
    return BSM_OK;
  }
  BSM_TRY(bsm_ir_reshape(e, x, (bsm_dims){1, {p.size}}, &x));
  if (!consecutive) BSM_TRY(sort(&p, x, &x, &order));
  BSM_TRY(find_first(&p, x, &out->first));
  if (counts) BSM_TRY(make_counts(&p, out->first, &out->counts));
  if (inverse) {
    BSM_TRY(make_inverse(&p, out->first, order, dims, &out->inverse));
  }
  out->elements = x;
  return BSM_OK;
}
