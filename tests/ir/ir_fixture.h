/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the IR share: a context in an arena, and test data. */
#ifndef BSM_TESTS_IR_FIXTURE_H_
#define BSM_TESTS_IR_FIXTURE_H_

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <stdlib.h>

#include "ir/graph.h"

typedef struct fixture {
  bsm_arena arena;
  bsm_ir_ctx *cx;
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

static inline int fixture_setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  bsm_arena_init(&f->arena, NULL);
  assert_ok(bsm_ir_ctx_create(&f->arena, NULL, NULL, &f->cx));
  *state = f;
  return 0;
}

static inline int fixture_teardown(void **state) {
  fixture *f = *state;
  bsm_arena_destroy(&f->arena);
  free(f);
  return 0;
}

/* tests/data/ir/<name>, NUL-terminated, in the fixture's arena. */
static inline char *fixture_read(fixture *f, const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/ir/%s", BSM_TEST_DATA_DIR, name);
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

static inline const bsm_type *type_of(fixture *f, const char *text) {
  const bsm_type *type;
  assert_ok(bsm_type_parse(f->cx->types, bsm_str_of(text), &type));
  return type;
}

static inline bsm_graph *graph_of(fixture *f, const char *text) {
  bsm_graph *graph;
  assert_ok(bsm_graph_parse(f->cx, bsm_str_of(text), "test", &graph));
  return graph;
}

static inline const char *text_of(fixture *f, const bsm_graph *graph) {
  bsm_text text;
  bsm_text_init(&text, &f->arena);
  bsm_graph_print(&text, graph, NULL);
  assert_false(text.failed);
  return text.data;
}

#define fixture_test(name) \
  cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

#endif /* BSM_TESTS_IR_FIXTURE_H_ */
