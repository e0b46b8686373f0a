/* SPDX-License-Identifier: Apache-2.0 */
/* Engines that carry machine code: which are loaded, and that in no other case
 * their code reaches the device (coded_device.h). */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "bessemer/signature.h"
#include "engine/engine_file.h"
#include "tests/trust/scratch_folder.h"
#include "tests/trusted/coded_device.h"

static const uint8_t secret[32] = {1, 2, 3}, other_secret[32] = {4, 5, 6};
static uint8_t keys[2][32]; /* another's, and that of `secret` */

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void refused(bsm_status status, bsm_code code, const char *part) {
  assert_int_equal(bsm_status_code(status), code);
  if (!strstr(bsm_status_message(status), part)) {
    fail_msg("\"%s\" lacks \"%s\"", bsm_status_message(status), part);
  }
  bsm_status_free(status);
}

/* ---- files ---- */

typedef struct bytes {
  uint8_t *data; /* 64-byte aligned */
  size_t size;
} bytes;

static bytes read_file(const char *name) {
  bsm_file_map map;
  check(bsm_file_map_open(scratch(name).text, NULL, &map));
  bytes out = {aligned_alloc(64, (map.size + 127) / 64 * 64), map.size};
  assert_non_null(out.data);
  memcpy(out.data, map.data, map.size);
  bsm_file_map_close(&map);
  return out;
}

static void write_file(const char *name, const uint8_t *data, size_t size) {
  const bsm_file_piece piece = {data, size};
  check(bsm_file_write(scratch(name).text, &piece, 1));
}

/* Where the machine code is in a file. */
static size_t find_code(const bytes *file) {
  size_t at = 0;
  while (memcmp(file->data + at, coded_bytes, CODED_BYTES) != 0) at++;
  return at;
}

/* Saves an engine with code that nobody knows. */
static void save_unknown(const char *name, const char *key) {
  bsm_engine *engine = coded_engine(true, key);
  bsm_engine_save_options options = BSM_ENGINE_SAVE_OPTIONS_INIT;
  options.unrecorded = true;
  check(bsm_engine_save_with(engine, scratch(name).text, &options));
  bsm_engine_destroy(engine);
}

static void save_signed(const char *name, const char *key) {
  save_unknown(name, key);
  check(bsm_engine_sign(scratch(name).text, secret, scratch(name).text));
}

/* ---- loading ---- */

static bsm_engine_load_options with_keys(size_t count) {
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  options.public_keys = (const uint8_t(*)[32])keys;
  options.public_key_count = count;
  return options;
}

/* Loads and runs; a failure must not have loaded the code. */
static bsm_status try_engine(bsm_status status, bsm_engine *engine) {
  if (status) {
    assert_null(engine);
    assert_int_equal(coded_log.loads, 0);
    return status;
  }
  float x[5] = {1, 2, 3, 4, 5}, y[5];
  const bsm_array in = {x, BSM_DTYPE_FLOAT, {1, {5}}, NULL},
                  out = {y, BSM_DTYPE_FLOAT, {1, {5}}, NULL};
  bsm_context *context;
  check(bsm_context_create(engine, NULL, &context));
  check(bsm_context_run(context, &in, 1, &out, 1));
  for (int i = 0; i < 5; i++) assert_true(y[i] == 2 * x[i]);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  return BSM_OK;
}

static bsm_status load(const char *name, const bsm_engine_load_options *o) {
  bsm_engine *engine;
  coded_log = (coded_device_log){0};
  bsm_status status = bsm_engine_load(scratch(name).text, o, &engine);
  return try_engine(status, engine);
}

static bsm_status load_bytes(const bytes *file,
                             const bsm_engine_load_options *o) {
  bsm_engine *engine;
  coded_log = (coded_device_log){0};
  bsm_status status =
      bsm_engine_load_memory(file->data, file->size, o, &engine);
  return try_engine(status, engine);
}

