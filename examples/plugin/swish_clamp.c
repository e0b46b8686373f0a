/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in: the operator demo::swish_clamp, min(x * sigmoid(x), limit), which
 * models call as torch.ops.demo.swish_clamp(x, 4.0).
 *
 *   cc -shared -fPIC -o swish_clamp.so swish_clamp.c -lm
 *   bessemer compile --plugin ./swish_clamp.so model.ts -o model.bsm
 *   bessemer run --plugin ./swish_clamp.so model.bsm --input x.npy */
#include <math.h>

#include "bessemer/plugin.h"

enum { X, LIMIT }; /* the arguments, as in the schema */

/* The result is like x. */
static bsm_status swish_clamp_shape(bsm_call *call) {
  const bsm_array *x = bsm_call_tensor(call, X);
  BSM_CHECK(x && x->dtype == BSM_DTYPE_FLOAT, "swish_clamp takes float32");
  BSM_CHECK(bsm_call_double(call, LIMIT) > 0, "swish_clamp: limit <= 0");
  return bsm_call_set_output(call, 0, x->dtype, x->dims);
}

/* What one thread computes: a piece of the elements. */
typedef struct swish_work {
  const float *x;
  float *y, limit;
  size_t count;
} swish_work;

enum { PIECE = 16384 };

static void swish_piece(void *arg, size_t index) {
  const swish_work *w = arg;
  const size_t end =
      (index + 1) * PIECE < w->count ? (index + 1) * PIECE : w->count;
  for (size_t i = index * PIECE; i < end; i++) {
    w->y[i] = fminf(w->x[i] / (1 + expf(-w->x[i])), w->limit);
  }
}

static bsm_status swish_clamp_run(bsm_call *call) {
  const bsm_array *x = bsm_call_tensor(call, X);
  swish_work w = {x->data, bsm_call_output(call, 0)->data,
                  (float)bsm_call_double(call, LIMIT), 1};
  for (int32_t i = 0; i < x->dims.rank; i++) w.count *= (size_t)x->dims.d[i];
  bsm_call_parallel(call, (w.count + PIECE - 1) / PIECE, swish_piece, &w);
  return BSM_OK;
}

static const bsm_layer_plugin layers[] = {
    {.name = "demo::swish_clamp",
     .version = 1,
     .schema = "demo::swish_clamp(Tensor x, float limit=6.0) -> Tensor",
     .shape = swish_clamp_shape,
     .run = swish_clamp_run}};

static const bsm_plugin plugin = {.abi = BSM_PLUGIN_ABI,
                                  .name = "demo",
                                  .version = "1.0",
                                  .layers = layers,
                                  .layer_count = 1};

BSM_API const bsm_plugin *bsm_plugin_entry(void);
const bsm_plugin *bsm_plugin_entry(void) {
  return &plugin;
}
