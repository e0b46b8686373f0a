/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs from code: structure that the comparison with PyTorch leaves out, and
 * what has no graph. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/torchscript/script_world.h"

/* The graph of `name` in code/__torch__.py, as IR text without its head. */
static const char *graph_text(script_world *w, const char *name) {
  bsm_graph *graph = NULL;
  bsm_status status = script_world_graph(w, name, &graph);
  if (status) fail_msg("%s", bsm_status_message(status));
  bsm_text text;
  bsm_text_init(&text, &w->arena);
  const bsm_print_options options = {0};
  bsm_graph_print(&text, graph, &options);
  assert_false(text.failed);
  const char *body = strstr(text.data, "):\n");
  assert_non_null(body);
  return body + 3;
}

static void open_world(script_world *w, int64_t version, const char *code) {
  assert_null(script_world_init(w, version, NULL));
  script_world_add(w, "code/__torch__.py", bsm_str_of(code));
}

static void check_version(int64_t version, const char *code, const char *name,
                          const char *wanted) {
  script_world w;
  open_world(&w, version, code);
  const char *got = graph_text(&w, name);
  if (strcmp(got, wanted) != 0) fail_msg("got:\n%s\nnot:\n%s", got, wanted);
  script_world_destroy(&w);
}

static void check(const char *code, const char *name, const char *wanted) {
  check_version(10, code, name, wanted);
}

/* ---- control flow ---- */

static void test_if(void **state) {
  (void)state;
  check(
      "def f(x: Tensor, c: bool) -> Tuple[Tensor, Tensor]:\n"
      "  y = x\n"
      "  if c:\n"
      "    y = torch.relu(x)\n"
      "    z = x\n"
      "    only = x\n"
      "  else:\n"
      "    z = y\n"
      "  return (y, z)\n",
      "__torch__.f",
      "  %y.1 : Tensor = prim::If(%c)\n"
      "    block0():\n"
      "      %y : Tensor = aten::relu(%x)\n"
      "      -> (%y)\n"
      "    block1():\n"
      "      -> (%x)\n"
      "  %4 : (Tensor, Tensor) = prim::TupleConstruct(%y.1, %x)\n"
      "  return (%4)\n");
}

static void test_static_if(void **state) {
  (void)state;
  check(
      "def f(x: Tensor) -> Tensor:\n"
      "  _0 = isinstance(x, int)\n"
      "  if _0:\n"
      "    y = torch.no_such_operator(x)\n"
      "  else:\n"
      "    y = x\n"
      "  return y\n",
      "__torch__.f",
      "  %1 : bool = prim::Constant[value=0]()\n"
      "  return (%x)\n");
}

static void test_optional_join(void **state) {
  (void)state;
  script_world w;
  bsm_graph *graph = NULL;
  open_world(&w, 10,
             "def f(x: Tensor, c: bool) -> Optional[Tensor]:\n"
             "  if c:\n"
             "    y = x\n"
             "  else:\n"
             "    y = None\n"
             "  return y\n");
  assert_null(script_world_graph(&w, "__torch__.f", &graph));
  const bsm_value *out = graph->block->returns->inputs.items[0];
  assert_int_equal(out->type->kind, BSM_TYPE_OPTIONAL);
  assert_string_equal(out->node->kind, "prim::If");
  script_world_destroy(&w);
}

