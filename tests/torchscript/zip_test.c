/* SPDX-License-Identifier: Apache-2.0 */
/* The zip reader: what it must read, and every way an archive can lie. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "torchscript/zip.h"
#include <sys/mman.h>

#include "tests/torchscript/zip_builder.h"

typedef struct fixture {
  bsm_arena arena;
  bsm_zip zip;
  bsm_limits limits;
  uint8_t *copy; /* exactly as long as the archive */
} fixture;

static bsm_status open_bytes(fixture *f, const void *data, size_t size) {
  bsm_arena_init(&f->arena, NULL);
  f->copy = malloc(size ? size : 1);
  assert_non_null(f->copy);
  if (size) memcpy(f->copy, data, size);
  return bsm_zip_open(&f->arena, f->copy, size, &f->limits, &f->zip);
}

static void drop(fixture *f) {
  bsm_arena_destroy(&f->arena);
  free(f->copy);
  *f = (fixture){.limits = f->limits};
}

/* Opening fails with that code and a message that contains `text`. */
static void expect_failure(const zip_builder *z, bsm_code code,
                           const char *text) {
  fixture f = {0};
  const bsm_status status = open_bytes(&f, z->data, z->len);
  if (bsm_status_code(status) != code ||
      !strstr(bsm_status_message(status), text)) {
    fail_msg("%s: %s, expected %s with \"%s\"",
             bsm_code_name(bsm_status_code(status)), bsm_status_message(status),
             bsm_code_name(code), text);
  }
  bsm_status_free(status);
  drop(&f);
}

static void expect_member(fixture *f, const char *name, const char *content) {
  const bsm_zip_entry *entry = bsm_zip_find(&f->zip, bsm_str_of(name));
  assert_non_null(entry);
  bsm_str bytes;
  assert_null(bsm_zip_read(&f->zip, &f->arena, entry, true, &bytes));
  assert_int_equal(bytes.len, strlen(content));
  if (bytes.len) assert_memory_equal(bytes.data, content, bytes.len);
}

static const zip_member simple[] = {
    {.name = "m/version",
     .data = "3\n",
     .size = 2,
     .descriptor = 1,
     .align = 64},
    {.name = "m/data.pkl", .data = "0123456789", .size = 10, .align = 64},
    {.name = "m/code",
     .data = "aaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     .size = 28,
     .deflate = 1,
     .descriptor = 1,
     .align = 64},
    {.name = "m/empty", .data = "", .size = 0, .align = 64},
};

static void build_simple(zip_builder *z) {
  zip_build(z, simple, 4, 1);
}

static void reads_stored_and_deflated_members(void **state) {
  (void)state;
  for (int end64 = 0; end64 < 2; end64++) {
    for (int wide = 0; wide < 2; wide++) {
      zip_member members[4];
      memcpy(members, simple, sizeof members);
      for (int i = 0; i < 4; i++) members[i].force_zip64 = wide;
      zip_builder z;
      zip_build(&z, members, 4, end64);
      fixture f = {0};
      assert_null(open_bytes(&f, z.data, z.len));
      assert_int_equal(f.zip.count, 4);
      expect_member(&f, "m/version", "3\n");
      expect_member(&f, "m/data.pkl", "0123456789");
      expect_member(&f, "m/code", "aaaaaaaaaaaaaaaaaaaaaaaaaaaa");
      expect_member(&f, "m/empty", "");
      assert_null(bsm_zip_find(&f.zip, BSM_STR("m/none")));
      drop(&f);
      free(z.data);
    }
  }
}

static void stored_members_are_read_in_place(void **state) {
  (void)state;
  zip_builder z;
  build_simple(&z);
  fixture f = {0};
  assert_null(open_bytes(&f, z.data, z.len));
  const bsm_zip_entry *entry = bsm_zip_find(&f.zip, BSM_STR("m/data.pkl"));
  bsm_str bytes;
  assert_null(bsm_zip_read(&f.zip, &f.arena, entry, true, &bytes));
  assert_ptr_equal(bytes.data, f.copy + z.payload[1]);
  assert_int_equal(entry->data_offset % 64, 0);
  drop(&f);
  free(z.data);
}