static void trusted(const char *name, const bsm_engine_load_options *o) {
  bytes file = read_file(name);
  check(load(name, o));
  assert_int_equal(coded_log.loads, 1);
  check(load_bytes(&file, o));
  assert_int_equal(coded_log.loads, 1);
  free(file.data);
}

static void untrusted(const char *name, const bsm_engine_load_options *o,
                      const char *part) {
  bytes file = read_file(name);
  refused(load(name, o), BSM_UNTRUSTED, part);
  refused(load(name, o), BSM_UNTRUSTED, "machine code for coded:1");
  refused(load_bytes(&file, o), BSM_UNTRUSTED, part);
  free(file.data);
}

/* ---- reasons to trust ---- */

static void test_without_a_reason(void **state) {
  (void)state;
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  save_unknown("plain", "a");
  untrusted("plain", NULL, "it is not signed");
  const bsm_engine_load_options keyed = with_keys(2);
  untrusted("plain", &keyed, "it is not signed");
  options.trust_code = true;
  trusted("plain", &options);
  /* Looking at it runs nothing, and needs no reason. */
  bsm_engine *engine;
  coded_log = (coded_device_log){0};
  options.trust_code = false;
  options.without_device = true;
  check(bsm_engine_load(scratch("plain").text, &options, &engine));
  assert_int_equal(coded_log.loads, 0);
  bsm_engine_destroy(engine);
}

static void test_signatures(void **state) {
  (void)state;
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  save_signed("signed", "a");
  untrusted("signed", NULL, "not given as a public key");
  options = with_keys(1);
  untrusted("signed", &options, "none of the public keys given");
  options = with_keys(2);
  trusted("signed", &options);
  options.ignore_built = true;
  options.skip_checksum = true;
  trusted("signed", &options);
  options = with_keys(1);
  options.trust_code = true;
  trusted("signed", &options);
  /* Signing again replaces the signature. */
  bytes before = read_file("signed");
  const scratch_path path = scratch("signed");
  check(bsm_engine_sign(path.text, other_secret, path.text));
  options = with_keys(1);
  trusted("signed", &options);
  check(bsm_engine_sign(path.text, secret, path.text));
  bytes after = read_file("signed");
  assert_int_equal(before.size, after.size);
  assert_memory_equal(before.data, after.data, before.size);
  free(before.data);
  free(after.data);
  options.public_keys = NULL;
  refused(load("signed", &options), BSM_INVALID_ARGUMENT, "public_keys");
}

static void test_verifying_a_file(void **state) {
  (void)state;
  const uint8_t(*const given)[32] = (const uint8_t(*)[32])keys;
  size_t signer = 7;
  save_signed("signed", "a");
  save_unknown("plain", "a");
  const scratch_path path = scratch("signed");
  check(bsm_engine_verify(path.text, given, 2, &signer));
  assert_int_equal(signer, 1);
  check(bsm_engine_verify(path.text, given + 1, 1, NULL));
  refused(bsm_engine_verify(path.text, given, 1, &signer), BSM_UNTRUSTED,
          "none of the public keys");
  refused(bsm_engine_verify(path.text, NULL, 0, NULL), BSM_UNTRUSTED,
          "none of the public keys");
  refused(bsm_engine_verify(scratch("plain").text, given, 2, NULL),
          BSM_UNTRUSTED, "not signed");
  bytes file = read_file("signed");
  file.data[file.size - 1] ^= 1;
  write_file("changed", file.data, file.size);
  refused(bsm_engine_verify(scratch("changed").text, given, 2, NULL),
          BSM_UNTRUSTED, "was changed since");
  free(file.data);
}

