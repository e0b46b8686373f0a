/* SPDX-License-Identifier: Apache-2.0 */
/* Looking for what a trace froze. */
#include "compiler/pipeline/frozen_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compiler/pipeline/variant_shapes.h"

#define ADVICE                                                           \
  "a trace has the numbers in it that were computed from the shapes of " \
  "its example: use x.shape without int() while tracing, or script the model"

/* ---- unused inputs ---- */

static bool has_traces(const bsm_module *module) {
  return module->model.traced;
}

static bool is_traced(const bsm_module *module, const bsm_method *method) {
  return has_traces(module) && strcmp(method->name, "forward") == 0;
}

static void warn_of_inputs(const bsm_module *module, const bsm_method *method,
                           const bsm_logger *logger) {
  if (!is_traced(module, method)) return;
  for (size_t i = 0; i < method->parameter_count; i++) {
    const bsm_value *value =
        bsm_node_out(method->graph->block->params, method->first + i);
    if (value->uses.len) continue;
    bsm_log(logger, BSM_LOG_LEVEL_WARNING,
            "input \"%s\" is not used: a trace has only what its example "
            "needed, so a branch that uses it may be missing",
            bsm_method_parameter_name(method, i));
  }
}

/* ---- devices ---- */

enum { MAX_DEPTH = 64, MAX_CLASSES = 10000 };

typedef struct device_scan {
  bsm_arena *arena;
  bsm_ptrmap seen; /* classes */
  size_t classes, count;
  const bsm_node *first;
} device_scan;

static bool is_gpu(const bsm_node *node) {
  const bsm_ivalue *value = bsm_node_attr_get(node, "value");
  if (!value) return false;
  if (value->tag == BSM_IVALUE_DEVICE) return value->u.device.type != 0;
  if (value->tag != BSM_IVALUE_STRING || !node->outputs.len) return false;
  const bsm_value *out = bsm_node_out(node, 0);
  return out->uses.len &&
         bsm_node_is(out->uses.items[0].user, "aten::device") &&
         bsm_str_starts_with(*value->u.s, BSM_STR("cuda"));
}

static void scan_block(device_scan *scan, const bsm_block *block,
                       size_t depth) {
  for (const bsm_node *n = block->first; n && depth < 256; n = n->next) {
    if (bsm_node_is(n, "prim::Constant") && is_gpu(n)) {
      if (!scan->count++) scan->first = n;
    }
    for (size_t i = 0; i < n->blocks.len; i++) {
      scan_block(scan, n->blocks.items[i], depth + 1);
    }
  }
}

/* The methods of the object's class, and those of what is inside. */
static bsm_status scan_object(device_scan *scan, const bsm_object *object,
                              size_t depth) {
  const bsm_class *cls = object->type ? object->type->cls : NULL;
  if (!cls || depth > MAX_DEPTH || bsm_ptrmap_get(&scan->seen, cls) ||
      scan->classes++ > MAX_CLASSES) {
    return BSM_OK;
  }
  BSM_TRY_ALLOC(bsm_ptrmap_set(scan->arena, &scan->seen, cls, scan));
  for (size_t i = 0; i < cls->methods.len; i++) {
    const bsm_graph *graph = cls->methods.items[i]->graph;
    if (graph) scan_block(scan, graph->block, 0);
  }
  for (size_t i = 0; i < object->len; i++) {
    const bsm_ivalue *slot = &object->slots[i];
    if (slot->tag == BSM_IVALUE_OBJECT && slot->u.object) {
      BSM_TRY(scan_object(scan, slot->u.object, depth + 1));
    }
  }
  return BSM_OK;
}

