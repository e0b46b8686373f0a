/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of packed weights. A key is the hash of a description, which is a list
 * of 64-bit words. Counts come before what they count, so different
 * descriptions are different lists. */
#include "builder/packing.h"

#include <string.h>

#include "aten/tensor.h"
#include "base/hash.h"

/* To be raised when a `make` function changes what it makes: then keys in files
 * find nothing instead of weights of the old form. */
#define VERSION 4

#define SEED_0 UINT64_C(0x62736d2d77656967)
#define SEED_1 UINT64_C(0x68747320746f7265)

typedef struct description {
  uint64_t words[256];
  size_t count;
  bool placed; /* everything is identified by its place, nothing by its content
                */
} description;

/* At most 5 words for each of 16 raw weights, and fewer than 64 others. */
_Static_assert(BSM_PACKING_MAX_RAW * 5 + 64 <= 256, "the rows fit");

static void put(description *d, uint64_t word) {
  d->words[d->count++] = word;
}

static void put_content(description *d, const void *data, uint64_t size) {
  put(d, size ? bsm_hash64(data, (size_t)size, SEED_0) : 0);
  put(d, size ? bsm_hash64(data, (size_t)size, SEED_1) : 0);
}

/* Adds the parameters that the target's pack reads, and those that say what the
 * weights mean. */
static bsm_status put_params(description *d, const bsm_plan_step *step) {
  put(d, (uint64_t)step->kind);
  const bool bytes = step->kind == BSM_STEP_INT8_CONVOLUTION;
  if (bytes || step->kind == BSM_STEP_CONVOLUTION ||
      step->kind == BSM_STEP_DECONVOLUTION) {
    const bsm_step_convolution *p =
        bytes ? &step->params->int8_convolution.convolution
              : &step->params->convolution;
    put(d, (uint64_t)p->groups);
    put(d, (uint64_t)p->out_maps);
    put(d, (uint64_t)p->window.spatial);
    put(d, (uint64_t)p->form);
    for (int i = 0; i < 3; i++) {
      put(d, (uint64_t)p->window.kernel[i]);
      put(d, (uint64_t)p->window.stride[i]);
      put(d, (uint64_t)p->window.dilation[i]);
    }
    return BSM_OK;
  }
  if (step->kind == BSM_STEP_MATRIX_MULTIPLY) {
    const bsm_step_matrix_multiply *p = &step->params->matrix_multiply;
    put(d, (uint64_t)p->constant_b);
    put(d, (uint64_t)p->form);
    put(d, (uint64_t)p->k);
    put(d, (uint64_t)p->n);
    return BSM_OK;
  }
  if (step->kind == BSM_STEP_RECURRENT) {
    const bsm_step_recurrent *p = &step->params->recurrent;
    put(d, (uint64_t)p->operation);
    put(d, (uint64_t)p->directions);
    put(d, (uint64_t)p->input);
    put(d, (uint64_t)p->hidden);
    put(d, (uint64_t)p->projection);
    return BSM_OK;
  }
  return BSM_FAIL(BSM_INTERNAL, "%s steps have no packed weights",
                  bsm_step_kind_name(step->kind));
}

/* How raw weights are identified. */
typedef enum identity { BY_STORE, BY_ADDRESS } identity;

/* Adds the place of raw weights, or their content when the place is unknown. */
static void put_raw(description *d, identity by, bsm_weights_store *store,
                    const bsm_raw_weights *raw) {
  uint32_t id;
  uint64_t offset;
  put(d, (uint64_t)raw->dtype);
  put(d, raw->size);
  if (by == BY_ADDRESS) {
    put(d, (uint64_t)(uintptr_t)raw->values);
  } else if (store && raw->size &&
             bsm_weights_store_find_constant(store, raw->values, raw->size, &id,
                                             &offset)) {
    put(d, 1 + (uint64_t)id);
    put(d, offset);
    put(d, 0);
  } else {
    put(d, 0);
    put_content(d, raw->values, raw->size);
    if (raw->size) d->placed = false;
  }
}

static bsm_status make_key(identity by, bsm_weights_store *store,
                           bsm_packer packer, const bsm_plan_step *step,
                           const bsm_packing *packing, uint64_t size,
                           bsm_weights_key *out) {
  description d = {.placed = true};
  if (packing->raw_count > BSM_PACKING_MAX_RAW) {
    return BSM_FAIL(BSM_INTERNAL, "%zu pieces of weights", packing->raw_count);
  }
  put(&d, VERSION);
  put(&d, packer.version);
  put_content(&d, packer.name, strlen(packer.name));
  BSM_TRY(put_params(&d, step));
  put(&d, size);
  put(&d, (uint64_t)packing->in_maps);
  put(&d, (uint64_t)packing->dtype);
  put(&d, packing->transposed);
  put(&d, packing->make != NULL);
  for (int i = 0; i < BSM_PACKING_MAX_HOW; i++) {
    put(&d, (uint64_t)packing->how[i]);
  }
  put(&d, packing->factor ? 1 + packing->factor_count : 0);
  if (packing->factor) {
    put_content(&d, packing->factor, packing->factor_count * sizeof(double));
  }
  put(&d, packing->raw_count);
  for (size_t i = 0; i < packing->raw_count; i++) {
    put_raw(&d, by, store, &packing->raw[i]);
  }
  out->hash[0] = bsm_hash64(d.words, d.count * sizeof(*d.words), SEED_0);
  out->hash[1] = bsm_hash64(d.words, d.count * sizeof(*d.words), SEED_1);
  out->hash[0] = (out->hash[0] & ~UINT64_C(1)) | d.placed;
  return BSM_OK;
}

bsm_status bsm_packing_key(bsm_weights_store *store, bsm_packer packer,
                           const bsm_plan_step *step,
                           const bsm_packing *packing, uint64_t size,
                           bsm_weights_key *out) {
  return make_key(BY_STORE, store, packer, step, packing, size, out);
}

bsm_status bsm_packing_key_in_memory(bsm_packer packer,
                                     const bsm_plan_step *step,
                                     const bsm_packing *packing, uint64_t size,
                                     bsm_weights_key *out) {
  return make_key(BY_ADDRESS, NULL, packer, step, packing, size, out);
}

bsm_status bsm_packing_cast(bsm_arena *scratch, const bsm_packing *packing,
                            size_t index, const void **values) {
  const bsm_raw_weights *raw = &packing->raw[index];
  bsm_tensor *from, *to;
  *values = raw->values;
  if (raw->dtype == packing->dtype || raw->size == 0) return BSM_OK;
  const bsm_array array = {
      .data = (void *)(uintptr_t)raw->values,
      .dtype = raw->dtype,
      .dims = {1, {(int64_t)(raw->size / bsm_dtype_size(raw->dtype))}}};
  BSM_TRY(bsm_tensor_from_array(scratch, &array, true, &from));
  BSM_TRY(bsm_tensor_to_dtype(scratch, from, packing->dtype, &to));
  *values = bsm_tensor_data(to);
  return BSM_OK;
}
