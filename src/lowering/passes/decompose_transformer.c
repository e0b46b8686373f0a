/* SPDX-License-Identifier: Apache-2.0 */
/* The fused ops of PyTorch's transformer fast path: a whole encoder layer, and
 * a multi-head self attention, into linear, layer_norm and attention.
 *
 * Requires:    known dims, or no mask; constant head count, flags and mask
 *              type.
 * Establishes: no _transformer_encoder_layer_fwd and no
 *              _native_multi_head_attention.
 * Breaks:      nothing. */
#include <math.h>

#include "lowering/pass.h"

typedef struct attention {
  bsm_value *query, *key, *value;
  int64_t embed, heads;
  bsm_value *qkv_weight, *qkv_bias, *proj_weight, *proj_bias;
  bsm_value *mask; /* None: no mask */
  bsm_value *mask_type;
} attention;

/* Both ops take only tensors of three dims, and masks are reshaped by the known
 * dims. */
static bool is_batched(const bsm_value *x, const bsm_value *mask) {
  bsm_dims dims;
  bsm_dtype dtype;
  return bsm_value_dims(x, &dims, &dtype) ? dims.rank == 3
                                          : bsm_value_is_none(mask);
}

static bsm_status linear(const bsm_node_emitter *e, bsm_value *x,
                         bsm_value *weight, bsm_value *bias, bsm_value **out) {
  bsm_value *in[3] = {x, weight, bias};
  return bsm_ir_op(e, "aten::linear", in, 3, out);
}

static bsm_status add(const bsm_node_emitter *e, bsm_value *a, bsm_value *b,
                      bsm_value **out) {
  bsm_value *in[3] = {a, b, NULL};
  BSM_TRY(bsm_ir_int(e, 1, &in[2]));
  return bsm_ir_op(e, "aten::add.Tensor", in, 3, out);
}

/* The same where dims are known only when the engine runs. */
static bsm_status split_any(const bsm_node_emitter *e, bsm_value *x,
                            int64_t embed, int64_t heads, bsm_value **out) {
  const int64_t perm[4] = {0, 2, 1, 3}, sizes[2] = {heads, embed / heads};
  bsm_value *in[3] = {x, NULL, NULL};
  BSM_TRY(bsm_ir_int(e, -1, &in[1]));
  BSM_TRY(bsm_ir_ints(e, sizes, 2, &in[2]));
  BSM_TRY(bsm_ir_op(e, "aten::unflatten.int", in, 3, out));
  return bsm_ir_permute(e, *out, perm, 4, out);
}

static bsm_status merge_any(const bsm_node_emitter *e, bsm_value *x,
                            bsm_value **out) {
  const int64_t perm[4] = {0, 2, 1, 3};
  bsm_value *in[3] = {NULL, NULL, NULL};
  BSM_TRY(bsm_ir_permute(e, x, perm, 4, &in[0]));
  BSM_TRY(bsm_ir_int(e, 2, &in[1]));
  BSM_TRY(bsm_ir_int(e, 3, &in[2]));
  return bsm_ir_op(e, "aten::flatten.using_ints", in, 3, out);
}

/* [B, T, D] -> [B, heads, T, D / heads] */
static bsm_status split_heads(const bsm_node_emitter *e, bsm_value *x,
                              int64_t embed, int64_t heads, bsm_value **out) {
  bsm_dims d = {0};
  bsm_dtype dtype = BSM_DTYPE_UNDEFINED;
  const int64_t perm[4] = {0, 2, 1, 3};
  if (!bsm_value_dims(x, &d, &dtype) && embed % heads == 0) {
    return split_any(e, x, embed, heads, out);
  }
  if (!bsm_value_dims(x, &d, &dtype) || d.rank != 3 || d.d[2] % heads) {
    return BSM_FAIL(BSM_UNSUPPORTED, "attention over an input of dims %s",
                    bsm_dims_str(d));
  }
  const bsm_dims wide = {4, {d.d[0], d.d[1], heads, d.d[2] / heads}};
  BSM_TRY(bsm_ir_reshape(e, x, wide, out));
  return bsm_ir_permute(e, *out, perm, 4, out);
}

