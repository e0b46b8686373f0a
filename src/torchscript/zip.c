/* SPDX-License-Identifier: Apache-2.0 */
/* Zip archives in memory: end records, directory, members.
 *
 *   [local header, name, extra | payload | descriptor?]*  members
 *   [central header, name, extra, comment]*               directory
 *   [end64 record][end64 locator]                         zip64, optional
 *   [end record][comment]
 *
 * Whatever two readers could understand differently is refused: a second
 * plausible end record, a directory that does not touch the end records, a
 * local header that disagrees, members that overlap, data between members that
 * belongs to none, names that occur twice. All numbers are little-endian and
 * none is believed before it was compared with the size of the file. */
#include "torchscript/zip.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/checked.h"
#include "base/resolve_limits.h"

#define SIGNATURE_LOCAL 0x04034b50u
#define SIGNATURE_CENTRAL 0x02014b50u
#define SIGNATURE_END 0x06054b50u
#define SIGNATURE_END64 0x06064b50u
#define SIGNATURE_LOCATOR 0x07064b50u
#define SIGNATURE_DESCRIPTOR 0x08074b50u

enum {
  LOCAL_SIZE = 30,
  CENTRAL_SIZE = 46,
  END_SIZE = 22,
  END64_SIZE = 56,
  LOCATOR_SIZE = 20,
  MAX_GAP = 65536,
  FLAG_ENCRYPTED = 0x0001,
  FLAG_DESCRIPTOR = 0x0008,
  FLAG_PATCH = 0x0020,
  FLAG_STRONG = 0x0040,
  FLAG_MASKED = 0x2000,
  METHOD_STORED = 0,
  METHOD_DEFLATED = 8,
  EXTRA_ZIP64 = 1
};

static uint16_t get16(const uint8_t *p) {
  return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p) {
  return (uint32_t)get16(p) | (uint32_t)get16(p + 2) << 16;
}

static uint64_t get64(const uint8_t *p) {
  return (uint64_t)get32(p) | (uint64_t)get32(p + 4) << 32;
}

