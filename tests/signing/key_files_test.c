/* SPDX-License-Identifier: Apache-2.0 */
/* Key files: those of OpenSSL (tests/data/make_trust.py), ours, and what is
 * none. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bessemer/signature.h"
#include "signing/key_text.h"
#include "tests/trust/scratch_folder.h"

#define DATA BSM_TEST_DATA_DIR "/trust/"

typedef struct text {
  char data[1024];
  size_t size;
} text;

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

static text read_text(const char *path) {
  text out;
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  out.size = fread(out.data, 1, sizeof(out.data), file);
  fclose(file);
  assert_true(out.size > 0 && out.size < sizeof(out.data));
  return out;
}

static bsm_status parse(const text *t, bsm_key_kind kind, uint8_t *out) {
  return bsm_key_parse((bsm_str){t->data, t->size}, kind, out);
}

static void test_keys_of_openssl(void **state) {
  (void)state;
  const text secret = read_text(DATA "ed25519_secret.pem"),
             open = read_text(DATA "ed25519_public.pem");
  uint8_t key[32], public_key[32], of_secret[32];
  bsm_key_pem again;
  check(parse(&secret, BSM_KEY_SECRET, key));
  check(parse(&open, BSM_KEY_PUBLIC, public_key));
  check(bsm_secret_key_public(key, of_secret));
  assert_memory_equal(public_key, of_secret, 32);
  bsm_key_write(key, BSM_KEY_SECRET, &again);
  assert_int_equal(strlen(again.data), secret.size);
  assert_memory_equal(again.data, secret.data, secret.size);
  bsm_key_write(public_key, BSM_KEY_PUBLIC, &again);
  assert_int_equal(strlen(again.data), open.size);
  assert_memory_equal(again.data, open.data, open.size);
}

static void test_keys_of_other_kinds(void **state) {
  (void)state;
  const text texts[] = {read_text(DATA "x25519_secret.pem"),
                        read_text(DATA "x25519_public.pem"),
                        read_text(DATA "ed25519_secret.pem"),
                        read_text(DATA "ed25519_public.pem")};
  uint8_t key[32];
  for (int kind = 0; kind < 2; kind++) {
    for (int i = 0; i < 4; i++) {
      if (i == 2 + kind) continue;
      refused(parse(&texts[i], (bsm_key_kind)kind, key), BSM_CORRUPT,
              kind == BSM_KEY_SECRET ? "not a secret" : "not a public");
    }
  }
}

/* A damaged text is no key, or another one. */
static void test_damaged_texts(void **state) {
  static const char *const paths[] = {DATA "ed25519_secret.pem",
                                      DATA "ed25519_public.pem"};
  (void)state;
  for (int kind = 0; kind < 2; kind++) {
    text t = read_text(paths[kind]);
    uint8_t key[32], other[32];
    size_t others = 0;
    check(parse(&t, (bsm_key_kind)kind, key));
    const size_t size = t.size;
    for (t.size = 0; t.size < size - 1; t.size++) {
      refused(parse(&t, (bsm_key_kind)kind, other), BSM_CORRUPT, "");
    }
    t.size = size;
    for (size_t bit = 0; bit < 8 * size; bit++) {
      t.data[bit / 8] ^= (char)(1u << bit % 8);
      bsm_status status = parse(&t, (bsm_key_kind)kind, other);
      if (!status) {
        assert_memory_not_equal(key, other, 32);
        others++;
      }
      bsm_status_free(status);
      t.data[bit / 8] ^= (char)(1u << bit % 8);
    }
    assert_true(others > 20 && others < 4 * size);
  }
}

static void test_space_and_lines(void **state) {
  (void)state;
  const text t = read_text(DATA "ed25519_public.pem");
  const char *const digits = strchr(t.data, '\n') + 1;
  uint8_t key[32], other[32];
  text wide;
  check(parse(&t, BSM_KEY_PUBLIC, key));
  wide.size = (size_t)snprintf(
      wide.data, sizeof(wide.data),
      "\r\n -----BEGIN PUBLIC KEY-----\r\n%.20s\r\n %.40s \n-----END PUBLIC "
      "KEY-----\r\n\n",
      digits, digits + 20);
  check(parse(&wide, BSM_KEY_PUBLIC, other));
  assert_memory_equal(key, other, 32);
  wide.size = (size_t)snprintf(
      wide.data, sizeof(wide.data),
      "-----BEGIN PUBLIC KEY-----\n%.60sAAAA\n-----END PUBLIC KEY-----\n",
      digits);
  refused(parse(&wide, BSM_KEY_PUBLIC, other), BSM_CORRUPT, "not a public");
}

/* A point of small order, in a file that is right otherwise. */
static void test_weak_public_key(void **state) {
  (void)state;
  const uint8_t weak[32] = {1};
  bsm_key_pem pem;
  uint8_t key[32];
  bsm_key_write(weak, BSM_KEY_PUBLIC, &pem);
  refused(bsm_key_parse(bsm_str_of(pem.data), BSM_KEY_PUBLIC, key), BSM_CORRUPT,
          "no valid point");
}

static void test_files(void **state) {
  (void)state;
  const scratch_path secret = scratch("my.key"), open = scratch("my.key.pub"),
                     none = scratch("none");
  uint8_t key[32], again[32], public_key[32];
  check(bsm_secret_key_create(key));
  check(bsm_secret_key_public(key, public_key));
  check(bsm_secret_key_save(key, secret.text));
  check(bsm_public_key_save(public_key, open.text));
  check(bsm_secret_key_load(secret.text, again));
  assert_memory_equal(key, again, 32);
  check(bsm_public_key_load(open.text, again));
  assert_memory_equal(public_key, again, 32);
  /* Another key is another. */
  check(bsm_secret_key_create(again));
  assert_memory_not_equal(key, again, 32);
  /* Nothing is replaced. */
  refused(bsm_secret_key_save(again, secret.text), BSM_IO, "a file already");
  refused(bsm_public_key_save(again, open.text), BSM_IO, "a file already");
  check(bsm_secret_key_load(secret.text, again));
  assert_memory_equal(key, again, 32);
  /* A secret that others may read is none. */
  struct stat info;
  assert_int_equal(stat(secret.text, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0600);
  assert_int_equal(chmod(secret.text, 0640), 0);
  refused(bsm_secret_key_load(secret.text, again), BSM_IO, "chmod go=");
  /* The wrong one of the two. */
  assert_int_equal(chmod(secret.text, 0600), 0);
  refused(bsm_public_key_load(secret.text, again), BSM_CORRUPT, "my.key");
  assert_int_equal(chmod(open.text, 0600), 0);
  refused(bsm_secret_key_load(open.text, again), BSM_CORRUPT, "my.key.pub");
  refused(bsm_public_key_load(none.text, again), BSM_IO, "none");
  bsm_status status = bsm_secret_key_load(none.text, again);
  assert_non_null(status);
  bsm_status_free(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_keys_of_openssl),
      cmocka_unit_test(test_keys_of_other_kinds),
      cmocka_unit_test(test_damaged_texts),
      cmocka_unit_test(test_space_and_lines),
      cmocka_unit_test(test_weak_public_key),
      cmocka_unit_test(test_files),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
