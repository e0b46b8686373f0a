/* SPDX-License-Identifier: Apache-2.0 */
/* Attention: scaled dot product, and the fused ops of nn.Transformer. */
#include "aten/packed/aten_attention.h"
#include "aten/op_kit.h"

typedef struct attention {
  int64_t batch, queries, keys, width, value_width;
  double scale;
  bool causal;
  const double *mask; /* added; NULL: none */
  bool mask_is_bool;  /* then: attends where not 0 */
} attention;

/* One head: out[queries][value_width]; `scores` is scratch of `keys`.
 * `weights`, when not NULL, gets the probabilities. */
static void attend(const attention *a, const double *q, const double *k,
                   const double *v, const double *mask, double *scores,
                   double *weights, double *out) {
  for (int64_t i = 0; i < a->queries; i++) {
    double max = -INFINITY, sum = 0.0;
    for (int64_t j = 0; j < a->keys; j++) {
      double s = 0.0;
      for (int64_t d = 0; d < a->width; d++) {
        s += q[i * a->width + d] * k[j * a->width + d];
      }
      s *= a->scale;
      const bool hidden =
          (a->causal && j > i) ||
          (mask && a->mask_is_bool && mask[i * a->keys + j] == 0.0);
      if (hidden) {
        s = -INFINITY;
      } else if (mask && !a->mask_is_bool) {
        s += mask[i * a->keys + j];
      }
      scores[j] = s;
      if (s > max || isnan(s)) max = s;
    }
    const bool empty = max == -INFINITY; /* nothing to attend to: zeros */
    for (int64_t j = 0; j < a->keys; j++) {
      scores[j] = empty ? 0.0 : exp(scores[j] - max);
      sum += scores[j];
    }
    for (int64_t j = 0; j < a->keys && !empty; j++) scores[j] /= sum;
    if (weights) {
      memcpy(weights + i * a->keys, scores, (size_t)a->keys * sizeof(*scores));
    }
    double *row = out + i * a->value_width;
    for (int64_t d = 0; d < a->value_width; d++) row[d] = 0.0;
    for (int64_t j = 0; j < a->keys; j++) {
      if (scores[j] == 0.0) continue;
      for (int64_t d = 0; d < a->value_width; d++) {
        row[d] += scores[j] * v[j * a->value_width + d];
      }
    }
  }
}

/* Broadcasts t to the batch dims and its own last two. */
static bsm_status spread(bsm_op_ctx *cx, bsm_tensor *t, bsm_dims batch,
                         int64_t rows_, int64_t columns, bsm_tensor **out) {
  bsm_dims dims = batch;
  dims.d[dims.rank++] = rows_;
  dims.d[dims.rank++] = columns;
  return bsm_op_expand(cx, t, dims, out);
}

static bsm_dims without_last_two(const bsm_tensor *t) {
  bsm_dims d = t->sizes;
  d.rank -= 2;
  return d;
}

/* Repeats heads (dim -3) `n` times each: grouped queries. */
static bsm_status repeat_heads(bsm_op_ctx *cx, bsm_tensor *t, int64_t n,
                               bsm_tensor **out) {
  const int at = t->sizes.rank - 3;
  bsm_tensor *wide;
  bsm_dims shape = t->sizes;
  shape.d[at] *= n;
  BSM_TRY(bsm_op_unsqueeze(cx, t, at + 1, &wide));
  bsm_dims dims = wide->sizes;
  dims.d[at + 1] = n;
  BSM_TRY(bsm_op_expand(cx, wide, dims, &wide));
  return bsm_op_reshape(cx, wide, shape, out);
}

static bsm_status check_attention(const bsm_tensor *q, const bsm_tensor *k,
                                  const bsm_tensor *v) {
  const int32_t rq = q->sizes.rank, rk = k->sizes.rank, rv = v->sizes.rank;
  if (rq > BSM_MAX_RANK - 2) {
    return BSM_FAIL(BSM_LIMIT,
                    "scaled_dot_product_attention of %d dimensions; at most %d "
                    "are supported",
                    (int)rq, BSM_MAX_RANK - 2);
  }
  if (rq < 2 || rk < 2 || rv < 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "scaled_dot_product_attention: Expected query, key, and "
                    "value to all be  at least 2 dimensional, but got %d, %d, "
                    "%d",
                    (int)rq, (int)rk, (int)rv);
  }
  if (q->dtype != k->dtype || q->dtype != v->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected query, key, and value to have the same dtype, "
                    "but got query.dtype: %s key.dtype: %s and value.dtype: %s",
                    bsm_op_type_name(q->dtype), bsm_op_type_name(k->dtype),
                    bsm_op_type_name(v->dtype));
  }
  if (!bsm_dtype_is_floating(q->dtype)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "scaled_dot_product_attention: not implemented for '%s'",
                    bsm_op_type_name(q->dtype));
  }
  if (q->sizes.d[rq - 1] != k->sizes.d[rk - 1] ||
      k->sizes.d[rk - 2] != v->sizes.d[rv - 2]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "scaled_dot_product_attention: query %s, key %s and value "
                    "%s do not fit together",
                    bsm_dims_str(q->sizes), bsm_dims_str(k->sizes),
                    bsm_dims_str(v->sizes));
  }
  return BSM_OK;
}

