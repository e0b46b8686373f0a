/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPU computes layers of half, bfloat16 and float in, and which of it
 * is faster there. */
#include "backend/cpu/cpu_half.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/cpu_phases.h"
#include "backend/cpu/target/cpu_target.h"
#include "base/checked.h"
#include "base/isa.h"

bool bsm_cpu_is_product(const bsm_layer *layer) {
  return layer->kind == BSM_LAYER_CONVOLUTION ||
         layer->kind == BSM_LAYER_DECONVOLUTION ||
         layer->kind == BSM_LAYER_MATRIX_MULTIPLY;
}

/* Groups of fewer maps would fill panels with zeros. */
#define LEAST_GROUP 16

/* Whether a convolution in groups has its driver of half and bfloat16. */
static bool is_half_depthwise(const bsm_layer *layer) {
  const bsm_convolution_params *p = &layer->p.convolution;
  const bsm_dims d = layer->inputs.items[0]->dims;
  const bsm_step_convolution step = {.window = {.spatial = d.rank - 2},
                                     .groups = p->groups,
                                     .out_maps = p->out_maps};
  return bsm_cpu_is_half_depthwise(&step, d.d[1]);
}

/* Whether a product of half or bfloat16 has a kernel that reads these, and sums
 * in float: by one constant matrix, or a kernel of maps that are not few, or
 * depthwise; transposed where all phases can be packed. */
static bool multiplies_half(const bsm_layer *layer) {
  if (layer->kind == BSM_LAYER_MATRIX_MULTIPLY) {
    const bsm_itensor *b = layer->inputs.items[1];
    int64_t matrices = 1;
    for (int32_t i = 0; i < b->dims.rank - 2; i++) matrices *= b->dims.d[i];
    return b->producer && b->producer->kind == BSM_LAYER_CONSTANT &&
           b->dims.rank >= 2 && matrices == 1;
  }
  const bsm_convolution_params *p = &layer->p.convolution;
  if (layer->kind == BSM_LAYER_DECONVOLUTION &&
      !bsm_cpu_packing_phases_pays(p->window.kernel, p->window.stride,
                                   p->window.spatial)) {
    return false;
  }
  return (layer->kind == BSM_LAYER_CONVOLUTION ||
          layer->kind == BSM_LAYER_DECONVOLUTION) &&
         (p->groups == 1 || p->out_maps / p->groups >= LEAST_GROUP ||
          is_half_depthwise(layer));
}

/* Half and bfloat16 are summed in float, as PyTorch does; small integers in
 * int32, which wraps to the same bits. */
bsm_dtype bsm_cpu_compute_dtype(const bsm_target *target,
                                const bsm_layer *layer, bsm_dtype dtype) {
  (void)target;
  switch (dtype) {
    case BSM_DTYPE_HALF:
    case BSM_DTYPE_BFLOAT16:
      return multiplies_half(layer) ? dtype : BSM_DTYPE_FLOAT;
    case BSM_DTYPE_UINT8:
    case BSM_DTYPE_INT8:
    case BSM_DTYPE_INT16:
      return BSM_DTYPE_INT32;
    default:
      return dtype;
  }
}

/* Layers that look at the values of floats and make new ones. */
static bool computes(const bsm_layer *layer) {
  switch (layer->kind) {
    case BSM_LAYER_CONCATENATION:
    case BSM_LAYER_SHUFFLE:
    case BSM_LAYER_GATHER:
    case BSM_LAYER_CONSTANT:
    case BSM_LAYER_IDENTITY:
    case BSM_LAYER_SLICE:
    case BSM_LAYER_SHAPE:
    case BSM_LAYER_EXPAND:
    case BSM_LAYER_FILL:
    case BSM_LAYER_CAST:
    case BSM_LAYER_SELECT:
    case BSM_LAYER_ATEN_CALL:
    case BSM_LAYER_PLUGIN:
      return false;
    default:
      return true;
  }
}

#define MAX_SEARCH 8

/* Whether a layer is part of attention, or what comes before its softmax: a
 * product of two tensors, and layers behind one. That is fused in float. */
