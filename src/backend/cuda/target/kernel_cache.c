/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the cache: code, PTX, and behind them the size of the code and a
 * hash of all that. */
#include "backend/cuda/target/kernel_cache.h"

#include <string.h>

#include "base/hash.h"
#include "base/private_folder.h"

#define FIRST_BYTES ((size_t)256 << 10)
#define MAX_BYTES ((size_t)64 << 20)

typedef struct file_end {
  uint64_t code, hash;
} file_end;

/* ---- the folder ---- */

static const char *folder_path(bsm_arena *arena) {
  const char *given = bsm_private_variable("BESSEMER_KERNEL_CACHE");
  const char *cache = bsm_private_variable("XDG_CACHE_HOME");
  const char *home = bsm_private_variable("HOME");
  if (given) return given[0] ? bsm_arena_strdup(arena, given) : NULL;
  if (cache && cache[0] == '/') {
    return bsm_arena_printf(arena, "%s/bessemer-kernels", cache);
  }
  return home && home[0] == '/'
             ? bsm_arena_printf(arena, "%s/.cache/bessemer-kernels", home)
             : NULL;
}

const char *bsm_kernel_cache_find(bsm_arena *arena, const bsm_logger *logger) {
  bsm_private_folder folder;
  const char *path = folder_path(arena);
  if (!path) return NULL;
  bsm_status status = bsm_private_folder_make(path);
  if (!status) {
    status = bsm_private_folder_open(path, &folder);
    if (!status) bsm_private_folder_close(&folder);
  }
  if (!status) return path;
  bsm_log(logger, BSM_LOG_LEVEL_WARNING,
          "no compiled kernels are kept, and none are taken: %s",
          bsm_status_message(status));
  bsm_status_free(status);
  return NULL;
}

/* ---- files ---- */

static bool take(const char *bytes, size_t size, bsm_str *code, bsm_str *ptx) {
  file_end end;
  if (size <= sizeof(end)) return false;
  size -= sizeof(end);
  memcpy(&end, bytes + size, sizeof(end));
  if (end.code > size || end.hash != bsm_hash64(bytes, size, end.code)) {
    return false;
  }
  *code = (bsm_str){bytes, (size_t)end.code};
  *ptx = (bsm_str){bytes + end.code, size - (size_t)end.code};
  return true;
}

bool bsm_kernel_cache_read(const char *path, const char *name, bsm_arena *arena,
                           bsm_str *code, bsm_str *ptx) {
  bsm_private_folder folder;
  bsm_status status = bsm_private_folder_open(path, &folder);
  bool taken = false;
  if (!status) {
    bsm_code failure = BSM_LIMIT;
    for (size_t room = FIRST_BYTES; failure == BSM_LIMIT && room <= MAX_BYTES;
         room *= 4) {
      size_t size;
      char *bytes = bsm_arena_alloc(arena, room, 16);
      if (!bytes) break;
      status = bsm_private_file_read(&folder, name, bytes, room, &size);
      failure = bsm_status_code(status);
      taken = !status && take(bytes, size, code, ptx);
      bsm_status_free(status);
    }
    bsm_private_folder_close(&folder);
  } else {
    bsm_status_free(status);
  }
  return taken;
}

void bsm_kernel_cache_write(const char *path, const char *name,
                            bsm_arena *arena, bsm_str code, bsm_str ptx) {
  bsm_private_folder folder;
  const size_t size = code.len + ptx.len;
  char *bytes = bsm_arena_alloc(arena, size + sizeof(file_end), 16);
  if (!bytes) return;
  memcpy(bytes, code.data, code.len);
  if (ptx.len) memcpy(bytes + code.len, ptx.data, ptx.len);
  const file_end end = {code.len, bsm_hash64(bytes, size, code.len)};
  memcpy(bytes + size, &end, sizeof(end));
  bsm_status status = bsm_private_folder_open(path, &folder);
  if (!status) {
    /* The hash tells what a crash has damaged. Waiting for the disk, one
     * kernel after the other, takes longer than compiling on many CPUs. */
    status =
        bsm_private_file_replace_soon(&folder, name, bytes, size + sizeof(end));
    bsm_private_folder_close(&folder);
  }
  bsm_status_free(status);
}

/* ---- what is being compiled ---- */

int bsm_kernel_cache_claim(const char *path, const char *name) {
  bsm_private_folder folder;
  bsm_status status = bsm_private_folder_open(path, &folder);
  const int claim = status ? -1
                           : bsm_private_folder_claim(
                                 &folder, bsm_hash64(name, strlen(name), 0));
  if (!status) bsm_private_folder_close(&folder);
  bsm_status_free(status);
  return claim;
}

void bsm_kernel_cache_release(int claim) {
  bsm_private_release(claim);
}
