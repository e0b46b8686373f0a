/* SPDX-License-Identifier: Apache-2.0 */
/* Building and running trial engines. */
#include "compiler/calibration/trial_engine.h"

#include <string.h>

#include "compiler/pipeline/graph_to_plan.h"
#include "quantization/quantize_network.h"
#include "runtime/engine/engine.h"

bsm_itensor *bsm_find_tensor(const bsm_network *net, const char *name) {
  for (size_t i = 0; i < net->layers.len; i++) {
    const bsm_layer *layer = net->layers.items[i];
    for (size_t k = 0; k < layer->outputs.len && !layer->removed; k++) {
      if (strcmp(layer->outputs.items[k]->name, name) == 0) {
        return layer->outputs.items[k];
      }
    }
  }
  return NULL;
}

static bsm_status make_plan(const bsm_trial_source *source,
                            const bsm_compilation *c,
                            const bsm_trial_options *options, bsm_network *net,
                            bsm_arena *arena, bsm_plan **out) {
  const bsm_quantize_options quantizing = {.calibration = source->calibration,
                                           .target = c->target,
                                           .precision = source->precision,
                                           .policy = c->precision,
                                           .takes = options->takes,
                                           .user = options->takes_user};
  size_t count;
  BSM_TRY(bsm_prepare_quantization(net, c->target,
                                   source->calibration->equalized, NULL));
  if (options->mark) BSM_TRY(options->mark(options->mark_user, net));
  if (options->quantize) {
    BSM_TRY(bsm_quantize_network(net, &quantizing, &count));
  }
  bsm_build_options building = bsm_building_options(c);
  building.no_timing = true;
  building.timing_cache = NULL;
  building.precision = NULL;
  building.logger = NULL;
  return bsm_build(net, &building, arena, out);
}

bsm_status bsm_trial_build(const bsm_trial_source *source,
                           const bsm_trial_options *options,
                           bsm_trial_engine *out) {
  bsm_module *module = source->ready->c.module;
  bsm_compilation c = source->ready->c; /* with memory of its own */
  bsm_arena scratch, arena;
  bsm_network *net = NULL;
  bsm_plan *plan = NULL;
  *out = (bsm_trial_engine){.threads = c.options->threads};
  bsm_arena_init(&scratch, &module->guard.allocator);
  bsm_arena_init(&arena, c.options->allocator);
  bsm_arena_set_guard(&arena, &module->guard);
  c.arena = &scratch;
  bsm_status status =
      bsm_graph_to_network(&c, source->ready->lowered->graph,
                           source->ready->lowered->input_names, NULL, &net);
  if (!status) {
    status = make_plan(source, &c, options, net, &arena, &plan);
    bsm_network_release(net);
  }
  if (!status) {
    status = bsm_engine_adopt(&arena, plan, c.options->allocator,
                              module->plugins, &out->engine);
  }
  bsm_arena_destroy(&arena);
  bsm_arena_destroy(&scratch);
  return status;
}

bsm_status bsm_trial_run(bsm_trial_engine *engine, const bsm_array *arrays,
                         size_t count) {
  if (!engine->context) {
    bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
    options.threads = engine->threads;
    BSM_TRY(bsm_context_create(engine->engine, &options, &engine->context));
  }
  return bsm_context_run_keep(engine->context, arrays, count);
}

void bsm_trial_close(bsm_trial_engine *engine) {
  bsm_context_destroy(engine->context);
  bsm_engine_destroy(engine->engine);
  engine->context = NULL;
  engine->engine = NULL;
}
