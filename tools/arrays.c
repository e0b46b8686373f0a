/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of arrays to parameters and engine inputs. */
#include "tools/arrays.h"
#include "base/errno_text.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "tools/input_spec.h"
#include "tools/structure_print.h"

/* ---- sets ---- */

typedef BSM_VEC(bsm_npy_array) array_vec;

static bsm_status add_file(bsm_arena *arena, const char *path, size_t *unnamed,
                           array_vec *items, bsm_array_set *out) {
  bsm_npy_file *file = &out->files[out->file_count];
  BSM_TRY(bsm_npy_open(path, NULL, file));
  out->file_count++;
  for (size_t i = 0; i < file->count; i++) {
    bsm_npy_array item = file->items[i];
    if (item.name[0] == '\0') {
      item.name = bsm_arena_printf(arena, "in_%zu", (*unnamed)++);
      BSM_TRY_ALLOC(item.name);
    }
    if (!bsm_vec_push(arena, items, item)) return BSM_FAIL_OOM();
  }
  out->items = items->items;
  out->count = items->len;
  return BSM_OK;
}

/* in_0.npy, in_1.npy, ... as far as they exist. */
static bsm_status list_directory(bsm_arena *arena, const char *directory,
                                 bsm_string_vec *paths) {
  for (size_t i = 0;; i++) {
    const char *path = bsm_arena_printf(arena, "%s/in_%zu.npy", directory, i);
    BSM_TRY_ALLOC(path);
    if (access(path, F_OK)) {
      if (i) return BSM_OK;
      return BSM_FAIL(BSM_IO, "%s: there is no such file", path);
    }
    if (!bsm_vec_push(arena, paths, path)) return BSM_FAIL_OOM();
  }
}

bsm_status bsm_array_set_open(bsm_arena *arena, const char *const *paths,
                              size_t path_count, const char *directory,
                              bsm_array_set *out) {
  *out = (bsm_array_set){0};
  bsm_string_vec all = {0};
  for (size_t i = 0; i < path_count; i++) {
    if (!bsm_vec_push(arena, &all, paths[i])) return BSM_FAIL_OOM();
  }
  if (directory) BSM_TRY(list_directory(arena, directory, &all));
  out->files = BSM_NEW_ARRAY(arena, bsm_npy_file, all.len);
  BSM_TRY_ALLOC(out->files);
  array_vec items = {0};
  size_t unnamed = 0;
  for (size_t i = 0; i < all.len; i++) {
    BSM_TRY(add_file(arena, all.items[i], &unnamed, &items, out));
  }
  return BSM_OK;
}

void bsm_array_set_close(bsm_array_set *set) {
  for (size_t i = 0; i < set->file_count; i++) bsm_npy_close(&set->files[i]);
  *set = (bsm_array_set){0};
}

static const bsm_npy_array *find_item(const bsm_array_set *set,
                                      const char *name) {
  for (size_t i = 0; set && i < set->count; i++) {
    if (strcmp(set->items[i].name, name) == 0) return &set->items[i];
  }
  return NULL;
}

static const bsm_array *find(const bsm_array_set *set, const char *name) {
  const bsm_npy_array *item = find_item(set, name);
  return item ? &item->array : NULL;
}

static const bsm_npy_array *item_at(const bsm_array_set *set, size_t i) {
  char name[32];
  snprintf(name, sizeof(name), "in_%zu", i);
  return find_item(set, name);
}

static const bsm_array *find_position(const bsm_array_set *set, size_t i) {
  const bsm_npy_array *item = item_at(set, i);
  return item ? &item->array : NULL;
}

/* The names of a set, for messages. */
static const char *names_of(bsm_arena *arena, const bsm_array_set *set) {
  bsm_text text;
  bsm_text_init(&text, arena);
  for (size_t i = 0; set && i < set->count; i++) {
    if (i == 20) {
      bsm_text_puts(&text, ", ...");
      break;
    }
    bsm_text_printf(&text, "%s%s", i ? ", " : "", set->items[i].name);
  }
  return text.len ? text.data : "none";
}

