/* SPDX-License-Identifier: Apache-2.0 */
/* Every evaluator that conversion has, on a graph with a tensor that is known
 * only when the engine runs: what it computes, and that it was the one. */
#include "tests/conversion/conversion_fixture.h"
#include "tests/conversion/network_eval.h"

typedef struct evaluator_case {
  const char *name; /* of the evaluator */
  const char *text; /* %x : Float(2, 3), %one .. %three; makes %r, a number */
  double want;
} evaluator_case;

static const evaluator_case cases[] = {
    {"prim::ListConstruct",
     "  %l : Tensor[] = prim::ListConstruct(%x, %x)\n"
     "  %r : int = aten::len(%l)\n",
     2},
    {"prim::TupleConstruct",
     "  %t : (Tensor, int) = prim::TupleConstruct(%x, %three)\n"
     "  %y : Tensor, %r : int = prim::TupleUnpack(%t)\n",
     3},
    {"prim::ListUnpack",
     "  %l : Tensor[] = prim::ListConstruct(%x, %x)\n"
     "  %a : Tensor, %b : Tensor = prim::ListUnpack(%l)\n"
     "  %r : int = aten::dim(%b)\n",
     2},
    {"prim::TupleUnpack",
     "  %t : (int, Tensor) = prim::TupleConstruct(%two, %x)\n"
     "  %r : int, %y : Tensor = prim::TupleUnpack(%t)\n",
     2},
    {"prim::TupleIndex",
     "  %t : (Tensor, int) = prim::TupleConstruct(%x, %three)\n"
     "  %r : int = prim::TupleIndex(%t, %one)\n",
     3},
    {"aten::__getitem__.t",
     "  %l : Tensor[] = prim::ListConstruct(%x, %x)\n"
     "  %y : Tensor = aten::__getitem__(%l, %minus)\n"
     "  %r : int = aten::numel(%y)\n",
     6},
    {"aten::len.t",
     "  %l : Tensor[] = prim::ListConstruct(%x, %x, %x)\n"
     "  %r : int = aten::len(%l)\n",
     3},
    {"aten::add.t",
     "  %l : Tensor[] = prim::ListConstruct(%x, %x)\n"
     "  %m : Tensor[] = aten::add(%l, %l)\n"
     "  %r : int = aten::len(%m)\n",
     4},
    {"prim::unchecked_cast",
     "  %y : Tensor = prim::unchecked_cast(%x)\n"
     "  %r : int = aten::size(%y, %one)\n",
     3},
    {"aten::_unwrap_optional",
     "  %y : Tensor = aten::_unwrap_optional(%x)\n"
     "  %r : int = aten::size(%y, %minus)\n",
     3},
    {"prim::NumToTensor",
     "  %n : Tensor = prim::NumToTensor(%three)\n"
     "  %r : int = aten::Int(%n)\n",
     3},
    {"aten::warn",
     "   = aten::warn(%message, %two)\n"
     "  %r : int = aten::neg(%minus)\n",
     1},
    {"prim::Print",
     "   = prim::Print(%message, %two)\n"
     "  %r : int = aten::neg(%minus)\n",
     1},
    {"aten::size",
     "  %s : int[] = aten::size(%x)\n"
     "  %r : int = aten::__getitem__(%s, %minus)\n",
     3},
    {"aten::size.int", "  %r : int = aten::size(%x, %zero)\n", 2},
    {"prim::shape",
     "  %s : int[] = prim::shape(%x)\n"
     "  %r : int = aten::__getitem__(%s, %zero)\n",
     2},
    {"aten::dim", "  %r : int = aten::dim(%x)\n", 2},
    {"aten::numel", "  %r : int = aten::numel(%x)\n", 6},
    {"aten::len.Tensor", "  %r : int = aten::len(%x)\n", 2},
    {"prim::dtype", "  %r : int = prim::dtype(%x)\n", BSM_DTYPE_FLOAT},
    {"prim::device",
     "  %d : Device = prim::device(%x)\n"
     "  %b : bool = aten::eq(%d, %d)\n"
     "  %r : int = aten::Int(%b)\n",
     1},
    {"prim::layout", "  %r : int = prim::layout(%x)\n", 0},
    {"prim::is_cuda",
     "  %b : bool = prim::is_cuda(%x)\n  %r : int = aten::Int(%b)\n", 0},
    {"prim::requires_grad",
     "  %b : bool = prim::requires_grad(%x)\n  %r : int = aten::Int(%b)\n", 0},
    {"aten::is_floating_point",
     "  %b : bool = aten::is_floating_point(%x)\n"
     "  %r : int = aten::Int(%b)\n",
     1},
    {"aten::is_complex",
     "  %b : bool = aten::is_complex(%x)\n  %r : int = aten::Int(%b)\n", 0},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

typedef struct witness {
  const char *name;
  bool seen;
} witness;

static bsm_status look(void *user, const bsm_node *node,
                       bsm_node_handler handler, const char *why) {
  witness *w = user;
  (void)why;
  const char *name = node->schema ? node->schema->qualified : node->kind;
  const bool is_it =
      strcmp(name, w->name) == 0 || strcmp(node->kind, w->name) == 0;
  w->seen = w->seen || (is_it && handler == BSM_NODE_EVALUATED);
  return BSM_OK;
}

static bsm_status run_case(fixture *f, const evaluator_case *c, double *out,
                           bool *seen) {
  bsm_text text;
  bsm_graph *graph;
  bsm_network *net;
  bsm_tensor *x, *result;
  witness w = {c->name, false};
  const bsm_convert_options options = {.visit = look, .user = &w};
  bsm_text_init(&text, &f->arena);
  bsm_text_printf(
      &text,
      "graph(%%x : Float(2, 3)):\n"
      "  %%minus : int = prim::Constant[value=-1]()\n"
      "  %%zero : int = prim::Constant[value=0]()\n"
      "  %%one : int = prim::Constant[value=1]()\n"
      "  %%two : int = prim::Constant[value=2]()\n"
      "  %%three : int = prim::Constant[value=3]()\n"
      "  %%message : str = prim::Constant[value=\"hello\"]()\n"
      "  %%none : NoneType = prim::Constant()\n"
      "%s"
      "  %%result : Tensor = aten::scalar_tensor(%%r, %%none, %%none, "
      "%%none, %%none)\n"
      "  return (%%result)\n",
      c->text);
  BSM_TRY(parse_graph(f, text.data, &graph));
  BSM_TRY(bsm_convert_graph_with(graph, f->aten, f->registry, &f->arena,
                                 &f->logger, &options, &net));
  BSM_TRY(bsm_tensor_new(&f->arena, BSM_DTYPE_FLOAT, (bsm_dims){2, {2, 3}},
                         false, &x));
  BSM_TRY(network_eval(net, f->aten, &f->arena, &x, &result));
  *out = bsm_tensor_get_double(result, 0);
  *seen = w.seen;
  return BSM_OK;
}

static void test_values(void **state) {
  fixture *f = *state;
  size_t failed = 0;
  for (size_t i = 0; i < CASES; i++) {
    double value = 0;
    bool seen = false;
    bsm_status status = run_case(f, &cases[i], &value, &seen);
    const bool right = value <= cases[i].want && value >= cases[i].want;
    if (!status && right && seen) continue;
    failed++;
    print_error("%s gives %g, not %g%s: %s\n", cases[i].name, value,
                cases[i].want, seen ? "" : "; it was not evaluated",
                bsm_status_message(status));
    bsm_status_free(status);
  }
  assert_int_equal(failed, 0);
}

static void test_every_evaluator_has_a_case(void **state) {
  fixture *f = *state;
  size_t missing = 0;
  for (size_t i = 0; i < bsm_registry_evaluator_count(f->registry); i++) {
    const char *name = bsm_registry_evaluator_name(f->registry, i);
    bool found = false;
    for (size_t k = 0; k < CASES; k++) {
      found = found || strcmp(cases[k].name, name) == 0;
    }
    if (found) continue;
    missing++;
    print_error("%s: an evaluator without a case\n", name);
  }
  assert_int_equal(missing, 0);
}

#define TEST(name) \
  cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_values),
      TEST(test_every_evaluator_has_a_case),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
