/* SPDX-License-Identifier: Apache-2.0 */
/* aten::scaled_dot_product_attention into products, a mask and a softmax.
 *
 * Rows of which everything is masked give zeros, as in PyTorch: softmax alone
 * would give NaN. Where the mask is a constant it is looked at now, else a
 * select after the softmax sees to it.
 *
 * Requires:    known dims; dropout_p 0; is_causal and scale constants.
 * Establishes: no such attention is left.
 * Breaks:      leaves constants to fold (masks, scales). */
#include <math.h>

#include "lowering/pass.h"

enum { QUERY, KEY, VALUE, MASK, DROPOUT, CAUSAL, SCALE, GQA };

/* x[..., H, S, E] with every head repeated `times`. */
static bsm_status repeat_heads(const bsm_emitter *e, bsm_value *x,
                               int64_t times, bsm_value **out) {
  bsm_dims dims;
  bsm_dtype dtype;
  *out = x;
  if (times == 1 || !bsm_value_dims(x, &dims, &dtype) || dims.rank < 3 ||
      dims.rank >= BSM_MAX_RANK) {
    return BSM_OK;
  }
  const int32_t head = dims.rank - 3;
  bsm_dims wide = dims, result = dims;
  memmove(wide.d + head + 2, wide.d + head + 1, 2 * sizeof(wide.d[0]));
  wide.d[head + 1] = 1;
  wide.rank++;
  result.d[head] *= times;
  BSM_TRY(bsm_ir_reshape(e, x, wide, out));
  wide.d[head + 1] = times;
  BSM_TRY(bsm_ir_expand(e, *out, wide, out));
  return bsm_ir_reshape(e, *out, result, out);
}

/* A bool [rows, columns] constant: what a causal query may look at. */
static bsm_status causal_mask(const bsm_emitter *e, int64_t rows,
                              int64_t columns, bsm_value **out) {
  const bsm_dims dims = {2, {rows, columns}};
  bsm_tensor *t = NULL;
  BSM_TRY(bsm_tensor_new(e->graph->cx->arena, BSM_DTYPE_BOOL, dims, false, &t));
  bool *data = bsm_tensor_data(t);
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < columns; j++) {
      data[i * columns + j] = j <= i;
    }
  }
  const bsm_type *type =
      bsm_type_tensor(e->graph->cx->types, BSM_DTYPE_BOOL, dims);
  BSM_TRY_ALLOC(type);
  return bsm_ir_constant(e, bsm_iv_tensor(t), type, out);
}

/* Whether a constant mask leaves something to see in every row. */
static bool every_row_sees(const bsm_tensor *mask) {
  if (mask->sizes.rank == 0) {
    return false;
  }
  const int64_t columns = mask->sizes.d[mask->sizes.rank - 1];
  const int64_t numel = bsm_tensor_numel(mask);
  bool sees = columns > 0;
  for (int64_t i = 0; i < numel && sees; i += columns) {
    sees = false;
    for (int64_t j = 0; j < columns && !sees; j++) {
      const double v = bsm_tensor_get_double(mask, i + j);
      sees = mask->dtype == BSM_DTYPE_BOOL ? v != 0 : v > -INFINITY;
    }
  }
  return sees;
}

static bsm_status call2(const bsm_emitter *e, const char *schema, bsm_value *a,
                        bsm_value *b, bsm_value **out) {
  bsm_value *in[2] = {a, b};
  return bsm_ir_op(e, schema, in, 2, out);
}

static bsm_status add(const bsm_emitter *e, bsm_value *a, bsm_value *b,
                      bsm_value **out) {
  bsm_value *in[3] = {a, b, NULL};
  BSM_TRY(bsm_ir_int(e, 1, &in[2]));
  return bsm_ir_op(e, "aten::add.Tensor", in, 3, out);
}

static bsm_status fill(const bsm_emitter *e, bsm_value *x, bsm_value *mask,
                       double with, bsm_value **out) {
  bsm_value *in[3] = {x, mask, NULL};
  BSM_TRY(bsm_ir_double(e, with, &in[2]));
  return bsm_ir_op(e, "aten::masked_fill.Scalar", in, 3, out);
}

static bsm_status softmax(const bsm_emitter *e, bsm_value *x, bsm_value **out) {
  bsm_value *in[3] = {x, NULL, NULL};
  BSM_TRY(bsm_ir_int(e, -1, &in[1]));
  BSM_TRY(bsm_ir_none(e, &in[2]));
  return bsm_ir_op(e, "aten::softmax.int", in, 3, out);
}

