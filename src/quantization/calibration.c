/* SPDX-License-Identifier: Apache-2.0 */
/* Calibrations as objects: making, looking up, describing, files. */
#include "quantization/calibration.h"

#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/options.h"

#define MAX_FILE_BYTES (UINT64_C(1) << 30)

const char *bsm_calibration_method_name(bsm_calibration_method method) {
  switch (method) {
    case BSM_CALIBRATION_ENTROPY:
      return "entropy";
    case BSM_CALIBRATION_MIN_MAX:
      return "min-max";
    case BSM_CALIBRATION_PERCENTILE:
      return "percentile";
    case BSM_CALIBRATION_MSE:
      return "mse";
  }
  return NULL;
}

bsm_status bsm_calibration_create(bsm_calibration **out) {
  BSM_NEED(out);
  *out = calloc(1, sizeof(**out));
  BSM_TRY_ALLOC(*out);
  bsm_arena_init(&(*out)->arena, NULL);
  (*out)->loss = (double)NAN;
  return BSM_OK;
}

void bsm_calibration_destroy(bsm_calibration *calibration) {
  if (!calibration) return;
  bsm_arena_destroy(&calibration->arena);
  free(calibration);
}

void bsm_calibration_untie(bsm_calibration *calibration) {
  if (calibration) calibration->model = 0;
}

/* ---- tensors and layers ---- */

bsm_calibrated_tensor *bsm_calibration_tensor(const bsm_calibration *c,
                                              const char *name) {
  return bsm_strmap_get(&c->tensor_names, bsm_str_of(name));
}

bsm_calibrated_layer *bsm_calibration_layer_of(const bsm_calibration *c,
                                               const char *name) {
  return bsm_strmap_get(&c->layer_names, bsm_str_of(name));
}

bsm_status bsm_calibration_add_tensor(bsm_calibration *c, bsm_str name,
                                      bsm_calibrated_tensor **out) {
  bsm_calibrated_tensor *t = BSM_NEW(&c->arena, bsm_calibrated_tensor);
  BSM_TRY_ALLOC(t);
  t->name = bsm_arena_strndup(&c->arena, name.data, name.len);
  BSM_TRY_ALLOC(t->name);
  if (bsm_calibration_tensor(c, t->name)) {
    return BSM_FAIL(BSM_CORRUPT, "tensor \"%s\" comes twice", t->name);
  }
  BSM_TRY_ALLOC(bsm_strmap_set(&c->arena, &c->tensor_names, name, t));
  BSM_TRY_ALLOC(bsm_vec_push(&c->arena, &c->tensors, t));
  *out = t;
  return BSM_OK;
}

bsm_status bsm_calibration_add_layer(bsm_calibration *c, bsm_str name,
                                     bsm_calibrated_layer **out) {
  bsm_calibrated_layer *l = BSM_NEW(&c->arena, bsm_calibrated_layer);
  BSM_TRY_ALLOC(l);
  l->name = bsm_arena_strndup(&c->arena, name.data, name.len);
  BSM_TRY_ALLOC(l->name);
  if (bsm_calibration_layer_of(c, l->name)) {
    return BSM_FAIL(BSM_CORRUPT, "layer \"%s\" comes twice", l->name);
  }
  l->kind = l->module = l->input = "";
  l->precision = BSM_PRECISION_INT8;
  l->sqnr = l->loss = (double)NAN;
  BSM_TRY_ALLOC(bsm_strmap_set(&c->arena, &c->layer_names, name, l));
  BSM_TRY_ALLOC(bsm_vec_push(&c->arena, &c->layers, l));
  *out = l;
  return BSM_OK;
}

bool bsm_is_range(double low, double high) {
  /* Scales are of float32, and so are their reciprocals. */
  const double least = 0x1p-100, most = 0x1p100;
  return isfinite(low) && isfinite(high) && low <= 0 && high >= 0 &&
         high - low >= least && high - low <= most;
}

bsm_status bsm_calibration_set_range(bsm_calibration *calibration,
                                     const char *tensor, double low,
                                     double high) {
  BSM_NEED(calibration);
  BSM_NEED(tensor);
  if (!bsm_is_range(low, high)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "tensor \"%s\": %g to %g is no range: it needs two "
                    "different numbers with zero between, or one of them zero",
                    tensor, low, high);
  }
  bsm_calibrated_tensor *t = bsm_calibration_tensor(calibration, tensor);
  if (!t) {
    BSM_TRY(bsm_calibration_add_tensor(calibration, bsm_str_of(tensor), &t));
    t->least = low;
    t->greatest = high;
  }
  t->low = low;
  t->high = high;
  return BSM_OK;
}

