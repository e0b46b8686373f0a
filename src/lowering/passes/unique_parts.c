/* SPDX-License-Identifier: Apache-2.0 */
/* Equal elements are beside each other once they are sorted. A run begins where
 * an element differs from the one before; the sum of beginnings is the number
 * of the run, and the next beginning ends it. */
#include "lowering/passes/unique_parts.h"

#include "lowering/passes/bounded_rows.h"

typedef struct parts {
  const bsm_node_emitter *e;
  int64_t size;     /* elements, or rows; -1: the run will tell */
  bsm_value *count; /* that number */
  int64_t width;    /* numbers of a row; 0: elements of no rows */
} parts;

/* Rows of more numbers take as many sorts. */
#define MAX_WIDTH 16

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
static bsm_status pad(const parts *p, bsm_value *x, bool before,
                      bsm_value *value, bsm_value **out) {
  const int64_t sides[2] = {before, !before};
  bsm_value *in[3] = {x, NULL, value};
  BSM_TRY(bsm_ir_ints(p->e, sides, 2, &in[1]));
  return bsm_ir_op(p->e, "aten::constant_pad_nd", in, 3, out);
}

/* Elements from `start` on, without the last `less`. */
static bsm_status part_of(const parts *p, bsm_value *x, int64_t start,
                          int64_t less, bsm_value **out) {
  const int64_t end = p->size >= 0 ? p->size - less : less ? -less : INT64_MAX;
  return bsm_ir_slice(p->e, x, 0, start, end, 1, out);
}

static bsm_status take_in_order(const parts *p, bsm_value *x, bsm_value *order,
                                bsm_value **out) {
  bsm_value *in[3] = {x, NULL, order};
  BSM_TRY(bsm_ir_int(p->e, 0, &in[1]));
  return bsm_ir_op(p->e, "aten::index_select", in, 3, out);
}

/* The order of rows [size, width] such that the first numbers decide: sorted by
 * the last ones first, each time in the order that was. */
static bsm_status sort_rows(const parts *p, bsm_value *rows,
                            bsm_value **order) {
  bsm_value *in[3];
  *order = NULL;
  for (int64_t i = p->width - 1; i >= 0; i--) {
    BSM_TRY(bsm_ir_select(p->e, rows, 1, i, &in[0]));
    BSM_TRY(bsm_ir_int(p->e, 0, &in[1]));
    if (*order) BSM_TRY(take_in_order(p, in[0], *order, &in[0]));
    BSM_TRY(bsm_ir_bool(p->e, false, &in[2]));
    BSM_TRY(bsm_ir_op(p->e, "aten::argsort", in, 3, &in[0]));
    if (*order) BSM_TRY(take_in_order(p, *order, in[0], &in[0]));
    *order = in[0];
  }
  return BSM_OK;
}

/* Rows differ where any of their numbers do. */
static bsm_status find_first(const parts *p, bsm_value *x, bsm_value **out) {
  bsm_value *both[2], *one;
  BSM_TRY(part_of(p, x, 1, 0, &both[0]));
  BSM_TRY(part_of(p, x, 0, 1, &both[1]));
  BSM_TRY(bsm_ir_op(p->e, "aten::ne.Tensor", both, 2, out));
  if (p->width > 0) {
    bsm_value *in[3] = {*out, NULL, NULL};
    BSM_TRY(bsm_ir_int(p->e, 1, &in[1]));
    BSM_TRY(bsm_ir_bool(p->e, false, &in[2]));
    BSM_TRY(bsm_ir_op(p->e, "aten::any.dim", in, 3, out));
  }
  BSM_TRY(bsm_ir_int(p->e, 1, &one));
  BSM_TRY(pad(p, *out, true, one, out));
  if (p->size >= 0) return BSM_OK;
  /* Of no elements none is the first. */
  bsm_value *in[5] = {*out, NULL, NULL, p->count, one};
  BSM_TRY(bsm_ir_int(p->e, 0, &in[1]));
  in[2] = in[1];
  BSM_TRY(bsm_ir_op(p->e, "aten::slice.Tensor", in, 5, out));
  return bsm_bounded_set_rank(*out, BSM_DTYPE_BOOL, (bsm_dims){1, {-1}});
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
                               bsm_value *order, bsm_value *like, bsm_dims dims,
                               bsm_value **out) {
  bsm_value *numbers;
  BSM_TRY(number_runs(p, first, &numbers));
  if (order) {
    bsm_value *in[4] = {numbers, NULL, order, numbers};
    BSM_TRY(bsm_ir_int(p->e, 0, &in[1]));
    BSM_TRY(bsm_ir_op(p->e, "aten::scatter.src", in, 4, &numbers));
  }
  if (p->size >= 0) return bsm_ir_reshape(p->e, numbers, dims, out);
  bsm_value *in[2] = {numbers, NULL};
  BSM_TRY(bsm_bounded_sizes(p->e, like, dims.rank, NULL, 0, &in[1]));
  BSM_TRY(bsm_ir_op(p->e, "aten::reshape", in, 2, out));
  return bsm_bounded_set_rank(*out, BSM_DTYPE_INT64, dims);
}

