/* SPDX-License-Identifier: Apache-2.0 */
/* Writing .npy and .npz. Members of an .npz are stored; sizes and offsets
 * beyond 4 GiB use the zip64 records. */
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "base/byte_order.h"
#include "base/checked.h"
#include "tools/npy.h"
#include "tools/terminal.h"

static const char *descr_of(bsm_dtype dtype) {
  switch (dtype) {
    case BSM_DTYPE_BOOL:
      return "|b1";
    case BSM_DTYPE_UINT8:
      return "|u1";
    case BSM_DTYPE_INT8:
      return "|i1";
    case BSM_DTYPE_INT16:
      return "<i2";
    case BSM_DTYPE_INT32:
      return "<i4";
    case BSM_DTYPE_INT64:
      return "<i8";
    case BSM_DTYPE_HALF:
      return "<f2";
    case BSM_DTYPE_FLOAT:
      return "<f4";
    case BSM_DTYPE_DOUBLE:
      return "<f8";
    case BSM_DTYPE_COMPLEX_FLOAT:
      return "<c8";
    case BSM_DTYPE_COMPLEX_DOUBLE:
      return "<c16";
    case BSM_DTYPE_BFLOAT16:
      return "<V2";
    default:
      return NULL;
  }
}

bool bsm_npy_is_npz_path(const char *path) {
  return bsm_str_ends_with(bsm_str_of(path), BSM_STR(".npz"));
}

bsm_status bsm_npy_header(bsm_arena *arena, const bsm_array *array,
                          bsm_str *out) {
  const char *descr = descr_of(array->dtype);
  if (!descr) {
    return BSM_FAIL(BSM_UNSUPPORTED, "NumPy's file format has no %s",
                    bsm_dtype_name(array->dtype));
  }
  bsm_text text;
  bsm_text_init(&text, arena);
  bsm_text_append(&text, (bsm_str){"\x93NUMPY\x01\x00..", 10});
  const char order = *descr == '<' && BSM_HOST_IS_BIG ? '>' : *descr;
  bsm_text_printf(&text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                  order, descr + 1);
  for (int32_t i = 0; i < array->dims.rank; i++) {
    bsm_text_printf(&text, "%s%" PRId64, i ? ", " : "", array->dims.d[i]);
  }
  bsm_text_puts(&text, array->dims.rank == 1 ? ",), }" : "), }");
  /* The data starts at a multiple of 64. */
  while (text.len % 64 != 63 && !text.failed) bsm_text_puts(&text, " ");
  bsm_text_puts(&text, "\n");
  if (text.failed) return BSM_FAIL_OOM();
  const size_t length = text.len - 10;
  text.data[8] = (char)(length & 0xff);
  text.data[9] = (char)(length >> 8);
  *out = (bsm_str){text.data, text.len};
  return BSM_OK;
}

static bsm_status data_size(const bsm_array *array, size_t *out) {
  size_t size = bsm_dtype_size(array->dtype);
  for (int32_t i = 0; i < array->dims.rank; i++) {
    if (array->dims.d[i] < 0 ||
        !bsm_size_mul(size, (size_t)array->dims.d[i], &size)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "an array of shape %s has no size",
                      bsm_dims_str(array->dims));
    }
  }
  *out = size;
  return BSM_OK;
}

static bsm_status write_npy(bsm_arena *arena, const char *path,
                            const bsm_array *array) {
  bsm_str head;
  size_t size;
  BSM_TRY(bsm_npy_header(arena, array, &head));
  BSM_TRY(data_size(array, &size));
  const bsm_file_piece pieces[] = {{head.data, head.len}, {array->data, size}};
  return bsm_write_output(path, pieces, 2);
}

bsm_status bsm_npy_write(const char *path, const bsm_array *array) {
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_status status = write_npy(&arena, path, array);
  bsm_arena_destroy(&arena);
  return status;
}

/* ---- zip ---- */

#define LARGE UINT32_MAX /* "see the zip64 field" */

static void put(bsm_text *text, uint64_t value, int bytes) {
  char raw[8];
  for (int i = 0; i < bytes; i++) raw[i] = (char)((value >> (8 * i)) & 0xff);
  bsm_text_append(text, (bsm_str){raw, (size_t)bytes});
}

static uint64_t capped(uint64_t value) {
  return value < LARGE ? value : LARGE;
}

typedef struct member {
  const char *name; /* without .npy */
  uint64_t size, offset;
  uint32_t crc;
} member;

/* The fields that local and central headers share, from "version needed" to
 * the length of the extra field. The date is the first that zip can say:
 * equal arrays make equal files. */
static void put_common(bsm_text *text, const member *m, uint64_t extra) {
  put(text, extra ? 45 : 20, 2);
  put(text, 0, 2);            /* flags */
  put(text, 0, 2);            /* stored */
  put(text, 0, 2);            /* 00:00 */
  put(text, (1 << 5) | 1, 2); /* 1 January 1980 */
  put(text, m->crc, 4);
  put(text, capped(m->size), 4);
  put(text, capped(m->size), 4);
  put(text, strlen(m->name) + 4, 2);
  put(text, extra, 2);
}

