/* SPDX-License-Identifier: Apache-2.0 */
/* scaled_dot_product_attention, as two matrix multiplies around a softmax. */
#include <math.h>

#include "conversion/emit.h"

/* Rows that a mask hides completely give zeros, not NaN. Whether there are any
 * is known now for a constant mask. */
typedef struct attention_mask {
  bsm_itensor *keep; /* bool: attend where true; or NULL */
  bsm_itensor *bias; /* added to the scores; or NULL */
  bool may_hide_rows;
} attention_mask;

/* Whether a constant mask hides a whole row. */
static bool hides_a_row(const bsm_tensor *mask) {
  int64_t numel = bsm_tensor_numel(mask);
  int64_t columns =
      mask->sizes.rank > 0 ? mask->sizes.d[mask->sizes.rank - 1] : 1;
  for (int64_t row = 0; columns > 0 && row < numel; row += columns) {
    bool hidden = true;
    for (int64_t i = 0; hidden && i < columns; i++) {
      double value = bsm_tensor_get_double(mask, row + i);
      hidden = mask->dtype == BSM_DTYPE_BOOL ? !(value > 0)
                                             : value < 0 && isinf(value);
    }
    if (hidden) return true;
  }
  return false;
}

/* Lower triangle of [rows, columns]. */
static bsm_itensor *causal_mask(bsm_conversion_ctx *ctx, int64_t rows,
                                int64_t columns) {
  bsm_tensor *mask;
  bsm_status status =
      bsm_tensor_new(ctx->impl->arena, BSM_DTYPE_BOOL,
                     (bsm_dims){2, {rows, columns}}, false, &mask);
  if (status) {
    bsm_ctx_fail(ctx, status);
    return NULL;
  }
  uint8_t *data = bsm_tensor_data(mask);
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < columns; j++) data[i * columns + j] = j <= i;
  }
  return bsm_freeze_tensor(ctx, mask);
}

/* Where the forms of the operator have their arguments after query, key and
 * value; 0: there is none. */
typedef struct attention_form {
  size_t mask, dropout, causal, scale, grouped;
} attention_form;

enum { PLAIN, FOR_CPU, FLASH, EFFICIENT, CUDNN, OVERRIDEABLE };
static const attention_form forms[] = {
    [PLAIN] = {3, 4, 5, 6, 7}, [FOR_CPU] = {5, 3, 4, 6, 0},
    [FLASH] = {0, 3, 4, 6, 0}, [EFFICIENT] = {3, 5, 6, 7, 0},
    [CUDNN] = {3, 5, 6, 8, 0}, [OVERRIDEABLE] = {3, 4, 5, 7, 0},
};

static bsm_status read_mask(bsm_conversion_ctx *ctx, const bsm_args *args,
                            const attention_form *form, const bsm_itensor *q,
                            const bsm_itensor *k, attention_mask *out) {
  *out = (attention_mask){0};
  bool causal = bsm_arg_unwrap_to_bool(args, form->causal);
  if (form->mask && !bsm_arg_is_none(args, form->mask)) {
    BSM_CHECK(!causal,
              "scaled_dot_product_attention: Explicit attn_mask should not be "
              "set when is_causal=True");
    bsm_itensor *mask = bsm_arg_itensor_or_freeze(ctx, args, form->mask);
    if (!mask) return bsm_ctx_take_error(ctx);
    if (mask->dtype == BSM_DTYPE_BOOL) {
      out->keep = mask;
    } else {
      out->bias = bsm_emit_cast(ctx, mask, q->dtype);
    }
    out->may_hide_rows =
        bsm_arg_is_itensor(args, form->mask) ||
        hides_a_row(bsm_arg_unwrap_to_tensor(args, form->mask));
  } else if (causal) {
    out->keep = causal_mask(ctx, q->dims.d[q->dims.rank - 2],
                            k->dims.d[k->dims.rank - 2]);
  }
  return BSM_OK;
}