/* Whether [offset, offset + size) lies inside [0, limit). */
static bool fits(uint64_t offset, uint64_t size, uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

/* ---- end records ---- */

typedef struct directory {
  uint64_t offset, size, count;
} directory;

/* The end record: its comment must reach exactly to the end of the file, and
 * only one position may do so. */
static bsm_status find_end(const uint8_t *data, size_t size, size_t *out) {
  bool found = false;
  if (size >= END_SIZE) {
    const size_t first =
        size - END_SIZE > 0xffff ? size - END_SIZE - 0xffff : 0;
    for (size_t at = size - END_SIZE;; at--) {
      if (get32(data + at) == SIGNATURE_END &&
          at + END_SIZE + get16(data + at + 20) == size) {
        if (found) {
          return BSM_FAIL(BSM_CORRUPT,
                          "zip: two end records, at offsets %zu and %zu", at,
                          *out);
        }
        found = true;
        *out = at;
      }
      if (at == first) break;
    }
  }
  if (!found) {
    return BSM_FAIL(BSM_CORRUPT,
                    "zip: no end of central directory in %zu bytes: the file "
                    "is truncated or not a zip archive",
                    size);
  }
  return BSM_OK;
}

/* A field of the end record against that of the zip64 record: equal, or all
 * ones. */
static bool agrees(uint64_t narrow, uint64_t all_ones, uint64_t wide) {
  return narrow == wide || narrow == all_ones;
}

/* The zip64 record in front of the locator at `locator`. */
static bsm_status read_end64(const uint8_t *data, size_t locator, size_t end,
                             directory *dir, uint64_t *dir_end) {
  const uint64_t at = get64(data + locator + 8);
  if (get32(data + locator + 4) != 0 || get32(data + locator + 16) > 1) {
    return BSM_FAIL(BSM_UNSUPPORTED, "zip: an archive on several disks");
  }
  if (!fits(at, END64_SIZE, locator) || get32(data + at) != SIGNATURE_END64) {
    return BSM_FAIL(BSM_CORRUPT,
                    "zip: the locator at offset %zu points to %llu, which is "
                    "no zip64 end record",
                    locator, (unsigned long long)at);
  }
  const uint8_t *p = data + at, *e = data + end;
  const uint64_t record = get64(p + 4);
  if (record < END64_SIZE - 12 || record != locator - at - 12) {
    return BSM_FAIL(BSM_CORRUPT,
                    "zip: the zip64 end record at offset %llu has a wrong "
                    "size",
                    (unsigned long long)at);
  }
  *dir = (directory){get64(p + 48), get64(p + 40), get64(p + 32)};
  if (get32(p + 16) != 0 || get32(p + 20) != 0 || get64(p + 24) != dir->count) {
    return BSM_FAIL(BSM_UNSUPPORTED, "zip: an archive on several disks");
  }
  if (!agrees(get16(e + 10), 0xffff, dir->count) ||
      !agrees(get32(e + 12), 0xffffffff, dir->size) ||
      !agrees(get32(e + 16), 0xffffffff, dir->offset)) {
    return BSM_FAIL(BSM_CORRUPT,
                    "zip: the two end records at offsets %llu and %zu "
                    "disagree",
                    (unsigned long long)at, end);
  }
  *dir_end = at;
  return BSM_OK;
}

static bsm_status read_end(const uint8_t *data, size_t size, directory *dir) {
  size_t end = 0;
  BSM_TRY(find_end(data, size, &end));
  const uint8_t *p = data + end;
  const uint16_t disk = get16(p + 4), dir_disk = get16(p + 6);
  if ((disk != 0 && disk != 0xffff) || (dir_disk != 0 && dir_disk != 0xffff)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "zip: an archive on several disks");
  }
  uint64_t dir_end = end;
  if (end >= LOCATOR_SIZE &&
      get32(data + end - LOCATOR_SIZE) == SIGNATURE_LOCATOR) {
    BSM_TRY(read_end64(data, end - LOCATOR_SIZE, end, dir, &dir_end));
  } else {
    *dir = (directory){get32(p + 16), get32(p + 12), get16(p + 10)};
    if (get16(p + 8) != dir->count) {
      return BSM_FAIL(BSM_UNSUPPORTED, "zip: an archive on several disks");
    }
  }
  if (!fits(dir->offset, dir->size, dir_end) ||
      dir->offset + dir->size != dir_end) {
    return BSM_FAIL(BSM_CORRUPT,
                    "zip: the directory (%llu bytes at offset %llu) does not "
                    "end at the end record (offset %llu)",
                    (unsigned long long)dir->size,
                    (unsigned long long)dir->offset,
                    (unsigned long long)dir_end);
  }
  if (dir->count > dir->size / CENTRAL_SIZE) {
    return BSM_FAIL(
        BSM_CORRUPT, "zip: %llu members in a directory of %llu bytes",
        (unsigned long long)dir->count, (unsigned long long)dir->size);
  }
  return BSM_OK;
}

/* ---- extra fields ---- */

/* The zip64 extra field of a header. *out is NULL when there is none. */
static bsm_status find_zip64(const uint8_t *extra, size_t size, uint64_t at,
                             const uint8_t **out, size_t *out_size) {
  *out = NULL;
  *out_size = 0;
  size_t i = 0;
  while (size - i >= 4) {
    const uint16_t id = get16(extra + i), len = get16(extra + i + 2);
    i += 4;
    if (len > size - i) break;
    if (id == EXTRA_ZIP64) {
      if (*out) {
        return BSM_FAIL(BSM_CORRUPT,
                        "zip: two zip64 fields in the header at offset %llu",
                        (unsigned long long)at);
      }
      *out = extra + i;
      *out_size = len;
    }
    i += len;
  }
  /* Trailing zeros are padding (zipalign writes 1 to 3 of them). */
  for (size_t k = i; k < size; k++) {
    if (size - i >= 4 || extra[k] != 0) {
      return BSM_FAIL(BSM_CORRUPT,
                      "zip: malformed extra field in the header at offset %llu",
                      (unsigned long long)at);
    }
  }
  return BSM_OK;
}