static void an_empty_archive_is_an_archive(void **state) {
  (void)state;
  zip_builder z;
  zip_build(&z, NULL, 0, 0);
  fixture f = {0};
  assert_null(open_bytes(&f, z.data, z.len));
  assert_int_equal(f.zip.count, 0);
  drop(&f);
  free(z.data);
}

static void a_comment_is_allowed(void **state) {
  (void)state;
  zip_builder z;
  build_simple(&z);
  zip_poke(&z, z.end + 20, 5, 2);
  zip_put(&z, "hello", 5);
  fixture f = {0};
  assert_null(open_bytes(&f, z.data, z.len));
  drop(&f);
  free(z.data);
}

/* Truncated anywhere, or with anything behind it, it is no archive. */
static void every_truncation_is_refused(void **state) {
  (void)state;
  zip_builder z;
  build_simple(&z);
  for (size_t size = 0; size < z.len; size++) {
    fixture f = {0};
    const bsm_status status = open_bytes(&f, z.data, size);
    assert_int_equal(bsm_status_code(status), BSM_CORRUPT);
    bsm_status_free(status);
    drop(&f);
  }
  zip_put(&z, "x", 1);
  expect_failure(&z, BSM_CORRUPT, "no end of central directory");
  free(z.data);
}

/* Any flipped bit gives a status or the same members, never anything else. */
static void every_flipped_bit_is_survived(void **state) {
  (void)state;
  zip_builder z;
  build_simple(&z);
  size_t accepted = 0;
  for (size_t bit = 0; bit < z.len * 8; bit++) {
    z.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    fixture f = {0};
    bsm_status status = open_bytes(&f, z.data, z.len);
    for (size_t i = 0; !status && i < f.zip.count; i++) {
      bsm_str bytes;
      status = bsm_zip_read(&f.zip, &f.arena, &f.zip.entries[i], true, &bytes);
    }
    accepted += !status;
    bsm_status_free(status);
    drop(&f);
    z.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  /* Times, attributes and padding are not looked at; all else is. */
  assert_in_range(accepted, 1, z.len * 8 / 2);
  free(z.data);
}

/* One field changed: where, how wide, to what, and what must come of it. */
typedef struct damage {
  const char *what;
  size_t at, width;
  uint64_t value;
  bsm_code code;
  const char *text;
} damage;

static void a_lie_in_any_field_is_refused(void **state) {
  (void)state;
  zip_builder z;
  build_simple(&z);
  const size_t c1 = z.central[1], l0 = z.local[0], l1 = z.local[1];
  const damage damages[] = {
      {"end: disk", z.end + 4, 2, 1, BSM_UNSUPPORTED, "disks"},
      {"end: fewer members", z.end + 10, 2, 3, BSM_CORRUPT, "disagree"},
      {"end: size", z.end + 12, 4, 7, BSM_CORRUPT, "disagree"},
      {"end: offset", z.end + 16, 4, 7, BSM_CORRUPT, "disagree"},
      {"end64: size of record", z.end64 + 4, 8, 45, BSM_CORRUPT, "size"},
      {"end64: huge record", z.end64 + 4, 8, UINT64_MAX, BSM_CORRUPT, "size"},
      {"end64: disk", z.end64 + 16, 4, 1, BSM_UNSUPPORTED, "disks"},
      {"end64: count", z.end64 + 32, 8, UINT64_MAX, BSM_UNSUPPORTED, "disks"},
      {"end64: directory size", z.end64 + 40, 8, UINT64_MAX, BSM_CORRUPT,
       "disagree"},
      {"end64: directory offset", z.end64 + 48, 8, UINT64_MAX - 3, BSM_CORRUPT,
       "disagree"},
      {"locator: offset", z.locator + 8, 8, z.end64 - 1, BSM_CORRUPT,
       "no zip64 end record"},
      {"locator: far", z.locator + 8, 8, UINT64_MAX - 10, BSM_CORRUPT,
       "no zip64 end record"},
      {"locator: disks", z.locator + 16, 4, 2, BSM_UNSUPPORTED, "disks"},
      {"central: signature", c1, 1, 0, BSM_CORRUPT, "no directory header"},
      {"central: encrypted", c1 + 8, 2, 0x0801, BSM_UNSUPPORTED, "encrypted"},
      {"central: method", c1 + 10, 2, 8, BSM_CORRUPT, "disagrees"},
      {"central: crc", c1 + 16, 4, 1, BSM_CORRUPT, "disagrees"},
      {"central: compressed", c1 + 20, 4, 9, BSM_CORRUPT, "two sizes"},
      {"central: size", c1 + 24, 4, 11, BSM_CORRUPT, "two sizes"},
      {"central: sentinel", c1 + 24, 4, 0xffffffff, BSM_CORRUPT, "zip64"},
      {"central: name length", c1 + 28, 2, 0xffff, BSM_CORRUPT, "cut off"},
      {"central: extra length", c1 + 30, 2, 0xffff, BSM_CORRUPT, "cut off"},
      {"central: comment length", c1 + 32, 2, 0xffff, BSM_CORRUPT, "cut off"},
      {"central: disk", c1 + 34, 2, 1, BSM_UNSUPPORTED, "disks"},
      {"central: offset", c1 + 42, 4, (uint32_t)l0, BSM_CORRUPT, "disagrees"},
      {"central: far offset", c1 + 42, 4, 0xfffffffe, BSM_CORRUPT,
       "no local header"},
      {"central: offset sentinel", c1 + 42, 4, 0xffffffff, BSM_CORRUPT,
       "zip64"},
      {"local: signature", l1, 1, 0, BSM_CORRUPT, "no local header"},
      {"local: flags", l1 + 6, 2, 0x0808, BSM_CORRUPT, "disagrees"},
      {"local: method", l1 + 8, 2, 8, BSM_CORRUPT, "disagrees"},
      {"local: crc", l1 + 14, 4, 7, BSM_CORRUPT, "disagrees"},
      {"local: compressed", l1 + 18, 4, 9, BSM_CORRUPT, "disagrees"},
      {"local: size", l1 + 22, 4, 9, BSM_CORRUPT, "disagrees"},
      {"local: name", l1 + 30, 1, 'n', BSM_CORRUPT, "disagrees"},
      {"local: name length", l1 + 26, 2, 9, BSM_CORRUPT, "disagrees"},
      {"local: extra length", l1 + 28, 2, 0xffff, BSM_CORRUPT, "cut off"},
      {"local: extra field", l1 + 42, 2, 0xffff, BSM_CORRUPT, "extra field"},
      {"descriptor", z.payload[0] + 2 + 4, 4, 0, BSM_CORRUPT, "descriptor"},
  };
  for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
    const damage *d = &damages[i];
    zip_builder copy;
    build_simple(&copy);
    zip_poke(&copy, d->at, d->value, d->width);
    print_message("%s\n", d->what);
    expect_failure(&copy, d->code, d->text);
    free(copy.data);
  }
  free(z.data);
}

