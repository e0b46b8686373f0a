/* SPDX-License-Identifier: Apache-2.0 */
/* Models at random, as IR text: some layers on an input [N, width], in places
 * with an `if` or a loop on data. */
#ifndef BSM_TESTS_SOAK_RANDOM_MODEL_H_
#define BSM_TESTS_SOAK_RANDOM_MODEL_H_

#include <stddef.h>
#include <stdint.h>

typedef struct random_model {
  char text[16384];
  size_t length;
  int64_t width; /* of the input's last dim */
} random_model;

/* The next number below `n`. */
uint32_t random_below(uint64_t *state, uint32_t n);

void random_model_make(random_model *m, uint64_t *state);

#endif /* BSM_TESTS_SOAK_RANDOM_MODEL_H_ */
