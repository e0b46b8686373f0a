/* SPDX-License-Identifier: Apache-2.0 */
/* Reading, writing and keys of the timing cache. */
#include "builder/timing_cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"

#define HEADING "bessemer timing cache 1"
#define KEY_DIGITS 16
#define MAX_CACHE_BYTES (64u << 20)

static bool is_key(bsm_str text) {
  if (text.len < KEY_DIGITS) return false;
  for (size_t i = 0; i < KEY_DIGITS; i++) {
    const char c = text.data[i];
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return true;
}

static bool is_tactic(bsm_str text) {
  if (text.len == 0 || text.len > 64) return false;
  for (size_t i = 0; i < text.len; i++) {
    const char c = text.data[i];
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_')) {
      return false;
    }
  }
  return true;
}

static bsm_status put_text(bsm_timing_cache *cache, bsm_str key,
                           bsm_str tactic) {
  const bool known = bsm_strmap_get(&cache->tactics, key) != NULL;
  char *value = bsm_arena_strndup(cache->arena, tactic.data, tactic.len);
  BSM_TRY_ALLOC(value);
  BSM_TRY_ALLOC(bsm_strmap_set(cache->arena, &cache->tactics, key, value));
  if (known) return BSM_OK;
  const char *name = bsm_arena_strndup(cache->arena, key.data, key.len);
  BSM_TRY_ALLOC(name);
  BSM_TRY_ALLOC(bsm_vec_push(cache->arena, &cache->keys, name));
  return BSM_OK;
}

bsm_status bsm_timing_cache_parse(bsm_arena *arena, bsm_str text,
                                  bsm_timing_cache *out) {
  *out = (bsm_timing_cache){.arena = arena};
  size_t number = 0;
  while (text.len > 0) {
    const char *end = memchr(text.data, '\n', text.len);
    const size_t length = end ? (size_t)(end - text.data) : text.len;
    const bsm_str line = {text.data, length};
    text.data += length + (end ? 1 : 0);
    text.len -= length + (end ? 1 : 0);
    number++;
    if (number == 1) {
      if (!bsm_str_eq(line, BSM_STR(HEADING))) {
        return BSM_FAIL(BSM_CORRUPT,
                        "not a timing cache: the first line is not \"%s\"",
                        HEADING);
      }
      continue;
    }
    const bsm_str tactic = {
        line.data + KEY_DIGITS + 1,
        line.len > KEY_DIGITS ? line.len - KEY_DIGITS - 1 : 0};
    if (!is_key(line) || line.len <= KEY_DIGITS ||
        line.data[KEY_DIGITS] != ' ' || !is_tactic(tactic)) {
      return BSM_FAIL(BSM_CORRUPT,
                      "line %zu of the timing cache is malformed: delete the "
                      "file and build again",
                      number);
    }
    BSM_TRY(put_text(out, (bsm_str){line.data, KEY_DIGITS}, tactic));
  }
  return BSM_OK;
}

bsm_status bsm_timing_cache_load(bsm_arena *arena, const char *path,
                                 bsm_timing_cache *out) {
  *out = (bsm_timing_cache){.arena = arena};
  if (access(path, F_OK) != 0 && errno == ENOENT) return BSM_OK;
  bsm_file_map map;
  BSM_TRY(bsm_file_map_open(path, MAX_CACHE_BYTES, &map));
  bsm_status status = bsm_timing_cache_parse(
      arena, (bsm_str){(const char *)map.data, map.size}, out);
  bsm_file_map_close(&map);
  return bsm_status_note(status, "in %s", path);
}

bsm_status bsm_timing_cache_save(const bsm_timing_cache *cache,
                                 const char *path) {
  if (!cache->changed) return BSM_OK;
  bsm_text text;
  bsm_text_init(&text, cache->arena);
  bsm_text_puts(&text, HEADING "\n");
  for (size_t i = 0; i < cache->keys.len; i++) {
    const char *key = cache->keys.items[i];
    const char *tactic = bsm_strmap_get(&cache->tactics, bsm_str_of(key));
    bsm_text_printf(&text, "%s %s\n", key, tactic);
  }
  if (text.failed) return BSM_FAIL_OOM();
  const bsm_file_piece piece = {text.data, text.len};
  return bsm_file_write(path, &piece, 1);
}

static bsm_str key_text(uint64_t key, char *buffer) {
  snprintf(buffer, KEY_DIGITS + 1, "%016" PRIx64, key);
  return (bsm_str){buffer, KEY_DIGITS};
}

const char *bsm_timing_cache_get(const bsm_timing_cache *cache, uint64_t key) {
  char buffer[KEY_DIGITS + 1];
  return bsm_strmap_get(&cache->tactics, key_text(key, buffer));
}

bsm_status bsm_timing_cache_put(bsm_timing_cache *cache, uint64_t key,
                                const char *tactic) {
  char buffer[KEY_DIGITS + 1];
  cache->changed = true;
  return put_text(cache, key_text(key, buffer), bsm_str_of(tactic));
}

static uint64_t hash_tensor(const bsm_plan_tensor *t, uint64_t seed) {
  const size_t bytes = (size_t)t->dims.rank * sizeof(int64_t);
  const int32_t head[2] = {t->dims.rank, (int32_t)t->dtype};
  seed = bsm_hash64(head, sizeof(head), seed);
  seed = bsm_hash64(t->dims.d, bytes, seed);
  return bsm_hash64(t->strides, bytes, seed);
}

uint64_t bsm_timing_key(const bsm_plan *plan, const bsm_plan_step *step,
                        uint32_t isa, int threads, bsm_str cpu_model) {
  const int32_t head[4] = {(int32_t)step->kind, (int32_t)isa, threads,
                           (int32_t)step->input_count};
  uint64_t key = bsm_hash64(head, sizeof(head), 0);
  key = bsm_hash64(step->params, bsm_step_params_size(step->kind), key);
  for (uint32_t i = 0; i < step->input_count; i++) {
    key = hash_tensor(&plan->tensors[step->inputs[i]], key);
  }
  for (uint32_t i = 0; i < step->output_count; i++) {
    key = hash_tensor(&plan->tensors[step->outputs[i]], key);
  }
  return bsm_hash64(cpu_model.data, cpu_model.len, key);
}