static void names_that_escape_are_refused(void **state) {
  (void)state;
  static const char *const names[] = {"/etc/passwd", "../x", "a/../../x",
                                      "a\\x",        "a/..", ".."};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const zip_member m = {.name = names[i], .data = "x", .size = 1};
    zip_builder z;
    zip_build(&z, &m, 1, 0);
    expect_failure(&z, BSM_CORRUPT, "relative");
    free(z.data);
  }
  const zip_member m = {.name = "a.b", .data = "x", .size = 1};
  zip_builder z;
  zip_build(&z, &m, 1, 0);
  z.data[z.central[0] + 46 + 1] = 0;
  expect_failure(&z, BSM_CORRUPT, "relative");
  free(z.data);
  const zip_member dots = {.name = "a/..b/c..", .data = "x", .size = 1};
  zip_build(&z, &dots, 1, 0);
  fixture f = {0};
  assert_null(open_bytes(&f, z.data, z.len));
  drop(&f);
  free(z.data);
}

static void duplicate_names_are_refused(void **state) {
  (void)state;
  const zip_member members[] = {{.name = "a", .data = "x", .size = 1},
                                {.name = "a", .data = "y", .size = 1}};
  zip_builder z;
  zip_build(&z, members, 2, 0);
  expect_failure(&z, BSM_CORRUPT, "occurs twice");
  free(z.data);
}

