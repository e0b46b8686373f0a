/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of kernels/ptx_hopper.cuh for the host. What is asynchronous is
 * done as late as it may be: copies of tiles when somebody waits for their
 * barrier, products of warpgroups when their warp waits for them. */
#ifndef TESTS_CUDA_EMULATION_HOPPER_ON_HOST_H_
#define TESTS_CUDA_EMULATION_HOPPER_ON_HOST_H_

#include <stdint.h>

/* ---- barriers in shared memory ---- */

struct emulated_mbarrier {
  unsigned short count, pending;
  unsigned bytes : 31, phase : 1; /* bytes: announced, and not yet come */
};
static_assert(sizeof(emulated_mbarrier) == 8, "as on the device");

inline emulated_mbarrier *emulated_mbarrier_at(unsigned address) {
  return reinterpret_cast<emulated_mbarrier *>(emulated_at_shared(address, 8));
}
inline void emulated_mbarrier_check(emulated_mbarrier *b) {
  if (b->pending || b->bytes) return;
  b->pending = b->count;
  b->phase ^= 1;
}
inline void ptx_mbarrier_init(unsigned barrier, unsigned count) {
  emulated_mbarrier *b = emulated_mbarrier_at(barrier);
  *b = {};
  b->count = b->pending = (unsigned short)count;
}
inline void ptx_mbarrier_init_done() {}
inline void ptx_mbarrier_expect(unsigned barrier, unsigned bytes) {
  emulated_mbarrier *b = emulated_mbarrier_at(barrier);
  if (!b->pending) emulated_fail(719, "more come to a barrier than it counts");
  b->bytes += bytes;
  b->pending--;
  emulated_mbarrier_check(b);
}
inline void ptx_mbarrier_arrive(unsigned barrier) {
  ptx_mbarrier_expect(barrier, 0);
}

inline void ptx_barrier(int id, int threads) {
  emulated.calls->barrier(id, threads, 0, 1);
}

/* ---- tiles of tensors ---- */

#define EMULATED_TILES 64

/* A copy that has been asked for. */
struct emulated_tile_copy {
  unsigned to, barrier;
  const emulated_map *map;
  int at[5];   /* innermost first */
  int away[3]; /* of pixels */
};

/* Of the block whose serial number it has. */
struct emulated_tile_copies {
  uint64_t serial;
  unsigned count;
  emulated_tile_copy items[EMULATED_TILES];
};
static emulated_tile_copies emulated_tiles;

inline unsigned emulated_swizzled(unsigned address, unsigned row_bytes) {
  return address ^ (address >> 7 & (row_bytes / 16 - 1)) << 4;
}

/* A row of a tile, or garbage where `from` is NULL and `valid` is not 0. */
inline void emulated_put_row(unsigned to, unsigned row_bytes, const void *from,
                             unsigned valid) {
  for (unsigned i = 0; i < row_bytes; i += 16) {
    char *at = emulated_at_shared(emulated_swizzled(to + i, row_bytes), 16);
    const unsigned left = valid > i ? valid - i : 0, n = left < 16 ? left : 16;
    memset(at, 0, 16);
    if (from) {
      memcpy(at, static_cast<const char *>(from) + i, n);
    } else {
      memset(at, 0xff, n);
    }
  }
}

inline unsigned emulated_tile_rows(const emulated_map *m) {
  unsigned rows = 1;
  for (int i = 1; i < (m->is_image ? 2 : m->rank); i++) rows *= m->box[i];
  return rows;
}

/* The elements from `at` on that a row of a tile has: how many of its bytes are
 * in the tensor, and where they are. */
inline const void *emulated_find_row(const emulated_map *m, const int *at,
                                     unsigned *valid) {
  const int left = (int)m->dims[0] - at[0];
  bool inside = at[0] >= 0 && left > 0;
  uint64_t address = m->address + (uint64_t)((int64_t)at[0] * 2);
  for (int i = 1; i < m->rank; i++) {
    inside = inside && at[i] >= 0 && (unsigned)at[i] < m->dims[i];
    address += (uint64_t)((int64_t)at[i] * (int64_t)m->strides[i - 1] * 16);
  }
  *valid = !inside ? 0 : (left < m->box[0] ? (unsigned)left : m->box[0]) * 2u;
  return reinterpret_cast<const void *>(address);
}

