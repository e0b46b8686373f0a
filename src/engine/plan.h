/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: what an engine executes. Steps in order over tensors in memory.
 *
 * A plan tensor has a dtype, dims, *strides* and a place. Layout is strides:
 * channels-last is an [N, C, H, W] tensor whose C stride is 1; a transpose, a
 * slice, an expand or a piece of a concatenation is a tensor that shares its
 * place with another one. Each step kind says which strides it accepts.
 *
 * Weights are stored in the form that the plan's target has packed them in.
 * Only its device understands that form.
 *
 * Everything in a plan is plain data with indices, checked by bsm_plan_verify
 * (structure) and by the backend (parameters) before anything runs. */
#ifndef BSM_ENGINE_PLAN_H_
#define BSM_ENGINE_PLAN_H_

#include "base/arena.h"
#include "base/strings.h"
#include "bessemer/network.h"
#include "bessemer/types.h"
#include "engine/structure.h"

/* Bytes: alignment of every buffer and weight. */
#define BSM_ALIGNMENT 64

/* The step kinds in two lists: X(ENUM, number, "text", params member). Devices
 * run the kinds of the first list; the runtime runs the others. */
#define BSM_BACKEND_STEP_KINDS(X)                                  \
  X(CONVOLUTION, 1, "convolution", convolution)                    \
  X(DECONVOLUTION, 2, "deconvolution", convolution)                \
  X(POOLING, 3, "pooling", pooling)                                \
  X(MATRIX_MULTIPLY, 4, "matrix_multiply", matrix_multiply)        \
  X(ELEMENT_WISE, 5, "element_wise", element_wise)                 \
  X(SOFTMAX, 6, "softmax", softmax)                                \
  X(NORMALIZATION, 7, "normalization", normalization)              \
  X(REDUCE, 8, "reduce", reduce)                                   \
  X(TOP_K, 9, "top_k", top_k)                                      \
  X(GATHER, 10, "gather", gather)                                  \
  X(COPY, 11, "copy", copy)                                        \
  X(FILL, 12, "fill", fill)                                        \
  X(PAD, 13, "pad", pad)                                           \
  X(RESIZE, 14, "resize", resize)                                  \
  X(RECURRENT, 16, "recurrent", recurrent)                         \
  X(SCATTER, 17, "scatter", scatter)                               \
  X(ATTENTION, 19, "attention", attention)                         \
  X(CONVOLUTION_CHAIN, 20, "convolution_chain", convolution_chain) \
  X(INT8_CONVOLUTION, 22, "int8_convolution", int8_convolution)    \
  X(SCAN, 23, "scan", scan)                                        \
  X(NON_ZERO, 24, "non_zero", non_zero)                            \
  X(NMS, 25, "nms", nms)                                           \
  X(REGIONS, 26, "regions", regions)                               \
  X(SAMPLE, 27, "sample", sample)
#define BSM_RUNTIME_STEP_KINDS(X)          \
  X(ATEN_CALL, 15, "aten_call", aten_call) \
  X(PLUGIN, 18, "plugin", plugin)          \
  X(TRANSFER, 21, "transfer", transfer)
#define BSM_STEP_KINDS(X)   \
  BSM_BACKEND_STEP_KINDS(X) \
  BSM_RUNTIME_STEP_KINDS(X)

typedef enum bsm_step_kind {
#define X(name, number, text, member) BSM_STEP_##name = number,
  BSM_STEP_KINDS(X)
#undef X
} bsm_step_kind;
#define BSM_STEP_KIND_END 28 /* above all kinds: for tables by kind */

typedef enum bsm_memory_place {
  BSM_PLACE_INPUT = 0,     /* binding `index`, the caller's buffer */
  BSM_PLACE_OUTPUT = 1,    /* binding `index`, the caller's buffer */
  BSM_PLACE_WORKSPACE = 2, /* the context's workspace */
  BSM_PLACE_WEIGHTS = 3    /* the engine's weights, read only */
} bsm_memory_place;

/* Where the elements of a tensor are: its dims, with strides in elements. */
typedef struct bsm_layout {
  bsm_dims dims;
  int64_t strides[BSM_MAX_RANK];
} bsm_layout;