/* ---- specs ---- */

static size_t count_positions(const bsm_array_set *set, size_t from) {
  size_t count = 0;
  while (find_position(set, from + count)) count++;
  return count;
}

static bsm_input_spec string_spec(const char *text) {
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  spec.kind = BSM_INPUT_STRING;
  spec.string = text;
  return spec;
}

/* An array as the example of an argument; text as what it says. */
static bsm_status example_spec(bsm_arena *arena, const bsm_npy_array *item,
                               bsm_input_spec *spec) {
  *spec = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
  spec->kind = BSM_INPUT_EXAMPLE;
  spec->array = &item->array;
  if (item->problem) {
    return BSM_FAIL(BSM_UNSUPPORTED, "array '%s': %s", item->name,
                    item->problem);
  }
  if (!item->strings) return BSM_OK;
  if (item->array.dims.rank == 0) {
    *spec = string_spec(item->strings[0]);
    return BSM_OK;
  }
  const size_t count = (size_t)item->array.dims.d[0];
  bsm_input_spec *items = BSM_NEW_ARRAY(arena, bsm_input_spec, count + 1);
  BSM_TRY_ALLOC(items);
  for (size_t i = 0; i < count; i++) items[i] = string_spec(item->strings[i]);
  spec->kind = BSM_INPUT_LIST;
  spec->items = items;
  spec->item_count = count;
  return BSM_OK;
}

static bsm_status push_example(bsm_arena *arena, const bsm_npy_array *array,
                               const char *name, bsm_spec_items *items,
                               bsm_input_spec *spec) {
  bsm_input_spec item;
  BSM_TRY(example_spec(arena, array, &item));
  item.name = name;
  if (!bsm_vec_push(arena, items, item)) return BSM_FAIL_OOM();
  spec->kind = BSM_INPUT_EXAMPLES;
  spec->items = items->items;
  spec->item_count = items->len;
  return BSM_OK;
}

/* The arrays called "NAME.key...": *found tells whether there are any. */
static bsm_status spec_by_paths(bsm_arena *arena, const char *name,
                                const bsm_array_set *set, bsm_input_spec *spec,
                                bool *found) {
  bsm_spec_items items = {0};
  const size_t n = strlen(name);
  *found = false;
  for (size_t i = 0; set && i < set->count; i++) {
    const char *path = set->items[i].name;
    if (strncmp(path, name, n) != 0 || path[n] != '.') continue;
    BSM_TRY(push_example(arena, &set->items[i], path + n + 1, &items, spec));
    *found = true;
  }
  return BSM_OK;
}

/* `count` arrays from "in_K" on. */
static bsm_status spec_by_positions(bsm_arena *arena, size_t first,
                                    size_t count, const bsm_array_set *set,
                                    bsm_input_spec *spec) {
  bsm_spec_items items = {0};
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(push_example(arena, item_at(set, first + i), NULL, &items, spec));
  }
  return BSM_OK;
}

static bool is_optional(const bsm_parameter *parameter) {
  return strncmp(parameter->type, "Optional[", 9) == 0;
}

/* What the parameters of a method take of a set. */
typedef struct spec_taker {
  bsm_arena *arena;
  const bsm_array_set *inputs, *weights;
  bsm_parameter *parameters;
  bool *given; /* by specs */
  size_t count;
  size_t position; /* the next "in_k" */
} spec_taker;

/* Arrays by position that parameter `i` may have without leaving too few to
 * those behind it. */
