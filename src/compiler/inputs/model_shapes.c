/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of a model that says which of its dims range. */
#include "compiler/inputs/model_shapes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 200 };

/* ---- one tensor ---- */

static const bsm_model_dim *dims_of(const bsm_model *model,
                                    const bsm_tensor *example) {
  return bsm_ptrmap_get(&model->shapes, example);
}

bsm_status bsm_shape_of_example(const bsm_model *model, bsm_arena *arena,
                                const bsm_tensor *example, bsm_ivalue *out) {
  const bsm_model_dim *dims = dims_of(model, example);
  const int32_t rank = example->sizes.rank;
  bool ranges = false;
  for (int32_t i = 0; dims && i < rank; i++) {
    ranges = ranges || dims[i].min != dims[i].max;
  }
  if (!ranges) {
    bsm_tensor *tensor;
    BSM_TRY(
        bsm_tensor_new(arena, example->dtype, example->sizes, true, &tensor));
    *out = bsm_iv_tensor(tensor);
    return BSM_OK;
  }
  bsm_lowering_range *range = BSM_NEW(arena, bsm_lowering_range);
  BSM_TRY_ALLOC(range);
  *range =
      (bsm_lowering_range){.kind = BSM_TYPE_TENSOR, .dtype = example->dtype};
  range->min.rank = range->opt.rank = range->max.rank = rank;
  for (int32_t i = 0; i < rank; i++) {
    range->min.d[i] = dims[i].min;
    range->opt.d[i] = dims[i].opt;
    range->max.d[i] = dims[i].max;
  }
  *out = (bsm_ivalue){BSM_IVALUE_CONTAINER, {.container = range}};
  return BSM_OK;
}

/* ---- all tensors, with what the file says of each ---- */

typedef struct given_tensor {
  const char *path;
  bsm_ivalue *value;
  const bsm_tensor *example;
  const bsm_model_dim *dims;
} given_tensor;

typedef struct fitter {
  const bsm_model *model;
  bsm_arena *arena;
  BSM_VEC(given_tensor) tensors;
  bsm_lowering_symbol *symbols; /* what is left of each */
  const char **said; /* the dim that narrowed a symbol last: "dimension 0 of
                        input "x"" */
  bool *has_opt;
} fitter;

static bsm_status collect(fitter *f, bsm_ivalue *value,
                          const bsm_ivalue *example, const char *path,
                          int depth);

static bsm_status collect_items(fitter *f, bsm_ivalue *items,
                                const bsm_ivalue *examples, size_t count,
                                const char *path, int depth) {
  for (size_t i = 0; i < count; i++) {
    const char *inner = bsm_arena_printf(f->arena, "%s.%zu", path, i);
    BSM_TRY_ALLOC(inner);
    BSM_TRY(collect(f, &items[i], &examples[i], inner, depth + 1));
  }
  return BSM_OK;
}

static bsm_status collect_dict(fitter *f, const bsm_dict *dict,
                               const bsm_dict *example, const char *path,
                               int depth) {
  for (size_t i = 0; i < dict->len; i++) {
    const bsm_ivalue *like = bsm_dict_find(example, dict->keys[i]);
    bsm_text inner;
    if (!like) continue;
    bsm_text_init(&inner, f->arena);
    bsm_text_printf(&inner, "%s.", path);
    bsm_iv_print(&inner, &dict->keys[i]);
    if (inner.failed) return BSM_FAIL_OOM();
    BSM_TRY(collect(f, &dict->values[i], like, inner.data, depth + 1));
  }
  return BSM_OK;
}

