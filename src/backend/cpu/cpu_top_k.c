/* SPDX-License-Identifier: Apache-2.0 */
/* The k largest or smallest elements along an axis, sorted, with their indices.
 *
 * As in PyTorch NaN is greater than everything; among equals the lower index
 * comes first. Of floats in columns beside each other, the first alone is found
 * for many columns at once. Elements of up to 32 bits become keys of 32 bits,
 * which are sorted with their positions as integers of 64; of columns some are
 * loaded together. Others take more memory for each. */
#include "backend/cpu/cpu_element.h"
#include "backend/cpu/cpu_space.h"
#include "backend/cpu/kernels/lanes/best.h"
#include "base/ordering.h"

#define UNIT 8192
#define CHUNK 256 /* elements loaded at once */
#define VERY_FEW 16
/* Columns loaded together, as far as their keys stay in a cache. */
#define TOGETHER 16
#define TOGETHER_BYTES ((int64_t)128 << 10)

typedef struct top_k {
  bsm_cpu_impl base;
  bool largest, integers, columns, packed;
  bsm_dtype dtype;
  int64_t together; /* columns */
  int64_t k, n, stride, value_stride, index_stride, unit_rows;
  bsm_cpu_space space; /* 0: values, 1: input, 2: indices */
} top_k;

/* Whether keys of 32 bits tell elements apart. */
static bool has_short_keys(bsm_dtype d) {
  const bsm_cpu_class c = bsm_cpu_class_of(d);
  return c == BSM_CPU_F32 || (c == BSM_CPU_I64 && bsm_dtype_size(d) <= 4);
}

/* For keys of columns, and items of one in order or the first of them. */
static uint64_t scratch_size(const top_k *t) {
  const uint64_t n = (uint64_t)t->n;
  const uint64_t numbers =
      n *
      (t->packed ? (uint64_t)t->together * sizeof(uint32_t) : sizeof(double));
  return bsm_cpu_align(numbers) + 2 * n * sizeof(bsm_ordered);
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_top_k *params = &p->step->params->top_k;
  bsm_plan_tensor x = *bsm_step_input(p->plan, p->step, 0);
  bsm_plan_tensor v = *bsm_step_output(p->plan, p->step, 0);
  bsm_plan_tensor i = *bsm_step_output(p->plan, p->step, 1);
  const int32_t axis = params->axis;
  top_k *t = BSM_NEW(p->arena, top_k);
  BSM_TRY_ALLOC(t);
  t->base.elements = bsm_cpu_elements_of(p->isa);
  t->base.slots = p->threads;
  t->base.description = "keys";
  t->largest = params->largest != 0;
  t->dtype = x.dtype;
  t->integers = bsm_cpu_is_integral(bsm_cpu_class_of(x.dtype));
  t->k = params->k;
  t->n = x.dims.d[axis];
  t->stride = x.strides[axis];
  t->value_stride = v.strides[axis];
  t->index_stride = i.strides[axis];
  x.dims.d[axis] = v.dims.d[axis] = i.dims.d[axis] = 1;
  bsm_cpu_space_init(&t->space, (const bsm_plan_tensor *[]){&v, &x, &i}, 3);
  t->columns = t->k == 1 && t->dtype == BSM_DTYPE_FLOAT && t->n < INT32_MAX &&
               t->space.strides[1][t->space.rank - 1] == 1;
  if (t->columns) t->base.description = "columns";
  t->packed = has_short_keys(t->dtype) && t->n < INT32_MAX;
  t->together = 1;
  if (t->packed && t->space.strides[1][t->space.rank - 1] == 1 &&
      t->stride != 1) {
    const int64_t bytes = bsm_cpu_max(1, t->n) * (int64_t)sizeof(uint32_t);
    t->together = bsm_cpu_max(1, bsm_cpu_min(TOGETHER, TOGETHER_BYTES / bytes));
  }
  t->unit_rows = bsm_cpu_max(t->together, UNIT / bsm_cpu_max(1, t->n));
  out->impl = t;
  return bsm_cpu_set_scratch(out, 0, scratch_size(t), t->base.slots);
}

typedef struct work {
  const top_k *t;
  const char *x;
  char *values;
  int64_t *indices;
  uint8_t *scratch;
  size_t slot_size;
} work;

/* A double, or an integer of the same size. */
typedef union number {
  double d;
  int64_t i;
} number;

static bsm_ordered item_of(const top_k *t, const number *row, int64_t i) {
  const uint64_t key = t->integers ? bsm_order_of_integer(row[i].i)
                                   : bsm_order_of_double(row[i].d);
  return (bsm_ordered){t->largest ? ~key : key, i};
}