static void test_loops(void **state) {
  (void)state;
  check(
      "def f(x: Tensor, n: int) -> Tensor:\n"
      "  for i in range(n):\n"
      "    _0 = torch.relu(x)\n"
      "    x = torch.mul(_0, i)\n"
      "  return x\n",
      "__torch__.f",
      "  %2 : bool = prim::Constant[value=1]()\n"
      "  %x.3 : Tensor = prim::Loop(%n, %2, %x)\n"
      "    block0(%i : int, %x.1 : Tensor):\n"
      "      %5 : Tensor = aten::relu(%x.1)\n"
      "      %x.2 : Tensor = aten::mul(%5, %i)\n"
      "      %7 : bool = prim::Constant[value=1]()\n"
      "      -> (%7, %x.2)\n"
      "  return (%x.3)\n");
  check(
      "def f(x: Tensor, c: bool) -> bool:\n"
      "  while c:\n"
      "    c, x = torch.__not__(c), x\n"
      "  return c\n",
      "__torch__.f",
      "  %2 : int = prim::Constant[value=9223372036854775807]()\n"
      "  %c.3 : bool, %x.2 : Tensor = prim::Loop(%2, %c, %c, %x)\n"
      "    block0(%3 : int, %c.1 : bool, %x.1 : Tensor):\n"
      "      %c.2 : bool = aten::__not__(%c.1)\n"
      "      -> (%c.2, %c.2, %x.1)\n"
      "  return (%c.3)\n");
}

/* ---- calls ---- */

static const char module_code[] =
    "class M(Module):\n"
    "  w : Tensor\n"
    "  k : int\n"
    "  __annotations__[\"0\"] = __torch__.Sub\n"
    "  scale : Final[float] = 10000000000\n"
    "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
    "    _0 = __torch__.helper\n"
    "    sub = getattr(self, \"0\")\n"
    "    y = (sub).forward(x, )\n"
    "    self.k = 3\n"
    "    return _0(y, )\n"
    "class Sub(Module):\n"
    "  def forward(self: __torch__.Sub, x: Tensor, f: float=1., n: "
    "Optional[int]=None) -> Tensor:\n"
    "    return x\n"
    "def helper(x: Tensor, n: int=3) -> Tensor:\n"
    "  return torch.mul(x, n)\n";

static void test_calls(void **state) {
  (void)state;
  script_world w;
  bsm_graph *graph = NULL;
  open_world(&w, 10, module_code);
  assert_null(script_world_graph(&w, "__torch__.M.forward", &graph));
  const bsm_node *get = graph->block->first;
  assert_string_equal(get->kind, "prim::GetAttr");
  assert_string_equal(bsm_node_attr_get(get, "name")->u.s->data, "0");
  const bsm_node *node = get->next;
  while (!bsm_node_is(node, "prim::CallMethod")) node = node->next;
  assert_null(node->schema);
  assert_int_equal(node->inputs.len, 4); /* defaults are filled in */
  assert_string_equal(bsm_node_attr_get(node, "name")->u.s->data, "forward");
  while (!bsm_node_is(node, "prim::SetAttr")) node = node->next;
  assert_string_equal(bsm_node_attr_get(node, "name")->u.s->data, "k");
  while (!bsm_node_is(node, "prim::CallFunction")) node = node->next;
  const bsm_function *fn = bsm_node_attr_get(node, "function")->u.function;
  assert_string_equal(fn->qualified, "__torch__.helper");
  assert_int_equal(node->inputs.len, 2);
  const bsm_type *type = graph->block->params->outputs.items[0]->type;
  assert_true(type->cls->is_module);
  assert_int_equal(type->cls->attributes.len, 3);
  /* A float that the serializer printed without its point. */
  const bsm_ivalue *scale = bsm_class_find_constant(type->cls, "scale");
  assert_int_equal(scale->tag, BSM_IVALUE_DOUBLE);
  script_world_destroy(&w);
}

static void test_objects(void **state) {
  (void)state;
  check(
      "class P(NamedTuple):\n"
      "  x : Tensor\n"
      "  n : int\n"
      "class C:\n"
      "  a : float\n"
      "  def __init__(self: __torch__.C, a: float) -> NoneType:\n"
      "    self.a = a\n"
      "    return None\n"
      "def f(x: Tensor) -> Tuple[Tensor, int, float]:\n"
      "  p = __torch__.P(x, 2)\n"
      "  c = __torch__.C.__new__(__torch__.C)\n"
      "  _0 = (c).__init__(2.5, )\n"
      "  a = c.a\n"
      "  return (p.x, (p)[-1], a)\n",
      "__torch__.f",
      "  %1 : int = prim::Constant[value=2]()\n"
      "  %p : NamedTuple[__torch__.P](x : Tensor, n : int) = "
      "prim::TupleConstruct(%x, %1)\n"
      "  %c : __torch__.C = prim::CreateObject()\n"
      "  %4 : float = prim::Constant[value=2.5]()\n"
      "  %5 : NoneType = prim::CallMethod[name=\"__init__\"](%c, %4)\n"
      "  %a : float = prim::GetAttr[name=\"a\"](%c)\n"
      "  %7 : int = prim::Constant[value=0]()\n"
      "  %8 : Tensor = prim::TupleIndex(%p, %7)\n"
      "  %9 : int = prim::Constant[value=-1]()\n"
      "  %10 : int = prim::TupleIndex(%p, %9)\n"
      "  %11 : (Tensor, int, float) = prim::TupleConstruct(%8, %10, %a)\n"
      "  return (%11)\n");
}

