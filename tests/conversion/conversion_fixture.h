/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of conversion share: a context, a registry, graphs from text
 * with constants bound to inputs, and a logger that remembers. */
#ifndef BSM_TESTS_CONVERSION_FIXTURE_H_
#define BSM_TESTS_CONVERSION_FIXTURE_H_

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conversion/convert.h"

typedef struct fixture {
  bsm_arena arena;
  bsm_ir_ctx *cx;
  bsm_aten_library *aten;
  bsm_converter_registry *registry;
  bsm_text log; /* "LEVEL message" lines */
  bsm_logger logger;
} fixture;

#define assert_ok(expr)                             \
  do {                                              \
    bsm_status s_ = (expr);                         \
    if (s_) fail_msg("%s", bsm_status_message(s_)); \
  } while (0)

/* Fails with this code and a message that has `piece` in it. */
#define assert_fails(expr, want_code, piece)                           \
  do {                                                                 \
    bsm_status s_ = (expr);                                            \
    assert_non_null(s_);                                               \
    if (!strstr(bsm_status_message(s_), (piece))) {                    \
      fail_msg("'%s' is not in: %s", (piece), bsm_status_message(s_)); \
    }                                                                  \
    assert_int_equal(bsm_status_code(s_), (want_code));                \
    bsm_status_free(s_);                                               \
  } while (0)

static inline void remember(void *user, bsm_log_level level,
                            const char *message) {
  bsm_text_printf(user, "%d %s\n", (int)level, message);
}

static inline int fixture_setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  bsm_arena_init(&f->arena, NULL);
  bsm_text_init(&f->log, &f->arena);
  f->logger = (bsm_logger){BSM_LOG_LEVEL_DEBUG, remember, &f->log};
  assert_ok(bsm_ir_ctx_create(&f->arena, NULL, NULL, &f->cx));
  assert_ok(bsm_aten_library_create(&f->arena, &f->aten));
  assert_ok(bsm_converter_registry_create(&f->arena, f->cx->types, &f->logger,
                                          &f->registry));
  *state = f;
  return 0;
}

static inline int fixture_teardown(void **state) {
  fixture *f = *state;
  bsm_arena_destroy(&f->arena);
  free(f);
  return 0;
}

/* A whole file, NUL-terminated, in the fixture's arena. */
static inline char *fixture_file(fixture *f, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("cannot open %s", path);
  fseek(file, 0, SEEK_END);
  size_t size = (size_t)ftell(file);
  rewind(file);
  char *data = bsm_arena_alloc(&f->arena, size + 1, 1);
  assert_non_null(data);
  assert_int_equal(fread(data, 1, size, file), size);
  fclose(file);
  return data;
}

static inline bsm_status parse_graph(fixture *f, const char *text,
                                     bsm_graph **out) {
  BSM_TRY(bsm_graph_parse(f->cx, bsm_str_of(text), "test.ir", out));
  return bsm_graph_verify(*out);
}

/* Input `index` of the graph becomes a constant. */
static inline bsm_status bind_constant(bsm_graph *graph, size_t index,
                                       bsm_tensor *tensor) {
  bsm_node *params = graph->block->params, *constant;
  bsm_value *input = bsm_node_out(params, index);
  BSM_TRY(
      bsm_node_create_constant(graph, bsm_iv_tensor(tensor), NULL, &constant));
  if (graph->block->first) {
    bsm_node_insert_before(constant, graph->block->first);
  } else {
    bsm_node_append(graph->block, constant);
  }
  BSM_TRY(bsm_value_replace_all_uses(input, bsm_node_out(constant, 0)));
  bsm_node_remove_output(params, index);
  return BSM_OK;
}

static inline bsm_status convert_graph(fixture *f, const bsm_graph *graph,
                                       bsm_network **out) {
  BSM_TRY(bsm_convert_graph(graph, f->aten, f->registry, &f->arena, &f->logger,
                            NULL, out));
  return bsm_network_verify(*out);
}

static inline bsm_status convert_text(fixture *f, const char *text,
                                      bsm_network **out) {
  bsm_graph *graph;
  *out = NULL;
  BSM_TRY(parse_graph(f, text, &graph));
  return convert_graph(f, graph, out);
}

/* The dump of the network that a graph's text converts to. */
static inline const char *dump_of(fixture *f, const char *text) {
  bsm_network *net;
  bsm_text dump;
  assert_ok(convert_text(f, text, &net));
  bsm_text_init(&dump, &f->arena);
  bsm_network_print(&dump, net);
  assert_false(dump.failed);
  return dump.data;
}

#endif /* BSM_TESTS_CONVERSION_FIXTURE_H_ */
