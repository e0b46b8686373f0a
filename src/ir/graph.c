/* SPDX-License-Identifier: Apache-2.0 */
/* The context of a compilation, graphs, blocks, values and their names. */
#include "ir/graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/resolve_limits.h"

/* ---- context ---- */

bsm_status bsm_ir_ctx_create(bsm_arena *arena, const bsm_limits *limits,
                             const bsm_logger *logger, bsm_ir_ctx **out) {
  *out = NULL;
  bsm_ir_ctx *cx = BSM_NEW(arena, bsm_ir_ctx);
  BSM_TRY_ALLOC(cx);
  cx->arena = arena;
  cx->logger = logger;
  cx->limits = bsm_resolve_limits(limits);
  cx->work.limit = cx->limits.max_work ? (double)cx->limits.max_work : HUGE_VAL;
  cx->work.left = cx->work.limit;
  bsm_interner_init(&cx->names, arena);
  BSM_TRY(bsm_type_table_create(arena, &cx->types));
  BSM_TRY(bsm_schema_table_create(cx->types, arena, &cx->schemas));
  *out = cx;
  return BSM_OK;
}

bsm_status bsm_function_graph(bsm_function *fn, bsm_graph **out) {
  *out = fn->graph;
  if (fn->graph) return BSM_OK;
  if (fn->compiling) {
    return BSM_FAIL(BSM_UNSUPPORTED, "function '%s' calls itself",
                    fn->qualified);
  }
  if (!fn->compile) {
    return BSM_FAIL(BSM_UNSUPPORTED, "function '%s' has no body",
                    fn->qualified);
  }
  fn->compiling = true;
  bsm_status status = fn->compile(fn);
  fn->compiling = false;
  BSM_TRY(status);
  if (!fn->graph) {
    return BSM_FAIL(BSM_INTERNAL, "function '%s' was compiled to nothing",
                    fn->qualified);
  }
  *out = fn->graph;
  return BSM_OK;
}

/* ---- graphs and blocks ---- */

static bsm_status new_block(bsm_graph *graph, bsm_node *owner,
                            bsm_block **out) {
  *out = NULL;
  bsm_block *block = BSM_NEW(graph->cx->arena, bsm_block);
  BSM_TRY_ALLOC(block);
  block->graph = graph;
  block->owner = owner;
  BSM_TRY(bsm_node_create(graph, "", &block->params));
  BSM_TRY(bsm_node_create(graph, "", &block->returns));
  block->params->block = block->returns->block = block;
  *out = block;
  return BSM_OK;
}

bsm_status bsm_graph_create(bsm_ir_ctx *cx, bsm_graph **out) {
  *out = NULL;
  bsm_graph *graph = BSM_NEW(cx->arena, bsm_graph);
  BSM_TRY_ALLOC(graph);
  graph->cx = cx;
  BSM_TRY(new_block(graph, NULL, &graph->block));
  *out = graph;
  return BSM_OK;
}

bsm_status bsm_node_add_block(bsm_node *node, bsm_block **out) {
  BSM_TRY(new_block(node->graph, node, out));
  return bsm_vec_push(node->graph->cx->arena, &node->blocks, *out)
             ? BSM_OK
             : BSM_FAIL_OOM();
}

bsm_status bsm_block_add_input(bsm_block *block, const bsm_type *type,
                               bsm_value **out) {
  return bsm_node_add_output(block->params, type, out);
}

bsm_status bsm_block_add_output(bsm_block *block, bsm_value *value) {
  return bsm_node_add_input(block->returns, value);
}

/* ---- names ---- */

static bool is_digit(char ch) {
  return ch >= '0' && ch <= '9';
}

/* Makes `name` fit IR text in place; false when no name is left of it. */
static bool clean_name(char *name) {
  bool digits = true;
  for (char *p = name; *p; p++) {
    bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                  *p == '_' || *p == '.';
    if (!letter && !is_digit(*p)) {
      *p = '_';
      letter = true;
    }
    digits &= !letter;
  }
  return !digits;
}

/* The length of `name` without a ".N" at its end. */
static size_t base_length(const char *name) {
  size_t len = strlen(name), i = len;
  while (i > 0 && is_digit(name[i - 1])) i--;
  return i > 1 && i < len && name[i - 1] == '.' ? i - 1 : len;
}

static void release_name(bsm_graph *graph, bsm_value *value) {
  if (!value->debug_name) return;
  bsm_str name = bsm_str_of(value->debug_name);
  if (bsm_strmap_get(&graph->value_names, name) == value) {
    /* Replacing a key that exists allocates nothing. */
    (void)bsm_strmap_set(graph->cx->arena, &graph->value_names, name, NULL);
  }
  value->debug_name = NULL;
}

