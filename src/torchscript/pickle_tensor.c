/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors in a pickle: storages by persistent id, geometry by REDUCE. */
#include "base/checked.h"
#include "torchscript/pickle_internal.h"

/* ---- devices ---- */

bsm_status bsm_pickle_parse_device(bsm_str text, bsm_torch_device *out) {
  bsm_str type = text;
  int64_t index = -1;
  const char *colon = text.len ? memchr(text.data, ':', text.len) : NULL;
  if (colon) {
    type.len = (size_t)(colon - text.data);
    const bsm_str number = {colon + 1, text.len - type.len - 1};
    if (!bsm_parse_i64(number, &index) || index < 0 || index > INT8_MAX) {
      return BSM_FAIL(BSM_CORRUPT, "\"%.*s\" is no device",
                      text.len < 60 ? (int)text.len : 60, text.data);
    }
  }
  if (type.len == 0) return BSM_FAIL(BSM_CORRUPT, "an empty device name");
  int8_t kind = 2;
  if (bsm_str_eq(type, BSM_STR("cpu"))) kind = 0;
  if (bsm_str_eq(type, BSM_STR("cuda"))) kind = 1;
  *out = (bsm_torch_device){kind, (int8_t)index};
  return BSM_OK;
}

/* ---- storages ---- */

/* The storage of that key: read once, then shared. */
static bsm_status read_record(pickle_machine *m, bsm_str key,
                              pickle_storage *wanted, size_t bytes) {
  pickle_record *record = bsm_strmap_get(&m->records, key);
  if (!record) {
    record = BSM_NEW(&m->scratch, pickle_record);
    BSM_TRY_ALLOC(record);
    record->dtype = wanted->dtype;
    if (!m->hooks->read_storage) {
      return BSM_FAIL(BSM_CORRUPT, "a tensor where no tensors can be");
    }
    BSM_TRY(m->hooks->read_storage(m->hooks->user, key, wanted->dtype,
                                   wanted->numel, &record->storage));
    if (!bsm_strmap_set(&m->scratch, &m->records, key, record)) {
      return BSM_FAIL_OOM();
    }
  } else if (record->dtype != wanted->dtype && m->hooks->storages_swapped &&
             bsm_dtype_size(record->dtype) != bsm_dtype_size(wanted->dtype)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "storage %.*s of a big-endian archive is both %s and %s",
                    (int)(key.len < 60 ? key.len : 60), key.data,
                    bsm_dtype_name(record->dtype),
                    bsm_dtype_name(wanted->dtype));
  }
  if (record->storage->size < bytes) {
    return BSM_FAIL(
        BSM_CORRUPT, "storage %.*s has %zu bytes; %lld elements of %s need %zu",
        (int)(key.len < 60 ? key.len : 60), key.data, record->storage->size,
        (long long)wanted->numel, bsm_dtype_name(wanted->dtype), bytes);
  }
  wanted->storage = record->storage;
  return BSM_OK;
}

/* Elements of 4 bits, two in a byte with the lower ones first, as bytes. */
static bsm_status unpack_nibbles(pickle_machine *m, bsm_str key,
                                 pickle_storage *storage) {
  pickle_record *record = bsm_strmap_get(&m->records, key);
  const bsm_storage *from = storage->storage;
  if (!record->unpacked) {
    bsm_storage *to = BSM_NEW(m->arena, bsm_storage);
    BSM_TRY_ALLOC(to);
    if (!bsm_size_mul(from->size, 2, &to->size) ||
        storage->numel > INT64_MAX / 2) {
      return BSM_FAIL(BSM_CORRUPT, "a storage of %zu bytes", from->size);
    }
    to->meta = from->meta;
    if (from->data) {
      to->data = bsm_arena_alloc(m->arena, to->size + 1, 64);
      BSM_TRY_ALLOC(to->data);
    }
    for (size_t i = 0; from->data && i < from->size; i++) {
      const uint8_t both = ((const uint8_t *)from->data)[i];
      ((uint8_t *)to->data)[2 * i] = both & 15;
      ((uint8_t *)to->data)[2 * i + 1] = both >> 4;
    }
    record->unpacked = to;
  }
  storage->storage = record->unpacked;
  storage->numel *= 2;
  return BSM_OK;
}