/* Both agree with a signature that OpenSSL made, byte for byte. */
static void test_signature_of_openssl(void **state) {
  (void)state;
  uint8_t sevens[32], key[1][32];
  memset(sevens, 7, sizeof(sevens));
  check(bsm_secret_key_public(sevens, key[0]));
  const char *theirs = BSM_TEST_DATA_DIR "/engine/softmax_8_10_signed.bsm";
  check(bsm_engine_verify(theirs, (const uint8_t(*)[32])key, 1, NULL));
  check(bsm_engine_sign(BSM_TEST_DATA_DIR "/engine/softmax_8_10.bsm", sevens,
                        scratch("ours").text));
  bytes ours = read_file("ours");
  bsm_file_map map;
  check(bsm_file_map_open(theirs, NULL, &map));
  assert_int_equal(ours.size, map.size);
  assert_memory_equal(ours.data, map.data, map.size);
  bsm_file_map_close(&map);
  free(ours.data);
}

/* ---- damage ---- */

/* Each bit of a signed engine counts. */
static void test_every_bit_of_a_signed_engine(void **state) {
  (void)state;
  const bsm_engine_load_options options = with_keys(2);
  size_t by_signature = 0;
  save_signed("signed", "a");
  bytes file = read_file("signed");
  for (size_t bit = 0; bit < 8 * file.size; bit++) {
    file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    bsm_status status = load_bytes(&file, &options);
    const bsm_code code = bsm_status_code(status);
    assert_true(code == BSM_UNTRUSTED || code == BSM_CORRUPT ||
                code == BSM_VERSION);
    by_signature += code == BSM_UNTRUSTED;
    bsm_status_free(status);
    file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  assert_true(by_signature > 8 * 96); /* its own bytes, and zeros */
  check(load_bytes(&file, &options));
  free(file.data);
}

static void repair_checksums(bytes *file) {
  uint64_t description, offset;
  memcpy(&description, file->data + 24, 8);
  memcpy(&offset, file->data + 32, 8);
  uint32_t format;
  memcpy(&format, file->data + 8, sizeof(format));
  const uint64_t hash =
      bsm_engine_file_hash(format, file->data + 64, (size_t)description);
  const uint64_t weights = bsm_hash64(file->data + offset, CODED_BYTES, 0);
  memcpy(file->data + 48, &hash, 8);
  memcpy(file->data + 56, &weights, 8);
}

/* As an attacker would: checksums are made right again. What then has no code
 * is an engine of data, and runs none. */
static void test_every_bit_with_right_checksums(void **state) {
  (void)state;
  const bsm_engine_load_options options = with_keys(2);
  size_t untrusted_count = 0, in_code = 0;
  save_signed("signed", "a");
  bytes file = read_file("signed");
  const size_t code_at = find_code(&file);
  for (size_t bit = 64 * 8; bit < 8 * (code_at + CODED_BYTES); bit++) {
    bsm_engine *engine = NULL;
    file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    repair_checksums(&file);
    coded_log = (coded_device_log){0};
    bsm_status status =
        bsm_engine_load_memory(file.data, file.size, &options, &engine);
    assert_int_equal(coded_log.loads, 0);
    const bool refused_it = bsm_status_code(status) == BSM_UNTRUSTED;
    untrusted_count += refused_it;
    in_code += refused_it && bit / 8 >= code_at;
    bsm_status_free(status);
    bsm_engine_destroy(engine);
    file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    repair_checksums(&file);
  }
  assert_int_equal(in_code, 8 * CODED_BYTES);
  assert_true(untrusted_count > in_code);
  check(load_bytes(&file, &options));
  free(file.data);
}

static void set_size(bytes *file, size_t size) {
  const uint64_t wide = size;
  memcpy(file->data + 16, &wide, 8);
  file->size = size;
}

static void test_cut_and_long_files(void **state) {
  (void)state;
  const bsm_engine_load_options options = with_keys(2);
  save_signed("signed", "a");
  bytes file = read_file("signed");
  const size_t whole = file.size;
  for (int header_too = 0; header_too < 2; header_too++) {
    for (size_t size = whole + 40; size-- > 64;) {
      if (size == whole) continue;
      if (header_too) set_size(&file, size);
      file.size = size;
      bsm_status status = load_bytes(&file, &options);
      /* Without its signature it is an engine like others. */
      const bool bare = header_too && size == whole - 128;
      assert_int_equal(bsm_status_code(status),
                       bare ? BSM_UNTRUSTED : BSM_CORRUPT);
      bsm_status_free(status);
    }
    set_size(&file, whole);
  }
  check(load_bytes(&file, &options));
  free(file.data);
}

/* A signature says nothing of another engine, though all else agrees. */
static void test_signature_of_another_engine(void **state) {
  (void)state;
  const bsm_engine_load_options options = with_keys(2);
  save_signed("one", "a");
  save_signed("two", "b");
  bytes one = read_file("one"), two = read_file("two");
  assert_int_equal(one.size, two.size);
  memcpy(two.data + two.size - 128, one.data + one.size - 128, 128);
  refused(load_bytes(&two, &options), BSM_UNTRUSTED, "was changed since");
  /* Nor does a key that is written over that of who signed. */
  memcpy(one.data + one.size - 112, keys[0], 32);
  refused(load_bytes(&one, &options), BSM_UNTRUSTED, "was changed since");
  free(one.data);
  free(two.data);
}

/* What is run is what was verified, whatever becomes of the file. */
static void test_a_file_that_changes_later(void **state) {
  (void)state;
  for (int by_hash = 0; by_hash < 2; by_hash++) {
    const bsm_engine_load_options options = with_keys(by_hash ? 0 : 2);
    bsm_engine *engine = coded_engine(true, "a");
    check(bsm_engine_save(engine, scratch("x").text));
    bsm_engine_destroy(engine);
    if (!by_hash) save_signed("x", "a");
    bytes file = read_file("x");
    const size_t at = find_code(&file);
    check(bsm_engine_load(scratch("x").text, &options, &engine));
    const int fd = open(scratch("x").text, O_WRONLY);
    assert_true(fd >= 0);
    for (size_t i = 0; i < CODED_BYTES; i++) {
      assert_int_equal(pwrite(fd, "!", 1, (off_t)(at + i)), 1);
    }
    close(fd);
    assert_memory_equal(coded_log.code, coded_bytes, CODED_BYTES);
    bsm_engine_destroy(engine);
    free(file.data);
  }
}

/* ---- built here ---- */

static void save_built(const char *name, const char *key) {
  bsm_engine *engine = coded_engine(true, key);
  check(bsm_engine_save(engine, scratch(name).text));
  bsm_engine_destroy(engine);
}

static void test_built_here(void **state) {
  (void)state;
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  scratch_forget();
  save_built("built_here", "here");
  trusted("built_here", NULL);
  options = with_keys(2);
  trusted("built_here", &options);
  options.ignore_built = true;
  untrusted("built_here", &options, "it is not signed");
  save_unknown("elsewhere", "there");
  untrusted("elsewhere", NULL, "no engine that this user has built");
  bytes file = read_file("built_here");
  for (size_t bit = 0; bit < 8 * file.size; bit++) {
    file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    bsm_status status = load_bytes(&file, NULL);
    assert_non_null(status);
    bsm_status_free(status);
    file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  free(file.data);
  trusted("built_here", NULL);
  scratch_forget();
  untrusted("built_here", NULL, "no engine that this user has built");
}

/* An engine that came from elsewhere is not built here by saving it. */
static void test_saving_what_was_loaded(void **state) {
  (void)state;
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  bsm_engine *engine;
  save_unknown("elsewhere", "there");
  options.without_device = true;
  check(bsm_engine_load(scratch("elsewhere").text, &options, &engine));
  check(bsm_engine_save(engine, scratch("again").text));
  bsm_engine_destroy(engine);
  untrusted("again", NULL, "it is not signed");
  options.without_device = false;
  options.trust_code = true;
  check(bsm_engine_load(scratch("elsewhere").text, &options, &engine));
  check(bsm_engine_save(engine, scratch("again").text));
  bsm_engine_destroy(engine);
  untrusted("again", NULL, "it is not signed");
}

/* Engines without code need no list, and are not in it. */
static void test_without_code(void **state) {
  struct stat info;
  (void)state;
  scratch_forget();
  bsm_engine *engine = coded_engine(false, "data");
  check(bsm_engine_save(engine, scratch("data").text));
  bsm_engine_destroy(engine);
  assert_int_not_equal(stat(scratch("built").text, &info), 0);
  check(load("data", NULL));
  /* Nor is a signature looked at. */
  check(bsm_engine_sign(scratch("data").text, secret, scratch("data").text));
  bytes file = read_file("data");
  file.data[file.size - 1] ^= 1;
  check(load_bytes(&file, NULL));
  free(file.data);
}

/* What is saved into memory is noted as a file is. */
static void test_bytes_that_were_built_here(void **state) {
  (void)state;
  bsm_engine *engine = coded_engine(true, "bytes");
  bsm_engine_save_options options = BSM_ENGINE_SAVE_OPTIONS_INIT;
  bytes saved;
  void *data;
  options.unrecorded = true;
  check(bsm_engine_save_memory(engine, &options, &data, &saved.size));
  saved.data = data;
  bsm_status status = load_bytes(&saved, NULL);
  assert_int_equal(bsm_status_code(status), BSM_UNTRUSTED);
  bsm_status_free(status);
  bsm_bytes_free(data);
  check(bsm_engine_save_memory(engine, NULL, &data, &saved.size));
  saved.data = data;
  check(load_bytes(&saved, NULL));
  bsm_bytes_free(data);
  bsm_engine_destroy(engine);
}

static void note_warning(void *user, bsm_log_level level, const char *message) {
  if (level == BSM_LOG_LEVEL_WARNING) {
    snprintf(user, 512, "%s", message);
  }
}

static void test_a_note_that_cannot_be_made(void **state) {
  (void)state;
  char warning[512] = "";
  const bsm_logger logger = {BSM_LOG_LEVEL_WARNING, note_warning, warning};
  bsm_engine_save_options options = BSM_ENGINE_SAVE_OPTIONS_INIT;
  bsm_engine *engine = coded_engine(true, "unnoted");
  options.logger = &logger;
  save_built("other", "other");
  const scratch_path built = scratch("built");
  assert_int_equal(chmod(built.text, 0777), 0);
  check(bsm_engine_save_with(engine, scratch("x").text, &options));
  assert_non_null(strstr(warning, "others may use it"));
  untrusted("x", NULL, "others may use it");
  untrusted("other", NULL, "others may use it");
  assert_int_equal(chmod(built.text, 0700), 0);
  warning[0] = '\0';
  check(bsm_engine_save_with(engine, scratch("x").text, &options));
  assert_string_equal(warning, "");
  trusted("x", NULL);
  bsm_engine_destroy(engine);
}

static int set_up(void **state) {
  check(bsm_secret_key_public(other_secret, keys[0]));
  check(bsm_secret_key_public(secret, keys[1]));
  return scratch_set_up(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_without_a_reason),
      cmocka_unit_test(test_signatures),
      cmocka_unit_test(test_verifying_a_file),
      cmocka_unit_test(test_signature_of_openssl),
      cmocka_unit_test(test_every_bit_of_a_signed_engine),
      cmocka_unit_test(test_every_bit_with_right_checksums),
      cmocka_unit_test(test_cut_and_long_files),
      cmocka_unit_test(test_signature_of_another_engine),
      cmocka_unit_test(test_a_file_that_changes_later),
      cmocka_unit_test(test_built_here),
      cmocka_unit_test(test_saving_what_was_loaded),
      cmocka_unit_test(test_without_code),
      cmocka_unit_test(test_bytes_that_were_built_here),
      cmocka_unit_test(test_a_note_that_cannot_be_made),
  };
  return cmocka_run_group_tests(tests, set_up, scratch_tear_down);
}