typedef struct bsm_plan_tensor {
  const char *name; /* of the network tensor; "" when internal */
  bsm_dtype dtype;
  bsm_dims dims;
  int64_t strides[BSM_MAX_RANK]; /* elements, >= 0 */
  bsm_memory_space space;
  bsm_memory_place place;
  uint32_t index;  /* INPUT, OUTPUT: which binding; else 0 */
  uint64_t offset; /* bytes from the start of the place's buffer */
} bsm_plan_tensor;

/* out = act(scale * op(...) + bias + residual) */
typedef struct bsm_step_epilogue {
  int32_t activation;   /* bsm_activation_type */
  int32_t has_residual; /* the residual is the step's last input */
  double alpha, beta;
} bsm_step_epilogue;

/* Convolution, deconvolution and pooling always have 3 spatial dimensions
 * (depth, height, width); missing ones have kernel 1, stride 1, no padding,
 * and are absent from the tensors' dims: rank = 2 + spatial. */
typedef struct bsm_step_window {
  int32_t spatial; /* 1, 2, 3: of the tensors; dims map to the last ones */
  int32_t reserved;
  int64_t kernel[3], stride[3], dilation[3];
  int64_t pre_padding[3], post_padding[3];
} bsm_step_window;

/* Inputs: x [N, C, ...] [, residual like the output]. The target says where
 * channels lie in memory, and which dtypes it takes. weights[0]: the kernel,
 * packed by the target; weights[1]: bias[out_maps], or absent. */
typedef struct bsm_step_convolution {
  bsm_step_window window;
  int64_t groups, out_maps;
  bsm_step_epilogue epilogue;
  int32_t
      form; /* form of the packed kernel: a number of the target's; 0: plain */
  int32_t reserved;
} bsm_step_convolution;

/* A chain of convolutions in one step; each is the only reader of the one
 * before. In order: one of one group that widens, a depthwise one, and a
 * pointwise one (1x1, stride 1, no padding, one group). With `has_scale` there
 * is only the last one; otherwise the depthwise one and at least one of the
 * others are there. The tensors between them are never in memory as a whole.
 * The target says which windows, sizes and dtypes may be joined. All have two
 * spatial dimensions, and weights as in steps of their own; only the last may
 * have a residual. Inputs: x [N, C, H, W] [, scale [N, C, 1, 1], which
 * multiplies x] [, residual like the output]; output; all as a convolution's.
 * weights[2 i], weights[2 i + 1]: kernel and bias of part i. */
enum {
  BSM_CHAIN_EXPAND = 0,
  BSM_CHAIN_DEPTHWISE = 1,
  BSM_CHAIN_PROJECT = 2,
  BSM_CHAIN_PARTS = 3
};
typedef struct bsm_step_convolution_chain {
  int32_t has[BSM_CHAIN_PARTS];
  int32_t has_scale;
  bsm_step_convolution part[BSM_CHAIN_PARTS]; /* absent ones are zero */
} bsm_step_convolution_chain;

/* A convolution of bytes, or with `spatial` 1 and a window of 1 a product of
 * rows. With the whole numbers q of uint8 inputs and w of the int8 kernel:
 *   v = scale[o] * sum of w * (q - x_zero) + bias[o] + residual, then activated
 * where a residual of uint8 is (q - residual_zero) * residual_scale. The output
 * is v as float, half or bfloat16, or as uint8
 *   clamp(round(v * y_inverse) + y_zero, least, greatest), half to even.
 * The padding has x_zero. Where x is of float8_e4m3fn, so are the kernel, a
 * residual of bytes and an output of bytes: numbers are those of that dtype,
 * zero points are 0, sums are of float in any order, and an output is
 *   clamp(v * y_inverse, -448, 448) as float8, half to even. Inputs: x [N, C,
 * ...] uint8 [, residual, like the output, of any of these dtypes]; all with
 * channels innermost. CPUs have no half, bfloat16 and float8 here. weights[0]:
 * the kernel, packed by the target; weights[1]: float scale[out_maps],
 * bias[out_maps]; weights[2]: int32[out_maps], -x_zero times the sum of the
 * kernel of a map. */
typedef struct bsm_step_int8_convolution {
  bsm_step_convolution convolution;
  int32_t x_zero, residual_zero;
  int32_t y_zero, least, greatest, reserved;
  double residual_scale, y_inverse;
} bsm_step_int8_convolution;