static bsm_status collect(fitter *f, bsm_ivalue *value,
                          const bsm_ivalue *example, const char *path,
                          int depth) {
  if (depth > MAX_DEPTH) {
    return BSM_FAIL(BSM_LIMIT, "input %s is nested too deep", path);
  }
  if (example->tag == BSM_IVALUE_TENSOR) {
    const given_tensor tensor = {path, value, example->u.tensor,
                                 dims_of(f->model, example->u.tensor)};
    if (!tensor.dims) return BSM_OK;
    return bsm_vec_push(f->arena, &f->tensors, tensor) ? BSM_OK
                                                       : BSM_FAIL_OOM();
  }
  if (example->tag != value->tag) return BSM_OK;
  switch (value->tag) {
    case BSM_IVALUE_LIST:
      if (value->u.list->len != example->u.list->len) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "input \"%s\" has %zu items, the program was exported "
                        "for %zu",
                        path, value->u.list->len, example->u.list->len);
      }
      return collect_items(f, value->u.list->items, example->u.list->items,
                           value->u.list->len, path, depth);
    case BSM_IVALUE_TUPLE:
      if (value->u.tuple->len != example->u.tuple->len) return BSM_OK;
      return collect_items(f, value->u.tuple->items, example->u.tuple->items,
                           value->u.tuple->len, path, depth);
    case BSM_IVALUE_DICT:
      return collect_dict(f, value->u.dict, example->u.dict, path, depth);
    default:
      return BSM_OK;
  }
}

/* ---- what is given ---- */

/* dtype and dims of a tensor that is given; false: it is none. */
static bool given_dims(const bsm_ivalue *value, bsm_lowering_range *out) {
  if (value->tag == BSM_IVALUE_TENSOR) {
    const bsm_tensor *t = value->u.tensor;
    *out = (bsm_lowering_range){.kind = BSM_TYPE_TENSOR, .dtype = t->dtype};
    out->min = out->opt = out->max = t->sizes;
    return true;
  }
  if (value->tag != BSM_IVALUE_CONTAINER) return false;
  const bsm_lowering_number *number = value->u.container;
  if (number->kind != BSM_TYPE_TENSOR) return false;
  *out = *(const bsm_lowering_range *)value->u.container;
  return true;
}

static bsm_status wrong_dim(const given_tensor *t, int32_t dim,
                            const bsm_lowering_range *given,
                            const char *expected) {
  char size[64];
  if (given->min.d[dim] == given->max.d[dim]) {
    snprintf(size, sizeof(size), "%" PRId64, given->min.d[dim]);
  } else {
    snprintf(size, sizeof(size), "%" PRId64 " to %" PRId64, given->min.d[dim],
             given->max.d[dim]);
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "dimension %" PRId32
                  " of input \"%s\" is given as %s, but %s",
                  dim, t->path, size, expected);
}

static bsm_status check_static(const given_tensor *t, int32_t dim,
                               const bsm_lowering_range *given) {
  const bsm_model_dim *said = &t->dims[dim];
  char text[160];
  if (given->min.d[dim] >= said->min && given->max.d[dim] <= said->max) {
    return BSM_OK;
  }
  if (said->min == said->max) {
    snprintf(text, sizeof(text),
             "the program was exported for %" PRId64
             " alone: export it with a dynamic shape for others",
             said->min);
  } else {
    snprintf(text, sizeof(text),
             "the program was exported for %" PRId64 " to %" PRId64, said->min,
             said->max);
  }
  return wrong_dim(t, dim, given, text);
}

static int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

