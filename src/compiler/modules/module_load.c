/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: loading archives and IR text, and their methods. */
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/checked.h"
#include "base/deep_stack.h"
#include "base/hash.h"
#include "base/options.h"
#include "compiler/modules/module_internal.h"
#include "conversion/plugin_layers.h"
#include "exported/import.h"
#include "lowering/interpret.h"
#include "plugin/plugin_op.h"
#include "quantized/quantized_library.h"
#include "torchscript/module.h"

#define DEFAULT_MAX_FILE_BYTES (UINT64_C(64) << 30)
/* The default of max_memory_bytes: models of the field take a small part, and a
 * file of 64 KiB no more than 64 MiB. */
#define MEMORY_BYTES (UINT64_C(60) << 20)
#define MEMORY_TIMES 64
/* That of max_work: a second or less for a file of few bytes. */
#define WORK (UINT64_C(1) << 27)
#define WORK_TIMES 1000

/* The caller's options, with its limits, which `limits` is room for. */
static bsm_status resolve(const bsm_module_options *given,
                          bsm_module_options *out, bsm_limits *limits) {
  *out = (bsm_module_options)BSM_MODULE_OPTIONS_INIT;
  *limits = (bsm_limits)BSM_LIMITS_INIT;
  BSM_TRY(bsm_options_copy(out, sizeof(*out), given, "bsm_module_options"));
  BSM_TRY(bsm_options_copy(limits, sizeof(*limits), out->limits, "bsm_limits"));
  out->limits = limits;
  return BSM_OK;
}

static bsm_status make_lock(pthread_mutex_t *lock) {
  pthread_mutexattr_t attributes;
  if (pthread_mutexattr_init(&attributes)) return BSM_FAIL_OOM();
  (void)pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  const int failure = pthread_mutex_init(lock, &attributes);
  (void)pthread_mutexattr_destroy(&attributes);
  return failure ? BSM_FAIL_OOM() : BSM_OK;
}

static bsm_status new_module(const bsm_module_options *options,
                             const char *name, bsm_module **out) {
  bsm_module *module = bsm_allocate(options->allocator, sizeof(*module), 64);
  BSM_TRY_ALLOC(module);
  memset(module, 0, sizeof(*module));
  bsm_status locked = make_lock(&module->lock);
  if (locked) {
    bsm_deallocate(options->allocator, module);
    return locked;
  }
  module->allocator = options->allocator;
  module->logger = options->logger;
  bsm_memory_guard_init(&module->guard, options->allocator, SIZE_MAX);
  bsm_arena_init(&module->arena, &module->guard.allocator);
  *out = module;
  module->name = bsm_arena_strdup(&module->arena, name);
  BSM_TRY_ALLOC(module->name);
  bsm_aten_library *aten;
  BSM_TRY(bsm_aten_library_create(&module->arena, &aten));
  BSM_TRY(bsm_quantized_add_ops(&module->arena, aten));
  module->aten = aten;
  module->plugins = options->plugins;
  module->state_as_output = options->state_as_output;
  BSM_TRY(bsm_plugin_add_ops(&module->arena, aten, options->plugins));
  BSM_TRY(bsm_ir_ctx_create(&module->arena, options->limits, options->logger,
                            &module->cx));
  return bsm_plugin_declare(module->cx, options->plugins);
}

void bsm_module_destroy(bsm_module *module) {
  if (!module) return;
  bsm_arena_destroy(&module->arena);
  bsm_file_map_close(&module->map);
  (void)pthread_mutex_destroy(&module->lock);
  bsm_deallocate(module->allocator, module);
}

static void limit_use(bsm_module *module, const bsm_limits *limits,
                      size_t file_size) {
  bsm_work_budget *work = &module->cx->work;
  work->limit = limits->max_work ? (double)limits->max_work
                                 : WORK + WORK_TIMES * (double)file_size;
  work->left = work->limit;
  work->kept = work->limit / 8;
  work->memory = &module->guard;
  uint64_t most = limits->max_memory_bytes;
  if (!most) {
    most = file_size < SIZE_MAX / MEMORY_TIMES - MEMORY_BYTES
               ? MEMORY_BYTES + (uint64_t)file_size * MEMORY_TIMES
               : SIZE_MAX;
  }
  module->max_memory = most < SIZE_MAX ? (size_t)most : SIZE_MAX;
  module->guard.limit = module->max_memory;
  module->cx->limits.max_memory_bytes = most;
}