/* x [N, C, ...]: any strides; fast when C stride is 1. */
typedef struct bsm_step_pooling {
  bsm_step_window window;
  int32_t type; /* bsm_pooling_type */
  int32_t count_excludes_padding;
  int32_t adaptive; /* windows from the sizes, PyTorch's rule */
  int32_t reserved;
  int64_t divisor_override; /* 0: none */
} bsm_step_pooling;

/* C = act(scale * A B + bias + residual), batched over leading dimensions.
 * A [.., M, K]: any strides, batch strides 0 broadcast (transposition is
 * strides); fast when the K stride is 1. B either constant: weights[0] packed
 * [K, N], and B is not an input; or inputs[1] [.., K, N] with any strides.
 * Output [.., M, N]: N stride 1. weights[1]: bias[N] or absent.
 * Input order: A [, B] [, residual]. */
typedef struct bsm_step_matrix_multiply {
  int32_t constant_b;
  int32_t form; /* of the packed B: a number of the target's; 0: plain */
  int64_t k, n; /* of the packed B */
  double scale;
  bsm_step_epilogue epilogue;
} bsm_step_matrix_multiply;

/* One instruction: r[dst] = op(r[a], r[b], r[c]); kinds and codes are those of
 * the network's fused element-wise layer (network/layer.h). Registers 0 ..
 * inputs-1 are the inputs, broadcast against the output. Each register has a
 * dtype. There are at most BSM_EW_MAX_INPUTS inputs and BSM_EW_MAX_REGISTERS
 * registers. */
#define BSM_EW_MAX_INPUTS 16
#define BSM_EW_MAX_REGISTERS 32
#define BSM_EW_MAX_INSTRUCTIONS 64
enum {
  BSM_STEP_EW_UNARY = 0,      /* code: bsm_unary_operation */
  BSM_STEP_EW_BINARY = 1,     /* code: bsm_element_wise_operation */
  BSM_STEP_EW_ACTIVATION = 2, /* code: bsm_activation_type, alpha, beta */
  BSM_STEP_EW_CONSTANT = 3,   /* r[dst] = alpha (ints: exact in `integer`) */
  BSM_STEP_EW_SELECT = 4,     /* r[a] ? r[b] : r[c] */
  BSM_STEP_EW_CAST = 5        /* to the dtype of dst */
};
typedef struct bsm_step_ew_instruction {
  int32_t kind, code;
  int32_t dst, a, b, c;
  int32_t dtype; /* bsm_dtype of dst */
  int32_t reserved;
  double alpha, beta;
  int64_t integer;
} bsm_step_ew_instruction;

typedef struct bsm_step_element_wise {
  int32_t instruction_count;
  int32_t result; /* register written to the output */
  bsm_step_ew_instruction program[BSM_EW_MAX_INSTRUCTIONS];
} bsm_step_element_wise;

typedef struct bsm_step_softmax {
  int32_t axis, log;
} bsm_step_softmax;

/* inputs: x [, scale] [, bias]: broadcast to x. A second output, of uint8 and
 * the dims of x, has the first one's values on a grid; the last input, float of
 * 4, is this: the reciprocal of the scale, the zero point, the least and the
 * greatest number. Of float8_e4m3fn these are 0, -448 and 448. CPUs have no
 * such output. */
typedef struct bsm_step_normalization {
  uint32_t axes;
  int32_t rms, has_scale, has_bias;
  int64_t groups; /* > 1: axis 1 is split into groups, axes are the rest */
  double epsilon;
} bsm_step_normalization;

typedef struct bsm_step_reduce {
  int32_t operation; /* bsm_reduce_operation */
  uint32_t axes;
  int32_t keep_dims, reserved;
  double correction;
} bsm_step_reduce;

typedef struct bsm_step_top_k {
  int32_t largest, axis;
  int64_t k;
} bsm_step_top_k;

/* Along the axis, each element with all before it. Outputs: values, of the
 * input's dtype and dims; of MAX and MIN also int64 indices. Any strides. */
typedef struct bsm_step_scan {
  int32_t operation; /* bsm_scan_operation */
  int32_t axis;
} bsm_step_scan;

/* Input: any dtype, row-major. Output int64[elements], contiguous: as
 * bsm_network_add_non_zero. */
typedef struct bsm_step_non_zero {
  int32_t reserved[2];
} bsm_step_non_zero;

/* Input: floating [n, 4], output: bool[n], both contiguous: as
 * bsm_network_add_nms. */