static void test_enum(void **state) {
  (void)state;
  script_world w;
  const bsm_type *type = NULL;
  open_world(
      &w, 10,
      "class Color(Enum):\n"
      "  RED = 1\n"
      "  GREEN = 2\n"
      "def f(c: __torch__.Color) -> Tuple[bool, int, str]:\n"
      "  return (torch.eq(c, __torch__.Color.GREEN), c.value, c.name)\n");
  assert_null(
      bsm_script_find_type(w.script, BSM_STR("__torch__.Color"), &type));
  assert_true(type->cls->is_enum);
  assert_int_equal(type->cls->constants.len, 2);
  const bsm_ivalue green = type->cls->constants.items[1].value;
  assert_int_equal(green.tag, BSM_IVALUE_ENUM);
  assert_string_equal(green.u.object->slots[0].u.s->data, "GREEN");
  assert_int_equal(green.u.object->slots[1].u.i, 2);
  assert_non_null(strstr(graph_text(&w, "__torch__.f"), "prim::EnumValue"));
  script_world_destroy(&w);
}

static void test_bare_list(void **state) {
  (void)state;
  /* With a name it is one list, which append changes; as an argument it is
   * what the schema asks for. */
  check(
      "def f(x: Tensor) -> List[Tensor]:\n"
      "  outs = []\n"
      "  _0 = torch.append(outs, x)\n"
      "  return outs\n",
      "__torch__.f",
      "  %outs : Tensor[] = prim::ListConstruct()\n"
      "  %2 : Tensor[] = aten::append(%outs, %x)\n"
      "  return (%outs)\n");
  check(
      "def f(x: Tensor) -> Tensor:\n"
      "  return torch.permute(x, [])\n",
      "__torch__.f",
      "  %1 : Tensor[] = prim::ListConstruct()\n"
      "  %2 : int[] = prim::ListConstruct()\n"
      "  %3 : Tensor = aten::permute(%x, %2)\n"
      "  return (%3)\n");
}

static void test_special_forms(void **state) {
  (void)state;
  check(
      "def f(x: Tensor) -> Tensor:\n"
      "  def __forked_function():\n"
      "    return torch.relu(x)\n"
      "  f = fork(__forked_function)\n"
      "  return torch.wait(f)\n",
      "__torch__.f",
      "  %f : Tensor = aten::relu(%x)\n"
      "  return (%f)\n");
  check(
      "def f(x: Tensor) -> List[List[float]]:\n"
      "  return annotate(List[List[float]], x.tolist())\n",
      "__torch__.f",
      "  %1 : int = prim::Constant[value=2]()\n"
      "  %2 : int = prim::Constant[value=1]()\n"
      "  %3 : float[][] = prim::tolist(%x, %1, %2)\n"
      "  return (%3)\n");
  check(
      "def f(x: Tensor, y: Tensor) -> Tensor:\n"
      "  return torch.div(x, 2, out=y)\n",
      "__torch__.f",
      "  %2 : int = prim::Constant[value=2]()\n"
      "  %3 : Tensor = aten::div(%x, %2)\n"
      "  %4 : bool = prim::Constant[value=0]()\n"
      "  %5 : Tensor = aten::copy_(%y, %3, %4)\n"
      "  return (%5)\n");
  check(
      "def f(x: Tensor) -> int:\n"
      "  n = annotate(int, x)\n"
      "  print(n, \"a\")\n"
      "  return int(n)\n",
      "__torch__.f",
      "  %n : int = aten::IntImplicit(%x)\n"
      "  %2 : str = prim::Constant[value=\"a\"]()\n"
      "   = prim::Print(%n, %2)\n"
      "  return (%n)\n");
}