/* Two directory entries for one local header. */
static void overlapping_members_are_refused(void **state) {
  (void)state;
  const zip_member members[] = {{.name = "a", .data = "same", .size = 4},
                                {.name = "b", .data = "same", .size = 4}};
  zip_builder z;
  zip_build(&z, members, 2, 0);
  /* The outer member's payload is the inner member, header and all. */
  z.data[z.central[1] + 46] = 'a';
  zip_poke(&z, z.central[1] + 42, z.local[0], 4);
  expect_failure(&z, BSM_CORRUPT, "occurs twice");
  free(z.data);

  /* A quoted header: member "q" contains member "r". */
  zip_builder inner;
  const zip_member r = {.name = "r", .data = "zz", .size = 2};
  zip_build(&inner, &r, 1, 0);
  const zip_member outer[] = {
      {.name = "q", .data = inner.data, .size = inner.directory},
      {.name = "r", .data = "zz", .size = 2}};
  zip_build(&z, outer, 2, 0);
  zip_poke(&z, z.central[1] + 42, z.payload[0], 4);
  expect_failure(&z, BSM_CORRUPT, "overlap");
  free(inner.data);
  free(z.data);
}

static void bytes_of_no_member_are_refused(void **state) {
  (void)state;
  const zip_member members[] = {{.name = "a", .data = "x", .size = 1},
                                {.name = "b", .data = "y", .size = 1}};
  zip_builder z;
  zip_build(&z, members, 2, 0);
  /* Forget the first member: its bytes are then hidden ones. */
  const size_t size = z.central[1] - z.central[0];
  memmove(z.data + z.central[0], z.data + z.central[1], z.len - z.central[1]);
  z.len -= size;
  zip_poke(&z, z.end - size + 8, 1, 2);
  zip_poke(&z, z.end - size + 10, 1, 2);
  zip_poke(&z, z.end - size + 12, size, 4);
  expect_failure(&z, BSM_CORRUPT, "belong to no member");
  free(z.data);
}

static void a_second_end_record_is_refused(void **state) {
  (void)state;
  zip_builder inner, z;
  zip_build(&inner, NULL, 0, 0);
  build_simple(&z);
  zip_poke(&z, z.end + 20, inner.len, 2);
  zip_put(&z, inner.data, inner.len);
  expect_failure(&z, BSM_CORRUPT, "two end records");
  free(inner.data);
  free(z.data);
}

static void more_members_than_the_directory_holds(void **state) {
  (void)state;
  zip_builder z;
  build_simple(&z);
  zip_poke(&z, z.end64 + 24, (uint64_t)1 << 40, 8);
  zip_poke(&z, z.end64 + 32, (uint64_t)1 << 40, 8);
  zip_poke(&z, z.end + 10, 0xffff, 2);
  expect_failure(&z, BSM_CORRUPT, "members in a directory");
  zip_poke(&z, z.end64 + 24, 5, 8);
  zip_poke(&z, z.end64 + 32, 5, 8);
  expect_failure(&z, BSM_CORRUPT, "members in a directory");
  zip_poke(&z, z.end64 + 24, 3, 8);
  zip_poke(&z, z.end64 + 32, 3, 8);
  expect_failure(&z, BSM_CORRUPT, "of the directory");
  free(z.data);
}

/* Reading `name` of `z` fails like this. */
static void expect_read_failure(const zip_builder *z, const char *name,
                                bsm_limits limits, bsm_code code,
                                const char *text) {
  fixture f = {.limits = limits};
  assert_null(open_bytes(&f, z->data, z->len));
  bsm_str bytes;
  const bsm_status status = bsm_zip_read(
      &f.zip, &f.arena, bsm_zip_find(&f.zip, bsm_str_of(name)), true, &bytes);
  assert_int_equal(bsm_status_code(status), code);
  assert_non_null(strstr(bsm_status_message(status), text));
  bsm_status_free(status);
  drop(&f);
}

static void a_wrong_crc_is_noticed(void **state) {
  (void)state;
  const bsm_limits limits = BSM_LIMITS_INIT;
  zip_builder z;
  build_simple(&z);
  z.data[z.payload[1] + 3] ^= 1;
  expect_read_failure(&z, "m/data.pkl", limits, BSM_CORRUPT, "CRC");
  free(z.data);
}

