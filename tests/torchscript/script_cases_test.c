/* SPDX-License-Identifier: Apache-2.0 */
/* Serialized code compiled by us and by PyTorch: the same operators, overloads
 * and types in the same order. The cases are made by
 * tests/data/make_script_cases.py.
 *
 * PyTorch's graphs have been through its cleanup passes. What those take away
 * is taken away here from ours before comparing: nodes without effect whose
 * results are unused, and scalar operators on constants. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/torchscript/script_world.h"

#define DIRECTORY BSM_TEST_DATA_DIR "/script/"

static char *read_file(bsm_arena *arena, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("cannot open %s", path);
  fseek(file, 0, SEEK_END);
  const long size = ftell(file);
  rewind(file);
  char *text = BSM_NEW_ARRAY(arena, char, (size_t)size + 1);
  assert_non_null(text);
  assert_int_equal(fread(text, 1, (size_t)size, file), (size_t)size);
  fclose(file);
  return text;
}

/* ---- what PyTorch's cleanup leaves ---- */

static bool is_any(const bsm_node *node, const char *const *kinds) {
  for (; *kinds; kinds++) {
    if (bsm_node_is(node, *kinds)) return true;
  }
  return false;
}

static bool has_effect(const bsm_node *node) {
  static const char *const kinds[] = {
      "prim::SetAttr",      "prim::RaiseException",
      "prim::Print",        "prim::CallMethod",
      "prim::CallFunction", "aten::warn",
      "aten::format",       NULL};
  if (is_any(node, kinds)) return true;
  for (size_t i = 0; node->schema && i < node->schema->arg_count; i++) {
    if (node->schema->args[i].is_write) return true;
  }
  for (size_t i = 0; i < node->blocks.len; i++) {
    const bsm_node *inner = node->blocks.items[i]->first;
    for (; inner; inner = inner->next) {
      if (has_effect(inner)) return true;
    }
  }
  return false;
}

static bool is_used(const bsm_node *node) {
  for (size_t i = 0; i < node->outputs.len; i++) {
    if (bsm_node_out(node, i)->uses.len > 0) return true;
  }
  return false;
}

static bool remove_dead(bsm_block *block) {
  bool changed = false;
  for (bsm_node *node = block->last, *before; node; node = before) {
    before = node->prev;
    for (size_t i = 0; i < node->blocks.len; i++) {
      changed |= remove_dead(node->blocks.items[i]);
    }
    for (size_t i = node->outputs.len; i-- > 0 && node->blocks.len == 2;) {
      if (bsm_node_out(node, i)->uses.len > 0) continue;
      bsm_node_remove_input(node->blocks.items[0]->returns, i);
      bsm_node_remove_input(node->blocks.items[1]->returns, i);
      bsm_node_remove_output(node, i);
      changed = true;
    }
    if (is_used(node) || has_effect(node)) continue;
    bsm_node_destroy(node);
    changed = true;
  }
  return changed;
}

static bool is_scalar(bsm_type_kind kind) {
  return kind == BSM_TYPE_INT || kind == BSM_TYPE_FLOAT ||
         kind == BSM_TYPE_BOOL || kind == BSM_TYPE_STRING ||
         kind == BSM_TYPE_COMPLEX || kind == BSM_TYPE_DEVICE;
}

static bool is_folded(const bsm_node *node) {
  if (bsm_node_is(node, "prim::Constant")) return true;
  if (!node->schema || node->outputs.len != 1 || node->inputs.len == 0 ||
      has_effect(node) || !is_scalar(bsm_node_out(node, 0)->type->kind)) {
    return false;
  }
  for (size_t i = 0; i < node->inputs.len; i++) {
    if (!is_folded(bsm_node_in(node, i)->node)) return false;
  }
  return true;
}

/* ---- comparing ---- */