static bsm_status warn_of_devices(bsm_module *module, const bsm_method *method,
                                  const bsm_logger *logger) {
  device_scan scan = {.arena = &module->arena};
  bsm_text place;
  if (method->root) {
    BSM_TRY(scan_object(&scan, method->root, 0));
  } else {
    scan_block(&scan, method->graph->block, 0);
  }
  if (!scan.count) return BSM_OK;
  bsm_text_init(&place, &module->arena);
  bsm_source_print(&place, &scan.first->source);
  if (place.failed) return BSM_FAIL_OOM();
  bsm_log(logger, BSM_LOG_LEVEL_WARNING,
          "the model names a GPU as the device of its tensors in %zu place%s, "
          "as at %s: it has no effect, an engine runs on the CPU",
          scan.count, scan.count == 1 ? "" : "s",
          place.len ? place.data : "an unknown place");
  return BSM_OK;
}

bsm_status bsm_warn_of_trace(bsm_module *module,
                             const bsm_compile_options *options) {
  bsm_method method;
  BSM_TRY(bsm_module_find_method(module, options->method, &method));
  warn_of_inputs(module, &method, options->logger);
  return warn_of_devices(module, &method, options->logger);
}

/* ---- a fixed shape that is not the example's ---- */

static bsm_status note_trace(bsm_module *module,
                             const bsm_compile_options *options,
                             const char **note) {
  bsm_method method;
  bsm_lowering_input *inputs;
  BSM_TRY(bsm_module_find_method(module, options->method, &method));
  if (!is_traced(module, &method)) return BSM_OK;
  BSM_TRY(bsm_method_inputs(module, &method, options->inputs,
                            options->input_count, &module->arena, &inputs));
  for (size_t i = 0; i < method.parameter_count; i++) {
    bsm_ivalue example;
    bool found;
    BSM_TRY(bsm_method_example(module, &method, i, &module->arena, &found,
                               &example));
    if (!found || example.tag != BSM_IVALUE_TENSOR ||
        inputs[i].value.tag != BSM_IVALUE_TENSOR ||
        bsm_dims_equal(example.u.tensor->sizes,
                       inputs[i].value.u.tensor->sizes)) {
      continue;
    }
    *note = bsm_arena_printf(
        &module->arena,
        "the model was traced with input \"%s\" of shape %s; " ADVICE,
        inputs[i].name, bsm_dims_str(example.u.tensor->sizes));
    BSM_TRY_ALLOC(*note);
    return BSM_OK;
  }
  return BSM_OK;
}

bsm_status bsm_note_trace(bsm_module *module,
                          const bsm_compile_options *options,
                          bsm_status status) {
  const char *note = NULL;
  if (!status || bsm_status_code(status) == BSM_OUT_OF_MEMORY) return status;
  bsm_status other = note_trace(module, options, &note);
  bsm_status_free(other); /* the first failure is the one to tell */
  return note ? bsm_status_note(status, "%s", note) : status;
}

/* ---- shapes of a range ---- */

/* The constant sizes of a reshape of a tensor of known dims; NULL: it is none.
 */
static const bsm_list *constant_sizes(const bsm_node *node) {
  if (!bsm_node_is(node, "aten::reshape") && !bsm_node_is(node, "aten::view")) {
    return NULL;
  }
  const bsm_type *type = bsm_node_in(node, 0)->type;
  const bsm_node *from = bsm_node_in(node, 1)->node;
  const bsm_ivalue *value = bsm_node_is(from, "prim::Constant")
                                ? bsm_node_attr_get(from, "value")
                                : NULL;
  return type && type->kind == BSM_TYPE_TENSOR && type->has_dims && value &&
                 value->tag == BSM_IVALUE_LIST
             ? value->u.list
             : NULL;
}

/* The dim that the sizes name as it is for the optimal shape though it is
 * another one now, so that a size of -1 takes the rest; -1: none. */
