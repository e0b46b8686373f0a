/* SPDX-License-Identifier: Apache-2.0 */
/* The engines with machine code that this user has built on this machine: what
 * a program of the user made, another may run.
 *
 * They are in a private folder (base/private_folder.h): that of the variable
 * BESSEMER_BUILT_ENGINES (none when it is empty), else bessemer/built in
 * $XDG_STATE_HOME or ~/.local/state. The file `key` holds 32 random bytes, the
 * file `engines` a MAC with this key of the hash of each engine, 32 bytes each,
 * the latest last; beyond BSM_MAX_BUILT_ENGINES the oldest are forgotten. */
#ifndef BSM_TRUST_BUILT_ENGINES_H_
#define BSM_TRUST_BUILT_ENGINES_H_

#include <stdint.h>

#include "bessemer/status.h"

enum { BSM_MAX_BUILT_ENGINES = 1024 };

/* Whether any engine is known. BSM_UNTRUSTED: none, and why. */
BSM_NODISCARD bsm_status bsm_built_engines_exist(void);
/* Whether the engine with this hash is known. BSM_UNTRUSTED: it is not. */
BSM_NODISCARD bsm_status bsm_built_engines_find(const uint8_t digest[64]);
/* Adds an engine. BSM_UNSUPPORTED: there is no folder to do it in. */
BSM_NODISCARD bsm_status bsm_built_engines_add(const uint8_t digest[64]);

#endif /* BSM_TRUST_BUILT_ENGINES_H_ */