/* The first from i on that comes before `last`, or n. */
static int64_t next_integer(const top_k *t, const number *row, int64_t i,
                            int64_t last) {
  const int64_t n = t->n;
  if (t->largest) {
    while (i < n && row[i].i <= last) i++;
  } else {
    while (i < n && row[i].i >= last) i++;
  }
  return i;
}

/* The first of a row, of which few are wanted. */
static const bsm_ordered *select_first(const top_k *t, const number *row,
                                       bsm_ordered *items) {
  const size_t k = (size_t)t->k;
  for (int64_t i = 0; i < t->k; i++) items[i] = item_of(t, row, i);
  bsm_order_begin(items, k);
  for (int64_t i = t->k; i < t->n; i++) {
    /* Most come behind the last; equals do, too. */
    if (t->integers) {
      i = next_integer(t, row, i, row[items[0].position].i);
      if (i == t->n) break;
    } else {
      const double v = row[i].d, last = row[items[0].position].d;
      if (t->largest ? v <= last : v >= last) continue;
    }
    const bsm_ordered item = item_of(t, row, i);
    if (item.key < items[0].key) bsm_order_replace(items, k, item);
  }
  bsm_order_end(items, k);
  return items;
}

static const bsm_ordered *find_first(const top_k *t, const number *row,
                                     bsm_ordered *items) {
  if (t->k < t->n / BSM_ORDER_FEW) return select_first(t, row, items);
  for (int64_t i = 0; i < t->n; i++) items[i] = item_of(t, row, i);
  return bsm_order_first(items, (size_t)t->n, (size_t)t->k);
}

static void store_row(const work *w, const bsm_cpu_cursor *c, const number *row,
                      const bsm_ordered *first) {
  const top_k *t = w->t;
  const int64_t size = (int64_t)bsm_dtype_size(t->dtype);
  const bsm_cpu_class to = bsm_cpu_class_of(t->dtype);
  const bsm_cpu_class wide = t->integers ? BSM_CPU_I64 : BSM_CPU_F64;
  for (int64_t i = 0; i < t->k; i += CHUNK) {
    const int64_t n = bsm_cpu_min(CHUNK, t->k - i);
    number values[CHUNK], converted[CHUNK];
    for (int64_t j = 0; j < n; j++) {
      values[j] = row[first[i + j].position];
      w->indices[c->offset[2] + (i + j) * t->index_stride] =
          first[i + j].position;
    }
    bsm_cpu_convert(&t->base.elements, wide, values, to, converted, n);
    bsm_cpu_store(&t->base.elements, t->dtype,
                  w->values + (c->offset[0] + i * t->value_stride) * size,
                  t->value_stride, n, converted);
  }
}

static void row(const work *w, const bsm_cpu_cursor *c, uint8_t *scratch) {
  const top_k *t = w->t;
  const int64_t size = (int64_t)bsm_dtype_size(t->dtype);
  const bsm_cpu_class from = bsm_cpu_class_of(t->dtype);
  const bsm_cpu_class wide = t->integers ? BSM_CPU_I64 : BSM_CPU_F64;
  number *values = (number *)(void *)scratch;
  bsm_ordered *items =
      (bsm_ordered *)(void *)(scratch +
                              bsm_cpu_align((uint64_t)t->n * sizeof(double)));
  for (int64_t i = 0; i < t->n; i += CHUNK) {
    const int64_t n = bsm_cpu_min(CHUNK, t->n - i);
    number loaded[CHUNK];
    bsm_cpu_load(&t->base.elements, t->dtype,
                 w->x + (c->offset[1] + i * t->stride) * size, t->stride, n,
                 loaded);
    bsm_cpu_convert(&t->base.elements, from, loaded, wide, values + i, n);
  }
  store_row(w, c, values, find_first(t, values, items));
}

/* ---- keys of 32 bits ---- */

/* Flipped in the 32 bits of an integer, so that they order without it. */
#define SHORT_SIGN ((uint32_t)1 << 31)

static void make_keys(const top_k *t, const char *x, int64_t stride, int64_t n,
                      uint32_t *keys) {
  const uint32_t flip = t->largest ? UINT32_MAX : 0;
  number loaded[CHUNK];
  if (t->dtype == BSM_DTYPE_FLOAT && stride == 1) {
    bsm_k_order_floats((const float *)(const void *)x, n, flip, keys);
    return;
  }
  bsm_cpu_load(&t->base.elements, t->dtype, x, stride, n, loaded);
  if (!t->integers) {
    bsm_k_order_floats((const float *)(const void *)loaded, n, flip, keys);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    keys[i] = (uint32_t)loaded[i].i ^ SHORT_SIGN ^ flip;
  }
}