static size_t share(const spec_taker *t, size_t i) {
  const bsm_parameter *p = &t->parameters[i];
  const size_t left = count_positions(t->inputs, t->position);
  const bsm_npy_array *next = item_at(t->inputs, t->position);
  if (next && next->array.dims.rank == 1 &&
      (p->is_number_list || next->strings)) {
    return 1;
  }
  if (p->array_count >= 0) return (size_t)p->array_count;
  size_t others = 0;
  for (size_t k = i + 1; k < t->count; k++) {
    const bsm_parameter *other = &t->parameters[k];
    if (t->given[k] || other->has_default || other->array_count < 0) continue;
    others += (size_t)other->array_count;
  }
  return left > others ? left - others : 0;
}

/* *skip: the archive's example will do. */
static bsm_status parameter_spec(spec_taker *t, size_t i, bsm_input_spec *spec,
                                 bool *skip) {
  const bsm_parameter *p = &t->parameters[i];
  const bsm_array *weight = find(t->weights, p->name);
  bool found;
  *skip = false;
  if (weight) { /* weights do not take part in the count of inputs */
    spec->kind = BSM_INPUT_CONSTANT_TENSOR;
    spec->array = weight;
    return BSM_OK;
  }
  const size_t want = share(t, i), first = t->position;
  const size_t left = count_positions(t->inputs, first);
  t->position += want;
  const bsm_npy_array *item = find_item(t->inputs, p->name);
  if (item) return example_spec(t->arena, item, spec);
  BSM_TRY(spec_by_paths(t->arena, p->name, t->inputs, spec, &found));
  if (found) return BSM_OK;
  /* The keys of a dict are in the archive's example alone. */
  *skip = want && want <= left && p->has_example && strstr(p->type, "Dict[");
  if (*skip) return BSM_OK;
  item = want == 1 && left ? item_at(t->inputs, first) : NULL;
  if (item && item->strings) return example_spec(t->arena, item, spec);
  if (want && want <= left) {
    return spec_by_positions(t->arena, first, want, t->inputs, spec);
  }
  spec->kind = p->has_default ? BSM_INPUT_DEFAULT : BSM_INPUT_NONE;
  if (p->has_default || is_optional(p)) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "no array for parameter '%s' (%s): none is called '%s', "
                  "'%s.KEY' or 'in_%zu'; there are: %s. A value can be given "
                  "as '%s=VALUE'",
                  p->name, p->type, p->name, p->name, first,
                  names_of(t->arena, t->inputs), p->name);
}

/* Tensors given when running, in a spec. */
static size_t count_tensors(const bsm_input_spec *spec) {
  size_t count = spec->kind == BSM_INPUT_TENSOR;
  for (size_t i = 0; i < spec->item_count; i++) {
    count += count_tensors(&spec->items[i]);
  }
  return count;
}

/* The parameter that a spec of the command line is for; `count` when none. */
static size_t slot_of(const spec_taker *t, const bsm_input_spec *spec) {
  size_t i = 0;
  while (i < t->count &&
         (spec->name ? strcmp(spec->name, t->parameters[i].name) != 0
                     : t->given[i])) {
    i++;
  }
  return i;
}

static bsm_status take_specs(spec_taker *t, bsm_module *module,
                             const char *method, bsm_spec_vec *out) {
  const bsm_input_spec **by =
      BSM_NEW_ARRAY(t->arena, const bsm_input_spec *, t->count + 1);
  BSM_TRY_ALLOC(by);
  const size_t given = out->len;
  for (size_t i = 0; i < t->count; i++) {
    bsm_parameter *p = &t->parameters[i];
    *p = (bsm_parameter)BSM_PARAMETER_INIT;
    BSM_TRY(bsm_module_parameter(module, method, i, p));
  }
  for (size_t i = 0; i < given; i++) {
    const size_t slot = slot_of(t, &out->items[i]);
    if (slot == t->count) continue; /* compiling will complain */
    t->given[slot] = true;
    by[slot] = &out->items[i];
    if (!out->items[i].name) out->items[i].name = t->parameters[slot].name;
  }
  bsm_spec_vec more = {0};
  for (size_t i = 0; i < t->count; i++) {
    bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
    if (by[i]) {
      t->position += count_tensors(by[i]);
      continue;
    }
    bool skip;
    BSM_TRY(parameter_spec(t, i, &spec, &skip));
    if (skip) continue;
    spec.name = t->parameters[i].name;
    if (!bsm_vec_push(t->arena, &more, spec)) return BSM_FAIL_OOM();
  }
  for (size_t i = 0; i < more.len; i++) {
    if (!bsm_vec_push(t->arena, out, more.items[i])) return BSM_FAIL_OOM();
  }
  return BSM_OK;
}

