/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets: bytes that nobody can guess, and memory that held them. */
#ifndef BSM_BASE_SECRET_H_
#define BSM_BASE_SECRET_H_

#include <stddef.h>

#include "bessemer/status.h"

/* Random bytes of the system, good for keys. BSM_IO: it has none. */
BSM_NODISCARD bsm_status bsm_secret_random(void *out, size_t size);

/* Zeroes memory that is not read again, which a compiler may leave out of
 * memset. */
void bsm_secret_wipe(void *memory, size_t size);

#endif /* BSM_BASE_SECRET_H_ */