/* Narrows the dim's symbol to what is given. */
static bsm_status narrow(fitter *f, const given_tensor *t, int32_t dim,
                         const bsm_lowering_range *given) {
  const bsm_model_dim *said = &t->dims[dim];
  const bsm_model_symbol *from = &f->model->symbols[said->symbol - 1];
  bsm_lowering_symbol *s = &f->symbols[said->symbol - 1];
  const int64_t low = given->min.d[dim] - said->offset;
  const int64_t high = given->max.d[dim] - said->offset;
  const int64_t least = -floor_div(-low, said->scale);
  const int64_t most = floor_div(high, said->scale);
  const char *other = f->said[said->symbol - 1];
  const int64_t file_max = from->max_is_open ? INT64_MAX : from->max;
  char text[320];
  if (least > most || least < from->min || most > file_max) {
    snprintf(text, sizeof(text),
             "the program was exported for %" PRId64 "*%s%+" PRId64
             " with %s from %" PRId64 " to %" PRId64,
             said->scale, from->name, said->offset, from->name, from->min,
             from->max);
    if (said->scale == 1 && said->offset == 0) {
      snprintf(text, sizeof(text),
               "the program was exported for %s from %" PRId64 " to %" PRId64,
               from->name, from->min, from->max);
    }
    return wrong_dim(t, dim, given, text);
  }
  if (least > s->max || most < s->min) {
    snprintf(text, sizeof(text),
             "%s, which is the same size (%s), is given as "
             "%" PRId64 " to %" PRId64,
             other ? other : "another dimension", from->name, s->min, s->max);
    return wrong_dim(t, dim, given, text);
  }
  s->min = least > s->min ? least : s->min;
  s->max = most < s->max ? most : s->max;
  if (!f->has_opt[said->symbol - 1]) {
    s->opt = floor_div(given->opt.d[dim] - said->offset, said->scale);
    f->has_opt[said->symbol - 1] = true;
  }
  f->said[said->symbol - 1] = bsm_arena_printf(
      f->arena, "dimension %" PRId32 " of input \"%.100s\"", dim, t->path);
  BSM_TRY_ALLOC(f->said[said->symbol - 1]);
  return BSM_OK;
}

/* Whether the range is the file's own, which says nothing new. */
static bool is_default(const given_tensor *t, int32_t dim,
                       const bsm_lowering_range *given) {
  return given->min.d[dim] == t->dims[dim].min &&
         given->opt.d[dim] == t->dims[dim].opt &&
         given->max.d[dim] == t->dims[dim].max;
}

static bsm_status check_tensor(fitter *f, const given_tensor *t) {
  bsm_lowering_range given;
  if (!given_dims(t->value, &given)) return BSM_OK;
  if (given.dtype != t->example->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "input \"%s\" is given as %s, but the program was exported "
                    "for %s",
                    t->path, bsm_dtype_name(given.dtype),
                    bsm_dtype_name(t->example->dtype));
  }
  if (given.min.rank != t->example->sizes.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "input \"%s\" is given with %" PRId32
                    " dimensions, but the program was exported for %" PRId32,
                    t->path, given.min.rank, t->example->sizes.rank);
  }
  for (int32_t i = 0; i < given.min.rank; i++) {
    if (!t->dims[i].symbol) {
      BSM_TRY(check_static(t, i, &given));
    } else if (!is_default(t, i, &given)) {
      BSM_TRY(narrow(f, t, i, &given));
    }
  }
  return BSM_OK;
}

/* ---- what it becomes ---- */

static int64_t size_of(const bsm_model_dim *dim, int64_t symbol) {
  return dim->scale * symbol + dim->offset;
}

/* The tensor with the dims that the symbols leave. */
static bsm_status fix_dims(fitter *f, const given_tensor *t) {
  bsm_lowering_range given;
  bool ranges = false;
  if (!given_dims(t->value, &given)) return BSM_OK;
  if (t->value->tag == BSM_IVALUE_TENSOR &&
      !bsm_tensor_is_meta(t->value->u.tensor)) {
    return BSM_OK; /* a constant */
  }
  bsm_lowering_range *range = BSM_NEW(f->arena, bsm_lowering_range);
  bsm_lowering_dim *follow =
      BSM_NEW_ARRAY(f->arena, bsm_lowering_dim, BSM_MAX_RANK);
  BSM_TRY_ALLOC(range && follow);
  *range = given;
  range->dims = follow;
  for (int32_t i = 0; i < given.min.rank; i++) {
    const bsm_model_dim *dim = &t->dims[i];
    if (dim->symbol) {
      const bsm_lowering_symbol *s = &f->symbols[dim->symbol - 1];
      range->min.d[i] = size_of(dim, s->min);
      range->opt.d[i] = size_of(dim, s->opt);
      range->max.d[i] = size_of(dim, s->max);
      follow[i] = (bsm_lowering_dim){s, dim->scale, dim->offset};
    }
    ranges = ranges || range->min.d[i] != range->max.d[i];
  }
  if (ranges) {
    *t->value = (bsm_ivalue){BSM_IVALUE_CONTAINER, {.container = range}};
    return BSM_OK;
  }
  bsm_tensor *tensor;
  BSM_TRY(bsm_tensor_new(f->arena, given.dtype, range->opt, true, &tensor));
  *t->value = bsm_iv_tensor(tensor);
  return BSM_OK;
}

