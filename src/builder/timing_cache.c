/* SPDX-License-Identifier: Apache-2.0 */
/* Reading, writing and keys of the timing cache. */
#include "builder/timing_cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "engine/engine_file.h"

#define HEADING "bessemer timing cache "
#define VERSION "3"
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
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_' ||
          (c == ' ' && i > 0))) {
      return false;
    }
  }
  return true;
}

static bsm_status put_entry(bsm_timing_cache *cache, bsm_str key,
                            bsm_timing_entry entry) {
  bsm_timing_entry *known = bsm_strmap_get(&cache->entries, key);
  if (known) {
    *known = entry;
    return BSM_OK;
  }
  bsm_timing_entry *fresh = BSM_NEW(cache->arena, bsm_timing_entry);
  BSM_TRY_ALLOC(fresh);
  *fresh = entry;
  BSM_TRY_ALLOC(bsm_strmap_set(cache->arena, &cache->entries, key, fresh));
  const char *name = bsm_arena_strndup(cache->arena, key.data, key.len);
  BSM_TRY_ALLOC(name);
  BSM_TRY_ALLOC(bsm_vec_push(cache->arena, &cache->keys, name));
  return BSM_OK;
}

/* Takes the text up to the next `end`, or all of it. */
static bsm_str take_until(bsm_str *text, char end) {
  const char *at = memchr(text->data, end, text->len);
  const size_t length = at ? (size_t)(at - text->data) : text->len;
  const bsm_str taken = {text->data, length};
  text->data += length + (at ? 1 : 0);
  text->len -= length + (at ? 1 : 0);
  return taken;
}

/* Parses the tactics and times of a line; false when it is malformed. */
static bool parse_trials(bsm_str text, bsm_plan_trial *trials, bsm_str *names,
                         uint32_t *count) {
  *count = 0;
  do {
    int64_t time;
    const bsm_str name = take_until(&text, '\t'),
                  number = take_until(&text, '\t');
    if (*count == BSM_STEP_MAX_TRIALS || !is_tactic(name) ||
        !bsm_parse_i64(number, &time) || time < 0) {
      return false;
    }
    names[*count] = name;
    trials[(*count)++].nanoseconds = (uint64_t)time;
  } while (text.len > 0);
  return true;
}

static bsm_status parse_line(bsm_timing_cache *cache, bsm_str line,
                             size_t number) {
  bsm_plan_trial trials[BSM_STEP_MAX_TRIALS];
  bsm_str names[BSM_STEP_MAX_TRIALS];
  bsm_timing_entry entry = {0};
  const bsm_str key = take_until(&line, '\t');
  if (key.len != KEY_DIGITS || !is_key(key) ||
      !parse_trials(line, trials, names, &entry.count)) {
    return BSM_FAIL(BSM_CORRUPT,
                    "line %zu of the timing cache is malformed: delete the "
                    "file and build again",
                    number);
  }
  entry.trials = BSM_NEW_ARRAY(cache->arena, bsm_plan_trial, entry.count);
  BSM_TRY_ALLOC(entry.trials);
  for (uint32_t i = 0; i < entry.count; i++) {
    entry.trials[i].nanoseconds = trials[i].nanoseconds;
    entry.trials[i].tactic =
        bsm_arena_strndup(cache->arena, names[i].data, names[i].len);
    BSM_TRY_ALLOC(entry.trials[i].tactic);
  }
  return put_entry(cache, key, entry);
}

bsm_status bsm_timing_cache_parse(bsm_arena *arena, bsm_str text,
                                  bsm_timing_cache *out) {
  *out = (bsm_timing_cache){.arena = arena};
  if (text.len == 0) return BSM_OK;
  const bsm_str heading = take_until(&text, '\n'), any = BSM_STR(HEADING);
  if (heading.len < any.len || memcmp(heading.data, any.data, any.len) != 0) {
    return BSM_FAIL(BSM_CORRUPT,
                    "not a timing cache: the first line does not begin with "
                    "\"%s\"",
                    HEADING);
  }
  if (!bsm_str_eq(heading, BSM_STR(HEADING VERSION))) return BSM_OK;
  for (size_t number = 2; text.len > 0; number++) {
    BSM_TRY(parse_line(out, take_until(&text, '\n'), number));
  }
  return BSM_OK;
}

