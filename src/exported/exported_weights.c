/* SPDX-License-Identifier: Apache-2.0 */
/* Weights and constants. A file of JSON maps their names to members of raw
 * bytes, each a whole storage that several tensors may share:
 *
 *   {"config": {"conv.weight": {"path_name": "weight_0", "is_param": true,
 *                               "use_pickle": false, "tensor_meta": {...}}}}
 *
 * They are used where they lie in the file. Older files have one archive of
 * torch.save for all weights, and one for all constants. */
#include "base/checked.h"
#include "exported/exported_reader.h"
#include "torchscript/storage_bytes.h"

/* One of the two directories. */
/* A member, as its first tensor has it. */
typedef struct stored {
  bsm_storage storage;
  bsm_dtype dtype;
} stored;

typedef struct collection {
  bsm_xr *r;
  const char *directory;   /* "data/weights/" */
  const char *config;      /* "weights_config.json" */
  const char *old_member;  /* "serialized_state_dict.pt" */
  const char *object_name; /* prefix of members with custom objects, or NULL */
  bsm_strmap *out;
  bsm_strmap storages; /* member -> stored */
} collection;

static bsm_status keep(collection *c, const char *name, bsm_tensor *tensor) {
  bsm_xr_payload *payload = BSM_NEW(c->r->arena, bsm_xr_payload);
  BSM_TRY_ALLOC(payload);
  payload->tensor = tensor;
  return bsm_strmap_set(c->r->arena, c->out, bsm_str_of(name), payload)
             ? BSM_OK
             : BSM_FAIL_OOM();
}

/* ---- raw bytes ---- */

/* The bytes of what is turned around as one. */
static size_t turned_size(bsm_dtype dtype) {
  return bsm_dtype_size(dtype) / (bsm_dtype_is_complex(dtype) ? 2 : 1);
}

/* The storage of a member, read once. One whose numbers were turned around has
 * them in one size. */
static bsm_status find_storage(collection *c, const bsm_place *at,
                               const char *path, bsm_dtype dtype,
                               bsm_storage **out) {
  bsm_xr *r = c->r;
  stored *s = bsm_strmap_get(&c->storages, bsm_str_of(path));
  if (s) {
    *out = &s->storage;
    if (r->swapped && turned_size(s->dtype) != turned_size(dtype)) {
      return bsm_place_fail(at, BSM_UNSUPPORTED,
                            "member \"%.200s\" of the other byte order is "
                            "both %s and %s",
                            path, bsm_dtype_name(s->dtype),
                            bsm_dtype_name(dtype));
    }
    return BSM_OK;
  }
  const bsm_zip_entry *entry = bsm_xr_find_member(r, path);
  if (!entry) {
    return bsm_place_fail(at, BSM_CORRUPT,
                          "the archive has no member \"%.200s\"", path);
  }
  s = BSM_NEW(r->arena, stored);
  BSM_TRY_ALLOC(s);
  s->dtype = dtype;
  *out = &s->storage;
  BSM_TRY_NOTE(bsm_storage_adopt(r->arena, &r->zip, entry, dtype, r->swapped,
                                 &s->storage),
               "in member %.200s", path);
  return bsm_strmap_set(r->arena, &c->storages, bsm_str_of(path), s)
             ? BSM_OK
             : BSM_FAIL_OOM();
}

static bsm_status concrete(const bsm_place *at, const bsm_exported_sym *sym,
                           int64_t *out) {
  *out = sym->number.i;
  if (!sym->expr) return BSM_OK;
  return bsm_place_fail(at, BSM_CORRUPT, "a stored tensor of symbolic size");
}

/* Strides of 0 make large tensors of small storages. */
static bsm_status check_size(const bsm_xr *r, const bsm_place *at,
                             bsm_dtype dtype, bsm_dims sizes) {
  int64_t numel;
  size_t bytes;
  if (!bsm_dims_numel(sizes, &numel) ||
      !bsm_size_mul((size_t)numel, bsm_dtype_size(dtype), &bytes) ||
      bytes > r->cx->limits.max_tensor_bytes) {
    return bsm_place_fail(at, BSM_LIMIT,
                          "a tensor of shape %s; the limit is %llu bytes",
                          bsm_dims_str(sizes),
                          (unsigned long long)r->cx->limits.max_tensor_bytes);
  }
  return BSM_OK;
}

