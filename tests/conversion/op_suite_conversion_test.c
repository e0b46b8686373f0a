/* SPDX-License-Identifier: Apache-2.0 */
/* Converters on the calls of the reference library's suite: each call that
 * PyTorch answers with tensors becomes a graph of one node, is converted and
 * run by the reference ops. Once with every tensor known at run time, once with
 * only the first. What a converter refuses is left to the reference library.
 *
 * What is claimed is shown: every converter must have converted a call, and the
 * limits that its row states must be there, and be true. */
#include "quantized/packed_params.h" /* the reader of calls makes some */
#include "tests/conversion/conversion_fixture.h"
#include "tests/conversion/network_eval.h"
#include "tests/conversion/op_call.h"
/* How a call is tried. Of the results of an operator that has several, often
 * only the first is used. */
enum { ALL_INPUTS, ONLY_FIRST_INPUT, ONLY_FIRST_OUTPUT, WAYS };

/* What the suite showed of one converter. */
typedef struct tally {
  const char *name;
  size_t converted, evaluated, refused;
  BSM_VEC(const char *) limits; /* what it says when it refuses, once each */
} tally;

/* "in: rank N is not supported" of what a failed compilation says: the
 * converter's own words, numbers left out. */
static const char *own_words(fixture *f, const char *message) {
  const char *start = strstr(message, " (1 node): ");
  start = start ? start + strlen(" (1 node): ") : message;
  size_t length = strcspn(start, "\n");
  const char *tail = strstr(start, "; the reference library cannot");
  if (tail && (size_t)(tail - start) < length) length = (size_t)(tail - start);
  char *out = bsm_arena_alloc(&f->arena, length + 1, 1);
  assert_non_null(out);
  size_t n = 0;
  for (size_t i = 0; i < length; i++) {
    const bool digit = start[i] >= '0' && start[i] <= '9';
    const bool in_word =
        i > 0 && (start[i - 1] == '_' || (start[i - 1] | 32) >= 'a');
    if (digit && !in_word && (n == 0 || out[n - 1] != 'N')) {
      out[n++] = 'N';
    } else if (!digit || in_word) {
      out[n++] = start[i];
    }
    /* Digits behind a letter are part of a name: float64, conv2d. */
    while (digit && in_word && i + 1 < length && start[i + 1] >= '0' &&
           start[i + 1] <= '9') {
      out[n++] = start[++i];
    }
  }
  out[n] = 0;
  return out;
}

static void note_limit(fixture *f, tally *t, const char *message) {
  const char *words = own_words(f, message);
  /* A limit of all converters. */
  if (strstr(words, "complex")) return;
  for (size_t i = 0; i < t->limits.len; i++) {
    if (strcmp(t->limits.items[i], words) == 0) return;
  }
  assert_true(bsm_vec_push(&f->arena, &t->limits, words));
}

static bsm_status note_handler(void *user, const bsm_node *node,
                               bsm_node_handler handler, const char *why) {
  (void)why;
  if (node->schema) *(bsm_node_handler *)user = handler;
  return BSM_OK;
}

/* Notes why no converter takes the graph. */
static void note_refusal(fixture *f, const bsm_graph *graph, tally *t) {
  const bsm_convert_options options = {.require_full_compilation = true};
  bsm_network *net;
  bsm_status status = bsm_convert_graph_with(graph, f->aten, f->registry,
                                             &f->arena, NULL, &options, &net);
  if (bsm_status_code(status) == BSM_UNSUPPORTED) {
    note_limit(f, t, bsm_status_message(status));
  }
  bsm_status_free(status);
}

/* Converts, and keeps what came of it. */
static bsm_status convert_and_count(fixture *f, const bsm_graph *graph,
                                    tally *t, bsm_network **out) {
  bsm_node_handler handler = BSM_NODE_UNSUPPORTED;
  const bsm_convert_options options = {.visit = note_handler, .user = &handler};
  bsm_status status = bsm_convert_graph_with(
      graph, f->aten, f->registry, &f->arena, &f->logger, &options, out);
  if (status || handler == BSM_NODE_REFERENCE) {
    t->refused++;
    note_refusal(f, graph, t);
  }
  if (status) return status;
  t->converted += handler == BSM_NODE_CONVERTED;
  t->evaluated += handler == BSM_NODE_EVALUATED;
  return bsm_network_verify(*out);
}

