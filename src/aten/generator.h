/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers as PyTorch's CPU generator makes them: a Mersenne twister
 * (mt19937) and the value that a normal draw leaves for the next one.
 *
 * The ops of aten_random.c draw from bsm_op_ctx.generator and give, for a seed,
 * the bits that torch.manual_seed(seed) gives. (PyTorch on Intel CPUs draws
 * bernoulli_ with a number and exponential_ from MKL's streams instead: this
 * follows what it does elsewhere.) */
#ifndef BSM_ATEN_GENERATOR_H_
#define BSM_ATEN_GENERATOR_H_

#include <stdbool.h>
#include <stdint.h>

enum { BSM_TWISTER_WORDS = 624 };

typedef struct bsm_generator {
  uint32_t words[BSM_TWISTER_WORDS];
  int used; /* of `words`; all: the next draw makes new ones */
  bool has_normal;
  double normal; /* the second value of the last pair */
} bsm_generator;

/* As torch.manual_seed: the low 32 bits count. */
void bsm_generator_seed(bsm_generator *g, uint64_t seed);
uint32_t bsm_generator_u32(bsm_generator *g);
uint64_t bsm_generator_u64(bsm_generator *g);
/* In [0, 1), with 53 and 24 random bits. */
double bsm_generator_double(bsm_generator *g);
float bsm_generator_float(bsm_generator *g);
/* Normal with mean 0 and deviation 1; every second call is cheap. */
double bsm_generator_normal(bsm_generator *g);

#endif /* BSM_ATEN_GENERATOR_H_ */