inline void emulated_copy_boxes(const emulated_tile_copy *c) {
  const emulated_map *m = c->map;
  const unsigned rows = emulated_tile_rows(m);
  for (unsigned r = 0; r < rows; r++) {
    int at[5] = {c->at[0], 0, 0, 0, 0};
    unsigned rest = r, valid;
    for (int i = 1; i < m->rank; i++) {
      at[i] = c->at[i] + (int)(rest % m->box[i]);
      rest /= m->box[i];
    }
    const void *from = emulated_find_row(m, at, &valid);
    emulated_put_row(c->to + r * m->row_bytes, m->row_bytes, from, valid);
  }
}

inline void emulated_copy_pixels(const emulated_tile_copy *c) {
  const emulated_map *m = c->map;
  const int spatial = m->rank - 2;
  int pixel[5];
  memcpy(pixel, c->at, sizeof(pixel));
  for (unsigned r = 0; r < m->box[1]; r++) {
    int at[5];
    unsigned valid;
    memcpy(at, pixel, sizeof(at));
    for (int d = 0; d < spatial; d++) at[1 + d] += c->away[d];
    const void *from = emulated_find_row(m, at, &valid);
    emulated_put_row(c->to + r * m->row_bytes, m->row_bytes, from, valid);
    int d = 0;
    for (; d < spatial; d++) {
      pixel[1 + d] += m->step[1 + d];
      if (pixel[1 + d] < (int)m->dims[1 + d] + m->upper[d]) break;
      pixel[1 + d] = m->lower[d];
    }
    if (d == spatial) pixel[1 + spatial]++;
  }
}

/* Does the copies that a barrier waits for. */
inline void emulated_finish_tiles(unsigned barrier) {
  emulated_tile_copies *all = &emulated_tiles;
  if (all->serial != emulated.serial) return;
  unsigned kept = 0;
  for (unsigned i = 0; i < all->count; i++) {
    const emulated_tile_copy c = all->items[i];
    if (c.barrier != barrier) {
      all->items[kept++] = c;
      continue;
    }
    emulated_mbarrier *b = emulated_mbarrier_at(barrier);
    const unsigned bytes = emulated_tile_rows(c.map) * c.map->row_bytes;
    if (c.map->is_image) {
      emulated_copy_pixels(&c);
    } else {
      emulated_copy_boxes(&c);
    }
    if (b->bytes < bytes) {
      emulated_fail(719, "more bytes come to a barrier than were announced");
    }
    b->bytes -= bytes;
    emulated_mbarrier_check(b);
  }
  all->count = kept;
}

inline void emulated_ask_for_tile(const emulated_tile_copy &c, int rank,
                                  bool is_image) {
  emulated_tile_copies *all = &emulated_tiles;
  if (c.map->magic != EMULATED_MAP_MAGIC || c.map->rank != rank ||
      c.map->is_image != is_image) {
    emulated_fail(719, "a copy of a tile by a map of another form");
  }
  if (c.to % 128) emulated_fail(716, "a misaligned tile in shared memory");
  if (all->serial != emulated.serial) *all = {};
  all->serial = emulated.serial;
  if (all->count == EMULATED_TILES) {
    emulated_fail(719, "more copies of tiles than the emulation has room for");
  }
  const unsigned rows = emulated_tile_rows(c.map);
  for (unsigned r = 0; r < rows; r++) {
    emulated_put_row(c.to + r * c.map->row_bytes, c.map->row_bytes, nullptr,
                     c.map->row_bytes);
  }
  all->items[all->count++] = c;
}

inline void ptx_mbarrier_wait(unsigned barrier, unsigned parity) {
  for (;;) {
    if (emulated_mbarrier_at(barrier)->phase != parity) return;
    emulated_finish_tiles(barrier);
    if (emulated_mbarrier_at(barrier)->phase != parity) return;
    emulated.calls->yield();
  }
}

