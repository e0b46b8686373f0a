/* SPDX-License-Identifier: Apache-2.0 */
/* Mutations without libFuzzer, of the programs that replay files. */
#ifndef BSM_FUZZ_REPLAY_MUTATE_H_
#define BSM_FUZZ_REPLAY_MUTATE_H_

#include <stddef.h>
#include <stdint.h>

/* What became of the mutations of all inputs. */
typedef struct replay_mutations {
  size_t turns;    /* of each input; 0: it is run as it is */
  size_t tried;    /* in either way */
  size_t accepted; /* of those that the target's mutator made */
  size_t of_bytes; /* of those that were made by changing bytes alone */
} replay_mutations;

void replay_mutate(replay_mutations *m, const uint8_t *data, size_t size);

#endif /* BSM_FUZZ_REPLAY_MUTATE_H_ */