bsm_status bsm_specs_from_arrays(bsm_arena *arena, bsm_module *module,
                                 const char *method,
                                 const bsm_array_set *inputs,
                                 const bsm_array_set *weights,
                                 bsm_spec_vec *out) {
  spec_taker t = {.arena = arena, .inputs = inputs, .weights = weights};
  BSM_TRY(bsm_module_parameter_count(module, method, &t.count));
  t.parameters = BSM_NEW_ARRAY(arena, bsm_parameter, t.count + 1);
  t.given = BSM_NEW_ARRAY(arena, bool, t.count + 1);
  BSM_TRY_ALLOC(t.parameters && t.given);
  return take_specs(&t, module, method, out);
}

/* ---- constants from files ---- */

/* The array of FILE.npy or FILE.npz:NAME, kept open in `files`. */
static bsm_status open_constant(bsm_arena *arena, const char *text,
                                bsm_npy_vec *files, const bsm_array **out) {
  bsm_npy_file file;
  const char *colon = strrchr(text, ':');
  const char *name = NULL;
  const char *path = text;
  if (colon && bsm_npy_is_npz_path(
                   bsm_arena_strndup(arena, text, (size_t)(colon - text)))) {
    path = bsm_arena_strndup(arena, text, (size_t)(colon - text));
    BSM_TRY_ALLOC(path);
    name = colon + 1;
  }
  BSM_TRY(bsm_npy_open(path, NULL, &file));
  if (!bsm_vec_push(arena, files, file)) {
    bsm_npy_close(&file);
    return BSM_FAIL_OOM();
  }
  if (!name && file.count == 1) {
    *out = &file.items[0].array;
    return BSM_OK;
  }
  *out = name ? bsm_npy_find(&file, name) : NULL;
  if (*out) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  name ? "%s has no array '%s'" : "%s: name one array, as %s:x",
                  path, name ? name : path);
}

bsm_status bsm_specs_open_files(bsm_arena *arena, bsm_input_spec *specs,
                                size_t count, bsm_npy_vec *files) {
  for (size_t i = 0; i < count; i++) {
    bsm_input_spec *spec = &specs[i];
    if (spec->kind == BSM_INPUT_CONSTANT_TENSOR && !spec->array) {
      BSM_TRY(open_constant(arena, spec->string, files, &spec->array));
    }
    if (!spec->item_count) continue;
    bsm_input_spec *items =
        BSM_NEW_ARRAY(arena, bsm_input_spec, spec->item_count);
    BSM_TRY_ALLOC(items);
    memcpy(items, spec->items, spec->item_count * sizeof(*items));
    spec->items = items;
    BSM_TRY(bsm_specs_open_files(arena, items, spec->item_count, files));
  }
  return BSM_OK;
}

/* ---- engine inputs ---- */

static bool fits(const bsm_array *array, const bsm_binding *binding) {
  if (array->dtype != binding->dtype ||
      array->dims.rank != binding->dims.rank) {
    return false;
  }
  for (int32_t i = 0; i < array->dims.rank; i++) {
    const int64_t wanted = binding->dims.d[i];
    if (wanted >= 0 && array->dims.d[i] != wanted) return false;
  }
  return true;
}

