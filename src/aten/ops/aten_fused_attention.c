/* SPDX-License-Identifier: Apache-2.0 */
/* The fused forms of scaled_dot_product_attention, which PyTorch takes on its
 * devices. They differ in the order of their arguments and in what they give
 * beside the result: the log of the sums of each row's exponentials, and what
 * only a backward pass reads, which is None or zero here. */
#include "aten/packed/aten_fused_attention.h"
#include "aten/op_compose.h"

/* Where the arguments after query, key and value are; 0: there is none. */
typedef struct attention_form {
  size_t mask, dropout, causal, scale;
  size_t results;
} attention_form;

enum { FOR_CPU, FLASH, EFFICIENT, CUDNN, OVERRIDEABLE };
static const attention_form forms[] = {
    [FOR_CPU] = {5, 3, 4, 6, 2},      [FLASH] = {0, 3, 4, 6, 9},
    [EFFICIENT] = {3, 5, 6, 7, 4},    [CUDNN] = {3, 5, 6, 8, 9},
    [OVERRIDEABLE] = {3, 4, 5, 7, 9},
};

/* Hides what a query may not attend to. */
static bsm_status hide(bsm_op_ctx *cx, bsm_tensor *scores, bsm_tensor *mask,
                       bool causal, bsm_tensor **out) {
  const int32_t rank = scores->sizes.rank;
  *out = scores;
  if (causal) {
    bsm_tensor *hidden;
    BSM_TRY(bsm_op_new(
        cx, BSM_DTYPE_BOOL,
        op_dims2(scores->sizes.d[rank - 2], scores->sizes.d[rank - 1]),
        &hidden));
    OP_CALL1(cx, &hidden, "aten::logical_not", T(hidden));
    OP_CALL1(cx, &hidden, "aten::triu", T(hidden), I(1));
    OP_CALL1(cx, out, "aten::masked_fill.Scalar", T(scores), T(hidden),
             D(-INFINITY));
  } else if (mask && mask->dtype == BSM_DTYPE_BOOL) {
    OP_CALL1(cx, &mask, "aten::logical_not", T(mask));
    OP_CALL1(cx, out, "aten::masked_fill.Scalar", T(scores), T(mask),
             D(-INFINITY));
  } else if (mask) {
    BSM_TRY(bsm_op_cast(cx, mask, scores->dtype, &mask));
    BSM_TRY(bsm_op_add(cx, scores, mask, 1.0, out));
  }
  return BSM_OK;
}

static bsm_status log_sums(bsm_op_ctx *cx, bsm_tensor *q, bsm_tensor *k,
                           bsm_tensor *mask, bool causal, double scale,
                           bsm_tensor **out) {
  const bsm_dtype dtype =
      q->dtype == BSM_DTYPE_DOUBLE ? BSM_DTYPE_DOUBLE : BSM_DTYPE_FLOAT;
  bsm_tensor *scores;
  bsm_ivalue last;
  BSM_TRY(bsm_op_cast(cx, q, dtype, &q));
  BSM_TRY(bsm_op_cast(cx, k, dtype, &k));
  BSM_TRY(bsm_op_transpose(cx, k, 2, 3, &k));
  BSM_TRY(bsm_op_matmul(cx, q, k, &scores));
  OP_CALL1(cx, &scores, "aten::mul.Scalar", T(scores), D(scale));
  BSM_TRY(hide(cx, scores, mask, causal, &scores));
  BSM_TRY(op_ints(cx, op_dims1(-1), &last));
  OP_CALL1(cx, out, "aten::logsumexp", T(scores), last, B(false));
  return BSM_OK;
}

static bsm_status op_fused_attention(OP_PARAMS) {
  const attention_form *f = &forms[self->variant];
  bsm_tensor *q = op_tensor(&args[0]), *k = op_tensor(&args[1]), *out, *sums;
  const bsm_ivalue mask = f->mask ? args[f->mask] : NONE;
  if (q->sizes.rank != 4 || k->sizes.rank != 4) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "scaled_dot_product_attention_flash_attention: Accept only "
                    "4 dims inputs shape of {B, H, T, K}");
  }
  if (op_double(&args[f->dropout]) != 0.0) {
    return BSM_FAIL(BSM_UNSUPPORTED, "attention with dropout");
  }
  OP_CALL1(cx, &out, "aten::scaled_dot_product_attention", args[0], args[1],
           args[2], mask, D(0.0), args[f->causal], args[f->scale], B(false));
  const double scale = op_none(&args[f->scale])
                           ? 1.0 / sqrt((double)q->sizes.d[3])
                           : op_double(&args[f->scale]);
  BSM_TRY(log_sums(cx, q, k, op_tensor(&mask), op_bool(&args[f->causal]), scale,
                   &sums));
  outs[0] = bsm_iv_tensor(out);
  outs[1] = bsm_iv_tensor(sums);
  for (size_t i = 2; i < f->results; i++) {
    const bool length = f->results == 9 && (i == 4 || i == 5);
    const bsm_tensor *of = i == 4 ? q : k;
    bsm_tensor *unused = NULL;
    if (!length) {
      BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, (bsm_dims){0}, &unused));
    }
    outs[i] = length ? I(of->sizes.d[2]) : T(unused);
  }
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor "
       "key, Tensor value, float dropout_p=0., bool is_causal=False, *, "
       "Tensor? "
       "attn_mask=None, float? scale=None) -> (Tensor output, Tensor "
       "logsumexp)",
       op_fused_attention, FOR_CPU, 0),
    OP("aten::_scaled_dot_product_flash_attention(Tensor query, Tensor key, "
       "Tensor value, float dropout_p=0., bool is_causal=False, bool "
       "return_debug_mask=False, *, float? scale=None) -> (Tensor output, "
       "Tensor "
       "logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt "
       "max_k, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)",
       op_fused_attention, FLASH, 0),
    OP("aten::_scaled_dot_product_efficient_attention(Tensor query, Tensor "
       "key, "
       "Tensor value, Tensor? attn_bias, bool compute_log_sumexp, float "
       "dropout_p=0., bool is_causal=False, *, float? scale=None) -> (Tensor "
       "output, Tensor log_sumexp, Tensor philox_seed, Tensor philox_offset)",
       op_fused_attention, EFFICIENT, 0),
    OP("aten::_scaled_dot_product_cudnn_attention(Tensor query, Tensor key, "
       "Tensor value, Tensor? attn_bias, bool compute_log_sumexp, float "
       "dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, "
       "float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor "
       "cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor "
       "philox_seed, Tensor philox_offset, Tensor debug_attn_mask)",
       op_fused_attention, CUDNN, 0),
    OP("aten::_scaled_dot_product_fused_attention_overrideable(Tensor query, "
       "Tensor key, Tensor value, Tensor? attn_bias=None, float dropout_p=0., "
       "bool is_causal=False, bool return_debug_mask=False, *, float? "
       "scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, "
       "Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor philox_seed, "
       "Tensor "
       "philox_offset, Tensor debug_attn_mask)",
       op_fused_attention, OVERRIDEABLE, 0),
};
BSM_ATEN_TABLE_CALLING(fused_attention, rows, &bsm_aten_ops_attention,
                       &bsm_aten_ops_binary, &bsm_aten_ops_create,
                       &bsm_aten_ops_index, &bsm_aten_ops_reduce,
                       &bsm_aten_ops_unary);
