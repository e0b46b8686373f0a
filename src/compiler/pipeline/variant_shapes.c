/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing shapes from ranges. */
#include "compiler/pipeline/variant_shapes.h"

#include <string.h>

#define MAX_DEPTH 200

/* The dims that range. Dims that range alike count as one, such as the batch of
 * several inputs. */
typedef struct range_scan {
  bool any, several;
  int64_t min, opt, max;
} range_scan;

static bool ranges(const bsm_input_spec *spec, int32_t dim) {
  bool given = false;
  for (int32_t i = 0; i < spec->rank; i++) {
    given = given || spec->opt[i] != 0 || spec->max[i] != 0;
  }
  return given && spec->min[dim] != spec->max[dim];
}

static void scan(const bsm_input_spec *specs, size_t count, int depth,
                 range_scan *out) {
  for (size_t k = 0; k < count && depth < MAX_DEPTH; k++) {
    const bsm_input_spec *spec = &specs[k];
    scan(spec->items, spec->item_count, depth + 1, out);
    if (spec->kind != BSM_INPUT_TENSOR || spec->rank > BSM_MAX_RANK) continue;
    for (int32_t i = 0; i < spec->rank; i++) {
      if (!ranges(spec, i)) continue;
      if (!out->any) {
        *out =
            (range_scan){true, false, spec->min[i], spec->opt[i], spec->max[i]};
      } else if (out->min != spec->min[i] || out->opt != spec->opt[i] ||
                 out->max != spec->max[i]) {
        out->several = true;
      }
    }
  }
}

/* How a dim that ranges is fixed. */
typedef enum choice { CHOOSE_OPT, CHOOSE_MIN, CHOOSE_MAX, CHOOSE_SIZE } choice;

static bool ranges_as(const bsm_input_spec *spec, int32_t dim,
                      const range_scan *range) {
  return spec->min[dim] == range->min && spec->opt[dim] == range->opt &&
         spec->max[dim] == range->max;
}

static bsm_status fix(bsm_arena *arena, const bsm_input_spec *specs,
                      size_t count, choice how, int64_t size,
                      const range_scan *only, int depth, bsm_input_spec *out) {
  if (depth > MAX_DEPTH) {
    return BSM_FAIL(BSM_LIMIT, "input specs nest more than %d deep", MAX_DEPTH);
  }
  for (size_t k = 0; k < count; k++) {
    bsm_input_spec *spec = &out[k];
    *spec = specs[k];
    if (spec->item_count) {
      bsm_input_spec *items =
          BSM_NEW_ARRAY(arena, bsm_input_spec, spec->item_count);
      BSM_TRY_ALLOC(items);
      BSM_TRY(fix(arena, spec->items, spec->item_count, how, size, only,
                  depth + 1, items));
      spec->items = items;
    }
    if (spec->kind != BSM_INPUT_TENSOR || spec->rank > BSM_MAX_RANK) continue;
    for (int32_t i = 0; i < spec->rank; i++) {
      if (!ranges(&specs[k], i)) continue;
      const bool other = only && !ranges_as(&specs[k], i, only);
      spec->min[i] = how == CHOOSE_OPT || other ? specs[k].opt[i]
                     : how == CHOOSE_MIN        ? specs[k].min[i]
                     : how == CHOOSE_MAX        ? specs[k].max[i]
                                                : size;
    }
    memset(spec->opt, 0, sizeof(spec->opt));
    memset(spec->max, 0, sizeof(spec->max));
  }
  return BSM_OK;
}

bsm_status bsm_variant_shapes(bsm_arena *arena, const bsm_input_spec *specs,
                              size_t spec_count, bsm_input_spec **out,
                              size_t *count) {
  range_scan found = {0};
  *count = 0;
  scan(specs, spec_count, 0, &found);
  if (!found.any) return BSM_OK;
  const bool all = !found.several && found.max - found.min < BSM_MAX_VARIANTS;
  for (size_t i = 0; i < BSM_MAX_VARIANTS; i++) {
    out[i] = BSM_NEW_ARRAY(arena, bsm_input_spec, spec_count + 1);
    BSM_TRY_ALLOC(out[i]);
  }
  BSM_TRY(
      fix(arena, specs, spec_count, CHOOSE_OPT, 0, NULL, 0, out[(*count)++]));
  if (!all) {
    BSM_TRY(
        fix(arena, specs, spec_count, CHOOSE_MIN, 0, NULL, 0, out[(*count)++]));
    return fix(arena, specs, spec_count, CHOOSE_MAX, 0, NULL, 0,
               out[(*count)++]);
  }
  for (int64_t size = found.min; size <= found.max; size++) {
    if (size == found.opt) continue;
    BSM_TRY(fix(arena, specs, spec_count, CHOOSE_SIZE, size, NULL, 0,
                out[(*count)++]));
  }
  return BSM_OK;
}

bsm_status bsm_one_shape(bsm_arena *arena, const bsm_input_spec *specs,
                         size_t spec_count, int64_t min, int64_t opt,
                         int64_t max, int64_t size, bsm_input_spec **out) {
  const range_scan only = {.min = min, .opt = opt, .max = max};
  *out = BSM_NEW_ARRAY(arena, bsm_input_spec, spec_count + 1);
  BSM_TRY_ALLOC(*out);
  return fix(arena, specs, spec_count, CHOOSE_SIZE, size, &only, 0, *out);
}
