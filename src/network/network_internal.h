/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the network layer share. */
#ifndef BSM_NETWORK_NETWORK_INTERNAL_H_
#define BSM_NETWORK_NETWORK_INTERNAL_H_

#include "network/layer.h"

/* Keeps the first failure for bsm_network_take_error; frees later ones. */
void bsm_network_fail(bsm_network *net, bsm_status status);

/* Infers the shapes of a layer whose parameters are new or changed, and, when
 * its outputs change, of the layers after it. A layer whose parameters do not
 * fit becomes stale; this is not a failure. */
void bsm_layer_refresh(bsm_layer *layer);

/* The name for messages: the layer's own, or its kind and number. */
const char *bsm_layer_label(const bsm_layer *layer, char *buffer, size_t size);
#define BSM_LAYER_LABEL_SIZE 160

/* Shape rules of the kinds with a sliding window. */
bsm_status bsm_infer_convolution(bsm_layer *layer);
bsm_status bsm_infer_deconvolution(bsm_layer *layer);
bsm_status bsm_infer_pooling(bsm_layer *layer);
/* Shape rules of the kinds that move elements. */
bsm_status bsm_infer_shuffle(bsm_layer *layer);
bsm_status bsm_infer_slice(bsm_layer *layer);
bsm_status bsm_infer_gather(bsm_layer *layer);
bsm_status bsm_infer_scatter(bsm_layer *layer);
bsm_status bsm_infer_concatenation(bsm_layer *layer);
bsm_status bsm_infer_expand(bsm_layer *layer);
bsm_status bsm_infer_resize(bsm_layer *layer);
bsm_status bsm_infer_identity(bsm_layer *layer);
bsm_status bsm_infer_shape(bsm_layer *layer);
bsm_status bsm_infer_constant(bsm_layer *layer);
bsm_status bsm_infer_fill(bsm_layer *layer);
bsm_status bsm_infer_cast(bsm_layer *layer);
bsm_status bsm_infer_aten_call(bsm_layer *layer);
/* Shape rules of the kinds that compute. */
bsm_status bsm_infer_activation(bsm_layer *layer);
bsm_status bsm_infer_scale(bsm_layer *layer);
bsm_status bsm_infer_softmax(bsm_layer *layer);
bsm_status bsm_infer_element_wise(bsm_layer *layer);
bsm_status bsm_infer_unary(bsm_layer *layer);
bsm_status bsm_infer_reduce(bsm_layer *layer);
bsm_status bsm_infer_top_k(bsm_layer *layer);
bsm_status bsm_infer_scan(bsm_layer *layer);
bsm_status bsm_infer_non_zero(bsm_layer *layer);
bsm_status bsm_infer_nms(bsm_layer *layer);
bsm_status bsm_infer_regions(bsm_layer *layer);
bsm_status bsm_infer_sample(bsm_layer *layer);
bsm_status bsm_infer_matrix_multiply(bsm_layer *layer);
bsm_status bsm_infer_parametric_relu(bsm_layer *layer);
bsm_status bsm_infer_select(bsm_layer *layer);
bsm_status bsm_infer_normalization(bsm_layer *layer);
bsm_status bsm_infer_fused_element_wise(bsm_layer *layer);
bsm_status bsm_infer_recurrent(bsm_layer *layer);
bsm_status bsm_infer_attention(bsm_layer *layer);
bsm_status bsm_infer_quantize(bsm_layer *layer);
bsm_status bsm_infer_dequantize(bsm_layer *layer);
BSM_NODISCARD bsm_status bsm_infer_int8_convolution(bsm_layer *layer);
/* The shape rule that asks a plug-in. */
bsm_status bsm_infer_plugin(bsm_layer *layer);

/* Sets the dtype and dims of output `index`; fails when the number of elements
 * overflows or a size is negative. */
bsm_status bsm_layer_set_output(bsm_layer *layer, size_t index, bsm_dtype dtype,
                                bsm_dims dims);
/* NumPy's broadcast of two shapes; `what` names the layer's inputs. */
bsm_status bsm_broadcast_dims(bsm_dims a, bsm_dims b, bsm_dims *out);
/* Whether `from` broadcasts to `to` without changing it. */
bool bsm_dims_broadcast_to(bsm_dims from, bsm_dims to);
/* Same rank and sizes. */
bool bsm_same_dims(bsm_dims a, bsm_dims b);
/* The product of the sizes; false on overflow or a negative size. */
bool bsm_count_elements(bsm_dims dims, int64_t *out);
/* `dims` filled with `value`. */
bsm_dims bsm_dims_fill(int32_t rank, int64_t value);
/* Floating dtypes a network computes with. */
bool bsm_network_is_floating(bsm_dtype dtype);
/* Dtypes that a network tensor may have: all known ones. */
bool bsm_network_dtype_ok(bsm_dtype dtype);
/* Dtypes that layers compute with. Tensors of other dtypes (complex, quantized)
 * pass only through layers that move elements, and through calls; those of
 * float8_e4m3fn through layers that quantize, too. */
bool bsm_network_computes(bsm_dtype dtype);

/* Names of enum values, for the printer and messages; "?" when unknown. */
const char *bsm_activation_name(bsm_activation_type type);
const char *bsm_unary_name(bsm_unary_operation operation);
const char *bsm_element_wise_name(bsm_element_wise_operation operation);
const char *bsm_reduce_name(bsm_reduce_operation operation);
const char *bsm_scan_name(bsm_scan_operation operation);
const char *bsm_sample_padding_name(bsm_sample_padding padding);
const char *bsm_resize_name(bsm_resize_mode mode);
const char *bsm_padding_mode_name(bsm_padding_mode mode);
const char *bsm_recurrent_name(bsm_recurrent_operation operation);
const char *bsm_gather_name(bsm_gather_mode mode);
const char *bsm_scatter_name(bsm_scatter_reduction reduction);

#endif /* BSM_NETWORK_NETWORK_INTERNAL_H_ */
