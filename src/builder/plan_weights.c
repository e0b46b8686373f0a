/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of a plan. They are copied or packed into its arena, one copy for all
 * equal contents; with a store they are borrowed from where they are. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "builder/emitter.h"

/* The ids of weights under one key of a map. Added weights belong to the
 * current space. */
typedef struct known {
  struct known *next;
  uint32_t id;
} known;

static bsm_status append(bsm_emitter *e, bsm_strmap *map, bsm_str name,
                         bsm_plan_weights weights, uint32_t *out) {
  known *fresh = BSM_NEW(e->scratch, known);
  BSM_TRY_ALLOC(fresh);
  *out = (uint32_t)e->weights.len;
  fresh->next = bsm_strmap_get(map, name);
  fresh->id = *out;
  BSM_TRY_ALLOC(bsm_strmap_set(e->scratch, map, name, fresh));
  BSM_TRY_ALLOC(bsm_vec_push(e->scratch, &e->weights, weights));
  return BSM_OK;
}

/* Adds data that is in the plan's arena already, or finds equal data. */
static bsm_status add_weights(bsm_emitter *e, const void *data, uint64_t size,
                              bool *found, uint32_t *out) {
  const uint64_t key[2] = {bsm_hash64(data, (size_t)size, 0), size};
  const bsm_str name = {(const char *)key, sizeof(key)};
  for (const known *it = bsm_strmap_get(&e->by_content, name); it;
       it = it->next) {
    const bsm_plan_weights *w = &e->weights.items[it->id];
    if (w->size == size && w->space == e->space &&
        memcmp(w->data, data, (size_t)size) == 0) {
      *found = true;
      *out = it->id;
      return BSM_OK;
    }
  }
  *found = false;
  return append(e, &e->by_content, name,
                (bsm_plan_weights){data, size, e->space}, out);
}

/* Adds weights that are borrowed, identified by their address. */
static bsm_status borrow(bsm_emitter *e, const void *data, uint64_t size,
                         uint32_t *out) {
  const uint64_t key[3] = {(uint64_t)(uintptr_t)data, size, e->space};
  const bsm_str name = {(const char *)key, sizeof(key)};
  const known *it = bsm_strmap_get(&e->by_place, name);
  if (it) {
    *out = it->id;
    return BSM_OK;
  }
  return append(e, &e->by_place, name, (bsm_plan_weights){data, size, e->space},
                out);
}

bsm_status bsm_build_weights(bsm_emitter *e, const void *data, uint64_t size,
                             uint32_t *out) {
  bsm_weights_store *store = e->options->store;
  uint32_t id;
  uint64_t offset;
  if (store && size && (uintptr_t)data % BSM_ALIGNMENT == 0 &&
      bsm_weights_store_find_constant(store, data, size, &id, &offset)) {
    return borrow(e, data, size, out);
  }
  const bsm_arena_mark mark = bsm_arena_get_mark(e->arena);
  void *copy =
      bsm_arena_alloc(e->arena, size ? (size_t)size : 1, BSM_ALIGNMENT);
  BSM_TRY_ALLOC(copy);
  if (size) memcpy(copy, data, (size_t)size);
  bool found;
  BSM_TRY(add_weights(e, copy, size, &found, out));
  if (found) bsm_arena_rewind(e->arena, mark);
  return BSM_OK;
}

bsm_status bsm_packing_values(bsm_arena *scratch, const bsm_packing *packing,
                              const void **values) {
  *values = packing->raw[0].values;
  return packing->make ? packing->make(scratch, packing, values) : BSM_OK;
}

/* Measures what a matrix of few bits has lost, and tells of it. */
static bsm_status measure_few_bits(bsm_emitter *e, const bsm_plan_step *step,
                                   const bsm_packing *packing,
                                   const float *values, const void *packed,
                                   uint64_t size) {
  const bsm_step_matrix_multiply *p = &step->params->matrix_multiply;
  const size_t count = (size_t)(p->k * p->n);
  bsm_few_bits_record *all = &e->options->precision->few_bits_record;
  double signal = 0, noise = 0;
  float *rounded = BSM_NEW_ARRAY(e->scratch, float, count + 1);
  BSM_TRY_ALLOC(rounded);
  BSM_TRY(e->target->ops->unpack(e->target, step, packed, packing->transposed,
                                 rounded));
  for (size_t i = 0; i < count; i++) {
    const double error = (double)values[i] - (double)rounded[i];
    signal += (double)values[i] * (double)values[i];
    noise += error * error;
  }
  const double sqnr = noise > 0 ? 10 * log10(signal / noise) : INFINITY;
  bsm_log(e->options->logger, BSM_LOG_LEVEL_INFO,
          "weights of %s: %d bits, SQNR %.1f dB, %" PRIu64 " of %zu bytes",
          step->name, (int)e->options->precision->few_bits.bits, sqnr, size,
          count * sizeof(float));
  all->least = all->products && all->least < sqnr ? all->least : sqnr;
  all->products++;
  all->bytes += size;
  all->bytes_before += count * sizeof(float);
  return BSM_OK;
}

/* Packs into `packed`, which has the required size. */
static bsm_status pack(bsm_emitter *e, const bsm_plan_step *step,
                       const bsm_packing *packing, void *packed) {
  const bsm_arena_mark mark = bsm_arena_get_mark(e->scratch);
  const void *values;
  uint64_t size;
  BSM_TRY(bsm_packing_values(e->scratch, packing, &values));
  BSM_TRY_NOTE(e->target->ops->pack(e->target, step, packing->in_maps, values,
                                    bsm_dtype_size(packing->dtype),
                                    packing->transposed, packed, &size),
               "in the weights of %s", step->name);
  if (step->kind == BSM_STEP_MATRIX_MULTIPLY &&
      step->params->matrix_multiply.form > 0 && e->target->ops->unpack) {
    BSM_TRY(measure_few_bits(e, step, packing, values, packed, size));
  }
  bsm_arena_rewind(e->scratch, mark);
  return BSM_OK;
}

