/* SPDX-License-Identifier: Apache-2.0 */
/* The lowering pipeline: runs the passes in order. docs/lowering.md says why
 * this order. */
#include "ir/memory_sets.h"
#include "lowering/lowering.h"
#include "lowering/pass.h"
#include "lowering/specialize/specialize.h"

typedef struct pass {
  const char *name;
  bsm_pass_fn run;
  bsm_pass_graphs graphs;
} pass;

#define ROW(name, function, graphs) \
  {#name, bsm_lower_##function, BSM_PASS_##graphs},
static const pass passes[] = {BSM_LOWERING_PASSES(ROW)};
#undef ROW
#define PASS_COUNT (sizeof(passes) / sizeof(passes[0]))

#define NAME(name, function, graphs) #name,
static const char *const pass_names[] = {"input", "specialize",
                                         BSM_LOWERING_PASSES(NAME) NULL};
#undef NAME

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

/* Runs the passes for graphs of this kind. */
static bsm_status run_passes(int graphs, const bsm_lowering_options *options,
                             bsm_graph *graph) {
  for (size_t i = 0; i < PASS_COUNT; i++) {
    if (!((int)passes[i].graphs & graphs)) continue;
    BSM_TRY_NOTE(passes[i].run(graph, options->aten), "in the lowering pass %s",
                 passes[i].name);
    BSM_TRY(after(options, passes[i].name, graph));
  }
  return BSM_OK;
}

/* Whether the graph still writes to anything. */
static bsm_status still_literal(const bsm_graph *graph,
                                const bsm_aten_library *aten, bool *out) {
  bsm_arena scratch;
  bsm_memory_sets *sets = NULL;
  bsm_arena_init(&scratch, graph->cx->arena->allocator);
  bsm_status st = bsm_memory_sets_of(graph, aten, &scratch, &sets);
  if (!st) *out = bsm_memory_any_written(sets);
  bsm_arena_destroy(&scratch);
  return st;
}

/* A method that shares memory in ways that cannot be resolved is specialised
 * again, literally, so that it keeps its writes. */
static bsm_status specialize(bsm_graph *method, bsm_object *root,
                             const bsm_lowering_input *inputs,
                             size_t input_count,
                             const bsm_lowering_options *options,
                             bsm_lowered *out) {
  bsm_status st = bsm_specialize(method, root, inputs, input_count,
                                 options->aten, false, out);
  if (bsm_status_code(st) != BSM_UNSUPPORTED) {
    return st;
  }
  bsm_status again = bsm_specialize(method, root, inputs, input_count,
                                    options->aten, true, out);
  if (bsm_status_code(again) == BSM_OUT_OF_MEMORY || !again) {
    bsm_log(method->cx->logger, BSM_LOG_LEVEL_DEBUG,
            "lowered with its writes, as it is: %s", bsm_status_message(st));
    bsm_status_free(st);
    return again;
  }
  bsm_status_free(again);
  return st;
}

bsm_status bsm_lower(bsm_graph *method, bsm_object *root,
                     const bsm_lowering_input *inputs, size_t input_count,
                     const bsm_lowering_options *options, bsm_lowered *out) {
  *out = (bsm_lowered){0};
  BSM_TRY(after(options, "input", method));
  BSM_TRY(specialize(method, root, inputs, input_count, options, out));
  BSM_TRY(after(options, "specialize", out->graph));
  if (out->literal) {
    BSM_TRY(run_passes(BSM_PASS_WRITING, options, out->graph));
    BSM_TRY(still_literal(out->graph, options->aten, &out->literal));
  }
  const int flat =
      BSM_PASS_FLAT | (options->bounds_sizes ? BSM_PASS_BOUNDED : 0);
  return run_passes(out->literal ? BSM_PASS_LITERAL : flat, options,
                    out->graph);
}