bsm_status bsm_calibration_set_precision(bsm_calibration *calibration,
                                         const char *layer,
                                         bsm_precision precision) {
  BSM_NEED(calibration);
  BSM_NEED(layer);
  bsm_calibrated_layer *l = bsm_calibration_layer_of(calibration, layer);
  if (precision != BSM_PRECISION_INT8 && precision != BSM_PRECISION_FP32) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "precision %d of layer \"%s\": it has to be int8 or fp32",
                    (int)precision, layer);
  }
  if (!l) {
    return BSM_FAIL(BSM_NOT_FOUND, "the calibration has no layer \"%s\"",
                    layer);
  }
  l->precision = precision;
  return BSM_OK;
}

/* ---- descriptions ---- */

size_t bsm_calibration_range_count(const bsm_calibration *calibration) {
  return calibration ? calibration->tensors.len : 0;
}

size_t bsm_calibration_layer_count(const bsm_calibration *calibration) {
  return calibration ? calibration->layers.len : 0;
}

static bsm_status check_index(size_t index, size_t count, const char *what) {
  if (index < count) return BSM_OK;
  return BSM_FAIL(BSM_OUT_OF_RANGE, "%s %zu of %zu", what, index, count);
}

bsm_status bsm_calibration_get_range(const bsm_calibration *calibration,
                                     size_t index, bsm_calibration_range *out) {
  BSM_NEED(calibration);
  BSM_NEED(out);
  BSM_TRY(check_index(index, calibration->tensors.len, "range"));
  const bsm_calibrated_tensor *t = calibration->tensors.items[index];
  const bsm_calibration_range made = {.tensor = t->name,
                                      .low = t->low,
                                      .high = t->high,
                                      .least = t->least,
                                      .greatest = t->greatest};
  return BSM_OUT(bsm_calibration_range, out, made);
}

bsm_status bsm_calibration_get_layer(const bsm_calibration *calibration,
                                     size_t index, bsm_calibration_layer *out) {
  BSM_NEED(calibration);
  BSM_NEED(out);
  BSM_TRY(check_index(index, calibration->layers.len, "layer"));
  const bsm_calibrated_layer *l = calibration->layers.items[index];
  const bsm_calibration_layer made = {.name = l->name,
                                      .kind = l->kind,
                                      .module = l->module,
                                      .input = l->input,
                                      .precision = l->precision,
                                      .dynamic = l->dynamic,
                                      .operations = l->operations,
                                      .sqnr = l->sqnr,
                                      .loss = l->loss};
  return BSM_OUT(bsm_calibration_layer, out, made);
}

bsm_status bsm_calibration_describe(const bsm_calibration *calibration,
                                    bsm_calibration_info *out) {
  BSM_NEED(calibration);
  BSM_NEED(out);
  const bsm_calibration_info made = {.method = calibration->method,
                                     .percentile = calibration->percentile,
                                     .model = calibration->model,
                                     .batches = calibration->batches,
                                     .equalized = calibration->equalized,
                                     .loss = calibration->loss};
  return BSM_OUT(bsm_calibration_info, out, made);
}

/* ---- files ---- */

bsm_status bsm_calibration_load_memory(const void *data, size_t size,
                                       const char *name,
                                       bsm_calibration **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED_ARRAY(data, size);
  const bsm_str text = {size ? data : "", size};
  bsm_calibration *c = NULL;
  BSM_TRY(bsm_calibration_create(&c));
  bsm_status status = bsm_is_tensorrt_cache(text)
                          ? bsm_calibration_parse_tensorrt(c, text)
                          : bsm_calibration_parse(c, text);
  if (status) {
    bsm_calibration_destroy(c);
    return bsm_status_note(status, "in the calibration %s",
                           name ? name : "in memory");
  }
  *out = c;
  return BSM_OK;
}

bsm_status bsm_calibration_load(const char *path, bsm_calibration **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(path);
  bsm_file_map map;
  const bsm_file_map_options options = {.max_bytes = MAX_FILE_BYTES,
                                        .copy = true};
  BSM_TRY(bsm_file_map_open(path, &options, &map));
  bsm_status status =
      bsm_calibration_load_memory(map.data, map.size, path, out);
  bsm_file_map_close(&map);
  return status;
}

static bsm_status write_text(const bsm_calibration *c, const char *path,
                             void (*print)(bsm_text *,
                                           const bsm_calibration *)) {
  bsm_arena arena;
  bsm_text text;
  bsm_arena_init(&arena, NULL);
  bsm_text_init(&text, &arena);
  print(&text, c);
  const bsm_file_piece piece = {text.data, text.len};
  bsm_status status =
      text.failed ? BSM_FAIL_OOM() : bsm_file_write(path, &piece, 1);
  bsm_arena_destroy(&arena);
  return status;
}

bsm_status bsm_calibration_save(const bsm_calibration *calibration,
                                const char *path) {
  BSM_NEED(calibration);
  BSM_NEED(path);
  return write_text(calibration, path, bsm_calibration_print);
}

bsm_status bsm_calibration_save_tensorrt(const bsm_calibration *calibration,
                                         const char *path) {
  BSM_NEED(calibration);
  BSM_NEED(path);
  return write_text(calibration, path, bsm_calibration_print_tensorrt);
}
