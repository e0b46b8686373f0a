/* SPDX-License-Identifier: Apache-2.0 */
/* Reading .npy and .npz.
 *
 *   "\x93NUMPY" major minor | length of the header | header | data
 *
 * The length has two bytes in version 1 and four in versions 2 and 3. The
 * header is a Python dictionary of three fixed keys, padded with blanks and
 * ended by a newline:
 *
 *   {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }
 *
 * It is parsed as exactly that and never evaluated. */
#include "tools/npy.h"

#include <inttypes.h>
#include <string.h>

#include "base/byte_order.h"
#include "base/checked.h"
#include "torchscript/zip.h"

#define MAGIC "\x93NUMPY"
#define MAGIC_SIZE 6
#define MAX_TEXT 65536   /* characters of one string */
#define MAX_HEADER 65536 /* a rank of 12 needs some 300 bytes */
#define DEFAULT_MAX_FILE (UINT64_C(64) << 30)

/* ---- the header ---- */

typedef struct cursor {
  const char *start, *p, *end;
} cursor;

typedef struct header {
  bsm_dtype dtype;
  bool swapped; /* of the other byte order */
  bool fortran;
  bool wide;         /* text of UCS-4, else of bytes */
  size_t characters; /* of each text; 0: numbers */
  bsm_dims dims;
  size_t data_offset;
} header;

static bsm_status malformed(const cursor *c, const char *what) {
  return BSM_FAIL(BSM_CORRUPT, "array header, byte %zu: %s",
                  (size_t)(c->p - c->start), what);
}

static void skip_blanks(cursor *c) {
  while (c->p < c->end && *c->p == ' ') c->p++;
}

/* Takes `token` after blanks. */
static bool take(cursor *c, const char *token) {
  skip_blanks(c);
  const size_t length = strlen(token);
  if ((size_t)(c->end - c->p) < length || memcmp(c->p, token, length) != 0) {
    return false;
  }
  c->p += length;
  return true;
}

static bool take_string(cursor *c, bsm_str *out) {
  skip_blanks(c);
  if (c->p == c->end || (*c->p != '\'' && *c->p != '"')) return false;
  const char quote = *c->p;
  const char *first = c->p + 1;
  const char *last = memchr(first, quote, (size_t)(c->end - first));
  if (!last || memchr(first, '\\', (size_t)(last - first))) return false;
  *out = (bsm_str){first, (size_t)(last - first)};
  c->p = last + 1;
  return true;
}

static const struct {
  const char *code; /* without the byte order */
  bsm_dtype dtype;
} codes[] = {
    {"b1", BSM_DTYPE_BOOL},
    {"u1", BSM_DTYPE_UINT8},
    {"i1", BSM_DTYPE_INT8},
    {"i2", BSM_DTYPE_INT16},
    {"i4", BSM_DTYPE_INT32},
    {"i8", BSM_DTYPE_INT64},
    {"f2", BSM_DTYPE_HALF},
    {"f4", BSM_DTYPE_FLOAT},
    {"f8", BSM_DTYPE_DOUBLE},
    {"c8", BSM_DTYPE_COMPLEX_FLOAT},
    {"c16", BSM_DTYPE_COMPLEX_DOUBLE},
    {"V2", BSM_DTYPE_BFLOAT16},
};
#define CODE_COUNT (sizeof(codes) / sizeof(codes[0]))

static bool is_swapped(char order) {
  return order == (BSM_HOST_IS_BIG ? '<' : '>');
}

static bsm_status parse_descr(cursor *c, header *out) {
  bsm_str text;
  if (!take_string(c, &text)) {
    return take(c, "[") ? BSM_FAIL(BSM_UNSUPPORTED,
                                   "arrays of records are not supported")
                        : malformed(c, "a dtype string expected");
  }
  if (text.len < 2 || !memchr("<>|=", text.data[0], 4)) {
    return malformed(c, "a dtype such as '<f4' expected");
  }
  if (text.data[1] == 'O') {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "an array of Python objects holds a pickle, which is not "
                    "read");
  }
  const bsm_str code = {text.data + 1, text.len - 1};
  for (size_t i = 0; i < CODE_COUNT; i++) {
    if (!bsm_str_eq(code, bsm_str_of(codes[i].code))) continue;
    out->dtype = codes[i].dtype;
    out->swapped = is_swapped(text.data[0]);
    return BSM_OK;
  }
  int64_t length;
  if ((code.data[0] == 'U' || code.data[0] == 'S') &&
      bsm_parse_i64((bsm_str){code.data + 1, code.len - 1}, &length) &&
      length > 0 && length < MAX_TEXT && !is_swapped(text.data[0])) {
    out->wide = code.data[0] == 'U';
    out->characters = (size_t)length;
    out->dtype = BSM_DTYPE_UNDEFINED;
    return BSM_OK;
  }
  return BSM_FAIL(BSM_UNSUPPORTED, "dtype '%.*s' is not supported",
                  (int)(text.len < 64 ? text.len : 64), text.data);
}