/* The first "base.N" that is free, N counting on from the last one given. */
static bsm_status next_name(bsm_graph *graph, const char *name, char **out) {
  bsm_arena *arena = graph->cx->arena;
  bsm_str base = {name, base_length(name)};
  uintptr_t n = (uintptr_t)bsm_strmap_get(&graph->name_suffixes, base);
  do {
    n++;
    *out = bsm_arena_printf(arena, "%.*s.%llu", (int)base.len, base.data,
                            (unsigned long long)n);
    BSM_TRY_ALLOC(*out);
  } while (bsm_strmap_get(&graph->value_names, bsm_str_of(*out)));
  return bsm_strmap_set(arena, &graph->name_suffixes, base, (void *)n)
             ? BSM_OK
             : BSM_FAIL_OOM();
}

bsm_status bsm_value_set_name(bsm_graph *graph, bsm_value *value,
                              const char *name) {
  bsm_arena *arena = graph->cx->arena;
  if (value->debug_name && name && strcmp(value->debug_name, name) == 0) {
    return BSM_OK;
  }
  release_name(graph, value);
  if (!name || !*name) return BSM_OK;
  char *own = bsm_arena_strdup(arena, name);
  BSM_TRY_ALLOC(own);
  if (!clean_name(own)) return BSM_OK;
  if (bsm_strmap_get(&graph->value_names, bsm_str_of(own))) {
    BSM_TRY(next_name(graph, own, &own));
  }
  if (!bsm_strmap_set(arena, &graph->value_names, bsm_str_of(own), value)) {
    return BSM_FAIL_OOM();
  }
  value->debug_name = own;
  return BSM_OK;
}

const char *bsm_value_label(const bsm_value *value, char *buffer) {
  if (value->debug_name) {
    snprintf(buffer, 128, "%%%s", value->debug_name);
  } else {
    snprintf(buffer, 128, "%%%u", value->id);
  }
  return buffer;
}

/* ---- values ---- */

bsm_status bsm_value_replace_all_uses(bsm_value *from, bsm_value *to) {
  if (from == to) return BSM_OK;
  bsm_arena *arena = from->node->graph->cx->arena;
  for (size_t i = 0; i < from->uses.len; i++) {
    bsm_use use = from->uses.items[i];
    if (!bsm_vec_push(arena, &to->uses, use)) return BSM_FAIL_OOM();
    use.user->inputs.items[use.index] = to;
    use.user->use_slots.items[use.index] = to->uses.len - 1;
  }
  from->uses.len = 0;
  return BSM_OK;
}

const bsm_ivalue *bsm_value_constant(const bsm_value *value) {
  static const bsm_ivalue none = {0};
  const bsm_node *node = value->node;
  if (!node || !bsm_node_is(node, "prim::Constant")) return NULL;
  const bsm_ivalue *constant = bsm_node_attr_get(node, "value");
  if (constant) return constant;
  return value->type->kind == BSM_TYPE_FUNCTION ? NULL : &none;
}

void bsm_source_print(bsm_text *text, const bsm_source *source) {
  if (source->python_file && !source->python_line) {
    bsm_text_puts(text, source->python_file);
  } else if (source->python_file) {
    bsm_text_printf(text, "%s:%u", source->python_file, source->python_line);
  } else if (source->code_file) {
    bsm_text_printf(text, "%s:%u", source->code_file, source->code_line);
  } else if (!source->scope) {
    bsm_text_puts(text, "unknown place");
    return;
  }
  if (source->scope && *source->scope) {
    bool first = !source->python_file && !source->code_file;
    bsm_text_printf(text, first ? "(%s)" : " (%s)", source->scope);
  }
}

bsm_status bsm_source_parse(const char *text, bsm_arena *arena,
                            bsm_source *out) {
  *out = (bsm_source){0};
  if (!*text || strcmp(text, "unknown place") == 0) return BSM_OK;
  char *rest = bsm_arena_strdup(arena, text);
  BSM_TRY_ALLOC(rest);
  const size_t length = strlen(rest);
  char *scope = strrchr(rest, '(');
  if (scope && rest[length - 1] == ')' && (scope == rest || scope[-1] == ' ')) {
    rest[length - 1] = 0;
    out->scope = scope + 1;
    if (scope == rest) return BSM_OK;
    scope[-1] = 0;
  }
  out->python_file = rest;
  char *line = strrchr(rest, ':');
  if (!line || line[1] < '0' || line[1] > '9') return BSM_OK;
  char *end;
  const unsigned long number = strtoul(line + 1, &end, 10);
  if (*end || number > UINT32_MAX) return BSM_OK;
  *line = 0;
  out->python_line = (uint32_t)number;
  return BSM_OK;
}
