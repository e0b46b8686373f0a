/* SPDX-License-Identifier: Apache-2.0 */
/* The list of engines that were built here. */
#include "trust/built_engines.h"

#include <stdio.h>
#include <string.h>

#include "base/private_folder.h"
#include "base/secret.h"
#include "trust/blake2b.h"

#define KEY_FILE "key"
#define LIST_FILE "engines"
#define MAC_PREFIX "Bessemer built engine\n"

enum { KEY_BYTES = 32, MAC_BYTES = 32 };

typedef struct engine_list {
  uint8_t mac[BSM_MAX_BUILT_ENGINES + 1][MAC_BYTES]; /* room for one more */
  size_t count;
} engine_list;

typedef struct folder_path {
  char text[4096];
} folder_path;

/* ---- the folder ---- */

/* $NAME/REST, when the variable is an absolute path. */
static bool path_below(const char *name, const char *rest, folder_path *out) {
  const char *start = bsm_private_variable(name);
  if (!start || start[0] != '/') return false;
  const int length =
      snprintf(out->text, sizeof(out->text), "%s%s", start, rest);
  return length > 0 && (size_t)length < sizeof(out->text);
}

static bsm_status find_folder(folder_path *out) {
  const char *own = bsm_private_variable("BESSEMER_BUILT_ENGINES");
  if (own) {
    if (path_below("BESSEMER_BUILT_ENGINES", "", out)) return BSM_OK;
    return own[0]
               ? BSM_FAIL(BSM_UNSUPPORTED,
                          "BESSEMER_BUILT_ENGINES is no absolute path: %s", own)
               : BSM_FAIL(BSM_UNSUPPORTED,
                          "BESSEMER_BUILT_ENGINES says to note no engines");
  }
  if (path_below("XDG_STATE_HOME", "/bessemer/built", out) ||
      path_below("HOME", "/.local/state/bessemer/built", out)) {
    return BSM_OK;
  }
  return BSM_FAIL(BSM_UNSUPPORTED,
                  "neither BESSEMER_BUILT_ENGINES, XDG_STATE_HOME nor HOME is "
                  "an absolute path");
}

static bsm_status read_key(const bsm_private_folder *folder,
                           uint8_t key[KEY_BYTES]) {
  size_t size;
  BSM_TRY(bsm_private_file_read(folder, KEY_FILE, key, KEY_BYTES, &size));
  if (size == KEY_BYTES) return BSM_OK;
  return BSM_FAIL(BSM_CORRUPT,
                  "%s/" KEY_FILE
                  " has %zu bytes, not %d: remove the folder, "
                  "and what was built is forgotten",
                  folder->path, size, KEY_BYTES);
}

/* No list is an empty one. */
static bsm_status read_list(const bsm_private_folder *folder,
                            engine_list *out) {
  size_t size;
  bsm_status status = bsm_private_file_read(
      folder, LIST_FILE, out->mac, BSM_MAX_BUILT_ENGINES * MAC_BYTES, &size);
  out->count = size / MAC_BYTES;
  if (bsm_status_code(status) == BSM_NOT_FOUND) {
    bsm_status_free(status);
    return BSM_OK;
  }
  if (status || size % MAC_BYTES == 0) return status;
  return BSM_FAIL(BSM_CORRUPT,
                  "%s/" LIST_FILE
                  " is cut: remove it, and what was built is "
                  "forgotten",
                  folder->path);
}

static void make_mac(const uint8_t key[KEY_BYTES], const uint8_t digest[64],
                     uint8_t out[MAC_BYTES]) {
  bsm_blake2b hash;
  bsm_blake2b_init(&hash, MAC_BYTES, key, KEY_BYTES);
  bsm_blake2b_add(&hash, MAC_PREFIX, sizeof(MAC_PREFIX) - 1);
  bsm_blake2b_add(&hash, digest, 64);
  bsm_blake2b_finish(&hash, out);
}

static size_t find_mac(const engine_list *list, const uint8_t mac[MAC_BYTES]) {
  size_t i = 0;
  while (i < list->count && memcmp(list->mac[i], mac, MAC_BYTES) != 0) i++;
  return i;
}

