/* SPDX-License-Identifier: Apache-2.0 */
/* Saving engines to files, streams and memory, and noting which of them were
 * built here. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
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

/* Gives the pieces of the file to `put`; `name` is for messages. The hash that
 * is noted is of what was given, not of what has become of it by then. */
static bsm_status save(const bsm_engine *engine, bsm_engine_put put, void *user,
                       const bsm_engine_save_options *given, const char *name) {
  bsm_engine_save_options options = BSM_ENGINE_SAVE_OPTIONS_INIT;
  uint8_t digest[BSM_FILE_DIGEST_BYTES];
  const bsm_engine_seal seal = {NULL, take_digest, digest};
  BSM_NEED(engine);
  BSM_TRY(bsm_options_copy(&options, sizeof(options), given,
                           "bsm_engine_save_options"));
  /* Only what this process made: a loaded engine may come from anywhere. */
  const bool record =
      engine->record && engine->plan->code_count && !options.unrecorded;
  BSM_TRY_NOTE(
      bsm_engine_file_give(engine->plan, record ? &seal : NULL, put, user),
      "while writing the engine %s", name);
  bsm_status status = record ? engine->record(digest) : BSM_OK;
  if (status) {
    bsm_log(options.logger, BSM_LOG_LEVEL_WARNING,
            "%s carries machine code, and it cannot be noted that it was built "
            "here: %s",
            name, bsm_status_message(status));
  }
  bsm_status_free(status);
  return BSM_OK;
}

/* ---- files ---- */

bsm_status bsm_engine_save_with(const bsm_engine *engine, const char *path,
                                const bsm_engine_save_options *options) {
  BSM_NEED(engine);
  BSM_NEED(path);
  return save(engine, bsm_engine_put_in_file, &path, options, path);
}

bsm_status bsm_engine_save(const bsm_engine *engine, const char *path) {
  return bsm_engine_save_with(engine, path, NULL);
}

/* ---- streams ---- */

typedef struct stream {
  bsm_engine_write write;
  void *user;
} stream;

static bsm_status put_in_stream(void *user, const bsm_file_piece *pieces,
                                size_t count) {
  const stream *s = user;
  for (size_t i = 0; i < count; i++) {
    if (!pieces[i].size) continue;
    BSM_TRY(s->write(s->user, pieces[i].data, pieces[i].size));
  }
  return BSM_OK;
}

bsm_status bsm_engine_save_stream(const bsm_engine *engine,
                                  bsm_engine_write write, void *user,
                                  const bsm_engine_save_options *options) {
  stream s = {write, user};
  BSM_NEED(write);
  return save(engine, put_in_stream, &s, options, "(a stream)");
}

/* ---- memory ---- */

typedef struct bytes {
  void *data;
  size_t size;
} bytes;

static bsm_status put_in_memory(void *user, const bsm_file_piece *pieces,
                                size_t count) {
  bytes *out = user;
  size_t size = 0, room, at = 0;
  for (size_t i = 0; i < count; i++) {
    if (!bsm_size_add(size, pieces[i].size, &size)) return BSM_FAIL_OOM();
  }
  if (!bsm_size_align(size, BSM_ALIGNMENT, &room)) return BSM_FAIL_OOM();
  uint8_t *data = aligned_alloc(BSM_ALIGNMENT, room);
  BSM_TRY_ALLOC(data);
  for (size_t i = 0; i < count; i++) {
    if (!pieces[i].size) continue;
    memcpy(data + at, pieces[i].data, pieces[i].size);
    at += pieces[i].size;
  }
  *out = (bytes){data, size};
  return BSM_OK;
}

bsm_status bsm_engine_save_memory(const bsm_engine *engine,
                                  const bsm_engine_save_options *options,
                                  void **data, size_t *size) {
  bytes made = {NULL, 0};
  BSM_NEED(data);
  BSM_NEED(size);
  *data = NULL;
  *size = 0;
  BSM_TRY(save(engine, put_in_memory, &made, options, "(in memory)"));
  *data = made.data;
  *size = made.size;
  return BSM_OK;
}

void bsm_bytes_free(void *data) {
  free(data);
}