/* *refused: the converter would not take the call, as it may. */
static bsm_status run_case(fixture *f, const op_case *oc, int way, tally *t,
                           bool *refused) {
  call c = {.only_first = way == ONLY_FIRST_INPUT,
            .outputs = way == ONLY_FIRST_OUTPUT ? 1 : oc->out_count};
  bsm_network *net;
  bsm_tensor *results[64];
  *refused = false;
  BSM_TRY(make_graph(f, oc, &c));
  bsm_status status = convert_and_count(f, c.graph, t, &net);
  *refused = bsm_status_code(status) == BSM_UNSUPPORTED ||
             bsm_status_code(status) == BSM_INVALID_ARGUMENT;
  if (status) return status;
  if (net->outputs.len > 64) return BSM_FAIL(BSM_LIMIT, "too many outputs");
  BSM_TRY(network_eval(net, f->aten, &f->arena, c.inputs, results));
  return compare_results(f, oc, c.outputs, results);
}

/* PyTorch leaves the second result of embedding_bag empty or not by the strides
 * of the weight, which a graph does not have. */
static bool depends_on_strides(const op_case *oc) {
  return bsm_str_starts_with(oc->name, BSM_STR("aten::embedding_bag")) &&
         oc->args[0].tag == BSM_IVALUE_TENSOR &&
         !bsm_tensor_is_contiguous(oc->args[0].u.tensor);
}

/* A call with tensors in and out that has a converter. */
static bool is_wanted(const fixture *f, const op_case *oc, const char *name) {
  bool wanted = oc->outcome == OP_RETURNS && oc->out_count > 0 &&
                bsm_registry_has_converter(f->registry, name) &&
                is_tensors(&oc->outs[0]);
  bool any = false;
  for (size_t i = 0; i < oc->arg_count; i++) any |= is_tensors(&oc->args[i]);
  return wanted && any && !op_case_is_quantized(oc) && !depends_on_strides(oc);
}

/* Whether a network can have all results, or what it can have is one. */
static bool has_way(const op_case *oc, int way) {
  if (way == ONLY_FIRST_OUTPUT) return oc->out_count > 1;
  for (size_t i = 1; i < oc->out_count; i++) {
    if (!is_tensors(&oc->outs[i])) return false;
  }
  return true;
}

/* The tallies of all converters, in the registry's order. */
typedef struct tallies {
  tally *items;
  size_t count;
  bsm_strmap by_name;
} tallies;

static void tallies_init(fixture *f, tallies *out) {
  out->count = bsm_registry_converter_count(f->registry);
  out->by_name = (bsm_strmap){0};
  out->items = BSM_NEW_ARRAY(&f->arena, tally, out->count);
  assert_non_null(out->items);
  for (size_t i = 0; i < out->count; i++) {
    const char *schema = bsm_registry_converter_schema(f->registry, i);
    const bsm_str name = {schema, strcspn(schema, "(")};
    out->items[i].name = bsm_arena_strndup(&f->arena, name.data, name.len);
    assert_non_null(out->items[i].name);
    assert_true(bsm_strmap_set(&f->arena, &out->by_name, name, &out->items[i]));
  }
}

/* What PyTorch cannot be asked, or not here: these hand their argument on. */
static const char *const pass_on[] = {"aten::cuda", "aten::detach_",
                                      "trt::const"};

static bool is_beyond_the_suite(const char *name) {
  for (size_t i = 0; i < sizeof(pass_on) / sizeof(pass_on[0]); i++) {
    if (strcmp(name, pass_on[i]) == 0) return true;
  }
  return false;
}

static void test_beyond_the_suite(void **state) {
  fixture *f = *state;
  for (size_t i = 0; i < sizeof(pass_on) / sizeof(pass_on[0]); i++) {
    bsm_graph *graph;
    bsm_node *node;
    bsm_network *net;
    bsm_tensor *x, *result;
    const bsm_type *type =
        bsm_type_tensor(f->cx->types, BSM_DTYPE_FLOAT, (bsm_dims){1, {3}});
    bsm_value *in, *out;
    assert_ok(bsm_graph_create(f->cx, &graph));
    assert_ok(bsm_block_add_input(graph->block, type, &in));
    assert_ok(bsm_node_create(graph, pass_on[i], &node));
    assert_ok(bsm_node_add_input(node, in));
    assert_ok(bsm_node_add_output(node, type, &out));
    bsm_node_append(graph->block, node);
    assert_ok(bsm_block_add_output(graph->block, out));
    assert_ok(convert_graph(f, graph, &net));
    assert_ok(bsm_tensor_new(&f->arena, BSM_DTYPE_FLOAT, (bsm_dims){1, {3}},
                             false, &x));
    ((float *)bsm_tensor_data(x))[1] = 2.5F;
    assert_ok(network_eval(net, f->aten, &f->arena, &x, &result));
    assert_ok(compare(result, x));
  }
}

/* ---- limits ---- */

static bool has_limit(const tally *t, const char *text) {
  for (size_t i = 0; i < t->limits.len; i++) {
    if (strcmp(t->limits.items[i], text) == 0) return true;
  }
  return false;
}

