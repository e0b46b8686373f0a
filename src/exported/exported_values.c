/* SPDX-License-Identifier: Apache-2.0 */
/* What an exported program says of its values: dtypes, layouts, devices (the
 * schema has numbers of its own for them), symbolic numbers, tensors. */
#include "exported/exported_reader.h"
#include "torchscript/pickle_internal.h"

/* ---- enumerations ---- */

static const struct {
  int64_t number;
  bsm_dtype dtype;
  const char *name;
} dtypes[] = {
    {1, BSM_DTYPE_UINT8, "uint8"},
    {2, BSM_DTYPE_INT8, "int8"},
    {3, BSM_DTYPE_INT16, "int16"},
    {4, BSM_DTYPE_INT32, "int32"},
    {5, BSM_DTYPE_INT64, "int64"},
    {6, BSM_DTYPE_HALF, "float16"},
    {7, BSM_DTYPE_FLOAT, "float32"},
    {8, BSM_DTYPE_DOUBLE, "float64"},
    {9, BSM_DTYPE_COMPLEX_HALF, "complex32"},
    {10, BSM_DTYPE_COMPLEX_FLOAT, "complex64"},
    {11, BSM_DTYPE_COMPLEX_DOUBLE, "complex128"},
    {12, BSM_DTYPE_BOOL, "bool"},
    {13, BSM_DTYPE_BFLOAT16, "bfloat16"},
    {28, BSM_DTYPE_UNDEFINED, "uint16"},
    {29, BSM_DTYPE_FLOAT8_E4M3FN, "float8_e4m3fn"},
    {30, BSM_DTYPE_FLOAT8_E5M2, "float8_e5m2"},
    {31, BSM_DTYPE_UNDEFINED, "float8_e4m3fnuz"},
    {32, BSM_DTYPE_UNDEFINED, "float8_e5m2fnuz"},
    {33, BSM_DTYPE_UNDEFINED, "float8_e8m0fnu"},
    {34, BSM_DTYPE_UNDEFINED, "uint32"},
    {35, BSM_DTYPE_UNDEFINED, "uint64"},
};

bsm_status bsm_xr_dtype(const bsm_place *at, bsm_dtype *out,
                        const char **name) {
  int64_t number = 0;
  *out = BSM_DTYPE_UNDEFINED;
  *name = "unknown";
  BSM_TRY(bsm_place_int(at, &number));
  for (size_t i = 0; i < sizeof(dtypes) / sizeof(*dtypes); i++) {
    if (dtypes[i].number != number) continue;
    *out = dtypes[i].dtype;
    *name = dtypes[i].name;
    return BSM_OK;
  }
  if (number == 0) return BSM_OK;
  return bsm_place_fail(at, BSM_CORRUPT, "%lld is no dtype of schema 8.20",
                        (long long)number);
}

bsm_status bsm_xr_layout(const bsm_place *at, bsm_exported_layout *out) {
  static const bsm_exported_layout layouts[] = {
      BSM_EXPORTED_LAYOUT_UNKNOWN, BSM_EXPORTED_SPARSE_COO,
      BSM_EXPORTED_SPARSE_CSR,     BSM_EXPORTED_SPARSE_CSC,
      BSM_EXPORTED_SPARSE_BSR,     BSM_EXPORTED_SPARSE_BSC,
      BSM_EXPORTED_MKLDNN,         BSM_EXPORTED_STRIDED};
  int64_t number = 0;
  *out = BSM_EXPORTED_LAYOUT_UNKNOWN;
  BSM_TRY(bsm_place_int(at, &number));
  if (number < 0 || number > 7) {
    return bsm_place_fail(at, BSM_CORRUPT, "%lld is no layout of schema 8.20",
                          (long long)number);
  }
  *out = layouts[number];
  return BSM_OK;
}

bsm_status bsm_xr_memory_format(const bsm_place *at, int64_t *out) {
  static const int64_t formats[] = {-1, 0, 2, 3, 1};
  int64_t number = 0;
  *out = 0;
  BSM_TRY(bsm_place_int(at, &number));
  if (number < 1 || number > 4) {
    return bsm_place_fail(at, BSM_CORRUPT,
                          "%lld is no memory format of schema 8.20",
                          (long long)number);
  }
  *out = formats[number];
  return BSM_OK;
}

bsm_status bsm_xr_device(const bsm_place *at, bsm_torch_device *out) {
  bsm_place type, index;
  const char *name = "";
  int64_t number = -1;
  *out = (bsm_torch_device){0, -1};
  BSM_TRY(bsm_place_field(at, "type", &type));
  BSM_TRY(bsm_place_string(&type, &name));
  BSM_TRY(bsm_place_optional(at, "index", &index));
  if (index.json) BSM_TRY(bsm_place_int(&index, &number));
  if (number < -1 || number > INT8_MAX) {
    return bsm_place_fail(&index, BSM_CORRUPT, "%lld is no device",
                          (long long)number);
  }
  const bsm_status status = bsm_pickle_parse_device(bsm_str_of(name), out);
  if (status) return bsm_place_note(&type, status);
  if (out->index < 0) out->index = (int8_t)number;
  return BSM_OK;
}

/* ---- symbolic numbers ---- */

