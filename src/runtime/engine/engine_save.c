/* SPDX-License-Identifier: Apache-2.0 */
/* Saving engines, and noting which of them were built here. */
#include "base/options.h"
#include "engine/engine_file.h"
#include "runtime/engine/engine.h"
#include "trust/file_signature.h"

static bsm_status take_digest(void *user, const bsm_file_piece *pieces,
                              size_t count, uint8_t *signature) {
  (void)signature;
  bsm_file_digest(pieces, count, user);
  return BSM_OK;
}

/* The hash is of what was written, not of what is in the file by then. */
static bsm_status save_and_record(const bsm_engine *engine, const char *path,
                                  const bsm_logger *logger) {
  uint8_t digest[BSM_FILE_DIGEST_BYTES];
  const bsm_engine_seal seal = {NULL, take_digest, digest};
  BSM_TRY(bsm_engine_file_write_sealed(engine->plan, path, &seal));
  bsm_status status = engine->record(digest);
  if (status) {
    bsm_log(logger, BSM_LOG_LEVEL_WARNING,
            "%s carries machine code, and it cannot be noted that it was built "
            "here: %s",
            path, bsm_status_message(status));
  }
  bsm_status_free(status);
  return BSM_OK;
}

bsm_status bsm_engine_save_with(const bsm_engine *engine, const char *path,
                                const bsm_engine_save_options *given) {
  bsm_engine_save_options options = BSM_ENGINE_SAVE_OPTIONS_INIT;
  BSM_NEED(engine);
  BSM_NEED(path);
  BSM_TRY(bsm_options_copy(&options, sizeof(options), given,
                           "bsm_engine_save_options"));
  /* Only what this process made: a loaded engine may come from anywhere. */
  const bool record =
      engine->record && engine->plan->code_count && !options.unrecorded;
  return bsm_status_note(record ? save_and_record(engine, path, options.logger)
                                : bsm_engine_file_write(engine->plan, path),
                         "while writing the engine %s", path);
}

bsm_status bsm_engine_save(const bsm_engine *engine, const char *path) {
  return bsm_engine_save_with(engine, path, NULL);
}
