/* SPDX-License-Identifier: Apache-2.0 */
/* Network definition: layers and tensors, with TensorRT's names and semantics.
 *
 * A network is what converters build and the builder optimises. Layers and
 * tensors belong to the network and live as long as it. An adder returns NULL
 * when it fails and keeps the reason (bsm_network_take_error); a setter that
 * makes a layer invalid is reported by the next function that computes shapes.
 * Shapes are computed when a layer is added and again when a parameter
 * changes, so bsm_itensor_dims is always current.
 *
 * Threads: one thread uses a network at a time. */
#ifndef BESSEMER_NETWORK_H_
#define BESSEMER_NETWORK_H_

#include "bessemer/plugin.h"
#include "bessemer/status.h"
#include "bessemer/types.h"

BSM_EXTERN_C_BEGIN

typedef struct bsm_network bsm_network;
typedef struct bsm_layer bsm_layer;
typedef struct bsm_itensor bsm_itensor;

/* Constant data of a layer: `count` elements in row-major order. The memory is
 * borrowed and must outlive the network (conversion: bsm_weights_* keep it). */
typedef struct bsm_weights {
  bsm_dtype dtype;
  const void *values; /* NULL when empty */
  int64_t count;
  bsm_dims shape;          /* of the tensor it came from */
  int64_t num_input_maps;  /* shape[1] for a convolution kernel, else 1 */
  int64_t num_output_maps; /* shape[0] */
  bsm_dims kernel_shape;   /* shape[2..] */
} bsm_weights;

/* The kinds, in one list: X(ENUM, number, "text"). */
#define BSM_LAYER_KINDS(X)                        \
  X(CONVOLUTION, 0, "convolution")                \
  X(DECONVOLUTION, 1, "deconvolution")            \
  X(ACTIVATION, 2, "activation")                  \
  X(POOLING, 3, "pooling")                        \
  X(SCALE, 4, "scale")                            \
  X(SOFTMAX, 5, "softmax")                        \
  X(CONCATENATION, 6, "concatenation")            \
  X(ELEMENT_WISE, 7, "element_wise")              \
  X(UNARY, 8, "unary")                            \
  X(SHUFFLE, 9, "shuffle")                        \
  X(REDUCE, 10, "reduce")                         \
  X(TOP_K, 11, "top_k")                           \
  X(GATHER, 12, "gather")                         \
  X(MATRIX_MULTIPLY, 13, "matrix_multiply")       \
  X(CONSTANT, 14, "constant")                     \
  X(IDENTITY, 15, "identity")                     \
  X(SLICE, 16, "slice")                           \
  X(SHAPE, 17, "shape")                           \
  X(PARAMETRIC_RELU, 18, "parametric_relu")       \
  X(RESIZE, 19, "resize")                         \
  X(SELECT, 20, "select")                         \
  X(FILL, 21, "fill")                             \
  X(CAST, 22, "cast")                             \
  X(NORMALIZATION, 23, "normalization")           \
  X(EXPAND, 24, "expand")                         \
  X(FUSED_ELEMENT_WISE, 25, "fused_element_wise") \
  X(ATEN_CALL, 27, "aten_call")                   \
  X(RECURRENT, 26, "recurrent")                   \
  X(SCATTER, 28, "scatter")                       \
  X(PLUGIN, 29, "plugin")                         \
  X(ATTENTION, 30, "attention")                   \
  X(QUANTIZE, 31, "quantize")                     \
  X(DEQUANTIZE, 32, "dequantize")                 \
  X(SCAN, 33, "scan")                             \
  X(INT8_CONVOLUTION, 34, "int8_convolution")     \
  X(NON_ZERO, 35, "non_zero")                     \
  X(NMS, 36, "nms")                               \
  X(REGIONS, 37, "regions")                       \
  X(SAMPLE, 38, "sample")