typedef struct bsm_step_nms {
  double threshold;
} bsm_step_nms;

/* Inputs: an image of any strides, and regions, contiguous; outputs as of
 * bsm_network_add_regions, contiguous, which say how many bins there are. A
 * region of an image that is not there is a run-time error. */
typedef struct bsm_step_regions {
  double scale;
  int64_t samples;
  int32_t whole, grouped, aligned, dtype; /* of bsm_region_pooling */
} bsm_step_regions;

/* Inputs: an image [N, C, spatial...] and a grid [N, places..., spatial], which
 * is contiguous; output [N, C, places...], as of bsm_network_add_sample. The
 * target says which strides image and output have. */
typedef struct bsm_step_sample {
  int32_t mode, padding; /* bsm_resize_mode, bsm_sample_padding */
  int32_t align_corners, reserved;
} bsm_step_sample;
/* A spatial dimension of the image is below it, so that float tells all pixels
 * apart. */
#define BSM_SAMPLE_MAX_SIZE ((int64_t)1 << 23)

/* inputs: data, indices (int32 or int64). An index out of range is a run-time
 * error; negative indices count from the end in the modes DEFAULT and ND, and
 * are out of range in the others. */
typedef struct bsm_step_gather {
  int32_t mode, axis; /* bsm_gather_mode */
} bsm_step_gather;

/* inputs: data, indices (int32 or int64), updates, of any strides; the output
 * may share the data's memory. Dims as in bsm_network_add_scatter. An index out
 * of range is a run-time error. */
typedef struct bsm_step_scatter {
  int32_t mode, axis;         /* bsm_scatter_mode; ND: first dimension named */
  int32_t reduction;          /* bsm_scatter_reduction */
  int32_t include_self, wrap; /* wrap: negative indices count from the end */
  int32_t reserved;
} bsm_step_scatter;

/* out = in, element by element, same dims, converting the dtype. Any strides
 * on both sides. */
typedef struct bsm_step_copy {
  int32_t reserved[2];
} bsm_step_copy;

typedef struct bsm_step_fill {
  double value;
  int64_t integer;
} bsm_step_fill;

/* out[i] = in[start + i]; the mode says what is outside of the input. */
typedef struct bsm_step_pad {
  int32_t mode, reserved; /* bsm_padding_mode */
  double fill_value;
  int64_t start[BSM_MAX_RANK]; /* may be negative */
} bsm_step_pad;

/* Resizes the last `spatial` dims; scale 0: from the sizes. */
typedef struct bsm_step_resize {
  int32_t mode, align_corners; /* bsm_resize_mode */
  int32_t spatial, reserved;
  double scales[3];
} bsm_step_resize;

/* A call of an op of the reference library (aten/op.h), on any dtypes and
 * strides. The inputs are the tensors that the arguments refer to by number:
 * see engine/ivalue_bytes.h. The outputs are the tensors among the results, in
 * order: for each result of the op, `results` has BSM_RESULT_TENSOR, the length
 * of a list of tensors, or BSM_RESULT_UNUSED. */
#define BSM_RESULT_TENSOR (-1)
#define BSM_RESULT_UNUSED (-2)
typedef struct bsm_step_aten_call {
  const char *op;         /* qualified: "aten::add.Tensor" */
  const int32_t *results; /* one for each result */
  uint32_t result_count;
  uint32_t args_size;
  const uint8_t *args; /* the list of arguments, as bytes */
} bsm_step_aten_call;

/* One level of a recurrent network in D directions; the second runs backwards.
 * Inputs: x [T, B, I], hidden state [D, B, P], LSTM: cell state [D, B, H]: any
 * strides, fast when that of I is 1. Outputs: states [T, B, D P] with last
 * stride 1, last hidden state, LSTM: last cell state: any strides. All of one
 * floating-point dtype.
 * weights[0]: of all directions, packed by the target. weights[1]: int64[B],
 * the length of each sample; absent: T for all. After the end of a sample its
 * output is 0 and its states do not change. */
typedef struct bsm_step_recurrent {
  int32_t operation;  /* bsm_recurrent_operation */
  int32_t directions; /* 1 or 2 */
  int64_t input, hidden;
  int64_t projection; /* P when it is not H; 0: none */
} bsm_step_recurrent;