static void test_isinstance(void **state) {
  (void)state;
  script_world w;
  bsm_graph *graph = NULL;
  open_world(&w, 10,
             "def f(v: Union[int, str, List[int]]) -> bool:\n"
             "  return isinstance(v, (str, list))\n");
  assert_null(script_world_graph(&w, "__torch__.f", &graph));
  const bsm_node *node = graph->block->last;
  assert_string_equal(node->kind, "prim::isinstance");
  const bsm_type *types = bsm_node_attr_get(node, "types")->u.tuple->type;
  assert_int_equal(types->arg_count, 2);
  assert_int_equal(types->args[0]->kind, BSM_TYPE_STRING);
  assert_int_equal(types->args[1]->kind, BSM_TYPE_LIST);
  script_world_destroy(&w);
}

/* ---- integral floats ---- */

static void test_integral_floats(void **state) {
  (void)state;
  check(
      "def f(x: Tensor) -> Tuple[Tensor, List[float], float]:\n"
      "  _0 = torch.dropout(x, 10000000000, False)\n"
      "  _1 = [10000000000000000, 20000000000000000]\n"
      "  return (_0, _1, -30000000000)\n",
      "__torch__.f",
      "  %1 : int = prim::Constant[value=10000000000]()\n"
      "  %2 : bool = prim::Constant[value=0]()\n"
      "  %3 : float = prim::Constant[value=10000000000.]()\n"
      "  %4 : Tensor = aten::dropout(%x, %3, %2)\n"
      "  %5 : int = prim::Constant[value=10000000000000000]()\n"
      "  %6 : int = prim::Constant[value=20000000000000000]()\n"
      "  %7 : int[] = prim::ListConstruct(%5, %6)\n"
      "  %8 : float = prim::Constant[value=-30000000000.]()\n"
      "  %9 : (Tensor, int[], float) = prim::TupleConstruct(%4, %7, %8)\n"
      "  %10 : float = prim::Constant[value=1e+16]()\n"
      "  %11 : float = prim::Constant[value=2e+16]()\n"
      "  %12 : float[] = prim::ListConstruct(%10, %11)\n"
      "  %13 : (Tensor, float[], float) = prim::TupleConstruct(%4, %12, "
      "%8)\n"
      "  return (%13)\n");
}

/* ---- old operators ---- */

static const bsm_function *upgraded(script_world *w, const char *name) {
  bsm_graph *graph = NULL, *inner = NULL;
  bsm_status status = script_world_graph(w, name, &graph);
  if (status) fail_msg("%s", bsm_status_message(status));
  const bsm_node *node = graph->block->last;
  if (!bsm_node_is(node, "prim::CallFunction")) return NULL;
  bsm_function *fn =
      (bsm_function *)(uintptr_t)bsm_node_attr_get(node, "function")
          ->u.function;
  status = bsm_function_graph(fn, &inner);
  if (status) fail_msg("%s", bsm_status_message(status));
  assert_null(bsm_graph_verify(inner));
  assert_int_equal(node->inputs.len, inner->block->params->outputs.len);
  return fn;
}

static void check_upgrade(const char *call, int64_t since, const char *name) {
  for (int64_t version = since - 1; version <= since; version++) {
    script_world w;
    char code[300];
    snprintf(code, sizeof code, "def f(x: Tensor) -> Tensor:\n  return %s\n",
             call);
    open_world(&w, version, code);
    const bsm_function *fn = upgraded(&w, "__torch__.f");
    if (version == since) {
      assert_null(fn);
    } else {
      if (!fn) fail_msg("%s is not upgraded", call);
      assert_string_equal(fn->name, name);
    }
    script_world_destroy(&w);
  }
}

