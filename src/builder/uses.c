/* SPDX-License-Identifier: Apache-2.0 */
/* The use index of a network, replacement and sweeping. */
#include "builder/uses.h"

#include <string.h>

bsm_status bsm_uses_compute(const bsm_network *net, bsm_arena *arena,
                            bsm_uses *out) {
  const size_t n = net->tensors.len + 1;
  out->readers = BSM_NEW_ARRAY(arena, bsm_layer **, n);
  out->reader_count = BSM_NEW_ARRAY(arena, uint32_t, n);
  out->is_output = BSM_NEW_ARRAY(arena, bool, n);
  if (!out->readers || !out->reader_count || !out->is_output) {
    return BSM_FAIL_OOM();
  }
  for (size_t i = 0; i < net->layers.len; i++) {
    const bsm_layer *layer = net->layers.items[i];
    if (layer->removed) continue;
    for (size_t k = 0; k < layer->inputs.len; k++) {
      out->reader_count[layer->inputs.items[k]->id]++;
    }
  }
  for (size_t i = 0; i < net->tensors.len; i++) {
    out->readers[i] =
        BSM_NEW_ARRAY(arena, bsm_layer *, out->reader_count[i] + 1u);
    BSM_TRY_ALLOC(out->readers[i]);
    out->reader_count[i] = 0;
  }
  for (size_t i = 0; i < net->layers.len; i++) {
    bsm_layer *layer = net->layers.items[i];
    if (layer->removed) continue;
    for (size_t k = 0; k < layer->inputs.len; k++) {
      const uint32_t id = layer->inputs.items[k]->id;
      out->readers[id][out->reader_count[id]++] = layer;
    }
  }
  for (size_t i = 0; i < net->outputs.len; i++) {
    out->is_output[net->outputs.items[i]->id] = true;
  }
  return BSM_OK;
}

bsm_layer *bsm_uses_single_reader(const bsm_uses *uses, const bsm_itensor *t) {
  if (uses->is_output[t->id] || uses->reader_count[t->id] != 1) return NULL;
  return uses->readers[t->id][0];
}

bsm_status bsm_uses_replace(bsm_network *net, bsm_arena *arena, bsm_uses *uses,
                            bsm_itensor *from, bsm_itensor *to) {
  const size_t total =
      (size_t)uses->reader_count[from->id] + uses->reader_count[to->id];
  bsm_layer **merged = BSM_NEW_ARRAY(arena, bsm_layer *, total + 1);
  BSM_TRY_ALLOC(merged);
  uint32_t count = 0;
  for (uint32_t i = 0; i < uses->reader_count[to->id]; i++) {
    bsm_layer *reader = uses->readers[to->id][i];
    if (!reader->removed) merged[count++] = reader;
  }
  for (uint32_t i = 0; i < uses->reader_count[from->id]; i++) {
    bsm_layer *reader = uses->readers[from->id][i];
    if (reader->removed) continue;
    merged[count++] = reader;
    for (size_t k = 0; k < reader->inputs.len; k++) {
      if (reader->inputs.items[k] == from) reader->inputs.items[k] = to;
    }
  }
  uses->readers[to->id] = merged;
  uses->reader_count[to->id] = count;
  uses->reader_count[from->id] = 0;
  if (uses->is_output[from->id]) {
    for (size_t i = 0; i < net->outputs.len; i++) {
      if (net->outputs.items[i] == from) net->outputs.items[i] = to;
    }
    uses->is_output[to->id] = true;
    uses->is_output[from->id] = false;
  }
  return BSM_OK;
}

/* The most bytes of names that a layer gets from its parts: more tell nobody
 * anything. */
#define MAX_NAMES 1024

/* Two lists of names, each of which may be NULL. */
static bsm_status join(bsm_arena *arena, const char *first, const char *second,
                       const char **out) {
  *out = first ? first : second;
  if (!first || !second || strlen(first) + strlen(second) > MAX_NAMES) {
    return BSM_OK;
  }
  *out = bsm_arena_printf(arena, "%s + %s", first, second);
  return *out ? BSM_OK : BSM_FAIL_OOM();
}

static bsm_status all_names(const bsm_layer *layer, const char **out) {
  bsm_arena *arena = layer->net->arena;
  BSM_TRY(join(arena, layer->names_before, layer->name, out));
  return join(arena, *out, layer->names_after, out);
}

bsm_status bsm_layer_name_before(bsm_layer *layer, const bsm_layer *part) {
  const char *names;
  BSM_TRY(all_names(part, &names));
  return join(layer->net->arena, names, layer->names_before,
              &layer->names_before);
}

const char *bsm_layer_full_name(const bsm_layer *layer) {
  const char *names;
  bsm_status status = all_names(layer, &names);
  if (!status) return names ? names : "";
  bsm_status_free(status);
  return NULL;
}

bsm_status bsm_uses_absorb(bsm_network *net, bsm_arena *arena, bsm_uses *uses,
                           bsm_layer *layer, bsm_layer *next) {
  const char *names;
  bsm_itensor *out = layer->outputs.items[0];
  next->removed = true;
  out->name = next->outputs.items[0]->name;
  BSM_TRY(all_names(next, &names));
  BSM_TRY(join(net->arena, layer->names_after, names, &layer->names_after));
  return bsm_uses_replace(net, arena, uses, next->outputs.items[0], out);
}

bsm_status bsm_network_sweep(bsm_network *net, bsm_arena *arena) {
  bool *needed = BSM_NEW_ARRAY(arena, bool, net->tensors.len + 1);
  BSM_TRY_ALLOC(needed);
  for (size_t i = 0; i < net->outputs.len; i++) {
    needed[net->outputs.items[i]->id] = true;
  }
  for (size_t i = net->layers.len; i-- > 0;) {
    bsm_layer *layer = net->layers.items[i];
    bool live = false;
    for (size_t k = 0; k < layer->outputs.len; k++) {
      live = live || needed[layer->outputs.items[k]->id];
    }
    if (!live) layer->removed = true;
    if (layer->removed) continue;
    for (size_t k = 0; k < layer->inputs.len; k++) {
      needed[layer->inputs.items[k]->id] = true;
    }
  }
  size_t kept = 0;
  for (size_t i = 0; i < net->layers.len; i++) {
    if (!net->layers.items[i]->removed) {
      net->layers.items[kept++] = net->layers.items[i];
    }
  }
  net->layers.len = kept;
  return BSM_OK;
}
