/* SPDX-License-Identifier: Apache-2.0 */
/* Passes on IR text: data/lowering/golden/<pass>.ir holds cases
 *
 *   === what it shows
 *   graph(...):            the input
 *   ---
 *   graph(...):            what the pass makes of it, or "error: CODE: text"
 *
 * "specialize" is run on the types of the graph's inputs; "pipeline" is all of
 * lowering. `lowering_golden_test --update` writes what it gets: look at the
 * difference before it is committed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "lowering/lowering.h"
#include "lowering/pass.h"
#include "lowering/specialize/specialize.h"

static const char *const files[] = {
    "specialize",          "specialize_literally",
    "resolve_writes",      "own_memory",
    "eliminate_dead_code", "eliminate_common_subexpressions",
    "fold_constants",      "peephole",
    "bound_sizes",         "share_matrices",
    "branch_to_where",     "decompose_transformer",
    "decompose_einsum",    "tensorize_scalars",
    "split_complex",
};

static bool update;

/* The method's inputs by their types: tensors are meta. */
static bsm_status inputs_of(bsm_arena *arena, const bsm_graph *graph,
                            bsm_lowering_input *inputs, size_t *count) {
  const bsm_node *params = graph->block->params;
  *count = params->outputs.len;
  for (size_t i = 0; i < *count; i++) {
    const bsm_value *value = bsm_node_out(params, i);
    bool known = false;
    inputs[i].name = value->debug_name;
    BSM_TRY(bsm_infer_argument(value, arena, &inputs[i].value, &known));
    if (!known) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "an input without a shape");
    }
  }
  return BSM_OK;
}

static bsm_status run_pass(const char *pass, bsm_arena *arena, bsm_str input,
                           bsm_text *out) {
  bsm_ir_ctx *cx = NULL;
  bsm_graph *graph = NULL;
  bsm_aten_library *aten = NULL;
  BSM_TRY(bsm_ir_ctx_create(arena, NULL, NULL, &cx));
  BSM_TRY(bsm_aten_library_create(arena, &aten));
  BSM_TRY(bsm_graph_parse(cx, input, "case", &graph));
  const bool literal = strcmp(pass, "specialize_literally") == 0;
  if (literal || strcmp(pass, "specialize") == 0) {
    bsm_lowering_input inputs[16] = {{0}};
    size_t count = 0;
    bsm_lowered lowered;
    BSM_TRY(inputs_of(arena, graph, inputs, &count));
    BSM_TRY(
        bsm_specialize(graph, NULL, inputs, count, aten, literal, &lowered));
    BSM_TRY(bsm_lower_run_pass("eliminate_dead_code", lowered.graph, aten));
    graph = lowered.graph;
  } else {
    BSM_TRY(bsm_lower_run_pass(pass, graph, aten));
  }
  BSM_TRY(bsm_graph_verify(graph));
  bsm_graph_print(out, graph, NULL);
  return BSM_OK;
}

static bsm_str trim(bsm_str s) {
  while (s.len && (s.data[0] == '\n' || s.data[0] == ' ')) {
    s.data++;
    s.len--;
  }
  while (s.len && (s.data[s.len - 1] == '\n' || s.data[s.len - 1] == ' ')) {
    s.len--;
  }
  return s;
}

/* The text up to the next line that starts with `mark`; *rest is that line. */
static bsm_str until(bsm_str text, const char *mark, bsm_str *rest) {
  const size_t n = strlen(mark);
  for (size_t i = 0; i + n <= text.len; i++) {
    if ((i == 0 || text.data[i - 1] == '\n') &&
        memcmp(text.data + i, mark, n) == 0) {
      *rest = (bsm_str){text.data + i, text.len - i};
      return (bsm_str){text.data, i};
    }
  }
  *rest = (bsm_str){text.data + text.len, 0};
  return text;
}

static bsm_str first_line(bsm_str text, bsm_str *rest) {
  const char *end = memchr(text.data, '\n', text.len);
  const size_t n = end ? (size_t)(end - text.data) : text.len;
  *rest = (bsm_str){text.data + n, text.len - n};
  return (bsm_str){text.data, n};
}