typedef enum bsm_layer_kind {
#define X(name, number, text) BSM_LAYER_##name = number,
  BSM_LAYER_KINDS(X)
#undef X
} bsm_layer_kind;

typedef enum bsm_activation_type {
  BSM_ACTIVATION_NONE = 0,
  BSM_ACTIVATION_RELU = 1,
  BSM_ACTIVATION_SIGMOID = 2,
  BSM_ACTIVATION_TANH = 3,
  BSM_ACTIVATION_LEAKY_RELU = 4, /* x >= 0 ? x : alpha * x */
  BSM_ACTIVATION_ELU = 5,        /* x > 0 ? x : alpha * (exp(x) - 1) */
  BSM_ACTIVATION_SELU = 6,       /* x > 0 ? beta*x : beta*(alpha*e^x - alpha) */
  BSM_ACTIVATION_SOFTSIGN = 7,   /* x / (1 + |x|) */
  BSM_ACTIVATION_SOFTPLUS =
      8, /* log(1 + exp(beta*x)) / beta; x when beta*x > alpha (PyTorch) */
  BSM_ACTIVATION_CLIP = 9,              /* min(max(x, alpha), beta) */
  BSM_ACTIVATION_HARD_SIGMOID = 10,     /* clamp(alpha*x + beta, 0, 1) */
  BSM_ACTIVATION_THRESHOLDED_RELU = 11, /* x > alpha ? x : 0 */
  BSM_ACTIVATION_GELU_ERF = 12,
  BSM_ACTIVATION_GELU_TANH = 13,
  BSM_ACTIVATION_SILU = 14,       /* x * sigmoid(x) */
  BSM_ACTIVATION_HARD_SWISH = 15, /* x * clamp(x + 3, 0, 6) / 6 */
  BSM_ACTIVATION_MISH = 16,
  BSM_ACTIVATION_LOG_SIGMOID = 17,
  BSM_ACTIVATION_THRESHOLD = 18 /* x > alpha ? x : beta */
} bsm_activation_type;

typedef enum bsm_unary_operation {
  BSM_UNARY_EXP = 0,
  BSM_UNARY_LOG,
  BSM_UNARY_SQRT,
  BSM_UNARY_RECIP,
  BSM_UNARY_ABS,
  BSM_UNARY_NEG,
  BSM_UNARY_SIN,
  BSM_UNARY_COS,
  BSM_UNARY_TAN,
  BSM_UNARY_SINH,
  BSM_UNARY_COSH,
  BSM_UNARY_ASIN,
  BSM_UNARY_ACOS,
  BSM_UNARY_ATAN,
  BSM_UNARY_ASINH,
  BSM_UNARY_ACOSH,
  BSM_UNARY_ATANH,
  BSM_UNARY_CEIL,
  BSM_UNARY_FLOOR,
  BSM_UNARY_ERF,
  BSM_UNARY_NOT,
  BSM_UNARY_SIGN,
  BSM_UNARY_ROUND,
  BSM_UNARY_ISINF,
  BSM_UNARY_ISNAN,
  BSM_UNARY_TRUNC,
  BSM_UNARY_RSQRT,
  BSM_UNARY_LOG2,
  BSM_UNARY_LOG10,
  BSM_UNARY_LOG1P,
  BSM_UNARY_EXPM1,
  BSM_UNARY_ERFC,
  BSM_UNARY_BITWISE_NOT,
  BSM_UNARY_SQUARE,
  BSM_UNARY_FRAC,
  BSM_UNARY_EXP2
} bsm_unary_operation;