/* ---- looking up ---- */

static bsm_status open_and_read(uint8_t key[KEY_BYTES], engine_list *list) {
  folder_path path;
  bsm_private_folder folder;
  BSM_TRY(find_folder(&path));
  BSM_TRY(bsm_private_folder_open(path.text, &folder));
  bsm_status status = read_key(&folder, key);
  if (!status) status = read_list(&folder, list);
  bsm_private_folder_close(&folder);
  return status;
}

static bsm_status none_known(void) {
  return BSM_FAIL(BSM_UNTRUSTED,
                  "it is not signed, and no engine that this user has built on "
                  "this machine");
}

/* What stands in the way of looking up is the reason for not trusting. */
static bsm_status read_known(uint8_t key[KEY_BYTES], engine_list *list) {
  bsm_status status = open_and_read(key, list);
  const bsm_code code = bsm_status_code(status);
  if (!status || code == BSM_OUT_OF_MEMORY) return status;
  bsm_status untrusted = none_known();
  if (code != BSM_NOT_FOUND) {
    untrusted = bsm_status_note(untrusted, "what was built cannot be read: %s",
                                bsm_status_message(status));
  }
  bsm_status_free(status);
  return untrusted;
}

bsm_status bsm_built_engines_exist(void) {
  uint8_t key[KEY_BYTES];
  engine_list list = {.count = 0};
  bsm_status status = read_known(key, &list);
  bsm_secret_wipe(key, sizeof(key));
  return status || list.count ? status : none_known();
}

bsm_status bsm_built_engines_find(const uint8_t digest[64]) {
  uint8_t key[KEY_BYTES], mac[MAC_BYTES];
  engine_list list = {.count = 0};
  bsm_status status = read_known(key, &list);
  if (!status) {
    make_mac(key, digest, mac);
    if (find_mac(&list, mac) == list.count) status = none_known();
  }
  bsm_secret_wipe(key, sizeof(key));
  return status;
}

/* ---- adding ---- */

static bsm_status read_or_make_key(const bsm_private_folder *folder,
                                   uint8_t key[KEY_BYTES]) {
  bsm_status status = read_key(folder, key);
  if (bsm_status_code(status) != BSM_NOT_FOUND) return status;
  bsm_status_free(status);
  BSM_TRY(bsm_secret_random(key, KEY_BYTES));
  return bsm_private_file_replace(folder, KEY_FILE, key, KEY_BYTES);
}

/* The engine becomes the latest; the oldest goes when there are too many. */
static bsm_status add(const bsm_private_folder *folder,
                      const uint8_t key[KEY_BYTES], const uint8_t digest[64]) {
  engine_list list = {.count = 0};
  uint8_t mac[MAC_BYTES];
  BSM_TRY(read_list(folder, &list));
  make_mac(key, digest, mac);
  size_t gone = find_mac(&list, mac);
  if (gone == list.count && list.count == BSM_MAX_BUILT_ENGINES) gone = 0;
  if (gone < list.count) {
    list.count--;
    memmove(list.mac[gone], list.mac[gone + 1],
            (list.count - gone) * MAC_BYTES);
  }
  memcpy(list.mac[list.count++], mac, MAC_BYTES);
  return bsm_private_file_replace(folder, LIST_FILE, list.mac,
                                  list.count * MAC_BYTES);
}

bsm_status bsm_built_engines_add(const uint8_t digest[64]) {
  folder_path path;
  bsm_private_folder folder;
  uint8_t key[KEY_BYTES];
  BSM_TRY(find_folder(&path));
  BSM_TRY(bsm_private_folder_make(path.text));
  BSM_TRY(bsm_private_folder_open(path.text, &folder));
  bsm_status status = bsm_private_folder_lock(&folder);
  if (!status) status = read_or_make_key(&folder, key);
  if (!status) status = add(&folder, key, digest);
  bsm_secret_wipe(key, sizeof(key));
  bsm_private_folder_close(&folder);
  return status;
}