static bsm_status run_attention(bsm_op_ctx *cx, attention *a, bsm_dims batch,
                                bsm_tensor *q, bsm_tensor *k, bsm_tensor *v,
                                bsm_tensor *mask, const bsm_tensor *out,
                                const bsm_tensor *weights) {
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  const double *masks = NULL;
  double *probabilities = NULL;
  BSM_TRY(bsm_op_charge(cx, a->batch * a->queries, a->keys,
                        a->width + a->value_width + 16));
  BSM_TRY(spread(cx, q, batch, a->queries, a->width, &q));
  BSM_TRY(spread(cx, k, batch, a->keys, a->width, &k));
  BSM_TRY(spread(cx, v, batch, a->keys, a->value_width, &v));
  const double *qs = bsm_op_load_all(cx, q), *ks = bsm_op_load_all(cx, k),
               *vs = bsm_op_load_all(cx, v);
  double *results = bsm_op_load_all(cx, out);
  double *scores = BSM_NEW_ARRAY(cx->arena, double, (size_t)a->keys + 1);
  BSM_TRY_ALLOC(qs);
  BSM_TRY_ALLOC(ks);
  BSM_TRY_ALLOC(vs);
  BSM_TRY_ALLOC(results);
  BSM_TRY_ALLOC(scores);
  if (mask) {
    BSM_TRY(spread(cx, mask, batch, a->queries, a->keys, &mask));
    masks = bsm_op_load_all(cx, mask);
    BSM_TRY_ALLOC(masks);
  }
  if (weights) {
    probabilities = bsm_op_load_all(cx, weights);
    BSM_TRY_ALLOC(probabilities);
  }
  const int64_t area = a->queries * a->keys;
  for (int64_t b = 0; b < a->batch; b++) {
    attend(a, qs + b * a->queries * a->width, ks + b * a->keys * a->width,
           vs + b * a->keys * a->value_width, masks ? masks + b * area : NULL,
           scores, probabilities ? probabilities + b * area : NULL,
           results + b * a->queries * a->value_width);
  }
  bsm_op_store_all(out, results);
  if (weights) bsm_op_store_all(weights, probabilities);
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

typedef struct sdpa_options {
  bsm_tensor *mask;
  bool causal;
  const bsm_ivalue *scale; /* None: 1 / sqrt(width) */
  bool grouped;
  bool add_mask; /* a bool mask is added as numbers */
} sdpa_options;

/* *weights may be asked for (not NULL). */
static bsm_status sdpa(bsm_op_ctx *cx, bsm_tensor *q, bsm_tensor *k,
                       bsm_tensor *v, sdpa_options o, bsm_tensor **out,
                       bsm_tensor **weights) {
  bsm_dims batch;
  BSM_TRY(check_attention(q, k, v));
  if (o.grouped) {
    const int32_t at = q->sizes.rank - 3;
    if (at < 0 || k->sizes.rank != q->sizes.rank ||
        v->sizes.rank != q->sizes.rank || k->sizes.d[at] <= 0 ||
        v->sizes.d[at] <= 0 || q->sizes.d[at] % k->sizes.d[at] != 0 ||
        q->sizes.d[at] % v->sizes.d[at] != 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Number of heads in key and value must divide the number "
                      "of heads in query");
    }
    BSM_TRY(repeat_heads(cx, k, q->sizes.d[at] / k->sizes.d[at], &k));
    BSM_TRY(repeat_heads(cx, v, q->sizes.d[at] / v->sizes.d[at], &v));
  }
  if (o.mask && o.causal) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "_scaled_dot_product_attention: Explicit attn_mask should "
                    "not be set when is_causal=True");
  }
  BSM_TRY(bsm_op_broadcast(without_last_two(q), without_last_two(k), &batch));
  BSM_TRY(bsm_op_broadcast(batch, without_last_two(v), &batch));
  attention a = {.causal = o.causal};
  a.queries = q->sizes.d[q->sizes.rank - 2];
  a.width = q->sizes.d[q->sizes.rank - 1];
  a.keys = k->sizes.d[k->sizes.rank - 2];
  a.value_width = v->sizes.d[v->sizes.rank - 1];
  a.scale = op_none(o.scale) ? 1.0 / sqrt((double)a.width) : op_double(o.scale);
  a.mask_is_bool = o.mask && o.mask->dtype == BSM_DTYPE_BOOL && !o.add_mask;
  if (!bsm_dims_numel(batch, &a.batch)) {
    return BSM_FAIL(BSM_LIMIT, "attention over too large a batch");
  }
  if (o.mask) {
    bsm_tensor *unused;
    BSM_TRY(spread(cx, o.mask, batch, a.queries, a.keys, &unused));
  }
  bsm_dims shape = batch, area = batch;
  shape.d[shape.rank++] = a.queries;
  shape.d[shape.rank++] = a.value_width;
  area.d[area.rank++] = a.queries;
  area.d[area.rank++] = a.keys;
  BSM_TRY(bsm_op_new(cx, q->dtype, shape, out));
  if (weights) BSM_TRY(bsm_op_new(cx, q->dtype, area, weights));
  if (cx->meta) return BSM_OK;
  return run_attention(cx, &a, batch, q, k, v, o.mask, *out,
                       weights ? *weights : NULL);
}

