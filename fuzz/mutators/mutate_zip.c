/* SPDX-License-Identifier: Apache-2.0 */
/* Archives: taken apart, one member or the list of them changed, and put
 * together again with right sums, sizes and offsets, deflated or not; one time
 * in six a field of a header is changed afterwards. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/mutators/mutator.h"
#include "tests/torchscript/zip_builder.h"

enum { NAME = 256, MOST_INFLATED = 1 << 20 };

typedef struct archive {
  char names[ZIP_BUILDER_MEMBERS][NAME];
  uint8_t *bytes[ZIP_BUILDER_MEMBERS]; /* from malloc */
  zip_member members[ZIP_BUILDER_MEMBERS];
  size_t count;
} archive;

static void free_archive(archive *a) {
  for (size_t i = 0; i < a->count; i++) free(a->bytes[i]);
  free(a);
}

/* Inflates into a block of `size` bytes; less where the stream ends early. */
static bool inflate_into(const uint8_t *data, size_t csize, uint8_t *out,
                         size_t size) {
  z_stream s = {0};
  if (inflateInit2(&s, -15) != Z_OK) return false;
  s.next_in = (z_const Bytef *)(uintptr_t)data;
  s.avail_in = (uInt)csize;
  s.next_out = out;
  s.avail_out = (uInt)size;
  const int code = inflate(&s, Z_FINISH);
  inflateEnd(&s);
  return code == Z_STREAM_END;
}

/* A member by its header in the directory, at `at`. Wide sizes are taken from
 * nowhere: an archive of a fuzzer is small. */
static bool read_member(archive *a, const fuzz_input *in, size_t at) {
  const uint8_t *h = in->data + at;
  const size_t method = (size_t)fuzz_peek(h + 10, 2);
  const size_t csize = (size_t)fuzz_peek(h + 20, 4);
  const size_t size = (size_t)fuzz_peek(h + 24, 4);
  const size_t name = (size_t)fuzz_peek(h + 28, 2);
  const size_t local = (size_t)fuzz_peek(h + 42, 4);
  if (name >= NAME || name > in->size - at - 46 || size > MOST_INFLATED ||
      local > in->size || in->size - local < 30) {
    return false;
  }
  const uint8_t *l = in->data + local;
  const size_t head =
      30 + (size_t)fuzz_peek(l + 26, 2) + (size_t)fuzz_peek(l + 28, 2);
  if (head > in->size - local || csize > in->size - local - head) return false;
  uint8_t *bytes = malloc(size ? size : 1);
  if (!bytes) return false;
  bool good = method == 8 || size == csize;
  if (good && method == 8) {
    good = inflate_into(l + head, csize, bytes, size);
  } else if (good && size) {
    memcpy(bytes, l + head, size);
  }
  if (!good) {
    free(bytes);
    return false;
  }
  memcpy(a->names[a->count], h + 46, name);
  a->names[a->count][name] = 0;
  a->bytes[a->count] = bytes;
  a->members[a->count] = (zip_member){.name = a->names[a->count],
                                      .data = bytes,
                                      .size = size,
                                      .deflate = method == 8,
                                      .align = method == 8 ? 0 : 64};
  a->count++;
  return true;
}

/* NULL: this is no archive that can be taken apart. */
static archive *read_archive(const fuzz_input *in) {
  if (in->size < 22) return NULL;
  size_t end = in->size - 22;
  while (end > 0 && memcmp(in->data + end, "PK\5\6", 4) != 0) end--;
  const size_t count = (size_t)fuzz_peek(in->data + end + 10, 2);
  size_t at = (size_t)fuzz_peek(in->data + end + 16, 4);
  archive *a = calloc(1, sizeof(*a));
  if (!a) return NULL;
  for (size_t i = 0; i < count && a->count < ZIP_BUILDER_MEMBERS; i++) {
    if (at > in->size || in->size - at < 46 ||
        memcmp(in->data + at, "PK\1\2", 4) != 0) {
      break;
    }
    read_member(a, in, at);
    at += 46 + (size_t)fuzz_peek(in->data + at + 28, 2) +
          (size_t)fuzz_peek(in->data + at + 30, 2) +
          (size_t)fuzz_peek(in->data + at + 32, 2);
  }
  if (a->count) return a;
  free_archive(a);
  return NULL;
}

