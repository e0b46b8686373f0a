/* SPDX-License-Identifier: Apache-2.0 */
/* Random bytes, and their end. */
#include "base/secret.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

bsm_status bsm_secret_random(void *out, size_t size) {
  unsigned char *p = out;
  while (size) {
    const ssize_t got = getrandom(p, size, 0);
    if (got < 0 && errno != EINTR) {
      return BSM_FAIL(BSM_IO, "the system has no random bytes (getrandom)");
    }
    if (got > 0) {
      p += got;
      size -= (size_t)got;
    }
  }
  return BSM_OK;
}

void bsm_secret_wipe(void *memory, size_t size) {
  memset(memory, 0, size);
  __asm__ volatile("" : : "r"(memory) : "memory"); /* as if it was read */
}