bsm_status bsm_fit_shapes(const bsm_module *module, const bsm_method *method,
                          bsm_arena *arena, bsm_lowering_input *inputs) {
  const bsm_model *model = &module->model;
  const size_t n = model->symbol_count;
  fitter f = {.model = model, .arena = arena};
  if (!model->shapes.len || strcmp(method->name, "forward") != 0) return BSM_OK;
  f.symbols = BSM_NEW_ARRAY(arena, bsm_lowering_symbol, n + 1);
  f.said = BSM_NEW_ARRAY(arena, const char *, n + 1);
  f.has_opt = BSM_NEW_ARRAY(arena, bool, n + 1);
  BSM_TRY_ALLOC(f.symbols && f.said && f.has_opt);
  for (size_t i = 0; i < n; i++) {
    const bsm_model_symbol *s = &model->symbols[i];
    f.symbols[i] = (bsm_lowering_symbol){(uint32_t)i, s->min, s->opt,
                                         s->max_is_open ? INT64_MAX : s->max};
  }
  for (size_t i = 0; i < method->parameter_count && i < model->example_count;
       i++) {
    BSM_TRY(
        collect(&f, &inputs[i].value, &model->examples[i], inputs[i].name, 0));
  }
  for (size_t i = 0; i < f.tensors.len; i++) {
    BSM_TRY(check_tensor(&f, &f.tensors.items[i]));
  }
  for (size_t i = 0; i < n; i++) {
    bsm_lowering_symbol *s = &f.symbols[i];
    if (s->max == INT64_MAX) s->max = model->symbols[i].max;
    if (s->opt < s->min) s->opt = s->min;
    if (s->opt > s->max) s->opt = s->max;
  }
  for (size_t i = 0; i < f.tensors.len; i++) {
    BSM_TRY(fix_dims(&f, &f.tensors.items[i]));
  }
  return BSM_OK;
}

/* ---- specs ---- */

static bsm_status spec_of(bsm_arena *arena, const bsm_ivalue *value, int depth,
                          bsm_input_spec *out, bool *whole);

static bsm_status spec_of_items(bsm_arena *arena, const bsm_ivalue *items,
                                size_t count, int depth, bsm_input_spec *out,
                                bool *whole) {
  bsm_input_spec *specs = BSM_NEW_ARRAY(arena, bsm_input_spec, count + 1);
  BSM_TRY_ALLOC(specs);
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(spec_of(arena, &items[i], depth + 1, &specs[i], whole));
  }
  out->items = specs;
  out->item_count = count;
  return BSM_OK;
}

static bsm_status spec_of_dict(bsm_arena *arena, const bsm_dict *dict,
                               int depth, bsm_input_spec *out, bool *whole) {
  out->kind = BSM_INPUT_DICT;
  BSM_TRY(spec_of_items(arena, dict->values, dict->len, depth, out, whole));
  bsm_input_spec *specs = (bsm_input_spec *)(uintptr_t)out->items;
  for (size_t i = 0; i < dict->len; i++) {
    const bsm_ivalue *key = &dict->keys[i];
    switch (key->tag) {
      case BSM_IVALUE_STRING:
        specs[i].name = bsm_arena_strdup(arena, key->u.s->data);
        BSM_TRY_ALLOC(specs[i].name);
        break;
      case BSM_IVALUE_INT:
        specs[i].key_kind = BSM_INPUT_KEY_INT;
        specs[i].int_key = key->u.i;
        break;
      case BSM_IVALUE_BOOL:
        specs[i].key_kind = BSM_INPUT_KEY_BOOL;
        specs[i].int_key = key->u.b;
        break;
      default:
        *whole = false;
    }
  }
  return BSM_OK;
}

