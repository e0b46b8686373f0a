/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the API: making, reading and writing them. */
#include <string.h>

#include "base/file.h"
#include "base/options.h"
#include "base/private_folder.h"
#include "base/secret.h"
#include "bessemer/signature.h"
#include "signing/key_text.h"
#include "trust/ed25519.h"

bsm_status bsm_secret_key_create(uint8_t out[BSM_SECRET_KEY_BYTES]) {
  BSM_NEED(out);
  return bsm_secret_random(out, BSM_SECRET_KEY_BYTES);
}

bsm_status bsm_secret_key_public(const uint8_t key[BSM_SECRET_KEY_BYTES],
                                 uint8_t out[BSM_PUBLIC_KEY_BYTES]) {
  BSM_NEED(key);
  BSM_NEED(out);
  bsm_ed25519_public_key(key, out);
  return BSM_OK;
}

bsm_status bsm_secret_key_load(const char *path,
                               uint8_t out[BSM_SECRET_KEY_BYTES]) {
  char text[BSM_KEY_TEXT_LIMIT];
  size_t size;
  BSM_NEED(path);
  BSM_NEED(out);
  bsm_status status = bsm_private_path_read(path, text, sizeof(text), &size);
  if (!status) {
    status = bsm_status_note(
        bsm_key_parse((bsm_str){text, size}, BSM_KEY_SECRET, out),
        "in the key file %s", path);
  }
  bsm_secret_wipe(text, sizeof(text));
  return status;
}

bsm_status bsm_public_key_load(const char *path,
                               uint8_t out[BSM_PUBLIC_KEY_BYTES]) {
  const bsm_file_map_options reading = {BSM_KEY_TEXT_LIMIT, true, NULL};
  bsm_file_map map;
  BSM_NEED(path);
  BSM_NEED(out);
  BSM_TRY(bsm_file_map_open(path, &reading, &map));
  const bsm_str text = {(const char *)map.data, map.size};
  bsm_status status = bsm_status_note(bsm_key_parse(text, BSM_KEY_PUBLIC, out),
                                      "in the key file %s", path);
  bsm_file_map_close(&map);
  return status;
}

static bsm_status save(const uint8_t *key, bsm_key_kind kind,
                       const char *path) {
  bsm_key_pem text;
  BSM_NEED(key);
  BSM_NEED(path);
  bsm_key_write(key, kind, &text);
  bsm_status status = bsm_new_file_write(path, text.data, strlen(text.data),
                                         kind == BSM_KEY_SECRET);
  bsm_secret_wipe(&text, sizeof(text));
  return status;
}

bsm_status bsm_secret_key_save(const uint8_t key[BSM_SECRET_KEY_BYTES],
                               const char *path) {
  return save(key, BSM_KEY_SECRET, path);
}

bsm_status bsm_public_key_save(const uint8_t key[BSM_PUBLIC_KEY_BYTES],
                               const char *path) {
  return save(key, BSM_KEY_PUBLIC, path);
}