inline void ptx_prefetch_map(const void *) {}
inline const emulated_map *emulated_map_at(const void *map) {
  return static_cast<const emulated_map *>(map);
}
inline void ptx_copy_tile_3d(unsigned to, const void *map, unsigned barrier,
                             int c0, int c1, int c2) {
  emulated_ask_for_tile({to, barrier, emulated_map_at(map), {c0, c1, c2}, {}},
                        3, false);
}
inline void ptx_copy_tile_5d(unsigned to, const void *map, unsigned barrier,
                             int c0, int c1, int c2, int c3, int c4) {
  emulated_ask_for_tile(
      {to, barrier, emulated_map_at(map), {c0, c1, c2, c3, c4}, {}}, 5, false);
}
inline void ptx_copy_pixels_4d(unsigned to, const void *map, unsigned barrier,
                               int c, int x, int y, int n, int dx, int dy) {
  emulated_ask_for_tile(
      {to, barrier, emulated_map_at(map), {c, x, y, n}, {dx, dy}}, 4, true);
}
inline void ptx_copy_pixels_5d(unsigned to, const void *map, unsigned barrier,
                               int c, int x, int y, int z, int n, int dx,
                               int dy, int dz) {
  emulated_ask_for_tile(
      {to, barrier, emulated_map_at(map), {c, x, y, z, n}, {dx, dy, dz}}, 5,
      true);
}

/* ---- tiles that are stored: when their thread waits for them ---- */

#define EMULATED_STORES 256

struct emulated_tile_store {
  unsigned thread, from;
  const emulated_map *map;
  int at[5];
  unsigned group;
};
struct emulated_tile_stores {
  uint64_t serial;
  unsigned count, groups[1024]; /* of each thread: the next one */
  emulated_tile_store items[EMULATED_STORES];
};
static emulated_tile_stores emulated_stores;

inline emulated_tile_stores *emulated_stores_of_block() {
  emulated_tile_stores *all = &emulated_stores;
  if (all->serial != emulated.serial) {
    memset(all->groups, 0, sizeof(all->groups));
    all->count = 0;
    all->serial = emulated.serial;
  }
  return all;
}

inline void emulated_store_tile(const emulated_tile_store *s) {
  const emulated_map *m = s->map;
  const unsigned rows = emulated_tile_rows(m);
  for (unsigned r = 0; r < rows; r++) {
    int at[5] = {s->at[0], 0, 0, 0, 0};
    unsigned rest = r, valid;
    for (int i = 1; i < m->rank; i++) {
      at[i] = s->at[i] + (int)(rest % m->box[i]);
      rest /= m->box[i];
    }
    char *to = static_cast<char *>(
        const_cast<void *>(emulated_find_row(m, at, &valid)));
    for (unsigned i = 0; i < valid; i += 16) {
      const unsigned from =
          emulated_swizzled(s->from + r * m->row_bytes + i, m->row_bytes);
      memcpy(to + i, emulated_at_shared(from, 16),
             valid - i < 16 ? valid - i : 16);
    }
  }
}

inline void emulated_finish_stores(unsigned left) {
  emulated_tile_stores *all = emulated_stores_of_block();
  const unsigned thread = emulated.thread->linear;
  unsigned kept = 0;
  for (unsigned i = 0; i < all->count; i++) {
    const emulated_tile_store s = all->items[i];
    if (s.thread == thread && all->groups[thread] - s.group > left) {
      emulated_store_tile(&s);
    } else {
      all->items[kept++] = s;
    }
  }
  all->count = kept;
}

inline void emulated_ask_for_store(const void *map, unsigned from, int rank,
                                   const int *at) {
  emulated_tile_stores *all = emulated_stores_of_block();
  const emulated_map *m = emulated_map_at(map);
  if (m->magic != EMULATED_MAP_MAGIC || m->rank != rank || m->is_image) {
    emulated_fail(719, "a store of a tile by a map of another form");
  }
  if (from % 128) emulated_fail(716, "a misaligned tile in shared memory");
  if (all->count == EMULATED_STORES) {
    emulated_fail(719, "more stores of tiles than the emulation has room for");
  }
  emulated_tile_store *s = &all->items[all->count++];
  *s = {emulated.thread->linear, from, m, {}, 0};
  memcpy(s->at, at, (unsigned)rank * sizeof(int));
  s->group = all->groups[s->thread];
}
inline void ptx_store_tile_3d(const void *map, unsigned from, int c0, int c1,
                              int c2) {
  const int at[] = {c0, c1, c2};
  emulated_ask_for_store(map, from, 3, at);
}
inline void ptx_store_tile_5d(const void *map, unsigned from, int c0, int c1,
                              int c2, int c3, int c4) {
  const int at[] = {c0, c1, c2, c3, c4};
  emulated_ask_for_store(map, from, 5, at);
}
inline void ptx_stores_commit() {
  emulated_stores_of_block()->groups[emulated.thread->linear]++;
}
template <int LEFT>
inline void ptx_stores_wait_read() {
  emulated_finish_stores(LEFT);
}
inline void ptx_stores_wait() {
  emulated_finish_stores(0);
}
inline void ptx_fence_async() {}

