/* SPDX-License-Identifier: Apache-2.0 */
/* Converters on the calls of the reference library's suite: each call that
 * PyTorch answers with tensors becomes a graph of one node, is converted and
 * run by the reference ops. Once with every tensor known at run time, once with
 * only the first. What a converter refuses is left to the reference library.
 *
 * What is claimed is shown: every converter must have converted a call, and the
 * limits that its row states must be there, and be true. */
#include <math.h>

#include "tests/conversion/conversion_fixture.h"
#include "tests/conversion/network_eval.h"
/* The reader of another folder's tests: its source, as only it needs it. */
#include "tests/aten/op_cases.c"

#define MAX_INPUTS 16

/* The graph of one call. */
typedef struct call {
  bsm_graph *graph;
  bsm_tensor *inputs[MAX_INPUTS];
  size_t input_count;
  bool only_first;
  size_t outputs; /* of the node that are the graph's */
} call;

static bsm_status add_tensor(fixture *f, call *c, bsm_tensor *t,
                             bsm_value **out) {
  bsm_node *constant;
  if ((c->only_first && c->input_count > 0) || c->input_count == MAX_INPUTS) {
    BSM_TRY(
        bsm_node_create_constant(c->graph, bsm_iv_tensor(t), NULL, &constant));
    bsm_node_append(c->graph->block, constant);
    *out = bsm_node_out(constant, 0);
    return BSM_OK;
  }
  c->inputs[c->input_count++] = t;
  return bsm_block_add_input(
      c->graph->block, bsm_type_tensor(f->cx->types, t->dtype, t->sizes), out);
}

static bsm_status add_argument(fixture *f, call *c, const bsm_ivalue *v,
                               const bsm_type *type, bsm_value **out) {
  bsm_node *node;
  if (v->tag == BSM_IVALUE_TENSOR) return add_tensor(f, c, v->u.tensor, out);
  bool tensors = v->tag == BSM_IVALUE_LIST && v->u.list->len > 0;
  for (size_t i = 0; tensors && i < v->u.list->len; i++) {
    tensors = v->u.list->items[i].tag == BSM_IVALUE_TENSOR ||
              v->u.list->items[i].tag == BSM_IVALUE_NONE;
  }
  if (!tensors) {
    BSM_TRY(bsm_node_create_constant(c->graph, *v, type, &node));
    bsm_node_append(c->graph->block, node);
    *out = bsm_node_out(node, 0);
    return BSM_OK;
  }
  BSM_TRY(bsm_node_create(c->graph, "prim::ListConstruct", &node));
  for (size_t i = 0; i < v->u.list->len; i++) {
    bsm_value *item;
    BSM_TRY(add_argument(f, c, &v->u.list->items[i],
                         bsm_type_simple(f->cx->types, BSM_TYPE_NONE), &item));
    BSM_TRY(bsm_node_add_input(node, item));
  }
  bsm_node_append(c->graph->block, node);
  return bsm_node_add_output(node, type, out);
}

/* The outputs of the node, lists unpacked, become those of the graph. */
static bsm_status add_outputs(fixture *f, const op_case *oc, call *c,
                              const bsm_node *node) {
  for (size_t i = 0; i < c->outputs; i++) {
    bsm_value *value = bsm_node_out(node, i), *item;
    bsm_node *unpack;
    if (oc->outs[i].tag != BSM_IVALUE_LIST) {
      BSM_TRY(bsm_block_add_output(c->graph->block, value));
      continue;
    }
    BSM_TRY(bsm_node_create(c->graph, "prim::ListUnpack", &unpack));
    BSM_TRY(bsm_node_add_input(unpack, value));
    bsm_node_append(c->graph->block, unpack);
    for (size_t k = 0; k < oc->outs[i].u.list->len; k++) {
      BSM_TRY(bsm_node_add_output(
          unpack, bsm_type_simple(f->cx->types, BSM_TYPE_TENSOR), &item));
      BSM_TRY(bsm_block_add_output(c->graph->block, item));
    }
  }
  return BSM_OK;
}

static bsm_status make_graph(fixture *f, const op_case *oc, call *c) {
  const bsm_schema *schema;
  bsm_node *node;
  BSM_TRY(bsm_graph_create(f->cx, &c->graph));
  BSM_TRY(bsm_schema_table_find(f->cx->schemas, oc->name, &schema));
  if (!schema) return BSM_FAIL(BSM_NOT_FOUND, "no schema");
  BSM_TRY(bsm_node_create_schema(c->graph, schema, &node));
  for (size_t i = 0; i < oc->arg_count; i++) {
    bsm_value *v;
    BSM_TRY(add_argument(f, c, &oc->args[i], schema->args[i].type, &v));
    BSM_TRY(bsm_node_add_input(node, v));
  }
  bsm_node_append(c->graph->block, node);
  return add_outputs(f, oc, c, node);
}

static double tolerance(bsm_dtype dtype, double largest) {
  switch (dtype) {
    case BSM_DTYPE_HALF:
      return 4e-3 * largest + 1e-3;
    case BSM_DTYPE_BFLOAT16:
      return 3e-2 * largest + 1e-2;
    case BSM_DTYPE_FLOAT:
    case BSM_DTYPE_DOUBLE:
      return 5e-6 * largest + 1e-6;
    default:
      return 0;
  }
}

