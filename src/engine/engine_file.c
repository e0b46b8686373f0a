/* SPDX-License-Identifier: Apache-2.0 */
/* Engine files: header, description, weights, signature. */
#include "engine/engine_file.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/file.h"
#include "base/hash.h"
#include "engine/plan_bytes.h"
#include "engine/program.h"

typedef struct file_header {
  char magic[8];
  uint32_t version, byte_order;
  uint64_t file_size, description_size, weights_offset, weights_size;
  uint64_t description_hash, weights_hash;
} file_header;
_Static_assert(sizeof(file_header) == 64, "the header is 64 bytes");

static const char magic[8] = {'B', 'S', 'M', 'E', 'N', 'G', 'I', 'N'};
static const char signature_magic[8] = {'B', 'S', 'M', 'S', 'I', 'G', 'N', 'S'};
_Static_assert(sizeof(bsm_engine_signature) == 128, "a signature is 128 bytes");
#define SIGNATURE_MINOR 2 /* of the first version with signatures */
#define HASHED_MINOR 3    /* of the first whose hash covers the version */
#define BYTE_ORDER_MARK 0x01020304u
static const uint8_t zeros[BSM_ALIGNMENT];

/* All weights, in the order of the plan's parts. */
static uint32_t count_weights(const bsm_plan *plan) {
  uint32_t count = 0;
  for (uint32_t k = 0; bsm_plan_part(plan, k); k++) {
    count += bsm_plan_part(plan, k)->weights_count;
  }
  return count;
}

uint64_t bsm_engine_file_hash(uint32_t format, const void *description,
                              size_t size) {
  const bool covers_format = (format & 0xffff) >= HASHED_MINOR;
  return bsm_hash64(description, size, covers_format ? format : 0);
}

/* Weights are hashed piece by piece, each piece seeding the next. */
static uint64_t hash_weights(const bsm_plan *plan) {
  uint64_t hash = 0;
  for (uint32_t k = 0; bsm_plan_part(plan, k); k++) {
    const bsm_plan *p = bsm_plan_part(plan, k);
    for (uint32_t i = 0; i < p->weights_count; i++) {
      hash = bsm_hash64(p->weights[i].data, (size_t)p->weights[i].size, hash);
    }
  }
  return hash;
}

static size_t padding_after(uint64_t size) {
  return (size_t)((BSM_ALIGNMENT - size % BSM_ALIGNMENT) % BSM_ALIGNMENT);
}

/* Finds the offset of each of the weights in the weights section. */
static bsm_status place_weights(const bsm_plan *plan, bsm_arena *arena,
                                uint64_t **offsets, uint64_t *total) {
  *offsets = BSM_NEW_ARRAY(arena, uint64_t, count_weights(plan) + 1u);
  BSM_TRY_ALLOC(*offsets);
  uint64_t at = 0;
  uint32_t n = 0;
  bsm_ptrmap places = {0}; /* data -> its place in the section, plus 1 */
  for (uint32_t k = 0; bsm_plan_part(plan, k); k++) {
    const bsm_plan *p = bsm_plan_part(plan, k);
    for (uint32_t i = 0; i < p->weights_count; i++) {
      const uint64_t size = p->weights[i].size;
      const uintptr_t known =
          (uintptr_t)bsm_ptrmap_get(&places, p->weights[i].data);
      (*offsets)[n++] = known && size ? known - 1 : at;
      if (known && size) continue; /* shared: bsm_program_share_weights */
      BSM_TRY_ALLOC(bsm_ptrmap_set(arena, &places, p->weights[i].data,
                                   (void *)(uintptr_t)(at + 1)));
      at += size + padding_after(size);
    }
  }
  *total = at;
  return BSM_OK;
}

/* The last piece, with what is in it from `seal`, which sees all the others. */
static bsm_status add_signature(const bsm_engine_seal *seal,
                                bsm_file_piece *pieces, size_t *count,
                                bsm_engine_signature *end) {
  if (!seal) return BSM_OK;
  if (!seal->public_key) return seal->seal(seal->user, pieces, *count, NULL);
  *end = (bsm_engine_signature){.algorithm = BSM_SIGNATURE_ED25519};
  memcpy(end->magic, signature_magic, sizeof(end->magic));
  memcpy(end->public_key, seal->public_key, sizeof(end->public_key));
  const size_t before = offsetof(bsm_engine_signature, signature);
  pieces[(*count)++] = (bsm_file_piece){end, before};
  BSM_TRY(seal->seal(seal->user, pieces, *count, end->signature));
  pieces[(*count)++] = (bsm_file_piece){end->signature, sizeof(end->signature)};
  return BSM_OK;
}

