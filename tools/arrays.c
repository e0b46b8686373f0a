/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of arrays to parameters and engine inputs. */
#include "tools/arrays.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"

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

static const bsm_array *find(const bsm_array_set *set, const char *name) {
  for (size_t i = 0; set && i < set->count; i++) {
    if (strcmp(set->items[i].name, name) == 0) return &set->items[i].array;
  }
  return NULL;
}

static const bsm_array *find_position(const bsm_array_set *set, size_t i) {
  char name[32];
  snprintf(name, sizeof(name), "in_%zu", i);
  return find(set, name);
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

static bsm_status tensor_spec(const bsm_array *array, bsm_input_spec *spec) {
  spec->kind = BSM_INPUT_TENSOR;
  spec->dtype = array->dtype;
  spec->rank = array->dims.rank;
  for (int32_t i = 0; i < array->dims.rank; i++) {
    spec->min[i] = spec->opt[i] = spec->max[i] = array->dims.d[i];
  }
  return BSM_OK;
}

/* A 0-d array as the value of a parameter of type int, float or bool. */
static bsm_status number_spec(const bsm_parameter *parameter,
                              const bsm_array *array, bsm_input_spec *spec) {
  if (array->dims.rank != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "parameter '%s' is of type %s, but its array has shape %s",
                    parameter->name, parameter->type,
                    bsm_dims_str(array->dims));
  }
  switch (array->dtype) {
    case BSM_DTYPE_BOOL:
      spec->kind = BSM_INPUT_BOOL;
      spec->bool_value = *(const uint8_t *)array->data != 0;
      return BSM_OK;
    case BSM_DTYPE_UINT8:
    case BSM_DTYPE_INT8:
    case BSM_DTYPE_INT16:
    case BSM_DTYPE_INT32:
      spec->kind = BSM_INPUT_INT;
      spec->int_value = (int64_t)bsm_array_element(array, 0);
      return BSM_OK;
    case BSM_DTYPE_INT64:
      spec->kind = BSM_INPUT_INT;
      memcpy(&spec->int_value, array->data, sizeof(spec->int_value));
      return BSM_OK;
    case BSM_DTYPE_HALF:
    case BSM_DTYPE_BFLOAT16:
    case BSM_DTYPE_FLOAT:
    case BSM_DTYPE_DOUBLE:
      spec->kind = BSM_INPUT_FLOAT;
      spec->float_value = bsm_array_element(array, 0);
      return BSM_OK;
    default:
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "parameter '%s' is of type %s, but its array is %s",
                      parameter->name, parameter->type,
                      bsm_dtype_name(array->dtype));
  }
}

static bsm_status parameter_spec(bsm_arena *arena,
                                 const bsm_parameter *parameter,
                                 size_t position, const bsm_array_set *inputs,
                                 const bsm_array_set *weights,
                                 bsm_input_spec *spec) {
  const bsm_array *weight = find(weights, parameter->name);
  if (weight) {
    spec->kind = BSM_INPUT_CONSTANT_TENSOR;
    spec->array = weight;
    return BSM_OK;
  }
  const bsm_array *array = find(inputs, parameter->name);
  if (!array) array = find_position(inputs, position);
  if (!array && parameter->has_default) {
    spec->kind = BSM_INPUT_NONE;
    return BSM_OK;
  }
  if (!array) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "no array for parameter '%s' (%s): none is called '%s' or "
                    "'in_%zu'; there are: %s",
                    parameter->name, parameter->type, parameter->name, position,
                    names_of(arena, inputs));
  }
  if (parameter->is_tensor) return tensor_spec(array, spec);
  return number_spec(parameter, array, spec);
}

bsm_status bsm_specs_from_arrays(bsm_arena *arena, bsm_module *module,
                                 const char *method,
                                 const bsm_array_set *inputs,
                                 const bsm_array_set *weights,
                                 bsm_spec_vec *out) {
  size_t count, position = 0;
  BSM_TRY(bsm_module_parameter_count(module, method, &count));
  for (size_t i = 0; i < count; i++) {
    bsm_parameter parameter;
    bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
    BSM_TRY(bsm_module_parameter(module, method, i, &parameter));
    BSM_TRY(
        parameter_spec(arena, &parameter, position, inputs, weights, &spec));
    /* Weights do not take part in the count of inputs. */
    if (spec.kind != BSM_INPUT_CONSTANT_TENSOR) position++;
    spec.name = bsm_arena_strdup(arena, parameter.name);
    BSM_TRY_ALLOC(spec.name);
    if (!bsm_vec_push(arena, out, spec)) return BSM_FAIL_OOM();
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

bsm_status bsm_bind_inputs(bsm_arena *arena, const bsm_engine *engine,
                           const bsm_array_set *set, bsm_array **out) {
  const size_t count = bsm_engine_input_count(engine);
  bsm_array *arrays = BSM_NEW_ARRAY(arena, bsm_array, count);
  BSM_TRY_ALLOC(arrays);
  size_t position = 0;
  for (size_t i = 0; i < count; i++) {
    bsm_binding binding;
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
  const size_t count = bsm_engine_input_count(engine);
  bsm_array *arrays = BSM_NEW_ARRAY(arena, bsm_array, count);
  BSM_TRY_ALLOC(arrays);
  for (size_t i = 0; i < count; i++) {
    bsm_binding binding;
    size_t elements;
    BSM_TRY(bsm_engine_input(engine, i, &binding));
    BSM_TRY(allocate_array(arena, &binding, &arrays[i]));
    BSM_TRY(bsm_dims_count(binding.dims, &elements));
    fill(&arrays[i], elements);
  }
  *out = arrays;
  return BSM_OK;
}

bsm_status bsm_make_outputs(bsm_arena *arena, const bsm_engine *engine,
                            bsm_npy_array **out) {
  const size_t count = bsm_engine_output_count(engine);
  bsm_npy_array *items = BSM_NEW_ARRAY(arena, bsm_npy_array, count);
  BSM_TRY_ALLOC(items);
  for (size_t i = 0; i < count; i++) {
    bsm_binding binding;
    BSM_TRY(bsm_engine_output(engine, i, &binding));
    BSM_TRY(allocate_array(arena, &binding, &items[i].array));
    items[i].name = bsm_arena_printf(arena, "out_%zu", i);
    BSM_TRY_ALLOC(items[i].name);
  }
  *out = items;
  return BSM_OK;
}

bsm_status bsm_save_outputs(const char *path, const bsm_npy_array *outputs,
                            size_t count) {
  if (bsm_npy_is_npz_path(path)) return bsm_npz_write(path, outputs, count);
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
    char text[128];
    status = BSM_FAIL(BSM_IO, "%s: cannot create: %s", directory,
                      strerror_r(errno, text, sizeof(text)));
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
