/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a carried value in every iteration of a loop. */
#ifndef BSM_LOWERING_SPECIALIZE_CONTROL_LOOP_FORMS_H_
#define BSM_LOWERING_SPECIALIZE_CONTROL_LOOP_FORMS_H_

#include "lowering/specialize/values/abstract_value.h"

typedef enum bsm_loop_form_kind {
  BSM_FORM_SAME = 0, /* the value that it had before the loop */
  BSM_FORM_META,     /* a tensor of these dims and dtype */
  BSM_FORM_SYMBOL,   /* a value of this type */
  BSM_FORM_DYNAMIC,  /* a list or dict of this type */
  BSM_FORM_TUPLE     /* a tuple of items */
} bsm_loop_form_kind;

typedef struct bsm_loop_form {
  bsm_loop_form_kind kind;
  bsm_dtype dtype;
  bsm_dims dims;
  const bsm_type *type;
  struct bsm_loop_form *items;
  size_t count;
} bsm_loop_form;

bool bsm_spec_is_identical(const bsm_ivalue *x, const bsm_ivalue *y);
/* Makes the form wide enough for `result`; sets *changed when it was not. What
 * of `initial` is undefined becomes like `result`. */
BSM_NODISCARD bsm_status bsm_loop_form_join(bsm_spec *s, bsm_ivalue *initial,
                                            const bsm_ivalue *result,
                                            bsm_loop_form *f, bool *changed);

#endif /* BSM_LOWERING_SPECIALIZE_CONTROL_LOOP_FORMS_H_ */