typedef enum bsm_element_wise_operation {
  BSM_ELEMENT_WISE_SUM = 0,
  BSM_ELEMENT_WISE_PROD,
  BSM_ELEMENT_WISE_MAX,
  BSM_ELEMENT_WISE_MIN,
  BSM_ELEMENT_WISE_SUB,
  BSM_ELEMENT_WISE_DIV,
  BSM_ELEMENT_WISE_POW,
  BSM_ELEMENT_WISE_FLOOR_DIV,
  BSM_ELEMENT_WISE_AND,
  BSM_ELEMENT_WISE_OR,
  BSM_ELEMENT_WISE_XOR,
  BSM_ELEMENT_WISE_EQUAL,
  BSM_ELEMENT_WISE_GREATER,
  BSM_ELEMENT_WISE_LESS,
  BSM_ELEMENT_WISE_NOT_EQUAL,
  BSM_ELEMENT_WISE_GREATER_EQUAL,
  BSM_ELEMENT_WISE_LESS_EQUAL,
  BSM_ELEMENT_WISE_TRUNC_DIV,
  BSM_ELEMENT_WISE_REMAINDER, /* Python's sign */
  BSM_ELEMENT_WISE_FMOD,
  BSM_ELEMENT_WISE_ATAN2,
  BSM_ELEMENT_WISE_BITWISE_AND,
  BSM_ELEMENT_WISE_BITWISE_OR,
  BSM_ELEMENT_WISE_BITWISE_XOR,
  BSM_ELEMENT_WISE_SHIFT_LEFT,
  BSM_ELEMENT_WISE_SHIFT_RIGHT
} bsm_element_wise_operation;

typedef enum bsm_pooling_type {
  BSM_POOLING_MAX = 0,
  BSM_POOLING_AVERAGE = 1
} bsm_pooling_type;

typedef enum bsm_reduce_operation {
  BSM_REDUCE_SUM = 0,
  BSM_REDUCE_PROD,
  BSM_REDUCE_MAX,
  BSM_REDUCE_MIN,
  BSM_REDUCE_AVG,
  BSM_REDUCE_ANY,
  BSM_REDUCE_ALL,
  BSM_REDUCE_L2 /* sqrt of sum of squares */,
  BSM_REDUCE_L1,
  BSM_REDUCE_VARIANCE /* divisor n - correction */
} bsm_reduce_operation;

typedef enum bsm_scan_operation {
  BSM_SCAN_SUM = 0,
  BSM_SCAN_PROD = 1,
  BSM_SCAN_MAX = 2,
  BSM_SCAN_MIN = 3,
  BSM_SCAN_LOG_SUM_EXP = 4
} bsm_scan_operation;

typedef enum bsm_matrix_operation {
  BSM_MATRIX_NONE = 0,
  BSM_MATRIX_TRANSPOSE = 1
} bsm_matrix_operation;

typedef enum bsm_gather_mode {
  BSM_GATHER_DEFAULT = 0, /* numpy.take along axis: out = data[.., idx.., ..] */
  BSM_GATHER_ELEMENT = 1, /* torch.gather: no negative indices */
  BSM_GATHER_ND = 2,
  BSM_GATHER_SELECT = 3 /* the default one, without negative indices */
} bsm_gather_mode;

/* What scatter writes to: single elements, or slices named by index tuples. */
typedef enum bsm_scatter_mode {
  BSM_SCATTER_ELEMENT = 0, /* torch.scatter */
  BSM_SCATTER_ND = 1
} bsm_scatter_mode;

/* How an element is updated. Updates are applied in row-major order of the
 * indices, so the result is always the same. */
typedef enum bsm_scatter_reduction {
  BSM_SCATTER_ASSIGN = 0, /* the last update stays */
  BSM_SCATTER_ADD = 1,    /* of bool: or */
  BSM_SCATTER_MUL = 2,    /* of bool: and */
  BSM_SCATTER_MIN = 3,    /* NaN stays */
  BSM_SCATTER_MAX = 4
} bsm_scatter_reduction;

typedef enum bsm_resize_mode {
  BSM_RESIZE_NEAREST = 0,
  BSM_RESIZE_LINEAR = 1,
  BSM_RESIZE_CUBIC = 2,
  BSM_RESIZE_NEAREST_EXACT = 3
} bsm_resize_mode;

