/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules of blocks: stages, segments, lists, writers, nested blocks. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <string.h>

#include "partitioning/partition.h"

typedef struct fixture {
  bsm_arena arena;
  bsm_graph *graph;
  bsm_partition partition;
  bsm_schedule schedule; /* of the top block */
} fixture;

#define F "Float(2, 3, strides=[3, 1])"

static void check_status(bsm_status status) {
  if (!status) return;
  fprintf(stderr, "%s\n", bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

/* All but aten::tan. */
static bool can_compile(void *user, const bsm_node *node) {
  (void)user;
  return !bsm_node_is(node, "aten::tan");
}

static bsm_partition_options options_of(void) {
  return (bsm_partition_options){.can_compile = can_compile};
}

static void set_up(fixture *f, const char *text) {
  bsm_ir_ctx *cx = NULL;
  bsm_arena_init(&f->arena, NULL);
  check_status(bsm_ir_ctx_create(&f->arena, NULL, NULL, &cx));
  check_status(bsm_graph_parse(cx, bsm_str_of(text), "case", &f->graph));
  check_status(bsm_graph_verify(f->graph));
}

static void partition(fixture *f, const char *text) {
  const bsm_partition_options options = options_of();
  set_up(f, text);
  check_status(
      bsm_partition_graph(f->graph, &options, &f->arena, &f->partition));
  f->schedule = *bsm_partition_schedule(&f->partition, f->graph->block);
}

/* "[relu neg] tan [abs]" */
static void expect(fixture *f, const char *want) {
  char got[1000] = "";
  size_t n = 0;
  for (size_t i = 0; i < f->schedule.count; i++) {
    const bsm_schedule_item *item = &f->schedule.items[i];
    if (i) n += (size_t)snprintf(got + n, sizeof(got) - n, " ");
    if (item->node) {
      n += (size_t)snprintf(got + n, sizeof(got) - n, "%s",
                            strstr(item->node->kind, "::") + 2);
      continue;
    }
    n += (size_t)snprintf(got + n, sizeof(got) - n, "[");
    size_t nodes = 0;
    const bsm_segment *s = item->segment;
    for (const bsm_node *k = s->graph->block->first; k; k = k->next) {
      if (bsm_node_is(k, "prim::Constant")) continue;
      nodes += !bsm_node_is_floating(k);
      n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%s",
                            got[n - 1] == '[' ? "" : " ",
                            strstr(k->kind, "::") + 2);
    }
    n += (size_t)snprintf(got + n, sizeof(got) - n, "]%zu:%zu", s->input_count,
                          s->output_count);
    assert_int_equal(s->node_count, nodes);
    assert_int_equal(s->graph->block->params->outputs.len, s->input_count);
    assert_int_equal(s->graph->block->returns->inputs.len, s->output_count);
    check_status(bsm_graph_verify(s->graph));
  }
  assert_string_equal(got, want);
  bsm_arena_destroy(&f->arena);
}

static void stages(void **state) {
  (void)state;
  fixture f;
  /* Nodes that do not depend on each other share a segment. */
  partition(&f, "graph(%x : " F
                "):\n"
                "  %a : " F
                " = aten::relu(%x)\n"
                "  %t : " F
                " = aten::tan(%a)\n"
                "  %b : " F
                " = aten::neg(%x)\n"
                "  %c : " F
                " = aten::abs(%t)\n"
                "  %d : " F
                " = aten::neg(%b)\n"
                "  %e : " F
                " = aten::tan(%x)\n"
                "  return (%c, %d, %e)\n");
  expect(&f, "[relu neg neg]1:2 tan tan [abs]1:1");
  /* A result that nobody reads is no output; alone it is not run. */
  partition(&f, "graph(%x : " F
                "):\n"
                "  %t : " F
                " = aten::tan(%x)\n"
                "  %a : " F
                " = aten::relu(%t)\n"
                "  return (%t)\n");
  expect(&f, "tan");
  /* Unknown dims are for the program, and what only they lead to. */
  partition(&f, "graph(%x : " F
                "):\n"
                "  %n : Tensor = aten::nonzero(%x)\n"
                "  %a : " F
                " = aten::relu(%x)\n"
                "  %m : Tensor = aten::neg(%n)\n"
                "  return (%m, %a)\n");
  expect(&f, "[relu]1:1 nonzero neg");
}

static void whole_graphs(void **state) {
  (void)state;
  fixture f;
  const bsm_partition_options options = options_of();
  set_up(&f, "graph(%x : " F
             "):\n"
             "  %i : int = prim::Constant[value=1]()\n"
             "  %l : Tensor[] = prim::ListConstruct(%x, %x)\n"
             "  %c : Float(2, 6, strides=[6, 1]) = aten::cat(%l, %i)\n"
             "  return (%c)\n");
  assert_true(bsm_is_one_segment(f.graph, &options));
  bsm_arena_destroy(&f.arena);
  set_up(&f, "graph(%x : " F
             "):\n"
             "  %n : Tensor = aten::nonzero(%x)\n"
             "  return (%n)\n");
  assert_false(bsm_is_one_segment(f.graph, &options));
  bsm_arena_destroy(&f.arena);
  set_up(&f, "graph(%x : " F
             "):\n"
             "  %n : " F
             " = aten::tan(%x)\n"
             "  return (%n)\n");
  assert_false(bsm_is_one_segment(f.graph, &options));
  bsm_arena_destroy(&f.arena);
}

static void lists(void **state) {
  (void)state;
  fixture f;
  /* Lists go into segments with whoever reads them, and are made again outside.
   */
  partition(&f, "graph(%x : " F
                "):\n"
                "  %i : int = prim::Constant[value=1]()\n"
                "  %a : " F
                " = aten::relu(%x)\n"
                "  %l : Tensor[] = prim::ListConstruct(%a, %x)\n"
                "  %c : Float(2, 6, strides=[6, 1]) = aten::cat(%l, %i)\n"
                "  %t : " F
                " = aten::tan(%x)\n"
                "  return (%c, %t)\n");
  expect(&f, "[relu ListConstruct cat]1:1 tan");
  /* A list that is only taken apart stays inside. */
  partition(&f, "graph(%x : " F
                "):\n"
                "  %i : int = prim::Constant[value=1]()\n"
                "  %l : Tensor[] = aten::split(%x, %i, %i)\n"
                "  %a : Float(2, 1, strides=[3, 1]), "
                "%b : Float(2, 1, strides=[3, 1]), "
                "%c : Float(2, 1, strides=[3, 1]) = prim::ListUnpack(%l)\n"
                "  %t : " F
                " = aten::tan(%x)\n"
                "  return (%a, %c, %t)\n");
  expect(&f, "[split ListUnpack]1:2 tan");
}

static void writers(void **state) {
  (void)state;
  fixture f;
  /* Who reads a container that was written to comes after the writer, and what
   * is appended before it. */
  partition(&f, "graph(%x : " F
                ", %l : Tensor[]):\n"
                "  %a : " F
                " = aten::relu(%x)\n"
                "  %w : Tensor[] = aten::append(%l, %a)\n"
                "  %n : int = aten::len(%l)\n"
                "  %b : " F
                " = aten::neg(%a)\n"
                "  return (%n, %b)\n");
  expect(&f, "[relu neg]1:2 append len");
}

static void nested_blocks(void **state) {
  (void)state;
  fixture f;
  /* An If waits for all that its blocks read; each block has its own schedule.
   */
  partition(&f, "graph(%x : " F
                ", %k : bool):\n"
                "  %a : " F
                " = aten::relu(%x)\n"
                "  %y : " F
                " = prim::If(%k)\n"
                "    block0():\n"
                "      %p : " F
                " = aten::tan(%a)\n"
                "      %q : " F
                " = aten::neg(%p)\n"
                "      -> (%q)\n"
                "    block1():\n"
                "      -> (%x)\n"
                "  %z : " F
                " = aten::abs(%y)\n"
                "  return (%z)\n");
  const bsm_node *node = f.schedule.items[1].node;
  assert_true(node && bsm_node_is(node, "prim::If"));
  const bsm_schedule *inner =
      bsm_partition_schedule(&f.partition, node->blocks.items[0]);
  assert_int_equal(inner->count, 2);
  assert_true(bsm_node_is(inner->items[0].node, "aten::tan"));
  assert_false(inner->items[0].must_call);
  assert_int_equal(inner->items[1].segment->input_count, 1);
  inner = bsm_partition_schedule(&f.partition, node->blocks.items[1]);
  assert_int_equal(inner->count, 0);
  expect(&f, "[relu]1:1 If [abs]1:1");
}

static bool must_call_neg(void *user, const bsm_node *node) {
  (void)user;
  return bsm_node_is(node, "aten::neg");
}

static void forced_calls(void **state) {
  (void)state;
  fixture f;
  bsm_partition_options options = options_of();
  options.must_call = must_call_neg;
  set_up(&f, "graph(%x : " F
             "):\n"
             "  %a : " F
             " = aten::neg(%x)\n"
             "  %y : " F
             " = aten::tan(%a)\n"
             "  return (%y)\n");
  check_status(bsm_partition_graph(f.graph, &options, &f.arena, &f.partition));
  const bsm_schedule *all =
      bsm_partition_schedule(&f.partition, f.graph->block);
  assert_int_equal(all->count, 2);
  assert_true(all->items[0].must_call && !all->items[1].must_call);
  bsm_arena_destroy(&f.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stages),        cmocka_unit_test(whole_graphs),
      cmocka_unit_test(lists),         cmocka_unit_test(writers),
      cmocka_unit_test(nested_blocks), cmocka_unit_test(forced_calls),
  };
  return cmocka_run_group_tests_name("partition", tests, NULL, NULL);
}
