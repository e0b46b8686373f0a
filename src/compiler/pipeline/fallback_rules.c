/* SPDX-License-Identifier: Apache-2.0 */
/* Matching nodes with the names that the caller gave.
 *
 * An operator is named as "aten::add", for all its overloads, or as
 * "aten::add.Tensor"; a name of an in-place operator is that of the functional
 * one that lowering puts in its place. A submodule is named by its path,
 * "layer1.0", or by its class, "BasicBlock" or
 * "torchvision.models.resnet.BasicBlock": all of that class, with everything
 * inside. */
#include "compiler/pipeline/fallback_rules.h"

#include <string.h>

#include "base/options.h"
#include "compiler/modules/near_names.h"
#include "conversion/convert.h"

/* Modules nest at most this deep, and are at most so many: more are not looked
 * at. */
enum { MAX_DEPTH = 64, MAX_MODULES = 100000 };

typedef struct op_rule {
  const char *name; /* as lowering leaves it */
  const char *reason;
  bool has_overload;
} op_rule;

typedef struct module_rule {
  const char *name;
  const char *reason;
  BSM_VEC(const char *) paths;
} module_rule;

/* A submodule and one of its paths. */
typedef struct module_path {
  const bsm_object *object;
  const char *path;
} module_path;

struct bsm_fallback_rules {
  bsm_arena *arena;
  const bsm_aten_library *aten;
  BSM_VEC(op_rule) ops;
  BSM_VEC(module_rule) modules;
  BSM_VEC(module_path) tree;
  const char *what; /* the names are of, for messages */
  bool all;         /* every operator that the library has */
};

/* ---- operators ---- */

/* "aten::relu_" is "aten::relu" once it is lowered, where there is that. */
static bsm_status functional_name(bsm_fallback_rules *rules, bsm_ir_ctx *cx,
                                  const char *given, const char **out) {
  const size_t base = strcspn(given, ".");
  const bsm_schema *const *found = NULL;
  size_t count = 0;
  *out = given;
  if (base < 2 || given[base - 1] != '_' || given[base - 2] == '_') {
    return BSM_OK;
  }
  const bsm_str without = {given, base - 1};
  BSM_TRY(bsm_schema_table_overloads(cx->schemas, without, &found, &count));
  if (!count) return BSM_OK;
  *out = bsm_arena_printf(rules->arena, "%.*s%s", (int)(base - 1), given,
                          given + base);
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

/* Why the library cannot run any overload that `rule` matches; NULL: it can run
 * one. */
static const char *refusal_of(const bsm_fallback_rules *rules,
                              const op_rule *rule,
                              const bsm_schema *const *overloads,
                              size_t count) {
  const char *refusal = "the reference library has no such operator";
  for (size_t i = 0; i < count; i++) {
    const char *name = overloads[i]->qualified;
    if (rule->has_overload && strcmp(name, rule->name) != 0) continue;
    const bsm_aten_op *op = bsm_aten_find(rules->aten, bsm_str_of(name));
    if (!op) continue;
    refusal = bsm_op_refusal(op);
    if (!refusal) return NULL;
  }
  return refusal;
}

/* Fails for an operator or overload that does not exist. */
static bsm_status unknown_op(const bsm_fallback_rules *rules, const char *given,
                             const bsm_schema *const *overloads, size_t count) {
  bsm_near_names near = {.given = bsm_str_of(given)};
  bsm_schema_text room;
  for (size_t i = 0; i < count; i++) {
    bsm_near_names_offer(&near, bsm_str_of(overloads[i]->qualified));
  }
  for (size_t i = 0; !count && i < bsm_aten_library_count(rules->aten); i++) {
    bsm_str name = bsm_aten_name(bsm_aten_library_at(rules->aten, i), &room);
    name.len = strcspn(name.data, ".(");
    name.data = bsm_arena_strndup(rules->arena, name.data, name.len);
    BSM_TRY_ALLOC(name.data); /* room has the next one soon */
    bsm_near_names_offer(&near, name);
  }
  const char *text = bsm_near_names_text(&near, rules->arena);
  BSM_TRY_ALLOC(text);
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "fallback operator \"%s\": there is no such operator%s; "
                  "names are as \"aten::add\" or \"aten::add.Tensor\"%s",
                  given, count ? " of that overload" : "", text);
}