/* Heads of k and v are shared by groups of heads of q. */
static bsm_itensor *repeat_heads(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                 int64_t heads) {
  int32_t rank = bsm_rank(x), axis = rank - 3;
  if (!x || axis < 0 || x->dims.d[axis] == heads || x->dims.d[axis] < 1 ||
      heads % x->dims.d[axis] != 0) {
    return x;
  }
  int64_t times = heads / x->dims.d[axis];
  bsm_dims merged = x->dims;
  bsm_itensor *wide = bsm_emit_unsqueeze(ctx, x, axis + 1);
  if (!wide) return NULL;
  bsm_dims dims = wide->dims;
  dims.d[axis + 1] = times;
  merged.d[axis] = heads;
  return bsm_emit_reshape(ctx, bsm_emit_expand(ctx, wide, dims), merged);
}

/* Zeros where no key may be attended to. */
static bsm_itensor *clear_hidden_rows(bsm_conversion_ctx *ctx,
                                      bsm_itensor *scores,
                                      bsm_itensor *weights) {
  bsm_itensor *low = bsm_emit_scalar(ctx, scores->dtype, -(double)INFINITY);
  bsm_itensor *hidden =
      bsm_emit_binary(ctx, scores, low, BSM_ELEMENT_WISE_EQUAL);
  hidden = bsm_emit_reduce(ctx, hidden, BSM_REDUCE_ALL,
                           1u << (unsigned)(bsm_rank(scores) - 1), true);
  return bsm_emit_select(ctx, hidden, bsm_emit_scalar(ctx, scores->dtype, 0),
                         weights);
}

/* The log of the sums of the rows' exponentials. */
static bsm_itensor *log_sums(bsm_conversion_ctx *ctx, bsm_itensor *scores) {
  const int32_t last = bsm_rank(scores) - 1;
  if (!scores) return NULL;
  bsm_itensor *top =
      bsm_emit_reduce(ctx, scores, BSM_REDUCE_MAX, 1u << (unsigned)last, true);
  bsm_itensor *sum = bsm_emit_unary(
      ctx, bsm_emit_binary(ctx, scores, top, BSM_ELEMENT_WISE_SUB),
      BSM_UNARY_EXP);
  sum = bsm_emit_reduce(ctx, sum, BSM_REDUCE_SUM, 1u << (unsigned)last, true);
  sum = bsm_emit_unary(ctx, sum, BSM_UNARY_LOG);
  sum = bsm_emit_binary(ctx, sum, top, BSM_ELEMENT_WISE_SUM);
  return bsm_emit_squeeze(ctx, sum, 1u << (unsigned)last);
}

static bsm_itensor *hidden_scores(bsm_conversion_ctx *ctx, bsm_itensor *scores,
                                  const attention_mask *mask, bsm_dtype dtype) {
  if (mask->bias) {
    return bsm_emit_binary(ctx, scores, mask->bias, BSM_ELEMENT_WISE_SUM);
  }
  if (!mask->keep) return scores;
  return bsm_emit_select(ctx, mask->keep, scores,
                         bsm_emit_scalar(ctx, dtype, -(double)INFINITY));
}

/* What only a backward pass reads is refused where it is used. */
static bsm_status other_outputs(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const attention_mask *mask,
                                bsm_itensor *scores) {
  for (size_t i = 2; i < bsm_node_output_count(node); i++) {
    if (bsm_output_is_used(node, i)) {
      return BSM_FAIL(BSM_UNSUPPORTED, "result %zu of fused attention", i);
    }
  }
  if (!bsm_output_is_used(node, 1)) return BSM_OK;
  if (mask->may_hide_rows || !scores || scores->dtype != BSM_DTYPE_FLOAT) {
    return BSM_FAIL(BSM_UNSUPPORTED, "the log of the sums of hidden rows");
  }
  return bsm_emit_output(ctx, node, 1, log_sums(ctx, scores));
}