/* softmax(scores, masked). `mask`: NULL, bool (true: may be seen) or added. */
static bsm_status masked_softmax(const bsm_emitter *e, bsm_value *scores,
                                 bsm_value *mask, bsm_value **out) {
  bsm_dims dims;
  bsm_dtype dtype = BSM_DTYPE_FLOAT;
  if (!mask) {
    return softmax(e, scores, out);
  }
  const bsm_tensor *known = bsm_value_tensor(mask);
  const bool safe = known && every_row_sees(known);
  bsm_value *hidden = NULL, *p = NULL;
  (void)bsm_value_dims(mask, &dims, &dtype);
  if (dtype == BSM_DTYPE_BOOL) {
    BSM_TRY(bsm_ir_op(e, "aten::logical_not", &mask, 1, &hidden));
    BSM_TRY(fill(e, scores, hidden, -INFINITY, &scores));
  } else {
    BSM_TRY(add(e, scores, mask, &scores));
  }
  BSM_TRY(softmax(e, scores, &p));
  if (!safe && !hidden) {
    bsm_value *in[2] = {scores, NULL};
    BSM_TRY(bsm_ir_double(e, -INFINITY, &in[1]));
    BSM_TRY(bsm_ir_op(e, "aten::eq.Scalar", in, 2, &hidden));
  }
  *out = p;
  return safe ? BSM_OK : fill(e, p, hidden, 0.0, out);
}

static bool read_options(const bsm_node *node, bool *causal, bool *gqa) {
  double dropout = 1;
  return bsm_value_double(bsm_node_in(node, DROPOUT), &dropout) &&
         dropout == 0.0 && bsm_value_bool(bsm_node_in(node, CAUSAL), causal) &&
         bsm_value_bool(bsm_node_in(node, GQA), gqa) &&
         (bsm_value_is_none(bsm_node_in(node, SCALE)) ||
          bsm_value_constant(bsm_node_in(node, SCALE)));
}

static bsm_status attention(const bsm_emitter *e, bsm_node *node,
                            bsm_value **outs) {
  bsm_value *q = bsm_node_in(node, QUERY), *k = bsm_node_in(node, KEY),
            *v = bsm_node_in(node, VALUE), *mask = bsm_node_in(node, MASK);
  bsm_value *factor = NULL, *kt = NULL, *scores = NULL, *p = NULL;
  bsm_dims dq, dk;
  bsm_dtype dtype;
  bool causal = false, gqa = false;
  double scale = 0;
  if (!read_options(node, &causal, &gqa) || !bsm_value_dims(q, &dq, &dtype) ||
      !bsm_value_dims(k, &dk, &dtype) || dq.rank < 2 || dk.rank < 2) {
    return BSM_OK;
  }
  if (!bsm_value_double(bsm_node_in(node, SCALE), &scale)) {
    scale = 1.0 / sqrt((double)dq.d[dq.rank - 1]);
  }
  if (gqa && dq.rank >= 3 && dk.rank >= 3 && dk.d[dk.rank - 3] > 0) {
    const int64_t times = dq.d[dq.rank - 3] / dk.d[dk.rank - 3];
    BSM_TRY(repeat_heads(e, k, times, &k));
    BSM_TRY(repeat_heads(e, v, times, &v));
  }
  if (bsm_value_is_none(mask)) {
    mask = NULL;
  }
  if (causal) {
    BSM_TRY(causal_mask(e, dq.d[dq.rank - 2], dk.d[dk.rank - 2], &mask));
  }
  BSM_TRY(bsm_ir_double(e, scale, &factor));
  BSM_TRY(call2(e, "aten::mul.Scalar", q, factor, &q));
  BSM_TRY(bsm_ir_transpose(e, k, -2, -1, &kt));
  BSM_TRY(call2(e, "aten::matmul", q, kt, &scores));
  BSM_TRY(masked_softmax(e, scores, mask, &p));
  return call2(e, "aten::matmul", p, v, &outs[0]);
}

static const bsm_rewrite rules[] = {
    {"aten::scaled_dot_product_attention", attention},
};

bsm_status bsm_lower_decompose_attention(bsm_graph *graph,
                                         const bsm_aten_library *aten) {
  return bsm_rewrite_graph(graph, aten, rules,
                           sizeof(rules) / sizeof(rules[0]));
}
