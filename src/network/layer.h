/* SPDX-License-Identifier: Apache-2.0 */
/* The structs behind the public network header, for the converters' helpers,
 * the builder and the printer. */
#ifndef BSM_NETWORK_LAYER_H_
#define BSM_NETWORK_LAYER_H_

#include "aten/ivalue.h"
#include "base/arena.h"
#include "base/strings.h"
#include "bessemer/log.h"
#include "bessemer/network.h"

#define BSM_MAX_SPATIAL 3

struct bsm_itensor {
  bsm_network *net;
  uint32_t id;
  const char *name;
  const char *made_up; /* the name, while nobody has given another */
  bsm_dtype dtype;
  bsm_dims dims;
  bsm_layer *producer; /* NULL for network inputs */
  size_t index;        /* which output of `producer` */
};

typedef struct bsm_window_params { /* convolution, deconvolution, pooling */
  int32_t spatial;                 /* 1 to 3 */
  int64_t kernel[BSM_MAX_SPATIAL];
  int64_t stride[BSM_MAX_SPATIAL];
  int64_t pre_padding[BSM_MAX_SPATIAL];
  int64_t post_padding[BSM_MAX_SPATIAL];
  int64_t dilation[BSM_MAX_SPATIAL];
  int64_t output_padding[BSM_MAX_SPATIAL];
} bsm_window_params;

/* An activation that the builder has fused into the end of another layer, and a
 * tensor that is added before it: out = act(layer(...) + residual). */
typedef struct bsm_epilogue {
  bsm_activation_type activation; /* NONE: nothing */
  double alpha, beta;
  bool has_residual; /* the residual is the layer's last input */
} bsm_epilogue;

/* Changes to weights that the builder's passes put off until the weights are
 * packed. So plans of other shapes can share packed weights without reading the
 * originals again. Code that reads the values earlier has to apply these
 * changes itself, or to leave such weights alone. */
typedef struct bsm_deferred {
  bool cast; /* convert to the dtype of the weights; in memory they are ... */
  bsm_dtype held; /* ... this */
  const double
      *factor; /* then multiply by this, for each output map; NULL: do not */
} bsm_deferred;

typedef struct bsm_convolution_params {
  bsm_window_params window;
  int64_t out_maps, groups;
  bsm_weights kernel, bias; /* bias.count 0: none */
  bsm_deferred deferred;    /* of the kernel */
  /* By output map: the kernel is whole numbers from -127 to 127 times this, but
   * for roundings. NULL: it is not quantized. Only the quantizer sets it. */
  const float *kernel_scale;
  bsm_epilogue epilogue;
  /* The second input, [N, C, 1...], multiplies the first. Only the builder sets
   * this and the next field. */
  bool has_scale;
  bool joins_next; /* computed in the step of the only reader of the output */
} bsm_convolution_params;

typedef struct bsm_pooling_params {
  bsm_window_params window;
  bsm_pooling_type type;
  bool ceil_mode, count_excludes_padding, adaptive;
  int64_t output_size[BSM_MAX_SPATIAL]; /* adaptive */
  int64_t divisor_override;
} bsm_pooling_params;

/* One instruction of a fused element-wise program: r[dst] = op(r[a], r[b]).
 * Registers 0 .. inputs-1 hold the layer's inputs. */
typedef enum bsm_ew_opcode_kind {
  BSM_EW_UNARY = 0,      /* code: bsm_unary_operation */
  BSM_EW_BINARY = 1,     /* code: bsm_element_wise_operation */
  BSM_EW_ACTIVATION = 2, /* code: bsm_activation_type, alpha, beta */
  BSM_EW_CONSTANT = 3,   /* r[dst] = alpha; code: bsm_dtype of the result */
  BSM_EW_SELECT = 4,     /* r[a] ? r[b] : r[c] */
  BSM_EW_CAST = 5        /* code: bsm_dtype of the result */
} bsm_ew_opcode_kind;

typedef struct bsm_ew_instruction {
  int32_t kind, code;
  int32_t dst, a, b, c;
  double alpha, beta;
} bsm_ew_instruction;

/* The parameters of a call of an op of the reference library. */
typedef struct bsm_aten_output {
  bsm_dtype dtype;
  bsm_dims dims;
} bsm_aten_output;

typedef struct bsm_aten_call_params {
  const char *op; /* qualified: "aten::add.Tensor" */
  /* The arguments of its schema. tensors[i], as an argument or inside of one,
   * stands for input i of the layer; there are no other tensors. */
  const bsm_ivalue *args;
  size_t arg_count;
  bsm_tensor *const *tensors; /* dtype and sizes are those of the inputs */
  size_t tensor_count;
  /* For each result of the op: a tensor (BSM_ATEN_TENSOR), the length of a list
   * of tensors, or unused. The outputs are the tensors among the results, in
   * order. */
  const int32_t *results;
  size_t result_count;
  const bsm_aten_output *outputs;
  size_t output_count;
} bsm_aten_call_params;
enum { BSM_ATEN_TENSOR = -1, BSM_ATEN_UNUSED = -2 };