static bool is_attention(const bsm_layer *layer, int depth) {
  switch (layer->kind) {
    case BSM_LAYER_MATRIX_MULTIPLY:
      return !multiplies_half(layer);
    case BSM_LAYER_ACTIVATION:
    case BSM_LAYER_ELEMENT_WISE:
    case BSM_LAYER_UNARY:
    case BSM_LAYER_SCALE:
    case BSM_LAYER_SHUFFLE:
    case BSM_LAYER_SOFTMAX:
      break;
    default:
      return layer->kind == BSM_LAYER_ATTENTION;
  }
  for (size_t i = 0; depth < MAX_SEARCH && i < layer->inputs.len; i++) {
    const bsm_layer *from = layer->inputs.items[i]->producer;
    if (from && is_attention(from, depth + 1)) return true;
  }
  return false;
}

/* Fewer channels are resized one by one. */
#define LEAST_CHANNELS 4

/* Whether a layer of float may read and write half or bfloat16: not where
 * these would be cast before and after. */
static bool takes_half(const bsm_layer *layer) {
  if (layer->kind == BSM_LAYER_RECURRENT || layer->kind == BSM_LAYER_SAMPLE) {
    return false;
  }
  if (layer->kind == BSM_LAYER_RESIZE) {
    const bsm_dims d = layer->inputs.items[0]->dims;
    return d.rank > 2 && d.d[1] >= LEAST_CHANNELS;
  }
  return bsm_cpu_is_product(layer) ? multiplies_half(layer)
                                   : !is_attention(layer, 0);
}

/* Float, half and bfloat16 are computed in float; the latter two are read and
 * written in 16 bits. */
uint32_t bsm_cpu_precisions(const bsm_target *target, const bsm_layer *layer) {
  (void)target;
  if (!computes(layer)) return BSM_PRECISION_NONE;
  bool narrow = false;
  for (size_t i = 0; i < layer->inputs.len; i++) {
    const bsm_dtype dtype = layer->inputs.items[i]->dtype;
    if (dtype == BSM_DTYPE_DOUBLE) return BSM_PRECISION_NONE;
    narrow |= bsm_dtype_is_floating(dtype);
  }
  if (!narrow) return BSM_PRECISION_NONE;
  return BSM_PRECISION_FP32 |
         (takes_half(layer) ? BSM_PRECISION_FP16 | BSM_PRECISION_BF16 : 0);
}

/* More rows take longer to multiply than a constant takes to be read. */
#define FEW_ROWS 4

/* Whether a product does little but read its constant from memory. */
static bool reads_constant(const bsm_cpu_target *cpu, const bsm_layer *layer) {
  if (layer->kind != BSM_LAYER_MATRIX_MULTIPLY || !multiplies_half(layer)) {
    return false;
  }
  const bsm_dims a = layer->inputs.items[0]->dims;
  const bsm_dims b = layer->inputs.items[1]->dims;
  const double size =
      (double)b.d[b.rank - 2] * (double)b.d[b.rank - 1] * sizeof(float);
  int64_t rows = 1;
  for (int32_t i = 0; i < a.rank - 1; i++) {
    if (!bsm_i64_mul(rows, a.d[i], &rows)) return false;
  }
  return rows <= FEW_ROWS && size > (double)cpu->l2;
}

/* Tiles are several times as fast in bfloat16. AVX-512's instruction for pairs
 * is no faster than float's on some CPUs; what it gains on all are the bytes of
 * constants. All else is widened for float's kernels, which have faster ways
 * for windows. */
bool bsm_cpu_gains(const bsm_target *target, const bsm_layer *layer,
                   bsm_precision precision) {
  const bsm_cpu_target *cpu = bsm_cpu_target_of(target);
  if (precision != BSM_PRECISION_BF16) return precision != BSM_PRECISION_FP16;
  if (cpu->isa & BSM_ISA_AMX) return true;
  return cpu->isa & BSM_ISA_AVX512_BF16 && reads_constant(cpu, layer);
}

/* Networks with products of bfloat16 keep it for tiles; nothing else is faster
 * in 16 bits than in float. */
bsm_dtype bsm_cpu_wide_dtype(const bsm_target *target, bsm_dtype dtype,
                             bool multiplies) {
  const bool has_products =
      bsm_cpu_target_of(target)->isa & BSM_ISA_AMX && multiplies;
  return dtype == BSM_DTYPE_BFLOAT16 && has_products ? dtype : BSM_DTYPE_FLOAT;
}
