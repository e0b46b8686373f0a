/* SPDX-License-Identifier: Apache-2.0 */
/* Key files as text. */
#include "signing/key_text.h"

#include <stdio.h>
#include <string.h>

#include "base/secret.h"
#include "trust/ed25519.h"

enum { MAX_DER = 48 };

static const struct kind {
  const char *begin, *end, *what;
  uint8_t start[16]; /* of the DER, up to the 32 bytes of the key */
  size_t start_size;
} kinds[] = {
    [BSM_KEY_SECRET] = {"-----BEGIN PRIVATE KEY-----",
                        "-----END PRIVATE KEY-----",
                        "secret",
                        {0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70,
                         4, 0x22, 4, 0x20},
                        16},
    [BSM_KEY_PUBLIC] = {"-----BEGIN PUBLIC KEY-----",
                        "-----END PUBLIC KEY-----",
                        "public",
                        {0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21,
                         0},
                        12},
};

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bsm_str trim(bsm_str text) {
  while (text.len && is_space(text.data[0])) text.data++, text.len--;
  while (text.len && is_space(text.data[text.len - 1])) text.len--;
  return text;
}

/* What stands between the two lines. */
static bool take_frame(bsm_str *text, const struct kind *kind) {
  const size_t begin = strlen(kind->begin), end = strlen(kind->end);
  *text = trim(*text);
  if (text->len < begin + end || memcmp(text->data, kind->begin, begin) != 0 ||
      memcmp(text->data + text->len - end, kind->end, end) != 0) {
    return false;
  }
  *text = (bsm_str){text->data + begin, text->len - begin - end};
  return true;
}

/* Base64 of exactly `size` bytes, with space anywhere between the digits. */
static bool decode(bsm_str text, uint8_t *out, size_t size) {
  uint32_t bits = 0;
  int count = 0;
  size_t digits = 0, done = 0;
  text = trim(text);
  while (text.len && text.data[text.len - 1] == '=') text.len--, digits++;
  if (digits != (3 - size % 3) % 3) return false;
  for (size_t i = 0; i < text.len; i++) {
    if (is_space(text.data[i])) continue;
    const char *at = text.data[i] ? strchr(alphabet, text.data[i]) : NULL;
    if (!at) return false;
    bits = bits << 6 | (uint32_t)(at - alphabet);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    if (done == size) return false;
    out[done++] = (uint8_t)(bits >> count);
    bits &= (1u << count) - 1;
  }
  return done == size && count < 6 && bits == 0;
}

bsm_status bsm_key_parse(bsm_str text, bsm_key_kind kind, uint8_t out[32]) {
  const struct kind *k = &kinds[kind];
  const size_t size = k->start_size + 32;
  uint8_t der[MAX_DER];
  bool good = take_frame(&text, k) && decode(text, der, size) &&
              memcmp(der, k->start, k->start_size) == 0;
  if (good) memcpy(out, der + k->start_size, 32);
  bsm_secret_wipe(der, sizeof(der));
  if (!good) {
    return BSM_FAIL(BSM_CORRUPT,
                    "not a %s Ed25519 key in PEM, which begins with %s",
                    k->what, k->begin);
  }
  if (kind == BSM_KEY_PUBLIC && !bsm_ed25519_is_public_key(out)) {
    return BSM_FAIL(BSM_CORRUPT, "the public key is no valid point");
  }
  return BSM_OK;
}

void bsm_key_write(const uint8_t key[32], bsm_key_kind kind, bsm_key_pem *out) {
  const struct kind *k = &kinds[kind];
  const size_t size = k->start_size + 32;
  uint8_t der[MAX_DER + 2] = {0};
  char digits[4 * (MAX_DER / 3) + 1] = {0};
  memcpy(der, k->start, k->start_size);
  memcpy(der + k->start_size, key, 32);
  size_t count = 0;
  for (size_t i = 0; i < size; i += 3) {
    const uint32_t bits =
        (uint32_t)der[i] << 16 | (uint32_t)der[i + 1] << 8 | der[i + 2];
    for (int shift = 18; shift >= 0; shift -= 6) {
      digits[count++] = alphabet[bits >> shift & 63];
    }
  }
  for (size_t i = size; i % 3; i++) digits[count - 1 - (i - size)] = '=';
  snprintf(out->data, sizeof(out->data), "%s\n%s\n%s\n", k->begin, digits,
           k->end);
  bsm_secret_wipe(der, sizeof(der));
  bsm_secret_wipe(digits, sizeof(digits));
}
