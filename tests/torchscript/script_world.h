/* SPDX-License-Identifier: Apache-2.0 */
/* A script over code files in memory, for the tests of the language. */
#ifndef BSM_TESTS_TORCHSCRIPT_SCRIPT_WORLD_H_
#define BSM_TESTS_TORCHSCRIPT_SCRIPT_WORLD_H_

#include <stdio.h>
#include <stdlib.h>

#include "torchscript/script.h"

enum { WORLD_MAX_FILES = 64, WORLD_CONSTANTS = 16 };

typedef struct script_world {
  bsm_arena arena;
  bsm_ir_ctx *cx;
  bsm_script *script;
  struct {
    char path[200]; /* "code/__torch__/a.py" */
    bsm_str text;
  } files[WORLD_MAX_FILES];
  size_t file_count;
  bsm_ivalue constants[WORLD_CONSTANTS];
} script_world;

static inline bsm_status script_world_read(void *user, bsm_str module,
                                           bsm_str *out, const char **path) {
  script_world *w = user;
  char wanted[256];
  snprintf(wanted, sizeof wanted, "code/%.*s.py",
           (int)(module.len < 200 ? module.len : 200), module.data);
  for (size_t i = 5; wanted[i] && wanted[i + 3]; i++) {
    if (wanted[i] == '.') wanted[i] = '/';
  }
  for (size_t i = 0; i < w->file_count; i++) {
    if (strcmp(w->files[i].path, wanted) == 0) {
      *out = w->files[i].text;
      *path = w->files[i].path;
    }
  }
  return BSM_OK;
}

/* `limits` may be NULL. The constants are 0-dim tensors. */
static inline bsm_status script_world_init(script_world *w, int64_t version,
                                           const bsm_limits *limits) {
  *w = (script_world){0};
  bsm_arena_init(&w->arena, NULL);
  BSM_TRY(bsm_ir_ctx_create(&w->arena, limits, NULL, &w->cx));
  const bsm_script_hooks hooks = {.user = w, .read_source = script_world_read};
  BSM_TRY(bsm_script_create(w->cx, version, &hooks, &w->script));
  for (size_t i = 0; i < WORLD_CONSTANTS; i++) {
    bsm_tensor *tensor = NULL;
    BSM_TRY(
        bsm_tensor_from_int(&w->arena, BSM_DTYPE_INT64, (int64_t)i, &tensor));
    w->constants[i] = bsm_iv_tensor(tensor);
  }
  bsm_script_set_constants(w->script, w->constants, WORLD_CONSTANTS);
  return BSM_OK;
}

static inline void script_world_destroy(script_world *w) {
  bsm_arena_destroy(&w->arena);
}

static inline void script_world_add(script_world *w, const char *path,
                                    bsm_str text) {
  if (w->file_count == WORLD_MAX_FILES) abort();
  snprintf(w->files[w->file_count].path, sizeof w->files[0].path, "%s", path);
  w->files[w->file_count++].text = text;
}

/* A function or a method by qualified name. */
static inline bsm_status script_world_find(script_world *w, const char *name,
                                           bsm_function **out) {
  const char *dot = strrchr(name, '.');
  const bsm_type *type = NULL;
  const bsm_str owner = {name, dot ? (size_t)(dot - name) : 0};
  bsm_status status = bsm_script_find_type(w->script, owner, &type);
  if (!status && type->cls) {
    *out = bsm_class_find_method(type->cls, dot + 1);
    return *out ? BSM_OK : BSM_FAIL(BSM_NOT_FOUND, "no method %s", name);
  }
  if (status && bsm_status_code(status) != BSM_NOT_FOUND) return status;
  bsm_status_free(status);
  return bsm_script_find_function(w->script, bsm_str_of(name), out);
}

/* Its graph, verified. */
static inline bsm_status script_world_graph(script_world *w, const char *name,
                                            bsm_graph **out) {
  bsm_function *fn = NULL;
  BSM_TRY(script_world_find(w, name, &fn));
  BSM_TRY(bsm_function_graph(fn, out));
  return bsm_graph_verify(*out);
}

#endif /* BSM_TESTS_TORCHSCRIPT_SCRIPT_WORLD_H_ */
