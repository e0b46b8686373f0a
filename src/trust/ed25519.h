/* SPDX-License-Identifier: Apache-2.0 */
/* Ed25519 signatures (RFC 8032, pure), written from it: of messages of a few
 * bytes, here. Signing takes the same steps whatever the key is. */
#ifndef BSM_TRUST_ED25519_H_
#define BSM_TRUST_ED25519_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BSM_ED25519_KEY_BYTES = 32, BSM_ED25519_SIGNATURE_BYTES = 64 };

/* The public key of a secret one, which is any 32 random bytes. */
void bsm_ed25519_public_key(const uint8_t secret[32], uint8_t out[32]);

void bsm_ed25519_sign(const uint8_t secret[32], const void *message,
                      size_t size, uint8_t out[64]);

/* Whether a key may be used: a point in its one encoding, and none of the eight
 * points of small order, for which signatures fit many messages. */
bool bsm_ed25519_is_public_key(const uint8_t key[32]);

/* Verifies strictly, so that who does not have the secret key cannot make
 * another signature of a message out of one: S below the order; the key as
 * above; R in its one encoding and not of small order; and the equation
 * without a cofactor. */
bool bsm_ed25519_verify(const uint8_t key[32], const void *message, size_t size,
                        const uint8_t signature[64]);

#endif /* BSM_TRUST_ED25519_H_ */