/* int64[n], constant in each run: numbers from 0 on, or n in all places. */
static bsm_status make_range(const parts *p, bool all_are_n, bsm_value **out) {
  const int64_t zero = 0;
  const int64_t start = all_are_n ? p->size : 0, step = !all_are_n;
  bsm_graph *graph = p->e->graph;
  if (p->size < 0) {
    BSM_TRY(bsm_bounded_range(p->e, p->count, out));
    if (!all_are_n) return BSM_OK;
    BSM_TRY(with_ints(p, "aten::mul.Scalar", *out, &zero, 1, out));
    bsm_value *in[3] = {*out, p->count, NULL};
    BSM_TRY(bsm_ir_int(p->e, 1, &in[2]));
    return bsm_ir_op(p->e, "aten::add.Scalar", in, 3, out);
  }
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
  BSM_TRY(make_range(p, false, &places));
  in[1] = places;
  BSM_TRY(make_range(p, true, &in[2]));
  BSM_TRY(bsm_ir_op(p->e, "aten::where.self", in, 3, &next));
  BSM_TRY(part_of(p, next, 1, 0, &next));
  BSM_TRY(pad(p, next, false, p->count, &next));
  BSM_TRY(turn(p, next, &next));
  BSM_TRY(with_ints(p, "aten::cummin", next, &dim, 1, &next));
  BSM_TRY(turn(p, next, &in[0]));
  in[1] = places;
  BSM_TRY(bsm_ir_int(p->e, 1, &in[2]));
  BSM_TRY(bsm_ir_op(p->e, "aten::sub.Tensor", in, 3, out));
  return bsm_bounded_set_rank(*out, BSM_DTYPE_INT64, (bsm_dims){1, {p->size}});
}

/* Whether a flag of the node is true; *known: it is a constant. */
static bool asks(const bsm_node *node, size_t index, bool *known) {
  bool value = false;
  if (!bsm_value_bool(bsm_node_in(node, index), &value)) *known = false;
  return value;
}

/* The arguments of the ops; those of unique_dim give all results. */
typedef struct asked {
  bool consecutive, by_rows, has_counts;
  size_t flag; /* the argument return_inverse */
} asked;

static asked what_is_asked(const bsm_node *node) {
  asked a = {.flag = 2};
  if (bsm_node_is(node, "aten::unique_consecutive")) {
    a.consecutive = true;
    a.by_rows = !bsm_value_is_none(bsm_node_in(node, 3));
    a.flag = 1;
  } else if (bsm_node_is(node, "aten::unique_dim_consecutive")) {
    a.consecutive = a.by_rows = true;
  } else if (bsm_node_is(node, "aten::unique_dim")) {
    a.by_rows = true;
  }
  a.has_counts = !bsm_node_is(node, "aten::_unique");
  return a;
}