static bsm_status convert_attention(bsm_conversion_ctx *ctx,
                                    const bsm_node *node,
                                    const bsm_args *args) {
  enum { QUERY, KEY, VALUE };
  const attention_form *form = &forms[bsm_args_variant(args)];
  attention_mask mask;
  bsm_itensor *q = bsm_arg_itensor_or_freeze(ctx, args, QUERY);
  bsm_itensor *k = bsm_arg_itensor_or_freeze(ctx, args, KEY);
  bsm_itensor *v = bsm_arg_itensor_or_freeze(ctx, args, VALUE);
  if (!q || !k || !v) return bsm_ctx_take_error(ctx);
  BSM_CHECK(bsm_rank(q) >= 2 && bsm_rank(k) >= 2 && bsm_rank(v) >= 2,
            "scaled_dot_product_attention: query, key and value need at least "
            "2 dimensions");
  BSM_CHECK(!(bsm_arg_unwrap_to_double(args, form->dropout) > 0),
            "scaled_dot_product_attention with dropout draws random numbers; "
            "call model.eval() before exporting");
  if (form->grouped && bsm_args_count(args) > form->grouped &&
      bsm_arg_unwrap_to_bool(args, form->grouped) && bsm_rank(q) >= 3) {
    k = repeat_heads(ctx, k, q->dims.d[bsm_rank(q) - 3]);
    v = repeat_heads(ctx, v, q->dims.d[bsm_rank(q) - 3]);
  }
  if (!k || !v) return bsm_ctx_take_error(ctx);
  BSM_TRY(read_mask(ctx, args, form, q, k, &mask));
  double width = (double)q->dims.d[bsm_rank(q) - 1];
  double scale = width > 0 ? 1 / sqrt(width) : 1;
  if (bsm_args_count(args) > form->scale) {
    scale = bsm_arg_unwrap_to_double_or(args, form->scale, scale);
  }
  bsm_itensor *scores = bsm_emit_matmul(ctx, q, false, k, true);
  scores = bsm_emit_binary(ctx, scores, bsm_emit_scalar(ctx, q->dtype, scale),
                           BSM_ELEMENT_WISE_PROD);
  scores = hidden_scores(ctx, scores, &mask, q->dtype);
  BSM_TRY(other_outputs(ctx, node, &mask, scores));
  bsm_itensor *weights =
      bsm_emit_softmax(ctx, scores, bsm_rank(scores) - 1, false);
  if (mask.may_hide_rows && weights) {
    weights = clear_hidden_rows(ctx, scores, weights);
  }
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_matmul(ctx, weights, false, v, false));
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor "
     "value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, "
     "*, float? scale=None, bool enable_gqa=False) -> Tensor",
     convert_attention, PLAIN},
    {"aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor "
     "key, Tensor value, float dropout_p=0., bool is_causal=False, *, Tensor? "
     "attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
     convert_attention, FOR_CPU},
    {"aten::_scaled_dot_product_flash_attention(Tensor query, Tensor key, "
     "Tensor value, float dropout_p=0., bool is_causal=False, bool "
     "return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor "
     "logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt "
     "max_k, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)",
     convert_attention, FLASH},
    {"aten::_scaled_dot_product_efficient_attention(Tensor query, Tensor key, "
     "Tensor value, Tensor? attn_bias, bool compute_log_sumexp, float "
     "dropout_p=0., bool is_causal=False, *, float? scale=None) -> (Tensor "
     "output, Tensor log_sumexp, Tensor philox_seed, Tensor philox_offset)",
     convert_attention, EFFICIENT},
    {"aten::_scaled_dot_product_cudnn_attention(Tensor query, Tensor key, "
     "Tensor value, Tensor? attn_bias, bool compute_log_sumexp, float "
     "dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, "
     "float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor "
     "cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor "
     "philox_seed, Tensor philox_offset, Tensor debug_attn_mask)",
     convert_attention, CUDNN},
    {"aten::_scaled_dot_product_fused_attention_overrideable(Tensor query, "
     "Tensor key, Tensor value, Tensor? attn_bias=None, float dropout_p=0., "
     "bool is_causal=False, bool return_debug_mask=False, *, float? "
     "scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, "
     "Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor philox_seed, Tensor "
     "philox_offset, Tensor debug_attn_mask)",
     convert_attention, OVERRIDEABLE},
};
BSM_CONVERTER_TABLE(attention, patterns);
