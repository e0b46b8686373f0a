/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds have to be accepted: a seed of an old format is refused at once, and a
 * fuzz target that starts from it tests nothing. Each target says by this what
 * became of its input; with BSM_FUZZ_SEEDS in the environment, as ctest runs
 * fuzz/corpus and the seeds that the build makes, a refusal ends the program.
 */
#ifndef BSM_FUZZ_SEED_H_
#define BSM_FUZZ_SEED_H_

#include <stddef.h>

#include "bessemer/status.h"

/* Frees the status. */
void fuzz_done(bsm_status status);
/* How many inputs were accepted. */
size_t fuzz_accepted(void);

#endif /* BSM_FUZZ_SEED_H_ */