/* Takes the next 64-bit number of a zip64 field when `*value` is all ones. */
static bsm_status widen(uint64_t *value, const uint8_t **field, size_t *left,
                        uint64_t at) {
  if (*value != 0xffffffff) return BSM_OK;
  if (*left < 8) {
    return BSM_FAIL(BSM_CORRUPT,
                    "zip: the header at offset %llu lacks its zip64 sizes",
                    (unsigned long long)at);
  }
  *value = get64(*field);
  *field += 8;
  *left -= 8;
  return BSM_OK;
}

/* ---- names ---- */

/* Names are only compared, but whoever unpacks the archive opens them. */
static bool name_is_harmless(bsm_str name) {
  if (name.len == 0 || name.data[0] == '/' ||
      memchr(name.data, '\0', name.len) || memchr(name.data, '\\', name.len)) {
    return false;
  }
  size_t start = 0;
  for (size_t i = 0; i <= name.len; i++) {
    if (i < name.len && name.data[i] != '/') continue;
    if (i - start == 2 && name.data[start] == '.' &&
        name.data[start + 1] == '.') {
      return false;
    }
    start = i + 1;
  }
  return true;
}

/* At most 60 bytes of a name, for messages: "%.*s". */
#define NAME_ARGS(name) \
  (int)((name).len < 60 ? (name).len : 60), (name).data ? (name).data : ""

/* ---- members ---- */

/* Where a member lies, header to descriptor, for the overlap check. */
typedef struct extent {
  uint64_t begin, end;
} extent;

/* The sizes and CRC of a local header: as in the directory, or not yet known
 * when a descriptor follows. */
static bsm_status check_local_sizes(const uint8_t *p, bool descriptor,
                                    const bsm_zip_entry *e, uint64_t at) {
  uint64_t size = get32(p + 22), compressed = get32(p + 18);
  const uint32_t crc = get32(p + 14);
  const uint8_t *field;
  size_t left;
  BSM_TRY(find_zip64(p + LOCAL_SIZE + get16(p + 26), get16(p + 28), at, &field,
                     &left));
  if (field && size == 0xffffffff && compressed == 0xffffffff) {
    BSM_TRY(widen(&size, &field, &left, at));
    BSM_TRY(widen(&compressed, &field, &left, at));
  }
  const bool unknown = descriptor && crc == 0 && size == 0 && compressed == 0;
  /* Some writers leave a 0 next to fields that they know. */
  const bool partly = descriptor && (crc == e->crc || crc == 0) &&
                      (size == e->size || size == 0) &&
                      (compressed == e->compressed || compressed == 0);
  const bool same =
      crc == e->crc && size == e->size && compressed == e->compressed;
  if (!unknown && !partly && !same) {
    return BSM_FAIL(BSM_CORRUPT,
                    "zip: the local header at offset %llu disagrees with the "
                    "directory about member \"%.*s\"",
                    (unsigned long long)at, NAME_ARGS(e->name));
  }
  return BSM_OK;
}

/* The descriptor behind the payload: CRC and both sizes, 4 or 8 bytes each,
 * with or without a signature. */
