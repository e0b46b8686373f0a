/* SPDX-License-Identifier: Apache-2.0 */
/* Flattens example inputs: tuples, lists and dict values in order. */
#include "torchscript/traced_inputs.h"

#include "aten/ivalue_parts.h"

/* Values visited; shared containers may unfold to many more than there are. */
enum { MAX_VISITS = 100000 };

typedef struct flattener {
  bsm_arena *arena;
  BSM_VEC(bsm_example_input) inputs;
  size_t visits;
} flattener;

/* The pickle machine has limited how deep values nest. */
static bsm_status visit(flattener *f, const bsm_ivalue *v) {
  if (++f->visits > MAX_VISITS) {
    return BSM_FAIL(BSM_LIMIT, "more than %d example inputs", MAX_VISITS);
  }
  if (bsm_iv_is_container(v)) {
    const bsm_iv_parts parts = bsm_iv_parts_of(v);
    for (size_t i = 0; i < parts.len; i++) BSM_TRY(visit(f, &parts.items[i]));
    return BSM_OK;
  }
  bsm_example_input input = {.dtype = BSM_DTYPE_UNDEFINED};
  if (v->tag == BSM_IVALUE_TENSOR) {
    input.is_tensor = true;
    input.dtype = v->u.tensor->dtype;
    input.dims = v->u.tensor->sizes;
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
  const bsm_iv_parts items =
      inputs ? bsm_iv_items_of(inputs) : (bsm_iv_parts){NULL, 0};
  *out = items.items;
  *count = items.len;
}