/* Parameters that were folded when compiling are not inputs any more, so the
 * numbers in "in_k" may skip some: the next array that fits is taken. The
 * first one, when none does; running then says what is wrong with it. */
static const bsm_array *next_fitting(const bsm_array_set *set,
                                     const bsm_binding *binding,
                                     size_t *position) {
  for (size_t i = *position;; i++) {
    const bsm_array *array = find_position(set, i);
    if (!array) break;
    if (fits(array, binding)) {
      *position = i + 1;
      return array;
    }
  }
  return find_position(set, (*position)++);
}

static bool may_be_array(bsm_structure_kind kind) {
  return kind == BSM_STRUCTURE_TENSOR || kind == BSM_STRUCTURE_INT ||
         kind == BSM_STRUCTURE_FLOAT || kind == BSM_STRUCTURE_BOOL;
}

/* The tensors and numbers of an argument, fixed ones among them. */
static size_t count_leaves(const bsm_structure *node) {
  const bsm_structure_info info = bsm_structure_info_of(node);
  size_t count = may_be_array(info.kind);
  for (size_t i = 0; i < info.child_count; i++) {
    count += count_leaves(bsm_structure_child(node, i));
  }
  return count;
}

/* Fails when an array contradicts a number that was fixed when compiling.
 * Arrays are found by path; or by their number, `leaf` counting on, when there
 * is one for each leaf (`numbered`). */
static bsm_status check_fixed(const bsm_structure *node,
                              const bsm_array_set *set, bool numbered,
                              size_t *leaf) {
  const bsm_structure_info info = bsm_structure_info_of(node);
  for (size_t i = 0; i < info.child_count; i++) {
    BSM_TRY(check_fixed(bsm_structure_child(node, i), set, numbered, leaf));
  }
  const bsm_array *array = find(set, info.path);
  if (may_be_array(info.kind)) {
    if (!array && numbered) array = find_position(set, *leaf);
    (*leaf)++;
  }
  if (!info.is_fixed || !array || array->dims.rank != 0 || !array->data) {
    return BSM_OK;
  }
  double fixed;
  switch (info.kind) {
    case BSM_STRUCTURE_INT:
      fixed = (double)info.int_value;
      break;
    case BSM_STRUCTURE_FLOAT:
      fixed = info.float_value;
      break;
    case BSM_STRUCTURE_BOOL:
      fixed = info.bool_value;
      break;
    default:
      return BSM_OK;
  }
  const double value = bsm_array_element(array, 0);
  if (value == fixed || (float)value == (float)fixed ||
      (isnan(value) && isnan(fixed))) {
    return BSM_OK;
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "'%s' was fixed at %.17g when the engine was compiled; the "
                  "array holds %.17g",
                  info.path, fixed, value);
}

bsm_status bsm_bind_inputs(bsm_arena *arena, const bsm_engine *engine,
                           const bsm_array_set *set, bsm_array **out) {
  const bsm_structure *arguments = bsm_engine_input_structure(engine);
  if (arguments) {
    size_t leaf = 0;
    const bool numbered = count_leaves(arguments) == count_positions(set, 0);
    BSM_TRY(check_fixed(arguments, set, numbered, &leaf));
  }
  const size_t count = bsm_engine_input_count(engine);
  bsm_array *arrays = BSM_NEW_ARRAY(arena, bsm_array, count);
  BSM_TRY_ALLOC(arrays);
  size_t position = 0;
  for (size_t i = 0; i < count; i++) {
    bsm_binding binding = BSM_BINDING_INIT;
    BSM_TRY(bsm_engine_input(engine, i, &binding));
    const bsm_array *array = find(set, binding.name);
    if (!array) array = next_fitting(set, &binding, &position);
    if (!array) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "no array for input %zu, '%s' (%s %s); there are: %s", i,
                      binding.name, bsm_dtype_name(binding.dtype),
                      bsm_dims_str(binding.dims), names_of(arena, set));
    }
    arrays[i] = *array;
  }
  *out = arrays;
  return BSM_OK;
}

