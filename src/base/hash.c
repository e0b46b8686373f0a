/* SPDX-License-Identifier: Apache-2.0 */
/* XXH64, written from its specification (Yann Collet, xxHash). */
#include "base/hash.h"

#include <string.h>

static const uint64_t P1 = UINT64_C(0x9E3779B185EBCA87);
static const uint64_t P2 = UINT64_C(0xC2B2AE3D27D4EB4F);
static const uint64_t P3 = UINT64_C(0x165667B19E3779F9);
static const uint64_t P4 = UINT64_C(0x85EBCA77C2B2AE63);
static const uint64_t P5 = UINT64_C(0x27D4EB2F165667C5);

static inline uint64_t rotate(uint64_t x, int bits) {
  return (x << bits) | (x >> (64 - bits));
}

static inline uint64_t read64(const uint8_t *p) {
  uint64_t x;
  memcpy(&x, p, sizeof(x));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  x = __builtin_bswap64(x);
#endif
  return x;
}

static inline uint32_t read32(const uint8_t *p) {
  uint32_t x;
  memcpy(&x, p, sizeof(x));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  x = __builtin_bswap32(x);
#endif
  return x;
}

static inline uint64_t mix_lane(uint64_t lane, uint64_t input) {
  return rotate(lane + input * P2, 31) * P1;
}

static inline uint64_t merge_lane(uint64_t hash, uint64_t lane) {
  return (hash ^ mix_lane(0, lane)) * P1 + P4;
}

/* The last 0 to 31 bytes and the final avalanche. */
static uint64_t finish(uint64_t hash, const uint8_t *p, size_t left) {
  for (; left >= 8; p += 8, left -= 8) {
    hash = rotate(hash ^ mix_lane(0, read64(p)), 27) * P1 + P4;
  }
  if (left >= 4) {
    hash = rotate(hash ^ (read32(p) * P1), 23) * P2 + P3;
    p += 4;
    left -= 4;
  }
  for (; left; p++, left--) hash = rotate(hash ^ (*p * P5), 11) * P1;
  hash = (hash ^ (hash >> 33)) * P2;
  hash = (hash ^ (hash >> 29)) * P3;
  return hash ^ (hash >> 32);
}

uint64_t bsm_hash64(const void *data, size_t size, uint64_t seed) {
  const uint8_t *p = data;
  size_t left = size;
  uint64_t hash;
  if (size >= 32) {
    uint64_t a = seed + P1 + P2, b = seed + P2, c = seed, d = seed - P1;
    for (; left >= 32; p += 32, left -= 32) {
      a = mix_lane(a, read64(p));
      b = mix_lane(b, read64(p + 8));
      c = mix_lane(c, read64(p + 16));
      d = mix_lane(d, read64(p + 24));
    }
    hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
    hash = merge_lane(hash, a);
    hash = merge_lane(hash, b);
    hash = merge_lane(hash, c);
    hash = merge_lane(hash, d);
  } else {
    hash = seed + P5;
  }
  return finish(hash + size, p, left);
}