static bsm_status refuse_dropout(const bsm_ivalue *p) {
  if (op_double(p) == 0.0) return BSM_OK;
  return BSM_FAIL(BSM_UNSUPPORTED,
                  "attention with dropout is not supported: call .eval() on "
                  "the model before saving it");
}

/* scaled_dot_product_attention(query, key, value, attn_mask, dropout_p,
 * is_causal, *, scale, enable_gqa) */
static bsm_status op_sdpa(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  BSM_TRY(refuse_dropout(&args[4]));
  const sdpa_options o = {op_tensor(&args[3]), op_bool(&args[5]), &args[6],
                          op_bool(&args[7]), false};
  BSM_TRY(sdpa(cx, op_tensor(&args[0]), op_tensor(&args[1]),
               op_tensor(&args[2]), o, &out, NULL));
  return op_return(outs, out);
}

/* _scaled_dot_product_attention_math(..., is_causal, dropout_mask, *, scale,
 * enable_gqa): also the weights */
static bsm_status op_sdpa_math(OP_PARAMS) {
  (void)self;
  bsm_tensor *out, *weights;
  BSM_TRY(refuse_dropout(&args[4]));
  const sdpa_options o = {op_tensor(&args[3]), op_bool(&args[5]), &args[7],
                          op_bool(&args[8]), true};
  BSM_TRY(sdpa(cx, op_tensor(&args[0]), op_tensor(&args[1]),
               op_tensor(&args[2]), o, &out, &weights));
  outs[0] = bsm_iv_tensor(out);
  outs[1] = bsm_iv_tensor(weights);
  return BSM_OK;
}

/* ---- multi-head attention with packed weights ---- */

typedef struct mha_params {
  int64_t embed_dim, heads;
  bsm_tensor *qkv_weight, *qkv_bias, *proj_weight, *proj_bias;
  bsm_tensor *mask;
  const bsm_ivalue *mask_type;
} mha_params;

/* Projects with part `i` of the packed weights and splits the heads:
 * [batch, heads, length, embed / heads]. */
static bsm_status project(bsm_op_ctx *cx, const mha_params *p, bsm_tensor *x,
                          int i, bsm_tensor **out) {
  bsm_tensor *weight, *bias, *y;
  const int64_t d = p->embed_dim;
  BSM_TRY(bsm_op_narrow(cx, p->qkv_weight, 0, i * d, d, &weight));
  BSM_TRY(bsm_op_narrow(cx, p->qkv_bias, 0, i * d, d, &bias));
  BSM_TRY(bsm_op_linear(cx, x, weight, bias, &y));
  BSM_TRY(bsm_op_reshape(
      cx, y, op_dims4(x->sizes.d[0], x->sizes.d[1], p->heads, d / p->heads),
      &y));
  return bsm_op_transpose(cx, y, 1, 2, out);
}

/* The mask of the fused ops hides where it is not 0; this gives the one that
 * attends where true. */
