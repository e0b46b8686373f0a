/* SPDX-License-Identifier: Apache-2.0 */
/* The names of an archive's code: files, classes, functions. */
#include "torchscript/script.h"

#include "torchscript/script_internal.h"
#include "torchscript/script_parser.h"

/* Versions of the operator set that exist. */
enum { OLDEST_VERSION = 1, NEWEST_VERSION = 10 };

bsm_status bsm_script_create(bsm_ir_ctx *cx, int64_t version,
                             const bsm_script_hooks *hooks, bsm_script **out) {
  *out = NULL;
  if (version < OLDEST_VERSION || version > NEWEST_VERSION) {
    return BSM_FAIL(BSM_VERSION,
                    "operator version %lld; this reader knows %d to %d",
                    (long long)version, OLDEST_VERSION, NEWEST_VERSION);
  }
  bsm_script *script = BSM_NEW(cx->arena, bsm_script);
  BSM_TRY_ALLOC(script);
  script->cx = cx;
  script->version = version;
  script->hooks = *hooks;
  *out = script;
  return BSM_OK;
}

void bsm_script_set_constants(bsm_script *script, const bsm_ivalue *constants,
                              size_t count) {
  script->constants = constants;
  script->constant_count = count;
}

/* Files bound the nesting of blocks, of expressions and of types by max_depth
 * each; a name may lead from any of them into another file. This bounds the
 * sum. */
enum { DEPTH_FACTOR = 3 };

bsm_status bsm_script_enter(bsm_script *script, const char *what) {
  const uint64_t limit = script->cx->limits.max_depth;
  if (script->depth / DEPTH_FACTOR >= limit) {
    return BSM_FAIL(BSM_LIMIT,
                    "%s: code that needs other code is nested deeper than the "
                    "limit max_depth (%llu) allows",
                    what, (unsigned long long)limit);
  }
  script->depth++;
  return BSM_OK;
}

/* ---- files ---- */

static bsm_status parse_source(bsm_script *script, bsm_script_file *file) {
  bsm_ir_ctx *cx = script->cx;
  bsm_syntax syntax;
  BSM_TRY(
      bsm_parse_file(cx->arena, &cx->names, &cx->limits, &file->code, &syntax));
  for (size_t i = 0; i < syntax.class_count; i++) {
    bsm_class_def *cls = syntax.classes[i];
    const bsm_str name = bsm_str_of(cls->name);
    if (bsm_strmap_get(&file->classes, name)) {
      return bsm_code_error(&file->code, cls->pos, BSM_CORRUPT,
                            "class '%s' is defined twice", cls->name);
    }
    BSM_TRY_ALLOC(bsm_strmap_set(cx->arena, &file->classes, name, cls));
  }
  for (size_t i = 0; i < syntax.def_count; i++) {
    bsm_def *def = syntax.defs[i];
    const bsm_str name = bsm_str_of(def->name);
    if (bsm_strmap_get(&file->defs, name) ||
        bsm_strmap_get(&file->classes, name)) {
      return bsm_code_error(&file->code, def->pos, BSM_CORRUPT,
                            "'%s' is defined twice", def->name);
    }
    BSM_TRY_ALLOC(bsm_strmap_set(cx->arena, &file->defs, name, def));
  }
  return BSM_OK;
}

bsm_status bsm_script_add_source(bsm_script *script, bsm_str module,
                                 bsm_str text, const char *path,
                                 bsm_script_file **out) {
  bsm_script_file *file = BSM_NEW(script->cx->arena, bsm_script_file);
  BSM_TRY_ALLOC(file);
  char *name = bsm_arena_strndup(script->cx->arena, module.data, module.len);
  BSM_TRY_ALLOC(name);
  file->script = script;
  file->code = (bsm_code_file){path, {name, module.len}, text};
  file->version = script->version;
  BSM_TRY(parse_source(script, file));
  *out = file;
  return BSM_OK;
}

bsm_status bsm_script_file_get(bsm_script *script, bsm_str module,
                               bsm_script_file **out) {
  void *known = bsm_strmap_get(&script->files, module);
  *out = known == &script->absent ? NULL : known;
  if (known) return BSM_OK;
  bsm_str text = {0};
  const char *path = NULL;
  BSM_TRY(script->hooks.read_source(script->hooks.user, module, &text, &path));
  if (text.data) {
    BSM_TRY(
        bsm_script_add_source(script, module, text, path ? path : "code", out));
  }
  BSM_TRY_ALLOC(bsm_strmap_set(script->cx->arena, &script->files, module,
                               *out ? (void *)*out : &script->absent));
  return BSM_OK;
}

/* "__torch__.a.b.X" -> "__torch__.a.b" and "X"; false without a dot. */
static bool split_name(bsm_str name, bsm_str *module, bsm_str *last) {
  for (size_t i = name.len; i > 0; i--) {
    if (name.data[i - 1] == '.') {
      *module = (bsm_str){name.data, i - 1};
      *last = (bsm_str){name.data + i, name.len - i};
      return last->len > 0 && module->len > 0;
    }
  }
  return false;
}