void bsm_module_lock(bsm_module *module) {
  (void)pthread_mutex_lock(&module->lock);
  if (module->lock_depth++ > 0) return;
  module->doing = "reading";
  module->cx->work.left = module->cx->work.limit;
  module->cx->work.refusals = module->cx->work.too_large = 0;
  module->cx->work.may_be_left = (double)module->max_memory * BSM_LEFT_TIMES;
  if (!bsm_size_add(module->guard.used, module->max_memory,
                    &module->guard.limit)) {
    module->guard.limit = SIZE_MAX;
  }
}

void bsm_module_unlock(bsm_module *module) {
  module->lock_depth--;
  (void)pthread_mutex_unlock(&module->lock);
}

bsm_status bsm_module_status(bsm_module *module, bsm_status status) {
  char what[64];
  snprintf(what, sizeof(what), "%s the model", module->doing);
  return bsm_memory_guard_status(
      &module->guard, what,
      ": raise max_memory_bytes of the limits (--max-memory, max_memory)",
      status);
}

uint64_t bsm_module_hash(const bsm_module *module) {
  const uint64_t hash = bsm_hash64(module->bytes.data, module->bytes.len, 0);
  return hash ? hash : 1;
}

/* IR text begins with "graph(", after blanks and comment lines. */
static bool is_ir_text(bsm_str text) {
  while (text.len > 0) {
    const char c = text.data[0];
    if (c == '#') {
      const char *end = memchr(text.data, '\n', text.len);
      if (!end) return false;
      text.len -= (size_t)(end - text.data);
      text.data = end;
    } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
      break;
    }
    text.data++;
    text.len--;
  }
  return bsm_str_starts_with(text, BSM_STR("graph("));
}

/* Runs a __setstate__ of the archive with the reference library. */
static bsm_status set_state(void *user, bsm_function *method,
                            bsm_object *object, bsm_ivalue state) {
  const bsm_module *module = user;
  const bsm_ivalue args[2] = {bsm_iv_object(object), state};
  bsm_ivalue nothing;
  return bsm_interpret(method, module->aten, args, 2, &nothing);
}

static bsm_status read_exported(bsm_module *module,
                                const bsm_module_options *given,
                                const void *data, size_t size) {
  bsm_exported_program *program;
  const bsm_exported_read_options which = {.model_name = given->model_name};
  BSM_TRY_NOTE(
      bsm_exported_program_read(module->cx, data, size, &which, &program),
      "in %s", module->name);
  const bsm_exported_import_options options = {.state_as_output =
                                                   module->state_as_output};
  return bsm_status_note(bsm_exported_import(program, &options, &module->model),
                         "in %s", module->name);
}

static bsm_status read_module(bsm_module *module,
                              const bsm_module_options *given, const void *data,
                              size_t size) {
  const bsm_str text = {data, size};
  module->bytes = text;
  if (is_ir_text(text)) {
    return bsm_graph_parse(module->cx, text, module->name,
                           &module->model.graph);
  }
  if (bsm_exported_is_archive(data, size)) {
    return read_exported(module, given, data, size);
  }
  const bsm_ts_read_options options = {module, set_state};
  bsm_ts_module *archive;
  BSM_TRY_NOTE(
      bsm_ts_module_read_with(module->cx, data, size, &options, &archive),
      "in %s", module->name);
  module->model = bsm_ts_module_as_model(archive);
  return BSM_OK;
}

typedef struct contents {
  bsm_module *module;
  const bsm_module_options *options;
  const void *data;
  size_t size;
} contents;

static bsm_status read_deeply(void *argument) {
  const contents *r = argument;
  return read_module(r->module, r->options, r->data, r->size);
}

static bsm_status read_within_limits(bsm_module *module,
                                     const bsm_module_options *options,
                                     const void *data, size_t size,
                                     const bsm_limits *limits) {
  limit_use(module, limits, size);
  module->doing = "reading";
  contents r = {module, options, data, size};
  return bsm_module_status(module, bsm_call_deeply(read_deeply, &r));
}

bsm_status bsm_module_load(const char *path, const bsm_module_options *given,
                           bsm_module **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(path);
  bsm_limits limits;
  bsm_module_options options;
  BSM_TRY(resolve(given, &options, &limits));
  const uint64_t max_bytes =
      limits.max_file_bytes ? limits.max_file_bytes : DEFAULT_MAX_FILE_BYTES;
  bsm_module *module = NULL;
  bsm_status status = new_module(&options, path, &module);
  const bsm_file_map_options reading = {max_bytes, options.no_map,
                                        options.allocator};
  if (!status) status = bsm_file_map_open(path, &reading, &module->map);
  if (!status) {
    status = read_within_limits(module, &options, module->map.data,
                                module->map.size, &limits);
  }
  if (status) {
    bsm_module_destroy(module);
    return status;
  }
  *out = module;
  return BSM_OK;
}

