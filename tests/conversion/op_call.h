/* SPDX-License-Identifier: Apache-2.0 */
/* A call of the reference library's suite as a graph of one node, and the
 * comparison of what it gives: for the tests that take calls further. */
#ifndef BSM_TESTS_CONVERSION_OP_CALL_H_
#define BSM_TESTS_CONVERSION_OP_CALL_H_

#include <math.h>

#include "tests/conversion/conversion_fixture.h"
/* The reader of another folder's tests: its source, as only these need it. */
#include "tests/aten/op_cases.c"

#define MAX_INPUTS 16

/* The graph of one call. */
typedef struct call {
  bsm_graph *graph;
  bsm_tensor *inputs[MAX_INPUTS];
  size_t input_count;
  bool only_first;
  size_t outputs; /* of the node that are the graph's */
} call;

static inline bsm_status add_tensor(fixture *f, call *c, bsm_tensor *t,
                                    bsm_value **out) {
  bsm_node *constant;
  if ((c->only_first && c->input_count > 0) || c->input_count == MAX_INPUTS) {
    BSM_TRY(
        bsm_node_create_constant(c->graph, bsm_iv_tensor(t), NULL, &constant));
    bsm_node_append(c->graph->block, constant);
    *out = bsm_node_out(constant, 0);
    return BSM_OK;
  }
  /* Inputs of an engine are row-major. */
  BSM_TRY(bsm_tensor_contiguous(&f->arena, t, &c->inputs[c->input_count++]));
  return bsm_block_add_input(
      c->graph->block, bsm_type_tensor(f->cx->types, t->dtype, t->sizes), out);
}

static inline bsm_status add_argument(fixture *f, call *c, const bsm_ivalue *v,
                                      const bsm_type *type, bsm_value **out) {
  bsm_node *node;
  if (v->tag == BSM_IVALUE_TENSOR) return add_tensor(f, c, v->u.tensor, out);
  bool tensors = v->tag == BSM_IVALUE_LIST && v->u.list->len > 0;
  for (size_t i = 0; tensors && i < v->u.list->len; i++) {
    tensors = v->u.list->items[i].tag == BSM_IVALUE_TENSOR ||
              v->u.list->items[i].tag == BSM_IVALUE_NONE;
  }
  if (!tensors) {
    BSM_TRY(bsm_node_create_constant(c->graph, *v, type, &node));
    bsm_node_append(c->graph->block, node);
    *out = bsm_node_out(node, 0);
    return BSM_OK;
  }
  BSM_TRY(bsm_node_create(c->graph, "prim::ListConstruct", &node));
  for (size_t i = 0; i < v->u.list->len; i++) {
    bsm_value *item;
    BSM_TRY(add_argument(f, c, &v->u.list->items[i],
                         bsm_type_simple(f->cx->types, BSM_TYPE_NONE), &item));
    BSM_TRY(bsm_node_add_input(node, item));
  }
  bsm_node_append(c->graph->block, node);
  return bsm_node_add_output(node, type, out);
}

/* The outputs of the node, lists unpacked, become those of the graph. */
static inline bsm_status add_outputs(fixture *f, const op_case *oc, call *c,
                                     const bsm_node *node) {
  for (size_t i = 0; i < c->outputs; i++) {
    bsm_value *value = bsm_node_out(node, i), *item;
    bsm_node *unpack;
    if (oc->outs[i].tag != BSM_IVALUE_LIST) {
      BSM_TRY(bsm_block_add_output(c->graph->block, value));
      continue;
    }
    BSM_TRY(bsm_node_create(c->graph, "prim::ListUnpack", &unpack));
    BSM_TRY(bsm_node_add_input(unpack, value));
    bsm_node_append(c->graph->block, unpack);
    for (size_t k = 0; k < oc->outs[i].u.list->len; k++) {
      BSM_TRY(bsm_node_add_output(
          unpack, bsm_type_simple(f->cx->types, BSM_TYPE_TENSOR), &item));
      BSM_TRY(bsm_block_add_output(c->graph->block, item));
    }
  }
  return BSM_OK;
}

static inline bsm_status make_graph(fixture *f, const op_case *oc, call *c) {
  const bsm_schema *schema;
  bsm_node *node;
  BSM_TRY(bsm_graph_create(f->cx, &c->graph));
  BSM_TRY(bsm_schema_table_find(f->cx->schemas, oc->name, &schema));
  if (!schema) return BSM_FAIL(BSM_NOT_FOUND, "no schema");
  BSM_TRY(bsm_node_create_schema(c->graph, schema, &node));
  for (size_t i = 0; i < oc->arg_count; i++) {
    bsm_value *v;
    BSM_TRY(add_argument(f, c, &oc->args[i], schema->args[i].type, &v));
    BSM_TRY(bsm_node_add_input(node, v));
  }
  bsm_node_append(c->graph->block, node);
  return add_outputs(f, oc, c, node);
}