static bsm_status invert_mask(bsm_op_ctx *cx, const mha_params *p,
                              int64_t batch, bsm_tensor **out) {
  bsm_tensor *m = p->mask, *zero;
  *out = NULL;
  if (!m) return BSM_OK;
  const int64_t type = op_int_or(p->mask_type, -1);
  if (type == 1) { /* [batch, keys]: padding */
    if (m->sizes.rank != 2 || m->sizes.d[0] != batch) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "key padding mask of shape %s for a batch of %lld",
                      bsm_dims_str(m->sizes), (long long)batch);
    }
    BSM_TRY(bsm_op_unsqueeze(cx, m, 1, &m));
    BSM_TRY(bsm_op_unsqueeze(cx, m, 1, &m));
  }
  const bsm_ivalue none = bsm_iv_int(0);
  BSM_TRY(bsm_op_wrap(cx, &none, &zero));
  bsm_tensor *hidden;
  BSM_TRY(bsm_op_not_equal(cx, m, zero, &hidden)); /* hidden where true */
  const bsm_ivalue one = bsm_iv_bool(true);
  BSM_TRY(bsm_op_wrap(cx, &one, &zero));
  return bsm_op_not_equal(cx, hidden, zero, out);
}

static bsm_status check_mha(const mha_params *p, const bsm_tensor *x) {
  const int64_t d = p->embed_dim;
  if (x->sizes.rank != 3 || x->sizes.d[2] != d) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "expected 3-D query of embed_dim %lld, got %s",
                    (long long)d, bsm_dims_str(x->sizes));
  }
  if (p->heads <= 0 || d <= 0 || d % p->heads != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "`embed_dim` must divide evenly by `num_heads`");
  }
  if (p->qkv_weight->sizes.rank != 2 || p->qkv_weight->sizes.d[0] != 3 * d ||
      p->qkv_bias->sizes.rank != 1 || p->qkv_bias->sizes.d[0] != 3 * d) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "expected `qkv_weight` first dim to be 3x embed_dim");
  }
  return BSM_OK;
}

static bsm_status mha(bsm_op_ctx *cx, const mha_params *p, bsm_tensor *query,
                      bsm_tensor *key, bsm_tensor *value, bsm_tensor **out,
                      bsm_tensor **weights) {
  bsm_tensor *q, *k, *v, *mask;
  const bsm_ivalue none = bsm_iv_none();
  BSM_TRY(check_mha(p, query));
  BSM_TRY(check_mha(p, key));
  BSM_TRY(check_mha(p, value));
  BSM_TRY(project(cx, p, query, 0, &q));
  BSM_TRY(project(cx, p, key, 1, &k));
  BSM_TRY(project(cx, p, value, 2, &v));
  BSM_TRY(invert_mask(cx, p, query->sizes.d[0], &mask));
  const sdpa_options o = {mask, false, &none, false, false};
  BSM_TRY(sdpa(cx, q, k, v, o, out, weights));
  BSM_TRY(bsm_op_transpose(cx, *out, 1, 2, out));
  BSM_TRY(bsm_op_reshape(cx, *out, query->sizes, out));
  return bsm_op_linear(cx, *out, p->proj_weight, p->proj_bias, out);
}

/* The mean over the heads, dim 1. */
static bsm_status mean_heads(bsm_op_ctx *cx, bsm_tensor *t, bsm_tensor **out) {
  const int64_t heads = t->sizes.d[1];
  bsm_tensor *one, *sum;
  BSM_TRY(bsm_op_select(cx, t, 1, 0, &sum));
  for (int64_t h = 1; h < heads; h++) {
    BSM_TRY(bsm_op_select(cx, t, 1, h, &one));
    BSM_TRY(bsm_op_add(cx, sum, one, 1.0, &sum));
  }
  const bsm_ivalue factor = bsm_iv_double(1.0 / (double)heads);
  BSM_TRY(bsm_op_wrap(cx, &factor, &one));
  return bsm_op_mul(cx, sum, one, out);
}

/* _native_multi_head_attention(query, key, value, embed_dim, num_head,
 * qkv_weight, qkv_bias, proj_weight, proj_bias, mask, need_weights,
 * average_attn_weights, mask_type) */
static bsm_status op_native_mha(OP_PARAMS) {
  (void)self;
  const mha_params p = {op_int(&args[3]),    op_int(&args[4]),
                        op_tensor(&args[5]), op_tensor(&args[6]),
                        op_tensor(&args[7]), op_tensor(&args[8]),
                        op_tensor(&args[9]), &args[12]};
  const bool need = op_bool(&args[10]);
  bsm_tensor *out, *weights;
  BSM_TRY(mha(cx, &p, op_tensor(&args[0]), op_tensor(&args[1]),
              op_tensor(&args[2]), &out, need ? &weights : NULL));
  outs[0] = bsm_iv_tensor(out);
  if (!need) return BSM_OK; /* an undefined tensor: None */
  if (op_bool(&args[11])) BSM_TRY(mean_heads(cx, weights, &weights));
  outs[1] = bsm_iv_tensor(weights);
  return BSM_OK;
}

