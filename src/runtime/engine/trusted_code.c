/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code is trusted for the bytes that are used. */
#include "runtime/engine/trusted_code.h"

#include <string.h>

#include "base/allocate.h"
#include "engine/engine_file.h"
#include "trust/code_trust.h"

/* Pages of a map follow the file as long as it is there: verifying them says
 * nothing of what is read later. */
static bsm_status own_bytes(bsm_engine *engine, bsm_code_trust_query *query) {
  if (!engine->map.mapped) return BSM_OK; /* the caller's memory, or a copy */
  engine->copy = bsm_allocate(engine->allocator, query->size, BSM_ALIGNMENT);
  BSM_TRY_ALLOC(engine->copy);
  memcpy(engine->copy, query->data, query->size);
  bsm_file_map_close(&engine->map);
  query->data = engine->copy;
  return BSM_OK;
}

static bsm_status find_reason(bsm_engine *engine, bsm_code_trust_query *query) {
  BSM_TRY(bsm_code_trust_expect(query));
  BSM_TRY(own_bytes(engine, query));
  return bsm_code_trust_verify(query);
}

bsm_status bsm_engine_trust_code(bsm_engine *engine, const void *data,
                                 size_t size,
                                 const bsm_engine_load_options *options,
                                 bsm_plan **plan) {
  bsm_code_trust_query query = {.data = data,
                                .size = size,
                                .public_keys = options->public_keys,
                                .public_key_count = options->public_key_count,
                                .ignore_built = options->ignore_built};
  const char *target =
      bsm_arena_strdup(&engine->arena, (*plan)->target ? (*plan)->target : "");
  BSM_TRY_ALLOC(target);
  bsm_status status = find_reason(engine, &query);
  if (bsm_status_code(status) == BSM_UNTRUSTED) {
    return bsm_status_note(
        status,
        "the engine carries machine code for %s, which can do whatever this "
        "process may: give the public key of who signed it (--public-key), or "
        "load it with trust_code (--trust-code) if you trust where it comes "
        "from",
        target[0] ? target : "a device");
  }
  BSM_TRY(status);
  return bsm_engine_file_read(&engine->arena, query.data, size, false, plan);
}
