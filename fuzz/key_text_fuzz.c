/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a key file. A key that was read is written and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/mutators/mutator.h"
#include "signing/key_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(fuzz_mutate_text, 0);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > BSM_KEY_TEXT_LIMIT) return 0;
  for (int kind = BSM_KEY_SECRET; kind <= BSM_KEY_PUBLIC; kind++) {
    uint8_t key[32], again[32];
    bsm_key_pem pem;
    bsm_status status = bsm_key_parse((bsm_str){(const char *)data, size},
                                      (bsm_key_kind)kind, key);
    if (!status) {
      bsm_key_write(key, (bsm_key_kind)kind, &pem);
      status = bsm_key_parse(bsm_str_of(pem.data), (bsm_key_kind)kind, again);
      if (status || memcmp(key, again, sizeof(key)) != 0) abort();
    }
    bsm_status_free(status);
  }
  return 0;
}