/* ---- elements on their way to shared memory ---- */

struct emulated_stored_matrices {
  unsigned address;
  const unsigned *r;
};
inline void emulated_do_store(void *const *lanes, unsigned present) {
  emulated_need_warp(present);
  for (int m = 0; m < 4; m++) {
    for (int i = 0; i < 32; i++) {
      const emulated_stored_matrices *row =
          static_cast<emulated_stored_matrices *>(lanes[m * 8 + i / 4]);
      const unsigned pair =
          static_cast<emulated_stored_matrices *>(lanes[i])->r[m];
      memcpy(emulated_at_shared(row->address, 16) + i % 4 * 4, &pair, 4);
    }
  }
}
inline void ptx_stmatrix_x4(unsigned address, const unsigned *r) {
  emulated_stored_matrices own = {address, r};
  emulated.calls->meet(0xffffffffu, emulated_do_store, &own);
}

/* ---- products of a warpgroup ---- */

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define HAS_WGMMA 1

#define EMULATED_PRODUCTS 32

enum emulated_wgmma_type {
  EMULATED_WGMMA_F16,
  EMULATED_WGMMA_BF16,
  /* Floats, each two elements along k, cut off to tf32. */
  EMULATED_WGMMA_TF32,
  EMULATED_WGMMA_BYTES, /* unsigned by signed, two of them an element */
  EMULATED_WGMMA_E4M3   /* two of them an element */
};

/* A product that a warp has asked for: its part, 16 rows. */
struct emulated_product {
  void *d[32];              /* floats, or ints */
  const unsigned *held[32]; /* A in registers, which are read when it is done */
  uint64_t a, b;
  int n, b_rows, adding;
  emulated_wgmma_type type;
  unsigned group;
};
struct emulated_products {
  uint64_t serial;
  unsigned count, group; /* group: the next one */
  emulated_product items[EMULATED_PRODUCTS];
};
static emulated_products emulated_product_queues[32]; /* of warps */

inline emulated_products *emulated_queue() {
  emulated_products *q = &emulated_product_queues[emulated.thread->linear / 32];
  if (q->serial != emulated.serial) {
    q->serial = emulated.serial;
    q->count = q->group = 0;
  }
  return q;
}

/* Element `at` of row `r` of what a descriptor tells, in rows of 64 or 128
 * bytes, of which 8 are a group; a row of `across` elements goes on beside. */
inline unsigned short emulated_bits(uint64_t matrix, int r, int at) {
  const unsigned row_bytes = matrix >> 62 == 1   ? 128
                             : matrix >> 62 == 2 ? 64
                                                 : 0;
  if (!row_bytes) emulated_fail(719, "a matrix that is not swizzled");
  const unsigned beside = (unsigned)(matrix >> 16 & 0x3fff) << 4;
  const unsigned group = (unsigned)(matrix >> 32 & 0x3fff) << 4;
  const unsigned across = row_bytes / 2;
  const unsigned from = ((unsigned)(matrix & 0x3fff) << 4) +
                        (unsigned)at / across * beside +
                        (unsigned)r / 8 * group + (unsigned)r % 8 * row_bytes +
                        (unsigned)at % across * 2;
  unsigned short bits;
  memcpy(&bits,
         emulated_at_shared(
             EMULATED_DYNAMIC_WINDOW + emulated_swizzled(from, row_bytes), 2),
         2);
  return bits;
}
inline double emulated_number(const emulated_product *p, unsigned short bits) {
  return p->type == EMULATED_WGMMA_F16 ? ptx_f16_to_f32(bits)
                                       : __uint_as_float((unsigned)bits << 16);
}
inline double emulated_element(const emulated_product *p, uint64_t matrix,
                               int r, int at) {
  return emulated_number(p, emulated_bits(matrix, r, at));
}