/* What is outside of an image that is sampled. */
typedef enum bsm_sample_padding {
  BSM_SAMPLE_ZEROS = 0,
  BSM_SAMPLE_BORDER = 1,
  BSM_SAMPLE_REFLECTION = 2
} bsm_sample_padding;

typedef enum bsm_padding_mode {
  BSM_PADDING_CONSTANT = 0,
  BSM_PADDING_REFLECT = 1,
  BSM_PADDING_REPLICATE = 2,
  BSM_PADDING_CIRCULAR = 3
} bsm_padding_mode;

/* What NaN is quantized to. */
typedef enum bsm_quantize_nan {
  BSM_QUANTIZE_NAN_CAST = 0,  /* what a cast makes of it: 0 of integers */
  BSM_QUANTIZE_NAN_LEAST = 1, /* the least of the range */
  /* The same, also for values of 2^63 or more, which int64 does not hold. */
  BSM_QUANTIZE_NAN_OR_HUGE_LEAST = 2
} bsm_quantize_nan;

typedef enum bsm_recurrent_operation {
  BSM_RECURRENT_LSTM = 0, /* gates: input, forget, cell, output */
  BSM_RECURRENT_GRU = 1,  /* gates: reset, update, new (PyTorch's form) */
  BSM_RECURRENT_TANH = 2,
  BSM_RECURRENT_RELU = 3
} bsm_recurrent_operation;

/* The weights of one direction of a recurrent layer: G gates (4, 3, 1, 1) over
 * H hidden units. The state has P elements: H, or those of the projection. */
typedef struct bsm_recurrent_weights {
  bsm_weights input;          /* [G H, I] */
  bsm_weights recurrent;      /* [G H, P] */
  bsm_weights input_bias;     /* [G H]; count 0: none */
  bsm_weights recurrent_bias; /* [G H]; count 0: none */
  bsm_weights projection;     /* [P, H], LSTM only; count 0: none */
} bsm_recurrent_weights;

/* ---- adders: NULL on failure ---- */
BSM_API bsm_itensor *bsm_network_add_input(bsm_network *net, const char *name,
                                           bsm_dtype dtype, bsm_dims dims);
/* Marks an output; the order of the calls is the order of the outputs. */
BSM_API BSM_NODISCARD bsm_status bsm_network_mark_output(bsm_network *net,
                                                         bsm_itensor *tensor,
                                                         const char *name);
/* Input [N, C, spatial...] with 1 to 3 spatial dimensions; kernel weights
 * [out, in / groups, spatial...]. `bias` may be NULL or empty. */
BSM_API bsm_layer *bsm_network_add_convolution_nd(
    bsm_network *net, bsm_itensor *input, int64_t out_maps,
    bsm_dims kernel_size, const bsm_weights *kernel, const bsm_weights *bias);
/* Transposed convolution; kernel weights [in, out / groups, spatial...]. */
BSM_API bsm_layer *bsm_network_add_deconvolution_nd(
    bsm_network *net, bsm_itensor *input, int64_t out_maps,
    bsm_dims kernel_size, const bsm_weights *kernel, const bsm_weights *bias);
BSM_API bsm_layer *bsm_network_add_activation(bsm_network *net,
                                              bsm_itensor *input,
                                              bsm_activation_type type);
/* Pools the last `window.rank` dimensions. */
BSM_API bsm_layer *bsm_network_add_pooling_nd(bsm_network *net,
                                              bsm_itensor *input,
                                              bsm_pooling_type type,
                                              bsm_dims window);
/* PyTorch's adaptive pooling to `output_size`, of the last dimensions. */
BSM_API bsm_layer *bsm_network_add_adaptive_pooling_nd(bsm_network *net,
                                                       bsm_itensor *input,
                                                       bsm_pooling_type type,
                                                       bsm_dims output_size);
/* out = (in * scale + shift) ** power per channel of axis 1; each of the
 * weights may be NULL (1, 0, 1), one element, or one for each channel. */