static void list_nodes(bsm_text *text, const bsm_block *block) {
  static const char *const skipped[] = {
      "prim::Constant",       "prim::TupleConstruct", "prim::TupleUnpack",
      "prim::unchecked_cast", "prim::Uninitialized",  NULL};
  static const char *const structure[] = {"prim::If", "prim::Loop", NULL};
  for (const bsm_node *node = block->first; node; node = node->next) {
    if (!is_any(node, skipped) && !is_folded(node)) {
      const bool plain =
          !node->schema || bsm_node_is(node, "prim::RaiseException");
      bsm_text_puts(text, plain ? node->kind : node->schema->qualified);
      for (size_t i = 0; i < node->outputs.len && !is_any(node, structure);
           i++) {
        bsm_text_puts(text, i ? ", " : " -> ");
        bsm_type_print(text, bsm_node_out(node, i)->type,
                       BSM_TYPE_STYLE_PYTHON);
      }
      bsm_text_puts(text, "\n");
    }
    for (size_t i = 0; i < node->blocks.len; i++) {
      list_nodes(text, node->blocks.items[i]);
    }
  }
}

static size_t check_graph(script_world *w, const char *name, bsm_str wanted) {
  bsm_graph *graph = NULL;
  bsm_status status = script_world_graph(w, name, &graph);
  if (status) fail_msg("%s: %s", name, bsm_status_message(status));
  while (remove_dead(graph->block)) continue;
  bsm_text text;
  bsm_text_init(&text, &w->arena);
  list_nodes(&text, graph->block);
  assert_false(text.failed);
  if (!bsm_str_eq((bsm_str){text.data, text.len}, wanted)) {
    fail_msg("%s\n---- PyTorch:\n%.*s\n---- ours:\n%s", name, (int)wanted.len,
             wanted.data, text.data);
  }
  return wanted.len;
}

/* ---- cases ---- */

typedef struct section {
  const char *kind, *name;
  bsm_str body;
} section;

/* Cuts a case into its sections; writes NULs into the headers. */
static size_t cut(char *text, section *out, size_t max) {
  size_t count = 0;
  char *at = text;
  while (at && strncmp(at, "=== ", 4) == 0) {
    char *kind = at + 4, *end = strchr(at, '\n');
    assert_non_null(end);
    char *body = end + 1, *name = strchr(kind, ' ');
    *end = '\0';
    *name = '\0';
    char *next = strncmp(body, "=== ", 4) == 0 ? body : strstr(body, "\n=== ");
    if (next && next != body) next++;
    const size_t len = next ? (size_t)(next - body) : strlen(body);
    assert_true(count < max);
    out[count++] = (section){kind, name + 1, {body, len}};
    at = next;
  }
  return count;
}

static void check_case(const char *name) {
  script_world w;
  section sections[200] = {{0}};
  char path[512];
  size_t compared = 0;
  bsm_arena texts;
  bsm_arena_init(&texts, NULL);
  snprintf(path, sizeof path, DIRECTORY "%s.txt", name);
  const size_t count = cut(read_file(&texts, path), sections, 200);
  assert_string_equal(sections[0].kind, "version");
  assert_null(script_world_init(&w, atoi(sections[0].name), NULL));
  for (size_t i = 1; i < count; i++) {
    if (strcmp(sections[i].kind, "file") == 0) {
      script_world_add(&w, sections[i].name, sections[i].body);
    }
  }
  for (size_t i = 1; i < count; i++) {
    if (strcmp(sections[i].kind, "graph") == 0) {
      compared += check_graph(&w, sections[i].name, sections[i].body);
    }
  }
  assert_true(compared > 0);
  script_world_destroy(&w);
  bsm_arena_destroy(&texts);
}

static void test_cases(void **state) {
  (void)state;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  char *list = read_file(&arena, DIRECTORY "cases.txt");
  size_t count = 0;
  for (char *name = strtok(list, "\n"); name; name = strtok(NULL, "\n")) {
    check_case(name);
    count++;
  }
  assert_true(count >= 12);
  bsm_arena_destroy(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
