/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a pickle, with hooks that give classes and storages; also as a
 * debug file and as example inputs. */
#include <stdint.h>

#include "fuzz/mutators/mutator.h"
#include "fuzz/seed.h"
#include "ir/graph.h"
#include "torchscript/source_ranges.h"
#include "torchscript/traced_inputs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(fuzz_mutate_pickle, 0);

static float weights[64];

typedef struct world {
  bsm_arena *arena;
  bsm_ir_ctx *cx;
} world;

static bsm_status read_storage(void *user, bsm_str key, bsm_dtype dtype,
                               int64_t numel, bsm_storage **out) {
  world *w = user;
  (void)key;
  (void)dtype;
  (void)numel;
  *out = BSM_NEW(w->arena, bsm_storage);
  BSM_TRY_ALLOC(*out);
  (*out)->data = weights;
  (*out)->size = sizeof(weights);
  return BSM_OK;
}

static bool add(world *w, bsm_class *cls, const char *name,
                bsm_type_kind kind) {
  const bsm_attribute attribute = {name, bsm_type_simple(w->cx->types, kind)};
  return bsm_vec_push(w->arena, &cls->attributes, attribute);
}

/* Classes by the first letter of their name: an enum, one with __setstate__,
 * else one with a tensor and a bool. */
static bsm_status find_class(void *user, bsm_str name, const bsm_type **out) {
  world *w = user;
  const char *text = bsm_arena_strndup(w->arena, name.data, name.len);
  BSM_TRY_ALLOC(text);
  *out = bsm_type_class(w->cx->types, text);
  BSM_TRY_ALLOC(*out);
  bsm_class *cls = (*out)->cls;
  if (cls->attributes.len || cls->constants.len) return BSM_OK;
  const char kind = name.len > 10 ? name.data[10] : 'M';
  if (kind == 'E') {
    const bsm_class_constant item = {"ITEM", bsm_iv_int(1)};
    cls->is_enum = true;
    return bsm_vec_push(w->arena, &cls->constants, item) ? BSM_OK
                                                         : BSM_FAIL_OOM();
  }
  for (int i = 0; kind == 'S' && i < 2; i++) {
    bsm_function *method = BSM_NEW(w->arena, bsm_function);
    BSM_TRY_ALLOC(method);
    method->name = i ? "__setstate__" : "__getstate__";
    if (!bsm_vec_push(w->arena, &cls->methods, method)) return BSM_FAIL_OOM();
  }
  return add(w, cls, "w", BSM_TYPE_TENSOR) && add(w, cls, "t", BSM_TYPE_BOOL)
             ? BSM_OK
             : BSM_FAIL_OOM();
}

static bsm_status parse_type(void *user, bsm_str text, const bsm_type **out) {
  world *w = user;
  const bsm_type_kind kind =
      text.len % 2 ? BSM_TYPE_ANY : (bsm_type_kind)(text.len / 2 % 8);
  *out = bsm_type_simple(w->cx->types, kind);
  if (text.len > 20) *out = bsm_type_list(w->cx->types, *out);
  *out =
      text.len % 3
          ? bsm_type_list(w->cx->types, *out)
          : bsm_type_dict(w->cx->types,
                          bsm_type_simple(w->cx->types, BSM_TYPE_STRING), *out);
  return *out ? BSM_OK : BSM_FAIL_OOM();
}

static bsm_status set_state(void *user, bsm_object *object, bsm_ivalue state) {
  (void)user;
  object->slots[0] = object->slots[1] = state;
  return BSM_OK;
}

/* Touches every element of every tensor that can be reached. */
static void use(const bsm_ivalue *v, int depth, int *budget) {
  if (depth > 300) __builtin_trap(); /* deeper than the limit allows */
  if (--*budget < 0) return;
  const bsm_ivalue *items = NULL;
  size_t n = 0;
  switch (v->tag) {
    case BSM_IVALUE_TENSOR: {
      double sum = 0;
      const int64_t count = bsm_tensor_numel(v->u.tensor);
      for (int64_t i = 0; i < count && i < 1000; i++) {
        sum += bsm_tensor_get_double(v->u.tensor, i);
      }
      if (count) sum += bsm_tensor_get_double(v->u.tensor, count - 1);
      weights[0] = (float)(sum > 1e6 ? 0 : sum * 0);
      return;
    }
    case BSM_IVALUE_LIST:
      items = v->u.list->items;
      n = v->u.list->len;
      break;
    case BSM_IVALUE_TUPLE:
      items = v->u.tuple->items;
      n = v->u.tuple->len;
      break;
    case BSM_IVALUE_DICT:
      items = v->u.dict->values;
      n = v->u.dict->len;
      break;
    case BSM_IVALUE_OBJECT:
    case BSM_IVALUE_ENUM:
      items = v->u.object->slots;
      n = v->u.object->len;
      break;
    case BSM_IVALUE_CONTAINER:
    case BSM_IVALUE_FUNCTION:
      __builtin_trap(); /* must not leave the machine */
    default:
      return;
  }
  for (size_t i = 0; i < n; i++) use(&items[i], depth + 1, budget);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bsm_limits limits = BSM_LIMITS_INIT;
  limits.max_pickle_ops = 200000;
  limits.max_tensor_bytes = 1 << 20;
  bsm_arena arena;
  world w = {.arena = &arena};
  bsm_arena_init(&arena, NULL);
  bsm_status status = bsm_ir_ctx_create(&arena, &limits, NULL, &w.cx);
  const bsm_pickle_hooks hooks = {&w,        read_storage, find_class,
                                  set_state, parse_type,   false};
  const bsm_str bytes = {(const char *)data, size};
  bsm_ivalue value;
  if (!status) {
    status = bsm_unpickle(&arena, w.cx->types, bytes, "fuzz", &limits, &hooks,
                          &value);
  }
  if (!status) {
    int budget = 10000;
    use(&value, 0, &budget);
    bsm_example_input *examples;
    size_t count;
    status = bsm_traced_inputs_flatten(&arena, &value, BSM_STR("forward"),
                                       &examples, &count);
    bsm_status_free(status);
    status = BSM_OK;
  }
  fuzz_done(status);
  bsm_source_ranges ranges;
  if (w.cx) {
    status =
        bsm_source_ranges_read(&arena, w.cx->types, bytes, &limits, &ranges);
    bsm_source_ranges_find(&ranges, size);
    bsm_status_free(status);
  }
  bsm_arena_destroy(&arena);
  return 0;
}
