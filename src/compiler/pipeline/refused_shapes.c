/* SPDX-License-Identifier: Apache-2.0 */
/* Finds dims that a model fixes. Dims that range alike are tried together, with
 * a few sizes of the range. */
#include "compiler/pipeline/refused_shapes.h"

#include <inttypes.h>

#include "compiler/pipeline/trace_warnings.h"
#include "compiler/pipeline/variant_shapes.h"

/* Dims that range alike, in all inputs. */
typedef struct dim_group {
  int64_t min, opt, max;
  bsm_text places; /* "dimension 0 of input "x"" */
} dim_group;
typedef BSM_VEC(dim_group) group_vec;

static bsm_status add_dim(bsm_module *module, group_vec *groups,
                          const bsm_lowering_range *range, int32_t dim,
                          const char *input) {
  dim_group *group = NULL;
  for (size_t i = 0; i < groups->len; i++) {
    dim_group *g = &groups->items[i];
    if (g->min == range->min.d[dim] && g->opt == range->opt.d[dim] &&
        g->max == range->max.d[dim]) {
      group = g;
    }
  }
  if (!group) {
    dim_group made = {
        .min = range->min.d[dim], range->opt.d[dim], range->max.d[dim]};
    bsm_text_init(&made.places, &module->arena);
    BSM_TRY_ALLOC(bsm_vec_push(&module->arena, groups, made));
    group = &groups->items[groups->len - 1];
  }
  bsm_text_printf(&group->places, "%sdimension %" PRId32 " of input \"%s\"",
                  group->places.len ? " and " : "", dim, input);
  return group->places.failed ? BSM_FAIL_OOM() : BSM_OK;
}

static bsm_status find_groups(bsm_module *module, const bsm_lowered *lowered,
                              group_vec *out) {
  const size_t n = lowered->graph->block->params->outputs.len;
  for (size_t i = 0; lowered->input_ranges && i < n; i++) {
    const bsm_lowering_range *range = lowered->input_ranges[i];
    for (int32_t d = 0; range && d < range->opt.rank; d++) {
      if (range->min.d[d] == range->max.d[d]) continue;
      BSM_TRY(add_dim(module, out, range, d, lowered->input_names[i]));
    }
  }
  return BSM_OK;
}

/* Whether the model takes `size` in the dims of the group, all others as they
 * are in the optimal shape. *why is the first failure. */
static bsm_status try_size(bsm_module *module,
                           const bsm_compile_options *options,
                           const dim_group *group, int64_t size, bool *taken,
                           const char **why) {
  bsm_compile_options one = *options;
  bsm_input_spec *specs;
  bsm_lowered lowered;
  BSM_TRY(bsm_one_shape(&module->arena, options->inputs, options->input_count,
                        group->min, group->opt, group->max, size, &specs));
  one.inputs = specs;
  one.dump = NULL;
  bsm_status status = bsm_lower_method(module, &one, NULL, &lowered, NULL);
  *taken = !status;
  if (bsm_status_code(status) == BSM_OUT_OF_MEMORY) return status;
  if (status && !*why) {
    *why = bsm_arena_strdup(&module->arena, bsm_status_message(status));
    if (!*why) {
      bsm_status_free(status);
      return BSM_FAIL_OOM();
    }
  }
  bsm_status_free(status);
  return BSM_OK;
}

/* *warned: the group's dims are why shapes are refused. */
static bsm_status warn_of_group(bsm_module *module,
                                const bsm_compile_options *options,
                                const dim_group *group, bool *warned,
                                bsm_compilation_record *record) {
  /* The last sizes are for models that take multiples of a number. */
  const int64_t sizes[] = {group->min,     group->max,     group->opt - 1,
                           group->opt + 1, group->opt + 2, group->opt * 2,
                           group->opt / 2, group->opt + 32};
  size_t taken = 0, refused = 0;
  int64_t first = 0;
  const char *why = NULL;
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    const int64_t size = sizes[i];
    bool fine;
    if (size == group->opt || size < group->min || size > group->max) continue;
    BSM_TRY(try_size(module, options, group, size, &fine, &why));
    taken += fine;
    if (!fine && !refused++) first = size;
  }
  if (!refused) return BSM_OK;
  *warned = true;
  if (!taken) {
    BSM_TRY(bsm_record_warning(
        record,
        "the model fixes %s: of %" PRId64 " to %" PRId64 " it takes %" PRId64
        " alone; for %" PRId64 ": %s%s",
        group->places.data, group->min, group->max, group->opt, first, why,
        bsm_is_traced(module) ? "\n" BSM_TRACE_ADVICE : ""));
  } else {
    BSM_TRY(bsm_record_warning(
        record,
        "the model does not take every size from %" PRId64 " to %" PRId64
        " of %s; for %" PRId64 ": %s",
        group->min, group->max, group->places.data, first, why));
  }
  return BSM_OK;
}

bsm_status bsm_warn_of_refused(bsm_module *module,
                               const bsm_compile_options *options,
                               const bsm_lowered *lowered,
                               const bsm_shape_findings *findings,
                               bsm_compilation_record *record) {
  group_vec groups = {0};
  bool warned = false;
  BSM_TRY(find_groups(module, lowered, &groups));
  for (size_t i = 0; i < groups.len; i++) {
    BSM_TRY(warn_of_group(module, options, &groups.items[i], &warned, record));
  }
  if (warned) return BSM_OK;
  BSM_TRY(bsm_record_warning(record,
                             "the model does not take all shapes in range: %s",
                             findings->failure));
  return BSM_OK;
}