/* The weights of all parts, each once, and the zeros behind them. */
static void add_weights(const bsm_plan *plan, const uint64_t *offsets,
                        bsm_file_piece *pieces, size_t *count) {
  uint64_t end = 0; /* of the weights added */
  uint32_t n = 0;
  for (uint32_t k = 0; bsm_plan_part(plan, k); k++) {
    const bsm_plan *p = bsm_plan_part(plan, k);
    for (uint32_t i = 0; i < p->weights_count; i++) {
      const bsm_plan_weights *w = &p->weights[i];
      if (offsets[n++] < end) continue;
      end = offsets[n - 1] + w->size;
      pieces[(*count)++] = (bsm_file_piece){w->data, (size_t)w->size};
      pieces[(*count)++] = (bsm_file_piece){zeros, padding_after(w->size)};
    }
  }
}

static bsm_status give_with_arena(const bsm_plan *plan,
                                  const bsm_engine_seal *seal,
                                  bsm_engine_put put, void *user,
                                  bsm_arena *arena) {
  uint64_t *offsets;
  file_header header = {.version = BSM_ENGINE_FORMAT_VERSION,
                        .byte_order = BYTE_ORDER_MARK};
  bsm_str description;
  bsm_engine_signature end;
  BSM_TRY(place_weights(plan, arena, &offsets, &header.weights_size));
  BSM_TRY(bsm_plan_to_bytes(plan, offsets, arena, &description));
  memcpy(header.magic, magic, sizeof(magic));
  header.description_size = description.len;
  header.weights_offset =
      sizeof(header) + description.len + padding_after(description.len);
  header.file_size = header.weights_offset + header.weights_size +
                     (seal && seal->public_key ? sizeof(end) : 0);
  header.description_hash =
      bsm_engine_file_hash(header.version, description.data, description.len);
  header.weights_hash = hash_weights(plan);

  bsm_file_piece *pieces =
      BSM_NEW_ARRAY(arena, bsm_file_piece, 5 + 2 * (size_t)count_weights(plan));
  BSM_TRY_ALLOC(pieces);
  size_t count = 0;
  pieces[count++] = (bsm_file_piece){&header, sizeof(header)};
  pieces[count++] = (bsm_file_piece){description.data, description.len};
  pieces[count++] = (bsm_file_piece){zeros, padding_after(description.len)};
  add_weights(plan, offsets, pieces, &count);
  BSM_TRY(add_signature(seal, pieces, &count, &end));
  return put(user, pieces, count);
}

bsm_status bsm_engine_file_give(const bsm_plan *plan,
                                const bsm_engine_seal *seal, bsm_engine_put put,
                                void *user) {
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_status status = give_with_arena(plan, seal, put, user, &arena);
  bsm_arena_destroy(&arena);
  return status;
}

bsm_status bsm_engine_put_in_file(void *path, const bsm_file_piece *pieces,
                                  size_t count) {
  return bsm_file_write(*(const char **)path, pieces, count);
}

bsm_status bsm_engine_file_write(const bsm_plan *plan, const char *path,
                                 const bsm_engine_seal *seal) {
  return bsm_engine_file_give(plan, seal, bsm_engine_put_in_file, &path);
}

static bsm_status check_version(uint32_t version) {
  const uint32_t major = version >> 16, minor = version & 0xffff;
  if (major == BSM_ENGINE_FORMAT_MAJOR && minor <= BSM_ENGINE_FORMAT_MINOR) {
    return BSM_OK;
  }
  const bool newer =
      major > BSM_ENGINE_FORMAT_MAJOR || major == BSM_ENGINE_FORMAT_MAJOR;
  return BSM_FAIL(BSM_VERSION,
                  "the engine has format %" PRIu32 ".%" PRIu32
                  ", this runtime reads %u.0 to %u.%u: %s",
                  major, minor, BSM_ENGINE_FORMAT_MAJOR,
                  BSM_ENGINE_FORMAT_MAJOR, BSM_ENGINE_FORMAT_MINOR,
                  newer ? "use a newer runtime, or compile the model with the "
                          "version that is to run it"
                        : "compile the model again");
}