bsm_status bsm_timing_cache_load(bsm_arena *arena, const char *path,
                                 bsm_timing_cache *out) {
  *out = (bsm_timing_cache){.arena = arena};
  if (access(path, F_OK) != 0 && errno == ENOENT) return BSM_OK;
  bsm_file_map map;
  const bsm_file_map_options reading = {MAX_CACHE_BYTES, true, NULL};
  BSM_TRY(bsm_file_map_open(path, &reading, &map));
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
  bsm_text_puts(&text, HEADING VERSION "\n");
  for (size_t i = 0; i < cache->keys.len; i++) {
    const char *key = cache->keys.items[i];
    const bsm_timing_entry *entry =
        bsm_strmap_get(&cache->entries, bsm_str_of(key));
    bsm_text_puts(&text, key);
    for (uint32_t k = 0; k < entry->count; k++) {
      bsm_text_printf(&text, "\t%s\t%" PRIu64, entry->trials[k].tactic,
                      entry->trials[k].nanoseconds);
    }
    bsm_text_puts(&text, "\n");
  }
  if (text.failed) return BSM_FAIL_OOM();
  const bsm_file_piece piece = {text.data, text.len};
  return bsm_file_write(path, &piece, 1);
}

static bsm_str key_text(uint64_t key, char *buffer) {
  snprintf(buffer, KEY_DIGITS + 1, "%016" PRIx64, key);
  return (bsm_str){buffer, KEY_DIGITS};
}

const bsm_timing_entry *bsm_timing_cache_get(const bsm_timing_cache *cache,
                                             uint64_t key) {
  char buffer[KEY_DIGITS + 1];
  return bsm_strmap_get(&cache->entries, key_text(key, buffer));
}

bsm_status bsm_timing_cache_put(bsm_timing_cache *cache, uint64_t key,
                                bsm_timing_entry entry) {
  char buffer[KEY_DIGITS + 1];
  bsm_timing_entry copy = {.count = entry.count};
  cache->changed = true;
  copy.trials = BSM_NEW_ARRAY(cache->arena, bsm_plan_trial, entry.count);
  BSM_TRY_ALLOC(copy.trials);
  memcpy(copy.trials, entry.trials, entry.count * sizeof(*entry.trials));
  return put_entry(cache, key_text(key, buffer), copy);
}

static uint64_t hash_tensor(const bsm_plan_tensor *t, uint64_t seed) {
  const size_t bytes = (size_t)t->dims.rank * sizeof(int64_t);
  const int32_t head[2] = {t->dims.rank, (int32_t)t->dtype};
  seed = bsm_hash64(head, sizeof(head), seed);
  seed = bsm_hash64(t->dims.d, bytes, seed);
  return bsm_hash64(t->strides, bytes, seed);
}

uint64_t bsm_timing_key(const bsm_plan *plan, const bsm_plan_step *step,
                        const bsm_timing_conditions *conditions) {
  const bsm_str machine = conditions->machine;
  const int32_t head[5] = {BSM_ENGINE_FORMAT_VERSION, (int32_t)step->kind,
                           conditions->timer, (int32_t)step->input_count,
                           (int32_t)step->precision};
  uint64_t key = bsm_hash64(head, sizeof(head), 0);
  key = bsm_hash64(step->params, bsm_step_params_used(step->kind, step->params),
                   key);
  for (uint32_t i = 0; i < step->input_count; i++) {
    key = hash_tensor(&plan->tensors[step->inputs[i]], key);
  }
  for (uint32_t i = 0; i < step->output_count; i++) {
    key = hash_tensor(&plan->tensors[step->outputs[i]], key);
  }
  return bsm_hash64(machine.data, machine.len, key);
}
