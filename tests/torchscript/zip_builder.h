/* SPDX-License-Identifier: Apache-2.0 */
/* Builds zip archives byte by byte, for the tests of the readers. Where the
 * parts lie is kept, so that a test can damage exactly one field. */
#ifndef BSM_TESTS_TORCHSCRIPT_ZIP_BUILDER_H_
#define BSM_TESTS_TORCHSCRIPT_ZIP_BUILDER_H_

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { ZIP_BUILDER_MEMBERS = 64 };

typedef struct zip_member {
  const char *name;
  const void *data;
  size_t size;
  int deflate;     /* method 8 */
  int descriptor;  /* sizes behind the payload */
  size_t align;    /* of the payload, 0: none */
  int force_zip64; /* sizes in an extra field of both headers */
} zip_member;

typedef struct zip_builder {
  uint8_t *data;
  size_t len, cap;
  size_t count;
  size_t local[ZIP_BUILDER_MEMBERS], payload[ZIP_BUILDER_MEMBERS];
  size_t central[ZIP_BUILDER_MEMBERS];
  size_t directory, end64, locator, end;
} zip_builder;

static void zip_put(zip_builder *z, const void *data, size_t n) {
  if (z->len + n > z->cap) {
    z->cap = (z->len + n) * 2 + 64;
    z->data = realloc(z->data, z->cap);
    if (!z->data) abort();
  }
  if (n) memcpy(z->data + z->len, data, n);
  z->len += n;
}

/* Writes `v` in `n` bytes at `at`, little-endian. */
static void zip_poke(zip_builder *z, size_t at, uint64_t v, size_t n) {
  for (size_t i = 0; i < n; i++) {
    z->data[at + i] = (uint8_t)(i < 8 ? v >> (8 * i) : 0);
  }
}

static void zip_num(zip_builder *z, uint64_t v, size_t n) {
  static const uint8_t zeros[16] = {0};
  zip_put(z, zeros, n);
  zip_poke(z, z->len - n, v, n);
}