static bsm_status add_op(bsm_fallback_rules *rules, bsm_ir_ctx *cx,
                         const char *given) {
  const bsm_schema *const *overloads = NULL;
  size_t count = 0;
  op_rule rule = {0};
  BSM_TRY(functional_name(rules, cx, given, &rule.name));
  const size_t base = strcspn(rule.name, ".");
  rule.has_overload = rule.name[base] == '.';
  BSM_TRY(bsm_schema_table_overloads(cx->schemas, (bsm_str){rule.name, base},
                                     &overloads, &count));
  bool known = count > 0 && !rule.has_overload;
  for (size_t i = 0; i < count; i++) {
    known = known || strcmp(overloads[i]->qualified, rule.name) == 0;
  }
  if (!known) return unknown_op(rules, given, overloads, count);
  const char *refusal = refusal_of(rules, &rule, overloads, count);
  if (refusal) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "fallback operator \"%s\" cannot fall back: %s", given,
                    refusal);
  }
  rule.reason = bsm_arena_printf(
      rules->arena, "left to the reference library by the option %s", given);
  BSM_TRY_ALLOC(rule.reason);
  BSM_TRY_ALLOC(bsm_vec_push(rules->arena, &rules->ops, rule));
  return BSM_OK;
}

static bool op_matches(const op_rule *rule, const bsm_node *node) {
  return rule->has_overload
             ? node->schema && strcmp(node->schema->qualified, rule->name) == 0
             : strcmp(node->kind, rule->name) == 0;
}

/* ---- modules ---- */

static bsm_status collect_modules(bsm_fallback_rules *rules,
                                  const bsm_object *object, const char *path,
                                  size_t depth) {
  const bsm_class *cls = object->type ? object->type->cls : NULL;
  const module_path own = {object, path};
  if (!cls || depth > MAX_DEPTH || rules->tree.len >= MAX_MODULES) {
    return BSM_OK;
  }
  BSM_TRY_ALLOC(bsm_vec_push(rules->arena, &rules->tree, own));
  for (size_t i = 0; i < cls->attributes.len && i < object->len; i++) {
    const bsm_ivalue *slot = &object->slots[i];
    if (slot->tag != BSM_IVALUE_OBJECT || !slot->u.object) continue;
    const char *name = cls->attributes.items[i].name;
    const char *inner =
        *path ? bsm_arena_printf(rules->arena, "%s.%s", path, name) : name;
    BSM_TRY_ALLOC(inner);
    BSM_TRY(collect_modules(rules, slot->u.object, inner, depth + 1));
  }
  return BSM_OK;
}

/* The name of a class without "__torch__." and the parts that TorchScript puts
 * in to make it unique. */
static bsm_status plain_class(bsm_arena *arena, const char *qualified,
                              bsm_str *out) {
  static const char prefix[] = "__torch__.";
  bsm_text plain;
  bsm_text_init(&plain, arena);
  if (strncmp(qualified, prefix, sizeof(prefix) - 1) == 0) {
    qualified += sizeof(prefix) - 1;
  }
  for (const char *part = qualified; *part;) {
    const size_t length = strcspn(part, ".");
    if (strncmp(part, "___torch_mangle_", 16) != 0) {
      bsm_text_printf(&plain, "%s%.*s", plain.len ? "." : "", (int)length,
                      part);
    }
    part += length + (part[length] == '.');
  }
  if (plain.failed) return BSM_FAIL_OOM();
  *out = (bsm_str){plain.len ? plain.data : "", plain.len};
  return BSM_OK;
}

/* Whether `name` is the qualified name of a class, or its end. */
static bsm_status is_class(bsm_arena *arena, const char *qualified,
                           const char *name, bool *out) {
  const size_t length = strlen(name);
  bsm_str plain;
  BSM_TRY(plain_class(arena, qualified, &plain));
  *out = strcmp(qualified, name) == 0 ||
         (length && plain.len >= length &&
          memcmp(plain.data + plain.len - length, name, length) == 0 &&
          (plain.len == length || plain.data[plain.len - length - 1] == '.'));
  return BSM_OK;
}

/* The paths of one object, which may have several. */
static bsm_status add_paths(bsm_fallback_rules *rules, const bsm_object *object,
                            module_rule *rule) {
  for (size_t i = 0; i < rules->tree.len; i++) {
    if (rules->tree.items[i].object != object) continue;
    BSM_TRY_ALLOC(
        bsm_vec_push(rules->arena, &rule->paths, rules->tree.items[i].path));
  }
  return BSM_OK;
}