bsm_status bsm_dims_count(bsm_dims dims, size_t *out) {
  size_t count = 1;
  for (int32_t i = 0; i < dims.rank; i++) {
    if (dims.d[i] < 0) {
      return BSM_FAIL(BSM_UNSUPPORTED, "shape %s is not known before running",
                      bsm_dims_str(dims));
    }
    if (!bsm_size_mul(count, (size_t)dims.d[i], &count)) {
      return BSM_FAIL(BSM_LIMIT, "the size of shape %s overflows",
                      bsm_dims_str(dims));
    }
  }
  *out = count;
  return BSM_OK;
}

/* Zeroed memory for an array of the binding. */
static bsm_status allocate_array(bsm_arena *arena, const bsm_binding *binding,
                                 bsm_array *out) {
  size_t count;
  BSM_TRY_NOTE(bsm_dims_count(binding->dims, &count), "of '%s'", binding->name);
  void *data =
      bsm_arena_alloc_array(arena, count, bsm_dtype_size(binding->dtype), 64);
  BSM_TRY_ALLOC(data);
  *out = (bsm_array){data, binding->dtype, binding->dims, NULL};
  return BSM_OK;
}

/* Numbers in [-1, 1) from a fixed sequence. */
static void fill(bsm_array *array, size_t count) {
  uint32_t state = 12345;
  for (size_t i = 0; i < count; i++) {
    state = state * UINT32_C(1664525) + UINT32_C(1013904223);
    const float value = (float)(state >> 8) * (2.0f / 16777216.0f) - 1.0f;
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    switch (array->dtype) {
      case BSM_DTYPE_FLOAT:
        ((float *)array->data)[i] = value;
        break;
      case BSM_DTYPE_DOUBLE:
        ((double *)array->data)[i] = (double)value;
        break;
      case BSM_DTYPE_BFLOAT16:
        ((uint16_t *)array->data)[i] = (uint16_t)(bits >> 16);
        break;
      case BSM_DTYPE_HALF: /* 0.5 to 1, with either sign */
        ((uint16_t *)array->data)[i] =
            (uint16_t)(0x3800 | (state >> 16 & 0x83ff));
        break;
      default:
        return; /* zeros */
    }
  }
}

bsm_status bsm_make_inputs(bsm_arena *arena, const bsm_engine *engine,
                           bsm_array **out) {
  return bsm_make_inputs_of(arena, engine, NULL, 0, out);
}

bsm_status bsm_make_inputs_of(bsm_arena *arena, const bsm_engine *engine,
                              const bsm_dims *shapes, size_t given,
                              bsm_array **out) {
  const size_t count = bsm_engine_input_count(engine);
  if (shapes && given != count) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%zu shapes were given, and the engine has %zu inputs",
                    given, count);
  }
  bsm_array *arrays = BSM_NEW_ARRAY(arena, bsm_array, count);
  BSM_TRY_ALLOC(arrays);
  for (size_t i = 0; i < count; i++) {
    bsm_binding binding = BSM_BINDING_INIT;
    size_t elements;
    BSM_TRY(bsm_engine_input(engine, i, &binding));
    /* Dims that range are the best ones. */
    BSM_TRY(bsm_engine_input_range(engine, i, NULL, &binding.dims, NULL));
    if (shapes) binding.dims = shapes[i];
    BSM_TRY(allocate_array(arena, &binding, &arrays[i]));
    BSM_TRY(bsm_dims_count(binding.dims, &elements));
    fill(&arrays[i], elements);
  }
  *out = arrays;
  return BSM_OK;
}

/* A path as the name of a file in a directory. */
static char *file_name(bsm_arena *arena, const char *path) {
  char *name = bsm_arena_printf(arena, "%s%s", path[0] == '.' ? "_" : "", path);
  for (char *c = name; c && *c; c++) {
    if (*c == '/') *c = '_';
  }
  return name;
}