static void test_upgraders(void **state) {
  (void)state;
  check_upgrade("torch.div(x, x)", 4, "div_Tensor");
  check_upgrade("torch.div(x, 2)", 4, "div_Scalar");
  check_upgrade("torch.div_(x, x)", 4, "div__Tensor");
  check_upgrade("torch.div_(x, 2.5)", 4, "div__Scalar");
  check_upgrade("torch.full([2], 3, dtype=None)", 5, "full");
  check_upgrade("torch.linspace(0, 1, 5)", 8, "linspace");
  check_upgrade("torch.logspace(0, 1, 5)", 9, "logspace");
  check_upgrade("torch.gelu(x)", 10, "gelu");
  script_world w;
  open_world(&w, 3,
             "def f(x: Tensor) -> Tensor:\n"
             "  return torch.linspace(0, 1)\n"
             "def g(x: int) -> float:\n"
             "  return torch.div(x, 2)\n"
             "def h(x: Tensor) -> Tensor:\n"
             "  return torch.div(x, x, rounding_mode=\"floor\")\n");
  assert_non_null(upgraded(&w, "__torch__.f")); /* only old ones lack steps */
  assert_null(upgraded(&w, "__torch__.g"));
  assert_null(upgraded(&w, "__torch__.h"));
  script_world_destroy(&w);
}

static void test_aliases(void **state) {
  (void)state;
  check(
      "def f(x: Tensor) -> Tensor:\n"
      "  return torch.swapaxes(torch.absolute(x), 0, 1)\n",
      "__torch__.f",
      "  %1 : Tensor = aten::abs(%x)\n"
      "  %2 : int = prim::Constant[value=0]()\n"
      "  %3 : int = prim::Constant[value=1]()\n"
      "  %4 : Tensor = aten::transpose(%1, %2, %3)\n"
      "  return (%4)\n");
}

/* ---- hooks, contexts, sources ---- */

static void test_hooks(void **state) {
  (void)state;
  script_world w;
  const bsm_type *type = NULL;
  bsm_function *entry = NULL, *plain = NULL;
  bsm_graph *graph = NULL;
  open_world(&w, 10,
             "class M(Module):\n"
             "  __forward_pre_hooks__ = [\"pre\", ]\n"
             "  __forward_hooks__ = [\"post\", ]\n"
             "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
             "    return x\n"
             "  def pre(self: __torch__.M, i: Tuple[Tensor]) -> Tensor:\n"
             "    return (i)[0]\n"
             "  def post(self: __torch__.M, i: Tuple[Tensor], o: Tensor) -> "
             "NoneType:\n"
             "    return None\n");
  assert_null(bsm_script_find_type(w.script, BSM_STR("__torch__.M"), &type));
  assert_null(bsm_script_find_entry(w.script, type, "forward", &entry));
  assert_null(bsm_function_graph(entry, &graph));
  assert_null(bsm_graph_verify(graph));
  static const char *const called[] = {"pre", "forward", "post"};
  size_t calls = 0;
  for (const bsm_node *n = graph->block->first; n; n = n->next) {
    if (!bsm_node_is(n, "prim::CallMethod")) continue;
    assert_string_equal(bsm_node_attr_get(n, "name")->u.s->data,
                        called[calls++]);
  }
  assert_int_equal(calls, 3);
  const bsm_value *out = graph->block->returns->inputs.items[0];
  assert_string_equal(bsm_node_attr_get(out->node, "name")->u.s->data,
                      "forward"); /* the hook returned None */
  assert_null(bsm_script_find_entry(w.script, type, "pre", &plain));
  assert_ptr_equal(plain, bsm_class_find_method(type->cls, "pre"));
  script_world_destroy(&w);
}

