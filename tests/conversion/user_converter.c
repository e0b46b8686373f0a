/* SPDX-License-Identifier: Apache-2.0 */
/* The converter of docs/writing-converters.md, as a user writes it: this file
 * sees public headers only. A test compares the text between the marks with
 * the guide's. */
#include "tests/conversion/user_converter.h"

/* begin example */
#include "bessemer/conversion.h"

/* aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor,
 * as a clip activation. */
static bsm_status convert_hardtanh(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { SELF, MIN_VAL, MAX_VAL };
  bsm_layer *clip = bsm_network_add_activation(
      ctx->net, bsm_arg_itensor(args, SELF), BSM_ACTIVATION_CLIP);
  BSM_CHECK(clip, "unable to create the layer for aten::hardtanh");
  bsm_activation_set_alpha(clip, bsm_arg_unwrap_to_double(args, MIN_VAL));
  bsm_activation_set_beta(clip, bsm_arg_unwrap_to_double(args, MAX_VAL));
  bsm_layer_set_name(clip, bsm_node_info(ctx, node));
  bsm_itensor *out = bsm_associate_value_and_tensor(
      ctx, bsm_node_output(node, 0), bsm_layer_output(clip, 0));
  BSM_LOG_DEBUG("output shape: %s", bsm_dims_str(bsm_itensor_dims(out)));
  return BSM_OK;
}

const bsm_conversion_pattern my_patterns[] = {
    {"aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> "
     "Tensor",
     convert_hardtanh, 0},
};
const size_t my_pattern_count = sizeof(my_patterns) / sizeof(my_patterns[0]);
/* end example */
