/* SPDX-License-Identifier: Apache-2.0 */
/* Signing engine files, and verifying them without loading them. */
#include <string.h>

#include "base/options.h"
#include "base/secret.h"
#include "bessemer/signature.h"
#include "trust/ed25519.h"
#include "trust/file_signature.h"

/* What is signed or verified is what was checked, whatever becomes of the file
 * in the meantime. */
static const bsm_file_map_options read_whole = {.copy = true};

/* ---- signing ---- */

static bsm_status sign(void *user, const bsm_file_piece *pieces, size_t count,
                       uint8_t *signature) {
  uint8_t message[BSM_SIGNED_BYTES];
  bsm_signed_message(pieces, count, message);
  bsm_ed25519_sign(user, message, sizeof(message), signature);
  return BSM_OK;
}

static bsm_status read_and_sign(bsm_arena *arena, const bsm_file_map *map,
                                uint8_t *key, const char *out_path) {
  bsm_plan *plan;
  uint8_t public_key[32];
  BSM_TRY(bsm_engine_file_read(arena, map->data, map->size, true, &plan));
  bsm_ed25519_public_key(key, public_key);
  const bsm_engine_seal seal = {public_key, sign, key};
  return bsm_engine_file_write(plan, out_path, &seal);
}

bsm_status bsm_engine_sign(const char *path,
                           const uint8_t key[BSM_SECRET_KEY_BYTES],
                           const char *out_path) {
  bsm_file_map map;
  bsm_arena arena;
  uint8_t copy[BSM_SECRET_KEY_BYTES];
  BSM_NEED(path);
  BSM_NEED(key);
  BSM_NEED(out_path);
  BSM_TRY(bsm_file_map_open(path, &read_whole, &map));
  bsm_arena_init(&arena, NULL);
  memcpy(copy, key, sizeof(copy));
  bsm_status status = read_and_sign(&arena, &map, copy, out_path);
  bsm_secret_wipe(copy, sizeof(copy));
  bsm_arena_destroy(&arena);
  bsm_file_map_close(&map);
  return bsm_status_note(status, "while signing the engine %s", path);
}

/* ---- verifying ---- */

static bsm_status verify(const bsm_file_map *map,
                         const uint8_t (*public_keys)[BSM_PUBLIC_KEY_BYTES],
                         size_t count, size_t *signer) {
  bsm_plan *plan;
  bsm_arena arena;
  bsm_engine_signature end;
  bsm_arena_init(&arena, NULL);
  bsm_status status =
      bsm_engine_file_read(&arena, map->data, map->size, true, &plan);
  bsm_arena_destroy(&arena);
  if (status) return status;
  if (!bsm_engine_file_signature(map->data, map->size, &end)) {
    return BSM_FAIL(BSM_UNTRUSTED, "it is not signed");
  }
  size_t i = 0;
  while (i < count &&
         memcmp(public_keys[i], end.public_key, sizeof(end.public_key)) != 0) {
    i++;
  }
  if (i == count) {
    return BSM_FAIL(BSM_UNTRUSTED,
                    "it is signed with the key %s, which is none of the public "
                    "keys given",
                    bsm_key_digits_of(end.public_key).text);
  }
  BSM_TRY(bsm_signature_verify(map->data, map->size, &end));
  if (signer) *signer = i;
  return BSM_OK;
}

bsm_status bsm_engine_verify(const char *path,
                             const uint8_t (*public_keys)[BSM_PUBLIC_KEY_BYTES],
                             size_t public_key_count, size_t *signer) {
  bsm_file_map map;
  BSM_NEED(path);
  BSM_NEED_ARRAY(public_keys, public_key_count);
  BSM_TRY(bsm_file_map_open(path, &read_whole, &map));
  bsm_status status = verify(&map, public_keys, public_key_count, signer);
  bsm_file_map_close(&map);
  return bsm_status_note(status, "in the engine %s", path);
}
