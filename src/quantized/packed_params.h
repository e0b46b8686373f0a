/* SPDX-License-Identifier: Apache-2.0 */
/* Packed parameters: the weights of quantized modules, which PyTorch keeps as
 * objects of classes written in C++. Its engines (fbgemm, qnnpack, x86) reorder
 * the weights in them; what they write to files, and what is here, is the plain
 * weight with what was packed beside it.
 *
 * An object has these slots, of which the first tells the kind:
 *
 *   BSM_PACKED_CONV       kind, weight, bias, stride, padding, dilation,
 *                         output_padding, groups, transposed
 *   BSM_PACKED_LINEAR     kind, weight, bias
 *   BSM_PACKED_EMBEDDING  kind, weight, bits
 *   BSM_PACKED_CELL       kind, reduce_range, two BSM_PACKED_LINEAR (input,
 *                         hidden), bias_ih, bias_hh
 *
 * The weight is quantized, per tensor or per channel, but a linear one of half
 * precision, which is a float tensor. Of convolutions along one dimension it
 * has a dimension of size 1 more, as PyTorch's. Everything is checked when an
 * object is made, so its readers need not. */
#ifndef BSM_QUANTIZED_PACKED_PARAMS_H_
#define BSM_QUANTIZED_PACKED_PARAMS_H_

#include "aten/ivalue.h"

typedef enum bsm_packed_kind {
  BSM_PACKED_CONV = 1,
  BSM_PACKED_LINEAR,
  BSM_PACKED_EMBEDDING,
  BSM_PACKED_CELL
} bsm_packed_kind;

enum {
  BSM_PACKED_KIND,
  BSM_PACKED_WEIGHT,
  BSM_PACKED_BIAS,
  BSM_PACKED_STRIDE,
  BSM_PACKED_PADDING,
  BSM_PACKED_DILATION,
  BSM_PACKED_OUTPUT_PADDING,
  BSM_PACKED_GROUPS,
  BSM_PACKED_TRANSPOSED,
  BSM_PACKED_CONV_SLOTS,
  BSM_PACKED_LINEAR_SLOTS = BSM_PACKED_BIAS + 1,
  BSM_PACKED_BITS = BSM_PACKED_BIAS,
  BSM_PACKED_EMBEDDING_SLOTS,
  BSM_PACKED_REDUCE_RANGE = 1,
  BSM_PACKED_CELL_INPUT,
  BSM_PACKED_CELL_HIDDEN,
  BSM_PACKED_CELL_BIAS_INPUT,
  BSM_PACKED_CELL_BIAS_HIDDEN,
  BSM_PACKED_CELL_SLOTS
};

/* How a convolution runs: lists of ints, one for each dimension. */
typedef struct bsm_packed_conv {
  bsm_ivalue weight, bias; /* the bias may be None */
  bsm_ivalue stride, padding, dilation, output_padding;
  int64_t groups;
  bool transposed;
  int32_t dims; /* 2 or 3 */
} bsm_packed_conv;

/* All of these check what they are given: BSM_INVALID_ARGUMENT says what is
 * wrong. Tensors are borrowed; the object's type stays NULL. */
BSM_NODISCARD bsm_status bsm_packed_conv_new(bsm_arena *arena,
                                             const bsm_packed_conv *conv,
                                             bsm_ivalue *out);
BSM_NODISCARD bsm_status bsm_packed_linear_new(bsm_arena *arena,
                                               const bsm_ivalue *weight,
                                               const bsm_ivalue *bias,
                                               bsm_ivalue *out);
BSM_NODISCARD bsm_status bsm_packed_embedding_new(bsm_arena *arena,
                                                  const bsm_ivalue *weight,
                                                  int64_t bits,
                                                  bsm_ivalue *out);
/* `linear`: of the input and the hidden state; `bias`: as many, or None. */
BSM_NODISCARD bsm_status bsm_packed_cell_new(bsm_arena *arena,
                                             const bsm_ivalue linear[2],
                                             const bsm_ivalue bias[2],
                                             bool reduce_range,
                                             bsm_ivalue *out);

/* The slots of an object of that kind. BSM_INVALID_ARGUMENT: it is none. */
BSM_NODISCARD bsm_status bsm_packed_read(const bsm_ivalue *value,
                                         bsm_packed_kind kind,
                                         const bsm_ivalue **slots);

/* Whether a class of that name ("__torch__.torch.classes.quantized.
 * LinearPackedParamsBase") holds packed parameters. */
bool bsm_is_packed_class(bsm_str name);
/* An object from the state that PyTorch writes for the class, of any version.
 */
BSM_NODISCARD bsm_status bsm_packed_from_state(bsm_arena *arena, bsm_str name,
                                               const bsm_ivalue *state,
                                               bsm_ivalue *out);

#endif /* BSM_QUANTIZED_PACKED_PARAMS_H_ */