bsm_status bsm_module_load_memory(const void *data, size_t size,
                                  const char *name,
                                  const bsm_module_options *given,
                                  bsm_module **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED_ARRAY(data, size);
  bsm_limits limits;
  bsm_module_options options;
  BSM_TRY(resolve(given, &options, &limits));
  bsm_module *module = NULL;
  bsm_status status = new_module(&options, name ? name : "memory", &module);
  if (!status) {
    status = read_within_limits(module, &options, data, size, &limits);
  }
  if (status) {
    bsm_module_destroy(module);
    return status;
  }
  *out = module;
  return BSM_OK;
}

/* ---- methods ---- */

/* The submodule that `path` names, from the root. */
static bsm_status find_submodule(const bsm_module *module, bsm_str path,
                                 bsm_object **out) {
  bsm_object *object = module->model.root;
  for (size_t at = 0; at <= path.len;) {
    char name[256];
    const char *start = path.data + at;
    const char *dot = memchr(start, '.', path.len - at);
    const size_t length = dot ? (size_t)(dot - start) : path.len - at;
    const bsm_class *cls = object->type->cls;
    int64_t slot = -1;
    if (length < sizeof(name)) {
      memcpy(name, start, length);
      name[length] = '\0';
      slot = bsm_class_find_attribute(cls, name);
    }
    if (slot < 0 || (size_t)slot >= object->len ||
        object->slots[slot].tag != BSM_IVALUE_OBJECT ||
        !object->slots[slot].u.object->type ||
        !object->slots[slot].u.object->type->cls) {
      return BSM_FAIL(BSM_NOT_FOUND, "class %s has no submodule \"%.*s\"",
                      cls->name, (int)length, start);
    }
    object = object->slots[slot].u.object;
    at += length + 1;
  }
  *out = object;
  return BSM_OK;
}

static bsm_status find_method(bsm_module *module, const char *name,
                              bsm_method *out) {
  *out = (bsm_method){.name = name ? name : "forward"};
  if (module->model.graph) {
    if (name && strcmp(name, "forward") != 0) {
      return BSM_FAIL(BSM_NOT_FOUND, "IR text has no method \"%s\"", name);
    }
    out->graph = module->model.graph;
    out->parameter_count = module->model.graph->block->params->outputs.len;
    return BSM_OK;
  }
  bsm_function *function;
  const char *dot = strrchr(out->name, '.');
  const bsm_str path = {out->name, dot ? (size_t)(dot - out->name) : 0};
  out->root = module->model.root;
  if (dot) BSM_TRY(find_submodule(module, path, &out->root));
  BSM_TRY(module->model.find_method(module->model.front_end, out->root,
                                    dot ? dot + 1 : out->name, &function));
  BSM_TRY(bsm_function_graph(function, &out->graph));
  out->schema = function->schema;
  out->first = 1;
  const size_t count = out->graph->block->params->outputs.len;
  if (count == 0) {
    return BSM_FAIL(BSM_CORRUPT, "method %s has no self", out->name);
  }
  out->parameter_count = count - 1;
  return BSM_OK;
}

typedef struct search {
  bsm_module *module;
  const char *name;
  bsm_method *out;
} search;

static bsm_status find_deeply(void *argument) {
  const search *s = argument;
  return find_method(s->module, s->name, s->out);
}

/* Compiles its code when it is the first who asks. */
bsm_status bsm_module_find_method(bsm_module *module, const char *name,
                                  bsm_method *out) {
  search s = {module, name, out};
  return bsm_call_deeply(find_deeply, &s);
}

const char *bsm_module_method_name(const bsm_module *module, size_t index) {
  if (!module) return NULL;
  if (module->model.graph) return index == 0 ? "forward" : NULL;
  const bsm_class *cls = module->model.root->type->cls;
  return index < cls->methods.len ? cls->methods.items[index]->name : NULL;
}

const bsm_schema_arg *bsm_method_schema_arg(const bsm_method *method,
                                            size_t index) {
  const size_t at = method->first + index;
  return method->schema && at < method->schema->arg_count
             ? &method->schema->args[at]
             : NULL;
}

const char *bsm_method_parameter_name(const bsm_method *method, size_t index) {
  const bsm_schema_arg *arg = bsm_method_schema_arg(method, index);
  if (arg && arg->name && arg->name[0]) return arg->name;
  const bsm_value *value =
      bsm_node_out(method->graph->block->params, method->first + index);
  return value->debug_name    ? value->debug_name
         : value->number_name ? value->number_name
                              : "";
}

const bsm_type *bsm_method_parameter_type(const bsm_method *method,
                                          size_t index) {
  return bsm_node_out(method->graph->block->params, method->first + index)
      ->type;
}