/* out = softmax(mask(scale * Q K^T)) V, batched over leading dimensions. Q [..,
 * L, E], K [.., S, E], V [.., S, W], output [.., L, W], all float and of the
 * output's rank, with its leading dimensions (stride 0 broadcasts); any strides
 * except the output's last, which is 1. Elements of a matrix of K or V do not
 * overlap. `biases` inputs follow that are added to the scores [.., L, S],
 * float, and with `mask` not 0 one of bool: where it is true
 * (BSM_ATTENTION_HIDE) or false (BSM_ATTENTION_KEEP) the score becomes `fill`;
 * all broadcast with stride 0. `causal`: query i sees only the keys j <= i +
 * diagonal. A query that sees no key, because all its scores are -inf, gives
 * NaN, or zeros with `clears_hidden`. */
enum {
  BSM_ATTENTION_NO_MASK = 0,
  BSM_ATTENTION_KEEP = 1,
  BSM_ATTENTION_HIDE = 2
};
typedef struct bsm_step_attention {
  int32_t biases, mask;
  int32_t causal, clears_hidden;
  int64_t diagonal;
  double scale, fill;
} bsm_step_attention;

/* A layer of a plug-in. All tensors contiguous. weights[0]: the arguments or
 * parameters as bytes (plugin/call.h), absent when there are none. */
typedef struct bsm_step_plugin {
  char name[96]; /* ends with a NUL */
  uint32_t version, reserved;
} bsm_step_plugin;

/* Copies a tensor from one memory space to the other: all bytes from its first
 * element to its last. Input and output have the same dtype, dims and strides.
 */
typedef struct bsm_step_transfer {
  int32_t reserved[2];
} bsm_step_transfer;

typedef union bsm_step_params {
  bsm_step_convolution convolution;
  bsm_step_convolution_chain convolution_chain;
  bsm_step_int8_convolution int8_convolution;
  bsm_step_pooling pooling;
  bsm_step_matrix_multiply matrix_multiply;
  bsm_step_element_wise element_wise;
  bsm_step_softmax softmax;
  bsm_step_normalization normalization;
  bsm_step_reduce reduce;
  bsm_step_top_k top_k;
  bsm_step_scan scan;
  bsm_step_non_zero non_zero;
  bsm_step_nms nms;
  bsm_step_regions regions;
  bsm_step_sample sample;
  bsm_step_gather gather;
  bsm_step_scatter scatter;
  bsm_step_copy copy;
  bsm_step_fill fill;
  bsm_step_pad pad;
  bsm_step_resize resize;
  bsm_step_recurrent recurrent;
  bsm_step_aten_call aten_call;
  bsm_step_plugin plugin;
  bsm_step_attention attention;
  bsm_step_transfer transfer;
} bsm_step_params;

/* Of the inputs, and of the outputs, of one step. */
#define BSM_STEP_MAX_TENSORS 4096
#define BSM_STEP_MAX_WEIGHTS 6
#define BSM_NO_WEIGHTS UINT32_MAX
/* Stands for weights that a step does not have. */
#define BSM_STEP_NO_WEIGHTS                                         \
  {                                                                 \
    BSM_NO_WEIGHTS, BSM_NO_WEIGHTS, BSM_NO_WEIGHTS, BSM_NO_WEIGHTS, \
        BSM_NO_WEIGHTS, BSM_NO_WEIGHTS                              \
  }

/* How long a tactic of a step took when the engine was built. */
typedef struct bsm_plan_trial {
  const char *tactic;
  uint64_t nanoseconds;
} bsm_plan_trial;
#define BSM_STEP_MAX_TRIALS 32

typedef struct bsm_plan_step {
  bsm_step_kind kind;
  /* The memory space that the step runs in; all of its tensors and weights are
   * there. For a transfer it is the space of the output. Calls and layers of
   * plug-ins run on the host. */
  bsm_memory_space space;
  const char *name;   /* of the layer(s) */
  const char *tactic; /* name chosen by the builder; "" : the backend's best */
  uint32_t input_count, output_count;
  uint32_t *inputs, *outputs;             /* tensors of the plan */
  uint32_t weights[BSM_STEP_MAX_WEIGHTS]; /* BSM_NO_WEIGHTS: absent */
  const bsm_step_params *params;          /* the member for `kind` */
  bsm_precision precision;                /* that it computes in */
  const bsm_plan_trial *trials; /* of `tactic` and others; for tools alone */
  uint32_t trial_count;         /* 0: not timed */
} bsm_plan_step;

