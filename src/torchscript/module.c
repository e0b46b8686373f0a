/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a TorchScript archive: zip members, code, constants, root object.
 *
 *   version, byteorder -> code (as classes are named) -> constants.pkl
 *   -> data.pkl, the root object -> traced_inputs.pkl
 *
 * Weights are used where they lie in the file when they can be: stored, in
 * this machine's byte order, aligned. Debug files are read when the first
 * source line of their code member is asked for. */
#include "torchscript/module.h"

#include "torchscript/archive_kind.h"
#include "torchscript/pickle.h"
#include "torchscript/script.h"
#include "torchscript/source_ranges.h"
#include "torchscript/storage_bytes.h"
#include "torchscript/traced_inputs.h"
#include "torchscript/zip.h"

enum { OLDEST_VERSION = 1, NEWEST_VERSION = 10 };

typedef struct archive {
  bsm_ts_module module; /* first: what callers see */
  bsm_zip zip;
  bsm_str prefix;
  bool swapped;           /* storages are of the other byte order */
  bsm_strmap debug;       /* code module -> bsm_source_ranges */
  bsm_str storages;       /* directory of the pickle being read: "data/" */
  bool values_are_absent; /* storages have no bytes: traced_inputs.pkl */
  const bsm_ts_read_options *options; /* while reading */
} archive;

/* ---- members ---- */

/* The member of that name, without the prefix; NULL when absent. */
static bsm_status find_member(archive *a, bsm_str directory, bsm_str name,
                              const bsm_zip_entry **out) {
  *out = NULL;
  bsm_text full;
  bsm_arena scratch;
  bsm_arena_init(&scratch, a->module.cx->arena->allocator);
  bsm_text_init(&full, &scratch);
  bsm_text_append(&full, a->prefix);
  bsm_text_append(&full, directory);
  bsm_text_append(&full, name);
  const bool failed = full.failed;
  if (!failed) *out = bsm_zip_find(&a->zip, (bsm_str){full.data, full.len});
  bsm_arena_destroy(&scratch);
  return failed ? BSM_FAIL_OOM() : BSM_OK;
}

/* The bytes of a member; data NULL when absent. */
static bsm_status read_member(archive *a, const char *name, bsm_str *out) {
  *out = (bsm_str){0};
  const bsm_zip_entry *entry = NULL;
  BSM_TRY(find_member(a, (bsm_str){0}, bsm_str_of(name), &entry));
  if (!entry) return BSM_OK;
  return bsm_zip_read(&a->zip, a->module.cx->arena, entry, true, out);
}

static bsm_str trim(bsm_str text) {
  while (text.len &&
         (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == '\r' ||
          text.data[text.len - 1] == ' ')) {
    text.len--;
  }
  return text;
}

static bsm_status read_version(archive *a) {
  bsm_str text = {0};
  BSM_TRY(read_member(a, ".data/version", &text));
  if (!text.data) BSM_TRY(read_member(a, "version", &text));
  if (!text.data) {
    return BSM_FAIL(BSM_CORRUPT, "the archive has no member \"version\"");
  }
  text = trim(text);
  int64_t *version = &a->module.version;
  if (!bsm_parse_i64(text, version)) {
    return BSM_FAIL(BSM_CORRUPT, "the archive's version is no number");
  }
  if (*version < OLDEST_VERSION || *version > NEWEST_VERSION) {
    return BSM_FAIL(BSM_VERSION,
                    "the archive has version %lld; versions %d to %d can be "
                    "read",
                    (long long)*version, OLDEST_VERSION, NEWEST_VERSION);
  }
  return BSM_OK;
}

static bsm_status read_byteorder(archive *a) {
  bsm_str text = {0};
  BSM_TRY(read_member(a, "byteorder", &text));
  return bsm_storage_order(trim(text), &a->swapped);
}

/* ---- code ---- */

/* "code/__torch__/a/b<after>" of the code module "__torch__.a.b", which holds
 * no NUL. */
