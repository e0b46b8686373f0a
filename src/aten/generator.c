/* SPDX-License-Identifier: Apache-2.0 */
/* The Mersenne twister of 2002 (Matsumoto and Nishimura), period 2^19937 - 1,
 * and the distributions that have no parameters. */
#include "aten/generator.h"

#include <math.h>
#include <string.h>

enum { WORDS = BSM_TWISTER_WORDS, SHIFT = 397 };

void bsm_generator_seed(bsm_generator *g, uint64_t seed) {
  memset(g, 0, sizeof(*g));
  g->words[0] = (uint32_t)seed;
  for (uint32_t i = 1; i < WORDS; i++) {
    const uint32_t last = g->words[i - 1];
    g->words[i] = 1812433253u * (last ^ (last >> 30)) + i;
  }
  g->used = WORDS;
}

static void refill(bsm_generator *g) {
  uint32_t *w = g->words;
  for (int i = 0; i < WORDS; i++) {
    const uint32_t next = w[(i + 1) % WORDS];
    const uint32_t mixed = (w[i] & 0x80000000u) | (next & 0x7fffffffu);
    w[i] = w[(i + SHIFT) % WORDS] ^ (mixed >> 1) ^
           ((next & 1u) ? 0x9908b0dfu : 0u);
  }
  g->used = 0;
}

uint32_t bsm_generator_u32(bsm_generator *g) {
  if (g->used == WORDS) refill(g);
  uint32_t y = g->words[g->used++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

uint64_t bsm_generator_u64(bsm_generator *g) {
  const uint64_t high = bsm_generator_u32(g);
  return high << 32 | bsm_generator_u32(g);
}

double bsm_generator_double(bsm_generator *g) {
  const uint64_t bits = bsm_generator_u64(g) & ((UINT64_C(1) << 53) - 1);
  return (double)bits * 0x1p-53;
}

float bsm_generator_float(bsm_generator *g) {
  return (float)(bsm_generator_u32(g) & 0xffffffu) * 0x1p-24f;
}

double bsm_generator_normal(bsm_generator *g) {
  if (g->has_normal) {
    g->has_normal = false;
    return g->normal;
  }
  const double u1 = bsm_generator_double(g), u2 = bsm_generator_double(g);
  const double r = sqrt(-2.0 * log1p(-u2));
  const double theta = 2.0 * 3.14159265358979323846 * u1;
  g->normal = r * sin(theta);
  g->has_normal = true;
  return r * cos(theta);
}