static void test_with(void **state) {
  (void)state;
  script_world w;
  open_world(&w, 10,
             "class Ctx:\n"
             "  n : int\n"
             "  def __enter__(self: __torch__.Ctx) -> int:\n"
             "    return self.n\n"
             "  def __exit__(self: __torch__.Ctx, a: Any, b: Any, c: Any) -> "
             "NoneType:\n"
             "    return None\n"
             "def f(c: __torch__.Ctx) -> int:\n"
             "  with c as n:\n"
             "    m = torch.add(n, 1)\n"
             "  return m\n");
  const char *text = graph_text(&w, "__torch__.f");
  const char *enter = strstr(text, "[name=\"__enter__\"](%c)");
  const char *exit = strstr(text, "[name=\"__exit__\"](%c, ");
  assert_true(enter && exit && enter < exit);
  script_world_destroy(&w);
}

static void test_sources(void **state) {
  (void)state;
  script_world w;
  bsm_graph *graph = NULL;
  open_world(&w, 10, "def f(x: Tensor) -> Tensor:\n  return torch.relu(x)\n");
  assert_null(script_world_graph(&w, "__torch__.f", &graph));
  const bsm_source *source = &graph->block->last->source;
  assert_string_equal(source->code_file, "code/__torch__.py");
  assert_int_equal(source->code_line, 2);
  assert_null(source->scope);
  script_world_destroy(&w);
}

/* ---- errors ---- */

static void check_error(const char *code, const char *name, bsm_code want,
                        const char *message) {
  script_world w;
  bsm_graph *graph = NULL;
  open_world(&w, 10, code);
  bsm_status status = script_world_graph(&w, name, &graph);
  if (!status) fail_msg("accepted: %s", code);
  if (bsm_status_code(status) != want ||
      !strstr(bsm_status_message(status), message)) {
    fail_msg("%s: %s", bsm_code_name(bsm_status_code(status)),
             bsm_status_message(status));
  }
  bsm_status_free(status);
  script_world_destroy(&w);
}

/* A body of one line. */
static void check_line(const char *line, bsm_code want, const char *message) {
  char code[600];
  snprintf(code, sizeof code,
           "class C:\n"
           "  a : int\n"
           "  def m(self: __torch__.C) -> int:\n"
           "    return 1\n"
           "class P(NamedTuple):\n"
           "  x : Tensor\n"
           "class Q(NamedTuple):\n"
           "  q : __torch__.Q\n"
           "def f(x: Tensor, c: __torch__.C, i: int, p: Tuple[int, str]):\n"
           "  %s\n"
           "  return x\n",
           line);
  check_error(code, "__torch__.f", want, message);
}

static void test_errors(void **state) {
  (void)state;
  check_line("y = z", BSM_CORRUPT,
             "code/__torch__.py:10:7: unknown name 'z'\n    y = z\n        ^");
  check_line("y = torch.nothing(x)", BSM_UNSUPPORTED, "'aten::nothing'");
  check_line("y = ops.my.op(x)", BSM_UNSUPPORTED, "'my::op'");
  check_line("y = torch.relu(i)", BSM_UNSUPPORTED, "no overload fits");
  check_line("y = torch.relu(x, x, x)", BSM_UNSUPPORTED, "no overload fits");
  check_line("y = __torch__.g(x)", BSM_CORRUPT,
             "no class or function '__torch__.g'");
  check_line("y = torch.relu(__torch__.C)", BSM_CORRUPT, "this is no value");
  check_line("y = CONSTANTS.c99", BSM_CORRUPT, "16 constants");
  check_line("y = CONSTANTS.x", BSM_CORRUPT, "16 constants");
  check_line("y = c.b", BSM_CORRUPT, "no attribute or method 'b'");
  check_line("c.b = 1", BSM_CORRUPT, "no attribute 'b'");
  check_line("c.a = \"s\"", BSM_CORRUPT, "type str where int is wanted");
  check_line("y = (c).m(1, )", BSM_UNSUPPORTED, "no overload fits");
  check_line("a, b, d, = p", BSM_CORRUPT, "a tuple of 2 values");
  check_line("a, b, = x", BSM_CORRUPT, "type Tensor is unpacked");
  check_line("a, b = 1, 2, 3", BSM_CORRUPT, "3 values are assigned to 2");
  check_line("y = (p)[2]", BSM_CORRUPT, "index 2 of a tuple of 2");
  check_line("y = (p)[i]", BSM_UNSUPPORTED, "several types");
  check_line("y = [1, \"a\"]", BSM_CORRUPT, "types int and str");
  check_line("y = __torch__.P(i)", BSM_CORRUPT, "where Tensor is wanted");
  check_line("y = __torch__.P()", BSM_CORRUPT, "field 'x'");
  check_line("y = __torch__.Q(x)", BSM_CORRUPT, "contains itself");
  check_line("y : List[q] = x", BSM_CORRUPT, "q is no type");
  check_line("y : __torch__.Z = x", BSM_CORRUPT, "__torch__.Z is no type");
  check_line("y : Dict[int] = x", BSM_CORRUPT, "Dict is no type");
  check_line("y = isinstance(x)", BSM_CORRUPT, "isinstance takes 2");
  check_line("return x", BSM_UNSUPPORTED, "behind the return");
  check_line("fork(i)", BSM_CORRUPT, "cannot be forked");
  check_line("i(x)", BSM_CORRUPT, "cannot be called");
}