static bsm_status parse_expr(bsm_xr *r, const bsm_place *at,
                             const bsm_sym_expr **out) {
  const char *text = "";
  *out = NULL;
  BSM_TRY(bsm_place_string(at, &text));
  const bsm_str key = bsm_str_of(text);
  *out = bsm_strmap_get(&r->exprs, key);
  if (*out) return BSM_OK;
  const bsm_status status =
      bsm_sym_parse(r->arena, key, &r->cx->limits, &r->program->symbols, out);
  if (status) return bsm_place_note(at, status);
  return bsm_strmap_set(r->arena, &r->exprs, key, (void *)(uintptr_t)*out)
             ? BSM_OK
             : BSM_FAIL_OOM();
}

/* A number by its tag: as_int, as_float, as_bool. */
static bsm_status read_number(bsm_xr *r, const bsm_place *item,
                              bsm_sym_number *out) {
  bool value = false;
  if (strcmp(item->key, "as_int") == 0) {
    out->kind = BSM_SYM_KIND_INT;
    return bsm_place_int(item, &out->i);
  }
  if (strcmp(item->key, "as_float") == 0) {
    out->kind = BSM_SYM_KIND_FLOAT;
    return bsm_place_double(item, &out->d);
  }
  if (strcmp(item->key, "as_bool") != 0) return bsm_xr_unknown_tag(r, item);
  out->kind = BSM_SYM_KIND_BOOL;
  BSM_TRY(bsm_place_bool(item, &value));
  out->i = value;
  return BSM_OK;
}

static bsm_status read_hint(bsm_xr *r, const bsm_place *at,
                            bsm_exported_sym *out) {
  bsm_place hint, item;
  BSM_TRY(bsm_place_optional(at, "hint", &hint));
  if (!hint.json) return BSM_OK;
  BSM_TRY(bsm_xr_union(&hint, &item));
  if (bsm_place_is_null(&item)) return BSM_OK;
  out->has_hint = true;
  return read_number(r, &item, &out->number);
}

bsm_status bsm_xr_sym(bsm_xr *r, const bsm_place *at, bsm_sym_kind kind,
                      bsm_exported_sym *out) {
  bsm_place item, text;
  *out = (bsm_exported_sym){.number.kind = kind};
  BSM_TRY(bsm_xr_union(at, &item));
  if (strcmp(item.key, "as_expr") == 0) {
    BSM_TRY(bsm_place_field(&item, "expr_str", &text));
    BSM_TRY(parse_expr(r, &text, &out->expr));
    return read_hint(r, &item, out);
  }
  BSM_TRY(read_number(r, &item, &out->number));
  if (out->number.kind == kind) return BSM_OK;
  return bsm_place_fail(&item, BSM_CORRUPT, "is a number of the wrong kind");
}

/* ---- tensors ---- */

static bsm_status read_extents(bsm_xr *r, const bsm_place *at, const char *key,
                               bsm_exported_sym *out, size_t *rank) {
  bsm_place array;
  BSM_TRY(bsm_place_field(at, key, &array));
  BSM_TRY(bsm_place_array(&array, rank));
  if (*rank > BSM_MAX_RANK) {
    return bsm_place_fail(&array, BSM_LIMIT,
                          "a tensor of rank %zu; at most %d are supported",
                          *rank, BSM_MAX_RANK);
  }
  for (size_t i = 0; i < *rank; i++) {
    const bsm_place item = bsm_place_item(&array, i);
    BSM_TRY(bsm_xr_sym(r, &item, BSM_SYM_KIND_INT, &out[i]));
    if (!out[i].expr && out[i].number.i < 0) {
      return bsm_place_fail(&item, BSM_CORRUPT, "is negative");
    }
  }
  return BSM_OK;
}

bsm_status bsm_xr_meta(bsm_xr *r, const bsm_place *at, bsm_exported_meta *out) {
  bsm_place field;
  size_t strides = 0;
  *out = (bsm_exported_meta){0};
  BSM_TRY(bsm_place_field(at, "dtype", &field));
  BSM_TRY(bsm_xr_dtype(&field, &out->dtype, &out->dtype_name));
  BSM_TRY(read_extents(r, at, "sizes", out->sizes, &out->rank));
  BSM_TRY(read_extents(r, at, "strides", out->strides, &strides));
  BSM_TRY(bsm_place_field(at, "storage_offset", &field));
  BSM_TRY(bsm_xr_sym(r, &field, BSM_SYM_KIND_INT, &out->storage_offset));
  BSM_TRY(bsm_place_field(at, "device", &field));
  BSM_TRY(bsm_xr_device(&field, &out->device));
  BSM_TRY(bsm_place_field(at, "layout", &field));
  BSM_TRY(bsm_xr_layout(&field, &out->layout));
  BSM_TRY(bsm_place_field(at, "requires_grad", &field));
  BSM_TRY(bsm_place_bool(&field, &out->requires_grad));
  if (strides != out->rank && out->layout == BSM_EXPORTED_STRIDED) {
    return bsm_place_fail(at, BSM_CORRUPT, "has %zu sizes and %zu strides",
                          out->rank, strides);
  }
  if (!out->storage_offset.expr && out->storage_offset.number.i < 0) {
    return bsm_place_fail(at, BSM_CORRUPT, "has a negative storage offset");
  }
  return BSM_OK;
}
