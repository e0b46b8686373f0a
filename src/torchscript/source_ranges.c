/* SPDX-License-Identifier: Apache-2.0 */
/* Two layouts of debug files:
 *
 *   flat (torch 1.4):  (record, ...), record = (offset, range[, tag]),
 *     range = ((text, file or None, first line), start, end)
 *   string table:      ("FORMAT_WITH_STRING_TABLE", (str, ...), (record, ...)),
 *     where text is a list of indices of strings to concatenate, file an index
 *
 * `text` is the source of a function, or of a traced call its Python stack;
 * the line is that of `start` in it. */
#include "torchscript/source_ranges.h"
#include "aten/ivalue_parts.h"

/* Characters looked at to count lines, over all records of a file. */
#define SCAN_BUDGET ((uint64_t)256 << 20)

typedef struct reader {
  bsm_arena *arena;
  const bsm_tuple *strings; /* NULL: flat layout */
  bsm_ptrmap files;         /* bsm_str * -> const char * */
  bsm_arena *scratch;
  uint64_t budget;
} reader;

static const bsm_tuple *as_tuple(const bsm_ivalue *v, size_t least) {
  if (v->tag != BSM_IVALUE_TUPLE || v->u.tuple->len < least) return NULL;
  return v->u.tuple;
}

/* A string, or in the table layout the index of one. */
static const bsm_str *as_string(const reader *r, const bsm_ivalue *v) {
  if (r->strings && v->tag == BSM_IVALUE_INT) {
    if (v->u.i < 0 || (uint64_t)v->u.i >= r->strings->len) return NULL;
    v = &r->strings->items[v->u.i];
  }
  return v->tag == BSM_IVALUE_STRING ? v->u.s : NULL;
}

/* Lines that end in the first `*left` bytes of `text`; takes them off. */
static uint32_t count_lines(const bsm_str *text, uint64_t *left) {
  const size_t n = *left < text->len ? (size_t)*left : text->len;
  uint32_t lines = 0;
  const char *p = text->data, *end = p + n;
  while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
    lines++;
    p++;
  }
  *left -= n;
  return lines;
}

/* Lines before byte `start` of a text. */
static bool lines_before(reader *r, const bsm_ivalue *text, uint64_t start,
                         uint32_t *out) {
  *out = 0;
  if (start == 0) return true;
  if (start > r->budget) return false;
  r->budget -= start;
  const bsm_iv_parts parts = bsm_iv_items_of(text);
  const bool cut = bsm_iv_is_sequence(text);
  const bsm_ivalue *pieces = cut ? parts.items : text;
  const size_t count = cut ? parts.len : 1;
  for (size_t i = 0; i < count && start > 0; i++) {
    const bsm_str *piece = as_string(r, &pieces[i]);
    /* Each piece costs, empty ones too. */
    if (!piece || r->budget == 0) return false;
    r->budget--;
    *out += count_lines(piece, &start);
  }
  return true;
}

/* A copy of a file name that can be printed, made once. */
static bsm_status copy_file(reader *r, const bsm_str *file, const char **out) {
  *out = bsm_ptrmap_get(&r->files, file);
  if (*out) return BSM_OK;
  const size_t n = file->len < 1024 ? file->len : 1024;
  char *copy = bsm_arena_strndup(r->arena, file->data, n);
  BSM_TRY_ALLOC(copy);
  for (size_t i = 0; i < n; i++) {
    if ((unsigned char)copy[i] < 0x20 || copy[i] == 0x7f) copy[i] = '?';
  }
  *out = copy;
  return bsm_ptrmap_set(r->scratch, &r->files, file, copy) ? BSM_OK
                                                           : BSM_FAIL_OOM();
}

/* One record; false when it is malformed. */
static bsm_status read_record(reader *r, const bsm_ivalue *v,
                              bsm_source_range *out, bool *ok) {
  *ok = false;
  *out = (bsm_source_range){0};
  const bsm_tuple *record = as_tuple(v, 2);
  const bsm_tuple *range = record ? as_tuple(&record->items[1], 3) : NULL;
  const bsm_tuple *source = range ? as_tuple(&range->items[0], 3) : NULL;
  if (!source || record->items[0].tag != BSM_IVALUE_INT ||
      range->items[1].tag != BSM_IVALUE_INT) {
    return BSM_OK;
  }
  const int64_t offset = record->items[0].u.i, start = range->items[1].u.i;
  if (offset < 0 || start < 0) return BSM_OK;
  out->offset = (uint64_t)offset;
  *ok = true;
  /* A range without a file still ends the one before it. */
  const bsm_ivalue *first = &source->items[2];
  const bsm_str *file = as_string(r, &source->items[1]);
  uint32_t lines;
  if (!file || file->len == 0 || first->tag != BSM_IVALUE_INT ||
      first->u.i < 0 || first->u.i > INT32_MAX ||
      !lines_before(r, &source->items[0], (uint64_t)start, &lines)) {
    return BSM_OK;
  }
  out->line = (uint32_t)first->u.i + lines;
  return copy_file(r, file, &out->file);
}

static bsm_status read_records(reader *r, const bsm_ivalue *root,
                               bsm_source_ranges *out) {
  const bsm_tuple *records = as_tuple(root, 0);
  const bsm_tuple *table = as_tuple(root, 3);
  if (table && table->items[0].tag == BSM_IVALUE_STRING &&
      bsm_str_eq(*table->items[0].u.s, BSM_STR("FORMAT_WITH_STRING_TABLE"))) {
    r->strings = as_tuple(&table->items[1], 0);
    records = r->strings ? as_tuple(&table->items[2], 0) : NULL;
  }
  for (size_t i = 0; records && i < records->len; i++) {
    bsm_source_range range;
    bool ok;
    BSM_TRY(read_record(r, &records->items[i], &range, &ok));
    if (!ok) continue;
    /* Searched by bisection: what is out of order is left out. */
    if (out->ranges.len &&
        range.offset < out->ranges.items[out->ranges.len - 1].offset) {
      continue;
    }
    if (!bsm_vec_push(r->arena, &out->ranges, range)) return BSM_FAIL_OOM();
  }
  return BSM_OK;
}

bsm_status bsm_source_ranges_read(bsm_arena *arena, bsm_type_table *types,
                                  bsm_str bytes, const bsm_limits *limits,
                                  bsm_source_ranges *out) {
  *out = (bsm_source_ranges){0};
  bsm_arena scratch;
  bsm_arena_init(&scratch, arena->allocator);
  reader r = {.arena = arena, .scratch = &scratch, .budget = SCAN_BUDGET};
  bsm_ivalue root;
  bsm_status status =
      bsm_unpickle(&scratch, types, bytes, "debug file", limits, NULL, &root);
  if (!status) {
    status = read_records(&r, &root, out);
  } else if (bsm_status_code(status) != BSM_OUT_OF_MEMORY) {
    bsm_status_free(status);
    status = BSM_OK;
  }
  bsm_arena_destroy(&scratch);
  return status;
}

const bsm_source_range *bsm_source_ranges_find(const bsm_source_ranges *ranges,
                                               uint64_t offset) {
  size_t low = 0, high = ranges->ranges.len;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (ranges->ranges.items[middle].offset <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low ? &ranges->ranges.items[low - 1] : NULL;
}
