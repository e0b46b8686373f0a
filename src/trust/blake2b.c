/* SPDX-License-Identifier: Apache-2.0 */
/* BLAKE2b, written from RFC 7693. */
#include "trust/blake2b.h"

#include <string.h>

#include "base/secret.h"

enum { BLOCK = 128, ROUNDS = 12 };

/* The first 64 bits of the fractions of the square roots of 8 primes. */
static const uint64_t start[8] = {
    UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b),
    UINT64_C(0x3c6ef372fe94f82b), UINT64_C(0xa54ff53a5f1d36f1),
    UINT64_C(0x510e527fade682d1), UINT64_C(0x9b05688c2b3e6c1f),
    UINT64_C(0x1f83d9abfb41bd6b), UINT64_C(0x5be0cd19137e2179)};

static const uint8_t order[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

static inline uint64_t rotate(uint64_t x, int bits) {
  return x >> bits | x << (64 - bits);
}

static inline uint64_t read_little_endian(const uint8_t *p) {
  uint64_t x;
  memcpy(&x, p, sizeof(x));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  x = __builtin_bswap64(x);
#endif
  return x;
}

static inline void mix(uint64_t *a, uint64_t *b, uint64_t *c, uint64_t *d,
                       uint64_t x, uint64_t y) {
  *a += *b + x;
  *d = rotate(*d ^ *a, 32);
  *c += *d;
  *b = rotate(*b ^ *c, 24);
  *a += *b + y;
  *d = rotate(*d ^ *a, 16);
  *c += *d;
  *b = rotate(*b ^ *c, 63);
}

static inline void mix_all(uint64_t v[16], const uint64_t m[16],
                           const uint8_t at[16]) {
  mix(v, v + 4, v + 8, v + 12, m[at[0]], m[at[1]]);
  mix(v + 1, v + 5, v + 9, v + 13, m[at[2]], m[at[3]]);
  mix(v + 2, v + 6, v + 10, v + 14, m[at[4]], m[at[5]]);
  mix(v + 3, v + 7, v + 11, v + 15, m[at[6]], m[at[7]]);
  mix(v, v + 5, v + 10, v + 15, m[at[8]], m[at[9]]);
  mix(v + 1, v + 6, v + 11, v + 12, m[at[10]], m[at[11]]);
  mix(v + 2, v + 7, v + 8, v + 13, m[at[12]], m[at[13]]);
  mix(v + 3, v + 4, v + 9, v + 14, m[at[14]], m[at[15]]);
}

static void compress(bsm_blake2b *hash, const uint8_t *block, size_t bytes,
                     uint64_t last) {
  uint64_t v[16], m[16];
  hash->size += bytes;
  for (int i = 0; i < 16; i++) m[i] = read_little_endian(block + 8 * i);
  memcpy(v, hash->state, sizeof(hash->state));
  memcpy(v + 8, start, sizeof(start));
  v[12] ^= hash->size; /* files have less than 2^64 bytes */
  v[14] ^= last;
  for (int round = 0; round < ROUNDS; round++) {
    mix_all(v, m, order[round % 10]);
  }
  for (int i = 0; i < 8; i++) hash->state[i] ^= v[i] ^ v[i + 8];
}

void bsm_blake2b_init(bsm_blake2b *hash, size_t length, const void *key,
                      size_t key_size) {
  *hash = (bsm_blake2b){.length = length};
  memcpy(hash->state, start, sizeof(start));
  hash->state[0] ^= 0x01010000u ^ key_size << 8 ^ length;
  if (key_size) {
    memcpy(hash->block, key, key_size);
    hash->used = BLOCK;
  }
}

/* The last block is compressed at the end, also when it is full. */
void bsm_blake2b_add(bsm_blake2b *hash, const void *data, size_t size) {
  const uint8_t *p = data;
  while (size) {
    if (hash->used == BLOCK) {
      compress(hash, hash->block, BLOCK, 0);
      hash->used = 0;
    }
    while (!hash->used && size > BLOCK) {
      compress(hash, p, BLOCK, 0);
      p += BLOCK;
      size -= BLOCK;
    }
    const size_t room = BLOCK - hash->used;
    const size_t take = size < room ? size : room;
    memcpy(hash->block + hash->used, p, take);
    hash->used += take;
    p += take;
    size -= take;
  }
}

void bsm_blake2b_finish(bsm_blake2b *hash, uint8_t *out) {
  memset(hash->block + hash->used, 0, BLOCK - hash->used);
  compress(hash, hash->block, hash->used, UINT64_MAX);
  for (size_t i = 0; i < hash->length; i++) {
    out[i] = (uint8_t)(hash->state[i / 8] >> 8 * (i % 8));
  }
  bsm_secret_wipe(hash, sizeof(*hash));
}