/* ('storage', <type>, key, device, numel[, None]) */
bsm_status bsm_pickle_persistent_id(pickle_machine *m, const bsm_tuple *id,
                                    bsm_ivalue *out) {
  if (id->len != 5 && id->len != 6) {
    return BSM_FAIL(BSM_CORRUPT, "a persistent id of %zu parts", id->len);
  }
  const bsm_ivalue *part = id->items;
  const pickle_private *dtype = bsm_pickle_as(&part[1], PICKLE_DTYPE);
  if (part[0].tag != BSM_IVALUE_STRING ||
      !bsm_str_eq(*part[0].u.s, BSM_STR("storage")) || !dtype ||
      part[2].tag != BSM_IVALUE_STRING || part[3].tag != BSM_IVALUE_STRING ||
      part[4].tag != BSM_IVALUE_INT) {
    return BSM_FAIL(BSM_CORRUPT,
                    "a persistent id that is no (\"storage\", type, key, "
                    "device, count)");
  }
  if (id->len == 6 && part[5].tag != BSM_IVALUE_NONE) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a storage that is a view of another");
  }
  pickle_private *body = NULL;
  BSM_TRY(bsm_pickle_private(m, PICKLE_STORAGE, out, &body));
  pickle_storage *storage = &body->u.storage;
  storage->dtype = dtype->u.dtype;
  storage->numel = part[4].u.i;
  BSM_TRY(bsm_pickle_parse_device(*part[3].u.s, &storage->device));
  size_t bytes;
  if (storage->numel < 0 ||
      !bsm_size_mul((size_t)storage->numel, bsm_dtype_size(storage->dtype),
                    &bytes) ||
      bytes > (size_t)INT64_MAX) {
    return BSM_FAIL(BSM_CORRUPT, "a storage of %lld elements",
                    (long long)storage->numel);
  }
  BSM_TRY(read_record(m, *part[2].u.s, storage, bytes));
  return dtype->nibbles ? unpack_nibbles(m, *part[2].u.s, storage) : BSM_OK;
}

/* ---- tensors ---- */

/* A tuple of sizes or strides, all at least 0. */
static bsm_status read_extents(const bsm_ivalue *v, const char *what,
                               bsm_dims *out) {
  if (v->tag != BSM_IVALUE_TUPLE) {
    return BSM_FAIL(BSM_CORRUPT, "a tensor whose %ss are %s", what,
                    bsm_pickle_kind(v));
  }
  const bsm_tuple *tuple = v->u.tuple;
  if (tuple->len > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a tensor with %zu dimensions; at most %d are supported",
                    tuple->len, BSM_MAX_RANK);
  }
  *out = (bsm_dims){.rank = (int32_t)tuple->len};
  for (size_t i = 0; i < tuple->len; i++) {
    const bsm_ivalue *item = &tuple->items[i];
    if (item->tag != BSM_IVALUE_INT || item->u.i < 0) {
      return BSM_FAIL(BSM_CORRUPT, "a tensor with a wrong %s in dimension %zu",
                      what, i);
    }
    out->d[i] = item->u.i;
  }
  return BSM_OK;
}

/* The lazy conjugate and negative of a tensor. */
typedef struct math_bits {
  bool conjugate, negative;
} math_bits;

/* The hooks are an empty OrderedDict; the optional last argument has the math
 * bits. */
static bsm_status read_extras(const bsm_tuple *args, math_bits *out) {
  const bsm_ivalue *grad = &args->items[4], *hooks = &args->items[5];
  *out = (math_bits){false, false};
  if (grad->tag != BSM_IVALUE_BOOL) {
    return BSM_FAIL(BSM_CORRUPT, "a tensor whose requires_grad is %s",
                    bsm_pickle_kind(grad));
  }
  if (hooks->tag != BSM_IVALUE_NONE &&
      (hooks->tag != BSM_IVALUE_DICT || hooks->u.dict->len != 0)) {
    return BSM_FAIL(BSM_CORRUPT, "a tensor with backward hooks");
  }
  if (args->len < 7 || args->items[6].tag == BSM_IVALUE_NONE) return BSM_OK;
  if (args->items[6].tag != BSM_IVALUE_DICT) {
    return BSM_FAIL(BSM_CORRUPT, "a tensor whose math bits are %s",
                    bsm_pickle_kind(&args->items[6]));
  }
  const bsm_dict *bits = args->items[6].u.dict;
  for (size_t i = 0; i < bits->len; i++) {
    const bsm_ivalue *key = &bits->keys[i], *value = &bits->values[i];
    if (key->tag != BSM_IVALUE_STRING || value->tag != BSM_IVALUE_BOOL) {
      return BSM_FAIL(BSM_CORRUPT, "a math bit that is %s",
                      bsm_pickle_kind(value));
    }
    if (bsm_str_eq(*key->u.s, BSM_STR("conj"))) {
      out->conjugate = value->u.b;
    } else if (bsm_str_eq(*key->u.s, BSM_STR("neg"))) {
      out->negative = value->u.b;
    } else if (value->u.b) {
      return BSM_FAIL(BSM_UNSUPPORTED, "a tensor with the math bit \"%.*s\"",
                      (int)(key->u.s->len < 60 ? key->u.s->len : 60),
                      key->u.s->data);
    }
  }
  return BSM_OK;
}