/* The file of `name` and the definition in it, from one of its indices. */
static bsm_status find_definition(bsm_script *script, bsm_str name,
                                  bool is_class, bsm_script_file **file,
                                  void **def) {
  bsm_str module, last;
  *def = NULL;
  if (!split_name(name, &module, &last) ||
      !bsm_str_starts_with(name, BSM_STR("__torch__"))) {
    return BSM_OK;
  }
  BSM_TRY(bsm_script_file_get(script, module, file));
  if (!*file) return BSM_OK;
  *def = bsm_strmap_get(is_class ? &(*file)->classes : &(*file)->defs, last);
  return BSM_OK;
}

/* ---- types ---- */

/* Classes defined in C++ ("TorchBind") have no code. */
static bool is_torchbind(bsm_str name) {
  return bsm_str_starts_with(name, BSM_STR("__torch__.torch.classes."));
}

bsm_status bsm_script_lookup_type(bsm_script *script, bsm_str name,
                                  const bsm_type **out) {
  bsm_ir_ctx *cx = script->cx;
  void *known = bsm_strmap_get(&script->types, name);
  *out = known == &script->absent ? NULL : known;
  if (known == &script->absent) {
    return BSM_FAIL(BSM_CORRUPT, "type '%.*s' contains itself", (int)name.len,
                    name.data);
  }
  if (*out) return BSM_OK;
  const char *qualified = bsm_intern(&cx->names, name);
  BSM_TRY_ALLOC(qualified);
  if (is_torchbind(name)) {
    *out = bsm_type_class(cx->types, qualified);
    BSM_TRY_ALLOC(*out);
  } else {
    bsm_script_file *file;
    void *def;
    BSM_TRY(find_definition(script, name, true, &file, &def));
    if (!def) return BSM_OK;
    const uint64_t depth = script->depth;
    BSM_TRY(bsm_script_enter(script, qualified));
    const bsm_status status = bsm_script_make_class(file, def, qualified, out);
    script->depth = depth;
    BSM_TRY(status);
  }
  BSM_TRY_ALLOC(
      bsm_strmap_set(cx->arena, &script->types, name, (void *)(uintptr_t)*out));
  return BSM_OK;
}

bsm_status bsm_script_find_type(bsm_script *script, bsm_str name,
                                const bsm_type **out) {
  BSM_TRY(bsm_script_lookup_type(script, name, out));
  if (*out) return BSM_OK;
  return BSM_FAIL(BSM_NOT_FOUND, "the archive has no class '%.*s'",
                  (int)name.len, name.data);
}

/* ---- functions ---- */

bsm_status bsm_script_fn_new(bsm_script_file *file, const bsm_def *def,
                             const bsm_type *self, const char *prefix,
                             bsm_function **out) {
  bsm_arena *arena = file->script->cx->arena;
  bsm_script_fn *fn = BSM_NEW(arena, bsm_script_fn);
  BSM_TRY_ALLOC(fn);
  fn->file = file;
  fn->def = def;
  fn->self = self;
  fn->fn.name = def->name;
  fn->fn.qualified = bsm_arena_printf(arena, "%s.%s", prefix, def->name);
  BSM_TRY_ALLOC(fn->fn.qualified);
  fn->fn.compile = bsm_script_compile;
  fn->fn.impl = fn;
  *out = &fn->fn;
  return BSM_OK;
}

bsm_status bsm_script_lookup_function(bsm_script *script, bsm_str name,
                                      bsm_function **out) {
  *out = bsm_strmap_get(&script->functions, name);
  if (*out) return BSM_OK;
  bsm_script_file *file;
  void *def;
  BSM_TRY(find_definition(script, name, false, &file, &def));
  if (!def) return BSM_OK;
  BSM_TRY(bsm_script_fn_new(file, def, NULL, file->code.module.data, out));
  BSM_TRY_ALLOC(
      bsm_strmap_set(script->cx->arena, &script->functions, name, *out));
  return BSM_OK;
}

bsm_status bsm_script_find_function(bsm_script *script, bsm_str name,
                                    bsm_function **out) {
  BSM_TRY(bsm_script_lookup_function(script, name, out));
  if (*out) return BSM_OK;
  return BSM_FAIL(BSM_NOT_FOUND, "the archive has no function '%.*s'",
                  (int)name.len, name.data);
}

bsm_status bsm_script_find_entry(bsm_script *script, const bsm_type *type,
                                 const char *name, bsm_function **out) {
  bsm_arena *arena = script->cx->arena;
  *out = type->cls ? bsm_class_find_method(type->cls, name) : NULL;
  if (!*out) {
    return BSM_FAIL(BSM_NOT_FOUND, "class '%s' has no method '%s'",
                    type->name ? type->name : "?", name);
  }
  if (strcmp(name, "forward") != 0 ||
      type->cls->forward_hooks.len + type->cls->forward_pre_hooks.len == 0) {
    return BSM_OK;
  }
  bsm_script_fn *fn = BSM_NEW(arena, bsm_script_fn);
  BSM_TRY_ALLOC(fn);
  *fn = *bsm_script_fn_of(*out);
  fn->def = NULL;
  fn->fn.schema = NULL;
  fn->fn.graph = NULL;
  fn->fn.compile = bsm_script_compile_hooked;
  fn->fn.impl = fn;
  BSM_TRY(bsm_script_schema(*out, &fn->fn.schema));
  *out = &fn->fn;
  return BSM_OK;
}