static bsm_status skip_descriptor(const bsm_zip *zip, uint64_t limit,
                                  const bsm_zip_entry *e, uint64_t *end) {
  for (int form = 0; form < 4; form++) {
    const bool wide = form & 1, is_signed = !(form & 2);
    const uint64_t size = (is_signed ? 4u : 0u) + (wide ? 20u : 12u);
    if (!fits(*end, size, limit)) continue;
    const uint8_t *p = zip->data + *end;
    if (is_signed) {
      if (get32(p) != SIGNATURE_DESCRIPTOR) continue;
      p += 4;
    }
    const uint64_t compressed = wide ? get64(p + 4) : get32(p + 4);
    const uint64_t plain = wide ? get64(p + 12) : get32(p + 8);
    if (get32(p) == e->crc && compressed == e->compressed && plain == e->size) {
      *end += size;
      return BSM_OK;
    }
  }
  return BSM_FAIL(BSM_CORRUPT,
                  "zip: the descriptor at offset %llu disagrees with the "
                  "directory about member \"%.*s\"",
                  (unsigned long long)*end, NAME_ARGS(e->name));
}

/* Compares the local header at `at` with the directory and finds the payload.
 * `limit`: where the directory begins. */
static bsm_status read_local(const bsm_zip *zip, uint64_t limit, uint64_t at,
                             uint16_t flags, bsm_zip_entry *e, extent *where) {
  if (!fits(at, LOCAL_SIZE, limit) ||
      get32(zip->data + at) != SIGNATURE_LOCAL) {
    return BSM_FAIL(BSM_CORRUPT,
                    "zip: no local header at offset %llu for member \"%.*s\"",
                    (unsigned long long)at, NAME_ARGS(e->name));
  }
  const uint8_t *p = zip->data + at;
  const uint16_t name_size = get16(p + 26), extra_size = get16(p + 28);
  const uint64_t head = (uint64_t)LOCAL_SIZE + name_size + extra_size;
  if (!fits(at, head, limit)) {
    return BSM_FAIL(BSM_CORRUPT,
                    "zip: the local header at offset %llu is cut off",
                    (unsigned long long)at);
  }
  if (!bsm_str_eq((bsm_str){(const char *)p + LOCAL_SIZE, name_size},
                  e->name) ||
      get16(p + 6) != flags || get16(p + 8) != e->method) {
    return BSM_FAIL(BSM_CORRUPT,
                    "zip: the local header at offset %llu disagrees with the "
                    "directory about member \"%.*s\"",
                    (unsigned long long)at, NAME_ARGS(e->name));
  }
  const bool descriptor = (flags & FLAG_DESCRIPTOR) != 0;
  BSM_TRY(check_local_sizes(p, descriptor, e, at));
  e->data_offset = at + head;
  if (!fits(e->data_offset, e->compressed, limit)) {
    return BSM_FAIL(BSM_CORRUPT,
                    "zip: member \"%.*s\" (%llu bytes at offset %llu) runs "
                    "into the directory",
                    NAME_ARGS(e->name), (unsigned long long)e->compressed,
                    (unsigned long long)e->data_offset);
  }
  *where = (extent){at, e->data_offset + e->compressed};
  if (descriptor) BSM_TRY(skip_descriptor(zip, limit, e, &where->end));
  return BSM_OK;
}

static bsm_status check_header(const bsm_zip *zip, const bsm_zip_entry *e,
                               uint16_t flags, uint64_t at) {
  if (e->name.len > zip->limits.max_name_bytes) {
    return BSM_FAIL(BSM_LIMIT,
                    "zip: a member name of %zu bytes at offset %llu; the "
                    "limit is %llu",
                    e->name.len, (unsigned long long)at,
                    (unsigned long long)zip->limits.max_name_bytes);
  }
  if (!name_is_harmless(e->name)) {
    return BSM_FAIL(BSM_CORRUPT,
                    "zip: the member name at offset %llu is not a relative "
                    "path",
                    (unsigned long long)at);
  }
  if (flags & (FLAG_ENCRYPTED | FLAG_STRONG | FLAG_MASKED | FLAG_PATCH)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "zip: member \"%.*s\" is encrypted",
                    NAME_ARGS(e->name));
  }
  if (e->method == METHOD_STORED && e->compressed != e->size) {
    return BSM_FAIL(BSM_CORRUPT,
                    "zip: stored member \"%.*s\" has two sizes, %llu and %llu",
                    NAME_ARGS(e->name), (unsigned long long)e->compressed,
                    (unsigned long long)e->size);
  }
  return BSM_OK;
}