/* Element `k` of row `r` of what lanes hold. */
inline double emulated_held(const emulated_product *p, int r, int k) {
  const unsigned pair = p->held[r % 8 * 4 + k % 8 / 2][r / 8 + k / 8 * 2];
  return emulated_number(p, (unsigned short)(k % 2 ? pair >> 16 : pair));
}

/* Where lanes have the sum of a row of a warp and a column. */
template <class S>
inline S *emulated_sum_of(const emulated_product *p, int r, int n) {
  return static_cast<S *>(p->d[r % 8 * 4 + n % 8 / 2]) + n / 8 * 4 + r / 8 * 2 +
         n % 2;
}

__attribute__((optimize("O3"))) inline void emulated_multiply_bytes(
    const emulated_product *p) {
  const int warp = (int)emulated.thread->linear / 32 % 4;
  static unsigned char a[16][32];
  static signed char b[256][32];
  for (int r = 0; r < 16; r++) {
    for (int k = 0; k < 16; k++) {
      const unsigned short bits = emulated_bits(p->a, warp * 16 + r, k);
      memcpy(&a[r][2 * k], &bits, 2);
    }
  }
  for (int n = 0; n < p->n; n++) {
    for (int k = 0; k < 16; k++) {
      const unsigned short bits = emulated_bits(p->b, n, k);
      memcpy(&b[n][2 * k], &bits, 2);
    }
  }
  for (int r = 0; r < 16; r++) {
    for (int n = 0; n < p->n; n++) {
      int *d = emulated_sum_of<int>(p, r, n), sum = 0;
      for (int k = 0; k < 32; k++) sum += a[r][k] * b[n][k];
      *d = (int)((p->adding ? (unsigned)*d : 0u) + (unsigned)sum);
    }
  }
}

/* Sums are rounded once for each 32 k. */
__attribute__((optimize("O3"))) inline void emulated_multiply_e4m3(
    const emulated_product *p) {
  const int warp = (int)emulated.thread->linear / 32 % 4;
  static double a[16][32], b[256][32];
  for (int r = 0; r < 16; r++) {
    for (int k = 0; k < 32; k++) {
      const int bits = emulated_bits(p->a, warp * 16 + r, k / 2) >> k % 2 * 8;
      a[r][k] = emulated_e4m3_to_f32((unsigned char)bits);
    }
  }
  for (int n = 0; n < p->n; n++) {
    for (int k = 0; k < 32; k++) {
      const int bits = emulated_bits(p->b, n, k / 2) >> k % 2 * 8;
      b[n][k] = emulated_e4m3_to_f32((unsigned char)bits);
    }
  }
  for (int r = 0; r < 16; r++) {
    for (int n = 0; n < p->n; n++) {
      float *d = emulated_sum_of<float>(p, r, n);
      double sum = p->adding ? *d : 0;
      for (int k = 0; k < 32; k++) sum += a[r][k] * b[n][k];
      *d = (float)sum;
    }
  }
}

inline double emulated_tf32(unsigned bits) {
  return __uint_as_float(bits & ~0x1fffu);
}
__attribute__((optimize("O3"))) inline void emulated_multiply_tf32(
    const emulated_product *p) {
  static double b[256][8];
  for (int n = 0; n < p->n; n++) {
    for (int k = 0; k < 8; k++) {
      b[n][k] =
          emulated_tf32(emulated_bits(p->b, n, 2 * k) |
                        (unsigned)emulated_bits(p->b, n, 2 * k + 1) << 16);
    }
  }
  for (int r = 0; r < 16; r++) {
    double a[8];
    for (int k = 0; k < 8; k++) {
      a[k] = emulated_tf32(p->held[r % 8 * 4 + k % 4][r / 8 + k / 4 * 2]);
    }
    for (int n = 0; n < p->n; n++) {
      float *d = emulated_sum_of<float>(p, r, n);
      double sum = 0;
      for (int k = 0; k < 8; k++) sum += a[k] * b[n][k];
      *d = (float)((p->adding ? *d : 0) + sum);
    }
  }
}

