/* SPDX-License-Identifier: Apache-2.0 */
/* The lowering pipeline, in order. docs/lowering.md tells why this order. */
#include "ir/memory_sets.h"
#include "lowering/lowering.h"
#include "lowering/pass.h"
#include "lowering/specialize/specialize.h"

typedef struct pass {
  const char *name;
  bsm_pass_fn run;
} pass;

/* After the specialiser, in order: X(name, function). */
#define PASSES(X)                                             \
  X("eliminate_dead_code", bsm_lower_eliminate_dead_code)     \
  X("branch_to_where", bsm_lower_branch_to_where)             \
  X("tensorize_scalars", bsm_lower_tensorize_scalars)         \
  X("decompose_transformer", bsm_lower_decompose_transformer) \
  X("decompose_einsum", bsm_lower_decompose_einsum)           \
  X("share_matrices", bsm_lower_share_matrices)               \
  X("fold_constants", bsm_lower_fold_constants)               \
  X("peephole", bsm_lower_peephole)                           \
  X("eliminate_common_subexpressions",                        \
    bsm_lower_eliminate_common_subexpressions)                \
  X("remove_dead_code", bsm_lower_eliminate_dead_code)

/* Before them, only when the graph is literal; if it stays so, instead. */
#define LITERAL_PASSES(X)                       \
  X("resolve_writes", bsm_lower_resolve_writes) \
  X("own_memory", bsm_lower_own_memory)

#define ROW(name, function) {name, function},
#define NAME(name, function) name,

static const pass passes[] = {PASSES(ROW)};
#define PASS_COUNT (sizeof(passes) / sizeof(passes[0]))

static const pass literal_passes[] = {LITERAL_PASSES(ROW)};
#define LITERAL_COUNT (sizeof(literal_passes) / sizeof(literal_passes[0]))

/* These may run on it nevertheless: they take single nodes apart. */
static const pass literal_rest[] = {
    {"decompose_transformer", bsm_lower_decompose_transformer},
    {"decompose_einsum", bsm_lower_decompose_einsum},
    {"eliminate_dead_code", bsm_lower_eliminate_dead_code},
};
#define REST_COUNT (sizeof(literal_rest) / sizeof(literal_rest[0]))

static const char *const pass_names[] = {
    "input", "specialize", PASSES(NAME) LITERAL_PASSES(NAME) NULL};

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
  for (size_t i = 0; i < LITERAL_COUNT; i++) {
    if (strcmp(literal_passes[i].name, name) == 0) {
      return literal_passes[i].run(graph, aten);
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

static bsm_status run_passes(const pass *list, size_t count,
                             const bsm_lowering_options *options,
                             bsm_graph *graph) {
  for (size_t i = 0; i < count; i++) {
    BSM_TRY_NOTE(list[i].run(graph, options->aten), "in the lowering pass %s",
                 list[i].name);
    BSM_TRY(after(options, list[i].name, graph));
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

/* A method that shares memory in ways that cannot be resolved is run again, to
 * keep its writes. */
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
    BSM_TRY(run_passes(literal_passes, LITERAL_COUNT, options, out->graph));
    BSM_TRY(still_literal(out->graph, options->aten, &out->literal));
  }
  return out->literal
             ? run_passes(literal_rest, REST_COUNT, options, out->graph)
             : run_passes(passes, PASS_COUNT, options, out->graph);
}
