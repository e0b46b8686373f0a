/* SPDX-License-Identifier: Apache-2.0 */
/* Which engine files are trusted with machine code. */
#include "trust/code_trust.h"

#include <string.h>

#include "trust/built_engines.h"
#include "trust/file_signature.h"

static bool is_given(const bsm_code_trust_query *query,
                     const uint8_t public_key[32]) {
  for (size_t i = 0; i < query->public_key_count; i++) {
    if (memcmp(query->public_keys[i], public_key, 32) == 0) return true;
  }
  return false;
}

static bsm_status check_signer(const bsm_code_trust_query *query,
                               const bsm_engine_signature *end) {
  if (is_given(query, end->public_key)) return BSM_OK;
  return BSM_FAIL(BSM_UNTRUSTED, "it is signed with the key %s, which is %s",
                  bsm_key_digits_of(end->public_key).text,
                  query->public_key_count ? "none of the public keys given"
                                          : "not given as a public key");
}

static bsm_status check_built(const bsm_code_trust_query *query) {
  return query->ignore_built ? BSM_FAIL(BSM_UNTRUSTED, "it is not signed")
                             : BSM_OK;
}

bsm_status bsm_code_trust_expect(const bsm_code_trust_query *query) {
  bsm_engine_signature end;
  if (bsm_engine_file_signature(query->data, query->size, &end)) {
    return check_signer(query, &end);
  }
  BSM_TRY(check_built(query));
  return bsm_built_engines_exist();
}

bsm_status bsm_code_trust_verify(const bsm_code_trust_query *query) {
  bsm_engine_signature end;
  if (bsm_engine_file_signature(query->data, query->size, &end)) {
    BSM_TRY(check_signer(query, &end));
    return bsm_signature_verify(query->data, query->size, &end);
  }
  BSM_TRY(check_built(query));
  uint8_t digest[BSM_FILE_DIGEST_BYTES];
  const bsm_file_piece whole = {query->data, query->size};
  bsm_file_digest(&whole, 1, digest);
  return bsm_built_engines_find(digest);
}