/* Packs into the plan's own memory. */
static bsm_status pack_anew(bsm_emitter *e, const bsm_plan_step *step,
                            const bsm_packing *packing, uint64_t size,
                            uint32_t *out) {
  bool found;
  const bsm_arena_mark mark = bsm_arena_get_mark(e->arena);
  void *packed =
      bsm_arena_alloc(e->arena, size ? (size_t)size : 1, BSM_ALIGNMENT);
  BSM_TRY_ALLOC(packed);
  BSM_TRY(pack(e, step, packing, packed));
  BSM_TRY(add_weights(e, packed, size, &found, out));
  if (found) bsm_arena_rewind(e->arena, mark);
  return BSM_OK;
}

/* The same, once for all steps that have the same raw weights in the same form,
 * as those of an unrolled loop: packing, hashing and comparing take long. */
static bsm_status pack_into_plan(bsm_emitter *e, const bsm_plan_step *step,
                                 const bsm_packing *packing, uint64_t size,
                                 uint32_t *out) {
  bsm_weights_key key;
  const bsm_packer packer = bsm_target_packer(e->target);
  if (step->kind == BSM_STEP_MATRIX_MULTIPLY &&
      step->params->matrix_multiply.form > 0) {
    return pack_anew(e, step, packing, size, out); /* it is measured */
  }
  BSM_TRY(bsm_packing_key_in_memory(packer, step, packing, size, &key));
  const bsm_str name = {(const char *)&key, sizeof(key)};
  const known *it = bsm_strmap_get(&e->by_raw, name);
  if (it && e->weights.items[it->id].space == e->space) {
    *out = it->id;
    return BSM_OK;
  }
  BSM_TRY(pack_anew(e, step, packing, size, out));
  known *fresh = BSM_NEW(e->scratch, known);
  BSM_TRY_ALLOC(fresh);
  fresh->id = *out;
  BSM_TRY_ALLOC(bsm_strmap_set(e->scratch, &e->by_raw, name, fresh));
  return BSM_OK;
}

/* Finds packed weights in the store; *out is NULL when it has none. Weights
 * that are in a constant now may have been elsewhere when they were packed (a
 * constant that was a view of another is stored by itself). So they are also
 * looked for by content, and then entered under their place as well. */
static bsm_status find_packed(bsm_weights_store *store, bsm_packer packer,
                              const bsm_plan_step *step,
                              const bsm_packing *packing, uint64_t size,
                              bsm_weights_key *key,
                              const bsm_weights_entry **out) {
  bsm_weights_key content;
  BSM_TRY(bsm_packing_key(store, packer, step, packing, size, key));
  *out = bsm_weights_store_find(store, *key, size);
  if (*out || !(key->hash[0] & 1) || !store->without_place) return BSM_OK;
  BSM_TRY(bsm_packing_key(NULL, packer, step, packing, size, &content));
  *out = bsm_weights_store_find(store, content, size);
  return *out ? bsm_weights_store_put(store, *key, (*out)->data, size) : BSM_OK;
}

bsm_status bsm_build_pack(bsm_emitter *e, bsm_plan_step *step,
                          const bsm_packing *packing) {
  bsm_raw_weights *raw =
      BSM_NEW_ARRAY(e->scratch, bsm_raw_weights, packing->raw_count + 1);
  BSM_TRY_ALLOC(raw);
  for (size_t i = 0; i < packing->raw_count; i++) raw[i] = packing->raw[i];
  bsm_pending_pack pending = {(uint32_t)(step - e->steps.items),
                              (bsm_step_params *)(uintptr_t)step->params,
                              *packing};
  pending.packing.raw = raw;
  BSM_TRY_ALLOC(bsm_vec_push(e->scratch, &e->pending, pending));
  return BSM_OK;
}

bsm_status bsm_build_pending(bsm_emitter *e, const bsm_pending_pack *pending,
                             bsm_plan_step *step) {
  const bsm_packing *packing = &pending->packing;
  bsm_weights_store *store = e->options->store;
  uint32_t *out = &step->weights[0];
  bsm_weights_key key;
  uint64_t size;
  BSM_TRY(e->target->ops->pack(e->target, step, packing->in_maps, NULL,
                               bsm_dtype_size(packing->dtype),
                               packing->transposed, NULL, &size));
  if (!store) return pack_into_plan(e, step, packing, size, out);
  const bsm_weights_entry *entry;
  const bsm_packer packer = bsm_target_packer(e->target);
  BSM_TRY(find_packed(store, packer, step, packing, size, &key, &entry));
  if (entry) {
    store->hits++;
    return borrow(e, entry->data, size, out);
  }
  store->misses++;
  const bool keep = store->room == UINT64_MAX || key.hash[0] & 1;
  void *packed = NULL;
  if (keep) BSM_TRY(bsm_weights_store_new(store, size, &packed));
  if (!packed) return pack_into_plan(e, step, packing, size, out);
  const void *kept;
  BSM_TRY(pack(e, step, packing, packed));
  BSM_TRY(bsm_weights_store_keep(store, key, packed, size, &kept));
  return borrow(e, kept, size, out);
}
