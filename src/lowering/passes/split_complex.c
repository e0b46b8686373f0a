/* SPDX-License-Identifier: Apache-2.0 */
/* Complex tensors become pairs of real ones, and Fourier transforms products by
 * matrices (fourier_parts.c): kernels compute with real
 * numbers alone, so that a spectrogram, or rotations by complex numbers, would
 * be calls of the reference library.
 *
 * It is for targets whose memory is not the host's, where such a call copies
 * its tensors there and back. Values that an op without a rule makes or takes
 * stay complex, and with them all that meet them.
 *
 * Requires:    refined types with all sizes; a functional graph.
 * Establishes: no op that has a rule makes or takes a complex value, but where
 *              it is one with an op that has none, an input or a result.
 * Breaks:      leaves what it replaced dead. */
#include "lowering/passes/complex_parts.h"

/* ---- values ---- */

bool bsm_value_is_complex(const bsm_value *value) {
  const bsm_type *t = value->type;
  return t && t->kind == BSM_TYPE_TENSOR && t->has_dtype &&
         bsm_dtype_is_complex(t->dtype);
}

bsm_status bsm_ir_tensor(const bsm_node_emitter *e, const bsm_tensor *tensor,
                         bsm_value **out) {
  const bsm_type *type =
      bsm_type_tensor(e->graph->cx->types, tensor->dtype, tensor->sizes);
  BSM_TRY_ALLOC(type);
  return bsm_ir_constant(e, bsm_iv_tensor((bsm_tensor *)tensor), type, out);
}

bsm_status bsm_parts_of(bsm_complex_parts *p, const bsm_node_emitter *e,
                        bsm_value *value, bsm_value **out) {
  *out = bsm_ptrmap_get(&p->parts, value);
  /* A constant is taken apart where it is used; constants are folded later. */
  return *out ? BSM_OK : bsm_ir_op(e, "aten::view_as_real", &value, 1, out);
}

bsm_status bsm_part_of(const bsm_node_emitter *e, bsm_value *parts,
                       int64_t which, bsm_value **out) {
  return bsm_ir_select(e, parts, -1, which, out);
}

/* x[..., None] */
static bsm_status with_last_dim(const bsm_node_emitter *e, bsm_value *x,
                                bsm_value **out) {
  bsm_value *in[2] = {x, NULL};
  BSM_TRY(bsm_ir_int(e, -1, &in[1]));
  return bsm_ir_op(e, "aten::unsqueeze", in, 2, out);
}

bsm_status bsm_parts_join(const bsm_node_emitter *e, bsm_value *real,
                          bsm_value *imaginary, bsm_value **out) {
  bsm_tensor *first;
  bsm_value *in[3];
  BSM_TRY(bsm_tensor_new(e->graph->cx->arena, BSM_DTYPE_BOOL,
                         (bsm_dims){1, {2}}, false, &first));
  ((uint8_t *)bsm_tensor_data(first))[0] = 1;
  ((uint8_t *)bsm_tensor_data(first))[1] = 0;
  BSM_TRY(bsm_ir_tensor(e, first, &in[0]));
  BSM_TRY(with_last_dim(e, real, &in[1]));
  BSM_TRY(with_last_dim(e, imaginary, &in[2]));
  return bsm_ir_op(e, "aten::where.self", in, 3, out);
}

/* ---- arithmetic ---- */

static bsm_status binary(const bsm_node_emitter *e, const char *name,
                         bsm_value *a, bsm_value *b, bsm_value **out) {
  bsm_value *in[3] = {a, b, NULL};
  const bool scaled = strcmp(name, "aten::add.Tensor") == 0 ||
                      strcmp(name, "aten::sub.Tensor") == 0;
  if (scaled) BSM_TRY(bsm_ir_int(e, 1, &in[2]));
  return bsm_ir_op(e, name, in, scaled ? 3 : 2, out);
}

static bsm_status unary(const bsm_node_emitter *e, const char *name,
                        bsm_value *x, bsm_value **out) {
  return bsm_ir_op(e, name, &x, 1, out);
}

/* What the parts of output 0 consist of. */
static bsm_dtype real_dtype(const bsm_node *node) {
  return bsm_dtype_value_type(bsm_node_out(node, 0)->type->dtype);
}