static bsm_status parse_shape(cursor *c, bsm_dims *out) {
  if (!take(c, "(")) return malformed(c, "a shape tuple expected");
  out->rank = 0;
  while (!take(c, ")")) {
    skip_blanks(c);
    const char *first = c->p;
    while (c->p < c->end && *c->p >= '0' && *c->p <= '9') c->p++;
    int64_t dim;
    if (!bsm_parse_i64((bsm_str){first, (size_t)(c->p - first)}, &dim)) {
      return malformed(c, "a dimension expected");
    }
    if (out->rank == BSM_MAX_RANK) {
      return BSM_FAIL(BSM_UNSUPPORTED, "more than %d dimensions", BSM_MAX_RANK);
    }
    out->d[out->rank++] = dim;
    if (take(c, ",")) continue;
    /* "(3)" is a number in Python, not a tuple. */
    if (out->rank == 1 || !take(c, ")")) {
      return malformed(c, "',' or ')' expected");
    }
    return BSM_OK;
  }
  return BSM_OK;
}

static bsm_status parse_entry(cursor *c, unsigned *seen, header *out) {
  static const char *const keys[] = {"descr", "fortran_order", "shape"};
  bsm_str key;
  if (!take_string(c, &key)) return malformed(c, "a key expected");
  unsigned which = 0;
  while (which < 3 && !bsm_str_eq(key, bsm_str_of(keys[which]))) which++;
  if (which == 3) return malformed(c, "unknown key");
  if (*seen & (1u << which)) return malformed(c, "key given twice");
  *seen |= 1u << which;
  if (!take(c, ":")) return malformed(c, "':' expected");
  if (which == 0) return parse_descr(c, out);
  if (which == 2) return parse_shape(c, &out->dims);
  out->fortran = take(c, "True");
  if (!out->fortran && !take(c, "False")) {
    return malformed(c, "True or False expected");
  }
  return BSM_OK;
}

static bsm_status parse_dictionary(cursor *c, header *out) {
  unsigned seen = 0;
  if (!take(c, "{")) return malformed(c, "'{' expected");
  while (!take(c, "}")) {
    BSM_TRY(parse_entry(c, &seen, out));
    if (take(c, ",")) continue;
    if (!take(c, "}")) return malformed(c, "',' or '}' expected");
    break;
  }
  if (seen != 7) {
    return malformed(c, "descr, fortran_order and shape expected");
  }
  skip_blanks(c);
  if (c->p < c->end && *c->p == '\n') c->p++;
  return c->p == c->end ? BSM_OK : malformed(c, "text behind the dictionary");
}

static bsm_status parse_header(bsm_str file, header *out) {
  const unsigned char *p = (const unsigned char *)file.data;
  if (file.len < MAGIC_SIZE + 4 || memcmp(p, MAGIC, MAGIC_SIZE) != 0) {
    return BSM_FAIL(BSM_CORRUPT, "not an array: the magic of .npy is missing");
  }
  const int major = p[6], minor = p[7];
  if (major < 1 || major > 3 || minor != 0) {
    return BSM_FAIL(BSM_VERSION, ".npy version %d.%d is not supported", major,
                    minor);
  }
  size_t length = (size_t)p[8] | (size_t)p[9] << 8, start = 10;
  if (major > 1) {
    start = 12;
    if (file.len < start) return BSM_FAIL(BSM_CORRUPT, "the array ends early");
    length |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
  }
  if (length > MAX_HEADER) {
    return BSM_FAIL(BSM_LIMIT, "array header of %zu bytes, at most %d", length,
                    MAX_HEADER);
  }
  if (length > file.len - start) {
    return BSM_FAIL(BSM_CORRUPT, "the array ends inside its header");
  }
  *out = (header){.data_offset = start + length};
  cursor c = {file.data + start, file.data + start, file.data + start + length};
  return parse_dictionary(&c, out);
}

/* ---- the data ---- */

/* Bytes of the array, which must be exactly those behind the header. */
static bsm_status check_size(bsm_str file, const header *head, size_t *out) {
  size_t size = bsm_dtype_size(head->dtype);
  for (int32_t i = 0; i < head->dims.rank; i++) {
    if (head->dims.d[i] != 0) continue;
    size = 0; /* whatever the other dimensions are */
  }
  for (int32_t i = 0; size && i < head->dims.rank; i++) {
    if ((uint64_t)head->dims.d[i] > SIZE_MAX ||
        !bsm_size_mul(size, (size_t)head->dims.d[i], &size)) {
      return BSM_FAIL(BSM_CORRUPT, "the size of shape %s overflows",
                      bsm_dims_str(head->dims));
    }
  }
  const size_t present = file.len - head->data_offset;
  if (size != present) {
    return BSM_FAIL(
        BSM_CORRUPT, "%zu bytes of data, but %s of shape %s takes %zu", present,
        bsm_dtype_name(head->dtype), bsm_dims_str(head->dims), size);
  }
  *out = size;
  return BSM_OK;
}