static uint8_t *zip_deflate(const void *data, size_t size, size_t *out) {
  z_stream s = {0};
  if (deflateInit2(&s, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
    abort();
  }
  const size_t room = deflateBound(&s, size) + 64;
  uint8_t *buffer = malloc(room);
  if (!buffer) abort();
  s.next_in = (z_const Bytef *)data;
  s.avail_in = (uInt)size;
  s.next_out = buffer;
  s.avail_out = (uInt)room;
  if (deflate(&s, Z_FINISH) != Z_STREAM_END) abort();
  *out = room - s.avail_out;
  deflateEnd(&s);
  return buffer;
}

static void zip_local(zip_builder *z, const zip_member *m, size_t csize,
                      uint32_t crc, int flags) {
  const size_t name = strlen(m->name);
  size_t pad = 0;
  const size_t wide = m->force_zip64 ? 20 : 0;
  if (m->align) {
    const size_t at = z->len + 30 + name + wide + 4;
    pad = (m->align - at % m->align) % m->align + 4;
  }
  zip_num(z, 0x04034b50, 4);
  zip_num(z, 20, 2);
  zip_num(z, (uint64_t)flags, 2);
  zip_num(z, m->deflate ? 8 : 0, 2);
  zip_num(z, 0, 4);
  zip_num(z, m->descriptor ? 0 : crc, 4);
  const uint64_t narrow = m->force_zip64 ? 0xffffffff : 0;
  zip_num(z, narrow | (m->descriptor ? 0 : csize), 4);
  zip_num(z, narrow | (m->descriptor ? 0 : m->size), 4);
  zip_num(z, name, 2);
  zip_num(z, wide + pad, 2);
  zip_put(z, m->name, name);
  if (wide) {
    zip_num(z, 1, 2);
    zip_num(z, 16, 2);
    zip_num(z, m->size, 8);
    zip_num(z, csize, 8);
  }
  if (pad) {
    zip_num(z, 0x4246, 2);
    zip_num(z, pad - 4, 2);
    for (size_t i = 4; i < pad; i++) zip_num(z, 'Z', 1);
  }
}

static void zip_central(zip_builder *z, const zip_member *m, size_t csize,
                        uint32_t crc, int flags, size_t local) {
  const size_t name = strlen(m->name);
  zip_num(z, 0x02014b50, 4);
  zip_num(z, 20, 2);
  zip_num(z, 20, 2);
  zip_num(z, (uint64_t)flags, 2);
  zip_num(z, m->deflate ? 8 : 0, 2);
  zip_num(z, 0, 4);
  zip_num(z, crc, 4);
  zip_num(z, m->force_zip64 ? 0xffffffff : csize, 4);
  zip_num(z, m->force_zip64 ? 0xffffffff : m->size, 4);
  zip_num(z, name, 2);
  zip_num(z, m->force_zip64 ? 28 : 0, 2);
  zip_num(z, 0, 2 + 2 + 2 + 4); /* comment, disk, attributes */
  zip_num(z, m->force_zip64 ? 0xffffffff : local, 4);
  zip_put(z, m->name, name);
  if (m->force_zip64) {
    zip_num(z, 1, 2);
    zip_num(z, 24, 2);
    zip_num(z, m->size, 8);
    zip_num(z, csize, 8);
    zip_num(z, local, 8);
  }
}

/* The zip64 end record and locator: `at` is where they lie in the file. */
static void zip_end64(zip_builder *z, uint64_t n, uint64_t directory,
                      uint64_t size, uint64_t at) {
  zip_num(z, 0x06064b50, 4);
  zip_num(z, 44, 8);
  zip_num(z, 30, 2);
  zip_num(z, 45, 2);
  zip_num(z, 0, 8); /* disks */
  zip_num(z, n, 8);
  zip_num(z, n, 8);
  zip_num(z, size, 8);
  zip_num(z, directory, 8);
  z->locator = z->len;
  zip_num(z, 0x07064b50, 4);
  zip_num(z, 0, 4);
  zip_num(z, at, 8);
  zip_num(z, 1, 4);
}

static void zip_end(zip_builder *z, uint64_t n, uint64_t directory,
                    uint64_t size) {
  z->end = z->len;
  zip_num(z, 0x06054b50, 4);
  zip_num(z, 0, 4);
  zip_num(z, n, 2);
  zip_num(z, n, 2);
  zip_num(z, size, 4);
  zip_num(z, directory < 0xffffffff ? directory : 0xffffffff, 4);
  zip_num(z, 0, 2);
}

/* The archive of `n` members, with zip64 end records as PyTorch writes them
 * when `end64`. */
static void zip_build(zip_builder *z, const zip_member *members, size_t n,
                      int end64) {
  size_t csizes[ZIP_BUILDER_MEMBERS];
  uint32_t crcs[ZIP_BUILDER_MEMBERS];
  if (n > ZIP_BUILDER_MEMBERS) abort();
  *z = (zip_builder){.count = n};
  for (size_t i = 0; i < n; i++) {
    const zip_member *m = &members[i];
    const int flags = 0x0800 | (m->descriptor ? 0x0008 : 0);
    const uint8_t *payload = m->data;
    uint8_t *deflated = NULL;
    csizes[i] = m->size;
    if (m->deflate) {
      payload = deflated = zip_deflate(m->data, m->size, &csizes[i]);
    }
    crcs[i] = (uint32_t)crc32(crc32(0, NULL, 0), m->data, (uInt)m->size);
    z->local[i] = z->len;
    zip_local(z, m, csizes[i], crcs[i], flags);
    z->payload[i] = z->len;
    zip_put(z, payload, csizes[i]);
    free(deflated);
    if (m->descriptor) {
      zip_num(z, 0x08074b50, 4);
      zip_num(z, crcs[i], 4);
      zip_num(z, csizes[i], m->force_zip64 ? 8 : 4);
      zip_num(z, m->size, m->force_zip64 ? 8 : 4);
    }
  }
  z->directory = z->len;
  for (size_t i = 0; i < n; i++) {
    const int flags = 0x0800 | (members[i].descriptor ? 0x0008 : 0);
    z->central[i] = z->len;
    zip_central(z, &members[i], csizes[i], crcs[i], flags, z->local[i]);
  }
  const size_t size = z->len - z->directory;
  if (end64) {
    z->end64 = z->len;
    zip_end64(z, n, z->directory, size, z->end64);
  }
  zip_end(z, n, z->directory, size);
}

#endif /* BSM_TESTS_TORCHSCRIPT_ZIP_BUILDER_H_ */