static bsm_status merge_heads(const bsm_node_emitter *e, bsm_value *x,
                              bsm_value **out) {
  bsm_dims d = {0};
  bsm_dtype dtype = BSM_DTYPE_UNDEFINED;
  const int64_t perm[4] = {0, 2, 1, 3};
  if (!bsm_value_dims(x, &d, &dtype)) return merge_any(e, x, out);
  if (d.rank != 4) {
    return BSM_FAIL(BSM_INTERNAL, "attention without four dims");
  }
  const bsm_dims flat = {3, {d.d[0], d.d[2], d.d[1] * d.d[3]}};
  BSM_TRY(bsm_ir_permute(e, x, perm, 4, out));
  return bsm_ir_reshape(e, *out, flat, out);
}

/* The projections of query, key and value: one product when they are the same.
 */
static bsm_status project(const bsm_node_emitter *e, const attention *a,
                          bsm_value *out[3]) {
  bsm_value *in[3] = {a->query, a->key, a->value};
  if (a->query == a->key && a->query == a->value) {
    bsm_value *all = NULL;
    BSM_TRY(linear(e, a->query, a->qkv_weight, a->qkv_bias, &all));
    for (int64_t i = 0; i < 3; i++) {
      BSM_TRY(bsm_ir_slice(e, all, 2, i * a->embed, (i + 1) * a->embed, 1,
                           &out[i]));
    }
    return BSM_OK;
  }
  for (int64_t i = 0; i < 3; i++) {
    bsm_value *weight = NULL, *bias = NULL;
    BSM_TRY(bsm_ir_slice(e, a->qkv_weight, 0, i * a->embed, (i + 1) * a->embed,
                         1, &weight));
    BSM_TRY(bsm_ir_slice(e, a->qkv_bias, 0, i * a->embed, (i + 1) * a->embed, 1,
                         &bias));
    BSM_TRY(linear(e, in[i], weight, bias, &out[i]));
  }
  return BSM_OK;
}

/* The mask as a bool tensor that broadcasts to the scores; NULL: there is none.
 * Masks of the fast path say what is hidden, and are bool or converted to bool.
 * Type 0: [T, T]; 1: [B, T], of keys; 2: any shape that broadcasts. */
static bsm_status hidden_mask(const bsm_node_emitter *e, const attention *a,
                              bsm_value **out) {
  bsm_dims d = {0};
  bsm_dtype dtype = BSM_DTYPE_UNDEFINED;
  int64_t type = 2;
  bsm_value *mask = a->mask;
  *out = NULL;
  if (bsm_value_is_none(mask)) {
    return BSM_OK;
  }
  (void)bsm_value_int(a->mask_type, &type);
  if (!bsm_value_dims(mask, &d, &dtype)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "an attention mask of unknown shape");
  }
  if (dtype != BSM_DTYPE_BOOL) {
    bsm_value *in[2] = {mask, NULL};
    BSM_TRY(bsm_ir_int(e, 0, &in[1]));
    BSM_TRY(bsm_ir_op(e, "aten::ne.Scalar", in, 2, &mask));
  }
  if (type == 1 && d.rank == 2) {
    const bsm_dims wide = {4, {d.d[0], 1, 1, d.d[1]}};
    BSM_TRY(bsm_ir_reshape(e, mask, wide, &mask));
  }
  *out = mask;
  return BSM_OK;
}

/* Heads of query, key and value into heads of the result. */
static bsm_status attend_heads(const bsm_node_emitter *e,
                               bsm_value *const qkv[3], bsm_value *hidden,
                               bsm_value **out) {
  bsm_value *in[8] = {qkv[0], qkv[1], qkv[2], NULL, NULL, NULL, NULL, NULL};
  if (hidden) {
    BSM_TRY(bsm_ir_op(e, "aten::logical_not", &hidden, 1, &in[3]));
  } else {
    BSM_TRY(bsm_ir_none(e, &in[3]));
  }
  BSM_TRY(bsm_ir_double(e, 0.0, &in[4])); /* dropout_p */
  BSM_TRY(bsm_ir_bool(e, false, &in[5])); /* is_causal */
  BSM_TRY(bsm_ir_none(e, &in[6]));        /* scale: 1 / sqrt(head size) */
  in[7] = in[5];                          /* enable_gqa */
  return bsm_ir_op(e, "aten::scaled_dot_product_attention", in, 8, out);
}