/* `count` columns beside each other, n elements each, to keys. */
static void load_keys(const work *w, int64_t offset, int64_t count,
                      uint32_t *keys) {
  const top_k *t = w->t;
  const int64_t size = (int64_t)bsm_dtype_size(t->dtype);
  const char *const x = w->x + offset * size;
  for (int64_t i = 0; i < t->n && count == 1; i += CHUNK) {
    make_keys(t, x + i * t->stride * size, t->stride,
              bsm_cpu_min(CHUNK, t->n - i), keys + i);
  }
  for (int64_t i = 0; i < t->n && count > 1; i++) {
    uint32_t line[TOGETHER];
    make_keys(t, x + i * t->stride * size, 1, count, line);
    for (int64_t j = 0; j < count; j++) keys[j * t->n + i] = line[j];
  }
}

/* The first from i on whose key is less than `limit`; t->n: none. */
static int64_t find_less(const top_k *t, const uint32_t *keys, int64_t i,
                         uint32_t limit) {
  while (i < t->n) {
    if (i % BSM_K_KEYS == 0) i = bsm_k_find_less(keys, i, t->n, limit);
    const int64_t end = bsm_cpu_min(t->n, (i / BSM_K_KEYS + 1) * BSM_K_KEYS);
    for (; i < end; i++) {
      if (keys[i] < limit) return i; /* the later of equals is not */
    }
  }
  return t->n;
}

/* The first of a row, of which few are wanted: those of the first elements, and
 * then what comes before their last. */
static void select_keys(const top_k *t, const uint32_t *keys,
                        bsm_ordered *items) {
  const size_t k = (size_t)t->k;
  for (size_t i = 0; i < k; i++) items[i] = (bsm_ordered){keys[i], (int64_t)i};
  bsm_order_begin(items, k);
  for (int64_t i = t->k;; i++) {
    i = find_less(t, keys, i, (uint32_t)items[0].key);
    if (i == t->n) break;
    bsm_order_replace(items, k, (bsm_ordered){keys[i], i});
  }
  bsm_order_end(items, k);
}

/* The same for very few, which are kept in order. */
static void insert_keys(const top_k *t, const uint32_t *keys,
                        uint64_t *packed) {
  const size_t k = (size_t)t->k;
  size_t have = 0;
  for (int64_t i = 0;; i++) {
    const bool full = have == k;
    if (full) i = find_less(t, keys, i, (uint32_t)(packed[k - 1] >> 32));
    if (i == t->n) break;
    const uint64_t item = bsm_order_pack(keys[i], (size_t)i);
    size_t at = full ? k - 1 : have++;
    for (; at > 0 && packed[at - 1] > item; at--) packed[at] = packed[at - 1];
    packed[at] = item;
  }
}

/* The elements at sorted positions, as they are. */
#define STORE_VALUES(type)                                          \
  do {                                                              \
    const type *const from = (const type *)(const void *)w->x + at; \
    type *to = (type *)(void *)w->values + c->offset[0];            \
    for (int64_t i = 0; i < k; i++, to += value_stride) {           \
      *to = from[positions[i] * stride];                            \
    }                                                               \
  } while (0)

static void store_positions(const work *w, const bsm_cpu_cursor *c,
                            const uint32_t *positions) {
  const top_k *t = w->t;
  const int64_t at = c->offset[1], k = t->k, stride = t->stride;
  const int64_t value_stride = t->value_stride, index_stride = t->index_stride;
  int64_t *indices = w->indices + c->offset[2];
  switch (bsm_dtype_size(t->dtype)) {
    case 1:
      STORE_VALUES(uint8_t);
      break;
    case 2:
      STORE_VALUES(uint16_t);
      break;
    default:
      STORE_VALUES(uint32_t);
  }
  for (int64_t i = 0; i < k; i++, indices += index_stride) {
    *indices = positions[i];
  }
}