/* One header of the directory at `*at`, which moves behind it. */
static bsm_status read_central(const bsm_zip *zip, const directory *dir,
                               uint64_t *at, bsm_zip_entry *e, extent *where) {
  const uint64_t end = dir->offset + dir->size;
  if (!fits(*at, CENTRAL_SIZE, end) ||
      get32(zip->data + *at) != SIGNATURE_CENTRAL) {
    return BSM_FAIL(BSM_CORRUPT, "zip: no directory header at offset %llu",
                    (unsigned long long)*at);
  }
  const uint8_t *p = zip->data + *at;
  const uint16_t flags = get16(p + 8), name_size = get16(p + 28),
                 extra_size = get16(p + 30), comment_size = get16(p + 32);
  const uint64_t whole =
      (uint64_t)CENTRAL_SIZE + name_size + extra_size + comment_size;
  if (!fits(*at, whole, end)) {
    return BSM_FAIL(BSM_CORRUPT,
                    "zip: the directory header at offset %llu is cut off",
                    (unsigned long long)*at);
  }
  e->name = (bsm_str){(const char *)p + CENTRAL_SIZE, name_size};
  e->method = get16(p + 10);
  e->crc = get32(p + 16);
  e->compressed = get32(p + 20);
  e->size = get32(p + 24);
  uint64_t local = get32(p + 42), disk = get16(p + 34);
  const uint8_t *field;
  size_t left;
  BSM_TRY(
      find_zip64(p + CENTRAL_SIZE + name_size, extra_size, *at, &field, &left));
  BSM_TRY(widen(&e->size, &field, &left, *at));
  BSM_TRY(widen(&e->compressed, &field, &left, *at));
  BSM_TRY(widen(&local, &field, &left, *at));
  if (disk == 0xffff && left >= 4) disk = get32(field);
  if (disk != 0) {
    return BSM_FAIL(BSM_UNSUPPORTED, "zip: an archive on several disks");
  }
  BSM_TRY(check_header(zip, e, flags, *at));
  BSM_TRY(read_local(zip, dir->offset, local, flags, e, where));
  *at += whole;
  return BSM_OK;
}

/* ---- overlaps ---- */

static int compare_extents(const void *a, const void *b) {
  const extent *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}

/* Members must not overlap, and what lies between them must be short padding
 * of zeros. */
static bsm_status check_layout(const bsm_zip *zip, extent *extents,
                               size_t count, uint64_t limit) {
  if (count) qsort(extents, count, sizeof(*extents), compare_extents);
  uint64_t end = 0;
  for (size_t i = 0; i <= count; i++) {
    const uint64_t begin = i < count ? extents[i].begin : limit;
    if (begin < end) {
      return BSM_FAIL(BSM_CORRUPT,
                      "zip: members overlap: one begins at offset %llu, the "
                      "one before ends at %llu",
                      (unsigned long long)begin, (unsigned long long)end);
    }
    bool clean = begin - end <= MAX_GAP;
    for (uint64_t k = end; clean && k < begin; k++) clean = zip->data[k] == 0;
    if (!clean) {
      return BSM_FAIL(
          BSM_CORRUPT, "zip: %llu bytes at offset %llu belong to no member",
          (unsigned long long)(begin - end), (unsigned long long)end);
    }
    if (i < count) end = extents[i].end;
  }
  return BSM_OK;
}