static bsm_status add_module(bsm_fallback_rules *rules, const char *given,
                             const char *method) {
  module_rule rule = {.name = given};
  const char *path = given;
  /* Nodes of a submodule's method have paths inside of that submodule. */
  const char *dot = method ? strrchr(method, '.') : NULL;
  const size_t length = dot ? (size_t)(dot - method) : 0;
  if (length && strncmp(given, method, length) == 0 && given[length] == '.') {
    path = given + length + 1;
  }
  if (!*given) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "a fallback module has no name");
  }
  for (size_t i = 0; i < rules->tree.len; i++) {
    const module_path *m = &rules->tree.items[i];
    bool same = strcmp(m->path, path) == 0;
    if (!same) {
      BSM_TRY(is_class(rules->arena, m->object->type->cls->name, given, &same));
    }
    if (same) BSM_TRY(add_paths(rules, m->object, &rule));
  }
  if (!rule.paths.len) {
    BSM_TRY_ALLOC(bsm_vec_push(rules->arena, &rule.paths, path));
  }
  rule.reason = bsm_arena_printf(
      rules->arena, "left to the reference library by the option %s", given);
  BSM_TRY_ALLOC(rule.reason);
  BSM_TRY_ALLOC(bsm_vec_push(rules->arena, &rules->modules, rule));
  return BSM_OK;
}

static bool module_matches(const module_rule *rule, const bsm_node *node) {
  const char *scope = node->source.scope ? node->source.scope : "";
  for (size_t i = 0; i < rule->paths.len; i++) {
    const char *path = rule->paths.items[i];
    const size_t length = strlen(path);
    if (!length || (strncmp(scope, path, length) == 0 &&
                    (!scope[length] || strchr("./", scope[length])))) {
      return true;
    }
  }
  return false;
}

/* ---- all ---- */

bsm_status bsm_fallback_rules_create(bsm_module *module,
                                     const bsm_compile_options *options,
                                     bsm_arena *arena,
                                     bsm_fallback_rules **out) {
  bsm_method method;
  bsm_fallback_rules *rules = BSM_NEW(arena, bsm_fallback_rules);
  *out = rules;
  BSM_TRY_ALLOC(rules);
  rules->arena = arena;
  rules->aten = module->aten;
  rules->what = "fallback module";
  rules->all = options->reference & BSM_REFERENCE_LIBRARY;
  if ((options->fallback_op_count && !options->fallback_ops) ||
      (options->fallback_module_count && !options->fallback_modules)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "a list of names to fall back is "
                    "missing");
  }
  for (size_t i = 0; i < options->fallback_op_count; i++) {
    BSM_NEED(options->fallback_ops[i]);
    BSM_TRY(add_op(rules, module->cx, options->fallback_ops[i]));
  }
  if (!options->fallback_module_count) return BSM_OK;
  BSM_TRY(bsm_module_find_method(module, options->method, &method));
  if (method.root) BSM_TRY(collect_modules(rules, method.root, "", 0));
  for (size_t i = 0; i < options->fallback_module_count; i++) {
    BSM_NEED(options->fallback_modules[i]);
    BSM_TRY(add_module(rules, options->fallback_modules[i], options->method));
  }
  return BSM_OK;
}

static const char *reason_of(const bsm_fallback_rules *rules,
                             const bsm_node *node) {
  for (size_t i = 0; i < rules->ops.len; i++) {
    if (op_matches(&rules->ops.items[i], node)) {
      return rules->ops.items[i].reason;
    }
  }
  for (size_t i = 0; i < rules->modules.len; i++) {
    if (module_matches(&rules->modules.items[i], node)) {
      return rules->modules.items[i].reason;
    }
  }
  return NULL;
}

const char *bsm_fallback_rule_of(const bsm_fallback_rules *rules,
                                 const bsm_node *node) {
  if (!rules) return NULL;
  if (!rules->all && !rules->ops.len && !rules->modules.len) return NULL;
  if (!node->schema || node->blocks.len) return NULL;
  const bsm_aten_op *op =
      bsm_aten_find(rules->aten, bsm_str_of(node->schema->qualified));
  if (!op || bsm_op_refusal(op)) return NULL;
  return rules->all ? "left to the reference library by the option reference"
                    : reason_of(rules, node);
}

/* Counts the nodes that each rule matches. */
static void count_nodes(const bsm_fallback_rules *rules, const bsm_block *block,
                        size_t *ops, size_t *modules, size_t depth) {
  for (const bsm_node *n = block->first; n && depth < 256; n = n->next) {
    for (size_t i = 0; i < rules->ops.len; i++) {
      ops[i] += op_matches(&rules->ops.items[i], n);
    }
    /* Constants are where they are first needed, so they do not count. */
    for (size_t i = 0; i < rules->modules.len; i++) {
      modules[i] += n->schema && module_matches(&rules->modules.items[i], n);
    }
    for (size_t b = 0; b < n->blocks.len; b++) {
      count_nodes(rules, n->blocks.items[b], ops, modules, depth + 1);
    }
  }
}

