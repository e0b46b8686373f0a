/* SPDX-License-Identifier: Apache-2.0 */
/* Padding: a slice whose window leaves the input. Pads are pairs (before,
 * after) from the last dimension backwards; negative ones crop. */
#include <string.h>

#include "conversion/emit.h"

static bsm_itensor *pad(bsm_conversion_ctx *ctx, bsm_itensor *x,
                        const int64_t *pads, size_t count,
                        bsm_padding_mode mode, double value) {
  if (!x || !pads) return NULL;
  if (count % 2 != 0 || count / 2 > (size_t)bsm_rank(x)) {
    return bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                         "Length of pad should be even and no more than twice "
                         "the number of dimensions of the input: %zu for dims "
                         "%s",
                         count, bsm_dims_str(x->dims));
  }
  bsm_dims start = x->dims, size = x->dims, stride = x->dims;
  bool any = false;
  for (int32_t i = 0; i < bsm_rank(x); i++) {
    start.d[i] = 0;
    stride.d[i] = 1;
  }
  for (size_t i = 0; i < count / 2; i++) {
    int32_t axis = bsm_rank(x) - 1 - (int32_t)i;
    int64_t before = pads[2 * i], after = pads[2 * i + 1];
    const int64_t limit = (int64_t)1 << 40;
    if (before > limit || before < -limit || after > limit || after < -limit ||
        size.d[axis] + before + after < 0) {
      return bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                           "The input size %lld, plus padding %lld and %lld, "
                           "resulted in a negative output size",
                           (long long)size.d[axis], (long long)before,
                           (long long)after);
    }
    if (mode == BSM_PADDING_CIRCULAR && (before < 0 || after < 0)) {
      return bsm_emit_fail(ctx, BSM_UNSUPPORTED, "circular padding that crops");
    }
    start.d[axis] = -before;
    size.d[axis] += before + after;
    any |= before != 0 || after != 0;
  }
  if (!any) return x;
  bsm_layer *layer = bsm_network_add_slice(ctx->net, x, start, size, stride);
  bsm_slice_set_mode(layer, mode, value);
  return bsm_emit(ctx, layer);
}

static bsm_status convert_constant_pad(bsm_conversion_ctx *ctx,
                                       const bsm_node *node,
                                       const bsm_args *args) {
  enum { SELF, PAD, VALUE };
  size_t count;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  const int64_t *pads = bsm_arg_unwrap_to_int_list(args, PAD, &count);
  return bsm_emit_output(ctx, node, 0,
                         pad(ctx, x, pads, count, BSM_PADDING_CONSTANT,
                             bsm_arg_unwrap_to_double(args, VALUE)));
}

/* reflection_padNd, replication_padNd; `variant` is the mode. */
static bsm_status convert_mode_pad(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { SELF, PAD };
  size_t count;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  const int64_t *pads = bsm_arg_unwrap_to_int_list(args, PAD, &count);
  return bsm_emit_output(
      ctx, node, 0,
      pad(ctx, x, pads, count, (bsm_padding_mode)bsm_args_variant(args), 0));
}

static bsm_status convert_pad(bsm_conversion_ctx *ctx, const bsm_node *node,
                              const bsm_args *args) {
  enum { SELF, PAD, MODE, VALUE };
  static const char *const modes[] = {"constant", "reflect", "replicate",
                                      "circular"};
  size_t count;
  int mode = -1;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  const int64_t *pads = bsm_arg_unwrap_to_int_list(args, PAD, &count);
  const char *name = bsm_arg_unwrap_to_string(args, MODE);
  for (int i = 0; i < 4; i++) {
    if (strcmp(name, modes[i]) == 0) mode = i;
  }
  BSM_CHECK(mode >= 0, "Unrecognised padding mode %s", name);
  return bsm_emit_output(ctx, node, 0,
                         pad(ctx, x, pads, count, (bsm_padding_mode)mode,
                             bsm_arg_unwrap_to_double_or(args, VALUE, 0)));
}

#define PAD_N(n, pads)                                                         \
  {"aten::reflection_pad" n "d(Tensor self, int[" pads "] padding) -> Tensor", \
   convert_mode_pad, BSM_PADDING_REFLECT},                                     \
  {                                                                            \
    "aten::replication_pad" n "d(Tensor self, int[" pads                       \
    "] padding) -> Tensor",                                                    \
        convert_mode_pad, BSM_PADDING_REPLICATE                                \
  }

static const bsm_conversion_pattern patterns[] = {
    {"aten::constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor",
     convert_constant_pad, 0},
    {"aten::pad(Tensor self, int[] pad, str mode=\"constant\", float? "
     "value=None) -> Tensor",
     convert_pad, 0},
    {"aten::_pad_circular(Tensor self, int[] pad) -> Tensor", convert_mode_pad,
     BSM_PADDING_CIRCULAR},
    PAD_N("1", "2"),
    PAD_N("2", "4"),
    PAD_N("3", "6"),
};
BSM_CONVERTER_TABLE(padding, patterns);