static void malformed_deflate_data_is_noticed(void **state) {
  (void)state;
  const bsm_limits limits = BSM_LIMITS_INIT;
  zip_builder z;
  build_simple(&z);
  const uint8_t byte = z.data[z.payload[2]];
  for (unsigned v = 0; v < 256; v++) {
    if (v == byte) continue;
    z.data[z.payload[2]] = (uint8_t)v;
    expect_read_failure(&z, "m/code", limits, BSM_CORRUPT, "m/code");
  }
  z.data[z.payload[2]] = byte;
  /* A size that is one off, everywhere it is written. */
  for (int by = -1; by <= 1; by += 2) {
    const uint64_t size = (uint64_t)(28 + by);
    zip_poke(&z, z.central[2] + 24, size, 4);
    zip_poke(&z, z.local[3] - 4, size, 4);
    expect_read_failure(&z, "m/code", limits, BSM_CORRUPT, "malformed");
  }
  free(z.data);
}

static void an_unknown_method_is_named(void **state) {
  (void)state;
  const bsm_limits limits = BSM_LIMITS_INIT;
  zip_builder z;
  build_simple(&z);
  zip_poke(&z, z.central[1] + 10, 12, 2);
  zip_poke(&z, z.local[1] + 8, 12, 2);
  expect_read_failure(&z, "m/data.pkl", limits, BSM_UNSUPPORTED, "method 12");
  free(z.data);
}

static void a_deflate_bomb_is_stopped(void **state) {
  (void)state;
  const size_t size = (size_t)4 << 20;
  char *zeros = calloc(1, size);
  assert_non_null(zeros);
  const zip_member members[] = {
      {.name = "a", .data = zeros, .size = size, .deflate = 1},
      {.name = "b", .data = zeros, .size = size, .deflate = 1}};
  zip_builder z;
  zip_build(&z, members, 2, 0);
  bsm_limits limits = BSM_LIMITS_INIT;
  limits.max_inflate_ratio = 100;
  expect_read_failure(&z, "a", limits, BSM_LIMIT, "1 : 100");
  limits.max_inflate_ratio = 0;
  limits.max_inflated = size - 1;
  expect_read_failure(&z, "a", limits, BSM_LIMIT, "exceeds the limit");
  /* A claim beyond what deflate can do never gets its memory. */
  limits.max_inflated = UINT64_MAX;
  zip_poke(&z, z.central[0] + 24, 0xfffffff0, 4);
  zip_poke(&z, z.local[0] + 22, 0xfffffff0, 4);
  expect_read_failure(&z, "a", limits, BSM_LIMIT, "1 : 1100");
  zip_poke(&z, z.central[0] + 24, size, 4);
  zip_poke(&z, z.local[0] + 22, size, 4);
  /* The total counts over all members. */
  fixture f = {.limits = {.struct_size = sizeof(bsm_limits),
                          .max_inflated = size + size / 2}};
  bsm_str bytes;
  assert_null(open_bytes(&f, z.data, z.len));
  assert_null(bsm_zip_read(&f.zip, &f.arena, &f.zip.entries[0], true, &bytes));
  assert_int_equal(bytes.len, size);
  const bsm_status status =
      bsm_zip_read(&f.zip, &f.arena, &f.zip.entries[1], true, &bytes);
  assert_int_equal(bsm_status_code(status), BSM_LIMIT);
  bsm_status_free(status);
  drop(&f);
  free(z.data);
  free(zeros);
}

/* A member of more than 4 GiB and one behind it, as PyTorch writes them. The
 * memory is never touched between the ends. */