BSM_API bsm_layer *bsm_network_add_scale(bsm_network *net, bsm_itensor *input,
                                         const bsm_weights *shift,
                                         const bsm_weights *scale,
                                         const bsm_weights *power);
/* Softmax over `axis`; log: log-softmax. */
BSM_API bsm_layer *bsm_network_add_softmax(bsm_network *net, bsm_itensor *input,
                                           int32_t axis, bool log);
BSM_API bsm_layer *bsm_network_add_concatenation(bsm_network *net,
                                                 bsm_itensor *const *inputs,
                                                 size_t count, int32_t axis);
/* Same dtypes; dims broadcast as in NumPy, ranks may differ. Comparisons give
 * bool. */
BSM_API bsm_layer *bsm_network_add_element_wise(
    bsm_network *net, bsm_itensor *a, bsm_itensor *b,
    bsm_element_wise_operation operation);
BSM_API bsm_layer *bsm_network_add_unary(bsm_network *net, bsm_itensor *input,
                                         bsm_unary_operation operation);
/* First transpose, reshape, second transpose: each optional. */
BSM_API bsm_layer *bsm_network_add_shuffle(bsm_network *net,
                                           bsm_itensor *input);
/* `axes`: bit i for axis i. */
BSM_API bsm_layer *bsm_network_add_reduce(bsm_network *net, bsm_itensor *input,
                                          bsm_reduce_operation operation,
                                          uint32_t axes, bool keep_dims);
/* What the elements along `axis` up to each one give together. MAX and MIN,
 * where NaN beats everything, have the int64 index of the element as a second
 * output, the last one among equals. */
BSM_API bsm_layer *bsm_network_add_scan(bsm_network *net, bsm_itensor *input,
                                        bsm_scan_operation operation,
                                        int32_t axis);
/* Two outputs: values and int64 indices, along `axis`, sorted. */
BSM_API bsm_layer *bsm_network_add_top_k(bsm_network *net, bsm_itensor *input,
                                         bool largest, int64_t k, int32_t axis);
/* The places of elements that are not zero, counted through all elements in
 * row- major order: int64, as many as there are elements, -1 behind the last.
 */
BSM_API bsm_layer *bsm_network_add_non_zero(bsm_network *net,
                                            bsm_itensor *input);
/* Non-maximum suppression of boxes [n, 4] (x0, y0, x1, y1), the best first:
 * bool[n], whether a box is kept. One is not when the intersection with one
 * before it that is kept, divided by their union, is more than `threshold`. */
BSM_API bsm_layer *bsm_network_add_nms(bsm_network *net, bsm_itensor *boxes,
                                       double threshold);
/* How regions of an image become images of equal size. */
typedef struct bsm_region_pooling {
  int64_t rows, columns; /* bins of each region */
  /* Samples along each axis of a bin; not above 0: as many as it is long. */
  int64_t samples;
  double scale; /* regions are multiplied by it */
  /* A bin is the greatest of whole pixels, grouped: their mean; otherwise the
   * mean of bilinear samples. */
  bool whole;
  /* Bin (i, j) of channel c is of channel (c * rows + i) * columns + j. */
  bool grouped;
  bool aligned;    /* a pixel is around its place; samples alone */
  bsm_dtype dtype; /* that places are rounded to */
} bsm_region_pooling;
/* Inputs: an image [N, C, H, W] and regions [K, 5] of float64: each a number of
 * an image, x0, y0, x1, y1. Outputs: [K, C, rows, columns], with C / (rows *
 * columns) channels when grouped; and of the greatest pixels their places in
 * the plane, int32, -1 where there is none. */
BSM_API bsm_layer *bsm_network_add_regions(bsm_network *net, bsm_itensor *image,
                                           bsm_itensor *regions,
                                           const bsm_region_pooling *pooling);
BSM_API bsm_layer *bsm_network_add_gather(bsm_network *net, bsm_itensor *data,
                                          bsm_itensor *indices,
                                          bsm_gather_mode mode, int32_t axis);