bsm_status bsm_take_outputs(bsm_arena *arena, bsm_context *context,
                            bool by_path, bsm_npy_array **out, size_t *count) {
  *count = bsm_context_output_count(context);
  bsm_npy_array *items = BSM_NEW_ARRAY(arena, bsm_npy_array, *count + 1);
  BSM_TRY_ALLOC(items);
  for (size_t i = 0; i < *count; i++) {
    bsm_binding binding = BSM_BINDING_INIT;
    BSM_TRY(bsm_context_output_binding(context, i, &binding));
    BSM_TRY(bsm_context_output(context, i, &items[i].array));
    items[i].name = by_path ? file_name(arena, binding.name)
                            : bsm_arena_printf(arena, "out_%zu", i);
    BSM_TRY_ALLOC(items[i].name);
  }
  *out = items;
  return BSM_OK;
}

bsm_status bsm_save_outputs(const char *path, const bsm_npy_array *outputs,
                            size_t count) {
  const bool is_stdout = strcmp(path, "-") == 0;
  if (bsm_npy_is_npz_path(path) || (is_stdout && count != 1)) {
    return bsm_npz_write(path, outputs, count);
  }
  if (count != 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s: there are %zu outputs and an .npy holds one; name an "
                    ".npz",
                    path, count);
  }
  return bsm_npy_write(path, &outputs[0].array);
}

bsm_status bsm_save_outputs_in(const char *directory,
                               const bsm_npy_array *outputs, size_t count) {
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_status status = BSM_OK;
  if (mkdir(directory, 0777) && errno != EEXIST) {
    status = BSM_FAIL(BSM_IO, "%s: cannot create: %s", directory,
                      BSM_ERRNO_TEXT(errno));
  }
  for (size_t i = 0; i < count && !status; i++) {
    const char *path =
        bsm_arena_printf(&arena, "%s/%s.npy", directory, outputs[i].name);
    status = path ? bsm_npy_write(path, &outputs[i].array) : BSM_FAIL_OOM();
  }
  bsm_arena_destroy(&arena);
  return status;
}

/* ---- elements ---- */

static double half_to_double(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double value;
  if (exponent == 31) {
    value = mantissa ? __builtin_nan("") : __builtin_inf();
  } else if (exponent == 0) {
    value = (double)mantissa * 0x1p-24;
  } else {
    value = __builtin_ldexp((double)(mantissa | 1024), exponent - 25);
  }
  return bits & 0x8000 ? -value : value;
}

static double bfloat_to_double(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof(value));
  return (double)value;
}

double bsm_array_element(const bsm_array *array, size_t i) {
  const void *data = array->data;
  switch (array->dtype) {
    case BSM_DTYPE_BOOL:
    case BSM_DTYPE_UINT8:
      return ((const uint8_t *)data)[i];
    case BSM_DTYPE_INT8:
      return ((const int8_t *)data)[i];
    case BSM_DTYPE_INT16:
      return ((const int16_t *)data)[i];
    case BSM_DTYPE_INT32:
      return ((const int32_t *)data)[i];
    case BSM_DTYPE_INT64:
      return (double)((const int64_t *)data)[i];
    case BSM_DTYPE_HALF:
      return half_to_double(((const uint16_t *)data)[i]);
    case BSM_DTYPE_BFLOAT16:
      return bfloat_to_double(((const uint16_t *)data)[i]);
    case BSM_DTYPE_FLOAT:
      return (double)((const float *)data)[i];
    case BSM_DTYPE_DOUBLE:
      return ((const double *)data)[i];
    case BSM_DTYPE_COMPLEX_FLOAT:
      return (double)((const float *)data)[2 * i];
    case BSM_DTYPE_COMPLEX_DOUBLE:
      return ((const double *)data)[2 * i];
    default:
      return 0;
  }
}
