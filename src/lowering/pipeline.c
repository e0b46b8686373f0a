/* SPDX-License-Identifier: Apache-2.0 */
/* The lowering pipeline, in order. docs/lowering.md tells why this order. */
#include "lowering/lowering.h"
#include "lowering/pass.h"
#include "lowering/specialize/specialize.h"

typedef struct pass {
  const char *name;
  bsm_pass_fn run;
} pass;

/* Runs after the specialiser. */
static const pass passes[] = {
    {"eliminate_dead_code", bsm_lower_eliminate_dead_code},
    {"branch_to_where", bsm_lower_branch_to_where},
    {"tensorize_scalars", bsm_lower_tensorize_scalars},
    {"decompose_transformer", bsm_lower_decompose_transformer},
    {"decompose_einsum", bsm_lower_decompose_einsum},
    {"fold_constants", bsm_lower_fold_constants},
    {"peephole", bsm_lower_peephole},
    {"eliminate_common_subexpressions",
     bsm_lower_eliminate_common_subexpressions},
    {"remove_dead_code", bsm_lower_eliminate_dead_code},
};
#define PASS_COUNT (sizeof(passes) / sizeof(passes[0]))

static const char *const pass_names[] = {
    "input",
    "specialize",
    "eliminate_dead_code",
    "branch_to_where",
    "tensorize_scalars",
    "decompose_transformer",
    "decompose_einsum",
    "fold_constants",
    "peephole",
    "eliminate_common_subexpressions",
    "remove_dead_code",
    NULL,
};
_Static_assert(sizeof(pass_names) / sizeof(pass_names[0]) == PASS_COUNT + 3,
               "pass_names lists input, specialize and every pass");

const char *const *bsm_lowering_pass_names(void) {
  return pass_names;
}

bsm_status bsm_lower_run_pass(const char *name, bsm_graph *graph,
                              const bsm_aten_library *aten) {
  for (size_t i = 0; i < PASS_COUNT; i++) {
    if (strcmp(passes[i].name, name) == 0) {
      return passes[i].run(graph, aten);
    }
  }
  return BSM_FAIL(BSM_NOT_FOUND, "there is no lowering pass %s", name);
}

static bsm_status after(const bsm_lowering_options *options, const char *name,
                        const bsm_graph *graph) {
#ifndef NDEBUG
  BSM_TRY_NOTE(bsm_graph_verify(graph), "after the lowering pass %s", name);
#endif
  return options->after_pass ? options->after_pass(options->user, name, graph)
                             : BSM_OK;
}

bsm_status bsm_lower(bsm_graph *method, bsm_object *root,
                     const bsm_lowering_input *inputs, size_t input_count,
                     const bsm_lowering_options *options, bsm_lowered *out) {
  *out = (bsm_lowered){0};
  BSM_TRY(after(options, "input", method));
  BSM_TRY(
      bsm_specialize(method, root, inputs, input_count, options->aten, out));
  BSM_TRY(after(options, "specialize", out->graph));
  for (size_t i = 0; i < PASS_COUNT; i++) {
    BSM_TRY_NOTE(passes[i].run(out->graph, options->aten),
                 "in the lowering pass %s", passes[i].name);
    BSM_TRY(after(options, passes[i].name, out->graph));
  }
  return BSM_OK;
}
