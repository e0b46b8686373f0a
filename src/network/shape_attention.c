/* SPDX-License-Identifier: Apache-2.0 */
/* The shape rule of attention layers. */
#include "network/network_internal.h"

static bsm_dims leading(bsm_dims dims) {
  dims.rank -= 2;
  return dims;
}

/* The dims that the masks broadcast to. */
static bsm_status scores_dims(const bsm_layer *layer, bsm_dims batch,
                              bsm_dims *out) {
  const bsm_itensor *q = layer->inputs.items[0], *k = layer->inputs.items[1];
  const int64_t split = layer->p.attention.split;
  *out = batch;
  if (split != 0) {
    if (split < 0 || batch.rank < 1 || batch.rank + 3 > BSM_MAX_RANK ||
        batch.d[0] % split != 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "attention: %s split by %lld",
                      bsm_dims_str(batch), (long long)split);
    }
    for (int32_t i = batch.rank; i > 0; i--) out->d[i] = batch.d[i - 1];
    out->d[0] = batch.d[0] / split;
    out->d[1] = split;
    out->rank++;
  }
  out->d[out->rank++] = q->dims.d[q->dims.rank - 2];
  out->d[out->rank++] = k->dims.d[k->dims.rank - 2];
  return BSM_OK;
}

static bsm_status check_masks(const bsm_layer *layer, bsm_dims scores) {
  const size_t biases = (size_t)layer->p.attention.biases;
  for (size_t i = 3; i < layer->inputs.len; i++) {
    const bsm_itensor *t = layer->inputs.items[i];
    const bsm_dtype dtype =
        i < 3 + biases ? layer->inputs.items[0]->dtype : BSM_DTYPE_BOOL;
    if (t->dtype != dtype || !bsm_dims_broadcast_to(t->dims, scores)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "attention: a mask %s%s for scores %s",
                      bsm_dtype_name(t->dtype), bsm_dims_str(t->dims),
                      bsm_dims_str(scores));
    }
  }
  return BSM_OK;
}

bsm_status bsm_infer_attention(bsm_layer *layer) {
  const bsm_itensor *q = layer->inputs.items[0], *k = layer->inputs.items[1],
                    *v = layer->inputs.items[2];
  const int32_t biases = layer->p.attention.biases;
  for (size_t i = 0; i < 3; i++) {
    const bsm_itensor *t = layer->inputs.items[i];
    if (!bsm_network_is_floating(t->dtype) || t->dtype != q->dtype ||
        t->dims.rank < 2) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "attention of %s%s and %s%s",
                      bsm_dtype_name(q->dtype), bsm_dims_str(q->dims),
                      bsm_dtype_name(t->dtype), bsm_dims_str(t->dims));
    }
  }
  if (biases < 0 ||
      layer->inputs.len != 3 + (size_t)biases + layer->p.attention.has_mask) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "attention of %zu inputs",
                    layer->inputs.len);
  }
  const bsm_dims qd = q->dims, kd = k->dims, vd = v->dims;
  bsm_dims batch, out, scores;
  if (qd.d[qd.rank - 1] != kd.d[kd.rank - 1] ||
      kd.d[kd.rank - 2] != vd.d[vd.rank - 2]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "attention of %s, %s and %s",
                    bsm_dims_str(qd), bsm_dims_str(kd), bsm_dims_str(vd));
  }
  BSM_TRY(bsm_broadcast_dims(leading(qd), leading(kd), &batch));
  BSM_TRY(bsm_broadcast_dims(batch, leading(vd), &out));
  if (!bsm_same_dims(batch, out)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "attention of %s, %s and %s",
                    bsm_dims_str(qd), bsm_dims_str(kd), bsm_dims_str(vd));
  }
  BSM_TRY(scores_dims(layer, batch, &scores));
  BSM_TRY(check_masks(layer, scores));
  out.d[out.rank++] = qd.d[qd.rank - 2];
  out.d[out.rank++] = vd.d[vd.rank - 1];
  return bsm_layer_set_output(layer, 0, q->dtype, out);
}