static void spec_of_range(const bsm_lowering_range *range,
                          bsm_input_spec *out) {
  out->dtype = range->dtype;
  out->rank = range->opt.rank;
  for (int32_t i = 0; i < range->opt.rank; i++) {
    out->min[i] = range->min.d[i];
    out->opt[i] = range->opt.d[i];
    out->max[i] = range->max.d[i];
  }
}

/* *whole is false for a value that no spec can give. */
static bsm_status spec_of(bsm_arena *arena, const bsm_ivalue *value, int depth,
                          bsm_input_spec *out, bool *whole) {
  bsm_lowering_range range;
  *out = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
  if (depth > MAX_DEPTH) *whole = false;
  if (!*whole) return BSM_OK;
  switch (value->tag) {
    case BSM_IVALUE_LIST:
      out->kind = BSM_INPUT_LIST;
      return spec_of_items(arena, value->u.list->items, value->u.list->len,
                           depth, out, whole);
    case BSM_IVALUE_TUPLE:
      out->kind = BSM_INPUT_TUPLE;
      return spec_of_items(arena, value->u.tuple->items, value->u.tuple->len,
                           depth, out, whole);
    case BSM_IVALUE_DICT:
      return spec_of_dict(arena, value->u.dict, depth, out, whole);
    case BSM_IVALUE_NONE:
      out->kind = BSM_INPUT_NONE;
      return BSM_OK;
    case BSM_IVALUE_INT:
      out->kind = BSM_INPUT_INT;
      out->int_value = value->u.i;
      return BSM_OK;
    case BSM_IVALUE_DOUBLE:
      out->kind = BSM_INPUT_FLOAT;
      out->float_value = value->u.d;
      return BSM_OK;
    case BSM_IVALUE_BOOL:
      out->kind = BSM_INPUT_BOOL;
      out->bool_value = value->u.b;
      return BSM_OK;
    case BSM_IVALUE_STRING:
      out->kind = BSM_INPUT_STRING;
      out->string = bsm_arena_strdup(arena, value->u.s->data);
      return out->string ? BSM_OK : BSM_FAIL_OOM();
    case BSM_IVALUE_CONTAINER: {
      const bsm_lowering_number *number = value->u.container;
      out->dtype = number->dtype;
      if (number->kind != BSM_TYPE_TENSOR) return BSM_OK; /* of rank 0 */
      break;
    }
    default:
      break;
  }
  if (given_dims(value, &range) && (value->tag != BSM_IVALUE_TENSOR ||
                                    bsm_tensor_is_meta(value->u.tensor))) {
    spec_of_range(&range, out);
    return BSM_OK;
  }
  *whole = false;
  return BSM_OK;
}

bsm_status bsm_complete_specs(bsm_module *module, bsm_arena *arena,
                              bsm_compile_options *options) {
  bsm_method method;
  bsm_lowering_input *inputs;
  bool ranges = false;
  for (size_t i = 0; i < module->model.symbol_count; i++) {
    ranges =
        ranges || module->model.symbols[i].min != module->model.symbols[i].max;
  }
  if (!ranges) return BSM_OK;
  BSM_TRY(bsm_module_find_method(module, options->method, &method));
  BSM_TRY(bsm_method_inputs(module, &method, options->inputs,
                            options->input_count, arena, &inputs));
  const size_t n = method.parameter_count;
  bsm_input_spec *specs = BSM_NEW_ARRAY(arena, bsm_input_spec, n + 1);
  BSM_TRY_ALLOC(specs);
  bool whole = true;
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(spec_of(arena, &inputs[i].value, 0, &specs[i], &whole));
    specs[i].name = inputs[i].name;
  }
  if (whole) { /* else as they were given: a constant tensor among them */
    options->inputs = specs;
    options->input_count = n;
  }
  return BSM_OK;
}