/* Parts of an operand, of the dtype of the output: those of a complex value;
 * of a real one its elements, with a last dim of one. */
static bsm_status operand(bsm_complex_parts *p, const bsm_node_emitter *e,
                          const bsm_node *node, size_t index, bsm_value **out) {
  bsm_value *x = bsm_node_in(node, index);
  if (bsm_value_is_complex(x)) {
    BSM_TRY(bsm_parts_of(p, e, x, out));
  } else {
    BSM_TRY(with_last_dim(e, x, out));
  }
  return bsm_ir_cast(e, *out, real_dtype(node), out);
}

/* (a0 + a1 i) (b0 + b1 i) by a product `name`. */
static bsm_status multiply(const bsm_node_emitter *e, const char *name,
                           bsm_value *a, bsm_value *b, bsm_value **out) {
  bsm_value *x[2], *y[2], *terms[4], *parts[2];
  for (int i = 0; i < 2; i++) {
    BSM_TRY(bsm_part_of(e, a, i, &x[i]));
    BSM_TRY(bsm_part_of(e, b, i, &y[i]));
  }
  for (int i = 0; i < 4; i++) {
    BSM_TRY(binary(e, name, x[i / 2], y[i % 2], &terms[i]));
  }
  BSM_TRY(binary(e, "aten::sub.Tensor", terms[0], terms[3], &parts[0]));
  BSM_TRY(binary(e, "aten::add.Tensor", terms[1], terms[2], &parts[1]));
  return bsm_parts_join(e, parts[0], parts[1], out);
}

static bsm_status product(bsm_complex_parts *p, const bsm_node_emitter *e,
                          bsm_node *node, bsm_value **out) {
  bsm_value *a, *b;
  const bool both = bsm_value_is_complex(bsm_node_in(node, 0)) &&
                    bsm_value_is_complex(bsm_node_in(node, 1));
  BSM_TRY(operand(p, e, node, 0, &a));
  BSM_TRY(operand(p, e, node, 1, &b));
  return both ? multiply(e, "aten::mul.Tensor", a, b, out)
              : binary(e, "aten::mul.Tensor", a, b, out);
}

static bool both_complex(const bsm_node *node) {
  return bsm_value_is_complex(bsm_node_in(node, 0)) &&
         bsm_value_is_complex(bsm_node_in(node, 1));
}

static bsm_status matrix_product(bsm_complex_parts *p,
                                 const bsm_node_emitter *e, bsm_node *node,
                                 bsm_value **out) {
  bsm_value *a, *b;
  BSM_TRY(operand(p, e, node, 0, &a));
  BSM_TRY(operand(p, e, node, 1, &b));
  return multiply(e, node->schema->qualified, a, b, out);
}

static bool by_real(const bsm_node *node) {
  return !bsm_value_is_complex(bsm_node_in(node, 1));
}

static bsm_status quotient(bsm_complex_parts *p, const bsm_node_emitter *e,
                           bsm_node *node, bsm_value **out) {
  bsm_value *a, *b;
  BSM_TRY(operand(p, e, node, 0, &a));
  BSM_TRY(operand(p, e, node, 1, &b));
  return binary(e, "aten::div.Tensor", a, b, out);
}

/* mul.Scalar, div.Scalar: by a number that is not complex. */
static bool by_number(const bsm_node *node) {
  double number;
  return bsm_value_is_complex(bsm_node_in(node, 0)) &&
         bsm_value_double(bsm_node_in(node, 1), &number);
}

static bsm_status scale(bsm_complex_parts *p, const bsm_node_emitter *e,
                        bsm_node *node, bsm_value **out) {
  bsm_value *in[2] = {NULL, bsm_node_in(node, 1)};
  BSM_TRY(operand(p, e, node, 0, &in[0]));
  return bsm_ir_op(e, node->schema->qualified, in, 2, out);
}

/* add.Tensor and sub.Tensor without a factor. */
static bool unscaled(const bsm_node *node) {
  double alpha;
  return bsm_value_double(bsm_node_in(node, 2), &alpha) && !(alpha < 1) &&
         !(alpha > 1);
}

