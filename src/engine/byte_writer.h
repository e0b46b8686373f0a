/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the bytes of an engine's description: what engine/byte_reader.h
 * reads. When memory runs out, the text's `failed` is set. */
#ifndef BSM_ENGINE_BYTE_WRITER_H_
#define BSM_ENGINE_BYTE_WRITER_H_

#include <string.h>

#include "base/strings.h"

static inline void bsm_put(bsm_text *out, const void *data, size_t size) {
  bsm_text_append(out, (bsm_str){data, size});
}

static inline void bsm_put_u32(bsm_text *out, uint32_t value) {
  bsm_put(out, &value, sizeof(value));
}

static inline void bsm_put_u64(bsm_text *out, uint64_t value) {
  bsm_put(out, &value, sizeof(value));
}

static inline void bsm_put_string(bsm_text *out, const char *text) {
  const size_t length = strlen(text);
  bsm_put_u32(out, (uint32_t)length);
  bsm_put(out, text, length);
}

/* Writes a count, and as many u32. */
static inline void bsm_put_ids(bsm_text *out, const uint32_t *ids,
                               uint32_t count) {
  bsm_put_u32(out, count);
  bsm_put(out, ids, count * sizeof(*ids));
}

#endif /* BSM_ENGINE_BYTE_WRITER_H_ */