static void sizes_and_offsets_beyond_4_gib(void **state) {
  (void)state;
  if (sizeof(size_t) < 8) skip();
  const uint64_t big = ((uint64_t)1 << 32) + 16;
  const size_t room = (size_t)big + 4096;
  uint8_t *memory = mmap(NULL, room, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) skip();
  const zip_member first = {.name = "big", .data = "", .descriptor = 1};
  const zip_member second = {.name = "tail", .data = "xy", .size = 2};
  const uint32_t crc = (uint32_t)crc32(crc32(0, NULL, 0), second.data, 2);
  zip_builder head = {0}, tail = {0};
  zip_local(&head, &first, 0, 0, 0x0808);
  memcpy(memory, head.data, head.len);
  zip_num(&tail, 0x08074b50, 4);
  zip_num(&tail, 0, 4);
  zip_num(&tail, big, 8);
  zip_num(&tail, big, 8);
  const uint64_t at = head.len + big, local = at + tail.len;
  zip_local(&tail, &second, 2, crc, 0x0800);
  zip_put(&tail, "xy", 2);
  const uint64_t directory = at + tail.len;
  size_t entry = tail.len;
  zip_central(&tail, &first, 0, 0, 0x0808, 0);
  zip_poke(&tail, entry + 20, UINT64_MAX, 8); /* both sizes */
  zip_poke(&tail, entry + 30, 20, 2);
  zip_num(&tail, 1, 2);
  zip_num(&tail, 16, 2);
  zip_num(&tail, big, 8);
  zip_num(&tail, big, 8);
  entry = tail.len;
  zip_central(&tail, &second, 2, crc, 0x0800, 0xffffffff);
  zip_poke(&tail, entry + 30, 12, 2);
  zip_num(&tail, 1, 2);
  zip_num(&tail, 8, 2);
  zip_num(&tail, local, 8);
  const uint64_t end64 = at + tail.len;
  zip_end64(&tail, 2, directory, end64 - directory, end64);
  zip_end(&tail, 2, directory, end64 - directory);
  memcpy(memory + at, tail.data, tail.len);

  fixture f = {0};
  bsm_arena_init(&f.arena, NULL);
  const bsm_status status =
      bsm_zip_open(&f.arena, memory, (size_t)at + tail.len, &f.limits, &f.zip);
  if (status) fail_msg("%s", bsm_status_message(status));
  expect_member(&f, "tail", "xy");
  const bsm_zip_entry *member = bsm_zip_find(&f.zip, BSM_STR("big"));
  bsm_str bytes;
  assert_true(member->size == big);
  assert_null(bsm_zip_read(&f.zip, &f.arena, member, false, &bytes));
  assert_ptr_equal(bytes.data, memory + head.len);
  drop(&f);
  munmap(memory, room);
  free(head.data);
  free(tail.data);
}

static void limits_hold_at_the_limit(void **state) {
  (void)state;
  zip_builder z;
  build_simple(&z);
  const struct {
    size_t field, at;
  } cases[] = {{offsetof(bsm_limits, max_entries), 4},
               {offsetof(bsm_limits, max_name_bytes), 10},
               {offsetof(bsm_limits, max_file_bytes), z.len}};
  for (size_t i = 0; i < 3; i++) {
    for (uint64_t less = 0; less < 2; less++) {
      fixture f = {0};
      *(uint64_t *)(void *)((char *)&f.limits + cases[i].field) =
          cases[i].at - less;
      const bsm_status status = open_bytes(&f, z.data, z.len);
      assert_int_equal(bsm_status_code(status), less ? BSM_LIMIT : 0);
      bsm_status_free(status);
      drop(&f);
    }
  }
  free(z.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_stored_and_deflated_members),
      cmocka_unit_test(stored_members_are_read_in_place),
      cmocka_unit_test(an_empty_archive_is_an_archive),
      cmocka_unit_test(a_comment_is_allowed),
      cmocka_unit_test(every_truncation_is_refused),
      cmocka_unit_test(every_flipped_bit_is_survived),
      cmocka_unit_test(a_lie_in_any_field_is_refused),
      cmocka_unit_test(names_that_escape_are_refused),
      cmocka_unit_test(duplicate_names_are_refused),
      cmocka_unit_test(overlapping_members_are_refused),
      cmocka_unit_test(bytes_of_no_member_are_refused),
      cmocka_unit_test(a_second_end_record_is_refused),
      cmocka_unit_test(more_members_than_the_directory_holds),
      cmocka_unit_test(a_wrong_crc_is_noticed),
      cmocka_unit_test(malformed_deflate_data_is_noticed),
      cmocka_unit_test(an_unknown_method_is_named),
      cmocka_unit_test(a_deflate_bomb_is_stopped),
      cmocka_unit_test(sizes_and_offsets_beyond_4_gib),
      cmocka_unit_test(limits_hold_at_the_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
