/* SPDX-License-Identifier: Apache-2.0 */
/* Where the calls of the reference library's suite run when an engine is built
 * for a GPU: each call that PyTorch answers with tensors becomes a graph of one
 * node with its tensors as inputs, and is converted and built, but not run. A
 * step that computes in the host's memory is work of the host.
 *
 * What is seen of each operator is a line of tests/data/operators_on_gpus.txt,
 * from which docs/operators.md is made: a change of converters, passes or
 * kernels that moves an operator changes that file too. */
#include "lowering/pass.h"
#include "tests/conversion/op_engine.h"

#define FILE_OF_PLACES BSM_TEST_DATA_DIR "/operators_on_gpus.txt"
/* Steps do not depend on what the GPU is. */
#define GPU "cuda:sm_80,avx2"

enum { TALLY_DTYPES = BSM_DTYPE_BFLOAT16 + 1 };

/* What the suite showed of one operator: calls by dtype and in all. */
typedef struct tally {
  const char *name;
  size_t device, host;
  size_t device_of[TALLY_DTYPES], host_of[TALLY_DTYPES];
} tally;

typedef struct tallies {
  BSM_VEC(tally *) items;
  bsm_strmap by_name;
} tallies;

static tally *tally_of(fixture *f, tallies *all, bsm_str name) {
  tally *t = bsm_strmap_get(&all->by_name, name);
  if (t) return t;
  t = BSM_NEW(&f->arena, tally);
  assert_non_null(t);
  t->name = bsm_arena_strndup(&f->arena, name.data, name.len);
  assert_non_null(t->name);
  assert_true(bsm_vec_push(&f->arena, &all->items, t));
  assert_true(bsm_strmap_set(&f->arena, &all->by_name, bsm_str_of(t->name), t));
  return t;
}

/* The dtype that tells a call from others of its operator: that of its first
 * tensor of floating point, or of its first. */
static bsm_dtype dtype_of(const call *c) {
  for (size_t i = 0; i < c->input_count; i++) {
    if (bsm_dtype_is_floating(c->inputs[i]->dtype)) return c->inputs[i]->dtype;
  }
  return c->inputs[0]->dtype;
}

static void note(tally *t, const call *c, bool host) {
  const bsm_dtype dtype = dtype_of(c);
  assert_true((size_t)dtype < TALLY_DTYPES);
  *(host ? &t->host : &t->device) += 1;
  *(host ? &t->host_of[dtype] : &t->device_of[dtype]) += 1;
}

/* Builds a call for the GPU. *refused: no plan can have it, because the shapes
 * of its results depend on data; programs call it in the reference library. */
static bsm_status try_call(fixture *f, const op_case *oc, call *c, bool *host,
                           bool *refused) {
  const bsm_target *gpu = test_target_of(GPU, 1, BSM_TARGET_ANY_ISA);
  bsm_plan *plan;
  bsm_arena arena;
  BSM_TRY(make_graph(f, oc, c));
  bsm_arena_init(&arena, NULL);
  bsm_status status = op_plan(f, c, gpu, &arena, refused, &plan);
  if (!status) *host = op_step_of_host(plan) != NULL;
  bsm_arena_destroy(&arena);
  return status;
}

/* A result whose size depends on data is rows of memory that a plan can have:
 * makes that memory the result. */
static bsm_status try_bounded(fixture *f, call *c, bool *host, bool *refused) {
  const bsm_target *gpu = test_target_of(GPU, 1, BSM_TARGET_ANY_ISA);
  bsm_node *returns = c->graph->block->returns;
  bsm_plan *plan;
  bsm_arena arena;
  BSM_TRY(bsm_lower_run_pass("bound_sizes", c->graph, f->aten));
  for (size_t i = 0; i < returns->inputs.len; i++) {
    const bsm_node *slice = bsm_node_in(returns, i)->node;
    if (!bsm_node_is(slice, "aten::slice")) continue;
    BSM_TRY(bsm_node_set_input(returns, i, bsm_node_in(slice, 0)));
  }
  BSM_TRY(bsm_lower_run_pass("eliminate_dead_code", c->graph, f->aten));
  bsm_arena_init(&arena, NULL);
  bsm_status status = op_plan(f, c, gpu, &arena, refused, &plan);
  if (!status) *host = op_step_of_host(plan) != NULL;
  bsm_arena_destroy(&arena);
  return status;
}

/* A call that needs the host may not when all tensors but the first are known:
 * shapes that depend on data, weights of layers. */
static bsm_status run_case(fixture *f, const op_case *oc, tallies *all,
                           bool *refused) {
  call c = {.outputs = op_count_tensors(oc)};
  bool host = true;
  tally *t = tally_of(f, all, oc->name);
  bsm_status status = try_call(f, oc, &c, &host, refused);
  if (*refused) {
    bsm_status_free(status);
    status = try_bounded(f, &c, &host, refused);
  }
  if (!status || *refused) note(t, &c, host);
  if (!*refused && (status || !host)) return status;
  bsm_status_free(status);
  c = (call){.outputs = op_count_tensors(oc), .only_first = true};
  bool still;
  status = try_call(f, oc, &c, &host, &still);
  if (!status) note(t, &c, host);
  if (!still) return status;
  bsm_status_free(status);
  return BSM_OK;
}

