/* SPDX-License-Identifier: Apache-2.0 */
/* What torch.save wrote into the archive: example inputs, tensors of classes
 * of their own, and in older files all weights. Each is an archive itself, of a
 * pickle with the storages beside it; the machine that reads TorchScript's
 * pickles reads them. */
#include "exported/exported_reader.h"
#include "torchscript/pickle.h"
#include "torchscript/storage_bytes.h"

typedef struct saved {
  bsm_xr *r;
  bsm_zip zip;
  bsm_str prefix; /* "archive/" */
  bool swapped;   /* storages are of the other byte order */
} saved;

/* ---- archives of torch.save ---- */

static const bsm_zip_entry *find(const saved *s, const char *directory,
                                 bsm_str name) {
  char path[1024];
  const size_t directory_len = strlen(directory);
  if (s->prefix.len > 256 || name.len > 512) return NULL;
  memcpy(path, s->prefix.data, s->prefix.len);
  memcpy(path + s->prefix.len, directory, directory_len);
  memcpy(path + s->prefix.len + directory_len, name.data, name.len);
  return bsm_zip_find(
      &s->zip, (bsm_str){path, s->prefix.len + directory_len + name.len});
}

static bsm_status read_storage(void *user, bsm_str key, bsm_dtype dtype,
                               int64_t numel, bsm_storage **out) {
  saved *s = user;
  bsm_arena *arena = s->r->arena;
  /* The machine has checked that this product fits. */
  const size_t bytes = (size_t)numel * bsm_dtype_size(dtype);
  *out = BSM_NEW(arena, bsm_storage);
  BSM_TRY_ALLOC(*out);
  if (bytes == 0) return BSM_OK;
  const bsm_zip_entry *entry = find(s, "data/", key);
  if (!entry) {
    return BSM_FAIL(BSM_CORRUPT, "there is no member \"data/%.*s\"",
                    (int)(key.len < 60 ? key.len : 60), key.data);
  }
  /* The machine checks the size. */
  return bsm_storage_adopt(arena, &s->zip, entry, dtype, s->swapped, *out);
}

static bsm_status read_byteorder(saved *s) {
  bsm_str text = {0};
  const bsm_zip_entry *entry = find(s, "", BSM_STR("byteorder"));
  if (entry) {
    BSM_TRY(bsm_zip_read(&s->zip, s->r->arena, entry, true, &text));
  }
  return bsm_storage_order(text, &s->swapped);
}

static bsm_status read_saved(saved *s, bsm_str bytes, const char *what,
                             bsm_ivalue *out) {
  bsm_xr *r = s->r;
  bsm_str pickle = {0};
  BSM_TRY(
      bsm_zip_open(r->arena, bytes.data, bytes.len, &r->cx->limits, &s->zip));
  if (s->zip.count == 0) return BSM_FAIL(BSM_CORRUPT, "it is empty");
  const bsm_str first = s->zip.entries[0].name;
  const char *slash = memchr(first.data, '/', first.len);
  if (slash) {
    s->prefix = (bsm_str){first.data, (size_t)(slash - first.data) + 1};
  }
  BSM_TRY(read_byteorder(s));
  const bsm_zip_entry *entry = find(s, "", BSM_STR("data.pkl"));
  if (!entry) return BSM_FAIL(BSM_CORRUPT, "there is no member \"data.pkl\"");
  BSM_TRY(bsm_zip_read(&s->zip, r->arena, entry, true, &pickle));
  const bsm_pickle_hooks hooks = {
      .user = s, .read_storage = read_storage, .storages_swapped = s->swapped};
  return bsm_unpickle(r->arena, r->cx->types, pickle, what, &r->cx->limits,
                      &hooks, out);
}

bsm_status bsm_xr_unpickle(bsm_xr *r, bsm_str bytes, const char *what,
                           bsm_ivalue *out) {
  saved s = {.r = r};
  *out = bsm_iv_none();
  BSM_TRY_NOTE(read_saved(&s, bytes, what, out), "in member %.200s", what);
  return BSM_OK;
}

/* ---- example inputs ---- */

/* (args, kwargs) */
static bsm_status take_examples(bsm_exported_program *p, const bsm_ivalue *v) {
  if (v->tag == BSM_IVALUE_NONE) return BSM_OK;
  const bsm_tuple *pair = v->tag == BSM_IVALUE_TUPLE ? v->u.tuple : NULL;
  if (!pair || pair->len != 2 || pair->items[0].tag != BSM_IVALUE_TUPLE ||
      pair->items[1].tag != BSM_IVALUE_DICT) {
    return BSM_FAIL(BSM_CORRUPT,
                    "they are no pair of positional and keyword arguments");
  }
  const bsm_dict *kwargs = pair->items[1].u.dict;
  for (size_t i = 0; i < kwargs->len; i++) {
    if (kwargs->keys[i].tag != BSM_IVALUE_STRING) {
      return BSM_FAIL(BSM_CORRUPT, "a keyword is no string");
    }
  }
  p->example_args = pair->items[0].u.tuple;
  p->example_kwargs = pair->items[1].u.dict;
  p->has_examples = true;
  return BSM_OK;
}

bsm_status bsm_xr_examples(bsm_xr *r) {
  bsm_str bytes = {0};
  bsm_ivalue value;
  const char *name =
      r->is_old ? "serialized_example_inputs.pt"
                : bsm_arena_printf(r->arena, "data/sample_inputs/%s.pt",
                                   r->program->model_name);
  BSM_TRY_ALLOC(name);
  bsm_status status = bsm_xr_read_member(r, name, &bytes);
  if (!status && bytes.len) {
    status = bsm_xr_unpickle(r, bytes, name, &value);
    if (!status) status = take_examples(r->program, &value);
  }
  if (!status || bsm_status_code(status) == BSM_OUT_OF_MEMORY) return status;
  bsm_log(r->cx->logger, BSM_LOG_LEVEL_INFO, "example inputs are ignored: %s",
          bsm_status_message(status));
  bsm_status_free(status);
  return BSM_OK;
}