struct bsm_layer {
  bsm_network *net;
  bsm_layer_kind kind;
  uint32_t id;
  const char *name;
  /* Names of layers that passes have made part of this one, whose work comes
   * before and after its own: separated by " + ", or NULL. */
  const char *names_before, *names_after;
  const char *source;      /* where in the model it comes from, or NULL */
  const char *scope;       /* the path of its submodule, "layer1.0", or NULL */
  bsm_precision precision; /* decided by the builder; NONE: not yet */
  bool cancels; /* great numbers to small ones: fp32, unless a rule asks */
  BSM_VEC(bsm_itensor *) inputs;
  BSM_VEC(bsm_itensor *) outputs;
  bool removed; /* by a builder pass */
  /* The parameters do not fit the inputs (yet). The outputs' dims are unknown,
   * and using an output reports the reason. */
  bool stale;
  bool stale_told; /* the reason has been reported */
  union {
    bsm_convolution_params convolution; /* and deconvolution */
    bsm_pooling_params pooling;
    struct {
      bsm_activation_type type;
      double alpha, beta;
    } activation;
    struct {
      bsm_weights shift, scale, power; /* count 0: none */
    } scale;
    struct {
      int32_t axis;
      bool log;
    } softmax;
    struct {
      int32_t axis;
    } concatenation;
    struct {
      bsm_element_wise_operation operation;
    } element_wise;
    struct {
      bsm_unary_operation operation;
    } unary;
    struct {
      bsm_dims first_transpose, reshape, second_transpose;
      bool has_first, has_reshape, has_second;
    } shuffle;
    struct {
      bsm_reduce_operation operation;
      uint32_t axes;
      bool keep_dims;
      double correction;
    } reduce;
    struct {
      bool largest;
      int64_t k;
      int32_t axis;
    } top_k;
    struct {
      bsm_scan_operation operation;
      int32_t axis;
    } scan;
    struct {
      double threshold;
    } nms;
    bsm_region_pooling regions;
    struct {
      bsm_resize_mode mode;
      bsm_sample_padding padding;
      bool align_corners;
    } sample; /* inputs: image, grid */
    struct {
      bsm_gather_mode mode;
      int32_t axis;
    } gather;
    struct {
      bsm_scatter_mode mode;
      bsm_scatter_reduction reduction;
      int32_t axis;
      bool include_self, wrap;
    } scatter; /* inputs: data, indices, updates */
    struct {
      bsm_matrix_operation op_a, op_b;
      bsm_weights bias; /* of the last output dimension; count 0: none */
      double scale;     /* multiplies the product; 1 */
      bsm_epilogue epilogue;
      /* More than 1: this many constant matrices of rank 2 follow the first
       * input, and B has their columns side by side. Only the builder sets it.
       */
      int32_t parts;
      /* What the columns of a constant B of rank 2, or of all its parts, are
       * multiplied by when it is packed; NULL: by nothing. Only the builder
       * sets it. */
      const double *factor;
    } matrix_multiply;
    struct {
      bsm_weights weights;
      bsm_deferred deferred; /* no factor */
    } constant;
    struct {
      bsm_dims start, size, stride;
      bsm_padding_mode mode;
      bool has_mode; /* the window may leave the input */
      double fill_value;
    } slice;
    struct {
      bsm_resize_mode mode;
      bsm_dims output_size;
      bool align_corners;
      double scales[BSM_MAX_SPATIAL]; /* 0: from the sizes */
    } resize;
    struct {
      double value;
      bsm_dtype dtype;
      bsm_dims dims;
    } fill;
    struct {
      bsm_dtype dtype;
    } cast;
    struct {
      uint32_t axes;
      double epsilon;
      int64_t groups;
      bool rms, has_scale, has_bias; /* inputs: x [, scale] [, bias] */
    } normalization;
    struct {
      bsm_dims dims;
    } expand;
    struct {
      bsm_recurrent_operation operation;
      int32_t directions;
      const bsm_recurrent_weights *weights; /* [directions] */
      bsm_deferred deferred;                /* of all weights; no factor */
      bsm_weights lengths;                  /* count 0: all of T */
    } recurrent;
    struct {
      const bsm_layer_plugin *plugin;
      const void *params; /* arguments (plugin/call.h) when it has a schema */
      size_t size;
    } plugin;
    bsm_aten_call_params aten_call;
    struct {
      int32_t axis; /* -1: per tensor */
      bsm_dtype dtype;
      double least, greatest;
      bool rounds_last; /* after the zero point is added */
      bsm_quantize_nan nan;
    } quantize; /* inputs: x, scale [, zero point] */
    struct {
      int32_t axis;
      bsm_dtype dtype;
    } dequantize; /* as above */
    /* A convolution of quantized values, or with `spatial` 0 a product of rows,
     * as bsm_step_int8_convolution (engine/plan.h) computes it: a target makes
     * it of layers that quantize and a product. Inputs: x, uint8 [, residual:
     * uint8 or `dtype`]; the output has `dims`, and is uint8 or `dtype`. All
     * bytes may be float8_e4m3fn, those of the kernel too; then there are no
     * zero points. */
    struct {
      bsm_window_params window;
      int64_t out_maps, groups;
      const int8_t *kernel;  /* [out_maps, in / groups, window] */
      const float *columns;  /* scale[out_maps], bias[out_maps] */
      const int32_t *offset; /* [out_maps] */
      bsm_epilogue epilogue;
      int32_t x_zero, residual_zero;
      double residual_scale;
      bsm_dtype dtype; /* float, or where the target takes it half, bfloat16 */
      bool quantizes;  /* the output */
      int32_t y_zero, least, greatest;
      double y_inverse;
      bsm_dims dims;
    } int8_convolution;
    /* softmax(mask(scale * q k^T)) v, which the builder makes of products
     * around a softmax. Inputs: q [.., L, E], k [.., S, E], v [.., S, W]; then
     * `biases` tensors that are added to the scores; with has_mask also one of
     * bool that says which scores become `fill`. They broadcast to [.., L, S].
     * With `split` n the masks have one dimension more: the first dimension d
     * of the batch is [d / n, n] in them. */
    struct {
      int32_t biases;
      bool has_mask, hides; /* scores are hidden where the mask is true;
                               otherwise where it is false */
      bool causal;          /* query i sees only the keys j <= i + diagonal */
      bool clears_hidden;   /* a query without any key gives 0, not NaN */
      int64_t diagonal, split;
      double scale, fill;
    } attention;
    struct {
      BSM_VEC(bsm_ew_instruction) program;
      int32_t registers;
      int32_t result;
    } fused_element_wise;
  } p;
};

