/* SPDX-License-Identifier: Apache-2.0 */
/* IR text: whatever is accepted is a sound graph, and prints as a text that
 * reads back and prints the same. */
#include <stdlib.h>

#include "fuzz/mutators/mutator.h"
#include "fuzz/seed.h"
#include "ir/graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(fuzz_mutate_text, 0);

static bsm_text print(bsm_arena *arena, const bsm_graph *graph) {
  const bsm_print_options options = {.sources = true};
  bsm_text text;
  bsm_text_init(&text, arena);
  bsm_graph_print(&text, graph, &options);
  if (text.failed) abort();
  return text;
}

/* The graph of a text that must be one. */
static bsm_graph *reread(bsm_ir_ctx *cx, const bsm_text *text) {
  bsm_graph *graph;
  if (bsm_graph_parse(cx, (bsm_str){text->data, text->len}, "t", &graph)) {
    abort();
  }
  return graph;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bsm_limits limits = BSM_LIMITS_INIT;
  limits.max_nodes = 10000;
  limits.max_depth = 50;
  bsm_arena arena;
  bsm_ir_ctx *cx;
  bsm_graph *graph;
  bsm_arena_init(&arena, NULL);
  if (bsm_ir_ctx_create(&arena, &limits, NULL, &cx)) abort();
  bsm_status status =
      bsm_graph_parse(cx, (bsm_str){(const char *)data, size}, "t", &graph);
  if (!status) {
    /* The first reading may complete what was left out: its text is whole. */
    bsm_text once = print(&arena, graph);
    bsm_text twice = print(&arena, reread(cx, &once));
    bsm_text thrice = print(&arena, reread(cx, &twice));
    if (twice.len != thrice.len ||
        memcmp(twice.data, thrice.data, twice.len) != 0) {
      abort();
    }
  }
  fuzz_done(status);
  bsm_arena_destroy(&arena);
  return 0;
}