/* A copy of `data` with `updates` written to the elements that `indices` name.
 * ELEMENT: indices and updates have the same dims; update i goes to the element
 * at its own position, except along `axis`, where the index counts. ND: indices
 * [.., k] name the dimensions axis .. axis + k - 1 of the data; updates have
 * the dims data[:axis] + indices[:-1] + data[axis + k:]. An index out of range
 * is an error when the engine runs; so is a negative one, unless it wraps. */
BSM_API bsm_layer *bsm_network_add_scatter(bsm_network *net, bsm_itensor *data,
                                           bsm_itensor *indices,
                                           bsm_itensor *updates,
                                           bsm_scatter_mode mode, int32_t axis);
/* Batched: leading dimensions broadcast; both ranks >= 2. */
BSM_API bsm_layer *bsm_network_add_matrix_multiply(bsm_network *net,
                                                   bsm_itensor *a,
                                                   bsm_matrix_operation op_a,
                                                   bsm_itensor *b,
                                                   bsm_matrix_operation op_b);
BSM_API bsm_layer *bsm_network_add_constant(bsm_network *net, bsm_dims dims,
                                            const bsm_weights *weights);
BSM_API bsm_layer *bsm_network_add_identity(bsm_network *net,
                                            bsm_itensor *input);
/* out[i] = in[start + i * stride]; strides may be negative. With
 * bsm_slice_set_mode the window may leave the input: padding. */
BSM_API bsm_layer *bsm_network_add_slice(bsm_network *net, bsm_itensor *input,
                                         bsm_dims start, bsm_dims size,
                                         bsm_dims stride);
/* The dims of the input as a 1-D int64 tensor. */
BSM_API bsm_layer *bsm_network_add_shape(bsm_network *net, bsm_itensor *input);
BSM_API bsm_layer *bsm_network_add_parametric_relu(bsm_network *net,
                                                   bsm_itensor *input,
                                                   bsm_itensor *slope);
/* Resizes the last `output_size.rank` dimensions. */
BSM_API bsm_layer *bsm_network_add_resize(bsm_network *net, bsm_itensor *input,
                                          bsm_resize_mode mode,
                                          bsm_dims output_size);
/* PyTorch's grid_sample: an image [N, C, spatial...] with 2 or 3 spatial
 * dimensions, at places [N, places..., spatial], as many dimensions of places:
 * each has a coordinate for each spatial dimension, the last one's first. Gives
 * [N, C, places...]. Nearest, linear, or with 2 dimensions cubic; the dtype is
 * float32. */
BSM_API bsm_layer *bsm_network_add_sample(bsm_network *net, bsm_itensor *image,
                                          bsm_itensor *grid,
                                          bsm_resize_mode mode,
                                          bsm_sample_padding padding,
                                          bool align_corners);
BSM_API bsm_layer *bsm_network_add_select(bsm_network *net,
                                          bsm_itensor *condition,
                                          bsm_itensor *then_input,
                                          bsm_itensor *else_input);
/* All elements `value`. */
BSM_API bsm_layer *bsm_network_add_fill(bsm_network *net, bsm_dtype dtype,
                                        bsm_dims dims, double value);
BSM_API bsm_layer *bsm_network_add_cast(bsm_network *net, bsm_itensor *input,
                                        bsm_dtype dtype);
/* (x - mean) / sqrt(var + epsilon) * scale + bias. `axes`: bits of the axes
 * normalised over (layer norm: the last ones; group norm: groups > 1 splits
 * axis 1; instance norm: the spatial ones). `scale` and `bias` may be NULL:
 * tensors that broadcast to the input. */
BSM_API bsm_layer *bsm_network_add_normalization(bsm_network *net,
                                                 bsm_itensor *input,
                                                 bsm_itensor *scale,
                                                 bsm_itensor *bias,
                                                 uint32_t axes);