/* Sums are rounded once for each 16 k. */
__attribute__((optimize("O3"))) inline void emulated_multiply(
    const emulated_product *p) {
  const int warp = (int)emulated.thread->linear / 32 % 4;
  static double a[16][16], b[16][256], sums[256];
  if (p->type == EMULATED_WGMMA_BYTES) {
    emulated_multiply_bytes(p);
    return;
  }
  if (p->type == EMULATED_WGMMA_E4M3) {
    emulated_multiply_e4m3(p);
    return;
  }
  if (p->type == EMULATED_WGMMA_TF32) {
    emulated_multiply_tf32(p);
    return;
  }
  for (int r = 0; r < 16; r++) {
    for (int k = 0; k < 16; k++) {
      a[r][k] = p->held[0] ? emulated_held(p, r, k)
                           : emulated_element(p, p->a, warp * 16 + r, k);
    }
  }
  for (int k = 0; k < 16; k++) {
    for (int n = 0; n < p->n; n++) {
      b[k][n] = p->b_rows ? emulated_element(p, p->b, k, n)
                          : emulated_element(p, p->b, n, k);
    }
  }
  for (int r = 0; r < 16; r++) {
    memset(sums, 0, sizeof(sums));
    for (int k = 0; k < 16; k++) {
      for (int n = 0; n < p->n; n++) sums[n] += a[r][k] * b[k][n];
    }
    for (int n = 0; n < p->n; n++) {
      float *d = emulated_sum_of<float>(p, r, n);
      *d = (float)((p->adding ? *d : 0) + sums[n]);
    }
  }
}

struct emulated_wgmma {
  void *d;
  const unsigned *held; /* or NULL */
  uint64_t a, b;
  int n, b_rows, adding;
  emulated_wgmma_type type;
};
inline void emulated_ask_for_product(void *const *lanes, unsigned present) {
  emulated_need_warp(present);
  emulated_products *q = emulated_queue();
  if (q->count == EMULATED_PRODUCTS) {
    emulated_fail(719, "more products than the emulation has room for");
  }
  const emulated_wgmma *own = static_cast<emulated_wgmma *>(lanes[0]);
  emulated_product *p = &q->items[q->count++];
  *p = {{},          {},          own->a,    own->b,  own->n,
        own->b_rows, own->adding, own->type, q->group};
  for (int i = 0; i < 32; i++) {
    p->d[i] = static_cast<emulated_wgmma *>(lanes[i])->d;
    p->held[i] = static_cast<emulated_wgmma *>(lanes[i])->held;
  }
}
inline void emulated_commit_products(void *const *, unsigned present) {
  emulated_need_warp(present);
  emulated_queue()->group++;
}
template <int LEFT>
inline void emulated_finish_products(void *const *, unsigned present) {
  emulated_need_warp(present);
  emulated_products *q = emulated_queue();
  unsigned done = 0;
  while (done < q->count && q->group - q->items[done].group > LEFT) {
    emulated_multiply(&q->items[done++]);
  }
  q->count -= done;
  memmove(q->items, q->items + done, q->count * sizeof(q->items[0]));
}

inline void ptx_wgmma_fence() {}
inline void ptx_wgmma_commit() {
  emulated.calls->meet(0xffffffffu, emulated_commit_products, nullptr);
}
template <int LEFT>
inline void ptx_wgmma_wait() {
  emulated.calls->meet(0xffffffffu, emulated_finish_products<LEFT>, nullptr);
}

#define EMULATED_WGMMA(columns, type, half)                                 \
  template <int B_ROWS>                                                     \
  inline void ptx_wgmma_n##columns##_##type(                                \
      float *d, unsigned long long a, unsigned long long b, int adding) {   \
    emulated_wgmma own = {d, nullptr, a, b, columns, B_ROWS, adding, half}; \
    emulated.calls->meet(0xffffffffu, emulated_ask_for_product, &own);      \
  }
#define EMULATED_HELD_WGMMA(columns, type, half)                              \
  inline void ptx_held_wgmma_n##columns##_##type(float *d, const unsigned *a, \
                                                 unsigned long long b) {      \
    emulated_wgmma own = {d, a, 0, b, columns, 1, 1, half};                   \
    emulated.calls->meet(0xffffffffu, emulated_ask_for_product, &own);        \
  }