static char *code_path(bsm_arena *arena, bsm_str module, const char *after) {
  char *path = bsm_arena_printf(arena, "code/%.*s%s", (int)module.len,
                                module.data, after);
  if (!path) return NULL;
  for (size_t i = 0; i < module.len; i++) {
    if (path[5 + i] == '.') path[5 + i] = '/';
  }
  return path;
}

/* Names come from the file: one that a path cannot hold has no code. */
static bool is_module_name(const archive *a, bsm_str module) {
  return module.len <= a->module.cx->limits.max_name_bytes &&
         !(module.len && memchr(module.data, '\0', module.len));
}

static bsm_status read_source(void *user, bsm_str module, bsm_str *out,
                              const char **path) {
  archive *a = user;
  bsm_ir_ctx *cx = a->module.cx;
  *out = (bsm_str){0};
  *path = NULL;
  if (!is_module_name(a, module)) return BSM_OK;
  *path = code_path(cx->arena, module, ".py");
  BSM_TRY_ALLOC(*path);
  const bsm_zip_entry *entry = NULL;
  BSM_TRY(find_member(a, (bsm_str){0}, bsm_str_of(*path), &entry));
  if (!entry) return BSM_OK;
  if (entry->size > cx->limits.max_source_bytes) {
    return BSM_FAIL(BSM_LIMIT, "%s has %llu bytes; the limit is %llu", *path,
                    (unsigned long long)entry->size,
                    (unsigned long long)cx->limits.max_source_bytes);
  }
  return bsm_zip_read(&a->zip, cx->arena, entry, true, out);
}

/* The debug file of a code module; empty when there is none. */
static bsm_status read_debug(archive *a, bsm_str module,
                             bsm_source_ranges **out) {
  bsm_ir_ctx *cx = a->module.cx;
  *out = BSM_NEW(cx->arena, bsm_source_ranges);
  BSM_TRY_ALLOC(*out);
  if (!bsm_strmap_set(cx->arena, &a->debug, module, *out)) {
    return BSM_FAIL_OOM();
  }
  bsm_arena scratch;
  bsm_arena_init(&scratch, cx->arena->allocator);
  const char *path = code_path(&scratch, module, ".py.debug_pkl");
  const bsm_zip_entry *entry = NULL;
  bsm_str bytes = {0};
  bsm_status status =
      path ? find_member(a, (bsm_str){0}, bsm_str_of(path), &entry)
           : BSM_FAIL_OOM();
  if (!status && entry) {
    status = bsm_zip_read(&a->zip, &scratch, entry, true, &bytes);
    if (!status) {
      status = bsm_source_ranges_read(cx->arena, cx->types, bytes, &cx->limits,
                                      *out);
    }
  }
  bsm_arena_destroy(&scratch);
  return status;
}

/* Lossy: the line is unknown when anything but memory is missing, without which
 * an engine would come out with other bytes. */
static bsm_status python_source(void *user, bsm_str module, size_t offset,
                                const char **file, uint32_t *line) {
  archive *a = user;
  if (!is_module_name(a, module)) return BSM_OK;
  bsm_source_ranges *ranges = bsm_strmap_get(&a->debug, module);
  if (!ranges) {
    bsm_status status = read_debug(a, module, &ranges);
    if (bsm_status_code(status) == BSM_OUT_OF_MEMORY) return status;
    bsm_status_free(status);
    if (!ranges) return BSM_OK;
  }
  const bsm_source_range *range = bsm_source_ranges_find(ranges, offset);
  if (!range || !range->file) return BSM_OK;
  *file = range->file;
  *line = range->line;
  return BSM_OK;
}

/* ---- pickles ---- */