static bool change_content(fuzz_input *in, archive *a, size_t i) {
  fuzz_input inner = {.size = a->members[i].size, .random = in->random};
  inner.room = inner.size + 4096;
  inner.data = realloc(a->bytes[i], inner.room);
  if (!inner.data) return false;
  const bool changed = inner.size && fuzz_mutate_any(&inner);
  in->random = inner.random;
  a->bytes[i] = inner.data;
  a->members[i].data = inner.data;
  a->members[i].size = inner.size;
  return changed;
}

/* What the list says: names, ways to store, who is there. */
static bool change_list(fuzz_input *in, archive *a, size_t i) {
  const size_t other = fuzz_below(in, a->count);
  zip_member *m = &a->members[i];
  switch (fuzz_below(in, 6)) {
    case 0:
      m->deflate = !m->deflate;
      return true;
    case 1:
      m->force_zip64 = !m->force_zip64;
      return true;
    case 2:
      m->descriptor = !m->descriptor;
      return true;
    case 3: { /* the content of another under this name */
      const zip_member kept = *m;
      *m = a->members[other];
      m->name = kept.name;
      return i != other;
    }
    case 4: {
      const zip_member kept = *m;
      *m = a->members[other];
      a->members[other] = kept;
      return i != other;
    }
    default: {
      const fuzz_span name = {0, strlen(a->names[i])};
      fuzz_input inner = {(uint8_t *)a->names[i], name.size, NAME - 1,
                          in->random};
      const bool changed = name.size && fuzz_mutate_text(&inner);
      in->random = inner.random;
      a->names[i][inner.size] = 0;
      return changed;
    }
  }
}

/* Damages one field of a header of what was built. */
static void change_field(fuzz_input *in, zip_builder *z) {
  static const uint8_t local[] = {6, 8, 14, 18, 22, 26, 28};
  static const uint8_t central[] = {8, 10, 16, 20, 24, 28, 30, 32, 42};
  static const uint8_t end[] = {8, 10, 12, 16, 20};
  const size_t i = fuzz_below(in, z->count);
  size_t at, width;
  switch (fuzz_below(in, 3)) {
    case 0:
      at = z->local[i] + local[fuzz_below(in, sizeof(local))];
      break;
    case 1:
      at = z->central[i] + central[fuzz_below(in, sizeof(central))];
      break;
    default:
      at = z->end + end[fuzz_below(in, sizeof(end))];
      break;
  }
  width = at + 4 <= z->len && fuzz_below(in, 2) ? 4 : 2;
  const uint64_t old = fuzz_peek(z->data + at, width);
  zip_poke(z, at, (uint64_t)fuzz_integer(in, (int64_t)old), width);
}

bool fuzz_mutate_zip(fuzz_input *in) {
  archive *a = read_archive(in);
  if (!a) return false;
  const size_t i = fuzz_below(in, a->count);
  size_t count = a->count;
  bool changed;
  if (count > 1 && fuzz_below(in, 24) == 0) { /* one is missing */
    const zip_member last = a->members[count - 1];
    a->members[i] = last;
    count--;
    changed = true;
  } else {
    changed =
        fuzz_below(in, 5) ? change_content(in, a, i) : change_list(in, a, i);
  }
  zip_builder z = {0};
  if (changed) {
    zip_build(&z, a->members, count, fuzz_below(in, 2) == 0);
    if (fuzz_below(in, 6) == 0) change_field(in, &z);
    changed = z.len <= in->room && fuzz_splice(in, 0, in->size, z.data, z.len);
  }
  free(z.data);
  free_archive(a);
  return changed;
}