static void f_relu(double *out, const double *const *in, size_t n,
                   const void *params) {
  (void)params;
  for (size_t k = 0; k < n; k++) out[k] = in[0][k] <= 0.0 ? 0.0 : in[0][k];
}
static void f_gelu(double *out, const double *const *in, size_t n,
                   const void *params) {
  (void)params;
  for (size_t k = 0; k < n; k++) {
    out[k] = 0.5 * in[0][k] * (1.0 + erf(in[0][k] * M_SQRT1_2));
  }
}

static bsm_status feed_forward(bsm_op_ctx *cx, bsm_tensor *x,
                               const bsm_ivalue *weights, bool gelu,
                               bsm_tensor **out) {
  const bsm_pointwise pw = {"ffn", gelu ? f_gelu : f_relu, NULL, 0, NULL, 0,
                            false};
  bsm_tensor *h;
  BSM_TRY(
      bsm_op_linear(cx, x, op_tensor(&weights[0]), op_tensor(&weights[1]), &h));
  BSM_TRY(bsm_op_pointwise(cx, &pw, &h, 1, NULL, &h));
  return bsm_op_linear(cx, h, op_tensor(&weights[2]), op_tensor(&weights[3]),
                       out);
}

/* _transformer_encoder_layer_fwd(src, embed_dim, num_heads, qkv_weight,
 * qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps, norm_weight_1,
 * norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1,
 * ffn_weight_2, ffn_bias_2, mask, mask_type) */
static bsm_status op_encoder_layer(OP_PARAMS) {
  (void)self;
  bsm_tensor *src = op_tensor(&args[0]), *x = src, *residual;
  const mha_params p = {op_int(&args[1]),     op_int(&args[2]),
                        op_tensor(&args[3]),  op_tensor(&args[4]),
                        op_tensor(&args[5]),  op_tensor(&args[6]),
                        op_tensor(&args[18]), &args[19]};
  const bool gelu = op_bool(&args[7]), first = op_bool(&args[8]);
  const double eps = op_double(&args[9]);
  const bsm_dims shape = op_dims1(p.embed_dim);
  bsm_tensor *w1 = op_tensor(&args[10]), *b1 = op_tensor(&args[11]),
             *w2 = op_tensor(&args[12]), *b2 = op_tensor(&args[13]);
  if (first) BSM_TRY(bsm_op_layer_norm(cx, x, shape, w1, b1, eps, &x));
  BSM_TRY(mha(cx, &p, x, x, x, &x, NULL));
  BSM_TRY(bsm_op_add(cx, x, src, 1.0, &x));
  if (!first) BSM_TRY(bsm_op_layer_norm(cx, x, shape, w1, b1, eps, &x));
  residual = x;
  if (first) BSM_TRY(bsm_op_layer_norm(cx, x, shape, w2, b2, eps, &x));
  BSM_TRY(feed_forward(cx, x, &args[14], gelu, &x));
  BSM_TRY(bsm_op_add(cx, x, residual, 1.0, &x));
  if (!first) BSM_TRY(bsm_op_layer_norm(cx, x, shape, w2, b2, eps, &x));
  return op_return(outs, x);
}

static const bsm_aten_op rows[] = {
    OP("aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor "
       "value, Tensor? attn_mask=None, float dropout_p=0., bool "
       "is_causal=False, "
       "*, float? scale=None, bool enable_gqa=False) -> Tensor",
       op_sdpa, 0, 0),
    OP("aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, "
       "Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool "
       "is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool "
       "enable_gqa=False) -> (Tensor, Tensor)",
       op_sdpa_math, 0, 0),
    OP("aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor "
       "value, int embed_dim, int num_head, Tensor qkv_weight, Tensor "
       "qkv_bias, "
       "Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool "
       "need_weights=True, bool average_attn_weights=True, int? "
       "mask_type=None) "
       "-> (Tensor, Tensor)",
       op_native_mha, 0, 0),
    OP("aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int "
       "num_heads, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, "
       "Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor "
       "norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor "
       "norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor "
       "ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? "
       "mask_type=None) "
       "-> Tensor",
       op_encoder_layer, 0, 0),
};
BSM_ATEN_TABLE(attention, rows);