static bsm_status check_meta(const bsm_place *at,
                             const bsm_exported_meta *meta) {
  if (meta->layout != BSM_EXPORTED_STRIDED) {
    return bsm_place_fail(at, BSM_UNSUPPORTED,
                          "a stored tensor that is sparse or has another "
                          "layout than strided");
  }
  if (meta->dtype == BSM_DTYPE_UNDEFINED) {
    return bsm_place_fail(at, BSM_UNSUPPORTED,
                          "stored tensors of %s are not supported",
                          meta->dtype_name);
  }
  return BSM_OK;
}

static bsm_status make_tensor(collection *c, const bsm_place *at,
                              const bsm_exported_meta *meta,
                              bsm_storage *storage, bsm_tensor **out) {
  bsm_dims sizes = {.rank = (int32_t)meta->rank};
  int64_t strides[BSM_MAX_RANK] = {0}, offset = 0;
  for (size_t i = 0; i < meta->rank; i++) {
    BSM_TRY(concrete(at, &meta->sizes[i], &sizes.d[i]));
    BSM_TRY(concrete(at, &meta->strides[i], &strides[i]));
  }
  BSM_TRY(concrete(at, &meta->storage_offset, &offset));
  BSM_TRY(check_size(c->r, at, meta->dtype, sizes));
  int64_t numel = 0;
  if (storage->size == 0 && bsm_dims_numel(sizes, &numel) && numel) {
    return bsm_place_fail(at, BSM_UNSUPPORTED,
                          "the tensor has no data: the model was exported "
                          "without its weights, with fake tensors");
  }
  const bsm_status status = bsm_tensor_from_storage(
      c->r->arena, storage, meta->dtype, sizes, strides, offset, out);
  if (status) return bsm_place_note(at, status);
  (*out)->device_type = meta->device.type;
  (*out)->device_index = meta->device.index;
  return BSM_OK;
}

/* ---- entries ---- */

static bsm_status read_pickled(collection *c, const bsm_place *at,
                               const char *path, bsm_tensor **out) {
  bsm_str bytes = {0};
  bsm_ivalue value;
  BSM_TRY(bsm_xr_read_member(c->r, path, &bytes));
  if (!bytes.data) {
    return bsm_place_fail(at, BSM_CORRUPT,
                          "the archive has no member \"%.200s\"", path);
  }
  const bsm_status status = bsm_xr_unpickle(c->r, bytes, path, &value);
  if (status) {
    return bsm_status_note(
        bsm_place_note(at, status),
        "a weight that is pickled is a tensor of a class of its own: unwrap it "
        "to plain tensors before exporting");
  }
  if (value.tag != BSM_IVALUE_TENSOR) {
    return bsm_place_fail(at, BSM_CORRUPT, "member \"%.200s\" holds no tensor",
                          path);
  }
  *out = value.u.tensor;
  return BSM_OK;
}

static bsm_status read_entry(collection *c, const bsm_place *at,
                             bsm_tensor **out) {
  bsm_xr *r = c->r;
  bsm_place field;
  const char *name = "";
  bool use_pickle = false;
  bsm_storage *storage = NULL;
  bsm_exported_meta meta;
  *out = NULL;
  BSM_TRY(bsm_xr_field_name(r, at, "path_name", &name));
  if (c->object_name &&
      bsm_str_starts_with(bsm_str_of(name), bsm_str_of(c->object_name))) {
    return BSM_OK; /* the signature says what it is */
  }
  const char *path = bsm_arena_printf(r->arena, "%s%s", c->directory, name);
  BSM_TRY_ALLOC(path);
  BSM_TRY(bsm_place_field(at, "use_pickle", &field));
  BSM_TRY(bsm_place_bool(&field, &use_pickle));
  if (use_pickle) return read_pickled(c, at, path, out);
  BSM_TRY(bsm_place_field(at, "tensor_meta", &field));
  BSM_TRY(bsm_xr_meta(r, &field, &meta));
  BSM_TRY(check_meta(&field, &meta));
  BSM_TRY(find_storage(c, at, path, meta.dtype, &storage));
  return make_tensor(c, &field, &meta, storage, out);
}

