/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of neighbours: loads and stores. */
#include "backend/cpu/cpu_block.h"

#include "backend/cpu/cpu_strided.h"

/* Rows that are shorter are better done beside each other. */
#define LONG_ROW 256
#define FEW 16
#define LEAST_WIDTH 64
/* Pieces in place are at least this long. */
#define LONG_PIECE 64
#define CHUNK 256 /* elements converted at once */

int64_t bsm_cpu_block_width(const bsm_cpu_space *kept,
                            const bsm_cpu_space *reduced, int operands) {
  const int32_t last = reduced->rank - 1;
  bool rows = reduced->dims[last] > LONG_ROW;
  for (int k = 0; k < operands; k++) {
    rows = rows && reduced->strides[k][last] == 1;
  }
  if (rows || kept->count < FEW) return 1;
  const int64_t width =
      BSM_CPU_BLOCK_ROOM / 2 / bsm_cpu_max(1, reduced->count) / FEW * FEW;
  return bsm_cpu_min(kept->count, bsm_cpu_min(bsm_cpu_max(width, LEAST_WIDTH),
                                              BSM_CPU_BLOCK_WIDTH));
}

void bsm_cpu_block_seek(const bsm_cpu_space *kept, int64_t first, int64_t width,
                        bsm_cpu_block *block) {
  bsm_cpu_cursor c;
  block->width = width;
  block->runs = 0;
  bsm_cpu_seek(kept, first, &c);
  for (int64_t i = 0; i < width;) {
    const int64_t n = bsm_cpu_min(width - i, bsm_cpu_row_left(kept, &c));
    const int run = block->runs++;
    block->first[run] = i;
    block->length[run] = n;
    for (int k = 0; k < kept->operands; k++) {
      block->offset[k][run] = c.offset[k];
    }
    bsm_cpu_advance(kept, &c, n);
    i += n;
  }
}

static bool is_own_class(const bsm_cpu_view *v) {
  return bsm_cpu_is_native(v->dtype) && v->dtype != BSM_DTYPE_BOOL &&
         bsm_cpu_class_of(v->dtype) == v->piece;
}

/* Where a piece lies in its dtype. */
static char *raw_of(const bsm_cpu_view *v, void *buffer) {
  return (char *)buffer + (is_own_class(v) ? 0 : 8 * v->room);
}

/* n elements of the dtype become elements of the class, or the other way. */
static void widen(const bsm_cpu_view *v, const char *raw, char *values,
                  int64_t n) {
  const bsm_cpu_class own = bsm_cpu_class_of(v->dtype);
  const int64_t from = (int64_t)bsm_dtype_size(v->dtype);
  const int64_t to = (int64_t)bsm_cpu_class_size(v->piece);
  double loaded[CHUNK];
  if (own == v->piece) {
    bsm_cpu_load(v->elements, v->dtype, raw, 1, n, values);
    return;
  }
  for (int64_t i = 0; i < n; i += CHUNK) {
    const int64_t count = bsm_cpu_min(CHUNK, n - i);
    bsm_cpu_load(v->elements, v->dtype, raw + i * from, 1, count, loaded);
    bsm_cpu_convert(v->elements, own, loaded, v->piece, values + i * to, count);
  }
}

static void narrow(const bsm_cpu_view *v, const char *values, char *raw,
                   int64_t n) {
  const bsm_cpu_class own = bsm_cpu_class_of(v->dtype);
  const int64_t from = (int64_t)bsm_cpu_class_size(v->piece);
  const int64_t to = (int64_t)bsm_dtype_size(v->dtype);
  double cast[CHUNK];
  if (own == v->piece) {
    bsm_cpu_store(v->elements, v->dtype, raw, 1, n, values);
    return;
  }
  for (int64_t i = 0; i < n; i += CHUNK) {
    const int64_t count = bsm_cpu_min(CHUNK, n - i);
    bsm_cpu_cast(v->elements, v->piece, values + i * from, v->dtype, cast,
                 count);
    bsm_cpu_store(v->elements, v->dtype, raw + i * to, 1, count, cast);
  }
}

static int64_t kept_stride(const bsm_cpu_view *v) {
  return v->kept->strides[v->operand][v->kept->rank - 1];
}

static int64_t reduced_stride(const bsm_cpu_view *v) {
  return v->reduced->strides[v->operand][v->reduced->rank - 1];
}

/* Whether the block's columns lie side by side as in a piece. */
static bool is_beside(const bsm_cpu_view *v, const bsm_cpu_block *b) {
  return is_own_class(v) &&
         (b->width == 1 ? reduced_stride(v) == 1
                        : b->runs == 1 && kept_stride(v) == 1);
}