/* Flips the sign of every `step`th number from `first` on. */
static void negate(bsm_tensor *t, int64_t first, int64_t step) {
  const bsm_dtype part = bsm_dtype_value_type(t->dtype);
  const int64_t n = bsm_tensor_numel(t) * (part != t->dtype ? 2 : 1);
  void *data = bsm_tensor_data(t);
  for (int64_t i = first; i < n; i += step) {
    if (part == BSM_DTYPE_DOUBLE) {
      ((double *)data)[i] = -((double *)data)[i];
    } else if (part == BSM_DTYPE_FLOAT) {
      ((float *)data)[i] = -((float *)data)[i];
    } else { /* half and bfloat16 have the sign in the same place */
      ((uint16_t *)data)[i] ^= 0x8000u;
    }
  }
}

/* A copy that holds the values themselves. */
static bsm_status resolve_bits(bsm_arena *arena, const math_bits *bits,
                               bsm_tensor **tensor) {
  bsm_tensor *t = *tensor;
  const bool complex = bsm_dtype_is_complex(t->dtype);
  if ((bits->conjugate && !complex) ||
      (!complex && !bsm_dtype_is_floating(t->dtype))) {
    return BSM_FAIL(BSM_CORRUPT, "a lazy %s of %s",
                    bits->conjugate ? "conjugate" : "negative",
                    bsm_dtype_name(t->dtype));
  }
  BSM_TRY(bsm_tensor_clone(arena, t, tensor));
  if (bits->conjugate) negate(*tensor, 1, 2);
  if (bits->negative) negate(*tensor, 0, 1);
  return BSM_OK;
}

static bool is_quantized(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_QINT8 || dtype == BSM_DTYPE_QUINT8 ||
         dtype == BSM_DTYPE_QINT32;
}

/* The geometry that all strided tensors start with: storage, offset, sizes,
 * strides. */
static bsm_status rebuild(pickle_machine *m, const bsm_tuple *args,
                          bsm_tensor **out) {
  const pickle_private *body = bsm_pickle_as(&args->items[0], PICKLE_STORAGE);
  if (!body || args->items[1].tag != BSM_IVALUE_INT) {
    return BSM_FAIL(BSM_CORRUPT, "a tensor made from %s and %s",
                    bsm_pickle_kind(&args->items[0]),
                    bsm_pickle_kind(&args->items[1]));
  }
  const pickle_storage *storage = &body->u.storage;
  const int64_t offset = args->items[1].u.i;
  bsm_dims sizes, strides;
  BSM_TRY(read_extents(&args->items[2], "size", &sizes));
  BSM_TRY(read_extents(&args->items[3], "stride", &strides));
  if (sizes.rank != strides.rank || offset < 0) {
    return BSM_FAIL(BSM_CORRUPT,
                    "a tensor with %d sizes, %d strides and offset %lld",
                    (int)sizes.rank, (int)strides.rank, (long long)offset);
  }
  /* Strides of 0 make large tensors of small storages. */
  int64_t numel;
  size_t bytes;
  if (!bsm_dims_numel(sizes, &numel) ||
      !bsm_size_mul((size_t)numel, bsm_dtype_size(storage->dtype), &bytes) ||
      bytes > m->limits.max_tensor_bytes) {
    return BSM_FAIL(BSM_LIMIT, "a tensor of shape %s; the limit is %llu bytes",
                    bsm_dims_str(sizes),
                    (unsigned long long)m->limits.max_tensor_bytes);
  }
  BSM_TRY(bsm_tensor_from_storage(m->arena, storage->storage, storage->dtype,
                                  sizes, strides.d, offset, out));
  (*out)->device_type = storage->device.type;
  (*out)->device_index = storage->device.index;
  return BSM_OK;
}