static bsm_status read_storage(void *user, bsm_str key, bsm_dtype dtype,
                               int64_t numel, bsm_storage **out) {
  archive *a = user;
  bsm_storage *storage = BSM_NEW(a->module.cx->arena, bsm_storage);
  BSM_TRY_ALLOC(storage);
  *out = storage;
  /* The machine has checked that this product fits. */
  const size_t bytes = (size_t)numel * bsm_dtype_size(dtype);
  if (a->values_are_absent) {
    storage->meta = true;
    storage->size = bytes;
    return BSM_OK;
  }
  if (bytes == 0) return BSM_OK;
  const bsm_zip_entry *entry = NULL;
  BSM_TRY(find_member(a, a->storages, key, &entry));
  const int length = key.len < 60 ? (int)key.len : 60;
  if (!entry) {
    return BSM_FAIL(BSM_CORRUPT, "the archive has no member \"%.*s%.*s\"",
                    (int)a->storages.len, a->storages.data, length, key.data);
  }
  if (entry->size < bytes) {
    return BSM_FAIL(BSM_CORRUPT,
                    "member \"%.*s%.*s\" has %llu bytes; %lld elements of %s "
                    "need %zu",
                    (int)a->storages.len, a->storages.data, length, key.data,
                    (unsigned long long)entry->size, (long long)numel,
                    bsm_dtype_name(dtype), bytes);
  }
  return bsm_storage_adopt(a->module.cx->arena, &a->zip, entry, dtype,
                           a->swapped, storage);
}

static bsm_status find_class(void *user, bsm_str name, const bsm_type **out) {
  archive *a = user;
  return bsm_script_find_type(a->module.script, name, out);
}

static bsm_status parse_type(void *user, bsm_str text, const bsm_type **out) {
  archive *a = user;
  return bsm_script_parse_type(a->module.script, text, out);
}

static bsm_status set_state(void *user, bsm_object *object, bsm_ivalue state) {
  archive *a = user;
  const bsm_class *cls = object->type->cls;
  bsm_function *method = bsm_class_find_method(cls, "__setstate__");
  BSM_TRY_NOTE(a->options->set_state(a->options->user, method, object, state),
               "in __setstate__ of class %s", cls->name);
  return BSM_OK;
}

/* Reads the pickle `name`, with its storages in `directory`. */
static bsm_status read_pickle(archive *a, const char *name, bsm_str directory,
                              bsm_ivalue *out) {
  bsm_ir_ctx *cx = a->module.cx;
  const bool can_set_state = a->options && a->options->set_state;
  const bsm_pickle_hooks hooks = {
      .user = a,
      .read_storage = read_storage,
      .find_class = find_class,
      .set_state = can_set_state ? set_state : NULL,
      .parse_type = parse_type,
      .storages_swapped = a->swapped,
  };
  a->storages = directory;
  bsm_str bytes = {0};
  BSM_TRY(read_member(a, name, &bytes));
  if (!bytes.data) {
    return BSM_FAIL(BSM_CORRUPT, "the archive has no member \"%s\"", name);
  }
  return bsm_unpickle(cx->arena, cx->types, bytes, name, &cx->limits, &hooks,
                      out);
}

static bsm_status read_constants(archive *a) {
  bsm_ivalue constants;
  BSM_TRY(read_pickle(a, "constants.pkl", BSM_STR("constants/"), &constants));
  if (constants.tag != BSM_IVALUE_TUPLE) {
    return BSM_FAIL(BSM_CORRUPT, "constants.pkl holds %s, not a tuple",
                    bsm_iv_tag_name(constants.tag));
  }
  const bsm_tuple *tuple = constants.u.tuple;
  bsm_script_set_constants(a->module.script, tuple->items, tuple->len);
  return BSM_OK;
}

static bsm_status read_root(archive *a) {
  bsm_ivalue root;
  BSM_TRY(read_pickle(a, "data.pkl", BSM_STR("data/"), &root));
  if (root.tag != BSM_IVALUE_OBJECT) {
    return BSM_FAIL(BSM_CORRUPT, "data.pkl holds %s, not a module",
                    bsm_iv_tag_name(root.tag));
  }
  a->module.root = root.u.object;
  return BSM_OK;
}

