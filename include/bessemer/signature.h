/* SPDX-License-Identifier: Apache-2.0 */
/* Signing engines.
 *
 * Machine code that an engine carries can do whatever the process may, so that
 * bsm_engine_load refuses such engines unless it can trust them. A signature is
 * one reason: who builds engines signs them with a secret key, and who runs
 * them gives its public key (public_keys of bsm_engine_load_options).
 *
 *   uint8_t key[BSM_SECRET_KEY_BYTES];
 *   bsm_status st = bsm_secret_key_load("my.key", key);
 *   if (!st) st = bsm_engine_sign("model.bsm", key, "model.bsm");
 *
 * Signatures are Ed25519 (RFC 8032) of a BLAKE2b hash of the whole file; any
 * engine can be signed. Key files are PEM as OpenSSL writes it: `openssl
 * genpkey -algorithm ed25519`, and `openssl pkey -pubout`.
 *
 * Everything here is in the compiler library (libbessemer). */
#ifndef BESSEMER_SIGNATURE_H_
#define BESSEMER_SIGNATURE_H_

#include <stddef.h>
#include <stdint.h>

#include "bessemer/engine.h"
#include "bessemer/export.h"
#include "bessemer/status.h"

BSM_EXTERN_C_BEGIN

#define BSM_SECRET_KEY_BYTES 32

/* A new secret key, of random bytes. BSM_IO: the system has none. */
BSM_API BSM_NODISCARD bsm_status
bsm_secret_key_create(uint8_t out[BSM_SECRET_KEY_BYTES]);
/* The public key that belongs to a secret one. */
BSM_API BSM_NODISCARD bsm_status bsm_secret_key_public(
    const uint8_t key[BSM_SECRET_KEY_BYTES], uint8_t out[BSM_PUBLIC_KEY_BYTES]);

/* Reads a key file. BSM_IO: it cannot be read, or it holds a secret key and
 * somebody but its owner, this user, may use it. BSM_CORRUPT: it holds no such
 * key. */
BSM_API BSM_NODISCARD bsm_status
bsm_secret_key_load(const char *path, uint8_t out[BSM_SECRET_KEY_BYTES]);
BSM_API BSM_NODISCARD bsm_status
bsm_public_key_load(const char *path, uint8_t out[BSM_PUBLIC_KEY_BYTES]);
/* Writes a key file, a secret one for this user alone. BSM_IO: it cannot be
 * written, or there is a file of that name, which is left as it is. */
BSM_API BSM_NODISCARD bsm_status
bsm_secret_key_save(const uint8_t key[BSM_SECRET_KEY_BYTES], const char *path);
BSM_API BSM_NODISCARD bsm_status
bsm_public_key_save(const uint8_t key[BSM_PUBLIC_KEY_BYTES], const char *path);

/* Signs the engine `path` and writes it as `out_path`, which may be the same.
 * A signature that it has is replaced. The engine is checked as when it is
 * loaded, but for what only its device knows; nothing in it is run.
 * Errors as bsm_engine_load. */
BSM_API BSM_NODISCARD bsm_status
bsm_engine_sign(const char *path, const uint8_t key[BSM_SECRET_KEY_BYTES],
                const char *out_path);

/* Verifies that the file is an engine signed with one of the keys; `signer` is
 * the index of the key, and may be NULL. What verifies need not be what is
 * loaded later: files may be replaced. bsm_engine_load verifies what it uses.
 * BSM_UNTRUSTED: not signed, not with these keys, or changed since. Other
 * errors as bsm_engine_load. */
BSM_API BSM_NODISCARD bsm_status bsm_engine_verify(
    const char *path, const uint8_t (*public_keys)[BSM_PUBLIC_KEY_BYTES],
    size_t public_key_count, size_t *signer);

BSM_EXTERN_C_END

#endif /* BESSEMER_SIGNATURE_H_ */
