/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-512, written from FIPS 180-4. */
#include "trust/sha512.h"

#include <string.h>

#include "base/secret.h"

enum { BLOCK = 128, ROUNDS = 80 };

/* The first 64 bits of the fractions of the cube roots of 80 primes. */
static const uint64_t constants[ROUNDS] = {
    UINT64_C(0x428a2f98d728ae22), UINT64_C(0x7137449123ef65cd),
    UINT64_C(0xb5c0fbcfec4d3b2f), UINT64_C(0xe9b5dba58189dbbc),
    UINT64_C(0x3956c25bf348b538), UINT64_C(0x59f111f1b605d019),
    UINT64_C(0x923f82a4af194f9b), UINT64_C(0xab1c5ed5da6d8118),
    UINT64_C(0xd807aa98a3030242), UINT64_C(0x12835b0145706fbe),
    UINT64_C(0x243185be4ee4b28c), UINT64_C(0x550c7dc3d5ffb4e2),
    UINT64_C(0x72be5d74f27b896f), UINT64_C(0x80deb1fe3b1696b1),
    UINT64_C(0x9bdc06a725c71235), UINT64_C(0xc19bf174cf692694),
    UINT64_C(0xe49b69c19ef14ad2), UINT64_C(0xefbe4786384f25e3),
    UINT64_C(0x0fc19dc68b8cd5b5), UINT64_C(0x240ca1cc77ac9c65),
    UINT64_C(0x2de92c6f592b0275), UINT64_C(0x4a7484aa6ea6e483),
    UINT64_C(0x5cb0a9dcbd41fbd4), UINT64_C(0x76f988da831153b5),
    UINT64_C(0x983e5152ee66dfab), UINT64_C(0xa831c66d2db43210),
    UINT64_C(0xb00327c898fb213f), UINT64_C(0xbf597fc7beef0ee4),
    UINT64_C(0xc6e00bf33da88fc2), UINT64_C(0xd5a79147930aa725),
    UINT64_C(0x06ca6351e003826f), UINT64_C(0x142929670a0e6e70),
    UINT64_C(0x27b70a8546d22ffc), UINT64_C(0x2e1b21385c26c926),
    UINT64_C(0x4d2c6dfc5ac42aed), UINT64_C(0x53380d139d95b3df),
    UINT64_C(0x650a73548baf63de), UINT64_C(0x766a0abb3c77b2a8),
    UINT64_C(0x81c2c92e47edaee6), UINT64_C(0x92722c851482353b),
    UINT64_C(0xa2bfe8a14cf10364), UINT64_C(0xa81a664bbc423001),
    UINT64_C(0xc24b8b70d0f89791), UINT64_C(0xc76c51a30654be30),
    UINT64_C(0xd192e819d6ef5218), UINT64_C(0xd69906245565a910),
    UINT64_C(0xf40e35855771202a), UINT64_C(0x106aa07032bbd1b8),
    UINT64_C(0x19a4c116b8d2d0c8), UINT64_C(0x1e376c085141ab53),
    UINT64_C(0x2748774cdf8eeb99), UINT64_C(0x34b0bcb5e19b48a8),
    UINT64_C(0x391c0cb3c5c95a63), UINT64_C(0x4ed8aa4ae3418acb),
    UINT64_C(0x5b9cca4f7763e373), UINT64_C(0x682e6ff3d6b2b8a3),
    UINT64_C(0x748f82ee5defb2fc), UINT64_C(0x78a5636f43172f60),
    UINT64_C(0x84c87814a1f0ab72), UINT64_C(0x8cc702081a6439ec),
    UINT64_C(0x90befffa23631e28), UINT64_C(0xa4506cebde82bde9),
    UINT64_C(0xbef9a3f7b2c67915), UINT64_C(0xc67178f2e372532b),
    UINT64_C(0xca273eceea26619c), UINT64_C(0xd186b8c721c0c207),
    UINT64_C(0xeada7dd6cde0eb1e), UINT64_C(0xf57d4f7fee6ed178),
    UINT64_C(0x06f067aa72176fba), UINT64_C(0x0a637dc5a2c898a6),
    UINT64_C(0x113f9804bef90dae), UINT64_C(0x1b710b35131c471b),
    UINT64_C(0x28db77f523047d84), UINT64_C(0x32caab7b40c72493),
    UINT64_C(0x3c9ebe0a15c9bebc), UINT64_C(0x431d67c49c100d4c),
    UINT64_C(0x4cc5d4becb3e42b6), UINT64_C(0x597f299cfc657e2a),
    UINT64_C(0x5fcb6fab3ad6faec), UINT64_C(0x6c44198c4a475817),
};