static int by_name(const void *a, const void *b) {
  const tally *x = *(const tally *const *)a, *y = *(const tally *const *)b;
  return strcmp(x->name, y->name);
}

/* BSM_WRITE_LIMITS=FILE: writes what the suite has seen. */
static void write_limits(fixture *f, const tallies *all, const char *path) {
  const tally **sorted = BSM_NEW_ARRAY(&f->arena, const tally *, all->count);
  FILE *file = fopen(path, "w");
  assert_non_null(sorted);
  assert_non_null(file);
  for (size_t i = 0; i < all->count; i++) sorted[i] = &all->items[i];
  qsort(sorted, all->count, sizeof(*sorted), by_name);
  fputs(
      "/* SPDX-License-Identifier: Apache-2.0 */\n"
      "/* Made by op_suite_conversion_test with BSM_WRITE_LIMITS=FILE; do not "
      "edit.\n"
      " * What converters refused in the operator suite, in their words. */\n"
      "/* clang-format off */\n",
      file);
  for (size_t i = 0; i < all->count; i++) {
    for (size_t k = 0; k < sorted[i]->limits.len; k++) {
      fprintf(file, "LIMIT(\"%s\", \"", sorted[i]->name);
      for (const char *p = sorted[i]->limits.items[k]; *p; p++) {
        if (*p == '"' || *p == '\\') fputc('\\', file);
        fputc(*p, file);
      }
      fputs("\")\n", file);
    }
  }
  fputs("/* clang-format on */\n", file);
  assert_int_equal(fclose(file), 0);
}

/* What is stated is what was seen, no less and no more. */
static void check_limits(const tallies *all) {
  size_t wrong = 0;
  for (size_t i = 0; i < all->count && !getenv("BSM_WRITE_LIMITS"); i++) {
    const tally *t = &all->items[i];
    const char *stated;
    size_t count = 0;
    for (; (stated = bsm_converter_limit(t->name, count)); count++) {
      if (has_limit(t, stated)) continue;
      wrong++;
      print_error("%s: a limit that nothing has met: %s\n", t->name, stated);
    }
    if (count >= t->limits.len) continue;
    wrong++;
    print_error("%s: %zu limits are stated, %zu were met, such as: %s\n",
                t->name, count, t->limits.len,
                t->limits.items[t->limits.len - 1]);
  }
  if (wrong) {
    fail_msg(
        "state what converters refuse: "
        "BSM_WRITE_LIMITS=src/conversion/converter_limits.inl and build "
        "again");
  }
}

/* Every claim has been seen to hold. */
static void check_tallies(const tallies *all) {
  size_t missing = 0;
  for (size_t i = 0; i < all->count; i++) {
    const tally *t = &all->items[i];
    if (t->converted || is_beyond_the_suite(t->name)) continue;
    missing++;
    print_error("%s: its converter has taken no call of the suite%s%s\n",
                t->name, t->limits.len ? "; it refuses: " : "",
                t->limits.len ? t->limits.items[0] : "");
  }
  if (missing) {
    fail_msg("%zu of %zu converters are claimed without a case", missing,
             all->count);
  }
}

static void test_suite(void **state) {
  fixture *f = *state;
  tallies all;
  op_case_reader reader;
  op_case oc;
  size_t right = 0, refused = 0, wrong = 0;
  f->logger.level = BSM_LOG_LEVEL_ERROR;
  tallies_init(f, &all);
  assert_true(op_cases_open(&reader));
  while (op_cases_next(&reader, &f->arena, &oc)) {
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)oc.name.len, oc.name.data);
    if (!is_wanted(f, &oc, name)) continue;
    tally *t = bsm_strmap_get(&all.by_name, oc.name);
    for (int way = 0; way < WAYS; way++) {
      if (!has_way(&oc, way)) continue;
      bool no;
      bsm_status status = run_case(f, &oc, way, t, &no);
      if (!status) {
        right++;
      } else if (no) {
        /* Lowering replaces what changes its argument by what does not. */
        refused += !oc.has_after;
      } else {
        wrong++;
        print_error("%s: %s\n", name, bsm_status_message(status));
      }
      bsm_status_free(status);
    }
  }
  op_cases_close(&reader);
  const char *path = getenv("BSM_WRITE_LIMITS");
  if (path) write_limits(f, &all, path);
  print_message("%zu calls right, %zu refused\n", right, refused);
  assert_true(right > 4000);
  assert_true(refused * 20 < right);
  assert_int_equal(wrong, 0);
  check_tallies(&all);
  check_limits(&all);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_suite, fixture_setup,
                                      fixture_teardown),
      cmocka_unit_test_setup_teardown(test_beyond_the_suite, fixture_setup,
                                      fixture_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