static bsm_status compare(const bsm_tensor *have, const bsm_tensor *want) {
  double largest = 0;
  int64_t count = bsm_tensor_numel(want);
  if (have->dtype != want->dtype || !bsm_dims_equal(have->sizes, want->sizes)) {
    return BSM_FAIL(BSM_INTERNAL, "%s%s, PyTorch has %s%s",
                    bsm_dtype_name(have->dtype), bsm_dims_str(have->sizes),
                    bsm_dtype_name(want->dtype), bsm_dims_str(want->sizes));
  }
  for (int64_t i = 0; i < count; i++) {
    double b = fabs(bsm_tensor_get_double(want, i));
    if (b > largest && !isinf(b)) largest = b;
  }
  for (int64_t i = 0; i < count; i++) {
    double a = bsm_tensor_get_double(have, i);
    double b = bsm_tensor_get_double(want, i);
    bool same = isnan(b)   ? isnan(a)
                : isinf(b) ? a <= b && a >= b
                           : fabs(a - b) <= tolerance(want->dtype, largest);
    if (!same) {
      return BSM_FAIL(BSM_INTERNAL, "element %lld is %.9g, PyTorch has %.9g",
                      (long long)i, a, b);
    }
  }
  return BSM_OK;
}

/* How a call is tried. Of the results of an operator that has several, often
 * only the first is used. */
enum { ALL_INPUTS, ONLY_FIRST_INPUT, ONLY_FIRST_OUTPUT, WAYS };

/* What the suite showed of one converter. */
typedef struct tally {
  const char *name;
  size_t converted, evaluated, refused;
  const char *reason; /* of the first refusal */
} tally;

static bsm_status note_handler(void *user, const bsm_node *node,
                               bsm_node_handler handler) {
  if (node->schema) *(bsm_node_handler *)user = handler;
  return BSM_OK;
}

/* Why no converter takes the graph; NULL when one does. */
static const char *refusal(fixture *f, const bsm_graph *graph) {
  const bsm_convert_options options = {.require_full_compilation = true};
  bsm_network *net;
  const char *reason = NULL;
  bsm_status status = bsm_convert_graph_with(graph, f->aten, f->registry,
                                             &f->arena, NULL, &options, &net);
  if (status) reason = bsm_arena_strdup(&f->arena, bsm_status_message(status));
  bsm_status_free(status);
  return reason;
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
    if (!t->reason) t->reason = refusal(f, graph);
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
  size_t at = 0;
  *refused = false;
  BSM_TRY(make_graph(f, oc, &c));
  bsm_status status = convert_and_count(f, c.graph, t, &net);
  *refused = bsm_status_code(status) == BSM_UNSUPPORTED ||
             bsm_status_code(status) == BSM_INVALID_ARGUMENT;
  if (status) return status;
  if (net->outputs.len > 64) return BSM_FAIL(BSM_LIMIT, "too many outputs");
  BSM_TRY(network_eval(net, f->aten, &f->arena, c.inputs, results));
  for (size_t i = 0; i < c.outputs; i++) {
    const bsm_ivalue *out = &oc->outs[i];
    if (out->tag != BSM_IVALUE_LIST) {
      BSM_TRY(compare(results[at++], out->u.tensor));
      continue;
    }
    for (size_t k = 0; k < out->u.list->len; k++) {
      BSM_TRY(compare(results[at++], out->u.list->items[k].u.tensor));
    }
  }
  return BSM_OK;
}

static bool is_tensors(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_TENSOR ||
         (v->tag == BSM_IVALUE_LIST && v->u.list->len > 0 &&
          v->u.list->items[0].tag == BSM_IVALUE_TENSOR);
}

/* A call with tensors in and out that has a converter. */
static bool is_wanted(const fixture *f, const op_case *oc, const char *name) {
  bool wanted = oc->outcome == OP_RETURNS && oc->out_count > 0 &&
                bsm_registry_has_converter(f->registry, name);
  bool any = false;
  for (size_t i = 0; wanted && i < oc->out_count; i++) {
    wanted = is_tensors(&oc->outs[i]);
  }
  for (size_t i = 0; i < oc->arg_count; i++) any |= is_tensors(&oc->args[i]);
  return wanted && any;
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

/* Every claim has been seen to hold. */
static void check_tallies(const tallies *all) {
  size_t missing = 0;
  for (size_t i = 0; i < all->count; i++) {
    const tally *t = &all->items[i];
    if (t->converted || is_beyond_the_suite(t->name)) continue;
    missing++;
    print_error("%s: its converter has taken no call of the suite%s%s\n",
                t->name, t->refused ? "; it refuses: " : "",
                t->reason ? t->reason : "");
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
      if (way == ONLY_FIRST_OUTPUT && oc.out_count == 1) continue;
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
  print_message("%zu calls right, %zu refused\n", right, refused);
  assert_true(right > 4000);
  assert_true(refused < 200);
  assert_int_equal(wrong, 0);
  check_tallies(&all);
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
