/* SPDX-License-Identifier: Apache-2.0 */
/* Variants of a program, and the weights that its plans share. */
#include "compiler/pipeline/program_plan.h"

#include <string.h>

#include "base/hash.h"
#include "engine/program.h"

/* ---- variants ---- */

bsm_status bsm_program_add_variant(bsm_plan *plan, bsm_plan *variant,
                                   bsm_arena *arena) {
  bsm_program *p = plan->program;
  const uint32_t segments = p->segment_count, variants = p->variant_count;
  bsm_plan **all = BSM_NEW_ARRAY(arena, bsm_plan *, segments + 1u);
  uint32_t *ids = BSM_NEW_ARRAY(arena, uint32_t, variants + 1u);
  BSM_TRY_ALLOC(all && ids);
  if (segments) memcpy(all, p->segments, segments * sizeof(*all));
  if (variants) memcpy(ids, p->variants, variants * sizeof(*ids));
  if (!plan->metadata_count) {
    plan->metadata = variant->metadata;
    plan->metadata_count = variant->metadata_count;
    plan->target = variant->target;
  }
  variant->metadata_count = 0;
  all[segments] = variant;
  ids[variants] = segments;
  p->segments = all;
  p->segment_count++;
  p->variants = ids;
  p->variant_count++;
  return BSM_OK;
}

/* ---- precisions ---- */

static bsm_status copy_rule(const bsm_precision_rule *from, bsm_arena *arena,
                            bsm_program_precision *to) {
  const char *pattern = from->pattern ? from->pattern : "";
  *to = (bsm_program_precision){.precision = from->precision,
                                .given = bsm_arena_strdup(arena, from->given),
                                .pattern = bsm_arena_strdup(arena, pattern),
                                .path_count = (uint32_t)from->path_count};
  to->paths = BSM_NEW_ARRAY(arena, const char *, from->path_count + 1);
  if (!to->given || !to->pattern || !to->paths) return BSM_FAIL_OOM();
  for (uint32_t i = 0; i < to->path_count; i++) {
    to->paths[i] = bsm_arena_strdup(arena, from->paths[i]);
    BSM_TRY_ALLOC(to->paths[i]);
  }
  return BSM_OK;
}

bsm_status bsm_program_set_precision(bsm_plan *plan,
                                     const bsm_precision_policy *policy,
                                     bsm_arena *arena) {
  bsm_program *p = plan->program;
  if (!policy) return BSM_OK;
  p->allowed_precisions = policy->allowed;
  p->precisions =
      BSM_NEW_ARRAY(arena, bsm_program_precision, policy->rule_count + 1);
  BSM_TRY_ALLOC(p->precisions);
  for (size_t i = 0; i < policy->rule_count; i++) {
    BSM_TRY(copy_rule(&policy->rules[i], arena, &p->precisions[i]));
  }
  p->precision_count = (uint32_t)policy->rule_count;
  p->weight_bits = (uint32_t)policy->few_bits.bits;
  p->weight_group = (uint32_t)policy->few_bits.group;
  p->weight_rows = (uint64_t)policy->few_bits.rows;
  return BSM_OK;
}

/* ---- weights ---- */

typedef struct weights_entry {
  const bsm_plan_weights *weights;
  struct weights_entry *next; /* of the same hash */
} weights_entry;

bsm_status bsm_program_share_weights(bsm_plan *plan, bsm_arena *scratch) {
  bsm_ptrmap by_hash = {0}, seen = {0};
  for (uint32_t k = 0; bsm_plan_part(plan, k); k++) {
    const bsm_plan *part = bsm_plan_part(plan, k);
    for (uint32_t i = 0; i < part->weights_count; i++) {
      bsm_plan_weights *w = &part->weights[i];
      if (!w->size || bsm_ptrmap_get(&seen, w->data)) continue;
      BSM_TRY_ALLOC(bsm_ptrmap_set(scratch, &seen, w->data, w));
      const size_t size = (size_t)w->size;
      const void *key =
          (void *)(uintptr_t)(bsm_hash64(w->data, size, size) | 1u);
      weights_entry *first = bsm_ptrmap_get(&by_hash, key), *e = first;
      while (e && (e->weights->size != w->size ||
                   memcmp(e->weights->data, w->data, size) != 0)) {
        e = e->next;
      }
      if (e) {
        w->data = e->weights->data;
        continue;
      }
      e = BSM_NEW(scratch, weights_entry);
      BSM_TRY_ALLOC(e);
      *e = (weights_entry){w, first};
      BSM_TRY_ALLOC(bsm_ptrmap_set(scratch, &by_hash, key, e));
    }
  }
  return BSM_OK;
}