static void test_control_errors(void **state) {
  (void)state;
  check_error(
      "def f(x: Tensor, c: bool):\n"
      "  if c:\n"
      "    return x\n"
      "  return x\n",
      "__torch__.f", BSM_UNSUPPORTED, "a return inside a block");
  check_error(
      "def f(x: Tensor, c: bool):\n"
      "  if c:\n"
      "    y = 1\n"
      "  else:\n"
      "    y = \"a\"\n"
      "  return y\n",
      "__torch__.f", BSM_CORRUPT,
      "'y' is a int in one branch and a str in the other");
  check_error(
      "def f(x: Tensor, c: bool):\n"
      "  if c:\n"
      "    y = 1\n"
      "  return y\n",
      "__torch__.f", BSM_CORRUPT, "unknown name 'y'");
  check_error(
      "def f(x: Tensor, n: int):\n"
      "  y = 1\n"
      "  for i in range(n):\n"
      "    y = \"a\"\n"
      "  return y\n",
      "__torch__.f", BSM_CORRUPT, "for 'y', carried by the loop");
  check_error("def f(n: str):\n  for i in range(n):\n    pass\n", "__torch__.f",
              BSM_CORRUPT, "where int is wanted");
  check_error("def f(x: Tensor) -> int:\n  return x\n", "__torch__.g",
              BSM_NOT_FOUND, "no function '__torch__.g'");
}

static void test_recursion(void **state) {
  (void)state;
  /* Return types that need each other. */
  check_error(
      "def f(x: Tensor):\n  return __torch__.g(x)\n"
      "def g(x: Tensor):\n  return __torch__.f(x)\n",
      "__torch__.f", BSM_UNSUPPORTED, "'__torch__.f' calls itself");
  check_error(
      "def f(x: Tensor) -> Tensor:\n"
      "  def g():\n"
      "    return fork(g)\n"
      "  return fork(g)\n",
      "__torch__.f", BSM_LIMIT, "max_depth");
  check_error(
      "class I(ModuleInterface):\n"
      "  def forward(self, x: Tensor) -> Tensor:\n"
      "    pass\n",
      "__torch__.I.forward", BSM_UNSUPPORTED, "interface");
}

/* `depth` ifs inside each other, and `line` in the innermost. */
static void add_nest(bsm_text *code, int indent, int depth, const char *line) {
  for (int i = 0; i < depth; i++) {
    bsm_text_printf(code, "%*sif c:\n", 2 * (indent + i), "");
  }
  bsm_text_printf(code, "%*s%s\n", 2 * (indent + depth), "", line);
}

static void check_limit(const bsm_text *code, const char *name) {
  assert_false(code->failed);
  check_error(code->data, name, BSM_LIMIT, "max_depth");
}

