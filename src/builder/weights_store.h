/* SPDX-License-Identifier: Apache-2.0 */
/* What makes building a plan again, for another shape, cheap: the weights that
 * are already there.
 *
 *   constants  memory known under an id that is the same whenever the model is
 *              built, in this process or in another one. Weights that lie in a
 *              constant are borrowed by plans, not copied, and are told apart
 *              by where they lie, not by what they hold.
 *   derived    key -> data: weights in the form that the backend packs. The
 *              key names what was packed and everything packing depends on, so
 *              data found under it is what packing would make.
 *
 * A compiler adds its constants, builds, and stores the derived weights (in
 * the order of bsm_weights_store_at) with their keys. Whoever builds later adds
 * the constants where they now lie and puts the derived weights back; builds
 * then compute no weights.
 *
 * Not thread safe: one thread uses a store at a time. The store outlives all
 * plans built with it, and the memory given to it outlives the store. */
#ifndef BSM_BUILDER_WEIGHTS_STORE_H_
#define BSM_BUILDER_WEIGHTS_STORE_H_

#include "base/arena.h"
#include "base/strings.h"

/* Two hashes of the same description with different seeds: the same on every
 * machine, stored in files. The lowest bit of the first is 1 when all that was
 * packed is told by its place in constants, 0 when some by what it holds. */
typedef struct bsm_weights_key {
  uint64_t hash[2];
} bsm_weights_key;

/* Memory of a constant. */
typedef struct bsm_weights_constant {
  uint32_t id;
  const uint8_t *data;
  uint64_t size;
  uint64_t reach; /* the furthest end of this one and those before it */
} bsm_weights_constant;

/* One row of the table of derived weights. */
typedef struct bsm_weights_entry {
  bsm_weights_key key;
  const void *data; /* aligned to BSM_ALIGNMENT */
  uint64_t size;
} bsm_weights_entry;

typedef struct bsm_weights_store {
  bsm_arena tables, made; /* made: derived weights that builds left here */
  BSM_VEC(bsm_weights_constant) constants; /* by address when `sorted` */
  BSM_VEC(bsm_weights_entry *) entries;    /* in the order they were put */
  bsm_strmap by_id, by_key, by_content;
  uint64_t without_place; /* entries whose key tells what was packed holds */
  bool sorted;
  bool pending; /* what was made last is not kept yet; it is behind `mark` */
  bsm_arena_mark mark;
  /* Bytes of derived weights that builds may still leave in the store's own
   * memory. What does not fit belongs to the plan that needed it, and the next
   * build makes it again. UINT64_MAX after init; a process that builds plans
   * without end sets a bound, or 0. With one, only what was packed from
   * constants is left: other weights may be new for each shape. */
  uint64_t room;
  /* Told, never read: derived weights that builds found, and had to make. */
  uint64_t hits, misses;
} bsm_weights_store;

/* `allocator` NULL: malloc. Whoever needs the derived weights for longer may
 * bsm_arena_take `made` when no more is built. */
void bsm_weights_store_init(bsm_weights_store *store,
                            const bsm_allocator *allocator);
/* Releases tables and the weights made by builds: plans that borrow them must
 * be gone. */
void bsm_weights_store_destroy(bsm_weights_store *store);

/* Makes `size` bytes at `data` known as constant `id`. Ranges may overlap or be
 * equal (views of one storage): what lies in several belongs to the one with
 * the lowest id. Empty ones are ignored.
 * BSM_INVALID_ARGUMENT: the id is known with other memory. */
BSM_NODISCARD bsm_status bsm_weights_store_add_constant(
    bsm_weights_store *store, uint32_t id, const void *data, uint64_t size);

/* The constant that all of [data, data + size) lies in, and where in it. */
bool bsm_weights_store_find_constant(bsm_weights_store *store, const void *data,
                                     uint64_t size, uint32_t *id,
                                     uint64_t *offset);

/* Derived weights of this key and size; NULL when there are none: then also
 * when the size differs, which tells of a damaged table. */
const bsm_weights_entry *bsm_weights_store_find(const bsm_weights_store *store,
                                                bsm_weights_key key,
                                                uint64_t size);

/* Adds derived weights; the data is borrowed.
 * BSM_INVALID_ARGUMENT: the key is known, or the data is not aligned to
 * BSM_ALIGNMENT. */
BSM_NODISCARD bsm_status bsm_weights_store_put(bsm_weights_store *store,
                                               bsm_weights_key key,
                                               const void *data, uint64_t size);

/* All puts, in their order. Several entries may have the same data. */
size_t bsm_weights_store_count(const bsm_weights_store *store);
const bsm_weights_entry *bsm_weights_store_at(const bsm_weights_store *store,
                                              size_t index);

/* ---- for the emitter ---- */

/* New memory of the store for derived weights, aligned to BSM_ALIGNMENT: to be
 * kept before the next is asked for, which releases it otherwise. NULL when
 * `room` does not allow it or the machine has no more. */
void *bsm_weights_store_new(bsm_weights_store *store, uint64_t size);
/* Puts the new memory under a key. If equal data is there already, that is put
 * instead and the new memory released. *kept: the one that was put. */
BSM_NODISCARD bsm_status bsm_weights_store_keep(bsm_weights_store *store,
                                                bsm_weights_key key,
                                                const void *data, uint64_t size,
                                                const void **kept);

#endif /* BSM_BUILDER_WEIGHTS_STORE_H_ */
