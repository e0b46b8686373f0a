/* SPDX-License-Identifier: Apache-2.0 */
/* The members of an archive of torch.export. Since torch 2.8:
 *
 *   <p>/archive_format "pt2", archive_version "0", byteorder
 *   <p>/models/<model>.json              the program
 *   <p>/data/weights/<model>_weights_config.json, weight_<n>
 *   <p>/data/constants/<model>_constants_config.json, tensor_<n>,
 * custom_obj_<n> <p>/data/sample_inputs/<model>.pt <p>/data/aotinductor/...
 * machine code, not for us
 *
 * and before, without a directory: version "8.7",
 * serialized_exported_program.json, serialized_state_dict.pt,
 * serialized_constants.pt, serialized_example_inputs.pt. */
#include "base/resolve_limits.h"
#include "exported/exported_reader.h"
#include "torchscript/storage_bytes.h"

#define FORMAT "archive_format"
#define OLD_PROGRAM "serialized_exported_program.json"
#define MODELS "models/"
#define SUFFIX ".json"

/* ---- members ---- */

static bsm_str trim(bsm_str text) {
  while (text.len &&
         (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == '\r')) {
    text.len--;
  }
  return text;
}

const bsm_zip_entry *bsm_xr_find_member(const bsm_xr *r, const char *name) {
  const bsm_str wanted = bsm_str_of(name);
  if (!r->prefix.len) return bsm_zip_find(&r->zip, wanted);
  /* Names are short, and those that are not do not exist. */
  char path[1024];
  if (r->prefix.len > sizeof(path) ||
      wanted.len > sizeof(path) - r->prefix.len) {
    return NULL;
  }
  memcpy(path, r->prefix.data, r->prefix.len);
  memcpy(path + r->prefix.len, wanted.data, wanted.len);
  return bsm_zip_find(&r->zip, (bsm_str){path, r->prefix.len + wanted.len});
}

bsm_status bsm_xr_read_member(bsm_xr *r, const char *name, bsm_str *out) {
  *out = (bsm_str){0};
  const bsm_zip_entry *entry = bsm_xr_find_member(r, name);
  if (!entry) return BSM_OK;
  return bsm_zip_read(&r->zip, r->arena, entry, true, out);
}

/* ---- what it is ---- */

/* The member `name` at the top or in a directory there: *prefix is that. */
static bool find_marker(const bsm_zip *zip, bsm_str name, bsm_str *prefix) {
  for (size_t i = 0; i < zip->count; i++) {
    const bsm_str member = zip->entries[i].name;
    if (!bsm_str_ends_with(member, name)) continue;
    *prefix = (bsm_str){member.data, member.len - name.len};
    if (prefix->len == 0) return true;
    const char *slash = memchr(prefix->data, '/', prefix->len);
    if (slash == prefix->data + prefix->len - 1) return true;
  }
  return false;
}

bool bsm_exported_is_archive(const void *data, size_t size) {
  bsm_arena arena;
  bsm_zip zip;
  bsm_str prefix;
  bsm_arena_init(&arena, NULL);
  const bsm_limits limits = bsm_resolve_limits(NULL);
  const bsm_str file = {data, size};
  bool found = bsm_str_starts_with(file, BSM_STR("PK\x03\x04"));
  if (found) {
    const bsm_status status = bsm_zip_open(&arena, data, size, &limits, &zip);
    found = !status && (find_marker(&zip, BSM_STR(FORMAT), &prefix) ||
                        find_marker(&zip, BSM_STR(OLD_PROGRAM), &prefix));
    bsm_status_free(status);
  }
  bsm_arena_destroy(&arena);
  return found;
}

/* At most 40 bytes of a text member, fit for a message. */
static const char *quote(bsm_str text, char *buffer) {
  size_t n = 0;
  for (; n < text.len && n < 40; n++) {
    buffer[n] = text.data[n];
    if (buffer[n] < 0x20 || buffer[n] > 0x7e) buffer[n] = '?';
  }
  buffer[n] = '\0';
  return buffer;
}

static bsm_status check_text(bsm_xr *r, const char *member, const char *wanted,
                             bsm_code code, const char *advice) {
  bsm_str text = {0};
  char buffer[48];
  BSM_TRY(bsm_xr_read_member(r, member, &text));
  text = trim(text);
  if (!text.data || bsm_str_eq(text, bsm_str_of(wanted))) return BSM_OK;
  return BSM_FAIL(code, "the archive's %s is \"%s\"; \"%s\" can be read%s",
                  member, quote(text, buffer), wanted, advice);
}

static bsm_status check_format(bsm_xr *r) {
  BSM_TRY(check_text(r, FORMAT, "pt2", BSM_UNSUPPORTED, ""));
  BSM_TRY(check_text(r, "archive_version", "0", BSM_VERSION,
                     ": export the model again with torch 2.8 to 2.15"));
  bsm_str order = {0};
  BSM_TRY(bsm_xr_read_member(r, "byteorder", &order));
  return bsm_storage_order(trim(order), &r->swapped);
}