static int32_t absorbed_dim(const bsm_node *optimal, const bsm_node *node) {
  const bsm_list *a = constant_sizes(optimal), *b = constant_sizes(node);
  const bsm_dims x = bsm_node_in(optimal, 0)->type->dims;
  const bsm_dims y = bsm_node_in(node, 0)->type->dims;
  int32_t found = -1;
  bool rest = false;
  if (a->len != b->len || x.rank != y.rank) return -1;
  for (size_t i = 0; i < a->len; i++) {
    const bsm_ivalue *s = &a->items[i], *t = &b->items[i];
    if (s->tag != BSM_IVALUE_INT || t->tag != BSM_IVALUE_INT ||
        s->u.i != t->u.i) {
      return -1;
    }
    rest = rest || s->u.i == -1;
    const int32_t dim = (int32_t)i;
    if (found < 0 && dim < x.rank && s->u.i == x.d[dim] &&
        x.d[dim] != y.d[dim]) {
      found = dim;
    }
  }
  return rest ? found : -1;
}

/* ---- dimensions that are read as far as the example's ---- */

static bool constant_int(const bsm_node *node, size_t input, int64_t *out) {
  const bsm_node *from = bsm_node_in(node, input)->node;
  const bsm_ivalue *number = bsm_node_is(from, "prim::Constant")
                                 ? bsm_node_attr_get(from, "value")
                                 : NULL;
  if (!number || number->tag != BSM_IVALUE_INT) return false;
  *out = number->u.i;
  return true;
}

/* The dim that argument 1 names. */
static bool constant_dim(const bsm_value *value, const bsm_node *user,
                         int32_t *out) {
  const int32_t rank = value->type->dims.rank;
  int64_t dim;
  if (bsm_node_in(user, 0) != value || !constant_int(user, 1, &dim) ||
      dim < -rank || dim >= rank) {
    return false;
  }
  *out = (int32_t)(dim < 0 ? dim + rank : dim);
  return true;
}

enum { MAX_TURNS = 1024 };

/* Whether the elements 0, 1, ... of one dim are all that is read. */
static bool is_unrolled(const bsm_value *value, bsm_cut_dim *out) {
  bool seen[MAX_TURNS] = {false};
  *out = (bsm_cut_dim){.dim = -1};
  for (size_t i = 0; i < value->uses.len; i++) {
    const bsm_node *user = value->uses.items[i].user;
    int32_t dim;
    int64_t at;
    if (!bsm_node_is(user, "aten::select") ||
        !constant_dim(value, user, &dim) || !constant_int(user, 2, &at)) {
      return false;
    }
    if (at < 0) at += value->type->dims.d[dim];
    if (at < 0 || at >= MAX_TURNS || (out->dim >= 0 && dim != out->dim)) {
      return false;
    }
    out->dim = dim;
    out->reader = user;
    seen[at] = true;
    if (at >= out->count) out->count = at + 1;
  }
  for (int64_t i = 0; i < out->count; i++) {
    if (!seen[i]) return false;
  }
  return out->count > 1;
}

/* The elements from the first to a constant one: slice, narrow. */
static bool is_sliced(const bsm_value *value, const bsm_node *user,
                      bsm_cut_dim *out) {
  int64_t start, step = 1;
  *out = (bsm_cut_dim){.reader = user, .is_slice = true};
  return (bsm_node_is(user, "aten::slice") ||
          bsm_node_is(user, "aten::narrow")) &&
         constant_dim(value, user, &out->dim) &&
         constant_int(user, 2, &start) && start == 0 &&
         constant_int(user, 3, &out->count) && out->count > 1 &&
         (user->inputs.len < 5 || constant_int(user, 4, &step)) && step == 1;
}

/* What a value is found by in the graph of another shape: its name, or the
 * place in the model, unless ops that take parts were made there: those that
 * take all are not in the graph. Empty: it cannot be found. */
static bsm_str key_of(const bsm_value *value, char *buffer, size_t size) {
  static const char *const parts[] = {"aten::slice", "aten::narrow",
                                      "aten::select", "prim::ListUnpack"};
  if (value->debug_name) return bsm_str_of(value->debug_name);
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
    if (bsm_node_is(value->node, parts[i])) return BSM_STR("");
  }
  snprintf(buffer, size, "%s %u %u", value->node->kind,
           (unsigned)value->node->source.python_line,
           (unsigned)value->node->source.code_line);
  return bsm_str_of(buffer);
}