static bool is_in_tree(const bsm_fallback_rules *rules,
                       const module_rule *rule) {
  for (size_t i = 0; i < rules->tree.len; i++) {
    if (strcmp(rules->tree.items[i].path, rule->paths.items[0]) == 0) {
      return true;
    }
  }
  return false;
}

/* Paths and classes like `name`. */
static bsm_status near_modules(const bsm_fallback_rules *rules,
                               const char *name, bsm_near_names *out) {
  *out = (bsm_near_names){.given = bsm_str_of(name)};
  for (size_t i = 0; i < rules->tree.len; i++) {
    const module_path *m = &rules->tree.items[i];
    bsm_str whole;
    BSM_TRY(plain_class(rules->arena, m->object->type->cls->name, &whole));
    size_t start = whole.len; /* of its last part */
    while (start > 0 && whole.data[start - 1] != '.') start--;
    bsm_near_names_offer(out, bsm_str_of(m->path));
    bsm_near_names_offer(out, (bsm_str){whole.data + start, whole.len - start});
    bsm_near_names_offer(out, whole);
  }
  return BSM_OK;
}

/* Fails for a submodule that the model does not have under any name. */
static bsm_status unknown_module(const bsm_fallback_rules *rules,
                                 const module_rule *rule) {
  const char *last = strrchr(rule->name, '.');
  bsm_near_names near;
  BSM_TRY(near_modules(rules, rule->name, &near));
  if (!near.count && last) BSM_TRY(near_modules(rules, last + 1, &near));
  const char *text = bsm_near_names_text(&near, rules->arena);
  BSM_TRY_ALLOC(text);
  return BSM_FAIL(
      BSM_INVALID_ARGUMENT,
      "%s \"%s\": no submodule of the model has that path, and none is of that "
      "class%s%s",
      rules->what, rule->name,
      rules->tree.len > 1
          ? ""
          : "; this model has no submodules, as one that was frozen",
      text);
}

bsm_status bsm_fallback_rules_check(const bsm_fallback_rules *rules,
                                    const bsm_graph *graph,
                                    bsm_compilation_record *record) {
  size_t *ops = BSM_NEW_ARRAY(rules->arena, size_t, rules->ops.len + 1);
  size_t *modules = BSM_NEW_ARRAY(rules->arena, size_t, rules->modules.len + 1);
  BSM_TRY_ALLOC(ops && modules);
  count_nodes(rules, graph->block, ops, modules, 0);
  for (size_t i = 0; i < rules->ops.len; i++) {
    if (ops[i]) continue;
    BSM_TRY(bsm_record_warning(
        record,
        "fallback operator \"%s\": no node of the lowered model has it; "
        "bessemer ops lists those that there are",
        rules->ops.items[i].name));
  }
  for (size_t i = 0; i < rules->modules.len; i++) {
    const module_rule *rule = &rules->modules.items[i];
    if (modules[i]) continue;
    if (!is_in_tree(rules, rule)) return unknown_module(rules, rule);
    BSM_TRY(bsm_record_warning(
        record,
        "fallback module \"%s\": no node of the lowered model comes from "
        "it",
        rule->name));
  }
  return BSM_OK;
}

/* ---- modules of other options ---- */

/* Makes rules about a single module. */
static bsm_status rules_of_module(bsm_module *module,
                                  const bsm_compile_options *options,
                                  const char *what, const char *name,
                                  bsm_arena *arena, bsm_fallback_rules *out) {
  bsm_method method;
  *out = (bsm_fallback_rules){.arena = arena, .what = what};
  BSM_TRY(bsm_module_find_method(module, options->method, &method));
  if (method.root) BSM_TRY(collect_modules(out, method.root, "", 0));
  return add_module(out, name, options->method);
}

bsm_status bsm_module_paths_of(bsm_module *module,
                               const bsm_compile_options *options,
                               const char *name, bsm_arena *arena,
                               const char *const **paths, size_t *count,
                               bool *known) {
  bsm_fallback_rules rules;
  BSM_TRY(rules_of_module(module, options, "", name, arena, &rules));
  const module_rule *rule = &rules.modules.items[0];
  *paths = rule->paths.items;
  *count = rule->paths.len;
  *known = is_in_tree(&rules, rule);
  return BSM_OK;
}

bsm_status bsm_unknown_module(bsm_module *module,
                              const bsm_compile_options *options,
                              const char *what, const char *name,
                              bsm_arena *arena) {
  bsm_fallback_rules rules;
  BSM_TRY(rules_of_module(module, options, what, name, arena, &rules));
  return unknown_module(&rules, &rules.modules.items[0]);
}