static uint64_t rotate(uint64_t x, int bits) {
  return x >> bits | x << (64 - bits);
}

static uint64_t read_big_endian(const uint8_t *p) {
  uint64_t x = 0;
  for (int i = 0; i < 8; i++) x = x << 8 | p[i];
  return x;
}

static void write_big_endian(uint8_t *p, uint64_t x) {
  for (int i = 7; i >= 0; i--, x >>= 8) p[i] = (uint8_t)x;
}

static void schedule(uint64_t w[ROUNDS], const uint8_t *block) {
  for (int i = 0; i < 16; i++) w[i] = read_big_endian(block + 8 * i);
  for (int i = 16; i < ROUNDS; i++) {
    const uint64_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (rotate(a, 1) ^ rotate(a, 8) ^ a >> 7) + w[i - 7] +
           (rotate(b, 19) ^ rotate(b, 61) ^ b >> 6);
  }
}

static void compress(bsm_sha512 *hash, const uint8_t *block) {
  uint64_t w[ROUNDS], s[8];
  schedule(w, block);
  memcpy(s, hash->state, sizeof(s));
  for (int i = 0; i < ROUNDS; i++) {
    const uint64_t a = s[0], e = s[4];
    const uint64_t choice = (e & s[5]) ^ (~e & s[6]);
    const uint64_t majority = (a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]);
    const uint64_t first = s[7] + choice + constants[i] + w[i] +
                           (rotate(e, 14) ^ rotate(e, 18) ^ rotate(e, 41));
    const uint64_t second =
        majority + (rotate(a, 28) ^ rotate(a, 34) ^ rotate(a, 39));
    memmove(s + 1, s, 7 * sizeof(s[0]));
    s[4] += first;
    s[0] = first + second;
  }
  for (int i = 0; i < 8; i++) hash->state[i] += s[i];
  bsm_secret_wipe(w, sizeof(w));
}

void bsm_sha512_init(bsm_sha512 *hash) {
  *hash = (bsm_sha512){
      .state = {UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b),
                UINT64_C(0x3c6ef372fe94f82b), UINT64_C(0xa54ff53a5f1d36f1),
                UINT64_C(0x510e527fade682d1), UINT64_C(0x9b05688c2b3e6c1f),
                UINT64_C(0x1f83d9abfb41bd6b), UINT64_C(0x5be0cd19137e2179)}};
}

void bsm_sha512_add(bsm_sha512 *hash, const void *data, size_t size) {
  const uint8_t *p = data;
  while (size) {
    const size_t used = hash->size % BLOCK;
    const size_t take = size < BLOCK - used ? size : BLOCK - used;
    memcpy(hash->block + used, p, take);
    hash->size += take;
    if (used + take == BLOCK) compress(hash, hash->block);
    p += take;
    size -= take;
  }
}

void bsm_sha512_finish(bsm_sha512 *hash, uint8_t out[BSM_SHA512_BYTES]) {
  static const uint8_t padding[BLOCK] = {0x80};
  uint8_t length[16] = {0};
  write_big_endian(length, hash->size >> 61);
  write_big_endian(length + 8, hash->size << 3);
  const size_t used = hash->size % BLOCK;
  bsm_sha512_add(hash, padding, (used < 112 ? 112 : 240) - used);
  bsm_sha512_add(hash, length, sizeof(length));
  for (int i = 0; i < 8; i++) write_big_endian(out + 8 * i, hash->state[i]);
  bsm_secret_wipe(hash, sizeof(*hash));
}