/* Parts of a real value. */
static bsm_status from_real(bsm_complex_parts *p, const bsm_node_emitter *e,
                            bsm_value *x, bsm_dtype dtype, bsm_value **out) {
  bsm_value *zero;
  bsm_tensor *none;
  BSM_TRY(bsm_tensor_from_int(p->graph->cx->arena, dtype, 0, &none));
  BSM_TRY(bsm_ir_tensor(e, none, &zero));
  BSM_TRY(bsm_ir_cast(e, x, dtype, &x));
  return bsm_parts_join(e, x, zero, out);
}

static bsm_status sum(bsm_complex_parts *p, const bsm_node_emitter *e,
                      bsm_node *node, bsm_value **out) {
  bsm_value *in[2];
  for (size_t i = 0; i < 2; i++) {
    bsm_value *x = bsm_node_in(node, i);
    if (bsm_value_is_complex(x)) {
      BSM_TRY(operand(p, e, node, i, &in[i]));
    } else {
      BSM_TRY(from_real(p, e, x, real_dtype(node), &in[i]));
    }
  }
  return binary(e, node->schema->qualified, in[0], in[1], out);
}

/* Casts: to complex numbers, or to the dtype of floating numbers. */
static bool is_cast(const bsm_node *node) {
  const bsm_type *type = bsm_node_out(node, 0)->type;
  return type && type->kind == BSM_TYPE_TENSOR && type->has_dtype &&
         (bsm_dtype_is_complex(type->dtype) ||
          bsm_dtype_is_floating(type->dtype));
}

static bsm_status cast(bsm_complex_parts *p, const bsm_node_emitter *e,
                       bsm_node *node, bsm_value **out) {
  bsm_value *x = bsm_node_in(node, 0);
  const bsm_dtype dtype = real_dtype(node);
  if (!bsm_value_is_complex(x)) return from_real(p, e, x, dtype, out);
  BSM_TRY(bsm_parts_of(p, e, x, &x));
  if (!bsm_value_is_complex(bsm_node_out(node, 0))) {
    BSM_TRY(bsm_part_of(e, x, 0, &x));
  }
  return bsm_ir_cast(e, x, dtype, out);
}

static bsm_status negative(bsm_complex_parts *p, const bsm_node_emitter *e,
                           bsm_node *node, bsm_value **out) {
  BSM_TRY(operand(p, e, node, 0, out));
  return unary(e, "aten::neg", *out, out);
}

static bsm_status conjugate(bsm_complex_parts *p, const bsm_node_emitter *e,
                            bsm_node *node, bsm_value **out) {
  bsm_value *x, *parts[2];
  BSM_TRY(operand(p, e, node, 0, &x));
  BSM_TRY(bsm_part_of(e, x, 0, &parts[0]));
  BSM_TRY(bsm_part_of(e, x, 1, &parts[1]));
  BSM_TRY(unary(e, "aten::neg", parts[1], &parts[1]));
  return bsm_parts_join(e, parts[0], parts[1], out);
}

/* r (cos a + i sin a) */
static bsm_status polar(const bsm_node_emitter *e, bsm_value *r, bsm_value *a,
                        bsm_value **out) {
  bsm_value *parts[2];
  BSM_TRY(unary(e, "aten::cos", a, &parts[0]));
  BSM_TRY(unary(e, "aten::sin", a, &parts[1]));
  BSM_TRY(binary(e, "aten::mul.Tensor", r, parts[0], &parts[0]));
  BSM_TRY(binary(e, "aten::mul.Tensor", r, parts[1], &parts[1]));
  return bsm_parts_join(e, parts[0], parts[1], out);
}

static bsm_status make_polar(bsm_complex_parts *p, const bsm_node_emitter *e,
                             bsm_node *node, bsm_value **out) {
  (void)p;
  return polar(e, bsm_node_in(node, 0), bsm_node_in(node, 1), out);
}

static bsm_status make_complex(bsm_complex_parts *p, const bsm_node_emitter *e,
                               bsm_node *node, bsm_value **out) {
  (void)p;
  return bsm_parts_join(e, bsm_node_in(node, 0), bsm_node_in(node, 1), out);
}

/* ---- from and to real values ---- */

static bsm_status as_complex(bsm_complex_parts *p, const bsm_node_emitter *e,
                             bsm_node *node, bsm_value **out) {
  (void)p;
  (void)e;
  *out = bsm_node_in(node, 0);
  return BSM_OK;
}