/* Broadcasts to `dims` (PyTorch's expand, ranks may differ). */
BSM_API bsm_layer *bsm_network_add_expand(bsm_network *net, bsm_itensor *input,
                                          bsm_dims dims);

/* A layer of a plug-in (bessemer/plugin.h), which must outlive the network.
 * `params`: its parameters, copied; at a multiple of 8 bytes. Layers that are
 * operators (with a schema) are added without a converter. */
BSM_API bsm_layer *bsm_network_add_plugin(bsm_network *net,
                                          const bsm_layer_plugin *plugin,
                                          const void *params, size_t size,
                                          bsm_itensor *const *inputs,
                                          size_t count);
/* One level of a recurrent network over the sequence `input` [T, B, I], float,
 * in `directions` (1 or 2, D) directions; the second one runs backwards. The
 * states before it: `hidden` [D, B, P], and for LSTM `cell` [D, B, H], else
 * NULL. Outputs: the states of all steps [T, B, D P], the last ones [D, B, P],
 * and for LSTM the last cells [D, B, H]. */
BSM_API bsm_layer *bsm_network_add_recurrent(
    bsm_network *net, bsm_itensor *input, bsm_itensor *hidden,
    bsm_itensor *cell, bsm_recurrent_operation operation,
    const bsm_recurrent_weights *weights, size_t directions);

/* Quantizes: q = clamp(round(x * (1 / scale)) + zero_point, least, greatest),
 * half to even, in `dtype`: int8, uint8, int16, int32, or the dtype it computes
 * in, which is float64 for float64 inputs and float32 for others. `scale` is
 * floating, its reciprocal of its own dtype. `zero_point` has the dtype it
 * computes in; NULL: 0. Both have one element and `axis` is -1; or they have
 * rank 1, with one element for each index along dimension `axis` of the input.
 * The range is that of an integer dtype, or unbounded, until
 * bsm_quantize_set_range. */
BSM_API bsm_layer *bsm_network_add_quantize(bsm_network *net,
                                            bsm_itensor *input,
                                            bsm_itensor *scale,
                                            bsm_itensor *zero_point,
                                            int32_t axis, bsm_dtype dtype);
/* (q - zero_point) * scale in the floating `dtype`, computed in that of
 * `scale`. `zero_point` has the dtype of `scale`, or is an integer: then the
 * difference is of its dtype. NULL: 0. Elements and `axis` as above. */
BSM_API bsm_layer *bsm_network_add_dequantize(bsm_network *net,
                                              bsm_itensor *input,
                                              bsm_itensor *scale,
                                              bsm_itensor *zero_point,
                                              int32_t axis, bsm_dtype dtype);

/* ---- parameters ---- */
BSM_API void bsm_activation_set_alpha(bsm_layer *layer, double alpha);
BSM_API void bsm_activation_set_beta(bsm_layer *layer, double beta);
/* Convolution, deconvolution and pooling; ranks are the spatial rank. */
BSM_API void bsm_layer_set_stride_nd(bsm_layer *layer, bsm_dims stride);
BSM_API void bsm_layer_set_padding_nd(bsm_layer *layer, bsm_dims padding);
/* Different padding before and after. */
BSM_API void bsm_layer_set_pre_padding(bsm_layer *layer, bsm_dims padding);
BSM_API void bsm_layer_set_post_padding(bsm_layer *layer, bsm_dims padding);
BSM_API void bsm_layer_set_dilation_nd(bsm_layer *layer, bsm_dims dilation);
BSM_API void bsm_layer_set_groups(bsm_layer *layer, int64_t groups);
/* Deconvolution: extra size at the end of each spatial dimension. */
BSM_API void bsm_deconvolution_set_output_padding(bsm_layer *layer,
                                                  bsm_dims padding);
BSM_API void bsm_pooling_set_ceil_mode(bsm_layer *layer, bool ceil_mode);
BSM_API void bsm_pooling_set_average_count_excludes_padding(bsm_layer *layer,
                                                            bool excludes);
