/* SPDX-License-Identifier: Apache-2.0 */
/* Flattens example inputs: tuples, lists and dict values in order. */
#include "torchscript/traced_inputs.h"

/* Values visited; shared containers may unfold to many more than there are. */
enum { MAX_VISITS = 100000 };

typedef struct flattener {
  bsm_arena *arena;
  BSM_VEC(bsm_example_input) inputs;
  size_t visits;
} flattener;

static bsm_status visit(flattener *f, const bsm_ivalue *v);

static bsm_status visit_all(flattener *f, const bsm_ivalue *v, size_t count) {
  for (size_t i = 0; i < count; i++) BSM_TRY(visit(f, &v[i]));
  return BSM_OK;
}

/* The pickle machine has limited how deep values nest. */
static bsm_status visit(flattener *f, const bsm_ivalue *v) {
  if (++f->visits > MAX_VISITS) {
    return BSM_FAIL(BSM_LIMIT, "more than %d example inputs", MAX_VISITS);
  }
  bsm_example_input input = {0};
  switch (v->tag) {
    case BSM_IVALUE_TUPLE:
      return visit_all(f, v->u.tuple->items, v->u.tuple->len);
    case BSM_IVALUE_LIST:
      return visit_all(f, v->u.list->items, v->u.list->len);
    case BSM_IVALUE_DICT:
      return visit_all(f, v->u.dict->values, v->u.dict->len);
    case BSM_IVALUE_TENSOR:
      input.is_tensor = true;
      input.dtype = v->u.tensor->dtype;
      input.dims = v->u.tensor->sizes;
      break;
    default:
      input.dtype = BSM_DTYPE_UNDEFINED;
  }
  return bsm_vec_push(f->arena, &f->inputs, input) ? BSM_OK : BSM_FAIL_OOM();
}

bsm_status bsm_traced_inputs_flatten(bsm_arena *arena, const bsm_ivalue *root,
                                     bsm_str method, bsm_example_input **out,
                                     size_t *count) {
  *out = NULL;
  *count = 0;
  if (root->tag != BSM_IVALUE_DICT) {
    return BSM_FAIL(BSM_CORRUPT, "traced_inputs.pkl holds %s, not a dict",
                    bsm_iv_tag_name(root->tag));
  }
  const bsm_ivalue key = {BSM_IVALUE_STRING, {.s = &method}};
  const bsm_ivalue *inputs = bsm_dict_find(root->u.dict, key);
  if (!inputs) return BSM_OK;
  flattener f = {.arena = arena};
  BSM_TRY(visit(&f, inputs));
  *out = f.inputs.items;
  *count = f.inputs.len;
  return BSM_OK;
}

void bsm_traced_inputs_find(const bsm_ivalue *root, bsm_str method,
                            const bsm_ivalue **out, size_t *count) {
  const bsm_ivalue key = {BSM_IVALUE_STRING, {.s = &method}};
  const bsm_ivalue *inputs =
      root->tag == BSM_IVALUE_DICT ? bsm_dict_find(root->u.dict, key) : NULL;
  *out = NULL;
  *count = 0;
  if (inputs && inputs->tag == BSM_IVALUE_LIST) {
    *out = inputs->u.list->items;
    *count = inputs->u.list->len;
  } else if (inputs && inputs->tag == BSM_IVALUE_TUPLE) {
    *out = inputs->u.tuple->items;
    *count = inputs->u.tuple->len;
  }
}