static bsm_status same(bsm_complex_parts *p, const bsm_node_emitter *e,
                       bsm_node *node, bsm_value **out) {
  return bsm_parts_of(p, e, bsm_node_in(node, 0), out);
}

static bsm_status real_part(bsm_complex_parts *p, const bsm_node_emitter *e,
                            bsm_node *node, bsm_value **out) {
  BSM_TRY(bsm_parts_of(p, e, bsm_node_in(node, 0), out));
  return bsm_part_of(e, *out, 0, out);
}

static bsm_status imaginary_part(bsm_complex_parts *p,
                                 const bsm_node_emitter *e, bsm_node *node,
                                 bsm_value **out) {
  BSM_TRY(bsm_parts_of(p, e, bsm_node_in(node, 0), out));
  return bsm_part_of(e, *out, 1, out);
}

/* abs and angle: hypot and atan2 of the parts. */
static bsm_status measure(bsm_complex_parts *p, const bsm_node_emitter *e,
                          bsm_node *node, bsm_value **out) {
  bsm_value *x, *parts[2];
  const bool angle = bsm_node_is(node, "aten::angle");
  BSM_TRY(bsm_parts_of(p, e, bsm_node_in(node, 0), &x));
  BSM_TRY(bsm_part_of(e, x, angle, &parts[0]));
  BSM_TRY(bsm_part_of(e, x, !angle, &parts[1]));
  return bsm_ir_op(e, angle ? "aten::atan2" : "aten::hypot", parts, 2, out);
}

/* ---- movements ---- */

/* All that leaves the order of elements: the dims of the output tell. */
static bsm_status reshape(bsm_complex_parts *p, const bsm_node_emitter *e,
                          bsm_node *node, bsm_value **out) {
  bsm_dims dims = bsm_node_out(node, 0)->type->dims;
  bsm_value *x;
  dims.d[dims.rank++] = 2;
  BSM_TRY(bsm_parts_of(p, e, bsm_node_in(node, 0), &x));
  return bsm_ir_reshape(e, x, dims, out);
}

static bsm_status expand(bsm_complex_parts *p, const bsm_node_emitter *e,
                         bsm_node *node, bsm_value **out) {
  bsm_dims dims = bsm_node_out(node, 0)->type->dims;
  bsm_value *x;
  dims.d[dims.rank++] = 2;
  BSM_TRY(bsm_parts_of(p, e, bsm_node_in(node, 0), &x));
  return bsm_ir_expand(e, x, dims, out);
}

/* A dim of argument 0, counted from the front. */
static bool dim_of(const bsm_node *node, size_t index, int64_t *out) {
  const bsm_type *type = bsm_node_in(node, 0)->type;
  return bsm_value_int(bsm_node_in(node, index), out) && type->dims.rank > 0 &&
         bsm_ir_wrap_dim(out, type->dims.rank);
}

static bool has_two_dims(const bsm_node *node) {
  int64_t dim;
  return dim_of(node, 1, &dim) && dim_of(node, 2, &dim);
}

static bsm_status transpose(bsm_complex_parts *p, const bsm_node_emitter *e,
                            bsm_node *node, bsm_value **out) {
  int64_t a = 0, b = 1;
  if (!bsm_node_is(node, "aten::t")) {
    (void)dim_of(node, 1, &a);
    (void)dim_of(node, 2, &b);
  } else if (bsm_node_out(node, 0)->type->dims.rank < 2) {
    b = 0;
  }
  BSM_TRY(bsm_parts_of(p, e, bsm_node_in(node, 0), out));
  return a == b ? BSM_OK : bsm_ir_transpose(e, *out, a, b, out);
}

static bool has_order(const bsm_node *node) {
  int64_t dims[BSM_MAX_RANK];
  size_t count;
  return bsm_value_ints(bsm_node_in(node, 1), dims, &count);
}