/* 0: none. */
BSM_API void bsm_pooling_set_divisor_override(bsm_layer *layer,
                                              int64_t divisor);
BSM_API void bsm_shuffle_set_first_transpose(bsm_layer *layer, bsm_dims perm);
BSM_API void bsm_shuffle_set_second_transpose(bsm_layer *layer, bsm_dims perm);
/* One -1 is inferred; 0 is a size of zero, not TensorRT's placeholder. */
BSM_API void bsm_shuffle_set_reshape_dimensions(bsm_layer *layer,
                                                bsm_dims dims);
/* `include_self`: the old value of an element takes part in the reduction; else
 * the first update replaces it. */
BSM_API void bsm_scatter_set_reduction(bsm_layer *layer,
                                       bsm_scatter_reduction reduction,
                                       bool include_self);
/* Negative indices count from the end. */
BSM_API void bsm_scatter_set_wrap(bsm_layer *layer, bool wrap);
BSM_API void bsm_slice_set_mode(bsm_layer *layer, bsm_padding_mode mode,
                                double fill_value);
BSM_API void bsm_resize_set_align_corners(bsm_layer *layer, bool align);
/* PyTorch's scale factors, used for coordinates when > 0. */
BSM_API void bsm_resize_set_scales(bsm_layer *layer, const double *scales,
                                   size_t count);
BSM_API void bsm_normalization_set_epsilon(bsm_layer *layer, double epsilon);
BSM_API void bsm_normalization_set_groups(bsm_layer *layer, int64_t groups);
BSM_API void bsm_normalization_set_rms(bsm_layer *layer, bool rms);
/* Sequences of different lengths: `lengths` has an int64 for each sample, the
 * number of its steps. The rest of the T steps is padding: its output is 0, and
 * the states skip it (backwards, it comes first). */
BSM_API void bsm_recurrent_set_lengths(bsm_layer *layer,
                                       const bsm_weights *lengths);
BSM_API void bsm_reduce_set_correction(bsm_layer *layer, double correction);
/* Whole numbers that an integer dtype of the layer holds. */
BSM_API void bsm_quantize_set_range(bsm_layer *layer, double least,
                                    double greatest);
/* The zero point, which may have a fraction, is added before rounding. */
BSM_API void bsm_quantize_set_rounds_last(bsm_layer *layer, bool rounds_last);
BSM_API void bsm_quantize_set_nan(bsm_layer *layer, bsm_quantize_nan nan);

BSM_API void bsm_layer_set_name(bsm_layer *layer, const char *name);
BSM_API const char *bsm_layer_name(const bsm_layer *layer);
BSM_API bsm_layer_kind bsm_layer_get_kind(const bsm_layer *layer);
BSM_API const char *bsm_layer_kind_name(bsm_layer_kind kind);
BSM_API size_t bsm_layer_input_count(const bsm_layer *layer);
BSM_API bsm_itensor *bsm_layer_input(const bsm_layer *layer, size_t index);
BSM_API size_t bsm_layer_output_count(const bsm_layer *layer);
/* NULL when out of range. */
BSM_API bsm_itensor *bsm_layer_output(const bsm_layer *layer, size_t index);

BSM_API bsm_dims bsm_itensor_dims(const bsm_itensor *tensor);
BSM_API bsm_dtype bsm_itensor_dtype(const bsm_itensor *tensor);
BSM_API const char *bsm_itensor_name(const bsm_itensor *tensor);
BSM_API void bsm_itensor_set_name(bsm_itensor *tensor, const char *name);

/* The first failure of an adder or setter since the last call, or NULL. The
 * caller owns it. */
BSM_API BSM_NODISCARD bsm_status bsm_network_take_error(bsm_network *net);

BSM_EXTERN_C_END

#endif /* BESSEMER_NETWORK_H_ */