struct bsm_network {
  bsm_arena *arena;
  const bsm_logger *logger;
  BSM_VEC(bsm_layer *) layers; /* topological order */
  BSM_VEC(bsm_itensor *) tensors;
  BSM_VEC(bsm_itensor *) inputs;
  BSM_VEC(bsm_itensor *) outputs;
  BSM_VEC(const char *) output_names;
  bsm_strmap input_index, output_index; /* name -> itself */
  bsm_status error;   /* the first failure, until it is taken */
  size_t stale_count; /* layers that are stale */
  uint32_t next_layer_id, next_tensor_id;
};

BSM_NODISCARD bsm_status bsm_network_create(bsm_arena *arena,
                                            const bsm_logger *logger,
                                            bsm_network **out);
/* Frees what a network holds outside its arena (a pending error). */
void bsm_network_release(bsm_network *net);

/* Adds a layer that calls an op; what `call` points at is borrowed. A failure
 * leaves the network as it was. */
BSM_NODISCARD bsm_status bsm_network_add_aten_call(
    bsm_network *net, bsm_itensor *const *inputs, size_t input_count,
    const bsm_aten_call_params *call, bsm_layer **out);

/* Recomputes the dtypes and dims of the outputs of one layer. */
BSM_NODISCARD bsm_status bsm_layer_infer(bsm_layer *layer);
/* A new layer with `outputs` new tensors, appended: for adders and passes. */
BSM_NODISCARD bsm_status bsm_network_new_layer(bsm_network *net,
                                               bsm_layer_kind kind,
                                               bsm_itensor *const *inputs,
                                               size_t input_count,
                                               size_t outputs, bsm_layer **out);
/* Checks every invariant: order, producers, inferred dims, sizes of weights. */
BSM_NODISCARD bsm_status bsm_network_verify(const bsm_network *net);
/* The greatest number of float8_e4m3fn. */
#define BSM_FLOAT8_MOST 448
/* The range of a dtype that values are quantized to, which are integers and
 * float8_e4m3fn; false for other dtypes. */
bool bsm_quantize_range(bsm_dtype dtype, double *least, double *greatest);
/* The dtype that quantizing a tensor of `dtype` computes in. */
bsm_dtype bsm_quantize_compute_dtype(bsm_dtype dtype);
/* Text dump, one layer a line. */
void bsm_network_print(bsm_text *text, const bsm_network *net);

#endif /* BSM_NETWORK_LAYER_H_ */
