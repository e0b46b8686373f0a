/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX graphs of modules. */
#include "base/allocate.h"
#include "base/options.h"
#include "bessemer/onnx.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/compile_options.h"
#include "compiler/pipeline/graph_to_plan.h"
#include "onnx/onnx_emitter.h"

struct bsm_onnx {
  const bsm_allocator *allocator;
  bsm_compilation_record record; /* whose arena has the network and the graph */
  bsm_onnx_graph graph;
};

static bsm_status make_graph(bsm_module *module,
                             const bsm_compile_options *options,
                             bsm_onnx *onnx) {
  bsm_ready ready;
  bsm_network *net;
  BSM_TRY(bsm_ready_compilation(module, options, &onnx->record, &ready));
  if (!ready.divided.is_plan) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "ONNX is written of models with fixed shapes that do not "
                    "branch on data");
  }
  BSM_TRY(bsm_graph_to_network(&ready.c, ready.lowered->graph,
                               ready.lowered->input_names, NULL, &net));
  /* Outputs are named by their places in the result. */
  for (size_t i = 0; i < net->output_names.len; i++) {
    net->output_names.items[i] = ready.io.output_names[i];
  }
  bsm_status status = bsm_onnx_from_network(net, module->name,
                                            &onnx->record.arena, &onnx->graph);
  bsm_network_release(net);
  return status;
}

static bsm_status make(bsm_module *module, const bsm_compile_options *given,
                       bsm_onnx **out) {
  bsm_compile_options options;
  BSM_TRY(bsm_compile_options_resolve(module, given, &options));
  /* What is written does not depend on where it would run. */
  options.target = NULL;
  options.precisions = 0;
  options.calibration = NULL;
  bsm_onnx *onnx = bsm_allocate(options.allocator, sizeof(*onnx), 16);
  BSM_TRY_ALLOC(onnx);
  *onnx = (bsm_onnx){.allocator = options.allocator};
  bsm_compilation_record_init(&onnx->record, &module->guard.allocator,
                              options.logger);
  bsm_status status =
      bsm_module_status(module, make_graph(module, &options, onnx));
  if (status) {
    bsm_onnx_destroy(onnx);
    return bsm_status_note(status, "while writing %s as ONNX", module->name);
  }
  *out = onnx;
  return BSM_OK;
}

bsm_status bsm_module_onnx(bsm_module *module,
                           const bsm_compile_options *options, bsm_onnx **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(module);
  bsm_module_lock(module);
  bsm_status status = make(module, options, out);
  bsm_module_unlock(module);
  return status;
}

const bsm_onnx_graph *bsm_onnx_get_graph(const bsm_onnx *onnx) {
  return onnx ? &onnx->graph : NULL;
}

void bsm_onnx_destroy(bsm_onnx *onnx) {
  if (!onnx) return;
  bsm_compilation_record_destroy(&onnx->record);
  bsm_deallocate(onnx->allocator, onnx);
}