static uint64_t after_weights(const file_header *h) {
  return h->file_size - h->weights_offset - h->weights_size;
}

/* Behind the weights there is nothing, or a signature. */
static bool has_room_for_the_rest(const file_header *h) {
  const uint64_t rest = after_weights(h);
  return rest == 0 || (rest == sizeof(bsm_engine_signature) &&
                       (h->version & 0xffff) >= SIGNATURE_MINOR);
}

static bsm_status check_header(const file_header *h, size_t size) {
  if (memcmp(h->magic, magic, sizeof(magic)) != 0) {
    return BSM_FAIL(BSM_CORRUPT,
                    "not an engine: the file does not begin with \"BSMENGIN\"");
  }
  if (h->byte_order != BYTE_ORDER_MARK) {
    return BSM_FAIL(BSM_CORRUPT,
                    "an engine of another byte order: compile the model on a "
                    "machine of this one's");
  }
  BSM_TRY(check_version(h->version));
  if (h->file_size != size) {
    return BSM_FAIL(BSM_CORRUPT,
                    "the engine is %" PRIu64
                    " bytes by its header, the file "
                    "has %zu: it is truncated or damaged",
                    h->file_size, size);
  }
  const uint64_t room = size - sizeof(*h);
  if (h->description_size > room ||
      h->weights_offset != sizeof(*h) + h->description_size +
                               padding_after(h->description_size) ||
      h->weights_offset > size || h->weights_size > size - h->weights_offset ||
      !has_room_for_the_rest(h)) {
    return BSM_FAIL(BSM_CORRUPT, "the sections of the engine do not add up");
  }
  return BSM_OK;
}

bool bsm_engine_file_signature(const void *data, size_t size,
                               bsm_engine_signature *out) {
  file_header header;
  if (size < sizeof(header)) return false;
  memcpy(&header, data, sizeof(header));
  bsm_status status = check_header(&header, size);
  const bool is_signed = !status && after_weights(&header) != 0;
  bsm_status_free(status);
  if (!is_signed) return false;
  memcpy(out, (const uint8_t *)data + size - sizeof(*out), sizeof(*out));
  return true;
}

/* What is in a signature beside the key and the signature itself. */
static bsm_status check_signature(const void *data, size_t size) {
  bsm_engine_signature end;
  if (!bsm_engine_file_signature(data, size, &end)) return BSM_OK;
  if (memcmp(end.magic, signature_magic, sizeof(end.magic)) != 0 ||
      end.algorithm != BSM_SIGNATURE_ED25519 || end.zero != 0 ||
      memcmp(end.zeros, zeros, sizeof(end.zeros)) != 0) {
    return BSM_FAIL(BSM_CORRUPT,
                    "the last %zu bytes of the engine are no signature",
                    sizeof(end));
  }
  return BSM_OK;
}

bsm_status bsm_engine_file_read(bsm_arena *arena, const void *data, size_t size,
                                bool check_weights, bsm_plan **out) {
  *out = NULL;
  file_header header;
  if (size < sizeof(header)) {
    return BSM_FAIL(BSM_CORRUPT,
                    "not an engine: %zu bytes are less than a header", size);
  }
  memcpy(&header, data, sizeof(header));
  BSM_TRY(check_header(&header, size));
  BSM_TRY(check_signature(data, size));
  const uint8_t *bytes = data;
  const bsm_str description = {(const char *)bytes + sizeof(header),
                               (size_t)header.description_size};
  if (bsm_engine_file_hash(header.version, description.data, description.len) !=
      header.description_hash) {
    return BSM_FAIL(BSM_CORRUPT,
                    "the description (bytes %zu to %zu) does not match its "
                    "checksum: the engine is damaged",
                    sizeof(header), sizeof(header) + description.len);
  }
  bsm_plan *plan;
  const bsm_weights_section weights = {bytes + header.weights_offset,
                                       header.weights_size};
  BSM_TRY_NOTE(bsm_plan_from_bytes(description, header.version & 0xffff,
                                   &weights, false, arena, &plan),
               "in the engine's description");
  if (check_weights && hash_weights(plan) != header.weights_hash) {
    return BSM_FAIL(BSM_CORRUPT,
                    "the weights (bytes %" PRIu64
                    " to %zu) do not match their "
                    "checksum: the engine is damaged",
                    header.weights_offset, size);
  }
  BSM_TRY(bsm_plan_verify(plan));
  *out = plan;
  return BSM_OK;
}