static bsm_status read_directory(bsm_zip *zip, bsm_arena *arena,
                                 bsm_arena *scratch, const directory *dir) {
  extent *extents = BSM_NEW_ARRAY(scratch, extent, (size_t)dir->count);
  BSM_TRY_ALLOC(extents);
  zip->entries = BSM_NEW_ARRAY(arena, bsm_zip_entry, (size_t)dir->count);
  BSM_TRY_ALLOC(zip->entries);
  uint64_t at = dir->offset;
  for (size_t i = 0; i < dir->count; i++) {
    bsm_zip_entry *e = &zip->entries[i];
    BSM_TRY(read_central(zip, dir, &at, e, &extents[i]));
    if (bsm_strmap_get(&zip->by_name, e->name)) {
      return BSM_FAIL(BSM_CORRUPT, "zip: member \"%.*s\" occurs twice",
                      NAME_ARGS(e->name));
    }
    if (!bsm_strmap_set(arena, &zip->by_name, e->name, e)) {
      return BSM_FAIL_OOM();
    }
    zip->count++;
  }
  if (at != dir->offset + dir->size) {
    return BSM_FAIL(BSM_CORRUPT,
                    "zip: %llu bytes of the directory at offset %llu belong "
                    "to no member",
                    (unsigned long long)(dir->offset + dir->size - at),
                    (unsigned long long)at);
  }
  return check_layout(zip, extents, zip->count, dir->offset);
}

bsm_status bsm_zip_open(bsm_arena *arena, const void *data, size_t size,
                        const bsm_limits *limits, bsm_zip *out) {
  *out = (bsm_zip){.data = data, .data_size = size};
  out->limits = bsm_resolve_limits(limits);
  if (size > out->limits.max_file_bytes) {
    return BSM_FAIL(BSM_LIMIT, "zip: a file of %zu bytes; the limit is %llu",
                    size, (unsigned long long)out->limits.max_file_bytes);
  }
  directory dir = {0};
  BSM_TRY(read_end(data, size, &dir));
  if (dir.count > out->limits.max_entries) {
    return BSM_FAIL(BSM_LIMIT, "zip: %llu members; the limit is %llu",
                    (unsigned long long)dir.count,
                    (unsigned long long)out->limits.max_entries);
  }
  bsm_arena scratch;
  bsm_arena_init(&scratch, arena->allocator);
  const bsm_status status = read_directory(out, arena, &scratch, &dir);
  bsm_arena_destroy(&scratch);
  return status;
}

const bsm_zip_entry *bsm_zip_find(const bsm_zip *zip, bsm_str name) {
  return bsm_strmap_get(&zip->by_name, name);
}

/* ---- reading ---- */

static bsm_status verify_crc(const bsm_zip_entry *e, const uint8_t *data) {
  const uLong crc = crc32_z(crc32_z(0, NULL, 0), data, (z_size_t)e->size);
  if (crc != e->crc) {
    return BSM_FAIL(BSM_CORRUPT,
                    "zip: CRC of member \"%.*s\" (%llu bytes at offset %llu) "
                    "is %08lx, the archive says %08lx",
                    NAME_ARGS(e->name), (unsigned long long)e->compressed,
                    (unsigned long long)e->data_offset, crc,
                    (unsigned long)e->crc);
  }
  return BSM_OK;
}

/* zlib's memory comes from an arena and goes with it. */
static voidpf inflate_alloc(voidpf arena, uInt count, uInt size) {
  return bsm_arena_alloc_array(arena, count, size, _Alignof(max_align_t));
}

static void inflate_free(voidpf arena, voidpf pointer) {
  (void)arena;
  (void)pointer;
}

static uInt at_most_1g(size_t n) {
  return n > (1u << 30) ? 1u << 30 : (uInt)n;
}

/* Inflates all of `src` into all of `dst`. Z_OK; Z_MEM_ERROR; anything else
 * when the data is malformed or of another size. */
