/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes and signatures against Python's and OpenSSL's, and signatures that
 * must be refused: tests/data/make_trust.py. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trust/blake2b.h"
#include "trust/ed25519.h"
#include "trust/sha512.h"

enum { MAX_FIELD = 2100, MAX_BYTES = MAX_FIELD / 2 };

typedef struct bytes {
  uint8_t data[MAX_BYTES];
  size_t size;
} bytes;

/* "-" is no bytes. */
static bytes from_hex(const char *text) {
  bytes out = {.size = 0};
  if (strcmp(text, "-") == 0) return out;
  for (; text[0] && text[1]; text += 2) {
    unsigned value;
    assert_int_equal(sscanf(text, "%2x", &value), 1);
    out.data[out.size++] = (uint8_t)value;
  }
  return out;
}

static FILE *open_rows(const char *name) {
  char path[512];
  snprintf(path, sizeof(path), BSM_TEST_DATA_DIR "/trust/%s", name);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  return file;
}

/* ---- hashes ---- */

/* The message in pieces of `step` bytes. */
static void blake2b(const bytes *key, const bytes *m, size_t step, size_t size,
                    uint8_t *out) {
  bsm_blake2b hash;
  bsm_blake2b_init(&hash, size, key->data, key->size);
  for (size_t at = 0; at < m->size; at += step) {
    bsm_blake2b_add(&hash, m->data + at,
                    step < m->size - at ? step : m->size - at);
  }
  bsm_blake2b_finish(&hash, out);
}

static void sha512(const bytes *m, size_t step, uint8_t *out) {
  bsm_sha512 hash;
  bsm_sha512_init(&hash);
  for (size_t at = 0; at < m->size; at += step) {
    bsm_sha512_add(&hash, m->data + at,
                   step < m->size - at ? step : m->size - at);
  }
  bsm_sha512_finish(&hash, out);
}

static void test_hashes(void **state) {
  static const size_t steps[] = {1, 3, 64, 127, 128, 129, MAX_BYTES};
  static char function[16], text[3][MAX_FIELD];
  int rows = 0;
  (void)state;
  FILE *file = open_rows("hashes.txt");
  while (fscanf(file, "%15s %2099s %2099s %2099s", function, text[0], text[1],
                text[2]) == 4) {
    const bytes key = from_hex(text[0]), message = from_hex(text[1]),
                expected = from_hex(text[2]);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
      uint8_t got[64];
      if (strcmp(function, "sha512") == 0) {
        sha512(&message, steps[i], got);
      } else {
        blake2b(&key, &message, steps[i], expected.size, got);
      }
      assert_memory_equal(got, expected.data, expected.size);
    }
    rows++;
  }
  fclose(file);
  assert_int_equal(rows, 51);
}

/* ---- signatures ---- */

typedef struct row {
  char verdict[8], name[64];
  char text[4][MAX_FIELD];
  bytes secret, public_key, message, signature;
} row;

static int read_row(FILE *file, row *r) {
  if (fscanf(file, "%7s %63s %2099s %2099s %2099s %2099s", r->verdict, r->name,
             r->text[0], r->text[1], r->text[2], r->text[3]) != 6) {
    return 0;
  }
  r->secret = from_hex(r->text[0]);
  r->public_key = from_hex(r->text[1]);
  r->message = from_hex(r->text[2]);
  r->signature = from_hex(r->text[3]);
  assert_int_equal(r->public_key.size, 32);
  assert_int_equal(r->signature.size, 64);
  return 1;
}

static bool verify(const row *r) {
  return bsm_ed25519_verify(r->public_key.data, r->message.data,
                            r->message.size, r->signature.data);
}

static void test_signatures(void **state) {
  static row r;
  int good = 0, bad = 0;
  (void)state;
  FILE *file = open_rows("signatures.txt");
  while (read_row(file, &r)) {
    const bool expected = strcmp(r.verdict, "good") == 0;
    if (verify(&r) != expected) fail_msg("%s", r.name);
    good += expected;
    bad += !expected;
    if (!expected) continue;
    uint8_t key[32], signature[64];
    bsm_ed25519_public_key(r.secret.data, key);
    bsm_ed25519_sign(r.secret.data, r.message.data, r.message.size, signature);
    assert_memory_equal(key, r.public_key.data, sizeof(key));
    assert_memory_equal(signature, r.signature.data, sizeof(signature));
    assert_true(bsm_ed25519_is_public_key(key));
  }
  fclose(file);
  assert_int_equal(good, 20);
  assert_true(bad > 200);
}

/* Every single bit counts: of the message, of the key, of the signature. */
static void test_one_bit(void **state) {
  static row r;
  (void)state;
  FILE *file = open_rows("signatures.txt");
  for (int i = 0; i < 3; i++) assert_true(read_row(file, &r));
  fclose(file);
  assert_true(verify(&r));
  bytes *const parts[] = {&r.message, &r.public_key, &r.signature};
  for (size_t p = 0; p < 3; p++) {
    for (size_t bit = 0; bit < 8 * parts[p]->size; bit++) {
      parts[p]->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
      if (verify(&r)) fail_msg("bit %zu of part %zu", bit, p);
      parts[p]->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
  }
  assert_true(verify(&r));
}

/* Rows whose names say that the key is no good. */
static void test_public_keys(void **state) {
  static const char *const kinds[] = {"small_key_", "long_key_",
                                      "minus_zero_key", "key_off_the_curve"};
  static row r;
  int seen[4] = {0};
  (void)state;
  FILE *file = open_rows("signatures.txt");
  while (read_row(file, &r)) {
    for (size_t i = 0; i < 4; i++) {
      if (strncmp(r.name, kinds[i], strlen(kinds[i])) != 0) continue;
      seen[i]++;
      assert_false(bsm_ed25519_is_public_key(r.public_key.data));
    }
  }
  fclose(file);
  for (size_t i = 0; i < 4; i++) assert_true(seen[i] > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hashes),
      cmocka_unit_test(test_signatures),
      cmocka_unit_test(test_one_bit),
      cmocka_unit_test(test_public_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