/* Copies a column-major array into row-major order. */
static void transpose(const header *head, size_t item, const char *from,
                      char *to, size_t count) {
  int64_t index[BSM_MAX_RANK] = {0};
  size_t stride[BSM_MAX_RANK];
  size_t step = item;
  for (int32_t i = 0; i < head->dims.rank; i++) {
    stride[i] = step;
    step *= (size_t)head->dims.d[i];
  }
  size_t offset = 0;
  for (size_t n = 0; n < count; n++) {
    memcpy(to + n * item, from + offset, item);
    for (int32_t i = head->dims.rank; i-- > 0;) {
      offset += stride[i];
      if (++index[i] < head->dims.d[i]) break;
      offset -= stride[i] * (size_t)index[i];
      index[i] = 0;
    }
  }
}

static void swap_bytes(char *data, size_t size, size_t item) {
  for (size_t at = 0; at < size; at += item) {
    for (size_t i = 0; i < item / 2; i++) {
      const char other = data[at + i];
      data[at + i] = data[at + item - 1 - i];
      data[at + item - 1 - i] = other;
    }
  }
}

static bool is_complex(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_COMPLEX_FLOAT || dtype == BSM_DTYPE_COMPLEX_DOUBLE;
}

/* The array of a whole .npy; in place when it can be. */
static bsm_status read_array(bsm_arena *arena, bsm_str file, bsm_array *out) {
  header head;
  size_t size = 0;
  BSM_TRY(parse_header(file, &head));
  if (head.characters) {
    return BSM_FAIL(BSM_UNSUPPORTED, "an array of text, dtype '%c%zu'",
                    head.wide ? 'U' : 'S', head.characters);
  }
  BSM_TRY(check_size(file, &head, &size));
  const char *from = file.data + head.data_offset;
  *out = (bsm_array){
      .data = (void *)(uintptr_t)from, .dtype = head.dtype, .dims = head.dims};
  const bool aligned = ((uintptr_t)from & 63) == 0;
  const bool reorder = head.fortran && head.dims.rank > 1;
  if (aligned && !reorder && !head.swapped && head.dtype != BSM_DTYPE_BOOL) {
    return BSM_OK;
  }
  char *to = bsm_arena_alloc(arena, size, 64);
  BSM_TRY_ALLOC(to);
  out->data = to;
  const size_t item = bsm_dtype_size(head.dtype);
  if (reorder) {
    transpose(&head, item, from, to, size / item);
  } else if (size) {
    memcpy(to, from, size);
  }
  if (head.swapped) {
    swap_bytes(to, size, is_complex(head.dtype) ? item / 2 : item);
  }
  if (head.dtype == BSM_DTYPE_BOOL) {
    /* NumPy calls every byte but zero true; ours are 0 and 1. */
    for (size_t i = 0; i < size; i++) to[i] = to[i] != 0;
  }
  return BSM_OK;
}

/* One string, up to its first NUL. */
static const char *read_text(bsm_arena *arena, const char *from,
                             const header *head) {
  bsm_text text;
  bsm_text_init(&text, arena);
  for (size_t i = 0; i < head->characters; i++) {
    const unsigned char *p = (const unsigned char *)from + i;
    uint32_t c = *p;
    if (head->wide) memcpy(&c, from + 4 * i, sizeof(c));
    if (!c || c > 0x10ffff) break;
    if (!head->wide || c < 0x80) {
      bsm_text_append(&text, (bsm_str){&(char){(char)c}, 1});
      continue;
    }
    char utf8[4];
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t k = n; k-- > 1; c >>= 6) utf8[k] = (char)(0x80 | (c & 0x3f));
    utf8[0] = (char)((0xf00u >> n & 0xff) | c);
    bsm_text_append(&text, (bsm_str){utf8, n});
  }
  return text.failed ? NULL : text.len ? text.data : "";
}

/* The strings of a text array; *is_text is false for any other. */
static bsm_status read_strings(bsm_arena *arena, bsm_str file,
                               bsm_npy_array *out, bool *is_text) {
  header head;
  *is_text = false;
  BSM_TRY(parse_header(file, &head));
  if (!head.characters || head.dims.rank > 1) return BSM_OK;
  const size_t item = head.characters * (head.wide ? 4 : 1);
  const size_t present = file.len - head.data_offset;
  const size_t count = head.dims.rank ? (size_t)head.dims.d[0] : 1;
  if (count != present / item || present % item) {
    return BSM_FAIL(BSM_CORRUPT, "%zu bytes of text for %zu strings of %zu",
                    present, count, item);
  }
  const char **strings = BSM_NEW_ARRAY(arena, const char *, count + 1);
  BSM_TRY_ALLOC(strings);
  for (size_t i = 0; i < count; i++) {
    strings[i] =
        read_text(arena, file.data + head.data_offset + i * item, &head);
    BSM_TRY_ALLOC(strings[i]);
  }
  out->strings = strings;
  out->array = (bsm_array){.dtype = BSM_DTYPE_UNDEFINED, .dims = head.dims};
  *is_text = true;
  return BSM_OK;
}