static bsm_status permute(bsm_complex_parts *p, const bsm_node_emitter *e,
                          bsm_node *node, bsm_value **out) {
  int64_t dims[BSM_MAX_RANK + 1];
  size_t count = 0;
  (void)bsm_value_ints(bsm_node_in(node, 1), dims, &count);
  for (size_t i = 0; i < count; i++) {
    if (dims[i] < 0) dims[i] += (int64_t)count;
  }
  dims[count] = (int64_t)count;
  BSM_TRY(bsm_parts_of(p, e, bsm_node_in(node, 0), out));
  return bsm_ir_permute(e, *out, dims, count + 1, out);
}

static bool has_dim(const bsm_node *node) {
  int64_t dim;
  return dim_of(node, 1, &dim);
}

/* select.int and slice.Tensor: the same along a dim from the front. */
static bsm_status take(bsm_complex_parts *p, const bsm_node_emitter *e,
                       bsm_node *node, bsm_value **out) {
  bsm_value *in[5];
  int64_t dim = 0;
  const size_t count = node->inputs.len;
  (void)dim_of(node, 1, &dim);
  for (size_t i = 2; i < count && i < 5; i++) in[i] = bsm_node_in(node, i);
  BSM_TRY(bsm_parts_of(p, e, bsm_node_in(node, 0), &in[0]));
  BSM_TRY(bsm_ir_int(e, dim, &in[1]));
  return bsm_ir_op(e, node->schema->qualified, in, count, out);
}

/* The list of a concatenation, and the dim, counted from the front. */
static bsm_node *pieces(const bsm_node *node, int64_t *dim) {
  bsm_node *list = bsm_value_list_node(bsm_node_in(node, 0));
  const int32_t rank = bsm_node_out(node, 0)->type->dims.rank;
  if (!list || !bsm_value_int(bsm_node_in(node, 1), dim) ||
      !bsm_ir_wrap_dim(dim, rank)) {
    return NULL;
  }
  for (size_t i = 0; i < list->inputs.len; i++) {
    const bsm_type *type = bsm_node_in(list, i)->type;
    if (!bsm_value_is_complex(bsm_node_in(list, i)) ||
        type->dims.rank != rank) {
      return NULL;
    }
  }
  return list;
}

static bool has_pieces(const bsm_node *node) {
  int64_t dim;
  return pieces(node, &dim) != NULL;
}

static bsm_status concatenate(bsm_complex_parts *p, const bsm_node_emitter *e,
                              bsm_node *node, bsm_value **out) {
  int64_t dim = 0;
  const bsm_node *from = pieces(node, &dim);
  bsm_value *in[2], *part;
  bsm_node *list;
  BSM_TRY(bsm_node_create(e->graph, "prim::ListConstruct", &list));
  for (size_t i = 0; i < from->inputs.len; i++) {
    BSM_TRY(bsm_parts_of(p, e, bsm_node_in(from, i), &part));
    BSM_TRY(bsm_ir_cast(e, part, real_dtype(node), &part));
    BSM_TRY(bsm_node_add_input(list, part));
  }
  BSM_TRY(bsm_node_add_output(list, bsm_node_in(node, 0)->type, &in[0]));
  bsm_ir_link(e, list);
  BSM_TRY(bsm_ir_int(e, dim, &in[1]));
  return bsm_ir_op(e, "aten::cat", in, 2, out);
}

/* ---- the pass ---- */