/* ---- models ---- */

typedef struct model_list {
  bsm_text names; /* for messages */
  bsm_str only;   /* the last one seen */
  size_t count;
} model_list;

/* The name in "models/<name>.json"; false when it is no such member. */
static bool model_of(const bsm_xr *r, bsm_str member, bsm_str *out) {
  const bsm_str directory = BSM_STR(MODELS), suffix = BSM_STR(SUFFIX);
  if (!bsm_str_starts_with(member, r->prefix)) return false;
  member.data += r->prefix.len;
  member.len -= r->prefix.len;
  if (member.len <= directory.len + suffix.len ||
      !bsm_str_starts_with(member, directory) ||
      !bsm_str_ends_with(member, suffix)) {
    return false;
  }
  *out = (bsm_str){member.data + directory.len,
                   member.len - directory.len - suffix.len};
  return !memchr(out->data, '\0', out->len);
}

static bool holds_directory(const bsm_xr *r, const char *directory) {
  const bsm_str wanted = bsm_str_of(directory);
  for (size_t i = 0; i < r->zip.count; i++) {
    bsm_str member = r->zip.entries[i].name;
    if (!bsm_str_starts_with(member, r->prefix)) continue;
    member.data += r->prefix.len;
    member.len -= r->prefix.len;
    if (bsm_str_starts_with(member, wanted)) return true;
  }
  return false;
}

static bsm_status fail_without_models(const bsm_xr *r) {
  if (holds_directory(r, "data/aotinductor/")) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "the package holds machine code of AOTInductor and no "
                    "program: save the exported program itself with "
                    "torch.export.save");
  }
  if (holds_directory(r, "data/executorch/")) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "the package holds a program of ExecuTorch: save the "
                    "exported program itself with torch.export.save");
  }
  return BSM_FAIL(BSM_CORRUPT, "the package has no member \"" MODELS "*" SUFFIX
                               "\": it holds no program");
}

static bsm_status list_models(bsm_xr *r, model_list *out) {
  *out = (model_list){0};
  bsm_text_init(&out->names, r->arena);
  for (size_t i = 0; i < r->zip.count; i++) {
    bsm_str name;
    if (!model_of(r, r->zip.entries[i].name, &name)) continue;
    out->only = name;
    if (out->count++ < 20) {
      bsm_text_printf(&out->names, "%s\"%.*s\"", out->count > 1 ? ", " : "",
                      (int)(name.len < 60 ? name.len : 60), name.data);
    }
  }
  return out->names.failed ? BSM_FAIL_OOM() : BSM_OK;
}

static bool has_model(const bsm_xr *r, const char *name) {
  for (size_t i = 0; i < r->zip.count; i++) {
    bsm_str model;
    if (model_of(r, r->zip.entries[i].name, &model) &&
        bsm_str_eq(model, bsm_str_of(name))) {
      return true;
    }
  }
  return false;
}

static bsm_status choose_model(bsm_xr *r, const char *wanted) {
  model_list models;
  BSM_TRY(list_models(r, &models));
  if (!models.count) return fail_without_models(r);
  if (wanted && !has_model(r, wanted)) {
    return BSM_FAIL(BSM_NOT_FOUND, "the package has no model \"%s\"; it has %s",
                    wanted, models.names.data);
  }
  if (!wanted && models.count > 1) {
    if (!has_model(r, "model")) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "the package has %zu models, none of them called "
                      "\"model\": %s",
                      models.count, models.names.data);
    }
    wanted = "model";
  }
  const bsm_str name = wanted ? bsm_str_of(wanted) : models.only;
  r->program->model_name = bsm_intern(&r->cx->names, name);
  BSM_TRY_ALLOC(r->program->model_name);
  return BSM_OK;
}

bsm_status bsm_xr_open(bsm_xr *r, const void *data, size_t size,
                       const char *model_name) {
  BSM_TRY(bsm_zip_open(r->arena, data, size, &r->cx->limits, &r->zip));
  if (find_marker(&r->zip, BSM_STR(FORMAT), &r->prefix)) {
    BSM_TRY(check_format(r));
    return choose_model(r, model_name);
  }
  if (!find_marker(&r->zip, BSM_STR(OLD_PROGRAM), &r->prefix)) {
    return BSM_FAIL(BSM_CORRUPT,
                    "not an archive of torch.export: it has neither \"" FORMAT
                    "\" nor \"" OLD_PROGRAM "\"");
  }
  r->is_old = true;
  r->program->model_name = "model";
  if (!model_name || strcmp(model_name, "model") == 0) return BSM_OK;
  return BSM_FAIL(BSM_NOT_FOUND,
                  "the archive has no model \"%s\": it has one, without a name",
                  model_name);
}