static bsm_status read_config(collection *c, const bsm_place *root) {
  bsm_place config, item;
  size_t count = 0;
  BSM_TRY(bsm_place_field(root, "config", &config));
  BSM_TRY(bsm_place_check_object(&config, &count));
  for (bsm_place_iterator it = {0}; bsm_place_next(&config, &it, &item);) {
    bsm_tensor *tensor;
    BSM_TRY(read_entry(c, &item, &tensor));
    BSM_TRY(keep(c, item.key, tensor));
  }
  return BSM_OK;
}

/* ---- pickled collections ---- */

static bsm_status read_dict(collection *c, bsm_str bytes, const char *member) {
  bsm_ivalue value;
  BSM_TRY(bsm_xr_unpickle(c->r, bytes, member, &value));
  if (value.tag != BSM_IVALUE_DICT) {
    return BSM_FAIL(BSM_CORRUPT, "%s holds %s, not a dict", member,
                    bsm_iv_tag_name(value.tag));
  }
  const bsm_dict *dict = value.u.dict;
  for (size_t i = 0; i < dict->len; i++) {
    if (dict->keys[i].tag != BSM_IVALUE_STRING ||
        dict->values[i].tag != BSM_IVALUE_TENSOR) {
      return BSM_FAIL(BSM_CORRUPT, "%s holds more than tensors by their names",
                      member);
    }
    const bsm_str key = *dict->keys[i].u.s;
    const char *name = bsm_arena_strndup(c->r->arena, key.data, key.len);
    BSM_TRY_ALLOC(name);
    BSM_TRY(keep(c, name, dict->values[i].u.tensor));
  }
  return BSM_OK;
}

static bsm_status read_json(collection *c, bsm_str bytes, const char *member) {
  bsm_json_document document;
  bsm_status status = bsm_json_document_parse(
      c->r->arena->allocator, bytes, member, &c->r->cx->limits, &document);
  if (!status) {
    const bsm_place root = bsm_json_document_root(&document);
    status = read_config(c, &root);
  }
  bsm_json_document_free(&document);
  return status;
}

/* The member that describes the collection; torch 2.8 also wrote
 * "data/weights/<model>.pt", which torch reads first. */
static bsm_status read_collection(collection *c) {
  bsm_xr *r = c->r;
  const char *model = r->program->model_name;
  const char *saved =
      r->is_old ? c->old_member
                : bsm_arena_printf(r->arena, "%s%s.pt", c->directory, model);
  const char *config =
      bsm_arena_printf(r->arena, "%s%s_%s", c->directory, model, c->config);
  bsm_str bytes = {0};
  BSM_TRY_ALLOC(saved);
  BSM_TRY_ALLOC(config);
  BSM_TRY(bsm_xr_read_member(r, saved, &bytes));
  if (bytes.len) return read_dict(c, bytes, saved);
  if (!r->is_old) BSM_TRY(bsm_xr_read_member(r, config, &bytes));
  if (bytes.data) return read_json(c, bytes, config);
  return BSM_FAIL(BSM_CORRUPT, "the archive has no member \"%s\"",
                  r->is_old ? saved : config);
}

bsm_status bsm_xr_weights(bsm_xr *r) {
  collection weights = {.r = r,
                        .directory = "data/weights/",
                        .config = "weights_config.json",
                        .old_member = "serialized_state_dict.pt",
                        .out = &r->weights};
  collection constants = {.r = r,
                          .directory = "data/constants/",
                          .config = "constants_config.json",
                          .old_member = "serialized_constants.pt",
                          .object_name = "custom_obj_",
                          .out = &r->constants};
  BSM_TRY(read_collection(&weights));
  return read_collection(&constants);
}