#define EMULATED_WGMMA_OF_BOTH(columns)            \
  EMULATED_WGMMA(columns, f16, EMULATED_WGMMA_F16) \
  EMULATED_WGMMA(columns, bf16, EMULATED_WGMMA_BF16)
EMULATED_WGMMA_OF_BOTH(32)
EMULATED_WGMMA_OF_BOTH(64)
EMULATED_WGMMA_OF_BOTH(96)
EMULATED_WGMMA_OF_BOTH(128)
EMULATED_WGMMA_OF_BOTH(192)
EMULATED_WGMMA_OF_BOTH(256)
#define EMULATED_HELD_WGMMA_OF_BOTH(columns)            \
  EMULATED_HELD_WGMMA(columns, f16, EMULATED_WGMMA_F16) \
  EMULATED_HELD_WGMMA(columns, bf16, EMULATED_WGMMA_BF16)
EMULATED_HELD_WGMMA_OF_BOTH(64)
EMULATED_HELD_WGMMA_OF_BOTH(128)
EMULATED_HELD_WGMMA_OF_BOTH(192)
EMULATED_HELD_WGMMA_OF_BOTH(256)
#define EMULATED_WGMMA_OF_TF32(columns)                                       \
  inline void ptx_wgmma_n##columns##_tf32(float *d, const unsigned *a,        \
                                          unsigned long long b, int adding) { \
    emulated_wgmma own = {                                                    \
        d, a, 0, b, columns, 0, adding, EMULATED_WGMMA_TF32};                 \
    emulated.calls->meet(0xffffffffu, emulated_ask_for_product, &own);        \
  }
EMULATED_WGMMA_OF_TF32(32)
EMULATED_WGMMA_OF_TF32(64)
EMULATED_WGMMA_OF_TF32(96)
EMULATED_WGMMA_OF_TF32(128)
EMULATED_WGMMA_OF_TF32(192)
EMULATED_WGMMA_OF_TF32(256)
#define EMULATED_WGMMA_OF_BYTES(columns)                                       \
  inline void ptx_wgmma_n##columns##_u8_s8(int *d, unsigned long long a,       \
                                           unsigned long long b, int adding) { \
    emulated_wgmma own = {d,       nullptr, a,      b,                         \
                          columns, 0,       adding, EMULATED_WGMMA_BYTES};     \
    emulated.calls->meet(0xffffffffu, emulated_ask_for_product, &own);         \
  }
EMULATED_WGMMA_OF_BYTES(32)
EMULATED_WGMMA_OF_BYTES(64)
EMULATED_WGMMA_OF_BYTES(96)
EMULATED_WGMMA_OF_BYTES(128)
EMULATED_WGMMA_OF_BYTES(192)
EMULATED_WGMMA_OF_BYTES(256)
#undef EMULATED_WGMMA_OF_BYTES
#define EMULATED_WGMMA_OF_E4M3(columns)                                       \
  inline void ptx_wgmma_n##columns##_e4m3(float *d, unsigned long long a,     \
                                          unsigned long long b, int adding) { \
    emulated_wgmma own = {d,       nullptr, a,      b,                        \
                          columns, 0,       adding, EMULATED_WGMMA_E4M3};     \
    emulated.calls->meet(0xffffffffu, emulated_ask_for_product, &own);        \
  }
EMULATED_WGMMA_OF_E4M3(32)
EMULATED_WGMMA_OF_E4M3(64)
EMULATED_WGMMA_OF_E4M3(96)
EMULATED_WGMMA_OF_E4M3(128)
EMULATED_WGMMA_OF_E4M3(192)
EMULATED_WGMMA_OF_E4M3(256)
#undef EMULATED_WGMMA_OF_E4M3
#undef EMULATED_WGMMA_OF_TF32
#undef EMULATED_HELD_WGMMA_OF_BOTH
#undef EMULATED_HELD_WGMMA
#undef EMULATED_WGMMA_OF_BOTH
#undef EMULATED_WGMMA
#endif

#endif /* TESTS_CUDA_EMULATION_HOPPER_ON_HOST_H_ */
