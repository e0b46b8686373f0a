/* SPDX-License-Identifier: Apache-2.0 */
/* The code language from memory: the first byte chooses the operator version,
 * the rest is code/__torch__.py. Every function and method is compiled; a graph
 * that was made must be sound. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/mutators/mutator.h"
#include "fuzz/seed.h"
#include "torchscript/script.h"
#include "torchscript/script_parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(fuzz_mutate_text, 1);

enum { CONSTANTS = 4 };

static bsm_status read_source(void *user, bsm_str module, bsm_str *out,
                              const char **path) {
  if (bsm_str_eq(module, BSM_STR("__torch__"))) {
    *out = *(const bsm_str *)user;
    *path = "code/__torch__.py";
  }
  return BSM_OK;
}

static void compile(bsm_function *fn) {
  bsm_graph *graph = NULL;
  bsm_status status = bsm_function_graph(fn, &graph);
  if (!status) {
    status = bsm_graph_verify(graph);
    if (status) {
      fprintf(stderr, "%s\n", bsm_status_message(status));
      abort();
    }
  }
  bsm_status_free(status);
}

/* "__torch__.name" */
static bsm_str qualify(bsm_ir_ctx *cx, const char *name) {
  const char *full = bsm_arena_printf(cx->arena, "__torch__.%s", name);
  return full ? bsm_str_of(full) : BSM_STR("");
}

static void compile_all(bsm_ir_ctx *cx, bsm_script *script,
                        const bsm_syntax *syntax) {
  for (size_t i = 0; i < syntax->class_count; i++) {
    const bsm_type *type = NULL;
    bsm_status_free(bsm_script_find_type(
        script, qualify(cx, syntax->classes[i]->name), &type));
    for (size_t k = 0; type && type->cls && k < type->cls->methods.len; k++) {
      compile(type->cls->methods.items[k]);
    }
  }
  for (size_t i = 0; i < syntax->def_count; i++) {
    bsm_function *fn = NULL;
    bsm_status_free(bsm_script_find_function(
        script, qualify(cx, syntax->defs[i]->name), &fn));
    if (fn) compile(fn);
  }
}

static bsm_status run(bsm_arena *arena, int64_t version, bsm_str text) {
  bsm_limits limits = BSM_LIMITS_INIT;
  bsm_ir_ctx *cx = NULL;
  bsm_script *script = NULL;
  bsm_syntax syntax;
  const bsm_type *type = NULL;
  bsm_ivalue constants[CONSTANTS];
  limits.max_nodes = 20000; /* keeps runs short */
  limits.max_depth = 60;
  BSM_TRY(bsm_ir_ctx_create(arena, &limits, NULL, &cx));
  const bsm_script_hooks hooks = {.user = &text, .read_source = read_source};
  BSM_TRY(bsm_script_create(cx, version, &hooks, &script));
  for (size_t i = 0; i < CONSTANTS; i++) constants[i] = bsm_iv_int((int)i);
  bsm_script_set_constants(script, constants, CONSTANTS);
  bsm_status_free(bsm_script_parse_type(script, text, &type));
  const bsm_code_file file = {"code/__torch__.py", BSM_STR("__torch__"), text};
  BSM_TRY(bsm_parse_file(cx->arena, &cx->names, &cx->limits, &file, &syntax));
  compile_all(cx, script, &syntax);
  return BSM_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  const bsm_str text = {(const char *)data + 1, size - 1};
  fuzz_done(run(&arena, data[0] % 10 + 1, text));
  bsm_arena_destroy(&arena);
  return 0;
}