/* Each part keeps its own limit; together they would be far too deep. */
static void test_depth_of_all(void **state) {
  (void)state;
  bsm_arena arena;
  bsm_text code;
  bsm_arena_init(&arena, NULL);
  bsm_text_init(&code, &arena);
  bsm_text_puts(&code, "def f(x: Tensor, c: bool):\n  def g():\n");
  add_nest(&code, 2, 150, "y = fork(g)");
  bsm_text_puts(&code, "    return x\n  return fork(g)\n");
  check_limit(&code, "__torch__.f");
  bsm_text_init(&code, &arena);
  for (int i = 0; i < 100; i++) {
    char line[80];
    bsm_text_printf(&code, "def f%d(x: Tensor, c: bool):\n", i);
    snprintf(line, sizeof line, "y = __torch__.f%d(x, c)", i + 1);
    add_nest(&code, 1, 150, line);
    bsm_text_puts(&code, "  return x\n");
  }
  bsm_text_puts(&code, "def f100(x: Tensor, c: bool):\n  return x\n");
  check_limit(&code, "__torch__.f0");
  bsm_text_init(&code, &arena);
  for (int i = 0; i < 100; i++) {
    bsm_text_printf(&code, "class C%d:\n  a : ", i);
    for (int k = 0; k < 150; k++) bsm_text_puts(&code, "List[");
    bsm_text_printf(&code, "__torch__.C%d", i + 1);
    for (int k = 0; k < 150; k++) bsm_text_puts(&code, "]");
    bsm_text_puts(&code, "\n");
  }
  bsm_text_puts(&code,
                "class C100:\n  a : int\n"
                "def f(x: __torch__.C0):\n  return x\n");
  check_limit(&code, "__torch__.f");
  bsm_arena_destroy(&arena);
}

/* A type that doubles with each line is given up, not built. */
static void test_huge_type(void **state) {
  (void)state;
  bsm_arena arena;
  bsm_text code;
  bsm_arena_init(&arena, NULL);
  bsm_text_init(&code, &arena);
  bsm_text_puts(&code, "def f(x: Tensor):\n");
  for (int i = 0; i < 80; i++) bsm_text_puts(&code, "  x = (x, x)\n");
  bsm_text_puts(&code, "  return x\n");
  check_error(code.data, "__torch__.f", BSM_LIMIT, "too large");
  bsm_arena_destroy(&arena);
}

/* A chain of classes, each with the next as an attribute. */
static void test_deep_names(void **state) {
  (void)state;
  enum { COUNT = 5000 };
  char *code = malloc(COUNT * 64), *at = code;
  assert_non_null(code);
  for (int i = 0; i < COUNT; i++) {
    at += sprintf(at, "class C%d:\n  a : __torch__.C%d\n", i, i + 1);
  }
  sprintf(at, "class C%d:\n  a : int\n", COUNT);
  script_world w;
  const bsm_type *type = NULL;
  open_world(&w, 10, code);
  bsm_status status =
      bsm_script_find_type(w.script, BSM_STR("__torch__.C0"), &type);
  assert_int_equal(bsm_status_code(status), BSM_LIMIT);
  bsm_status_free(status);
  assert_null(
      bsm_script_find_type(w.script, BSM_STR("__torch__.C4900"), &type));
  script_world_destroy(&w);
  free(code);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_if),
      cmocka_unit_test(test_static_if),
      cmocka_unit_test(test_optional_join),
      cmocka_unit_test(test_loops),
      cmocka_unit_test(test_calls),
      cmocka_unit_test(test_objects),
      cmocka_unit_test(test_enum),
      cmocka_unit_test(test_bare_list),
      cmocka_unit_test(test_special_forms),
      cmocka_unit_test(test_isinstance),
      cmocka_unit_test(test_integral_floats),
      cmocka_unit_test(test_upgraders),
      cmocka_unit_test(test_aliases),
      cmocka_unit_test(test_hooks),
      cmocka_unit_test(test_with),
      cmocka_unit_test(test_sources),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_control_errors),
      cmocka_unit_test(test_recursion),
      cmocka_unit_test(test_depth_of_all),
      cmocka_unit_test(test_huge_type),
      cmocka_unit_test(test_deep_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