/* ---- pieces ---- */

static void set_count(const bsm_cpu_view *v, bsm_cpu_piece *p) {
  const int64_t left = v->reduced->dims[p->level] - p->at.index[p->level];
  p->length = bsm_cpu_min(p->most, left);
  p->count = p->length * p->inner;
}

bool bsm_cpu_piece_first(const bsm_cpu_view *v, const bsm_cpu_block *b,
                         bsm_cpu_piece *p) {
  const bsm_cpu_space *r = v->reduced;
  const int64_t limit = v->room / b->width;
  const int32_t last = r->rank - 1;
  p->done = 0;
  if (r->count == 0) return false;
  bsm_cpu_seek(r, 0, &p->at);
  p->level = last;
  p->inner = 1;
  p->most = bsm_cpu_min(limit, r->dims[last]);
  if (!is_beside(v, b) || (p->most < LONG_PIECE && last > 0)) {
    while (p->level > 0 && p->inner * r->dims[p->level] <= limit) {
      p->inner *= r->dims[p->level--];
    }
    p->most = bsm_cpu_min(limit / p->inner, r->dims[p->level]);
  }
  set_count(v, p);
  return true;
}

bool bsm_cpu_piece_next(const bsm_cpu_view *v, bsm_cpu_piece *p) {
  p->done += p->count;
  if (p->done >= v->reduced->count) return false;
  bsm_cpu_move(v->reduced, &p->at, p->level, p->length);
  set_count(v, p);
  return true;
}

void *bsm_cpu_block_place(const bsm_cpu_view *v, const char *base,
                          const bsm_cpu_block *b, const bsm_cpu_piece *p,
                          int64_t *stride) {
  if (!is_beside(v, b) || (p->count > 1 && p->level != v->reduced->rank - 1)) {
    return NULL;
  }
  *stride = reduced_stride(v);
  return (char *)(uintptr_t)base +
         (b->offset[v->operand][0] + p->at.offset[v->operand]) *
             (int64_t)bsm_dtype_size(v->dtype);
}

/* ---- loads and stores ---- */

/* Copies a piece between its place and `raw`, run by run. */
static void copy_piece(const bsm_cpu_view *v, char *base,
                       const bsm_cpu_block *b, const bsm_cpu_piece *p,
                       char *raw, bool loads) {
  const bsm_cpu_space *r = v->reduced;
  const int64_t element = (int64_t)bsm_dtype_size(v->dtype);
  const int here = loads ? 1 : 0, in_raw = loads ? 0 : 1;
  for (int i = 0; i < b->runs; i++) {
    bsm_cpu_space s;
    int64_t apart = b->width;
    s.operands = 2;
    s.rank = 1 + r->rank - p->level;
    s.dims[s.rank - 1] = b->length[i];
    s.strides[here][s.rank - 1] = kept_stride(v);
    s.strides[in_raw][s.rank - 1] = 1;
    for (int32_t k = s.rank - 2; k >= 0; k--) {
      s.dims[k] = k == 0 ? p->length : r->dims[p->level + k];
      s.strides[here][k] = r->strides[v->operand][p->level + k];
      s.strides[in_raw][k] = apart;
      apart *= s.dims[k];
    }
    char *at =
        base + (b->offset[v->operand][i] + p->at.offset[v->operand]) * element;
    char *to = raw + b->first[i] * element;
    bsm_cpu_copy_box(v->rows, &s, element, loads ? at : to, loads ? to : at);
  }
}

const void *bsm_cpu_block_load(const bsm_cpu_view *v, const char *base,
                               const bsm_cpu_block *b, const bsm_cpu_piece *p,
                               void *buffer, int64_t *stride) {
  const void *place = bsm_cpu_block_place(v, base, b, p, stride);
  if (place) return place;
  char *raw = raw_of(v, buffer);
  copy_piece(v, (char *)(uintptr_t)base, b, p, raw, true);
  if (raw != buffer) widen(v, raw, buffer, p->count * b->width);
  *stride = b->width;
  return buffer;
}

void bsm_cpu_block_store(const bsm_cpu_view *v, char *base,
                         const bsm_cpu_block *b, const bsm_cpu_piece *p,
                         void *buffer) {
  char *raw = raw_of(v, buffer);
  if (raw != buffer) narrow(v, buffer, raw, p->count * b->width);
  copy_piece(v, base, b, p, raw, false);
}