/* The same in single steps, where the attention weights are wanted. */
static bsm_status attend_with_weights(const bsm_node_emitter *e,
                                      const attention *a,
                                      bsm_value *const qkv[3],
                                      bsm_value *hidden, bsm_value **out,
                                      bsm_value **weights) {
  bsm_value *kt = NULL, *scores = NULL, *scaled[2] = {qkv[0], NULL};
  BSM_TRY(bsm_ir_double(e, 1.0 / sqrt((double)a->embed / (double)a->heads),
                        &scaled[1]));
  bsm_value *product[2] = {NULL, NULL};
  BSM_TRY(bsm_ir_op(e, "aten::mul.Scalar", scaled, 2, &product[0]));
  BSM_TRY(bsm_ir_transpose(e, qkv[1], 2, 3, &kt));
  product[1] = kt;
  BSM_TRY(bsm_ir_op(e, "aten::matmul", product, 2, &scores));
  if (hidden) {
    bsm_value *in[3] = {scores, hidden, NULL};
    BSM_TRY(bsm_ir_double(e, -INFINITY, &in[2]));
    BSM_TRY(bsm_ir_op(e, "aten::masked_fill.Scalar", in, 3, &scores));
  }
  bsm_value *soft[3] = {scores, NULL, NULL};
  BSM_TRY(bsm_ir_int(e, -1, &soft[1]));
  BSM_TRY(bsm_ir_none(e, &soft[2]));
  BSM_TRY(bsm_ir_op(e, "aten::softmax.int", soft, 3, weights));
  bsm_value *mix[2] = {*weights, qkv[2]};
  return bsm_ir_op(e, "aten::matmul", mix, 2, out);
}

/* `weights` NULL: they are not wanted. */
static bsm_status attend(const bsm_node_emitter *e, const attention *a,
                         bsm_value **out, bsm_value **weights) {
  bsm_value *qkv[3] = {NULL, NULL, NULL}, *hidden = NULL;
  BSM_TRY(project(e, a, qkv));
  for (int i = 0; i < 3; i++) {
    BSM_TRY(split_heads(e, qkv[i], a->embed, a->heads, &qkv[i]));
  }
  BSM_TRY(hidden_mask(e, a, &hidden));
  BSM_TRY(weights ? attend_with_weights(e, a, qkv, hidden, out, weights)
                  : attend_heads(e, qkv, hidden, out));
  BSM_TRY(merge_heads(e, *out, out));
  return linear(e, *out, a->proj_weight, a->proj_bias, out);
}

/* ---- aten::_native_multi_head_attention ---- */

static bsm_status multi_head_attention(const bsm_node_emitter *e,
                                       bsm_node *node, bsm_value **outs) {
  enum {
    Q,
    K,
    V,
    EMBED,
    HEADS,
    QKV_W,
    QKV_B,
    P_W,
    P_B,
    MASK,
    NEED,
    AVERAGE,
    MASK_TYPE
  };
  attention a = {.query = bsm_node_in(node, Q),
                 .key = bsm_node_in(node, K),
                 .value = bsm_node_in(node, V),
                 .qkv_weight = bsm_node_in(node, QKV_W),
                 .qkv_bias = bsm_node_in(node, QKV_B),
                 .proj_weight = bsm_node_in(node, P_W),
                 .proj_bias = bsm_node_in(node, P_B),
                 .mask = bsm_node_in(node, MASK),
                 .mask_type = bsm_node_in(node, MASK_TYPE)};
  bsm_value *weights = NULL;
  bool need = true, average = true;
  const bool weights_used = bsm_node_out(node, 1)->uses.len > 0;
  if (!bsm_value_int(bsm_node_in(node, EMBED), &a.embed) ||
      !bsm_value_int(bsm_node_in(node, HEADS), &a.heads) || a.heads < 1 ||
      !bsm_value_bool(bsm_node_in(node, NEED), &need) ||
      !bsm_value_bool(bsm_node_in(node, AVERAGE), &average) ||
      (weights_used && !need) || !is_batched(a.query, a.mask)) {
    return BSM_OK;
  }
  BSM_TRY(attend(e, &a, &outs[0], weights_used ? &weights : NULL));
  outs[1] = weights;
  if (average && weights_used) {
    const int64_t heads_dim = 1;
    bsm_value *in[4] = {weights, NULL, NULL, NULL};
    BSM_TRY(bsm_ir_ints(e, &heads_dim, 1, &in[1]));
    BSM_TRY(bsm_ir_bool(e, false, &in[2]));
    BSM_TRY(bsm_ir_none(e, &in[3]));
    BSM_TRY(bsm_ir_op(e, "aten::mean.dim", in, 4, &outs[1]));
  }
  return BSM_OK;
}

/* ---- aten::_transformer_encoder_layer_fwd ---- */