static void put_local(bsm_text *text, const member *m) {
  const bool large = m->size >= LARGE;
  put(text, 0x04034b50, 4);
  put_common(text, m, large ? 20 : 0);
  bsm_text_printf(text, "%s.npy", m->name);
  if (large) {
    put(text, 1, 2);
    put(text, 16, 2);
    put(text, m->size, 8);
    put(text, m->size, 8);
  }
}

static void put_central(bsm_text *text, const member *m) {
  const uint64_t large_size = m->size >= LARGE ? 16 : 0;
  const uint64_t large_offset = m->offset >= LARGE ? 8 : 0;
  const uint64_t extra =
      large_size + large_offset ? 4 + large_size + large_offset : 0;
  put(text, 0x02014b50, 4);
  put(text, 45, 2); /* made by */
  put_common(text, m, extra);
  put(text, 0, 2);                       /* comment */
  put(text, 0, 2);                       /* disk */
  put(text, 0, 2);                       /* internal attributes */
  put(text, UINT64_C(0100644) << 16, 4); /* a regular file, rw-r--r-- */
  put(text, capped(m->offset), 4);
  bsm_text_printf(text, "%s.npy", m->name);
  if (!extra) return;
  put(text, 1, 2);
  put(text, extra - 4, 2);
  if (large_size) {
    put(text, m->size, 8);
    put(text, m->size, 8);
  }
  if (large_offset) put(text, m->offset, 8);
}

static void put_end(bsm_text *text, uint64_t count, uint64_t offset,
                    uint64_t size) {
  if (count >= 0xffff || offset >= LARGE || size >= LARGE) {
    put(text, 0x06064b50, 4);
    put(text, 44, 8);
    put(text, 45, 2);
    put(text, 45, 2);
    put(text, 0, 4);
    put(text, 0, 4);
    put(text, count, 8);
    put(text, count, 8);
    put(text, size, 8);
    put(text, offset, 8);
    put(text, 0x07064b50, 4);
    put(text, 0, 4);
    put(text, offset + size, 8);
    put(text, 1, 4);
  }
  const uint64_t small_count = count < 0xffff ? count : 0xffff;
  put(text, 0x06054b50, 4);
  put(text, 0, 2);
  put(text, 0, 2);
  put(text, small_count, 2);
  put(text, small_count, 2);
  put(text, capped(size), 4);
  put(text, capped(offset), 4);
  put(text, 0, 2);
}

static uint32_t checksum(uint32_t crc, const void *data, size_t size) {
  const unsigned char *p = data;
  while (size) {
    const size_t some = size < (1u << 30) ? size : 1u << 30;
    crc = (uint32_t)crc32(crc, p, (uInt)some);
    p += some;
    size -= some;
  }
  return crc;
}

/* The three pieces of one member; *offset moves behind it. */
static bsm_status add_member(bsm_arena *arena, const bsm_npy_array *item,
                             uint64_t *offset, member *m,
                             bsm_file_piece *pieces) {
  bsm_str head;
  size_t size;
  if (strlen(item->name) > 60000) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "the name is too long");
  }
  BSM_TRY(bsm_npy_header(arena, &item->array, &head));
  BSM_TRY(data_size(&item->array, &size));
  uint32_t crc = checksum(0, head.data, head.len);
  crc = checksum(crc, item->array.data, size);
  *m = (member){item->name, (uint64_t)head.len + size, *offset, crc};
  bsm_text local;
  bsm_text_init(&local, arena);
  put_local(&local, m);
  if (local.failed) return BSM_FAIL_OOM();
  pieces[0] = (bsm_file_piece){local.data, local.len};
  pieces[1] = (bsm_file_piece){head.data, head.len};
  pieces[2] = (bsm_file_piece){item->array.data, size};
  *offset += local.len + m->size;
  return BSM_OK;
}

static bsm_status write_npz(bsm_arena *arena, const char *path,
                            const bsm_npy_array *items, size_t count) {
  member *members = BSM_NEW_ARRAY(arena, member, count);
  bsm_file_piece *pieces = BSM_NEW_ARRAY(arena, bsm_file_piece, 3 * count + 1);
  BSM_TRY_ALLOC(members);
  BSM_TRY_ALLOC(pieces);
  uint64_t offset = 0;
  for (size_t i = 0; i < count; i++) {
    BSM_TRY_NOTE(
        add_member(arena, &items[i], &offset, &members[i], &pieces[3 * i]),
        "array %s", items[i].name);
  }
  bsm_text directory;
  bsm_text_init(&directory, arena);
  for (size_t i = 0; i < count; i++) put_central(&directory, &members[i]);
  put_end(&directory, count, offset, directory.len);
  if (directory.failed) return BSM_FAIL_OOM();
  pieces[3 * count] = (bsm_file_piece){directory.data, directory.len};
  return bsm_write_output(path, pieces, 3 * count + 1);
}

bsm_status bsm_npz_write(const char *path, const bsm_npy_array *items,
                         size_t count) {
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_status status = write_npz(&arena, path, items, count);
  bsm_arena_destroy(&arena);
  return status;
}
