/* SPDX-License-Identifier: Apache-2.0 */
/* The store of weights. With it a plan can be built for another shape without
 * making weights again.
 *
 *   constants  memory known under an id that is the same whenever the model is
 *              built, in this process or another. Plans borrow weights that
 *              are in a constant instead of copying them; such weights are
 *              identified by their place, not by their content.
 *   derived    key -> data: weights as the target has packed them. The key
 *              covers what was packed and everything that packing depends on,
 *              so the data under it is what packing would make.
 *
 * A compiler adds its constants, builds, and stores the derived weights (in the
 * order of bsm_weights_store_at) with their keys. A later process adds the
 * constants with their new addresses and puts the derived weights back; its
 * builds then compute no weights.
 *
 * Not thread safe: one thread uses a store at a time. The store outlives all
 * plans built with it, and the memory given to it outlives the store. */
#ifndef BSM_BUILDER_WEIGHTS_STORE_H_
#define BSM_BUILDER_WEIGHTS_STORE_H_

#include "base/arena.h"
#include "base/strings.h"

/* Two hashes of the same description with different seeds. They are the same on
 * every machine and are stored in files. The lowest bit of the first is 1 when
 * all that was packed is identified by its place in constants, and 0 when some
 * is identified by content. */
typedef struct bsm_weights_key {
  uint64_t hash[2];
} bsm_weights_key;

/* The memory of a constant. */
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
  bsm_arena tables, made; /* `made` has derived weights that builds left here */
  BSM_VEC(bsm_weights_constant) constants; /* by address when `sorted` */
  BSM_VEC(bsm_weights_entry *)
  entries; /* in the order in which they were put */
  bsm_strmap by_id, by_key, by_content;
  uint64_t
      without_place; /* entries whose key has the content of what was packed */
  bool sorted;
  bool pending; /* the last made data is not kept yet; it is after `mark` */
  bsm_arena_mark mark;
  /* Bytes of derived weights that builds may still leave in the store's own
   * memory. Weights that do not fit belong to the plan that needs them, and the
   * next build makes them again. UINT64_MAX after init. A process that builds
   * plans without end sets a limit, or 0. With a limit, only weights packed
   * from constants are left here, because others may be new for each shape. */
  uint64_t room;
  /* Statistics: derived weights that builds found, and that they had to make.
   */
  uint64_t hits, misses;
} bsm_weights_store;

/* `allocator` NULL: malloc. To keep the derived weights for longer, `made` can
 * be taken with bsm_arena_take when nothing more is built. */
void bsm_weights_store_init(bsm_weights_store *store,
                            const bsm_allocator *allocator);
/* Releases the tables and the weights made by builds. There may be no plans
 * left that borrow them. */
void bsm_weights_store_destroy(bsm_weights_store *store);

/* Makes `size` bytes at `data` known as constant `id`. Ranges may overlap or be
 * equal (views of one storage); data in several constants belongs to the one
 * with the lowest id. Empty ranges are ignored.
 * BSM_INVALID_ARGUMENT: the id is known with other memory. */
BSM_NODISCARD bsm_status bsm_weights_store_add_constant(
    bsm_weights_store *store, uint32_t id, const void *data, uint64_t size);

/* Finds the constant that has all of [data, data + size), and the offset in it.
 */
bool bsm_weights_store_find_constant(bsm_weights_store *store, const void *data,
                                     uint64_t size, uint32_t *id,
                                     uint64_t *offset);

/* Finds derived weights of this key and size. NULL when there are none, and
 * also when the size differs, which means that the table is damaged. */
const bsm_weights_entry *bsm_weights_store_find(const bsm_weights_store *store,
                                                bsm_weights_key key,
                                                uint64_t size);

/* Adds derived weights; the data is borrowed.
 * BSM_INVALID_ARGUMENT: the key is known, or the data is not aligned to
 * BSM_ALIGNMENT. */
BSM_NODISCARD bsm_status bsm_weights_store_put(bsm_weights_store *store,
                                               bsm_weights_key key,
                                               const void *data, uint64_t size);

/* The entries in the order in which they were put. Several may have the same
 * data. */
size_t bsm_weights_store_count(const bsm_weights_store *store);
const bsm_weights_entry *bsm_weights_store_at(const bsm_weights_store *store,
                                              size_t index);

/* ---- for the emitter ---- */

/* New memory of the store for derived weights, aligned to BSM_ALIGNMENT. The
 * next call releases it unless it was kept before. *out is NULL when `room`
 * does not allow it. */
BSM_NODISCARD bsm_status bsm_weights_store_new(bsm_weights_store *store,
                                               uint64_t size, void **out);
/* Keeps the new memory and puts it under a key. If the store has equal data
 * already, that is put instead, and the new memory is released. *kept: the data
 * that was put. */
BSM_NODISCARD bsm_status bsm_weights_store_keep(bsm_weights_store *store,
                                                bsm_weights_key key,
                                                const void *data, uint64_t size,
                                                const void **kept);

#endif /* BSM_BUILDER_WEIGHTS_STORE_H_ */
