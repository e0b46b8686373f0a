/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code of engine files: who says that it may run. */
#ifndef BSM_RUNTIME_ENGINE_TRUSTED_CODE_H_
#define BSM_RUNTIME_ENGINE_TRUSTED_CODE_H_

#include "runtime/engine/engine.h"

/* Finds a reason to trust the machine code in the file at `data`, and reads the
 * plan of the bytes that the reason is about into *plan. When they lie in the
 * engine's map, they are copied to memory of the engine first, and the map is
 * closed. BSM_UNTRUSTED: there is none. */
BSM_NODISCARD bsm_status
bsm_engine_trust_code(bsm_engine *engine, const void *data, size_t size,
                      const bsm_engine_load_options *options, bsm_plan **plan);

#endif /* BSM_RUNTIME_ENGINE_TRUSTED_CODE_H_ */
