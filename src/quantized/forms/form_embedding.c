/* SPDX-License-Identifier: Apache-2.0 */
/* Embeddings with packed tables of 8 or 4 bits, dequantized by rows. */
#include "quantized/form_kit.h"

/* A number for each row, as half precision holds it. */
static bsm_status in_half(const bsm_q_call *c, bsm_ivalue *t) {
  Q_CALL(c, t, "aten::to.dtype", *t, I(BSM_DTYPE_HALF), B(false), B(false),
         NONE);
  Q_CALL(c, t, "aten::to.dtype", *t, I(BSM_DTYPE_FLOAT), B(false), B(false),
         NONE);
  Q_CALL(c, t, "aten::unsqueeze", *t, I(1));
  return BSM_OK;
}

/* Rows of 4 bits have scale and offset in half precision. */
static bsm_status dequantize_rows(const bsm_q_call *c, const bsm_ivalue *table,
                                  bsm_ivalue *out) {
  bsm_ivalue integers, scales, offsets;
  bsm_q_grid grid;
  bool is;
  BSM_TRY(c->b->split(c->b, table, &integers, &grid, &is));
  if (!is || !grid.q.scales) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "an embedding without scales");
  }
  scales = bsm_iv_tensor((bsm_tensor *)(uintptr_t)grid.q.scales);
  offsets = bsm_iv_tensor((bsm_tensor *)(uintptr_t)grid.q.zero_points);
  Q_CALL(c, &offsets, "aten::mul.Tensor", offsets, scales);
  Q_CALL(c, &offsets, "aten::neg", offsets);
  BSM_TRY(in_half(c, &scales));
  BSM_TRY(in_half(c, &offsets));
  Q_CALL(c, out, "aten::to.dtype", integers, I(BSM_DTYPE_FLOAT), B(false),
         B(false), NONE);
  Q_CALL(c, out, "aten::mul.Tensor", *out, scales);
  Q_CALL(c, out, "aten::add.Tensor", *out, offsets, I(1));
  return BSM_OK;
}

/* The table in floats; `bits` that the op is for. */
static bsm_status table(const bsm_q_call *c, const bsm_ivalue *packed,
                        bsm_ivalue *out) {
  const bsm_ivalue *slots;
  BSM_TRY(bsm_packed_read(packed, BSM_PACKED_EMBEDDING, &slots));
  const int64_t bits = slots[BSM_PACKED_BITS].u.i;
  if (bits != c->form->variant) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "an embedding of %d bits with a table of %lld",
                    (int)c->form->variant, (long long)bits);
  }
  BSM_TRY(c->b->slot(c->b, &slots[BSM_PACKED_WEIGHT], out));
  return bits == 4 ? dequantize_rows(c, out, out) : bsm_q_float(c, out, out);
}

static bsm_status look_up(const bsm_q_call *c, const bsm_ivalue *weight,
                          bsm_ivalue *out) {
  Q_CALL(c, out, "aten::embedding", *weight, c->args[1], I(-1), B(false),
         B(false));
  return BSM_OK;
}

static bsm_status refuse_pruned(const bsm_ivalue *pruned) {
  return bsm_q_bool(pruned)
             ? BSM_FAIL(BSM_UNSUPPORTED, "an embedding with pruned rows")
             : BSM_OK;
}

/* (packed, indices, pruned_weights) */
static bsm_status run_embedding(const bsm_q_call *c) {
  bsm_ivalue weight;
  BSM_TRY(refuse_pruned(&c->args[2]));
  BSM_TRY(table(c, &c->args[0], &weight));
  return look_up(c, &weight, &c->outs[0]);
}

/* A matrix of indices has a bag in each row. */
static bsm_status sum_rows(const bsm_q_call *c, const bsm_ivalue *weight) {
  const int64_t dim = 1;
  bsm_ivalue y, factors, dims;
  BSM_TRY(look_up(c, weight, &y));
  if (c->args[6].tag != BSM_IVALUE_NONE) {
    Q_CALL(c, &factors, "aten::unsqueeze", c->args[6], I(-1));
    Q_CALL(c, &y, "aten::mul.Tensor", y, factors);
  }
  BSM_TRY(bsm_iv_int_list(c->b->arena, &dim, 1, &dims));
  Q_CALL(c, &c->outs[0], "aten::sum.dim_IntList", y, dims, B(false), NONE);
  return BSM_OK;
}

/* (packed, indices, offsets, scale_grad_by_freq, mode, pruned_weights,
 * per_sample_weights, compressed_indices_mapping, include_last_offset): sums,
 * whatever the mode, as PyTorch's. */
static bsm_status run_bag(const bsm_q_call *c) {
  const bsm_ivalue *a = c->args;
  bsm_ivalue weight, results[4];
  BSM_TRY(refuse_pruned(&a[5]));
  BSM_TRY(table(c, &a[0], &weight));
  if (a[7].tag != BSM_IVALUE_NONE) {
    return BSM_FAIL(BSM_UNSUPPORTED, "an embedding with compressed indices");
  }
  if (a[2].tag == BSM_IVALUE_NONE) return sum_rows(c, &weight);
  const bsm_ivalue args[] = {weight, a[1],     a[2], B(false),
                             I(0),   B(false), a[6], a[8]};
  BSM_TRY(c->b->call(c->b, "aten::embedding_bag", args, 8, results, 4));
  c->outs[0] = results[0];
  return BSM_OK;
}

static bsm_status run_prepack(const bsm_q_call *c) {
  bsm_ivalue weight;
  BSM_TRY(c->b->slot(c->b, &c->args[0], &weight));
  return bsm_packed_embedding_new(c->b->arena, &weight, 8, &c->outs[0]);
}

static bsm_status run_unpack(const bsm_q_call *c) {
  const bsm_ivalue *slots;
  BSM_TRY(bsm_packed_read(&c->args[0], BSM_PACKED_EMBEDDING, &slots));
  return c->b->slot(c->b, &slots[BSM_PACKED_WEIGHT], &c->outs[0]);
}

#define P "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase "
#define OP(name, rest, run, variant) \
  { "quantized::" name rest, run, variant, BSM_Q_OP }
#define TABLE \
  "(" P "weight, Tensor indices, bool pruned_weights=False) -> Tensor"
#define BAG                                                                 \
  "(" P                                                                     \
  "weight, Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq="  \
  "False, int mode=0, bool pruned_weights=False, Tensor? "                  \
  "per_sample_weights=None, Tensor? compressed_indices_mapping=None, bool " \
  "include_last_offset=False) -> Tensor"

static const bsm_q_form forms[] = {
    OP("embedding_byte", TABLE, run_embedding, 8),
    OP("embedding_4bit", TABLE, run_embedding, 4),
    OP("embedding_bag_byte", BAG, run_bag, 8),
    OP("embedding_bag_4bit", BAG, run_bag, 4),
    OP("embedding_bag_prepack", "(Tensor weight) -> " P "W_prepack",
       run_prepack, 0),
    OP("embedding_bag_unpack", "(" P "W_prepack) -> Tensor W_origin",
       run_unpack, 0),
};
BSM_Q_TABLE(embedding, forms);
