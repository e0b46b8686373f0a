/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the machine code of an engine file is to be trusted, when the caller
 * does not say so: for a signature with a key of the caller's, or because this
 * user has built the engine on this machine. */
#ifndef BSM_TRUST_CODE_TRUST_H_
#define BSM_TRUST_CODE_TRUST_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bessemer/status.h"

typedef struct bsm_code_trust_query {
  const void *data; /* the whole file */
  size_t size;
  const uint8_t (*public_keys)[32];
  size_t public_key_count;
  bool ignore_built; /* what was built here counts for nothing */
} bsm_code_trust_query;

/* Whether the file could be trusted, without looking at all of it.
 * BSM_UNTRUSTED: it cannot; the message says what is missing. */
BSM_NODISCARD bsm_status
bsm_code_trust_expect(const bsm_code_trust_query *query);
/* Whether these bytes are to be trusted: nobody else may write to them, now and
 * as long as they are used. BSM_UNTRUSTED: they are not. */
BSM_NODISCARD bsm_status
bsm_code_trust_verify(const bsm_code_trust_query *query);

#endif /* BSM_TRUST_CODE_TRUST_H_ */