/* No list of operators says of complex numbers that they run on the host. */
static bool is_complex(const bsm_ivalue *v) {
  if (v->tag == BSM_IVALUE_TENSOR) {
    return bsm_dtype_is_complex(v->u.tensor->dtype);
  }
  for (size_t i = 0; v->tag == BSM_IVALUE_LIST && i < v->u.list->len; i++) {
    if (is_complex(&v->u.list->items[i])) return true;
  }
  return v->tag == BSM_IVALUE_COMPLEX;
}

/* A call of which a list says where it runs. */
static bool is_wanted(const fixture *f, const op_case *oc) {
  bool wanted = op_computes_tensors(f, oc);
  for (size_t i = 0; wanted && i < oc->out_count; i++) {
    wanted = !is_complex(&oc->outs[i]);
  }
  for (size_t i = 0; wanted && i < oc->arg_count; i++) {
    wanted = !is_complex(&oc->args[i]);
  }
  return wanted;
}

static int by_name(const void *a, const void *b) {
  const tally *x = *(tally *const *)a, *y = *(tally *const *)b;
  return strcmp(x->name, y->name);
}

/* "gpu", "host", or "gpu; host: float64, some others": dtypes of which all
 * calls need the host, and whether calls of other dtypes do. */
static void print_tally(const tally *t, bsm_text *text) {
  bool others = false;
  const char *before = "; host: ";
  bsm_text_printf(text, "%s %s", t->name, t->device ? "gpu" : "host");
  for (int d = 0; t->device && d < TALLY_DTYPES; d++) {
    others = others || (t->host_of[d] && t->device_of[d]);
    if (!t->host_of[d] || t->device_of[d]) continue;
    bsm_text_printf(text, "%s%s", before, bsm_dtype_name((bsm_dtype)d));
    before = ", ";
  }
  if (others) bsm_text_printf(text, "%ssome calls", before);
  bsm_text_puts(text, "\n");
}

static void print_tallies(const tallies *all, bsm_text *text) {
  bsm_text_puts(text,
                "# Made by op_suite_places_test with BSM_WRITE_PLACES=FILE; do "
                "not edit.\n"
                "# Where calls of the operator suite run when built for a GPU; "
                "and behind \"host:\" what\n"
                "# runs on the host though other calls do not.\n");
  for (size_t i = 0; i < all->items.len; i++) {
    print_tally(all->items.items[i], text);
  }
  assert_false(text->failed);
}

/* The file is what was seen. */
static void check_file(fixture *f, const tallies *all) {
  bsm_text text;
  const char *path = getenv("BSM_WRITE_PLACES");
  bsm_text_init(&text, &f->arena);
  qsort(all->items.items, all->items.len, sizeof(*all->items.items), by_name);
  print_tallies(all, &text);
  FILE *file = fopen(path ? path : FILE_OF_PLACES, path ? "w" : "r");
  assert_non_null(file);
  if (path) {
    assert_int_equal(fwrite(text.data, 1, text.len, file), text.len);
    assert_int_equal(fclose(file), 0);
    return;
  }
  char *have = bsm_arena_alloc(&f->arena, text.len + 1, 1);
  assert_non_null(have);
  const size_t length = fread(have, 1, text.len + 1, file);
  fclose(file);
  size_t same = 0;
  while (same < length && same < text.len && have[same] == text.data[same]) {
    same++;
  }
  if (same == length && same == text.len) return;
  while (same > 0 && text.data[same - 1] != '\n') same--;
  fail_msg("operators run elsewhere than " FILE_OF_PLACES
           " says; write it again by BSM_WRITE_PLACES=FILE, and run "
           "scripts/make_operators.py. The first line that differs is: %.*s",
           (int)strcspn(text.data + same, "\n"), text.data + same);
}

/* What was seen of all calls. */
typedef struct places {
  tallies all;
  size_t built, refused;
} places;

static bsm_status visit(fixture *f, const op_case *oc, void *user) {
  places *p = user;
  bool no = false;
  if (!is_wanted(f, oc)) return BSM_OK;
  bsm_status status = run_case(f, oc, &p->all, &no);
  p->built += !status;
  p->refused += no;
  return status;
}

static void test_suite(void **state) {
  fixture *f = *state;
  places p = {.built = 0};
  const size_t wrong = op_cases_visit(f, visit, &p);
  print_message("%zu calls built, %zu refused\n", p.built, p.refused);
  assert_true(p.built > 6000);
  assert_int_equal(wrong, 0);
  check_file(f, &p.all);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_suite, fixture_setup,
                                      fixture_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