static bool run_case(const char *pass, bsm_str title, bsm_str input,
                     bsm_str want, bsm_text *updated) {
  bsm_arena arena;
  bsm_text got;
  bsm_arena_init(&arena, NULL);
  bsm_text_init(&got, &arena);
  bsm_status st = run_pass(pass, &arena, input, &got);
  if (st) {
    bsm_str rest;
    const bsm_str line = first_line(bsm_str_of(bsm_status_message(st)), &rest);
    bsm_text_init(&got, &arena);
    bsm_text_printf(&got, "error: %s: %.*s", bsm_code_name(bsm_status_code(st)),
                    (int)line.len, line.data);
    bsm_status_free(st);
  }
  const bsm_str text = trim((bsm_str){got.data, got.len});
  bsm_text_append(updated, title);
  bsm_text_puts(updated, "\n");
  bsm_text_append(updated, trim(input));
  bsm_text_puts(updated, "\n---\n");
  bsm_text_append(updated, text);
  bsm_text_puts(updated, "\n\n");
  const bool same = bsm_str_eq(text, trim(want));
  if (!same && !update) {
    print_error("%s: %.*s\n--- got\n%.*s\n--- want\n%.*s\n", pass,
                (int)title.len, title.data, (int)text.len, text.data,
                (int)trim(want).len, trim(want).data);
  }
  bsm_arena_destroy(&arena);
  return same;
}

static size_t run_file(const char *pass) {
  char path[512];
  bsm_file_map map;
  bsm_arena arena;
  bsm_text updated;
  size_t failed = 0, cases = 0;
  snprintf(path, sizeof(path), "%s/lowering/golden/%s.ir", BSM_TEST_DATA_DIR,
           pass);
  bsm_arena_init(&arena, NULL);
  bsm_text_init(&updated, &arena);
  assert_null(bsm_file_map_open(path, NULL, &map));
  bsm_str text = {(const char *)map.data, map.size}, rest;
  bsm_text_append(&updated, until(text, "===", &text));
  while (text.len) {
    const bsm_str title = first_line(text, &text);
    const bsm_str body = until(text, "===", &rest);
    bsm_str want;
    const bsm_str input = until(body, "---", &want);
    (void)first_line(want, &want);
    failed += !run_case(pass, title, input, want, &updated);
    cases++;
    text = rest;
  }
  assert_true(cases > 0);
  if (update) {
    while (updated.len && updated.data[updated.len - 1] == '\n') {
      updated.len--;
    }
    const bsm_file_piece pieces[2] = {{updated.data, updated.len}, {"\n", 1}};
    assert_null(bsm_file_write(path, pieces, 2));
    failed = 0;
  }
  bsm_file_map_close(&map);
  bsm_arena_destroy(&arena);
  return failed;
}

static void test_golden(void **state) {
  (void)state;
  size_t failed = 0;
  for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
    failed += run_file(files[i]);
  }
  assert_int_equal(failed, 0);
}

/* --dump-after names passes: the list must be what is run, but for those of
 * graphs that write. */
static bsm_status note_pass(void *user, const char *pass,
                            const bsm_graph *graph) {
  const char *const **next = user;
  (void)graph;
  while (strcmp(**next, "resolve_writes") == 0 ||
         strcmp(**next, "own_memory") == 0) {
    (*next)++;
  }
  assert_string_equal(pass, **next);
  (*next)++;
  return BSM_OK;
}

static void test_pass_names(void **state) {
  (void)state;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_ir_ctx *cx = NULL;
  bsm_graph *graph = NULL;
  bsm_aten_library *aten = NULL;
  bsm_lowered lowered;
  const char *const *next = bsm_lowering_pass_names();
  assert_null(bsm_ir_ctx_create(&arena, NULL, NULL, &cx));
  assert_null(bsm_aten_library_create(&arena, &aten));
  assert_null(bsm_graph_parse(
      cx, BSM_STR("graph(%x : Float(2)):\n  return (%x)\n"), "case", &graph));
  bsm_tensor *x = NULL;
  const bsm_dims dims = {1, {2}};
  assert_null(bsm_tensor_new(&arena, BSM_DTYPE_FLOAT, dims, true, &x));
  const bsm_lowering_input input = {"x", bsm_iv_tensor(x)};
  const bsm_lowering_options options = {aten, note_pass, &next, true};
  assert_null(bsm_lower(graph, NULL, &input, 1, &options, &lowered));
  assert_null(*next);
  assert_int_equal(lowered.leaf_count, 1);
  assert_true(lowered.leaves[0].is_output);
  assert_string_equal(lowered.input_names[0], "x");
  bsm_arena_destroy(&arena);
}

int main(int argc, char **argv) {
  update = argc > 1 && strcmp(argv[1], "--update") == 0;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_golden),
      cmocka_unit_test(test_pass_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
