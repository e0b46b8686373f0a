/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in with a converter: the operator demo::scale_shift(x, scale, shift),
 * which multiplies and adds a number for each channel, becomes the network's
 * own scale layer. So it has no code that runs: the builder fuses it into the
 * convolution before it. docs/walkthroughs.md and docs/writing-converters.md.
 *
 *   cc -shared -fPIC -o scale_shift.so scale_shift.c
 *   bessemer compile --plugin ./scale_shift.so model.ts -o model.bsm */
#include "bessemer/conversion.h"
#include "bessemer/plugin.h"

#define SCHEMA                                                  \
  "demo::scale_shift(Tensor x, Tensor scale, Tensor shift) -> " \
  "Tensor"

enum { X, SCALE, SHIFT }; /* the arguments, as in the schema */

/* Lowering asks for the result's dims before anything is converted. */
static bsm_status result_shape(bsm_call *call) {
  const bsm_array *x = bsm_call_tensor(call, X);
  const bsm_array *scale = bsm_call_tensor(call, SCALE);
  const bsm_array *shift = bsm_call_tensor(call, SHIFT);
  BSM_CHECK(x->dims.rank >= 2, "scale_shift: x has no channels");
  BSM_CHECK(scale->dims.rank == 1 && scale->dims.d[0] == x->dims.d[1] &&
                shift->dims.rank == 1 && shift->dims.d[0] == x->dims.d[1],
            "scale_shift wants a scale and a shift for each channel");
  return bsm_call_set_output(call, 0, x->dtype, x->dims);
}

static bsm_status convert_scale_shift(bsm_conversion_ctx *ctx,
                                      const bsm_node *node,
                                      const bsm_args *args) {
  const bsm_weights *scale =
      bsm_weights_of_tensor(ctx, bsm_arg_unwrap_to_tensor(args, SCALE));
  const bsm_weights *shift =
      bsm_weights_of_tensor(ctx, bsm_arg_unwrap_to_tensor(args, SHIFT));
  bsm_layer *layer = bsm_network_add_scale(ctx->net, bsm_arg_itensor(args, X),
                                           shift, scale, NULL);
  BSM_CHECK(layer, "demo::scale_shift takes constant scales and shifts");
  bsm_layer_set_name(layer, bsm_node_info(ctx, node));
  bsm_associate_value_and_tensor(ctx, bsm_node_output(node, 0),
                                 bsm_layer_output(layer, 0));
  return BSM_OK;
}

/* Without `run` it needs the converter. */
static const bsm_layer_plugin layers[] = {{.name = "demo::scale_shift",
                                           .version = 1,
                                           .schema = SCHEMA,
                                           .shape = result_shape}};
static const bsm_conversion_pattern patterns[] = {
    {SCHEMA, convert_scale_shift, 0}};

static const bsm_plugin plugin = {.abi = BSM_PLUGIN_ABI,
                                  .name = "demo-converters",
                                  .version = "1.0",
                                  .layers = layers,
                                  .layer_count = 1,
                                  .patterns = patterns,
                                  .pattern_count = 1};

BSM_API const bsm_plugin *bsm_plugin_entry(void);
const bsm_plugin *bsm_plugin_entry(void) {
  return &plugin;
}