static const bsm_complex_rule rules[] = {
    {"aten::view_as_complex", NULL, as_complex},
    {"aten::view_as_complex_copy", NULL, as_complex},
    {"aten::complex", NULL, make_complex},
    {"aten::polar", NULL, make_polar},
    {"aten::view_as_real", NULL, same},
    {"aten::view_as_real_copy", NULL, same},
    {"aten::real", NULL, real_part},
    {"aten::imag", NULL, imaginary_part},
    {"aten::abs", NULL, measure},
    {"aten::absolute", NULL, measure},
    {"aten::angle", NULL, measure},
    {"aten::mul.Tensor", NULL, product},
    {"aten::multiply.Tensor", NULL, product},
    {"aten::mul.Scalar", by_number, scale},
    {"aten::div.Tensor", by_real, quotient},
    {"aten::div.Scalar", by_number, scale},
    {"aten::add.Tensor", unscaled, sum},
    {"aten::sub.Tensor", unscaled, sum},
    {"aten::to.dtype", is_cast, cast},
    {"aten::_to_copy", is_cast, cast},
    {"aten::matmul", both_complex, matrix_product},
    {"aten::mm", both_complex, matrix_product},
    {"aten::bmm", both_complex, matrix_product},
    {"aten::neg", NULL, negative},
    {"aten::conj", NULL, conjugate},
    {"aten::_conj", NULL, conjugate},
    {"aten::_conj_copy", NULL, conjugate},
    {"aten::conj_physical", NULL, conjugate},
    {"aten::_conj_physical", NULL, conjugate},
    {"aten::resolve_conj", NULL, same},
    {"aten::resolve_neg", NULL, same},
    {"aten::clone", NULL, same},
    {"aten::contiguous", NULL, same},
    {"aten::alias", NULL, same},
    {"aten::detach", NULL, same},
    {"aten::reshape", NULL, reshape},
    {"aten::view", NULL, reshape},
    {"aten::_unsafe_view", NULL, reshape},
    {"aten::flatten.using_ints", NULL, reshape},
    {"aten::unflatten.int", NULL, reshape},
    {"aten::unsqueeze", NULL, reshape},
    {"aten::squeeze", NULL, reshape},
    {"aten::squeeze.dim", NULL, reshape},
    {"aten::expand", NULL, expand},
    {"aten::expand_as", NULL, expand},
    {"aten::t", NULL, transpose},
    {"aten::transpose.int", has_two_dims, transpose},
    {"aten::permute", has_order, permute},
    {"aten::select.int", has_dim, take},
    {"aten::slice.Tensor", has_dim, take},
    {"aten::cat", has_pieces, concatenate},
};

static const bsm_complex_rule *rule_of(const bsm_node *node) {
  const char *name = node->schema ? node->schema->qualified : "";
  for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
    if (strcmp(name, rules[i].schema) == 0) return &rules[i];
  }
  for (size_t i = 0; i < bsm_fourier_rule_count; i++) {
    if (strcmp(name, bsm_fourier_rules[i].schema) == 0) {
      return &bsm_fourier_rules[i];
    }
  }
  return NULL;
}

/* The complex values of a node, one after the other: inputs, those of a list
 * that it is given, outputs. NULL at the end. */
static bsm_value *next_complex(const bsm_node *node, size_t *at) {
  for (;; ++*at) {
    size_t i = *at;
    bsm_value *value = NULL;
    if (i < node->inputs.len) {
      value = bsm_node_in(node, i);
    } else if (i - node->inputs.len < node->outputs.len) {
      value = bsm_node_out(node, i - node->inputs.len);
    } else {
      const bsm_node *list = node->inputs.len && node->schema
                                 ? bsm_value_list_node(bsm_node_in(node, 0))
                                 : NULL;
      i -= node->inputs.len + node->outputs.len;
      if (!list || i >= list->inputs.len) return NULL;
      value = bsm_node_in(list, i);
    }
    if (bsm_value_is_complex(value)) {
      ++*at;
      return value;
    }
  }
}

/* A list is looked at with those that take it. */
static bool is_list(const bsm_node *node) {
  if (!bsm_node_is(node, "prim::ListConstruct")) return false;
  const bsm_value *list = bsm_node_out(node, 0);
  for (size_t i = 0; i < list->uses.len; i++) {
    const bsm_node *user = list->uses.items[i].user;
    if (!rule_of(user) || list->uses.items[i].index != 0) return false;
  }
  return true;
}

/* Whether a value can be a pair of real numbers as far as itself tells. */
static bool can_split(const bsm_value *value) {
  bsm_dims dims;
  bsm_dtype dtype;
  return bsm_value_dims(value, &dims, &dtype) && dims.rank < BSM_MAX_RANK &&
         (dtype == BSM_DTYPE_COMPLEX_FLOAT ||
          dtype == BSM_DTYPE_COMPLEX_DOUBLE);
}

static bool can_apply(const bsm_complex_parts *p, const bsm_node *node) {
  const bsm_complex_rule *rule = rule_of(node);
  size_t at = 0;
  for (const bsm_value *v; (v = next_complex(node, &at));) {
    if (!can_split(v) || bsm_ptrmap_get(&p->stays, v)) return false;
  }
  if (is_list(node) || bsm_node_is(node, "prim::Constant")) return true;
  return node->block == p->graph->block && rule &&
         !bsm_ptrmap_get(&p->large, node) && (!rule->fits || rule->fits(node));
}