/* Whether that is all for the optimal shape, and not for this one. */
static bool is_cut(bsm_shape_trials *trials, const bsm_value *value,
                   const bsm_cut_dim *found) {
  char key[128];
  const bsm_value *like =
      bsm_strmap_get(&trials->values, key_of(value, key, sizeof(key)));
  if (!like || !like->node) return false; /* or several */
  const int64_t size = value->type->dims.d[found->dim];
  if (like->type->dims.rank != value->type->dims.rank ||
      like->type->dims.d[found->dim] != found->count || size <= found->count) {
    return false;
  }
  trials->cut = *found;
  trials->cut.value = like;
  trials->cut.size = size;
  return true;
}

/* Stands for values of one place that cannot be told apart. */
static const bsm_value several = {0};

static bsm_status look_at(bsm_module *module, bsm_shape_trials *trials,
                          const bsm_value *value, bool optimal) {
  bsm_cut_dim found;
  char key[128];
  if (trials->cut.value || !value->type ||
      value->type->kind != BSM_TYPE_TENSOR || !value->type->has_dims) {
    return BSM_OK;
  }
  if (optimal) {
    const bsm_str name = key_of(value, key, sizeof(key));
    const bool known = bsm_strmap_get(&trials->values, name) != NULL;
    BSM_TRY_ALLOC(bsm_strmap_set(
        &module->arena, &trials->values, name,
        (void *)(uintptr_t)(known || !name.len ? &several : value)));
    return BSM_OK;
  }
  if (is_unrolled(value, &found) && is_cut(trials, value, &found)) {
    return BSM_OK;
  }
  for (size_t i = 0; i < value->uses.len; i++) {
    if (is_sliced(value, value->uses.items[i].user, &found) &&
        is_cut(trials, value, &found)) {
      return BSM_OK;
    }
  }
  return BSM_OK;
}

static bsm_status look_for_cuts(bsm_module *module, bsm_shape_trials *trials,
                                const bsm_graph *graph, bool optimal) {
  const bsm_node *params = graph->block->params;
  for (size_t i = 0; i < params->outputs.len; i++) {
    BSM_TRY(look_at(module, trials, bsm_node_out(params, i), optimal));
  }
  for (const bsm_node *n = graph->block->first; n; n = n->next) {
    for (size_t i = 0; i < n->outputs.len; i++) {
      BSM_TRY(look_at(module, trials, bsm_node_out(n, i), optimal));
    }
  }
  return BSM_OK;
}

static bsm_status report_cut(bsm_module *module,
                             const bsm_compile_options *options,
                             const bsm_cut_dim *cut) {
  bsm_method method;
  bsm_text place;
  BSM_TRY(bsm_module_find_method(module, options->method, &method));
  if (!is_traced(module, &method)) return BSM_OK;
  bsm_text_init(&place, &module->arena);
  bsm_source_print(&place, &cut->reader->source);
  if (place.failed) return BSM_FAIL_OOM();
  bsm_log(options->logger, BSM_LOG_LEVEL_WARNING,
          "the model reads %" PRId64 " elements of dimension %" PRId32
          " of a tensor%s, at %s, which is all for the optimal shape; of "
          "%" PRId64 " the others are ignored; %s",
          cut->count, cut->dim, cut->is_slice ? "" : " one by one",
          place.len ? place.data : "an unknown place", cut->size,
          cut->is_slice ? ADVICE
                        : "a trace has the turns of a loop in it that its "
                          "example needed: script the loop");
  return BSM_OK;
}