/* The positions of the first k in order, behind the items. */
static const uint32_t *order_keys(const top_k *t, const uint32_t *keys,
                                  void *items) {
  const int64_t k = t->k;
  uint64_t *packed = items;
  uint32_t *positions = (uint32_t *)(void *)(packed + 2 * t->n);
  if (k <= VERY_FEW && k < t->n / BSM_ORDER_FEW) {
    insert_keys(t, keys, packed);
    for (int64_t i = 0; i < k; i++) positions[i] = (uint32_t)packed[i];
    return positions;
  }
  if (k < t->n / BSM_ORDER_FEW) {
    bsm_ordered *first = items;
    select_keys(t, keys, first);
    for (int64_t i = 0; i < k; i++) {
      positions[i] = (uint32_t)first[i].position;
    }
    return positions;
  }
  const size_t n = (size_t)t->n;
  uint32_t least, most;
  bsm_k_bounds(keys, t->n, &least, &most);
  int bits = 0;
  while (bits < 32 && (most - least) >> bits != 0) bits++;
  for (size_t i = 0; i < n; i++) packed[i] = bsm_order_pack(keys[i] - least, i);
  packed = bsm_order_packed(packed, n, bits);
  for (int64_t i = 0; i < k; i++) positions[i] = (uint32_t)packed[i];
  return positions;
}

/* `count` columns from the cursor on. */
static void order_columns(const work *w, bsm_cpu_cursor *c, int64_t count,
                          uint8_t *scratch) {
  const top_k *t = w->t;
  uint32_t *keys = (uint32_t *)(void *)scratch;
  void *items =
      scratch + bsm_cpu_align((uint64_t)(t->n * t->together) * sizeof(*keys));
  load_keys(w, c->offset[1], count, keys);
  for (int64_t i = 0; i < count; i++) {
    store_positions(w, c, order_keys(t, keys + i * t->n, items));
    bsm_cpu_advance(&t->space, c, 1);
  }
}

static void packed_unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const top_k *t = w->t;
  const int64_t end = bsm_cpu_min((index + 1) * t->unit_rows, t->space.count);
  bsm_cpu_cursor c;
  bsm_cpu_seek(&t->space, index * t->unit_rows, &c);
  for (int64_t i = index * t->unit_rows; i < end;) {
    const int64_t left = bsm_cpu_min(end - i, bsm_cpu_row_left(&t->space, &c));
    const int64_t count = bsm_cpu_min(t->together, left);
    order_columns(w, &c, count, w->scratch + (size_t)slot * w->slot_size);
    i += count;
  }
}

/* ---- the first of columns ---- */

/* n columns from the cursor on. */
static void find_columns(const work *w, const bsm_cpu_cursor *c, int64_t n) {
  const top_k *t = w->t;
  const int32_t last = t->space.rank - 1;
  const int64_t value_step = t->space.strides[0][last];
  const int64_t index_step = t->space.strides[2][last];
  float *values = (float *)(void *)w->values + c->offset[0];
  int64_t *indices = w->indices + c->offset[2];
  float best[CHUNK];
  int32_t index[CHUNK];
  (t->largest ? bsm_k_greatest : bsm_k_least)(
      (const float *)(const void *)w->x + c->offset[1], t->stride,
      (int32_t)t->n, n, best, index);
  for (int64_t i = 0; i < n; i++) {
    values[i * value_step] = best[i];
    indices[i * index_step] = index[i];
  }
}

static void columns_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const top_k *t = w->t;
  const int64_t end = bsm_cpu_min((unit + 1) * t->unit_rows, t->space.count);
  bsm_cpu_cursor c;
  (void)slot;
  bsm_cpu_seek(&t->space, unit * t->unit_rows, &c);
  for (int64_t i = unit * t->unit_rows; i < end;) {
    const int64_t left = bsm_cpu_min(end - i, bsm_cpu_row_left(&t->space, &c));
    const int64_t n = bsm_cpu_min(CHUNK, left);
    find_columns(w, &c, n);
    bsm_cpu_advance(&t->space, &c, n);
    i += n;
  }
}

static void unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const top_k *t = w->t;
  const int64_t first = index * t->unit_rows;
  const int64_t end = bsm_cpu_min(first + t->unit_rows, t->space.count);
  bsm_cpu_cursor c;
  bsm_cpu_seek(&t->space, first, &c);
  for (int64_t i = first; i < end; i++) {
    row(w, &c, w->scratch + (size_t)slot * w->slot_size);
    bsm_cpu_advance(&t->space, &c, 1);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const top_k *t = prepared->impl;
  work w = {t,
            bsm_cpu_input_address(prepared, r, 0),
            bsm_cpu_output_address(prepared, r, 0),
            bsm_cpu_output_address(prepared, r, 1),
            r->scratch,
            prepared->scratch_size / (size_t)t->base.slots};
  if (t->k == 0) return BSM_OK;
  bsm_cpu_parallel(r, t->base.slots,
                   bsm_cpu_div_up(t->space.count, t->unit_rows),
                   t->columns  ? columns_unit
                   : t->packed ? packed_unit
                               : unit,
                   &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_TOP_K = {bsm_check_top_k, NULL, prepare, run};