typedef struct bsm_plan_weights {
  const void *data; /* aligned to BSM_ALIGNMENT */
  uint64_t size;
  /* The space in which steps read them; weights that are read in both spaces
   * are listed for each. `data` is in the host's memory in any case, and an
   * engine uploads it. */
  bsm_memory_space space;
} bsm_plan_weights;

typedef struct bsm_plan_binding {
  const char *name;
  uint32_t tensor; /* contiguous, place INPUT or OUTPUT, its index */
} bsm_plan_binding;

/* Machine code for the device of the plan's target, which gave it a name and
 * alone knows what it is. It is in the weights' section of a file. */
typedef struct bsm_plan_code {
  const char *name;
  uint32_t weights; /* of the plan, in BSM_SPACE_HOST: its bytes */
} bsm_plan_code;

typedef struct bsm_plan_metadata {
  const char *key, *value;
} bsm_plan_metadata;

typedef struct bsm_plan {
  bsm_plan_tensor *tensors;
  uint32_t tensor_count;
  bsm_plan_step *steps;
  uint32_t step_count;
  bsm_plan_weights *weights;
  uint32_t weights_count;
  bsm_plan_binding *inputs, *outputs;
  uint32_t input_count, output_count;
  uint64_t workspace_size[BSM_MEMORY_SPACES]; /* bytes */
  /* What the plan was built for: the name of a target, and after a colon its
   * parameters. NULL: the CPU. Steps of BSM_SPACE_DEVICE run on the device of
   * that name; a plan for the CPU has none. */
  const char *target;
  /* Of all parts: segments of a program have none of their own. */
  bsm_plan_code *code;
  uint32_t code_count;
  bsm_plan_metadata *metadata;
  uint32_t metadata_count;
  /* How the bindings make up the arguments and the result; NULL: unknown. */
  bsm_structure *input_structure, *output_structure;
  /* NULL: the plan consists of its steps. Otherwise it has none, and dims of
   * bindings may be -1: unknown before the run. */
  struct bsm_program *program;
} bsm_plan;

/* Part 0 is the plan itself, the others are the segments of its program; NULL
 * after the last. */
const bsm_plan *bsm_plan_part(const bsm_plan *plan, uint32_t index);
/* The number of results of its program that are not outputs, but values of any
 * kind, whose types are in the structure of the outputs; 0 without a program.
 */
uint32_t bsm_plan_value_count(const bsm_plan *plan);
/* The number of steps of all parts together. */
uint32_t bsm_plan_total_steps(const bsm_plan *plan);
/* Finds the part that has step `index` of these, and the step's number in it.
 */
const bsm_plan *bsm_plan_find_step(const bsm_plan *plan, uint32_t index,
                                   uint32_t *part, uint32_t *step);

const char *bsm_step_kind_name(bsm_step_kind kind); /* NULL when unknown */
/* Whether devices run such steps; otherwise the runtime does. */
bool bsm_step_kind_is_of_devices(bsm_step_kind kind);
/* Size of the params of a kind; 0 when unknown. */
size_t bsm_step_params_size(bsm_step_kind kind);
/* Size of what is used of them: all but the end of an element-wise program. A
 * step need not have more. */
size_t bsm_step_params_used(bsm_step_kind kind, const bsm_step_params *params);

/* Bytes from the first to one past the last element that sizes and strides
 * reach; 0 for empty tensors. false on overflow. */
bool bsm_plan_tensor_extent(const bsm_plan_tensor *tensor, uint64_t *out);
/* Whether what two tensors reach in one place has bytes in common; true when
 * that cannot be told. */
bool bsm_plan_tensors_meet(const bsm_plan_tensor *a, const bsm_plan_tensor *b);

/* Checks every index, count, size, place and space: ids in range, tensors
 * inside their places and weights inside theirs, bindings contiguous, counts of
 * inputs and outputs per kind, steps in the space of their tensors. The backend
 * checks parameters. */
BSM_NODISCARD bsm_status bsm_plan_verify(const bsm_plan *plan);

/* A text dump: tensors, steps, memory. */
void bsm_plan_print(bsm_text *text, const bsm_plan *plan);

#endif /* BSM_ENGINE_PLAN_H_ */