/* Example inputs are a convenience: one that cannot be read is reported and
 * left out. */
static bsm_status read_examples(archive *a) {
  const bsm_zip_entry *entry = NULL;
  bsm_ir_ctx *cx = a->module.cx;
  BSM_TRY(find_member(a, (bsm_str){0}, BSM_STR("traced_inputs.pkl"), &entry));
  if (!entry) return BSM_OK;
  bsm_ivalue root;
  a->values_are_absent = true;
  bsm_status status =
      read_pickle(a, "traced_inputs.pkl", BSM_STR("traced_inputs/"), &root);
  a->values_are_absent = false;
  if (!status) {
    status = bsm_traced_inputs_flatten(cx->arena, &root, BSM_STR("forward"),
                                       &a->module.examples,
                                       &a->module.example_count);
  }
  if (!status) {
    bsm_traced_inputs_find(&root, BSM_STR("forward"), &a->module.example_values,
                           &a->module.example_value_count);
  }
  if (!status || bsm_status_code(status) == BSM_OUT_OF_MEMORY) return status;
  bsm_log(cx->logger, BSM_LOG_LEVEL_WARNING, "example inputs are ignored: %s",
          bsm_status_message(status));
  bsm_status_free(status);
  return BSM_OK;
}

/* ---- the module ---- */

static bsm_status read_archive(archive *a, const void *data, size_t size) {
  bsm_ir_ctx *cx = a->module.cx;
  BSM_TRY(bsm_archive_check_magic(data, size));
  BSM_TRY(bsm_zip_open(cx->arena, data, size, &cx->limits, &a->zip));
  BSM_TRY(bsm_archive_check_members(cx->arena, &a->zip, &a->prefix));
  BSM_TRY(read_version(a));
  BSM_TRY(read_byteorder(a));
  const bsm_script_hooks hooks = {a, read_source, python_source};
  BSM_TRY(bsm_script_create(cx, a->module.version, &hooks, &a->module.script));
  BSM_TRY(read_constants(a));
  BSM_TRY(read_root(a));
  return read_examples(a);
}

bsm_status bsm_ts_module_read_with(bsm_ir_ctx *cx, const void *data,
                                   size_t size,
                                   const bsm_ts_read_options *options,
                                   bsm_ts_module **out) {
  *out = NULL;
  archive *a = BSM_NEW(cx->arena, archive);
  BSM_TRY_ALLOC(a);
  a->module.cx = cx;
  a->options = options;
  BSM_TRY(read_archive(a, data, size));
  a->options = NULL;
  *out = &a->module;
  return BSM_OK;
}

bsm_status bsm_ts_module_read(bsm_ir_ctx *cx, const void *data, size_t size,
                              bsm_ts_module **out) {
  return bsm_ts_module_read_with(cx, data, size, NULL, out);
}

bsm_status bsm_ts_module_method(bsm_ts_module *module, const char *name,
                                bsm_function **out) {
  return bsm_ts_object_method(module, module->root, name, out);
}

bsm_status bsm_ts_object_method(bsm_ts_module *module, const bsm_object *object,
                                const char *name, bsm_function **out) {
  const bsm_class *cls = object->type->cls;
  *out = bsm_class_find_method(cls, name);
  if (*out) {
    return bsm_script_find_entry(module->script, object->type, name, out);
  }
  return bsm_model_no_method(cls, name);
}

static bsm_status find_method(void *front_end, const bsm_object *object,
                              const char *name, bsm_function **out) {
  return bsm_ts_object_method(front_end, object, name, out);
}

bsm_model bsm_ts_module_as_model(bsm_ts_module *module) {
  return (bsm_model){.cx = module->cx,
                     .root = module->root,
                     .examples = module->example_values,
                     .example_count = module->example_value_count,
                     .traced = module->example_value_count > 0,
                     .find_method = find_method,
                     .front_end = module};
}
