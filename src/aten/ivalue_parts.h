/* SPDX-License-Identifier: Apache-2.0 */
/* Walking boxed values: what is inside of one, whatever container it is. */
#ifndef BSM_ATEN_IVALUE_PARTS_H_
#define BSM_ATEN_IVALUE_PARTS_H_

#include "aten/ivalue.h"

/* The container's own array: valid until it grows. */
typedef struct bsm_iv_parts {
  bsm_ivalue *items;
  size_t len;
} bsm_iv_parts;

/* The items of a list or tuple, the values of a dict; none of anything else:
 * objects and enums are not looked into. */
static inline bsm_iv_parts bsm_iv_parts_of(const bsm_ivalue *v) {
  switch (v->tag) {
    case BSM_IVALUE_LIST:
      return (bsm_iv_parts){v->u.list->items, v->u.list->len};
    case BSM_IVALUE_TUPLE:
      return (bsm_iv_parts){v->u.tuple->items, v->u.tuple->len};
    case BSM_IVALUE_DICT:
      return (bsm_iv_parts){v->u.dict->values, v->u.dict->len};
    default:
      return (bsm_iv_parts){NULL, 0};
  }
}

#endif /* BSM_ATEN_IVALUE_PARTS_H_ */