enum {
  SRC,
  EMBED,
  HEADS,
  QKV_W,
  QKV_B,
  P_W,
  P_B,
  USE_GELU,
  NORM_FIRST,
  EPS,
  NORM_W1,
  NORM_B1,
  NORM_W2,
  NORM_B2,
  FFN_W1,
  FFN_B1,
  FFN_W2,
  FFN_B2,
  MASK,
  MASK_TYPE
};

static bsm_status norm(const bsm_node_emitter *e, bsm_node *node, int64_t embed,
                       size_t weight, bsm_value *x, bsm_value **out) {
  bsm_value *in[6] = {x,
                      NULL,
                      bsm_node_in(node, weight),
                      bsm_node_in(node, weight + 1),
                      bsm_node_in(node, EPS),
                      NULL};
  BSM_TRY(bsm_ir_ints(e, &embed, 1, &in[1]));
  BSM_TRY(bsm_ir_bool(e, true, &in[5]));
  return bsm_ir_op(e, "aten::layer_norm", in, 6, out);
}

static bsm_status feed_forward(const bsm_node_emitter *e, bsm_node *node,
                               bool gelu, bsm_value *x, bsm_value **out) {
  bsm_value *h = NULL;
  BSM_TRY(
      linear(e, x, bsm_node_in(node, FFN_W1), bsm_node_in(node, FFN_B1), &h));
  if (gelu) {
    bsm_value *in[2] = {h, NULL};
    bsm_ivalue none;
    BSM_TRY(bsm_iv_string(e->graph->cx->arena, BSM_STR("none"), &none));
    BSM_TRY(bsm_ir_constant(e, none, NULL, &in[1]));
    BSM_TRY(bsm_ir_op(e, "aten::gelu", in, 2, &h));
  } else {
    BSM_TRY(bsm_ir_op(e, "aten::relu", &h, 1, &h));
  }
  return linear(e, h, bsm_node_in(node, FFN_W2), bsm_node_in(node, FFN_B2),
                out);
}

static bsm_status encoder_layer(const bsm_node_emitter *e, bsm_node *node,
                                bsm_value **outs) {
  attention a = {.qkv_weight = bsm_node_in(node, QKV_W),
                 .qkv_bias = bsm_node_in(node, QKV_B),
                 .proj_weight = bsm_node_in(node, P_W),
                 .proj_bias = bsm_node_in(node, P_B),
                 .mask = bsm_node_in(node, MASK),
                 .mask_type = bsm_node_in(node, MASK_TYPE)};
  bool gelu = false, first = false;
  bsm_value *src = bsm_node_in(node, SRC), *x = src, *y = NULL;
  if (!bsm_value_int(bsm_node_in(node, EMBED), &a.embed) ||
      !bsm_value_int(bsm_node_in(node, HEADS), &a.heads) || a.heads < 1 ||
      !bsm_value_bool(bsm_node_in(node, USE_GELU), &gelu) ||
      !bsm_value_bool(bsm_node_in(node, NORM_FIRST), &first) ||
      !is_batched(src, a.mask)) {
    return BSM_OK;
  }
  if (first) {
    BSM_TRY(norm(e, node, a.embed, NORM_W1, x, &x));
  }
  a.query = a.key = a.value = x;
  BSM_TRY(attend(e, &a, &y, NULL));
  BSM_TRY(add(e, y, src, &x));
  if (!first) {
    BSM_TRY(norm(e, node, a.embed, NORM_W1, x, &x));
  }
  bsm_value *before = x;
  if (first) {
    BSM_TRY(norm(e, node, a.embed, NORM_W2, x, &x));
  }
  BSM_TRY(feed_forward(e, node, gelu, x, &y));
  BSM_TRY(add(e, y, before, &outs[0]));
  if (!first) {
    BSM_TRY(norm(e, node, a.embed, NORM_W2, outs[0], &outs[0]));
  }
  if (!outs[0]->type->has_dtype) { /* what is known of the layer's result */
    outs[0]->type = bsm_node_out(node, 0)->type;
  }
  return BSM_OK;
}

static const bsm_rewrite rules[] = {
    {"aten::_native_multi_head_attention", multi_head_attention},
    {"aten::_transformer_encoder_layer_fwd", encoder_layer},
};

bsm_status bsm_lower_decompose_transformer(bsm_graph *graph,
                                           const bsm_aten_library *aten) {
  return bsm_rewrite_graph(graph, aten, rules,
                           sizeof(rules) / sizeof(rules[0]));
}