/* Along which the rows are. */
static bool find_dim(const bsm_node *node, int32_t rank, int64_t *dim) {
  const size_t at = bsm_node_is(node, "aten::unique_consecutive") ? 3 : 1;
  return bsm_value_int(bsm_node_in(node, at), dim) &&
         bsm_ir_wrap_dim(dim, rank);
}

/* Sets the sizes; false: there is nothing to do. */
static bool has_sizes(parts *p, const asked *a, const bsm_dims *dims,
                      int64_t dim) {
  int64_t all;
  p->size = -1;
  for (int32_t i = 0; i < dims->rank; i++) {
    if (dims->d[i] < 0) return !a->by_rows;
  }
  if (!bsm_dims_numel(*dims, &all)) return false;
  p->size = all;
  if (!a->by_rows) return all >= 2;
  if (dims->d[dim] < 2) return false;
  p->size = dims->d[dim];
  p->width = all / p->size;
  return p->width > 0 && (a->consecutive || p->width <= MAX_WIDTH);
}

bsm_status bsm_make_unique_parts(const bsm_node_emitter *e,
                                 const bsm_node *node, bsm_unique_parts *out) {
  const asked a = what_is_asked(node);
  const bool always = bsm_node_is(node, "aten::unique_dim");
  bsm_value *x = bsm_node_in(node, 0), *rows, *order = NULL;
  bsm_dims dims;
  bsm_dtype dtype;
  bool known = true;
  parts p = {.e = e};
  int64_t dim = 0;
  *out = (bsm_unique_parts){0};
  const bool inverse = always || asks(node, a.flag, &known);
  const bool counts =
      always || (a.has_counts && asks(node, a.flag + 1, &known));
  if (!known || !bsm_value_rank(x, &dims, &dtype) ||
      bsm_dtype_is_complex(dtype) ||
      (a.by_rows && !find_dim(node, dims.rank, &dim)) ||
      !has_sizes(&p, &a, &dims, dim)) {
    return BSM_OK;
  }
  /* What is not asked for is empty. */
  if ((!inverse && bsm_node_out(node, 1)->uses.len > 0) ||
      (a.has_counts && !counts && bsm_node_out(node, 2)->uses.len > 0)) {
    return BSM_OK;
  }
  if (p.size < 0) {
    BSM_TRY(bsm_ir_op(e, "aten::numel", &x, 1, &p.count));
  } else if (counts) {
    BSM_TRY(bsm_ir_int(e, p.size, &p.count));
  }
  if (a.by_rows) {
    /* Rows are compared with the other dimensions in their order. */
    bsm_value *moved = x;
    for (int64_t d = dim; d > 0; d--) {
      BSM_TRY(bsm_ir_transpose(e, moved, d - 1, d, &moved));
    }
    if (dim > 0) BSM_TRY(bsm_ir_transpose(e, x, 0, dim, &x));
    BSM_TRY(bsm_ir_reshape(e, moved, (bsm_dims){2, {p.size, p.width}}, &rows));
    if (!a.consecutive) {
      BSM_TRY(sort_rows(&p, rows, &order));
      BSM_TRY(take_in_order(&p, rows, order, &rows));
      BSM_TRY(take_in_order(&p, x, order, &x));
    }
    dims = (bsm_dims){1, {p.size}}; /* of the inverse */
  } else {
    BSM_TRY(bsm_ir_reshape(e, x, (bsm_dims){1, {p.size}}, &x));
    if (!a.consecutive) BSM_TRY(sort(&p, x, &x, &order));
    BSM_TRY(bsm_bounded_set_rank(x, dtype, (bsm_dims){1, {p.size}}));
    rows = x;
  }
  BSM_TRY(find_first(&p, rows, &out->first));
  if (counts) BSM_TRY(make_counts(&p, out->first, &out->counts));
  if (inverse) {
    BSM_TRY(make_inverse(&p, out->first, order, bsm_node_in(node, 0), dims,
                         &out->inverse));
  }
  out->elements = x;
  out->dim = dim;
  return BSM_OK;
}