bsm_status bsm_shape_taken(bsm_module *module, bsm_shape_trials *trials,
                           const bsm_graph *graph, bool optimal) {
  size_t count = 0;
  BSM_TRY(look_for_cuts(module, trials, graph, optimal));
  for (const bsm_node *n = graph->block->first; n; n = n->next) {
    if (!constant_sizes(n)) continue;
    if (optimal) {
      BSM_TRY_ALLOC(bsm_vec_push(&module->arena, &trials->optimal, n));
      continue;
    }
    /* Node by node: the graphs of other shapes differ in their numbers. */
    if (count >= trials->optimal.len) return BSM_OK;
    const bsm_node *like = trials->optimal.items[count++];
    if (trials->absorbed || n->source.code_line != like->source.code_line ||
        n->source.python_line != like->source.python_line) {
      continue;
    }
    trials->absorbed_dim = absorbed_dim(like, n);
    if (trials->absorbed_dim >= 0) trials->absorbed = n;
  }
  return BSM_OK;
}

bsm_status bsm_shape_refused(bsm_module *module, bsm_shape_trials *trials,
                             bsm_status why) {
  if (trials->failure) return BSM_OK;
  trials->failure = bsm_arena_strdup(&module->arena, bsm_status_message(why));
  BSM_TRY_ALLOC(trials->failure);
  return BSM_OK;
}

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
  bsm_status status = bsm_lower_method(module, &one, &lowered, NULL);
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

/* *told: the group's dims are why shapes are refused. */
static bsm_status report_group(bsm_module *module,
                               const bsm_compile_options *options,
                               const dim_group *group, bool *told) {
  /* The last ones for models that take multiples of a number. */
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
  *told = true;
  if (!taken) {
    bsm_log(options->logger, BSM_LOG_LEVEL_WARNING,
            "the model fixes %s: of %" PRId64 " to %" PRId64
            " it takes %" PRId64 " alone; for %" PRId64 ": %s%s",
            group->places.data, group->min, group->max, group->opt, first, why,
            has_traces(module) ? "\n" ADVICE : "");
  } else {
    bsm_log(options->logger, BSM_LOG_LEVEL_WARNING,
            "the model does not take every size from %" PRId64 " to %" PRId64
            " of %s; for %" PRId64 ": %s",
            group->min, group->max, group->places.data, first, why);
  }
  return BSM_OK;
}

static bsm_status report_refused(bsm_module *module,
                                 const bsm_compile_options *options,
                                 const bsm_lowered *lowered,
                                 const bsm_shape_trials *trials) {
  group_vec groups = {0};
  bool told = false;
  BSM_TRY(find_groups(module, lowered, &groups));
  for (size_t i = 0; i < groups.len; i++) {
    BSM_TRY(report_group(module, options, &groups.items[i], &told));
  }
  if (told) return BSM_OK;
  bsm_log(options->logger, BSM_LOG_LEVEL_WARNING,
          "the model does not take all shapes in range: %s", trials->failure);
  return BSM_OK;
}

bsm_status bsm_report_shapes(bsm_module *module,
                             const bsm_compile_options *options,
                             const bsm_lowered *lowered,
                             const bsm_shape_trials *trials) {
  if (trials->absorbed) {
    const bsm_node *node = trials->absorbed;
    const int64_t size = constant_sizes(node)->items[trials->absorbed_dim].u.i;
    bsm_text place;
    bsm_text_init(&place, &module->arena);
    bsm_source_print(&place, &node->source);
    if (place.failed) return BSM_FAIL_OOM();
    bsm_log(
        options->logger, BSM_LOG_LEVEL_WARNING,
        "%s at %s makes dimension %" PRId32 " %" PRId64
        ", which it is for the optimal shape, whatever the shape is; " ADVICE,
        node->kind, place.len ? place.data : "an unknown place",
        trials->absorbed_dim, size);
  }
  if (trials->cut.value) BSM_TRY(report_cut(module, options, &trials->cut));
  if (trials->failure) {
    return report_refused(module, options, lowered, trials);
  }
  if (lowered->refusal) {
    bsm_log(options->logger, BSM_LOG_LEVEL_WARNING,
            "the model does not take all shapes in range, such as %s",
            lowered->refusal);
  }
  return BSM_OK;
}