/* A member that nobody may ask for is no reason to fail. */
static bsm_status read_contents(bsm_arena *arena, bsm_str bytes,
                                bsm_npy_array *out) {
  bool is_text;
  bsm_status status = read_strings(arena, bytes, out, &is_text);
  if (!status && is_text) return BSM_OK;
  if (!status) status = read_array(arena, bytes, &out->array);
  if (bsm_status_code(status) != BSM_UNSUPPORTED) return status;
  out->array = (bsm_array){.dtype = BSM_DTYPE_UNDEFINED};
  out->problem = bsm_arena_strdup(arena, bsm_status_message(status));
  bsm_status_free(status);
  return out->problem ? BSM_OK : BSM_FAIL_OOM();
}

static bsm_status read_member(bsm_npy_file *file, bsm_zip *zip,
                              const bsm_zip_entry *entry, bsm_npy_array *out) {
  bsm_str name = entry->name, bytes;
  if (!bsm_str_ends_with(name, BSM_STR(".npy"))) {
    return BSM_FAIL(BSM_CORRUPT, "not an array: its name does not end in .npy");
  }
  out->name = bsm_arena_strndup(&file->arena, name.data, name.len - 4);
  BSM_TRY_ALLOC(out->name);
  BSM_TRY(bsm_zip_read(zip, &file->arena, entry, true, &bytes));
  return read_contents(&file->arena, bytes, out);
}

static bsm_status read_archive(bsm_npy_file *file, bsm_str data,
                               const bsm_limits *limits) {
  bsm_zip zip;
  BSM_TRY(bsm_zip_open(&file->arena, data.data, data.len, limits, &zip));
  file->items = BSM_NEW_ARRAY(&file->arena, bsm_npy_array, zip.count);
  BSM_TRY_ALLOC(file->items);
  for (size_t i = 0; i < zip.count; i++) {
    const bsm_str name = zip.entries[i].name;
    BSM_TRY_NOTE(read_member(file, &zip, &zip.entries[i], &file->items[i]),
                 "in member %.*s", (int)(name.len < 200 ? name.len : 200),
                 name.data);
    file->count++;
  }
  return BSM_OK;
}

static bsm_status read_any(bsm_npy_file *file, bsm_str data,
                           const bsm_limits *limits) {
  if (data.len >= 4 && memcmp(data.data, "PK", 2) == 0) {
    return read_archive(file, data, limits);
  }
  file->items = BSM_NEW(&file->arena, bsm_npy_array);
  BSM_TRY_ALLOC(file->items);
  file->items[0].name = "";
  BSM_TRY(read_array(&file->arena, data, &file->items[0].array));
  file->count = 1;
  return BSM_OK;
}

bsm_status bsm_npy_open_memory(const void *data, size_t size,
                               const bsm_limits *limits, bsm_npy_file *out) {
  *out = (bsm_npy_file){0};
  bsm_arena_init(&out->arena, NULL);
  bsm_status status = read_any(out, (bsm_str){data, size}, limits);
  if (status) bsm_npy_close(out);
  return status;
}

bsm_status bsm_npy_open(const char *path, const bsm_limits *limits,
                        bsm_npy_file *out) {
  *out = (bsm_npy_file){0};
  const uint64_t max = limits && limits->max_file_bytes ? limits->max_file_bytes
                                                        : DEFAULT_MAX_FILE;
  const bsm_file_map_options reading = {.max_bytes = max};
  bsm_file_map map;
  BSM_TRY(bsm_file_map_open(path, &reading, &map));
  bsm_status status = bsm_npy_open_memory(map.data, map.size, limits, out);
  if (status) {
    bsm_file_map_close(&map);
    return bsm_status_note(status, "in %s", path);
  }
  out->map = map;
  return BSM_OK;
}

void bsm_npy_close(bsm_npy_file *file) {
  bsm_arena_destroy(&file->arena);
  bsm_file_map_close(&file->map);
  file->items = NULL;
  file->count = 0;
}

const bsm_array *bsm_npy_find(const bsm_npy_file *file, const char *name) {
  for (size_t i = 0; i < file->count; i++) {
    if (strcmp(file->items[i].name, name) == 0) return &file->items[i].array;
  }
  return NULL;
}