static int inflate_exactly(z_stream *z, const uint8_t *src, size_t src_size,
                           uint8_t *dst, size_t dst_size) {
  int result = Z_OK;
  /* One spare byte tells a stream that is too long from one that fits. */
  uint8_t spare;
  size_t in = 0, out = 0;
  while (result == Z_OK) {
    z->next_in = (z_const Bytef *)(src + in);
    z->avail_in = at_most_1g(src_size - in);
    z->next_out = out < dst_size ? dst + out : &spare;
    z->avail_out = out < dst_size ? at_most_1g(dst_size - out) : 1;
    const uInt in_before = z->avail_in, out_before = z->avail_out;
    result = inflate(z, Z_NO_FLUSH);
    in += in_before - z->avail_in;
    out += out_before - z->avail_out;
    if (out > dst_size) return Z_DATA_ERROR;
    if (in_before == z->avail_in && out_before == z->avail_out) break;
  }
  if (result == Z_MEM_ERROR) return result;
  return result == Z_STREAM_END && in == src_size && out == dst_size
             ? Z_OK
             : Z_DATA_ERROR;
}

/* The limits of a deflated member, before anything is allocated. */
static bsm_status check_bomb(const bsm_zip *zip, const bsm_zip_entry *e) {
  const uint64_t ratio = zip->limits.max_inflate_ratio;
  uint64_t largest;
  if (!__builtin_mul_overflow(e->compressed, ratio, &largest) &&
      e->size > largest) {
    return BSM_FAIL(BSM_LIMIT,
                    "zip: member \"%.*s\" inflates from %llu to %llu bytes; "
                    "the limit is 1 : %llu",
                    NAME_ARGS(e->name), (unsigned long long)e->compressed,
                    (unsigned long long)e->size, (unsigned long long)ratio);
  }
  if (!fits(zip->inflated, e->size, zip->limits.max_inflated)) {
    return BSM_FAIL(BSM_LIMIT,
                    "zip: inflating member \"%.*s\" (%llu bytes) exceeds the "
                    "limit of %llu bytes for the archive",
                    NAME_ARGS(e->name), (unsigned long long)e->size,
                    (unsigned long long)zip->limits.max_inflated);
  }
  return BSM_OK;
}

static bsm_status inflate_member(bsm_zip *zip, bsm_arena *arena,
                                 const bsm_zip_entry *e, uint8_t **out) {
  BSM_TRY(check_bomb(zip, e));
  uint8_t *data = bsm_arena_alloc(arena, (size_t)e->size, 64);
  BSM_TRY_ALLOC(data);
  bsm_arena scratch;
  bsm_arena_init(&scratch, arena->allocator);
  z_stream z = {
      .zalloc = inflate_alloc, .zfree = inflate_free, .opaque = &scratch};
  int result = inflateInit2(&z, -15);
  if (result == Z_OK) {
    result = inflate_exactly(&z, zip->data + e->data_offset,
                             (size_t)e->compressed, data, (size_t)e->size);
    inflateEnd(&z);
  }
  bsm_arena_destroy(&scratch);
  if (result == Z_MEM_ERROR) return BSM_FAIL_OOM();
  if (result != Z_OK) {
    return BSM_FAIL(BSM_CORRUPT,
                    "zip: the deflated data of member \"%.*s\" (%llu bytes at "
                    "offset %llu) is malformed",
                    NAME_ARGS(e->name), (unsigned long long)e->compressed,
                    (unsigned long long)e->data_offset);
  }
  zip->inflated += e->size;
  *out = data;
  return BSM_OK;
}

bsm_status bsm_zip_read(bsm_zip *zip, bsm_arena *arena,
                        const bsm_zip_entry *entry, bool check_crc,
                        bsm_str *out) {
  const uint8_t *bytes = zip->data + entry->data_offset;
  if (entry->method == METHOD_DEFLATED) {
    uint8_t *inflated = NULL;
    BSM_TRY(inflate_member(zip, arena, entry, &inflated));
    bytes = inflated;
  } else if (entry->method != METHOD_STORED) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "zip: member \"%.*s\" uses compression method %u; stored "
                    "and deflated members can be read",
                    NAME_ARGS(entry->name), entry->method);
  }
  if (check_crc) BSM_TRY(verify_crc(entry, bytes));
  *out = (bsm_str){(const char *)bytes, (size_t)entry->size};
  return BSM_OK;
}
