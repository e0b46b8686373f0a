/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a carried value in every iteration of a loop: the join of an
 * abstract domain, from `the same value` up to `a value of this type`. */
#include "lowering/specialize/control/loop_forms.h"

bool bsm_spec_is_identical(const bsm_ivalue *x, const bsm_ivalue *y) {
  if (x->tag != y->tag || x->tag != BSM_IVALUE_TUPLE) {
    return bsm_iv_is(x, y);
  }
  if (x->u.tuple->len != y->u.tuple->len) {
    return false;
  }
  for (size_t i = 0; i < x->u.tuple->len; i++) {
    if (!bsm_spec_is_identical(&x->u.tuple->items[i], &y->u.tuple->items[i])) {
      return false;
    }
  }
  return true;
}

static bsm_status widen_type(bsm_spec *s, bsm_loop_form *f, const bsm_type *a,
                             const bsm_type *b) {
  const bsm_type *type = a == b ? a : bsm_type_unify(s->cx->types, a, b);
  if (!type) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a value has another type after a turn of the loop");
  }
  f->kind = type->kind == BSM_TYPE_LIST || type->kind == BSM_TYPE_DICT
                ? BSM_FORM_DYNAMIC
                : BSM_FORM_SYMBOL;
  f->type = type;
  return BSM_OK;
}

static bsm_status join_tuple(bsm_spec *s, bsm_tuple *initial,
                             const bsm_tuple *result, bsm_loop_form *f,
                             bool *changed) {
  if (++s->at.depth > s->cx->limits.max_depth) {
    s->at.depth--;
    return BSM_FAIL(BSM_LIMIT, "a value of a loop is nested too deep");
  }
  bsm_status st = BSM_OK;
  if (f->kind != BSM_FORM_TUPLE) {
    f->kind = BSM_FORM_TUPLE;
    f->count = initial->len;
    f->items = BSM_NEW_ARRAY(s->scratch, bsm_loop_form, initial->len + 1);
    st = f->items ? BSM_OK : BSM_FAIL_OOM();
  }
  for (size_t i = 0; i < f->count && !st; i++) {
    st = bsm_loop_form_join(s, &initial->items[i], &result->items[i],
                            &f->items[i], changed);
  }
  s->at.depth--;
  return st;
}

bsm_status bsm_loop_form_join(bsm_spec *s, bsm_ivalue *initial,
                              const bsm_ivalue *result, bsm_loop_form *f,
                              bool *changed) {
  if (bsm_spec_is_undefined(initial) && result->tag == BSM_IVALUE_TUPLE) {
    BSM_TRY(bsm_spec_spread_undefined(s, result, initial));
  }
  if (bsm_spec_is_undefined(initial) && bsm_spec_is_plain(result)) {
    *initial = *result; /* what never is read */
  }
  if (bsm_spec_is_undefined(result) ||
      (f->kind == BSM_FORM_SAME && bsm_spec_is_identical(initial, result))) {
    return BSM_OK;
  }
  if (initial->tag == BSM_IVALUE_OBJECT || result->tag == BSM_IVALUE_OBJECT) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a variable holds different objects in the turns of a loop "
                    "whose length depends on data");
  }
  if ((f->kind == BSM_FORM_SAME || f->kind == BSM_FORM_TUPLE) &&
      initial->tag == BSM_IVALUE_TUPLE && result->tag == BSM_IVALUE_TUPLE &&
      initial->u.tuple->len == result->u.tuple->len) {
    return join_tuple(s, initial->u.tuple, result->u.tuple, f, changed);
  }
  const bsm_tensor *t =
      result->tag == BSM_IVALUE_TENSOR ? result->u.tensor : NULL;
  if (f->kind == BSM_FORM_META && t && t->dtype == f->dtype &&
      bsm_dims_equal(t->sizes, f->dims)) {
    return BSM_OK;
  }
  const bsm_type *type = bsm_spec_type_of(s, result);
  if ((f->kind == BSM_FORM_SYMBOL || f->kind == BSM_FORM_DYNAMIC) &&
      (f->type == type || bsm_type_is_subtype(type, f->type))) {
    return BSM_OK;
  }
  *changed = true;
  const bool fits = t && (bsm_spec_is_undefined(initial) ||
                          (initial->tag == BSM_IVALUE_TENSOR &&
                           initial->u.tensor->dtype == t->dtype &&
                           bsm_dims_equal(initial->u.tensor->sizes, t->sizes)));
  if (f->kind == BSM_FORM_SAME && fits) {
    f->kind = BSM_FORM_META;
    f->dtype = t->dtype;
    f->dims = t->sizes;
    return BSM_OK;
  }
  const bool tensors =
      t && (f->kind == BSM_FORM_META || initial->tag == BSM_IVALUE_TENSOR);
  const bsm_type *plain = bsm_type_simple(s->cx->types, BSM_TYPE_TENSOR);
  return tensors ? widen_type(s, f, plain, plain)
                 : widen_type(s, f,
                              bsm_spec_is_undefined(initial) ? type
                              : f->type                      ? f->type
                                        : bsm_spec_type_of(s, initial),
                              type);
}
