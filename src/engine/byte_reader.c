/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the bytes of an engine's description. */
#include "engine/byte_reader.h"

#include <inttypes.h>
#include <string.h>

static bsm_status truncated(const bsm_byte_reader *r, const char *what) {
  return BSM_FAIL(BSM_CORRUPT,
                  "the description ends inside %s at byte %zu of %zu", what,
                  r->at, r->size);
}

bsm_status bsm_read(bsm_byte_reader *r, void *out, size_t size,
                    const char *what) {
  if (size > r->size - r->at) return truncated(r, what);
  memcpy(out, r->data + r->at, size);
  r->at += size;
  return BSM_OK;
}

bsm_status bsm_read_u32(bsm_byte_reader *r, uint32_t *out, const char *what) {
  return bsm_read(r, out, sizeof(*out), what);
}

bsm_status bsm_read_u64(bsm_byte_reader *r, uint64_t *out, const char *what) {
  return bsm_read(r, out, sizeof(*out), what);
}

bsm_status bsm_read_count(bsm_byte_reader *r, uint32_t *out, size_t min_bytes,
                          const char *what) {
  BSM_TRY(bsm_read_u32(r, out, what));
  if (*out > (r->size - r->at) / min_bytes) {
    return BSM_FAIL(BSM_CORRUPT, "%" PRIu32 " %s do not fit at byte %zu", *out,
                    what, r->at);
  }
  return BSM_OK;
}

bsm_status bsm_read_string(bsm_byte_reader *r, const char **out,
                           const char *what) {
  uint32_t length;
  BSM_TRY(bsm_read_count(r, &length, 1, what));
  if (memchr(r->data + r->at, 0, length)) {
    return BSM_FAIL(BSM_CORRUPT, "a NUL byte inside %s at byte %zu", what,
                    r->at);
  }
  *out = bsm_arena_strndup(r->arena, (const char *)r->data + r->at, length);
  BSM_TRY_ALLOC(*out);
  r->at += length;
  return BSM_OK;
}

bsm_status bsm_read_bytes(bsm_byte_reader *r, const uint8_t **out,
                          uint32_t *size, const char *what) {
  BSM_TRY(bsm_read_count(r, size, 1, what));
  uint8_t *bytes = bsm_arena_alloc(r->arena, *size ? *size : 1, 1);
  BSM_TRY_ALLOC(bytes);
  *out = bytes;
  return bsm_read(r, bytes, *size, what);
}

bsm_status bsm_read_ids(bsm_byte_reader *r, uint32_t **out, uint32_t *count,
                        uint32_t max, const char *what) {
  BSM_TRY(bsm_read_count(r, count, sizeof(uint32_t), what));
  if (*count > max) {
    return BSM_FAIL(BSM_CORRUPT, "%" PRIu32 " %s at byte %zu", *count, what,
                    r->at);
  }
  *out = BSM_NEW_ARRAY(r->arena, uint32_t, *count + (size_t)1);
  BSM_TRY_ALLOC(*out);
  return bsm_read(r, *out, *count * sizeof(uint32_t), what);
}
