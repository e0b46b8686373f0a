/* SPDX-License-Identifier: Apache-2.0 */
/* SipHash-1-3: one round for each word, three at the end. */
#include "base/siphash.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"

typedef struct state {
  uint64_t a, b, c, d;
} state;

static uint64_t rotate(uint64_t x, int bits) {
  return x << bits | x >> (64 - bits);
}

/* Not inlined: it would be there six times, and keys are short. */
__attribute__((noinline)) static void mix(state *s) {
  s->a += s->b;
  s->b = rotate(s->b, 13) ^ s->a;
  s->a = rotate(s->a, 32);
  s->c += s->d;
  s->d = rotate(s->d, 16) ^ s->c;
  s->a += s->d;
  s->d = rotate(s->d, 21) ^ s->a;
  s->c += s->b;
  s->b = rotate(s->b, 17) ^ s->c;
  s->c = rotate(s->c, 32);
}

static void absorb(state *s, uint64_t word) {
  s->d ^= word;
  mix(s);
  s->a ^= word;
}

/* `n` bytes, at most 8, the first in the lowest bits. */
__attribute__((noinline)) static uint64_t read_word(const uint8_t *bytes,
                                                    size_t n) {
  uint64_t word = 0;
  for (size_t i = 0; i < n; i++) word |= (uint64_t)bytes[i] << 8 * i;
  return word;
}

uint64_t bsm_siphash_with(const void *data, size_t size,
                          const uint64_t key[2]) {
  const uint8_t *bytes = data;
  state s = {
      key[0] ^ UINT64_C(0x736f6d6570736575),
      key[1] ^ UINT64_C(0x646f72616e646f6d),
      key[0] ^ UINT64_C(0x6c7967656e657261),
      key[1] ^ UINT64_C(0x7465646279746573),
  };
  const size_t whole = size & ~(size_t)7;
  for (size_t i = 0; i < whole; i += 8) absorb(&s, read_word(bytes + i, 8));
  const uint64_t rest =
      size > whole ? read_word(bytes + whole, size - whole) : 0;
  absorb(&s, rest | (uint64_t)size << 56);
  s.c ^= 0xff;
  for (int i = 0; i < 3; i++) mix(&s);
  return s.a ^ s.b ^ s.c ^ s.d;
}

static uint64_t process_key[2];

/* Where the system has no random numbers, the time and an address are what a
 * file cannot know. */
__attribute__((cold)) static void draw_key(void) {
  if (getrandom(process_key, sizeof(process_key), GRND_NONBLOCK) ==
      (ssize_t)sizeof(process_key)) {
    return;
  }
  const double now = bsm_clock_seconds();
  memcpy(&process_key[0], &now, sizeof(now));
  process_key[1] ^= (uint64_t)(uintptr_t)&process_key;
}

uint64_t bsm_siphash(const void *data, size_t size) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, draw_key);
  return bsm_siphash_with(data, size, process_key);
}