/* (storage, offset, sizes, strides, requires_grad, hooks[, math bits]) */
bsm_status bsm_pickle_rebuild_tensor(pickle_machine *m, const bsm_tuple *args,
                                     bsm_ivalue *out) {
  bsm_tensor *tensor;
  math_bits bits;
  BSM_TRY(rebuild(m, args, &tensor));
  BSM_TRY(read_extras(args, &bits));
  if (is_quantized(tensor->dtype)) {
    return BSM_FAIL(BSM_CORRUPT, "a quantized tensor without parameters");
  }
  if (bits.conjugate || bits.negative) {
    BSM_TRY(resolve_bits(m->arena, &bits, &tensor));
  }
  *out = bsm_iv_tensor(tensor);
  return BSM_OK;
}

/* ---- quantized tensors ---- */

static bsm_status read_per_channel(const bsm_tuple *parameters,
                                   const bsm_tensor *t, bsm_quantizer *q) {
  const bsm_ivalue *part = parameters->items;
  if (parameters->len != 4 || part[1].tag != BSM_IVALUE_TENSOR ||
      part[2].tag != BSM_IVALUE_TENSOR || part[3].tag != BSM_IVALUE_INT) {
    return BSM_FAIL(BSM_CORRUPT, "wrong per-channel quantization parameters");
  }
  q->scales = part[1].u.tensor;
  q->zero_points = part[2].u.tensor;
  q->float_zero_points = bsm_dtype_is_floating(q->zero_points->dtype);
  const int64_t axis = part[3].u.i;
  if (axis < 0 || axis >= t->sizes.rank || q->scales->sizes.rank != 1 ||
      q->zero_points->sizes.rank != 1 ||
      q->scales->sizes.d[0] != t->sizes.d[axis] ||
      q->zero_points->sizes.d[0] != t->sizes.d[axis] ||
      !bsm_dtype_is_floating(q->scales->dtype)) {
    return BSM_FAIL(BSM_CORRUPT,
                    "a quantized tensor of shape %s with %s scales, %s zero "
                    "points and axis %lld",
                    bsm_dims_str(t->sizes), bsm_dims_str(q->scales->sizes),
                    bsm_dims_str(q->zero_points->sizes), (long long)axis);
  }
  q->axis = (int32_t)axis;
  return BSM_OK;
}

/* (storage, offset, sizes, strides, parameters, requires_grad, hooks); the
 * parameters: (per_tensor_affine, scale, zero point) or
 * (per_channel_affine[_float_qparams], scales, zero points, axis). */
bsm_status bsm_pickle_rebuild_qtensor(pickle_machine *m, const bsm_tuple *args,
                                      bsm_ivalue *out) {
  bsm_tensor *tensor;
  BSM_TRY(rebuild(m, args, &tensor));
  /* A tuple that holds a scheme is one of the machine's own. */
  const pickle_private *parameters =
      bsm_pickle_as(&args->items[4], PICKLE_ARGS);
  const bsm_tuple *tuple = parameters ? &parameters->u.args : NULL;
  const pickle_private *scheme =
      tuple && tuple->len >= 3 ? bsm_pickle_as(&tuple->items[0], PICKLE_QSCHEME)
                               : NULL;
  if (!is_quantized(tensor->dtype) || !scheme) {
    return BSM_FAIL(BSM_CORRUPT, "a quantized tensor of %s made from %s",
                    bsm_dtype_name(tensor->dtype),
                    bsm_pickle_kind(&args->items[4]));
  }
  bsm_quantizer *q = BSM_NEW(m->arena, bsm_quantizer);
  BSM_TRY_ALLOC(q);
  q->axis = -1;
  if (scheme->u.qscheme == PICKLE_PER_CHANNEL) {
    BSM_TRY(read_per_channel(tuple, tensor, q));
  } else if (tuple->items[1].tag == BSM_IVALUE_DOUBLE &&
             tuple->items[2].tag == BSM_IVALUE_INT) {
    q->scale = tuple->items[1].u.d;
    q->zero_point = tuple->items[2].u.i;
  } else {
    return BSM_FAIL(BSM_CORRUPT, "a scale that is %s, a zero point that is %s",
                    bsm_pickle_kind(&tuple->items[1]),
                    bsm_pickle_kind(&tuple->items[2]));
  }
  tensor->quantizer = q;
  *out = bsm_iv_tensor(tensor);
  return BSM_OK;
}