static inline double tolerance(bsm_dtype dtype, double largest) {
  switch (dtype) {
    case BSM_DTYPE_HALF:
      return 4e-3 * largest + 1e-3;
    case BSM_DTYPE_BFLOAT16:
      return 3e-2 * largest + 1e-2;
    case BSM_DTYPE_FLOAT:
    case BSM_DTYPE_DOUBLE:
    case BSM_DTYPE_COMPLEX_FLOAT:
    case BSM_DTYPE_COMPLEX_DOUBLE:
      return 5e-6 * largest + 1e-6;
    default:
      return 0;
  }
}

/* Element `i` as floating point: of a complex tensor, part i % 2 of element
 * i / 2. */
static inline double part_of(const bsm_tensor *t, int64_t i) {
  const bsm_tensor *parts = t;
  bsm_tensor real = *t;
  if (!bsm_dtype_is_complex(t->dtype)) return bsm_tensor_get_double(t, i);
  /* The last dimension of a complex tensor seen as pairs of numbers. */
  real.dtype = bsm_dtype_value_type(t->dtype);
  for (int32_t d = 0; d < real.sizes.rank; d++) real.strides[d] *= 2;
  real.offset = real.offset * 2 + i % 2;
  parts = &real;
  return bsm_tensor_get_double(parts, i / 2);
}

static inline bsm_status compare(const bsm_tensor *have,
                                 const bsm_tensor *want) {
  double largest = 0;
  int64_t count = bsm_tensor_numel(want);
  if (have->dtype != want->dtype || !bsm_dims_equal(have->sizes, want->sizes)) {
    return BSM_FAIL(BSM_INTERNAL, "%s%s, PyTorch has %s%s",
                    bsm_dtype_name(have->dtype), bsm_dims_str(have->sizes),
                    bsm_dtype_name(want->dtype), bsm_dims_str(want->sizes));
  }
  if (bsm_dtype_is_complex(want->dtype)) count *= 2;
  for (int64_t i = 0; i < count; i++) {
    double b = fabs(part_of(want, i));
    if (b > largest && !isinf(b)) largest = b;
  }
  for (int64_t i = 0; i < count; i++) {
    double a = part_of(have, i);
    double b = part_of(want, i);
    bool same = isnan(b)   ? isnan(a)
                : isinf(b) ? a <= b && a >= b
                           : fabs(a - b) <= tolerance(want->dtype, largest);
    if (!same) {
      return BSM_FAIL(BSM_INTERNAL, "element %lld is %.9g, PyTorch has %.9g",
                      (long long)i, a, b);
    }
  }
  return BSM_OK;
}

/* A tensor, or a list of them. */
static inline bool is_tensors(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_TENSOR ||
         (v->tag == BSM_IVALUE_LIST && v->u.list->len > 0 &&
          v->u.list->items[0].tag == BSM_IVALUE_TENSOR);
}

/* The first `count` results of a call, lists unpacked, with `outs`. */
static inline bsm_status compare_each(const bsm_ivalue *outs, size_t count,
                                      bsm_tensor *const *results) {
  size_t at = 0;
  for (size_t i = 0; i < count; i++) {
    const bsm_ivalue *out = &outs[i];
    if (out->tag != BSM_IVALUE_LIST) {
      BSM_TRY(compare(results[at++], out->u.tensor));
      continue;
    }
    for (size_t k = 0; k < out->u.list->len; k++) {
      BSM_TRY(compare(results[at++], out->u.list->items[k].u.tensor));
    }
  }
  return BSM_OK;
}

/* `v` with all of its tensors row-major. */
static inline bsm_status row_major(fixture *f, const bsm_ivalue *v,
                                   bsm_ivalue *out) {
  *out = *v;
  if (v->tag == BSM_IVALUE_TENSOR) {
    return bsm_tensor_contiguous(&f->arena, v->u.tensor, &out->u.tensor);
  }
  if (v->tag != BSM_IVALUE_LIST) return BSM_OK;
  BSM_TRY(bsm_list_new(&f->arena, v->u.list->elem_type, v->u.list->len,
                       &out->u.list));
  for (size_t i = 0; i < v->u.list->len; i++) {
    BSM_TRY(row_major(f, &v->u.list->items[i], &out->u.list->items[i]));
  }
  return BSM_OK;
}

/* With what PyTorch gave; or else with what the reference op gives for tensors
 * that are row-major, as it may look at strides, and as its own suite allows
 * some ops a larger error. */
static inline bsm_status compare_results(fixture *f, const op_case *oc,
                                         size_t count,
                                         bsm_tensor *const *results) {
  bsm_status status = compare_each(oc->outs, count, results);
  if (!status) return BSM_OK;
  bsm_op_ctx cx = {.arena = &f->arena};
  bsm_ivalue args[OP_CASE_MAX], outs[OP_CASE_MAX];
  bsm_status own = BSM_OK;
  for (size_t i = 0; i < oc->arg_count && !own; i++) {
    own = row_major(f, &oc->args[i], &args[i]);
  }
  const bsm_aten_op *op = bsm_aten_find(f->aten, oc->name);
  if (!op) return status;
  if (!own) {
    own = bsm_aten_call(&cx, op, args, oc->arg_count, outs, oc->out_count);
  }
  if (!own) own = compare_each(outs, count, results);
  if (own) return bsm_status_join(status, own);
  bsm_status_free(status);
  return BSM_OK;
}

#endif /* BSM_TESTS_CONVERSION_OP_CALL_H_ */