typedef struct search {
  bsm_complex_parts *p;
  bool changed;
} search;

/* Marks the values of a node that has no rule, or shares one with such. */
static bsm_status mark(search *s, const bsm_node *node) {
  size_t at = 0;
  if (can_apply(s->p, node)) return BSM_OK;
  for (bsm_value *v; (v = next_complex(node, &at));) {
    if (bsm_ptrmap_get(&s->p->stays, v)) continue;
    BSM_TRY_ALLOC(bsm_ptrmap_set(s->p->arena, &s->p->stays, v, v));
    s->changed = true;
  }
  return BSM_OK;
}

static bsm_status mark_block(search *s, const bsm_block *block, size_t depth) {
  if (depth > s->p->graph->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "blocks are nested too deep");
  }
  BSM_TRY(mark(s, block->params));
  for (const bsm_node *node = block->first; node; node = node->next) {
    for (size_t i = 0; i < node->blocks.len; i++) {
      BSM_TRY(mark_block(s, node->blocks.items[i], depth + 1));
    }
    BSM_TRY(mark(s, node));
  }
  return mark(s, block->returns);
}

/* Whether a node is replaced: one that has complex values, or whose op always
 * has (a spectrogram that is returned as pairs). */
static bool applies(const bsm_complex_parts *p, const bsm_node *node) {
  const bsm_complex_rule *rule = rule_of(node);
  size_t at = 0;
  if (!rule || !can_apply(p, node)) return false;
  return next_complex(node, &at) || strncmp(node->kind, "aten::stft", 10) == 0;
}

static bsm_status replace(bsm_complex_parts *p, bsm_node *node) {
  const bsm_node_emitter e = bsm_node_emitter_before(node, p->aten);
  bsm_value *was = bsm_node_out(node, 0), *out = NULL;
  BSM_TRY_NOTE(rule_of(node)->emit(p, &e, node, &out), "while splitting %s",
               node->schema->qualified);
  if (bsm_value_is_complex(was)) {
    BSM_TRY_ALLOC(bsm_ptrmap_set(p->arena, &p->parts, was, out));
    return BSM_OK;
  }
  return bsm_rewrite_value(p->graph, was, out);
}

static bsm_status mark_all(bsm_complex_parts *p) {
  search s = {.p = p, .changed = true};
  while (s.changed) {
    s.changed = false;
    BSM_TRY(mark_block(&s, p->graph->block, 0));
  }
  return BSM_OK;
}

static bool is_transform(const bsm_complex_rule *rule) {
  for (size_t i = 0; i < bsm_fourier_rule_count; i++) {
    if (rule == &bsm_fourier_rules[i]) return true;
  }
  return false;
}

/* Leaves out transforms whose matrices would take too much memory. */
static bsm_status mark_large(bsm_complex_parts *p) {
  for (bsm_node *node = p->graph->block->first; node; node = node->next) {
    const bsm_complex_rule *rule = rule_of(node);
    bool fits = true;
    if (!rule || !is_transform(rule) || !applies(p, node)) continue;
    BSM_TRY(bsm_fourier_reserve(p, rule, node, &fits));
    if (fits) continue;
    BSM_TRY_ALLOC(bsm_ptrmap_set(p->arena, &p->large, node, node));
  }
  return p->large.len ? mark_all(p) : BSM_OK;
}

static bsm_status split(bsm_complex_parts *p) {
  BSM_TRY(mark_all(p));
  BSM_TRY(mark_large(p));
  bsm_node *next = NULL;
  for (bsm_node *node = p->graph->block->first; node; node = next) {
    next = node->next;
    if (applies(p, node)) BSM_TRY(replace(p, node));
  }
  return BSM_OK;
}

bsm_status bsm_lower_split_complex(bsm_graph *graph,
                                   const bsm_aten_library *aten) {
  bsm_arena arena;
  bsm_arena_init(&arena, graph->cx->arena->allocator);
  bsm_complex_parts p = {.graph = graph, .aten = aten, .arena = &arena};
  bsm_status status = split(&p);
  bsm_arena_destroy(&arena);
  return status;
}
